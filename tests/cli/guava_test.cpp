// Filters of Guava: what its funnels make of keys, against the golden files (tests/golden/guava) and a Guava that runs
// (tests/formats/live/GuavaPeer.java).
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;
using std::string_literals::operator""s;

class Guava : public tool_box {
 protected:
  static std::string golden(const std::string& name) {
    std::ifstream file(BLOOMERY_GOLDEN_DIR "/guava/" + name, std::ios::binary);
    EXPECT_TRUE(file.is_open()) << name;
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // A character a key, as --mark gives them.
  [[nodiscard]] std::string answers(std::vector<std::string> words, std::string_view input, char end = '\n') const {
    words.insert(words.begin(), {"query", "--mark"});
    const ran result = run(words, input);
    EXPECT_NE(result.code, 2) << result.err;
    std::string marks;
    for (std::size_t at = 0; at < result.out.size(); at = result.out.find(end, at + 2) + 1) marks += result.out[at];
    return marks;
  }
};

std::string guava_utf8(std::uint32_t number) {
  const auto byte = [](std::uint32_t value) { return std::string(1, static_cast<char>(value)); };
  if (number < 0x80) return byte(number);
  if (number < 0x800) return byte(0xc0U | number >> 6U) + byte(0x80U | (number & 0x3fU));
  if (number < 0x10000) {
    return byte(0xe0U | number >> 12U) + byte(0x80U | (number >> 6U & 0x3fU)) + byte(0x80U | (number & 0x3fU));
  }
  return byte(0xf0U | number >> 18U) + byte(0x80U | (number >> 12U & 0x3fU)) + byte(0x80U | (number >> 6U & 0x3fU)) +
         byte(0x80U | (number & 0x3fU));
}

// Keys as the tool reads them with this funnel, all different, each with its terminator.
std::vector<std::string> guava_keys(const std::string& funnel, std::size_t count, std::mt19937_64& random) {
  std::vector<std::string> keys;
  if (funnel == "int") keys = {"-2147483648\n", "2147483647\n", "-1\n"};
  if (funnel == "long") keys = {"-9223372036854775808\n", "9223372036854775807\n", "-1\n"};
  if (funnel == "bytes") keys = {"\n"};
  if (funnel.substr(0, 3) == "utf") keys = {"\0"s, "\xef\xbb\xbf\0"s, "a\nb\0"s, "\xf4\x8f\xbf\xbf\0"s};
  while (keys.size() < count) {
    std::string key;
    if (funnel == "int") {
      key = std::to_string(static_cast<std::int32_t>(random())) + "\n";
    } else if (funnel == "long") {
      key = std::to_string(static_cast<std::int64_t>(random())) + "\n";
    } else if (funnel == "bytes") {
      for (std::uint64_t left = random() % 40; left != 0; --left) {
        key.append({"0123456789abcdef"[random() % 16], "0123456789abcdef"[random() % 16]});
      }
      key.append("\n");
    } else {
      constexpr std::array<std::uint32_t, 4> ends = {0x80, 0x800, 0x10000, 0x110000};
      for (std::uint64_t left = random() % 20; left != 0; --left) {
        const auto number = static_cast<std::uint32_t>(1 + random() % (ends[random() % 4] - 1));
        if (number < 0xd800 || number > 0xdfff) key.append(guava_utf8(number));
      }
      key.push_back('\0');
    }
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  return keys;
}

std::vector<std::string> guava_options(const std::string& funnel) {
  std::vector<std::string> out = {"--funnel", funnel};
  if (funnel == "bytes") out.emplace_back("--hex");
  if (funnel.substr(0, 3) == "utf") out.emplace_back("-0");
  return out;
}

TEST_F(Guava, ARunningGuavaReadsWhatWeWriteAndTheReverse) {
  struct live_case {
    std::string name;
    std::string funnel;
    std::size_t keys;
    std::string members;  // text
    std::string all;
  };
  std::mt19937_64 random(20261117);
  std::vector<live_case> cases;
  std::string list;
  const std::vector<std::string> rates = {"0.3", "0.03", "0.01", "0.001", "1.0E-6"};
  for (const std::string funnel : {"bytes", "utf8", "utf16", "int", "long"}) {
    for (const std::size_t members : {1U, 7U, 250U, 3000U}) {
      live_case each{funnel + std::to_string(members), funnel, members, "", ""};
      const auto keys = guava_keys(funnel, members * 2 + 500, random);
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (i < members) each.members.append(keys[i]);
        each.all.append(keys[i]);
      }
      const std::string& rate = rates[random() % rates.size()];
      const std::string size = std::to_string(1 + members / 2 + random() % (2 * members));
      write(each.name + ".keys", each.all);
      list += each.name + " " + funnel + " " + size + " " + rate + " " + std::to_string(members) + "\n";
      std::vector<std::string> words = guava_options(funnel);
      words.insert(words.end(), {"--format", "guava", "-n", size, "-p", rate, "-o", each.name + ".ours"});
      words.insert(words.begin(), {"build", "-q"});
      ASSERT_EQ(run(words, each.members).code, 0);  // with a warning where there are more keys than it is made for
      cases.push_back(std::move(each));
    }
  }
  write("cases", list);
  const ran java = sh("java -XX:TieredStopAtLevel=1 -cp /usr/share/java/guava.jar " BLOOMERY_SOURCE_DIR
                      "/tests/formats/live/GuavaPeer.java . 2>&1");
  ASSERT_EQ(java.code, 0) << "the packages libguava-java and default-jdk-headless are needed: " << java.out;
  std::size_t absent = 0;
  for (const live_case& each : cases) {
    EXPECT_TRUE(read(each.name + ".ours") == read(each.name + ".theirs")) << each.name;
    std::vector<std::string> words = guava_options(each.funnel);
    words.push_back(each.name + ".theirs");
    const std::string ours = answers(words, each.all, each.funnel.substr(0, 3) == "utf" ? '\0' : '\n');
    EXPECT_EQ(ours, read(each.name + ".answers")) << each.name;
    EXPECT_EQ(ours.substr(0, each.keys), std::string(each.keys, '1')) << each.name;
    absent += static_cast<std::size_t>(std::count(ours.begin(), ours.end(), '0'));
    std::istringstream estimates(read(each.name + ".estimates"));
    std::uint64_t count = 0;
    double rate = 0;
    estimates >> count >> rate;
    const auto info = json_of({"info", "--json", each.name + ".theirs"});
    EXPECT_EQ(info["keys"], count) << each.name;
    const double independent = std::pow(info["fill"].get<double>(),
                                        info["parameters"]["hash_functions"].get<double>());  // as the product says
    EXPECT_NEAR(independent, rate, rate * 1e-9) << each.name;
    EXPECT_GE(info["fpr_now"].get<double>(), rate * (1 - 1e-9)) << each.name;
  }
  EXPECT_GT(absent, 10'000U);
}

// The text of a key of the golden lists, whose UTF-16 units are written \uXXXX; nothing where there is half a pair.
std::optional<std::string> guava_text(const std::string& escaped) {
  if (escaped == "<empty>") return "";
  std::string out;
  std::uint32_t high = 0;
  for (std::size_t i = 0; i < escaped.size();) {
    if (escaped.compare(i, 2, "\\u") != 0) {
      out.push_back(escaped[i++]);
      continue;
    }
    const auto unit = static_cast<std::uint32_t>(std::stoul(escaped.substr(i + 2, 4), nullptr, 16));
    i += 6;
    if (unit >= 0xd800 && unit < 0xdc00) {
      if (high != 0) return {};
      high = unit;
    } else if (unit >= 0xdc00 && unit < 0xe000) {
      if (high == 0) return {};
      out.append(guava_utf8(0x10000U + ((high & 0x3ffU) << 10U) + (unit & 0x3ffU)));
      high = 0;
    } else {
      if (high != 0) return {};
      out.append(guava_utf8(unit));
    }
  }
  if (high != 0) return {};
  return out;
}

TEST_F(Guava, FunnelsOfTheGoldenFiles) {
  std::istringstream cases(golden("cases.tsv"));
  std::size_t asked = 0;
  std::size_t with_pairs = 0;
  for (std::string line; std::getline(cases, line);) {
    if (line.front() == '#') continue;
    const std::string name = line.substr(0, line.find('\t'));
    const std::string funnel = name.substr(0, 3) == "int"              ? "int"
                               : name.substr(0, 4) == "long"           ? "long"
                               : name.substr(0, 8) == "str_utf8"       ? "utf8"
                               : name.substr(0, 14) == "str_unencoded" ? "utf16"
                                                                       : "bytes";
    if (funnel == "bytes") continue;  // written as bytes[N]: tests/formats has them
    write("f", golden(name + ".bin"));
    std::istringstream probes(golden(name + ".probes.tsv"));
    std::string keys;
    std::string expected;
    for (std::string probe; std::getline(probes, probe);) {
      if (probe.front() == '#') continue;
      const std::size_t tab = probe.find('\t');
      const auto text = guava_text(probe.substr(0, tab));
      if (!text || text->find('\0') != std::string::npos) continue;  // keys end with NUL
      const auto wide = [](char c) { return static_cast<unsigned char>(c) >= 0xf0; };
      with_pairs += static_cast<std::size_t>(std::count_if(text->begin(), text->end(), wide));
      keys.append(*text).push_back('\0');
      expected.push_back(probe.back());
    }
    EXPECT_EQ(answers({"-0", "--funnel", funnel, "f"}, keys, '\0'), expected) << name;
    asked += expected.size();
  }
  EXPECT_GT(asked, 5000U);
  EXPECT_GT(with_pairs, 0U);
}

}  // namespace

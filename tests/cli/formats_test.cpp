// Files of other products in the tool, where the list of formats, tolerances or limits of memory are needed. The rest is in
// tests/cli/transcripts/formats.txt and convert.txt.
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Formats : public tool_box {
 protected:
  static std::string golden(const std::string& name) { return std::string(BLOOMERY_GOLDEN_DIR) + "/" + name; }
  // A file in this format, of these lines.
  void build_as(const std::string& format, const std::string& name, std::string_view lines,
                std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--format", format});
    build(name, lines, more);
  }
};

TEST_F(Formats, AreListedForPrograms) {
  const auto all = json_of({"formats", "--json"})["formats"];
  ASSERT_TRUE(all.is_array());
  EXPECT_EQ(all[0]["name"], "native");
  EXPECT_EQ(all[0]["hash"], nullptr);
  std::size_t found = 0;
  for (const auto& each : all) {
    for (const char* name : {"summary", "reads", "queries", "writes", "builds", "merges", "gzip", "options"}) {
      EXPECT_TRUE(each.contains(name)) << each;
    }
    if (each["name"] == "dcso") {
      ++found;
      EXPECT_EQ(each["hash"], "fnv1");
      EXPECT_EQ(each["gzip"], true);
      EXPECT_TRUE(each["options"].empty());
    }
    if (each["name"] == "bits-and-blooms") {
      ++found;
      EXPECT_EQ(each["hash"], "murmur3-x64-128");
      EXPECT_EQ(each["options"], nlohmann::json::array({"encoding"}));
    }
  }
  EXPECT_EQ(found, 2U);
}

TEST_F(Formats, EveryFormatThatIsBuiltIsDetectedByItsContent) {
  const nlohmann::json said = json_of({"formats", "--json"});
  unsigned built = 0;
  for (const auto& each : said["formats"]) {
    if (each["builds"] != true || each["writes"] != true) continue;
    ++built;
    const std::string name = each["name"];
    build_as(name, name, numbers(1, 500));
    const ran counted = run({"query", "-c", "--from", name, name}, numbers(1, 500));
    EXPECT_EQ(counted.out, "500\n") << name << counted.err;
    EXPECT_EQ(json_of({"info", "--json", "--from", name, name})["format"], name);
    EXPECT_EQ(run({"verify", "--probes", "1000", "--from", name, name, "--keys", "-"}, numbers(1, 500)).code, 0)
        << name;
  }
  EXPECT_GE(built, 7U);
}

// For a shell: so many KiB of addresses and no more. A sanitizer takes terabytes of them for itself.
std::string limited_to(unsigned kib) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  static_cast<void>(kib);
  return {};
#endif
#endif
  return "ulimit -v " + std::to_string(kib) + "; ";
}

// What has no end is not waited for: its first bytes say that it is none.
TEST_F(Formats, AnEndlessStreamOfSomethingElseIsRefused) {
  const auto refused = [&](const std::string& form, const std::string& what) {
    const ran result = sh(limited_to(2'000'000) + "timeout 60 \"$TOOL\" info --from " + form + " /dev/zero");
    EXPECT_EQ(result.code, 2) << form;
    EXPECT_EQ(result.err.rfind("bloomery: /dev/zero: ", 0), 0U) << result.err;
    EXPECT_TRUE(contains(result.err, what)) << result.err;
  };
  refused("native", "is not a Bloomery filter");
  refused("text", "is not a Bloomery filter");
  refused("dcso", "its first byte, the version, is not 1");
  refused("bits-and-blooms", "field m has value 0");
  refused("guava", "the number of hash functions, is 0");
  refused("redisbloom", "number of sub-filters has value 0");
  refused("spark", "its version is neither 1 nor 2");
}

TEST_F(Formats, AGzipBombIsRefused) {
  ASSERT_EQ(sh("(head -c 168 " + shell_quoted(golden("dcso/n100_p0.01.bloom")) +
               "; head -c 300000000 /dev/zero) | gzip -9 > bomb.gz")
                .code,
            0);
  const ran result = sh(limited_to(200'000) + "\"$TOOL\" info bomb.gz");
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(contains(result.err, "more than 64 MiB behind the filter: unpack it first")) << result.err;
}

// Every filter file that a product wrote, beside the list of who wrote them.
TEST_F(Formats, InfoIsCorrectAboutEveryGoldenFile) {
  const auto cases = [](const std::string& file) {
    std::vector<std::vector<std::string>> rows;
    std::ifstream in(golden(file));
    for (std::string line; std::getline(in, line);) {
      if (line.empty() || line.front() == '#') continue;
      std::istringstream fields(line);
      rows.emplace_back();
      for (std::string field; std::getline(fields, field, '\t');) rows.back().push_back(field);
    }
    return rows;
  };
  std::size_t files = 0;
  const auto told = [&](const std::string& file, const std::string& form, std::uint64_t bits, std::uint64_t hashes,
                        bool named = false) {
    ++files;
    std::vector<std::string> words = {"info", "--json", golden(file)};
    if (named) words.insert(words.end(), {"--from", form});
    const auto of = json_of(words);
    EXPECT_EQ(of["format"], form) << file;
    EXPECT_EQ(of["parameters"]["bits"], bits) << file;
    EXPECT_EQ(of["parameters"]["hash_functions"], hashes) << file;
    EXPECT_EQ(of["file_bytes"], std::filesystem::file_size(golden(file))) << file;
    return of;
  };
  const auto number = [](const std::string& text) { return std::stoull(text); };
  for (const auto& row : cases("leveldb/cases.tsv")) {
    const std::string file = "leveldb/" + row[0] + ".bin";
    const auto of = told(file, "leveldb", (number(row[3]) - 1) * 8, number(row[4]), true);
    EXPECT_NEAR(of["estimated_keys"], std::stod(row[2]), 1 + 0.15 * std::stod(row[2])) << file;
    EXPECT_EQ(run({"info", golden(file)}).code, 2) << file << " carries no signature";
  }
  for (const auto& row : cases("guava/cases.tsv")) {
    const auto of = told("guava/" + row[0] + ".bin", "guava", number(row[7]) * 64, number(row[6]));
    EXPECT_EQ(of["parameters"]["strategy"], row[2]) << row[0];
    EXPECT_EQ(of["keys"], number(row[11])) << row[0];
    // The product takes the bits of a key to be independent, which those of a small filter are not: it delivers more.
    EXPECT_GE(of["fpr_now"].get<double>(), std::stod(row[12]) - 1e-12) << row[0];
  }
  for (const auto& row : cases("spark/cases.tsv")) {
    const auto of = told("spark/" + row[0] + ".bin", "spark", number(row[6]) * 64, number(row[5]));
    EXPECT_EQ(of["seed"], static_cast<std::uint32_t>(std::stoll(row[4]))) << row[0];
    EXPECT_NEAR(of["keys"], std::stod(row[7]), 6) << row[0];
    EXPECT_TRUE(contains(run({"info", golden("spark/" + row[0] + ".bin")}).out, "version " + row[1])) << row[0];
  }
  for (const auto& row : cases("bits-and-blooms/cases.tsv")) {
    for (const char* ending : {".bin", ".json"}) {
      told("bits-and-blooms/" + row[0] + ending, "bits-and-blooms", number(row[3]), number(row[4]));
    }
  }
  for (const char* ending : {".bloom", ".bloom.gz", "_data.bloom"}) {
    const auto of = told(std::string("dcso/n100_p0.01") + ending, "dcso", 958, 7);
    EXPECT_EQ(of["keys"], 100);
    EXPECT_EQ(of["capacity_keys"], 100);
    EXPECT_EQ(of["target_fpr"], 0.01);
  }
  EXPECT_EQ(told("dcso/empty_n100_p0.01.bloom", "dcso", 958, 7)["keys"], 0);
  EXPECT_EQ(told("dcso/n100_p0.001.bloom", "dcso", 1437, 10)["target_fpr"], 0.001);
  EXPECT_EQ(told("dcso/n100_p0.5.bloom", "dcso", 144, 1)["keys"], 73) << "inserts that set a bit";
  EXPECT_EQ(told("dcso/n7_p0.05.bloom", "dcso", 43, 5)["overfull"], true);
  EXPECT_GE(files, 57U);
}

TEST_F(Formats, MemoryIsKeptAndFilled) {
  for (const char* form : {"dcso", "bits-and-blooms"}) {
    for (const char* memory : {"1000", "1001", "4096", "64Ki"}) {
      for (const bool known : {true, false}) {
        const std::string name = std::string(form) + memory + (known ? "n" : "");
        std::vector<std::string> how = {"--mem", memory};
        if (known) how.insert(how.end(), {"-n", "2000"});
        build_as(form, name, numbers(1, 2000), how);
        const std::uint64_t used = json_of({"info", "--json", name})["memory_bytes"];
        const std::uint64_t allowed = std::string_view(memory) == "64Ki" ? 65536 : std::stoull(memory);
        EXPECT_LE(used, allowed) << name;
        // Beyond 92 bits a key nothing is gained.
        EXPECT_GE(used, std::min<std::uint64_t>(allowed - 8, 2000 * 92 / 8)) << name;
      }
    }
  }
  const ran small = run({"build", "--format", "dcso", "--mem", "7", "-n", "10", "-o", "x"});
  EXPECT_EQ(small.code, 2);
  EXPECT_TRUE(contains(small.err, "memory of 7 bytes is too small")) << small.err;
}

}  // namespace

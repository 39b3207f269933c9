// De-duplication of files that are mapped: windows, places that hold many lines, collisions, several files.
#include <sys/stat.h>

#include <random>
#include <unordered_map>
#include <unordered_set>

#include "cli/dedup/mapped.hpp"
#include "cli/keys/mapped_files.hpp"
#include "cli/tool_box.hpp"

namespace bloomery_test {
namespace {

using namespace bloomery;
using namespace bloomery::cli;

constexpr std::uint64_t no_limit = std::uint64_t{1} << 40U;

class MappedDedup : public tool_box {
 protected:
  struct answer {
    bool fits = false;
    std::string out;
    std::uint64_t lines = 0;
    std::uint64_t different = 0;
  };
  [[nodiscard]] answer dedup(const std::vector<std::string>& names, const mapped_dedup_settings& settings) const {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(path(name));
    const auto input = mapped_files::open(paths, no_limit);
    if (!input) {
      ADD_FAILURE() << "not mapped";
      return {};
    }
    answer got;
    mapped_dedup made(*input, settings, [&](std::string_view lines) {
      got.out.append(lines);
      return outcome<void>{};
    });
    const auto fits = made.run([](std::uint64_t, std::uint64_t) {});
    got.fits = fits && *fits;
    got.lines = made.lines();
    got.different = made.different();
    return got;
  }

  // What a set makes of the same lines.
  static std::string expected(const std::vector<std::string>& files, char terminator) {
    std::unordered_set<std::string> seen;
    std::string out;
    for (const std::string& file : files) {
      for (std::size_t at = 0; at < file.size();) {
        const std::size_t end = std::min(file.find(terminator, at), file.size());
        std::string line = file.substr(at, end - at);
        if (seen.insert(line).second) out.append(line).push_back(terminator);
        at = end + 1;
      }
    }
    return out;
  }

  // Short lines, empty ones, and a few that are longer than a chunk.
  static std::string random_file(std::size_t count, std::uint32_t different, char terminator, unsigned seed) {
    std::mt19937 random(seed);
    std::string out;
    for (std::size_t i = 0; i < count; ++i) {
      const auto which = static_cast<std::uint32_t>(random() % different);
      if (which != 0) out.append(std::to_string(which));
      if (which % 11 == 0) out.append(which % 200, 'x');
      if (which % 100000 == 7) out.append(300000, 'y');
      out.push_back(terminator);
    }
    return out;
  }

  static hasher hash() { return hasher::of(xxh3{.seed = 5}); }
  // Two keys of one digest.
  static std::pair<std::string, std::string> twins(const hasher& of) {
    std::unordered_map<std::uint64_t, std::string> known;
    for (std::uint32_t i = 0;; ++i) {
      const std::string key = std::to_string(i);
      const auto [at, is_new] = known.try_emplace(of.digest(key.data(), key.size()), key);
      if (!is_new) return {at->second, key};
    }
  }
};

TEST_F(MappedDedup, AgreesWithASetWhateverTheWindowsThreadsAndFiles) {
  for (const char terminator : {'\n', '\0'}) {
    std::vector<std::string> files = {random_file(150000, 60000, terminator, 1), std::string("7") + terminator,
                                      random_file(150000, 150000, terminator, 2)};
    files[1].append("no terminator");  // at the end of the file
    files[2].append("8");
    files.push_back(files[2]);
    std::vector<std::string> names;
    for (const std::string& file : files) write(names.emplace_back("f" + std::to_string(names.size())), file);
    const std::string right = expected(files, terminator);
    const auto lines = static_cast<std::uint64_t>(std::count(right.begin(), right.end(), terminator));
    for (const unsigned jobs : {1U, 3U}) {
      for (const std::uint64_t window : {std::uint64_t{1} << 18U, std::uint64_t{32} << 20U}) {
        const answer got =
            dedup(names, {.hash = hash(), .terminator = terminator, .jobs = jobs, .window_bytes = window});
        EXPECT_TRUE(got.fits);
        EXPECT_TRUE(got.out == right) << jobs << ' ' << window;
        EXPECT_EQ(got.different, lines);
        EXPECT_EQ(got.lines, 450000U + 2 + 2);
      }
    }
  }
}

TEST_F(MappedDedup, KeepsKeysOfOneDigestApartEvenSideBySide) {
  const auto weak = hasher::make("murmur3-x86-32", 0);
  ASSERT_TRUE(weak);
  const auto [a, b] = twins(*weak);
  const std::vector<std::string> files = {a + "\n" + b + "\n" + b + "\n" + a + "\n", b + "\n" + a,
                                          std::string(100, 'x') + "\n" + b + "\n" + a + "\n" + a};
  for (std::size_t first = 0; first < files.size(); ++first) {
    const std::vector<std::string> order = {files[first], files[(first + 1) % files.size()]};
    write("f", order[0]);
    write("g", order[1]);
    EXPECT_EQ(dedup({"f", "g"}, {.hash = *weak, .jobs = 2}).out, expected(order, '\n'));
  }
}

TEST_F(MappedDedup, EndsWithTheBeginningOfWhatIsRightWhenMemoryIsShort) {
  const std::string file = random_file(300000, 4000000, '\n', 3);
  write("f", file);
  const answer got = dedup({"f"}, {.hash = hash(), .table_bytes = 3 << 20U, .window_bytes = 1 << 18U});
  EXPECT_FALSE(got.fits);
  EXPECT_GT(got.out.size(), 100000U);
  EXPECT_TRUE(expected({file}, '\n').substr(0, got.out.size()) == got.out);
}

TEST_F(MappedDedup, PassesAnErrorOfTheOutputOn) {
  write("f", random_file(100000, 100000, '\n', 4));
  const std::string name = path("f");
  const auto input = mapped_files::open({&name, 1}, no_limit);
  ASSERT_TRUE(input);
  for (const unsigned jobs : {1U, 2U}) {
    mapped_dedup made(*input, {.hash = hash(), .jobs = jobs, .window_bytes = 1 << 18U},
                      [](std::string_view) -> outcome<void> { return fail_text("full"); });
    const auto done = made.run([](std::uint64_t, std::uint64_t) {});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().text, "full");
  }
}

TEST_F(MappedDedup, TakesOnlyFilesThatStayAsTheyAre) {
  write("text", "a\n");
  write("empty", "");
  write("gzip", "\x1f\x8b\x08...");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const auto opens = [&](const std::vector<std::string>& names, std::uint64_t most = no_limit) {
    std::vector<std::string> paths;
    for (const std::string& name : names) paths.push_back(path(name));
    return mapped_files::open(paths, most).has_value();
  };
  EXPECT_TRUE(opens({"text"}));
  EXPECT_TRUE(opens({"text", "text"}));
  for (const std::string other : {"empty", "gzip", "pipe", "missing", "."}) {
    EXPECT_FALSE(opens({other})) << other;
    EXPECT_FALSE(opens({"text", other})) << other;
  }
  EXPECT_FALSE(opens({"text", "text"}, 4096));
}

TEST_F(MappedDedup, ReadsStandardInputFromWhereItStandsAndPassesIt) {
  write("in", "a\nb\nb\nb\na\nc");
  EXPECT_EQ(sh("{ read x; \"$TOOL\" dedup; cat; echo end; } < in").out, "b\na\nc\nend\n");
}

TEST_F(MappedDedup, AFileThatBecomesShorterIsAnError) {
  // The reader takes one line and waits, so that most of the file is still to be read when it is cut.
  const ran result =
      sh("seq 1 3000000 > in; mkfifo out; { \"$TOOL\" dedup --mem 32Mi in > out; echo $? > code; } & exec 9< out; "
         "read x <&9; : > in; cat <&9 > rest; wait; cat code");
  EXPECT_EQ(result.out, "2\n");
  EXPECT_EQ(result.err,
            "bloomery: a file could not be read to its end: it became shorter meanwhile, or its disk fails: try "
            "again\n");
}

}  // namespace
}  // namespace bloomery_test

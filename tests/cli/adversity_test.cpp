// Files and numbers at their worst, for every verb: one line on standard error, exit 2, nothing written.
#include "cli/tool_box.hpp"
#include "cli/verbs/verb.hpp"

namespace {

using namespace bloomery_test;

class Adversity : public tool_box {
 protected:
  void SetUp() override {
    tool_box::SetUp();
    write("keys", numbers(1, 100));
    build("good", numbers(1, 20000));
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> contents() const {
    std::vector<std::pair<std::string, std::string>> out;
    for (const std::string& name : names()) {
      out.emplace_back(name, std::filesystem::is_directory(path(name)) ? "" : read(name));
    }
    return out;
  }
  // One line that says `text`, exit 2, and all files as they were.
  void expect_refused(const std::string& command, const std::string& text) const {
    const auto before = contents();
    const ran result = sh("exec \"$TOOL\" " + command + " < keys");
    EXPECT_EQ(result.code, 2) << command << '\n' << result.out;
    EXPECT_EQ(result.out, "") << command;
    EXPECT_EQ(lines_in(result.err), 1U) << command << '\n' << result.err;
    EXPECT_TRUE(contains(result.err, text)) << command << '\n' << result.err << "should say\n" << text;
    EXPECT_TRUE(contents() == before) << command;
  }
  // `bad` is a filter that cannot be read: for one of each sort of verbs, and for every verb that reads a filter.
  void expect_bad_filter_briefly(const std::string& text) const {
    for (const char* command : {"query bad keys", "add bad keys", "merge -o new good bad"}) {
      expect_refused(command, "bloomery: bad: " + text);
    }
  }
  void expect_bad_filter(const std::string& text) const {
    for (const char* command :
         {"query bad keys", "info bad", "info --json bad", "verify bad --keys keys", "add bad keys", "merge -o new bad",
          "merge -o new good bad", "merge --force -o good bad good", "count --u64 bad keys", "remove --u64 bad keys"}) {
      expect_refused(command, "bloomery: bad: " + text);
    }
  }
};

TEST_F(Adversity, AMissingFilterIsSaid) { expect_bad_filter("cannot open: No such file or directory"); }

TEST_F(Adversity, AFolderInPlaceOfAFilterIsReported) {
  std::filesystem::create_directory(path("bad"));
  expect_bad_filter("is a directory: give a file");
}

TEST_F(Adversity, AnEmptyFilterIsSaid) {
  write("bad", "");
  expect_bad_filter("is empty: a filter file has at least 256 bytes");
}

TEST_F(Adversity, OtherFilesAreNotFilters) {
  write("bad", numbers(1, 1000));
  expect_bad_filter_briefly("is not a filter in any known format: it starts with ");
  write("bad", std::string("\x1f\x8b\x08\x00", 4) + std::string(400, 'x'));
  expect_bad_filter("is not a filter in any known format: it starts with ");
}

TEST_F(Adversity, AFilterCutAtAnySixteenthIsSaid) {
  const std::string whole = read("good");
  for (std::size_t part = 1; part < 16; ++part) {
    write("bad", std::string_view(whole).substr(0, whole.size() * part / 16));
    expect_bad_filter_briefly("is cut short: it has " + std::to_string(whole.size() * part / 16) +
                              " bytes and should have " + std::to_string(whole.size()) + "; copy or build it again");
  }
  write("bad", whole + "x");
  expect_bad_filter("has " + std::to_string(whole.size() + 1) + " bytes and should have ");
}

TEST_F(Adversity, APackedOrTextFilterThatIsCutIsSaid) {
  build("packed", numbers(1, 2000), {"--compress", "zstd"});
  build("text", numbers(1, 2000), {"--format", "text"});
  for (const char* name : {"packed", "text"}) {
    const std::string whole = read(name);
    for (std::size_t part = 1; part < 16; ++part) {
      write("bad", std::string_view(whole).substr(0, whole.size() * part / 16));
      expect_refused("add bad keys", "bloomery: bad: ");
    }
  }
}

TEST_F(Adversity, AFilterOfANewerVersionIsSaid) {
  std::string bytes = read("good");
  bytes[8] = 2;
  write("bad", bytes);
  expect_bad_filter("was written by a newer Bloomery (file version 2, this one reads up to 1): update Bloomery");
}

TEST_F(Adversity, ADamagedHeaderIsSaid) {
  for (const std::size_t at : {12U, 16U, 40U, 88U, 151U, 200U}) {
    std::string bytes = read("good");
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    write("bad", bytes);
    expect_bad_filter_briefly("its header is damaged (checksum ");
  }
  expect_bad_filter("its header is damaged (checksum ");
}

TEST_F(Adversity, ADamagedChunkIsSaidByAllThatReadIt) {
  const std::string whole = read("good");
  for (const std::size_t at : {std::size_t{4096}, whole.size() / 2, whole.size() - 1}) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    write("bad", bytes);
    for (const char* command :
         {"query --no-decompress bad good", "info bad", "verify --no-decompress bad --keys good", "add bad keys",
          "merge -o new bad", "merge -o new good bad", "merge -o new --intersect good bad"}) {
      expect_refused(command, "bloomery: bad: is damaged in chunk ");
    }
  }
}

TEST_F(Adversity, MissingAndWrongKeyFilesAreSaid) {
  build("set", numbers(1, 10), {"--kind", "bitmap", "--u64"});
  std::filesystem::create_directory(path("folder"));
  for (const char* verb :
       {"query good ", "add good ", "build -o new ", "verify good --keys ", "count --u64 set ", "remove --u64 set "}) {
    expect_refused(std::string(verb) + "missing", "bloomery: missing: cannot open: No such file or directory");
    expect_refused(std::string(verb) + "folder", "bloomery: folder: is a directory: give a file");
  }
}

TEST_F(Adversity, BrokenCompressedKeysAreSaidAndNothingIsWritten) {
  ASSERT_EQ(sh("seq 1 50000 | gzip > whole.gz && head -c 20000 whole.gz > cut.gz").code, 0);
  std::string bytes = read("whole.gz");
  for (std::size_t i = 20000; i < 20100; ++i) bytes[i] = static_cast<char>(bytes[i] ^ 0x55);
  write("broken.gz", bytes);
  for (const char* name : {"cut.gz", "broken.gz"}) {
    expect_refused(std::string("add good ") + name, std::string("bloomery: ") + name + ": ");
    expect_refused(std::string("build -q -o new ") + name, std::string("bloomery: ") + name + ": ");
    expect_refused(std::string("build -q -n 1000 -o new ") + name, std::string("bloomery: ") + name + ": ");
  }
}

TEST_F(Adversity, NumbersOutOfRangeAreSaid) {
  const std::vector<std::pair<std::string, std::string>> numbers_and_texts = {
      {"-n 1e30", "bloomery: build: --capacity: "},
      {"-n 18446744073709551616", "bloomery: build: --capacity: "},
      {"-n 18446744073709551615", "bloomery: build: "},
      {"-n 1e18", "bloomery: "},
      {"-n 0", "bloomery: build: --capacity: 0 is not usable"},
      {"-n -1", "bloomery: build: --capacity: "},
      {"-n 1.5", "bloomery: build: --capacity: "},
      {"-n ''", "bloomery: build: --capacity: "},
      {"-n 1e-3", "bloomery: build: --capacity: "},
      {"--mem 1e20", "bloomery: build: --mem: "},
      {"--mem 0", "bloomery: "},
      {"--mem -1", "bloomery: build: --mem: "},
      {"-p 1e-400", "bloomery: build: --fpr: "},
      {"-p 0", "bloomery: build: --fpr: "},
      {"-p 1", "bloomery: build: --fpr: "},
      {"-p 2", "bloomery: build: --fpr: "},
      {"-p 100%", "bloomery: build: --fpr: "},
      {"-p 1/0", "bloomery: build: --fpr: "},
      {"-p nan", "bloomery: build: --fpr: "},
      {"-p inf", "bloomery: build: --fpr: "},
      {"-p -0.1", "bloomery: build: --fpr: "},
      {"--bits-per-key 0", "bloomery: build: --bits-per-key: "},
      {"--bits-per-key nan", "bloomery: build: --bits-per-key: "},
      {"--bits-per-key 1e300", "bloomery: build: bits per key "},
      {"--hashes 0", "bloomery: build: --hashes: 0 is not usable"},
      {"--hashes 1e9", "bloomery: build: number of hash functions "},
      {"--headroom 1e300", "bloomery: build: "},
      {"--headroom -1", "bloomery: build: --headroom: "},
      {"--seed 18446744073709551616", "bloomery: build: --seed: "},
      {"-j 0", "bloomery: build: --jobs: 0 is not usable"},
  };
  for (const auto& [number, text] : numbers_and_texts) expect_refused("build -o new " + number + " keys", text);
  expect_refused("plan -n 1e30", "bloomery: plan: --capacity: ");
  expect_refused("plan -n 1M -p nan", "bloomery: plan: --fpr: ");
  expect_refused("plan -n 1M --mem 1e20", "bloomery: plan: --mem: ");
  expect_refused("verify good --keys keys --probes 0", "bloomery: verify: --probes: 0 is not usable");
  expect_refused("verify good --keys keys --probes 1e30", "bloomery: verify: --probes: ");
}

TEST_F(Adversity, ContradictionsAreSaidByEveryVerb) {
  const std::vector<std::pair<std::string, std::string>> commands_and_texts = {
      {"build -o new -p 0.1 --bits-per-key 8 keys", "bloomery: build: -p and --bits-per-key contradict each other"},
      {"build -o new --kind bitmap --u64 -p 0.1 keys", "bloomery: build: kind bitmap is exact"},
      {"build -o new --kind bitmap keys", "bloomery: build: kind bitmap holds integers: give --u64"},
      {"build -o new --hex --u64 keys", "bloomery: build: --hex and --u64 contradict each other"},
      {"build -o - --json keys", "bloomery: build: --json and -o - would both write to standard output"},
      {"merge -o - --json good", "bloomery: merge: --json and -o - would both write to standard output"},
      {"query --mark -v good keys", "bloomery: query: --mark shows present and absent lines"},
      {"query - -", "bloomery: query: the filter comes from standard input"},
      {"count - -", "bloomery: count: the filter comes from standard input"},
      {"add good - -", "bloomery: add: standard input (-) can be read only once"},
      {"info --plot --json good", "bloomery: info: --plot"},
      {"verify good --keys keys --probes 5 --absent keys", "bloomery: verify: --absent and --probes contradict"},
      {"verify - --keys -", "bloomery: verify: standard input (-) can be read only once"},
  };
  for (const auto& [command, text] : commands_and_texts) expect_refused(command, text);
  for (const char* verb : {"add good", "remove good", "count good", "query good"}) {
    expect_refused(std::string(verb) + " --key-file keys keys", "bloomery: good: ");
  }
}

TEST_F(Adversity, AnUnknownOptionIsSaidByEveryVerb) {
  for (const bloomery::cli::verb* each : bloomery::cli::verbs()) {
    const std::string name(each->name);
    expect_refused(name + " --wxyzwxyz",
                   "bloomery: " + name + ": there is no option --wxyzwxyz; see 'bloomery " + name);
    expect_refused(name + " --hlep", "bloomery: " + name + ": there is no option --hlep; did you mean --help?");
    expect_refused(name + "x --json", "bloomery: there is no verb '" + name + "x'; did you mean '");
  }
}

}  // namespace

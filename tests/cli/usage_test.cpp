// Wrong and right command lines: what every verb has in common.
#include <sstream>

#include "cli/tool_box.hpp"
#include "cli/verbs/verb.hpp"

namespace {

using namespace bloomery_test;

class Usage : public tool_box {};

// From the list itself: a verb that is added is tested.
const std::vector<std::string> verb_names = [] {
  std::vector<std::string> names;
  for (const bloomery::cli::verb* each : bloomery::cli::verbs()) names.emplace_back(each->name);
  return names;
}();

TEST_F(Usage, NoArgumentsGiveAShortHelpAndTwo) {
  const ran result = run({});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  for (const std::string& verb : verb_names) EXPECT_TRUE(contains(result.err, verb)) << verb;
}

TEST_F(Usage, HelpNamesEveryVerbOnStandardOutput) {
  for (const char* word : {"--help", "-h", "help"}) {
    const ran result = run({word});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.err, "");
    for (const std::string& verb : verb_names) EXPECT_TRUE(contains(result.out, "\n  " + verb)) << verb;
  }
}

TEST_F(Usage, EveryVerbHasHelpWithOptionsExamplesAndExitCodes) {
  for (const std::string& verb : verb_names) {
    const ran result = run({verb, "--help"});
    EXPECT_EQ(result.code, 0) << verb;
    EXPECT_EQ(result.err, "") << verb;
    EXPECT_EQ(result.out.rfind("Usage: bloomery " + verb, 0), 0U) << verb;
    for (const char* part : {"--help", "\nExamples:\n", "\nExit codes:\n"}) {
      EXPECT_TRUE(contains(result.out, part)) << verb << ' ' << part;
    }
    EXPECT_EQ(result.out, run({"help", verb}).out) << verb;
  }
}

TEST_F(Usage, HelpFitsEightyColumns) {
  for (const std::string& verb : verb_names) {
    const std::string help = run({verb, "--help"}).out;
    const std::size_t options_end = help.find("\nExamples:");
    for (std::size_t at = 0; at < options_end;) {
      const std::size_t end = help.find('\n', at);
      EXPECT_LE(end - at, 80U) << help.substr(at, end - at);
      at = end + 1;
    }
  }
}

TEST_F(Usage, VersionIsOneLine) {
  const ran result = run({"--version"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out.rfind("bloomery ", 0), 0U);
  EXPECT_EQ(lines_in(result.out), 1U);
}

TEST_F(Usage, AMistypedVerbIsGuessed) {
  expect_error({"quary"}, "bloomery: there is no verb 'quary'; did you mean 'query'?");
  expect_error({"biuld"}, "bloomery: there is no verb 'biuld'; did you mean 'build'?");
  expect_error({"crate"}, "bloomery: there is no verb 'crate'; did you mean 'create'?");
  expect_error({"xyzzyx"}, "bloomery: there is no verb 'xyzzyx'; see 'bloomery --help'");
  expect_error({"--verson"}, "bloomery: there is no option '--verson'; did you mean '--version'?");
}

TEST_F(Usage, VerbsHaveTheNamesThatOtherToolsUse) {
  EXPECT_EQ(run({"create", "-q", "-o", "f"}, "a\n").code, 0);
  EXPECT_EQ(run({"check", "f"}, "a\n").out, "a\n");
  EXPECT_EQ(run({"show", "f"}).out, run({"info", "f"}).out);
}

TEST_F(Usage, UnknownOptionsAreNamedAndGuessed) {
  expect_error({"query", "--jsno", "f"}, "bloomery: query: there is no option --jsno; did you mean --json?");
  expect_error({"query", "-y", "f"}, "bloomery: query: there is no option -y; see 'bloomery query --help'");
  expect_error({"query", "--wxyzwxyz=3"},
               "bloomery: query: there is no option --wxyzwxyz; see 'bloomery query --help'");
  expect_error({"kinds", "-n", "3"}, "bloomery: kinds: there is no option -n; see 'bloomery kinds --help'");
}

TEST_F(Usage, AShortenedOptionMustBeUnambiguous) {
  expect_error({"query", "--c", "f"}, "bloomery: query: --c may mean --count, --csv, --crlf: write it out");
  build("f", "a\n");
  EXPECT_EQ(run({"query", "--coun", "f"}, "a\nb\n").out, "1\n");
}

TEST_F(Usage, AMissingOrForbiddenValueIsNamed) {
  expect_error({"build", "-o"}, "bloomery: build: -o needs a value: -o FILE");
  expect_error({"build", "-o", "f", "--capacity"}, "bloomery: build: --capacity needs a value: --capacity N");
  expect_error({"query", "--count=3", "f"}, "bloomery: query: --count takes no value");
  expect_error({"build", "-o", ""}, "bloomery: build: --output: the name is empty: give a file");
}

TEST_F(Usage, BadNumbersSayWhatWouldBeRight) {
  const std::string count = "give a whole number such as 1000, 1e9, 10M or 1Gi";
  const std::string rate = " is not usable: give a number above 0 and below 1, such as 0.01, 1% or 1/100";
  expect_error({"build", "-o", "f", "-n", "many"}, "bloomery: build: --capacity: 'many' is not usable: " + count);
  expect_error({"build", "-o", "f", "-n", "-5"}, "bloomery: build: --capacity: '-5' is not usable: " + count);
  expect_error({"build", "-o", "f", "-n", "1.5"}, "bloomery: build: --capacity: '1.5' is not a whole number: " + count);
  expect_error({"build", "-o", "f", "-n", "0"}, "bloomery: build: --capacity: 0 is not usable: give 1 or more");
  expect_error({"build", "-o", "f", "-n", "1e20"},
               "bloomery: build: --capacity: '1e20' is too large: the largest is 18446744073709551615");
  for (const char* p : {"0", "1", "1.5", "-0.1", "nan", "inf", "x", "100%", "1/0", "0/5", ""}) {
    expect_error({"build", "-o", "f", "-p", p}, std::string("bloomery: build: --fpr: false-positive rate ") + p + rate);
  }
  expect_error(
      {"build", "-o", "f", "--seed", "-1"},
      "bloomery: build: --seed: '-1' is not usable: give a whole number from 0 to 18446744073709551615, or 0x...");
  expect_error({"build", "-o", "f", "--mem", "big"},
               "bloomery: build: --mem: 'big' is not usable: give a size such as 4096, 64KiB, 512M or 1Gi");
  EXPECT_FALSE(exists("f"));
}

TEST_F(Usage, NumbersAreReadAsPeopleWriteThem) {
  const std::vector<std::pair<std::string, std::uint64_t>> counts = {
      {"1000", 1000}, {"1e3", 1000},     {"1E3", 1000},   {"1.5k", 1500}, {"10K", 10000},
      {"1Ki", 1024},  {"0.5Mi", 524288}, {"2M", 2000000}, {"2500e-2", 25}};
  for (const auto& [text, value] : counts) {
    EXPECT_EQ(json_of({"build", "--json", "--force", "-o", "f", "-n", text}, "a\n")["capacity_keys"], value) << text;
  }
  const std::vector<std::pair<std::string, double>> rates = {
      {"0.001", 0.001}, {"0.1%", 0.001}, {"1/1000", 0.001}, {"1e-3", 0.001}, {"2/1e3", 0.002}};
  for (const auto& [text, value] : rates) {
    const auto built = json_of({"build", "--json", "--force", "-o", "f", "-n", "100k", "-p", text}, "a\n");
    EXPECT_LE(built["target_fpr"], value) << text;
    EXPECT_GT(built["target_fpr"], value * 0.98) << text;
  }
}

TEST_F(Usage, WordsOfALimitedSetAreCheckedAndGuessed) {
  expect_error({"build", "-o", "f", "--kind", "blom"},
               "bloomery: build: --kind: there is no 'blom'; did you mean 'bloom'?");
  expect_error({"build", "-o", "f", "--hash", "xhh3"},
               "bloomery: build: --hash: there is no 'xhh3'; did you mean 'xxh3'?");
  expect_error({"build", "-o", "f", "--compress", "lzma"},
               "bloomery: build: --compress: there is no 'lzma'; there are: none, rans, zstd, gzip");
}

TEST_F(Usage, OptionsMayStandBehindOperandsAndShortOnesTogether) {
  build("f", "a\nb\n");
  write("keys", "a\nx1\nx2\n");
  EXPECT_EQ(run({"query", "f", "keys", "-vc"}).out, "2\n");
  EXPECT_EQ(run({"query", "f", "-c", "--", "keys"}).out, "1\n");
  EXPECT_EQ(run({"build", "-of2", "--kind=bloom", "-n5", "-q", "keys"}).code, 0);
  EXPECT_EQ(json_of({"info", "--json", "f2"})["kind"], "bloom");
}

TEST_F(Usage, ContradictionsAreNamed) {
  expect_error({"build", "-o", "f", "--hex", "--u64"},
               "bloomery: build: --hex and --u64 contradict each other: give one", "a\n");
  expect_error({"build", "-o", "f", "-p", "1%", "--bits-per-key", "10"},
               "bloomery: build: -p and --bits-per-key contradict each other: give one");
  expect_error({"build", "-o", "-", "--json"},
               "bloomery: build: --json and -o - would both write to standard output: give a file");
  expect_error({"query", "-v", "--mark", "f"}, "bloomery: query: --mark shows present and absent lines: leave -v out");
  expect_error({"query", "-"},
               "bloomery: query: the filter comes from standard input, so the keys cannot: name their files");
  expect_error({"verify", "f", "--keys", "k", "--absent", "a", "--probes", "5"},
               "bloomery: verify: --absent and --probes contradict each other: give one");
}

TEST_F(Usage, WhatIsMissingIsNamed) {
  expect_error({"build"}, "bloomery: build: give the file to write: -o FILE, or -o - for standard output");
  expect_error({"query"}, "bloomery: query: give the filter: bloomery query FILE [KEYFILES]");
  expect_error({"info"}, "bloomery: info: give a filter: bloomery info FILE...");
  expect_error({"verify", "f"}, "bloomery: verify: give the keys that it was built from: --keys KEYFILE");
  expect_error({"verify", "--keys", "k"}, "bloomery: verify: give one filter: bloomery verify FILE --keys KEYFILE");
  expect_error({"kinds", "x"}, "bloomery: kinds: takes no 'x'");
}

TEST_F(Usage, KindsListsEachKindOnALineAndAsJson) {
  const ran text = run({"kinds"});
  const auto kinds = json_of({"kinds", "--json"})["kinds"];
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(lines_in(text.out), kinds.size() + 1);
  for (const auto& kind : kinds) {
    EXPECT_TRUE(contains(text.out, "\n" + kind["name"].get<std::string>() + " "));
    EXPECT_TRUE(contains(text.out, kind["summary"].get<std::string>()));
  }
  EXPECT_EQ(kinds[0]["name"], "bloom");
  EXPECT_NEAR(kinds[0]["bits_per_key_at_1_percent"].get<double>(), 9.59, 0.02);
  EXPECT_EQ(kinds[2]["exact"], true);
  EXPECT_TRUE(kinds[2]["bits_per_key_at_1_percent"].is_null());
  EXPECT_EQ(kinds[0]["layouts"], nlohmann::json::array());
  EXPECT_EQ(kinds[1]["layouts"], nlohmann::json::array({"split64", "split32"}));
  for (const auto& kind : kinds) {
    if (kind["name"] != "cuckoo") continue;
    EXPECT_EQ(kind["layouts"], nlohmann::json::array({"window", "slots4", "slots2", "sorted", "redis"}));
    EXPECT_EQ(kind["modes"], nlohmann::json::array({"multiset", "set"}));
  }
}

TEST_F(Usage, HelpHasTheLayoutsAndModesOfEveryKind) {
  const std::string build = run({"build", "--help"}).out;
  std::string words;  // however the lines are broken
  std::istringstream in(build);
  for (std::string word; in >> word;) words.append(word).append(" ");
  for (const char* part :
       {"blocked: split64, split32; ", "counting: spread, line; ", "cuckoo: window[:BITS], slots4[:BITS], ",
        "window: stamped, rotating[G]", "(scalable: scaling, fixed; growing: multiset, set; "}) {
    EXPECT_TRUE(contains(words, part)) << part << "\n" << build;
  }
}

TEST_F(Usage, ColoursAppearOnlyWhereTheyAreWanted) {
  EXPECT_FALSE(contains(run({"kinds"}).out, "\x1b["));
  EXPECT_TRUE(contains(run({"kinds", "--color=always"}).out, "\x1b["));
  const std::vector<std::string> xterm = {"TERM=xterm"};
  EXPECT_TRUE(contains(run_tool_on_terminal({"kinds"}, xterm).out, "\x1b["));
  EXPECT_FALSE(contains(run_tool_on_terminal({"kinds", "--color=never"}, xterm).out, "\x1b["));
  EXPECT_FALSE(contains(run_tool_on_terminal({"kinds"}, {"TERM=xterm", "NO_COLOR=1"}).out, "\x1b["));
  EXPECT_FALSE(contains(run_tool_on_terminal({"kinds"}, {"TERM=dumb"}).out, "\x1b["));
}

}  // namespace

// How often the tool opens a filter's file: once, whatever it does with it. A second open by name could meet another file.
#include <map>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Opens : public tool_box {
 protected:
  void SetUp() override {
    tool_box::SetUp();
    write("keys", numbers(1, 200));
    write("more", numbers(150, 300));
    build("plain", numbers(1, 200), {"-n", "1000"});
    build("other", numbers(150, 300), {"-n", "1000"});
    build("zstd", numbers(1, 200), {"-n", "1000", "--kind", "blocked", "--compress", "zstd"});
    build("text", numbers(1, 200), {"-n", "1000", "--format", "text"});
    build("bitmap", numbers(1, 200), {"--kind", "bitmap", "--u64"});
    build("cuckoo", numbers(1, 200), {"-n", "1000", "--kind", "cuckoo"});
    build("counting", numbers(1, 200), {"-n", "1000", "--kind", "counting"});
    build("dcso", numbers(1, 200), {"-n", "1000", "--format", "dcso"});
    build("dcso2", numbers(150, 300), {"-n", "1000", "--format", "dcso"});
    build("redis", numbers(1, 200), {"-n", "1000", "--format", "redisbloom"});
    build("set", numbers(1, 200), {"-n", "1000", "--shards", "3"});
    build("set2", numbers(150, 300), {"-n", "1000", "--shards", "3"});
  }

  // The names that a command opens, in order; `before` is for the shell.
  [[nodiscard]] std::vector<std::string> opened_by(const std::string& command, const std::string& before = {}) const {
    const std::string log = std::filesystem::path(path("x")).parent_path().string() + ".opens";
    const ran result =
        sh(before + "LD_PRELOAD=" BLOOMERY_FAULT " BLOOMERY_FAULT_OPENS=" + log + " \"$TOOL\" " + command);
    EXPECT_EQ(result.code, 0) << command << ": " << result.err;
    std::vector<std::string> out;
    std::ifstream lines(log);
    for (std::string line; std::getline(lines, line);) out.push_back(line);
    std::filesystem::remove(log);
    return out;
  }
  // Each of these files exactly once.
  void expect_once(const std::string& command, const std::vector<std::string>& files,
                   const std::string& before = {}) const {
    const auto opened = opened_by(command, before);
    for (const std::string& file : files) {
      EXPECT_EQ(std::count(opened.begin(), opened.end(), file), 1) << command << ": " << file;
    }
  }
  static std::vector<std::string> shards_of(const std::string& set) {
    return {set + ".00-of-03", set + ".01-of-03", set + ".02-of-03"};
  }
};

TEST_F(Opens, AFilterIsOpenedOnceByEveryVerbThatReadsIt) {
  for (const std::string file : {"plain", "zstd", "text", "cuckoo", "counting", "dcso", "redis"}) {
    expect_once("info " + file, {file});
    expect_once("query -c " + file + " keys", {file});
    expect_once("verify -q " + file + " --keys keys", {file});
  }
  expect_once("query -c --u64 bitmap keys", {"bitmap"});
  expect_once("count counting keys", {"counting"});
  expect_once("convert -q plain -o plain.text --to text", {"plain"});
  expect_once("convert -q text -o text.plain --to native", {"text"});
  expect_once("convert -q dcso -o dcso.copy --to dcso", {"dcso"});
  expect_once("merge -q -o union plain other", {"plain", "other"});
  expect_once("merge -q --intersect -o both zstd text", {"zstd", "text"});
  expect_once("merge -q -o dcso.union dcso dcso2", {"dcso", "dcso2"});
}

TEST_F(Opens, AFilterIsOpenedOnceByEveryVerbThatChangesIt) {
  for (const std::string file : {"plain", "zstd", "text", "counting", "dcso", "redis"}) {
    expect_once("add -q " + file + " more", {file});
  }
  expect_once("add -q --u64 bitmap more", {"bitmap"});
  expect_once("remove -q cuckoo keys", {"cuckoo"});
  expect_once("merge -q --force -o plain plain other", {"plain", "other"});
  const auto opened = opened_by("merge -q --force -o ./other plain other");
  EXPECT_EQ(std::count(opened.begin(), opened.end(), "./other"), 1) << "it is locked by this name";
  EXPECT_EQ(std::count(opened.begin(), opened.end(), "other"), 0) << "and read through the lock";
  expect_once("dedup -q --approx -n 1000 --state seen keys", {});
  expect_once("dedup -q --approx --state seen more", {"seen"});
}

TEST_F(Opens, EveryShardIsOpenedOnce) {
  expect_once("info set", shards_of("set"));
  expect_once("info set.01-of-03", {"set.01-of-03"});
  expect_once("query -c set keys", shards_of("set"));
  expect_once("verify -q set --keys keys", shards_of("set"));
  expect_once("add -q set more", shards_of("set"));
  auto both = shards_of("set");
  for (const std::string& file : shards_of("set2")) both.push_back(file);
  expect_once("merge -q -o union set set2", both);
  expect_once("merge -q --force -o set set set2", both);
}

TEST_F(Opens, StandardInputAndAPipeAreOpenedOnce) {
  expect_once("query -c - keys < plain", {"/dev/stdin"});
  ASSERT_EQ(sh("mkfifo pipe").code, 0);
  for (const std::string file : {"plain", "zstd", "text", "dcso"}) {
    expect_once("query -c pipe keys", {"pipe"}, "(cat " + file + " > pipe &) && ");
    expect_once("query -c - keys < " + file, {"/dev/stdin"});
  }
}

// The first bytes serve detection and the header, the last ones detection.
TEST_F(Opens, TheHeaderOfAMappedFileIsReadOnce) {
  const std::string log = std::filesystem::path(path("x")).parent_path().string() + ".log";
  for (const std::string file : {"plain", "dcso"}) {
    const ran result = sh("LD_PRELOAD=" BLOOMERY_FAULT " BLOOMERY_FAULT=pread:0:0 BLOOMERY_FAULT_LOG=" + log +
                          " exec \"$TOOL\" info " + file);
    EXPECT_EQ(result.code, 0) << result.err;
    std::ifstream counts(log);
    int preads = 0;
    counts >> preads;
    EXPECT_EQ(preads, 2) << file;
    std::filesystem::remove(log);
  }
}

TEST_F(Opens, WhatCannotBeOpenedIsReportedWithItsName) {
  write("empty", "");
  ASSERT_EQ(sh("mkdir folder && cp set.00-of-03 lone.00-of-03").code, 0);
  const std::map<std::string, std::string> words = {
      {"none", "No such file or directory"}, {"folder", "is a directory"}, {"empty", "is empty"}, {"keys", "(text)"},
      {"set.01-of-03", ", set\n"},           {"lone", "01-of-03"}};
  for (const auto& [name, why] : words) {
    for (const std::string verb : {"query", "count", "add", "merge -o new"}) {
      std::string command = verb;
      const ran result = sh("exec \"$TOOL\" " + command.append(" ").append(name).append(" more"));
      EXPECT_EQ(result.code, 2) << command;
      EXPECT_EQ(result.err.rfind("bloomery: " + name + ": ", 0), 0U) << command << ": " << result.err;
      EXPECT_TRUE(contains(result.err, why)) << command << ": " << result.err;
      EXPECT_EQ(lines_in(result.err), 1U) << result.err;
    }
  }
}

}  // namespace

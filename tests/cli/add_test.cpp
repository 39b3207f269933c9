#include <sys/stat.h>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Add : public tool_box {};

TEST_F(Add, GivesTheFileThatOneBuildOfAllKeysWouldHaveGiven) {
  for (const char* kind : {"blocked", "bloom"}) {
    const std::string name(kind);
    build(name + ".all", numbers(1, 3000), {"--kind", kind, "-n", "5000"});
    build(name, numbers(1, 1000), {"--kind", kind, "-n", "5000"});
    const ran added = run({"add", name}, numbers(1001, 3000));
    EXPECT_EQ(added.code, 0) << added.err;
    EXPECT_EQ(added.out, "");
    EXPECT_EQ(lines_in(added.err), 1U) << added.err;
    EXPECT_EQ(added.err.rfind(name + ": " + kind + ", 2,000 keys read, ", 0), 0U) << added.err;
    EXPECT_TRUE(read(name) == read(name + ".all"));
  }
}

TEST_F(Add, TheResultDoesNotDependOnTheNumberOfThreads) {
  write("more", numbers(1001, 20000));
  build("one", numbers(1, 1000), {"-n", "20000"});
  build("eight", numbers(1, 1000), {"-n", "20000"});
  ASSERT_EQ(run({"insert", "-q", "-j", "1", "one", "more"}).code, 0);
  ASSERT_EQ(run({"insert", "-q", "-j", "8", "eight", "more"}).code, 0);
  EXPECT_TRUE(read("one") == read("eight"));
}

TEST_F(Add, KeepsTheFormAndThePermissionsOfTheFile) {
  const std::vector<std::vector<std::string>> forms = {{},
                                                       {"--compress", "zstd"},
                                                       {"--compress", "gzip"},
                                                       {"--format", "text"},
                                                       {"--compress", "zstd", "--format", "text"}};
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const std::string name = "f" + std::to_string(i);
    std::vector<std::string> how = {"-n", "1000"};
    how.insert(how.end(), forms[i].begin(), forms[i].end());
    build(name, numbers(1, 10), how);
    build(name + ".all", numbers(1, 500), how);
    ASSERT_EQ(chmod(path(name).c_str(), 0640), 0);
    const ran added = run({"add", "-q", name}, numbers(11, 500));
    EXPECT_EQ(added.code, 0) << added.err;
    EXPECT_EQ(added.err, "");
    EXPECT_TRUE(read(name) == read(name + ".all")) << i;
    struct stat status {};
    ASSERT_EQ(stat(path(name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0640U) << i;
  }
}

TEST_F(Add, FollowsASymbolicLinkAndChangesItsTarget) {
  build("target", "a\n", {"-n", "100"});
  ASSERT_EQ(symlink("target", path("link").c_str()), 0);
  ASSERT_EQ(run({"add", "-q", "link"}, "b\n").code, 0);
  EXPECT_EQ(run({"query", "target"}, "a\nb\n").out, "a\nb\n");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
}

TEST_F(Add, WarnsOnceBeyondTheCapacityWithTheRateItNowHas) {
  build("f", numbers(1, 1000), {"-n", "1000"});
  const ran added = run({"add", "f"}, numbers(1001, 2000));
  EXPECT_EQ(added.code, 0);
  ASSERT_EQ(lines_in(added.err), 2U) << added.err;
  EXPECT_EQ(added.err.rfind("bloomery: warning: f: now holds about ", 0), 0U) << added.err;
  EXPECT_TRUE(contains(added.err, " keys and was made for 1,000: its false-positive rate is now ")) << added.err;
  EXPECT_TRUE(contains(added.err, ", promised was 1.00 %; build it again with -n ")) << added.err;
  const auto now = json_of({"add", "--json", "-q", "f"}, "");
  EXPECT_NEAR(now["keys"].get<double>(), 2000.0, 100.0);
  EXPECT_GT(now["fpr_now"].get<double>(), 0.05);
  EXPECT_EQ(run({"query", "-c", "f"}, numbers(1, 2000)).out, "2000\n");
}

TEST_F(Add, DoesNotWarnWithinTheCapacityNorForKindsThatGrow) {
  build("f", numbers(1, 500), {"-n", "1000"});
  const ran within = run({"add", "f"}, numbers(501, 900));
  EXPECT_EQ(lines_in(within.err), 1U) << within.err;
  build("set", numbers(1, 10), {"--kind", "bitmap", "--u64"});
  const ran grown = run({"add", "--u64", "set"}, numbers(5, 5000));
  EXPECT_EQ(grown.err, "set: bitmap, 4,996 keys read, 4,990 inserted; holds 5,000 keys\n");
}

TEST_F(Add, JsonIsOneObjectOnStandardOutput) {
  build("f", "a\nb\n", {"-n", "1000"});
  const ran added = run({"add", "--json", "f"}, "b\nc\n");
  EXPECT_EQ(added.err, "");
  const auto object = nlohmann::json::parse(added.out, nullptr, false);
  EXPECT_EQ(object["file"], "f");
  EXPECT_EQ(object["kind"], "blocked");
  EXPECT_EQ(object["keys_read"], 2);
  EXPECT_EQ(object["keys_inserted"], 1);
  EXPECT_EQ(object["keys"], 3);
  EXPECT_EQ(object["capacity_keys"], 1000);
  EXPECT_EQ(object["file_bytes"], read("f").size());
  EXPECT_EQ(object["target_fpr"], 0.01);
  build("set", "1\n", {"--kind", "bitmap", "--u64"});
  EXPECT_TRUE(json_of({"add", "--u64", "--json", "set"}, "2\n")["capacity_keys"].is_null());
}

TEST_F(Add, NeedsTheSecretOfAKeyedFilter) {
  write("secret", "0123456789abcdef");
  build("f", "a\n", {"-n", "100", "--key-file", "secret", "--hash", "siphash13"});
  const std::string before = read("f");
  expect_error({"add", "f"},
               "bloomery: f: was built with the keyed hash siphash13: give its secret key with --key-file", "b\n");
  EXPECT_TRUE(read("f") == before);
  ASSERT_EQ(run({"add", "-q", "--key-file", "secret", "f"}, "b\n").code, 0);
  EXPECT_EQ(run({"query", "-c", "--key-file", "secret", "f"}, "a\nb\n").out, "2\n");
}

TEST_F(Add, TakesKeysOfBothDigestWidths) {
  build("wide", numbers(1, 100), {"--kind", "bloom", "-n", "1000", "-p", "1e-18"});
  EXPECT_EQ(json_of({"info", "--json", "wide"})["digest_bits"], 128);
  ASSERT_EQ(run({"add", "-q", "wide"}, numbers(101, 200)).code, 0);
  EXPECT_EQ(run({"query", "-c", "wide"}, numbers(1, 300)).out, "200\n");
}

TEST_F(Add, AnErrorInTheMiddleOfTheKeysLeavesTheFileAsItWas) {
  build("f", numbers(1, 100), {"-n", "1000000"});
  const std::string before = read("f");
  const auto there = names();
  write("keys.csv", "a,1\nb,2\n\"c,3\n");
  expect_error({"add", "--csv", "-f", "2", "f", "keys.csv"},
               "bloomery: keys.csv: line 3: a quoted field has no closing quote");
  write("hex", numbers(100000, 199999) + "zz\n");
  expect_error({"add", "--hex", "f", "hex"},
               "bloomery: hex: line 100001: 'zz' is not hexadecimal: give digits 0-9 a-f");
  expect_error({"add", "f", "hex", "missing"}, "bloomery: missing: cannot open: No such file or directory");
  EXPECT_TRUE(read("f") == before);
  std::filesystem::remove(path("keys.csv"));
  std::filesystem::remove(path("hex"));
  EXPECT_EQ(names(), there);
}

TEST_F(Add, RefusesWhatCannotBeChangedInPlace) {
  build("f", "a\n", {"-n", "100"});
  const std::string before = read("f");
  expect_error({"add"}, "bloomery: add: give the filter: bloomery add FILE [KEYFILES]");
  expect_error({"add", "-"}, "bloomery: add: standard input cannot be changed in place: give the filter's file");
  expect_error({"add", "missing"}, "bloomery: missing: cannot open: No such file or directory", "b\n");
  expect_error({"add", "."}, "bloomery: .: is a directory: give a file", "b\n");
  expect_error({"add", "/dev/null"},
               "bloomery: /dev/null: is no file that can be changed in place: give a regular file", "b\n");
  expect_error({"add", "f", "f"}, "bloomery: f: is an input as well: give another name for the output");
  const ran fed = sh("exec \"$TOOL\" add f < f");
  EXPECT_EQ(fed.err, "bloomery: f: is an input as well: give another name for the output\n");
  EXPECT_EQ(fed.code, 2);
  EXPECT_TRUE(read("f") == before);
}

}  // namespace

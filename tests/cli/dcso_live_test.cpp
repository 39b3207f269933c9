// The real `bloom` command of DCSO beside the tool: each reads what the other wrote. It is in packages.txt; without it
// these tests fail.
#include <nlohmann/json.hpp>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class DcsoLive : public tool_box {
 protected:
  void SetUp() override {
    tool_box::SetUp();
    ASSERT_EQ(sh("bloom --version").code, 0) << "the command bloom is missing: see packages.txt";
    // Keys as the command takes them: lines, also an empty one, long ones, and any bytes.
    std::string keys = "\n" + std::string(60000, 'x') + "\n\xff\xfe\x80\n\xc3\xa4\xe4\xb8\xad\n blank \t\n";
    for (int i = 0; i < 20000; ++i) keys.append("key-").append(std::to_string(i * i)).append("\n");
    std::string others;
    for (int i = 0; i < 20000; ++i) others.append("other-").append(std::to_string(i)).append("\n");
    write("keys", keys);
    write("others", others);
    write("probes", keys + others);
  }
  void expect_ok(const std::string& command) const {
    const ran result = sh(command);
    EXPECT_EQ(result.code, 0) << command << ": " << result.err;
  }
};

TEST_F(DcsoLive, BothMakeTheSameBytes) {
  for (const char* size : {"-n 20005 -p 0.01", "-n 20005 -p 0.000001", "-n 1000 -p 0.1", "-n 100000 -p 0.25"}) {
    expect_ok(std::string("rm -f theirs ours && bloom create ") + size + " theirs < keys");
    expect_ok(std::string("$TOOL build -q --format dcso -o ours ") + size + " keys");
    EXPECT_TRUE(read("theirs") == read("ours")) << size;
  }
}

TEST_F(DcsoLive, TheCommandReadsOurs) {
  expect_ok("$TOOL build -q --format dcso -p 0.05 -o ours keys");
  expect_ok("bloom check ours < probes > theirs.txt");
  expect_ok("$TOOL query ours probes > ours.txt");
  EXPECT_TRUE(read("theirs.txt") == read("ours.txt"));
  EXPECT_GT(lines_in(read("ours.txt")), 20005U) << "no false positive at all would prove little";
  EXPECT_EQ(sh("$TOOL query -c ours keys").out, "20005\n");
}

TEST_F(DcsoLive, WeReadTheirs) {
  expect_ok("bloom create -n 20005 -p 0.03 theirs < keys");
  expect_ok("bloom check theirs < probes > theirs.txt");
  expect_ok("$TOOL query theirs probes > ours.txt");
  EXPECT_TRUE(read("theirs.txt") == read("ours.txt"));
  EXPECT_EQ(json_of({"info", "--json", "theirs"})["format"], "dcso");
  EXPECT_EQ(json_of({"info", "--json", "theirs"})["capacity_keys"], 20005);
}

TEST_F(DcsoLive, PackedFilesGoBothWays) {
  expect_ok("bloom --gzip create -n 20005 -p 0.03 theirs.gz < keys");
  expect_ok("$TOOL query theirs.gz probes > ours.txt");
  expect_ok("bloom --gzip check theirs.gz < probes > theirs.txt");
  EXPECT_TRUE(read("theirs.txt") == read("ours.txt"));
  expect_ok("$TOOL build -q --format dcso --compress gzip -n 20005 -p 0.03 -o ours.gz keys");
  expect_ok("bloom --gzip check ours.gz < probes > theirs.txt");
  EXPECT_TRUE(read("theirs.txt") == read("ours.txt"));
  expect_ok("gunzip < ours.gz > ours && gunzip < theirs.gz > theirs");
  EXPECT_TRUE(read("ours") == read("theirs"));
  EXPECT_EQ(json_of({"info", "--json", "theirs.gz"})["compression"], "gzip");
}

TEST_F(DcsoLive, AddingAndInsertingAreTheSame) {
  for (const char* packed : {"", "--gzip "}) {
    expect_ok(std::string("rm -f theirs ours && bloom ") + packed + "create -n 50000 -p 0.001 theirs < keys");
    expect_ok("cp theirs ours");
    expect_ok(std::string("bloom ") + packed + "insert theirs < others");
    expect_ok("$TOOL add -q ours others");
    if (*packed != '\0') {
      expect_ok("for f in ours theirs; do gunzip < $f > $f.raw && mv $f.raw $f; done");
    }
    EXPECT_TRUE(read("ours") == read("theirs")) << packed;
  }
}

TEST_F(DcsoLive, MergingAndJoiningAreTheSame) {
  expect_ok("bloom create -n 50000 -p 0.001 a < keys && bloom create -n 50000 -p 0.001 b < others");
  expect_ok("$TOOL merge -q -o ours a b");
  expect_ok("bloom join a b");
  EXPECT_TRUE(read("ours") == read("a"));
  expect_ok("bloom create -n 40000 -p 0.001 c < others");
  EXPECT_NE(sh("bloom join a c").code, 0);
  EXPECT_EQ(sh("$TOOL merge -o x a c").code, 2);
}

TEST_F(DcsoLive, AttachedDataStays) {
  expect_ok("bloom create -n 50000 -p 0.001 theirs < keys");
  expect_ok("printf 'list of today\\nversion 7\\n' | bloom set-data theirs");
  expect_ok("$TOOL add -q theirs others");
  EXPECT_EQ(sh("bloom get-data theirs").out, "list of today\nversion 7\n");
  expect_ok("bloom check theirs < others > found");
  EXPECT_TRUE(read("found") == read("others"));
}

}  // namespace

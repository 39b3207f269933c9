// Copies of keys in kinds of fixed capacity that count them: a build that sizes itself finds room for all.
#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Copies : public tool_box {
 protected:
  static std::string times(const std::string& text, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += text;
    return out;
  }
  // Every key is found, and the filter says what mode it is in.
  void expect_built(const std::string& name, const std::string& keys, const std::string& mode) const {
    const ran absent = run({"query", "-c", "-v", name}, keys);
    EXPECT_EQ(absent.out, "0\n") << absent.err;
    EXPECT_TRUE(contains(run({"info", name}).out, mode)) << run({"info", name}).out;
  }
  static constexpr const char* set_warning =
      " has no room for all copies of these keys: each key is stored once, in mode set";
};

TEST_F(Copies, AreSizedForAndCounted) {
  const std::string keys = numbers(1, 2000) + numbers(1, 500);
  for (const std::string kind : {"cuckoo", "dleft"}) {
    build("pipe", keys, {"--force", "--kind", kind});
    expect_built("pipe", keys, "multiset");
    EXPECT_EQ(run({"remove", "-q", "pipe"}, keys).code, 0) << "every copy was in it: " << kind;
    build("named", keys, {"--force", "--kind", kind, "--mode", "multiset"});
    expect_built("named", keys, "multiset");
    build("parts-" + kind, keys, {"--kind", kind, "--shards", "4"});
    expect_built("parts-" + kind, keys, "multiset");
    write("file", keys);
    EXPECT_EQ(run({"build", "-q", "--force", "-o", "fromfile", "--kind", kind, "file"}).err, "");
    build("again", keys, {"--force", "--kind", kind, "-j", "1"});
    EXPECT_TRUE(read("fromfile") == read("again")) << kind;
    build("small", keys, {"--force", "--kind", kind, "--mem", kind == "cuckoo" ? "3000" : "5000"});
    expect_built("small", keys, "multiset");
  }
}

TEST_F(Copies, OfEveryKeyManyTimesAreStoredOnceWithAWarning) {
  for (const std::string kind : {"cuckoo", "dleft"}) {
    for (const std::string& keys : {times("a\n", 100), times(numbers(1, 2000), 16)}) {
      const ran built = run({"build", "-q", "--force", "-o", "f", "--kind", kind}, keys);
      EXPECT_EQ(built.code, 0) << built.err;
      EXPECT_EQ(lines_in(built.err), 1U) << built.err;
      EXPECT_TRUE(contains(built.err, "bloomery: warning: kind " + kind + set_warning)) << built.err;
      expect_built("f", keys, "set");
      EXPECT_EQ(run({"build", "-q", "--strict", "--force", "-o", "f", "--kind", kind}, keys).code, 1);
      build("set", keys, {"--force", "--kind", kind, "--mode", "set"});  // what was asked for is no warning
      EXPECT_TRUE(read("set") == read("f"));
    }
    const ran parts = run({"build", "-q", "-o", "p" + kind, "--kind", kind, "--shards", "3"}, times("a\n", 100));
    EXPECT_EQ(parts.code, 0) << parts.err;
    EXPECT_TRUE(contains(parts.err, set_warning)) << parts.err;
  }
}

TEST_F(Copies, ThatHaveNoRoomAreAnErrorWhereTheModeOrTheNumberWasGiven) {
  expect_error(
      {"build", "-q", "-o", "f", "--kind", "cuckoo", "--mode", "multiset"},
      "bloomery: the filter has no room for more than 4 copies of a key, and one came more often: use mode set, "
      "which takes a key any number of times, or kind counting",
      times("a\n", 100));
  const ran full =
      run({"build", "-q", "-o", "f", "--kind", "cuckoo", "-n", "2000"}, numbers(1, 2000) + numbers(1, 500));
  EXPECT_EQ(full.code, 2);
  EXPECT_TRUE(
      contains(full.err, "build a larger one; copies of a key take room, too, unless --mode set stores them once"))
      << full.err;
  EXPECT_TRUE(names().empty());
}

TEST_F(Copies, LeaveTheHeadroomForKeysToCome) {
  build("f", numbers(1, 2000) + numbers(1, 500), {"--kind", "cuckoo", "--headroom", "50%"});
  EXPECT_EQ(run({"add", "-q", "f"}, numbers(3001, 4000)).code, 0);
}

TEST_F(Copies, AreFoundRoomForWhenFilesAreReadTwice) {
  const ran built =
      sh("(seq 1 1100000; seq 1 1000) > keys && \"$TOOL\" build -q -o f --kind cuckoo --mem 4M -p 1% keys && "
         "\"$TOOL\" query -c -v f keys");
  EXPECT_EQ(built.out, "0\n") << built.err;
  EXPECT_EQ(built.err, "");
  EXPECT_EQ(json_of({"info", "--json", "f"})["parameters"]["mode"], "multiset");
}

TEST_F(Copies, ALayoutThatFillsLessIsMadeLarger) {
  build("f", numbers(1, 40'000), {"--kind", "cuckoo", "--layout", "redis", "-p", "2%", "--hash", "murmur64a"});
  EXPECT_EQ(run({"query", "-c", "-v", "f"}, numbers(1, 40'000)).out, "0\n");
}

}  // namespace

// A set of shards that is written over another: all of it or nothing, whatever goes wrong between two names.
#include <csignal>

#include "cli/fault_box.hpp"

namespace {

using namespace bloomery_test;

class ShardFaults : public fault_box {
 protected:
  static constexpr int shards = 3;
  static std::string over() { return "build -q --force --shards 3 -o s more"; }
  [[nodiscard]] bool is_hidden_somewhere(const std::string& bytes) const {
    const files all = contents();
    return std::any_of(all.begin(), all.end(), [&](const auto& file) {
      return file.first.rfind(".bloomery-", 0) == 0 && file.second == bytes;
    });
  }
};

TEST_F(ShardFaults, ARenameThatFailsMidwayLeavesTheOldSet) {
  for (int n = 1; n <= shards; ++n) {
    prepare();
    const ran result = faulty(over(), "rename", n, -EIO);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.err,
              "bloomery: s: shard 0" + std::to_string(n - 1) + "-of-03 cannot create: Input/output error\n");
    EXPECT_TRUE(contents() == start()) << n;
  }
}

TEST_F(ShardFaults, WhereNamesCannotBeExchangedARenameThatFailsMidwayLeavesTheOldSetAsWell) {
  const std::string cannot = "exchange:1+:" + std::to_string(-EINVAL);
  const files& after = usual(over()).after;
  prepare();
  ASSERT_EQ(faulty(over(), cannot).code, 0);
  EXPECT_TRUE(has_failed());
  EXPECT_TRUE(contents() == after) << "no old file is left";
  // Both library calls of one shard count: an exchange that is refused before it counts, and a rename.
  for (int n = 1; n <= shards; ++n) {
    for (const char* call : {"rename", "link"}) {
      prepare();
      const ran result = faulty(over(), cannot + "," + call + ":" + std::to_string(n) + ":" + std::to_string(-EIO));
      if (std::string_view(call) == "link") {
        EXPECT_EQ(result.code, 0) << n << ": a file that cannot have two names is renamed: " << result.err;
        EXPECT_TRUE(contents() == after) << n;
      } else {
        EXPECT_EQ(result.code, 2) << n;
        EXPECT_EQ(lines_in(result.err), 1U) << n;
        EXPECT_TRUE(contents() == start()) << n;
      }
    }
  }
}

TEST_F(ShardFaults, ASignalBetweenTwoNamesLeavesTheOldSetAndNoTemporaryFile) {
  for (const int number : {SIGINT, SIGTERM}) {
    for (const char* call : {"write", "fsync", "rename", "syncfolder"}) {
      for (int n = 1; n <= shards; ++n) {
        prepare();
        const ran result = faulty(over(), call, n, number);
        if (!has_failed()) break;
        EXPECT_EQ(result.code, 128 + number) << call << n;
        EXPECT_EQ(result.err, "") << call << n;
        EXPECT_TRUE(contents() == start()) << call << n;
      }
    }
  }
}

TEST_F(ShardFaults, ASignalWhileTheOldFilesAreRemovedLeavesTheNewSet) {
  const files& after = usual(over()).after;
  for (int n = 1; n <= shards; ++n) {
    prepare();
    const ran result = faulty(over(), "unlink", n, SIGTERM);
    EXPECT_EQ(result.code, 128 + SIGTERM) << n;
    EXPECT_TRUE(contents() == after) << n;
  }
}

TEST_F(ShardFaults, ASignalInTheMiddleOfANewSetLeavesNothing) {
  for (const char* call : {"write", "fsync", "rename", "syncfolder"}) {
    for (int n = 1; n <= shards; ++n) {
      prepare();
      const ran result = faulty("build -q --shards 3 -o t more", call, n, SIGTERM);
      if (!has_failed()) break;
      EXPECT_EQ(result.code, 128 + SIGTERM) << call << n;
      EXPECT_TRUE(contents() == start()) << call << n;
    }
  }
}

TEST_F(ShardFaults, ACrashBetweenTwoNamesIsRefusedByEveryReaderAndLosesNothing) {
  const files& after = usual(over()).after;
  for (int n = 2; n <= shards; ++n) {
    prepare();
    ASSERT_EQ(faulty(over(), "rename", n, SIGKILL).code, 128 + SIGKILL);
    for (const char* command : {"query s keys", "info s", "verify s --keys keys", "add s keys", "merge -o x s s",
                                "convert s -o x --to native"}) {
      const ran result = sh(std::string("exec \"$TOOL\" ") + command);
      EXPECT_EQ(result.code, 2) << command;
      EXPECT_TRUE(contains(result.err, "belongs to another set than shard 00: give the files that were saved together"))
          << command << ": " << result.err;
    }
    for (const files& whole : {start(), after}) {
      for (const auto& [name, bytes] : whole) {
        if (name.rfind("s.", 0) == 0) {
          EXPECT_TRUE(read(name) == bytes || is_hidden_somewhere(bytes)) << name;
        }
      }
    }
  }
}

}  // namespace

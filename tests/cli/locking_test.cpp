// Several processes and one file.
#include <sys/file.h>
#include <nlohmann/json.hpp>

#include <future>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Locking : public tool_box {
 protected:
  static constexpr const char* busy = ": is being changed by another process: try again when it is done";

  // `add f` that has locked and loaded f and waits for keys.
  struct waiting_add {
    std::future<ran> result;
    int keys = -1;

    ran finish(std::string_view text) {
      EXPECT_EQ(::write(keys, text.data(), text.size()), static_cast<ssize_t>(text.size()));
      close(keys);
      return result.get();
    }
  };
  [[nodiscard]] waiting_add start_add() const {
    EXPECT_EQ(mkfifo(path("keys").c_str(), 0600), 0);
    waiting_add started{std::async(std::launch::async, [this] { return sh("exec \"$TOOL\" add -q --u64 f keys"); })};
    // Opening for writing returns when the tool has opened it for reading, which it does behind the lock.
    started.keys = open(path("keys").c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_GE(started.keys, 0);
    return started;
  }
  void build_set(const std::string& name, int first, int last, std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--kind", "bitmap", "--u64"});
    build(name, numbers(first, last), more);
  }
};

TEST_F(Locking, AFileThatIsBeingChangedIsRefused) {
  build_set("f", 1, 10);
  const std::string before = read("f");
  const int held = open(path("f").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(held, LOCK_EX | LOCK_NB), 0);
  expect_error({"add", "--u64", "f"}, std::string("bloomery: f") + busy, "11\n");
  expect_error({"remove", "--u64", "f"}, std::string("bloomery: f") + busy, "1\n");
  expect_error({"merge", "--force", "-o", "f", "f"}, std::string("bloomery: f") + busy);
  EXPECT_TRUE(read("f") == before);
  EXPECT_EQ(run({"query", "-c", "--u64", "f"}, "1\n").out, "1\n") << "readers need no lock";
  close(held);
  EXPECT_EQ(run({"add", "-q", "--u64", "f"}, "11\n").code, 0);
}

TEST_F(Locking, AnAddIsRefusedWhileAnotherReadsItsKeys) {
  build_set("f", 1, 10);
  auto first = start_add();
  expect_error({"add", "--u64", "f"}, std::string("bloomery: f") + busy, "12\n");
  const ran added = first.finish("11\n");
  EXPECT_EQ(added.code, 0) << added.err;
  EXPECT_EQ(run({"query", "--u64", "f"}, "10\n11\n12\n").out, "10\n11\n");
}

TEST_F(Locking, ABuildWithForceWinsOverAnAddThatItOvertakes) {
  build_set("f", 1, 10);
  build_set("new", 100, 200);
  auto first = start_add();
  build_set("f", 100, 200, {"--force"});
  const ran added = first.finish("11\n");
  EXPECT_EQ(added.code, 2);
  EXPECT_EQ(added.err, "bloomery: f: was replaced by another process meanwhile and is left as it is: try again\n");
  EXPECT_TRUE(read("f") == read("new"));
  EXPECT_EQ(names(), (std::vector<std::string>{"f", "keys", "new"}));
}

TEST_F(Locking, AFileThatIsRemovedMeanwhileDoesNotComeBack) {
  build_set("f", 1, 10);
  auto first = start_add();
  std::filesystem::remove(path("f"));
  EXPECT_EQ(first.finish("11\n").code, 2);
  EXPECT_EQ(names(), (std::vector<std::string>{"keys"}));
}

TEST_F(Locking, OfManyAddsAtOnceTheFileHoldsExactlyThoseThatSucceeded) {
  constexpr int writers = 24;
  constexpr int each = 500;
  build_set("f", 1, 1);
  const ran all =
      sh("for i in $(seq 1 " + std::to_string(writers) +
         "); do (seq ${i}001 ${i}500 | \"$TOOL\" add -q --u64 f 2> err.$i; echo $? > code.$i) & done; wait");
  ASSERT_EQ(all.code, 0) << all.err;
  int succeeded = 0;
  for (int i = 1; i <= writers; ++i) {
    const std::string number = std::to_string(i);
    const std::string code = read("code." + number);
    const std::string found = run({"query", "-c", "--u64", "f"}, numbers(i * 1000 + 1, i * 1000 + each)).out;
    if (code == "0\n") {
      ++succeeded;
      EXPECT_EQ(read("err." + number), "");
      EXPECT_EQ(found, std::to_string(each) + "\n") << "an update was lost";
    } else {
      EXPECT_EQ(code, "2\n");
      EXPECT_EQ(read("err." + number), std::string("bloomery: f") + busy + "\n");
      EXPECT_EQ(found, "0\n") << "a refused update was made";
    }
  }
  EXPECT_GE(succeeded, 1);
  EXPECT_EQ(json_of({"info", "--json", "f"})["keys"], 1 + each * succeeded);
}

TEST_F(Locking, AddsThatTryAgainAllSucceed) {
  constexpr int writers = 8;
  build_set("f", 1, 1);
  const ran all = sh("for i in $(seq 1 " + std::to_string(writers) +
                     "); do (until seq ${i}001 ${i}100 | \"$TOOL\" add -q --u64 f 2> /dev/null; do sleep 0.01; done) & "
                     "done; wait");
  ASSERT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(json_of({"info", "--json", "f"})["keys"], 1 + 100 * writers);
  EXPECT_EQ(names(), (std::vector<std::string>{"f"}));
}

TEST_F(Locking, OfManyBuildsOfOneNewFileExactlyOneSucceeds) {
  constexpr int builders = 12;
  ASSERT_EQ(
      sh("for i in $(seq 1 " + std::to_string(builders) +
         "); do (seq ${i}001 ${i}500 | \"$TOOL\" build -q --kind bitmap --u64 -o f 2> err.$i; echo $? > code.$i) & "
         "done; wait")
          .code,
      0);
  int succeeded = 0;
  for (int i = 1; i <= builders; ++i) {
    const std::string number = std::to_string(i);
    if (read("code." + number) == "0\n") {
      ++succeeded;
      build_set("expected", i * 1000 + 1, i * 1000 + 500);
      EXPECT_TRUE(read("f") == read("expected"));
    } else {
      EXPECT_EQ(read("err." + number), "bloomery: f: exists already: use --force to replace it, or another name\n");
    }
  }
  EXPECT_EQ(succeeded, 1);
}

TEST_F(Locking, OfManyBuildsWithForceOneIsWhole) {
  constexpr int builders = 8;
  ASSERT_EQ(
      sh("for i in $(seq 1 " + std::to_string(builders) +
         "); do (seq ${i}001 ${i}500 | \"$TOOL\" build -q --force --kind bitmap --u64 -o f || echo $? > failed) & "
         "done; wait")
          .code,
      0);
  EXPECT_EQ(names(), (std::vector<std::string>{"f"}));
  int same = 0;
  for (int i = 1; i <= builders; ++i) {
    build_set("expected", i * 1000 + 1, i * 1000 + 500, {"--force"});
    same += read("f") == read("expected") ? 1 : 0;
  }
  EXPECT_EQ(same, 1);
}

}  // namespace

// A folder with filters and keys, and the tool run in it while one chosen call to the system goes wrong (tests/cli/fault).
//
// A writer is a command that creates or changes files. Whatever goes wrong, it ends in one of two ways:
//   exit 0   nothing on standard error, and the same files as without the fault
//   exit 2   one line, and the files as they were; or, where the line says that the file is written and in place, as they
//            should be
// No temporary file is left.
#pragma once

#include <cerrno>
#include <map>

#include "cli/tool_box.hpp"

namespace bloomery_test {

class fault_box : public tool_box {
 protected:
  using files = std::vector<std::pair<std::string, std::string>>;
  struct writer {
    const char* name;
    std::string command;
  };
  struct fault {
    const char* call;
    int what;
    bool is_survived = false;  // the outcome must be exit 0
  };

  void SetUp() override {
    tool_box::SetUp();
    write("keys", numbers(1, 200));
    write("more", numbers(150, 300));
    write("other", numbers(1000, 1050));
    write("gone", numbers(5, 8));
    build("a", numbers(1, 200), {"-n", "1000"});
    build("b", numbers(150, 300), {"-n", "1000"});
    build("z", numbers(1, 200), {"-n", "1000", "--compress", "zstd"});
    build("set", numbers(1, 200), {"--kind", "bitmap", "--u64"});
    build("set2", numbers(150, 300), {"--kind", "bitmap", "--u64"});
    build("cu", numbers(1, 200), {"--kind", "cuckoo"});
    build("s", numbers(1, 200), {"--shards", "3"});
    start_ = contents();
  }
  void TearDown() override {
    std::filesystem::remove(log());
    tool_box::TearDown();
  }

  static const std::vector<writer>& writers() {
    static const std::vector<writer> all = {
        {"build", "build -q -o f keys"},
        {"build over", "build -q --force -o a keys"},
        {"build text", "build -q --format text -o f keys"},
        {"build zstd", "build -q --compress zstd -o f keys"},
        {"build gzip", "build -q --compress gzip -o f keys"},
        {"build rans", "build -q --compress rans -o f keys"},
        {"bitmap", "build -q --kind bitmap --u64 -o f keys"},
        {"fuse", "build -q --kind fuse -o f keys"},
        {"ribbon", "build -q --kind ribbon -o f keys"},
        {"cascade", "build -q --kind cascade --exclude other -o f keys"},
        {"cuckoo", "build -q --kind cuckoo -o f keys"},
        {"growing", "build -q --kind growing -o f keys"},
        {"scalable", "build -q --kind scalable -o f keys"},
        {"new shards", "build -q --shards 3 -o t more"},
        {"shards over", "build -q --force --shards 3 -o s more"},
        {"add", "add -q a more"},
        {"add zstd", "add -q z more"},
        {"add bitmap", "add -q --u64 set more"},
        {"add shards", "add -q s more"},
        {"remove bitmap", "remove -q --u64 set gone"},
        {"remove cuckoo", "remove -q cu gone"},
        {"merge", "merge -q -o f a b"},
        {"merge over", "merge -q --force -o a a b"},
        {"merge bitmap", "merge -q -o f set set2"},
        {"intersect bitmap", "merge -q --intersect -o f set set2"},
        {"convert", "convert -q a -o f --to text"},
    };
    return all;
  }

  // The files as they were at the start, whatever became of them.
  void prepare() const {
    const files now = contents();
    if (now == start_) return;
    for (const std::string& name : names()) std::filesystem::remove(path(name));
    for (const auto& [name, bytes] : start_) write(name, bytes);
  }
  [[nodiscard]] const files& start() const { return start_; }
  [[nodiscard]] files contents() const {
    files out;
    for (const std::string& name : names()) out.emplace_back(name, read(name));
    return out;
  }
  // What a command does when nothing goes wrong.
  struct usual_run {
    files after;
    std::map<std::string, int> calls;  // to the system, by their names in tests/cli/fault
  };
  [[nodiscard]] const usual_run& usual(const std::string& command) {
    const auto [found, is_new] = usual_.try_emplace(command);
    if (!is_new) return found->second;
    prepare();
    const ran result = preloaded(command, {});
    EXPECT_EQ(result.code, 0) << command << ": " << result.err;
    found->second.after = contents();
    std::ifstream counts(log());
    std::string name;
    for (int count = 0; counts >> name >> count;) found->second.calls[name] = count;
    EXPECT_FALSE(found->second.calls.empty()) << command;
    return found->second;
  }

  // The tool, with this going wrong: "write:2:-28".
  [[nodiscard]] ran faulty(const std::string& command, const std::string& plan) const {
    return preloaded(command, " BLOOMERY_FAULT=" + plan);
  }
  [[nodiscard]] ran faulty(const std::string& command, const std::string& call, int n, int what) const {
    return faulty(command, call + ":" + std::to_string(n) + ":" + std::to_string(what));
  }
  // Whether the last run got as far as the call that was to go wrong.
  [[nodiscard]] bool has_failed() const { return std::filesystem::exists(log()); }

  // One of the two ways to end.
  void check_outcome(const std::string& what, const ran& result, const files& after) const {
    const files now = contents();
    EXPECT_EQ(result.out, "") << what;
    if (result.code == 0) {
      EXPECT_EQ(result.err, "") << what;
      EXPECT_TRUE(now == after) << what << ": exit 0, and other files than without the fault";
      return;
    }
    EXPECT_EQ(result.code, 2) << what << ": " << result.err;
    EXPECT_EQ(lines_in(result.err), 1U) << what << ": " << result.err;
    EXPECT_EQ(result.err.substr(0, 10), "bloomery: ") << what << ": " << result.err;
    const bool in_place = contains(result.err, ": is written and in place, but ");
    EXPECT_TRUE(now == (in_place ? after : start_)) << what << ": files changed, or were left: " << result.err;
  }
  // Runs the writer with such calls going wrong in turn: the first, one in `stride`, and the last.
  void check_every(const writer& of, const fault& with, int stride = 1) {
    const usual_run& without = usual(of.command);
    const auto found = without.calls.find(with.call);
    ASSERT_TRUE(found != without.calls.end()) << with.call;
    for (int n = 1; n <= found->second; n = n == found->second ? n + 1 : std::min(n + stride, found->second)) {
      const std::string what = std::string(of.name) + ", " + with.call + " " + std::to_string(n);
      prepare();
      const ran result = faulty(of.command, with.call, n, with.what);
      EXPECT_TRUE(has_failed()) << what;
      if (with.is_survived) {
        EXPECT_EQ(result.code, 0) << what << ": " << result.err;
      }
      check_outcome(what, result, without.after);
      if (HasFailure()) return;
    }
  }

 private:
  [[nodiscard]] std::string log() const { return std::filesystem::path(path("x")).parent_path().string() + ".log"; }
  [[nodiscard]] ran preloaded(const std::string& command, const std::string& setting) const {
    std::filesystem::remove(log());
    return sh("LD_PRELOAD=" BLOOMERY_FAULT + setting + " BLOOMERY_FAULT_LOG=" + log() + " exec \"$TOOL\" " + command);
  }

  files start_;
  std::map<std::string, usual_run> usual_;
};

}  // namespace bloomery_test

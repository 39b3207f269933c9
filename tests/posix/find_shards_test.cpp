// The shards of a set are found by reading the folder once; where it cannot be read, by looking for every name.
#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bloomery/posix/shard_set.hpp>
#include <cerrno>
#include <filesystem>
#include <string>

#include "support/typed.hpp"

namespace {

unsigned access_calls = 0;
int opendir_error = 0;        // what opendir fails with; 0: it does not
unsigned readdir_others = 0;  // so many names of other files come before those of the folder

}  // namespace

// In place of the C library's, for this program: they count, and fail on demand.
extern "C" int access(const char* path, int mode) noexcept {
  ++access_calls;
  return ::faccessat(AT_FDCWD, path, mode, 0);
}
extern "C" DIR* opendir(const char* path) {
  static auto* const next = reinterpret_cast<DIR* (*)(const char*)>(::dlsym(RTLD_NEXT, "opendir"));
  if (opendir_error == 0) return next(path);
  errno = opendir_error;
  return nullptr;
}
extern "C" dirent* readdir(DIR* list) {
  static auto* const next = reinterpret_cast<dirent* (*)(DIR*)>(::dlsym(RTLD_NEXT, "readdir"));
  static dirent other{};
  if (readdir_others == 0) return next(list);
  --readdir_others;
  other.d_name[0] = 'x';
  return &other;
}

namespace {

using namespace bloomery;
using namespace bloomery::test;

class FindShards : public testing::Test {
 protected:
  void make(const std::string& name) const { write_bytes(box_ / name, {}); }
  // -1: sets of several sizes.
  [[nodiscard]] int found(const std::string& name = "f") const {
    const auto count = find_shards((box_ / name).c_str());
    return count ? static_cast<int>(*count) : -1;
  }
  // The same when the folder can be read and when it cannot.
  void expect(int shards, const std::string& name = "f") const {
    EXPECT_EQ(found(name), shards) << "folder read";
    opendir_error = EACCES;
    EXPECT_EQ(found(name), shards) << "every name asked for";
    opendir_error = 0;
  }
  folder box_;
};

TEST_F(FindShards, AskForNoNameThatIsNotThere) {
  for (const char* const name : {"f", "other", "f.00-of-4", "f.bloom"}) make(name);
  access_calls = 0;
  EXPECT_EQ(found(), 0);
  EXPECT_EQ(access_calls, 0U);
  for (unsigned i = 0; i < 4; ++i) make(std::string("f.") + shard_label(i, 4).c_str());
  EXPECT_EQ(found(), 4);
  EXPECT_LE(access_calls, 2U);
}

TEST_F(FindShards, CountTheShardsOfTheNameAlone) {
  expect(0);
  make("f.00-of-4");     // too few digits
  make("f.00-of-0004");  // too many
  make("f.00-of-00");    // no set
  make("f.00-of-4097");  // more than there may be
  make("f.00-of-04.bak");
  make("ff.00-of-02");
  make("f.f.00-of-02");
  make("00-of-02");
  expect(0);
  make("f.0000-of-4096");
  expect(4096);
  expect(2, "ff");
  make("f.000-of-100");
  expect(-1);
}

TEST_F(FindShards, AMissingFirstShardIsAMissingShardAndNoMissingSet) {
  make("f.01-of-03");
  make("f.02-of-03");
  expect(3);
  make("f.01-of-02");
  expect(2);  // as if the smaller were the only one
}

TEST_F(FindShards, TwoSetsAreNamedByTheirSizesTheSmallestFirst) {
  for (const char* const name : {"f.000-of-100", "f.00-of-16", "f.00-of-08"}) make(name);
  const std::string path = box_ / "f";
  for (const int why : {0, EACCES}) {
    opendir_error = why;
    const auto refused = find_shards(path.c_str());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::two_shard_sets);
    EXPECT_EQ(refused.error().number[0], 8U);
    EXPECT_EQ(refused.error().number[1], 16U);
  }
  opendir_error = 0;
}

TEST_F(FindShards, ALinkToNowhereIsNoShard) {
  std::filesystem::create_symlink("gone", box_ / "f.00-of-04");
  expect(0);
  make("gone");
  expect(4);
}

TEST_F(FindShards, NamesWithoutAFolderAndFoldersThatAreNotThereAreFine) {
  make("f.00-of-02");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(box_ / "");
  EXPECT_EQ(*find_shards("f"), 2U);
  EXPECT_EQ(*find_shards("./f"), 2U);
  std::filesystem::current_path(before);
  expect(0, "nowhere/f");
  expect(0, "f.00-of-02/f");  // a file where a folder should be
}

TEST_F(FindShards, AFolderOfManyOtherFilesIsNotReadToItsEnd) {
  make("f.00-of-16");
  readdir_others = 1'000'000;
  EXPECT_EQ(found(), 16);
  EXPECT_GT(readdir_others, 900'000U);
  readdir_others = max_shards;
  access_calls = 0;
  EXPECT_EQ(found(), 16);
  EXPECT_EQ(readdir_others, 0U);
  EXPECT_LE(access_calls, 1U);
}

}  // namespace

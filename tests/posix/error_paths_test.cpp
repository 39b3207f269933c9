// Errors about files carry the path, whichever function met them.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bloomery/posix/load.hpp>
#include <bloomery/posix/mapped.hpp>
#include <bloomery/posix/save.hpp>

#include <bloomery/any_filter.hpp>
#include <bloomery/filter.hpp>
#include <bloomery/formats.hpp>
#include <bloomery/kinds/blocked.hpp>
#include <bloomery/wrappers/any_shards.hpp>
#include <bloomery/wrappers/sharded.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/typed.hpp"

namespace bloomery::test {
namespace {

using outcome_of_file = result<void>;
template <class T>
outcome_of_file outcome(const result<T>& of) {
  return of ? outcome_of_file{} : outcome_of_file(fail(of.error()));
}

struct path_reader {
  const char* name;
  outcome_of_file (*read)(const char* path);
};
const std::vector<path_reader> path_readers = {
    {"load", [](const char* path) { return outcome(load<blocked>(path)); }},
    {"filter::load", [](const char* path) { return outcome(filter<blocked>::load(path)); }},
    {"mapped::open", [](const char* path) { return outcome(mapped<blocked>::open(path)); }},
    {"any_filter::load", [](const char* path) { return outcome(any_filter::load(path)); }},
    {"any_filter::open", [](const char* path) { return outcome(any_filter::open(path)); }},
    {"formats::open", [](const char* path) { return outcome(formats::open(path)); }},
    {"formats::open in memory", [](const char* path) { return outcome(formats::open(path, {.in_memory = true})); }},
    {"read_header", [](const char* path) { return outcome(read_header(path)); }},
    {"read_file", [](const char* path) { return outcome(read_file(path, nullptr, 5)); }},
    {"read_filter", [](const char* path) { return outcome(read_filter(path, nullptr, 5)); }},
    {"file_mapping", [](const char* path) { return outcome(file_mapping::open(path)); }},
};

void expect_path(const outcome_of_file& done, const std::string& path, const char* what) {
  if (done) return ADD_FAILURE() << what << " succeeded";
  EXPECT_EQ(done.error().path.view(), path) << what;
  const std::string text(describe(done.error()).view());
  EXPECT_EQ(text.rfind(path + ": ", 0), 0U) << what << ": " << text;
  EXPECT_EQ(text.find(path, 1), std::string::npos) << what << ": " << text;
}

class ErrorPaths : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return box_ / "seen.bloom"; }
  void save_sample() const { ASSERT_TRUE(save(sample<blocked>(1000), {}, path().c_str(), {.replace = true})); }
  folder box_;
};

TEST_F(ErrorPaths, OfAMissingFile) {
  for (const path_reader& each : path_readers) expect_path(each.read(path().c_str()), path(), each.name);
}

TEST_F(ErrorPaths, OfADirectory) {
  ASSERT_EQ(::mkdir(path().c_str(), 0700), 0);
  for (const path_reader& each : path_readers) {
    const auto done = each.read(path().c_str());
    expect_path(done, path(), each.name);
    EXPECT_EQ(done.error().code, errc::is_directory) << each.name;
  }
}

TEST_F(ErrorPaths, OfADamagedHeader) {
  save_sample();
  bytes content = read_bytes(path());
  content[40] ^= std::byte{1};
  write_bytes(path(), content);
  for (const path_reader& each : path_readers) {
    if (std::string_view(each.name) != "file_mapping") expect_path(each.read(path().c_str()), path(), each.name);
  }
}

TEST_F(ErrorPaths, OfATruncatedAndOfAnEmptyFile) {
  save_sample();
  const bytes content = read_bytes(path());
  write_bytes(path(), bytes(content.begin(), content.begin() + 600));
  for (const path_reader& each : path_readers) {
    if (std::string_view(each.name) != "file_mapping") expect_path(each.read(path().c_str()), path(), each.name);
  }
  write_bytes(path(), {});
  for (const path_reader& each : path_readers) {
    if (std::string_view(each.name) != "read_file" && std::string_view(each.name) != "read_filter") {
      expect_path(each.read(path().c_str()), path(), each.name);
    }
  }
}

TEST_F(ErrorPaths, OfAChunkThatALookUpFindsDamaged) {
  save_sample();
  bytes content = read_bytes(path());
  for (std::size_t i = 300; i < content.size(); ++i) content[i] ^= std::byte{1};
  write_bytes(path(), content);
  const auto opened = mapped<blocked>::open(path().c_str());
  ASSERT_TRUE(opened) << error_of(opened);
  expect_path(outcome(opened->may_contain(sample_digest(1))), path(), "mapped");
  expect_path(opened->verify_all(), path(), "verify_all");
  const auto any = any_filter::open(path().c_str());
  ASSERT_TRUE(any) << error_of(any);
  expect_path(outcome(any->stats()), path(), "any_filter");
  expect_path(outcome(any->clone()), path(), "clone");
  expect_path(outcome(load<blocked>(path().c_str())), path(), "load");
}

TEST_F(ErrorPaths, OfARefusedWrite) {
  save_sample();
  const auto filter = sample<blocked>(10);
  const auto again = save(filter, {}, path().c_str());
  expect_path(again, path(), "save");
  EXPECT_EQ(again.error().code, errc::already_exists);
  EXPECT_EQ(remedy_of(again.error()), remedy::allow_replace);
  const std::string inside = box_ / "missing/seen.bloom";
  expect_path(save(filter, {}, inside.c_str()), inside, "save into no folder");
  expect_path(outcome(output_file::open(inside.c_str(), true)), inside, "output_file");
  const std::string device = "/dev/full";
  if (::access(device.c_str(), W_OK) == 0)
    expect_path(save(filter, {}, device.c_str()), device, "save to a full device");
}

TEST_F(ErrorPaths, OfALinkIsThatOfTheLink) {
  const std::string link = box_ / "link";
  save_sample();
  ASSERT_EQ(::symlink(path().c_str(), link.c_str()), 0);
  expect_path(save(sample<blocked>(10), {}, link.c_str()), link, "save");
}

TEST_F(ErrorPaths, OfAShardIsThatOfTheSet) {
  const auto made = sharded<blocked>::make({.keys = 1000, .fpr = 0.01}, 2);
  ASSERT_TRUE(made);
  expect_path(outcome(load_shards(path().c_str())), path(), "no shards");
  expect_path(outcome(sharded<blocked>::load(path().c_str())), path(), "no shards");
  ASSERT_TRUE(made->save(path().c_str()));
  expect_path(made->save(path().c_str()), path(), "save again");
  const bytes content = read_bytes(path() + ".01-of-02");
  write_bytes(path() + ".01-of-02", bytes(content.begin(), content.end() - 1));
  for (const auto& done : {outcome(load_shards(path().c_str())), outcome(open_shards(path().c_str())),
                           outcome(sharded<blocked>::load(path().c_str()))}) {
    expect_path(done, path(), "a shard that is cut short");
    EXPECT_EQ(remedy_of(done.error()), remedy::copy_again);
    const std::string text(describe(done.error()).view());
    EXPECT_EQ(text.rfind(path() + ": shard 01-of-02 is cut short: it has ", 0), 0U) << text;
    EXPECT_TRUE(text.ends_with("; copy or build it again")) << text;
  }
}

TEST_F(ErrorPaths, BytesInMemoryHaveNone) {
  const bytes content(600);
  const auto done = any_filter::load_bytes(content);
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().path.empty());
}

}  // namespace
}  // namespace bloomery::test

// The files of sharded<K>: all or none, and never a wrong one among them.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <bloomery/posix/load.hpp>
#include <bloomery/posix/mapped.hpp>
#include <bloomery/posix/save.hpp>

#include <bloomery/any_filter.hpp>
#include <bloomery/wrappers/sharded.hpp>
#include <string>

#include <bloomery/kinds/blocked.hpp>
#include <bloomery/kinds/bloom.hpp>
#include <bloomery/kinds/cuckoo.hpp>
#include <bloomery/kinds/growing.hpp>

#include "support/typed.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;

template <class K = blocked>
sharded<K> filled(std::uint64_t first, unsigned shards = 4, std::uint64_t keys = 1000) {
  auto made = sharded<K>::make({.keys = keys, .fpr = 0.01}, shards);
  if (!made) ADD_FAILURE() << describe(made.error()).c_str();
  for (std::uint64_t i = 0; i < keys; ++i) made->insert(prehashed{sample_digest(first + i)});
  return std::move(*made);
}

template <class K = blocked>
std::string load_set_error(const std::string& path) {
  return error_of(sharded<K>::load(path.c_str()));
}

class ShardSet : public testing::Test {
 protected:
  void SetUp() override {
    const auto saved = filled(0).save(path().c_str());
    ASSERT_TRUE(saved) << error_of(saved);
  }
  [[nodiscard]] std::string path() const { return box_ / "f"; }
  [[nodiscard]] std::string file(unsigned shard) const { return path() + "." + shard_label(shard, 4).c_str(); }
  void copy(const std::string& from, const std::string& to) { write_bytes(to, read_bytes(from)); }
  folder box_;
};

TEST_F(ShardSet, IsOneFileForEachShardAndComesBackWhole) {
  EXPECT_EQ(box_.names(), (std::vector<std::string>{"f.00-of-04", "f.01-of-04", "f.02-of-04", "f.03-of-04"}));
  const auto again = sharded<blocked>::load(path().c_str());
  ASSERT_TRUE(again) << error_of(again);
  EXPECT_TRUE(*again == filled(0));
  EXPECT_EQ(again->keys().keys, filled(0).keys().keys);
}

TEST_F(ShardSet, TheSameContentGivesTheSameBytes) {
  const std::string other = box_ / "g";
  ASSERT_TRUE(filled(0).save(other.c_str()));
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(read_bytes(file(i)), read_bytes(other + "." + shard_label(i, 4).c_str()));
}

TEST_F(ShardSet, AFileSaysWhichShardItIs) {
  const auto header = read_header(file(2).c_str());
  ASSERT_TRUE(header);
  EXPECT_EQ(header->shard.index, 2U);
  EXPECT_EQ(header->shard.count, 4U);
  EXPECT_EQ(header->shard.stamp, read_header(file(0).c_str())->shard.stamp);
}

TEST_F(ShardSet, AShardAloneIsNotTakenForTheWholeFilter) {
  const std::string refusal =
      "is shard 02-of-04 of a filter and knows nothing of the keys of the others: give the whole set";
  EXPECT_EQ(error_of(bloomery::load<blocked>(file(2).c_str())), refusal);
  EXPECT_EQ(error_of(filter<blocked>::load(file(2).c_str())), refusal);
  EXPECT_EQ(error_of(mapped<blocked>::open(file(2).c_str())), refusal);
  EXPECT_EQ(error_of(any_filter::load(file(2).c_str())), refusal);
  EXPECT_EQ(error_of(any_filter::open(file(2).c_str())), refusal);
  const auto alone = bloomery::load<blocked>(file(2).c_str(), {.shard = true});
  ASSERT_TRUE(alone) << error_of(alone);
  EXPECT_TRUE(alone->filter == filled(0).shard(2));
  EXPECT_TRUE(mapped<blocked>::open(file(2).c_str(), false, nullptr, true));
  EXPECT_TRUE(any_filter::open(file(2).c_str(), {.shard = true}));
}

TEST_F(ShardSet, AMissingShardIsNamed) {
  std::filesystem::remove(file(2));
  EXPECT_EQ(load_set_error(path()), "shard 02-of-04 cannot open: No such file or directory");
  std::filesystem::remove(file(0));
  EXPECT_EQ(load_set_error(path()), "shard 00-of-04 cannot open: No such file or directory");
  EXPECT_EQ(load_set_error(box_ / "nothing"), "there are no shards of it: no file FILE.00-of-04, whatever the number");
}

TEST_F(ShardSet, ADoubledOrMisplacedShardIsNamed) {
  copy(file(1), file(2));
  EXPECT_EQ(load_set_error(path()), "shard 02-of-04 holds shard 01-of-04: give the file of that shard");
  ASSERT_TRUE(filled(0, 5).save((box_ / "five").c_str()));
  copy(box_ / "five.02-of-05", file(2));
  EXPECT_EQ(load_set_error(path()), "shard 02-of-04 holds shard 02-of-05: give the file of that shard");
}

TEST_F(ShardSet, AShardOfAnotherDayIsForeign) {
  // Made alike, of other keys: nothing but the stamp differs.
  ASSERT_TRUE(filled(500).save((box_ / "tomorrow").c_str()));
  copy(box_ / "tomorrow.03-of-04", file(3));
  EXPECT_EQ(load_set_error(path()),
            "shard 03-of-04 belongs to another set than shard 00: give the files that were saved together");
}

TEST_F(ShardSet, AWholeFilterIsNoShard) {
  const auto whole = filter<blocked>::make({.keys = 300, .fpr = 0.01});
  ASSERT_TRUE(whole->save(file(1).c_str(), {.replace = true}));
  EXPECT_EQ(load_set_error(path()), "shard 01-of-04 is no shard but a whole filter: give the file of that shard");
}

TEST_F(ShardSet, ADamagedShardIsNamed) {
  bytes content = read_bytes(file(1));
  content[300] ^= std::byte{1};
  write_bytes(file(1), content);
  EXPECT_EQ(load_set_error(path()).substr(0, 36), "shard 01-of-04 is damaged in chunk 0");
  content.pop_back();
  write_bytes(file(1), content);
  EXPECT_EQ(load_set_error(path()).substr(0, 27), "shard 01-of-04 is cut short");
}

TEST_F(ShardSet, OtherKindsHashesAndSeedsAreRefused) {
  EXPECT_EQ(load_set_error<bloom>(path()), "shard 00-of-04 holds a filter of kind number 2, not bloom (kind number 1)");
  EXPECT_EQ(error_of(sharded<blocked>::load(path().c_str(), default_hash{.seed = 3})),
            "shard 00-of-04 was written with another hash, seed or key than the program uses");
}

TEST_F(ShardSet, TwoSetsWithOneNameAreRefused) {
  const std::string refusal =
      "there would be two sets of shards with this name, of 4 and of 5: remove one of them, or use another name";
  EXPECT_EQ(error_of(filled(0, 5).save(path().c_str(), {.replace = true})), refusal);
  EXPECT_EQ(box_.names().size(), 4U);
  ASSERT_TRUE(filled(0, 5).save((box_ / "five").c_str()));
  copy(box_ / "five.00-of-05", path() + ".00-of-05");
  EXPECT_EQ(load_set_error(path()), refusal);
}

TEST_F(ShardSet, ThereMustNotBeOneAlreadyUnlessItIsToBeReplaced) {
  const bytes before = read_bytes(file(0));
  EXPECT_EQ(error_of(filled(500).save(path().c_str())),
            "shard 00-of-04 exists already: allow replacing it, or use another name");
  EXPECT_EQ(read_bytes(file(0)), before);
  ASSERT_TRUE(filled(500).save(path().c_str(), {.replace = true}));
  EXPECT_TRUE(*sharded<blocked>::load(path().c_str()) == filled(500));
  EXPECT_EQ(box_.names().size(), 4U);
}

TEST_F(ShardSet, WhenOneCannotBeWrittenNoneIs) {
  std::vector<bytes> before;
  for (unsigned i = 0; i < 4; ++i) before.push_back(read_bytes(file(i)));
  // The last cannot be replaced by a file: it is a folder.
  std::filesystem::remove(file(3));
  std::filesystem::create_directory(file(3));
  EXPECT_EQ(error_of(filled(500).save(path().c_str(), {.replace = true})),
            "shard 03-of-04 is a directory: give a file");
  for (unsigned i = 0; i < 3; ++i) EXPECT_EQ(read_bytes(file(i)), before[i]);
  EXPECT_EQ(box_.names().size(), 4U) << "no temporary file is left";
  // The same where there was nothing before.
  const std::string fresh = box_ / "fresh";
  std::filesystem::create_directory(fresh + ".02-of-04");
  EXPECT_FALSE(filled(0).save(fresh.c_str()));
  EXPECT_EQ(box_.names().size(), 5U);
}

TEST_F(ShardSet, OutputThatIsTakenBackIsGoneAndWhatWasThereBeforeStays) {
  const std::string fresh = box_ / "x";
  auto file = output_file::open(fresh.c_str(), false);
  ASSERT_TRUE(file->stage());
  EXPECT_FALSE(std::filesystem::exists(fresh));
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(std::filesystem::exists(fresh));
  file->take_back();
  EXPECT_FALSE(std::filesystem::exists(fresh));
  auto old = output_file::open(this->file(0).c_str(), true);
  ASSERT_TRUE(old->commit());
  old->take_back();
  EXPECT_TRUE(std::filesystem::exists(this->file(0)));
}

TEST_F(ShardSet, CompressedAndTextFilesComeBack) {
  enable_everything();
  for (const save_options& how : {save_options{.codec = codec_zstd}, save_options{.text = true}}) {
    const std::string name = box_ / (how.text ? "text" : "packed");
    ASSERT_TRUE(filled(0).save(name.c_str(), how));
    EXPECT_TRUE(*sharded<blocked>::load(name.c_str()) == filled(0));
    EXPECT_EQ(read_header((name + ".01-of-04").c_str())->shard, read_header(file(1).c_str())->shard)
        << "the stamp is of the content, not of its form";
  }
}

TEST_F(ShardSet, MoreShardsThanOpenFilesAreWrittenAndRead) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const std::string many = box_ / "many";
  const auto saved = filled(0, 70).save(many.c_str());
  const auto again = sharded<blocked>::load(many.c_str());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(saved) << error_of(saved);
  ASSERT_TRUE(again) << error_of(again);
  EXPECT_TRUE(*again == filled(0, 70));
  EXPECT_EQ(box_.names().size(), 74U);
}

TEST_F(ShardSet, KindsThatAreGatheredForTheFileComeBackToo) {
  const std::string name = box_ / "cuckoo";
  ASSERT_TRUE(filled<cuckoo>(0, 3).save(name.c_str()));
  EXPECT_TRUE(*sharded<cuckoo>::load(name.c_str()) == filled<cuckoo>(0, 3));
  const std::string grown = box_ / "growing";
  ASSERT_TRUE(filled<growing>(0, 3).save(grown.c_str()));
  EXPECT_TRUE(*sharded<growing>::load(grown.c_str()) == filled<growing>(0, 3));
}

TEST(ShardHeader, ImpossiblePlacesAreRefused) {
  const auto with = [](const shard_place& place) {
    file_header header{.kind_id = 1};
    header.shard = place;
    return error_of(check_header(header));
  };
  EXPECT_EQ(with({.index = 3, .count = 4, .stamp = 9}), "no error");
  EXPECT_EQ(with({.index = 4, .count = 4, .stamp = 9}), "its header is not usable: field shard has value 4");
  EXPECT_EQ(with({.index = 0, .count = 4097}), "its header is not usable: field number of shards has value 4097");
  EXPECT_EQ(with({.index = 1}), "its header is not usable: field shard has value 1");
  EXPECT_EQ(with({.stamp = 1}), "its header is not usable: field shard has value 0");
}

}  // namespace

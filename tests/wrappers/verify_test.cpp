// What is combined with a filter is checked before: every chunk of a mapped file that no look-up has touched yet, in every
// shard. A refused one changes nothing.
#include <bloomery/formats.hpp>
#include <bloomery/wrappers/any_shards.hpp>

#include <bloomery/kinds.hpp>

#include "support/filters.hpp"

namespace bloomery::test {
namespace {

void flip_byte(const std::string& path) {
  bytes file = read_bytes(path);
  file[file.size() / 2] ^= std::byte{1};
  write_bytes(path, file);
}
template <class Combine>
void expect_refused(const any_filter& into, const any_filter& damaged, errc code, Combine&& combine) {
  any_filter target = copy_of(into);
  const auto done = combine(target, damaged);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, code) << describe(done.error()).view();
  EXPECT_TRUE(target == into) << "it is as it was";
}

class Verify : public testing::Test {
 protected:
  void SetUp() override { enable_everything(); }

  static any_filter set_of(std::uint64_t first) {
    auto made = make_shards("blocked", {.keys = 60'000, .fpr = 0.01}, hasher{}, {.shards = 3});
    EXPECT_TRUE(made);
    for (std::uint64_t key = first; key < first + 1000; ++key) EXPECT_TRUE(made->insert(key));
    return std::move(*made);
  }
  folder box_;
};

constexpr auto merge_whole = [](any_filter& into, const any_filter& from) { return into.merge(from, merge_fpr::any); };
constexpr auto intersect_whole = [](any_filter& into, const any_filter& from) { return into.intersect(from); };

class VerifyMapped : public KindTest {
 protected:
  folder box_;
};
BLOOMERY_FOR_KINDS(VerifyMapped, kinds_where([](const kind_case& kind) { return kind.maps; }));

TEST_P(VerifyMapped, AFilterThatIsDamagedIsNeitherMergedNorIntersected) {
  const any_filter whole = sample(GetParam(), 20'000);
  const std::string path = box_ / "f";
  ASSERT_TRUE(whole.save(path));
  const auto sound = any_filter::open(path);
  ASSERT_TRUE(sound);
  EXPECT_TRUE(sound->model().verify());
  flip_byte(path);
  const auto damaged = any_filter::open(path);
  ASSERT_TRUE(damaged) << "nothing has touched the chunk";
  EXPECT_EQ(damaged->model().verify().error().code, errc::chunk_damaged);
  expect_refused(whole, *damaged, errc::chunk_damaged, merge_whole);
  expect_refused(whole, *damaged, errc::chunk_damaged, intersect_whole);
  const auto trusted = any_filter::open(path, {.trust = true});
  ASSERT_TRUE(trusted);
  EXPECT_TRUE(trusted->model().verify()) << "it is taken as it is";
}

TEST_F(Verify, EveryShardOfASetIsChecked) {
  const any_filter ours = set_of(0);
  const any_filter theirs = set_of(500);
  ASSERT_TRUE(theirs.save(box_ / "s"));
  const auto sound = open_shards(box_ / "s");
  ASSERT_TRUE(sound && sound->is_mapped());
  EXPECT_TRUE(sound->model().verify());
  any_filter joined = copy_of(ours);
  ASSERT_TRUE(joined.merge(*sound));
  any_filter expected = copy_of(ours);
  ASSERT_TRUE(expected.merge(theirs));
  EXPECT_TRUE(joined == expected);
  for (const unsigned shard : {0U, 1U, 2U}) {
    const std::string file = box_ / std::string("s.").append(shard_label(shard, 3).c_str());
    const bytes kept = read_bytes(file);
    flip_byte(file);
    const auto damaged = open_shards(box_ / "s");
    ASSERT_TRUE(damaged);
    const auto verified = damaged->model().verify();
    ASSERT_FALSE(verified);
    EXPECT_EQ(verified.error().code, errc::bad_shard);
    EXPECT_EQ(verified.error().number[0], shard);
    expect_refused(ours, *damaged, errc::bad_shard, merge_whole);
    expect_refused(ours, *damaged, errc::bad_shard, intersect_whole);
    EXPECT_TRUE(open_shards(box_ / "s", {.trust = true})->model().verify());
    write_bytes(file, kept);
  }
}

// In memory everything was checked when it was loaded; other products' files have no checksums of what is mapped.
TEST_F(Verify, WhatHasNoChecksumsLeftHasNothingToCheck) {
  EXPECT_TRUE(set_of(0).model().verify());
  for (const kind_case& kind : kind_table()) EXPECT_TRUE(sample(kind, 100).model().verify()) << kind.info->name;
  const formats::format& form = *formats::find("dcso");
  auto ours = formats::make("dcso", {.keys = 1000, .fpr = 0.01});
  auto theirs = formats::make("dcso", {.keys = 1000, .fpr = 0.01});
  ASSERT_TRUE(ours && theirs);
  ASSERT_TRUE(theirs->insert("alice"));
  ASSERT_TRUE(formats::save(*theirs, form, box_ / "f"));
  const auto opened = formats::open(box_ / "f");
  ASSERT_TRUE(opened && opened->filter.is_mapped());
  EXPECT_TRUE(opened->filter.model().verify());
  ASSERT_TRUE(ours->merge(opened->filter));
  EXPECT_TRUE(*ours->may_contain("alice"));
}

}  // namespace
}  // namespace bloomery::test

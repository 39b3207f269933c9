// any_filter over every kind: what the surfaces see.
#include <sys/stat.h>
#include <bloomery/hash/identity.hpp>
#include <bloomery/native/codec.hpp>

#include <fstream>
#include <thread>

#include "support/filters.hpp"

namespace bloomery::test {
namespace {

class AnyFilter : public KindTest {};
BLOOMERY_FOR_KINDS(AnyFilter, kinds_where(&kind_case::is_dynamic));

class AnyMappedFilter : public KindTest {};
BLOOMERY_FOR_KINDS(AnyMappedFilter, kinds_where([](const kind_case& kind) { return kind.is_dynamic() && kind.maps; }));

class AnyMappedCounts : public KindTest {};
BLOOMERY_FOR_KINDS(AnyMappedCounts, kinds_where([](const kind_case& kind) { return kind.counts && kind.maps; }));

class AnyHashedFilter : public KindTest {};
BLOOMERY_FOR_KINDS(AnyHashedFilter,
                   kinds_where([](const kind_case& kind) { return kind.is_approximate() && kind.merges; }));

class AnyErasable : public KindTest {};
BLOOMERY_FOR_KINDS(AnyErasable, kinds_where(&kind_case::erases));
class AnyNotErasable : public KindTest {};
BLOOMERY_FOR_KINDS(AnyNotErasable,
                   kinds_where([](const kind_case& kind) { return kind.is_dynamic() && !kind.erases; }));

class AnyCountable : public KindTest {};
BLOOMERY_FOR_KINDS(AnyCountable, kinds_where(&kind_case::counts));
class AnyNotCountable : public KindTest {};
BLOOMERY_FOR_KINDS(AnyNotCountable,
                   kinds_where([](const kind_case& kind) { return kind.is_dynamic() && !kind.counts; }));

class AnyFoldable : public KindTest {};
BLOOMERY_FOR_KINDS(AnyFoldable, kinds_where(&kind_case::folds));
class AnyNotFoldable : public KindTest {};
BLOOMERY_FOR_KINDS(AnyNotFoldable, kinds_where([](const kind_case& kind) { return kind.is_dynamic() && !kind.folds; }));

void expect_all(const any_filter& filter, const key_list& digests) { EXPECT_EQ(count_missing(filter, digests), 0U); }

TEST_P(AnyFilter, RoundTripsThroughEveryEncodingOfTheFile) {
  const folder box;
  auto filter = make_filter(GetParam(), 1000);
  digest_source source(1);
  const auto digests = source.take(800);
  ASSERT_TRUE(filter.add(as_prehashed(digests)));
  for (const std::uint32_t codec : linked_codecs()) {
    for (const bool text : {false, true}) {
      const std::string path = (box / std::string(codec_name(codec)).append(text ? ".txt" : ".bloom"));
      const auto saved = filter.save(path.c_str(), {.codec = codec, .text = text});
      ASSERT_TRUE(saved) << describe(saved.error()).c_str();
      auto loaded = any_filter::load(path.c_str());
      ASSERT_TRUE(loaded) << describe(loaded.error()).c_str();
      EXPECT_TRUE(*loaded == filter);
      EXPECT_EQ(loaded->shape().keys, filter.shape().keys);
      expect_all(*loaded, digests);
      auto opened = any_filter::open(path.c_str());
      ASSERT_TRUE(opened) << describe(opened.error()).c_str();
      EXPECT_EQ(opened->is_mapped(), codec == codec_none && !text && GetParam().maps);
      expect_all(*opened, digests);
      EXPECT_TRUE(*opened == filter);
      EXPECT_EQ(saved_bytes(*opened, {.codec = codec, .text = text}),
                saved_bytes(filter, {.codec = codec, .text = text}));
    }
  }
}

TEST_P(AnyFilter, LoadsFromAPipeThatCanBeReadOnce) {
  const folder box;
  const std::string path = (box / "pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  auto filter = make_filter(GetParam(), 100'000);
  digest_source source(4);
  const auto digests = source.take(1000);
  ASSERT_TRUE(filter.add(as_prehashed(digests)));
  std::thread writer([&] { EXPECT_TRUE(filter.save(path.c_str())); });
  const auto loaded = any_filter::open(path.c_str());
  writer.join();
  ASSERT_TRUE(loaded) << describe(loaded.error()).c_str();
  EXPECT_TRUE(*loaded == filter);
  expect_all(*loaded, digests);
}

TEST_P(AnyMappedFilter, AMappedFilterIsReadOnlyAndReportsIt) {
  const folder box;
  const auto filter = make_filter(GetParam(), 1000);
  ASSERT_TRUE(filter.save((box / "f").c_str()));
  auto mapped_one = any_filter::open((box / "f").c_str());
  ASSERT_TRUE(mapped_one);
  const std::vector<std::uint64_t> digests{1, 2, 3};
  EXPECT_EQ(mapped_one->add(as_prehashed(digests)).error().code, errc::read_only);
  EXPECT_EQ(mapped_one->erase(1).error().code, errc::read_only);
  EXPECT_EQ(mapped_one->clear().error().code, errc::read_only);
  EXPECT_EQ(mapped_one->merge(filter).error().code, errc::read_only);
  auto copy = mapped_one->clone();
  ASSERT_TRUE(copy);
  EXPECT_TRUE(copy->add(as_prehashed(digests)));
}

TEST_P(AnyMappedCounts, AreThoseOfTheFilterInMemoryAndADamagedChunkIsAnError) {
  const folder box;
  auto filter = make_filter(GetParam(), 10'000);
  digest_source source(6);
  const auto digests = source.take(5000);
  ASSERT_TRUE(filter.add(as_prehashed(digests)));
  ASSERT_TRUE(filter.add(as_prehashed(std::span(digests).first(2000))));
  ASSERT_TRUE(filter.save((box / "f").c_str()));
  std::vector<std::uint64_t> expected(digests.size());
  std::vector<std::uint64_t> counts(digests.size());
  ASSERT_TRUE(filter.count(as_prehashed(digests), expected));
  auto opened = any_filter::open((box / "f").c_str());
  ASSERT_TRUE(opened);
  ASSERT_TRUE(opened->is_mapped());
  ASSERT_TRUE(opened->count(as_prehashed(digests), counts));
  EXPECT_EQ(counts, expected);
  EXPECT_EQ(values_of(opened->stats()->facts), values_of(filter.stats()->facts));
  {
    std::fstream file((box / "f"), std::ios::in | std::ios::out | std::ios::binary);
    const auto middle = static_cast<std::streamoff>(std::filesystem::file_size((box / "f")) / 2);
    file.seekg(middle);
    const int byte = file.get();
    file.seekp(middle);
    file.put(static_cast<char>(byte ^ 0x10));
  }
  auto damaged = any_filter::open((box / "f").c_str());
  ASSERT_TRUE(damaged);
  const auto counted = damaged->count(as_prehashed(digests), counts);
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error().code, errc::chunk_damaged);
}

TEST_P(AnyFilter, EveryTruncationAndEveryFlippedByteIsAnError) {
  auto filter = make_filter(GetParam(), 8);
  digest_source source(2);
  ASSERT_TRUE(filter.add(as_prehashed(source.take(8))));
  const auto good = saved_bytes(filter);
  ASSERT_TRUE(any_filter::load_bytes(good));
  for (std::size_t size = 0; size < good.size(); ++size) {
    ASSERT_FALSE(any_filter::load_bytes(std::span(good).first(size))) << size;
  }
  auto longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(any_filter::load_bytes(longer));
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      auto bad = good;
      bad[at] ^= static_cast<std::byte>(1U << bit);
      ASSERT_FALSE(any_filter::load_bytes(bad)) << "byte " << at << " bit " << bit;
    }
  }
}

TEST_P(AnyHashedFilter, DifferentHashesSeedsOrKeysDoNotMerge) {
  const std::vector<std::byte> key(16, std::byte{7});
  const std::vector<std::byte> other_key(16, std::byte{8});
  const auto make = [](const hash_spec& hash) {
    return std::move(*any_filter::make(GetParam().info->name, {.keys = 100, .fpr = 0.01}, hash));
  };
  auto base = make(hasher::make("xxh3")->spec());
  EXPECT_TRUE(base.merge(make(hasher::make("xxh3")->spec())));
  for (const hash_spec& hash :
       {hasher::make("xxh3", 1)->spec(), hasher::make("xxh64")->spec(), hasher::make("siphash13", 0, key)->spec()}) {
    const auto merged = base.merge(make(hash));
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().code, errc::mismatch);
    EXPECT_FALSE(base.intersect(make(hash)));
    EXPECT_FALSE(base == make(hash));
  }
  auto keyed = make(hasher::make("siphash13", 0, key)->spec());
  EXPECT_TRUE(keyed.merge(make(hasher::make("siphash13", 0, key)->spec())));
  EXPECT_FALSE(keyed.merge(make(hasher::make("siphash13", 0, other_key)->spec())));
}

TEST_P(AnyFilter, OtherKindsDoNotMerge) {
  auto filter = make_filter(GetParam(), 1000);
  for (const kind_case& other : kind_table()) {
    if (other.info->id == GetParam().info->id) continue;
    const auto merged = filter.merge(build_filter(other, {}));
    ASSERT_FALSE(merged) << other;
    EXPECT_EQ(merged.error().code, errc::mismatch) << other;
  }
}

TEST_P(AnyFilter, DigestsOfAnotherWidthAndShortMasksAreRefused) {
  auto filter = make_filter(GetParam(), 1000);
  EXPECT_FALSE(filter.add(digest_span(std::vector<digest256>(3)))) << "it was sized for 64-bit digests";
  std::vector<std::uint64_t> none;
  const key_list some(3);
  EXPECT_EQ(filter.may_contain(as_prehashed(some), none).error().code, errc::bad_span);
  EXPECT_EQ(filter.count(as_prehashed(some), none).error().code, errc::bad_span);
}

// Whether an error reports that the kind, which it names, cannot do it.
template <class T>
void expect_refused_by_name(const result<T>& done) {
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, errc::unsupported);
  EXPECT_NE(describe(done.error()).view().find(KindTest::GetParam().info->name), std::string_view::npos);
}

TEST_P(AnyErasable, ErasesManyAtOnce) {
  auto filter = make_filter(GetParam(), 1000);
  digest_source source(5);
  const auto digests = source.take(300);
  insert_all(filter, std::span(digests).first(200));
  EXPECT_EQ(erase_all(filter, std::span(digests).subspan(100)), 100U);
  EXPECT_FALSE(*filter.erase(prehashed{digests[150]}));
  expect_all(filter, {digests.begin(), digests.begin() + 100});
  EXPECT_EQ(stats_of(filter).keys.keys, 100U);
}

TEST_P(AnyNotErasable, RefusesToEraseByName) {
  auto filter = make_filter(GetParam(), 1000);
  digest_source source(5);
  const auto digests = source.take(300);
  insert_all(filter, std::span(digests).first(200));
  expect_refused_by_name(filter.erase(as_prehashed(std::span(digests).subspan(100))));
  expect_refused_by_name(filter.erase(1));
}

TEST_P(AnyCountable, CountsKeys) {
  auto filter = make_filter(GetParam(), 1000);
  const key_list digests = {mix64(3), mix64(5), mix64(7)};
  insert_all(filter, std::span(digests).first(2));
  EXPECT_EQ(count_all(filter, digests), (std::vector<std::uint64_t>{1, 1, 0}));
}

TEST_P(AnyNotCountable, RefusesToCountByName) {
  auto filter = make_filter(GetParam(), 1000);
  const key_list digests = {mix64(3), mix64(5), mix64(7)};
  insert_all(filter, std::span(digests).first(2));
  std::vector<std::uint64_t> counts(3);
  expect_refused_by_name(filter.count(as_prehashed(digests), counts));
}

TEST_P(AnyFoldable, FoldsByWhatDividesItsUnits) {
  auto filter = make_filter(GetParam(), 1000);
  const std::uint64_t units = filter.fold_units();
  ASSERT_NE(units, 0U);
  EXPECT_FALSE(filter.fold(units + 1));
  std::uint64_t factor = 2;
  while (units % factor != 0) ++factor;
  const auto folded = filter.fold(factor);
  ASSERT_TRUE(folded) << describe(folded.error()).c_str();
  EXPECT_EQ(folded->fold_units(), units / factor);
}

TEST_P(AnyNotFoldable, HasNoUnitsAndRefusesToFoldByName) {
  auto filter = make_filter(GetParam(), 1000);
  EXPECT_EQ(filter.fold_units(), 0U);
  expect_refused_by_name(filter.fold(2));
}

TEST_P(AnyFilter, StatsAgreeWithTheKind) {
  auto filter = make_filter(GetParam(), 1000);
  digest_source source(3);
  ASSERT_TRUE(filter.add(as_prehashed(source.take(500))));
  const auto stats = filter.stats();
  ASSERT_TRUE(stats);
  EXPECT_NEAR(stats->estimated_keys, 500.0, 25.0);
  EXPECT_EQ(stats->keys.keys, filter.shape().keys);
  EXPECT_GT(stats->memory_bytes, 0U);
}

TEST(AnyFilterMake, RefusesHashesThatDoNotFit) {
  enable_everything();
  const filter_params params{.keys = 1'000'000, .fpr = 0.01};
  EXPECT_EQ(any_filter::make("blocked", params, hasher::make("murmur3-x86-32")->spec()).error().code,
            errc::not_enough_hash_bits);
  EXPECT_TRUE(any_filter::make("blocked", {.keys = 1000, .fpr = 0.01}, hasher::make("murmur3-x86-32")->spec()));
  EXPECT_FALSE(any_filter::make("blocked", params, hasher::of(identity{}).spec()));
  EXPECT_FALSE(any_filter::make("bitmap", params, hasher::of(xxh3{}).spec()));
  EXPECT_EQ(
      any_filter::make("bloom", {.keys = 10'000'000'000'000, .fpr = 1e-10}, hasher::make("xxh64")->spec()).error().code,
      errc::not_enough_hash_bits);
  EXPECT_EQ(any_filter::make("blum", params, hasher::of(xxh3{}).spec()).error().code, errc::unknown_kind);
  EXPECT_EQ(any_filter::make("blocked", params, hash_spec{.id = 999}).error().code, errc::unknown_hash);
}

TEST(AnyFilterMake, ReportsHowManyBytesAFilterWouldTakeThatMemoryCannotHold) {
  const auto made =
      any_filter::make("blocked", {.keys = 1'000'000'000'000'000, .fpr = 0.01}, hasher::of(xxh3{}).spec());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::out_of_memory);
  EXPECT_GT(made.error().number[0], 1'000'000'000'000'000U);
}

TEST(AnyFilterFile, MissingFilesFoldersAndStrangeFilesAreErrors) {
  const folder box;
  EXPECT_EQ(any_filter::open((box / "none").c_str()).error().code, errc::io);
  EXPECT_EQ(any_filter::open((box / "").c_str()).error().code, errc::is_directory);
  std::ofstream((box / "empty")).flush();
  EXPECT_EQ(any_filter::open((box / "empty").c_str()).error().code, errc::empty_file);
  std::ofstream((box / "text")) << "alice\nbob\n";
  EXPECT_EQ(any_filter::open((box / "text").c_str()).error().code, errc::not_a_filter);
}

}  // namespace
}  // namespace bloomery::test

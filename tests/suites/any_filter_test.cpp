// any_filter over every kind: what the surfaces see.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "suites/support.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::testing_support;

class temporary_folder {
 public:
  temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "bloomery-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~temporary_folder() { std::filesystem::remove_all(path_); }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

template <class K>
class AnyFilter : public testing::Test {
 protected:
  static any_filter make(std::uint64_t keys = 1000) {
    enable_all();
    auto made = any_filter::make(K::info.name, {.keys = keys, .fpr = 0.01}, hash_of<K>());
    if (!made) {
      ADD_FAILURE() << describe(made.error()).c_str();
      std::abort();
    }
    return std::move(*made);
  }
};
TYPED_TEST_SUITE(AnyFilter, all_kinds, kind_name);

template <class K>
class AnyMappedFilter : public AnyFilter<K> {};
TYPED_TEST_SUITE(AnyMappedFilter, kinds_with<is_mapped_where_it_lies>, kind_name);

template <class K>
class AnyMappedCounts : public AnyFilter<K> {};
TYPED_TEST_SUITE(AnyMappedCounts, kinds_with<counts_in_the_file>, kind_name);

template <class K>
class AnyHashedFilter : public AnyFilter<K> {};
TYPED_TEST_SUITE(AnyHashedFilter, kinds_with<is_approximate_and_merges>, kind_name);

void expect_all(const any_filter& filter, const std::vector<std::uint64_t>& digests) {
  std::vector<std::uint64_t> mask(mask_words(digests.size()));
  const auto asked = filter.may_contain(digests, mask);
  ASSERT_TRUE(asked) << describe(asked.error()).c_str();
  for (std::size_t i = 0; i < digests.size(); ++i) ASSERT_EQ((mask[i / 64] >> (i % 64)) & 1U, 1U) << i;
}

TYPED_TEST(AnyFilter, RoundTripsThroughEveryFormOfTheFile) {
  const temporary_folder folder;
  auto filter = this->make();
  digest_source source(1);
  const auto digests = source.take(800);
  ASSERT_TRUE(filter.insert(digests));
  for (const std::uint32_t codec : {codec_none, codec_zstd, codec_gzip, codec_rans}) {
    for (const bool text : {false, true}) {
      const std::string path = folder.file(std::string(codec_name(codec)).append(text ? ".txt" : ".bloom"));
      const auto saved = filter.save(path.c_str(), {.codec = codec, .text = text});
      ASSERT_TRUE(saved) << describe(saved.error()).c_str();
      auto loaded = any_filter::load(path.c_str());
      ASSERT_TRUE(loaded) << describe(loaded.error()).c_str();
      EXPECT_TRUE(*loaded == filter);
      EXPECT_EQ(loaded->shape().keys, filter.shape().keys);
      expect_all(*loaded, digests);
      auto opened = any_filter::open(path.c_str());
      ASSERT_TRUE(opened) << describe(opened.error()).c_str();
      EXPECT_EQ(opened->is_mapped(), codec == codec_none && !text && mappable<TypeParam>);
      expect_all(*opened, digests);
      EXPECT_TRUE(*opened == filter);
      EXPECT_EQ(saved_bytes(*opened, {.codec = codec, .text = text}),
                saved_bytes(filter, {.codec = codec, .text = text}));
    }
  }
}

TYPED_TEST(AnyFilter, LoadsFromAPipeThatCanBeReadOnce) {
  const temporary_folder folder;
  const std::string path = folder.file("pipe");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  auto filter = this->make(100'000);
  digest_source source(4);
  const auto digests = source.take(1000);
  ASSERT_TRUE(filter.insert(digests));
  std::thread writer([&] { EXPECT_TRUE(filter.save(path.c_str())); });
  const auto loaded = any_filter::open(path.c_str());
  writer.join();
  ASSERT_TRUE(loaded) << describe(loaded.error()).c_str();
  EXPECT_TRUE(*loaded == filter);
  expect_all(*loaded, digests);
}

TYPED_TEST(AnyMappedFilter, AMappedFilterIsReadOnlyAndSaysSo) {
  const temporary_folder folder;
  const auto filter = this->make();
  ASSERT_TRUE(filter.save(folder.file("f").c_str()));
  auto mapped_one = any_filter::open(folder.file("f").c_str());
  ASSERT_TRUE(mapped_one);
  const std::vector<std::uint64_t> digests{1, 2, 3};
  EXPECT_EQ(mapped_one->insert(digests).error().code, errc::read_only);
  EXPECT_EQ(mapped_one->erase(1).error().code, errc::read_only);
  EXPECT_EQ(mapped_one->clear().error().code, errc::read_only);
  EXPECT_EQ(mapped_one->merge(filter).error().code, errc::read_only);
  auto copy = mapped_one->clone();
  ASSERT_TRUE(copy);
  EXPECT_TRUE(copy->insert(digests));
}

TYPED_TEST(AnyMappedCounts, AreThoseOfTheFilterInMemoryAndADamagedChunkIsAnError) {
  const temporary_folder folder;
  auto filter = this->make(10'000);
  digest_source source(6);
  const auto digests = source.take(5000);
  ASSERT_TRUE(filter.insert(digests));
  ASSERT_TRUE(filter.insert(std::span(digests).first(2000)));
  ASSERT_TRUE(filter.save(folder.file("f").c_str()));
  std::vector<std::uint64_t> expected(digests.size());
  std::vector<std::uint64_t> counts(digests.size());
  ASSERT_TRUE(filter.count(digests, expected));
  auto opened = any_filter::open(folder.file("f").c_str());
  ASSERT_TRUE(opened);
  ASSERT_TRUE(opened->is_mapped());
  ASSERT_TRUE(opened->count(digests, counts));
  EXPECT_EQ(counts, expected);
  EXPECT_EQ(opened->stats()->saturated, filter.stats()->saturated);
  {
    std::fstream file(folder.file("f"), std::ios::in | std::ios::out | std::ios::binary);
    const auto middle = static_cast<std::streamoff>(std::filesystem::file_size(folder.file("f")) / 2);
    file.seekg(middle);
    const int byte = file.get();
    file.seekp(middle);
    file.put(static_cast<char>(byte ^ 0x10));
  }
  auto damaged = any_filter::open(folder.file("f").c_str());
  ASSERT_TRUE(damaged);
  const auto counted = damaged->count(digests, counts);
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error().code, errc::chunk_damaged);
}

TYPED_TEST(AnyFilter, EveryTruncationAndEveryFlippedByteIsAnError) {
  auto filter = this->make(8);
  digest_source source(2);
  ASSERT_TRUE(filter.insert(source.take(8)));
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

TYPED_TEST(AnyHashedFilter, DifferentHashesSeedsOrKeysDoNotMerge) {
  const std::vector<std::byte> key(16, std::byte{7});
  const std::vector<std::byte> other_key(16, std::byte{8});
  const auto make = [](const hash_spec& hash) {
    return std::move(*any_filter::make(TypeParam::info.name, {.keys = 100, .fpr = 0.01}, hash));
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

TYPED_TEST(AnyFilter, OtherKindsDoNotMerge) {
  auto filter = this->make();
  for_each_type(kind_list{}, [&](auto tag) {
    using other = typename decltype(tag)::type;
    if (other::info.id == TypeParam::info.id) return;
    std::vector<std::uint64_t> none;
    auto made = any_filter::build(other::info.name, {.fpr = 0.01}, hash_of<other>(), none);
    ASSERT_TRUE(made) << describe(made.error()).c_str();
    const auto merged = filter.merge(*made);
    ASSERT_FALSE(merged);
    EXPECT_EQ(merged.error().code, errc::mismatch);
  });
}

TYPED_TEST(AnyFilter, WhatAKindCannotDoIsRefusedByName) {
  auto filter = this->make();
  if (!erasable<TypeParam>) {
    const auto erased = filter.erase(1);
    ASSERT_FALSE(erased);
    EXPECT_NE(describe(erased.error()).view().find(TypeParam::info.name), std::string_view::npos);
  }
  const std::vector<digest128> wide(3);
  EXPECT_FALSE(filter.insert(wide)) << "it was sized for 64-bit digests";
  std::vector<std::uint64_t> none;
  const std::vector<std::uint64_t> some(3);
  EXPECT_EQ(filter.may_contain(some, none).error().code, errc::bad_span);
}

TYPED_TEST(AnyFilter, ErasesManyAtOnceOrRefusesByName) {
  auto filter = this->make();
  digest_source source(5);
  const auto digests = source.take(300);
  ASSERT_TRUE(filter.insert(std::span(digests).first(200)));
  const auto erased = filter.erase(std::span(digests).subspan(100));
  if constexpr (erasable<TypeParam>) {
    ASSERT_TRUE(erased) << describe(erased.error()).c_str();
    EXPECT_EQ(*erased, 100U);
    EXPECT_FALSE(*filter.erase(digests[150]));
    expect_all(filter, {digests.begin(), digests.begin() + 100});
    const auto stats = filter.stats();
    ASSERT_TRUE(stats);
    EXPECT_EQ(stats->keys.keys, 100U);
  } else {
    ASSERT_FALSE(erased);
    EXPECT_EQ(erased.error().code, errc::unsupported);
    EXPECT_NE(describe(erased.error()).view().find(TypeParam::info.name), std::string_view::npos);
  }
}

TYPED_TEST(AnyFilter, CountsAsTheKindDoesOrRefusesByName) {
  auto filter = this->make();
  const std::vector<std::uint64_t> digests = {mix64(3), mix64(5), mix64(7)};
  ASSERT_TRUE(filter.insert(std::span(digests).first(2)));
  std::vector<std::uint64_t> counts(2);
  EXPECT_EQ(filter.count(digests, counts).error().code, errc::bad_span);
  counts.resize(3);
  const auto counted = filter.count(digests, counts);
  if constexpr (countable<TypeParam>) {
    ASSERT_TRUE(counted) << describe(counted.error()).c_str();
    EXPECT_EQ(counts, (std::vector<std::uint64_t>{1, 1, 0}));
  } else {
    ASSERT_FALSE(counted);
    EXPECT_NE(describe(counted.error()).view().find(TypeParam::info.name), std::string_view::npos);
  }
}

TYPED_TEST(AnyFilter, FoldsByWhatDividesItsUnits) {
  auto filter = this->make();
  const std::uint64_t units = filter.fold_units();
  EXPECT_EQ(units != 0, foldable<TypeParam>);
  if constexpr (foldable<TypeParam>) {
    EXPECT_FALSE(filter.fold(units + 1));
    std::uint64_t factor = 2;
    while (units % factor != 0) ++factor;
    const auto folded = filter.fold(factor);
    ASSERT_TRUE(folded) << describe(folded.error()).c_str();
    EXPECT_EQ(folded->fold_units(), units / factor);
  }
}

TYPED_TEST(AnyFilter, StatsAgreeWithTheKind) {
  auto filter = this->make();
  digest_source source(3);
  ASSERT_TRUE(filter.insert(source.take(500)));
  const auto stats = filter.stats();
  ASSERT_TRUE(stats);
  EXPECT_NEAR(stats->estimated_keys, 500.0, 25.0);
  EXPECT_EQ(stats->keys.keys, filter.shape().keys);
  EXPECT_GT(stats->memory_bytes, 0U);
}

TEST(AnyFilterMake, RefusesHashesThatDoNotFit) {
  enable_all();
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
  EXPECT_EQ(any_filter::make("blocked", params, {.id = 999}).error().code, errc::unknown_hash);
}

TEST(AnyFilterMake, SaysHowManyBytesAFilterWouldTakeThatMemoryCannotHold) {
  const auto made =
      any_filter::make("blocked", {.keys = 1'000'000'000'000'000, .fpr = 0.01}, hasher::of(xxh3{}).spec());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::out_of_memory);
  EXPECT_GT(made.error().number[0], 1'000'000'000'000'000U);
}

TEST(AnyFilterFile, MissingFilesFoldersAndStrangeFilesAreErrors) {
  const temporary_folder folder;
  EXPECT_EQ(any_filter::open(folder.file("none").c_str()).error().code, errc::io);
  EXPECT_EQ(any_filter::open(folder.file("").c_str()).error().code, errc::is_directory);
  std::ofstream(folder.file("empty")).flush();
  EXPECT_EQ(any_filter::open(folder.file("empty").c_str()).error().code, errc::empty_file);
  std::ofstream(folder.file("text")) << "alice\nbob\n";
  EXPECT_EQ(any_filter::open(folder.file("text").c_str()).error().code, errc::not_a_filter);
}

}  // namespace

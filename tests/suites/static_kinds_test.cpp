// The contract of every kind that is built at once, from all of its keys, through all surfaces of the library.
#include <algorithm>
#include <filesystem>

#include "suites/support.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::testing_support;

template <class K>
class BuiltAtOnce : public testing::Test {
 protected:
  static K build(std::vector<std::uint64_t> digests, double fpr = 0.01, unsigned threads = 1) {
    enable_all();
    auto made = K::build({.fpr = fpr}, digests, threads);
    if (!made) {
      ADD_FAILURE() << describe(made.error()).c_str();
      std::abort();
    }
    return std::move(*made);
  }
  static any_filter build_any(std::vector<std::uint64_t> digests) {
    enable_all();
    auto made = any_filter::build(K::info.name, {.fpr = 0.01}, hash_of<K>(), digests);
    if (!made) {
      ADD_FAILURE() << describe(made.error()).c_str();
      std::abort();
    }
    return std::move(*made);
  }
};
TYPED_TEST_SUITE(BuiltAtOnce, kinds_with<is_static_kind>, kind_name);

TYPED_TEST(BuiltAtOnce, HoldsEveryKeyAndKeepsItsRate) {
  for (const std::size_t keys : {0U, 1U, 2U, 3U, 10U, 100U, 1000U, 50'000U}) {
    digest_source source(keys);
    const auto digests = source.take(keys);
    const auto filter = this->build(digests);
    for (const std::uint64_t digest : digests) ASSERT_TRUE(filter.may_contain(digest)) << keys;
    EXPECT_EQ(filter.keys().keys, keys);
    EXPECT_TRUE(filter.keys().exact);
    EXPECT_GE(filter.capacity_keys(), keys);
    EXPECT_LE(filter.target_fpr(), 0.01);
    std::uint64_t positives = 0;
    constexpr std::uint64_t queries = 400'000;
    for (std::uint64_t i = 0; i < queries; ++i) positives += filter.may_contain(source()) ? 1U : 0U;
    const double rate = static_cast<double>(positives) / static_cast<double>(queries);
    // Five standard errors.
    EXPECT_NEAR(rate, filter.fpr_now(), 5 * std::sqrt(filter.fpr_now() / static_cast<double>(queries)) + 1e-9) << keys;
    EXPECT_LE(filter.fpr_now(), filter.target_fpr() * 1.0001);
  }
}

TYPED_TEST(BuiltAtOnce, ExtremeDigestsAreKeysLikeOthers) {
  const std::vector<std::uint64_t> digests{0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 63U, 0xffffffff, 0xffffffff0,
                                           2, 3};
  const auto filter = this->build(digests);
  for (const std::uint64_t digest : digests) EXPECT_TRUE(filter.may_contain(digest)) << digest;
  EXPECT_EQ(filter.keys().keys, digests.size());
}

TYPED_TEST(BuiltAtOnce, KeysThatComeAgainCountOnce) {
  digest_source source(2);
  auto digests = source.take(3000);
  const std::size_t different = digests.size();
  for (std::size_t i = 0; i < different; ++i) {
    for (std::size_t copy = 0; copy < i % 4; ++copy) digests.push_back(digests[i]);
  }
  const auto filter = this->build(digests);
  for (const std::uint64_t digest : digests) ASSERT_TRUE(filter.may_contain(digest));
  EXPECT_EQ(filter.keys().keys, different);
  const auto same = this->build(std::vector<std::uint64_t>(100'000, 77));
  EXPECT_EQ(same.keys().keys, 1U);
  EXPECT_TRUE(same.may_contain(77));
}

TYPED_TEST(BuiltAtOnce, TheNumberOfThreadsChangesNothing) {
  digest_source source(3);
  const auto digests = source.take(200'000);
  const auto alone = this->build(digests, 0.01, 1);
  for (const unsigned threads : {0U, 2U, 3U, 7U}) EXPECT_TRUE(this->build(digests, 0.01, threads) == alone) << threads;
}

TYPED_TEST(BuiltAtOnce, BatchesGiveTheAnswersOfSingleCalls) {
  digest_source source(4);
  const auto digests = source.take(5000);
  const auto filter = this->build(digests);
  for (const std::size_t count : {0U, 1U, 15U, 63U, 64U, 65U, 1000U}) {
    auto queries = source.take(count);
    queries.insert(queries.end(), digests.begin(), digests.begin() + static_cast<std::ptrdiff_t>(count));
    std::vector<std::uint64_t> mask(mask_words(queries.size()), ~std::uint64_t{0});
    filter.may_contain_batch(queries, mask);
    for (std::size_t i = 0; i < queries.size(); ++i) {
      ASSERT_EQ((mask[i / 64] >> (i % 64)) & 1U, filter.may_contain(queries[i]) ? 1U : 0U) << i;
    }
    if (queries.size() % 64 != 0) {
      EXPECT_EQ(mask.back() >> (queries.size() % 64), 0U);
    }
  }
}

TYPED_TEST(BuiltAtOnce, AnEmptyFilterContainsNothing) {
  const auto filter = this->build({});
  digest_source source(5);
  for (int i = 0; i < 10'000; ++i) ASSERT_FALSE(filter.may_contain(source()));
  EXPECT_EQ(filter.fpr_now(), 0.0);
  EXPECT_EQ(filter.estimated_keys(), 0.0);
}

TYPED_TEST(BuiltAtOnce, CloneAndMoveKeepTheContent) {
  digest_source source(6);
  const auto digests = source.take(2000);
  auto filter = this->build(digests);
  auto copy = filter.clone();
  ASSERT_TRUE(copy);
  EXPECT_TRUE(*copy == filter);
  EXPECT_FALSE(*copy == this->build(source.take(2000)));
  TypeParam moved = std::move(filter);
  EXPECT_TRUE(moved == *copy);
  for (const std::uint64_t digest : digests) ASSERT_TRUE(moved.may_contain(digest));
}

TYPED_TEST(BuiltAtOnce, MemoryThatIsRefusedIsAnErrorAndNothingLeaks) {
  digest_source source(7);
  const auto digests = source.take(20'000);
  for (std::uint64_t refused = 0;; ++refused) {
    failing_memory memory;
    memory.fail_at = refused;
    auto copy = digests;
    bool built = false;
    {
      const auto made = TypeParam::build({.fpr = 0.01, .memory = &memory.hooks}, copy, 1);
      built = made.has_value();
      if (!built) {
        EXPECT_EQ(made.error().code, errc::out_of_memory);
      }
    }
    EXPECT_EQ(memory.live_bytes, 0);
    if (built) {
      EXPECT_GT(refused, 0U);
      break;
    }
  }
}

TYPED_TEST(BuiltAtOnce, AnyFilterBuildsItAndRefusesToChangeIt) {
  digest_source source(8);
  const auto digests = source.take(1000);
  auto filter = this->build_any(digests);
  EXPECT_EQ(filter.info().id, TypeParam::info.id);
  EXPECT_EQ(filter.insert(digests).error().code, errc::unsupported);
  EXPECT_EQ(filter.clear().error().code, errc::unsupported);
  EXPECT_EQ(filter.erase(digests[0]).error().code, errc::unsupported);
  const auto made = any_filter::make(TypeParam::info.name, {.keys = 10, .fpr = 0.01}, hash_of<TypeParam>());
  ASSERT_FALSE(made);
  EXPECT_EQ(describe(made.error()).view(), "kind " + std::string(TypeParam::info.name) +
                                               " cannot be made empty: it is built at once, from all of its keys");
  EXPECT_EQ(filter.stats()->keys.keys, digests.size());
}

TYPED_TEST(BuiltAtOnce, RoundTripsThroughEveryFormOfTheFile) {
  std::string name = (std::filesystem::temp_directory_path() / "bloomery-test-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(name.data());
  digest_source source(9);
  const auto digests = source.take(3000);
  const auto filter = this->build_any(digests);
  for (const std::uint32_t codec : {codec_none, codec_zstd, codec_gzip, codec_rans}) {
    for (const bool text : {false, true}) {
      const std::string path = (folder / std::string(codec_name(codec)).append(text ? ".txt" : ".bloom")).string();
      ASSERT_TRUE(filter.save(path.c_str(), {.codec = codec, .text = text}));
      for (const auto& again : {any_filter::load(path.c_str()), any_filter::open(path.c_str())}) {
        ASSERT_TRUE(again) << describe(again.error()).c_str();
        EXPECT_TRUE(*again == filter);
        EXPECT_EQ(saved_bytes(*again), saved_bytes(filter));
        std::vector<std::uint64_t> mask(mask_words(digests.size()));
        ASSERT_TRUE(again->may_contain(digests, mask));
        for (std::size_t i = 0; i < digests.size(); ++i) ASSERT_EQ((mask[i / 64] >> (i % 64)) & 1U, 1U) << i;
      }
      EXPECT_EQ(any_filter::open(path.c_str())->is_mapped(), codec == codec_none && !text && mappable<TypeParam>);
    }
  }
  std::filesystem::remove_all(folder);
}

TYPED_TEST(BuiltAtOnce, KeysOfAnyTypeThroughFilter) {
  std::vector<std::string> keys;
  for (int i = 0; i < 2000; ++i) keys.push_back("key-" + std::to_string(i));
  const auto filter = bloomery::filter<TypeParam>::build(std::span<const std::string>(keys), {.fpr = 0.01});
  ASSERT_TRUE(filter) << describe(filter.error()).c_str();
  for (const std::string& key : keys) ASSERT_TRUE(filter->may_contain(key));
  int others = 0;
  for (int i = 0; i < 2000; ++i) others += filter->may_contain("other-" + std::to_string(i)) ? 1 : 0;
  EXPECT_LT(others, 60);
  std::vector<std::uint64_t> mask(mask_words(keys.size()));
  filter->may_contain_batch(std::span<const std::string>(keys), mask);
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ((mask[i / 64] >> (i % 64)) & 1U, 1U) << i;
  // A hash of 32 bits serves few keys only.
  const auto narrow =
      bloomery::filter<TypeParam, murmur3_x86_32>::build(std::span<const std::string>(keys), {.fpr = 1e-6});
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.error().code, errc::not_enough_hash_bits);
}

// What holds for kinds that take keys as they come holds for any_filter::build, too.
TEST(AnyFilterBuild, MakesAndFillsKindsThatTakeKeysAsTheyCome) {
  enable_all();
  digest_source source(10);
  auto digests = source.take(1000);
  const auto built = any_filter::build("blocked", {.fpr = 0.01}, hasher::of(xxh3{}).spec(), digests);
  auto made = any_filter::make("blocked", {.keys = 1000, .fpr = 0.01}, hasher::of(xxh3{}).spec());
  ASSERT_TRUE(built && made);
  ASSERT_TRUE(made->insert(digests));
  EXPECT_TRUE(*built == *made);
  EXPECT_EQ(any_filter::build("blum", {.fpr = 0.01}, hasher::of(xxh3{}).spec(), digests).error().code,
            errc::unknown_kind);
}

}  // namespace

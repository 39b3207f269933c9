// The contract of static kinds, which are built from their complete key set, through all surfaces of the library.
#include <bloomery/native/codec.hpp>
#include <cmath>

#include "support/filters.hpp"
#include "support/memory.hpp"

namespace bloomery::test {
namespace {

class Static : public KindTest {};
BLOOMERY_FOR_KINDS(Static, kinds_where(&kind_case::is_static));

TEST_P(Static, HoldsEveryKeyAndKeepsItsFpr) {
  for (const std::size_t keys : {0U, 1U, 2U, 3U, 10U, 100U, 1000U, 50'000U}) {
    digest_source source(keys);
    const auto digests = source.take(keys);
    const auto filter = build_filter(GetParam(), digests);
    EXPECT_EQ(count_missing(filter, digests), 0U) << keys;
    const filter_stats stats = stats_of(filter);
    EXPECT_EQ(stats.keys.keys, keys);
    EXPECT_TRUE(stats.keys.exact);
    EXPECT_GE(stats.capacity_keys, keys);
    EXPECT_LE(stats.target_fpr, 0.01);
    constexpr std::uint64_t queries = 400'000;
    const double fpr = static_cast<double>(count_found(filter, source.take(queries))) / static_cast<double>(queries);
    // Five standard errors.
    EXPECT_NEAR(fpr, stats.fpr_now, 5 * std::sqrt(stats.fpr_now / static_cast<double>(queries)) + 1e-9) << keys;
    EXPECT_LE(stats.fpr_now, stats.target_fpr * 1.0001);
  }
}

TEST_P(Static, ExtremeDigestsAreKeysLikeOthers) {
  const key_list digests{0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 63U, 0xffffffff, 0xffffffff0, 2, 3};
  const auto filter = build_filter(GetParam(), digests);
  for (const std::uint64_t digest : digests) EXPECT_TRUE(contains(filter, digest)) << digest;
  EXPECT_EQ(stats_of(filter).keys.keys, digests.size());
}

TEST_P(Static, KeysThatComeAgainCountOnce) {
  digest_source source(2);
  auto digests = source.take(3000);
  const std::size_t different = digests.size();
  for (std::size_t i = 0; i < different; ++i) {
    for (std::size_t copy = 0; copy < i % 4; ++copy) digests.push_back(digests[i]);
  }
  const auto filter = build_filter(GetParam(), digests);
  EXPECT_EQ(count_missing(filter, digests), 0U);
  EXPECT_EQ(stats_of(filter).keys.keys, different);
  const auto same = build_filter(GetParam(), key_list(100'000, 77));
  EXPECT_EQ(stats_of(same).keys.keys, 1U);
  EXPECT_TRUE(contains(same, 77));
}

TEST_P(Static, TheNumberOfThreadsChangesNothing) {
  digest_source source(3);
  const auto digests = source.take(200'000);
  const auto alone = build_filter(GetParam(), digests, 0.01, 1);
  for (const unsigned threads : {0U, 2U, 3U, 7U}) {
    EXPECT_TRUE(build_filter(GetParam(), digests, 0.01, threads) == alone) << threads;
  }
}

TEST_P(Static, AnEmptyFilterContainsNothing) {
  const auto filter = build_filter(GetParam(), {});
  digest_source source(5);
  EXPECT_EQ(count_found(filter, source.take(10'000)), 0U);
  EXPECT_EQ(stats_of(filter).fpr_now, 0.0);
  EXPECT_EQ(stats_of(filter).estimated_keys, 0.0);
}

TEST_P(Static, ACloneIsEqualAndFiltersOfOtherKeysAreNot) {
  digest_source source(6);
  const auto digests = source.take(2000);
  const auto filter = build_filter(GetParam(), digests);
  const auto copy = copy_of(filter);
  EXPECT_TRUE(copy == filter);
  EXPECT_EQ(count_missing(copy, digests), 0U);
  EXPECT_FALSE(copy == build_filter(GetParam(), source.take(2000)));
}

TEST_P(Static, MemoryThatIsRefusedIsAnErrorAndNothingLeaks) {
  digest_source source(7);
  const auto digests = source.take(20'000);
  for (std::uint64_t refused = 0;; ++refused) {
    counting_memory memory(refused);
    auto copy = digests;
    bool built = false;
    {
      const auto made = any_filter::build_digests(GetParam().info->name, {.fpr = 0.01, .memory = &memory.hooks},
                                                  hash_of(GetParam()), copy, 1);
      built = made.has_value();
      if (!built) {
        EXPECT_EQ(made.error().code, errc::out_of_memory);
      }
    }
    EXPECT_EQ(memory.live_bytes, 0U);
    if (built) {
      EXPECT_GT(refused, 0U);
      break;
    }
  }
}

TEST_P(Static, RefusesToBeMadeEmptyAndToBeChanged) {
  digest_source source(8);
  const auto digests = source.take(1000);
  auto filter = build_filter(GetParam(), digests, 0.01, 0);
  EXPECT_EQ(filter.info().id, GetParam().info->id);
  EXPECT_EQ(filter.add(as_prehashed(digests)).error().code, errc::unsupported);
  EXPECT_EQ(filter.clear().error().code, errc::unsupported);
  EXPECT_EQ(filter.erase(prehashed{digests[0]}).error().code, errc::unsupported);
  const auto made = any_filter::make(GetParam().info->name, {.keys = 10, .fpr = 0.01}, hash_of(GetParam()));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::unsupported);
  const std::string message(describe(made.error()).view());
  EXPECT_TRUE(message.starts_with("kind " + std::string(GetParam().info->name) + " cannot be made empty: ")) << message;
  EXPECT_EQ(stats_of(filter).keys.keys, digests.size());
}

TEST_P(Static, RoundTripsThroughEveryEncodingOfTheFile) {
  const folder box;
  digest_source source(9);
  const auto digests = source.take(3000);
  const auto filter = build_filter(GetParam(), digests);
  for (const std::uint32_t codec : linked_codecs()) {
    for (const bool text : {false, true}) {
      const std::string path = box / std::string(codec_name(codec)).append(text ? ".txt" : ".bloom");
      ASSERT_TRUE(filter.save(path.c_str(), {.codec = codec, .text = text}));
      for (const auto& again : {any_filter::load(path.c_str()), any_filter::open(path.c_str())}) {
        ASSERT_TRUE(again) << describe(again.error()).c_str();
        EXPECT_TRUE(*again == filter);
        EXPECT_EQ(saved_bytes(*again), saved_bytes(filter));
        EXPECT_EQ(count_missing(*again, digests), 0U);
      }
      EXPECT_EQ(any_filter::open(path.c_str())->is_mapped(), codec == codec_none && !text && GetParam().maps);
    }
  }
}

// What holds for static kinds holds for any_filter::build of the others, too.
class Built : public KindTest {};
BLOOMERY_FOR_KINDS(Built, kinds_where(&kind_case::is_dynamic));

TEST_P(Built, IsTheFilterMadeForItsKeysAndFilledWithThem) {
  digest_source source(10);
  const auto digests = source.take(1000);
  const auto built = build_filter(GetParam(), digests);
  auto made = make_filter(GetParam(), 1000);
  insert_all(made, digests);
  EXPECT_TRUE(built == made);
}

TEST(AnyFilterBuild, RefusesAKindThatDoesNotExist) {
  key_list digests{1, 2, 3};
  EXPECT_EQ(any_filter::build_digests("blum", {.fpr = 0.01}, hasher::of(xxh3{}).spec(), digests).error().code,
            errc::unknown_kind);
}

}  // namespace
}  // namespace bloomery::test

// any_adaptive: what adaptive<K> does, for kinds and hashes of the lists.
#include <bloomery/core/binomial.hpp>
#include <bloomery/kinds.hpp>
#include <bloomery/wrappers/adaptive.hpp>
#include <bloomery/wrappers/any_adaptive.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "support/filters.hpp"
#include "support/memory.hpp"
#include "support/typed.hpp"

namespace bloomery::adaptive_testing {
namespace {

using namespace bloomery::test;
using strings = std::vector<std::string>;

strings names_from(std::uint64_t first, std::uint64_t count) {
  strings made;
  for (std::uint64_t i = 0; i < count; ++i) made.push_back("key number " + std::to_string(first + i));
  return made;
}
std::vector<std::string_view> views_of(const strings& keys) { return {keys.begin(), keys.end()}; }

any_adaptive made_of(std::string_view kind, std::uint64_t keys, double fpr = 0.01,
                     const adaptive_options& options = {}) {
  auto made = any_adaptive::make(kind, {.keys = keys, .fpr = fpr}, hasher{}, options);
  if (!made) ADD_FAILURE() << kind << ": " << describe(made.error()).c_str();
  return std::move(*made);
}

std::uint64_t present_in(const any_adaptive& filter, const key_batch& keys) {
  std::vector<std::uint64_t> mask(mask_words(keys.size()), ~std::uint64_t{0});
  const auto done = filter.may_contain_batch(keys, mask);
  EXPECT_TRUE(done) << error_of(done);
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) found += mask[i / 64] >> (i % 64) & 1U;
  return found;
}

struct name_source {
  const strings* keys;
  template <class Sink>
  result<void> operator()(Sink& sink) {
    for (const std::string& key : *keys) sink(key);
    return {};
  }
};

// Every kind of the list that takes keys one by one and whose keys stay.
class AnyAdaptive : public testing::TestWithParam<std::string_view> {};
std::vector<std::string_view> adapting_kinds() {
  std::vector<std::string_view> names;
  for_each_type(kind_list{}, [&](auto tag) {
    using kind = typename decltype(tag)::type;
    if (dynamic_kind<kind> && !kind::info.exact && !expiring<kind>) names.push_back(kind::info.name);
  });
  return names;
}
INSTANTIATE_TEST_SUITE_P(Kinds, AnyAdaptive, testing::ValuesIn(adapting_kinds()),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(AnyAdaptive, FindsEveryKeyAndKeepsItsRateWithASourceAndWithout) {
  const strings keys = names_from(0, 8000);
  const auto views = views_of(keys);
  for (const bool has_source : {false, true}) {
    any_adaptive one_by_one = made_of(GetParam(), 1000, 0.05);
    any_adaptive at_once = made_of(GetParam(), 1000, 0.05);
    name_source source{&keys};
    if (has_source) {
      one_by_one.set_source(source);
      at_once.set_source(source);
    }
    for (const std::string& key : keys) {
      ASSERT_NE(one_by_one.insert(key), insert_result::full);
      ASSERT_TRUE(one_by_one.may_contain(key));
    }
    const auto outcome = at_once.add_batch(views);
    ASSERT_TRUE(outcome) << error_of(outcome);
    EXPECT_EQ(outcome->refused, 0U);
    for (const any_adaptive* filter : {&one_by_one, &at_once}) {
      EXPECT_EQ(present_in(*filter, views), keys.size());
      EXPECT_LE(filter->fpr_now(), 0.1);
      const strings others = names_from(1'000'000, 20'000);
      const std::uint64_t wrong = present_in(*filter, views_of(others));
      EXPECT_LE(binomial::lower_bound(wrong, others.size(), 0.001), 0.1);
      EXPECT_FALSE(filter->last_error());
      if (has_source) {
        EXPECT_EQ(filter->sub_filters(), 1U);
      }
      EXPECT_EQ(filter->sub_filter(0).info().name, GetParam());
    }
    at_once.clear();
    EXPECT_EQ(present_in(at_once, views), 0U);
    EXPECT_EQ(at_once.keys().keys, 0U);
  }
}

TEST_P(AnyAdaptive, LearnsFromFalsePositives) {
  any_adaptive filter = made_of(GetParam(), 2000, 0.1);
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < 2000; ++i) ids.push_back(i);
  ASSERT_TRUE(filter.add_batch(ids));
  std::uint64_t wrong = 0;
  const auto is_there = [](std::uint64_t key) { return key < 2000; };
  for (std::uint64_t key = 0; key < 20'000; ++key) {
    wrong += filter.may_contain(key) && key >= 2000 ? 1U : 0U;
    ASSERT_EQ(filter.may_contain_confirmed(key, is_there), key < 2000);
    ASSERT_EQ(filter.may_contain(key), key < 2000);
  }
  EXPECT_EQ(filter.stats().false_positives, wrong);
  EXPECT_GT(wrong, 0U);
  EXPECT_EQ(filter.reported_keys(), wrong);
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < 20'000; ++i) all.push_back(i);
  EXPECT_EQ(present_in(filter, all), 2000U);
  filter.insert(std::uint64_t{19'999});
  EXPECT_TRUE(filter.may_contain(std::uint64_t{19'999}));
}

TEST_P(AnyAdaptive, MemoryThatIsRefusedIsAnErrorAndNoKeyIsLost) {
  const strings keys = names_from(0, 4000);
  for (const bool has_source : {false, true}) {
    bool refused_once = true;
    for (std::uint64_t n = 0; refused_once; n += n < 40 ? 1 : 17) {
      ASSERT_LT(n, 5000U);
      counting_memory memory(n);
      {
        auto filter = any_adaptive::make(GetParam(), {.keys = 500, .fpr = 0.01, .memory = &memory.hooks}, hasher{},
                                         {.report_bytes = recent_keys::min_limit_bytes});
        if (!filter) {
          EXPECT_EQ(filter.error().code, errc::out_of_memory);
        } else {
          strings inside;
          name_source source{&inside};
          if (has_source) filter->set_source(source);
          for (const std::string& key : keys) {
            if (filter->insert(key) != insert_result::full) inside.push_back(key);
          }
          EXPECT_EQ(present_in(*filter, views_of(inside)), inside.size());
          EXPECT_GT(inside.size(), 3000U);
        }
      }
      EXPECT_EQ(memory.live, 0U);
      refused_once = memory.requests > n;
    }
  }
}

// ---- keys ----

TEST(AnyAdaptiveKeys, OfABatchMayBeOfEveryType) {
  any_adaptive filter = made_of("blocked", 100, 0.001);
  const std::vector<std::string_view> views{"alice", "bob"};
  const std::vector<std::uint64_t> ids{1, 2, 3};
  const std::string bytes = "caroldave";
  const std::vector<std::uint64_t> offsets{0, 5, 9};
  const byte_columns columns(std::as_bytes(std::span(bytes)), std::span<const std::uint64_t>(offsets));
  const std::vector<prehashed> digests{{mix64(5)}, {mix64(6)}};
  for (const key_batch& keys : {key_batch(views), key_batch(ids), key_batch(columns), key_batch(digests)}) {
    EXPECT_EQ(present_in(filter, keys), 0U);
    const auto done = filter.add_batch(keys);
    ASSERT_TRUE(done) << error_of(done);
    EXPECT_EQ(done->inserted, keys.size());
    EXPECT_EQ(present_in(filter, keys), keys.size());
  }
  EXPECT_TRUE(filter.may_contain("carol"));
  EXPECT_TRUE(filter.may_contain(std::uint64_t{3}));
  EXPECT_TRUE(filter.may_contain(prehashed{mix64(6)}));
  filter.insert(std::tuple("user", 42));
  EXPECT_TRUE(filter.may_contain(std::tuple("user", 42)));
  EXPECT_FALSE(filter.may_contain(std::tuple("user", 43)));
  ASSERT_TRUE(filter.report_false_positive("eve"));
  EXPECT_FALSE(filter.may_contain("eve"));
  const std::vector<prehashed128> wide{{{1, 2}}};
  EXPECT_EQ(error_of(filter.add_batch(wide)), "an adaptive filter takes keys, or 64-bit digests");
  const std::vector<std::uint64_t> descending{0, 9, 5};
  EXPECT_FALSE(filter.add_batch(byte_columns(std::as_bytes(std::span(bytes)), descending)));
  std::vector<std::uint64_t> none;
  EXPECT_EQ(filter.may_contain_batch(views, none).error().code, errc::bad_span);
}

// The whole batch is kept though the source knows none of it, and is rebuilt from several times.
TEST(AnyAdaptiveKeys, OfColumnsAreKeptThoughTheSourceDoesNotKnowThem) {
  std::string bytes;
  std::vector<std::uint64_t> offsets{0};
  for (int i = 0; i < 20'000; ++i) {
    bytes += "column " + std::to_string(i);
    offsets.push_back(bytes.size());
  }
  const byte_columns columns(std::as_bytes(std::span(bytes)), std::span<const std::uint64_t>(offsets));
  for (const std::string_view kind : {"bloom", "cuckoo"}) {
    any_adaptive filter = made_of(kind, 1000);
    const strings nothing;
    name_source source{&nothing};
    filter.set_source(source);
    ASSERT_TRUE(filter.add_batch(columns));
    EXPECT_GE(filter.stats().rebuilds, 3U);
    EXPECT_EQ(present_in(filter, columns), 20'000U) << kind;
  }
}

TEST(AnyAdaptiveKeys, TakeDigestsOf128BitsWhereASubFilterDoes) {
  any_adaptive filter = made_of("bloom", 64, 1e-15);
  ASSERT_EQ(filter.sub_filter(0).digest_bits(), 64U);
  const strings keys = names_from(0, 20'000);
  const auto views = views_of(keys);
  ASSERT_TRUE(filter.add_batch(std::span(views).first(10'000)));
  for (std::size_t i = 10'000; i < keys.size(); ++i) filter.insert(keys[i]);
  ASSERT_EQ(filter.sub_filter(filter.sub_filters() - 1).digest_bits(), 128U);
  EXPECT_EQ(present_in(filter, views), keys.size());
  for (const std::string& key : keys) ASSERT_TRUE(filter.may_contain(key));
  EXPECT_EQ(present_in(filter, views_of(names_from(1'000'000, 5000))), 0U);
  name_source source{&keys};
  filter.set_source(source);
  ASSERT_TRUE(filter.rebuild());
  EXPECT_EQ(filter.sub_filter(0).digest_bits(), 128U);
  EXPECT_EQ(present_in(filter, views), keys.size());
}

// The typed form is the same engine: the same keys give the same filter.
TEST(AnyAdaptiveKeys, GiveTheFilterOfTheTypedForm) {
  any_adaptive any = made_of("cuckoo", 500);
  auto typed = adaptive<cuckoo>::make({.keys = 500, .fpr = 0.01});
  ASSERT_TRUE(typed);
  for (const std::string& key : names_from(0, 3000)) EXPECT_EQ(any.insert(key), typed->insert(key));
  ASSERT_EQ(any.sub_filters(), typed->sub_filters());
  for (std::size_t i = 0; i < any.sub_filters(); ++i) {
    const any_filter& one = any.sub_filter(i);
    EXPECT_TRUE(*static_cast<const cuckoo*>(one.model().kind_object()) == typed->sub_filter(i));
  }
  EXPECT_EQ(any.capacity_keys(), typed->capacity_keys());
  EXPECT_EQ(any.fpr_now(), typed->fpr_now());
}

// ---- filters that are there already ----

TEST(AnyAdaptiveOver, AFilterFromAFileIsAdaptedAndSavedAgain) {
  const folder box;
  const std::string path = box / "filter";
  any_adaptive filter = made_of("blocked", 1000);
  const strings keys = names_from(0, 2000);
  for (std::size_t i = 0; i < 1000; ++i) filter.insert(keys[i]);
  ASSERT_TRUE(filter.save(path.c_str()));
  auto again = any_adaptive::over(std::move(*any_filter::load(path.c_str())));
  ASSERT_TRUE(again) << error_of(again);
  for (std::size_t i = 1000; i < 2000; ++i) again->insert(keys[i]);
  EXPECT_EQ(again->sub_filters(), 2U);
  EXPECT_EQ(present_in(*again, views_of(keys)), 2000U);
  EXPECT_EQ(error_of(again->save(path.c_str(), {.replace = true})),
            "a filter in several sub-filters is not saved: set a source and rebuild it");
  EXPECT_EQ(error_of(any_adaptive::over(std::move(*any_filter::open(path.c_str())))),
            "only a filter in memory, and in one piece, adapts");
}

TEST(AnyAdaptiveOver, AKeyedHashNeedsItsSecret) {
  const std::vector<std::byte> secret(16, std::byte{7});
  const auto keyed = hasher::make("siphash13", 0, secret);
  ASSERT_TRUE(keyed) << error_of(keyed);
  auto locked = any_filter::make("blocked", {.keys = 100, .fpr = 0.01}, keyed->spec());
  ASSERT_TRUE(locked) << error_of(locked);
  auto unlocked = locked->clone();
  ASSERT_TRUE(unlocked);
  EXPECT_EQ(any_adaptive::over(std::move(*locked)).error().code, errc::bad_key_size);
  ASSERT_TRUE(unlocked->unlock(secret));
  EXPECT_TRUE(any_adaptive::over(std::move(*unlocked)));
}

TEST(AnyAdaptiveOver, KindsThatCannotAdaptAreRefused) {
  enable_everything();
  const auto refusal = [](std::string_view kind, const hasher& hash) {
    return error_of(any_adaptive::make(kind, {.keys = 100, .fpr = 0.01}, hash));
  };
  EXPECT_EQ(refusal("bitmap", *hasher::make("identity")), "kind bitmap cannot adapt: it has no false positives");
  EXPECT_EQ(refusal("window", {}), "kind window cannot adapt: its keys expire, and are nowhere to be rebuilt from");
  EXPECT_NE(refusal("fuse", {}), "no error");
  std::vector<std::uint64_t> digests{1, 2, 3};
  auto built = any_filter::build_digests("fuse", {.fpr = 0.01}, hasher{}, digests);
  ASSERT_TRUE(built);
  EXPECT_EQ(error_of(any_adaptive::over(std::move(*built))),
            "kind fuse cannot adapt: it takes no keys after it was built");
  EXPECT_EQ(error_of(any_adaptive::make("blocked", {.keys = 10, .fpr = 0.01}, {}, {.report_bytes = 100})),
            "memory of 100 bytes is too small: this kind needs at least 16384 bytes");
}

}  // namespace
}  // namespace bloomery::adaptive_testing

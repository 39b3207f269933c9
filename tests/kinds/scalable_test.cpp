// Kind scalable: its rate after many growths, where exactly it grows, what it refuses and leaves as it was, its merges and
// its bytes. Layout redis against RedisBloom's own bytes: scalable_redis_test.cpp.
//
// Rates are claims about the one-sided Clopper-Pearson upper bound at 99.9 % confidence.
#include <bloomery/core/binomial.hpp>
#include <bloomery/kinds/scalable.hpp>
#include <cstdio>
#include <functional>

#include "suites/support.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::testing_support;

scalable make_scalable(const filter_params& params) {
  auto made = scalable::make(params);
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}

// Inserts keys until the chain has so many links and the newest is full; how many digests that took.
std::uint64_t fill_links(scalable& filter, std::size_t links, const digest_source& keys) {
  std::uint64_t next = 0;
  while (filter.links() < links || filter.link_keys(links - 1) < filter.link_capacity(links - 1)) {
    const std::uint64_t room = filter.link_capacity(filter.links() - 1) - filter.link_keys(filter.links() - 1);
    std::vector<std::uint64_t> digests;
    for (std::uint64_t i = 0; i < std::clamp<std::uint64_t>(room, 1, 4096); ++i) digests.push_back(keys.at(next++));
    filter.insert_batch(digests);
  }
  return next;
}

struct measured {
  std::uint64_t positives = 0;
  std::uint64_t queries = 0;
  [[nodiscard]] double rate() const { return static_cast<double>(positives) / static_cast<double>(queries); }
  [[nodiscard]] double upper() const { return binomial::upper_bound(positives, queries, 0.001); }
};

template <class Digest>
void ask_absent(const scalable& filter, std::uint64_t queries, std::uint64_t seed, measured& total,
                const std::function<Digest(std::uint64_t)>& digest_of) {
  constexpr std::size_t group = 8192;
  std::vector<std::uint64_t> mask(mask_words(group));
  const digest_source absent(seed);
  std::vector<Digest> digests(group);
  for (std::uint64_t asked = 0; asked < queries; asked += group) {
    for (std::size_t i = 0; i < group; ++i) digests[i] = digest_of(absent.at(asked + i));
    filter.may_contain_batch(digests, mask);
    for (const std::uint64_t word : mask) total.positives += static_cast<std::uint64_t>(std::popcount(word));
    total.queries += group;
  }
}
void ask_absent(const scalable& filter, std::uint64_t queries, std::uint64_t seed, measured& total) {
  ask_absent<std::uint64_t>(filter, queries, seed, total, [](std::uint64_t digest) { return digest; });
}

// Full to the last link after so many growths, every key found, and the rate of absent keys.
void expect_promise_after(std::size_t growths, const filter_params& params, unsigned filters, double at_least) {
  measured total;
  double bits_per_key = 0;
  for (unsigned seed = 0; seed < filters; ++seed) {
    auto filter = make_scalable(params);
    const digest_source keys(2 * seed + 1);
    const std::uint64_t given = fill_links(filter, growths + 1, keys);
    ASSERT_EQ(filter.links(), growths + 1);
    for (std::uint64_t i = 0; i < given; ++i) ASSERT_TRUE(filter.may_contain(keys.at(i))) << i;
    ask_absent(filter, 6'000'000 / filters, 2 * seed + 2, total);
    const double now = filter.fpr_now();
    EXPECT_LE(now, *params.fpr);
    bits_per_key = static_cast<double>(filter.memory_bytes()) * 8 / static_cast<double>(filter.keys().keys);
  }
  std::printf("%zu growths by %llu from %llu: measured %.4f p, upper(99.9%%) %.4f p, %.2f bits per key\n", growths,
              static_cast<unsigned long long>(params.growth.value_or(2)), static_cast<unsigned long long>(*params.keys),
              total.rate() / *params.fpr, total.upper() / *params.fpr, bits_per_key);
  EXPECT_LE(total.upper(), *params.fpr);
  EXPECT_GE(total.rate(), at_least * *params.fpr);
}

TEST(Scalable, TheTotalRateIsAtMostThePromiseAfter10Growths) {
  expect_promise_after(10, {.keys = 400, .fpr = 0.01}, 2, 0.6);
  expect_promise_after(10, {.keys = 3000, .fpr = 0.01, .growth = 1}, 10, 0.8);
}

TEST(Scalable, TheTotalRateIsAtMostThePromiseAfter17Growths) {
  expect_promise_after(17, {.keys = 5000, .fpr = 0.01, .growth = 1}, 4, 0.85);
  expect_promise_after(17, {.keys = 5, .fpr = 0.01}, 1, 0);  // links of one block have bits to spare
}

TEST(Scalable, TheSharesOfTheRateAddUpToAtMostAll) {
  double blocked_sum = 0;
  double redis_sum = 0;
  for (std::size_t i = 0; i < chain<blocked_links>::max_links; ++i) {
    EXPECT_LT(blocked_links::share(i + 1), blocked_links::share(i));
    blocked_sum += blocked_links::share(i);
    redis_sum += redis_links::share(i);
  }
  EXPECT_LT(blocked_sum, 1.0);
  EXPECT_GT(blocked_sum, 0.99);
  EXPECT_LE(redis_sum, 1.0);
}

TEST(Scalable, GrowsExactlyWhenAKeyThatNoLinkHasComesToAFullLink) {
  for (const std::uint64_t growth : {1U, 2U, 3U}) {
    auto filter = make_scalable({.keys = 7, .fpr = 0.001, .growth = growth});
    digest_source source(growth);
    std::uint64_t held = 0;
    std::uint64_t capacity = 7;
    std::size_t links = 1;
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t digest = source();
      const bool was_there = filter.may_contain(digest);
      if (!was_there && held == capacity) {
        held = 0;
        capacity *= growth;
        ++links;
      }
      ASSERT_EQ(filter.insert(digest), was_there ? insert_result::present : insert_result::inserted);
      held += was_there ? 0 : 1;
      ASSERT_EQ(filter.links(), links);
      ASSERT_EQ(filter.link_capacity(links - 1), capacity);
      ASSERT_EQ(filter.link_keys(links - 1), held);
      // A key that is there never makes it grow.
      ASSERT_EQ(filter.insert(digest), insert_result::present);
      ASSERT_EQ(filter.links(), links);
    }
    EXPECT_GT(links, 3U);
  }
}

TEST(Scalable, BatchesAcrossGrowthsGiveTheBitsAndAnswersOfSingleCalls) {
  for (const std::uint64_t first : {1U, 3U, 64U, 1000U}) {
    for (const std::uint64_t growth : {1U, 2U, 5U}) {
      digest_source source(first * 10 + growth);
      // A thousand links take long to size.
      auto digests = source.take(growth == 1 ? first == 1000 ? 4000 : 40 * first : 3000);
      // Equal keys in one batch, next to each other and apart.
      for (std::size_t i = 0; i + 20 < digests.size(); i += 17) digests[i + 1] = digests[i];
      for (std::size_t i = 0; i + 150 < digests.size(); i += 61) digests[i + 140] = digests[i];
      auto one_by_one = make_scalable({.keys = first, .fpr = 0.02, .growth = growth});
      auto batched = make_scalable({.keys = first, .fpr = 0.02, .growth = growth});
      std::uint64_t inserted = 0;
      for (const std::uint64_t digest : digests) {
        inserted += one_by_one.insert(digest) == insert_result::inserted ? 1U : 0U;
      }
      EXPECT_EQ(batched.insert_batch(digests), inserted);
      EXPECT_TRUE(batched == one_by_one);
      EXPECT_EQ(batched.keys().keys, inserted);
      EXPECT_TRUE(batched.keys().exact);
      for (std::size_t i = 0; i < batched.links(); ++i) ASSERT_EQ(batched.link_keys(i), one_by_one.link_keys(i)) << i;

      // All present, half, none: what is found is left out of later links in different ways.
      for (const std::size_t absent : {0U, 1U, 50U, 700U, 1500U, 3000U}) {
        auto queries = source.take(absent);
        queries.insert(queries.end(), digests.begin(), digests.end());
        std::reverse(queries.begin(), queries.begin() + static_cast<std::ptrdiff_t>(queries.size() / 2));
        std::vector<std::uint64_t> mask(mask_words(queries.size()), ~std::uint64_t{0});
        batched.may_contain_batch(queries, mask);
        for (std::size_t i = 0; i < queries.size(); ++i) {
          ASSERT_EQ(mask[i / 64] >> (i % 64) & 1U, batched.may_contain(queries[i]) ? 1U : 0U) << i;
        }
      }
    }
  }
}

TEST(Scalable, AFixedFilterTakesItsCapacityAndRefusesTheNextKey) {
  auto filter = make_scalable({.keys = 1000, .fpr = 0.01, .mode = "fixed"});
  EXPECT_EQ(filter.capacity_keys(), 1000U);
  EXPECT_EQ(filter.link_fpr(0), 0.01);
  digest_source source(1);
  std::vector<std::uint64_t> keys;
  while (filter.keys().keys < 1000) {
    keys.push_back(source());
    ASSERT_NE(filter.insert(keys.back()), insert_result::full);
  }
  const auto before = filter.clone();
  ASSERT_TRUE(before);
  std::uint64_t refused = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t digest = source();
    if (filter.may_contain(digest)) {
      ASSERT_EQ(filter.insert(digest), insert_result::present);
    } else {
      ASSERT_EQ(filter.insert(digest), insert_result::full);
      ++refused;
    }
  }
  EXPECT_GT(refused, 950U);
  EXPECT_TRUE(filter == *before);
  EXPECT_EQ(filter.keys().keys, 1000U);
  for (const std::uint64_t key : keys) ASSERT_EQ(filter.insert(key), insert_result::present);
}

TEST(Scalable, ABatchIntoAFixedFilterStopsAtTheFirstKeyThatDoesNotFit) {
  digest_source source(2);
  const auto digests = source.take(3000);
  auto one_by_one = make_scalable({.keys = 1500, .fpr = 0.01, .mode = "fixed"});
  batch_outcome expected;
  for (const std::uint64_t digest : digests) {
    const insert_result outcome = one_by_one.insert(digest);
    if (outcome == insert_result::full) break;
    ++expected.taken;
    expected.inserted += outcome == insert_result::inserted ? 1U : 0U;
  }
  auto batched = make_scalable({.keys = 1500, .fpr = 0.01, .mode = "fixed"});
  const batch_outcome outcome = batched.insert_until_full(std::span<const std::uint64_t>(digests));
  EXPECT_EQ(outcome.taken, expected.taken);
  EXPECT_EQ(outcome.inserted, 1500U);
  EXPECT_TRUE(batched == one_by_one);
  // What it has is taken even when it is full.
  const auto again = batched.insert_until_full(std::span<const std::uint64_t>(digests).first(expected.taken));
  EXPECT_EQ(again.taken, expected.taken);
  EXPECT_EQ(again.inserted, 0U);
  EXPECT_EQ(batched.insert_batch(digests), 0U);

  auto any = any_filter::make("scalable", {.keys = 1500, .fpr = 0.01, .mode = "fixed"}, hasher::of(xxh3{}).spec());
  ASSERT_TRUE(any);
  const auto refused = any->insert(std::span<const std::uint64_t>(digests));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::full);
  EXPECT_EQ(refused.error().number[0], 1500U);
  EXPECT_EQ(refused.error().number[1], expected.taken);
}

TEST(Scalable, MemoryRefusedAtAGrowthLeavesItAsItWasAndCanComeBack) {
  // The second link needs one allocation, the third a longer list of links, too.
  for (const std::uint64_t failing : {0U, 1U, 2U, 3U}) {
    failing_memory memory;
    auto filter = make_scalable({.keys = 50, .fpr = 0.01, .memory = &memory.hooks});
    digest_source source(4);
    memory.fail_at = memory.requests + failing;
    std::uint64_t refused = 0;
    std::vector<std::uint64_t> taken;
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t digest = source();
      const auto before =
          refused == 0 && filter.link_keys(filter.links() - 1) == filter.link_capacity(filter.links() - 1)
              ? std::optional(filter.links())
              : std::nullopt;
      const insert_result outcome = filter.insert(digest);
      if (outcome == insert_result::full) {
        ++refused;
        ASSERT_TRUE(before);
        ASSERT_EQ(filter.links(), *before);
        ASSERT_FALSE(filter.may_contain(digest));
        ASSERT_EQ(filter.insert(digest), insert_result::inserted);  // only one request fails
        ASSERT_EQ(filter.links(), *before + 1);
      }
      taken.push_back(digest);
    }
    EXPECT_EQ(refused, 1U) << failing;
    for (const std::uint64_t digest : taken) ASSERT_TRUE(filter.may_contain(digest));
  }
}

TEST(Scalable, ABatchStopsWhereMemoryIsRefused) {
  failing_memory memory;
  auto filter = make_scalable({.keys = 100, .fpr = 0.01, .memory = &memory.hooks});
  digest_source source(5);
  const auto digests = source.take(5000);
  memory.fail_at = memory.requests + 2;
  const batch_outcome first = filter.insert_until_full(std::span<const std::uint64_t>(digests));
  ASSERT_LT(first.taken, digests.size());
  EXPECT_EQ(first.inserted, filter.keys().keys);
  for (std::size_t i = 0; i < first.taken; ++i) ASSERT_TRUE(filter.may_contain(digests[i]));
  EXPECT_FALSE(filter.may_contain(digests[first.taken]));
  const auto rest = std::span<const std::uint64_t>(digests).subspan(first.taken);
  EXPECT_EQ(filter.insert_until_full(rest).taken, rest.size());
  auto whole = make_scalable({.keys = 100, .fpr = 0.01});
  whole.insert_batch(digests);
  EXPECT_TRUE(filter == whole);
}

TEST(Scalable, KeysAreExactAndEstimatesFollowThemOverManyLinks) {
  auto filter = make_scalable({.keys = 500, .fpr = 0.01});
  digest_source source(6);
  std::uint64_t inserted = 0;
  for (std::uint64_t size = 1000; size <= 256'000; size *= 2) {
    inserted += filter.insert_batch(source.take(size - (size == 1000 ? 0 : size / 2)));
    EXPECT_EQ(filter.keys().keys, inserted);
    EXPECT_TRUE(filter.keys().exact);
    EXPECT_NEAR(filter.estimated_keys() / static_cast<double>(size), 1.0, 0.01) << size;
    measured total;
    ask_absent(filter, 1'000'000, size, total);
    EXPECT_NEAR(total.rate() / filter.fpr_now(), 1.0, 5 / std::sqrt(1e6 * filter.fpr_now()) + 0.03) << size;
  }
  EXPECT_EQ(filter.links(), 9U);
}

TEST(Scalable, MergesWhereEveryLinkKeepsItsShareAndRefusesElsewhere) {
  const filter_params alike{.keys = 1000, .fpr = 0.01};
  digest_source source(7);
  const auto first = source.take(600);
  const auto second = source.take(600);
  auto a = make_scalable(alike);
  auto b = make_scalable(alike);
  a.insert_batch(first);
  b.insert_batch(second);
  const auto before = a.clone();
  ASSERT_TRUE(before);
  // 1200 keys in a link for 1000.
  const auto refused = a.merge(b);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::merge_breaks_promise);
  EXPECT_TRUE(a == *before);
  EXPECT_EQ(a.keys().keys, before->keys().keys);
  // The same with keys that both have fits.
  auto c = make_scalable(alike);
  c.insert_batch(first);
  ASSERT_TRUE(a.merge(c));
  EXPECT_TRUE(a == *before);
  EXPECT_FALSE(a.keys().exact);
  // Any rate: both sets are in it, and the rate is told.
  ASSERT_TRUE(a.merge(b, merge_rate::any));
  for (const std::uint64_t digest : first) ASSERT_TRUE(a.may_contain(digest));
  for (const std::uint64_t digest : second) ASSERT_TRUE(a.may_contain(digest));
  EXPECT_NEAR(static_cast<double>(a.keys().keys), 1200, 40);
  // A link that is more than full takes no more keys: the next goes to a new one.
  EXPECT_EQ(a.insert(source()), insert_result::inserted);
  EXPECT_EQ(a.links(), 2U);
}

TEST(Scalable, MergesAChainIntoAnEmptyOneAndIsThenEqualToIt) {
  auto large = make_scalable({.keys = 100, .fpr = 0.01});
  digest_source source(8);
  large.insert_batch(source.take(5000));
  auto empty = make_scalable({.keys = 100, .fpr = 0.01});
  ASSERT_TRUE(empty.merge(large));
  EXPECT_TRUE(empty == large);
  EXPECT_EQ(empty.keys().keys, large.keys().keys);
}

TEST(Scalable, FiltersThatAreNotMadeAlikeAreNotMerged) {
  const filter_params usual{.keys = 1000, .fpr = 0.01};
  auto filter = make_scalable(usual);
  const auto refuses = [&](const filter_params& params) {
    const auto merged = filter.merge(make_scalable(params), merge_rate::any);
    return !merged && merged.error().code == errc::mismatch;
  };
  EXPECT_FALSE(refuses(usual));
  EXPECT_TRUE(refuses({.keys = 1001, .fpr = 0.01}));
  EXPECT_TRUE(refuses({.keys = 1000, .fpr = 0.02}));
  EXPECT_TRUE(refuses({.keys = 1000, .fpr = 0.01, .growth = 3}));
  EXPECT_TRUE(refuses({.keys = 1000, .fpr = 0.01, .mode = "fixed"}));
  EXPECT_TRUE(refuses({.keys = 1000, .fpr = 0.01, .layout = "redis"}));
  EXPECT_FALSE(filter.merge(filter));
}

TEST(Scalable, ParametersThatItCannotHaveAreErrors) {
  const auto code = [](const filter_params& params) {
    const auto made = scalable::make(params);
    return made ? errc::count_ : made.error().code;
  };
  EXPECT_EQ(code({.keys = 1000, .fpr = 0.01, .growth = 0}), errc::bad_growth);
  EXPECT_EQ(code({.keys = 1000, .fpr = 0.01, .growth = 32'769}), errc::bad_growth);
  EXPECT_EQ(code({.keys = 1000, .fpr = 0.01, .growth = 32'768}), errc::count_);
  EXPECT_EQ(code({.keys = 1000, .fpr = 0.01, .layout = "split32"}), errc::unsupported);
  EXPECT_EQ(code({.keys = 1000, .fpr = 0.01, .mode = "set"}), errc::unsupported);
  EXPECT_EQ(code({.keys = 1000, .fpr = 0.01, .hashes = 7}), errc::unsupported);
  EXPECT_EQ(code({.keys = 1000, .bits = 10'000, .layout = "redis"}), errc::unsupported);
  EXPECT_EQ(code({.keys = 0, .fpr = 0.01}), errc::bad_keys);
  EXPECT_EQ(code({.keys = 0, .fpr = 0.01, .layout = "redis"}), errc::bad_keys);
  EXPECT_EQ(code({.keys = 1000, .fpr = 1.0}), errc::bad_fpr);
  EXPECT_EQ(code({.keys = 1000, .fpr = 0.0, .layout = "redis"}), errc::bad_fpr);
  // More than any memory: an error, before anything is asked for.
  for (const std::string_view layout : {"split64", "redis"}) {
    EXPECT_EQ(code({.keys = 1'000'000'000'000'000'000, .fpr = 0.01, .layout = layout}), errc::bad_keys) << layout;
    EXPECT_EQ(code({.keys = max_keys, .fpr = 1e-9, .layout = layout}), errc::size_overflow) << layout;
  }
}

TEST(Scalable, SizesByMemoryOrByRate) {
  const auto by_memory = scalable::plan({.fpr = 0.01, .memory_bytes = 1 << 20});
  ASSERT_TRUE(by_memory);
  EXPECT_LE(by_memory->memory_bytes, 1U << 20U);
  EXPECT_LE(by_memory->fpr, 0.01 * blocked_links::share(0));
  const auto by_keys = scalable::plan({.keys = by_memory->keys, .fpr = 0.01});
  ASSERT_TRUE(by_keys);
  EXPECT_NEAR(static_cast<double>(by_keys->memory_bytes) / static_cast<double>(by_memory->memory_bytes), 1.0, 0.01);
  const auto made = make_scalable({.keys = 1000, .bits_per_key = 16.0});
  EXPECT_NEAR(made.link_fpr(0) / made.promised_fpr(), blocked_links::share(0), 1e-9);
  EXPECT_EQ(made.links(), 1U);
}

// The payload of a chain of several links, and its shape.
struct stored_chain {
  stored_shape shape;
  aligned_buffer bytes;
};
stored_chain stored(const scalable& filter) {
  stored_chain out{filter.shape(), std::move(*aligned_buffer::make(filter.serialized_bytes(), "a test"))};
  EXPECT_TRUE(filter.serialize(out.bytes.bytes()));
  return out;
}

TEST(Scalable, AViewAnswersFromTheBytesThatItSaysItTouches) {
  auto filter = make_scalable({.keys = 60, .fpr = 0.01});
  digest_source source(9);
  const auto keys = source.take(4000);
  filter.insert_batch(keys);
  const stored_chain whole = stored(filter);
  const auto view = scalable::view(whole.shape, whole.bytes.bytes());
  ASSERT_TRUE(view) << describe(view.error()).c_str();
  EXPECT_TRUE(*view == filter);
  EXPECT_EQ(view->keys().keys, filter.keys().keys);
  auto queries = source.take(300);
  queries.insert(queries.end(), keys.begin(), keys.begin() + 300);
  for (const std::uint64_t digest : queries) {
    auto part = aligned_buffer::make(whole.bytes.size_bytes(), "a test");
    ASSERT_TRUE(part);
    view->for_each_touched(digest, [&](std::uint64_t first, std::uint64_t size) {
      std::memcpy(part->data() + first, whole.bytes.data() + first, size);
    });
    const auto partial = scalable::view(whole.shape, part->bytes());
    ASSERT_TRUE(partial);
    ASSERT_EQ(partial->may_contain(digest), filter.may_contain(digest));
  }
}

TEST(Scalable, AFilterThatWasLoadedGrowsOnAsTheOneThatWasSaved) {
  auto filter = make_scalable({.keys = 60, .fpr = 0.01, .growth = 3});
  digest_source source(10);
  filter.insert_batch(source.take(1000));
  stored_chain bytes = stored(filter);
  auto loaded = scalable::adopt(bytes.shape, std::move(bytes.bytes));
  ASSERT_TRUE(loaded) << describe(loaded.error()).c_str();
  const auto more = source.take(5000);
  filter.insert_batch(more);
  loaded->insert_batch(more);
  EXPECT_TRUE(*loaded == filter);
  EXPECT_GT(loaded->links(), 4U);
  scalable moved = std::move(*loaded);
  EXPECT_TRUE(moved == filter);
  moved.clear();
  EXPECT_EQ(moved.links(), 1U);
  EXPECT_EQ(moved.keys().keys, 0U);
  EXPECT_FALSE(moved.may_contain(more[0]));
}

TEST(Scalable, ShapesAndTablesThatDoNotFitAreRefused) {
  auto filter = make_scalable({.keys = 60, .fpr = 0.01});
  digest_source source(11);
  filter.insert_batch(source.take(1000));
  const stored_chain good = stored(filter);
  ASSERT_TRUE(scalable::view(good.shape, good.bytes.bytes()));
  const auto refuses = [&](const std::function<void(stored_shape&)>& change) {
    stored_shape shape = good.shape;
    change(shape);
    const auto view = scalable::view(shape, good.bytes.bytes());
    return !view && (view.error().code == errc::bad_field || view.error().code == errc::truncated);
  };
  for (std::size_t field = 0; field < 8; ++field) {
    const std::uint64_t is = good.shape.field[field];
    for (const std::uint64_t value : {is + 2, is + (std::uint64_t{1} << 40U), ~std::uint64_t{0}, ~std::uint64_t{63}}) {
      if (field == 2 && value == is + 2) continue;  // another growth factor is as good as long as links fit
      if (field == 3 && value <= max_keys) continue;
      EXPECT_TRUE(refuses([&](stored_shape& shape) { shape.field[field] = value; })) << field << " " << value;
    }
  }
  EXPECT_TRUE(refuses([](stored_shape& shape) { shape.field[0] = 1; }));
  EXPECT_TRUE(refuses([](stored_shape& shape) { shape.field[1] = 1; }));
  EXPECT_TRUE(refuses([](stored_shape& shape) { shape.field[2] = 0; }));
  EXPECT_TRUE(refuses([](stored_shape& shape) { shape.field[3] = 59; }));  // the first link holds 60
  EXPECT_TRUE(refuses([](stored_shape& shape) { shape.field[3] = max_keys; }));
  EXPECT_TRUE(refuses([](stored_shape& shape) { shape.field[4] = 0; }));
  EXPECT_TRUE(refuses([](stored_shape& shape) { shape.field[4] = 1024; }));
  EXPECT_TRUE(refuses([](stored_shape& shape) { shape.field[5] -= 64; }));
  EXPECT_TRUE(refuses([](stored_shape& shape) { shape.keys += 1; }));
  EXPECT_TRUE(refuses([](stored_shape& shape) { shape.digest_bits = 128; }));
  EXPECT_TRUE(refuses([](stored_shape& shape) { shape.fpr = 0; }));

  const auto refuses_table = [&](std::size_t at, std::uint64_t value) {
    auto bytes = good.bytes.clone("a test");
    EXPECT_TRUE(bytes);
    store_le(bytes->data() + at, value);
    return !scalable::view(good.shape, bytes->bytes());
  };
  for (std::size_t link = 0; link < filter.links(); ++link) {
    EXPECT_TRUE(refuses_table(link * 32, filter.link_capacity(link) + 1));
    EXPECT_TRUE(refuses_table(link * 32, ~std::uint64_t{0}));
    for (const std::uint64_t blocks : {std::uint64_t{0}, filter.link_bytes(link).size() / 64 + 1, max_filter_bits / 512,
                                       ~std::uint64_t{0}, std::uint64_t{1} << 58U}) {
      EXPECT_TRUE(refuses_table(link * 32 + 8, blocks)) << link << " " << blocks;
    }
    EXPECT_TRUE(refuses_table(link * 32 + 16, 0));
    EXPECT_TRUE(refuses_table(link * 32 + 16, 17));
    EXPECT_TRUE(refuses_table(link * 32 + 24, 1));
  }
}

TEST(Scalable, EndsAtTheLargestNumberOfLinks) {
  constexpr std::size_t most = chain<redis_links>::max_links;
  auto filter = make_scalable({.keys = 1, .fpr = 0.5, .layout = "redis", .growth = 1});
  digest_source source(12);
  while (filter.links() < most) ASSERT_NE(filter.insert(source()), insert_result::full);
  std::uint64_t digest = source();
  while (filter.may_contain(digest)) digest = source();
  EXPECT_EQ(filter.insert(digest), insert_result::full);
  EXPECT_FALSE(filter.may_contain(digest));
  EXPECT_EQ(filter.links(), most);
  const stored_chain bytes = stored(filter);
  const auto view = scalable::view(bytes.shape, bytes.bytes.bytes());
  ASSERT_TRUE(view) << describe(view.error()).c_str();
  EXPECT_TRUE(*view == filter);
}

// Long: a chain of 18 links from a first capacity of 100, 26 million keys.
TEST(NightlyScalable, TheTotalRateIsAtMostThePromiseAfter17GrowthsBy2) {
  expect_promise_after(17, {.keys = 100, .fpr = 0.01}, 1, 0.3);  // the first links have bits to spare
}

TEST(Scalable, LayoutRedisKeepsItsRateToAFewPercentAfter10Growths) {
  auto filter = make_scalable({.keys = 200, .fpr = 0.01, .layout = "redis"});
  const digest_source keys(13);
  const auto wide = [](std::uint64_t digest) { return digest128{digest, mix64(digest + 1)}; };
  std::uint64_t next = 0;
  while (filter.links() < 11 || filter.link_keys(10) < filter.link_capacity(10)) filter.insert(wide(keys.at(next++)));
  for (std::uint64_t i = 0; i < next; ++i) ASSERT_TRUE(filter.may_contain(wide(keys.at(i))));
  measured total;
  ask_absent<digest128>(filter, 2'000'000, 14, total, wide);
  EXPECT_LE(total.upper(), 1.1 * 0.01);
  EXPECT_GE(total.rate(), 0.8 * 0.01);
}

}  // namespace

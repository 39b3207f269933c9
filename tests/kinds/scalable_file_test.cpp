// Kind scalable: its merges, parameters and sizes, and its bytes.
#include <functional>

#include "kinds/scalable_support.hpp"
#include "support/memory.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;

TEST(Scalable, MergesWhereEveryLinkKeepsItsShareAndRefusesElsewhere) {
  const filter_params alike{.keys = 1000, .fpr = 0.01};
  digest_source source(7);
  const auto first = source.take(600);
  const auto second = source.take(600);
  auto a = make_scalable(alike);
  auto b = make_scalable(alike);
  a.add_batch(first);
  b.add_batch(second);
  const auto before = a.clone();
  ASSERT_TRUE(before);
  // 1200 keys in a sub-filter for 1000.
  const auto refused = a.merge(b);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::merge_exceeds_target);
  EXPECT_TRUE(a == *before);
  EXPECT_EQ(a.keys().keys, before->keys().keys);
  // The same with keys that both have fits.
  auto c = make_scalable(alike);
  c.add_batch(first);
  ASSERT_TRUE(a.merge(c));
  EXPECT_TRUE(a == *before);
  EXPECT_FALSE(a.keys().exact);
  // Any FPR: both sets are in it, and the FPR is reported.
  ASSERT_TRUE(a.merge(b, merge_fpr::any));
  for (const std::uint64_t digest : first) ASSERT_TRUE(a.may_contain(digest));
  for (const std::uint64_t digest : second) ASSERT_TRUE(a.may_contain(digest));
  EXPECT_NEAR(static_cast<double>(a.keys().keys), 1200, 40);
  // A sub-filter that is more than full takes no more keys: the next goes to a new one.
  EXPECT_EQ(a.insert(source()), insert_result::inserted);
  EXPECT_EQ(a.sub_filters(), 2U);
}

TEST(Scalable, MergesAChainIntoAnEmptyOneAndIsThenEqualToIt) {
  auto large = make_scalable({.keys = 100, .fpr = 0.01});
  digest_source source(8);
  large.add_batch(source.take(5000));
  auto empty = make_scalable({.keys = 100, .fpr = 0.01});
  ASSERT_TRUE(empty.merge(large));
  EXPECT_TRUE(empty == large);
  EXPECT_EQ(empty.keys().keys, large.keys().keys);
}

TEST(Scalable, FiltersThatAreNotMadeAlikeAreNotMerged) {
  const filter_params usual{.keys = 1000, .fpr = 0.01};
  auto filter = make_scalable(usual);
  const auto refuses = [&](const filter_params& params) {
    const auto merged = filter.merge(make_scalable(params), merge_fpr::any);
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
  EXPECT_EQ(code({.keys = 1000, .fpr = 0.01, .layout = "split32"}), errc::unknown_layout);
  EXPECT_EQ(code({.keys = 1000, .fpr = 0.01, .mode = "set"}), errc::unknown_mode);
  EXPECT_EQ(code({.keys = 1000, .fpr = 0.01, .hashes = 7}), errc::unsupported);
  EXPECT_EQ(code({.keys = 1000, .bits = 10'000, .layout = "redis"}), errc::unsupported);
  EXPECT_EQ(code({.keys = 0, .fpr = 0.01}), errc::bad_keys);
  EXPECT_EQ(code({.keys = 0, .fpr = 0.01, .layout = "redis"}), errc::bad_keys);
  EXPECT_EQ(code({.keys = 1000, .fpr = 1.0}), errc::bad_fpr);
  EXPECT_EQ(code({.keys = 1000, .fpr = 0.0, .layout = "redis"}), errc::bad_fpr);
  // More than any memory: an error, before anything is requested.
  for (const std::string_view layout : {"split64", "redis"}) {
    EXPECT_EQ(code({.keys = 1'000'000'000'000'000'000, .fpr = 0.01, .layout = layout}), errc::bad_keys) << layout;
    EXPECT_EQ(code({.keys = max_keys, .fpr = 1e-9, .layout = layout}), errc::size_overflow) << layout;
  }
}

TEST(Scalable, SizesByMemoryOrByRate) {
  const auto by_memory = scalable::plan({.fpr = 0.01, .memory_bytes = 1 << 20});
  ASSERT_TRUE(by_memory);
  EXPECT_LE(by_memory->memory_bytes, 1U << 20U);
  EXPECT_LE(by_memory->fpr, 0.01 * blocked_sub_filters::share(0));
  const auto by_keys = scalable::plan({.keys = by_memory->keys, .fpr = 0.01});
  ASSERT_TRUE(by_keys);
  EXPECT_NEAR(static_cast<double>(by_keys->memory_bytes) / static_cast<double>(by_memory->memory_bytes), 1.0, 0.01);
  const auto made = make_scalable({.keys = 1000, .bits_per_key = 16.0});
  EXPECT_NEAR(made.sub_filter_fpr(0) / made.target_fpr(), blocked_sub_filters::share(0), 1e-9);
  EXPECT_EQ(made.sub_filters(), 1U);
}

// The payload of a chain of several sub-filters, and its shape.
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
  filter.add_batch(keys);
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
  filter.add_batch(source.take(1000));
  stored_chain bytes = stored(filter);
  auto loaded = scalable::adopt(bytes.shape, std::move(bytes.bytes));
  ASSERT_TRUE(loaded) << describe(loaded.error()).c_str();
  const auto more = source.take(5000);
  filter.add_batch(more);
  loaded->add_batch(more);
  EXPECT_TRUE(*loaded == filter);
  EXPECT_GT(loaded->sub_filters(), 4U);
  scalable moved = std::move(*loaded);
  EXPECT_TRUE(moved == filter);
  moved.clear();
  EXPECT_EQ(moved.sub_filters(), 1U);
  EXPECT_EQ(moved.keys().keys, 0U);
  EXPECT_FALSE(moved.may_contain(more[0]));
}

TEST(Scalable, ShapesAndTablesThatDoNotFitAreRefused) {
  auto filter = make_scalable({.keys = 60, .fpr = 0.01});
  digest_source source(11);
  filter.add_batch(source.take(1000));
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
      if (field == 2 && value == is + 2) continue;  // another growth factor is as good as long as sub-filters fit
      if (field == 3 && value <= max_keys) continue;
      EXPECT_TRUE(refuses([&](stored_shape& shape) { shape.field[field] = value; })) << field << " " << value;
    }
  }
  EXPECT_TRUE(refuses([](stored_shape& shape) { shape.field[0] = 1; }));
  EXPECT_TRUE(refuses([](stored_shape& shape) { shape.field[1] = 1; }));
  EXPECT_TRUE(refuses([](stored_shape& shape) { shape.field[2] = 0; }));
  EXPECT_TRUE(refuses([](stored_shape& shape) { shape.field[3] = 59; }));  // the first sub-filter holds 60
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
  for (std::size_t sub_filter = 0; sub_filter < filter.sub_filters(); ++sub_filter) {
    EXPECT_TRUE(refuses_table(sub_filter * 32, filter.sub_filter_capacity(sub_filter) + 1));
    EXPECT_TRUE(refuses_table(sub_filter * 32, ~std::uint64_t{0}));
    for (const std::uint64_t blocks :
         {std::uint64_t{0}, std::uint64_t{filter.sub_filter_bytes(sub_filter).size() / 64 + 1}, max_filter_bits / 512,
          ~std::uint64_t{0}, std::uint64_t{1} << 58U}) {
      EXPECT_TRUE(refuses_table(sub_filter * 32 + 8, blocks)) << sub_filter << " " << blocks;
    }
    EXPECT_TRUE(refuses_table(sub_filter * 32 + 16, 0));
    EXPECT_TRUE(refuses_table(sub_filter * 32 + 16, 17));
    EXPECT_TRUE(refuses_table(sub_filter * 32 + 24, 1));
  }
}

TEST(Scalable, EndsAtTheLargestNumberOfLinks) {
  constexpr std::size_t most = chain<redis_sub_filters>::max_sub_filters;
  auto filter = make_scalable({.keys = 1, .fpr = 0.5, .layout = "redis", .growth = 1});
  digest_source source(12);
  while (filter.sub_filters() < most) ASSERT_NE(filter.insert(source()), insert_result::full);
  std::uint64_t digest = source();
  while (filter.may_contain(digest)) digest = source();
  EXPECT_EQ(filter.insert(digest), insert_result::full);
  EXPECT_FALSE(filter.may_contain(digest));
  EXPECT_EQ(filter.sub_filters(), most);
  const stored_chain bytes = stored(filter);
  const auto view = scalable::view(bytes.shape, bytes.bytes.bytes());
  ASSERT_TRUE(view) << describe(view.error()).c_str();
  EXPECT_TRUE(*view == filter);
}

TEST(Scalable, ACopyOfALoadedFilterComesFromTheSameHooks) {
  for (const char* layout : {"split64", "redis"}) {
    auto filter = make_scalable({.keys = 100, .fpr = 0.01, .layout = layout});
    digest_source source(9);
    filter.add_batch(source.take(1000));
    counting_memory memory;
    auto payload = aligned_buffer::make(filter.serialized_bytes(), "a test", &memory.hooks);
    ASSERT_TRUE(payload && filter.serialize(payload->bytes()));
    const auto loaded = scalable::adopt(filter.shape(), std::move(*payload));
    ASSERT_TRUE(loaded);
    const std::uint64_t before = memory.live_bytes;
    const auto copy = loaded->clone();
    ASSERT_TRUE(copy);
    EXPECT_TRUE(*copy == filter);
    EXPECT_GE(memory.live_bytes, before + filter.memory_bytes());
  }
}

}  // namespace

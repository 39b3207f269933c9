// Kind fuse: its rates, its sizes, and what of parameters and files it refuses.
#include <bloomery/core/binomial.hpp>
#include <cmath>
#include <cstring>

#include "kinds/fuse_support.hpp"

namespace bloomery::fuse_testing {
namespace {

// ---- rates ----

// Both bounds hold with a probability of 1 - 1e-6 each where the rate is what is promised: 40 of them, 4e-5 in all.
TEST(Fuse, TheRateIsTwoToTheMinusWidthWithAnyNumberOfKeys) {
  for (const char* layout : layouts) {
    for (const std::size_t count : {1U, 3U, 50U, 3000U, 200'000U}) {
      const fuse filter = build(layout, random_digests(count, count));
      const double promised = std::ldexp(1.0, -static_cast<int>(filter.geometry().cell_bits));
      EXPECT_EQ(filter.target_fpr(), promised);
      EXPECT_EQ(filter.fpr_now(), promised);
      const std::uint64_t queries = filter.geometry().cell_bits == 8 ? 1'000'000 : 4'000'000;
      const std::uint64_t positives = positives_of(filter, count, queries);
      EXPECT_GT(binomial::upper_bound(positives, queries, 1e-6), promised) << layout << " " << count;
      EXPECT_LT(binomial::lower_bound(positives, queries, 1e-6), promised) << layout << " " << count;
    }
  }
}

TEST(Fuse, AnEmptyFilterHoldsNothing) {
  for (const char* layout : layouts) {
    const fuse filter = build(layout, {});
    EXPECT_EQ(positives_of(filter, 1, 100'000), 0U) << layout;
    for (const std::uint64_t digest : random_digests(1, 1000)) ASSERT_FALSE(may_contain(filter, digest));
    EXPECT_EQ(filter.keys().keys, 0U);
    EXPECT_EQ(filter.fpr_now(), 0.0);
    EXPECT_EQ(filter.fill(), 0.0);
  }
}

// ---- sizes ----

TEST(Fuse, APlanIsWhatIsBuilt) {
  for (const char* layout : layouts) {
    for (const std::size_t count : {1U, 100U, 5000U, 70'000U}) {
      const fuse filter = build(layout, random_digests(count, count));
      const auto plan = fuse::plan({.keys = count, .fpr = 0.5}, layout);
      ASSERT_TRUE(plan);
      EXPECT_EQ(plan->keys, count);
      EXPECT_EQ(plan->fpr, filter.target_fpr());
      EXPECT_EQ(plan->bits, filter.geometry().cells() * filter.geometry().cell_bits);
      EXPECT_EQ(plan->lines, filter.geometry().wise);
      EXPECT_EQ(plan->hashes, 0U);
      EXPECT_TRUE(is_as_planned(filter, layout)) << layout << " " << count;
      EXPECT_EQ(filter.facts()[0].value.text(), layout);
    }
  }
}

TEST(Fuse, TheWidthFollowsFromTheRate) {
  struct expectation {
    double asked;
    double promised;
  };
  for (const auto& [asked, promised] : {expectation{0.5, 0x1p-8},
                                        {0.01, 0x1p-8},
                                        {0x1p-8, 0x1p-8},
                                        {0.0039, 0x1p-16},
                                        {0x1p-16, 0x1p-16},
                                        {1e-5, 0x1p-32},
                                        {0x1p-32, 0x1p-32}}) {
    const auto plan = fuse::plan({.keys = 100'000, .fpr = asked});
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->fpr, promised) << asked;
    EXPECT_EQ(build({.fpr = asked}, random_digests(1, 1000)).target_fpr(), promised) << asked;
  }
  EXPECT_EQ(fuse::plan({.keys = 1000, .fpr = 1e-10}).error().code, errc::cannot_reach_fpr);
  EXPECT_EQ(fuse::plan({.keys = 1000, .fpr = 0.001}, "wise3:8").error().code, errc::unsupported);
}

TEST(Fuse, CellsAKeyAreAsFewAsDocumented) {
  struct expectation {
    const char* layout;
    std::uint64_t keys;
    double cells;
  };
  for (const auto& [layout, keys, cells] : {expectation{"wise3:8", 1000, 1.54},
                                            {"wise3:8", 10'000, 1.28},
                                            {"wise3:8", 100'000, 1.19},
                                            {"wise3:8", 1'000'000, 1.14},
                                            {"wise3:8", 100'000'000, 1.13},
                                            {"wise4:8", 1000, 1.5},
                                            {"wise4:8", 100'000, 1.13},
                                            {"wise4:8", 100'000'000, 1.08}}) {
    const auto plan = fuse::plan({.keys = keys, .fpr = 0.5}, layout);
    ASSERT_TRUE(plan);
    EXPECT_LE(plan->bits_per_key / 8.0, cells) << layout << " " << keys;
  }
}

TEST(Fuse, ASizeIsNotPassed) {
  const auto digests = random_digests(1, 10'000);
  for (const std::uint64_t bytes : {13'000U, 20'000U, 26'000U, 60'000U}) {
    const auto plan = fuse::plan({.keys = 10'000, .memory_bytes = bytes});
    ASSERT_TRUE(plan);
    EXPECT_LE(plan->memory_bytes, bytes);
    const fuse filter = build({.memory_bytes = bytes}, digests);
    EXPECT_LE(filter.memory_bytes(), bytes);
    EXPECT_EQ(filter.target_fpr(), plan->fpr);
  }
  EXPECT_EQ(fuse::plan({.keys = 10'000, .memory_bytes = 60'000})->fpr, 0x1p-32);
  EXPECT_EQ(fuse::plan({.keys = 10'000, .bits_per_key = 11.0})->fpr, 0x1p-8);
  EXPECT_EQ(build({.keys = 10'000, .bits_per_key = 21.0}, digests).target_fpr(), 0x1p-16);
  const auto refused = try_build({.memory_bytes = 5000}, digests);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::bad_memory);
  EXPECT_FALSE(try_build({.fpr = 0.01, .memory_bytes = 5000}, digests));
  // The number of keys that a size holds.
  const auto room = fuse::plan({.fpr = 0.01, .memory_bytes = 1'000'000});
  ASSERT_TRUE(room);
  EXPECT_GT(room->keys, 850'000U);
  EXPECT_LE(room->memory_bytes, 1'000'000U);
  EXPECT_GT(fuse::plan({.keys = room->keys + 20'000, .fpr = 0.01})->memory_bytes, 1'000'000U);
}

TEST(Fuse, WhatCannotBeIsRefusedWithAReason) {
  const auto code = [](const size_request& request, std::string_view layout = {}) {
    const auto plan = fuse::plan(request, layout);
    return plan ? errc::count_ : plan.error().code;
  };
  EXPECT_EQ(code({.keys = 1000, .fpr = 0.01, .hashes = 3}), errc::kind_has_no_hashes);
  EXPECT_EQ(code({.keys = 1000, .fpr = 0.01}, "wise5"), errc::unknown_layout);
  EXPECT_EQ(code({.keys = 1000, .fpr = 0.01}, "wise3:08"), errc::unknown_layout);
  EXPECT_EQ(code({.keys = 1000, .fpr = 0.01}, "wise3:7"), errc::unknown_layout);
  EXPECT_EQ(code({.keys = 1000}), errc::missing_parameter);
  EXPECT_EQ(code({.keys = 1000, .memory_bytes = 100}), errc::bad_memory);
  EXPECT_EQ(code({.keys = std::uint64_t{1} << 50U, .fpr = 0.001}), errc::not_enough_hash_bits);
  EXPECT_EQ(code({.keys = std::uint64_t{1} << 40U, .fpr = 0.001}), errc::count_);
  const std::vector<std::uint64_t> digests = {1, 2, 3};
  EXPECT_EQ(try_build({}, digests).error().code, errc::missing_parameter);
  EXPECT_EQ(try_build({.keys = 3, .fpr = 0.01, .memory_bytes = 100}, digests).error().code, errc::too_many_parameters);
  EXPECT_TRUE(try_build({.keys = 1, .fpr = 0.01}, digests)) << "what was expected is no limit";
}

// ---- files ----

aligned_buffer copy_of(std::span<const std::byte> bytes) {
  auto copy = aligned_buffer::make(bytes.size(), "a copy");
  if (!copy) std::abort();
  if (!bytes.empty()) std::memcpy(copy->data(), bytes.data(), bytes.size());
  return std::move(*copy);
}

TEST(Fuse, ItIsTheSameFromItsShapeAndBytes) {
  for (const char* layout : layouts) {
    for (const std::size_t count : {0U, 1U, 5000U}) {
      const fuse filter = build(layout, random_digests(1, count));
      EXPECT_EQ(fuse::payload_bytes(filter.shape()).value_or(0), filter.payload().size());
      const auto adopted = fuse::adopt(filter.shape(), copy_of(filter.payload()));
      const auto view = fuse::view(filter.shape(), filter.payload());
      const auto clone = filter.clone();
      ASSERT_TRUE(adopted && view && clone);
      EXPECT_TRUE(*adopted == filter && *view == filter && *clone == filter) << layout << " " << count;
      for (const std::uint64_t digest : random_digests(1, 6000)) {
        ASSERT_EQ(may_contain(*adopted, digest), may_contain(filter, digest));
        ASSERT_EQ(may_contain(*view, digest), may_contain(filter, digest));
      }
    }
  }
  EXPECT_FALSE(build("wise3:8", random_digests(1, 100)) == build("wise3:8", random_digests(2, 100)));
  EXPECT_FALSE(build("wise3:8", random_digests(1, 100)) == build("wise4:8", random_digests(1, 100)));
}

TEST(Fuse, ShapesThatNoFilterHasAreRefused) {
  const fuse filter = build("wise3:8", random_digests(1, 1000));
  const stored_shape good = filter.shape();
  ASSERT_TRUE(fuse::payload_bytes(good));
  const auto refused = [&](auto&& change) {
    stored_shape shape = good;
    change(shape);
    const auto size = fuse::payload_bytes(shape);
    return !size && size.error().code == errc::bad_field;
  };
  const std::uint64_t huge = ~std::uint64_t{0};
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1} << 31U, std::uint64_t{1} << 62U, huge}) {
    EXPECT_TRUE(refused([&](stored_shape& shape) { shape.field[1] = value; })) << "segments " << value;
  }
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{21}, std::uint64_t{64}, huge}) {
    EXPECT_TRUE(refused([&](stored_shape& shape) { shape.field[2] = value; })) << "segment bits " << value;
  }
  for (const std::uint64_t value : {std::uint64_t{33}, std::uint64_t{64}, std::uint64_t{1} << 32U, huge}) {
    EXPECT_TRUE(refused([&](stored_shape& shape) { shape.field[3] = value; })) << "shard bits " << value;
  }
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{5}, std::uint64_t{1} << 32U}) {
    EXPECT_TRUE(refused([&](stored_shape& shape) { shape.field[4] = value; })) << "wise " << value;
  }
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{24}, std::uint64_t{64}, huge}) {
    EXPECT_TRUE(refused([&](stored_shape& shape) { shape.field[5] = value; })) << "cell bits " << value;
  }
  for (const std::size_t unused : {6U, 7U}) {
    EXPECT_TRUE(refused([&](stored_shape& shape) { shape.field[unused] = 1; }));
  }
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.keys = shape.capacity_keys = 1 << 20U; }));
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.capacity_keys += 1; }));
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.fpr = 0.01; }));
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.keys_exact = false; }));
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.digest_bits = 128; }));
  EXPECT_FALSE(refused([](stored_shape& shape) { shape.field[0] = 12345; })) << "any seed will do";
  EXPECT_EQ(fuse::view(good, filter.payload().first(filter.payload().size() - 8)).error().code, errc::truncated);
  // A byte behind the last cell.
  const fuse small = build("wise3:8", {1});
  ASSERT_NE(small.geometry().cells() % 8, 0U);
  auto bytes = copy_of(small.payload());
  bytes.data()[bytes.size_bytes() - 1] = std::byte{1};
  const auto adopted = fuse::adopt(small.shape(), std::move(bytes));
  ASSERT_FALSE(adopted);
  EXPECT_EQ(adopted.error().code, errc::bad_field);
}

}  // namespace
}  // namespace bloomery::fuse_testing

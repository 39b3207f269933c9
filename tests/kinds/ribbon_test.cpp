// Kind ribbon: its answers, and how it is built.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "kinds/positives.hpp"
#include "kinds/ribbon_support.hpp"

namespace bloomery::ribbon_testing {

digest_list random_digests(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 generator(seed);
  digest_list out(count);
  for (auto& digest : out) digest = generator();
  return out;
}

ribbon built(const filter_params& params, digest_list digests, unsigned threads) {
  auto made = ribbon::build(params, digests, threads);
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}
std::string error_of(const filter_params& params, digest_list digests) {
  const auto made = ribbon::build(params, digests, 1);
  return made ? "" : std::string(describe(made.error()).view());
}

bool holds_all(const ribbon& filter, const digest_list& digests) {
  std::vector<std::uint64_t> mask(mask_words(digests.size()));
  filter.may_contain_batch(digests, mask);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    if ((mask[i / 64] >> (i % 64) & 1U) == 0 || !filter.may_contain(digests[i])) return false;
  }
  return true;
}

std::uint64_t positives_of(const ribbon& filter, std::uint64_t seed, std::uint64_t queries) {
  return kinds_testing::positives_of(filter, seed, queries);
}

}  // namespace bloomery::ribbon_testing

namespace bloomery::ribbon_testing {
namespace {

std::uint64_t word_at(std::span<const std::byte> bytes, std::uint64_t word) {
  std::uint64_t out = 0;
  for (unsigned i = 0; i < 8; ++i) out |= std::to_integer<std::uint64_t>(bytes[word * 8 + i]) << (8 * i);
  return out;
}

// The published answer, slot by slot, from the header's numbers and the bytes.
bool plain_answer(const ribbon& filter, std::uint64_t digest) {
  const auto shape = filter.shape();
  const std::uint64_t columns = shape.field[0];
  const std::uint64_t share = shape.field[1];
  std::vector<std::uint64_t> blocks;
  for (unsigned i = 3; i < 8 && shape.field[i] != 0; ++i) blocks.push_back(shape.field[i]);
  std::vector<std::uint64_t> wide;  // the first block with one more column
  std::vector<std::uint64_t> first_word;
  std::uint64_t word = 0;
  for (const std::uint64_t count : blocks) {
    const auto more = static_cast<std::uint64_t>(std::ceil(std::ldexp(static_cast<double>((count - 1) * share), -32)));
    wide.push_back(share == 0 ? count : count - 1 - more);
    first_word.push_back(word);
    word += count * columns + count - wide.back();
    while (word % 8 != 0) ++word;
  }
  std::uint64_t hash = digest;
  for (std::size_t layer = 0; layer < blocks.size(); ++layer) {
    const std::uint64_t seed = layer + 1 == blocks.size() ? shape.field[2] : 0;
    hash = (hash ^ (hash >> 32U)) * (mix64(seed * 5 + layer + 1) | 1U);
    const std::uint64_t starts = (blocks[layer] - 1) * 64;
    const auto start = static_cast<std::uint64_t>((static_cast<uint128>(hash) * starts) >> 64U);
    const std::uint64_t code = word_at(filter.payload(), word + start / 8192) >> (start / 256 % 32 * 2) & 3U;
    const std::array<std::uint64_t, 4> thresholds = {0, 16, 44, 256};
    word += (starts + 8191) / 8192;
    if (start % 256 < thresholds[code]) continue;
    const uint128 product = static_cast<uint128>(hash) * 0x9e3779b97f4a7c15ULL;
    const auto upper = static_cast<std::uint64_t>(product >> 64U);
    const std::uint64_t coefficients = (upper ^ static_cast<std::uint64_t>(product)) | 1U;
    const std::uint64_t bits = columns + (start / 64 >= wide[layer] ? 1 : 0);
    for (std::uint64_t column = 0; column < bits; ++column) {
      std::uint64_t sum = 0;
      for (std::uint64_t i = 0; i < 64; ++i) {
        const std::uint64_t block = (start + i) / 64;
        const std::uint64_t at = block * columns + (block > wide[layer] ? block - wide[layer] : 0) + column;
        sum ^= coefficients >> i & word_at(filter.payload(), first_word[layer] + at) >> ((start + i) % 64) & 1U;
      }
      const std::array<unsigned, 8> order = {1, 3, 5, 7, 0, 2, 4, 6};
      if (sum != (upper >> (column / 8 * 8 + order[column % 8]) & 1U)) return false;
    }
    return true;
  }
  return false;
}

// A rate for each number of columns, and others between.
std::vector<double> rates() {
  std::vector<double> out;
  for (int columns = 1; columns <= 32; ++columns) {
    out.push_back(std::ldexp(1.0, -columns));
    if (columns < 32) out.push_back(std::ldexp(0.7, -columns));
  }
  return out;
}

TEST(Ribbon, AnswersAreThePublishedOnesAtEveryNumberOfColumns) {
  for (const double fpr : rates()) {
    const auto digests = random_digests(1, 6000);
    const ribbon filter = built({.fpr = fpr}, digests);
    ASSERT_GE(filter.geometry().layers(), 2U);
    unsigned positives = 0;
    for (std::size_t i = 0; i < 150; ++i) ASSERT_TRUE(plain_answer(filter, digests[i])) << fpr;
    for (const std::uint64_t digest : random_digests(2, 300)) {
      const bool answer = plain_answer(filter, digest);
      ASSERT_EQ(filter.may_contain(digest), answer) << fpr;
      positives += answer ? 1U : 0U;
    }
    // Half, for the largest rate: both answers were compared.
    if (fpr == 0.5) {
      EXPECT_TRUE(positives > 100 && positives < 200) << positives;
    }
  }
}

// A change of these bytes is a change of the file format.
TEST(Ribbon, TheBytesOfASetOfKeysAreFrozen) {
  const auto digest_of_bytes = [](std::uint64_t keys, double fpr) {
    digest_list digests(keys);
    for (std::uint64_t i = 0; i < keys; ++i) digests[i] = mix64(i + 1);
    const ribbon filter = built({.fpr = fpr}, digests);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < filter.payload().size() / 8; ++i) sum = mix64(sum ^ word_at(filter.payload(), i));
    return sum;
  };
  EXPECT_EQ(digest_of_bytes(1, 0.01), 3850541928020551013U);
  EXPECT_EQ(digest_of_bytes(1000, 0.01), 17271932009319219810U);
  EXPECT_EQ(digest_of_bytes(100'000, 0.001), 1039920905098369959U);
}

TEST(Ribbon, NoKeyIsEverMissedAtAnyNumberOfKeys) {
  for (std::size_t keys = 0; keys <= 300; ++keys) {
    const auto digests = random_digests(keys, keys);
    const ribbon filter = built({.fpr = 0.01}, digests);
    ASSERT_TRUE(holds_all(filter, digests)) << keys;
    ASSERT_EQ(filter.keys().keys, keys);
  }
  for (const std::size_t keys : {1000U, 4096U, 4097U, 5000U, 16'384U, 30'000U, 262'144U, 300'000U}) {
    const auto digests = random_digests(keys, keys);
    for (const double fpr : {0.5, 0.01, 0.0001}) {
      const ribbon filter = built({.fpr = fpr}, digests);
      ASSERT_TRUE(holds_all(filter, digests)) << keys << " " << fpr;
      ASSERT_EQ(filter.keys().keys, keys);
    }
  }
}

TEST(Ribbon, NoKeyIsEverMissedAtAnyRate) {
  const auto digests = random_digests(3, 6000);
  for (const double fpr : rates()) ASSERT_TRUE(holds_all(built({.fpr = fpr}, digests), digests)) << fpr;
}

// Bounds that a filter with the promised rate breaks once in a million, on each side.
TEST(Ribbon, AnEmptyFilterSaysNoToEverything) {
  const ribbon filter = built({.fpr = 0.5}, {});
  EXPECT_EQ(positives_of(filter, 1, 10'000), 0U);
  EXPECT_FALSE(filter.may_contain(0));
  EXPECT_EQ(filter.memory_bytes(), 0U);
  EXPECT_EQ(filter.fpr_now(), 0.0);
  EXPECT_EQ(filter.fill(), 0.0);
  const auto again = ribbon::view(filter.shape(), filter.payload());
  ASSERT_TRUE(again);
  EXPECT_TRUE(*again == filter);
}

TEST(Ribbon, TheSameKeysGiveTheSameBytesInAnyOrderOnAnyNumberOfThreads) {
  for (const std::size_t keys : {500U, 20'000U, 600'000U}) {
    auto digests = random_digests(9, keys);
    const ribbon filter = built({.fpr = 0.01}, digests, 1);
    std::shuffle(digests.begin(), digests.end(), std::mt19937_64(1));
    EXPECT_TRUE(built({.fpr = 0.01}, digests, 3) == filter) << keys;
    std::sort(digests.begin(), digests.end());
    EXPECT_TRUE(built({.fpr = 0.01}, digests, 0) == filter) << keys;
  }
}

TEST(Ribbon, DuplicatesCountOnceAndChangeNothing) {
  for (const std::size_t keys : {1U, 700U, 20'000U}) {
    const auto digests = random_digests(10, keys);
    const ribbon filter = built({.fpr = 0.01}, digests);
    auto repeated = digests;
    for (std::size_t i = 0; i < 3 * keys; ++i) repeated.push_back(digests[i * i % keys]);
    const ribbon again = built({.fpr = 0.01}, repeated);
    EXPECT_EQ(again.keys().keys, keys);
    EXPECT_TRUE(again == filter) << keys;
  }
  const digest_list one(300'000, 17);
  const ribbon filter = built({.bits_per_key = 2000}, one);
  EXPECT_EQ(filter.keys().keys, 1U);
  EXPECT_LE(filter.memory_bytes(), 250U);
}

TEST(Ribbon, BuildingOnlyReordersTheDigests) {
  for (const std::size_t keys : {0U, 10U, 6000U, 200'000U}) {
    auto digests = random_digests(11, keys);
    if (keys != 0) digests.resize(keys + 5, digests[0]);
    auto expected = digests;
    ASSERT_TRUE(ribbon::build({.fpr = 0.01}, digests, 1));
    std::sort(digests.begin(), digests.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(digests, expected) << keys;
  }
}

// Digests whose hashes in the first layer are next to each other, in one bucket or one start; and such as count.
TEST(Ribbon, BadlySpreadDigestsAreTaken) {
  const std::uint64_t multiplier = kernels::ribbon_multiplier(0, 0);
  for (const unsigned shift : {0U, 20U, 40U, 52U}) {
    digest_list digests;
    for (std::uint64_t i = 0; i < 6000; ++i) digests.push_back(kernels::ribbon_unhash(i << shift, multiplier));
    for (const double fpr : {0.5, 0.01}) EXPECT_TRUE(holds_all(built({.fpr = fpr}, digests), digests)) << shift;
    for (std::uint64_t i = 0; i < 6000; ++i) digests[i] = i << shift;
    for (const double fpr : {0.5, 0.01}) EXPECT_TRUE(holds_all(built({.fpr = fpr}, digests), digests)) << shift;
  }
}

TEST(Ribbon, HashesCanBeTakenBack) {
  for (const std::uint64_t digest : random_digests(12, 100)) {
    for (unsigned layer = 0; layer < 5; ++layer) {
      const std::uint64_t multiplier = kernels::ribbon_multiplier(layer, digest % 7);
      ASSERT_EQ(kernels::ribbon_unhash(kernels::ribbon_hash(digest, multiplier), multiplier), digest);
    }
  }
}

TEST(Ribbon, AnyBytesAreSafeToAsk) {
  const ribbon filter = built({.fpr = 0.01}, random_digests(15, 6000));
  for (const int fill : {0xff, 0x55, 0}) {
    std::vector<std::uint64_t> words(filter.payload().size() / 8);
    std::memset(words.data(), fill, words.size() * 8);
    const auto bytes = std::as_bytes(std::span(words));
    const auto hostile = ribbon::view(filter.shape(), bytes);
    ASSERT_TRUE(hostile);
    const std::uint64_t positives = positives_of(*hostile, 1, 10'000);
    EXPECT_LT(positives, 1000U);
  }
  // In memory, bytes between the parts must be 0.
  auto buffer = aligned_buffer::make(filter.payload().size(), "a copy");
  ASSERT_TRUE(buffer);
  std::memset(buffer->data(), 0xff, buffer->size_bytes());
  EXPECT_FALSE(ribbon::adopt(filter.shape(), std::move(*buffer)));
}

TEST(Ribbon, CopiesAndViewsAnswerTheSame) {
  const auto digests = random_digests(16, 6000);
  const ribbon filter = built({.fpr = 0.003}, digests);
  const auto copy = filter.clone();
  ASSERT_TRUE(copy);
  EXPECT_TRUE(*copy == filter);
  EXPECT_TRUE(holds_all(*copy, digests));
  const auto view = ribbon::view(filter.shape(), filter.payload());
  ASSERT_TRUE(view);
  EXPECT_TRUE(*view == filter);
  EXPECT_EQ(view->keys().keys, 6000U);
  EXPECT_EQ(view->target_fpr(), 0.003);
  EXPECT_FALSE(ribbon::view(filter.shape(), filter.payload().first(filter.payload().size() - 8)));
  EXPECT_EQ(positives_of(*view, 1, 100'000), positives_of(filter, 1, 100'000));
  ribbon moved = std::move(*copy->clone());
  EXPECT_TRUE(holds_all(moved, digests));
  EXPECT_FALSE(built({.fpr = 0.003}, random_digests(17, 6000)) == filter);
}

// A look-up depends on the bytes that it is documented to touch, and on no others.
TEST(Ribbon, ALookupTouchesWhatItReports) {
  const auto digests = random_digests(18, 6000);
  for (const double fpr : {0.3, 0.003}) {
    const ribbon filter = built({.fpr = fpr}, digests);
    for (std::size_t i = 0; i < 200; ++i) {
      std::vector<std::uint64_t> words(filter.payload().size() / 8);
      auto* bytes = reinterpret_cast<std::byte*>(words.data());
      std::memset(bytes, i % 2 == 0 ? 0xff : 0, words.size() * 8);
      filter.for_each_touched(digests[i], [&](std::uint64_t first, std::uint64_t size) {
        ASSERT_LE(first + size, filter.payload().size());
        std::memcpy(bytes + first, filter.payload().data() + first, size);
      });
      const auto sparse = ribbon::view(filter.shape(), std::as_bytes(std::span(words)));
      ASSERT_TRUE(sparse);
      ASSERT_TRUE(sparse->may_contain(digests[i]));
    }
  }
}

TEST(Ribbon, RefusedMemoryIsAnErrorAndTheDigestsStay) {
  struct failing {
    int left = 0;
    std::int64_t live = 0;
  };
  for (const std::size_t keys : {10U, 6000U, 30'000U}) {
    int allocations = 0;
    for (bool done = false; !done; ++allocations) {
      ASSERT_LT(allocations, 100);
      failing state{.left = allocations};
      const memory_hooks hooks{.allocate = [](void* context, std::size_t size, std::size_t alignment) -> void* {
                                 auto* self = static_cast<failing*>(context);
                                 if (self->left-- == 0) return nullptr;
                                 self->live += static_cast<std::int64_t>(size);
                                 return default_memory().allocate(nullptr, size, alignment);
                               },
                               .release =
                                   [](void* context, void* memory, std::size_t size, std::size_t alignment) {
                                     static_cast<failing*>(context)->live -= static_cast<std::int64_t>(size);
                                     default_memory().release(nullptr, memory, size, alignment);
                                   },
                               .context = &state};
      auto digests = random_digests(19, keys);
      auto expected = digests;
      {
        const auto filter = ribbon::build({.fpr = 0.01, .memory = &hooks}, digests, 2);
        done = filter.has_value();
        if (!done) {
          EXPECT_EQ(filter.error().code, errc::out_of_memory);
          EXPECT_EQ(state.live, 0);
        } else {
          EXPECT_EQ(state.live, static_cast<std::int64_t>(filter->memory_bytes()));
        }
      }
      EXPECT_EQ(state.live, 0);
      std::sort(digests.begin(), digests.end());
      std::sort(expected.begin(), expected.end());
      ASSERT_EQ(digests, expected);
    }
    EXPECT_GT(allocations, 3);
  }
}

// Whether memory is prefetched depends on the size that the view states.
TEST(Ribbon, BatchesOfAnyLengthAnswerAsSingleLookupsNearAndFar) {
  const digest_list held = random_digests(31, 3000);
  digest_list queries = random_digests(32, 1000);
  for (std::size_t i = 0; i < queries.size(); i += 3) queries[i] = held[i];
  const digest_feed ready(queries.data());
  for (const double fpr : {0.3, 0.01, 0.001, 1e-6, 1e-9}) {
    const ribbon filter = built({.fpr = fpr}, held);
    auto view =
        detail::ribbon_view_of(filter.geometry(), reinterpret_cast<const std::uint64_t*>(filter.payload().data()));
    for (const isa level : {isa::scalar, active_isa()}) {
      const auto& functions = kernels::ribbon_kernels::for_isa(level, filter.geometry().widest());
      for (const std::uint64_t bytes : {std::uint64_t{0}, kernels::ribbon_far_bytes + 1}) {
        view.size_bytes = bytes;
        for (const std::size_t count : {1U, 15U, 16U, 17U, 63U, 64U, 65U, 127U, 128U, 129U, 193U, 1000U}) {
          std::vector<std::uint64_t> mask(mask_words(count) + 1, 0x5555555555555555U);
          functions.contains_batch(view, count, ready, mask.data());
          for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ((mask[i / 64] >> (i % 64) & 1U) != 0, functions.contains(view, queries[i]))
                << fpr << " " << count << " " << i;
            ASSERT_TRUE(i % 3 != 0 || functions.contains(view, queries[i]));
          }
          if (count % 64 != 0) {
            ASSERT_EQ(mask[count / 64] >> (count % 64), 0U);
          }
          ASSERT_EQ(mask.back(), 0x5555555555555555U);
        }
      }
    }
  }
}

TEST(Ribbon, LookupsForADecidedShapeAnswerTheSame) {
  const auto digests = random_digests(20, 6000);
  for (const double fpr : {0.1, 0.001, 1e-6, 1e-9}) {
    const ribbon filter = built({.fpr = fpr}, digests);
    const auto wrong = filter.with_lookup([&](const auto& asks) {
      std::uint64_t count = 0;
      for (const std::uint64_t digest : digests) count += asks(digest) ? 0U : 1U;
      for (const std::uint64_t digest : random_digests(21, 3000)) {
        count += asks(digest) == filter.may_contain(digest) ? 0U : 1U;
      }
      return count;
    });
    EXPECT_EQ(wrong, 0U);
  }
}

// The last layer takes other seeds when its keys do not fit at once: of many small filters, some need one.
TEST(Ribbon, SomeSmallFiltersNeedAnotherSeed) {
  std::uint64_t others = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto digests = random_digests(100 + i, 4096);
    const ribbon filter = built({.fpr = 0.01}, digests);
    ASSERT_TRUE(holds_all(filter, digests));
    others += filter.shape().field[2] != 0 ? 1U : 0U;
  }
  EXPECT_GT(others, 0U);
  EXPECT_LT(others, 50U);
}

TEST(NightlyRibbon, TenMillionKeysOnManyThreads) {
  const auto digests = random_digests(22, 10'000'000);
  const ribbon filter = built({.fpr = 1.0 / 256}, digests, 4);
  EXPECT_TRUE(holds_all(filter, digests));
  EXPECT_LE(static_cast<double>(filter.memory_bytes()) * 8 / 1e7, 8.08);
  EXPECT_TRUE(built({.fpr = 1.0 / 256}, digests, 1) == filter);
}

}  // namespace
}  // namespace bloomery::ribbon_testing

// The bytes of kind cascade: as published, safe to query whatever they are, and refused where they cannot be.
#include <algorithm>
#include <array>
#include <cstring>

#include "kinds/cascade_support.hpp"
#include "kinds/positives.hpp"

namespace bloomery::cascade_testing {
namespace {

// ---- its bytes -------------------------------------------------------------------------------------------------------

std::uint64_t word_at(std::span<const std::byte> bytes, std::uint64_t word) {
  std::uint64_t out = 0;
  for (unsigned i = 0; i < 8; ++i) out |= std::to_integer<std::uint64_t>(bytes[word * 8 + i]) << (8 * i);
  return out;
}

// A ribbon as docs/file-format.md has it, from its numbers and its bytes; `word` is its first, and afterwards the one
// behind it.
bool plain_match(std::span<const std::byte> bytes, std::uint64_t columns, std::uint64_t share, std::uint64_t salt,
                 std::uint64_t seed, std::span<const std::uint64_t> blocks, std::uint64_t digest, std::uint64_t& word) {
  std::vector<std::uint64_t> wide;
  std::vector<std::uint64_t> first_word;
  for (const std::uint64_t count : blocks) {
    const auto more = static_cast<std::uint64_t>(std::ceil(std::ldexp(static_cast<double>((count - 1) * share), -32)));
    wide.push_back(share == 0 ? count : count - 1 - more);
    first_word.push_back(word);
    word += count * columns + count - wide.back();
    while (word % 8 != 0) ++word;
  }
  const std::uint64_t thresholds_word = word;
  std::vector<std::uint64_t> first_threshold;
  for (const std::uint64_t count : blocks) {
    first_threshold.push_back(word);
    word += ((count - 1) * 64 + 8191) / 8192;
  }
  word = std::max(word, thresholds_word + 8);
  std::uint64_t hash = digest;
  for (std::size_t layer = 0; layer < blocks.size(); ++layer) {
    const std::uint64_t number = salt + (layer + 1 == blocks.size() ? seed : 0);
    hash = (hash ^ (hash >> 32U)) * (mix64(number * 5 + layer + 1) | 1U);
    const auto start = static_cast<std::uint64_t>((static_cast<uint128>(hash) * ((blocks[layer] - 1) * 64)) >> 64U);
    const std::uint64_t code = word_at(bytes, first_threshold[layer] + start / 8192) >> (start / 256 % 32 * 2) & 3U;
    const std::array<std::uint64_t, 4> thresholds = {0, 16, 44, 256};
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
        sum ^= coefficients >> i & word_at(bytes, first_word[layer] + at) >> ((start + i) % 64) & 1U;
      }
      const std::array<unsigned, 8> order = {1, 3, 5, 7, 0, 2, 4, 6};
      if (sum != (upper >> (column / 8 * 8 + order[column % 8]) & 1U)) return false;
    }
    return true;
  }
  return false;
}

bool plain_answer(const cascade& filter, std::uint64_t digest) {
  const auto shape = filter.shape();
  const auto part = [&](std::size_t first) {
    std::size_t layers = 0;
    while (layers < 3 && shape.field[first + layers] != 0) ++layers;
    return std::span<const std::uint64_t>(shape.field).subspan(first, layers);
  };
  const std::uint64_t columns = shape.field[0] & 0xffU;
  const bool reversed = (shape.field[0] >> 8U & 1U) != 0;
  std::uint64_t word = 0;
  bool matches = columns == 0 || plain_match(filter.payload(), columns, shape.field[0] >> 32U, 0,
                                             shape.field[1] & 0xffffffffU, part(2), digest, word);
  while (word % 8 != 0) ++word;
  const bool in_table =
      plain_match(filter.payload(), 1, 0, std::uint64_t{1} << 32U, shape.field[1] >> 32U, part(5), digest, word);
  matches = matches && in_table;
  EXPECT_EQ(word * 8, filter.payload().size());
  return matches != reversed;
}

TEST(Cascade, AnswersAreThePublishedOnes) {
  struct shape_case {
    std::size_t in;
    std::size_t out;
    std::optional<double> fpr;
  };
  for (const shape_case& each : {shape_case{6000, 6000, {}},
                                 {6000, 60'000, {}},
                                 {60'000, 6000, {}},
                                 {100, 90'000, {}},
                                 {5000, 100, 0.003},
                                 {5000, 100, 1e-6}}) {
    const lists of = lists::random(each.in, each.in, each.out);
    const cascade filter = built(of, {.fpr = each.fpr});
    for (std::size_t i = 0; i < 100; ++i) {
      ASSERT_TRUE(plain_answer(filter, of.included[i])) << each.in;
      ASSERT_FALSE(plain_answer(filter, of.excluded[i])) << each.in;
    }
    for (const std::uint64_t digest : random_digests(2, 300)) {
      ASSERT_EQ(filter.may_contain(digest), plain_answer(filter, digest)) << each.in;
    }
  }
}

// A change of these bytes is a change of the file format.
TEST(Cascade, TheBytesOfTwoListsAreFrozen) {
  const auto digest_of_bytes = [](std::uint64_t in, std::uint64_t out, std::optional<double> fpr) {
    lists of;
    for (std::uint64_t i = 0; i < in + out; ++i) (i < in ? of.included : of.excluded).push_back(mix64(i + 1));
    const cascade filter = built(of, {.fpr = fpr});
    std::uint64_t sum = 0;
    for (const std::uint64_t number : filter.shape().field) sum = mix64(sum ^ number);
    for (std::uint64_t i = 0; i < filter.payload().size() / 8; ++i) sum = mix64(sum ^ word_at(filter.payload(), i));
    return sum;
  };
  EXPECT_EQ(digest_of_bytes(1, 1, {}), 1418831372063870521U);
  EXPECT_EQ(digest_of_bytes(1000, 20'000, {}), 326087397793325525U);
  EXPECT_EQ(digest_of_bytes(20'000, 1000, {}), 11790085784003875287U);
  EXPECT_EQ(digest_of_bytes(10'000, 100'000, 0.003), 6222217069490226022U);
}

// A look-up depends on the bytes that it is documented to touch, and on no others.
TEST(Cascade, ALookupTouchesWhatItReports) {
  for (const bool many_in : {false, true}) {
    const lists of = lists::random(18, many_in ? 60'000 : 6000, many_in ? 6000 : 60'000);
    const cascade filter = built(of);
    EXPECT_EQ(filter.geometry().reversed, many_in);
    for (std::size_t i = 0; i < 200; ++i) {
      const bool in = i % 4 < 2;
      const std::uint64_t digest = in ? of.included[i] : of.excluded[i];
      std::vector<std::uint64_t> words(filter.payload().size() / 8);
      auto* bytes = reinterpret_cast<std::byte*>(words.data());
      std::memset(bytes, i % 2 == 0 ? 0xff : 0, words.size() * 8);
      filter.for_each_touched(digest, [&](std::uint64_t first, std::uint64_t size) {
        ASSERT_LE(first + size, filter.payload().size());
        std::memcpy(bytes + first, filter.payload().data() + first, size);
      });
      const auto sparse = cascade::view(filter.shape(), std::as_bytes(std::span(words)));
      ASSERT_TRUE(sparse);
      ASSERT_EQ(sparse->may_contain(digest), in);
    }
  }
}

TEST(Cascade, AnyBytesAreSafeToQueryAndThoseBetweenThePartsMustBeZero) {
  const cascade filter = built(lists::random(15, 100'000, 400'000));
  for (const int fill : {0xff, 0x55, 0}) {
    std::vector<std::uint64_t> words(filter.payload().size() / 8);
    std::memset(words.data(), fill, words.size() * 8);
    const auto hostile = cascade::view(filter.shape(), std::as_bytes(std::span(words)));
    ASSERT_TRUE(hostile);
    EXPECT_LE(kinds_testing::positives_of(*hostile, 1, 10'000), 10'000U);
  }
  const std::uint64_t sieve_end = filter.geometry().sieve.payload_words();
  const std::uint64_t table = filter.geometry().table_word();
  ASSERT_LT(sieve_end, table);
  for (const std::uint64_t word : {std::uint64_t{0}, sieve_end, table - 1, table}) {
    auto buffer = aligned_buffer::make(filter.payload().size(), "a copy");
    ASSERT_TRUE(buffer);
    std::memcpy(buffer->data(), filter.payload().data(), filter.payload().size());
    buffer->data()[word * 8 + 7] ^= std::byte{0x80};
    const bool between = word >= sieve_end && word < table;
    EXPECT_EQ(cascade::adopt(filter.shape(), std::move(*buffer)).has_value(), !between) << word;
  }
}

TEST(Cascade, CopiesAndViewsAnswerTheSame) {
  const lists of = lists::random(16, 6000, 60'000);
  const cascade filter = built(of);
  const auto copy = filter.clone();
  ASSERT_TRUE(copy);
  EXPECT_TRUE(*copy == filter);
  EXPECT_EQ(wrong_answers(*copy, of), 0U);
  const auto view = cascade::view(filter.shape(), filter.payload());
  ASSERT_TRUE(view);
  EXPECT_TRUE(*view == filter);
  EXPECT_EQ(view->excluded_keys(), 60'000U);
  EXPECT_EQ(wrong_answers(*view, of), 0U);
  EXPECT_FALSE(cascade::view(filter.shape(), filter.payload().first(filter.payload().size() - 8)));
  const cascade moved = std::move(*filter.clone());
  EXPECT_EQ(wrong_answers(moved, of), 0U);
  EXPECT_FALSE(built(lists::random(17, 6000, 60'000)) == filter);
  EXPECT_FALSE(built({of.excluded, of.included}) == filter);
}

TEST(Cascade, HostileShapesAreRefused) {
  const cascade filter = built(lists::random(14, 6000, 60'000));
  const stored_shape good = filter.shape();
  ASSERT_EQ(*cascade::payload_bytes(good), filter.memory_bytes());
  const auto refused = [&](auto change) {
    stored_shape shape = good;
    change(shape);
    return !cascade::payload_bytes(shape);
  };
  EXPECT_FALSE(refused([](stored_shape&) {}));
  const std::uint64_t columns = good.field[0];
  ASSERT_LT(columns, 33U);
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{33}, std::uint64_t{255}, columns | 512U, columns | 1U << 31U,
        32U | std::uint64_t{1} << 32U, std::uint64_t{1} << 32U, ~std::uint64_t{0}}) {
    EXPECT_TRUE(refused([&](stored_shape& shape) { shape.field[0] = value; })) << value;
  }
  for (const unsigned field : {2U, 5U}) {
    for (const std::uint64_t value :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 54U, std::uint64_t{1} << 60U, ~std::uint64_t{0}}) {
      EXPECT_TRUE(refused([&](stored_shape& shape) { shape.field[field] = value; })) << field << " " << value;
    }
  }
  // Of both parts: a layer behind one that is not there, one that is too small for a key, and one that is too large.
  for (const unsigned field : {3U, 6U}) {
    EXPECT_TRUE(refused([&](stored_shape& shape) {
      shape.field[field] = 0;
      shape.field[field + 1] = 2;
    })) << field;
    for (const std::uint64_t value : {std::uint64_t{1}, std::uint64_t{1} << 54U, ~std::uint64_t{0}}) {
      EXPECT_TRUE(refused([&](stored_shape& shape) { shape.field[field] = value; })) << field << " " << value;
    }
  }
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.field[2] = shape.field[5] = std::uint64_t{1} << 53U; }));
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.field[5] = shape.field[6] = shape.field[7] = 0; }));
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.keys = 0; }));
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.keys = shape.capacity_keys + 1; }));
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.keys = 20'000; })) << "more than the slots of the first layer";
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.keys_exact = false; }));
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.digest_bits = 128; }));
  EXPECT_TRUE(refused([](stored_shape& shape) { shape.field = {}; }));
}

}  // namespace
}  // namespace bloomery::cascade_testing

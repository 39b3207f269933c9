// The FPR of real keys under every hash: sequential integers, strings with one prefix, keys of few bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bloomery/core/bytes.hpp>
#include <bloomery/hash/list.hpp>
#include <cstdio>
#include <string>

#include "support/filters.hpp"

namespace bloomery::test {
namespace {

class HashRates : public testing::TestWithParam<const hash_info*> {};
std::vector<const hash_info*> hashes_that_mix() {
  std::vector<const hash_info*> hashes;
  for_each_type(hash_list{}, [&](auto tag) {
    using H = typename decltype(tag)::type;
    if (H::info.id != identity::info.id) hashes.push_back(&H::info);
  });
  return hashes;
}
INSTANTIATE_TEST_SUITE_P(, HashRates, testing::ValuesIn(hashes_that_mix()), [](const auto& hash) {
  std::string name(hash.param->name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// Key number i in one of three shapes.
std::uint64_t digest_of_shape(const hasher& hash, int shape, std::uint64_t i) {
  if (shape == 0) {
    std::array<std::byte, 8> number{};
    store_le(number.data(), i);
    return hash.digest(number.data(), number.size());
  }
  char text[128];
  const char* format = shape == 1 ? "https://www.example.org/catalogue/item/%08llu" : "%llx";
  const int size = std::snprintf(text, sizeof text, format, static_cast<unsigned long long>(i));
  return hash.digest(text, static_cast<std::size_t>(size));
}

bool has_plain_bits(const kind_case& kind) { return kind.folds && kind.cell_bits == 1 && !kind.may_lose; }

TEST_P(HashRates, KeepThePromiseOnSequentialPrefixedAndShortKeys) {
  // A 32-bit hash is refused beyond what it can serve: 2^15 keys at 1/128.
  constexpr std::uint64_t keys = 15'000;
  constexpr double fpr = 0.01;
  constexpr std::uint64_t queries = 1'500'000;
  const std::vector<std::byte> secret(GetParam()->key_bytes);
  const auto hash = hasher::make(GetParam()->name, 0, secret);
  ASSERT_TRUE(hash) << describe(hash.error()).c_str();
  for (const int shape : {0, 1, 2}) {
    key_list digests(keys + queries);
    for (std::uint64_t i = 0; i < digests.size(); ++i) digests[i] = digest_of_shape(*hash, shape, i);
    // The kinds whose FPR depends most on the digests' bits: plain bits, spread and in blocks.
    for (const kind_case& kind : kinds_where(has_plain_bits)) {
      auto filter = make_filter(kind, keys, fpr);
      insert_all(filter, std::span(digests).first(keys));
      const std::uint64_t positives = count_found(filter, std::span(digests).subspan(keys));
      // One filter of 15,000 keys varies by 2 % around its mean; 1.5e6 queries add 0.8 %.
      EXPECT_NEAR(static_cast<double>(positives) / static_cast<double>(queries) / fpr, 1.0, 0.10)
          << kind << " key shape " << shape;
    }
  }
}

}  // namespace
}  // namespace bloomery::test

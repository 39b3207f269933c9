// fuzz/compat_leveldb.cpp: filters for LevelDB (compat/leveldb): made from the input as digests, and read from the input as bytes.
//
// The first byte is the bits per key, the second where the filter that was made is damaged. What was made has every key, is no
// larger than the built-in filter, and depends on neither order nor copies. Any bytes are looked up, explained and described alike.
#include <algorithm>
#include <bloomery/compat/leveldb/encoder.hpp>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "target.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::leveldb;
using bytes = std::vector<std::byte>;

void require(bool condition) {
  if (!condition) std::abort();
}

// In a block of exactly its size.
void use(const bytes& filter, std::span<const std::uint64_t> digests) {
  const auto what = describe(filter);
  require(what.fpr >= 0 && what.fpr <= 1);
  for (std::size_t i = 0; i < digests.size() && i < 40; ++i) {
    const key_digests both{.windows = digests[i], .builtin = static_cast<std::uint32_t>(digests[i])};
    const bool answer = may_match(filter, both);
    explanation why(digests[i]);
    explain(why, filter, both);
    require(why.may_contain() == answer);
    require(what.layout != filter_layout::opaque || answer);
    require(what.layout != filter_layout::empty || !answer);
  }
}

bytes made(std::span<const std::uint64_t> digests, unsigned bits_per_key) {
  filter_encoder encoder;
  const auto filter = encoder.encode(digests, bits_per_key);
  require(filter.has_value());
  return {filter->begin(), filter->end()};
}

int run_one(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  std::vector<std::uint64_t> digests = {0, ~std::uint64_t{0}};
  digests.resize(2 + size / 8);
  for (std::size_t i = 0; i + 8 <= size; i += 8) std::memcpy(&digests[2 + i / 8], data + i, 8);
  use({input.begin(), input.end()}, digests);
  if (size < 2) return 0;

  // Beyond what the input has: that many keys that are well mixed.
  const unsigned bits_per_key = data[0];
  const std::size_t more = data[1];
  for (std::size_t i = 0; i < more; ++i) digests.push_back(mix64(i + data[0] * 1000U));
  bytes filter = made(digests, bits_per_key);
  require(filter.size() <= builtin_bytes_of(digests.size(), bits_per_key) + 1 || filter.size() == 2);
  for (const std::uint64_t digest : digests) require(may_match(filter, digest));
  use(filter, digests);
  std::reverse(digests.begin(), digests.end());
  digests.push_back(digests.front());
  require(made(digests, bits_per_key) == filter);
  filter[data[size - 1] % filter.size()] ^= static_cast<std::byte>(data[size / 2] | 1U);
  use(filter, digests);
  filter.resize(filter.size() - 1 - data[size / 2] % filter.size());
  use(filter, digests);
  return 0;
}

}  // namespace

BLOOMERY_FUZZ_TARGET(run_one)

// compat/leveldb: the filter for few keys. Every filter here is looked up in a copy on the heap of exactly its size.
#include <gtest/gtest.h>
#include <bloomery/compat/leveldb/encoder.hpp>
#include <vector>

namespace {

using bloomery::leveldb::filter_encoder;
using bloomery::leveldb::may_match;

std::vector<std::uint64_t> digests_of(std::uint64_t stream, std::size_t count) {
  std::vector<std::uint64_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = bloomery::mix64(stream << 32U | (i + 1));
  return all;
}

TEST(LeveldbFilter, EveryKeyMatchesAndNoFilterIsLargerThanTheBuiltInOne) {
  filter_encoder encoder;
  for (unsigned bits = 1; bits <= 20; ++bits) {
    for (std::size_t n = 0; n <= 1000; n += n < 260 ? 3 : 37) {
      const auto digests = digests_of(bits, n);
      const auto filter = encoder.encode(digests, bits);
      ASSERT_TRUE(filter.has_value());
      EXPECT_LE(filter->size(), bloomery::leveldb::builtin_bytes_of(n, bits) + 1);
      const std::vector<std::byte> copy(filter->begin(), filter->end());
      for (const std::uint64_t digest : digests) ASSERT_TRUE(may_match(copy, digest)) << n << " keys, " << bits;
    }
  }
}

}  // namespace

// Filters of any kind through any_filter: made, filled, queried and saved.
#pragma once

#include <gtest/gtest.h>

#include <bloomery/any_filter.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "support/digests.hpp"
#include "support/files.hpp"
#include "support/kind_table.hpp"

namespace bloomery::test {

// Kind bitmap and all codecs. Everything below calls it where it is needed.
void enable_everything();
// codec_none, and those that this program has: all four, but on WebAssembly.
std::vector<std::uint32_t> linked_codecs();

// The hash that goes with a kind.
hash_spec hash_of(const kind_case& kind);

// An empty filter for `keys`. Kinds that size themselves ignore the numbers.
any_filter make_filter(const kind_case& kind, std::uint64_t keys, double fpr = 0.01);
any_filter make_filter(const kind_case& kind, const filter_params& params);
// Of all these digests; for kinds that are static the only way.
any_filter build_filter(const kind_case& kind, key_list digests, double fpr = 0.01, unsigned threads = 1);

// A filter of the first n sample keys, of either sort of kind, with a hash whose seed is not 0. Integers for kinds of integers.
any_filter sample(const kind_case& kind, std::uint64_t keys);
hash_spec sample_hash(const kind_case& kind);

// One digest, as a batch of one.
insert_result insert_one(any_filter& filter, std::uint64_t digest);
bool contains(const any_filter& filter, std::uint64_t digest);
// All of them; any error fails the test. How many were new.
std::uint64_t insert_all(any_filter& filter, std::span<const std::uint64_t> digests);
std::uint64_t erase_all(any_filter& filter, std::span<const std::uint64_t> digests);
std::vector<std::uint64_t> count_all(const any_filter& filter, std::span<const std::uint64_t> digests);
// 64-bit keys as digests of the width that the filter takes.
std::vector<digest128> widened(std::span<const std::uint64_t> keys);
result<explanation> explain_key(const any_filter& filter, std::uint64_t key);
result<std::uint64_t> insert_keys(any_filter& filter, std::span<const std::uint64_t> keys);
std::vector<bool> find_keys(const any_filter& filter, std::span<const std::uint64_t> keys);
// How many may be there.
std::uint64_t count_found(const any_filter& filter, std::span<const std::uint64_t> keys);
inline std::uint64_t count_missing(const any_filter& filter, std::span<const std::uint64_t> keys) {
  return keys.size() - count_found(filter, keys);
}
// How many of these keys a filter with removals may have lost. None, but of kinds that may lose keys: with 99.9 % confidence no
// more than the promised rate allows.
std::uint64_t most_lost(const any_filter& filter, std::uint64_t keys);

filter_stats stats_of(const any_filter& filter);
// "bits=1024", ...
std::vector<std::string> values_of(const fact_list& facts);
bool same_shape(const stored_shape& a, const stored_shape& b);
any_filter copy_of(const any_filter& filter);
bytes saved_bytes(const any_filter& filter, const save_options& options = {});
std::string load_error(std::span<const std::byte> file, const load_options& options = {});

}  // namespace bloomery::test

#include <bloomery/native/shard.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<void> check_shards(std::uint64_t count) noexcept {
  if (count >= 1 && count <= max_shards) return {};
  return fail(errc::bad_shards, {}, {count, max_shards});
}

BLOOMERY_BODY std::uint64_t shard_keys(std::uint64_t keys, unsigned count) noexcept {
  if (count <= 1) return keys;
  constexpr double chance = 1e-6;
  const double mean = static_cast<double>(keys) / count;
  const double log_chance = std::log(count / chance);
  const double more = log_chance / 3 + std::sqrt(log_chance * log_chance / 9 + 2 * mean * log_chance);
  const double most = std::ceil(mean + more);
  return most < static_cast<double>(keys) ? static_cast<std::uint64_t>(most) : keys;
}

BLOOMERY_BODY filter_params shard_params(const filter_params& all, unsigned count) noexcept {
  filter_params one = all;
  if (all.keys) one.keys = shard_keys(*all.keys, count);
  if (all.excluded_keys) one.excluded_keys = shard_keys(*all.excluded_keys, count);
  if (all.bits) one.bits = *all.bits / count;
  if (all.memory_bytes) one.memory_bytes = *all.memory_bytes / count;
  return one;
}

}  // namespace bloomery::inline BLOOMERY_ABI

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

BLOOMERY_BODY result<dealt_digests> sort_by_shard(std::span<std::uint64_t> digests, unsigned shards,
                                                  const memory_hooks* memory) noexcept {
  auto dealt = dealt_digests::make(std::span<const std::uint64_t>(digests), shards, memory);
  if (!dealt) return dealt;
  for (unsigned shard = 0; shard < shards; ++shard) {
    while (dealt->next(shard) < dealt->end(shard)) {
      // Whatever is here goes to its place, until something comes that belongs here.
      std::uint64_t& here = digests[dealt->next(shard)];
      const unsigned of = shard_of(here, shards);
      if (of != shard) std::swap(here, digests[dealt->next(of)]);
      ++dealt->next(of);
    }
  }
  return dealt;
}

}  // namespace detail
}  // namespace bloomery::inline BLOOMERY_ABI

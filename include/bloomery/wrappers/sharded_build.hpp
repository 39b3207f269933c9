// wrappers/sharded_build.hpp: what building a filter in shards takes: digests that are split by shard, and one error
// out of those of all shards.
#pragma once

#include <algorithm>
#include <bloomery/core/buffer.hpp>
#include <bloomery/hash/key_digests.hpp>
#include <bloomery/native/shard.hpp>
#include <span>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI::detail {

// The digests of keys in the order of their shards.
struct cut_digests {
  aligned_buffer memory;
  dealt_digests<std::uint64_t> dealt;

  template <class Key, class H>
  static result<cut_digests> of_keys(std::span<const Key> keys, unsigned shards, const H& hash,
                                     const memory_hooks* hooks) noexcept {
    if (auto usable = check_shards(shards); !usable) return fail(usable.error());
    auto memory = aligned_buffer::make(keys.size() * sizeof(std::uint64_t), "the digests", hooks);
    if (!memory) return fail(memory.error());
    const std::span digests(reinterpret_cast<std::uint64_t*>(memory->data()), keys.size());
    const key_digests<H, Key> source{hash, keys};
    for (std::size_t first = 0; first < keys.size(); first += 64) {
      const std::size_t some = std::min<std::size_t>(64, keys.size() - first);
      const std::uint64_t* made = source(first, some, digests.data() + first);
      if (made != digests.data() + first) std::copy_n(made, some, digests.data() + first);
    }
    return cut_digests{std::move(*memory), sort_by_shard(digests, shards)};
  }
  [[nodiscard]] std::span<std::uint64_t> of(unsigned shard) noexcept {
    return dealt.of(shard, reinterpret_cast<std::uint64_t*>(memory.data()));
  }
};

// A shard knows how many digests are in both of its lists; how many there are, all shards know together.
struct lists_in_common {
  error why;

  // Whether it is such an error: then the other shards are still to be tried.
  bool takes(const error& of_a_shard) noexcept {
    if (of_a_shard.code != errc::in_both_lists) return false;
    const std::uint64_t before = any() ? why.number[0] : 0;
    why = of_a_shard;
    why.number[0] += before;
    return true;
  }
  [[nodiscard]] bool any() const noexcept { return why.code == errc::in_both_lists; }
};

}  // namespace bloomery::inline BLOOMERY_ABI::detail

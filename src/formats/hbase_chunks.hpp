// src/formats/hbase_chunks.hpp: the chunks of a store file that were read last. A question reads one chunk of the file
// at most, and none where the chunk is still here, as with HBase's block cache.
#pragma once

#include <array>
#include <bloomery/core/shared_lock.hpp>

#include "src/formats/hfile.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats::hfile {

class chunk_cache {
 public:
  static constexpr std::size_t most_chunks = 64;  // 8 MiB of HBase's usual chunks, where they are packed

  // Calls f(bits) with the bits of a chunk, checked and unpacked. One thread at a time.
  template <class F>
  result<void> with(std::span<const std::byte> file, const bloom_section& section, std::size_t chunk,
                    const memory_hooks* memory, F&& f) noexcept {
    const write_guard alone(lock_);
    slot* const found = find(chunk);
    if (found->chunk != chunk || found->used == 0) {
      auto read = read_chunk(file, section, chunk, memory);
      if (!read) return fail(read.error());
      found->held = std::move(*read);
      found->chunk = chunk;
      ++reads_;
    }
    found->used = ++clock_;
    f(found->held.payload);
    return {};
  }
  void clear() noexcept {
    for (slot& each : slots_) each = {};
  }
  [[nodiscard]] std::uint64_t reads() const noexcept { return reads_; }

 private:
  struct slot {
    std::size_t chunk = 0;
    std::uint64_t used = 0;  // 0: empty
    block held{};
  };
  // The chunk's place, or that of the one that was not used for longest.
  slot* find(std::size_t chunk) noexcept {
    slot* oldest = &slots_[0];
    for (slot& each : slots_) {
      if (each.used != 0 && each.chunk == chunk) return &each;
      if (each.used < oldest->used) oldest = &each;
    }
    return oldest;
  }

  shared_lock lock_{};
  std::array<slot, most_chunks> slots_{};
  std::uint64_t clock_ = 0;
  std::uint64_t reads_ = 0;
};

}  // namespace bloomery::inline BLOOMERY_ABI::formats::hfile

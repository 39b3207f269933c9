// kinds/blocked/layout.hpp: the two layouts of kind blocked: their sizes, and how their blocks are shared out to
// threads.
#pragma once

#include <bloomery/kernels/blocked.hpp>
#include <bloomery/kinds/blocked/fpr.hpp>
#include <bloomery/sizing/sizing.hpp>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

enum class block_layout : std::uint8_t { split64 = 0, split32 = 1 };

// The sizing model of one layout; see sizing/sizing.hpp.
struct blocked_model {
  static constexpr std::string_view name = "blocked";
  block_layout layout = block_layout::split64;

  [[nodiscard]] unsigned min_hashes() const noexcept { return layout == block_layout::split64 ? 1 : 8; }
  [[nodiscard]] unsigned max_hashes() const noexcept { return layout == block_layout::split64 ? 16 : 8; }
  [[nodiscard]] unsigned lane_bits() const noexcept { return layout == block_layout::split64 ? 64 : 32; }
  [[nodiscard]] std::uint64_t block_bits() const noexcept { return 8ULL * lane_bits(); }
  // split32 takes its block from 32 bits of the digest: 2^26 blocks keep the unevenness below 1/64.
  [[nodiscard]] std::uint64_t max_blocks() const noexcept {
    return layout == block_layout::split64 ? max_filter_bits / 512 : std::uint64_t{1} << 26U;
  }
  [[nodiscard]] std::uint64_t round_bits(std::uint64_t bits) const noexcept {
    const std::uint64_t blocks = bits / block_bits() + (bits % block_bits() != 0 ? 1 : 0);
    return (blocks == 0 ? 1 : blocks) * block_bits();
  }
  [[nodiscard]] static std::uint64_t memory_bytes(std::uint64_t bits) noexcept { return bits / 8; }
  [[nodiscard]] result<std::uint64_t> bits_within(std::uint64_t memory) const noexcept {
    const std::uint64_t block_bytes = block_bits() / 8;
    if (memory < block_bytes) return fail(errc::bad_memory, {}, {memory, block_bytes});
    return memory / block_bytes * block_bits();
  }
  [[nodiscard]] double fpr(std::uint64_t keys, std::uint64_t bits, unsigned hashes) const noexcept {
    return blocked_fpr(lane_bits(), hashes)(keys, bits / block_bits());
  }
};

// Partitions: runs of whole lines, one for each of several threads. A block of split64 is a line, one of split32 half a
// line.
class block_partition {
 public:
  block_partition(block_layout layout, std::uint64_t blocks, unsigned parts) noexcept
      : blocks_(blocks), halves_(layout == block_layout::split32) {
    const std::uint64_t lines = halves_ ? (blocks + 1) / 2 : blocks;
    // parts * 2^64 / lines, rounded down, so that the last line stays below `parts`; with few lines, one to a
    // partition.
    const uint128 scale = (static_cast<uint128>(parts) << 64U) / (lines == 0 ? 1 : lines);
    scale_ = lines <= parts ? ~std::uint64_t{0} : static_cast<std::uint64_t>(scale);
  }
  [[nodiscard]] unsigned of(std::uint64_t digest) const noexcept {
    const std::uint64_t line =
        halves_ ? kernels::split32::block(digest, blocks_) / 2 : kernels::split64::block(digest, blocks_);
    return static_cast<unsigned>(fast_range(line, scale_));
  }

 private:
  std::uint64_t blocks_;
  std::uint64_t scale_ = 0;
  bool halves_;
};

}  // namespace bloomery::inline BLOOMERY_ABI

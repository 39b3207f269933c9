// kinds/counting/layout.hpp: the two layouts of kind counting, and their sizes.
#pragma once

#include <bloomery/kernels/counting.hpp>
#include <bloomery/kinds/blocked/fpr.hpp>
#include <bloomery/sizing/sizing.hpp>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

enum class counter_layout : std::uint8_t { spread = 0, line = 1 };

// The sizing model of one layout; see sizing/sizing.hpp. Sizes are bits of memory, four to a counter.
struct counting_model {
  static constexpr std::string_view name = "counting";
  static constexpr unsigned cell_bits = kernels::counter_bits;
  counter_layout layout = counter_layout::spread;

  [[nodiscard]] static constexpr unsigned min_hashes() noexcept { return 1; }
  [[nodiscard]] unsigned max_hashes() const noexcept { return layout == counter_layout::spread ? 64 : 16; }
  // What a size is a multiple of: a counter, or a line of 64 bytes.
  [[nodiscard]] std::uint64_t unit_bits() const noexcept { return layout == counter_layout::spread ? cell_bits : 512; }
  [[nodiscard]] std::uint64_t min_units() const noexcept { return layout == counter_layout::spread ? 8 : 1; }
  [[nodiscard]] std::uint64_t round_bits(std::uint64_t bits) const noexcept {
    const std::uint64_t units = bits / unit_bits() + (bits % unit_bits() != 0 ? 1 : 0);
    return (units < min_units() ? min_units() : units) * unit_bits();
  }
  [[nodiscard]] static std::uint64_t memory_bytes(std::uint64_t bits) noexcept { return (bits + 63) / 64 * 8; }
  [[nodiscard]] result<std::uint64_t> bits_within(std::uint64_t memory) const noexcept {
    const std::uint64_t step = layout == counter_layout::spread ? 8 : 64;
    if (memory < step) return fail(errc::bad_memory, {}, {memory, step});
    return memory / step * step * 8;
  }
  [[nodiscard]] double fpr(std::uint64_t keys, std::uint64_t bits, unsigned hashes) const noexcept {
    if (layout == counter_layout::spread) return sizing::classic_fpr(keys, bits / cell_bits, hashes);
    return blocked_fpr(kernels::counters_a_word, hashes)(keys, bits / unit_bits());
  }
};

BLOOMERY_API result<counter_layout> find_counter_layout(std::string_view name) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/counting/layout.cpp>
#endif

#include <bit>
#include <bloomery/compat/leveldb/window_solver.hpp>
#include <cstring>

namespace bloomery::inline BLOOMERY_ABI::leveldb {

namespace detail {

class window_maker {
 public:
  window_maker(window_system& system, std::span<const std::uint64_t> digests, const window_shape& shape) noexcept
      : system_(system), kernels_(active_kernels<kernels::gf2_kernels>()), shape_(shape) {
    for (const std::uint64_t digest : digests) {
      const bool late = is_late(digest, shape);
      early_ += late ? 0 : 1;
      late_ += late ? 1 : 0;
      system_.digests[late ? system_.digests.size() - late_ : early_ - 1] = digest;
    }
  }

  bool solve(std::span<std::byte> out) noexcept {
    if (late_ > window_system::most_late) return false;
    for (std::uint32_t base = 0; base < 2; ++base) {
      shape_.seed = base;
      if (!eliminate()) continue;
      express_slots();
      for (std::uint32_t seed = base; seed < window_seeds; seed += 2) {
        shape_.seed = seed;
        if (!insert_late()) continue;
        write(out);
        return true;
      }
    }
    return false;
  }

 private:
  [[nodiscard]] std::uint64_t fingerprint(std::uint64_t digest) const noexcept {
    return digest & ((std::uint64_t{1} << shape_.slot_bits) - 1);
  }
  bool eliminate() noexcept {
    const unsigned words = (shape_.slots + 3 + shape_.slot_bits + 63) / 64;
    if (words == 1) write_rows<1>();
    if (words == 2) write_rows<2>();
    if (words == 3) write_rows<3>();
    if (words == 4) write_rows<4>();
    return kernels_.reduce[words - 1](system_.rows.data(), early_, shape_.slots, system_.pivots.data());
  }
  template <unsigned Words>
  void write_rows() noexcept {
    for (unsigned i = 0; i < early_; ++i) {
      // One word more, in which no bit is set.
      std::array<std::uint64_t, Words + 1> row{};
      const auto add = [&row](std::uint64_t bits, unsigned at) {
        row[at / 64] ^= bits << (at % 64);
        if constexpr (Words > 1) row[at / 64 + 1] ^= bits >> 1U >> (63 - at % 64);
      };
      const std::uint64_t digest = system_.digests[i];
      const window_key key(window_hash(digest), false, shape_.seed);
      const unsigned mask = key.mask(shape_.slot_bits);
      for (unsigned window = 0; window < windows_of_key; ++window) add(mask, key.first_slot(window, shape_.slots));
      add(fingerprint(digest), shape_.slots + 3);
      for (unsigned w = 0; w < Words; ++w) system_.rows[w * kernels::gf2_stride + i] = row[w];
    }
  }
  // Each slot as a sum: bits for the free columns, then for the slots behind the end, then a value. The first 32 columns
  // without a pivot are free; others are 0.
  void express_slots() noexcept {
    std::array<bool, window_system::most_bits> has_pivot{};
    for (unsigned i = 0; i < early_; ++i) has_pivot[system_.pivots[i]] = true;
    free_ = 0;
    for (unsigned c = 0; c < shape_.slots; ++c) {
      system_.slots[c] = 0;
      if (has_pivot[c] || free_ == window_system::most_late) continue;
      system_.slots[c] = std::uint64_t{1} << free_;
      system_.columns[free_++] = static_cast<std::uint16_t>(c);
    }
    for (unsigned i = 0; i < 3; ++i) system_.slots[shape_.slots + i] = std::uint64_t{1} << (free_ + i);
    const unsigned rest = 3 + shape_.slot_bits;
    for (unsigned i = 0; i < rest; ++i) system_.columns[free_ + i] = static_cast<std::uint16_t>(shape_.slots + i);
    kernels_.gather(system_.rows.data(), early_, system_.columns.data(), free_ + rest, system_.sums.data());
    for (unsigned i = 0; i < early_; ++i) system_.slots[system_.pivots[i]] = system_.sums[i];
  }
  bool insert_late() noexcept {
    for (unsigned i = 0; i < late_; ++i) {
      const std::uint64_t digest = system_.digests[system_.digests.size() - 1 - i];
      const window_key key(window_hash(digest), true, shape_.seed);
      const std::uint64_t mask = key.mask(shape_.slot_bits);
      std::uint64_t sum = fingerprint(digest) << (free_ + 3);
      for (unsigned window = 0; window < windows_of_key; ++window) {
        const std::uint64_t* const slot = system_.slots.data() + key.first_slot(window, shape_.slots);
        sum ^= slot[0];
        for (unsigned k = 1; k < window_slots; ++k) sum ^= slot[k] & (0 - (mask >> k & 1U));
      }
      system_.late_rows[i] = sum;
    }
    return kernels_.reduce[0](system_.late_rows.data(), late_, free_, system_.late_pivots.data());
  }
  void write(std::span<std::byte> out) noexcept {
    const unsigned r = shape_.slot_bits;
    // The slots behind the end are read from what is behind the end: unused bits, which are 0, and the last byte.
    const std::uint64_t end = std::uint64_t{shape_.code()} << (8 * shape_.size_bytes - shape_.slots * r);
    for (unsigned i = 0; i < free_; ++i) system_.values[i] = 0;
    for (unsigned i = 0; i < 3; ++i) system_.values[free_ + i] = end >> i * r & ((std::uint64_t{1} << r) - 1);
    kernels_.combine(system_.late_rows.data(), late_, system_.values.data(), free_ + 3, system_.late_values.data());
    for (unsigned i = 0; i < late_; ++i) system_.values[system_.late_pivots[i]] = system_.late_values[i];
    kernels_.combine(system_.slots.data(), shape_.slots, system_.values.data(), free_ + 3, system_.sums.data());

    // Eight bytes are written at a time, up to seven behind the last slot.
    std::uint64_t bits = 0;
    unsigned count = 0;
    std::byte* at = system_.bytes.data();
    for (unsigned c = 0; c < shape_.slots; ++c) {
      bits |= system_.sums[c] << count;
      count += r;
      store_le(at, bits);
      at += count / 8;
      bits >>= count / 8 * 8;
      count %= 8;
    }
    const auto written = static_cast<std::size_t>(at - system_.bytes.data()) + (count != 0 ? 1 : 0);
    std::memset(out.data(), 0, out.size());
    std::memcpy(out.data(), system_.bytes.data(), written);
    out.back() = static_cast<std::byte>(shape_.code());
  }

  window_system& system_;
  const kernels::gf2_kernels& kernels_;
  window_shape shape_;
  unsigned early_ = 0;
  unsigned late_ = 0;
  unsigned free_ = 0;
};

}  // namespace detail

BLOOMERY_BODY bool solve_windows(window_system& system, std::span<const std::uint64_t> digests, window_shape shape,
                                 std::span<std::byte> out) noexcept {
  return detail::window_maker(system, digests, shape).solve(out);
}

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb

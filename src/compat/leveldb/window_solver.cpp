#include <bit>
#include <bloomery/compat/leveldb/window_solver.hpp>
#include <cstring>

namespace bloomery::inline BLOOMERY_ABI::leveldb {

namespace detail {

class window_maker {
 public:
  window_maker(window_system& system, std::span<const std::uint64_t> digests, const window_shape& shape) noexcept
      : system_(system), digests_(digests), shape_(shape) {}

  bool solve(std::span<std::byte> out) noexcept {
    sort_late();
    if (late() > window_system::most_late) return false;
    for (std::uint32_t base = 0; base < 2; ++base) {
      shape_.seed = base;
      if (!eliminate()) continue;
      note_columns();
      for (std::uint32_t seed = base; seed < window_seeds; seed += 2) {
        shape_.seed = seed;
        if (insert_late()) {
          write(out);
          return true;
        }
      }
    }
    return false;
  }

 private:
  using row = std::array<std::uint64_t, window_system::words>;
  static bool bit_of(const row& r, unsigned bit) noexcept { return (r[bit / 64] >> (bit % 64) & 1U) != 0; }
  static void flip(row& r, unsigned bit) noexcept { r[bit / 64] ^= std::uint64_t{1} << (bit % 64); }
  [[nodiscard]] unsigned late() const noexcept { return static_cast<unsigned>(digests_.size()) - early_; }
  [[nodiscard]] std::uint64_t fingerprint(std::uint64_t digest) const noexcept {
    return digest & ((std::uint64_t{1} << shape_.slot_bits) - 1);
  }

  void sort_late() noexcept {
    early_ = 0;
    unsigned last = static_cast<unsigned>(digests_.size());
    for (std::uint32_t i = 0; i < digests_.size(); ++i) {
      system_.order[is_late(digests_[i], shape_) ? --last : early_++] = i;
    }
  }
  template <class F>
  void for_each_column(std::uint64_t digest, bool is_late, F&& f) const noexcept {
    const window_key key(window_hash(digest), is_late, shape_.seed);
    const unsigned mask = key.mask(shape_.slot_bits);
    for (unsigned i = 0; i < windows_of_key; ++i) {
      const unsigned first = key.first_slot(i, shape_.slots);
      for (unsigned k = 0; k < window_slots; ++k) {
        if ((mask >> k & 1U) != 0) f(first + k);
      }
    }
  }
  // To the reduced row echelon form, which does not depend on the order of the rows.
  bool eliminate() noexcept {
    for (unsigned i = 0; i < early_; ++i) {
      row& r = system_.rows[i];
      r = {};
      const std::uint64_t digest = digests_[system_.order[i]];
      for_each_column(digest, false, [&r](unsigned column) { flip(r, column); });
      for (unsigned b = 0; b < shape_.slot_bits; ++b) {
        if ((digest >> b & 1U) != 0) flip(r, shape_.slots + 3 + b);
      }
    }
    for (unsigned i = 0; i < early_; ++i) {
      unsigned pivot = 0;
      while (pivot < shape_.slots && !bit_of(system_.rows[i], pivot)) ++pivot;
      if (pivot == shape_.slots) return false;
      system_.pivot_of[i] = static_cast<std::uint16_t>(pivot);
      for (unsigned j = 0; j < early_; ++j) {
        if (j == i || !bit_of(system_.rows[j], pivot)) continue;
        for (unsigned w = 0; w < window_system::words; ++w) system_.rows[j][w] ^= system_.rows[i][w];
      }
    }
    return true;
  }
  // The first 32 columns without a pivot are free; others are 0.
  void note_columns() noexcept {
    std::array<bool, window_system::most_rows> has_pivot{};
    for (unsigned i = 0; i < early_; ++i) has_pivot[system_.pivot_of[i]] = true;
    free_ = 0;
    for (unsigned c = 0; c < shape_.slots; ++c) {
      system_.column[c] = 0;
      if (has_pivot[c] || free_ == window_system::most_late) continue;
      free_columns_[free_] = static_cast<std::uint16_t>(c);
      system_.column[c] = std::uint64_t{1} << free_++;
    }
    for (unsigned k = 0; k < 3; ++k) system_.column[shape_.slots + k] = std::uint64_t{1} << (48 + k);
    for (unsigned i = 0; i < early_; ++i) {
      const row& r = system_.rows[i];
      std::uint64_t value = 0;
      for (unsigned f = 0; f < free_; ++f) value |= std::uint64_t{bit_of(r, free_columns_[f])} << f;
      for (unsigned b = 0; b < shape_.slot_bits; ++b)
        value |= std::uint64_t{bit_of(r, shape_.slots + 3 + b)} << (32 + b);
      for (unsigned k = 0; k < 3; ++k) value |= std::uint64_t{bit_of(r, shape_.slots + k)} << (48 + k);
      system_.column[system_.pivot_of[i]] = value;
    }
  }
  bool insert_late() noexcept {
    const unsigned count = late();
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t digest = digests_[system_.order[early_ + i]];
      std::uint64_t sum = fingerprint(digest) << 32U;
      for_each_column(digest, true, [&](unsigned column) { sum ^= system_.column[column]; });
      system_.late[i] = sum;
    }
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t r = system_.late[i];
      if (static_cast<std::uint32_t>(r) == 0) return false;
      const std::uint64_t lowest = r & (0 - r);
      for (unsigned j = 0; j < count; ++j) {
        if (j != i && (system_.late[j] & lowest) != 0) system_.late[j] ^= r;
      }
    }
    return true;
  }
  void write(std::span<std::byte> out) noexcept {
    std::memset(out.data(), 0, out.size());
    out.back() = static_cast<std::byte>(shape_.code());
    // The slots behind the end are read from what is behind the end: unused bits, which are 0, and the last byte.
    const unsigned r = shape_.slot_bits;
    std::array<std::uint64_t, 3> behind{};
    const std::uint64_t end = std::uint64_t{shape_.code()} << (8 * shape_.size_bytes - shape_.slots * r);
    for (unsigned k = 0; k < 3; ++k) behind[k] = end >> k * r & ((std::uint64_t{1} << r) - 1);
    const auto known = [&behind](std::uint64_t value) {
      std::uint64_t sum = value >> 32U & 0xffffU;
      for (unsigned k = 0; k < 3; ++k) sum ^= (value >> (48 + k) & 1U) != 0 ? behind[k] : 0;
      return sum;
    };
    std::array<std::uint64_t, window_system::most_late> free_value{};
    for (unsigned i = 0; i < late(); ++i) {
      const std::uint64_t value = system_.late[i];
      free_value[static_cast<unsigned>(std::countr_zero(value))] = known(value);
    }
    std::array<bool, window_system::most_rows> has_pivot{};
    for (unsigned i = 0; i < early_; ++i) has_pivot[system_.pivot_of[i]] = true;
    for (unsigned c = 0; c < shape_.slots; ++c) {
      std::uint64_t value = has_pivot[c] ? known(system_.column[c]) : 0;
      for (unsigned f = 0; f < free_; ++f) {
        if ((system_.column[c] >> f & 1U) != 0) value ^= free_value[f];
      }
      for (unsigned b = 0; b < r; ++b) {
        const unsigned bit = c * r + b;
        if ((value >> b & 1U) != 0) out[bit / 8] |= std::byte{1} << (bit % 8);
      }
    }
  }

  window_system& system_;
  std::span<const std::uint64_t> digests_;
  window_shape shape_;
  unsigned early_ = 0;
  unsigned free_ = 0;
  std::array<std::uint16_t, window_system::most_late> free_columns_{};
};

}  // namespace detail

BLOOMERY_BODY bool solve_windows(window_system& system, std::span<const std::uint64_t> digests, window_shape shape,
                                 std::span<std::byte> out) noexcept {
  return detail::window_maker(system, digests, shape).solve(out);
}

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb

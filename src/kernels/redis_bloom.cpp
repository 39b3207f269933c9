#include <algorithm>
#include <array>
#include <bloomery/kernels/redis_bloom.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {
namespace detail {

// Positions of a key that one step keeps. More hash functions than that are rare: FPRs below 2^-16.
inline constexpr std::size_t redis_step = 16;
// Filters that the caches near the processor hold: prefetching them takes as long as reading.
inline constexpr std::uint64_t redis_near_bytes = std::uint64_t{1} << 16U;
// Filters that the caches hold: what is left after the first positions is read key by key, which the processor overlaps.
inline constexpr std::uint64_t redis_cached_bytes = std::uint64_t{2} << 20U;

inline bool redis_bit_is_set(const std::byte* bytes, std::uint64_t bit) noexcept {
  return (bytes[bit / 8] >> (bit % 8) & std::byte{1}) != std::byte{0};
}

// The keys of a wave that no bit has refuted yet.
struct redis_left {
  std::array<std::uint64_t, redis_wave> next;  // the sum of which the next position is the remainder
  std::array<std::uint64_t, redis_wave> step;
  std::array<std::uint8_t, redis_wave> key;
  std::size_t count = 0;
};

// Reads `Probes` further positions of each key that is left, and keeps those whose bits are set.
template <std::size_t Probes>
void redis_probe(const redis_bits& in, const divisor& by, redis_left& left) noexcept {
  std::array<std::array<std::uint64_t, Probes>, redis_wave> bit;
  const bool far = in.size_bytes > redis_near_bytes;
  for (std::size_t i = 0; i < left.count; ++i) {
    std::uint64_t x = left.next[i];
    for (std::size_t n = 0; n < Probes; ++n, x += left.step[i]) {
      bit[i][n] = by.remainder_of(x);
      if (far) __builtin_prefetch(in.bytes + bit[i][n] / 8);
    }
    left.next[i] = x;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < left.count; ++i) {
    bool all = true;
    for (std::size_t n = 0; n < Probes; ++n) all &= redis_bit_is_set(in.bytes, bit[i][n]);
    left.next[kept] = left.next[i];
    left.step[kept] = left.step[i];
    left.key[kept] = left.key[i];
    kept += all ? 1 : 0;
  }
  left.count = kept;
}

// Reads all further positions of the keys that are left, one key after the other.
inline std::uint64_t redis_read_rest(const redis_bits& in, const divisor& by, const redis_left& left,
                                     std::uint64_t done) noexcept {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < left.count; ++i) {
    std::uint64_t x = left.next[i];
    std::uint64_t n = done;
    for (; n < in.hashes && redis_bit_is_set(in.bytes, by.remainder_of(x)); ++n) x += left.step[i];
    mask |= std::uint64_t{n == in.hashes ? 1U : 0U} << left.key[i];
  }
  return mask;
}

}  // namespace detail

BLOOMERY_BODY std::uint64_t redis_contains_wave(const redis_bits& in, std::span<const digest128> keys) noexcept {
  const divisor by(in.modulus);
  detail::redis_left left;
  left.count = keys.size();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    left.next[i] = keys[i].low;
    left.step[i] = keys[i].high;
    left.key[i] = static_cast<std::uint8_t>(i);
  }
  std::uint64_t done = 0;
  if (in.size_bytes <= detail::redis_cached_bytes && in.hashes >= 2) {
    detail::redis_probe<2>(in, by, left);
    return detail::redis_read_rest(in, by, left, 2);
  }
  for (; done < 4 && done + 2 <= in.hashes && left.count != 0; done += 2) detail::redis_probe<2>(in, by, left);
  for (; done + 4 <= in.hashes && left.count != 0; done += 4) detail::redis_probe<4>(in, by, left);
  for (; done < in.hashes && left.count != 0; ++done) detail::redis_probe<1>(in, by, left);
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < left.count; ++i) mask |= std::uint64_t{1} << left.key[i];
  return mask;
}

BLOOMERY_BODY redis_inserted redis_insert_wave(const redis_bits& into, std::span<const digest128> keys,
                                               std::uint64_t room) noexcept {
  constexpr std::size_t step = detail::redis_step;
  const divisor by(into.modulus);
  const std::uint64_t stored = std::min<std::uint64_t>(into.hashes, step);
  const bool far = into.size_bytes > detail::redis_near_bytes;
  std::array<std::array<std::uint64_t, step>, redis_wave> bits;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::uint64_t x = keys[i].low;
    for (std::size_t n = 0; n < stored; ++n, x += keys[i].high) {
      bits[i][n] = by.remainder_of(x);
      if (far) __builtin_prefetch(into.bytes + bits[i][n] / 8, 1);
    }
  }
  redis_inserted done;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (room == 0) {
      if (!redis_contains(into, keys[i])) break;
      ++done.taken;
      continue;
    }
    std::byte clear{0};
    const auto set = [&](std::uint64_t bit) {
      const std::byte mask = std::byte{1} << (bit % 8);
      clear |= ~into.bytes[bit / 8] & mask;
      into.bytes[bit / 8] |= mask;
    };
    for (std::size_t n = 0; n < stored; ++n) set(bits[i][n]);
    std::uint64_t x = keys[i].low + stored * keys[i].high;
    for (std::uint64_t n = stored; n < into.hashes; ++n, x += keys[i].high) set(by.remainder_of(x));
    const bool is_new = clear != std::byte{0};
    done.fresh |= std::uint64_t{is_new ? 1U : 0U} << i;
    room -= is_new ? 1 : 0;
    ++done.taken;
  }
  return done;
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

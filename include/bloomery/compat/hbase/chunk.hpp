// compat/hbase/chunk.hpp: one chunk of HBase's compound Bloom filter: its size, its bits, folding and union.
//
//     auto shape = bloomery::hbase::shape_by_size(131072, 0.01F, 7);     // as HBase makes its chunks
//     std::vector<std::byte> bits(shape->size_bytes);
//     bloomery::hbase::set(bits, shape->hashes, digest);                 // of hbase_murmur and the like (hash/hbase.hpp)
//     bloomery::hbase::may_contain(bits, shape->hashes, digest);
//     shape = bloomery::hbase::fold(bits, *shape, keys);                 // when it is closed with few keys in it
//
// What it is    a Bloom filter by double hashing in 32 bits: bit |(h1 + i h2) rem m|, where the sum wraps and m is 8 times
//               the bytes of this chunk; bit i in byte i / 8, from its lowest bit on. Nothing else is stored in a chunk:
//               hash functions, hash and first keys are in the meta block of its file.
// Folding       halving: bit b becomes bit b modulo the new size, which every key's bits still are, since the old m is a
//               multiple of the new one. HBase chooses sizes that can be halved `max_fold` times.
// Limits        m fits into 31 bits.
// Threads       any number of readers.
#pragma once

#include <bloomery/core/result.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/hash/digest.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomery::inline BLOOMERY_ABI::hbase {

enum class hash_type : std::uint8_t { jenkins = 0, murmur = 1, murmur3 = 2 };

struct chunk_shape {
  std::uint64_t size_bytes = 0;
  unsigned hashes = 0;
  std::uint64_t max_keys = 0;
};

inline constexpr std::uint64_t max_chunk_bytes = (std::uint64_t{1} << 28U) - 1;
inline constexpr std::uint64_t default_chunk_bytes = 131072;  // io.storefile.bloom.block.size
inline constexpr unsigned default_max_fold = 7;               // io.storefile.bloom.max.fold
inline constexpr unsigned most_fold = 20;
inline constexpr unsigned most_hashes = 255;  // what HBase makes has 7 or 8

// What a file of type ROWCOL is built with, so that its two look-ups together keep the error rate.
inline float rowcol_error_rate(float error_rate) noexcept {
  return static_cast<float>(1.0 - std::sqrt(static_cast<double>(1.0F - error_rate)));
}

namespace detail {
inline constexpr double ln2 = 0.69314718055994530942;

// The size as whole bytes that can be halved so often.
constexpr std::uint64_t foldable_bytes(std::uint64_t bits, unsigned max_fold) noexcept {
  const std::uint64_t bytes = (bits + 7) / 8;
  const std::uint64_t unit = std::uint64_t{1} << max_fold;
  return (bytes + unit - 1) / unit * unit;
}
// The quotient is a whole number there, before it is multiplied.
inline double hashes_of(std::uint64_t bits, std::uint64_t keys) noexcept {
  const std::uint64_t whole_bits_per_key = bits / keys;
  return std::ceil(ln2 * static_cast<double>(whole_bits_per_key));
}
inline result<void> check_request(double error_rate, unsigned max_fold) noexcept {
  if (!(error_rate > 0.0 && error_rate < 1.0)) return fail(errc::unsupported, "an error rate is between 0 and 1");
  if (max_fold > most_fold) return fail(errc::bad_field, "number of foldings", {max_fold});
  return {};
}
inline result<chunk_shape> checked(std::uint64_t size_bytes, double hashes, double max_keys) noexcept {
  if (size_bytes > max_chunk_bytes) return fail(errc::bad_field, "bytes of a chunk", {size_bytes});
  if (!(hashes >= 1.0 && hashes <= static_cast<double>(most_hashes))) {
    return fail(errc::bad_field, "number of hash functions", {hashes >= 1.0 ? std::uint64_t{most_hashes} + 1 : 0});
  }
  if (!(max_keys >= 1.0)) return fail(errc::unsupported, "a chunk of this size has no room for a key at this rate");
  return chunk_shape{size_bytes, static_cast<unsigned>(hashes), static_cast<std::uint64_t>(max_keys)};
}
}  // namespace detail

// A chunk for so many keys.
inline result<chunk_shape> shape_by_keys(std::uint64_t max_keys, double error_rate, unsigned max_fold) noexcept {
  if (auto usable = detail::check_request(error_rate, max_fold); !usable) return fail(usable.error());
  if (max_keys == 0 || max_keys > 0x7fffffffU) return fail(errc::bad_field, "keys of a chunk", {max_keys});
  const double bits = std::ceil(static_cast<double>(max_keys) * (-std::log(error_rate) / (detail::ln2 * detail::ln2)));
  if (bits > static_cast<double>(max_chunk_bytes * 8)) {
    return fail(errc::bad_field, "bytes of a chunk", {static_cast<std::uint64_t>(bits / 8.0)});
  }
  const auto whole = static_cast<std::uint64_t>(bits);
  return detail::checked(detail::foldable_bytes(whole, max_fold), detail::hashes_of(whole, max_keys),
                         static_cast<double>(max_keys));
}

// A chunk of so many bytes, or a few more: what HBase makes (createBySize).
inline result<chunk_shape> shape_by_size(std::uint64_t size_bytes, double error_rate, unsigned max_fold) noexcept {
  if (auto usable = detail::check_request(error_rate, max_fold); !usable) return fail(usable.error());
  if (size_bytes == 0 || size_bytes > max_chunk_bytes) return fail(errc::bad_field, "bytes of a chunk", {size_bytes});
  const std::uint64_t bytes = detail::foldable_bytes(size_bytes * 8, max_fold);
  const std::uint64_t bits = bytes * 8;
  const auto all = static_cast<double>(bits);
  const double ideal = std::trunc(all * (detail::ln2 * detail::ln2 / -std::log(error_rate)));
  if (ideal < 1.0) return detail::checked(bytes, 1.0, 0.0);
  const double hashes = detail::hashes_of(bits, static_cast<std::uint64_t>(ideal));
  if (hashes < 1.0) return detail::checked(bytes, hashes, 0.0);
  const double keys = std::trunc(-all / hashes * std::log(1.0 - std::exp(std::log(error_rate) / hashes)));
  return detail::checked(bytes, hashes, keys);
}

// The bits of a key, one after the other. `bits` fits into 31 bits and is not 0.
class probes {
 public:
  probes(const digest128& of, std::uint64_t bits) noexcept
      : at_(static_cast<std::uint32_t>(of.low)),
        step_(static_cast<std::uint32_t>(of.high)),
        bits_(static_cast<std::int32_t>(bits)) {}
  std::uint64_t next() noexcept {
    const std::int32_t rest = static_cast<std::int32_t>(at_) % bits_;
    at_ += step_;
    return static_cast<std::uint64_t>(rest < 0 ? -rest : rest);
  }

 private:
  std::uint32_t at_;
  std::uint32_t step_;
  std::int32_t bits_;
};

inline bool test_bit(std::span<const std::byte> bits, std::uint64_t bit) noexcept {
  return (bits[static_cast<std::size_t>(bit / 8)] & std::byte{1} << (bit % 8)) != std::byte{0};
}

inline void set(std::span<std::byte> bits, unsigned hashes, const digest128& key) noexcept {
  probes each(key, bits.size() * 8);
  for (unsigned i = 0; i < hashes; ++i) {
    const std::uint64_t bit = each.next();
    bits[static_cast<std::size_t>(bit / 8)] |= std::byte{1} << (bit % 8);
  }
}

inline bool may_contain(std::span<const std::byte> bits, unsigned hashes, const digest128& key) noexcept {
  if (bits.empty()) return false;
  probes each(key, bits.size() * 8);
  for (unsigned i = 0; i < hashes; ++i) {
    if (!test_bit(bits, each.next())) return false;
  }
  return true;
}

// Halves the chunk while it stays large enough for the keys in it; what is left is at the beginning of `bits`.
inline chunk_shape fold(std::span<std::byte> bits, chunk_shape shape, std::uint64_t keys) noexcept {
  while (keys != 0 && shape.size_bytes % 2 == 0 && shape.max_keys > 2 * keys) {
    shape.size_bytes /= 2;
    shape.max_keys /= 2;
    const auto half = static_cast<std::size_t>(shape.size_bytes);
    for (std::size_t i = 0; i < half; ++i) bits[i] |= bits[half + i];
  }
  return shape;
}

// The union of two chunks of one size: the chunk of all keys of both.
inline result<void> unite(std::span<std::byte> bits, std::span<const std::byte> other) noexcept {
  if (bits.size() != other.size()) return fail(errc::mismatch, "their chunks have different sizes");
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] |= other[i];
  return {};
}

}  // namespace bloomery::inline BLOOMERY_ABI::hbase

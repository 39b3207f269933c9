// kinds/scalable/redis_sub_filter.hpp: one sub-filter of RedisBloom's chain, to the bit: a classic filter with its
// sizing and its probe rule.
//
// For layout `redis` of kind scalable; kinds/scalable/chain.hpp defines what a sub-filter is.
//
// Size          for n keys at FPR e, b = |ln e| / 0.480453013918201 bits a key, floor(n b) bits but at least one,
//               rounded up to whole words of 64; k = ceil(0.693147180559945 b). The constants are ln(2)^2 and ln 2 as
//               that program writes them, and part of the format: another last digit may give another size.
// Positions     of a 128-bit digest (a, b) the bits (a + i b mod 2^64) mod m, i = 0 .. k - 1. For the bits that the
//               program itself would set, a and b are murmur64a_pair of the key (hash/murmur64a.hpp).
// Bytes         m / 8; bit i is bit i mod 8 of byte i / 8.
// FPR           what double hashing gives (kinds/double_hashing.hpp): as requested up to a few percent where that is
//               far above 1 / m, and about 0.4 / m more: twice what was requested at 100 keys and 0.01 %.
#pragma once

#include <algorithm>
#include <bit>
#include <bloomery/kernels/redis_bloom.hpp>
#include <bloomery/kinds/bit_store.hpp>
#include <bloomery/kinds/double_hashing.hpp>
#include <bloomery/kinds/explain.hpp>
#include <cmath>

namespace bloomery::inline BLOOMERY_ABI {

class redis_sub_filter {
 public:
  struct geometry {
    std::uint64_t bits = 0;
    std::uint64_t hashes = 0;
  };
  // The bits of a key, one after the other.
  class probes {
   public:
    probes(const digest128& digest, std::uint64_t bits) noexcept : x_(digest.low), step_(digest.high), bits_(bits) {}
    std::uint64_t next() noexcept {
      const std::uint64_t position = x_ % bits_;
      x_ += step_;
      return position;
    }

   private:
    std::uint64_t x_;
    std::uint64_t step_;
    std::uint64_t bits_;
  };
  // Of a sub-filter whose bits test(position) reads.
  template <class Test>
  static void explain_probes(explanation& out, probes probe, const geometry& size, const explained_part& part,
                             Test&& test) noexcept {
    out.begin({.part = part});
    for (std::uint64_t i = 0; i < size.hashes; ++i) out.add(probe_of_bit(probe.next(), test, part.first_byte));
    out.draw(0, size.bits, test);
    out.end();
  }
  // What a sub-filter delivers that holds so many keys.
  static double expected_fpr(std::uint64_t keys, const geometry& size) noexcept {
    return double_hashing(static_cast<double>(keys), size.bits, size.hashes).fpr();
  }
  static constexpr std::uint64_t max_hashes = 1100;  // the smallest FPR that a double can represent takes 1074

  static result<geometry> size_for(std::uint64_t keys, double rate) noexcept {
    const double bits_a_key = std::fabs(-(std::log(rate) / 0.480453013918201));
    const double bits = static_cast<double>(keys) * bits_a_key;
    if (!(bits < static_cast<double>(max_filter_bits))) return sizing::too_large("scalable", bits);
    const std::uint64_t whole = bits < 1 ? 1 : static_cast<std::uint64_t>(bits);
    return geometry{(whole + 63) / 64 * 64, static_cast<std::uint64_t>(std::ceil(0.693147180559945 * bits_a_key))};
  }

  static result<redis_sub_filter> make(const filter_params& params) noexcept {
    const auto size = size_for(*params.keys, *params.fpr);
    if (!size) return fail(size.error());
    auto store = bit_store::make(size->bits / 64, "the filter", params.memory);
    if (!store) return fail(store.error());
    return redis_sub_filter(*size, std::move(*store));
  }
  // From `memory`, or from where its own came.
  [[nodiscard]] result<redis_sub_filter> clone(const memory_hooks* memory = nullptr) const noexcept {
    auto store = store_.clone("a copy of the filter", memory);
    if (!store) return fail(store.error());
    return redis_sub_filter(size_, std::move(*store));
  }

  insert_result insert(const digest128& digest) noexcept {
    bool changed = false;
    probes probe(digest, size_.bits);
    for (std::uint64_t i = 0; i < size_.hashes; ++i) {
      const std::uint64_t position = probe.next();
      changed |= store_.set(position / 64, std::uint64_t{1} << (position % 64));
    }
    return changed ? insert_result::inserted : insert_result::present;
  }
  [[nodiscard]] bool may_contain(const digest128& digest) const noexcept {
    probes probe(digest, size_.bits);
    for (std::uint64_t i = 0; i < size_.hashes; ++i) {
      const std::uint64_t position = probe.next();
      if (!store_.test(position / 64, std::uint64_t{1} << (position % 64))) return false;
    }
    return true;
  }
  // What a look-up reads, as a part of a chain: see kinds/explain.hpp.
  void explain_part(explanation& out, const digest128& digest, const explained_part& part) const noexcept {
    const auto test = [this](std::uint64_t bit) { return store_.test(bit / 64, std::uint64_t{1} << (bit % 64)); };
    explain_probes(out, probes(digest, size_.bits), size_, part, test);
  }
  std::uint64_t add_batch(std::span<const digest128> digests) noexcept {
    std::uint64_t inserted = 0;
    for (std::size_t first = 0; first < digests.size(); first += kernels::redis_wave) {
      const auto wave = digests.subspan(first, std::min(kernels::redis_wave, digests.size() - first));
      inserted +=
          static_cast<std::uint64_t>(std::popcount(kernels::redis_insert_wave(bits_view(), wave, max_keys).fresh));
    }
    return inserted;
  }
  void may_contain_batch(std::span<const digest128> digests, std::span<std::uint64_t> mask) const noexcept {
    static_assert(kernels::redis_wave == 64);
    for (std::size_t first = 0; first < digests.size(); first += kernels::redis_wave) {
      const auto wave = digests.subspan(first, std::min(kernels::redis_wave, digests.size() - first));
      mask[first / 64] = kernels::redis_contains_wave(bits_view(), wave);
    }
  }
  result<void> merge(const redis_sub_filter& other) noexcept {
    if (size_.bits != other.size_.bits || size_.hashes != other.size_.hashes) {
      return fail(errc::mismatch, "their sub-filters differ in size");
    }
    store_.unite(other.store_);
    return {};
  }
  void clear() noexcept { store_.clear(); }
  friend bool operator==(const redis_sub_filter& a, const redis_sub_filter& b) noexcept {
    return a.size_.bits == b.size_.bits && a.size_.hashes == b.size_.hashes && a.store_ == b.store_;
  }

  [[nodiscard]] std::uint64_t bits() const noexcept { return size_.bits; }
  [[nodiscard]] std::uint64_t hashes() const noexcept { return size_.hashes; }
  [[nodiscard]] double fill() const noexcept {
    return size_.bits == 0 ? 0.0 : static_cast<double>(store_.count_set()) / static_cast<double>(size_.bits);
  }
  [[nodiscard]] double fpr_now() const noexcept {
    return size_.bits == 0 ? 0.0 : double_hashing(estimated_keys(), size_.bits, size_.hashes).fpr(fill());
  }
  [[nodiscard]] double expected_fpr(std::uint64_t keys) const noexcept { return expected_fpr(keys, size_); }
  [[nodiscard]] double estimated_keys() const noexcept {
    const double m = static_cast<double>(size_.bits);
    const double set_bits = std::min(static_cast<double>(store_.count_set()), m - 0.5);  // full: a lower bound
    return std::log1p(-set_bits / m) / std::log1p(-1.0 / m) / static_cast<double>(size_.hashes);
  }

  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return store_.bytes(); }
  [[nodiscard]] stored_shape shape() const noexcept {
    return {.digest_bits = 128, .field = {size_.bits, size_.hashes}};
  }
  static result<std::uint64_t> payload_bytes(const stored_shape& shape) noexcept {
    if (shape.field[0] < 64 || shape.field[0] > max_filter_bits || shape.field[0] % 64 != 0) {
      return fail(errc::bad_field, "bits of a sub-filter", {shape.field[0]});
    }
    if (shape.field[1] < 1 || shape.field[1] > max_hashes) {
      return fail(errc::bad_field, "hash functions of a sub-filter", {shape.field[1]});
    }
    return shape.field[0] / 8;
  }
  static result<redis_sub_filter> view(const stored_shape& shape, std::span<const std::byte> bytes) noexcept {
    const auto expected = payload_bytes(shape);
    if (!expected) return fail(expected.error());
    if (*expected != bytes.size()) return fail(errc::truncated, {}, {bytes.size(), *expected});
    return redis_sub_filter({shape.field[0], shape.field[1]}, bit_store::view(bytes));
  }
  template <class F>
  void for_each_touched(const digest128& digest, F&& f) const {
    // An explanation draws all of a small one.
    if (size_.bits <= explanation::max_cells) return f(std::uint64_t{0}, size_.bits / 8);
    probes probe(digest, size_.bits);
    for (std::uint64_t i = 0; i < size_.hashes; ++i) f(probe.next() / 64 * 8, std::uint64_t{8});
  }

 private:
  // Written through only by inserts, of which a view has none.
  [[nodiscard]] kernels::redis_bits bits_view() const noexcept {
    auto* const bytes = reinterpret_cast<std::byte*>(const_cast<std::uint64_t*>(store_.data()));
    return {bytes, store_.words() * 8, size_.bits, size_.hashes};
  }
  redis_sub_filter(const geometry& size, bit_store store) noexcept : size_(size), store_(std::move(store)) {}

  geometry size_;
  bit_store store_;
};

}  // namespace bloomery::inline BLOOMERY_ABI

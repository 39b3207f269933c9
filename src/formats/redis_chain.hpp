// src/formats/redis_chain.hpp: RedisBloom's chain of Bloom filters: what its headers state of it, and the chains that
// are no filter of kind scalable.
//
// Such are: sub-filters of sizes rounded to powers of two and chains with 32-bit hashes, both from before 2019, and
// whatever does not follow from the first sub-filter by the product's own rule. They are queried and filled sub-filter
// by sub-filter, as the product does it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/core/aligned_list.hpp>
#include <bloomery/formats.hpp>
#include <bloomery/hash/murmur2.hpp>
#include <bloomery/hash/murmur64a.hpp>
#include <bloomery/kinds/scalable/redis_sub_filter.hpp>
#include <cmath>
#include <memory>

#include "src/formats/rdb.hpp"
#include "src/formats/sizes.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats::redisbloom {

inline constexpr std::string_view name = "redisbloom";

// The options of a chain.
inline constexpr std::uint32_t no_rounding = 1;
inline constexpr std::uint32_t keys_are_bits = 2;  // the capacity of a new sub-filter is log2 of its bits
inline constexpr std::uint32_t hashes_64 = 4;
inline constexpr std::uint32_t no_scaling = 8;
inline constexpr std::uint32_t known_options = no_rounding | keys_are_bits | hashes_64 | no_scaling;

// The product halves the FPR from sub-filter to sub-filter, and a double can be halved 1,074 times before it is 0.
inline constexpr std::uint64_t max_chain_sub_filters = 1100;

inline double bits_per_key_at(double rate) noexcept { return std::fabs(-(std::log(rate) / 0.480453013918201)); }
inline double hashes_at(double bits_per_key) noexcept { return std::ceil(0.693147180559945 * bits_per_key); }

struct sub_filter_record {
  std::uint64_t size_bytes = 0;
  std::uint64_t bits = 0;
  std::uint64_t keys = 0;
  double rate = 0;
  double bits_per_key = 0;
  std::uint64_t hashes = 0;
  std::uint64_t capacity = 0;
  std::uint64_t log2_bits = 0;  // 0: not rounded

  [[nodiscard]] std::uint64_t modulus() const noexcept { return log2_bits == 0 ? bits : std::uint64_t{1} << log2_bits; }
  friend bool operator==(const sub_filter_record&, const sub_filter_record&) = default;
};

struct chain_record {
  std::uint64_t keys = 0;
  std::uint64_t sub_filters = 0;
  std::uint64_t options = 0;
  std::uint64_t growth = 2;

  [[nodiscard]] bool scales() const noexcept { return (options & no_scaling) == 0; }
  [[nodiscard]] hash_spec hash() const noexcept {
    return {.id = (options & hashes_64) != 0 ? paired_murmur64a::info.id : paired_murmur2::info.id};
  }
};

// How many bits a sub-filter of the oldest encoding has, which does not state it; 0 where there cannot be so many.
inline std::uint64_t bits_in_oldest(const sub_filter_record& sub_filter) noexcept {
  const double bits = static_cast<double>(sub_filter.capacity) * sub_filter.bits_per_key;
  return bits >= 1 && bits < static_cast<double>(max_filter_bits) ? static_cast<std::uint64_t>(bits) : 0;
}

// The product's own checks, no more hash functions than an FPR can require, and no more keys than the bits are for.
// `whole_bytes`: every bit of the bytes is used, as everywhere but in the oldest encoding.
inline result<void> check_sub_filter(const sub_filter_record& sub_filter, bool whole_bytes = true) noexcept {
  if (!(sub_filter.rate > 0.0 && sub_filter.rate < 1.0))
    return bad_header(name, "the rate of a sub-filter is not between 0 and 1");
  if (sub_filter.log2_bits > 63) return fail(errc::bad_field, "n2", {sub_filter.log2_bits});
  if (sub_filter.bits == 0 || sub_filter.size_bytes > max_filter_bits / 8 ||
      sub_filter.bits > sub_filter.size_bytes * 8 || (whole_bytes && sub_filter.bits != sub_filter.size_bytes * 8)) {
    return fail(errc::bad_field, "bits", {sub_filter.bits});
  }
  if (sub_filter.log2_bits != 0 && sub_filter.bits < sub_filter.modulus())
    return fail(errc::bad_field, "n2", {sub_filter.log2_bits});
  if (sub_filter.hashes < 1 || sub_filter.hashes > redis_sub_filter::max_hashes ||
      hashes_at(sub_filter.bits_per_key) != static_cast<double>(sub_filter.hashes)) {
    return fail(errc::bad_field, "number of hash functions", {sub_filter.hashes});
  }
  if (static_cast<double>(sub_filter.capacity) * sub_filter.bits_per_key > 2 * static_cast<double>(sub_filter.bits)) {
    return fail(errc::bad_field, "capacity of a sub-filter", {sub_filter.capacity});
  }
  return {};
}
inline result<void> check_chain(const chain_record& chain) noexcept {
  if (chain.sub_filters == 0 || chain.sub_filters > max_chain_sub_filters) {
    return fail(errc::bad_field, "number of sub-filters", {chain.sub_filters});
  }
  if ((chain.options & ~std::uint64_t{known_options}) != 0) return fail(errc::bad_field, "options", {chain.options});
  if (chain.growth > UINT32_MAX) return fail(errc::bad_field, "growth", {chain.growth});
  return {};
}

// One sub-filter: its numbers and its bits.
struct old_sub_filter {
  sub_filter_record record{};
  aligned_buffer bits{};

  static result<old_sub_filter> make(std::uint64_t capacity, double rate, std::uint64_t options,
                                     const memory_hooks* memory) noexcept;
  [[nodiscard]] bool may_contain(const digest128& key) const noexcept {
    std::uint64_t x = key.low;
    for (std::uint64_t i = 0; i < record.hashes; ++i, x += key.high) {
      const std::uint64_t bit = x % record.modulus();
      if ((bits.data()[bit / 8] >> (bit % 8) & std::byte{1}) == std::byte{0}) return false;
    }
    return true;
  }
  void insert(const digest128& key) noexcept {
    std::uint64_t x = key.low;
    for (std::uint64_t i = 0; i < record.hashes; ++i, x += key.high) {
      const std::uint64_t bit = x % record.modulus();
      bits.data()[bit / 8] |= std::byte{1} << (bit % 8);
    }
    ++record.keys;
  }
  [[nodiscard]] double set_bits() const noexcept {
    std::uint64_t set = 0;
    for (const std::byte byte : bits.bytes())
      set += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(byte)));
    return static_cast<double>(set);
  }
  [[nodiscard]] result<old_sub_filter> clone() const noexcept {
    auto copy = bits.clone("a copy of the filter");
    if (!copy) return fail(copy.error());
    return old_sub_filter{record, std::move(*copy)};
  }
};

// As the product sizes a sub-filter. A capacity that is one of bits, or a rounded size, may be more than 2^63 bits:
// refused.
inline result<old_sub_filter> old_sub_filter::make(std::uint64_t capacity, double rate, std::uint64_t options,
                                                   const memory_hooks* memory) noexcept {
  sub_filter_record made{.rate = rate, .bits_per_key = bits_per_key_at(rate), .capacity = capacity};
  const double wanted = static_cast<double>(capacity) * made.bits_per_key;
  const double most = (options & keys_are_bits) != 0
                          ? std::ldexp(1.0, static_cast<int>(std::min<std::uint64_t>(capacity, 64)))
                          : wanted;
  if (!(rate > 0) || !(most < static_cast<double>(max_filter_bits))) return sizing::too_large("scalable", most);
  std::uint64_t bits = 0;
  if ((options & keys_are_bits) != 0) {
    made.log2_bits = capacity;
    bits = std::uint64_t{1} << capacity;
    made.capacity = static_cast<std::uint64_t>(static_cast<double>(bits) / made.bits_per_key);
  } else if ((options & no_rounding) != 0) {
    bits = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
  } else {
    if (wanted < 1) return fail(errc::bad_field, "bits", {0});
    made.log2_bits = static_cast<std::uint64_t>(std::logb(wanted) + 1);
    bits = std::uint64_t{1} << made.log2_bits;
    const auto spare = static_cast<std::uint64_t>(static_cast<double>(bits) - wanted);
    made.capacity += static_cast<std::uint64_t>(static_cast<double>(spare) / made.bits_per_key);
  }
  made.size_bytes = (bits + 63) / 64 * 8;
  made.bits = made.size_bytes * 8;
  made.hashes = static_cast<std::uint64_t>(hashes_at(made.bits_per_key));
  if (auto usable = check_sub_filter(made); !usable) return fail(usable.error());
  auto buffer = aligned_buffer::make(made.size_bytes, "the filter", memory);
  if (!buffer) return fail(buffer.error());
  return old_sub_filter{made, std::move(*buffer)};
}

class old_chain final : public bloomery::detail::filter_model {
 public:
  static constexpr kind_info kind{.id = first_foreign_id + 64,
                                  .name = "scalable",
                                  .summary = "chain of Bloom filters of an old RedisBloom",
                                  .lines = "one a hash function and sub-filter",
                                  .grows = true,
                                  .takes_digest128 = true,
                                  .fixed_mode = "fixed"};
  static constexpr std::uint64_t most_growth = 32768;  // as the product lets a user choose

  old_chain(const chain_record& head, aligned_list<old_sub_filter> sub_filters, const memory_hooks* memory) noexcept
      : head_(head), sub_filters_(std::move(sub_filters)), memory_(memory) {}
  static result<any_filter> own(const chain_record& head, aligned_list<old_sub_filter> sub_filters,
                                const memory_hooks* memory) noexcept {
    auto self = wrap(head, std::move(sub_filters), memory);
    if (!self) return fail(self.error());
    return any_filter::adopt(std::move(*self), head.hash());
  }
  static const old_chain* in(const any_filter& filter) noexcept {
    return filter.info().id == kind.id ? static_cast<const old_chain*>(&filter.model()) : nullptr;
  }

  [[nodiscard]] chain_record head() const noexcept {
    chain_record now = head_;
    now.keys = keys();
    now.sub_filters = sub_filters_.size();
    return now;
  }
  [[nodiscard]] const aligned_list<old_sub_filter>& sub_filters() const noexcept { return sub_filters_; }

  [[nodiscard]] const kind_info& info() const noexcept override { return kind; }
  [[nodiscard]] bool is_mapped() const noexcept override { return false; }
  [[nodiscard]] stored_shape shape() const noexcept override {
    return {.capacity_keys = capacity(), .fpr = promised(), .keys = keys(), .keys_exact = true, .digest_bits = 128};
  }
  [[nodiscard]] named_values describe() const noexcept override {
    return {{{.name = "layout", .text = sub_filters_.back().record.log2_bits == 0 ? "redis" : "redis, rounded"},
             {.name = "mode", .text = head_.scales() ? "scaling" : "fixed"},
             {.name = "growth", .number = head_.growth},
             {.name = "sub-filters", .number = sub_filters_.size()}}};
  }
  [[nodiscard]] result<filter_stats> stats() const noexcept override;
  [[nodiscard]] result<std::span<const std::byte>> bytes() const noexcept override {
    return std::span<const std::byte>{};
  }
  result<std::uint64_t> insert(std::span<const std::uint64_t> /*digests*/) noexcept override { return wrong_width(); }
  result<std::uint64_t> insert(std::span<const digest128> digests) noexcept override;
  result<void> may_contain(std::span<const std::uint64_t> /*digests*/,
                           std::span<std::uint64_t> /*mask*/) const noexcept override {
    return wrong_width();
  }
  result<void> may_contain(std::span<const digest128> digests, std::span<std::uint64_t> mask) const noexcept override {
    for (std::size_t word = 0; word < mask_words(digests.size()); ++word) mask[word] = 0;
    for (std::size_t i = 0; i < digests.size(); ++i) {
      mask[i / 64] |= std::uint64_t{is_in_any(digests[i])} << (i % 64);
    }
    return {};
  }
  result<std::uint64_t> erase(std::span<const std::uint64_t> /*digests*/) noexcept override { return cannot("erase"); }
  result<void> count(std::span<const std::uint64_t> /*digests*/,
                     std::span<std::uint64_t> /*counts*/) const noexcept override {
    return cannot("count");
  }
  result<void> merge(const filter_model& /*other*/, merge_fpr /*rate*/) noexcept override { return cannot("merge"); }
  result<void> intersect(const filter_model& /*other*/) noexcept override { return cannot("intersect"); }
  [[nodiscard]] result<std::unique_ptr<filter_model>> fold(std::uint64_t /*factor*/) const noexcept override {
    return cannot("fold");
  }
  [[nodiscard]] std::uint64_t fold_units() const noexcept override { return 0; }
  [[nodiscard]] result<std::unique_ptr<filter_model>> clone() const noexcept override;
  result<void> clear() noexcept override {
    sub_filters_.shrink(1);
    const auto all = sub_filters_[0].bits.bytes();
    std::fill(all.begin(), all.end(), std::byte{0});
    sub_filters_[0].record.keys = 0;
    return {};
  }
  [[nodiscard]] bool equals(const filter_model& other) const noexcept override {
    const auto& with = static_cast<const old_chain&>(other);
    return head_.options == with.head_.options && head_.growth == with.head_.growth &&
           std::equal(sub_filters_.begin(), sub_filters_.end(), with.sub_filters_.begin(), with.sub_filters_.end(),
                      [](const old_sub_filter& a, const old_sub_filter& b) {
                        return a.record == b.record && std::equal(a.bits.bytes().begin(), a.bits.bytes().end(),
                                                                  b.bits.bytes().begin(), b.bits.bytes().end());
                      });
  }
  [[nodiscard]] const void* kind_object() const noexcept override { return this; }
  [[nodiscard]] result<void> save(const char* /*path*/, const hash_spec& /*hash*/,
                                  const save_options& /*options*/) const noexcept override {
    return not_native();
  }
  [[nodiscard]] result<void> save_to(const byte_sink& /*sink*/, const hash_spec& /*hash*/,
                                     const save_options& /*options*/) const noexcept override {
    return not_native();
  }

 private:
  static result<std::unique_ptr<filter_model>> wrap(const chain_record& head, aligned_list<old_sub_filter> sub_filters,
                                                    const memory_hooks* memory) noexcept {
    std::unique_ptr<filter_model> self(new (std::nothrow) old_chain(head, std::move(sub_filters), memory));
    if (self == nullptr) return fail(errc::out_of_memory, "the filter", {sizeof(old_chain)});
    return self;
  }
  static failure cannot(std::string_view what) noexcept {
    error_text text;
    text.append("this is a chain of an old RedisBloom, which cannot ");
    text.append(what);
    return fail(errc::unsupported, text.view());
  }
  static failure wrong_width() noexcept { return fail(errc::unsupported, "this filter takes 128-bit digests"); }
  static failure not_native() noexcept {
    return fail(errc::unsupported, "its sub-filters are those of an old RedisBloom, which no native file holds");
  }

  [[nodiscard]] bool is_in_any(const digest128& key) const noexcept {
    for (std::size_t i = sub_filters_.size(); i-- > 0;) {
      if (sub_filters_[i].may_contain(key)) return true;
    }
    return false;
  }
  [[nodiscard]] std::uint64_t keys() const noexcept {
    std::uint64_t all = 0;
    for (const old_sub_filter& each : sub_filters_) all += each.record.keys;
    return all;
  }
  [[nodiscard]] std::uint64_t capacity() const noexcept {
    std::uint64_t all = 0;
    for (const old_sub_filter& each : sub_filters_) all += std::min(each.record.capacity, max_keys - all);
    return all;
  }
  // A chain that scales began with half of its FPR.
  [[nodiscard]] double promised() const noexcept {
    return std::min(1.0, sub_filters_[0].record.rate * (head_.scales() ? 2.0 : 1.0));
  }
  bool grow() noexcept {
    const sub_filter_record& last = sub_filters_.back().record;
    if (!head_.scales() || head_.growth == 0 || head_.growth > most_growth || last.capacity == 0 ||
        last.capacity > max_keys / head_.growth) {
      return false;
    }
    if (!sub_filters_.reserve(sub_filters_.size() + 1, "the filter", memory_)) return false;
    const sub_filter_record& before = sub_filters_.back().record;
    auto made = old_sub_filter::make(before.capacity * head_.growth, before.rate / 2, head_.options, memory_);
    if (!made) return false;
    sub_filters_.push(std::move(*made));
    return true;
  }

  chain_record head_;
  aligned_list<old_sub_filter> sub_filters_;
  const memory_hooks* memory_;
};

inline result<filter_stats> old_chain::stats() const noexcept {
  filter_stats stats{.capacity_keys = capacity(), .target_fpr = promised(), .keys = {keys(), true}};
  double set = 0;
  double all_bits = 0;
  double none = 1;
  double full_none = 1;
  // Hashes of 32 bits are added up in 64.
  const auto steps = (head_.options & hashes_64) != 0 ? progression::wraps_64 : progression::never_wraps;
  for (const old_sub_filter& each : sub_filters_) {
    const auto m = static_cast<double>(each.record.modulus());
    const auto k = static_cast<double>(each.record.hashes);
    const double here = std::min(each.set_bits(), m);
    const double held = std::log1p(-std::min(here, m - 0.5) / m) * -m / k;
    stats.estimated_keys += held / std::max(none, 1e-9);
    const sub_filter_record& of = each.record;
    none *= 1 - double_hashing(held, of.modulus(), of.hashes, steps).fpr(here / m);
    full_none *= 1 - double_hashing(static_cast<double>(of.capacity), of.modulus(), of.hashes, steps).fpr();
    set += here;
    all_bits += m;
    stats.memory_bytes += each.record.size_bytes;
  }
  stats.fill = set / all_bits;
  stats.fpr_now = 1 - none;
  stats.delivered_fpr = 1 - full_none;
  return stats;
}

inline result<std::uint64_t> old_chain::insert(std::span<const digest128> digests) noexcept {
  std::uint64_t inserted = 0;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    if (is_in_any(digests[i])) continue;
    if (sub_filters_.back().record.keys >= sub_filters_.back().record.capacity && !grow()) {
      return fail(errc::full, {}, {keys(), i});
    }
    sub_filters_.back().insert(digests[i]);
    ++inserted;
  }
  return inserted;
}

inline result<std::unique_ptr<bloomery::detail::filter_model>> old_chain::clone() const noexcept {
  aligned_list<old_sub_filter> copies;
  if (auto room = copies.reserve(sub_filters_.size(), "a copy of the filter", memory_); !room)
    return fail(room.error());
  for (const old_sub_filter& each : sub_filters_) {
    auto copy = each.clone();
    if (!copy) return fail(copy.error());
    copies.push(std::move(*copy));
  }
  return wrap(head_, std::move(copies), memory_);
}

}  // namespace bloomery::inline BLOOMERY_ABI::formats::redisbloom

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
#include <bloomery/formats.hpp>
#include <bloomery/hash/murmur2.hpp>
#include <bloomery/hash/murmur64a.hpp>
#include <bloomery/kinds/chain.hpp>
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
  [[nodiscard]] bool test(std::uint64_t bit) const noexcept {
    return (bits.data()[bit / 8] >> (bit % 8) & std::byte{1}) != std::byte{0};
  }
  [[nodiscard]] bool may_contain(const digest128& key) const noexcept {
    redis_sub_filter::probes probe(key, record.modulus());
    for (std::uint64_t i = 0; i < record.hashes; ++i) {
      if (!test(probe.next())) return false;
    }
    return true;
  }
  void insert(const digest128& key) noexcept {
    redis_sub_filter::probes probe(key, record.modulus());
    for (std::uint64_t i = 0; i < record.hashes; ++i) {
      const std::uint64_t bit = probe.next();
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

// The rule of kinds/chain.hpp: as the product grows, and what a look-up in one sub-filter is.
struct old_chain_rule {
  using sub_filter = old_sub_filter;
  static constexpr std::uint64_t most_growth = 32768;  // as the product lets a user choose

  [[nodiscard]] const memory_hooks* memory() const noexcept { return hooks; }
  [[nodiscard]] std::size_t most_sub_filters() const noexcept { return max_chain_sub_filters; }
  [[nodiscard]] result<old_sub_filter> next(const filter_chain<old_chain_rule>& chain) const noexcept {
    const sub_filter_record& last = chain.newest().record;
    if (!head.scales() || head.growth == 0 || head.growth > most_growth || last.capacity == 0 ||
        last.capacity > max_keys / head.growth) {
      return fail(errc::full, {}, {last.keys});
    }
    return old_sub_filter::make(last.capacity * head.growth, last.rate / 2, head.options, hooks);
  }
  [[nodiscard]] result<old_sub_filter> clone(const old_sub_filter& of) const noexcept { return of.clone(); }
  void clear(old_sub_filter& first) const noexcept {
    const auto all = first.bits.bytes();
    std::fill(all.begin(), all.end(), std::byte{0});
    first.record.keys = 0;
  }
  [[nodiscard]] bool equal(const old_sub_filter& a, const old_sub_filter& b) const noexcept {
    return a.record == b.record &&
           std::equal(a.bits.bytes().begin(), a.bits.bytes().end(), b.bits.bytes().begin(), b.bits.bytes().end());
  }
  [[nodiscard]] bool contains(const old_sub_filter& in, const digest128& key) const noexcept {
    return in.may_contain(key);
  }
  [[nodiscard]] std::uint64_t room(const old_sub_filter& in) const noexcept {
    return in.record.keys < in.record.capacity ? in.record.capacity - in.record.keys : 0;
  }
  void insert(old_sub_filter& into, const digest128& key) const noexcept { into.insert(key); }

  chain_record head{};
  const memory_hooks* hooks = nullptr;
};

class old_chain final : public bloomery::detail::filter_model {
 public:
  static constexpr kind_info chain_info{.id = first_foreign_id + 64,
                                        .name = "scalable",
                                        .summary = "chain of Bloom filters of an old RedisBloom",
                                        .lines = "one a hash function and sub-filter",
                                        .grows = true};
  static constexpr kind_entry entry{.info = &chain_info,
                                    .capabilities = {.inserts = true, .bounded = true, .takes_digest128 = true}};

  explicit old_chain(filter_chain<old_chain_rule> sub_filters) noexcept : sub_filters_(std::move(sub_filters)) {}
  static result<any_filter> own(const chain_record& head, aligned_list<old_sub_filter> sub_filters,
                                const memory_hooks* memory) noexcept {
    auto self = wrap(filter_chain<old_chain_rule>({head, memory}, std::move(sub_filters)));
    if (!self) return fail(self.error());
    return any_filter::adopt(std::move(*self), head.hash());
  }
  static const old_chain* in(const any_filter& filter) noexcept {
    return filter.info().id == chain_info.id ? static_cast<const old_chain*>(&filter.model()) : nullptr;
  }

  [[nodiscard]] chain_record head() const noexcept {
    chain_record now = rule().head;
    now.keys = keys();
    now.sub_filters = sub_filters_.size();
    return now;
  }
  [[nodiscard]] const filter_chain<old_chain_rule>& sub_filters() const noexcept { return sub_filters_; }

  [[nodiscard]] const kind_entry& kind() const noexcept override { return entry; }
  [[nodiscard]] bool grows() const noexcept override { return rule().head.scales(); }
  [[nodiscard]] unsigned digest_bits() const noexcept override { return 128; }
  [[nodiscard]] stored_shape shape() const noexcept override {
    return {.capacity_keys = capacity(), .fpr = promised(), .keys = keys(), .keys_exact = true, .digest_bits = 128};
  }
  [[nodiscard]] fact_list facts() const noexcept override {
    return {layout_fact(sub_filters_.newest().record.log2_bits == 0 ? "redis" : "redis, rounded"),
            mode_fact(rule().head.scales() ? "scaling" : "fixed"), growth_fact(rule().head.growth),
            sub_filters_fact(sub_filters_.size())};
  }
  [[nodiscard]] result<filter_stats> stats() const noexcept override;
  result<std::uint64_t> add(const digest_span& digests) noexcept override;
  result<void> may_contain(const digest_span& keys, std::span<std::uint64_t> mask) const noexcept override {
    sub_filters_.may_contain_batch(keys.as<digest128>(), mask);
    return {};
  }
  [[nodiscard]] result<explanation> explain(const digest_span& one) const noexcept override;
  [[nodiscard]] result<std::unique_ptr<filter_model>> clone() const noexcept override {
    auto copy = sub_filters_.clone();
    if (!copy) return fail(copy.error());
    return wrap(std::move(*copy));
  }
  result<void> clear() noexcept override {
    sub_filters_.clear();
    return {};
  }
  [[nodiscard]] bool equals(const filter_model& other) const noexcept override {
    const auto& with = static_cast<const old_chain&>(other);
    return rule().head.options == with.rule().head.options && rule().head.growth == with.rule().head.growth &&
           sub_filters_ == with.sub_filters_;
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
  [[nodiscard]] failure cannot(std::string_view what) const noexcept override {
    error_text text;
    text.append("this is a chain of an old RedisBloom, which cannot ");
    text.append(what);
    return fail(errc::unsupported, text.view());
  }

 private:
  static result<std::unique_ptr<filter_model>> wrap(filter_chain<old_chain_rule> sub_filters) noexcept {
    std::unique_ptr<filter_model> self(new (std::nothrow) old_chain(std::move(sub_filters)));
    if (self == nullptr) return fail(errc::out_of_memory, "the filter", {sizeof(old_chain)});
    return self;
  }
  static failure not_native() noexcept {
    return fail(errc::unsupported, "its sub-filters are those of an old RedisBloom, which no native file holds");
  }

  [[nodiscard]] const old_chain_rule& rule() const noexcept { return sub_filters_.rule(); }
  [[nodiscard]] std::uint64_t keys() const noexcept {
    return sub_filters_.sum([](const old_sub_filter& each) { return each.record.keys; });
  }
  [[nodiscard]] std::uint64_t capacity() const noexcept {
    std::uint64_t all = 0;
    for (const old_sub_filter& each : sub_filters_) all += std::min(each.record.capacity, max_keys - all);
    return all;
  }
  // A chain that scales began with half of its FPR.
  [[nodiscard]] double promised() const noexcept {
    return std::min(1.0, sub_filters_[0].record.rate * (rule().head.scales() ? 2.0 : 1.0));
  }

  filter_chain<old_chain_rule> sub_filters_;
};

inline result<explanation> old_chain::explain(const digest_span& one) const noexcept {
  const digest128& key = one.as<digest128>()[0];
  explanation out(key);
  std::uint64_t end = 0;
  for (const old_sub_filter& each : sub_filters_) end += each.record.size_bytes;
  for (std::size_t i = sub_filters_.size(); i-- > 0;) {
    const old_sub_filter& each = sub_filters_[i];
    end -= each.record.size_bytes;
    redis_sub_filter::explain_probes(
        out, redis_sub_filter::probes(key, each.record.modulus()), {each.record.modulus(), each.record.hashes},
        {.name = "sub-filter", .index = i, .first_byte = end}, [&each](std::uint64_t bit) { return each.test(bit); });
  }
  return out;
}

inline result<filter_stats> old_chain::stats() const noexcept {
  filter_stats stats{.capacity_keys = capacity(), .target_fpr = promised(), .keys = {keys(), true}};
  double set = 0;
  double all_bits = 0;
  double none = 1;
  double full_none = 1;
  // Hashes of 32 bits are added up in 64.
  const auto steps = (rule().head.options & hashes_64) != 0 ? progression::wraps_64 : progression::never_wraps;
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

inline result<std::uint64_t> old_chain::add(const digest_span& keys_to_add) noexcept {
  const batch_outcome done = sub_filters_.add_until_full(keys_to_add.as<digest128>());
  if (done.taken == keys_to_add.size()) return done.inserted;
  return fail(errc::full, {}, {keys(), done.taken});
}

}  // namespace bloomery::inline BLOOMERY_ABI::formats::redisbloom

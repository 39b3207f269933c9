// src/formats/redis_bloom_model.hpp: any_filter over RedisBloom's chain of Bloom filters (compat/redis/bloom_chain.hpp),
// for the chains that are no filter of kind scalable.
//
// Such are: sub-filters of sizes rounded to powers of two and chains with 32-bit hashes, both from before 2019, and
// whatever does not follow from the first sub-filter by the product's own rule.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/compat/redis/bloom_chain.hpp>
#include <bloomery/formats.hpp>
#include <bloomery/hash/murmur2.hpp>
#include <bloomery/hash/murmur64a.hpp>
#include <bloomery/kinds/scalable/redis_sub_filter.hpp>
#include <cmath>
#include <memory>

#include "src/formats/foreign_model.hpp"
#include "src/formats/rdb.hpp"
#include "src/formats/sizes.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats::redisbloom {

using redis::bloom_chain;
using redis::bloom_head;
using redis::bloom_record;
using redis::owned;

inline constexpr std::string_view name = "redisbloom";

inline hash_spec hash_of(const bloom_head& head) noexcept {
  return {.id = (head.options & redis::hashes_64) != 0 ? paired_murmur64a::info.id : paired_murmur2::info.id};
}

// How many bits a sub-filter of the oldest encoding has, which does not state it; 0 where there cannot be so many.
inline std::uint64_t bits_in_oldest(const bloom_record& record) noexcept {
  const double bits = static_cast<double>(record.capacity) * record.bits_per_key;
  return bits >= 1 && bits < static_cast<double>(max_filter_bits) ? static_cast<std::uint64_t>(bits) : 0;
}

class bloom_model final : public foreign_model {
 public:
  static constexpr kind_info chain_info{.id = first_foreign_id + 64,
                                        .name = "scalable",
                                        .summary = "chain of Bloom filters of an old RedisBloom",
                                        .lines = "one a hash function and sub-filter",
                                        .grows = true};
  static constexpr kind_entry entry{.info = &chain_info,
                                    .capabilities = {.inserts = true, .bounded = true, .takes_digest128 = true}};

  explicit bloom_model(owned<bloom_chain> chain) noexcept : foreign_model(wording), chain_(std::move(chain)) {}
  static result<any_filter> own(owned<bloom_chain> chain) noexcept {
    const hash_spec hash = hash_of(chain->head());
    auto self = wrap(std::move(chain));
    if (!self) return fail(self.error());
    return any_filter::adopt(std::move(*self), hash);
  }
  // The chain inside an any_filter, or nullptr.
  static const bloom_chain* in(const any_filter& filter) noexcept {
    if (filter.info().id != chain_info.id) return nullptr;
    return static_cast<const bloom_model*>(&filter.model())->chain_.get();
  }

  [[nodiscard]] const kind_entry& kind() const noexcept override { return entry; }
  [[nodiscard]] bool grows() const noexcept override { return chain_->scales(); }
  [[nodiscard]] unsigned digest_bits() const noexcept override { return 128; }
  [[nodiscard]] stored_shape shape() const noexcept override {
    return {.capacity_keys = chain_->capacity(),
            .fpr = promised(),
            .keys = chain_->keys(),
            .keys_exact = true,
            .digest_bits = 128};
  }
  [[nodiscard]] fact_list facts() const noexcept override {
    const bool rounded = chain_->record(chain_->sub_filters() - 1).log2_bits != 0;
    return {layout_fact(rounded ? "redis, rounded" : "redis"), mode_fact(chain_->scales() ? "scaling" : "fixed"),
            growth_fact(chain_->growth()), sub_filters_fact(chain_->sub_filters())};
  }
  [[nodiscard]] result<filter_stats> stats() const noexcept override;
  [[nodiscard]] std::uint64_t allocated_bytes() const noexcept override {
    return sizeof(*this) + chain_->allocated_bytes();
  }
  result<std::uint64_t> add(const digest_span& digests) noexcept override;
  result<batch_outcome> insert(const digest_span& digests, std::span<std::uint64_t> fresh) noexcept override {
    const redis::batch_inserted done = chain_->insert_batch(digests.as<digest128>(), fresh);
    return batch_outcome{done.taken, done.inserted};
  }
  result<void> may_contain(const digest_span& keys, std::span<std::uint64_t> mask) const noexcept override {
    chain_->may_contain_batch(keys.as<digest128>(), mask);
    return {};
  }
  [[nodiscard]] result<explanation> explain(const digest_span& one) const noexcept override;
  [[nodiscard]] result<std::unique_ptr<filter_model>> clone() const noexcept override {
    auto copy = chain_->clone();
    if (!copy) return fail(copy.error());
    return wrap(std::move(*copy));
  }
  result<void> clear() noexcept override {
    chain_->clear();
    return {};
  }
  [[nodiscard]] bool equals(const filter_model& other) const noexcept override {
    return *chain_ == *static_cast<const bloom_model&>(other).chain_;
  }

 private:
  static result<std::unique_ptr<filter_model>> wrap(owned<bloom_chain> chain) noexcept {
    std::unique_ptr<filter_model> self(new (std::nothrow) bloom_model(std::move(chain)));
    if (self == nullptr) return fail(errc::out_of_memory, "the filter", {sizeof(bloom_model)});
    return self;
  }
  static constexpr words wording{
      .subject = "this is a chain of an old RedisBloom, which",
      .not_native = "its sub-filters are those of an old RedisBloom, which no native file holds"};
  // A chain that scales began with half of its FPR.
  [[nodiscard]] double promised() const noexcept {
    return std::min(1.0, chain_->record(0).error_rate * (chain_->scales() ? 2.0 : 1.0));
  }

  owned<bloom_chain> chain_;
};

inline result<explanation> bloom_model::explain(const digest_span& one) const noexcept {
  const digest128& key = one.as<digest128>()[0];
  explanation out(key);
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < chain_->sub_filters(); ++i) end += chain_->bits(i).size();
  for (std::size_t i = chain_->sub_filters(); i-- > 0;) {
    const bloom_record record = chain_->record(i);
    const std::span<const std::byte> bits = chain_->bits(i);
    end -= bits.size();
    const auto test = [&](std::uint64_t bit) {
      return (bits[to_size(bit / 8)] >> (bit % 8) & std::byte{1}) != std::byte{0};
    };
    redis_sub_filter::explain_probes(out, redis_sub_filter::probes(key, record.modulus()),
                                     {record.modulus(), record.hashes},
                                     {.name = "sub-filter", .index = i, .first_byte = end}, test);
  }
  return out;
}

inline result<filter_stats> bloom_model::stats() const noexcept {
  filter_stats stats{.capacity_keys = chain_->capacity(), .target_fpr = promised(), .keys = {chain_->keys(), true}};
  double set = 0;
  double all_bits = 0;
  double none = 1;
  double full_none = 1;
  // Hashes of 32 bits are added up in 64.
  const auto steps = (chain_->options() & redis::hashes_64) != 0 ? progression::wraps_64 : progression::never_wraps;
  for (std::size_t i = 0; i < chain_->sub_filters(); ++i) {
    const bloom_record of = chain_->record(i);
    std::uint64_t ones = 0;
    for (const std::byte byte : chain_->bits(i)) {
      ones += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(byte)));
    }
    const auto m = static_cast<double>(of.modulus());
    const auto k = static_cast<double>(of.hashes);
    const double here = std::min(static_cast<double>(ones), m);
    const double held = std::log1p(-std::min(here, m - 0.5) / m) * -m / k;
    stats.estimated_keys += held / std::max(none, 1e-9);
    none *= 1 - double_hashing(held, of.modulus(), of.hashes, steps).fpr(here / m);
    full_none *= 1 - double_hashing(static_cast<double>(of.capacity), of.modulus(), of.hashes, steps).fpr();
    set += here;
    all_bits += m;
    stats.memory_bytes += of.size_bytes;
  }
  stats.fill = set / all_bits;
  stats.fpr_now = 1 - none;
  stats.delivered_fpr = 1 - full_none;
  return stats;
}

inline result<std::uint64_t> bloom_model::add(const digest_span& keys) noexcept {
  constexpr std::size_t group = 1024;
  std::array<std::uint64_t, group / 64> fresh{};
  const auto digests = keys.as<digest128>();
  std::uint64_t inserted = 0;
  for (std::size_t first = 0; first < digests.size(); first += group) {
    const auto some = digests.subspan(first, std::min(group, digests.size() - first));
    const redis::batch_inserted done = chain_->insert_batch(some, fresh);
    inserted += done.inserted;
    if (done.taken != some.size()) return fail(errc::full, {}, {chain_->keys(), first + done.taken});
  }
  return inserted;
}

}  // namespace bloomery::inline BLOOMERY_ABI::formats::redisbloom

// src/formats/redis_cuckoo_model.hpp: any_filter over RedisBloom's cuckoo filter (compat/redis/cuckoo_chain.hpp).
#pragma once

#include <bloomery/compat/redis/cuckoo_chain.hpp>
#include <bloomery/kinds/cuckoo.hpp>

#include "src/formats/redis_bloom_model.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats::redisbloom {

using redis::cuckoo_chain;
using redis::cuckoo_head;

// The product refuses to add to a filter that has so many sub-filters, unless it is set up otherwise.
inline constexpr redis::engine_limits cuckoo_limits{.max_sub_filters = 32};

class cuckoo_model final : public foreign_model {
 public:
  static constexpr kind_info chain_info{.id = first_foreign_id + 65,
                                        .name = "cuckoo",
                                        .summary = "chain of cuckoo filters of RedisBloom",
                                        .lines = "2 a sub-filter",
                                        .grows = true};
  static constexpr kind_entry entry{.info = &chain_info,
                                    .capabilities = {.inserts = true, .erases = true, .counts = true, .bounded = true}};

  explicit cuckoo_model(owned<cuckoo_chain> chain) noexcept : foreign_model(wording), chain_(std::move(chain)) {}
  static result<any_filter> own(owned<cuckoo_chain> chain) noexcept {
    auto self = wrap(std::move(chain));
    if (!self) return fail(self.error());
    return any_filter::adopt(std::move(*self), hash_spec{.id = murmur64a::info.id});
  }
  // The chain inside an any_filter, or nullptr.
  static const cuckoo_chain* in(const any_filter& filter) noexcept {
    if (filter.info().id != chain_info.id) return nullptr;
    return static_cast<const cuckoo_model*>(&filter.model())->chain_.get();
  }

  [[nodiscard]] const kind_entry& kind() const noexcept override { return entry; }
  [[nodiscard]] stored_shape shape() const noexcept override {
    return {.keys = chain_->keys(), .keys_exact = true, .digest_bits = 64};
  }
  [[nodiscard]] fact_list facts() const noexcept override {
    const cuckoo_head head = chain_->head();
    return {sub_filters_fact(chain_->sub_filters()),
            {.name = "buckets_of_the_first",
             .label = "buckets of the first",
             .value = head.buckets,
             .help = "buckets of the first sub-filter"},
            {.name = "slots_a_bucket", .label = "slots a bucket", .value = head.slots, .help = "slots of a bucket"},
            growth_fact(head.growth)};
  }
  [[nodiscard]] result<filter_stats> stats() const noexcept override;
  [[nodiscard]] std::uint64_t allocated_bytes() const noexcept override {
    return sizeof(*this) + chain_->allocated_bytes();
  }
  result<std::uint64_t> add(const digest_span& digests) noexcept override;
  result<batch_outcome> insert(const digest_span& digests, std::span<std::uint64_t> fresh) noexcept override {
    const auto done = chain_->insert_batch(digests.as<std::uint64_t>(), redis::copies::keep, fresh);
    return batch_outcome{done.taken, done.inserted};
  }
  [[nodiscard]] bloomery::detail::single_answer contains_one(std::uint64_t digest) const noexcept override {
    return chain_->may_contain(digest) ? bloomery::detail::single_answer::yes : bloomery::detail::single_answer::no;
  }
  result<void> may_contain(const digest_span& keys, std::span<std::uint64_t> mask) const noexcept override {
    chain_->may_contain_batch(keys.as<std::uint64_t>(), mask);
    return {};
  }
  result<std::uint64_t> erase(std::span<const std::uint64_t> digests) noexcept override {
    std::uint64_t erased = 0;
    for (const std::uint64_t digest : digests) erased += chain_->erase(digest) ? 1U : 0U;
    return erased;
  }
  result<void> count(std::span<const std::uint64_t> digests, std::span<std::uint64_t> counts) const noexcept override {
    for (std::size_t i = 0; i < digests.size(); ++i) counts[i] = chain_->slots_holding(digests[i]);
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
    return *chain_ == *static_cast<const cuckoo_model&>(other).chain_;
  }

 private:
  static result<std::unique_ptr<filter_model>> wrap(owned<cuckoo_chain> chain) noexcept {
    std::unique_ptr<filter_model> self(new (std::nothrow) cuckoo_model(std::move(chain)));
    if (self == nullptr) return fail(errc::out_of_memory, "the filter", {sizeof(cuckoo_model)});
    return self;
  }
  static constexpr words wording{.subject = "this is a cuckoo filter of RedisBloom, which",
                                 .not_native = "a chain of RedisBloom's cuckoo filters is no filter of a native file"};

  owned<cuckoo_chain> chain_;
};

inline result<std::uint64_t> cuckoo_model::add(const digest_span& keys) noexcept {
  constexpr std::size_t group = 1024;
  std::array<std::uint64_t, group / 64> fresh{};
  const auto digests = keys.as<std::uint64_t>();
  std::uint64_t inserted = 0;
  for (std::size_t first = 0; first < digests.size(); first += group) {
    const auto some = digests.subspan(first, std::min(group, digests.size() - first));
    const redis::batch_inserted done = chain_->insert_batch(some, redis::copies::keep, fresh);
    inserted += done.inserted;
    if (done.taken != some.size()) return fail(errc::full, {}, {chain_->keys(), first + done.taken});
  }
  return inserted;
}

inline result<explanation> cuckoo_model::explain(const digest_span& one) const noexcept {
  const std::uint64_t digest = one.as<std::uint64_t>()[0];
  explanation out(digest);
  std::uint64_t first_byte = 0;
  for (std::size_t i = 0; i < chain_->sub_filters(); ++i) {
    const auto table = chain_->table(i);
    explain_buckets(out, table, chain_->geometry(i), table.key(digest),
                    {.name = "sub-filter", .index = i, .first_byte = first_byte});
    first_byte += chain_->slots(i).size();
  }
  return out;
}

inline result<filter_stats> cuckoo_model::stats() const noexcept {
  filter_stats stats{.keys = {chain_->keys(), true}, .target_known = false};
  double slots = 0;
  double used = 0;
  double none = 1;
  for (std::size_t i = 0; i < chain_->sub_filters(); ++i) {
    const auto here = static_cast<double>(chain_->table(i).used_slots());
    none *= 1 - cuckoo_redis_model{chain_->geometry(i)}.fpr(here);
    used += here;
    slots += static_cast<double>(chain_->slots(i).size());
    stats.memory_bytes += chain_->slots(i).size();
  }
  stats.estimated_keys = used;
  stats.fill = used / slots;
  stats.fpr_now = 1 - none;
  return stats;
}

// The filter of kind cuckoo that its only sub-filter is.
inline result<cuckoo> as_kind(const cuckoo_chain& chain) noexcept {
  if (chain.sub_filters() != 1) {
    return fail(errc::unsupported,
                "kind cuckoo has one sub-filter, and this filter has grown: build it again from its keys");
  }
  const kernels::cuckoo_geometry of = chain.geometry(0);
  const stored_shape shape{.capacity_keys = of.total_slots(),
                           .fpr = cuckoo_redis_model{of}.fpr(static_cast<double>(of.total_slots())),
                           .keys = chain.keys(),
                           .keys_exact = true,
                           .digest_bits = 64,
                           .field = {of.buckets, of.slot_bits, of.slots, static_cast<std::uint64_t>(of.form),
                                     static_cast<std::uint64_t>(cuckoo_mode::multiset)}};
  const auto size = cuckoo::payload_bytes(shape);
  if (!size) return fail(size.error());
  auto payload = aligned_buffer::make(*size, "the filter", chain.memory());
  if (!payload) return fail(payload.error());
  std::copy(chain.slots(0).begin(), chain.slots(0).end(), payload->bytes().begin());
  return cuckoo::adopt(shape, std::move(*payload));
}

}  // namespace bloomery::inline BLOOMERY_ABI::formats::redisbloom

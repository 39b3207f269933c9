// src/formats/redis_cuckoo.hpp: RedisBloom's cuckoo filter: a chain of sub-filters, each a filter of kind cuckoo in
// layout redis.
//
// A key goes into a free slot of the newest sub-filter that has one; else others are moved in the newest sub-filter;
// else a sub-filter is added with `growth` times the buckets. A removal looks at the newest sub-filter first. When a
// tenth of the keys was removed, what is in the newest sub-filter is moved to older ones where there is space, and an
// empty sub-filter is dropped. All of it as the product does it, so that the same keys give the same bytes.
//
// Work is bounded by the size of the filter, whatever its header claims: a file with one altered bit must not make a
// call last. A new sub-filter has at most max_step_bytes, or 16 times the bytes that are there; a tidying reads at most
// most_tidy_steps() slots, and leaves the rest where it is; the number of keys is counted, not believed.
#pragma once

#include <algorithm>
#include <bit>
#include <bloomery/formats.hpp>
#include <bloomery/hash/murmur64a.hpp>
#include <bloomery/kernels/cuckoo/redis.hpp>
#include <bloomery/kinds/chain.hpp>
#include <bloomery/kinds/cuckoo.hpp>
#include <cmath>
#include <memory>

#include "src/formats/redis_chain.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats::redisbloom {

struct cuckoo_record {
  std::uint64_t keys = 0;  // slots in use
  std::uint64_t buckets = 0;
  std::uint64_t removed = 0;  // since the sub-filters were last tidied
  std::uint64_t sub_filters = 1;
  std::uint64_t slots = 2;
  std::uint64_t moves = 20;
  std::uint64_t growth = 1;  // 0: it does not grow

  // 0 where the number is too large.
  [[nodiscard]] std::uint64_t buckets_of(std::uint64_t sub_filter) const noexcept {
    std::uint64_t here = buckets;
    for (std::uint64_t i = 0; i < sub_filter && growth > 1; ++i) {
      if (here > max_buckets / growth) return 0;
      here *= growth;
    }
    return here;
  }
  // 0 where it would be larger than a sub-filter may be.
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t sub_filter) const noexcept {
    const std::uint64_t here = buckets_of(sub_filter);
    return here > max_sub_filter_bytes / slots ? 0 : here * slots;
  }
  // Of all sub-filters; nothing where there are more than `most`.
  [[nodiscard]] std::optional<std::uint64_t> size_bytes(std::uint64_t most) const noexcept {
    std::uint64_t all = 0;
    for (std::uint64_t i = 0; i < sub_filters; ++i) {
      const std::uint64_t here = bytes_of(i);
      if (here == 0 || here > most - all) return {};
      all += here;
    }
    return all;
  }

  static constexpr std::uint64_t max_buckets = std::uint64_t{1} << 56U;
  // The product keeps the place of a bucket in 32 bits: beyond that it looks up other places than it moves keys to.
  static constexpr std::uint64_t max_sub_filter_bytes = std::uint64_t{1} << 32U;
  static constexpr std::uint64_t max_sub_filters = 65535;
  static constexpr std::uint64_t max_growth = 32768;
};

inline result<void> check_cuckoo(const cuckoo_record& record) noexcept {
  if (!std::has_single_bit(record.buckets) || record.buckets > cuckoo_record::max_buckets) {
    return fail(errc::bad_field, "number of buckets", {record.buckets});
  }
  if (record.slots < 1 || record.slots > 255) return fail(errc::bad_field, "slots a bucket", {record.slots});
  if (record.moves < 1 || record.moves > 65535) return fail(errc::bad_field, "iterations", {record.moves});
  // A power of two: the other bucket of a key would be elsewhere in the other sub-filters.
  if (record.growth > cuckoo_record::max_growth || (record.growth != 0 && !std::has_single_bit(record.growth))) {
    return fail(errc::bad_field, "expansion", {record.growth});
  }
  if (record.sub_filters < 1 || record.sub_filters > (record.growth == 0 ? 1 : cuckoo_record::max_sub_filters)) {
    return fail(errc::bad_field, "number of sub-filters", {record.sub_filters});
  }
  return {};
}

// The rule of kinds/chain.hpp: a sub-filter is its slots, one byte each.
struct cuckoo_chain_rule {
  using sub_filter = aligned_buffer;
  using table_type = kernels::cuckoo_table<std::uint64_t, kernels::cuckoo_form::redis, false>;
  using editor_type = kernels::cuckoo_editor<std::uint64_t, kernels::cuckoo_form::redis, false>;
  // The product refuses to add to a filter that has so many, unless it is set up otherwise.
  static constexpr std::size_t most_grown_sub_filters = 32;
  // Of a sub-filter that is added, unless the sub-filters before it have a sixteenth of that: the header alone states
  // how large it is, and a removal may walk through all of it.
  static constexpr std::uint64_t max_step_bytes = std::uint64_t{64} << 20U;

  [[nodiscard]] const memory_hooks* memory() const noexcept { return hooks; }
  [[nodiscard]] std::size_t most_sub_filters() const noexcept { return most_grown_sub_filters; }
  [[nodiscard]] result<aligned_buffer> next(const filter_chain<cuckoo_chain_rule>& chain) const noexcept {
    const std::uint64_t bytes = head.growth == 0 ? 0 : head.bytes_of(chain.size());
    if (bytes == 0 || bytes > std::max(max_step_bytes, 16 * size_bytes(chain)))
      return fail(errc::full, {}, {head.keys});
    return aligned_buffer::make(bytes, "the filter", hooks);
  }
  [[nodiscard]] result<aligned_buffer> clone(const aligned_buffer& of) const noexcept {
    return of.clone("a copy of the filter");
  }
  void clear(aligned_buffer& first) noexcept {
    std::fill(first.bytes().begin(), first.bytes().end(), std::byte{0});
    head.keys = 0;
    head.removed = 0;
  }
  [[nodiscard]] bool equal(const aligned_buffer& a, const aligned_buffer& b) const noexcept {
    return std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
  }
  [[nodiscard]] bool contains(const aligned_buffer& in, std::uint64_t digest) const noexcept {
    const table_type slots = table(in);
    return slots.contains(slots.key(digest));
  }

  static std::uint64_t size_bytes(const filter_chain<cuckoo_chain_rule>& chain) noexcept {
    return chain.sum([](const aligned_buffer& each) { return std::uint64_t{each.size_bytes()}; });
  }
  [[nodiscard]] kernels::cuckoo_geometry geometry(const aligned_buffer& of) const noexcept {
    return {.buckets = of.size_bytes() / head.slots,
            .slot_bits = 8,
            .slots = static_cast<unsigned>(head.slots),
            .form = kernels::cuckoo_form::redis};
  }
  [[nodiscard]] table_type table(const aligned_buffer& of) const noexcept { return {of.data(), geometry(of)}; }
  [[nodiscard]] editor_type editor(aligned_buffer& of) const noexcept { return {of.data(), geometry(of)}; }

  cuckoo_record head{};
  const memory_hooks* hooks = nullptr;
};

class cuckoo_chain final : public bloomery::detail::filter_model {
 public:
  static constexpr kind_info chain_info{.id = first_foreign_id + 65,
                                        .name = "cuckoo",
                                        .summary = "chain of cuckoo filters of RedisBloom",
                                        .lines = "2 a sub-filter",
                                        .grows = true};
  static constexpr kind_entry entry{.info = &chain_info,
                                    .capabilities = {.inserts = true, .erases = true, .counts = true, .bounded = true}};
  static constexpr std::uint64_t max_step_bytes = cuckoo_chain_rule::max_step_bytes;

  explicit cuckoo_chain(filter_chain<cuckoo_chain_rule> sub_filters) noexcept : sub_filters_(std::move(sub_filters)) {}
  static result<any_filter> own(const cuckoo_record& head, aligned_list<aligned_buffer> sub_filters,
                                const memory_hooks* memory) noexcept {
    auto self = wrap(filter_chain<cuckoo_chain_rule>({head, memory}, std::move(sub_filters)));
    if (!self) return fail(self.error());
    return any_filter::adopt(std::move(*self), hash_spec{.id = murmur64a::info.id});
  }
  static const cuckoo_chain* in(const any_filter& filter) noexcept {
    return filter.info().id == chain_info.id ? static_cast<const cuckoo_chain*>(&filter.model()) : nullptr;
  }

  [[nodiscard]] cuckoo_record head() const noexcept {
    cuckoo_record now = record();
    now.sub_filters = sub_filters_.size();
    return now;
  }
  [[nodiscard]] const filter_chain<cuckoo_chain_rule>& sub_filters() const noexcept { return sub_filters_; }
  // Slots that a tidying may read, and those that the last one has read.
  [[nodiscard]] std::uint64_t most_tidy_steps() const noexcept {
    return (std::uint64_t{1} << 24U) + 256 * size_bytes();
  }
  [[nodiscard]] std::uint64_t tidy_steps() const noexcept { return tidy_steps_; }
  // The filter of kind cuckoo that its only sub-filter is.
  [[nodiscard]] result<cuckoo> as_kind() const noexcept;

  [[nodiscard]] const kind_entry& kind() const noexcept override { return entry; }
  [[nodiscard]] stored_shape shape() const noexcept override {
    return {.keys = record().keys, .keys_exact = true, .digest_bits = 64};
  }
  [[nodiscard]] fact_list facts() const noexcept override {
    return {sub_filters_fact(sub_filters_.size()),
            {.name = "buckets_of_the_first",
             .label = "buckets of the first",
             .value = record().buckets,
             .help = "buckets of the first sub-filter"},
            {.name = "slots_a_bucket", .label = "slots a bucket", .value = record().slots, .help = "slots of a bucket"},
            growth_fact(record().growth)};
  }
  [[nodiscard]] result<filter_stats> stats() const noexcept override;
  result<std::uint64_t> add(const digest_span& digests) noexcept override;
  [[nodiscard]] bloomery::detail::single_answer contains_one(std::uint64_t digest) const noexcept override {
    return sub_filters_.may_contain(digest) ? bloomery::detail::single_answer::yes
                                            : bloomery::detail::single_answer::no;
  }
  result<void> may_contain(const digest_span& keys, std::span<std::uint64_t> mask) const noexcept override {
    sub_filters_.may_contain_batch(keys.as<std::uint64_t>(), mask);
    return {};
  }
  result<std::uint64_t> erase(std::span<const std::uint64_t> digests) noexcept override {
    std::uint64_t erased = 0;
    for (const std::uint64_t digest : digests) erased += erase_one(digest) ? 1U : 0U;
    return erased;
  }
  result<void> count(std::span<const std::uint64_t> digests, std::span<std::uint64_t> counts) const noexcept override {
    for (std::size_t i = 0; i < digests.size(); ++i) {
      counts[i] = sub_filters_.sum([&](const aligned_buffer& each) {
        const auto table = rule().table(each);
        return std::uint64_t{table.count(table.key(digests[i]))};
      });
    }
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
    const auto& with = static_cast<const cuckoo_chain&>(other);
    const cuckoo_record& ours = rule().head;
    const cuckoo_record& theirs = with.rule().head;
    return ours.slots == theirs.slots && ours.moves == theirs.moves && ours.growth == theirs.growth &&
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
    text.append("this is a cuckoo filter of RedisBloom, which cannot ");
    text.append(what);
    return fail(errc::unsupported, text.view());
  }

 private:
  static result<std::unique_ptr<filter_model>> wrap(filter_chain<cuckoo_chain_rule> sub_filters) noexcept {
    std::unique_ptr<filter_model> self(new (std::nothrow) cuckoo_chain(std::move(sub_filters)));
    if (self == nullptr) return fail(errc::out_of_memory, "the filter", {sizeof(cuckoo_chain)});
    return self;
  }
  static failure not_native() noexcept {
    return fail(errc::unsupported, "a chain of RedisBloom's cuckoo filters is no filter of a native file");
  }

  [[nodiscard]] const cuckoo_chain_rule& rule() const noexcept { return sub_filters_.rule(); }
  [[nodiscard]] const cuckoo_record& record() const noexcept { return rule().head; }
  [[nodiscard]] cuckoo_record& record() noexcept { return sub_filters_.rule().head; }
  [[nodiscard]] auto editor_of(std::size_t sub_filter) noexcept { return rule().editor(sub_filters_[sub_filter]); }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return cuckoo_chain_rule::size_bytes(sub_filters_); }
  bool put(std::uint64_t digest) noexcept;
  bool erase_one(std::uint64_t digest) noexcept;
  bool empty_into_older(std::size_t sub_filter) noexcept;
  void tidy() noexcept;

  filter_chain<cuckoo_chain_rule> sub_filters_;
  std::uint64_t tidy_steps_ = 0;
};

inline bool cuckoo_chain::put(std::uint64_t digest) noexcept {
  while (true) {
    for (std::size_t sub_filter = sub_filters_.size(); sub_filter-- > 0;) {
      const auto table = editor_of(sub_filter);
      if (table.put_where_free(table.key(digest))) return true;
    }
    const auto newest = editor_of(sub_filters_.size() - 1);
    if (newest.put_by_moves(newest.key(digest), static_cast<unsigned>(record().moves))) return true;
    if (!sub_filters_.grow()) return false;
  }
}

inline result<std::uint64_t> cuckoo_chain::add(const digest_span& keys) noexcept {
  const auto digests = keys.as<std::uint64_t>();
  std::uint64_t inserted = 0;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const bool absent = !sub_filters_.may_contain(digests[i]);
    if (!put(digests[i])) return fail(errc::full, {}, {record().keys, i});
    ++record().keys;
    inserted += absent ? 1U : 0U;
  }
  return inserted;
}

inline bool cuckoo_chain::erase_one(std::uint64_t digest) noexcept {
  for (std::size_t sub_filter = sub_filters_.size(); sub_filter-- > 0;) {
    const auto table = editor_of(sub_filter);
    if (kernels::cuckoo_erase(table, table.key(digest)) == 0) continue;
    record().keys -= record().keys == 0 ? 0 : 1;
    ++record().removed;
    if (sub_filters_.size() > 1 && static_cast<double>(record().removed) > static_cast<double>(record().keys) * 0.10)
      tidy();
    return true;
  }
  return false;
}

// What is in a sub-filter to free slots of the older ones, the oldest first. A bucket of a sub-filter names the two
// buckets of its keys in a smaller one, too: numbers of buckets are powers of two.
inline bool cuckoo_chain::empty_into_older(std::size_t sub_filter) noexcept {
  const auto from = editor_of(sub_filter);
  const std::uint64_t most = most_tidy_steps();
  bool emptied = true;
  tidy_steps_ += sub_filters_[sub_filter].size_bytes();
  for (std::uint64_t bucket = 0; bucket < from.buckets; ++bucket) {
    for (unsigned lane = 0; lane < from.slots; ++lane) {
      std::byte& slot = from.slot(bucket, lane);
      if (slot == std::byte{0}) continue;
      bool moved = false;
      for (std::size_t older = 0; older < sub_filter && !moved; ++older) {
        tidy_steps_ += std::uint64_t{2} * from.slots;
        if (tidy_steps_ > most) return false;
        const auto to = editor_of(older);
        const auto fingerprint = std::to_integer<std::uint64_t>(slot);
        const std::uint64_t first = bucket & (to.buckets - 1);
        moved = to.put_where_free({first, to.other(first, fingerprint), fingerprint});
      }
      if (moved) slot = std::byte{0};
      emptied &= moved;
    }
  }
  return emptied;
}

// From the newest sub-filter on, as long as sub-filters become empty.
inline void cuckoo_chain::tidy() noexcept {
  tidy_steps_ = 0;
  for (std::size_t sub_filter = sub_filters_.size(); sub_filter-- > 1;) {
    if (!empty_into_older(sub_filter)) break;
    sub_filters_.shrink(sub_filter);
  }
  record().removed = 0;
}

inline result<explanation> cuckoo_chain::explain(const digest_span& one) const noexcept {
  const std::uint64_t digest = one.as<std::uint64_t>()[0];
  explanation out(digest);
  std::uint64_t first_byte = 0;
  for (std::size_t i = 0; i < sub_filters_.size(); ++i) {
    const auto table = rule().table(sub_filters_[i]);
    explain_buckets(out, table, rule().geometry(sub_filters_[i]), table.key(digest),
                    {.name = "sub-filter", .index = i, .first_byte = first_byte});
    first_byte += sub_filters_[i].size_bytes();
  }
  return out;
}

inline result<filter_stats> cuckoo_chain::stats() const noexcept {
  filter_stats stats{.keys = {record().keys, true}, .target_known = false};
  double slots = 0;
  double used = 0;
  double none = 1;
  for (const aligned_buffer& each : sub_filters_) {
    const auto here = static_cast<double>(rule().table(each).used_slots());
    none *= 1 - cuckoo_redis_model{rule().geometry(each)}.fpr(here);
    used += here;
    slots += static_cast<double>(each.size_bytes());
    stats.memory_bytes += each.size_bytes();
  }
  stats.estimated_keys = used;
  stats.fill = used / slots;
  stats.fpr_now = 1 - none;
  return stats;
}

inline result<cuckoo> cuckoo_chain::as_kind() const noexcept {
  if (sub_filters_.size() != 1) {
    return fail(errc::unsupported,
                "kind cuckoo has one sub-filter, and this filter has grown: build it again from its keys");
  }
  const kernels::cuckoo_geometry of = rule().geometry(sub_filters_[0]);
  // A dump may claim any number of keys; kind cuckoo has no more of them than slots in use.
  const auto slots = sub_filters_[0].bytes();
  const auto used = slots.size() - static_cast<std::uint64_t>(std::count(slots.begin(), slots.end(), std::byte{0}));
  const stored_shape shape{.capacity_keys = of.total_slots(),
                           .fpr = cuckoo_redis_model{of}.fpr(static_cast<double>(of.total_slots())),
                           .keys = std::min<std::uint64_t>(record().keys, used),
                           .keys_exact = true,
                           .digest_bits = 64,
                           .field = {of.buckets, of.slot_bits, of.slots, static_cast<std::uint64_t>(of.form),
                                     static_cast<std::uint64_t>(cuckoo_mode::multiset)}};
  const auto size = cuckoo::payload_bytes(shape);
  if (!size) return fail(size.error());
  auto payload = aligned_buffer::make(*size, "the filter", rule().hooks);
  if (!payload) return fail(payload.error());
  std::copy(sub_filters_[0].bytes().begin(), sub_filters_[0].bytes().end(), payload->bytes().begin());
  return cuckoo::adopt(shape, std::move(*payload));
}

}  // namespace bloomery::inline BLOOMERY_ABI::formats::redisbloom

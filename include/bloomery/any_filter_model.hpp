// any_filter_model.hpp: the implementation of any_filter's virtual boundary for one kind: a filter in memory, and one
// in a mapped file. For programs that own a filter of a kind they know as an any_filter, without the code of all the
// others.
//
//     #include <bloomery/any_filter_model.hpp>
//     #include <bloomery/kinds/scalable.hpp>
//     auto any = bloomery::any_filter::own(std::move(chain), hash.spec());
#pragma once

#include <bloomery/any_filter.hpp>
#include <bloomery/kinds/batch.hpp>
#include <bloomery/posix/load.hpp>
#include <bloomery/posix/mapped.hpp>
#include <bloomery/posix/save.hpp>
#include <cstdio>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

BLOOMERY_API failure cannot(const kind_info& kind, std::string_view what) noexcept;
inline failure is_static(const kind_info& kind) noexcept {
  return cannot(kind, "be changed: it is built at once, from all of its keys");
}

// The width of the digests that the filter takes.
template <filter_kind K>
unsigned digest_bits_of(const K& filter) noexcept {
  if constexpr (digest128_kind<K>) return filter.digest_bits();
  return 64;
}

template <filter_kind K>
bool grows_now(const K& filter) noexcept {
  if constexpr (growing_in_some_modes<K>) return filter.grows();
  return K::info.grows;
}

template <filter_kind K>
filter_stats stats_of(const K& filter) noexcept {
  filter_stats stats{.capacity_keys = filter.capacity_keys(),
                     .target_fpr = filter.target_fpr(),
                     .keys = filter.keys(),
                     .estimated_keys = filter.estimated_keys(),
                     .fill = filter.fill(),
                     .fpr_now = filter.fpr_now(),
                     .memory_bytes = filter.memory_bytes()};
  if constexpr (requires { filter.delivered_fpr(); }) stats.delivered_fpr = filter.delivered_fpr();
  if constexpr (requires {
                  { filter.cells() } -> std::same_as<cell_shape>;
                })
    stats.cells = filter.cells();
  stats.cell_bits = cell_bits_of<K>();
  if constexpr (expiring<K>) stats.window = filter.window_now();
  if constexpr (losing<K>) stats.loss = filter.loss_now();
  if constexpr (reporting_kind<K>) stats.facts = filter.facts_now();
  return stats;
}

using filter_owner = std::unique_ptr<filter_model>;

template <filter_kind K>
struct in_memory : filter_model {
  explicit in_memory(K from) noexcept : filter(std::move(from)) {}
  static result<filter_owner> wrap(result<K> made) noexcept {
    if (!made) return fail(made.error());
    filter_owner self(new (std::nothrow) in_memory(std::move(*made)));
    if (self == nullptr) return fail(errc::out_of_memory, "the filter", {sizeof(in_memory)});
    return self;
  }
  static const K& same(const filter_model& other) noexcept { return *static_cast<const K*>(other.kind_object()); }

  [[nodiscard]] const kind_entry& kind() const noexcept override { return entry_of<K>; }
  [[nodiscard]] bool grows() const noexcept override { return grows_now(filter); }
  [[nodiscard]] unsigned digest_bits() const noexcept override { return digest_bits_of(filter); }
  [[nodiscard]] stored_shape shape() const noexcept override { return filter.shape(); }
  [[nodiscard]] fact_list facts() const noexcept override { return filter.facts(); }
  [[nodiscard]] result<filter_stats> stats() const noexcept override { return stats_of(filter); }
  [[nodiscard]] result<std::span<const std::byte>> bytes() const noexcept override {
    if constexpr (contiguous_kind<K>) return filter.payload();
    return std::span<const std::byte>{};
  }
  [[nodiscard]] std::uint64_t allocated_bytes() const noexcept override {
    return sizeof(*this) + filter.memory_bytes();
  }
  single_answer insert_one(std::uint64_t digest) noexcept override {
    if constexpr (dynamic_kind<K>) {
      return single_answer_of(filter.insert(digest));
    } else {
      return single_answer::failed;
    }
  }
  [[nodiscard]] single_answer contains_one(std::uint64_t digest) const noexcept override {
    return filter.may_contain(digest) ? single_answer::yes : single_answer::no;
  }
  result<std::uint64_t> add(const digest_span& digests) noexcept override {
    return with_width(digests, [&](auto all) { return add_all(all); });
  }
  result<std::uint64_t> add_stream(std::size_t count, const digest_feed& feed) noexcept override {
    if constexpr (dynamic_kind<K> && stream_kind<K> && !bounded_kind<K>) {
      return filter.add_stream(count, feed);
    } else {
      return filter_model::add_stream(count, feed);
    }
  }
  result<batch_outcome> insert(const digest_span& digests, std::span<std::uint64_t> fresh) noexcept override {
    if constexpr (!dynamic_kind<K>) {
      return is_static(K::info);
    } else {
      return with_width(digests, [&](auto all) -> result<batch_outcome> { return insert_batch(filter, all, fresh); });
    }
  }
  result<void> may_contain(const digest_span& digests, std::span<std::uint64_t> mask) const noexcept override {
    return with_width(digests, [&](auto all) -> result<void> {
      filter.may_contain_batch(all, mask);
      return {};
    });
  }
  [[nodiscard]] result<explanation> explain(const digest_span& digest) const noexcept override {
    if constexpr (explained_kind<K>) {
      return with_width(digest, [&](auto one) -> result<explanation> { return filter.explain(one[0]); });
    } else {
      return filter_model::explain(digest);
    }
  }
  result<void> may_contain_stream(std::size_t count, const digest_feed& feed,
                                  std::span<std::uint64_t> mask) const noexcept override {
    if constexpr (stream_query_kind<K>) {
      filter.may_contain_stream(count, feed, mask);
      return {};
    } else {
      return filter_model::may_contain_stream(count, feed, mask);
    }
  }
  result<std::uint64_t> erase(std::span<const std::uint64_t> digests) noexcept override {
    if constexpr (erasable<K>) {
      if constexpr (erasing_in_some_modes<K>) {
        if (auto can = filter.check_erase(); !can) return fail(can.error());
      }
      if constexpr (requires { filter.try_erase(std::uint64_t{0}); }) {
        std::uint64_t erased = 0;
        for (const std::uint64_t digest : digests) {
          const auto done = filter.try_erase(digest);
          if (!done) return fail(done.error());
          erased += *done ? 1U : 0U;
        }
        return erased;
      } else {
        return erase_batch(filter, digests);
      }
    } else {
      return filter_model::erase(digests);
    }
  }
  result<void> count(std::span<const std::uint64_t> digests, std::span<std::uint64_t> counts) const noexcept override {
    if constexpr (countable<K>) {
      count_batch(filter, digests, counts);
      return {};
    } else {
      return filter_model::count(digests, counts);
    }
  }
  result<void> merge(const filter_model& other, merge_fpr rate) noexcept override {
    if constexpr (refusing_merges<K>) {
      return filter.merge(same(other), rate);
    } else if constexpr (mergeable<K>) {
      return filter.merge(same(other));
    } else {
      return filter_model::merge(other, rate);
    }
  }
  result<void> intersect(const filter_model& other) noexcept override {
    if constexpr (intersectable<K>) {
      return filter.intersect(same(other));
    } else {
      return filter_model::intersect(other);
    }
  }
  // Bits of equal shapes always come together.
  [[nodiscard]] bool merge_may_fail() const noexcept override {
    return refusing_merges<K> || bounded_kind<K> || !contiguous_kind<K> || !mergeable<K>;
  }
  [[nodiscard]] result<filter_owner> fold(std::uint64_t factor) const noexcept override {
    if constexpr (foldable<K>) {
      return wrap(filter.fold(factor));
    } else {
      return filter_model::fold(factor);
    }
  }
  [[nodiscard]] std::uint64_t fold_units() const noexcept override {
    if constexpr (foldable<K>) return filter.fold_units();
    return 0;
  }
  [[nodiscard]] result<filter_owner> clone() const noexcept override { return wrap(filter.clone()); }
  result<void> clear() noexcept override {
    if constexpr (dynamic_kind<K>) {
      filter.clear();
      return {};
    } else {
      return is_static(K::info);
    }
  }
  void set_clock(const clock_hook* clock) noexcept override {
    if constexpr (requires { filter.set_clock(clock); }) filter.set_clock(clock);
  }
  [[nodiscard]] bool equals(const filter_model& other) const noexcept override { return filter == same(other); }
  [[nodiscard]] const void* kind_object() const noexcept override { return &filter; }
  [[nodiscard]] result<void> save(const char* path, const hash_spec& hash,
                                  const save_options& options) const noexcept override {
    return bloomery::save(filter, hash, path, options);
  }
  [[nodiscard]] result<void> save_to(const byte_sink& sink, const hash_spec& hash,
                                     const save_options& options) const noexcept override {
    return bloomery::save_to(filter, hash, sink, options);
  }

  // Calls f with the digests as what they are.
  template <class F>
  static auto with_width(const digest_span& digests, F&& f) noexcept {
    if constexpr (digest128_kind<K>) {
      if (digests.bits() == 128) return f(digests.as<digest128>());
    }
    return f(digests.as<std::uint64_t>());
  }
  template <class Digest>
  result<std::uint64_t> add_all(std::span<const Digest> digests) noexcept {
    if constexpr (!dynamic_kind<K>) {
      return is_static(K::info);
    } else if constexpr (requires { filter.add_until_full(digests); }) {
      const batch_outcome outcome = filter.add_until_full(digests);
      if (outcome.taken == digests.size()) return outcome.inserted;
      error why = make_error(errc::full, {}, {filter.keys().keys});
      if constexpr (explaining_kind<K>) why = filter.why_full(digests[outcome.taken]);
      why.number[1] = outcome.taken;
      return fail(why);
    } else {
      return filter.add_batch(digests);
    }
  }

  K filter;
};

// A mapped filter is queried in place; what changes it is refused, what copies it checks every chunk first.
template <mappable K>
struct in_file final : filter_model {
  explicit in_file(mapped<K> from) noexcept : file(std::move(from)) {}
  static failure refused() noexcept { return fail(errc::read_only, "a mapped filter"); }

  [[nodiscard]] const kind_entry& kind() const noexcept override { return entry_of<K>; }
  [[nodiscard]] bool grows() const noexcept override { return grows_now(file.unchecked()); }
  [[nodiscard]] unsigned digest_bits() const noexcept override { return file.header().shape.digest_bits; }
  [[nodiscard]] bool is_mapped() const noexcept override { return true; }
  [[nodiscard]] stored_shape shape() const noexcept override { return file.unchecked().shape(); }
  [[nodiscard]] fact_list facts() const noexcept override { return file.unchecked().facts(); }
  [[nodiscard]] result<filter_stats> stats() const noexcept override {
    if (auto whole = file.verify_unless_trusted(); !whole) return fail(whole.error());
    return stats_of(file.unchecked());
  }
  [[nodiscard]] result<std::span<const std::byte>> bytes() const noexcept override {
    if (auto whole = file.verify_unless_trusted(); !whole) return fail(whole.error());
    if constexpr (contiguous_kind<K>) return file.unchecked().payload();
    return std::span<const std::byte>{};
  }
  [[nodiscard]] result<void> verify() const noexcept override { return file.verify_unless_trusted(); }
  [[nodiscard]] std::uint64_t allocated_bytes() const noexcept override { return sizeof(*this); }
  [[nodiscard]] single_answer contains_one(std::uint64_t digest) const noexcept override {
    const auto answer = file.may_contain(digest);
    if (!answer) return single_answer::failed;
    return *answer ? single_answer::yes : single_answer::no;
  }
  result<std::uint64_t> add(const digest_span& /*digests*/) noexcept override { return refused(); }
  result<batch_outcome> insert(const digest_span& /*digests*/, std::span<std::uint64_t> /*fresh*/) noexcept override {
    return refused();
  }
  result<void> may_contain(const digest_span& digests, std::span<std::uint64_t> mask) const noexcept override {
    return in_memory<K>::with_width(digests, [&](auto all) { return file.may_contain_batch(all, mask); });
  }
  [[nodiscard]] result<explanation> explain(const digest_span& digest) const noexcept override {
    if constexpr (explained_kind<K>) {
      return in_memory<K>::with_width(digest, [&](auto one) { return file.explain(one[0]); });
    } else {
      return filter_model::explain(digest);
    }
  }
  result<void> may_contain_stream(std::size_t count, const digest_feed& feed,
                                  std::span<std::uint64_t> mask) const noexcept override {
    if constexpr (stream_query_kind<K>) {
      if (file.is_known_whole()) {
        file.unchecked().may_contain_stream(count, feed, mask);
        return {};
      }
    }
    return filter_model::may_contain_stream(count, feed, mask);
  }
  result<std::uint64_t> erase(std::span<const std::uint64_t> /*digests*/) noexcept override { return refused(); }
  result<void> count(std::span<const std::uint64_t> digests, std::span<std::uint64_t> counts) const noexcept override {
    if constexpr (countable<K>) {
      return file.count_batch(digests, counts);
    } else {
      return filter_model::count(digests, counts);
    }
  }
  result<void> merge(const filter_model& /*other*/, merge_fpr /*rate*/) noexcept override { return refused(); }
  result<void> intersect(const filter_model& /*other*/) noexcept override { return refused(); }
  [[nodiscard]] result<filter_owner> fold(std::uint64_t factor) const noexcept override {
    if (auto whole = file.verify_all(); !whole) return fail(whole.error());
    if constexpr (foldable<K>) {
      return in_memory<K>::wrap(file.unchecked().fold(factor));
    } else {
      return filter_model::fold(factor);
    }
  }
  [[nodiscard]] std::uint64_t fold_units() const noexcept override {
    if constexpr (foldable<K>) return file.unchecked().fold_units();
    return 0;
  }
  [[nodiscard]] result<filter_owner> clone() const noexcept override {
    if (auto whole = file.verify_all(); !whole) return fail(whole.error());
    return in_memory<K>::wrap(file.unchecked().clone());
  }
  result<void> clear() noexcept override { return refused(); }
  void set_clock(const clock_hook* clock) noexcept override { file.set_clock(clock); }
  [[nodiscard]] bool equals(const filter_model& other) const noexcept override {
    return file.unchecked() == in_memory<K>::same(other);
  }
  [[nodiscard]] const void* kind_object() const noexcept override { return &file.unchecked(); }
  [[nodiscard]] result<void> save(const char* path, const hash_spec& hash,
                                  const save_options& options) const noexcept override {
    if (auto whole = file.verify_all(); !whole) return whole;
    return bloomery::save(file.unchecked(), hash, path, options);
  }
  [[nodiscard]] result<void> save_to(const byte_sink& sink, const hash_spec& hash,
                                     const save_options& options) const noexcept override {
    if (auto whole = file.verify_all(); !whole) return whole;
    return bloomery::save_to(file.unchecked(), hash, sink, options);
  }

  mapped<K> file;
};

}  // namespace detail

template <filter_kind K>
result<any_filter> any_filter::own(K filter, const filter_hash& hash) noexcept {
  auto self = detail::in_memory<K>::wrap(std::move(filter));
  if (!self) return fail(self.error());
  return any_filter(std::move(*self), hash);
}

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/any_filter.cpp>
#endif

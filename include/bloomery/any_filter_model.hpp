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

inline failure cannot(const kind_info& kind, std::string_view what) noexcept {
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "kind %.*s cannot %.*s", static_cast<int>(kind.name.size()), kind.name.data(),
                static_cast<int>(what.size()), what.data());
  return fail(errc::unsupported, text.data());
}

inline failure is_static(const kind_info& kind) noexcept {
  return cannot(kind, "be changed: it is built at once, from all of its keys");
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
  if constexpr (saturating<K>) stats.saturated = filter.saturated();
  if constexpr (expiring<K>) stats.window = filter.window_now();
  if constexpr (losing<K>) stats.loss = filter.loss_now();
  return stats;
}

using filter_owner = std::unique_ptr<filter_model>;

template <filter_kind K>
struct in_memory final : filter_model {
  explicit in_memory(K from) noexcept : filter(std::move(from)) {}
  static result<filter_owner> wrap(result<K> made) noexcept {
    if (!made) return fail(made.error());
    filter_owner self(new (std::nothrow) in_memory(std::move(*made)));
    if (self == nullptr) return fail(errc::out_of_memory, "the filter", {sizeof(in_memory)});
    return self;
  }
  static const K& same(const filter_model& other) noexcept { return *static_cast<const K*>(other.kind_object()); }

  [[nodiscard]] const kind_info& info() const noexcept override { return K::info; }
  [[nodiscard]] bool is_mapped() const noexcept override { return false; }
  [[nodiscard]] stored_shape shape() const noexcept override { return filter.shape(); }
  [[nodiscard]] named_values describe() const noexcept override { return filter.describe(); }
  [[nodiscard]] result<filter_stats> stats() const noexcept override { return stats_of(filter); }
  [[nodiscard]] result<std::span<const std::byte>> bytes() const noexcept override {
    if constexpr (contiguous_kind<K>) return filter.payload();
    return std::span<const std::byte>{};
  }
  result<std::uint64_t> insert(std::span<const std::uint64_t> digests) noexcept override { return insert_any(digests); }
  result<std::uint64_t> insert(std::span<const digest128> digests) noexcept override { return insert_any(digests); }
  result<void> may_contain(std::span<const std::uint64_t> digests,
                           std::span<std::uint64_t> mask) const noexcept override {
    return query_any(digests, mask);
  }
  result<void> may_contain(std::span<const digest128> digests, std::span<std::uint64_t> mask) const noexcept override {
    return query_any(digests, mask);
  }
  result<std::uint64_t> erase(std::span<const std::uint64_t> digests) noexcept override {
    if constexpr (erasable<K>) {
      if (auto fits = check_digest_width<std::uint64_t>(filter.shape().digest_bits); !fits) return fail(fits.error());
      if constexpr (erasing_in_some_modes<K>) {
        if (auto can = filter.check_erase(); !can) return fail(can.error());
      }
      const std::uint64_t erased = erase_batch(filter, digests);
      if constexpr (requires { filter.check_memory(); }) {
        if (auto intact = filter.check_memory(); !intact) return fail(intact.error());
      }
      return erased;
    } else {
      static_cast<void>(digests);
      return cannot(K::info, "erase");
    }
  }
  result<void> count(std::span<const std::uint64_t> digests, std::span<std::uint64_t> counts) const noexcept override {
    if constexpr (countable<K>) {
      if (auto fits = check_digest_width<std::uint64_t>(filter.shape().digest_bits); !fits) return fits;
      count_batch(filter, digests, counts);
      return {};
    } else {
      static_cast<void>(digests);
      static_cast<void>(counts);
      return cannot(K::info, "count");
    }
  }
  result<void> merge(const filter_model& other, merge_fpr rate) noexcept override {
    if constexpr (refusing_merges<K>) {
      return filter.merge(same(other), rate);
    } else if constexpr (mergeable<K>) {
      return filter.merge(same(other));
    } else {
      return cannot(K::info, "merge");
    }
  }
  result<void> intersect(const filter_model& other) noexcept override {
    if constexpr (intersectable<K>) {
      return filter.intersect(same(other));
    } else {
      return cannot(K::info, "intersect");
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
      static_cast<void>(factor);
      return cannot(K::info, "fold");
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

  template <class Digest>
  result<std::uint64_t> insert_any(std::span<const Digest> digests) noexcept {
    if (auto fits = check_digest_width<Digest>(filter.shape().digest_bits); !fits) return fail(fits.error());
    if constexpr (static_kind<K>) {
      return is_static(K::info);
    } else if constexpr (requires { filter.insert_until_full(digests); }) {
      const batch_outcome outcome = filter.insert_until_full(digests);
      if (outcome.taken == digests.size()) return outcome.inserted;
      error why = make_error(errc::full, {}, {filter.keys().keys});
      if constexpr (explaining_kind<K>) why = filter.why_full(digests[outcome.taken]);
      why.number[1] = outcome.taken;
      return fail(why);
    } else if constexpr (sizeof(Digest) == 8 || digest128_kind<K>) {
      return filter.insert_batch(digests);
    }
    return cannot(K::info, "take 128-bit digests");
  }
  template <class Digest>
  result<void> query_any(std::span<const Digest> digests, std::span<std::uint64_t> mask) const noexcept {
    if (auto fits = check_digest_width<Digest>(filter.shape().digest_bits); !fits) return fits;
    if constexpr (sizeof(Digest) == 8 || digest128_kind<K>) {
      filter.may_contain_batch(digests, mask);
      return {};
    }
    return cannot(K::info, "take 128-bit digests");
  }

  K filter;
};

// A mapped filter is queried in place; what changes it is refused, what copies it checks every chunk first.
template <mappable K>
struct in_file final : filter_model {
  explicit in_file(mapped<K> from) noexcept : file(std::move(from)) {}
  static failure refused() noexcept { return fail(errc::read_only, "a mapped filter"); }

  [[nodiscard]] const kind_info& info() const noexcept override { return K::info; }
  [[nodiscard]] bool is_mapped() const noexcept override { return true; }
  [[nodiscard]] stored_shape shape() const noexcept override { return file.unchecked().shape(); }
  [[nodiscard]] named_values describe() const noexcept override { return file.unchecked().describe(); }
  [[nodiscard]] result<filter_stats> stats() const noexcept override {
    if (auto whole = file.verify_unless_trusted(); !whole) return fail(whole.error());
    return stats_of(file.unchecked());
  }
  [[nodiscard]] result<std::span<const std::byte>> bytes() const noexcept override {
    if (auto whole = file.verify_unless_trusted(); !whole) return fail(whole.error());
    if constexpr (contiguous_kind<K>) return file.unchecked().payload();
    return std::span<const std::byte>{};
  }
  result<std::uint64_t> insert(std::span<const std::uint64_t> /*digests*/) noexcept override { return refused(); }
  result<std::uint64_t> insert(std::span<const digest128> /*digests*/) noexcept override { return refused(); }
  result<void> may_contain(std::span<const std::uint64_t> digests,
                           std::span<std::uint64_t> mask) const noexcept override {
    return file.may_contain_batch(digests, mask);
  }
  result<void> may_contain(std::span<const digest128> digests, std::span<std::uint64_t> mask) const noexcept override {
    if constexpr (digest128_kind<K>) return file.may_contain_batch(digests, mask);
    static_cast<void>(mask);
    return cannot(K::info, "take 128-bit digests");
  }
  result<std::uint64_t> erase(std::span<const std::uint64_t> /*digests*/) noexcept override { return refused(); }
  result<void> count(std::span<const std::uint64_t> digests, std::span<std::uint64_t> counts) const noexcept override {
    if constexpr (countable<K>) {
      return file.count_batch(digests, counts);
    } else {
      static_cast<void>(digests);
      static_cast<void>(counts);
      return cannot(K::info, "count");
    }
  }
  result<void> merge(const filter_model& /*other*/, merge_fpr /*rate*/) noexcept override { return refused(); }
  result<void> intersect(const filter_model& /*other*/) noexcept override { return refused(); }
  [[nodiscard]] result<filter_owner> fold(std::uint64_t factor) const noexcept override {
    if (auto whole = file.verify_all(); !whole) return fail(whole.error());
    if constexpr (foldable<K>) return in_memory<K>::wrap(file.unchecked().fold(factor));
    static_cast<void>(factor);
    return cannot(K::info, "fold");
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
result<any_filter> any_filter::own(K filter, const hash_spec& hash) noexcept {
  auto self = detail::in_memory<K>::wrap(std::move(filter));
  if (!self) return fail(self.error());
  return any_filter(std::move(*self), hash);
}

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/any_filter.cpp>
#endif

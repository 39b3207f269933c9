// bench/kind_case.hpp: cases of our own kinds, for bench/timed_case.hpp.
//
//     auto each = make_kind_case<blocked>({.keys = 1'000'000, .fpr = 0.01}, hash);       // digests, made beforehand
//     auto each = make_filter_case<blocked>({.keys = 1'000'000, .fpr = 0.01}, type);     // keys, hashed by filter<K>
//
// Both are a result: sizes that a kind cannot have, and memory that is not there, are errors.
#pragma once

#include <bloomery/filter.hpp>
#include <bloomery/kinds.hpp>
#include <bloomery/wrappers/parallel.hpp>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bench/timed_case.hpp"

namespace bloomery::bench {

// A kind, which takes digests.
template <dynamic_kind K, class Digest>
struct kind_subject {
  using key = Digest;
  K filter;

  void clear() { filter.clear(); }
  void insert(const Digest& digest) { filter.insert(digest); }
  void add_batch(std::span<const Digest> digests) { filter.add_batch(digests); }
  [[nodiscard]] bool may_contain(const Digest& digest) const { return filter.may_contain(digest); }
  void may_contain_batch(std::span<const Digest> digests, std::span<std::uint64_t> mask) const {
    filter.may_contain_batch(digests, mask);
  }
  [[nodiscard]] std::uint64_t memory_bytes() const { return filter.memory_bytes(); }
};

// A kind with a hash, which takes keys; from many threads at once, too, if that is wanted: it is a lot of code.
template <dynamic_kind K, class Key, hash_function H = default_hash, bool Threads = false>
struct filter_subject {
  using key = Key;
  bloomery::filter<K, H> filter;

  void clear() { filter.kind().clear(); }
  void insert(const Key& each) { filter.insert(each); }
  void add_batch(std::span<const Key> keys) { filter.add_batch(keys); }
  void insert_shared(std::span<const Key> keys) requires concurrent_kind<K> && Threads {
    auto writer = filter.concurrent();
    writer.add_batch(keys);
  }
  void insert_parallel(std::span<const Key> keys, unsigned threads) requires Threads {
    parallel::add_batch(filter, keys, threads);
  }
  [[nodiscard]] bool may_contain(const Key& each) const { return filter.may_contain(each); }
  template <class F>
  std::uint64_t with_lookup(F&& f) const {
    return filter.with_lookup(f);
  }
  void may_contain_batch(std::span<const Key> keys, std::span<std::uint64_t> mask) const {
    filter.may_contain_batch(keys, mask);
  }
  [[nodiscard]] std::uint64_t memory_bytes() const { return filter.kind().memory_bytes(); }
};

// A static kind, built from digests. A look-up before that finds nothing.
template <static_kind K>
struct built_kind_subject {
  using key = std::uint64_t;
  filter_params params;
  std::optional<K> filter{};
  std::vector<std::uint64_t> digests{};

  void clear() { filter.reset(); }
  void prepare(std::span<const key> keys) { digests.assign(keys.begin(), keys.end()); }
  void build(std::span<const key> /*keys*/) {
    auto made = K::build(params, digests, 1);
    if (made) filter.emplace(std::move(*made));
  }
  [[nodiscard]] bool may_contain(key digest) const { return filter && filter->may_contain(digest); }
  void may_contain_batch(std::span<const key> keys, std::span<std::uint64_t> mask) const {
    if (filter) filter->may_contain_batch(keys, mask);
  }
  [[nodiscard]] std::uint64_t memory_bytes() const { return filter ? filter->memory_bytes() : 0; }
};

// The same with a hash. Hashing counts as building.
template <static_kind K, class Key, hash_function H = default_hash>
struct built_filter_subject {
  using key = Key;
  filter_params params;
  H hash{};
  std::optional<bloomery::filter<K, H>> filter{};

  void clear() { filter.reset(); }
  void build(std::span<const Key> keys) {
    auto made = bloomery::filter<K, H>::build(keys, params, hash, 1);
    if (made) filter.emplace(std::move(*made));
  }
  [[nodiscard]] bool may_contain(const Key& each) const { return filter && filter->may_contain(each); }
  template <class F>
  std::uint64_t with_lookup(F&& f) const {
    return filter ? filter->with_lookup(f) : 0;
  }
  void may_contain_batch(std::span<const Key> keys, std::span<std::uint64_t> mask) const {
    if (filter) filter->may_contain_batch(keys, mask);
  }
  [[nodiscard]] std::uint64_t memory_bytes() const { return filter ? filter->kind().memory_bytes() : 0; }
};

template <dynamic_kind K>
result<timed_case> make_dynamic_case(const case_size& size, const hasher& hash,
                                     std::shared_ptr<const key_source> source) {
  auto filter = K::make({.keys = size.keys, .fpr = size.fpr, .layout = size.layout});
  if (!filter) return fail(filter.error());
  const unsigned digest_bits = filter->shape().digest_bits;
  auto feed = std::make_unique<digest_feed>(std::move(source), hash, digest_bits);
  std::unique_ptr<candidate> subject;
  if constexpr (digest128_kind<K>) {
    if (digest_bits == 128) {
      subject =
          std::make_unique<candidate_of<kind_subject<K, digest128>>>(kind_subject<K, digest128>{std::move(*filter)});
      return timed_case(std::move(subject), std::move(feed), size.keys);
    }
  }
  subject = std::make_unique<candidate_of<kind_subject<K, std::uint64_t>>>(
      kind_subject<K, std::uint64_t>{std::move(*filter)});
  return timed_case(std::move(subject), std::move(feed), size.keys);
}

// With random keys of 16 bytes, or integers where the kind takes them, unless another source is provided.
template <filter_kind K>
result<timed_case> make_kind_case(const case_size& size, const hasher& hash,
                                  std::shared_ptr<const key_source> source = nullptr) {
  if (source == nullptr) {
    if constexpr (K::info.integer_keys) {
      source = std::make_shared<integer_keys>(size.keys);
    } else {
      source = std::make_shared<random_keys>(size.keys);
    }
  }
  if constexpr (static_kind<K>) {
    if (auto plan = K::plan({.keys = size.keys, .fpr = size.fpr}, size.layout); !plan) return fail(plan.error());
    built_kind_subject<K> subject{{.fpr = size.fpr, .layout = size.layout}};
    return timed_case(std::make_unique<candidate_of<built_kind_subject<K>>>(std::move(subject)),
                      std::make_unique<digest_feed>(std::move(source), hash, 64U), size.keys);
  } else {
    return make_dynamic_case<K>(size, hash, std::move(source));
  }
}

// What takes keys of this type, also from many threads at once; `params` may also hold bits per key, a layout, or where
// memory comes from.
template <filter_kind K, hash_function H = default_hash, bool Threads = true>
result<std::unique_ptr<candidate>> make_filter_candidate(const filter_params& params, const key_type& type,
                                                         const H& hash = {}) {
  const auto candidate_with = [&](auto make_subject) -> std::unique_ptr<candidate> {
    if (type.number) return make_subject(std::type_identity<std::uint64_t>{});
    return make_subject(std::type_identity<std::string_view>{});
  };
  if constexpr (static_kind<K>) {
    if (auto plan = K::plan(params.sizes(), params.layout); !plan) return fail(plan.error());
    return candidate_with([&](auto tag) {
      using subject = built_filter_subject<K, typename decltype(tag)::type, H>;
      return std::make_unique<candidate_of<subject>>(subject{params, hash});
    });
  } else {
    auto made = filter<K, H>::make(params, hash);
    if (!made) return fail(made.error());
    return candidate_with([&](auto tag) {
      using subject = filter_subject<K, typename decltype(tag)::type, H, Threads>;
      return std::make_unique<candidate_of<subject>>(subject{std::move(*made)});
    });
  }
}

template <filter_kind K>
result<timed_case> make_filter_case(const case_size& size, const key_type& type) {
  auto made =
      make_filter_candidate<K, default_hash, false>({.keys = size.keys, .fpr = size.fpr, .layout = size.layout}, type);
  if (!made) return fail(made.error());
  return timed_case(std::move(*made), feed_of(type, size.keys), size.keys);
}

// ns per key of 16 bytes, hashed many at a time, keys in cache; 0 where the hash takes no such key.
inline double hash_ns_per_key(const hasher& hash, std::size_t chunks) {
  constexpr std::size_t keys = 512;
  constexpr std::size_t key_bytes = 16;
  if (!hash.accepts(key_bytes)) return 0;
  std::vector<char> bytes(keys * key_bytes);
  std::vector<std::string_view> views;
  for (std::size_t i = 0; i < keys; ++i) {
    views.emplace_back(bytes.data() + i * key_bytes, write_random_key(i + 1, bytes.data() + i * key_bytes));
  }
  std::array<std::uint64_t, keys> digests{};
  std::vector<double> times;
  for (std::size_t i = 0; i < chunks; ++i) {
    times.push_back(seconds_of([&] {
      for (std::size_t round = 0; round < chunk_keys / keys; ++round) {
        hash.digests(views, digests);
        keep(digests.data());
      }
    }));
  }
  return ns_per_key(low_percentile(std::move(times)));
}

}  // namespace bloomery::bench

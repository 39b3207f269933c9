// What the typed suites share: every kind of the list as GoogleTest types, digests, and memory that fails on demand.
#pragma once

#include <gtest/gtest.h>

#include <bloomery/bloomery.hpp>
#include <bloomery/core/binomial.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace bloomery::testing_support {

template <class List>
struct as_test_types;
template <class... Ts>
struct as_test_types<type_list<Ts...>> {
  using types = testing::Types<Ts...>;
};

// The kinds for which Trait::of<K> holds, as GoogleTest types: no case is skipped, it does not exist.
template <class Trait, class Kept, class... Rest>
struct keep_kinds {
  using types = Kept;
};
template <class Trait, class... Kept, class First, class... Rest>
struct keep_kinds<Trait, testing::Types<Kept...>, First, Rest...>
    : keep_kinds<Trait,
                 std::conditional_t<Trait::template of<First>, testing::Types<Kept..., First>, testing::Types<Kept...>>,
                 Rest...> {};
template <class Trait, class List>
struct kinds_that;
template <class Trait, class... Ks>
struct kinds_that<Trait, type_list<Ks...>> : keep_kinds<Trait, testing::Types<>, Ks...> {};
template <class Trait>
using kinds_with = typename kinds_that<Trait, kind_list>::types;

// Kinds that take keys as they come, and those that are built at once: static_kinds_test.cpp is about the latter.
struct takes_keys {
  template <class K>
  static constexpr bool of = dynamic_kind<K>;
};
struct is_static_kind {
  template <class K>
  static constexpr bool of = static_kind<K>;
};
using all_kinds = kinds_with<takes_keys>;

struct merges {
  template <class K>
  static constexpr bool of = mergeable<K>;
};
struct intersects {
  template <class K>
  static constexpr bool of = intersectable<K>;
};
// Kinds whose bytes depend on nothing but what was inserted: not those that grow by splitting, whose keys make room for each
// other, or that forget what is old.
struct forgets_the_order {
  template <class K>
  static constexpr bool of = dynamic_kind<K> && (K::info.exact || K::info.may_lose ||
                                                 (!K::info.grows && !bounded_kind<K> && !K::info.expires));
};
// Kinds that are made for a number of keys, at which their rate is the one promised. Those that expire reach it later, when
// they also hold what is about to be forgotten.
struct has_fixed_size {
  template <class K>
  static constexpr bool of = dynamic_kind<K> && !K::info.exact && !K::info.grows && !K::info.expires;
};
struct is_approximate_and_merges {
  template <class K>
  static constexpr bool of = !K::info.exact && mergeable<K>;
};
struct folds {
  template <class K>
  static constexpr bool of = foldable<K>;
};
struct erases {
  template <class K>
  static constexpr bool of = erasable<K>;
};
// Kinds that may call a key absent that is there, from their first removal on.
struct loses_keys {
  template <class K>
  static constexpr bool of = K::info.may_lose;
};
struct counts {
  template <class K>
  static constexpr bool of = countable<K>;
};
struct counts_in_the_file {
  template <class K>
  static constexpr bool of = countable<K>&& mappable<K>;
};
struct takes_many_writers {
  template <class K>
  static constexpr bool of = concurrent_kind<K>;
};
struct takes_many_writers_of_any_key {
  template <class K>
  static constexpr bool of = concurrent_kind<K> && !K::info.integer_keys;
};
struct is_mapped_where_it_lies {
  template <class K>
  static constexpr bool of = dynamic_kind<K>&& mappable<K>;
};
struct is_approximate {
  template <class K>
  static constexpr bool of = dynamic_kind<K> && !K::info.exact;
};

// Names a typed suite's cases after the kind: Suite/bloom.Claim.
struct kind_name {
  template <class K>
  static std::string GetName(int /*index*/) {
    return std::string(K::info.name);
  }
};

// Well-mixed, reproducible, all different: splitmix64 over a counter, one stream a seed.
class digest_source {
 public:
  explicit digest_source(std::uint64_t seed) : offset_(mix64(seed + 1)) {}
  std::uint64_t operator()() { return at(next_++); }
  [[nodiscard]] std::uint64_t at(std::uint64_t i) const { return mix64(offset_ + i * 0x9e3779b97f4a7c15ULL); }
  std::vector<std::uint64_t> take(std::size_t count) {
    std::vector<std::uint64_t> out(count);
    for (auto& digest : out) digest = (*this)();
    return out;
  }

 private:
  std::uint64_t offset_;
  std::uint64_t next_ = 0;
};

// A filter of the kind with room for `keys`. Kinds that size themselves ignore the numbers.
template <dynamic_kind K>
K make_filter(std::uint64_t keys, double fpr = 0.01, const memory_hooks* memory = nullptr) {
  enable_all();
  auto made = K::make({.keys = keys, .fpr = fpr, .memory = memory});
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}

// How many of these keys a filter with removals may have lost. None, but of kinds that may lose keys: with 99.9 %
// confidence no more than its promised rate gives.
template <filter_kind K>
std::uint64_t most_lost(const K& filter, std::uint64_t keys) {
  std::uint64_t lost = 0;
  if constexpr (losing<K>) {
    while (lost < keys && binomial::lower_bound(lost + 1, keys, 0.001) <= filter.loss_now().target_rate) ++lost;
  }
  return lost;
}
template <filter_kind K>
std::uint64_t count_missing(const K& filter, std::span<const std::uint64_t> keys) {
  std::uint64_t missing = 0;
  for (const std::uint64_t key : keys) missing += filter.may_contain(key) ? 0U : 1U;
  return missing;
}

// The hash that goes with a kind.
template <filter_kind K>
hash_spec hash_of() {
  return K::info.integer_keys ? hasher::of(identity{}).spec() : hasher::of(xxh3{}).spec();
}

// Memory that refuses the n-th request and counts what is alive.
struct failing_memory {
  std::uint64_t requests = 0;
  std::uint64_t fail_at = ~std::uint64_t{0};
  std::int64_t live_bytes = 0;
  memory_hooks hooks{.allocate = [](void* context, std::size_t size, std::size_t alignment) -> void* {
                       auto* self = static_cast<failing_memory*>(context);
                       if (self->requests++ == self->fail_at) return nullptr;
                       self->live_bytes += static_cast<std::int64_t>(size);
                       return default_memory().allocate(nullptr, size, alignment);
                     },
                     .release =
                         [](void* context, void* memory, std::size_t size, std::size_t alignment) {
                           static_cast<failing_memory*>(context)->live_bytes -= static_cast<std::int64_t>(size);
                           default_memory().release(nullptr, memory, size, alignment);
                         },
                     .context = this};
  failing_memory() = default;
  failing_memory(const failing_memory&) = delete;
  failing_memory& operator=(const failing_memory&) = delete;
};

inline std::vector<std::byte> saved_bytes(const any_filter& filter, const save_options& options = {}) {
  memory_sink sink;
  const auto saved = filter.save_to(byte_sink(sink), options);
  EXPECT_TRUE(saved) << (saved ? "" : describe(saved.error()).c_str());
  const auto bytes = sink.bytes();
  return {bytes.begin(), bytes.end()};
}

}  // namespace bloomery::testing_support

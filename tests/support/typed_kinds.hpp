// Lists of kinds as GoogleTest types, derived from kind_list by concepts: TYPED_TEST_SUITE(Erases, kinds_with<erases>, kind_name).
// For tests of what each kind's own functions do. They are compiled once a kind: most tests belong into a suite over kind_table().
#pragma once

#include <bloomery/kinds.hpp>

#include "support/typed.hpp"

namespace bloomery::test {

template <class Trait>
using kinds_with = types_where<Trait, kind_list>;

template <bool kind_capabilities::*Can>
struct can {
  template <class K>
  static constexpr bool of = capabilities_of<K>().*Can;
};
using is_dynamic = can<&kind_capabilities::inserts>;
using is_static = can<&kind_capabilities::is_static>;
using erases = can<&kind_capabilities::erases>;
using counts = can<&kind_capabilities::counts>;
using loses = can<&kind_capabilities::may_lose>;
using is_bounded = can<&kind_capabilities::bounded>;
using has_concurrent_writers = can<&kind_capabilities::concurrent>;
struct has_concurrent_writers_of_any_key {
  template <class K>
  static constexpr bool of = concurrent_kind<K> && !K::info.integer_keys;
};

// For what is generic over the kind: the first kind of each sort that it may treat differently. Sort::of<K> tells which kinds are
// meant, and Sort::number<K> which are alike.
template <class Sort, class K, class... Ks>
constexpr bool is_first_of_its_sort(type_list<Ks...> /*kinds*/) {
  bool earlier = true;
  bool found = false;
  const auto look_at = [&]<class Other>(std::type_identity<Other> /*kind*/) {
    earlier = earlier && !std::is_same_v<K, Other>;
    if constexpr (Sort::template of<Other>) {
      found = found || (earlier && Sort::template number<Other> == Sort::template number<K>);
    }
  };
  (look_at(std::type_identity<Ks>{}), ...);
  return !found;
}
template <class Sort>
struct first_of_each {
  template <class K>
  static constexpr bool of = [] {
    if constexpr (Sort::template of<K>) {
      return is_first_of_its_sort<Sort, K>(kind_list{});
    } else {
      return false;
    }
  }();
};

// Kinds of any keys, by how they take digests: streamed while they are made or not, 64 or 128 bits, with an end or without.
struct keyed_kinds {
  template <class K>
  static constexpr bool of = dynamic_kind<K> && !K::info.integer_keys;
  template <class K>
  static constexpr unsigned number = (stream_kind<K> ? 1U : 0U) | (stream_query_kind<K> ? 2U : 0U) |
                                     (bounded_kind<K> ? 4U : 0U) | (digest128_kind<K> ? 8U : 0U) |
                                     (K::info.grows ? 16U : 0U);
};
struct keyed_mergeable_kinds : keyed_kinds {
  template <class K>
  static constexpr bool of = keyed_kinds::of<K>&& mergeable<K>;
};
// Kinds of a fixed size, by whether they can be full, store copies, and take digests of 128 bits.
struct fixed_size_kinds {
  template <class K>
  static constexpr bool of = keyed_kinds::of<K> && !K::info.grows && !expiring<K> && !losing<K>;
  template <class K>
  static constexpr unsigned number = (bounded_kind<K> ? 1U : 0U) | (erasable<K> ? 2U : 0U) |
                                     (digest128_kind<K> ? 4U : 0U);
};

}  // namespace bloomery::test

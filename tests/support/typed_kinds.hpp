// Lists of kinds as GoogleTest types, derived from kind_list by concepts: TYPED_TEST_SUITE(Erases, kinds_with<erases>, kind_name).
// For tests of what each kind's own functions do. They are compiled once a kind: most tests belong into a suite over kind_table().
#pragma once

#include <bloomery/kinds.hpp>

#include "support/typed.hpp"

namespace bloomery::test {

template <class Trait>
using kinds_with = types_where<Trait, kind_list>;

struct is_dynamic {
  template <class K>
  static constexpr bool of = dynamic_kind<K>;
};
struct is_static {
  template <class K>
  static constexpr bool of = static_kind<K>;
};
struct erases {
  template <class K>
  static constexpr bool of = erasable<K>;
};
struct counts {
  template <class K>
  static constexpr bool of = countable<K>;
};
struct loses {
  template <class K>
  static constexpr bool of = losing<K>;
};
struct is_bounded {
  template <class K>
  static constexpr bool of = bounded_kind<K>;
};
struct has_concurrent_writers {
  template <class K>
  static constexpr bool of = concurrent_kind<K>;
};
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
// Kinds of a fixed size whose keys lie in one place each, by whether they can be full.
struct fixed_size_kinds {
  template <class K>
  static constexpr bool of = keyed_kinds::of<K> && !K::info.grows && !K::info.expires && !K::info.may_lose &&
                             (partitioned_kind<K> || bounded_kind<K>);
  template <class K>
  static constexpr bool number = bounded_kind<K>;
};

}  // namespace bloomery::test

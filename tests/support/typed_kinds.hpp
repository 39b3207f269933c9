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

}  // namespace bloomery::test

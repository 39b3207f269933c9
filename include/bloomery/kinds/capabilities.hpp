// kinds/capabilities.hpp: what a kind can do, derived from the concepts that it meets. No kind states any of it.
//
//     static_assert(bloomery::capabilities_of<bloomery::cuckoo>().erases);
//     if (filter.capabilities().expires) ...        // any_filter, of every kind and format
//
// A capability is that of the kind. One filter may be able to do less: a mapped one takes no keys, and some modes do
// not erase. The call states why.
#pragma once

#include <bloomery/kinds/concept.hpp>

namespace bloomery::inline BLOOMERY_ABI {

struct kind_capabilities {
  bool inserts = false;          // takes keys as they come
  bool is_static = false;        // built from the complete key set instead
  bool excludes = false;         // built from keys to match and keys not to match, and exact about both
  bool erases = false;           // in one mode at least
  bool counts = false;           // how often it holds a key
  bool merges = false;           // union
  bool intersects = false;       // intersection
  bool folds = false;            // can be made smaller afterwards
  bool bounded = false;          // an insert may report full
  bool expires = false;          // forgets its oldest keys
  bool may_lose = false;         // after its first removal it may call a key absent that is there
  bool saturates = false;        // counters end at a most and stay there
  bool maps = false;             // a file of it is queried in place
  bool concurrent = false;       // many threads may write and query at the same time
  bool takes_digest128 = false;  // can take 128-bit digests
  bool packs = false;            // made emptier than usual, its file compresses to less

  friend constexpr bool operator==(const kind_capabilities&, const kind_capabilities&) = default;
};

template <filter_kind K>
constexpr kind_capabilities capabilities_of() noexcept {
  static_assert(dynamic_kind<K> != static_kind<K>, "a kind takes keys as they come, or is built from all of them");
  return {.inserts = dynamic_kind<K>,
          .is_static = static_kind<K>,
          .excludes = excluding_kind<K>,
          .erases = erasable<K>,
          .counts = countable<K>,
          .merges = mergeable<K>,
          .intersects = intersectable<K>,
          .folds = foldable<K>,
          .bounded = bounded_kind<K>,
          .expires = expiring<K>,
          .may_lose = losing<K>,
          .saturates = saturating<K>,
          .maps = mappable<K>,
          .concurrent = concurrent_kind<K>,
          .takes_digest128 = digest128_kind<K>,
          .packs = packing_kind<K>};
}

}  // namespace bloomery::inline BLOOMERY_ABI

// For tests of what is typed: filter<K, H>, mapped<K>, single-key functions of a kind. It includes no kind: a test includes those
// that it names, or <bloomery/kinds.hpp> for lists of them.
#pragma once

#include <gtest/gtest.h>
#include <bloomery/hash/identity.hpp>

#include <bloomery/core/type_list.hpp>
#include <bloomery/kinds/concept.hpp>
#include <bloomery/native/load.hpp>
#include <bloomery/native/save.hpp>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

#include "support/digests.hpp"
#include "support/files.hpp"

namespace bloomery::test {

void enable_everything();

// The types of a list for which Trait::of<T> holds, as GoogleTest types: no case is skipped, it does not exist.
template <class Trait, class Kept, class... Rest>
struct keep_types {
  using types = Kept;
};
template <class Trait, class... Kept, class First, class... Rest>
struct keep_types<Trait, testing::Types<Kept...>, First, Rest...>
    : keep_types<Trait,
                 std::conditional_t<Trait::template of<First>, testing::Types<Kept..., First>, testing::Types<Kept...>>,
                 Rest...> {};
template <class Trait, class List>
struct types_that;
template <class Trait, class... Ts>
struct types_that<Trait, type_list<Ts...>> : keep_types<Trait, testing::Types<>, Ts...> {};
// types_where<erases, kind_list>
template <class Trait, class List>
using types_where = typename types_that<Trait, List>::types;

// Names a typed suite's cases after the kind: Suite/bloom.Claim.
struct kind_name {
  template <class K>
  static std::string GetName(int /*index*/) {
    return std::string(K::info.name);
  }
};

template <class K>
K made_with(const filter_params& params) {
  enable_everything();
  auto made = K::make(params);
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}
// An empty filter for `keys`. Kinds that size themselves ignore the numbers.
template <dynamic_kind K>
K make_filter(std::uint64_t keys, double fpr = 0.01, const memory_hooks* memory = nullptr) {
  return made_with<K>({.keys = keys, .fpr = fpr, .memory = memory});
}
template <static_kind K>
K build_filter(key_list digests, double fpr = 0.01, unsigned threads = 1) {
  enable_everything();
  auto made = K::build({.fpr = fpr}, digests, threads);
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}

template <class K>
hash_spec sample_hash() {
  return {.id = K::info.integer_keys ? identity::info.id : xxh3::info.id,
          .seed = K::info.integer_keys ? std::uint64_t{0} : std::uint64_t{7}};
}
// A filter of the first n sample keys.
template <dynamic_kind K>
K sample(std::uint64_t keys, const memory_hooks* memory = nullptr) {
  K filter = make_filter<K>(keys, 0.01, memory);
  key_list digests(keys);
  for (std::uint64_t i = 0; i < keys; ++i) digests[i] = K::info.integer_keys ? 7 * i : sample_digest(i);
  filter.add_batch(digests);
  return filter;
}

template <class K>
bytes saved(const K& filter, const save_options& options = {}) {
  memory_sink sink;
  const auto done = save_to(filter, sample_hash<K>(), byte_sink(sink), options);
  if (!done) ADD_FAILURE() << describe(done.error()).c_str();
  return {sink.bytes().begin(), sink.bytes().end()};
}
template <class K>
std::string load_error(const bytes& file, const load_options& options = {}) {
  return error_of(load_bytes<K>(file, options));
}

}  // namespace bloomery::test

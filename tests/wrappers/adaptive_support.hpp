// What the tests of adaptive<K> share.
#pragma once

#include <gtest/gtest.h>

#include <bloomery/wrappers/adaptive.hpp>
#include <span>
#include <string>
#include <vector>

namespace bloomery::adaptive_testing {

using numbers = std::vector<std::uint64_t>;
inline std::span<const std::uint64_t> all_of(const numbers& keys) { return keys; }

inline numbers numbers_from(std::uint64_t first, std::uint64_t count) {
  numbers made(count);
  for (std::uint64_t i = 0; i < count; ++i) made[i] = first + i;
  return made;
}

template <class K>
adaptive<K> made_for(std::uint64_t keys, double fpr = 0.01, const adaptive_options& options = {}) {
  auto made = adaptive<K>::make({.keys = keys, .fpr = fpr}, options);
  if (!made) ADD_FAILURE() << describe(made.error()).c_str();
  return std::move(*made);
}

template <class Of>
numbers found_in(const Of& filter, const numbers& keys) {
  std::vector<std::uint64_t> mask(mask_words(keys.size()));
  filter.may_contain_batch(all_of(keys), mask);
  numbers found;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if ((mask[i / 64] >> (i % 64) & 1U) != 0) found.push_back(keys[i]);
  }
  return found;
}
template <class Of>
std::uint64_t count_found(const Of& filter, const numbers& keys) {
  return found_in(filter, keys).size();
}

// So many absent keys that the filter calls "maybe".
template <class Of>
numbers false_positives_of(const Of& filter, std::size_t wanted) {
  numbers found;
  for (std::uint64_t first = 1'000'000'000; found.size() < wanted; first += 100'000) {
    const numbers some = found_in(filter, numbers_from(first, 100'000));
    found.insert(found.end(), some.begin(), some.end());
  }
  found.resize(wanted);
  return found;
}

// The keys of a table, and how often somebody wanted them all.
struct table_source {
  numbers keys{};
  unsigned calls = 0;
  bool fails = false;

  template <class Sink>
  result<void> operator()(Sink& sink) {
    ++calls;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (fails && i == keys.size() / 2) return fail(errc::io, "the table went away");
      sink(keys[i]);
    }
    return {};
  }
};

template <class Of>
std::string last_error_of(const Of& filter) {
  return filter.last_error() ? std::string(describe(*filter.last_error()).view()) : std::string("no error");
}

}  // namespace bloomery::adaptive_testing

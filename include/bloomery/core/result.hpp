// core/result.hpp: the one way in which the library reports failure.
//
// Everything that depends on input or environment returns result<T>. No exceptions of ours exist, and `.value()` (which
// throws) is not used: check, then dereference.
//
//     auto filter = bloomery::bloom::make({.keys = 1'000'000, .fpr = 0.01});
//     if (!filter) return fail(filter.error());
//     filter->insert(digest);
#pragma once

#include <bloomery/core/error.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tl/expected.hpp>

namespace bloomery::inline BLOOMERY_ABI {

template <class T>
using result = tl::expected<T, error>;
using failure = tl::unexpected<error>;

inline failure fail(const error& e) noexcept { return failure(e); }
inline failure fail(errc code, std::string_view text = {}, std::array<std::uint64_t, 4> number = {}) noexcept {
  return failure(make_error(code, text, number));
}

// The same outcome; an error without a path is about this file.
template <class T>
result<T> name_file(result<T> done, std::string_view path) noexcept {
  if (!done && done.error().path.empty()) done.error().path.assign(path);
  return done;
}
inline failure name_file(failure why, std::string_view path) noexcept {
  if (why.value().path.empty()) why.value().path.assign(path);
  return why;
}

// The text of an error with a number in it that is not a whole one ("1.5").
inline failure fail_number(errc code, double value, std::array<std::uint64_t, 4> number = {}) noexcept {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return fail(code, text.data(), number);
}

// Expected outcomes of an insert. `inserted`: the key was surely absent before. `present`: it was there, or collides
// with what was; sets are as they were, and kinds that count have counted it. `full`: it is not in the filter.
enum class insert_result : std::uint8_t { inserted, present, full };

// What became of a batch that stops at the first digest that does not fit.
struct batch_outcome {
  std::size_t taken = 0;       // digests from the front of the batch that the filter holds now
  std::uint64_t inserted = 0;  // those of them that changed something
};

}  // namespace bloomery::inline BLOOMERY_ABI

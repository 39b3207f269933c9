// The table of filter kinds that the value-parameterised suites run over. It is derived from kind_list: what a kind can do comes
// from its concepts, what it can be made from out of its `info`. No kind is named in it.
//
//     class Mergeable : public KindTest {};
//     TEST_P(Mergeable, MergeIsTheFilterOfBothSets) { auto a = make_filter(GetParam(), 1000); ... }
//     BLOOMERY_FOR_KINDS(Mergeable, kinds_where(&kind_case::merges));
//
// The tests are compiled once and run every kind through any_filter. A test that does not concern a kind does not exist for it.
#pragma once

#include <gtest/gtest.h>

#include <bloomery/kinds/table.hpp>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace bloomery::inline BLOOMERY_ABI {
class any_filter;
}

namespace bloomery::test {

// Its capabilities, and what only tests need to know.
struct kind_case : kind_capabilities {
  const kind_info* info = nullptr;
  const kind_entry* entry = nullptr;
  bool is_contiguous = false;                    // its bytes are one piece in memory, too
  bool unpacks_with_hooks = false;               // loading takes more from the memory hooks than the payload
  unsigned cell_bits = 1;                        // of its stored words
  std::uint64_t most_count = ~std::uint64_t{0};  // a count ends here
  // The chunks of its file that a look-up touches; only where it maps.
  std::vector<std::uint64_t> (*touched_chunks)(const any_filter& filter, std::uint64_t digest) = nullptr;

  [[nodiscard]] bool is_dynamic() const noexcept { return !is_static; }
  [[nodiscard]] bool is_approximate() const noexcept { return !info->exact; }
  // Sized for a number of keys, at which the FPR is the promised one. Kinds that expire reach it later, when they also hold what
  // is about to be forgotten.
  [[nodiscard]] bool has_fixed_size() const noexcept { return !is_static && !info->exact && !info->grows && !expires; }
  // Whose bytes depend on nothing but what was inserted: not those that grow by splitting, whose keys move each other, or that
  // forget what is old.
  [[nodiscard]] bool ignores_order() const noexcept {
    return !is_static && (info->exact || may_lose || (!info->grows && !bounded && !expires));
  }
};

// Every kind, in the order of kind_list.
const std::vector<kind_case>& kind_table();
// Those for which the predicate (a member of kind_case or a function) holds. Fails loudly when there is none: a claim about no
// kind would pass unnoticed.
std::vector<kind_case> kinds_where(const std::function<bool(const kind_case&)>& predicate);
const kind_case& kind_named(std::string_view name);

// What GoogleTest prints for a parameter, and calls its test.
std::ostream& operator<<(std::ostream& out, const kind_case& kind);
std::string case_name(const testing::TestParamInfo<kind_case>& info);

class KindTest : public testing::TestWithParam<kind_case> {};

}  // namespace bloomery::test

// The names are Suite.Claim/kind.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): GoogleTest registers by macros.
#define BLOOMERY_FOR_KINDS(suite, ...) \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::ValuesIn(__VA_ARGS__), bloomery::test::case_name)

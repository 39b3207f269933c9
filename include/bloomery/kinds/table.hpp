// kinds/table.hpp: the list of kinds as a table at run time: names, what they can do, and how they are sized, without
// their code. For files that name kinds and size them but run none; <bloomery/kinds.hpp> is the list itself.
//
//     for (const bloomery::kind_entry& kind : bloomery::kinds()) std::puts(kind.info->name.data());
//     bloomery::find_kind("cuckoo")->capabilities.erases;      // true
//     bloomery::find_kind("bloom")->plan({.keys = 1'000'000, .fpr = 0.01}, {})->memory_bytes;
#pragma once

#include <array>
#include <bloomery/kinds/capabilities.hpp>
#include <span>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

// What is known of a kind without a filter of it. Filters of other products have such an entry, too, outside the table.
struct kind_entry {
  const kind_info* info = nullptr;
  kind_capabilities capabilities{};
  std::span<const option_info> options{};
  // nullptr: the format of the product sizes it.
  result<size_plan> (*plan)(const size_request& request, std::string_view layout) noexcept = nullptr;
  // The number of hash functions for a file that will be compressed; only of kinds that pack.
  unsigned (*packed_hashes)(double fpr) noexcept = nullptr;
};

template <filter_kind K>
constexpr kind_entry make_entry() noexcept {
  kind_entry made{.info = &K::info, .capabilities = capabilities_of<K>(), .plan = &K::plan};
  if constexpr (configurable_kind<K>) made.options = K::options();
  if constexpr (packing_kind<K>) made.packed_hashes = &K::packed_hashes;
  return made;
}
template <filter_kind K>
inline constexpr kind_entry entry_of = make_entry<K>();

// Memory for a layout that a number is part of.
using layout_text = std::array<char, 48>;
// Checks the options of `params` against those of the kind, and puts what `params.options` has by name into its
// members, where there is one. An error states what the kind has, or takes.
BLOOMERY_API result<void> apply_options(const kind_entry& kind, filter_params& params, layout_text& layout) noexcept;

// All kinds, in the order of kinds.hpp.
BLOOMERY_API std::span<const kind_entry> kinds() noexcept;
// The kind with this name or id, or nullptr.
BLOOMERY_API const kind_entry* find_kind(std::string_view name) noexcept;
BLOOMERY_API const kind_entry* find_kind(std::uint32_t id) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

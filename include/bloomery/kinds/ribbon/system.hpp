// kinds/ribbon/system.hpp: a solved system of ribbon equations in stored bytes: where a look-up finds its parts, and
// whether a file can be one.
//
// A filter is one such system (kind ribbon) or several (kind cascade). Each is in words of its own, as ribbon_geometry
// states, and hashes in a way of its own if it has a salt of its own.
#pragma once

#include <bloomery/kernels/ribbon.hpp>
#include <bloomery/kinds/bit_store.hpp>
#include <bloomery/kinds/explain.hpp>
#include <bloomery/kinds/ribbon/layout.hpp>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI::detail {

// For look-ups in a system whose first word this is.
BLOOMERY_API kernels::ribbon_view ribbon_view_of(const ribbon_geometry& geometry, const std::uint64_t* words,
                                                 std::uint64_t salt = 0) noexcept;

// Calls f(first byte, size) for the thresholds and blocks of the system that a look-up reads.
template <class F>
void ribbon_touched(const ribbon_geometry& geometry, const kernels::ribbon_view& view, std::uint64_t digest, F&& f) {
  std::uint64_t hash = digest;
  for (unsigned i = 0; i < view.count; ++i) {
    const kernels::ribbon_layer& layer = view.layers[i];
    hash = kernels::ribbon_hash(hash, layer.multiplier);
    const std::uint64_t start = layer.start_of(hash);
    f(geometry.threshold_word_of(i) * 8 + kernels::ribbon_layer::threshold_byte(start), std::uint64_t{1});
    if (layer.is_bumped(start)) continue;
    const kernels::ribbon_place at = view.place(layer, start, 0);
    const std::uint64_t end = view.word_of(layer, start / kernels::ribbon_width + 2);
    f((geometry.word_of(i) + at.word) * 8, (end - at.word) * 8);
    return;
  }
}

// What a look-up reads in the system, layer by layer: see kinds/explain.hpp. A layer's index is its number; `first_byte`
// and `stage` are those of the system.
BLOOMERY_API void explain_ribbon(explanation& out, const ribbon_geometry& geometry, const kernels::ribbon_view& view,
                                 std::uint64_t digest, const explained_part& system) noexcept;

// Whether there can be such blocks: no layer after one that is missing, and no size that does not fit into numbers.
BLOOMERY_API result<void> check_ribbon_blocks(const ribbon_geometry& geometry) noexcept;

// Whether what is between and after the parts of the system that begins at this word is 0.
BLOOMERY_API bool ribbon_gaps_are_zero(const ribbon_geometry& geometry, const bit_store& store,
                                       std::uint64_t first_word = 0) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI::detail

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/ribbon/system.cpp>
#endif

// kernels/gf2.hpp: systems of up to 256 equations over GF(2) as words of bits: what solving a small one needs.
//
// Word w of row i is rows[w * gf2_stride + i], aligned to 64 bytes, so that one instruction works on several rows. Rows
// up to the next multiple of 8 are memory that is written, too; what is in them means nothing.
#pragma once

#include <array>
#include <bit>
#include <bloomery/core/target.hpp>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI::kernels {

inline constexpr unsigned gf2_stride = 256;
inline constexpr unsigned gf2_most_words = 4;
inline constexpr unsigned gf2_group = 8;  // rows that are worked on together, at most

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

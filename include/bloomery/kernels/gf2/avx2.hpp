// kernels/gf2/avx2.hpp: systems over GF(2) with AVX2, 4 rows at a time. Same bits as the portable code.
#pragma once

#include <bloomery/kernels/gf2.hpp>

#ifdef BLOOMERY_X86

namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2 {

#define BLOOMERY_TARGET BLOOMERY_FOR_AVX2
#define BLOOMERY_INLINE BLOOMERY_FOR_AVX2 BLOOMERY_ALWAYS_INLINE inline

using gf2_lanes = std::uint64_t __attribute__((vector_size(32), may_alias));

#include <bloomery/kernels/gf2/loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace bloomery::inline BLOOMERY_ABI::kernels::inline BLOOMERY_TARGET_ABI::avx2

#endif

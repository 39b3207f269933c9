// core/intrinsics.hpp: the one place that includes the compiler's intrinsics. core/target.hpp has the macros.
#pragma once

#include <bloomery/core/target.hpp>

#if defined(BLOOMERY_X86)

// g++ 12 warns about its own AVX-512 headers.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

#elif defined(BLOOMERY_NEON)

#include <arm_neon.h>

#endif

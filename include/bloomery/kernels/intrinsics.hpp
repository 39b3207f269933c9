// kernels/intrinsics.hpp: the one place that includes the compiler's intrinsics.
#pragma once

#if defined(__x86_64__)
#define BLOOMERY_X86 1
// g++ 12 warns about its own AVX-512 headers.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

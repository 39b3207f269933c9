// Takes the place of the library's header of this name: all instruction sets at once. Functions are compiled for no set in
// particular, and not inlined, because each of SIMDe's is a page of code.
#pragma once

#include <bloomery/core/config.hpp>

#define BLOOMERY_ALWAYS_INLINE
#define BLOOMERY_X86 1
#define BLOOMERY_NEON 1
#define BLOOMERY_FOR_AVX2
#define BLOOMERY_FOR_AVX512
#define BLOOMERY_OPAQUE(vector) static_cast<void>(0)
#define BLOOMERY_LOAD_AVX2(vector, array) ((vector) = _mm256_load_si256(reinterpret_cast<const __m256i*>(&(array))))
#define BLOOMERY_TARGET_ABI emulated

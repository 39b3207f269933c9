// core/target.hpp: what the compiler compiles for, as macros; the intrinsics themselves are in core/intrinsics.hpp.
//
// BLOOMERY_X86 or BLOOMERY_NEON states which instruction sets there are. A function with BLOOMERY_FOR_AVX2 or
// BLOOMERY_FOR_AVX512 is compiled for that set, whatever the program is compiled for. BLOOMERY_COMPILED_FOR names the
// best of the sets that the whole program is compiled for, as the namespace of its kernels, unless the program must
// find out what it runs on. Headers of these two names that come first in the search path replace them: that is how the
// tests run all sets on any processor.
#pragma once

#include <bloomery/core/config.hpp>

// Of the parts of a loop: they cost nothing, and carry their vectors in registers.
#define BLOOMERY_ALWAYS_INLINE __attribute__((always_inline))
// Of the rarer of two ways, which would make the loop around the other one longer.
#define BLOOMERY_APART __attribute__((noinline))

#if defined(__x86_64__)

#define BLOOMERY_X86 1
// Both sets come with AES instructions (BLOOMERY_AES) and shifts by any register (BMI2), unless the program is compiled
// for a processor that has AVX2 and need not have those: a function that may use more than its caller is not inlined
// there.
#if defined(__AVX2__) && !(defined(__AES__) && defined(__BMI2__))
#define BLOOMERY_FOR_AVX2 __attribute__((target("avx2")))
#define BLOOMERY_FOR_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw")))
#else
#define BLOOMERY_AES 1
#define BLOOMERY_FOR_AVX2 __attribute__((target("avx2,bmi2,aes")))
#define BLOOMERY_FOR_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,bmi2,aes")))
#endif

// Hides from clang how a vector came to be: it replaces a multiplication of 32 bits by a slow one of 64 when it sees
// that the upper bits do not matter.
#if defined(__clang__)
#define BLOOMERY_OPAQUE(vector) __asm__("" : "+v"(vector))
#else
#define BLOOMERY_OPAQUE(vector) static_cast<void>(0)
#endif
// Loads an aligned array into a vector of AVX2 in one instruction, though the compiler knows what the array holds.
#define BLOOMERY_LOAD_AVX2(vector, array) __asm__("vmovdqa %1, %0" : "=x"(vector) : "m"(array))

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512BW__)
#define BLOOMERY_COMPILED_FOR avx512
#elif defined(__AVX2__)
#define BLOOMERY_COMPILED_FOR avx2
#endif

#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

#define BLOOMERY_NEON 1
#define BLOOMERY_COMPILED_FOR neon

#endif

// Code that changes with the -m flags of a program is in an inline namespace of its own for each choice: files of one
// program may be compiled with different flags.
#if !defined(BLOOMERY_COMPILED_FOR)
#define BLOOMERY_TARGET_ABI for_any
#elif defined(BLOOMERY_NEON)
#define BLOOMERY_TARGET_ABI for_neon
#elif defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512BW__)
#define BLOOMERY_TARGET_ABI for_avx512
#elif defined(BLOOMERY_AES)
#define BLOOMERY_TARGET_ABI for_avx2
#else
#define BLOOMERY_TARGET_ABI for_avx2_alone
#endif

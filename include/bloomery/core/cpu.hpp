// core/cpu.hpp: which instruction set the kernels use.
//
// Chosen once, from what the processor has: the best set, or the one that BLOOMERY_ISA names in the environment if the
// processor has that (scalar, sse2, avx2, avx512; on 64-bit ARM scalar and neon). Any other value is as good as none.
// The choice changes speed only: every instruction set gives the same bits and the same answers.
#pragma once

#include <array>
#include <bloomery/core/config.hpp>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

enum class isa : std::uint8_t { scalar, sse2, avx2, avx512, neon };

inline constexpr std::array<isa, 5> all_isas = {isa::scalar, isa::sse2, isa::avx2, isa::avx512, isa::neon};

inline constexpr std::string_view isa_name(isa level) noexcept {
  constexpr std::array<std::string_view, all_isas.size()> names = {"scalar", "sse2", "avx2", "avx512", "neon"};
  return names[static_cast<std::size_t>(level)];
}

// Whether this processor, and its operating system, can run a set. For avx2 that is AVX2, BMI2 and AES, which
// came together. For avx512 it is these and F, VL, DQ and BW: all processors with AVX-512 since 2017 but for the Xeon
// Phi.
BLOOMERY_API bool has_isa(isa level) noexcept;

BLOOMERY_API isa best_isa() noexcept;

// What a wish for a set leads to; no wish is a null pointer.
BLOOMERY_API isa choose_isa(const char* wish) noexcept;

BLOOMERY_API isa active_isa() noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/core/cpu.cpp>
#endif

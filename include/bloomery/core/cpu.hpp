// core/cpu.hpp: which instruction set the kernels use.
//
// Chosen once, from what the processor has: the best set, or the one that BLOOMERY_ISA names in the environment if the
// processor has that (scalar, sse2, avx2, avx512; on 64-bit ARM scalar and neon). Any other value is as good as none. The
// choice changes speed only: every instruction set gives the same bits and the same answers.
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
// came together. For avx512 it is these and F, VL, DQ and BW: all processors with AVX-512 since 2017 but for the Xeon Phi.
inline bool has_isa(isa level) noexcept {
#if defined(__x86_64__)
  if (level == isa::sse2) return true;
  if (level == isa::avx2) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("aes");
  }
  if (level == isa::avx512) {
    return has_isa(isa::avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  }
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if (level == isa::neon) return true;
#endif
  return level == isa::scalar;
}

inline isa best_isa() noexcept {
  isa best = isa::scalar;
  for (const isa level : all_isas) {
    if (has_isa(level)) best = level;
  }
  return best;
}

// What a wish for a set leads to; no wish is a null pointer.
inline isa choose_isa(const char* wish) noexcept {
  for (const isa level : all_isas) {
    if (wish != nullptr && isa_name(level) == wish && has_isa(level)) return level;
  }
  return best_isa();
}

inline isa active_isa() noexcept {
  static const isa chosen = choose_isa(std::getenv("BLOOMERY_ISA"));
  return chosen;
}

}  // namespace bloomery::inline BLOOMERY_ABI

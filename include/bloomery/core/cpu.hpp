// core/cpu.hpp: which instruction set the batch kernels use.
//
// Chosen once, from what the processor has, and lowered (never raised) by BLOOMERY_ISA=scalar|avx2 in the environment.
// The choice changes speed only: every instruction set gives the same bits and the same answers.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace bloomery {

enum class isa : std::uint8_t { scalar, avx2 };

inline constexpr std::string_view isa_name(isa level) noexcept { return level == isa::avx2 ? "avx2" : "scalar"; }

inline isa best_isa() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_cpu_supports("avx2")) return isa::avx2;
#endif
  return isa::scalar;
}

inline isa active_isa() noexcept {
  static const isa chosen = [] {
    const char* wish = std::getenv("BLOOMERY_ISA");
    return wish != nullptr && std::string_view(wish) == "scalar" ? isa::scalar : best_isa();
  }();
  return chosen;
}

}  // namespace bloomery

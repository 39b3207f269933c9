#include <bloomery/core/cpu.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY bool has_isa(isa level) noexcept {
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

BLOOMERY_BODY isa best_isa() noexcept {
  isa best = isa::scalar;
  for (const isa level : all_isas) {
    if (has_isa(level)) best = level;
  }
  return best;
}

BLOOMERY_BODY isa choose_isa(const char* wish) noexcept {
  for (const isa level : all_isas) {
    if (wish != nullptr && isa_name(level) == wish && has_isa(level)) return level;
  }
  return best_isa();
}

BLOOMERY_BODY isa active_isa() noexcept {
  static const isa chosen = choose_isa(std::getenv("BLOOMERY_ISA"));
  return chosen;
}

}  // namespace bloomery::inline BLOOMERY_ABI

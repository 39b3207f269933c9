#include <bloomery/core/intrinsics.hpp>
#include <bloomery/kernels/window/avx2.hpp>
#include <bloomery/kernels/window/dispatch.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

inline namespace BLOOMERY_TARGET_ABI {

namespace portable {

inline std::uint32_t window_hits(const std::byte* line, std::uint32_t probe) noexcept {
  return window_lane_hits(line, probe);
}

// Clears the lanes that are not in `kept`, sets the probe's bits in those of `set`, and stamps the line.
inline void window_write(std::byte* line, std::uint32_t probe, std::uint32_t kept, std::uint32_t set,
                         std::uint32_t stamp) noexcept {
  for (unsigned lane = 0; lane < window_lanes; ++lane) {
    const std::uint32_t old = (kept >> lane & 1U) != 0 ? window_lane(line, lane) : 0U;
    store_le(line + std::size_t{4} * lane, old | ((set >> lane & 1U) != 0 ? window_bit(probe, lane) : 0U));
  }
  store_le(line + std::size_t{4} * window_lanes, stamp);
}

#define BLOOMERY_TARGET
#define BLOOMERY_INLINE BLOOMERY_ALWAYS_INLINE inline

#include <bloomery/kernels/window/loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace portable

}  // namespace BLOOMERY_TARGET_ABI

BLOOMERY_BODY const window_kernels& window_kernels::for_isa(isa level) noexcept {
#ifdef BLOOMERY_X86
  static constexpr window_kernels with_avx2{avx2::window_contains_one, avx2::window_contains_batch,
                                            avx2::window_insert};
  if (level == isa::avx2 || level == isa::avx512) return with_avx2;
#endif
  static_cast<void>(level);
  static constexpr window_kernels plain{portable::window_contains_one, portable::window_contains_batch,
                                        portable::window_insert};
  return plain;
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

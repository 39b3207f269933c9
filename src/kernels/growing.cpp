#include <bloomery/core/intrinsics.hpp>
#include <bloomery/kernels/growing/avx2.hpp>
#include <bloomery/kernels/growing/dispatch.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

inline namespace BLOOMERY_TARGET_ABI {

namespace portable {

#define BLOOMERY_TARGET
#define BLOOMERY_INLINE BLOOMERY_ALWAYS_INLINE inline

template <class Slots>
BLOOMERY_INLINE bool found(Slots /*slots*/, const std::byte* line, typename Slots::lane digest) {
  return growing_match<Slots>(line, digest);
}
BLOOMERY_INLINE bool is_found(bool any) { return any; }
struct eight_found {
  std::array<bool, 8> of;

  [[nodiscard]] BLOOMERY_INLINE unsigned bits() const {
    unsigned all = 0;
    for (unsigned i = 0; i < 8; ++i) all |= (of[i] ? 1U : 0U) << i;
    return all;
  }
};

#include <bloomery/kernels/growing/loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace portable

}  // namespace BLOOMERY_TARGET_ABI

template <class Slots>
const growing_kernels<Slots>& growing_kernels<Slots>::for_isa(isa level) noexcept {
#ifdef BLOOMERY_X86
  static constexpr growing_kernels with_avx2{avx2::growing_contains_one<Slots>, avx2::growing_contains_batch<Slots>};
  if (level == isa::avx2 || level == isa::avx512) return with_avx2;
#endif
  static_cast<void>(level);
  static constexpr growing_kernels plain{portable::growing_contains_one<Slots>,
                                         portable::growing_contains_batch<Slots>};
  return plain;
}

#ifndef BLOOMERY_HEADER_ONLY
template struct growing_kernels<growing_slots<16>>;
template struct growing_kernels<growing_slots<24>>;
template struct growing_kernels<growing_slots<32>>;
#endif

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

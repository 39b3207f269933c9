#include <bloomery/core/intrinsics.hpp>
#include <bloomery/kernels/ribbon/avx2.hpp>
#include <bloomery/kernels/ribbon/dispatch.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

inline namespace BLOOMERY_TARGET_ABI {

namespace portable {

#define BLOOMERY_TARGET
#define BLOOMERY_INLINE BLOOMERY_ALWAYS_INLINE inline

// Compares all columns, eight at a time: a key that is absent differs in some of them, and nobody knows in which.
template <unsigned Eights>
BLOOMERY_INLINE bool ribbon_matches(const std::uint64_t* words, const ribbon_place& at, std::uint32_t fingerprint,
                                    std::uint32_t wanted) {
  const std::uint64_t here = little_endian(at.here);
  const std::uint64_t next = little_endian(at.next);
  const std::uint64_t* behind = words + at.columns;
  std::uint32_t bits = 0;
  for (unsigned j = 0; j < 8 * Eights; ++j) {
    bits |= ribbon_parity(words[j], behind[j], here, next) << ribbon_bit_of(j);
  }
  return ((bits ^ fingerprint) & wanted) == 0;
}

#include <bloomery/kernels/ribbon/loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace portable

// `Eights`: the columns of a block, in groups of eight.
template <unsigned Eights>
const ribbon_kernels& ribbon_kernels_of(isa level) noexcept {
#ifdef BLOOMERY_X86
  static constexpr ribbon_kernels with_avx2{avx2::ribbon_contains_one<Eights>, avx2::ribbon_contains_batch<Eights>,
                                            avx2::ribbon_solve};
  if (level == isa::avx2 || level == isa::avx512) return with_avx2;
#endif
  static_cast<void>(level);
  static constexpr ribbon_kernels plain{portable::ribbon_contains_one<Eights>, portable::ribbon_contains_batch<Eights>,
                                        portable::ribbon_solve};
  return plain;
}

}  // namespace BLOOMERY_TARGET_ABI

BLOOMERY_BODY const ribbon_kernels& ribbon_kernels::for_isa(isa level, unsigned columns) noexcept {
  if (columns <= 8) return ribbon_kernels_of<1>(level);
  if (columns <= 16) return ribbon_kernels_of<2>(level);
  return columns <= 24 ? ribbon_kernels_of<3>(level) : ribbon_kernels_of<4>(level);
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

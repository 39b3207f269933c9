#include <bloomery/kernels/gf2/avx2.hpp>
#include <bloomery/kernels/gf2/avx512.hpp>
#include <bloomery/kernels/gf2/dispatch.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

inline namespace BLOOMERY_TARGET_ABI {

namespace portable {

#define BLOOMERY_TARGET
#define BLOOMERY_INLINE BLOOMERY_ALWAYS_INLINE inline

using gf2_lanes = std::uint64_t __attribute__((vector_size(16), may_alias));

#include <bloomery/kernels/gf2/loops.inc>

#undef BLOOMERY_INLINE
#undef BLOOMERY_TARGET

}  // namespace portable

}  // namespace BLOOMERY_TARGET_ABI

BLOOMERY_BODY const gf2_kernels& gf2_kernels::for_isa(isa level) noexcept {
#ifdef BLOOMERY_X86
  static constexpr gf2_kernels with_avx2{
      {avx2::gf2_reduce<1>, avx2::gf2_reduce<2>, avx2::gf2_reduce<3>, avx2::gf2_reduce<4>},
      avx2::gf2_gather,
      avx2::gf2_combine};
  static constexpr gf2_kernels with_avx512{
      {avx512::gf2_reduce<1>, avx512::gf2_reduce<2>, avx512::gf2_reduce<3>, avx512::gf2_reduce<4>},
      avx512::gf2_gather,
      avx512::gf2_combine};
  if (level == isa::avx2) return with_avx2;
  if (level == isa::avx512) return with_avx512;
#endif
  static_cast<void>(level);
  static constexpr gf2_kernels plain{
      {portable::gf2_reduce<1>, portable::gf2_reduce<2>, portable::gf2_reduce<3>, portable::gf2_reduce<4>},
      portable::gf2_gather,
      portable::gf2_combine};
  return plain;
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

#include <bloomery/kernels/counting/avx2.hpp>
#include <bloomery/kernels/counting/dispatch.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

BLOOMERY_BODY const counting_kernels& counting_kernels::for_isa(isa level) noexcept {
#ifdef BLOOMERY_X86
  static constexpr counting_kernels with_avx2{avx2::counting_contains_lines, avx2::counting_insert_lines};
  if (level == isa::avx2 || level == isa::avx512) return with_avx2;
#endif
  static_cast<void>(level);
  static constexpr counting_kernels plain{counting_contains_lines_scalar, counting_insert_lines_scalar};
  return plain;
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

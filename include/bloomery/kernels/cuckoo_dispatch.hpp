// kernels/cuckoo_dispatch.hpp: one choice of kernel per batch of look-ups. AVX-512 runs what AVX2 does.
#pragma once

#include <bloomery/core/cpu.hpp>
#include <bloomery/kernels/cuckoo.hpp>
#include <bloomery/kernels/cuckoo_avx2.hpp>

namespace bloomery::kernels {

// A filter beyond this size is worth sending for its lines.
inline constexpr std::uint64_t cuckoo_far_bytes = std::uint64_t{1} << 20U;

template <class Word, cuckoo_form Form, bool Whole>
void cuckoo_ask_with(isa level, const cuckoo_table<Word, Form, Whole>& table, std::size_t count,
                     const digest_feed& next, std::uint64_t* mask) noexcept {
#ifdef BLOOMERY_X86
  if constexpr (sizeof(Word) == 8 && Form != cuckoo_form::sorted) {
    if ((level == isa::avx2 || level == isa::avx512) && table.buckets <= 0xffffffffU) {
      return avx2::cuckoo_ask<Form == cuckoo_form::window, Whole>(table, cuckoo_far_bytes, count, next, mask);
    }
  }
#endif
  static_cast<void>(level);
  cuckoo_ask(table, count, next, mask);
}

}  // namespace bloomery::kernels

// kernels/cuckoo/dispatch.hpp: the batches of cuckoo filters, a table for each instruction set. AVX-512 runs what AVX2
// does, other sets the scalar code. For the bodies of the kinds, which instantiate it: a program does not include it.
#pragma once

#include <bloomery/core/dispatch.hpp>
#include <bloomery/core/intrinsics.hpp>
#include <bloomery/kernels/cuckoo.hpp>
#include <bloomery/kernels/cuckoo/avx2.hpp>
#include <bloomery/kernels/cuckoo/redis.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

// A filter beyond this size is prefetched.
inline constexpr std::uint64_t cuckoo_far_bytes = std::uint64_t{1} << 20U;

template <class Word, cuckoo_form Form, bool Whole>
struct cuckoo_kernels {
  using table = cuckoo_table<Word, Form, Whole>;
  void (*contains_batch)(const table& slots, std::size_t count, const digest_feed& feed, std::uint64_t* mask) noexcept;

  static const cuckoo_kernels& for_isa(isa level) noexcept {
#ifdef BLOOMERY_X86
    if constexpr (sizeof(Word) == 8 && (Form == cuckoo_form::slots || Form == cuckoo_form::window)) {
      static constexpr cuckoo_kernels with_avx2{with_gathers};
      if (level == isa::avx2 || level == isa::avx512) return with_avx2;
    }
#endif
    static_cast<void>(level);
    static constexpr cuckoo_kernels plain{one_by_one};
    return plain;
  }

 private:
  static void one_by_one(const table& slots, std::size_t count, const digest_feed& feed, std::uint64_t* mask) noexcept {
    cuckoo_contains_batch(slots, count, feed, mask);
  }
#ifdef BLOOMERY_X86
  // The products of the vectors are of 32 bits.
  static void with_gathers(const table& slots, std::size_t count, const digest_feed& feed,
                           std::uint64_t* mask) noexcept {
    if (slots.buckets > 0xffffffffU) return one_by_one(slots, count, feed, mask);
    avx2::cuckoo_contains_batch<Form == cuckoo_form::window, Whole>(slots, cuckoo_far_bytes, count, feed, mask);
  }
#endif
};

// With the best instruction set there is.
template <class Word, cuckoo_form Form, bool Whole>
void cuckoo_contains_best(const cuckoo_table<Word, Form, Whole>& slots, std::size_t count, const digest_feed& feed,
                          std::uint64_t* mask) noexcept {
  active_kernels<cuckoo_kernels<Word, Form, Whole>>().contains_batch(slots, count, feed, mask);
}

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

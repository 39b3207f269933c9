// cli/keys/line_ends.hpp: every place of one byte in a text, 64 bytes at a time.
//
//     for_each_end(text.data(), text.data() + text.size(), '\n', [&](const char* at) { ... });
//
// Lines are short: a call of memchr for each costs more than looking at all bytes of a block and taking the answers
// from a mask. SSE2 is in every x86-64 processor; elsewhere it is memchr after all.
#pragma once

#include <bit>
#include <bloomery/core/intrinsics.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bloomery::cli {

template <class F>
void for_each_end(const char* at, const char* end, char wanted, F&& f) {
#if defined(BLOOMERY_X86)
  constexpr std::ptrdiff_t block_bytes = 64;
  const __m128i all_wanted = _mm_set1_epi8(wanted);
  const auto sixteen = [&](const char* from) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, all_wanted))));
  };
  for (; end - at >= block_bytes; at += block_bytes) {
    std::uint64_t mask = sixteen(at) | sixteen(at + 16) << 16U | sixteen(at + 32) << 32U | sixteen(at + 48) << 48U;
    for (; mask != 0; mask &= mask - 1) f(at + std::countr_zero(mask));
  }
#endif
  while (at != end) {
    const void* const found = std::memchr(at, wanted, static_cast<std::size_t>(end - at));
    if (found == nullptr) return;
    f(static_cast<const char*>(found));
    at = static_cast<const char*>(found) + 1;
  }
}

}  // namespace bloomery::cli

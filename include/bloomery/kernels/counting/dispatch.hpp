// kernels/counting/dispatch.hpp: the kernels over lines of counters, a table for each instruction set. AVX-512 runs
// what AVX2 does, other sets the scalar code.
#pragma once

#include <bloomery/core/dispatch.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/kernels/counting.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

struct counting_kernels {
  void (*contains_lines)(const counting_view& view, std::size_t count, const digest_feed& feed,
                         std::uint64_t* mask) noexcept;
  // How many of the digests were surely absent before.
  std::uint64_t (*insert_lines)(std::uint64_t* words, const counting_view& view, std::size_t count,
                                const digest_feed& feed) noexcept;

  BLOOMERY_API static const counting_kernels& for_isa(isa level) noexcept;
};

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kernels/counting.cpp>
#endif

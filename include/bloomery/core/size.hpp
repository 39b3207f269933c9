// core/size.hpp: where 64-bit sizes become sizes of memory.
//
// Numbers of keys, bits and bytes are std::uint64_t in parameters, plans, headers of files and on the way to an allocation,
// also on 32-bit targets, where std::size_t has 32 bits. aligned_buffer::make takes them so and refuses what memory cannot
// hold; reading compares them with what is there. Only then are they sizes of memory, and `to_size` marks the place.
#pragma once

#include <bloomery/core/config.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace bloomery::inline BLOOMERY_ABI {

// The largest block of memory: half of the address space on 32-bit targets, where differences of pointers have 32 bits.
inline constexpr std::uint64_t max_memory_bytes =
    sizeof(std::size_t) > 4 ? std::uint64_t{1} << 62U
                            : static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max());

// Of a number that counts what is in memory, or is held against such a number before.
constexpr std::size_t to_size(std::uint64_t in_memory) noexcept { return static_cast<std::size_t>(in_memory); }

}  // namespace bloomery::inline BLOOMERY_ABI

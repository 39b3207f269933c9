// native/rans.hpp: the codec `rans`: an entropy coder for what has no pattern, such as the bits of a Bloom filter.
//
// What it is    Bytes are coded one by one, each in as many bits as its frequency in the payload deserves. The bits of
//               a Bloom filter are independent of each other, so this is all that can be saved: m bits of which a share
//               q is set hold m * H(q) bits of information, and this coder takes less than 0.2 % more. zstd and gzip
//               look for repetitions, find hardly any, and spend whole bits on a byte. Counters, too, are small numbers
//               more often than large ones.
// Use it when   a filter is sent or kept away, and queried from memory. It is part of the core and links nothing.
// Use instead   zstd for filters of kinds that repeat themselves. Cells full of random bits (cuckoo, fuse, ribbon, a
//               `blocked` filter near its capacity) do not get smaller at all.
//
// How           range asymmetric numeral systems (Duda, arXiv 1311.2540): a number x of 64 bits stands for all that was
//               coded; a byte of frequency f in 65536 makes it about 65536 / f times as large. Two numbers take turns,
//               so that a processor works on both at once. Coding goes from the last byte to the first, unpacking the
//               other way.
//
// Layout        little-endian
//     0   1  encoding
//            0  the payload as it is
//            1  frequencies by set bits: 16 bytes, for 1 to 8 set bits the frequency of one byte that has so many; what
//               is left of 65536 is that of the byte 0
//            2  frequencies by byte: 32 bytes, bit i states whether byte i has one; 2 bytes for each that has; sum
//               65536
//     then   8  x of the bytes 0, 2, 4, ...
//            8  x of the bytes 1, 3, 5, ...
//            4  words, in the order in which they are needed
//
// No frequency is above 65472, so that every stored byte stands for less than 5676 of the payload: a file of a few
// bytes cannot request gigabytes. Unpacking uses every word, and ends with both numbers where coding began.
#pragma once

#include <array>
#include <bit>
#include <bloomery/core/buffer.hpp>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/result.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bloomery::inline BLOOMERY_ABI {
namespace rans {

inline constexpr unsigned scale_bits = 16;
inline constexpr std::uint32_t scale = 1U << scale_bits;
inline constexpr std::uint32_t most_frequent = scale - 64;
inline constexpr std::uint64_t max_expansion = 5676;  // 8 / log2(scale / most_frequent), rounded up
inline constexpr std::uint64_t least_state = std::uint64_t{1} << 31U;
inline constexpr std::uint64_t state_end = std::uint64_t{1} << 63U;

enum class form : std::uint8_t { stored = 0, by_set_bits = 1, by_byte = 2 };

inline constexpr std::array<std::uint32_t, 9> bytes_with_bits = {1, 8, 28, 56, 70, 56, 28, 8, 1};

using frequencies = std::array<std::uint32_t, 256>;
using counts = std::array<std::uint64_t, 256>;

inline failure damaged(std::string_view what) noexcept { return fail(errc::codec_failed, what); }

// count / of as a frequency among `among`, at least 1 for what occurs; without overflow.
BLOOMERY_API std::uint32_t share(std::uint64_t count, std::uint64_t of, std::uint64_t bytes,
                                 std::uint32_t among) noexcept;

// The coded bytes, at the end of `to`; empty when there is no space for them.
BLOOMERY_API std::span<std::byte> encode(std::span<const std::byte> from, const frequencies& of,
                                         std::span<std::byte> to) noexcept;

struct slot {
  std::uint16_t frequency = 0;
  std::uint16_t begin = 0;
};

// All of it, or the first to.size() bytes.
enum class extent : std::uint8_t { all, first_bytes };

BLOOMERY_API result<void> decode(std::span<const std::byte> from, const frequencies& of, std::span<std::byte> to,
                                 extent how_much) noexcept;

inline constexpr std::size_t set_bits_table_bytes = 16;
inline constexpr std::size_t byte_map_bytes = 32;

BLOOMERY_API std::size_t write_table(std::span<const std::uint32_t, 9> of_one, std::span<std::byte> to) noexcept;
BLOOMERY_API std::size_t write_table(const frequencies& of, std::span<std::byte> to) noexcept;

// The frequencies, and how many bytes they took.
BLOOMERY_API result<std::size_t> read_table(form how, std::span<const std::byte> from, frequencies& to) noexcept;

inline std::uint64_t bound(std::uint64_t size_bytes) noexcept { return size_bytes + 1024; }

BLOOMERY_API result<std::uint64_t> compress(std::span<const std::byte> from, std::span<std::byte> to,
                                            int /*level*/) noexcept;

BLOOMERY_API result<void> unpack(std::span<const std::byte> from, std::span<std::byte> to, extent how_much) noexcept;

BLOOMERY_API result<void> decompress(std::span<const std::byte> from, std::span<std::byte> to) noexcept;
BLOOMERY_API result<void> unpack_first(std::span<const std::byte> from, std::span<std::byte> to) noexcept;

}  // namespace rans
}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/native/rans.cpp>
#endif

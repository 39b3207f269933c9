// native/header.hpp: the first bytes of a native file, version 1. docs/file-format.md is the same, for readers of
// bytes.
//
//      0   8  magic 89 42 4c 4d 59 0d 0a 1a          64   8  payload bytes, unpacked
//      8   2  version, 1                             72   8  stored bytes, as they are in the file
//     10   2  flags: bit 0, the key count is exact   80   4  compression: 0 none, 1 zstd, 2 gzip
//     12   4  kind id                                84   4  log2 of the chunk size, 12
//     16   4  hash id                                88  64  eight numbers of the kind
//     20   4  digest bits, 64 or 128                152  16  shard (4), of how many (4; 0: no shard), set stamp (8)
//     24   8  seed                                  168   .  zeros
//     32   8  key id, 0 when not keyed             H-8   8  XXH3-64 of the H-8 bytes before
//     40   8  capacity in keys                       H   .  the stored payload, zeros to a multiple of 8,
//     48   8  keys                                          then one checksum a chunk (native/chunks.hpp)
//     56   8  promised false-positive rate (f64)
//
// H is 256 for stored payloads below 64 KiB, else 4096: a mapped payload starts on a cache line, a large one on a page.
// H and the size of the whole file follow from `stored bytes`; nothing is stored twice. Integers are little-endian.
//
// `decode_header` checks everything that can be checked without the payload, and allocates nothing. What the kind's
// numbers mean is the kind's to check.
#pragma once

#include <array>
#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/hash/spec.hpp>
#include <bloomery/kinds/concept.hpp>
#include <bloomery/native/chunks.hpp>
#include <bloomery/native/foreign.hpp>
#include <bloomery/native/shard.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

inline constexpr std::uint16_t file_version = 1;
inline constexpr std::uint64_t small_header_bytes = 256;
inline constexpr std::uint64_t large_header_bytes = 4096;
inline constexpr std::uint64_t large_payload_bytes = 65536;
inline constexpr std::string_view file_magic{
    "\x89"
    "BLMY\r\n\x1a",
    8};

// Stored, so never renumbered.
inline constexpr std::uint32_t codec_none = 0;
inline constexpr std::uint32_t codec_zstd = 1;
inline constexpr std::uint32_t codec_gzip = 2;
inline constexpr std::uint32_t codec_rans = 3;

struct file_header {
  std::uint32_t kind_id = 0;
  hash_spec hash{};
  stored_shape shape{};
  std::uint64_t payload_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint32_t codec = codec_none;
  std::uint16_t version = file_version;
  bool text = false;  // the file was in text encoding; not part of the bytes
  shard_place shard{};

  [[nodiscard]] std::uint64_t payload_offset() const noexcept {
    return stored_bytes < large_payload_bytes ? small_header_bytes : large_header_bytes;
  }
  [[nodiscard]] std::uint64_t chunks() const noexcept { return chunk_count(stored_bytes); }
  [[nodiscard]] std::uint64_t checksums_offset() const noexcept {
    return payload_offset() + stored_bytes + padding_bytes(stored_bytes);
  }
  // Right for stored_bytes up to max_stored_bytes.
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return checksums_offset() + chunks() * checksum_bytes; }

  static constexpr std::uint64_t max_stored_bytes = std::uint64_t{1} << 62U;
};

// What a header may state, on the way out as on the way in: a file that could not be read is never written.
BLOOMERY_API result<void> check_header(const file_header& header) noexcept;

// Writes payload_offset() bytes to the front of `out`; how many is the result.
BLOOMERY_API result<std::uint64_t> encode_header(const file_header& header, std::span<std::byte> out) noexcept;

namespace detail {

inline constexpr std::uint64_t header_fields_bytes = 168;

}  // namespace detail

namespace detail {

// All that can be checked before the size of the file is known; decode_header below compares that, too.
BLOOMERY_API result<file_header> decode_header_area(std::span<const std::byte> first,
                                                    std::uint64_t file_bytes) noexcept;
// What is left of decode_header then.
BLOOMERY_API result<void> check_file_size(const file_header& header, std::uint64_t file_bytes) noexcept;

}  // namespace detail

// `first` is the beginning of the file: all of it, or at least large_header_bytes. `file_bytes` is its whole size.
BLOOMERY_API result<file_header> decode_header(std::span<const std::byte> first, std::uint64_t file_bytes) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/native/header.cpp>
#endif

// native/header.hpp: the first bytes of a native file, version 1. docs/file-format.md is the same, for readers of bytes.
//
//      0   8  magic 89 42 4c 4d 59 0d 0a 1a          64   8  payload bytes, unpacked
//      8   2  version, 1                             72   8  stored bytes, as they lie in the file
//     10   2  flags: bit 0, the key count is exact   80   4  compression: 0 none, 1 zstd, 2 gzip
//     12   4  kind id                                84   4  log2 of the chunk size, 12
//     16   4  hash id                                88  64  eight numbers of the kind
//     20   4  digest bits, 64 or 128                152  16  shard (4), of how many (4; 0: no shard), stamp of the set (8)
//     24   8  seed                                  168   .  zeros
//     32   8  key id, 0 when not keyed             H-8   8  XXH3-64 of the H-8 bytes before
//     40   8  capacity in keys                       H   .  the stored payload, zeros to a multiple of 8,
//     48   8  keys                                          then one checksum a chunk (native/chunks.hpp)
//     56   8  promised false-positive rate (f64)
//
// H is 256 for stored payloads below 64 KiB, else 4096: a mapped payload lies on a cache line, a large one on a page.
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
#include <bloomery/hash/hasher.hpp>
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
  bool text = false;  // the file was in text form; not part of the bytes
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

// What a header may say, on the way out as on the way in: a file that could not be read is never written.
inline result<void> check_header(const file_header& header) noexcept {
  if (header.version != file_version) return fail(errc::bad_field, "version", {header.version});
  if (header.shape.digest_bits != 64 && header.shape.digest_bits != 128) {
    return fail(errc::bad_field, "digest bits", {header.shape.digest_bits});
  }
  // An exact kind promises 0; a hopelessly small filter may promise 1. Not a number fails both comparisons.
  const double fpr = header.shape.fpr;
  if (!(fpr >= 0.0 && fpr <= 1.0) || std::bit_cast<std::uint64_t>(fpr) >> 63U != 0) {
    return fail(errc::bad_field, "false-positive rate (bits)", {std::bit_cast<std::uint64_t>(fpr)});
  }
  if (header.codec > codec_rans) return fail(errc::bad_field, "compression", {header.codec});
  if (header.stored_bytes > file_header::max_stored_bytes) {
    return fail(errc::bad_field, "stored bytes", {header.stored_bytes});
  }
  if (header.payload_bytes > file_header::max_stored_bytes ||
      (header.codec == codec_none && header.payload_bytes != header.stored_bytes)) {
    return fail(errc::bad_field, "payload bytes", {header.payload_bytes});
  }
  const shard_place& shard = header.shard;
  if (shard.count > max_shards) return fail(errc::bad_field, "number of shards", {shard.count});
  if (shard.count == 0 ? shard != shard_place{} : shard.index >= shard.count) {
    return fail(errc::bad_field, "shard", {shard.index});
  }
  return {};
}

// Writes payload_offset() bytes to the front of `out`; how many is the result.
inline result<std::uint64_t> encode_header(const file_header& header, std::span<std::byte> out) noexcept {
  if (auto checked = check_header(header); !checked) return fail(checked.error());
  const std::uint64_t size = header.payload_offset();
  if (out.size() < size) return fail(errc::bad_span, "the header's memory", {out.size(), size});
  std::memset(out.data(), 0, size);
  byte_writer to(out.first(size));
  to.write_bytes(std::as_bytes(std::span(file_magic)));
  to.write(header.version);
  to.write(static_cast<std::uint16_t>(header.shape.keys_exact ? 1 : 0));
  to.write(header.kind_id);
  to.write(header.hash.id);
  to.write(static_cast<std::uint32_t>(header.shape.digest_bits));
  to.write(header.hash.seed);
  to.write(header.hash.key_id);
  to.write(header.shape.capacity_keys);
  to.write(header.shape.keys);
  to.write_double(header.shape.fpr);
  to.write(header.payload_bytes);
  to.write(header.stored_bytes);
  to.write(header.codec);
  to.write(std::uint32_t{chunk_size_log2});
  for (const std::uint64_t number : header.shape.field) to.write(number);
  to.write(header.shard.index);
  to.write(header.shard.count);
  to.write(header.shard.stamp);
  store_le(out.data() + size - checksum_bytes, xxh3{}(out.data(), size - checksum_bytes));
  return size;
}

namespace detail {

inline constexpr std::uint64_t header_fields_bytes = 168;

// Reads the fields behind the version; the caller has made sure that they are there.
inline result<file_header> read_fields(std::span<const std::byte> bytes, std::uint16_t version) noexcept {
  byte_reader from(bytes.subspan(10));
  file_header header;
  header.version = version;
  const auto flags = from.read<std::uint16_t>();
  header.kind_id = from.read<std::uint32_t>();
  header.hash.id = from.read<std::uint32_t>();
  header.shape.digest_bits = from.read<std::uint32_t>();
  header.hash.seed = from.read<std::uint64_t>();
  header.hash.key_id = from.read<std::uint64_t>();
  header.shape.capacity_keys = from.read<std::uint64_t>();
  header.shape.keys = from.read<std::uint64_t>();
  header.shape.fpr = from.read_double();
  header.payload_bytes = from.read<std::uint64_t>();
  header.stored_bytes = from.read<std::uint64_t>();
  header.codec = from.read<std::uint32_t>();
  const auto chunk_log2 = from.read<std::uint32_t>();
  for (std::uint64_t& number : header.shape.field) number = from.read<std::uint64_t>();
  header.shard.index = from.read<std::uint32_t>();
  header.shard.count = from.read<std::uint32_t>();
  header.shard.stamp = from.read<std::uint64_t>();
  header.shape.keys_exact = (flags & 1U) != 0;
  if ((flags & ~1U) != 0) return fail(errc::bad_field, "flags", {flags});
  if (chunk_log2 != chunk_size_log2) return fail(errc::bad_field, "chunk size", {chunk_log2});
  return header;
}

}  // namespace detail

namespace detail {

// All that can be said before the size of the file is known; decode_header below compares that, too.
inline result<file_header> decode_header_area(std::span<const std::byte> first, std::uint64_t file_bytes) noexcept {
  if (file_bytes == 0 || first.empty()) return fail(errc::empty_file, {}, {small_header_bytes});
  const std::size_t magic_seen = first.size() < file_magic.size() ? first.size() : file_magic.size();
  if (!starts_with(first, file_magic.substr(0, magic_seen))) return not_a_filter(first);
  if (first.size() < small_header_bytes) return fail(errc::truncated, {}, {file_bytes, small_header_bytes});
  const auto version = load_le<std::uint16_t>(first.data() + 8);
  if (version > file_version) return fail(errc::newer_version, {}, {version, file_version});
  if (version == 0) return fail(errc::bad_field, "version", {0});

  // The checksum before the fields: a damaged header is called damaged, not by what the damage happens to say.
  const std::uint64_t size =
      load_le<std::uint64_t>(first.data() + 72) < large_payload_bytes ? small_header_bytes : large_header_bytes;
  if (first.size() < size) return fail(errc::truncated, {}, {file_bytes, size});
  const std::uint64_t stored = load_le<std::uint64_t>(first.data() + size - checksum_bytes);
  const std::uint64_t computed = xxh3{}(first.data(), size - checksum_bytes);
  if (stored != computed) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%016llx, not %016llx", static_cast<unsigned long long>(computed),
                  static_cast<unsigned long long>(stored));
    return fail(errc::header_damaged, text.data());
  }
  auto header = read_fields(first, version);
  if (!header) return header;
  if (auto checked = check_header(*header); !checked) return fail(checked.error());
  constexpr std::uint64_t used = header_fields_bytes;
  if (!all_zero(first.subspan(used, size - checksum_bytes - used))) return fail(errc::bad_field, "reserved bytes", {1});
  return header;
}

}  // namespace detail

// `first` is the beginning of the file: all of it, or at least large_header_bytes. `file_bytes` is its whole size.
inline result<file_header> decode_header(std::span<const std::byte> first, std::uint64_t file_bytes) noexcept {
  auto header = detail::decode_header_area(first, file_bytes);
  if (!header) return header;
  const std::uint64_t expected = header->file_bytes();
  if (file_bytes < expected) return fail(errc::truncated, {}, {file_bytes, expected});
  if (file_bytes > expected) return fail(errc::trailing_bytes, {}, {file_bytes, expected});
  return header;
}

}  // namespace bloomery::inline BLOOMERY_ABI

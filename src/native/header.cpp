#include <bloomery/native/header.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<void> check_header(const file_header& header) noexcept {
  if (header.version != file_version) return fail(errc::bad_field, "version", {header.version});
  if (header.shape.digest_bits != 64 && header.shape.digest_bits != 128) {
    return fail(errc::bad_field, "digest bits", {header.shape.digest_bits});
  }
  // The target FPR of an exact kind is 0; that of a hopelessly small filter may be 1. Not a number fails both
  // comparisons.
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

BLOOMERY_BODY result<std::uint64_t> encode_header(const file_header& header, std::span<std::byte> out) noexcept {
  if (auto checked = check_header(header); !checked) return fail(checked.error());
  const std::uint64_t size = header.payload_offset();
  if (out.size() < size) return fail(errc::bad_span, "the header's memory", {out.size(), size});
  std::memset(out.data(), 0, to_size(size));
  byte_writer to(out.first(to_size(size)));
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
  store_le(out.data() + size - checksum_bytes, xxh3{}(out.data(), to_size(size - checksum_bytes)));
  return size;
}

}  // namespace bloomery::inline BLOOMERY_ABI

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

// Reads the fields after the version; the caller has made sure that they are there.
BLOOMERY_BODY result<file_header> read_fields(std::span<const std::byte> bytes, std::uint16_t version) noexcept {
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

BLOOMERY_BODY result<file_header> decode_header_area(std::span<const std::byte> first,
                                                     std::uint64_t file_bytes) noexcept {
  if (file_bytes == 0 || first.empty()) return fail(errc::empty_file, {}, {small_header_bytes});
  const std::size_t magic_seen = first.size() < file_magic.size() ? first.size() : file_magic.size();
  if (!starts_with(first, file_magic.substr(0, magic_seen))) return not_a_filter(first);
  if (first.size() < small_header_bytes) return fail(errc::truncated, {}, {file_bytes, small_header_bytes});
  const auto version = load_le<std::uint16_t>(first.data() + 8);
  if (version > file_version) return fail(errc::newer_version, {}, {version, file_version});
  if (version == 0) return fail(errc::bad_field, "version", {0});

  // The checksum before the fields: a damaged header is reported as damaged, not as what the damage happens to state.
  const std::uint64_t size =
      load_le<std::uint64_t>(first.data() + 72) < large_payload_bytes ? small_header_bytes : large_header_bytes;
  if (first.size() < size) return fail(errc::truncated, {}, {file_bytes, size});
  const std::uint64_t stored = load_le<std::uint64_t>(first.data() + size - checksum_bytes);
  const std::uint64_t computed = xxh3{}(first.data(), to_size(size - checksum_bytes));
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
  if (!all_zero(first.subspan(to_size(used), to_size(size - checksum_bytes - used))))
    return fail(errc::bad_field, "reserved bytes", {1});
  return header;
}

BLOOMERY_BODY result<void> check_file_size(const file_header& header, std::uint64_t file_bytes) noexcept {
  const std::uint64_t expected = header.file_bytes();
  if (file_bytes < expected) return fail(errc::truncated, {}, {file_bytes, expected});
  if (file_bytes > expected) return fail(errc::trailing_bytes, {}, {file_bytes, expected});
  return {};
}

}  // namespace detail
}  // namespace bloomery::inline BLOOMERY_ABI

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<file_header> decode_header(std::span<const std::byte> first, std::uint64_t file_bytes) noexcept {
  auto header = detail::decode_header_area(first, file_bytes);
  if (!header) return header;
  if (auto whole = detail::check_file_size(*header, file_bytes); !whole) return fail(whole.error());
  return header;
}

}  // namespace bloomery::inline BLOOMERY_ABI

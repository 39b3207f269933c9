#include <algorithm>
#include <array>
#include <bloomery/native/chunks.hpp>
#include <bloomery/native/codec.hpp>
#include <bloomery/native/load.hpp>
#include <bloomery/native/text.hpp>
#include <cstdio>
#include <cstring>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

BLOOMERY_BODY byte_source::byte_source(std::span<const std::byte> bytes) noexcept
    : byte_source(bytes.data(), bytes.size(),
                  [](const void* from, std::uint64_t offset, std::span<std::byte> out) noexcept -> result<void> {
                    if (!out.empty()) std::memcpy(out.data(), static_cast<const std::byte*>(from) + offset, out.size());
                    return {};
                  }) {}

BLOOMERY_BODY result<decoded_file> decode_file(std::span<const std::byte> bytes) noexcept {
  if (!is_text_form(bytes)) {
    const auto header =
        decode_header(bytes.first(bytes.size() < large_header_bytes ? bytes.size() : large_header_bytes), bytes.size());
    if (!header) return fail(header.error());
    return decoded_file{*header, bytes, {}};
  }
  const auto block = find_text(bytes);
  if (!block) return fail(block.error());
  std::array<std::byte, large_header_bytes> first{};
  const auto seen = std::span(first).first(to_size(std::min<std::uint64_t>(block->decoded_bytes, first.size())));
  if (auto done = decode_text(*block, seen); !done) return fail(done.error());
  auto header = decode_header(seen, block->decoded_bytes);
  if (!header) return fail(header.error());
  header->text = true;
  return decoded_file{*header, bytes, *block};
}

BLOOMERY_BODY result<void> check_kind(const file_header& header, const kind_loader& kind) noexcept {
  if (header.kind_id != kind.id) {
    std::array<char, 96> text{};
    std::snprintf(text.data(), text.size(), "holds a filter of kind number %u, not %.*s (kind number %u)",
                  static_cast<unsigned>(header.kind_id), static_cast<int>(kind.name.size()), kind.name.data(),
                  static_cast<unsigned>(kind.id));
    return fail(errc::unsupported, text.data());
  }
  if (header.shape.digest_bits != 64 && !kind.takes_digest128) {
    return fail(errc::bad_field, "digest bits", {header.shape.digest_bits});
  }
  if (kind.payload_bytes == nullptr) return {};
  const auto expected = kind.payload_bytes(header.shape);
  if (!expected) return fail(expected.error());
  if (*expected != header.payload_bytes) return fail(errc::bad_field, "payload bytes", {header.payload_bytes});
  return {};
}

BLOOMERY_BODY result<void> check_alone(const file_header& header, bool shard) noexcept {
  if (shard || header.shard.count == 0) return {};
  return fail(errc::shard_alone, shard_label(header.shard.index, header.shard.count).c_str());
}

// Compares every chunk, and the zeros after the last, with what the file states.
BLOOMERY_BODY result<void> check_chunks(const file_header& header, const byte_source& source,
                                        std::span<const std::byte> stored) noexcept {
  std::array<std::byte, 4096> table{};
  const std::uint64_t chunks = header.chunks();
  const std::uint64_t a_table = table.size() / checksum_bytes;
  for (std::uint64_t i = 0; i < chunks; ++i) {
    if (i % a_table == 0) {
      const std::uint64_t here = chunks - i < a_table ? chunks - i : a_table;
      const auto part = std::span(table).first(to_size(here * checksum_bytes));
      if (auto done = source.read_at(header.checksums_offset() + i * checksum_bytes, part); !done) return done;
    }
    const auto expected = load_le<std::uint64_t>(table.data() + i % a_table * checksum_bytes);
    if (chunk_checksum(i, chunk_at(stored, i)) != expected) {
      return chunk_damaged(header.payload_offset(), header.stored_bytes, i);
    }
  }
  return {};
}

BLOOMERY_BODY result<void> check_padding(const file_header& header, const byte_source& source) noexcept {
  std::array<std::byte, 8> bytes{};
  const auto padding = std::span(bytes).first(to_size(padding_bytes(header.stored_bytes)));
  if (auto done = source.read_at(header.payload_offset() + header.stored_bytes, padding); !done) return done;
  if (all_zero(padding)) return {};
  return chunk_damaged(header.payload_offset(), header.stored_bytes, header.chunks() - 1);
}

BLOOMERY_BODY byte_source::byte_source(text_reader& text, std::uint64_t size_bytes) noexcept
    : byte_source(&text, size_bytes,
                  [](const void* from, std::uint64_t offset, std::span<std::byte> out) noexcept -> result<void> {
                    return static_cast<text_reader*>(const_cast<void*>(from))->read_at(offset, out);
                  }) {}

BLOOMERY_BODY result<checked_payload> checked_payload::open(const file_header& header, const byte_source& source,
                                                            const load_options& options) noexcept {
  if (header.stored_bytes > options.max_bytes) return over_limit(options.max_bytes);
  checked_payload made(header, source, options.trust);
  if (auto done = check_padding(header, source); !done) return fail(done.error());
  auto held =
      aligned_buffer::make(std::min(header.stored_bytes, held_chunks * chunk_bytes), "the filter", options.memory);
  if (!held) return fail(held.error());
  made.held_ = std::move(*held);
  return made;
}

BLOOMERY_BODY result<void> checked_payload::read_more() noexcept {
  const std::uint64_t first = next_chunk_ * chunk_bytes;
  const auto next =
      held_.bytes().first(to_size(std::min<std::uint64_t>(held_.size_bytes(), header_.stored_bytes - first)));
  if (auto done = source_.read_at(header_.payload_offset() + first, next); !done) return done;
  const std::size_t chunks = to_size(chunk_count(next.size()));
  if (!trust_) {
    std::array<std::byte, held_chunks * checksum_bytes> table{};
    const auto expected = std::span(table).first(chunks * checksum_bytes);
    const std::uint64_t at = header_.checksums_offset() + next_chunk_ * checksum_bytes;
    if (auto done = source_.read_at(at, expected); !done) return done;
    for (std::size_t i = 0; i < chunks; ++i) {
      if (chunk_checksum(next_chunk_ + i, chunk_at(next, i)) == load_le<std::uint64_t>(&expected[i * checksum_bytes])) {
        continue;
      }
      return chunk_damaged(header_.payload_offset(), header_.stored_bytes, next_chunk_ + i);
    }
  }
  next_chunk_ += chunks;
  left_ = next;
  return {};
}

// byte_feed asks for no more than there is.
BLOOMERY_BODY result<void> checked_payload::operator()(std::span<std::byte> out) noexcept {
  while (!out.empty()) {
    if (left_.empty()) {
      if (auto done = read_more(); !done) return done;
    }
    const std::size_t some = std::min(out.size(), left_.size());
    std::memcpy(out.data(), left_.data(), some);
    left_ = left_.subspan(some);
    out = out.subspan(some);
  }
  return {};
}

BLOOMERY_BODY result<aligned_buffer> read_stored(const file_header& header, const byte_source& source,
                                                 const load_options& options) noexcept {
  if (header.stored_bytes > options.max_bytes) return over_limit(options.max_bytes);
  auto stored = aligned_buffer::make(header.stored_bytes, "the filter", options.memory);
  if (!stored) return stored;
  if (auto done = source.read_at(header.payload_offset(), stored->bytes()); !done) return fail(done.error());
  if (!options.trust) {
    if (auto done = check_chunks(header, source, stored->bytes()); !done) return fail(done.error());
  }
  if (auto done = check_padding(header, source); !done) return fail(done.error());
  return stored;
}

// Proves that a packed payload is nearly as large as its header states, before memory is allocated as if it were: each
// step takes no more than 4 times what the step before has unpacked. The first takes twice the input and 32 KiB:
// together with the input itself, and the text that it may come from, that is below 4 times the file plus 64 KiB.
BLOOMERY_BODY result<void> prove_size(const codec& packed_by, std::span<const std::byte> stored,
                                      std::uint64_t payload_bytes, const memory_hooks* memory) noexcept {
  constexpr std::uint64_t spare_bytes = 32768;
  if (packed_by.unpack_first == nullptr) return {};
  for (std::uint64_t size = 2 * stored.size() + spare_bytes; size < payload_bytes; size *= 4) {
    auto scratch = aligned_buffer::make(size, "the filter", memory);
    if (!scratch) return fail(scratch.error());
    if (auto done = packed_by.unpack_first(stored, scratch->bytes()); !done) return done;
  }
  return {};
}

// The payload, checked and unpacked.
BLOOMERY_BODY result<aligned_buffer> read_payload(const file_header& header, const byte_source& source,
                                                  const load_options& options) noexcept {
  if (header.codec == codec_none) return read_stored(header, source, options);
  const auto found = find_codec(header.codec);
  if (!found) return fail(found.error());
  // Division, so that the product cannot overflow; one block more than the whole ones for what is cut off.
  const std::uint64_t expansion = (*found)->max_expansion;
  if (header.payload_bytes / expansion > header.stored_bytes) {
    return fail(errc::bad_field, "payload bytes", {header.payload_bytes});
  }
  if (header.payload_bytes > options.max_bytes) return over_limit(options.max_bytes);
  auto stored = read_stored(header, source, options);
  if (!stored) return stored;
  if (auto proven = prove_size(**found, stored->bytes(), header.payload_bytes, options.memory); !proven) {
    return fail(proven.error());
  }
  auto payload = aligned_buffer::make(header.payload_bytes, "the filter", options.memory);
  if (!payload) return payload;
  if (auto done = (*found)->decompress(stored->bytes(), payload->bytes()); !done) return fail(done.error());
  return payload;
}

BLOOMERY_BODY result<stored_payload> read_native(const file_header& header, const byte_source& source,
                                                 const kind_loader& kind, const load_options& options) noexcept {
  if (auto done = check_kind(header, kind); !done) return fail(done.error());
  if (auto whole = check_alone(header, options.shard); !whole) return fail(whole.error());
  auto payload = read_payload(header, source, options);
  if (!payload) return fail(payload.error());
  return stored_payload{header, std::move(*payload)};
}

BLOOMERY_BODY result<aligned_buffer> unpack_text(const text_block& text, const load_options& options) noexcept {
  if (text.decoded_bytes > options.max_bytes) return over_limit(options.max_bytes);
  auto native = aligned_buffer::make(text.decoded_bytes, "the filter's text form", options.memory);
  if (!native) return native;
  if (auto done = decode_text(text, native->bytes()); !done) return fail(done.error());
  return native;
}

}  // namespace detail

BLOOMERY_BODY result<file_header> read_header_bytes(std::span<const std::byte> bytes) noexcept {
  const auto file = detail::decode_file(bytes);
  if (!file) return fail(file.error());
  return file->header;
}

}  // namespace bloomery::inline BLOOMERY_ABI

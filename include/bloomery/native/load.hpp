// native/load.hpp: reads a native file into memory.
//
//     auto stored = bloomery::load<bloomery::bloom>("users.bloom");
//     if (!stored) return fail(stored.error());
//     auto hash = bloomery::hasher::make(stored->hash);
//     bool maybe = stored->filter.may_contain(hash->digest("alice", 5));
//
// What comes back is valid for every later call: header, sizes, every chunk and the kind's own rules are checked before
// it is handed out, and no memory is asked for before the sizes have been checked against the real size of the file.
// The text form and packed files are recognised. `path` may be a pipe or a device; such input is read into memory
// first.
//
// `read_header` says what a file holds without reading the rest of it.
#pragma once

#include <array>
#include <bloomery/core/buffer.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/kinds/concept.hpp>
#include <bloomery/native/chunks.hpp>
#include <bloomery/native/codec.hpp>
#include <bloomery/native/header.hpp>
#include <bloomery/native/text.hpp>
#include <bloomery/posix/input.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>

namespace bloomery::inline BLOOMERY_ABI {

struct load_options {
  bool trust = false;                    // skip the chunks' checksums; never the header's
  const memory_hooks* memory = nullptr;  // must outlive the filter
  std::uint64_t max_bytes = no_limit;    // of any one piece of memory, and of input that is read as a whole
  bool shard = false;                    // take a shard of a set alone, too; else it is refused
};

template <filter_kind K>
struct stored_filter {
  K filter;
  hash_spec hash;
  file_header header;
};

namespace detail {

// Where a native file's bytes are: in memory, or in a regular file.
class byte_source {
 public:
  explicit byte_source(std::span<const std::byte> bytes) noexcept : bytes_(bytes), size_(bytes.size()) {}
  explicit byte_source(const input_file& file) noexcept : file_(&file), size_(file.size_bytes()) {}

  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_; }
  [[nodiscard]] result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const noexcept {
    if (file_ != nullptr) return file_->read_at(offset, out);
    if (offset > size_ || out.size() > size_ - offset) return fail(errc::truncated, {}, {size_, offset + out.size()});
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }

 private:
  const input_file* file_ = nullptr;
  std::span<const std::byte> bytes_{};
  std::uint64_t size_;
};

inline result<file_header> header_of(const byte_source& source) noexcept {
  std::array<std::byte, large_header_bytes> first{};
  const auto seen = std::span(first).first(source.size_bytes() < first.size() ? source.size_bytes() : first.size());
  if (auto done = source.read_at(0, seen); !done) return fail(done.error());
  return decode_header(seen, source.size_bytes());
}

// The kind's numbers against the header's sizes.
template <class K>
result<void> check_kind(const file_header& header) noexcept {
  if (header.kind_id != K::info.id) {
    std::array<char, 96> text{};
    std::snprintf(text.data(), text.size(), "holds a filter of kind number %u, not %.*s (kind number %u)",
                  static_cast<unsigned>(header.kind_id), static_cast<int>(K::info.name.size()), K::info.name.data(),
                  static_cast<unsigned>(K::info.id));
    return fail(errc::unsupported, text.data());
  }
  if (header.shape.digest_bits != 64 && !K::info.takes_digest128) {
    return fail(errc::bad_field, "digest bits", {header.shape.digest_bits});
  }
  if constexpr (mappable<K>) {
    const auto expected = K::payload_bytes(header.shape);
    if (!expected) return fail(expected.error());
    if (*expected != header.payload_bytes) return fail(errc::bad_field, "payload bytes", {header.payload_bytes});
  }
  return {};
}

// A key of another shard would be called absent.
inline result<void> check_alone(const file_header& header, bool shard) noexcept {
  if (shard || header.shard.count == 0) return {};
  return fail(errc::shard_alone, shard_label(header.shard.index, header.shard.count).c_str());
}

// Compares every chunk, and the zeros behind the last, with what the file says.
inline result<void> check_chunks(const file_header& header, const byte_source& source,
                                 std::span<const std::byte> stored) noexcept {
  std::array<std::byte, 4096> table{};
  const std::uint64_t chunks = header.chunks();
  const std::uint64_t a_table = table.size() / checksum_bytes;
  for (std::uint64_t i = 0; i < chunks; ++i) {
    if (i % a_table == 0) {
      const std::uint64_t here = chunks - i < a_table ? chunks - i : a_table;
      const auto part = std::span(table).first(here * checksum_bytes);
      if (auto done = source.read_at(header.checksums_offset() + i * checksum_bytes, part); !done) return done;
    }
    const auto expected = load_le<std::uint64_t>(table.data() + i % a_table * checksum_bytes);
    if (chunk_checksum(i, chunk_at(stored, i)) != expected) {
      return chunk_damaged(header.payload_offset(), header.stored_bytes, i);
    }
  }
  return {};
}

inline result<void> check_padding(const file_header& header, const byte_source& source) noexcept {
  std::array<std::byte, 8> bytes{};
  const auto padding = std::span(bytes).first(padding_bytes(header.stored_bytes));
  if (auto done = source.read_at(header.payload_offset() + header.stored_bytes, padding); !done) return done;
  if (all_zero(padding)) return {};
  return chunk_damaged(header.payload_offset(), header.stored_bytes, header.chunks() - 1);
}

inline result<aligned_buffer> read_stored(const file_header& header, const byte_source& source,
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

// Proves that a packed payload is nearly as large as its header says, before memory is asked for as if it were: each step takes
// no more than 4 times what the step before has unpacked. The first takes twice the input and 32 KiB: together with the
// input itself, and the text that it may come from, that is below 4 times the file plus 64 KiB.
inline result<void> prove_size(const codec& packed_by, std::span<const std::byte> stored, std::uint64_t payload_bytes,
                               const memory_hooks* memory) noexcept {
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
inline result<aligned_buffer> read_payload(const file_header& header, const byte_source& source,
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

template <class K>
result<stored_filter<K>> load_native(const byte_source& source, const load_options& options) noexcept {
  static_assert(mappable<K> || serializable<K>);
  const auto header = header_of(source);
  if (!header) return fail(header.error());
  if (auto done = check_kind<K>(*header); !done) return fail(done.error());
  if (auto whole = check_alone(*header, options.shard); !whole) return fail(whole.error());
  auto payload = read_payload(*header, source, options);
  if (!payload) return fail(payload.error());
  auto filter = [&]() -> result<K> {
    if constexpr (mappable<K>) {
      return K::adopt(header->shape, std::move(*payload));
    } else if constexpr (requires { K::deserialize(header->shape, payload->bytes(), options.memory); }) {
      return K::deserialize(header->shape, payload->bytes(), options.memory);
    } else {
      return K::deserialize(header->shape, payload->bytes());
    }
  }();
  if (!filter) return fail(filter.error());
  return stored_filter<K>{std::move(*filter), header->hash, *header};
}

// The native file inside a text.
inline result<aligned_buffer> unpack_text(std::span<const std::byte> text, const load_options& options) noexcept {
  const auto block = find_text(text);
  if (!block) return fail(block.error());
  if (block->decoded_bytes > options.max_bytes) return over_limit(options.max_bytes);
  auto native = aligned_buffer::make(block->decoded_bytes, "the filter's text form", options.memory);
  if (!native) return native;
  if (auto done = decode_text(*block, native->bytes()); !done) return fail(done.error());
  return native;
}

inline result<bool> begins_as_text(const input_file& file) noexcept {
  std::array<std::byte, 4096> first{};
  const auto seen = std::span(first).first(file.size_bytes() < first.size() ? file.size_bytes() : first.size());
  if (auto done = file.read_at(0, seen); !done) return fail(done.error());
  return is_text_form(seen);
}

// As read_file, for what should be a filter: other streams are refused by their first bytes, and none is read further
// than its header says, however long it goes on.
inline result<file_bytes> read_filter(const input_file& file, const memory_hooks* memory,
                                      std::uint64_t max_bytes) noexcept {
  return read_open_file(file, memory, max_bytes, [](std::span<const std::byte> first) -> result<std::uint64_t> {
    if (is_text_form(first)) return no_limit;
    const auto header = decode_header_area(first, first.size());
    if (!header) return fail(header.error());
    return header->file_bytes();
  });
}

}  // namespace detail

// The bytes of a filter's file, read once, for input that cannot be read again (a pipe): ask read_header_bytes which
// kind they hold, then load_bytes.
inline result<file_bytes> read_filter(const char* path, const memory_hooks* memory = nullptr,
                                      std::uint64_t max_bytes = no_limit) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  return detail::read_filter(*file, memory, max_bytes);
}

// A file in memory, native or text.
template <filter_kind K>
result<stored_filter<K>> load_bytes(std::span<const std::byte> bytes, const load_options& options = {}) noexcept {
  if (!is_text_form(bytes)) return detail::load_native<K>(detail::byte_source(bytes), options);
  const auto native = detail::unpack_text(bytes, options);
  if (!native) return fail(native.error());
  auto stored = detail::load_native<K>(detail::byte_source(native->bytes()), options);
  if (stored) stored->header.text = true;
  return stored;
}

template <filter_kind K>
result<stored_filter<K>> load(const char* path, const load_options& options = {}) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  if (file->is_regular()) {
    const auto text = detail::begins_as_text(*file);
    if (!text) return fail(text.error());
    if (!*text) return detail::load_native<K>(detail::byte_source(*file), options);
  }
  const auto read = detail::read_filter(*file, options.memory, options.max_bytes);
  if (!read) return fail(read.error());
  return load_bytes<K>(read->bytes(), options);
}

// The header of a file in memory, native or text.
inline result<file_header> read_header_bytes(std::span<const std::byte> bytes) noexcept {
  if (!is_text_form(bytes)) return detail::header_of(detail::byte_source(bytes));
  const auto block = find_text(bytes);
  if (!block) return fail(block.error());
  std::array<std::byte, large_header_bytes> first{};
  const auto seen = std::span(first).first(block->decoded_bytes < first.size() ? block->decoded_bytes : first.size());
  if (auto done = decode_text(*block, seen); !done) return fail(done.error());
  auto header = decode_header(seen, block->decoded_bytes);
  if (header) header->text = true;
  return header;
}

// The header of a file. Input that can be read only once (a pipe) is used up by this: see read_filter.
inline result<file_header> read_header(const char* path) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  if (file->is_regular()) {
    const auto text = detail::begins_as_text(*file);
    if (!text) return fail(text.error());
    if (!*text) return detail::header_of(detail::byte_source(*file));
  }
  const auto read = detail::read_filter(*file, nullptr, no_limit);
  if (!read) return fail(read.error());
  return read_header_bytes(read->bytes());
}

}  // namespace bloomery::inline BLOOMERY_ABI

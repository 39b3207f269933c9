// native/load.hpp: a filter out of the bytes of our own file.
//
//     auto stored = bloomery::load_bytes<bloomery::bloom>(bytes);
//     if (!stored) return fail(stored.error());
//     auto hash = bloomery::hasher::make(stored->hash);
//     bool maybe = stored->filter.may_contain(hash->digest("alice", 5));
//
// What comes back is valid for every later call: header, sizes, every chunk and the kind's own rules are checked before
// it is returned, and no memory is allocated before the sizes have been checked against the real size of the file.
// The text encoding and packed files are recognised. posix/load.hpp reads files.
//
// Memory beside the filter: none, or up to 64 KiB while it is read, of a native file that is not packed and of a text
// in memory. A codec takes the packed payload and gives the payload as a whole: loading needs memory for the packed one,
// and, for kinds that are unpacked from their payload (growing, bitmap), for the payload.
#pragma once

#include <bloomery/core/buffer.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/kinds/concept.hpp>
#include <bloomery/native/header.hpp>
#include <bloomery/native/limit.hpp>
#include <bloomery/native/text.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomery::inline BLOOMERY_ABI {

struct load_options {
  bool trust = false;                    // skip the chunks' checksums; never the header's
  const memory_hooks* memory = nullptr;  // must outlive the filter
  std::uint64_t max_bytes = no_limit;    // of any one piece of memory, and of input that is read as a whole
  bool shard = false;                    // take a shard of a set alone, too; else it is refused
  const clock_hook* clock = nullptr;     // kinds that expire: the time; null is the system's. Must outlive the filter
};

template <filter_kind K>
struct stored_filter {
  K filter;
  hash_spec hash;
  file_header header;
};

namespace detail {

// Where a native file's bytes are: in memory, or in something that is read by offset.
class byte_source {
 public:
  using reader = result<void> (*)(const void* from, std::uint64_t offset, std::span<std::byte> out) noexcept;

  BLOOMERY_API explicit byte_source(std::span<const std::byte> bytes) noexcept;
  BLOOMERY_API explicit byte_source(text_reader& text, std::uint64_t size_bytes) noexcept;
  byte_source(const void* from, std::uint64_t size_bytes, reader read) noexcept
      : from_(from), size_(size_bytes), read_(read) {}

  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_; }
  [[nodiscard]] result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const noexcept {
    if (offset > size_ || out.size() > size_ - offset) return fail(errc::truncated, {}, {size_, offset + out.size()});
    return read_(from_, offset, out);
  }

 private:
  const void* from_;
  std::uint64_t size_;
  reader read_;
};

// What loading needs to know of a kind before it reads the payload.
struct kind_loader {
  std::uint32_t id;
  std::string_view name;
  bool takes_digest128;
  result<std::uint64_t> (*payload_bytes)(const stored_shape& shape) noexcept;  // nullptr: depends on the content
};
template <filter_kind K>
constexpr kind_loader loader_of() noexcept {
  kind_loader loader{K::info.id, K::info.name, digest128_kind<K>, nullptr};
  if constexpr (mappable<K>) {
    loader.payload_bytes = [](const stored_shape& shape) noexcept { return K::payload_bytes(shape); };
  }
  return loader;
}

// A header that was checked, and the payload, checked and unpacked.
struct stored_payload {
  file_header header;
  aligned_buffer payload;
};

// A payload that is not packed, in order: each chunk is compared with its checksum before any of it is given.
class BLOOMERY_API checked_payload {
 public:
  static result<checked_payload> open(const file_header& header, const byte_source& source,
                                      const load_options& options) noexcept;
  result<void> operator()(std::span<std::byte> out) noexcept;

 private:
  static constexpr std::uint64_t held_chunks = 16;
  checked_payload(const file_header& header, const byte_source& source, bool trust) noexcept
      : header_(header), source_(source), trust_(trust) {}
  result<void> read_more() noexcept;

  file_header header_;
  byte_source source_;
  bool trust_;
  aligned_buffer held_{};
  std::uint64_t next_chunk_ = 0;
  std::span<const std::byte> left_{};
};

// A file in memory, native or text, and its header.
struct decoded_file {
  file_header header{};
  std::span<const std::byte> bytes{};  // all of it
  text_block text{};                   // of a text
};
BLOOMERY_API result<decoded_file> decode_file(std::span<const std::byte> bytes) noexcept;
// The kind's numbers against the header's sizes.
BLOOMERY_API result<void> check_kind(const file_header& header, const kind_loader& kind) noexcept;
// A shard alone is refused unless it is wanted: a key of another shard would be reported absent.
BLOOMERY_API result<void> check_alone(const file_header& header, bool shard) noexcept;
// What follows the header.
BLOOMERY_API result<stored_payload> read_native(const file_header& header, const byte_source& source,
                                                const kind_loader& kind, const load_options& options) noexcept;
// The native file inside a text.
BLOOMERY_API result<aligned_buffer> unpack_text(const text_block& text, const load_options& options) noexcept;

// The filter whose payload follows the header in the source.
template <filter_kind K>
result<K> read_filter(const file_header& header, const byte_source& source, const load_options& options) noexcept {
  static_assert(mappable<K> || serializable<K>);
  constexpr kind_loader kind = loader_of<K>();
  if constexpr (mappable<K>) {
    auto stored = read_native(header, source, kind, options);
    if (!stored) return fail(stored.error());
    return K::adopt(header.shape, std::move(stored->payload));
  } else if (header.codec != codec_none) {
    const auto stored = read_native(header, source, kind, options);
    if (!stored) return fail(stored.error());
    memory_pull pull(stored->payload.bytes());
    return K::deserialize(header.shape, byte_feed(pull, header.payload_bytes), options.memory);
  } else {
    if (auto done = check_kind(header, kind); !done) return fail(done.error());
    if (auto whole = check_alone(header, options.shard); !whole) return fail(whole.error());
    auto payload = checked_payload::open(header, source, options);
    if (!payload) return fail(payload.error());
    return K::deserialize(header.shape, byte_feed(*payload, header.payload_bytes), options.memory);
  }
}

template <filter_kind K>
result<stored_filter<K>> load_source(const file_header& header, const byte_source& source,
                                     const load_options& options) noexcept {
  auto filter = read_filter<K>(header, source, options);
  if (!filter) return fail(filter.error());
  if constexpr (requires { filter->set_clock(options.clock); }) filter->set_clock(options.clock);
  return stored_filter<K>{std::move(*filter), header.hash, header};
}

template <filter_kind K>
result<stored_filter<K>> load_decoded(const decoded_file& file, const load_options& options) noexcept {
  if (!file.header.text) return load_source<K>(file.header, byte_source(file.bytes), options);
  if (file.text.decoded_bytes > options.max_bytes) return over_limit(options.max_bytes);
  text_reader text(file.text);
  return load_source<K>(file.header, byte_source(text, file.text.decoded_bytes), options);
}

}  // namespace detail

// A file in memory, native or text.
template <filter_kind K>
result<stored_filter<K>> load_bytes(std::span<const std::byte> bytes, const load_options& options = {}) noexcept {
  const auto file = detail::decode_file(bytes);
  if (!file) return fail(file.error());
  return detail::load_decoded<K>(*file, options);
}

// The header of a file in memory, native or text.
BLOOMERY_API result<file_header> read_header_bytes(std::span<const std::byte> bytes) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/native/load.cpp>
#endif

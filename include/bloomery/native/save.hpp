// native/save.hpp: a filter as the bytes of our own file.
//
//     bloomery::memory_sink sink;
//     auto saved = bloomery::save_to(*filter, hash.spec(), bloomery::byte_sink(sink), {.codec = codec_zstd});
//
// The same filter saved with the same options gives the same bytes. Nothing of a secret key is written but its id.
// posix/save.hpp writes them to a file.
//
// Saving reads the filter and does not change it; no other thread may write to it meanwhile. It takes no memory beside
// the filter, in the text encoding either: bytes go to the sink as they are, or in pieces of 4 KiB. A codec takes the
// payload and gives the packed one as a whole: packed files need memory for the packed payload at its largest (a
// little more than the payload) beside the filter, and, for kinds whose payload is not one piece in memory (growing,
// scalable, bitmap), for the payload, too.
#pragma once

#include <bloomery/core/buffer.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/kinds/concept.hpp>
#include <bloomery/native/header.hpp>
#include <bloomery/native/sink.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomery::inline BLOOMERY_ABI {

struct save_options {
  std::uint32_t codec = codec_none;
  bool replace = false;  // an existing file; else it is refused
  bool text = false;     // the text encoding
  int level = 0;         // of the compression; 0: its default
  const memory_hooks* memory = nullptr;
  shard_place shard{};  // of a set: see posix/shard_set.hpp, which writes them all
};

namespace detail {

// What a file stores of a filter: its numbers, and its bytes or the way to them.
struct saved_content {
  std::uint32_t kind_id = 0;
  stored_shape shape{};
  std::span<const std::byte> payload{};  // where the bytes are one piece in memory
  const void* filter = nullptr;          // else this and what follows
  std::uint64_t serialized_bytes = 0;
  result<void> (*serialize)(const void* filter, const byte_sink& sink) = nullptr;
};

template <filter_kind K>
saved_content content_of(const K& filter) noexcept {
  static_assert(contiguous_kind<K> || serialized_kind<K>);
  saved_content content{.kind_id = K::info.id, .shape = filter.shape()};
  if constexpr (contiguous_kind<K>) {
    content.payload = filter.payload();
  } else {
    content.filter = &filter;
    content.serialized_bytes = filter.serialized_bytes();
    content.serialize = [](const void* from, const byte_sink& sink) {
      return static_cast<const K*>(from)->serialize(sink);
    };
  }
  return content;
}

// A file ready to be written: everything but the checksums, which are made on the way.
struct file_image {
  file_header header{};
  aligned_buffer packed{};
  std::span<const std::byte> stored{};
  const saved_content* in_pieces = nullptr;  // instead of `stored`: each time that it is needed, it is made again
};

// `content` must outlive the result.
BLOOMERY_API result<file_image> make_image(const saved_content& content, const hash_spec& hash,
                                           const save_options& options) noexcept;
BLOOMERY_API result<void> write_native(const file_image& image, byte_sink sink) noexcept;
BLOOMERY_API result<void> write_image(const file_image& image, byte_sink sink, bool text) noexcept;
BLOOMERY_API result<void> save_content(const saved_content& content, const hash_spec& hash, byte_sink sink,
                                       const save_options& options) noexcept;

}  // namespace detail

// Writes the bytes of the file to a sink (native/sink.hpp). `options.replace` has no meaning here.
template <filter_kind K>
result<void> save_to(const K& filter, const hash_spec& hash, byte_sink sink, const save_options& options = {}) {
  return detail::save_content(detail::content_of(filter), hash, sink, options);
}

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/native/save.cpp>
#endif

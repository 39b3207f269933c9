#include <algorithm>
#include <array>
#include <bloomery/native/chunks.hpp>
#include <bloomery/native/codec.hpp>
#include <bloomery/native/save.hpp>
#include <bloomery/native/text.hpp>
#include <cstring>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

BLOOMERY_BODY result<void> pack(file_image& image, std::span<const std::byte> payload,
                                const save_options& options) noexcept {
  const auto found = find_codec(options.codec);
  if (!found) return fail(found.error());
  auto packed = aligned_buffer::make((*found)->bound(payload.size()), "packing the filter", options.memory);
  if (!packed) return fail(packed.error());
  const auto used = (*found)->compress(payload, packed->bytes(), options.level);
  if (!used) return fail(used.error());
  image.packed = std::move(*packed);
  image.stored = image.packed.bytes().first(to_size(*used));
  return {};
}

BLOOMERY_BODY result<void> pack_pieces(file_image& image, const saved_content& content,
                                       const save_options& options) noexcept {
  auto buffer = aligned_buffer::make(content.serialized_bytes, "saving the filter", options.memory);
  if (!buffer) return fail(buffer.error());
  memory_fill fill(buffer->bytes());
  if (auto done = content.serialize(content.filter, byte_sink(fill)); !done) return done;
  return pack(image, buffer->bytes(), options);
}

BLOOMERY_BODY result<file_image> make_image(const saved_content& content, const hash_spec& hash,
                                            const save_options& options) noexcept {
  file_image image;
  image.header.kind_id = content.kind_id;
  image.header.hash = hash;
  image.header.shape = content.shape;
  image.header.shard = options.shard;
  image.header.codec = options.codec;
  const bool in_pieces = content.serialize != nullptr;
  image.header.payload_bytes = in_pieces ? content.serialized_bytes : content.payload.size();
  if (options.codec != codec_none) {
    const auto packed = in_pieces ? pack_pieces(image, content, options) : pack(image, content.payload, options);
    if (!packed) return fail(packed.error());
  } else if (in_pieces) {
    image.in_pieces = &content;
  } else {
    image.stored = content.payload;
  }
  image.header.stored_bytes = image.in_pieces != nullptr ? content.serialized_bytes : image.stored.size();
  if (auto sound = check_header(image.header); !sound) return fail(sound.error());
  return image;
}

BLOOMERY_BODY result<void> write_stored(const file_image& image, const byte_sink& sink) noexcept {
  if (image.in_pieces == nullptr) return sink(image.stored);
  return image.in_pieces->serialize(image.in_pieces->filter, sink);
}

// Bytes in pieces of any size become the table of checksums.
class checksum_writer {
 public:
  explicit checksum_writer(byte_sink to) noexcept : table_(to) {}

  result<void> operator()(std::span<const std::byte> bytes) noexcept {
    while (!bytes.empty()) {
      if (held_ == 0 && bytes.size() >= chunk_bytes) {
        add(bytes.first(chunk_bytes));
        bytes = bytes.subspan(chunk_bytes);
        continue;
      }
      const std::size_t some = std::min<std::size_t>(bytes.size(), chunk_bytes - held_);
      std::memcpy(chunk_.data() + held_, bytes.data(), some);
      bytes = bytes.subspan(some);
      held_ += some;
      if (held_ == chunk_bytes) add(chunk_);
    }
    return {};
  }
  // The last chunk may be short.
  result<void> finish() noexcept {
    if (held_ != 0) add(std::span<const std::byte>(chunk_).first(held_));
    return table_.flush();
  }

 private:
  void add(std::span<const std::byte> chunk) noexcept {
    store_le(table_.take(checksum_bytes), chunk_checksum(index_++, chunk));
    held_ = 0;
  }

  piece_writer table_;
  std::array<std::byte, chunk_bytes> chunk_{};
  std::size_t held_ = 0;
  std::uint64_t index_ = 0;
};

BLOOMERY_BODY result<void> write_native(const file_image& image, byte_sink sink) noexcept {
  std::array<std::byte, large_header_bytes> first{};
  const auto header_size = encode_header(image.header, first);
  if (!header_size) return fail(header_size.error());
  if (auto done = sink(std::span(first).first(to_size(*header_size))); !done) return done;
  if (auto done = write_stored(image, sink); !done) return done;
  constexpr std::array<std::byte, 8> zeros{};
  if (auto done = sink(std::span(zeros).first(to_size(padding_bytes(image.header.stored_bytes)))); !done) return done;
  checksum_writer checksums(sink);
  if (auto done = write_stored(image, byte_sink(checksums)); !done) return done;
  return checksums.finish();
}

BLOOMERY_BODY result<void> write_image(const file_image& image, byte_sink sink, bool text) noexcept {
  if (!text) return write_native(image, sink);
  text_writer writer(sink);
  auto to_text = [&writer](std::span<const std::byte> bytes) { return writer.write(bytes); };
  if (auto done = write_native(image, byte_sink(to_text)); !done) return done;
  return writer.finish();
}

BLOOMERY_BODY result<void> save_content(const saved_content& content, const hash_spec& hash, byte_sink sink,
                                        const save_options& options) noexcept {
  const auto image = make_image(content, hash, options);
  if (!image) return fail(image.error());
  return write_image(*image, sink, options.text);
}

}  // namespace detail

}  // namespace bloomery::inline BLOOMERY_ABI

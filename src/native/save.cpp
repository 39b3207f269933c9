#include <array>
#include <bloomery/native/chunks.hpp>
#include <bloomery/native/codec.hpp>
#include <bloomery/native/save.hpp>
#include <bloomery/native/text.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

BLOOMERY_BODY result<void> pack(file_image& image, std::span<const std::byte> payload,
                                const save_options& options) noexcept {
  image.header.codec = options.codec;
  image.header.payload_bytes = payload.size();
  image.stored = payload;
  if (options.codec != codec_none) {
    const auto found = find_codec(options.codec);
    if (!found) return fail(found.error());
    auto packed = aligned_buffer::make((*found)->bound(payload.size()), "packing the filter", options.memory);
    if (!packed) return fail(packed.error());
    const auto used = (*found)->compress(payload, packed->bytes(), options.level);
    if (!used) return fail(used.error());
    image.packed = std::move(*packed);
    image.stored = image.packed.bytes().first(to_size(*used));
  }
  image.header.stored_bytes = image.stored.size();
  return check_header(image.header);
}

BLOOMERY_BODY result<file_image> make_image(const saved_content& content, const hash_spec& hash,
                                            const save_options& options) noexcept {
  file_image image;
  image.header.kind_id = content.kind_id;
  image.header.hash = hash;
  image.header.shape = content.shape;
  image.header.shard = options.shard;
  std::span<const std::byte> payload = content.payload;
  if (content.serialize != nullptr) {
    auto buffer = aligned_buffer::make(content.serialized_bytes, "saving the filter", options.memory);
    if (!buffer) return fail(buffer.error());
    if (auto done = content.serialize(content.filter, buffer->bytes()); !done) return fail(done.error());
    image.serialized = std::move(*buffer);
    payload = image.serialized.bytes();
  }
  if (auto done = pack(image, payload, options); !done) return fail(done.error());
  return image;
}

BLOOMERY_BODY result<void> write_checksums(const file_image& image, byte_sink sink) noexcept {
  std::array<std::byte, 4096> table{};
  std::size_t used = 0;
  const std::uint64_t chunks = image.header.chunks();
  for (std::uint64_t i = 0; i < chunks; ++i) {
    store_le(table.data() + used, chunk_checksum(i, chunk_at(image.stored, i)));
    used += checksum_bytes;
    if (used < table.size() && i + 1 < chunks) continue;
    if (auto done = sink(std::span(table).first(used)); !done) return done;
    used = 0;
  }
  return {};
}

BLOOMERY_BODY result<void> write_native(const file_image& image, byte_sink sink) noexcept {
  std::array<std::byte, large_header_bytes> first{};
  const auto header_size = encode_header(image.header, first);
  if (!header_size) return fail(header_size.error());
  if (auto done = sink(std::span(first).first(to_size(*header_size))); !done) return done;
  if (auto done = sink(image.stored); !done) return done;
  constexpr std::array<std::byte, 8> zeros{};
  if (auto done = sink(std::span(zeros).first(to_size(padding_bytes(image.stored.size())))); !done) return done;
  return write_checksums(image, sink);
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

// native/save.hpp: writes a filter as a native file.
//
//     auto saved = bloomery::save(*filter, hash.spec(), "users.bloom", {.replace = true});
//     if (!saved) report(saved.error());
//
// The file appears under its name whole or not at all (posix/output.hpp). The same filter saved with the same options
// gives the same bytes. Nothing of a secret key is written but its id.
//
// Saving reads the filter and does not change it; no other thread may write to it meanwhile. Packed files need memory
// for the packed payload beside the filter; others need none to speak of.
#pragma once

#include <array>
#include <bloomery/core/buffer.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/kinds/concept.hpp>
#include <bloomery/native/chunks.hpp>
#include <bloomery/native/codec.hpp>
#include <bloomery/native/header.hpp>
#include <bloomery/native/sink.hpp>
#include <bloomery/native/text.hpp>
#include <bloomery/posix/output.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomery::inline BLOOMERY_ABI {

struct save_options {
  std::uint32_t codec = codec_none;
  bool replace = false;  // an existing file; else it is refused
  bool text = false;     // the text form
  int level = 0;         // of the compression; 0: its default
  const memory_hooks* memory = nullptr;
  shard_place shard{};  // of a set: see posix/shard_set.hpp, which writes them all
};

namespace detail {

// A file ready to be written: everything but the checksums, which are made on the way.
struct file_image {
  file_header header{};
  aligned_buffer serialized{};
  aligned_buffer packed{};
  std::span<const std::byte> stored{};
};

inline result<void> pack(file_image& image, std::span<const std::byte> payload, const save_options& options) noexcept {
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
    image.stored = image.packed.bytes().first(*used);
  }
  image.header.stored_bytes = image.stored.size();
  return check_header(image.header);
}

template <class K>
result<file_image> make_image(const K& filter, const hash_spec& hash, const save_options& options) noexcept {
  static_assert(contiguous_kind<K> || serialized_kind<K>);
  file_image image;
  image.header.kind_id = K::info.id;
  image.header.hash = hash;
  image.header.shape = filter.shape();
  image.header.shard = options.shard;
  std::span<const std::byte> payload;
  if constexpr (contiguous_kind<K>) {
    payload = filter.payload();
  } else {
    auto buffer = aligned_buffer::make(filter.serialized_bytes(), "saving the filter", options.memory);
    if (!buffer) return fail(buffer.error());
    if (auto done = filter.serialize(buffer->bytes()); !done) return fail(done.error());
    image.serialized = std::move(*buffer);
    payload = image.serialized.bytes();
  }
  if (auto done = pack(image, payload, options); !done) return fail(done.error());
  return image;
}

inline result<void> write_checksums(const file_image& image, byte_sink sink) noexcept {
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

inline result<void> write_native(const file_image& image, byte_sink sink) noexcept {
  std::array<std::byte, large_header_bytes> first{};
  const auto header_size = encode_header(image.header, first);
  if (!header_size) return fail(header_size.error());
  if (auto done = sink(std::span(first).first(*header_size)); !done) return done;
  if (auto done = sink(image.stored); !done) return done;
  constexpr std::array<std::byte, 8> zeros{};
  if (auto done = sink(std::span(zeros).first(padding_bytes(image.stored.size()))); !done) return done;
  return write_checksums(image, sink);
}

inline result<void> write_image(const file_image& image, byte_sink sink, bool text) noexcept {
  if (!text) return write_native(image, sink);
  text_writer writer(sink);
  auto to_text = [&writer](std::span<const std::byte> bytes) { return writer.write(bytes); };
  if (auto done = write_native(image, byte_sink(to_text)); !done) return done;
  return writer.finish();
}

// Text goes out in lines; this makes fewer, larger writes of them.
class buffered_output {
 public:
  explicit buffered_output(output_file& file) noexcept : file_(&file) {}
  result<void> operator()(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() >= held_.size() - used_) {
      if (auto done = flush(); !done) return done;
    }
    if (bytes.size() >= held_.size()) return file_->write(bytes);
    if (!bytes.empty()) std::memcpy(held_.data() + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
    return {};
  }
  result<void> flush() noexcept {
    const std::size_t size = std::exchange(used_, 0);
    return file_->write(std::span(held_).first(size));
  }

 private:
  output_file* file_;
  std::array<std::byte, 16384> held_{};
  std::size_t used_ = 0;
};

}  // namespace detail

// Writes the bytes of the file to a sink (native/sink.hpp). `options.replace` has no meaning here.
template <filter_kind K>
result<void> save_to(const K& filter, const hash_spec& hash, byte_sink sink, const save_options& options = {}) {
  const auto image = detail::make_image(filter, hash, options);
  if (!image) return fail(image.error());
  return detail::write_image(*image, sink, options.text);
}

// Writes the file at `path`: see posix/output.hpp for what happens to what was there.
template <filter_kind K>
result<void> save(const K& filter, const hash_spec& hash, const char* path, const save_options& options = {}) noexcept {
  auto file = output_file::open(path, options.replace);
  if (!file) return fail(file.error());
  const auto image = detail::make_image(filter, hash, options);
  if (!image) return fail(image.error());
  detail::buffered_output buffered(*file);
  if (auto done = detail::write_image(*image, byte_sink(buffered), options.text); !done) return done;
  if (auto done = buffered.flush(); !done) return done;
  return file->commit();
}

}  // namespace bloomery::inline BLOOMERY_ABI

// src/formats/hfile_writer.hpp: store files of HBase that hold a Bloom filter and no cells, by the layout in
// docs/formats/hbase.md: chunks, empty indexes, file info, the filter's meta block, trailer.
//
//     auto file = hfile::build(keys, {.type = hbase::bloom_type::row});     // keys in order, of which equal ones follow
//                                                                           // each other
//
// or chunk by chunk, as `merge` does:
//
//     hfile::file_maker to(compression::none, memory);
//     to.add_chunk(bits, first_key);
//     auto file = to.finish(numbers);
#pragma once

#include <array>
#include <bloomery/core/bytes.hpp>
#include <cstring>

#include "src/formats/hfile.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats::hfile {

// Bytes that grow. What memory refuses is dropped, and reported at the end.
class image {
 public:
  explicit image(const memory_hooks* memory) noexcept : memory_(memory) {}
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return buffer_.bytes().first(size_); }
  void append(std::span<const std::byte> bytes) noexcept;
  void append(const image& other) noexcept {
    take_failure(other);
    append(other.bytes());
  }
  void take_failure(const image& other) noexcept {
    if (state_ && !other.state_) state_ = other.state_;
  }
  void take_failure(const result<void>& other) noexcept {
    if (state_ && !other) state_ = fail(other.error());
  }
  void text(std::string_view bytes) noexcept { append(std::as_bytes(std::span(bytes))); }
  template <std::unsigned_integral T>
  void big(T value) noexcept {
    std::array<std::byte, sizeof(T)> bytes{};
    store_be(bytes.data(), value);
    append(bytes);
  }
  void varint(std::uint64_t value) noexcept;  // of protocol buffers
  void length(std::uint64_t value) noexcept;  // of Hadoop
  // Over what is there already.
  template <std::unsigned_integral T>
  void patch(std::uint64_t at, T value) noexcept {
    if (at + sizeof(T) <= size_) store_be(buffer_.data() + at, value);
  }
  result<void> operator()(std::span<const std::byte> bytes) noexcept {
    append(bytes);
    return state_;
  }
  [[nodiscard]] const result<void>& state() const noexcept { return state_; }
  [[nodiscard]] file_bytes take() noexcept { return {std::move(buffer_), size_}; }

 private:
  const memory_hooks* memory_;
  aligned_buffer buffer_{};
  std::size_t size_ = 0;
  result<void> state_{};
};

struct filter_numbers {
  hbase::bloom_type type = hbase::bloom_type::row;
  std::uint64_t prefix_bytes = 0;
  hbase::hash_type hash = hbase::hash_type::murmur;
  unsigned hashes = 0;
  std::uint64_t keys = 0;
  std::uint64_t max_keys = 0;
  std::optional<std::string_view> last_key{};
};

class file_maker {
 public:
  file_maker(compression packing, const memory_hooks* memory) noexcept
      : packing_(packing), memory_(memory), file_(memory) {}
  // `first_key` outlives this.
  result<void> add_chunk(std::span<const std::byte> bits, std::string_view first_key) noexcept;
  result<file_bytes> finish(const filter_numbers& numbers) noexcept;

 private:
  // Writes a block; how many bytes it takes.
  std::uint64_t add_block(std::string_view magic, std::span<const std::byte> payload, std::uint64_t previous) noexcept;
  void add_info(const filter_numbers& numbers) noexcept;
  void add_meta(const filter_numbers& numbers) noexcept;
  void add_trailer(std::uint64_t load_on_open, std::uint64_t info, std::uint64_t entries) noexcept;

  compression packing_;
  const memory_hooks* memory_;
  image file_;
  aligned_list<chunk_place> chunks_{};
  std::uint64_t total_bytes_ = 0;
  std::uint64_t unpacked_bytes_ = 0;
};

struct build_options {
  hbase::bloom_type type = hbase::bloom_type::row;
  std::uint64_t prefix_bytes = 0;
  hbase::hash_type hash = hbase::hash_type::murmur;
  float error_rate = 0.01F;  // of a look-up in HBase
  std::uint64_t chunk_bytes = hbase::default_chunk_bytes;
  unsigned max_fold = hbase::default_max_fold;
  compression packing = compression::none;
};

// The shape of its chunks but for the last, which is folded.
result<hbase::chunk_shape> shape_of(const build_options& options) noexcept;

digest128 digest_of(hbase::hash_type hash, std::string_view key) noexcept;

// `keys` are rows, or keys of ROWCOL, in their order; of a Bloom key that comes again the second is ignored. An error
// where there are none, or where one is out of order.
result<file_bytes> build(std::span<const std::string_view> keys, const build_options& options,
                         const memory_hooks* memory) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI::formats::hfile

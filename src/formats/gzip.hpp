// src/formats/gzip.hpp: gzip around whole files of other products. What is packed may be a thousand times larger than
// the file, so the front is unpacked first, and the rest only when the sizes in it can be true.
#pragma once

#include <bloomery/native/sink.hpp>
#include <bloomery/posix/input.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace bloomery::inline BLOOMERY_ABI::formats {

bool is_gzip(std::span<const std::byte> bytes) noexcept;

// Whether the library was built with zlib. Without it (BLOOMERY_NO_GZIP) packed files are refused by name.
bool has_gzip() noexcept;
failure no_gzip() noexcept;

// As much of what is packed as fits into `out`; less when it ends, is cut off or is damaged.
std::size_t gunzip_front(std::span<const std::byte> packed, std::span<std::byte> out) noexcept;

// How much is packed, where it is `least_bytes` at least and up to 4 GiB more: the last four bytes have the size modulo
// 2^32. Nothing when so few bytes cannot stand for so many.
std::optional<std::uint64_t> gunzipped_bytes(std::span<const std::byte> packed, std::uint64_t least_bytes) noexcept;

// All of it, which must be `size_bytes`. One gzip stream and nothing after it, with the right checksum.
result<file_bytes> gunzip(std::span<const std::byte> packed, std::uint64_t size_bytes,
                          const memory_hooks* memory) noexcept;
failure bad_gzip() noexcept;

// Packs what is written to it on the way to another sink. `finish` writes the rest.
class gzip_writer {
 public:
  explicit gzip_writer(const byte_sink& to, int level) noexcept;
  gzip_writer(const gzip_writer&) = delete;
  gzip_writer& operator=(const gzip_writer&) = delete;
  ~gzip_writer();
  result<void> operator()(std::span<const std::byte> bytes) noexcept { return write(bytes, false); }
  result<void> finish() noexcept { return write({}, true); }

 private:
  struct state;
  result<void> write(std::span<const std::byte> bytes, bool last) noexcept;
  state* state_;
};

}  // namespace bloomery::inline BLOOMERY_ABI::formats

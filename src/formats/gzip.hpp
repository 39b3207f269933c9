// src/formats/gzip.hpp: gzip around whole files of other products. The size is not written at their front, so memory
// grows as bytes come out.
#pragma once

#include <bloomery/file/input.hpp>
#include <bloomery/file/sink.hpp>
#include <cstddef>
#include <span>

namespace bloomery::formats {

bool is_gzip(std::span<const std::byte> bytes) noexcept;

// As much of what is packed as fits into `out`; less when it ends, is cut off or is damaged.
std::size_t gunzip_front(std::span<const std::byte> packed, std::span<std::byte> out) noexcept;

// All of it. One gzip stream and nothing behind it, with the right checksum; no more than `limit_bytes`.
result<file_bytes> gunzip(std::span<const std::byte> packed, std::uint64_t limit_bytes,
                          const memory_hooks* memory) noexcept;

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

}  // namespace bloomery::formats

// posix/input.hpp: a file opened for reading, or anything else that can be read to its end (a pipe, a device).
//
// A filter's file is opened once. Detection, header, loading and mapping take the input_file, so that all of them see
// one file, whatever gets its name meanwhile.
//
// A regular file is read where it is needed (`read_at`). Everything else is read into memory as a whole, which grows as
// bytes arrive and never beyond a limit (`read_file`).
#pragma once

#include <bloomery/core/buffer.hpp>
#include <bloomery/core/file_path.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/native/limit.hpp>
#include <bloomery/posix/system.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

class input_file {
 public:
  static result<input_file> open(file_path path) noexcept {
    int fd = detail::open_again(path.c_str(), O_RDONLY);
    // A socket as standard input cannot be opened by name.
    if (fd < 0 && errno == ENXIO && detail::descriptor_of(path.c_str()) >= 0) {
      fd = detail::duplicate(detail::descriptor_of(path.c_str()));
    }
    if (fd < 0) return name_file(detail::fail_errno("cannot open", errno), path.c_str());
    auto file = adopt(detail::unique_fd(fd));
    if (!file) return name_file(std::move(file), path.c_str());
    file->path_.assign(path.c_str());
    return file;
  }
  // A descriptor that is open for reading already.
  static result<input_file> adopt(detail::unique_fd fd) noexcept {
    input_file file;
    file.fd_ = std::move(fd);
    struct stat status {};
    if (::fstat(file.fd_.get(), &status) != 0) return detail::fail_errno("cannot open", errno);
    if (S_ISDIR(status.st_mode)) return fail(errc::is_directory);
    file.regular_ = S_ISREG(status.st_mode);
    file.size_ = file.regular_ ? static_cast<std::uint64_t>(status.st_size) : 0;
    return file;
  }

  [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }
  // As it was opened, for errors.
  [[nodiscard]] std::string_view path() const noexcept { return path_.view(); }
  [[nodiscard]] bool is_regular() const noexcept { return regular_; }
  // Of a regular file, when it was opened.
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_; }

  // Fills `out` from a regular file, or fails.
  [[nodiscard]] result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const noexcept {
    constexpr std::size_t step_bytes = std::size_t{64} << 20U;
    const std::uint64_t wanted_end = offset + out.size();
    while (!out.empty()) {
      const std::size_t step = out.size() < step_bytes ? out.size() : step_bytes;
      const ssize_t got = ::pread(fd_.get(), out.data(), step, static_cast<off_t>(offset));
      if (got < 0) {
        if (errno == EINTR) continue;
        return name_file(detail::fail_errno("cannot read", errno), path());
      }
      if (got == 0) return name_file(fail(errc::truncated, {}, {offset, wanted_end}), path());
      offset += static_cast<std::uint64_t>(got);
      out = out.subspan(static_cast<std::size_t>(got));
    }
    return {};
  }

  // How many bytes of `out` the stream filled: fewer than requested only at its end.
  [[nodiscard]] result<std::size_t> read_stream(std::span<std::byte> out) const noexcept {
    std::size_t filled = 0;
    while (filled < out.size()) {
      const ssize_t got = ::read(fd_.get(), out.data() + filled, out.size() - filled);
      if (got < 0) {
        if (errno == EINTR) continue;
        return name_file(detail::fail_errno("cannot read", errno), path());
      }
      if (got == 0) break;
      filled += static_cast<std::size_t>(got);
    }
    return filled;
  }

 private:
  input_file() noexcept = default;
  detail::unique_fd fd_;
  path_tail path_;
  std::uint64_t size_ = 0;
  bool regular_ = false;
};

// Bytes read as a whole; the buffer may be larger.
struct file_bytes {
  aligned_buffer buffer{};
  std::size_t size = 0;
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return buffer.bytes().first(size); }
};

namespace detail {

// Reads to the end of the stream. `limit_of(first bytes)` is called once and returns how many bytes there should be, or
// fails: reading stops after one more.
template <class Limit>
result<file_bytes> read_stream(const input_file& file, const memory_hooks* memory, std::uint64_t max_bytes,
                               Limit&& limit_of) noexcept {
  file_bytes read;
  std::uint64_t limit = max_bytes;
  std::size_t room = 65536;
  while (true) {
    // One byte above the limit distinguishes a stream that ends there from one that continues.
    if (limit != no_limit && room > limit) room = to_size(limit) + 1;
    auto larger = aligned_buffer::make(room, "reading the filter", memory);
    if (!larger) return fail(larger.error());
    if (read.size != 0) std::memcpy(larger->data(), read.buffer.data(), read.size);
    const bool is_first = read.size == 0;
    read.buffer = std::move(*larger);
    const auto got = file.read_stream(read.buffer.bytes().subspan(read.size));
    if (!got) return fail(got.error());
    read.size += *got;
    if (read.size > max_bytes) return over_limit(max_bytes);
    if (is_first) {
      const result<std::uint64_t> expected = limit_of(read.bytes());
      if (!expected) return fail(expected.error());
      if (*expected < limit) limit = *expected;
    }
    if (read.size < read.buffer.size_bytes() || read.size > limit) return read;
    room = read.size * 2;
  }
}

template <class Limit>
result<file_bytes> read_open_file(const input_file& file, const memory_hooks* memory, std::uint64_t max_bytes,
                                  Limit&& limit_of) noexcept {
  if (!file.is_regular()) return read_stream(file, memory, max_bytes, limit_of);
  if (file.size_bytes() > max_bytes) return over_limit(max_bytes);
  auto buffer = aligned_buffer::make(file.size_bytes(), "reading the filter", memory);
  if (!buffer) return fail(buffer.error());
  if (auto done = file.read_at(0, buffer->bytes()); !done) return fail(done.error());
  const std::size_t size = buffer->size_bytes();
  return file_bytes{std::move(*buffer), size};
}

}  // namespace detail

// The whole of any file, pipe or device.
BLOOMERY_API result<file_bytes> read_file(file_path path, const memory_hooks* memory = nullptr,
                                          std::uint64_t max_bytes = no_limit) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/posix/input.cpp>
#endif

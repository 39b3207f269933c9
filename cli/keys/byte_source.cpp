#include "cli/keys/byte_source.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <lzma.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "cli/keys/input_signature.hpp"

namespace bloomery::cli {
namespace {

constexpr std::size_t packed_block_bytes = std::size_t{1} << 18U;
constexpr std::string_view gzip_magic{"\x1f\x8b", 2};
// Decoders of xz allocate what the file requests. `xz -9` needs 65 MiB; zstd has a limit of this order, too.
constexpr std::uint64_t xz_memory_bytes = std::uint64_t{256} << 20U;

bool begins(std::string_view text, std::string_view magic) { return text.substr(0, magic.size()) == magic; }

}  // namespace

struct byte_source::gzip_unpacker final : unpacker {
  gzip_unpacker() = default;
  gzip_unpacker(const gzip_unpacker&) = delete;
  gzip_unpacker& operator=(const gzip_unpacker&) = delete;
  ~gzip_unpacker() override { inflateEnd(&stream); }

  static constexpr int gzip_window_bits = 15 + 16;

  // Between members: true when another one follows, false at the end or when starved. Zeros after the last one are
  // padding of tapes.
  outcome<bool> next_member(byte_source& from) {
    while (true) {
      const std::string_view left = from.left();
      const std::size_t other = left.find_first_not_of('\0');
      if (other != 0) from.at_ += std::min(other, left.size());
      if (other != std::string_view::npos && from.left().size() >= 2) {
        if (begins(from.left(), gzip_magic)) return true;
        return fail_file(from.name(), "has other bytes after its gzip data: is it two files in one?");
      }
      const auto more = from.refill();
      if (!more) return failed(more.error());
      if (*more) continue;
      if (from.starved_ || from.left().empty()) return false;
      return fail_file(from.name(), "has other bytes after its gzip data: is it two files in one?");
    }
  }

  outcome<std::size_t> read(byte_source& from, std::span<char> to) override {
    if (ended) return std::size_t{0};
    if (!started && inflateInit2(&stream, gzip_window_bits) != Z_OK)
      return fail_file(from.name(), "cannot unpack gzip: no memory");
    started = true;
    const auto room = static_cast<uInt>(std::min<std::size_t>(to.size(), std::numeric_limits<uInt>::max()));
    stream.next_out = reinterpret_cast<Bytef*>(to.data());
    stream.avail_out = room;
    while (stream.avail_out == room) {
      if (between) {
        const auto another = next_member(from);
        if (!another) return failed(another.error());
        ended = !*another && !from.starved_;
        if (!*another) break;
        between = false;
        inflateReset(&stream);
      }
      if (from.left().empty()) {
        const auto more = from.refill();
        if (!more) return failed(more.error());
        if (!*more && from.starved_) break;
        if (!*more) return fail_file(from.name(), "its gzip data is cut short: copy it again");
      }
      stream.next_in = reinterpret_cast<Bytef*>(from.packed_.data() + from.at_);
      stream.avail_in = static_cast<uInt>(from.left().size());
      const int code = inflate(&stream, Z_NO_FLUSH);
      from.at_ = from.packed_.size() - stream.avail_in;
      if (code == Z_STREAM_END) {
        between = true;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return fail_file(from.name(),
                         fmt::format("its gzip data is damaged: {}", stream.msg == nullptr ? "?" : stream.msg));
      }
    }
    return static_cast<std::size_t>(room - stream.avail_out);
  }

  z_stream stream{};
  bool started = false;
  bool between = false;  // after the end of a member
  bool ended = false;
};

struct byte_source::zstd_unpacker final : unpacker {
  zstd_unpacker() : stream(ZSTD_createDStream()) {}
  zstd_unpacker(const zstd_unpacker&) = delete;
  zstd_unpacker& operator=(const zstd_unpacker&) = delete;
  ~zstd_unpacker() override { ZSTD_freeDStream(stream); }

  outcome<std::size_t> read(byte_source& from, std::span<char> to) override {
    if (stream == nullptr) return fail_file(from.name(), "cannot unpack zstd: no memory");
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    while (out.pos == 0) {
      // What the library still holds comes before new input; a complete frame leaves nothing.
      if (from.left().empty() && !(inside && pending)) {
        const auto more = from.refill();
        if (!more) return failed(more.error());
        if (!*more) {
          if (inside && !from.starved_) return fail_file(from.name(), "its zstd data is cut short: copy it again");
          return std::size_t{0};
        }
      }
      ZSTD_inBuffer in{from.packed_.data() + from.at_, from.left().size(), 0};
      const std::size_t code = ZSTD_decompressStream(stream, &out, &in);
      from.at_ += in.pos;
      if (ZSTD_isError(code) != 0) {
        return fail_file(from.name(), fmt::format("its zstd data is damaged: {}", ZSTD_getErrorName(code)));
      }
      inside = code != 0;
      pending = out.pos == out.size;
    }
    return out.pos;
  }

  ZSTD_DStream* stream;
  bool inside = true;    // in the middle of a frame
  bool pending = false;  // the last call filled its output: there may be more without input
};

struct byte_source::xz_unpacker final : unpacker {
  xz_unpacker() = default;
  xz_unpacker(const xz_unpacker&) = delete;
  xz_unpacker& operator=(const xz_unpacker&) = delete;
  ~xz_unpacker() override { lzma_end(&stream); }

  outcome<std::size_t> read(byte_source& from, std::span<char> to) override {
    if (ended) return std::size_t{0};
    // Concatenated streams, and the zeros between them, are one stream.
    if (!started && lzma_stream_decoder(&stream, xz_memory_bytes, LZMA_CONCATENATED) != LZMA_OK)
      return fail_file(from.name(), "cannot unpack xz: no memory");
    started = true;
    stream.next_out = reinterpret_cast<std::uint8_t*>(to.data());
    stream.avail_out = to.size();
    while (stream.avail_out == to.size() && !ended) {
      // What the library still holds comes before new input.
      if (from.left().empty() && !pending && !input_ended) {
        const auto more = from.refill();
        if (!more) return failed(more.error());
        if (!*more && from.starved_) break;
        input_ended = !*more;
      }
      stream.next_in = reinterpret_cast<const std::uint8_t*>(from.packed_.data() + from.at_);
      stream.avail_in = from.left().size();
      const lzma_ret code = lzma_code(&stream, input_ended ? LZMA_FINISH : LZMA_RUN);
      from.at_ = from.packed_.size() - stream.avail_in;
      pending = stream.avail_out == 0;
      ended = code == LZMA_STREAM_END;
      // Without new input, LZMA_BUF_ERROR only means that there is nothing to do.
      if (code == LZMA_OK || code == LZMA_STREAM_END || (code == LZMA_BUF_ERROR && !input_ended)) continue;
      return fail_file(from.name(), why(code));
    }
    return to.size() - stream.avail_out;
  }

  std::string why(lzma_ret code) {
    switch (code) {
      case LZMA_BUF_ERROR:
        return "its xz data is cut short: copy it again";
      case LZMA_MEM_ERROR:
        return "cannot unpack xz: no memory";
      case LZMA_MEMLIMIT_ERROR:
        return fmt::format(
            "unpacking its xz data takes {} MiB of memory, and {} is the limit: use 'xz -dc FILE | bloomery ...'",
            (lzma_memusage(&stream) >> 20U) + 1, xz_memory_bytes >> 20U);
      case LZMA_OPTIONS_ERROR:
        return "its xz data has options that this liblzma does not know: use a newer one";
      default:
        return "its xz data is damaged, or has other bytes after it: copy it again";
    }
  }

  lzma_stream stream = LZMA_STREAM_INIT;
  bool started = false;
  bool pending = false;      // the last call filled its output: there may be more without input
  bool input_ended = false;  // all compressed bytes were read
  bool ended = false;
};

byte_source::byte_source(byte_source&& other) noexcept { *this = std::move(other); }

byte_source& byte_source::operator=(byte_source&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  wake_ = other.wake_;
  regular_ = other.regular_;
  starved_ = other.starved_;
  name_ = std::move(other.name_);
  taken_ = other.taken_;
  packed_ = std::move(other.packed_);
  at_ = other.at_;
  unpacker_ = std::move(other.unpacker_);
  return *this;
}

byte_source::~byte_source() {
  if (descriptor_ > STDERR_FILENO) close(descriptor_);
}

namespace {

// As many of the first bytes of a regular file as a signature can have. Those that cannot be read are reported by
// open().
std::string first_bytes_of(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor < 0) return {};
  std::string bytes(signature_bytes, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = pread(descriptor, bytes.data() + size, bytes.size() - size, static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  close(descriptor);
  bytes.resize(size);
  return bytes;
}

}  // namespace

outcome<byte_source::facts> byte_source::stat(const std::string& path, decompression how) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || ::access(path.c_str(), R_OK) != 0) {
    return fail_file(path, fmt::format("cannot open: {}", std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) return fail_file(path, make_error(errc::is_directory));
  if (!S_ISREG(status.st_mode)) return facts{};
  if (how == decompression::by_content) {
    const auto found = detect_input(first_bytes_of(path));
    if (found.type == input_type::refused) return fail_file(path, found.refusal);
  }
  return facts{true, static_cast<std::uint64_t>(status.st_size)};
}

outcome<byte_source> byte_source::open(const std::string& path, int wake, decompression how) {
  byte_source source;
  source.wake_ = wake;
  source.name_ = path == "-" ? "standard input" : path;
  // O_NONBLOCK: opening a named pipe does not wait for its writer; reading does, where it can be woken.
  source.descriptor_ = path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (source.descriptor_ < 0) return fail_file(source.name_, fmt::format("cannot open: {}", std::strerror(errno)));
  struct stat status {};
  if (fstat(source.descriptor_, &status) == 0 && S_ISDIR(status.st_mode)) {
    return fail_file(source.name_, make_error(errc::is_directory));
  }
  source.regular_ = S_ISREG(status.st_mode);
  // A hint only: whether it is taken does not matter.
  posix_fadvise(source.descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
  if (how == decompression::none) return source;
  if (auto found = source.detect(); !found) return failed(found.error());
  return source;
}

outcome<void> byte_source::detect() {
  while (packed_.empty() || may_complete_signature(packed_)) {
    const auto more = refill();
    if (!more) return failed(more.error());
    if (!*more) break;
  }
  const auto found = detect_input(packed_);
  switch (found.type) {
    case input_type::plain:
      break;
    case input_type::gzip:
      unpacker_ = std::make_unique<gzip_unpacker>();
      break;
    case input_type::zstd:
      unpacker_ = std::make_unique<zstd_unpacker>();
      break;
    case input_type::xz:
      unpacker_ = std::make_unique<xz_unpacker>();
      break;
    case input_type::refused:
      return fail_file(name_, found.refusal);
  }
  return {};
}

outcome<bool> byte_source::wait_for_bytes() {
  if (regular_) return true;
  while (true) {
    std::array<pollfd, 2> watched = {pollfd{descriptor_, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
    // A negative descriptor is passed over. What cannot be watched is left to read(), which reports why.
    const int ready = poll(watched.data(), watched.size(), patience_ == patience::now ? 0 : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0 || watched[0].revents != 0) return true;
    if (watched[1].revents != 0) return fail_quiet();
    starved_ = true;
    return false;
  }
}

outcome<std::size_t> byte_source::read_raw(std::span<char> to) {
  while (true) {
    const auto ready = wait_for_bytes();
    if (!ready) return failed(ready.error());
    if (!*ready) return std::size_t{0};
    const ssize_t count = ::read(descriptor_, to.data(), to.size());
    if (count >= 0) {
      taken_ += static_cast<std::uint64_t>(count);
      return static_cast<std::size_t>(count);
    }
    if (errno != EINTR && errno != EAGAIN)
      return fail_file(name_, fmt::format("cannot read: {}", std::strerror(errno)));
  }
}

outcome<bool> byte_source::refill() {
  packed_.erase(0, at_);
  at_ = 0;
  const std::size_t kept = packed_.size();
  packed_.resize(kept + packed_block_bytes);
  const auto count = read_raw({packed_.data() + kept, packed_block_bytes});
  packed_.resize(kept + (count ? *count : 0));
  if (!count) return failed(count.error());
  return *count != 0;
}

outcome<std::size_t> byte_source::read(std::span<char> to, patience how) {
  patience_ = how;
  starved_ = false;
  if (unpacker_ != nullptr) return unpacker_->read(*this, to);
  if (const std::string_view rest = left(); !rest.empty()) {
    const std::size_t count = std::min(rest.size(), to.size());
    std::memcpy(to.data(), rest.data(), count);
    at_ += count;
    return count;
  }
  return read_raw(to);
}

}  // namespace bloomery::cli

#include "src/formats/gzip.hpp"

#include <zlib.h>

#include <array>
#include <cstring>
#include <new>

namespace bloomery::formats {
namespace gzip_parts {

constexpr int window_bits = 15 + 16;           // the largest window, with gzip's frame instead of zlib's
constexpr int memory_level = 8;                // zlib's default
constexpr std::size_t step_bytes = 1U << 30U;  // zlib counts in 32 bits

// Unpacks until the input ends or `room` says that there is no more: it gives memory for more bytes, or none.
class unpacker {
 public:
  explicit unpacker(std::span<const std::byte> packed) noexcept
      : ready_(inflateInit2(&stream_, window_bits) == Z_OK), left_(packed) {}
  unpacker(const unpacker&) = delete;
  unpacker& operator=(const unpacker&) = delete;
  ~unpacker() {
    if (ready_) inflateEnd(&stream_);
  }
  // How many bytes of `out` it filled: all of them, unless the stream ended or is damaged.
  std::size_t read(std::span<std::byte> out) noexcept {
    std::size_t made = 0;
    while (ready_ && !ended_ && !damaged_ && made < out.size()) {
      if (stream_.avail_in == 0 && !left_.empty()) {
        const std::size_t step = left_.size() < step_bytes ? left_.size() : step_bytes;
        // zlib takes a pointer to non-const and does not write through it.
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(left_.data()));
        stream_.avail_in = static_cast<uInt>(step);
        left_ = left_.subspan(step);
      }
      const std::size_t room = out.size() - made < step_bytes ? out.size() - made : step_bytes;
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + made);
      stream_.avail_out = static_cast<uInt>(room);
      const int state = inflate(&stream_, Z_NO_FLUSH);
      made += room - stream_.avail_out;
      ended_ = state == Z_STREAM_END;
      damaged_ = !ended_ && state != Z_OK;
    }
    return made;
  }
  [[nodiscard]] bool is_whole() const noexcept { return ended_ && left_.empty() && stream_.avail_in == 0; }
  [[nodiscard]] bool has_ended() const noexcept { return ended_ || damaged_ || !ready_; }

 private:
  z_stream stream_{};
  bool ready_;
  bool ended_ = false;
  bool damaged_ = false;
  std::span<const std::byte> left_;
};

}  // namespace gzip_parts

bool is_gzip(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

std::size_t gunzip_front(std::span<const std::byte> packed, std::span<std::byte> out) noexcept {
  return gzip_parts::unpacker(packed).read(out);
}

result<file_bytes> gunzip(std::span<const std::byte> packed, std::uint64_t limit_bytes,
                          const memory_hooks* memory) noexcept {
  gzip_parts::unpacker from(packed);
  file_bytes unpacked;
  std::size_t room = 65536;
  while (true) {
    // One byte beyond the limit tells what ends there from what goes on.
    if (limit_bytes != no_limit && room > limit_bytes) room = static_cast<std::size_t>(limit_bytes) + 1;
    auto larger = aligned_buffer::make(room, "unpacking the filter", memory);
    if (!larger) return fail(larger.error());
    if (unpacked.size != 0) std::memcpy(larger->data(), unpacked.buffer.data(), unpacked.size);
    unpacked.buffer = std::move(*larger);
    unpacked.size += from.read(unpacked.buffer.bytes().subspan(unpacked.size));
    if (unpacked.size > limit_bytes) return bloomery::detail::over_limit(limit_bytes);
    // A full buffer may hold just all of it: the end shows when one more byte is asked for.
    if (unpacked.size < room || from.has_ended()) break;
    room *= 2;
  }
  if (!from.is_whole()) return fail(errc::codec_failed, "its gzip data is damaged, cut off or followed by something");
  return unpacked;
}

struct gzip_writer::state {
  explicit state(const byte_sink& sink) noexcept : to(sink) {}
  byte_sink to;
  z_stream stream{};
  bool ready = false;
  std::array<std::byte, 16384> out{};
};

gzip_writer::gzip_writer(const byte_sink& to, int level) noexcept : state_(new (std::nothrow) state(to)) {
  if (state_ == nullptr) return;
  const int wanted = level == 0 ? Z_DEFAULT_COMPRESSION : level;
  state_->ready = deflateInit2(&state_->stream, wanted, Z_DEFLATED, gzip_parts::window_bits, gzip_parts::memory_level,
                               Z_DEFAULT_STRATEGY) == Z_OK;
}

gzip_writer::~gzip_writer() {
  if (state_ != nullptr && state_->ready) deflateEnd(&state_->stream);
  delete state_;
}

result<void> gzip_writer::write(std::span<const std::byte> bytes, bool last) noexcept {
  if (state_ == nullptr) return fail(errc::out_of_memory, "packing the filter", {sizeof(state)});
  if (!state_->ready) return fail(errc::codec_failed, "zlib refused the level, or its memory");
  z_stream& stream = state_->stream;
  while (!bytes.empty() || last) {
    const std::size_t step = bytes.size() < gzip_parts::step_bytes ? bytes.size() : gzip_parts::step_bytes;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(step);
    bytes = bytes.subspan(step);
    const bool finish = last && bytes.empty();
    do {
      stream.next_out = reinterpret_cast<Bytef*>(state_->out.data());
      stream.avail_out = static_cast<uInt>(state_->out.size());
      deflate(&stream, finish ? Z_FINISH : Z_NO_FLUSH);
      const auto made = std::span<const std::byte>(state_->out).first(state_->out.size() - stream.avail_out);
      if (auto done = state_->to(made); !done) return done;
    } while (stream.avail_out == 0);
    if (finish) break;
  }
  return {};
}

}  // namespace bloomery::formats

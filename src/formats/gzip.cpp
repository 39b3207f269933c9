#include "src/formats/gzip.hpp"

#include <array>
#include <bloomery/core/bytes.hpp>
#include <new>

namespace bloomery::inline BLOOMERY_ABI::formats {

bool is_gzip(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

}  // namespace bloomery::inline BLOOMERY_ABI::formats

#if defined(BLOOMERY_NO_GZIP)

namespace bloomery::inline BLOOMERY_ABI::formats {

bool has_gzip() noexcept { return false; }
failure no_gzip() noexcept { return fail(errc::not_linked, "gzip"); }

std::size_t gunzip_front(std::span<const std::byte> /*packed*/, std::span<std::byte> /*out*/) noexcept { return 0; }
std::optional<std::uint64_t> gunzipped_bytes(std::span<const std::byte> /*packed*/,
                                             std::uint64_t /*least_bytes*/) noexcept {
  return {};
}
result<file_bytes> gunzip(std::span<const std::byte> /*packed*/, std::uint64_t /*size_bytes*/,
                          const memory_hooks* /*memory*/) noexcept {
  return no_gzip();
}
failure bad_gzip() noexcept { return no_gzip(); }

gzip_writer::gzip_writer(const byte_sink& /*to*/, int /*level*/) noexcept : state_(nullptr) {}
gzip_writer::~gzip_writer() = default;
result<void> gzip_writer::write(std::span<const std::byte> /*bytes*/, bool /*last*/) noexcept { return no_gzip(); }

}  // namespace bloomery::inline BLOOMERY_ABI::formats

#else

#include <zlib.h>

namespace bloomery::inline BLOOMERY_ABI::formats {
namespace gzip {

constexpr int window_bits = 15 + 16;           // the largest window, with gzip's frame instead of zlib's
constexpr int memory_level = 8;                // zlib's default
constexpr std::size_t step_bytes = 1U << 30U;  // zlib counts in 32 bits

// Unpacks piece by piece.
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

 private:
  z_stream stream_{};
  bool ready_;
  bool ended_ = false;
  bool damaged_ = false;
  std::span<const std::byte> left_;
};

}  // namespace gzip

bool has_gzip() noexcept { return true; }
failure no_gzip() noexcept { return fail(errc::not_linked, "gzip"); }

std::size_t gunzip_front(std::span<const std::byte> packed, std::span<std::byte> out) noexcept {
  return gzip::unpacker(packed).read(out);
}

std::optional<std::uint64_t> gunzipped_bytes(std::span<const std::byte> packed, std::uint64_t least_bytes) noexcept {
  constexpr std::size_t frame_bytes = 18;     // around the packed bytes, the checksum and the size among them
  constexpr std::uint64_t most_ratio = 1032;  // a match of 258 bytes takes two bits at least
  if (packed.size() < frame_bytes) return {};
  const auto low = load_le<std::uint32_t>(packed.data() + packed.size() - 4);
  const std::uint64_t size = least_bytes + static_cast<std::uint32_t>(low - static_cast<std::uint32_t>(least_bytes));
  if (size / most_ratio > packed.size()) return {};
  return size;
}

failure bad_gzip() noexcept {
  return fail(errc::codec_failed, "its gzip data is damaged, cut off or followed by something");
}

result<file_bytes> gunzip(std::span<const std::byte> packed, std::uint64_t size_bytes,
                          const memory_hooks* memory) noexcept {
  auto buffer = aligned_buffer::make(size_bytes, "unpacking the filter", memory);
  if (!buffer) return fail(buffer.error());
  gzip::unpacker from(packed);
  file_bytes unpacked{std::move(*buffer), to_size(size_bytes)};
  const std::size_t made = from.read(unpacked.buffer.bytes().first(unpacked.size));
  // The end, with the checksum, shows when one more byte is requested.
  std::array<std::byte, 1> more{};
  if (made != unpacked.size || from.read(more) != 0 || !from.is_whole()) return bad_gzip();
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
  state_->ready = deflateInit2(&state_->stream, wanted, Z_DEFLATED, gzip::window_bits, gzip::memory_level,
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
    const std::size_t step = bytes.size() < gzip::step_bytes ? bytes.size() : gzip::step_bytes;
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

}  // namespace bloomery::inline BLOOMERY_ABI::formats

#endif

// codecs.cpp: zstd and gzip for native/codec.hpp. The only place that knows the two libraries.
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>
#include <array>
#include <bloomery/native/codec.hpp>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {
namespace {

// Both write to the same place, so the first is called again where it was the better.
template <class First, class Second>
result<std::uint64_t> smaller_of(First&& first, Second&& second) noexcept {
  const auto one = first();
  if (!one) return one;
  const auto other = second();
  if (!other || *other <= *one) return other;
  return first();
}

// ---- zstd
// ------------------------------------------------------------------------------------------------------------

std::uint64_t zstd_bound(std::uint64_t size_bytes) noexcept { return ZSTD_compressBound(size_bytes); }

result<std::uint64_t> zstd_used(std::size_t used) noexcept {
  if (ZSTD_isError(used) != 0) return fail(errc::codec_failed, ZSTD_getErrorName(used));
  return used;
}

result<std::uint64_t> zstd_search(std::span<const std::byte> from, std::span<std::byte> to, int level) noexcept {
  return zstd_used(ZSTD_compress(to.data(), to.size(), from.data(), from.size(), level));
}

// In the bits of a filter nothing repeats but by chance, and a reference to a short repetition takes more than the
// bytes themselves. So: a table of places that is too small to find many, and long repetitions alone.
result<std::uint64_t> zstd_without_search(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  if (context == nullptr) return fail(errc::codec_failed, "zstd refused its memory");
  constexpr std::array<std::pair<ZSTD_cParameter, int>, 5> settings = {{{ZSTD_c_compressionLevel, 1},
                                                                        {ZSTD_c_strategy, ZSTD_fast},
                                                                        {ZSTD_c_minMatch, 7},
                                                                        {ZSTD_c_hashLog, 6},
                                                                        {ZSTD_c_windowLog, 16}}};
  std::size_t used = 0;
  for (const auto& [name, value] : settings) {
    if (ZSTD_isError(used) == 0) used = ZSTD_CCtx_setParameter(context, name, value);
  }
  if (ZSTD_isError(used) == 0) used = ZSTD_compress2(context, to.data(), to.size(), from.data(), from.size());
  ZSTD_freeCCtx(context);
  return zstd_used(used);
}

result<std::uint64_t> zstd_compress(std::span<const std::byte> from, std::span<std::byte> to, int level) noexcept {
  return level != 0
             ? zstd_search(from, to, level)
             : smaller_of([&] { return zstd_search(from, to, 0); }, [&] { return zstd_without_search(from, to); });
}

result<void> zstd_decompress(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
  const std::size_t made = ZSTD_decompress(to.data(), to.size(), from.data(), from.size());
  if (ZSTD_isError(made) != 0) return fail(errc::codec_failed, ZSTD_getErrorName(made));
  if (made != to.size()) return fail(errc::codec_failed, "it unpacks to fewer bytes than the header says");
  return {};
}

// zstd decodes block by block, of at most 128 KiB, until one does not fit.
result<void> zstd_unpack_first(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
  const std::size_t made = ZSTD_decompress(to.data(), to.size(), from.data(), from.size());
  if (ZSTD_getErrorCode(made) == ZSTD_error_dstSize_tooSmall) return {};
  if (ZSTD_isError(made) != 0) return fail(errc::codec_failed, ZSTD_getErrorName(made));
  return fail(errc::codec_failed, "it unpacks to fewer bytes than the header says");
}

// ---- gzip
// ------------------------------------------------------------------------------------------------------------

constexpr int gzip_window_bits = 15 + 16;    // the largest window, with gzip's frame instead of zlib's
constexpr int gzip_memory_level = 8;         // zlib's default
constexpr uInt gzip_step_bytes = 1U << 30U;  // zlib counts in 32 bits

// Hands zlib its next piece of what is left.
void give_input(z_stream& stream, std::span<const std::byte>& from) noexcept {
  if (stream.avail_in != 0 || from.empty()) return;
  const std::size_t step = from.size() < gzip_step_bytes ? from.size() : gzip_step_bytes;
  // zlib takes a pointer to non-const and does not write through it.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data()));
  stream.avail_in = static_cast<uInt>(step);
  from = from.subspan(step);
}

void give_room(z_stream& stream, std::span<std::byte>& to) noexcept {
  if (stream.avail_out != 0 || to.empty()) return;
  const std::size_t step = to.size() < gzip_step_bytes ? to.size() : gzip_step_bytes;
  stream.next_out = reinterpret_cast<Bytef*>(to.data());
  stream.avail_out = static_cast<uInt>(step);
  to = to.subspan(step);
}

// deflateBound counts in unsigned long, so it holds for 64-bit sizes; the margin is for its fixed cost and the frame.
std::uint64_t gzip_bound(std::uint64_t size_bytes) noexcept {
  return size_bytes + size_bytes / 1000 + 4096 + size_bytes / gzip_step_bytes * 64;
}

result<std::uint64_t> gzip_with(std::span<const std::byte> from, std::span<std::byte> to, int level,
                                int strategy) noexcept {
  z_stream stream{};
  const int wanted = level == 0 ? Z_DEFAULT_COMPRESSION : level;
  if (deflateInit2(&stream, wanted, Z_DEFLATED, gzip_window_bits, gzip_memory_level, strategy) != Z_OK) {
    return fail(errc::codec_failed, "zlib refused the level, or its memory");
  }
  const std::size_t room = to.size();
  int state = Z_OK;
  while (state == Z_OK) {
    give_input(stream, from);
    give_room(stream, to);
    state = deflate(&stream, from.empty() ? Z_FINISH : Z_NO_FLUSH);
  }
  const std::uint64_t left = to.size() + stream.avail_out;
  deflateEnd(&stream);
  if (state != Z_STREAM_END) return fail(errc::codec_failed, "zlib ran out of room");
  return room - left;
}

result<std::uint64_t> gzip_compress(std::span<const std::byte> from, std::span<std::byte> to, int level) noexcept {
  const auto with = [&](int strategy) { return gzip_with(from, to, level, strategy); };
  if (level != 0) return with(Z_DEFAULT_STRATEGY);
  return smaller_of([&] { return with(Z_DEFAULT_STRATEGY); }, [&] { return with(Z_HUFFMAN_ONLY); });
}

struct inflated {
  int state = Z_OK;
  bool all_read = false;
  bool all_made = false;
};

// Until the data ends, `to` is full, or there is an error.
result<inflated> gzip_inflate(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
  z_stream stream{};
  if (inflateInit2(&stream, gzip_window_bits) != Z_OK) return fail(errc::codec_failed, "zlib refused its memory");
  // Where nothing is to be made, zlib still needs an address.
  Bytef nothing = 0;
  stream.next_out = &nothing;
  inflated done;
  while (done.state == Z_OK) {
    give_input(stream, from);
    give_room(stream, to);
    // Without input or space there is no progress, and zlib returns Z_BUF_ERROR.
    done.state = inflate(&stream, Z_NO_FLUSH);
  }
  done.all_read = from.empty() && stream.avail_in == 0;
  done.all_made = to.empty() && stream.avail_out == 0;
  inflateEnd(&stream);
  return done;
}

failure gzip_failed(const inflated& done) noexcept {
  if (done.state == Z_STREAM_END && !done.all_made) {
    return fail(errc::codec_failed, "it unpacks to fewer bytes than the header says");
  }
  if (done.state == Z_BUF_ERROR && done.all_made) {
    return fail(errc::codec_failed, "it unpacks to more bytes than the header says");
  }
  return fail(errc::codec_failed, "its gzip data is damaged");
}

result<void> gzip_decompress(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
  const auto done = gzip_inflate(from, to);
  if (!done) return fail(done.error());
  return done->state == Z_STREAM_END && done->all_read && done->all_made ? result<void>{} : gzip_failed(*done);
}

result<void> gzip_unpack_first(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
  const auto done = gzip_inflate(from, to);
  if (!done) return fail(done.error());
  return done->state == Z_BUF_ERROR && done->all_made ? result<void>{} : gzip_failed(*done);
}

// An RLE block of zstd is 4 bytes for at most 128 KiB. Deflate's best is 258 bytes for 2 bits.
constexpr codec zstd_codec{.id = codec_zstd,
                           .name = "zstd",
                           .max_expansion = 128 * 1024 / 4,
                           .bound = zstd_bound,
                           .compress = zstd_compress,
                           .decompress = zstd_decompress,
                           .unpack_first = zstd_unpack_first};
constexpr codec gzip_codec{.id = codec_gzip,
                           .name = "gzip",
                           .max_expansion = 258 * 4,
                           .bound = gzip_bound,
                           .compress = gzip_compress,
                           .decompress = gzip_decompress,
                           .unpack_first = gzip_unpack_first};

}  // namespace

void enable_codecs() noexcept {
  register_codec(zstd_codec);
  register_codec(gzip_codec);
}

}  // namespace bloomery::inline BLOOMERY_ABI

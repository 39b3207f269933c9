// native/codec.hpp: compression of a file's payload, and the table of what this program can do.
//
// The core needs no compression library. Its own codec `rans` (native/rans.hpp) is always there. A program that links
// bloomery::codecs and calls `enable_codecs()` once can also write and read files packed with zstd and gzip; without it
// such files are refused by name (errc::not_linked). Registering is safe from any thread, and doing it twice is
// harmless.
//
// Filters near their capacity are as random as any bytes and do not compress. Sparse ones do, and a classic Bloom
// filter that is made larger and emptier than usual packs to less than a usual one takes: see sizing::packed_hashes.
#pragma once

#include <array>
#include <atomic>
#include <bloomery/core/result.hpp>
#include <bloomery/native/header.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

struct codec {
  std::uint32_t id = codec_none;
  std::string_view name{};
  // No stored byte can unpack to more than this many: what claims more is refused before memory is allocated.
  std::uint64_t max_expansion = 1;
  // Buffer size that `compress` needs for `size_bytes` of input.
  std::uint64_t (*bound)(std::uint64_t size_bytes) noexcept = nullptr;
  // How many bytes of `to` were used. Level 0 is the library's default.
  result<std::uint64_t> (*compress)(std::span<const std::byte> from, std::span<std::byte> to,
                                    int level) noexcept = nullptr;
  // Fills `to` exactly from all of `from`, or fails.
  result<void> (*decompress)(std::span<const std::byte> from, std::span<std::byte> to) noexcept = nullptr;
  // Fails unless `from` unpacks to to.size() bytes or more; what is in `to` afterwards is of no use. With it a reader
  // can allocate memory in proportion to what is proven. May be null.
  result<void> (*unpack_first)(std::span<const std::byte> from, std::span<std::byte> to) noexcept = nullptr;
};

// Registers zstd and gzip. Defined in the library bloomery::codecs.
BLOOMERY_API void enable_codecs() noexcept;

namespace detail {

inline constexpr std::array<std::string_view, 4> codec_names = {"none", "zstd", "gzip", "rans"};

// Where a codec is registered.
BLOOMERY_API std::atomic<const codec*>& codec_slot(std::uint32_t id) noexcept;
}  // namespace detail

// `entry` must live as long as the program. Ids that the file format does not know are ignored.
BLOOMERY_API void register_codec(const codec& entry) noexcept;

// "none", "zstd", "gzip", "rans", or "?".
inline constexpr std::string_view codec_name(std::uint32_t id) noexcept {
  return id < detail::codec_names.size() ? detail::codec_names[id] : std::string_view{"?"};
}

// The id of a name, as passed to --compress; linked or not.
BLOOMERY_API result<std::uint32_t> codec_id(std::string_view name) noexcept;

// The registered codec; codec_none is none.
BLOOMERY_API result<const codec*> find_codec(std::uint32_t id) noexcept;
BLOOMERY_API result<const codec*> find_codec(std::string_view name) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/native/codec.cpp>
#endif

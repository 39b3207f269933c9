// src/formats/hfile.hpp: the Bloom filter in a store file of HBase (HFile 3, and 2 from minor version 3 on): where it is,
// and its chunks. docs/formats/hbase.md has the bytes; hfile_writer.hpp writes such files, hbase_filter.hpp looks up keys.
//
//     trailer         the last 4096 bytes (212 of version 2): where the load-on-open section begins, compression
//     load-on-open    two index blocks, file info, then BLMFMET2: hash, k, and of each chunk offset, size and first key
//     BLMFBLK2        one chunk: its bits and nothing else, between the blocks of data
//
// Every offset, size and count is held against the bytes that are there before anything is read or allocated.
#pragma once

#include <bloomery/compat/hbase/chunk.hpp>
#include <bloomery/compat/hbase/key.hpp>
#include <bloomery/core/aligned_list.hpp>
#include <bloomery/formats.hpp>

namespace bloomery::inline BLOOMERY_ABI::formats::hfile {

inline constexpr std::string_view name = "hbase";
inline constexpr std::size_t header_bytes = 33;
inline constexpr std::size_t magic_bytes = 8;
inline constexpr std::string_view trailer_magic = "TRABLK\"$";
inline constexpr std::string_view root_index_magic = "IDXROOT2";
inline constexpr std::string_view file_info_magic = "FILEINF2";
inline constexpr std::string_view bloom_meta_magic = "BLMFMET2";
inline constexpr std::string_view delete_meta_magic = "DFBLMET2";
inline constexpr std::string_view chunk_magic = "BLMFBLK2";
inline constexpr std::string_view info_magic = "PBUF";
inline constexpr std::uint64_t checksum_step = 16384;  // hbase.hstore.bytes.per.checksum
inline constexpr std::uint32_t bloom_meta_version = 3;

enum class compression : std::uint8_t { none, gz };
enum class checksum : std::uint8_t { none = 0, crc32 = 1, crc32c = 2 };

// Its numbers in the file, as far as they are read.
struct trailer {
  std::uint64_t size_bytes = 0;  // of itself
  std::uint64_t load_on_open = 0;
  std::uint64_t entries = 0;
  compression packing = compression::none;
};

// The bytes of a block: in the file, or unpacked.
struct block {
  file_bytes unpacked{};
  std::span<const std::byte> payload{};
  std::uint64_t disk_bytes = 0;  // of all of it in the file
};

struct chunk_place {
  std::uint64_t offset = 0;
  std::uint64_t disk_bytes = 0;
  std::string_view first_key{};  // in the meta block
};

// What a file states of its Bloom filter. The bytes of the file outlive it.
struct bloom_section {
  trailer end{};
  hbase::bloom_type type = hbase::bloom_type::row;
  std::uint64_t prefix_bytes = 0;
  hbase::hash_type hash = hbase::hash_type::murmur;
  unsigned hashes = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t keys = 0;
  std::uint64_t max_keys = 0;
  std::uint64_t deleted_families = 0;  // markers that a second filter is for
  std::optional<std::string_view> last_key{};
  aligned_list<chunk_place> chunks{};
  block info{};  // what the views of keys are in
  block meta{};
};

// Whether a file begins as one does: with the name of a block.
bool begins_as_hfile(std::span<const std::byte> first) noexcept;

result<bloom_section> read_section(std::span<const std::byte> file, const memory_hooks* memory) noexcept;

// A chunk, with the right checksums, unpacked.
result<block> read_chunk(std::span<const std::byte> file, const bloom_section& section, std::size_t chunk,
                         const memory_hooks* memory) noexcept;

// CRC-32 and CRC-32C of the steps of a block.
std::uint32_t checksum_of(checksum type, std::span<const std::byte> bytes) noexcept;

// The chunk whose keys begin at or before `key`; nothing where the key is before all of them.
template <class Less>  // less(key, chunk): whether the key is before the chunk's first
std::optional<std::size_t> last_chunk_not_after(std::size_t chunks, Less&& less) noexcept {
  std::size_t first = 0;
  for (std::size_t count = chunks; count != 0;) {
    const std::size_t half = count / 2;
    if (less(first + half)) {
      count = half;
    } else {
      first += half + 1;
      count -= half + 1;
    }
  }
  if (first == 0) return {};
  return first - 1;
}

}  // namespace bloomery::inline BLOOMERY_ABI::formats::hfile

#include "src/formats/hfile.hpp"

#include <algorithm>
#include <array>
#include <bloomery/core/bytes.hpp>

#include "src/formats/crc32c.hpp"
#include "src/formats/gzip.hpp"
#include "src/formats/sizes.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats::hfile {
namespace {

failure damaged(std::string_view what) noexcept { return bad_header(name, what); }

std::string_view text_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Big-endian numbers, varints and stretches of bytes, one after the other; `bad` once something was not there.
class cursor {
 public:
  explicit cursor(std::span<const std::byte> bytes) noexcept : left_(bytes) {}
  [[nodiscard]] bool bad() const noexcept { return bad_; }
  [[nodiscard]] bool empty() const noexcept { return left_.empty(); }
  [[nodiscard]] std::size_t left() const noexcept { return left_.size(); }
  std::span<const std::byte> take(std::uint64_t size) noexcept {
    if (size > left_.size()) {
      bad_ = true;
      left_ = {};
      return {};
    }
    const auto out = left_.first(to_size(size));
    left_ = left_.subspan(to_size(size));
    return out;
  }
  template <std::unsigned_integral T>
  T big() noexcept {
    const auto field = take(sizeof(T));
    return field.empty() ? T{0} : load_be<T>(field.data());
  }
  // Of protocol buffers.
  std::uint64_t varint() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto field = take(1);
      if (field.empty()) return 0;
      const auto byte = std::to_integer<std::uint64_t>(field.front());
      value |= (byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
    bad_ = true;
    return 0;
  }
  // A length of Hadoop: one byte up to 127, else the number of bytes that follow, big-endian. Negative ones are none.
  std::uint64_t length() noexcept {
    const auto field = take(1);
    if (field.empty()) return 0;
    const int first = std::to_integer<int>(field.front());
    if (first < 0x80) return static_cast<std::uint64_t>(first);
    const int more = 0x90 - first;  // as a signed byte -113 to -120
    if (more < 1 || more > 8) {
      bad_ = true;
      return 0;
    }
    std::uint64_t value = 0;
    for (int i = 0; i < more; ++i) value = value << 8U | big<std::uint8_t>();
    return value;
  }
  // Passes over the value of a field of protocol buffers.
  void skip(std::uint64_t wire) noexcept {
    if (wire == 0) static_cast<void>(varint());
    if (wire == 1) take(8);
    if (wire == 2) take(varint());
    if (wire == 5) take(4);
    bad_ |= wire == 3 || wire == 4 || wire > 5;
  }

 private:
  std::span<const std::byte> left_;
  bool bad_ = false;
};

constexpr std::array<std::uint32_t, 256> crc32_table() noexcept {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t rest = i;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1U ^ ((rest & 1U) != 0 ? 0xedb88320U : 0U);
    table[i] = rest;
  }
  return table;
}

std::uint32_t crc32(std::span<const std::byte> bytes) noexcept {
  static constexpr auto table = crc32_table();
  std::uint32_t rest = 0xffffffffU;
  for (const std::byte byte : bytes) rest = rest >> 8U ^ table[(rest ^ std::to_integer<std::uint32_t>(byte)) & 0xffU];
  return ~rest;
}

constexpr std::size_t most_trailer_bytes = 4096;

std::optional<std::uint64_t> trailer_bytes_of(std::uint32_t version) noexcept {
  const std::uint32_t major = version & 0xffffffU;
  if (major == 3) return most_trailer_bytes;
  // Before minor version 3 (HBase 0.95) the trailer is written otherwise.
  return major == 2 && version >> 24U >= 3 ? std::optional<std::uint64_t>(212) : std::nullopt;
}

result<compression> packing_of(std::uint64_t codec) noexcept {
  constexpr std::array<std::string_view, 9> names = {"LZO",   "GZ",   "NONE", "SNAPPY", "LZ4",
                                                     "BZIP2", "ZSTD", "LZMA", "BROTLI"};
  if (codec == 1) return compression::gz;
  if (codec == 2) return compression::none;
  if (codec >= names.size()) return fail(errc::bad_field, "compression", {codec});
  error_text text;
  text.append("its blocks are packed with ");
  text.append(names[to_size(codec)]);
  text.append(": only NONE and GZ are read");
  return fail(errc::unsupported, text.view());
}

result<trailer> read_trailer(std::span<const std::byte> file) noexcept {
  if (file.size() < 4) return fail(errc::truncated, {}, {file.size(), most_trailer_bytes});
  const auto version = load_be<std::uint32_t>(file.data() + file.size() - 4);
  const auto size = trailer_bytes_of(version);
  if (!size) return damaged("it does not end with the version of an HFile, 3 or 2.3");
  if (file.size() < *size) return fail(errc::truncated, {}, {file.size(), *size});
  cursor at(file.last(to_size(*size)).first(to_size(*size) - 4));
  if (text_of(at.take(magic_bytes)) != trailer_magic) return damaged("its trailer does not begin as one");
  cursor fields(at.take(at.varint()));
  if (at.bad()) return damaged("its trailer is longer than there is space for");
  trailer out{.size_bytes = *size};
  bool has_start = false;
  std::uint64_t codec = 2;
  while (!fields.empty() && !fields.bad()) {
    const std::uint64_t tag = fields.varint();
    if (tag == (2U << 3U)) {
      out.load_on_open = fields.varint();
      has_start = true;
    } else if (tag == (7U << 3U)) {
      out.entries = fields.varint();
    } else if (tag == (12U << 3U)) {
      codec = fields.varint();
    } else if (tag == (13U << 3U | 2U)) {
      return fail(errc::unsupported, "its blocks are encrypted: HBase alone has the key");
    } else {
      fields.skip(tag & 7U);
    }
  }
  if (fields.bad() || !has_start) return damaged("its trailer is damaged");
  if (out.load_on_open > file.size() - *size) return damaged("its load-on-open section lies outside of the file");
  const auto packing = packing_of(codec);
  if (!packing) return fail(packing.error());
  out.packing = *packing;
  return out;
}

result<void> check_sums(std::span<const std::byte> on_disk, std::span<const std::byte> sums, unsigned type,
                        std::uint64_t step) noexcept {
  if (type == static_cast<unsigned>(checksum::none)) return {};
  if (type > static_cast<unsigned>(checksum::crc32c)) return fail(errc::bad_field, "checksum of a block", {type});
  if (step == 0 || sums.size() != (on_disk.size() + step - 1) / step * 4) {
    return damaged("a block has another number of checksums than its size requires");
  }
  for (std::size_t i = 0; i * 4 < sums.size(); ++i) {
    const auto rest = on_disk.subspan(i * to_size(step));
    const auto piece = rest.first(std::min<std::size_t>(rest.size(), to_size(step)));
    if (checksum_of(static_cast<checksum>(type), piece) != load_be<std::uint32_t>(sums.data() + i * 4)) {
      return damaged("the checksum of a block is wrong: copy it again");
    }
  }
  return {};
}

// What so few bytes may be unpacked to: bits of Bloom filters and lists of keys never shrink that much.
constexpr std::uint64_t unpacked_limit(std::uint64_t packed) noexcept {
  return (std::uint64_t{1} << 20U) + 64 * packed;
}

// The block at `offset` that ends before `end`, whatever it is; `magic` gets what.
result<block> read_block(std::span<const std::byte> file, std::uint64_t offset, std::uint64_t end, compression packing,
                         std::string_view& magic, const memory_hooks* memory) noexcept {
  if (offset > end || end - offset < header_bytes) return damaged("a block lies outside of the file");
  cursor at(file.subspan(to_size(offset), header_bytes));
  magic = text_of(at.take(magic_bytes));
  const std::uint64_t after_header = at.big<std::uint32_t>();
  const std::uint64_t unpacked_bytes = at.big<std::uint32_t>();
  at.take(8);  // where the previous block of this type is
  const unsigned sum_type = at.big<std::uint8_t>();
  const std::uint64_t step = at.big<std::uint32_t>();
  const std::uint64_t data_bytes = at.big<std::uint32_t>();  // with the header
  if (after_header > end - offset - header_bytes) return damaged("a block lies outside of the file");
  const std::uint64_t disk_bytes = header_bytes + after_header;
  if (data_bytes < header_bytes || data_bytes > disk_bytes)
    return damaged("the sizes of a block contradict each other");
  const auto whole = file.subspan(to_size(offset), to_size(disk_bytes));
  const auto on_disk = whole.first(to_size(data_bytes));
  if (auto right = check_sums(on_disk, whole.subspan(to_size(data_bytes)), sum_type, step); !right) {
    return fail(right.error());
  }
  block out{.payload = on_disk.subspan(header_bytes), .disk_bytes = disk_bytes};
  if (packing == compression::none) {
    if (out.payload.size() != unpacked_bytes) return damaged("the sizes of a block contradict each other");
    return out;
  }
  if (unpacked_bytes > unpacked_limit(out.payload.size())) {
    return damaged("a block cannot be unpacked to the size that it states");
  }
  if (!has_gzip()) return no_gzip();
  // An empty block is packed, too, or left away.
  if (out.payload.empty() && unpacked_bytes == 0) return out;
  if (unpacked_bytes == 0) {
    out.payload = {};
    return out;
  }
  auto unpacked = gunzip(out.payload, unpacked_bytes, memory);
  if (!unpacked) return fail(unpacked.error());
  out.unpacked = std::move(*unpacked);
  out.payload = out.unpacked.bytes();
  return out;
}

result<hbase::bloom_type> type_of(std::string_view text) noexcept {
  for (const auto type : {hbase::bloom_type::row, hbase::bloom_type::rowcol, hbase::bloom_type::rowprefix}) {
    if (text == hbase::name_of(type)) return type;
  }
  if (text == "NONE") return damaged("it has no Bloom filter: its column family has BLOOMFILTER => 'NONE'");
  return damaged("its Bloom filter is of a type that is not known");
}

// Pairs of bytes, in a message of protocol buffers.
result<void> read_info(bloom_section& section) noexcept {
  cursor at(section.info.payload);
  if (text_of(at.take(info_magic.size())) != info_magic) return damaged("its file info is in the encoding before 0.95");
  cursor pairs(at.take(at.varint()));
  std::optional<std::string_view> type;
  std::optional<std::string_view> parameter;
  while (!at.bad() && !pairs.bad() && !pairs.empty()) {
    const std::uint64_t tag = pairs.varint();
    if (tag != (1U << 3U | 2U)) {
      pairs.skip(tag & 7U);
      continue;
    }
    cursor pair(pairs.take(pairs.varint()));
    std::string_view key;
    std::string_view value;
    while (!pair.bad() && !pair.empty()) {
      const std::uint64_t field = pair.varint();
      if (field == (1U << 3U | 2U)) {
        key = text_of(pair.take(pair.varint()));
      } else if (field == (2U << 3U | 2U)) {
        value = text_of(pair.take(pair.varint()));
      } else {
        pair.skip(field & 7U);
      }
    }
    if (pair.bad()) return damaged("its file info is damaged");
    if (key == "BLOOM_FILTER_TYPE") type = value;
    if (key == "BLOOM_FILTER_PARAM") parameter = value;
    if (key == "LAST_BLOOM_KEY") section.last_key = value;
    if (key == "DELETE_FAMILY_COUNT" && value.size() == 8) {
      section.deleted_families = load_be<std::uint64_t>(value.data());
    }
  }
  if (at.bad() || pairs.bad()) return damaged("its file info is damaged");
  if (!type) return damaged("it has no Bloom filter: its file info has no BLOOM_FILTER_TYPE");
  const auto known = type_of(*type);
  if (!known) return fail(known.error());
  section.type = *known;
  if (section.type != hbase::bloom_type::rowprefix) return {};
  if (!parameter || parameter->size() != 4) return damaged("its file info has no length of the prefix of rows");
  section.prefix_bytes = load_be<std::uint32_t>(parameter->data());
  if (section.prefix_bytes == 0 || section.prefix_bytes > hbase::max_row_bytes) {
    return fail(errc::bad_field, "length of the prefix of rows", {section.prefix_bytes});
  }
  return {};
}

result<void> read_meta(bloom_section& section, const memory_hooks* memory) noexcept {
  cursor at(section.meta.payload);
  const std::uint64_t version = at.big<std::uint32_t>();
  if (!at.bad() && version != bloom_meta_version)
    return fail(errc::bad_field, "version of the Bloom filter", {version});
  section.total_bytes = at.big<std::uint64_t>();
  const std::uint64_t hashes = at.big<std::uint32_t>();
  const std::uint64_t hash = at.big<std::uint32_t>();
  section.keys = at.big<std::uint64_t>();
  section.max_keys = at.big<std::uint64_t>();
  const std::uint64_t chunks = at.big<std::uint32_t>();
  at.take(at.length());  // the class that compares keys, of type ROWCOL
  if (at.bad()) return damaged("its Bloom filter's meta block is cut off");
  if (hashes == 0 || hashes > hbase::most_hashes) return fail(errc::bad_field, "number of hash functions", {hashes});
  if (hash > 2) return fail(errc::bad_field, "hash type", {hash});
  section.hashes = static_cast<unsigned>(hashes);
  section.hash = static_cast<hbase::hash_type>(hash);
  constexpr std::uint64_t least_entry_bytes = 13;
  if (chunks == 0 || chunks > at.left() / least_entry_bytes) {
    return fail(errc::bad_field, "number of chunks", {chunks});
  }
  if (auto space = section.chunks.reserve(chunks, "the chunks' places", memory); !space) return space;
  const bool columns = section.type == hbase::bloom_type::rowcol;
  for (std::uint64_t i = 0; i < chunks; ++i) {
    chunk_place place{.offset = at.big<std::uint64_t>(), .disk_bytes = at.big<std::uint32_t>()};
    place.first_key = text_of(at.take(at.length()));
    if (at.bad()) return damaged("the index of its chunks is cut off");
    if (place.offset > section.end.load_on_open || place.disk_bytes > section.end.load_on_open - place.offset ||
        place.disk_bytes < header_bytes) {
      return damaged("a chunk lies outside of the file");
    }
    if (columns && !hbase::read_rowcol_key(place.first_key))
      return damaged("the first key of a chunk is none of ROWCOL");
    if (i != 0 && !hbase::before(section.type, section.chunks.data()[i - 1].first_key, place.first_key)) {
      return damaged("its chunks are out of order");
    }
    section.chunks.push(place);
  }
  if (columns && section.last_key && !hbase::read_rowcol_key(*section.last_key)) {
    return damaged("its last Bloom key is none of ROWCOL");
  }
  return {};
}

}  // namespace

std::uint32_t checksum_of(checksum type, std::span<const std::byte> bytes) noexcept {
  return type == checksum::crc32 ? crc32(bytes) : crc32c(bytes);
}

bool begins_as_hfile(std::span<const std::byte> first) noexcept {
  constexpr std::array<std::string_view, 6> names = {"DATABLK*", "DATABLKE", chunk_magic,
                                                     "IDXLEAF2", "METABLKc", root_index_magic};
  if (first.size() < magic_bytes) return false;
  const std::string_view begin = text_of(first.first(magic_bytes));
  return std::find(names.begin(), names.end(), begin) != names.end();
}

result<bloom_section> read_section(std::span<const std::byte> file, const memory_hooks* memory) noexcept {
  const auto end = read_trailer(file);
  if (!end) return fail(end.error());
  bloom_section section{.end = *end};
  const std::uint64_t stop = file.size() - end->size_bytes;
  bool has_info = false;
  bool has_meta = false;
  for (std::uint64_t at = end->load_on_open; at < stop;) {
    std::string_view magic;
    auto next = read_block(file, at, stop, end->packing, magic, memory);
    if (!next) return fail(next.error());
    at += next->disk_bytes;
    if (magic == file_info_magic && !has_info) {
      section.info = std::move(*next);
      has_info = true;
    } else if (magic == bloom_meta_magic && !has_meta) {
      section.meta = std::move(*next);
      has_meta = true;
    } else if (magic != root_index_magic && magic != delete_meta_magic) {
      return damaged("its load-on-open section has a block that does not belong there");
    }
  }
  if (!has_info) return damaged("it has no file info");
  if (auto known = read_info(section); !known) return fail(known.error());
  if (!has_meta) return damaged("it has no Bloom filter: no key was added to it");
  if (auto known = read_meta(section, memory); !known) return fail(known.error());
  return section;
}

result<block> read_chunk(std::span<const std::byte> file, const bloom_section& section, std::size_t chunk,
                         const memory_hooks* memory) noexcept {
  const chunk_place& place = section.chunks.data()[chunk];
  std::string_view magic;
  auto read = read_block(file, place.offset, place.offset + place.disk_bytes, section.end.packing, magic, memory);
  if (!read) return fail(read.error());
  if (magic != chunk_magic) return damaged("there is no chunk where its index has one");
  if (read->disk_bytes != place.disk_bytes) return damaged("a chunk has another size than its index states");
  if (read->payload.empty() || read->payload.size() > hbase::max_chunk_bytes) {
    return fail(errc::bad_field, "bytes of a chunk", {read->payload.size()});
  }
  return read;
}

}  // namespace bloomery::inline BLOOMERY_ABI::formats::hfile

#include "src/formats/hfile_writer.hpp"

#include <bloomery/hash/hbase.hpp>
#include <cstring>

#include "src/formats/gzip.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats::hfile {

void image::append(std::span<const std::byte> bytes) noexcept {
  if (!state_ || bytes.empty()) return;
  if (bytes.size() > buffer_.size_bytes() - size_) {
    const std::uint64_t wanted = std::max<std::uint64_t>(std::uint64_t{size_} + bytes.size(), std::uint64_t{size_} * 2);
    auto larger = aligned_buffer::make(wanted, "the file", memory_);
    if (!larger) {
      state_ = fail(larger.error());
      return;
    }
    if (size_ != 0) std::memcpy(larger->data(), buffer_.data(), size_);
    buffer_ = std::move(*larger);
  }
  std::memcpy(buffer_.data() + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
}

void image::varint(std::uint64_t value) noexcept {
  for (; value >= 0x80; value >>= 7U) big(static_cast<std::uint8_t>(value | 0x80U));
  big(static_cast<std::uint8_t>(value));
}

void image::length(std::uint64_t value) noexcept {
  if (value < 0x80) return big(static_cast<std::uint8_t>(value));
  unsigned bytes = 1;
  while (bytes < 8 && value >> (bytes * 8) != 0) ++bytes;
  big(static_cast<std::uint8_t>(0x90 - bytes));
  for (unsigned i = bytes; i-- != 0;) big(static_cast<std::uint8_t>(value >> (i * 8)));
}

namespace {

constexpr std::uint64_t no_previous = ~std::uint64_t{0};
constexpr int packing_level = 6;

// A field of protocol buffers: bytes, or a number.
void put_field(image& to, unsigned number, std::string_view bytes) noexcept {
  to.varint(number << 3U | 2U);
  to.varint(bytes.size());
  to.text(bytes);
}
void put_field(image& to, unsigned number, std::uint64_t value) noexcept {
  to.varint(number << 3U);
  to.varint(value);
}

template <std::unsigned_integral T>
std::array<char, sizeof(T)> big_endian(T value) noexcept {
  std::array<char, sizeof(T)> bytes{};
  store_be(bytes.data(), value);
  return bytes;
}

}  // namespace

std::uint64_t file_maker::add_block(std::string_view magic, std::span<const std::byte> payload,
                                    std::uint64_t previous) noexcept {
  const std::uint64_t begin = file_.size();
  file_.text(magic);
  file_.big(std::uint32_t{0});
  file_.big(static_cast<std::uint32_t>(payload.size()));
  file_.big(previous);
  file_.big(static_cast<std::uint8_t>(checksum::crc32c));
  file_.big(static_cast<std::uint32_t>(checksum_step));
  file_.big(std::uint32_t{0});
  if (packing_ == compression::none) {
    file_.append(payload);
  } else {
    gzip_writer packed(byte_sink(file_), packing_level);
    file_.take_failure(packed(payload));
    file_.take_failure(packed.finish());
  }
  const std::uint64_t data_bytes = file_.size() - begin;
  const std::uint64_t steps = (data_bytes + checksum_step - 1) / checksum_step;
  file_.patch(begin + 8, static_cast<std::uint32_t>(data_bytes - header_bytes + steps * 4));
  file_.patch(begin + 29, static_cast<std::uint32_t>(data_bytes));
  for (std::uint64_t at = begin; file_.state() && at < begin + data_bytes; at += checksum_step) {
    const std::uint64_t size = std::min<std::uint64_t>(checksum_step, begin + data_bytes - at);
    file_.big(checksum_of(checksum::crc32c, file_.bytes().subspan(to_size(at), to_size(size))));
  }
  unpacked_bytes_ += header_bytes + payload.size();
  return file_.size() - begin;
}

result<void> file_maker::add_chunk(std::span<const std::byte> bits, std::string_view first_key) noexcept {
  if (auto space = chunks_.reserve(chunks_.size() + 1, "the chunks' places", memory_); !space) return space;
  const std::uint64_t previous = chunks_.size() == 0 ? no_previous : chunks_.data()[chunks_.size() - 1].offset;
  const std::uint64_t offset = file_.size();
  const std::uint64_t disk_bytes = add_block(chunk_magic, bits, previous);
  chunks_.push({.offset = offset, .disk_bytes = disk_bytes, .first_key = first_key});
  total_bytes_ += bits.size();
  return file_.state();
}

// In the order of the names, as HBase has it.
void file_maker::add_info(const filter_numbers& numbers) noexcept {
  image pairs(memory_);
  const auto add = [&](std::string_view key, std::string_view value) {
    image pair(memory_);
    put_field(pair, 1, key);
    put_field(pair, 2, value);
    pairs.varint(1U << 3U | 2U);
    pairs.varint(pair.size());
    pairs.append(pair);
  };
  const auto view = [](const auto& bytes) { return std::string_view(bytes.data(), bytes.size()); };
  const auto prefix = big_endian(static_cast<std::uint32_t>(numbers.prefix_bytes));
  const auto zero32 = big_endian(std::uint32_t{0});
  const auto zero64 = big_endian(std::uint64_t{0});
  if (numbers.type == hbase::bloom_type::rowprefix) add("BLOOM_FILTER_PARAM", view(prefix));
  add("BLOOM_FILTER_TYPE", hbase::name_of(numbers.type));
  if (numbers.last_key) add("LAST_BLOOM_KEY", *numbers.last_key);
  add("hfile.AVG_KEY_LEN", view(zero32));
  add("hfile.AVG_VALUE_LEN", view(zero32));
  add("hfile.CREATE_TIME_TS", view(zero64));
  image info(memory_);
  info.text(info_magic);
  info.varint(pairs.size());
  info.append(pairs);
  file_.take_failure(info);
  add_block(file_info_magic, info.bytes(), no_previous);
}

void file_maker::add_meta(const filter_numbers& numbers) noexcept {
  image meta(memory_);
  meta.big(bloom_meta_version);
  meta.big(total_bytes_);
  meta.big(static_cast<std::uint32_t>(numbers.hashes));
  meta.big(static_cast<std::uint32_t>(numbers.hash));
  meta.big(numbers.keys);
  meta.big(numbers.max_keys);
  meta.big(static_cast<std::uint32_t>(chunks_.size()));
  constexpr std::string_view comparator = "org.apache.hadoop.hbase.CellComparatorImpl";
  const std::string_view used = numbers.type == hbase::bloom_type::rowcol ? comparator : std::string_view{};
  meta.length(used.size());
  meta.text(used);
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const chunk_place& place = chunks_.data()[i];
    meta.big(place.offset);
    meta.big(static_cast<std::uint32_t>(place.disk_bytes));
    meta.length(place.first_key.size());
    meta.text(place.first_key);
  }
  file_.take_failure(meta);
  add_block(bloom_meta_magic, meta.bytes(), no_previous);
}

void file_maker::add_trailer(std::uint64_t load_on_open, std::uint64_t info, std::uint64_t entries) noexcept {
  constexpr std::uint64_t trailer_bytes = 4096;
  image fields(memory_);
  put_field(fields, 1, info);
  put_field(fields, 2, load_on_open);
  put_field(fields, 3, std::uint64_t{0});
  put_field(fields, 4, unpacked_bytes_);
  put_field(fields, 5, std::uint64_t{0});
  put_field(fields, 6, std::uint64_t{0});
  put_field(fields, 7, entries);
  put_field(fields, 8, std::uint64_t{1});
  put_field(fields, 9, no_previous);
  put_field(fields, 10, std::uint64_t{0});
  put_field(fields, 11, "org.apache.hadoop.hbase.CellComparatorImpl");
  put_field(fields, 12, std::uint64_t{packing_ == compression::gz ? 1U : 2U});
  const std::uint64_t begin = file_.size();
  file_.text(trailer_magic);
  file_.varint(fields.size());
  file_.append(fields);
  while (file_.state() && file_.size() < begin + trailer_bytes - 4) file_.big(std::uint8_t{0});
  file_.big(std::uint32_t{0x03000003});  // version 3.3
}

result<file_bytes> file_maker::finish(const filter_numbers& numbers) noexcept {
  const std::uint64_t load_on_open = file_.size();
  const std::uint64_t data_index_bytes = add_block(root_index_magic, {}, no_previous);
  add_block(root_index_magic, {}, load_on_open);
  const std::uint64_t info = load_on_open + 2 * data_index_bytes;
  add_info(numbers);
  add_meta(numbers);
  add_trailer(load_on_open, info, numbers.keys);
  if (!file_.state()) return fail(file_.state().error());
  return file_.take();
}

digest128 digest_of(hbase::hash_type hash, std::string_view key) noexcept {
  switch (hash) {
    case hbase::hash_type::jenkins:
      return hbase_jenkins{}.hash128(key.data(), key.size());
    case hbase::hash_type::murmur:
      return hbase_murmur{}.hash128(key.data(), key.size());
    case hbase::hash_type::murmur3:
      return hbase_murmur3{}.hash128(key.data(), key.size());
  }
  return {};
}

result<hbase::chunk_shape> shape_of(const build_options& options) noexcept {
  const float rate =
      options.type == hbase::bloom_type::rowcol ? hbase::rowcol_error_rate(options.error_rate) : options.error_rate;
  return hbase::shape_by_size(options.chunk_bytes, static_cast<double>(rate), options.max_fold);
}

namespace {

result<void> check_keys(std::span<const std::string_view> keys, hbase::bloom_type type) noexcept {
  if (keys.empty()) return fail(errc::unsupported, "a file without keys has no Bloom filter: give one key at least");
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (type == hbase::bloom_type::rowcol) {
      if (!hbase::read_rowcol_key(keys[i])) return fail(errc::unsupported, "a key is none of ROWCOL");
    } else if (keys[i].size() > hbase::max_row_bytes) {
      return fail(errc::unsupported, "a row has at most 32,767 bytes");
    }
    if (i == 0 || keys[i] == keys[i - 1]) continue;
    if (!hbase::before(type, keys[i - 1], keys[i])) {
      return fail(errc::unsupported, "the keys of a file are in ascending order");
    }
  }
  return {};
}

}  // namespace

result<file_bytes> build(std::span<const std::string_view> keys, const build_options& options,
                         const memory_hooks* memory) noexcept {
  const auto shape = shape_of(options);
  if (!shape) return fail(shape.error());
  if (auto usable = check_keys(keys, options.type); !usable) return fail(usable.error());
  const auto bloom_key = [&](std::size_t i) {
    return options.type == hbase::bloom_type::rowprefix ? hbase::prefix_of(keys[i], to_size(options.prefix_bytes))
                                                        : keys[i];
  };
  const auto is_copy = [&](std::size_t i) { return i != 0 && bloom_key(i) == bloom_key(i - 1); };
  auto bits = aligned_buffer::make(shape->size_bytes, "a chunk", memory);
  if (!bits) return fail(bits.error());
  file_maker to(options.packing, memory);
  filter_numbers numbers{.type = options.type,
                         .prefix_bytes = options.prefix_bytes,
                         .hash = options.hash,
                         .hashes = shape->hashes,
                         .last_key = bloom_key(keys.size() - 1)};
  for (std::size_t at = 0; at < keys.size();) {
    std::memset(bits->data(), 0, bits->size_bytes());
    const std::string_view first = bloom_key(at);
    std::uint64_t added = 0;
    for (; at < keys.size() && added < shape->max_keys; ++at) {
      if (is_copy(at)) continue;
      hbase::set(bits->bytes(), shape->hashes, digest_of(options.hash, bloom_key(at)));
      ++added;
    }
    while (at < keys.size() && is_copy(at)) ++at;  // the next chunk begins with another key
    const hbase::chunk_shape folded = hbase::fold(bits->bytes(), *shape, added);
    if (auto done = to.add_chunk(bits->bytes().first(to_size(folded.size_bytes)), first); !done) {
      return fail(done.error());
    }
    numbers.keys += added;
    numbers.max_keys += folded.max_keys;
  }
  return to.finish(numbers);
}

}  // namespace bloomery::inline BLOOMERY_ABI::formats::hfile

// src/formats/redis_reader.hpp: from the bytes of SCANDUMP and DUMP to filters. docs/formats/redisbloom.md has the
// bytes.
//
// Bytes become records, with the bits of each sub-filter in place; every number is checked then, and only what passed
// gets memory and is unpacked.
#pragma once

#include <bloomery/any_filter_model.hpp>
#include <bloomery/kinds/scalable.hpp>

#include "src/formats/redis_cuckoo_model.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats::redisbloom {

using rdb::stored_string;

inline constexpr std::size_t head_bytes = bloom_head::size_bytes;
inline constexpr std::size_t sub_filter_bytes = bloom_record::stored_bytes;
inline constexpr std::size_t cuckoo_head_bytes = cuckoo_head::stored_bytes;

// Nine letters of 6 bits; the version of the encoding is in the 10 bits below.
inline constexpr std::uint64_t bloom_module = 0x3016e5a289bef800ULL;
inline constexpr std::uint64_t cuckoo_module = 0x3016e5a289821400ULL;
inline constexpr std::uint64_t version_mask = 0x3ffU;
inline constexpr std::uint64_t newest_encoding = 4;
// A DUMP begins with its type, and its module in 64 bits.
inline constexpr std::size_t dump_head_bytes = 10;

// ---- reading --------------------------------------------------------------------------------------------------------

struct chain_file {
  bloom_head head{};
  aligned_list<bloom_record> sub_filters{};
  aligned_list<stored_string> bits{};

  result<void> reserve(std::uint64_t count, const memory_hooks* memory) noexcept {
    if (auto room = sub_filters.reserve(count, "the sub-filters", memory); !room) return room;
    return bits.reserve(count, "the sub-filters", memory);
  }
};
struct cuckoo_file {
  cuckoo_head head{};
  aligned_list<stored_string> sub_filters{};
};

// The module of a DUMP, with the version; 0 of other bytes.
inline std::uint64_t module_of(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < dump_head_bytes || bytes[0] != rdb::module_value) return 0;
  rdb::reader from(bytes.subspan(1));
  const std::uint64_t id = from.length().value_or(0);
  const std::uint64_t module = id & ~version_mask;
  return module == bloom_module || module == cuckoo_module ? id : 0;
}

// ---- what a file is -------------------------------------------------------------------------------------------------

// The sub-filters that are in detection_input. No other file has numbers that fit each other so by chance.
inline detection look_chain(const detection_input& seen) noexcept {
  if (seen.first.size() < head_bytes + sub_filter_bytes) return {};
  const bloom_head head = bloom_head::read(seen.first);
  if (!redis::check_bloom(head)) return {};
  const std::uint64_t in_detection_input =
      std::min<std::uint64_t>(head.sub_filters, (seen.first.size() - head_bytes) / sub_filter_bytes);
  std::uint64_t size_bytes = head_bytes + head.sub_filters * sub_filter_bytes;
  for (std::uint64_t i = 0; i < in_detection_input; ++i) {
    const bloom_record sub_filter = bloom_record::read(seen.first.subspan(to_size(head_bytes + i * sub_filter_bytes)));
    if (!redis::check_bloom(sub_filter) ||
        std::fabs(bloom_record::bits_per_key_for(sub_filter.error_rate) - sub_filter.bits_per_key) > 1e-9)
      return {};
    size_bytes += sub_filter.size_bytes;
  }
  return {confidence::signature, in_detection_input == head.sub_filters ? size_bytes : no_limit};
}

inline detection look_cuckoo(const detection_input& seen) noexcept {
  if (seen.first.size() < cuckoo_head_bytes) return {};
  const cuckoo_head head = cuckoo_head::read(seen.first);
  if (!redis::check_cuckoo(head)) return {};
  const auto size = head.size_bytes(max_filter_bits / 8);
  if (!size || head.keys > *size) return {};
  // The header alone is detected, too, so that the error states what is missing.
  const bool alone = seen.size_bytes == cuckoo_head_bytes && head.keys != 0;
  if (seen.size_bytes && !alone && *seen.size_bytes != cuckoo_head_bytes + *size) return {};
  return {confidence::fits, cuckoo_head_bytes + *size};
}

inline detection detect(const detection_input& seen) noexcept {
  if (module_of(seen.first) != 0) return {confidence::signature, no_limit};
  const detection chain = look_chain(seen);
  return chain.sure == confidence::no ? look_cuckoo(seen) : chain;
}

// ---- from bytes to records ------------------------------------------------------------------------------------------

inline failure wrong_size(std::uint64_t header, std::uint64_t has, std::uint64_t needs) noexcept {
  if (has == header) return bad_header(name, "a SCANDUMP header alone: give its chunks behind it");
  return fail(has < needs ? errc::truncated : errc::trailing_bytes, {}, {has, needs});
}

inline result<chain_file> read_chain(std::span<const std::byte> bytes, const memory_hooks* memory) noexcept {
  if (bytes.size() < head_bytes) return fail(errc::truncated, {}, {bytes.size(), head_bytes});
  chain_file file{.head = bloom_head::read(bytes)};
  if (auto usable = redis::check_bloom(file.head); !usable) return fail(usable.error());
  const std::uint64_t header = head_bytes + file.head.sub_filters * sub_filter_bytes;
  if (bytes.size() < header) return fail(errc::truncated, {}, {bytes.size(), header});
  if (auto room = file.reserve(file.head.sub_filters, memory); !room) return fail(room.error());
  std::uint64_t at = header;
  for (std::uint64_t i = 0; i < file.head.sub_filters; ++i) {
    const bloom_record sub_filter = bloom_record::read(bytes.subspan(to_size(head_bytes + i * sub_filter_bytes)));
    if (auto usable = redis::check_bloom(sub_filter); !usable) return fail(usable.error());
    if (sub_filter.size_bytes > bytes.size() - at) return wrong_size(header, bytes.size(), at + sub_filter.size_bytes);
    file.sub_filters.push(sub_filter);
    file.bits.push(
        {.bytes = bytes.subspan(to_size(at), to_size(sub_filter.size_bytes)), .size = sub_filter.size_bytes});
    at += sub_filter.size_bytes;
  }
  if (at != bytes.size()) return wrong_size(header, bytes.size(), at);
  return file;
}

inline result<cuckoo_file> read_cuckoo(std::span<const std::byte> bytes, const memory_hooks* memory) noexcept {
  if (bytes.size() < cuckoo_head_bytes) return fail(errc::truncated, {}, {bytes.size(), cuckoo_head_bytes});
  cuckoo_file file{.head = cuckoo_head::read(bytes)};
  if (auto usable = redis::check_cuckoo(file.head); !usable) return fail(usable.error());
  const auto size = file.head.size_bytes(max_filter_bits / 8);
  if (!size) return fail(errc::bad_field, "number of buckets", {file.head.buckets});
  if (bytes.size() != cuckoo_head_bytes + *size) {
    return wrong_size(cuckoo_head_bytes, bytes.size(), cuckoo_head_bytes + *size);
  }
  if (auto room = file.sub_filters.reserve(file.head.sub_filters, "the sub-filters", memory); !room)
    return fail(room.error());
  std::uint64_t at = cuckoo_head_bytes;
  for (std::uint64_t i = 0; i < file.head.sub_filters; ++i) {
    const std::uint64_t here = file.head.bytes_of(i);
    file.sub_filters.push({.bytes = bytes.subspan(to_size(at), to_size(here)), .size = here});
    at += here;
  }
  return file;
}

inline failure bad_dump(std::string_view what) noexcept {
  error_text text;
  text.append("the DUMP value is not usable: ");
  text.append(what);
  return bad_header(name, text.view());
}

// The fields of one sub-filter. Encoding 0 has no number of bits: it follows from the keys, and need not fill the
// bytes.
inline result<void> read_dumped_sub_filter(rdb::reader& from, std::uint64_t encoding, chain_file& into) noexcept {
  bloom_record sub_filter;
  const auto capacity = from.number();
  const auto rate = from.real();
  const auto hashes = from.number();
  const auto bits_per_key = from.real();
  if (!capacity || !rate || !hashes || !bits_per_key) return bad_dump("a field of a sub-filter is missing");
  sub_filter.capacity = *capacity;
  sub_filter.error_rate = *rate;
  sub_filter.hashes = *hashes;
  sub_filter.bits_per_key = *bits_per_key;
  if (encoding == 0) {
    sub_filter.bits = bits_in_oldest(sub_filter);  // none is refused below
  } else {
    const auto bits = from.number();
    const auto log2_bits = from.number();
    if (!bits || !log2_bits) return bad_dump("a field of a sub-filter is missing");
    sub_filter.bits = *bits;
    sub_filter.log2_bits = *log2_bits;
  }
  const auto stored = from.string();
  const auto keys = from.number();
  if (!stored || !keys) return bad_dump("the bits of a sub-filter are missing");
  sub_filter.size_bytes = stored->size;
  sub_filter.keys = *keys;
  if (auto usable = redis::check_bloom(sub_filter, encoding != 0); !usable) return usable;
  into.sub_filters.push(sub_filter);
  into.bits.push(*stored);
  return {};
}

inline result<chain_file> read_dumped_chain(rdb::reader from, std::uint64_t encoding,
                                            const memory_hooks* memory) noexcept {
  chain_file file;
  const auto keys = from.number();
  const auto sub_filters = from.number();
  const auto options = encoding >= 2 ? from.number() : std::optional<std::uint64_t>(0);
  const auto growth = encoding >= 4 ? from.number() : std::optional<std::uint64_t>(2);
  if (!keys || !sub_filters || !options || !growth) return bad_dump("a field is missing");
  file.head = {.keys = *keys, .sub_filters = *sub_filters, .options = *options, .growth = *growth};
  if (auto usable = redis::check_bloom(file.head); !usable) return fail(usable.error());
  constexpr std::uint64_t least_bytes = 24;  // of the fields of a sub-filter
  if (*sub_filters > from.remaining() / least_bytes)
    return fail(errc::bad_field, "number of sub-filters", {*sub_filters});
  if (auto room = file.reserve(*sub_filters, memory); !room) return fail(room.error());
  for (std::uint64_t i = 0; i < *sub_filters; ++i) {
    if (auto done = read_dumped_sub_filter(from, encoding, file); !done) return fail(done.error());
  }
  if (from.length() != rdb::no_more_fields || from.remaining() != 0) return bad_dump("fields behind the last");
  return file;
}

inline result<cuckoo_file> read_dumped_cuckoo(rdb::reader from, std::uint64_t encoding,
                                              const memory_hooks* memory) noexcept {
  cuckoo_file file;
  cuckoo_head& head = file.head;
  std::optional<std::uint64_t> field;
  const auto take = [&](std::uint64_t& to) {
    field = from.number();
    to = field.value_or(0);
    return field.has_value();
  };
  bool there = take(head.sub_filters) && take(head.buckets) && take(head.keys);
  if (encoding >= 4) there = there && take(head.removed) && take(head.slots) && take(head.moves) && take(head.growth);
  if (!there) return bad_dump("a field is missing");
  if (auto usable = redis::check_cuckoo(head); !usable) return fail(usable.error());
  constexpr std::uint64_t least_bytes = 3;
  if (head.sub_filters > from.remaining() / least_bytes)
    return fail(errc::bad_field, "number of sub-filters", {head.sub_filters});
  if (auto room = file.sub_filters.reserve(head.sub_filters, "the sub-filters", memory); !room)
    return fail(room.error());
  for (std::uint64_t i = 0; i < head.sub_filters; ++i) {
    std::uint64_t buckets = head.buckets;
    if (encoding >= 4 && !take(buckets)) return bad_dump("a field of a sub-filter is missing");
    const auto stored = from.string();
    if (!stored) return bad_dump("the bytes of a sub-filter are missing");
    if (buckets != head.buckets_of(i)) return fail(errc::bad_field, "buckets of a sub-filter", {buckets});
    if (head.bytes_of(i) == 0 || stored->size != head.bytes_of(i)) {
      return fail(errc::bad_field, "bytes of a sub-filter", {stored->size});
    }
    file.sub_filters.push(*stored);
  }
  if (from.length() != rdb::no_more_fields || from.remaining() != 0) return bad_dump("fields behind the last");
  return file;
}

// ---- from records to filters ----------------------------------------------------------------------------------------

// Whether kind scalable would have made just these sub-filters.
inline bool is_regular(const chain_file& file) noexcept {
  const bloom_head& head = file.head;
  const std::uint64_t most_sub_filters = head.scales() ? chain<redis_sub_filters>::max_sub_filters : 1;
  if ((head.options & redis::no_rounding) == 0 || (head.options & redis::keys_are_bits) != 0 ||
      head.sub_filters > most_sub_filters)
    return false;
  if (head.growth < 1 || head.growth > scalable::max_growth ||
      file.sub_filters[0].error_rate * (head.scales() ? 2 : 1) >= 1)
    return false;
  std::uint64_t capacity = file.sub_filters[0].capacity;
  double rate = file.sub_filters[0].error_rate;
  for (const bloom_record& sub_filter : file.sub_filters) {
    if (capacity < 1 || capacity > max_keys || sub_filter.capacity != capacity || sub_filter.error_rate != rate)
      return false;
    const auto size = redis_sub_filter::size_for(capacity, rate);
    if (!size || size->bits != sub_filter.bits || size->hashes != sub_filter.hashes || sub_filter.log2_bits != 0)
      return false;
    if (sub_filter.bits_per_key != bloom_record::bits_per_key_for(rate)) return false;
    if (capacity > max_keys / head.growth && &sub_filter != &file.sub_filters.back()) return false;
    capacity *= head.growth;
    rate /= 2;
  }
  return true;
}

inline failure bad_string() noexcept { return bad_dump("a packed string is damaged"); }

inline result<any_filter> own_scalable(const chain_file& file, const memory_hooks* memory) noexcept {
  const auto in_lines = [](std::uint64_t bytes) {
    return (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
  };
  const bloom_head& head = file.head;
  std::uint64_t at = chain<redis_sub_filters>::table_bytes(head.sub_filters);
  std::uint64_t size_bytes = at;
  for (const bloom_record& sub_filter : file.sub_filters) size_bytes += in_lines(sub_filter.size_bytes);
  auto payload = aligned_buffer::make(size_bytes, "the filter", memory);
  if (!payload) return fail(payload.error());
  bool exact = true;
  for (std::size_t i = 0; i < head.sub_filters; ++i) {
    const bloom_record& sub_filter = file.sub_filters[i];
    std::byte* const record = payload->data() + i * chain<redis_sub_filters>::record_bytes;
    store_le(record, sub_filter.keys);
    store_le(record + 8, sub_filter.bits);
    store_le(record + 16, sub_filter.hashes);
    if (!file.bits[i].unpack(payload->bytes().subspan(to_size(at), to_size(sub_filter.size_bytes))))
      return bad_string();
    at += in_lines(sub_filter.size_bytes);
    exact &= sub_filter.keys <= sub_filter.capacity;
  }
  const std::uint64_t first = file.sub_filters[0].capacity;
  const stored_shape shape{.capacity_keys = head.scales() ? max_keys : first,
                           .fpr = file.sub_filters[0].error_rate * (head.scales() ? 2 : 1),
                           .keys = head.keys,
                           .keys_exact = exact,
                           .digest_bits = 128,
                           .field = {static_cast<std::uint64_t>(chain_layout::redis), head.scales() ? 0U : 1U,
                                     head.growth, first, head.sub_filters, size_bytes}};
  auto made = scalable::adopt(shape, std::move(*payload));
  if (!made) return fail(made.error());
  return any_filter::own(std::move(*made), hash_of(head));
}

inline result<any_filter> own_chain(result<chain_file> file, const memory_hooks* memory) noexcept {
  if (!file) return fail(file.error());
  std::uint64_t keys = 0;
  for (const bloom_record& sub_filter : file->sub_filters) {
    if (sub_filter.keys > max_keys - keys) return fail(errc::bad_field, "keys of a sub-filter", {sub_filter.keys});
    keys += sub_filter.keys;
  }
  if (keys != file->head.keys) return fail(errc::bad_field, "keys", {file->head.keys});
  if (is_regular(*file)) return own_scalable(*file, memory);
  auto loader = redis::bloom_loader::begin(file->head, {}, memory);
  if (!loader) return fail(loader.error());
  for (std::size_t i = 0; i < file->head.sub_filters; ++i) {
    auto bits = redis::block::make(file->sub_filters[i].size_bytes, memory);
    if (!bits) return fail(bits.error());
    if (!file->bits[i].unpack(bits->bytes())) return bad_string();
    // Records were checked when they were read, by the rules of their encoding.
    if (auto added = loader->add(file->sub_filters[i], std::move(*bits), false); !added) return fail(added.error());
  }
  auto chain = loader->finish();
  if (!chain) return fail(chain.error());
  return bloom_model::own(std::move(*chain));
}

inline result<any_filter> own_cuckoo(result<cuckoo_file> file, const memory_hooks* memory) noexcept {
  if (!file) return fail(file.error());
  auto loader = redis::cuckoo_loader::begin(file->head, cuckoo_limits, memory);
  if (!loader) return fail(loader.error());
  for (std::size_t i = 0; i < file->sub_filters.size(); ++i) {
    auto slots = redis::block::make(file->sub_filters[i].size, memory);
    if (!slots) return fail(slots.error());
    if (!file->sub_filters[i].unpack(slots->bytes())) return bad_string();
    if (auto added = loader->add(file->head.buckets_of(i), std::move(*slots)); !added) return fail(added.error());
  }
  auto chain = loader->finish();
  if (!chain) return fail(chain.error());
  return cuckoo_model::own(std::move(*chain));
}

inline result<any_filter> open_dump(std::span<const std::byte> bytes, std::uint64_t id,
                                    const memory_hooks* memory) noexcept {
  if (bytes.size() < dump_head_bytes + rdb::footer_bytes) {
    return fail(errc::truncated, {}, {bytes.size(), dump_head_bytes + rdb::footer_bytes});
  }
  const auto footer = bytes.last(rdb::footer_bytes);
  if (load_le<std::uint64_t>(footer.data() + 2) != rdb::crc64(0, bytes.first(bytes.size() - 8))) {
    return bad_dump("its checksum is wrong; copy it again");
  }
  if (load_le<std::uint16_t>(footer.data()) < rdb::oldest_version) return bad_dump("its RDB version is below 8");
  const std::uint64_t encoding = id & version_mask;
  if (encoding > newest_encoding) return bad_dump("it was written by a newer RedisBloom");
  const rdb::reader from(bytes.subspan(dump_head_bytes, bytes.size() - dump_head_bytes - rdb::footer_bytes));
  if ((id & ~version_mask) == bloom_module) return own_chain(read_dumped_chain(from, encoding, memory), memory);
  return own_cuckoo(read_dumped_cuckoo(from, encoding, memory), memory);
}

inline result<any_filter> open(source_bytes source, const format_options& /*options*/) noexcept {
  const auto bytes = source.bytes();
  if (const std::uint64_t id = module_of(bytes)) return open_dump(bytes, id, source.memory());
  auto chain = read_chain(bytes, source.memory());
  // What is no chain may be a cuckoo filter; what is neither is reported as what it is more likely.
  const bool cuckoo_like =
      bytes.size() >= cuckoo_head_bytes && redis::check_cuckoo(cuckoo_head::read(bytes)).has_value();
  if (chain || !cuckoo_like) return own_chain(std::move(chain), source.memory());
  return own_cuckoo(read_cuckoo(bytes, source.memory()), source.memory());
}

inline std::string_view form_of(std::span<const std::byte> first) noexcept {
  return module_of(first) != 0 ? "dump" : "scandump";
}

}  // namespace bloomery::inline BLOOMERY_ABI::formats::redisbloom

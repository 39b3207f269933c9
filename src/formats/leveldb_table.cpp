// leveldb_table.cpp: the filters in a table file of LevelDB (.ldb, .sst). docs/formats/leveldb.md has the bytes.
//
// A table has a filter, of LevelDB's own layout or of windows, for every 2 KiB of its data, and which of them a key belongs to is known to a reader that finds
// the key in the table's index. Here a filter sees digests only, so it queries all of them: a key may be in the table
// when any matches.
#include "src/formats/crc32c.hpp"
#include "src/formats/foreign_bloom.hpp"
#include "src/formats/formats.hpp"
#include "src/formats/leveldb_windows.hpp"
#include "src/formats/sizes.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats {
namespace leveldb_table {

namespace engine = bloomery::leveldb;

constexpr std::string_view name = "leveldb-table";
constexpr std::string_view filter_key = "filter.leveldb.BuiltinBloomFilter2";
constexpr std::size_t trailer_bytes = 5;  // after each block: how it is packed, and a checksum

struct handle {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

// Numbers and stretches of bytes, one after the other; `bad` once something was not there.
class cursor {
 public:
  explicit cursor(std::span<const std::byte> bytes) noexcept : left_(bytes) {}
  [[nodiscard]] bool bad() const noexcept { return bad_; }
  [[nodiscard]] bool empty() const noexcept { return left_.empty(); }
  std::uint64_t varint() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
      const auto byte = std::to_integer<std::uint64_t>(left_.front());
      left_ = left_.subspan(1);
      value |= (byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
    bad_ = true;
    return 0;
  }
  std::span<const std::byte> take(std::uint64_t size) noexcept {
    if (size > left_.size()) {
      bad_ = true;
      return {};
    }
    const auto out = left_.first(to_size(size));
    left_ = left_.subspan(to_size(size));
    return out;
  }
  handle block() noexcept {
    const std::uint64_t offset = varint();
    return {offset, varint()};
  }

 private:
  std::span<const std::byte> left_;
  bool bad_ = false;
};

failure damaged(std::string_view what) noexcept { return bad_header(name, what); }

// The bytes of a block whose checksum is right. LevelDB packs neither of the two that are read here.
result<std::span<const std::byte>> block_at(std::span<const std::byte> file, handle where) noexcept {
  const std::uint64_t end = file.size() - leveldb::footer_bytes;
  if (where.offset > end || where.size_bytes > end - where.offset ||
      end - where.offset - where.size_bytes < trailer_bytes) {
    return damaged("a block lies outside of the file");
  }
  const auto size = to_size(where.size_bytes);
  const auto with_type = file.subspan(to_size(where.offset), size + 1);
  const auto stored = load_le<std::uint32_t>(with_type.data() + size + 1);
  if (std::rotl(stored - 0xa282ead8U, 15) != crc32c(with_type)) {
    return damaged("the checksum of a block is wrong: copy it again");
  }
  if (with_type.back() == std::byte{1}) return damaged("its metaindex or filter block is packed with snappy");
  if (with_type.back() == std::byte{2}) return damaged("its metaindex or filter block is packed with zstd");
  if (with_type.back() != std::byte{0}) return damaged("its metaindex or filter block is packed in an unknown way");
  return with_type.first(size);
}

// Where the filter block is. Keys share their beginnings with the one before, as far as that is not this key's name.
result<handle> filter_handle(std::span<const std::byte> metaindex) noexcept {
  if (metaindex.size() < 4) return damaged("its metaindex is too short");
  const std::uint64_t restarts = load_le<std::uint32_t>(metaindex.data() + metaindex.size() - 4);
  if (restarts > (metaindex.size() - 4) / 4) return damaged("its metaindex has no room for its restarts");
  cursor at(metaindex.first(metaindex.size() - 4 - to_size(restarts) * 4));
  std::array<char, 64> key{};  // its beginning: names that are longer are none of ours
  std::uint64_t key_bytes = 0;
  bool other = false;
  while (!at.empty()) {
    const std::uint64_t shared = at.varint();
    const std::uint64_t own = at.varint();
    const std::uint64_t value_bytes = at.varint();
    const auto suffix = at.take(own);
    cursor value(at.take(value_bytes));
    if (at.bad() || shared > key_bytes) return damaged("its metaindex has an entry that is none");
    for (std::size_t i = 0; i < suffix.size() && shared + i < key.size(); ++i) {
      key[to_size(shared) + i] = std::to_integer<char>(suffix[i]);
    }
    key_bytes = shared + own;
    const std::string_view text(key.data(), std::min<std::size_t>(key.size(), to_size(key_bytes)));
    if (key_bytes == filter_key.size() && text == filter_key) {
      const handle found = value.block();
      if (value.bad()) return damaged("its metaindex has an entry that is none");
      return found;
    }
    other |= text.substr(0, 7) == "filter.";
  }
  return damaged(other ? "its filters are those of another policy than leveldb.BuiltinBloomFilter2"
                       : "this table has no filters: its database has no filter policy");
}

// The filter block, in place.
struct block {
  std::span<const std::byte> bytes{};
  std::uint64_t array_offset = 0;  // of the offsets; after the last filter
  std::uint64_t count = 0;
  unsigned base_lg = 0;
  bool all_match = false;  // what cannot be understood refutes no key

  // `data_bytes` of the table stand before it.
  static block read(std::span<const std::byte> bytes, std::uint64_t data_bytes) noexcept {
    block out{bytes};
    if (bytes.size() < 5) {
      out.all_match = true;
      return out;
    }
    const std::size_t end = bytes.size() - 5;
    out.base_lg = std::to_integer<unsigned>(bytes.back());
    out.array_offset = load_le<std::uint32_t>(bytes.data() + end);
    if (out.array_offset > end) {
      out.all_match = true;
      out.array_offset = 0;
      return out;
    }
    out.count = (end - out.array_offset) / 4;
    // Data after the last window that has a filter.
    out.all_match = out.base_lg < 64 && out.count < data_bytes >> out.base_lg;
    return out;
  }
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t i) const noexcept {
    return load_le<std::uint32_t>(bytes.data() + array_offset + i * 4);
  }
  // The last offset is the place of the offsets. Nothing: offsets that cannot be, which refute no key.
  [[nodiscard]] std::optional<std::span<const std::byte>> filter(std::uint64_t i) const noexcept {
    const std::uint64_t start = offset_of(i);
    const std::uint64_t limit = i + 1 == count ? array_offset : offset_of(i + 1);
    if (start == limit) return std::span<const std::byte>{};
    if (start > limit || limit > array_offset) return {};
    return bytes.subspan(to_size(start), to_size(limit - start));
  }
};

class table_filter final : public foreign_model {
 public:
  static constexpr kind_info table_info{.id = first_foreign_id + 70,
                                        .name = "bloom",
                                        .summary = "Bloom filters in a table of LevelDB, one for each 2 KiB of data",
                                        .lines = "one a hash function and filter"};
  static constexpr kind_info windows_info{
      .id = first_foreign_id + 72,
      .name = "windows",
      .summary = "filters of windows in a table of LevelDB, one for each 2 KiB of data",
      .lines = "1 or 2 for each window of a filter"};
  static constexpr kind_entry entry{.info = &table_info, .capabilities = {.maps = true}};
  static constexpr kind_entry windows_entry{.info = &windows_info, .capabilities = {.maps = true}};

  // Filters of windows have another hash. LevelDB writes tables of one layout; in one that has both, filters of the
  // built-in layout match every key.
  static result<any_filter> open(source_bytes source, const handle& where) noexcept {
    auto self = wrap(std::move(source), where.offset, where.size_bytes, where.offset);
    if (!self) return fail(self.error());
    const bool windows = static_cast<const table_filter*>(self->get())->windows_;
    return any_filter::adopt(std::move(*self), windows ? leveldb::windows_hash : leveldb::hash);
  }
  static result<std::unique_ptr<filter_model>> wrap(source_bytes source, std::uint64_t offset, std::uint64_t size_bytes,
                                                    std::uint64_t data_bytes) noexcept {
    std::unique_ptr<filter_model> self(new (std::nothrow)
                                           table_filter(std::move(source), offset, size_bytes, data_bytes));
    if (self == nullptr) return fail(errc::out_of_memory, "the filter", {sizeof(table_filter)});
    return self;
  }

  [[nodiscard]] const kind_entry& kind() const noexcept override { return windows_ ? windows_entry : entry; }
  [[nodiscard]] bool is_mapped() const noexcept override { return source_.is_mapped(); }
  [[nodiscard]] stored_shape shape() const noexcept override { return {.keys_exact = false}; }
  [[nodiscard]] fact_list facts() const noexcept override;
  [[nodiscard]] result<filter_stats> stats() const noexcept override;
  [[nodiscard]] result<std::span<const std::byte>> bytes() const noexcept override {
    return block_.bytes.first(to_size(block_.array_offset));
  }
  result<std::uint64_t> add(const digest_span& /*digests*/) noexcept override { return read_only(); }
  result<void> may_contain(const digest_span& keys, std::span<std::uint64_t> mask) const noexcept override {
    const auto digests = keys.as<std::uint64_t>();
    for (std::size_t i = 0; i < digests.size(); ++i) {
      if (i % 64 == 0) mask[i / 64] = 0;
      mask[i / 64] |= std::uint64_t{any_matches(digests[i])} << (i % 64);
    }
    return {};
  }
  [[nodiscard]] result<explanation> explain(const digest_span& one) const noexcept override;
  result<std::uint64_t> erase(std::span<const std::uint64_t> /*digests*/) noexcept override { return read_only(); }
  result<void> merge(const filter_model& /*other*/, merge_fpr /*rate*/) noexcept override { return read_only(); }
  result<void> intersect(const filter_model& /*other*/) noexcept override { return read_only(); }
  [[nodiscard]] result<std::unique_ptr<filter_model>> clone() const noexcept override {
    auto copy = source_bytes::make(block_.bytes.size(), source_.memory());
    if (!copy) return fail(copy.error());
    if (!block_.bytes.empty()) std::memcpy(copy->writable().data(), block_.bytes.data(), block_.bytes.size());
    return wrap(std::move(*copy), 0, block_.bytes.size(), data_bytes_);
  }
  result<void> clear() noexcept override { return read_only(); }
  [[nodiscard]] bool equals(const filter_model& other) const noexcept override {
    const auto& with = static_cast<const table_filter&>(other);
    return data_bytes_ == with.data_bytes_ &&
           std::equal(block_.bytes.begin(), block_.bytes.end(), with.block_.bytes.begin(), with.block_.bytes.end());
  }

 private:
  table_filter(source_bytes source, std::uint64_t offset, std::uint64_t size_bytes, std::uint64_t data_bytes) noexcept
      : foreign_model(wording),
        source_(std::move(source)),
        data_bytes_(data_bytes),
        block_(block::read(source_.bytes().subspan(to_size(offset), to_size(size_bytes)), data_bytes)) {
    for (std::uint64_t i = 0; i < block_.count && !windows_; ++i) {
      const auto filter = block_.filter(i);
      windows_ = filter && leveldb::windows_model::is_one(*filter);
    }
  }
  static constexpr words wording{
      .subject = "the filters of a table",
      .not_native = "the filters of a table are LevelDB's, which writes them with their table"};
  static failure read_only() noexcept { return fail(errc::unsupported, wording.not_native); }
  // As KeyMayMatch of the policy.
  [[nodiscard]] bool matches(std::span<const std::byte> filter, std::uint64_t digest) const noexcept {
    if (!windows_) return engine::builtin_may_match(filter, leveldb::key_hash_of(digest));
    return engine::may_match(filter, digest);
  }
  [[nodiscard]] bool any_matches(std::uint64_t digest) const noexcept {
    if (block_.all_match) return true;
    for (std::uint64_t i = 0; i < block_.count; ++i) {
      const auto filter = block_.filter(i);
      if (!filter || matches(*filter, digest)) return true;
    }
    return false;
  }

  [[nodiscard]] double sampled_rate() const noexcept {
    const std::uint64_t samples = leveldb::samples_of(block_.count);
    std::uint64_t found = 0;
    for (std::uint64_t i = 0; i < samples; ++i) {
      found += any_matches(windows_ ? mix64(i) : leveldb::sample(i)) ? 1U : 0U;
    }
    return samples == 0 ? 0.0 : static_cast<double>(found) / static_cast<double>(samples);
  }

  source_bytes source_;
  std::uint64_t data_bytes_;
  block block_;
  bool windows_ = false;
};

result<explanation> table_filter::explain(const digest_span& one) const noexcept {
  const std::uint64_t digest = one.as<std::uint64_t>()[0];
  explanation out(digest);
  if (block_.all_match) out.add_note({}, "some data of the table has no filter, so every key may be there", true);
  for (std::uint64_t i = 0; i < block_.count; ++i) {
    const auto filter = block_.filter(i);
    explained_part part{.name = "filter", .index = i, .first_byte = block_.offset_of(i)};
    if (filter && windows_ && filter->size() >= 2 && engine::is_builtin(*filter)) {
      out.add_note(part, "it is a Bloom filter among filters of windows, and matches every key", true);
    } else if (filter) {
      engine::explain(out, *filter, {.windows = digest, .builtin = leveldb::key_hash_of(digest)}, part);
    } else {
      out.add_note(part, "its offsets are damaged, so every key may be there", true);
    }
  }
  if (out.groups_read() == 0) out.add_note({}, "the table has no filters and no data", false);
  return out;
}

// Whether all filters so far are as large as the block at most: offsets that cannot be make filters overlap, and reading
// all of them could take any time.
class read_budget {
 public:
  explicit read_budget(std::uint64_t bytes) noexcept : left_(bytes) {}
  bool take(std::uint64_t bytes) noexcept {
    left_ = bytes <= left_ ? left_ - bytes : 0;
    return left_ != 0 || bytes == 0;
  }

 private:
  std::uint64_t left_;
};

fact_list table_filter::facts() const noexcept {
  std::uint64_t empty = 0;
  unsigned k = 0;
  unsigned slot_bits = 0;
  bool one_k = true;
  bool one_width = true;
  read_budget budget(block_.array_offset + 1);
  for (std::uint64_t i = 0; i < block_.count; ++i) {
    const auto filter = block_.filter(i);
    if (!filter || filter->size() < 2) {
      empty += filter ? 1U : 0U;
      continue;
    }
    if (!budget.take(filter->size())) break;
    const auto what = engine::describe(*filter);
    if (what.slot_bits != 0) {
      one_width &= slot_bits == 0 || slot_bits == what.slot_bits;
      slot_bits = slot_bits == 0 ? what.slot_bits : std::min(slot_bits, what.slot_bits);
      continue;
    }
    const auto its = std::to_integer<unsigned>(filter->back());
    one_k &= k == 0 || k == its;
    k = its;
  }
  fact_list out{{.name = "filters", .label = "filters", .value = block_.count, .help = "filters of the table"},
                {.name = "empty_filters", .label = "empty filters", .value = empty, .help = "filters without a key"}};
  if (windows_) {
    fact bits = leveldb::slot_bits_fact(slot_bits);
    if (!one_width) bits.label = "bits per slot, at least";
    out.add(bits);
  }
  if (!windows_ || k != 0) {
    fact hashes = hashes_fact(k);
    if (!one_k) hashes.value = "different";
    out.add(hashes);
  }
  out.add({.name = "window_bytes",
           .label = "window bytes",
           .value = block_.base_lg < 64 ? std::uint64_t{1} << block_.base_lg : std::uint64_t{0},
           .unit = fact_unit::bytes,
           .help = "bytes of the table that a filter is for"});
  return out;
}

// A key is absent when each of the filters reports it: the FPRs of all of them are combined.
result<filter_stats> table_filter::stats() const noexcept {
  filter_stats stats;
  std::uint64_t all_bits = 0;
  std::uint64_t all_set = 0;
  double absent = block_.all_match ? 0.0 : 1.0;
  read_budget budget(block_.array_offset + 1);
  for (std::uint64_t i = 0; i < block_.count; ++i) {
    const auto filter = block_.filter(i);
    if (!filter) absent = 0.0;
    if (!filter || filter->size() < 2) continue;
    if (!budget.take(filter->size())) break;
    const auto what = engine::describe(*filter);
    const std::uint64_t set = leveldb::set_bits_of(filter->first(filter->size() - 1));
    const auto bits = static_cast<double>((filter->size() - 1) * 8);
    const bool is_bloom = what.layout == engine::filter_layout::builtin;
    absent *= 1.0 - (is_bloom && windows_ ? 1.0 : what.fpr);
    if (is_bloom && what.hashes != 0) {
      const double fill = static_cast<double>(set) / bits;
      stats.estimated_keys += std::log1p(-std::min(fill, 1.0 - 0.5 / bits)) * -bits / what.hashes;
    }
    stats.estimated_keys += static_cast<double>(what.slots);
    all_bits += (filter->size() - 1) * 8;
    all_set += set;
  }
  stats.fill = all_bits == 0 ? 0.0 : std::min(1.0, static_cast<double>(all_set) / static_cast<double>(all_bits));
  // Of filters of windows the formula is exact.
  stats.fpr_now = windows_ ? 1.0 - absent : std::max(1.0 - absent, sampled_rate());
  stats.memory_bytes = block_.bytes.size();
  stats.target_known = false;
  stats.keys = {static_cast<std::uint64_t>(stats.estimated_keys + 0.5), false};
  return stats;
}

// Its end states that it is a table of LevelDB, or of a RocksDB that writes such.
detection detect(const detection_input& seen) noexcept {
  return {leveldb::ends_a_table(seen.last) ? confidence::signature : confidence::no, no_limit};
}

result<any_filter> open(source_bytes source, const format_options& /*options*/) noexcept {
  const auto file = source.bytes();
  if (file.size() < leveldb::footer_bytes) return fail(errc::truncated, {}, {file.size(), leveldb::footer_bytes});
  if (!leveldb::ends_a_table(file)) return damaged("it does not end as a table does");
  cursor footer(file.last(leveldb::footer_bytes).first(leveldb::footer_bytes - 8));
  const handle meta = footer.block();
  static_cast<void>(footer.block());  // of the index, which is not needed
  if (footer.bad()) return damaged("its footer is damaged");
  const auto metaindex = block_at(file, meta);
  if (!metaindex) return fail(metaindex.error());
  const auto where = filter_handle(*metaindex);
  if (!where) return fail(where.error());
  const auto filters = block_at(file, *where);
  if (!filters) return fail(filters.error());
  return table_filter::open(std::move(source), *where);
}

result<hash_spec> hash(const format_options& /*options*/) noexcept { return leveldb::hash; }

bool holds(const any_filter& /*from*/) noexcept { return false; }

}  // namespace leveldb_table

const format leveldb_table_format = {
    .name = leveldb_table::name,
    .summary = "the filters in a table file of LevelDB (.ldb, .sst)",
    .by_end = true,
    .kind = &leveldb_table::table_filter::entry,
    .detect = leveldb_table::detect,
    .open = leveldb_table::open,
    .hash = leveldb_table::hash,
    .holds = leveldb_table::holds,
};

}  // namespace bloomery::inline BLOOMERY_ABI::formats

// hbase.cpp: the Bloom filter in a store file of HBase. docs/formats/hbase.md has the bytes.
//
// A file has a chunk for about every 100,000 keys, and which of them a key belongs to shows in the first keys of the
// chunks: so this filter looks up keys, one chunk for each, as HBase does. Of a digest alone it queries all chunks where
// digests are of rows, and matches every key else: no answer may lose a key.
#include "src/formats/foreign_model.hpp"
#include "src/formats/formats.hpp"
#include "src/formats/hbase_chunks.hpp"
#include "src/formats/hfile_writer.hpp"
#include "src/formats/sizes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/core/divisor.hpp>
#include <bloomery/hash/hbase.hpp>
#include <charconv>
#include <cmath>
#include <cstring>

namespace bloomery::inline BLOOMERY_ABI::formats {
namespace hbase_filter {

using hbase::bloom_type;
using hbase::cell_name;

constexpr std::string_view name = hfile::name;

hash_spec spec_of(hbase::hash_type hash) noexcept {
  switch (hash) {
    case hbase::hash_type::jenkins:
      return {.id = hbase_jenkins::info.id};
    case hbase::hash_type::murmur:
      return {.id = hbase_murmur::info.id};
    case hbase::hash_type::murmur3:
      return {.id = hbase_murmur3::info.id};
  }
  return {};
}
std::string_view name_of(hbase::hash_type hash) noexcept {
  constexpr std::array<std::string_view, 3> names = {"jenkins", "murmur", "murmur3"};
  return names[static_cast<std::size_t>(hash)];
}

struct numbers_now {
  std::uint64_t bits = 0;
  std::uint64_t set = 0;
  double fpr = 0;  // the mean of the chunks
  double keys = 0;
};

class file_filter final : public foreign_model {
 public:
  static constexpr kind_info file_info{.id = first_foreign_id + 80,
                                       .name = "bloom",
                                       .summary = "Bloom filter of HBase in chunks, one for each range of keys",
                                       .lines = "one a hash function"};
  static constexpr kind_entry entry{
      .info = &file_info, .capabilities = {.is_static = true, .merges = true, .maps = true, .takes_digest128 = true}};

  static result<any_filter> open(source_bytes source) noexcept {
    auto self = wrap(std::move(source));
    if (!self) return fail(self.error());
    const auto hash = spec_of((*self)->section_.hash);
    return any_filter::adopt(std::move(*self), hash);
  }
  static const file_filter* in(const any_filter& filter) noexcept {
    return filter.info().id == file_info.id ? static_cast<const file_filter*>(&filter.model()) : nullptr;
  }
  [[nodiscard]] std::span<const std::byte> file() const noexcept { return source_.bytes(); }

  [[nodiscard]] const kind_entry& kind() const noexcept override { return entry; }
  [[nodiscard]] bool is_mapped() const noexcept override { return source_.is_mapped(); }
  [[nodiscard]] unsigned digest_bits() const noexcept override { return 128; }
  [[nodiscard]] key_form looks_up() const noexcept override {
    return section_.type == bloom_type::rowcol ? key_form::row_and_column : key_form::key;
  }
  [[nodiscard]] stored_shape shape() const noexcept override {
    return {.capacity_keys = section_.max_keys, .keys = section_.keys, .keys_exact = true, .digest_bits = 128};
  }
  [[nodiscard]] fact_list facts() const noexcept override;
  [[nodiscard]] result<filter_stats> stats() const noexcept override;
  [[nodiscard]] result<void> verify() const noexcept override {
    for (std::size_t i = 0; i < section_.chunks.size(); ++i) {
      if (auto read = hfile::read_chunk(file(), section_, i, source_.memory()); !read) return fail(read.error());
    }
    return {};
  }
  [[nodiscard]] std::uint64_t allocated_bytes() const noexcept override {
    return sizeof(*this) + (source_.is_mapped() ? 0 : source_.bytes().size()) +
           section_.chunks.size() * sizeof(hfile::chunk_place) + section_.info.unpacked.size +
           section_.meta.unpacked.size;
  }

  result<std::uint64_t> add(const digest_span& /*digests*/) noexcept override { return not_changed(); }
  result<void> may_contain(const digest_span& keys, std::span<std::uint64_t> mask) const noexcept override;
  result<void> may_contain_keys(std::span<const std::string_view> keys,
                                std::span<std::uint64_t> mask) const noexcept override;
  [[nodiscard]] result<explanation> explain(const digest_span& one) const noexcept override;
  [[nodiscard]] result<explanation> explain_key(std::string_view key) const noexcept override;
  result<void> merge(const filter_model& other, merge_fpr rate) noexcept override;
  result<void> intersect(const filter_model& /*other*/) noexcept override { return not_changed(); }
  [[nodiscard]] result<std::unique_ptr<filter_model>> clone() const noexcept override {
    auto copy = source_bytes::make(file().size(), source_.memory());
    if (!copy) return fail(copy.error());
    std::memcpy(copy->writable().data(), file().data(), file().size());
    auto self = wrap(std::move(*copy));
    if (!self) return fail(self.error());
    return std::unique_ptr<filter_model>(std::move(*self));
  }
  result<void> clear() noexcept override { return not_changed(); }
  [[nodiscard]] bool equals(const filter_model& other) const noexcept override {
    const auto theirs = static_cast<const file_filter&>(other).file();
    return std::equal(file().begin(), file().end(), theirs.begin(), theirs.end());
  }

 private:
  file_filter(source_bytes source, hfile::bloom_section section) noexcept
      : foreign_model(wording), source_(std::move(source)), section_(std::move(section)) {}
  // In memory all of it is checked; a mapped chunk is when it is read.
  static result<std::unique_ptr<file_filter>> wrap(source_bytes source) noexcept {
    auto section = hfile::read_section(source.bytes(), source.memory());
    if (!section) return fail(section.error());
    std::unique_ptr<file_filter> self(new (std::nothrow) file_filter(std::move(source), std::move(*section)));
    if (self == nullptr) return fail(errc::out_of_memory, "the filter", {sizeof(file_filter)});
    if (!self->is_mapped()) {
      if (auto sound = self->verify(); !sound) return fail(sound.error());
    }
    return self;
  }
  static constexpr words wording{
      .subject = "the filter of a store file",
      .not_native = "the chunks of a store file are HBase's, which writes them with their cells: keep the format"};
  static failure not_changed() noexcept { return fail(errc::unsupported, wording.not_native); }

  // One question to one chunk, and the key that it is for.
  struct probe {
    std::uint32_t chunk = 0;
    std::uint16_t key = 0;
    digest128 digest{};
  };
  static constexpr std::size_t group = 128;
  using probe_list = std::array<probe, 2 * group>;

  // The questions that a key asks: none, where the answer is known without a chunk and is in `known`.
  struct questions {
    std::array<std::string_view, 2> key{};  // Bloom keys
    std::array<std::size_t, 2> chunk{};
    unsigned count = 0;
    bool known = false;
  };
  // `made` is memory for a key of row and no column, where there is one.
  [[nodiscard]] questions questions_of(std::string_view key, std::span<char> made) const noexcept;
  [[nodiscard]] std::optional<std::size_t> chunk_of(std::string_view key) const noexcept;
  [[nodiscard]] bool is_after_last(std::string_view key) const noexcept;
  result<void> ask_group(std::span<const std::string_view> keys, std::uint64_t* mask) const noexcept;
  result<void> ask(std::span<probe> probes, std::uint64_t* mask) const noexcept;
  // Calls f(bits of a chunk); it is read if it is not among those that were read last.
  template <class F>
  result<void> with_chunk(std::size_t chunk, F&& f) const noexcept {
    return chunks_.with(file(), section_, chunk, source_.memory(), f);
  }
  [[nodiscard]] result<numbers_now> count_bits() const noexcept;
  result<void> check_mergeable(const file_filter& other) const noexcept;

  source_bytes source_;
  hfile::bloom_section section_;
  mutable hfile::chunk_cache chunks_;
};

// ---- looking up -----------------------------------------------------------------------------------------------------

std::optional<std::size_t> file_filter::chunk_of(std::string_view key) const noexcept {
  const hfile::chunk_place* const places = section_.chunks.data();
  if (section_.type != bloom_type::rowcol) {
    return hfile::last_chunk_not_after(section_.chunks.size(),
                                       [&](std::size_t i) { return key < places[i].first_key; });
  }
  const cell_name cell = *hbase::read_rowcol_key(key);
  return hfile::last_chunk_not_after(
      section_.chunks.size(), [&](std::size_t i) { return cell < *hbase::read_rowcol_key(places[i].first_key); });
}

bool file_filter::is_after_last(std::string_view key) const noexcept {
  if (!section_.last_key) return false;
  if (section_.type != bloom_type::rowcol) return key > *section_.last_key;
  return *hbase::read_rowcol_key(key) > *hbase::read_rowcol_key(*section_.last_key);
}

file_filter::questions file_filter::questions_of(std::string_view key, std::span<char> made) const noexcept {
  questions out;
  if (section_.end.entries == 0) return out;
  const auto add = [&](std::string_view bloom_key) {
    if (const auto chunk = chunk_of(bloom_key)) {
      out.key[out.count] = bloom_key;
      out.chunk[out.count++] = *chunk;
    }
  };
  if (section_.type != bloom_type::rowcol) {
    const std::string_view bloom_key =
        section_.type == bloom_type::rowprefix ? hbase::prefix_of(key, to_size(section_.prefix_bytes)) : key;
    if (!is_after_last(bloom_key)) add(bloom_key);
    return out;
  }
  const auto cell = hbase::read_rowcol_key(key);
  if (!cell) {
    out.known = true;  // without a column HBase does not consult the filter
    return out;
  }
  const std::string_view row_alone = hbase::write_rowcol_key({cell->row, {}}, made);
  // A key after the last may be a row that was deleted whole, but for a row after the last.
  if (is_after_last(key) && is_after_last(row_alone)) return out;
  add(key);
  if (!cell->qualifier.empty()) add(row_alone);
  return out;
}

result<void> file_filter::may_contain(const digest_span& keys, std::span<std::uint64_t> mask) const noexcept {
  const auto digests = keys.as<digest128>();
  for (std::size_t i = 0; i < digests.size(); i += 64) mask[i / 64] = 0;
  if (section_.end.entries == 0) return {};
  if (section_.type != bloom_type::row) {
    // Of a digest of a row it is not known what its prefix or its columns have.
    for (std::size_t i = 0; i < digests.size(); ++i) mask[i / 64] |= std::uint64_t{1} << (i % 64);
    return {};
  }
  for (std::size_t chunk = 0; chunk < section_.chunks.size(); ++chunk) {
    const auto done = with_chunk(chunk, [&](std::span<const std::byte> bits) {
      for (std::size_t i = 0; i < digests.size(); ++i) {
        mask[i / 64] |= std::uint64_t{hbase::may_contain(bits, section_.hashes, digests[i])} << (i % 64);
      }
    });
    if (!done) return done;
  }
  return {};
}

// The questions in the order of their chunks, so that a group reads each chunk once.
result<void> file_filter::ask(std::span<probe> probes, std::uint64_t* mask) const noexcept {
  std::sort(probes.begin(), probes.end(), [](const probe& a, const probe& b) { return a.chunk < b.chunk; });
  for (std::size_t first = 0; first < probes.size();) {
    std::size_t end = first;
    while (end < probes.size() && probes[end].chunk == probes[first].chunk) ++end;
    const auto done = with_chunk(probes[first].chunk, [&](std::span<const std::byte> bits) {
      for (const probe& each : probes.subspan(first, end - first)) {
        const bool found = hbase::may_contain(bits, section_.hashes, each.digest);
        mask[each.key / 64U] |= std::uint64_t{found} << (each.key % 64U);
      }
    });
    if (!done) return done;
    first = end;
  }
  return {};
}

result<void> file_filter::ask_group(std::span<const std::string_view> keys, std::uint64_t* mask) const noexcept {
  probe_list probes;
  std::size_t count = 0;
  for (std::size_t i = 0; i < keys.size(); i += 64) mask[i / 64] = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    // Of long rows the second key takes memory of its own.
    std::array<char, 256> near;
    std::span<char> made = near;
    aligned_buffer far;
    if (section_.type == bloom_type::rowcol && keys[i].size() > near.size()) {
      auto more = aligned_buffer::make(keys[i].size(), "a key", source_.memory());
      if (!more) return fail(more.error());
      far = std::move(*more);
      made = {reinterpret_cast<char*>(far.data()), far.size_bytes()};
    }
    const questions asked = questions_of(keys[i], made);
    if (asked.known) mask[i / 64] |= std::uint64_t{1} << (i % 64);
    for (unsigned n = 0; n < asked.count; ++n) {
      probes[count++] = {static_cast<std::uint32_t>(asked.chunk[n]), static_cast<std::uint16_t>(i),
                         hfile::digest_of(section_.hash, asked.key[n])};
    }
  }
  return ask(std::span(probes).first(count), mask);
}

result<void> file_filter::may_contain_keys(std::span<const std::string_view> keys,
                                           std::span<std::uint64_t> mask) const noexcept {
  for (std::size_t first = 0; first < keys.size(); first += group) {
    const std::size_t size = std::min(group, keys.size() - first);
    if (auto done = ask_group(keys.subspan(first, size), mask.data() + first / 64); !done) return done;
  }
  return {};
}

// ---- explaining -----------------------------------------------------------------------------------------------------

namespace {
// `first_byte` of the chunk's bits in the file.
void explain_chunk(explanation& out, std::span<const std::byte> bits, unsigned hashes, const digest128& digest,
                   const explained_part& part) noexcept {
  const auto value = [bits](std::uint64_t bit) { return hbase::test_bit(bits, bit); };
  hbase::probes each(digest, bits.size() * 8);
  out.begin({.part = part});
  for (unsigned i = 0; i < hashes; ++i) out.add(probe_of_bit(each.next(), value, part.first_byte));
  out.draw(0, bits.size() * 8, value);
  out.end();
}
}  // namespace

result<explanation> file_filter::explain(const digest_span& one) const noexcept {
  const digest128 digest = one.as<digest128>()[0];
  explanation out(digest);
  if (section_.type != bloom_type::row && section_.end.entries != 0) {
    out.add_note({}, "a digest of a row tells nothing of its prefix or its columns", true);
    return out;
  }
  for (std::size_t i = 0; i < section_.chunks.size() && section_.end.entries != 0; ++i) {
    const auto done = with_chunk(i, [&](std::span<const std::byte> bits) {
      explain_chunk(out, bits, section_.hashes, digest, {.name = "chunk", .index = i});
    });
    if (!done) return fail(done.error());
  }
  if (out.groups_read() == 0) out.add_note({}, "the file holds no cells", false);
  return out;
}

result<explanation> file_filter::explain_key(std::string_view key) const noexcept {
  auto made = aligned_buffer::make(key.size() + hbase::rowcol_key_bytes({}), "a key", source_.memory());
  if (!made) return fail(made.error());
  const questions asked = questions_of(key, {reinterpret_cast<char*>(made->data()), made->size_bytes()});
  explanation out(hfile::digest_of(section_.hash, asked.count != 0 ? asked.key[0] : key));
  if (asked.known) {
    out.add_note({}, "a row without a column: HBase does not consult a filter of ROWCOL", true);
    return out;
  }
  for (unsigned n = 0; n < asked.count; ++n) {
    const digest128 digest = hfile::digest_of(section_.hash, asked.key[n]);
    const auto done = with_chunk(asked.chunk[n], [&](std::span<const std::byte> bits) {
      explain_chunk(out, bits, section_.hashes, digest, {.name = "chunk", .index = asked.chunk[n]});
    });
    if (!done) return fail(done.error());
  }
  if (asked.count == 0) out.add_note({}, "the key is outside of the range of the file's keys", false);
  return out;
}

// ---- numbers --------------------------------------------------------------------------------------------------------

fact_list file_filter::facts() const noexcept {
  fact_list out{
      {.name = "bloom_type", .label = "Bloom type", .value = hbase::name_of(section_.type), .help = "what is hashed"},
      {.name = "chunks",
       .label = "chunks",
       .value = std::uint64_t{section_.chunks.size()},
       .help = "one for each range of keys"},
      {.name = "hash_type", .label = "hash type", .value = name_of(section_.hash), .help = "HBase's name of the hash"},
      hashes_fact(section_.hashes),
      {.name = "packing",
       .label = "blocks",
       .value =
           section_.end.packing == hfile::compression::gz ? std::string_view("gzip") : std::string_view("not packed"),
       .help = "how the blocks of the file are packed"}};
  if (section_.type == bloom_type::rowprefix) {
    out.add({.name = "prefix_bytes",
             .label = "prefix bytes",
             .value = section_.prefix_bytes,
             .help = "bytes of a row that are hashed"});
  }
  if (section_.deleted_families != 0) {
    out.add({.name = "deleted_families",
             .label = "deleted families",
             .value = section_.deleted_families,
             .help = "markers in the file's second filter"});
  }
  return out;
}

result<numbers_now> file_filter::count_bits() const noexcept {
  numbers_now out;
  for (std::size_t i = 0; i < section_.chunks.size(); ++i) {
    const auto done = with_chunk(i, [&](std::span<const std::byte> bits) {
      std::uint64_t set = 0;
      for (const std::byte byte : bits)
        set += static_cast<std::uint64_t>(std::popcount(std::to_integer<unsigned>(byte)));
      const auto m = static_cast<double>(bits.size() * 8);
      const double fill = static_cast<double>(set) / m;
      out.bits += bits.size() * 8;
      out.set += set;
      out.keys += std::log1p(-std::min(fill, 1.0 - 0.5 / m)) * -m / section_.hashes;
      const double one = std::pow(fill, section_.hashes);
      // Two questions, where row and column are looked up.
      out.fpr += section_.type == bloom_type::rowcol ? 1.0 - (1.0 - one) * (1.0 - one) : one;
    });
    if (!done) return fail(done.error());
  }
  out.fpr /= static_cast<double>(section_.chunks.size());
  return out;
}

result<filter_stats> file_filter::stats() const noexcept {
  const auto now = count_bits();
  if (!now) return fail(now.error());
  filter_stats out;
  out.capacity_keys = section_.max_keys;
  out.target_known = false;
  out.keys = {section_.keys, true};
  out.estimated_keys = now->keys;
  out.fill = static_cast<double>(now->set) / static_cast<double>(now->bits);
  out.fpr_now = now->fpr;
  out.memory_bytes = now->bits / 8;
  return out;
}

// ---- merging --------------------------------------------------------------------------------------------------------

// Chunks of equal ranges and sizes. The first may begin with another key: what is before it is in no chunk.
result<void> file_filter::check_mergeable(const file_filter& other) const noexcept {
  const auto& a = section_;
  const auto& b = other.section_;
  if (a.type != b.type || a.prefix_bytes != b.prefix_bytes) return fail(errc::mismatch, "their Bloom types differ");
  if (a.hash != b.hash) return fail(errc::mismatch, "their hash types differ");
  if (a.hashes != b.hashes) return fail(errc::mismatch, "they have different numbers of hash functions");
  if (a.chunks.size() != b.chunks.size()) return fail(errc::mismatch, "they have different numbers of chunks");
  for (std::size_t i = 1; i < a.chunks.size(); ++i) {
    if (a.chunks.data()[i].first_key != b.chunks.data()[i].first_key) {
      return fail(errc::mismatch, "their chunks begin with different keys");
    }
  }
  return {};
}

result<void> file_filter::merge(const filter_model& other_model, merge_fpr /*rate*/) noexcept {
  const auto& other = static_cast<const file_filter&>(other_model);
  if (is_mapped()) return fail(errc::read_only, "a mapped filter");
  if (auto can = check_mergeable(other); !can) return can;
  hfile::file_maker to(hfile::compression::none, source_.memory());
  for (std::size_t i = 0; i < section_.chunks.size(); ++i) {
    const auto ours = hfile::read_chunk(file(), section_, i, source_.memory());
    if (!ours) return fail(ours.error());
    const auto theirs = hfile::read_chunk(other.file(), other.section_, i, source_.memory());
    if (!theirs) return fail(theirs.error());
    auto bits = aligned_buffer::make(ours->payload.size(), "a chunk", source_.memory());
    if (!bits) return fail(bits.error());
    std::memcpy(bits->data(), ours->payload.data(), ours->payload.size());
    if (auto done = hbase::unite(bits->bytes(), theirs->payload); !done) return done;
    const std::string_view one = section_.chunks.data()[i].first_key;
    const std::string_view two = other.section_.chunks.data()[i].first_key;
    if (auto done = to.add_chunk(bits->bytes(), hbase::before(section_.type, two, one) ? two : one); !done) return done;
  }
  const auto last = [](const hfile::bloom_section& of) { return of.last_key.value_or(std::string_view{}); };
  const bool unlimited = !section_.last_key || !other.section_.last_key;
  const std::string_view end =
      hbase::before(section_.type, last(section_), last(other.section_)) ? last(other.section_) : last(section_);
  auto file = to.finish({.type = section_.type,
                         .prefix_bytes = section_.prefix_bytes,
                         .hash = section_.hash,
                         .hashes = section_.hashes,
                         .keys = section_.keys + other.section_.keys,
                         .max_keys = std::max(section_.max_keys, other.section_.max_keys),
                         .last_key = unlimited ? std::nullopt : std::optional(end)});
  if (!file) return fail(file.error());
  source_bytes merged(std::move(*file));
  auto section = hfile::read_section(merged.bytes(), source_.memory());
  if (!section) return fail(section.error());
  chunks_.clear();
  source_ = std::move(merged);
  section_ = std::move(*section);
  return {};
}

// ---- the format -----------------------------------------------------------------------------------------------------

detection detect(const detection_input& seen) noexcept {
  return {hfile::begins_as_hfile(seen.first) ? confidence::signature : confidence::no, no_limit};
}

result<any_filter> open(source_bytes source, const format_options& /*options*/) noexcept {
  return file_filter::open(std::move(source));
}

constexpr std::array type_choices = {option_choice{"row", "rows: for reads of whole rows"},
                                     option_choice{"rowcol", "rows with a column: for reads of single columns"},
                                     option_choice{"rowprefix", "the first bytes of rows: for scans by prefix, too"}};
constexpr std::array hash_choices = {option_choice{"murmur", "MurmurHash2, HBase's default"},
                                     option_choice{"jenkins", "lookup3"}, option_choice{"murmur3", "MurmurHash3"}};
constexpr std::array options_of_format = {
    option_info{
        .name = "bloom-type", .title = "Bloom types", .help = "what of a cell is hashed", .choices = type_choices},
    option_info{.name = "prefix-length",
                .title = "lengths of prefixes",
                .type = option_type::integer,
                .help = "bytes of a row that are hashed, of Bloom type rowprefix",
                .least = 1,
                .most = hbase::max_row_bytes},
    option_info{.name = "hash-type", .title = "hash types", .help = "hash of the Bloom keys", .choices = hash_choices},
    option_info{.name = "chunk-bytes",
                .title = "sizes of chunks",
                .type = option_type::integer,
                .help = "size of a chunk before it is folded",
                .least = 128,
                .most = std::uint64_t{1} << 27U,
                .default_value = hbase::default_chunk_bytes},
};

result<bloom_type> type_of(const format_options& options) noexcept {
  if (options.bloom_type.empty() || options.bloom_type == "row") return bloom_type::row;
  if (options.bloom_type == "rowcol") return bloom_type::rowcol;
  if (options.bloom_type == "rowprefix") return bloom_type::rowprefix;
  return fail(errc::unsupported, "Bloom types are row, rowcol and rowprefix");
}

result<hbase::hash_type> hash_of(const format_options& options) noexcept {
  if (options.hash_type.empty() || options.hash_type == "murmur") return hbase::hash_type::murmur;
  if (options.hash_type == "jenkins") return hbase::hash_type::jenkins;
  if (options.hash_type == "murmur3") return hbase::hash_type::murmur3;
  return fail(errc::unsupported, "hash types are murmur, jenkins and murmur3");
}

result<std::uint64_t> number_in(std::string_view word, const option_info& option) noexcept {
  if (word.empty()) return option.default_value;
  std::uint64_t value = 0;
  const auto [end, bad] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (bad != std::errc{} || end != word.data() + word.size() || !option.takes(value)) {
    return fail(errc::bad_field, option.name, {value});
  }
  return value;
}

result<hash_spec> hash(const format_options& options) noexcept {
  const auto type = hash_of(options);
  if (!type) return fail(type.error());
  return spec_of(*type);
}

result<hfile::build_options> build_options_of(const filter_params& params, const format_options& options) noexcept {
  hfile::build_options out;
  const auto type = type_of(options);
  if (!type) return fail(type.error());
  const auto hash_type = hash_of(options);
  if (!hash_type) return fail(hash_type.error());
  const auto prefix = number_in(options.prefix_length, options_of_format[1]);
  if (!prefix) return fail(prefix.error());
  const auto chunk_bytes = number_in(options.chunk_bytes, options_of_format[3]);
  if (!chunk_bytes) return fail(chunk_bytes.error());
  if ((*type == bloom_type::rowprefix) != (*prefix != 0)) {
    return fail(errc::unsupported, "Bloom type rowprefix and no other has a length of prefixes");
  }
  out.type = *type;
  out.prefix_bytes = *prefix;
  out.hash = *hash_type;
  out.chunk_bytes = *chunk_bytes;
  out.error_rate = static_cast<float>(params.fpr.value_or(default_fpr));
  return out;
}

result<size_plan> plan(const filter_params& params, const format_options& options) noexcept {
  const auto wanted = build_options_of(params, options);
  if (!wanted) return fail(wanted.error());
  const auto sized = keys_and_rate_of(params, default_fpr);
  if (!sized) return fail(sized.error());
  if (params.bits_per_key || params.memory_bytes || params.bits || params.hashes) {
    return fail(errc::unsupported, "HBase sizes its filters by an error rate");
  }
  const auto shape = hfile::shape_of(*wanted);
  if (!shape) return fail(shape.error());
  const std::uint64_t full = sized->keys / shape->max_keys;
  const std::uint64_t rest = sized->keys % shape->max_keys;
  std::uint64_t last_bytes = rest == 0 ? 0 : shape->size_bytes;
  for (std::uint64_t room = shape->max_keys; last_bytes != 0 && last_bytes % 2 == 0 && room > 2 * rest; room /= 2) {
    last_bytes /= 2;
  }
  if (full > max_filter_bits / 8 / shape->size_bytes)
    return sizing::too_large(name, static_cast<double>(full) * 8.0 * static_cast<double>(shape->size_bytes));
  const std::uint64_t size_bytes = full * shape->size_bytes + last_bytes;
  const auto bits = static_cast<double>(size_bytes * 8);
  return size_plan{.keys = sized->keys,
                   .fpr = sized->fpr,
                   .bits = size_bytes * 8,
                   .hashes = shape->hashes,
                   .bits_per_key = bits / static_cast<double>(sized->keys),
                   .memory_bytes = size_bytes,
                   .digest_bits = 128};
}

result<any_filter> build(std::span<const std::string_view> keys, const filter_params& params,
                         const format_options& options) noexcept {
  const auto wanted = build_options_of(params, options);
  if (!wanted) return fail(wanted.error());
  auto file = hfile::build(keys, *wanted, params.memory);
  if (!file) return fail(file.error());
  return file_filter::open(source_bytes(std::move(*file)));
}

bool is_before(std::string_view a, std::string_view b, const format_options& options) noexcept {
  return hbase::before(type_of(options).value_or(bloom_type::row), a, b);
}

key_form looks_up(const format_options& options) noexcept {
  return type_of(options).value_or(bloom_type::row) == bloom_type::rowcol ? key_form::row_and_column : key_form::key;
}

bool holds(const any_filter& from) noexcept { return file_filter::in(from) != nullptr; }

result<void> save(const any_filter& from, const byte_sink& sink, const format_options& /*options*/) noexcept {
  return sink(file_filter::in(from)->file());
}

}  // namespace hbase_filter

const format hbase_format = {
    .name = hbase_filter::name,
    .summary = "the Bloom filter in a store file (HFile) of HBase",
    .writes = true,
    .merges = true,
    .options = hbase_filter::options_of_format,
    .kind = &hbase_filter::file_filter::entry,
    .detect = hbase_filter::detect,
    .open = hbase_filter::open,
    .hash = hbase_filter::hash,
    .plan = hbase_filter::plan,
    .build = hbase_filter::build,
    .before = hbase_filter::is_before,
    .looks_up = hbase_filter::looks_up,
    .holds = hbase_filter::holds,
    .save = hbase_filter::save,
};

}  // namespace bloomery::inline BLOOMERY_ABI::formats

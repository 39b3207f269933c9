// hbase_filter.cpp: looking up, explaining, counting and merging the chunks of a store file.
#include "src/formats/hbase_filter.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "src/formats/hfile_writer.hpp"
#include "src/formats/sizes.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats::hbase_filter {

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

}  // namespace bloomery::inline BLOOMERY_ABI::formats::hbase_filter

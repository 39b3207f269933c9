// src/formats/hbase_filter.hpp: the Bloom filter in a store file of HBase as a filter of the library.
//
// A file has a chunk for about every 100,000 keys, and which of them a key belongs to shows in the first keys of the
// chunks: so this filter looks up keys, one chunk for each, as HBase does. Of a digest alone it queries all chunks where
// digests are of rows, and matches every key else: no answer may lose a key.
#pragma once

#include <array>
#include <bloomery/hash/hbase.hpp>
#include <optional>

#include "src/formats/foreign_model.hpp"
#include "src/formats/hbase_chunks.hpp"
#include "src/formats/hfile.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats::hbase_filter {

using hbase::bloom_type;
using hbase::cell_name;

inline constexpr std::string_view name = hfile::name;

inline hash_spec spec_of(hbase::hash_type hash) noexcept {
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
inline std::string_view name_of(hbase::hash_type hash) noexcept {
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

}  // namespace bloomery::inline BLOOMERY_ABI::formats::hbase_filter

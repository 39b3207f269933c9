// hbase.cpp: the format of store files of HBase, and how they are planned and built. docs/formats/hbase.md has the bytes;
// hbase_filter.hpp is the filter in one.
#include "src/formats/hbase_filter.hpp"

#include <algorithm>
#include <array>
#include <bloomery/core/divisor.hpp>
#include <charconv>
#include <cmath>

#include "src/formats/formats.hpp"
#include "src/formats/hfile_writer.hpp"
#include "src/formats/sizes.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats {
namespace hbase_filter {

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

// cli/flags/flags.hpp: THE table of options. Parsing, checks, --help, manual pages and completions come from it.
//
// An option is one row in flags.cpp: its id, names, the kind of value it takes, its help text, the verbs that take it
// and the group under which help lists it. Values are checked while the command line is read, so a verb gets a
// number:
//
//     options.has(flag::json)
//     options.text(flag::output)                 // "" if it is not set
//     options.count(flag::capacity)              // std::optional<std::uint64_t>
//     options.operands()                         // what is not an option
#pragma once

#include <array>
#include <bloomery/core/config.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/problem.hpp"

namespace bloomery::inline BLOOMERY_ABI {
struct kind_entry;
}

namespace bloomery::cli {

struct verb;

// Which verbs take an option. A new verb gets the next bit, and its bit goes to the rows of the options it takes.
using verb_set = std::uint32_t;
inline constexpr verb_set on_build = 1U << 0U;
inline constexpr verb_set on_query = 1U << 1U;
inline constexpr verb_set on_info = 1U << 2U;
inline constexpr verb_set on_plan = 1U << 3U;
inline constexpr verb_set on_verify = 1U << 4U;
inline constexpr verb_set on_kinds = 1U << 5U;
inline constexpr verb_set on_hashes = 1U << 6U;
inline constexpr verb_set on_demo = 1U << 7U;
inline constexpr verb_set on_add = 1U << 8U;
inline constexpr verb_set on_remove = 1U << 9U;
inline constexpr verb_set on_count = 1U << 10U;
inline constexpr verb_set on_dedup = 1U << 11U;
inline constexpr verb_set on_merge = 1U << 12U;
inline constexpr verb_set on_bench = 1U << 13U;
inline constexpr verb_set on_help = 1U << 14U;
inline constexpr verb_set on_formats = 1U << 15U;
inline constexpr verb_set on_convert = 1U << 16U;
inline constexpr verb_set on_explain = 1U << 17U;
inline constexpr verb_set on_doctor = 1U << 18U;
inline constexpr verb_set on_all = ~verb_set{0};
// The verbs that open a filter which is there.
inline constexpr verb_set on_openers =
    on_query | on_info | on_verify | on_add | on_remove | on_count | on_merge | on_convert | on_explain | on_doctor;
inline constexpr verb_set on_key_readers =
    on_build | on_query | on_verify | on_doctor | on_add | on_remove | on_count | on_dedup;

enum class flag : std::uint8_t {
  output,
  force,
  capacity,
  fpr,
  kind,
  layout,
  mode,
  growth,
  bits_per_key,
  memory,
  hashes,
  headroom,
  window,
  generations,
  like,
  exclude,
  exclude_keys,  //
  hash,
  seed,
  key_file,
  compress,
  format,
  to,
  from,
  encoding,
  shards,
  strategy,
  k_rule,
  bucket_size,
  max_iterations,
  spark_version,
  bloom_type,
  prefix_length,
  hash_type,
  chunk_bytes,
  row,
  column,  //
  invert,
  count,
  mark,
  trust,
  plot,
  metrics,
  keys,
  probes,
  absent,
  live,
  quick,
  approx,
  state,
  repeated,
  counts,
  temp_dir,
  intersect,
  any_fpr,
  lsm,
  lsm_keys,
  levels,
  size_ratio,
  man,
  completions,
  write_pages,  //
  null,
  fields,
  delimiter,
  csv,
  header,
  hex,
  u64,
  funnel,
  crlf,
  no_decompress,  //
  json,
  quiet,
  strict,
  progress,
  no_progress,
  color,
  jobs,
  help,  //
  count_
};

enum class value_type : std::uint8_t {
  none,         // a switch
  text,         // anything
  file,         // a path; completions offer files
  count,        // a whole number, 0 or more
  positive,     // a whole number, 1 or more
  bytes,        // a size
  fpr,          // above 0 and below 1
  share,        // 0 or more
  real,         // above 0
  seed,         // any 64-bit number
  character,    // one byte, or \t \0 \n \\ .
  choice,       // one of the words in `choices`
  kind_name,    // one of kinds.hpp
  hash_name,    // one of hash/list.hpp
  kind_choice,  // of the option of that name; words are those of all kinds, and the kind checks them
  format_name,  // one of src/formats/formats.hpp
};

enum class flag_group : std::uint8_t { size, hashing, output, selection, keys, general, count_ };

struct flag_row {
  flag id;
  std::string_view name;         // without the dashes
  std::string_view short_names;  // each character is one
  value_type type;
  std::string_view value;    // what help calls the value
  std::string_view choices;  // separated by blanks
  std::string_view help;
  verb_set verbs;
  flag_group group;
  std::string_view old_name{};  // still parsed; help and completions do not list it
};

std::span<const flag_row> flag_table();
// Options of kinds that no row names have rows of their own, with ids from flag::count_ on.
inline constexpr std::size_t most_own_options = 16;
constexpr bool is_own_option(flag id) { return id >= flag::count_; }
std::vector<flag_row> own_option_rows(std::span<const kind_entry> kinds, std::span<const flag_row> known);
std::string_view group_title(flag_group group);
// The words that the value of an option may be; empty when it is no choice of words.
std::vector<std::string_view> words_of(const flag_row& row);
// The help of an option; with the words of each kind where they differ.
std::string help_of(const flag_row& row);
// The choices of an option of a kind, without what may follow their names; none where it has no such option.
std::vector<std::string_view> choices_of(const kind_entry& kind, std::string_view option);

class options {
 public:
  // argv[0] is the verb's name and is skipped. A problem is always one of usage.
  static outcome<options> parse(const verb& command, std::span<char* const> argv);

  [[nodiscard]] const verb& command() const { return *verb_; }
  [[nodiscard]] bool has(flag id) const { return value_of(id).is_set; }
  [[nodiscard]] std::string_view text(flag id, std::string_view otherwise = {}) const {
    return value_of(id).is_set ? std::string_view(value_of(id).text) : otherwise;
  }
  // Types count, positive, bytes, seed and character.
  [[nodiscard]] std::optional<std::uint64_t> count(flag id) const {
    return value_of(id).is_set ? std::optional(value_of(id).whole) : std::nullopt;
  }
  // Types fpr, share and real.
  [[nodiscard]] std::optional<double> real(flag id) const {
    return value_of(id).is_set ? std::optional(value_of(id).real) : std::nullopt;
  }
  [[nodiscard]] const std::vector<std::string>& operands() const { return operands_; }

 private:
  struct value {
    bool is_set = false;
    std::string text;
    std::uint64_t whole = 0;
    double real = 0;
  };
  [[nodiscard]] const value& value_of(flag id) const { return values_[static_cast<std::size_t>(id)]; }
  outcome<void> set(const flag_row& row, const char* text);
  static outcome<void> convert(const flag_row& row, value& to);

  const verb* verb_ = nullptr;
  std::array<value, static_cast<std::size_t>(flag::count_) + most_own_options> values_;
  std::vector<std::string> operands_;
};

}  // namespace bloomery::cli

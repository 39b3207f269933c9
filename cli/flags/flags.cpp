#include "cli/flags/flags.hpp"

#include <fmt/core.h>
#include <getopt.h>

#include <algorithm>
#include <bloomery/formats.hpp>
#include <bloomery/hash/hasher.hpp>
#include <bloomery/hash/list.hpp>

#include "cli/filters/kind_table.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/terminal/text.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

using flag_group::general;
using flag_group::hashing;
using flag_group::selection;
using flag_group::size;
using type = value_type;

// clang-format off
constexpr std::array rows = {
    // size and kind
    flag_row{flag::capacity, "capacity", "n", type::positive, "N", "",
             "capacity in keys; without it, build counts the keys first", on_build | on_plan | on_demo | on_dedup | on_bench, size},
    flag_row{flag::fpr, "fpr", "p", type::fpr, "P", "",
             "target false-positive rate (FPR) at that capacity: 0.01, 1% or 1/100", on_build | on_plan | on_dedup | on_bench, size},
    flag_row{flag::kind, "kind", "", type::kind_name, "KIND", "",
             "kind of filter; see 'bloomery kinds'", on_build | on_plan | on_bench, size},
    flag_row{flag::layout, "layout", "", type::kind_choice, "LAYOUT", "",
             "layout, for kinds that have several; the default first, where the size and the FPR do not decide", on_build | on_plan | on_bench, size},
    flag_row{flag::mode, "mode", "", type::kind_choice, "MODE", "",
             "mode, for kinds that have several; the default first: a multiset counts and erases, a set stores equal keys once, fixed refuses more keys than -n", on_build, size},
    flag_row{flag::growth, "growth", "", type::positive, "FACTOR", "",
             "", on_build, size},
    flag_row{flag::bits_per_key, "bits-per-key", "", type::real, "B", "",
             "size by bits per key instead of by false-positive rate", on_build | on_plan, size},
    flag_row{flag::memory, "mem", "", type::bytes, "SIZE", "",
             "memory: build and dedup stay below it, plan solves with it (64KiB, 512M, 1Gi)", on_build | on_plan | on_dedup, size},
    flag_row{flag::hashes, "hashes", "", type::positive, "K", "",
             "number of hash functions: bits that a key sets (default: the best for the size)", on_build | on_plan, size},
    flag_row{flag::headroom, "headroom", "", type::share, "SHARE", "",
             "add spare capacity, such as 20%", on_build, size},
    flag_row{flag::window, "window", "", type::text, "N|TIME", "",
             "number of later keys after which a key expires (same as -n), or a time after which it does, such as 90s, 15m, 12h, 30d or 2w", on_build, size},
    flag_row{flag::generations, "generations", "", type::positive, "G", "",
             "", on_build, size},
    flag_row{flag::like, "like", "", type::file, "FILE", "",
             "as the filter in FILE: its kind, size, options, hash and seed, so that the two can be merged", on_build, size},
    flag_row{flag::exclude, "exclude", "", type::file, "FILE", "",
             "keys that the filter must not match, for kinds that exclude; - is standard input", on_build, size},
    flag_row{flag::exclude_keys, "exclude-keys", "", type::count, "N", "",
             "also plan kinds that exclude, for this many keys that they must not match", on_plan, size},
    // hashing
    flag_row{flag::hash, "hash", "", type::hash_name, "HASH", "",
             "hash function; see 'bloomery hashes'", on_build | on_dedup | on_bench, hashing},
    flag_row{flag::seed, "seed", "", type::seed, "S", "",
             "seed of the hash, decimal or 0x...", on_build | on_dedup, hashing},
    flag_row{flag::key_file, "key-file", "", type::file, "FILE", "",
             "secret key of a keyed hash: its raw bytes, or the same in hexadecimal", on_key_readers | on_explain, hashing},
    // output
    flag_row{flag::output, "output", "o", type::file, "FILE", "",
             "file to write; - is standard output", on_build | on_merge | on_convert, flag_group::output},
    flag_row{flag::force, "force", "", type::none, "", "",
             "replace the output file if it exists", on_build | on_merge | on_convert, flag_group::output},
    flag_row{flag::compress, "compress", "", type::choice, "CODEC", "none rans zstd gzip",
             "compress the file, which is then loaded into memory, not mapped; rans compresses bits best; build sizes the filter for it", on_build | on_merge | on_convert | on_plan, flag_group::output},
    flag_row{flag::format, "format", "", type::format_name, "FORMAT", "",
             "write the file of this product; see 'bloomery formats' (default: native; merge keeps that of its first input)", on_build | on_merge, flag_group::output},
    flag_row{flag::to, "to", "", type::format_name, "FORMAT", "",
             "format to write; see 'bloomery formats'", on_convert, flag_group::output},
    flag_row{flag::encoding, "encoding", "", type::choice, "ENCODING", "",
             "", on_build | on_merge | on_convert, flag_group::output, "form"},
    flag_row{flag::bucket_size, "bucket-size", "", type::positive, "B", "",
             "", on_build, size},
    flag_row{flag::max_iterations, "max-iterations", "", type::positive, "I", "",
             "", on_build, size},
    flag_row{flag::shards, "shards", "", type::positive, "N", "",
             "write the filter as N shards (1 to 4096), FILE.00-of-04 and so on, each with a share of the keys; other verbs take FILE", on_build, flag_group::output},
    flag_row{flag::strategy, "strategy", "", type::choice, "BITS", "",
             "", on_build, flag_group::output},
    flag_row{flag::k_rule, "k-rule", "", type::choice, "RULE", "",
             "", on_build, flag_group::output},
    flag_row{flag::spark_version, "spark-version", "", type::choice, "VERSION", "",
             "", on_build, flag_group::output},
    flag_row{flag::bloom_type, "bloom-type", "", type::choice, "TYPE", "",
             "", on_build, flag_group::output},
    flag_row{flag::prefix_length, "prefix-length", "", type::positive, "BYTES", "",
             "", on_build, flag_group::output},
    flag_row{flag::hash_type, "hash-type", "", type::choice, "HASH", "",
             "", on_build, flag_group::output},
    flag_row{flag::chunk_bytes, "chunk-bytes", "", type::positive, "BYTES", "",
             "", on_build, flag_group::output},
    // selection
    flag_row{flag::from, "from", "", type::format_name, "FORMAT", "",
             "format of the filter (default: detected from its content)", on_openers, selection},
    flag_row{flag::invert, "invert-match", "v", type::none, "", "",
             "print the lines that are definitely absent", on_query, selection},
    flag_row{flag::count, "count", "c", type::none, "", "",
             "print only how many lines were selected", on_query, selection},
    flag_row{flag::mark, "mark", "", type::none, "", "",
             "print every line after 1 (may be present) or 0 (absent) and a tab", on_query, selection},
    flag_row{flag::row, "row", "", type::text, "ROW", "",
             "look up this row in a store file of HBase, instead of lines", on_query, selection},
    flag_row{flag::column, "column", "", type::text, "FAMILY:QUALIFIER", "",
             "with --row: this column of the row", on_query, selection},
    flag_row{flag::trust, "trust", "", type::none, "", "",
             "do not check the chunks of the file as they are touched: it is known to be intact", on_query | on_verify | on_doctor | on_info | on_count | on_explain, selection},
    flag_row{flag::plot, "plot", "", type::none, "", "",
             "draw a chart in the terminal", on_info | on_plan | on_bench, selection},
    flag_row{flag::metrics, "metrics", "", type::none, "", "",
             "print the figures in the text format of Prometheus", on_info, selection},
    flag_row{flag::keys, "keys", "", type::file, "FILE", "",
             "keys that the filter was built from; - is standard input", on_verify | on_doctor, selection},
    flag_row{flag::probes, "probes", "", type::positive, "M", "",
             "number of absent keys to generate for the measurement (default 1,000,000)", on_verify | on_doctor, selection},
    flag_row{flag::absent, "absent", "", type::file, "FILE", "",
             "measure with the keys of this file, known to be absent, instead of generated ones", on_verify | on_doctor, selection},
    flag_row{flag::live, "live", "", type::file, "METRICS", "",
             "figures of the program that uses the filter, as Prometheus reads them", on_doctor, selection},
    flag_row{flag::quick, "quick", "", type::none, "", "",
             "less work, less precise figures: hashes measures for a shorter time, demo uses 100,000 keys, bench fewer sizes", on_hashes | on_demo | on_bench, selection},
    flag_row{flag::approx, "approx", "", type::none, "", "",
             "remember lines in a filter: a few bits each, and at most a share P of the new lines is lost", on_dedup, selection},
    flag_row{flag::state, "state", "", type::file, "FILE", "",
             "remember the lines in FILE, and those of earlier runs with it", on_dedup, selection},
    flag_row{flag::repeated, "repeated", "D", type::none, "", "",
             "print only lines that occur again: once each, at their second occurrence", on_dedup, selection},
    flag_row{flag::counts, "counts", "c", type::none, "", "",
             "print each line once, at the end, after the number of its occurrences and a tab", on_dedup, selection},
    flag_row{flag::temp_dir, "temp-dir", "T", type::file, "DIR", "",
             "folder for spilled data (default: TMPDIR, or /tmp)", on_dedup, selection},
    flag_row{flag::intersect, "intersect", "", type::none, "", "",
             "intersection instead of union", on_merge, selection},
    flag_row{flag::any_fpr, "any-fpr", "", type::none, "", "",
             "merge even if the result exceeds the target FPR, for kinds that refuse it", on_merge, selection, "any-rate"},
    flag_row{flag::lsm, "lsm", "", type::none, "", "",
             "allot memory to the filters of the levels of a log-structured store", on_plan, selection},
    flag_row{flag::levels, "levels", "", type::positive, "L", "",
             "with --lsm: number of levels", on_plan, selection},
    flag_row{flag::lsm_keys, "keys", "", type::positive, "N", "",
             "with --lsm: number of keys in all levels together", on_plan, selection},
    flag_row{flag::size_ratio, "size-ratio", "", type::real, "T", "",
             "with --lsm: number of keys of a level relative to the previous one (default 10)", on_plan, selection},
    flag_row{flag::man, "man", "", type::none, "", "",
             "print the manual page instead, as source for man: 'bloomery help --man build | man -l -'", on_help, selection},
    flag_row{flag::completions, "completions", "", type::choice, "SHELL", "bash zsh fish",
             "print the completions for this shell", on_help, selection},
    flag_row{flag::write_pages, "write", "", type::file, "DIR", "",
             "write all manual pages and completions into DIR, in the folders they have below share/", on_help, selection},
    // keys
    flag_row{flag::null, "null", "0z", type::none, "", "",
             "keys end with a NUL byte instead of a newline", on_key_readers, flag_group::keys},
    flag_row{flag::fields, "fields", "f", type::text, "N[,M...]", "",
             "the key is this field, or these fields together; counted from 1, or named with --header", on_key_readers | on_explain, flag_group::keys},
    flag_row{flag::delimiter, "delimiter", "d", type::character, "CHAR", "",
             "what separates fields (default: a tab; with --csv a comma)", on_key_readers | on_explain, flag_group::keys},
    flag_row{flag::csv, "csv", "", type::none, "", "",
             "input is CSV with quotes (RFC 4180); without -f the key is the complete record, field by field", on_key_readers, flag_group::keys},
    flag_row{flag::header, "header", "", type::none, "", "",
             "the first record of each file holds names, not a key; query, count and dedup print that of the first file", on_key_readers, flag_group::keys},
    flag_row{flag::hex, "hex", "", type::none, "", "",
             "keys are written as hexadecimal bytes", on_key_readers | on_explain, flag_group::keys},
    flag_row{flag::u64, "u64", "", type::none, "", "",
             "keys are decimal integers, hashed as 8 little-endian bytes", on_key_readers | on_explain, flag_group::keys},
    flag_row{flag::funnel, "funnel", "", type::choice, "FUNNEL", "bytes utf8 utf16 int long",
             "encode keys as this funnel of Guava does: bytes unchanged, text as UTF-8 or UTF-16, decimal integers as 4 or 8 little-endian bytes", on_key_readers | on_explain, flag_group::keys},
    flag_row{flag::crlf, "crlf", "", type::none, "", "",
             "lines end with CR LF: the CR is not part of the key", on_key_readers, flag_group::keys},
    flag_row{flag::no_decompress, "no-decompress", "", type::none, "", "",
             "read input unchanged, even if it looks like compressed data or a filter", on_key_readers, flag_group::keys},
    // general
    flag_row{flag::json, "json", "", type::none, "", "",
             "print one JSON object on standard output", on_all & ~on_help, general},
    flag_row{flag::quiet, "quiet", "q", type::none, "", "",
             "print only errors and warnings; the exit code is the result", on_key_readers | on_merge | on_convert, general},
    flag_row{flag::strict, "strict", "", type::none, "", "",
             "exit with 1 after a warning, such as a filter that holds more keys than its capacity; the output is written all the same", on_build | on_add | on_remove | on_merge | on_dedup, general},
    flag_row{flag::progress, "progress", "", type::none, "", "",
             "show progress on standard error even if it is not a terminal", on_key_readers | on_demo | on_bench, general},
    flag_row{flag::no_progress, "no-progress", "", type::none, "", "",
             "show no progress", on_key_readers | on_demo | on_bench, general},
    flag_row{flag::color, "color", "", type::choice, "WHEN", "auto always never",
             "colours: on a terminal, always or never; NO_COLOR is honoured", on_info | on_explain | on_plan | on_verify | on_doctor | on_kinds | on_formats | on_hashes | on_demo | on_bench, general},
    flag_row{flag::jobs, "jobs", "j", type::positive, "N", "",
             "number of threads (default: all processors); the result does not depend on it", on_key_readers | on_demo | on_bench, general},
    flag_row{flag::help, "help", "h", type::none, "", "",
             "show this help", on_all, general},
};
// clang-format on

const flag_row* find_row(verb_set verbs, flag id) {
  for (const flag_row& row : flag_table()) {
    if (row.id == id && (row.verbs & verbs) != 0) return &row;
  }
  return nullptr;
}

std::string shown(const flag_row& row) { return fmt::format("--{}", row.name); }

std::vector<std::string_view> names_of_kinds() {
  std::vector<std::string_view> names;
  for (const kind_entry& kind : kinds()) names.push_back(kind.info->name);
  return names;
}

std::vector<std::string_view> names_of_hashes() {
  std::vector<std::string_view> names;
  for_each_type(hash_list{}, [&](auto tag) { names.push_back(decltype(tag)::type::info.name); });
  return names;
}

std::vector<std::string_view> names_of_formats() {
  std::vector<std::string_view> names;
  for (const formats::format* format : formats::list()) names.push_back(format->name);
  return names;
}

// The choices of all kinds, each once.
std::vector<std::string_view> choices_of_kinds(std::string_view option) {
  std::vector<std::string_view> out;
  for (const kind_entry& kind : kinds()) {
    for (const std::string_view word : choices_of(kind, option)) {
      if (std::find(out.begin(), out.end(), word) == out.end()) out.push_back(word);
    }
  }
  return out;
}

// The same of the formats.
std::vector<std::string_view> choices_of_formats(std::string_view option) {
  std::vector<std::string_view> out;
  for (const formats::format* format : formats::list()) {
    const option_info* found = find_option(format->options, option);
    if (found == nullptr) continue;
    for (const option_choice& choice : found->choices) {
      if (std::find(out.begin(), out.end(), choice.name) == out.end()) out.push_back(choice.name);
    }
  }
  return out;
}

outcome<void> check_word(const flag_row& row, std::string_view word, const std::vector<std::string_view>& known) {
  std::string list;
  for (const std::string_view name : known) {
    if (name == word) return {};
    list.append(list.empty() ? "" : ", ").append(name);
  }
  const std::string_view near = nearest(word, known);
  if (!near.empty()) return fail_usage(fmt::format("{}: there is no '{}'; did you mean '{}'?", shown(row), word, near));
  return fail_usage(fmt::format("{}: there is no '{}'; there are: {}", shown(row), word, list));
}

outcome<std::uint64_t> parse_character(std::string_view text) {
  if (text.size() == 1) return static_cast<unsigned char>(text[0]);
  if (text == "\\t" || text == "tab") return std::uint64_t{'\t'};
  if (text == "\\0") return std::uint64_t{0};
  if (text == "\\\\") return std::uint64_t{'\\'};
  return fail_text(fmt::format("'{}' is not one character: give one byte, or \\t or \\0", text));
}

// Names the row before the message of a number parser.
template <class T>
outcome<void> store(const flag_row& row, outcome<T> parsed, T& to) {
  if (!parsed) return fail_usage(fmt::format("{}: {}", shown(row), parsed.error().text));
  to = *parsed;
  return {};
}

// What getopt_long did not take, in words. `word` is the argument it stopped at.
failed explain(const verb& command, int code, int option, std::string_view word) {
  constexpr int long_options = 256;
  const bool is_long = option >= long_options || option == 0;
  const std::string name = option >= long_options
                               ? shown(*find_row(command.bit, static_cast<flag>(option - long_options)))
                               : fmt::format("-{}", static_cast<char>(option));
  if (code == ':') {
    const flag_row* row = is_long ? find_row(command.bit, static_cast<flag>(option - long_options)) : nullptr;
    for (const flag_row& each : flag_table()) {
      if (row == nullptr && (each.verbs & command.bit) != 0 &&
          each.short_names.find(static_cast<char>(option)) != std::string_view::npos) {
        row = &each;
      }
    }
    return fail_usage(fmt::format("{} needs a value: {} {}", name, name, row == nullptr ? "VALUE" : row->value));
  }
  if (option >= long_options) return fail_usage(fmt::format("{} takes no value", name));
  if (!is_long) {
    return fail_usage(fmt::format("there is no option {}; see 'bloomery {} --help'", name, command.name));
  }
  const std::string_view typed = word.substr(0, word.find('=')).substr(std::min<std::size_t>(2, word.size()));
  std::string candidates;
  std::vector<std::string_view> known;
  for (const flag_row& row : flag_table()) {
    if ((row.verbs & command.bit) == 0) continue;
    known.push_back(row.name);
    if (row.name.substr(0, typed.size()) == typed) candidates.append(candidates.empty() ? "" : ", ").append(shown(row));
  }
  if (!candidates.empty()) return fail_usage(fmt::format("--{} may mean {}: write it out", typed, candidates));
  const std::string_view near = nearest(typed, known);
  if (!near.empty()) return fail_usage(fmt::format("there is no option --{}; did you mean --{}?", typed, near));
  return fail_usage(fmt::format("there is no option --{}; see 'bloomery {} --help'", typed, command.name));
}

}  // namespace

std::vector<flag_row> own_option_rows(std::span<const kind_entry> kinds, std::span<const flag_row> known) {
  std::vector<flag_row> out;
  for (const kind_entry& kind : kinds) {
    for (const option_info& option : kind.options) {
      const auto same = [&](const flag_row& row) { return row.name == option.name; };
      if (std::any_of(known.begin(), known.end(), same) || std::any_of(out.begin(), out.end(), same) ||
          out.size() == most_own_options) {
        continue;
      }
      const auto id = static_cast<flag>(static_cast<std::size_t>(flag::count_) + out.size());
      const bool is_choice = option.type == option_type::choice;
      out.push_back({id, option.name, "", is_choice ? type::kind_choice : type::count, is_choice ? "WORD" : "N", "", "",
                     on_build, size});
    }
  }
  return out;
}

std::span<const flag_row> flag_table() {
  static const std::vector<flag_row> all = [] {
    std::vector<flag_row> out(rows.begin(), rows.end());
    const auto own = own_option_rows(kinds(), rows);
    out.insert(out.end(), own.begin(), own.end());
    return out;
  }();
  return all;
}

std::string_view group_title(flag_group group) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(flag_group::count_)> titles = {
      "Size and kind", "Hashing", "Output", "Selection", "Keys", "General"};
  return titles[static_cast<std::size_t>(group)];
}

std::vector<std::string_view> words_of(const flag_row& row) {
  if (row.type == type::kind_name) return names_of_kinds();
  if (row.type == type::hash_name) return names_of_hashes();
  if (row.type == type::format_name) return names_of_formats();
  if (row.type == type::kind_choice) return choices_of_kinds(row.name);
  if (row.type == type::choice && row.choices.empty()) return choices_of_formats(row.name);
  return words_in(row.choices);
}

namespace {

// " (slots4[:BITS], set)", or " (1 to 32768, default 2)"
std::string values_of(const option_info& option) {
  std::string out;
  for (const option_choice& choice : option.choices) {
    out.append(out.empty() ? "" : ", ").append(choice.name).append(choice.suffix);
  }
  if (option.type == option_type::integer) {
    out = fmt::format("{} to {}", option.least, option.most);
    // What must be given has none.
    if (option.takes(option.default_value)) out.append(fmt::format(", default {}", option.default_value));
  }
  return out;
}

// Of an option that formats have; empty when none has it.
std::string help_by_formats(const flag_row& row) {
  std::string text;
  std::string names;
  std::string values;
  for (const formats::format* format : formats::list()) {
    const option_info* option = find_option(format->options, row.name);
    if (option == nullptr) continue;
    text = option->help;
    names.append(names.empty() ? "" : ", ").append(format->name);
    values.append(values.empty() ? "" : "; ").append(format->name).append(": ").append(values_of(*option));
  }
  if (names.empty()) return {};
  // Of one format, the name stands before the text.
  const bool is_one = names.find(',') == std::string::npos;
  if (is_one) values.erase(0, names.size() + 2);
  return fmt::format("format {}: {} ({})", names, text, values);
}

}  // namespace

std::string help_of(const flag_row& row) {
  std::string text(row.help.empty() ? help_by_formats(row) : row.help);
  std::string names;
  std::string values;
  for (const kind_entry& kind : kinds()) {
    const option_info* option = find_option(kind.options, row.name);
    if (option == nullptr) continue;
    if (row.help.empty()) text = option->help;
    names.append(names.empty() ? "" : ", ").append(kind.info->name);
    const std::string own = values_of(*option);
    if (own.empty()) continue;
    values.append(values.empty() ? "" : "; ");
    if (option->type == option_type::choice) values.append(kind.info->name).append(": ");
    values.append(own);
  }
  if (!names.empty() && row.type != type::kind_choice) text = fmt::format("kind {}: {}", names, text);
  return values.empty() ? text : text.append(fmt::format(" ({})", values));
}

std::vector<std::string_view> choices_of(const kind_entry& kind, std::string_view option) {
  std::vector<std::string_view> names;
  const option_info* found = find_option(kind.options, option);
  if (found == nullptr) return names;
  for (const option_choice& choice : found->choices) names.push_back(choice.name);
  return names;
}

outcome<void> options::convert(const flag_row& row, value& to) {
  switch (row.type) {
    case type::none:
    case type::text:
    case type::kind_choice:  // checked by the kind
      return {};
    case type::file:
      if (to.text.empty()) return fail_usage(fmt::format("{}: the name is empty: give a file", shown(row)));
      return {};
    case type::count:
      return store(row, parse_count(to.text), to.whole);
    case type::positive: {
      auto stored = store(row, parse_count(to.text), to.whole);
      if (stored && to.whole == 0) return fail_usage(fmt::format("{}: 0 is not usable: give 1 or more", shown(row)));
      return stored;
    }
    case type::bytes:
      return store(row, parse_bytes(to.text), to.whole);
    case type::fpr:
      return store(row, parse_fpr(to.text), to.real);
    case type::share:
      return store(row, parse_share(to.text), to.real);
    case type::real:
      return store(row, parse_real(to.text), to.real);
    case type::seed:
      return store(row, parse_seed(to.text), to.whole);
    case type::character:
      return store(row, parse_character(to.text), to.whole);
    case type::choice:
    case type::kind_name:
    case type::hash_name:
    case type::format_name:
      return check_word(row, to.text, words_of(row));
  }
  return {};
}

outcome<void> options::set(const flag_row& row, const char* text) {
  value& to = values_[static_cast<std::size_t>(row.id)];
  to.is_set = true;
  to.text = text == nullptr ? "" : text;
  return convert(row, to);
}

outcome<options> options::parse(const verb& command, std::span<char* const> argv) {
  constexpr int long_options = 256;
  std::string short_options = ":";
  std::vector<option> long_table;
  for (const flag_row& row : flag_table()) {
    if ((row.verbs & command.bit) == 0) continue;
    const bool takes = row.type != type::none;
    for (const char c : row.short_names) short_options.append(1, c).append(takes ? ":" : "");
    for (const std::string_view name : {row.name, row.old_name}) {
      if (name.empty()) continue;
      long_table.push_back(
          {name.data(), takes ? required_argument : no_argument, nullptr, long_options + static_cast<int>(row.id)});
    }
  }
  long_table.push_back({nullptr, 0, nullptr, 0});

  options parsed;
  parsed.verb_ = &command;
  opterr = 0;
  optind = 0;  // glibc: start anew
  std::vector<char*> words(argv.begin(), argv.end());
  words.push_back(nullptr);
  const int count = static_cast<int>(argv.size());
  while (true) {
    const int code = getopt_long(count, words.data(), short_options.c_str(), long_table.data(), nullptr);
    if (code == -1) break;
    if (code == '?' || code == ':') return explain(command, code, optopt, words[static_cast<std::size_t>(optind) - 1]);
    for (const flag_row& row : flag_table()) {
      const bool meant = code >= long_options ? static_cast<flag>(code - long_options) == row.id
                                              : row.short_names.find(static_cast<char>(code)) != std::string_view::npos;
      if (!meant || (row.verbs & command.bit) == 0) continue;
      if (auto stored = parsed.set(row, optarg); !stored) return failed(stored.error());
      break;
    }
  }
  for (int i = optind; i < count; ++i) parsed.operands_.emplace_back(words[static_cast<std::size_t>(i)]);
  return parsed;
}

}  // namespace bloomery::cli

// core/error_table.hpp: THE list of errors: number, name, group, sentence and remedy of each, in one table.
//
// Numbers and names are stable: bindings expose them and programs store them, so neither is ever changed or used again.
// 0 is no error. A new code takes the next number and the last row. No program compares codes by their order: ask for
// the group, or for the code itself.
//
// A sentence states what is wrong, with the value, and what would be right where that is a fact (a range). What to do
// about it is a remedy, which each host words in its own language: `allow_replace` is a flag of a tool and an argument
// of a function. In a sentence {0}..{3} stand for the numbers of an error, {b0}..{b3} for the same numbers as bytes
// ("1.2 GiB"), {t} for its text.
#pragma once

#include <array>
#include <bloomery/core/config.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

enum class errc : std::uint16_t {
  out_of_memory = 1,
  bad_fpr = 2,
  bad_keys = 3,
  bad_hashes = 4,
  bad_bits = 5,
  bad_bits_per_key = 6,
  bad_memory = 7,
  missing_parameter = 8,
  too_many_parameters = 9,
  size_overflow = 10,
  cannot_reach_fpr = 11,
  not_enough_hash_bits = 12,
  layout_too_large = 13,
  unsupported = 14,
  mismatch = 15,
  cannot_fold = 16,
  bad_seed = 17,
  bad_key_size = 18,
  wrong_key = 19,
  not_linked = 20,
  bad_span = 21,
  full = 22,
  unknown_kind = 23,
  unknown_hash = 24,
  unknown_codec = 25,
  io = 26,
  is_directory = 27,
  already_exists = 28,
  empty_file = 29,
  not_a_filter = 30,
  truncated = 31,
  trailing_bytes = 32,
  newer_version = 33,
  header_damaged = 34,
  chunk_damaged = 35,
  bad_field = 36,
  bad_text = 37,
  codec_failed = 38,
  read_only = 39,
  not_keyed = 40,
  merge_exceeds_target = 41,
  bad_growth = 42,
  too_many_copies = 43,
  bad_shards = 44,
  bad_shard = 45,
  two_shard_sets = 46,
  shard_alone = 47,
  unknown_format = 48,
  no_format = 49,
  several_formats = 50,
  not_in_format = 51,
  in_both_lists = 52,
  no_room_to_return = 53,
  not_synced = 54,
  kind_has_one_layout = 55,
  kind_has_no_modes = 56,
  kind_has_no_hashes = 57,
  integer_keys_only = 58,
  not_mappable = 59,
  format_not_compressed = 60,
  bad_option = 61,
  unknown_layout = 62,
  unknown_mode = 63,
  count_  // behind the last; no error has it
};

// What an error is about, for hosts with several kinds of exceptions.
enum class error_group : std::uint8_t {
  memory,     // the system refused memory
  parameter,  // a value or a name that the caller passed
  operation,  // what this filter cannot do, or not now
  file,       // a file that is missing, damaged, refused or of another product
};

// What would help. The table of remedies below has words that suit every host.
enum class remedy : std::uint8_t {
  none,
  smaller_filter,
  use_wider_hash,
  use_kind_bloom,
  use_layout_split64,
  use_keyed_hash,
  leave_layout_out,
  leave_mode_out,
  leave_hashes_out,
  leave_compression_out,
  use_integer_keys,
  give_the_secret,
  link_all,
  list_kinds,
  list_hashes,
  list_formats,
  larger_filter,
  store_copies_once,
  build_from_keys,
  separate_lists,
  accept_any_fpr,
  load_into_memory,
  allow_replace,
  other_name,
  copy_again,
  update_program,
  check_disk,
  give_the_whole_set,
  name_the_format,
  count_  // behind the last
};

struct error_row {
  errc code;
  std::string_view name;
  error_group group;
  remedy usual_remedy;  // an error may carry another one
  std::string_view sentence;
};

struct remedy_row {
  remedy code;
  std::string_view name;
  std::string_view words;  // for hosts that have none of their own
};

inline constexpr auto error_rows = [] {
  using enum error_group;
  return std::to_array<error_row>({
      {errc::out_of_memory, "out_of_memory", memory, remedy::smaller_filter,
       "{t} needs {0} bytes ({b0}) of memory, which the system refused"},
      {errc::bad_fpr, "bad_fpr", parameter, remedy::none,
       "false-positive rate {t} is not usable: give a number above 0 and below 1"},
      {errc::bad_keys, "bad_keys", parameter, remedy::none,
       "number of keys {t} is not usable: give a whole number from 1 to {0}"},
      {errc::bad_hashes, "bad_hashes", parameter, remedy::none,
       "number of hash functions {0} is not usable for this kind: give {1} to {2}"},
      {errc::bad_bits, "bad_bits", parameter, remedy::none, "number of bits {0} is not usable: give {1} to {2}"},
      {errc::bad_bits_per_key, "bad_bits_per_key", parameter, remedy::none,
       "bits per key {t} is not usable: give a number above 0 and at most 4096"},
      {errc::bad_memory, "bad_memory", parameter, remedy::none,
       "memory of {0} bytes is too small: this kind needs at least {1} bytes"},
      {errc::missing_parameter, "missing_parameter", parameter, remedy::none, "cannot size the filter: {t}"},
      {errc::too_many_parameters, "too_many_parameters", parameter, remedy::none,
       "the parameters contradict each other: {t}"},
      {errc::size_overflow, "size_overflow", parameter, remedy::smaller_filter,
       "kind {t} would take at least {0} bytes ({b0}), and 128 PiB is the most that a filter may have"},
      {errc::cannot_reach_fpr, "cannot_reach_fpr", parameter, remedy::use_kind_bloom,
       "kind {t} cannot reach this false-positive rate: at {0} bits per key it stops falling"},
      {errc::not_enough_hash_bits, "not_enough_hash_bits", parameter, remedy::use_wider_hash,
       "{0} keys at this false-positive rate need {1} hash bits and {t} has {2}"},
      {errc::layout_too_large, "layout_too_large", parameter, remedy::use_layout_split64,
       "{t} is limited to {1} blocks and this would take {0}"},
      {errc::unsupported, "unsupported", operation, remedy::none, "{t}"},
      {errc::mismatch, "mismatch", operation, remedy::none, "the filters do not fit together: {t}"},
      {errc::cannot_fold, "cannot_fold", operation, remedy::none, "cannot fold: {t}"},
      {errc::bad_seed, "bad_seed", parameter, remedy::none, "seed {0} does not fit hash {t}: give 0 to {1}"},
      {errc::bad_key_size, "bad_key_size", parameter, remedy::none,
       "hash {t} takes a secret key of {1} bytes and was given {0}"},
      {errc::wrong_key, "wrong_key", parameter, remedy::give_the_secret,
       "this filter was built with another secret key (key id {t})"},
      {errc::not_linked, "not_linked", operation, remedy::link_all, "{t} is not linked into this program"},
      {errc::bad_span, "bad_span", parameter, remedy::none, "{t} is too small: it holds {0} and {1} are needed"},
      {errc::full, "full", operation, remedy::larger_filter, "the filter is full: it holds {0} keys"},
      {errc::unknown_kind, "unknown_kind", parameter, remedy::list_kinds, "there is no kind '{t}'"},
      {errc::unknown_hash, "unknown_hash", parameter, remedy::list_hashes, "there is no hash '{t}'"},
      {errc::unknown_codec, "unknown_codec", parameter, remedy::none,
       "there is no compression '{t}': use rans, zstd, gzip or none"},
      {errc::io, "io", file, remedy::none, "{t}"},
      {errc::is_directory, "is_directory", file, remedy::none, "is a directory: give a file"},
      {errc::already_exists, "already_exists", file, remedy::allow_replace, "exists already"},
      {errc::empty_file, "empty_file", file, remedy::none, "is empty: a filter file has at least {0} bytes"},
      {errc::not_a_filter, "not_a_filter", file, remedy::none, "is not a Bloomery filter: it starts with {t}"},
      {errc::truncated, "truncated", file, remedy::copy_again, "is cut short: it has {0} bytes and should have {1}"},
      {errc::trailing_bytes, "trailing_bytes", file, remedy::copy_again,
       "has {0} bytes and should have {1}: something was appended"},
      {errc::newer_version, "newer_version", file, remedy::update_program,
       "was written by a newer Bloomery (file version {0}, this one reads up to {1})"},
      {errc::header_damaged, "header_damaged", file, remedy::copy_again, "its header is damaged (checksum {t})"},
      {errc::chunk_damaged, "chunk_damaged", file, remedy::copy_again, "is damaged in chunk {0}, bytes {1} to {2}"},
      {errc::bad_field, "bad_field", file, remedy::none, "its header is not usable: field {t} has value {0}"},
      {errc::bad_text, "bad_text", file, remedy::none, "its text form is damaged: {t}"},
      {errc::codec_failed, "codec_failed", file, remedy::none, "cannot be unpacked: {t}"},
      {errc::read_only, "read_only", operation, remedy::load_into_memory, "{t} is open for reading only"},
      {errc::not_keyed, "not_keyed", parameter, remedy::use_keyed_hash, "hash {t} takes no secret key"},
      {errc::merge_exceeds_target, "merge_exceeds_target", operation, remedy::accept_any_fpr,
       "together they would have a false-positive rate of {t} %, which is more than they promise"},
      {errc::bad_growth, "bad_growth", parameter, remedy::none,
       "growth factor {0} is not usable: give a whole number from 1 to {1}"},
      {errc::too_many_copies, "too_many_copies", operation, remedy::store_copies_once,
       "the filter has no room for more than {0} copies of a key, and one came more often"},
      {errc::bad_shards, "bad_shards", parameter, remedy::none, "number of shards {0} is not usable: give 1 to {1}"},
      {errc::bad_shard, "bad_shard", file, remedy::none, "shard {t}"},
      {errc::two_shard_sets, "two_shard_sets", file, remedy::other_name,
       "there would be two sets of shards with this name, of {0} and of {1}"},
      {errc::shard_alone, "shard_alone", file, remedy::give_the_whole_set,
       "is shard {t} of a filter and knows nothing of the keys of the others"},
      {errc::unknown_format, "unknown_format", parameter, remedy::list_formats, "there is no format '{t}'"},
      {errc::no_format, "no_format", file, remedy::none, "is not a filter in any known format: it starts with {t}"},
      {errc::several_formats, "several_formats", file, remedy::name_the_format,
       "may be a filter in any of these formats: {t}"},
      {errc::not_in_format, "not_in_format", file, remedy::none, "is not a filter in format {t}"},
      {errc::in_both_lists, "in_both_lists", parameter, remedy::separate_lists,
       "the digests of {0} keys are in both lists, of keys to include and of keys to exclude"},
      {errc::no_room_to_return, "no_room_to_return", operation, remedy::build_from_keys,
       "the filter has no room for another key that was removed before, or seems so: it holds {0} that came back"},
      {errc::not_synced, "not_synced", file, remedy::check_disk,
       "is written and in place, but its folder could not be synced ({t}): after a power failure the old file may be "
       "back"},
      {errc::kind_has_one_layout, "kind_has_one_layout", parameter, remedy::leave_layout_out,
       "kind {t} has one layout"},
      {errc::kind_has_no_modes, "kind_has_no_modes", parameter, remedy::leave_mode_out, "kind {t} has no modes"},
      {errc::kind_has_no_hashes, "kind_has_no_hashes", parameter, remedy::leave_hashes_out,
       "kind {t} has no hash functions to choose"},
      {errc::integer_keys_only, "integer_keys_only", parameter, remedy::use_integer_keys,
       "this kind takes integer keys and no other hash than identity"},
      {errc::not_mappable, "not_mappable", file, remedy::load_into_memory, "is {t} and cannot be queried in place"},
      {errc::format_not_compressed, "format_not_compressed", parameter, remedy::leave_compression_out,
       "files in format {t} are not compressed"},
      {errc::bad_option, "bad_option", parameter, remedy::none, "{t} is not usable: give {0} to {1}"},
      {errc::unknown_layout, "unknown_layout", parameter, remedy::none, "{t}"},
      {errc::unknown_mode, "unknown_mode", parameter, remedy::none, "{t}"},
  });
}();

inline constexpr auto remedy_rows = std::to_array<remedy_row>({
    {remedy::none, "none", ""},
    {remedy::smaller_filter, "smaller_filter", "ask for fewer keys or a larger false-positive rate"},
    {remedy::use_wider_hash, "use_wider_hash",
     "use kind bloom with a 128-bit hash such as xxh3, fewer keys or a larger false-positive rate"},
    {remedy::use_kind_bloom, "use_kind_bloom", "use kind bloom"},
    {remedy::use_layout_split64, "use_layout_split64", "use layout split64"},
    {remedy::use_keyed_hash, "use_keyed_hash", "use siphash13, siphash24 or highwayhash64"},
    {remedy::leave_layout_out, "leave_layout_out", "leave the layout out"},
    {remedy::leave_mode_out, "leave_mode_out", "leave the mode out"},
    {remedy::leave_hashes_out, "leave_hashes_out", "leave their number out"},
    {remedy::leave_compression_out, "leave_compression_out", "leave the compression out"},
    {remedy::use_integer_keys, "use_integer_keys", "pass integer keys and leave the hash out"},
    {remedy::give_the_secret, "give_the_secret", "give the key that it was built with"},
    {remedy::link_all, "link_all", "link bloomery::all and call bloomery::enable_all() once"},
    {remedy::list_kinds, "list_kinds", "see the list of kinds"},
    {remedy::list_hashes, "list_hashes", "see the list of hashes"},
    {remedy::list_formats, "list_formats", "see the list of formats"},
    {remedy::larger_filter, "larger_filter", "build a larger one"},
    {remedy::store_copies_once, "store_copies_once",
     "use mode set, which takes a key any number of times, or kind counting"},
    {remedy::build_from_keys, "build_from_keys",
     "build it again from its keys, or use kind cuckoo or counting, from which keys come and go"},
    {remedy::separate_lists, "separate_lists",
     "take these keys out of one of the lists; if they are different keys, use another seed or a hash of more bits"},
    {remedy::accept_any_fpr, "accept_any_fpr", "accept any false-positive rate to merge them all the same"},
    {remedy::load_into_memory, "load_into_memory", "load it into memory"},
    {remedy::allow_replace, "allow_replace", "allow replacing it, or use another name"},
    {remedy::other_name, "other_name", "remove one of them, or use another name"},
    {remedy::copy_again, "copy_again", "copy or build it again"},
    {remedy::update_program, "update_program", "update Bloomery"},
    {remedy::check_disk, "check_disk", "check the disk"},
    {remedy::give_the_whole_set, "give_the_whole_set", "give the whole set"},
    {remedy::name_the_format, "name_the_format", "name its format"},
});

namespace detail {

// Row i has the number first + i, so that the table is complete, in order and without doubles; and no two names are
// the same.
template <std::size_t N, class Row>
consteval bool rows_are_complete(const std::array<Row, N>& rows, std::size_t first, std::size_t end) {
  if (first + N != end) return false;
  for (std::size_t i = 0; i < N; ++i) {
    if (static_cast<std::size_t>(rows[i].code) != first + i || rows[i].name.empty()) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (rows[i].name == rows[j].name) return false;
    }
  }
  return true;
}
static_assert(rows_are_complete(error_rows, 1, static_cast<std::size_t>(errc::count_)));
static_assert(rows_are_complete(remedy_rows, 0, static_cast<std::size_t>(remedy::count_)));

inline constexpr error_row unknown_row = {errc::count_, "unknown", error_group::operation, remedy::none,
                                          "unknown error"};

}  // namespace detail

// The row of a code; for a number that no code has, one with the sentence "unknown error".
constexpr const error_row& row_of(errc code) noexcept {
  const std::size_t index = static_cast<std::size_t>(code) - 1;
  return index < error_rows.size() ? error_rows[index] : detail::unknown_row;
}
constexpr const remedy_row& row_of(remedy code) noexcept {
  const auto index = static_cast<std::size_t>(code);
  return remedy_rows[index < remedy_rows.size() ? index : 0];
}

// Words for hosts that have none of their own; empty for none.
constexpr std::string_view plain_words(remedy code) noexcept { return row_of(code).words; }

}  // namespace bloomery::inline BLOOMERY_ABI

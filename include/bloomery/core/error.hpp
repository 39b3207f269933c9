// core/error.hpp: what went wrong, with the value, and what would be right.
//
// An error is a code, up to four numbers and a short fixed text. It owns no memory, so that "out of memory" can be
// reported like everything else. One table (`error_template`) holds the sentence of every code; the tool, the library
// and every binding print the same words.
//
//     bloomery::error e = ...;
//     std::fputs(bloomery::describe(e).c_str(), stderr);
//
// In a sentence {0}..{3} stand for the numbers, {b0}..{b3} for the same numbers as bytes ("1.2 GiB"), {t} for the text.
#pragma once

#include <array>
#include <bloomery/core/config.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

// Codes are stable: new ones go to the end of their group and to the end of the table below.
enum class errc : std::uint16_t {
  // memory and parameters
  out_of_memory,
  bad_fpr,
  bad_keys,
  bad_hashes,
  bad_bits,
  bad_bits_per_key,
  bad_memory,
  missing_parameter,
  too_many_parameters,
  size_overflow,
  cannot_reach_fpr,
  not_enough_hash_bits,
  layout_too_large,
  // operations
  unsupported,
  mismatch,
  cannot_fold,
  bad_seed,
  bad_key_size,
  wrong_key,
  not_linked,
  bad_span,
  full,
  // names
  unknown_kind,
  unknown_hash,
  unknown_codec,
  // files
  io,
  is_directory,
  already_exists,
  empty_file,
  not_a_filter,
  truncated,
  trailing_bytes,
  newer_version,
  header_damaged,
  chunk_damaged,
  bad_field,
  bad_text,
  codec_failed,
  read_only,
  not_keyed,
  merge_exceeds_target,
  bad_growth,
  too_many_copies,
  bad_shards,
  bad_shard,
  two_shard_sets,
  shard_alone,
  unknown_format,
  no_format,
  several_formats,
  not_in_format,
  in_both_lists,
  no_room_to_return,
  not_synced,
  count_
};

struct error {
  errc code = errc::io;
  std::array<std::uint64_t, 4> number{};
  std::array<char, 104> text{};  // NUL-terminated; longer texts are cut

  [[nodiscard]] std::string_view text_view() const noexcept { return {text.data()}; }
};

BLOOMERY_API error make_error(errc code, std::string_view text = {}, std::array<std::uint64_t, 4> number = {}) noexcept;

// The sentence of a code, with its placeholders.
inline constexpr std::string_view error_template(errc code) noexcept {
  constexpr std::array<std::string_view, static_cast<std::size_t>(errc::count_)> sentences = {
      "{t} needs {0} bytes ({b0}) of memory, which the system refused: ask for fewer keys or a larger "
      "false-positive rate",
      "false-positive rate {t} is not usable: give a number above 0 and below 1, such as 0.01, 1% or 1/100",
      "number of keys {t} is not usable: give a whole number from 1 to {0}",
      "number of hash functions {0} is not usable for this kind: give {1} to {2}",
      "number of bits {0} is not usable: give {1} to {2}",
      "bits per key {t} is not usable: give a number above 0 and at most 4096",
      "memory of {0} bytes is too small: this kind needs at least {1} bytes",
      "cannot size the filter: {t}",
      "the parameters contradict each other: {t}",
      "kind {t} would take at least {0} bytes ({b0}), and 128 PiB is the most that a filter may have: ask for fewer "
      "keys or a larger false-positive rate",
      "kind {t} cannot reach this false-positive rate: at {0} bits per key it stops falling; use kind bloom",
      "{0} keys at this false-positive rate need {1} hash bits and {t} has {2}: use kind bloom with a 128-bit hash "
      "such as xxh3, fewer keys or a larger false-positive rate",
      "{t} is limited to {1} blocks and this would take {0}: use layout split64",
      "{t}",
      "the filters do not fit together: {t}",
      "cannot fold: {t}",
      "seed {0} does not fit hash {t}: give 0 to {1}",
      "hash {t} takes a secret key of {1} bytes and was given {0}",
      "this filter was built with another secret key (key id {t}): give the key file that it was built with",
      "{t} is not linked into this program: link bloomery::all and call bloomery::enable_all() once",
      "{t} is too small: it holds {0} and {1} are needed",
      "the filter is full: it holds {0} keys; build a larger one",
      "there is no kind '{t}': see 'bloomery kinds'",
      "there is no hash '{t}': see 'bloomery hashes'",
      "there is no compression '{t}': use rans, zstd, gzip or none",
      "{t}",
      "is a directory: give a file",
      "exists already: use --force to replace it, or another name",
      "is empty: a filter file has at least {0} bytes",
      "is not a Bloomery filter: it starts with {t}",
      "is cut short: it has {0} bytes and should have {1}; copy or build it again",
      "has {0} bytes and should have {1}: something was appended; copy or build it again",
      "was written by a newer Bloomery (file version {0}, this one reads up to {1}): update Bloomery",
      "its header is damaged (checksum {t}): copy or build it again",
      "is damaged in chunk {0}, bytes {1} to {2}: copy or build it again",
      "its header is not usable: field {t} has value {0}",
      "its text form is damaged: {t}",
      "cannot be unpacked: {t}",
      "{t} is open for reading only: load it into memory to change it",
      "hash {t} takes no secret key: use siphash13, siphash24 or highwayhash64",
      "together they would have a false-positive rate of {t} %, which is more than they promise: use --any-rate to "
      "merge them all the same",
      "growth factor {0} is not usable: give a whole number from 1 to {1}",
      "the filter has no room for more than {0} copies of a key, and one came more often: use mode set, which takes a "
      "key "
      "any number of times, or kind counting",
      "number of shards {0} is not usable: give 1 to {1}",
      "shard {t}",
      "there would be two sets of shards with this name, of {0} and of {1}: remove one of them, or use another name",
      "is shard {t} of a filter and knows nothing of the keys of the others: give the whole set",
      "there is no format '{t}': see 'bloomery formats'",
      "is not a filter in any known format: it starts with {t}",
      "may be a filter in any of these formats: {t}; say which with --from",
      "is not a filter in format {t}",
      "the digests of {0} keys are in both lists, of keys to include and of keys to exclude: take these keys out of "
      "one of the lists; if they are different keys, use another seed or a hash of more bits",
      "the filter has no room for another key that was removed before, or seems so: it holds {0} that came back; "
      "build it again from its keys, or use kind cuckoo or counting, from which keys come and go",
      "is written and in place, but its folder could not be synced ({t}): after a power failure the old file may be "
      "back; check the disk",
  };
  const auto index = static_cast<std::size_t>(code);
  return index < sentences.size() ? sentences[index] : std::string_view{"unknown error"};
}

// A finished sentence in a fixed buffer.
struct error_text {
  std::array<char, 512> buffer{};
  std::size_t length = 0;

  [[nodiscard]] const char* c_str() const noexcept { return buffer.data(); }
  [[nodiscard]] std::string_view view() const noexcept { return {buffer.data(), length}; }
  void append(std::string_view s) noexcept {
    for (const char c : s) {
      if (length + 1 >= buffer.size()) return;
      buffer[length++] = c;
    }
  }
};

// "0 B", "999 B", "1.2 GiB": three significant digits at most, binary units.
BLOOMERY_API error_text human_bytes(std::uint64_t bytes) noexcept;

BLOOMERY_API error_text describe(const error& e) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/core/error.cpp>
#endif

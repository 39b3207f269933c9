// cli/filters/shards.hpp: a filter in shards: the files FILE.00-of-04 to FILE.03-of-04, which verbs open as FILE.
//
//     const auto shards = shards_at(path);                  // 0: it is no set
//     if (*shards != 0) return open_set(opts, path, {.shards = *shards});
//
// A file that is there goes before a set of its name, and none is written where it would hide a set.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cli/filters/open.hpp"
#include "cli/flags/flags.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

// The value of --shards; 0: one file.
unsigned shards_wanted(const options& opts);

// Of how many shards the set with this name is; 0 when there is none, or a file has the name itself.
outcome<unsigned> shards_at(const std::string& path);

// Every file is opened as open_filter opens one; or all are loaded into memory, so that the set can be changed.
struct set_to_open {
  unsigned shards = 0;
  const input_file* first = nullptr;  // the first file, if it is open already
  bool in_memory = false;
};
outcome<opened_filter> open_set(const options& opts, const std::string& path, const set_to_open& set);

// FILE.02-of-04
std::string shard_file(const std::string& path, unsigned index, unsigned shards);
// FILE.00-of-04 of a set: what is locked while the set is changed, and what its encoding is read from. Else the name
// itself.
std::string first_file(const std::string& path, unsigned shards);

// Whether a shard alone will do, for a verb that looks up no key.
bool takes_shard_alone(const options& opts);

// What went wrong when a file was opened; for a shard alone, with the name of its set.
failed fail_opening(const std::string& path, const error& why);
// "seen.bloom" for "seen.bloom.02-of-04"; empty when the name is another.
std::string set_of(const std::string& path, const shard_place& place);
std::string set_of(const std::string& path, std::string_view label);

// Whether an output can have this name: 0 shards is one file.
outcome<void> check_set_output(const options& opts, const std::string& path, unsigned shards);
// A problem when one of the files of a set is among the inputs.
outcome<void> check_set_not_input(const std::string& path, std::span<const std::string> inputs);

// Of all files of a set; 0 when there is none.
std::uint64_t size_of_set(const std::string& path);

}  // namespace bloomery::cli

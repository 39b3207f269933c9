// cli/filters/open.hpp: opening a filter and making the hash that it was built with.
#pragma once

#include <bloomery/any_filter.hpp>
#include <bloomery/formats.hpp>
#include <bloomery/hash/hasher.hpp>
#include <bloomery/native/header.hpp>
#include <bloomery/posix/input.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/flags/flags.hpp"
#include "cli/keys/keys.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

struct opened_filter {
  std::string name;  // for messages
  any_filter filter;
  const formats::format* format = nullptr;
  file_header header{};  // of a native file
  std::uint64_t file_bytes = 0;
  std::uint32_t codec = codec_none;
  formats::format_options written{};  // to write it again in the same encoding
};

// In any format, detected from its content, or that of --from. Memory-mapped where that is possible. "-" is standard
// input, and the name of a set of shards is the set. Knows --trust.
outcome<opened_filter> open_filter(const options& opts, const std::string& path);
// Of a product that splits a filter into pieces: the files of all of them, in order.
outcome<opened_filter> open_pieces(const options& opts, std::span<const std::string> paths);
// The filter of a file that is open already, because it is locked (file_lock.hpp); of a set of shards, of its first
// file. `in_memory`: all of it checked, so that it can be changed.
outcome<opened_filter> open_locked(const options& opts, const std::string& path, unsigned shards,
                                   const input_file& first, bool in_memory);

// The hash of an opened filter, with the secret of --key-file where it is keyed.
outcome<hasher> hasher_of(const options& opts, const opened_filter& opened);

// A secret key of `size` bytes: the file holds just these bytes, or the same in hexadecimal and trailing white space.
outcome<std::vector<std::byte>> read_secret(const std::string& path, std::size_t size);

// Looks up the keys of a chunk, by digests of the width that the filter takes, or by the keys where it needs them; the
// results are in its mask.
result<void> look_up(const any_filter& filter, key_chunk& chunk);
inline bool bit_of(std::span<const std::uint64_t> mask, std::size_t index) {
  return (mask[index / 64] >> (index % 64) & 1U) != 0;
}

}  // namespace bloomery::cli

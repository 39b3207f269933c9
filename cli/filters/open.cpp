#include "cli/filters/open.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "cli/filters/shards.hpp"
#include "cli/flags/format_choice.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/keys/digests.hpp"
#include "cli/terminal/standard_streams.hpp"

namespace bloomery::cli {
namespace {

// The bytes that the digits stand for; empty when there are not exactly `size` of them.
std::vector<std::byte> from_hex(std::string_view text, std::size_t size) {
  while (!text.empty() && std::string_view(" \t\r\n").find(text.back()) != std::string_view::npos)
    text.remove_suffix(1);
  std::vector<std::byte> key;
  if (text.size() != 2 * size) return key;
  for (std::size_t i = 0; i < size; ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return {};
    key.push_back(static_cast<std::byte>(high * 16 + low));
  }
  return key;
}

// What the library opens for this path; "-" is standard input.
outcome<const char*> path_to_open(const std::string& path) {
  if (path != "-") return path.c_str();
  if (auto there = check_standard_input(); !there) return failed(there.error());
  return "/dev/stdin";
}

opened_filter named(std::string name, formats::opened opened) {
  return {std::move(name),   std::move(opened.filter),
          opened.form,       opened.header.value_or(file_header{}),
          opened.size_bytes, opened.codec,
          opened.written};
}

outcome<formats::open_options> how_to_open(const options& opts, bool in_memory) {
  const auto taken = format_options_of(opts);
  if (!taken) return failed(taken.error());
  return formats::open_options{.from = opts.text(flag::from),
                               .format = *taken,
                               .load = {.trust = opts.has(flag::trust), .shard = takes_shard_alone(opts)},
                               .in_memory = in_memory};
}

outcome<opened_filter> open_input(const options& opts, const std::string& name, const input_file& file,
                                  bool in_memory) {
  const auto how = how_to_open(opts, in_memory);
  if (!how) return failed(how.error());
  auto opened = formats::open(file, *how);
  if (!opened) return fail_opening(name, opened.error());
  return named(name, std::move(*opened));
}

}  // namespace

// A name that cannot be opened may be that of a set.
outcome<opened_filter> open_filter(const options& opts, const std::string& path) {
  const auto from = path_to_open(path);
  if (!from) return failed(from.error());
  const std::string name = path == "-" ? "standard input" : path;
  const auto file = input_file::open(*from);
  if (file) return open_input(opts, name, *file, false);
  const auto shards = shards_at(path);
  if (!shards) return failed(shards.error());
  if (*shards != 0) return open_set(opts, path, {.shards = *shards});
  if (const auto how = how_to_open(opts, false); !how) return failed(how.error());
  return fail_opening(name, file.error());
}

outcome<opened_filter> open_locked(const options& opts, const std::string& path, unsigned shards,
                                   const input_file& first, bool in_memory) {
  if (shards == 0) return open_input(opts, path, first, in_memory);
  return open_set(opts, path, {.shards = shards, .first = &first, .in_memory = in_memory});
}

outcome<opened_filter> open_pieces(const options& opts, std::span<const std::string> paths) {
  const auto how = how_to_open(opts, true);
  if (!how) return failed(how.error());
  std::vector<file_bytes> pieces;
  std::size_t size_bytes = 0;
  for (const std::string& path : paths) {
    const auto from = path_to_open(path);
    if (!from) return failed(from.error());
    auto piece = read_file(*from);
    if (!piece) return fail_file(path, piece.error());
    size_bytes += piece->size;
    pieces.push_back(std::move(*piece));
  }
  auto joined = aligned_buffer::make(size_bytes, "the filter");
  if (!joined) return fail_file(paths.front(), joined.error());
  auto to = joined->bytes().begin();
  for (const file_bytes& piece : pieces) to = std::copy(piece.bytes().begin(), piece.bytes().end(), to);
  auto opened = formats::open_bytes({std::move(*joined), size_bytes}, *how);
  if (!opened) return fail_file(paths.front(), opened.error());
  if (!opened->form->parts) {
    return fail_usage(fmt::format("files in format {} come in one piece: give one filter", opened->form->name));
  }
  return named(paths.front(), std::move(*opened));
}

result<void> look_up(const any_filter& filter, key_chunk& chunk) {
  if (formats::looks_up(filter) != formats::key_form::digest)
    return formats::may_contain(filter, chunk.keys, chunk.mask);
  return filter.may_contain(chunk.digests(filter.digest_bits()), chunk.mask);
}

outcome<std::vector<std::byte>> read_secret(const std::string& path, std::size_t size) {
  constexpr std::uint64_t max_secret_file_bytes = 4096;
  const auto from = path_to_open(path);
  if (!from) return failed(from.error());
  const auto read = read_file(*from, nullptr, max_secret_file_bytes);
  if (!read) return fail_file(path, read.error());
  const auto bytes = read->bytes();
  if (bytes.size() == size) return std::vector<std::byte>(bytes.begin(), bytes.end());
  auto key = from_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, size);
  if (!key.empty()) return key;
  return fail_file(path, fmt::format("is not a secret key for this hash: it has {} bytes and should have {}, or {} "
                                     "hexadecimal digits",
                                     bytes.size(), size, 2 * size));
}

outcome<hasher> hasher_of(const options& opts, const opened_filter& opened) {
  const hash_spec& spec = opened.filter.hash();
  const hash_info* info = find_hash(spec.id);
  std::vector<std::byte> secret;
  if (info != nullptr && info->key_bytes != 0) {
    if (!opts.has(flag::key_file)) {
      return fail_file(opened.name, fmt::format("was built with the keyed hash {}: give its secret key with --key-file",
                                                info->name));
    }
    auto read = read_secret(std::string(opts.text(flag::key_file)), info->key_bytes);
    if (!read) return failed(read.error());
    secret = std::move(*read);
  } else if (info != nullptr && opts.has(flag::key_file)) {
    return fail_file(opened.name,
                     fmt::format("was built with {}, which takes no secret key: leave --key-file out", info->name));
  }
  auto made = hasher::make(spec, secret);
  if (!made) return fail_file(opened.name, made.error());
  return *made;
}

}  // namespace bloomery::cli

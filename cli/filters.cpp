#include "cli/filters.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include "cli/numbers.hpp"

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

// Pipes cannot be mapped and cannot be read twice: once into memory, then as bytes.
outcome<opened_filter> open_stream(const std::string& name, const char* path, const load_options& how) {
  const auto read = read_filter(path);
  if (!read) return fail_file(name, read.error());
  const auto header = read_header_bytes(read->bytes());
  if (!header) return fail_file(name, header.error());
  auto filter = any_filter::load_bytes(read->bytes(), how);
  if (!filter) return fail_file(name, filter.error());
  return opened_filter{name, std::move(*filter), *header, read->bytes().size()};
}

}  // namespace

outcome<opened_filter> open_filter(const options& given, const std::string& path) {
  const load_options how{.trust = given.has(flag::trust)};
  if (path == "-") return open_stream("standard input", "/dev/stdin", how);
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    return open_stream(path, path.c_str(), how);
  }
  const auto header = read_header(path.c_str());
  if (!header) return fail_file(path, header.error());
  auto filter = any_filter::open(path.c_str(), how);
  if (!filter) return fail_file(path, filter.error());
  return opened_filter{path, std::move(*filter), *header, static_cast<std::uint64_t>(status.st_size)};
}

outcome<std::vector<std::byte>> read_secret(const std::string& path, std::size_t size) {
  constexpr std::uint64_t max_secret_file_bytes = 4096;
  const auto read = read_file(path == "-" ? "/dev/stdin" : path.c_str(), nullptr, max_secret_file_bytes);
  if (!read) return fail_file(path, read.error());
  const auto bytes = read->bytes();
  if (bytes.size() == size) return std::vector<std::byte>(bytes.begin(), bytes.end());
  auto key = from_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, size);
  if (!key.empty()) return key;
  return fail_file(path, fmt::format("is not a secret key for this hash: it has {} bytes and should have {}, or {} "
                                     "hexadecimal digits",
                                     bytes.size(), size, 2 * size));
}

outcome<hasher> hasher_of(const options& given, const opened_filter& opened) {
  const hash_spec& spec = opened.filter.hash();
  const hash_info* info = find_hash(spec.id);
  std::vector<std::byte> secret;
  if (info != nullptr && info->key_bytes != 0) {
    if (!given.has(flag::key_file)) {
      return fail_file(opened.name, fmt::format("was built with the keyed hash {}: give its secret key with --key-file",
                                                info->name));
    }
    auto read = read_secret(std::string(given.text(flag::key_file)), info->key_bytes);
    if (!read) return failed(read.error());
    secret = std::move(*read);
  } else if (info != nullptr && given.has(flag::key_file)) {
    return fail_file(opened.name,
                     fmt::format("was built with {}, which takes no secret key: leave --key-file out", info->name));
  }
  auto made = hasher::make(spec, secret);
  if (!made) return fail_file(opened.name, made.error());
  return *made;
}

}  // namespace bloomery::cli

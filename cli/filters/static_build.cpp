#include "cli/filters/static_build.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/numbers.hpp"
#include "cli/keys/digest_buffer.hpp"
#include "cli/keys/digests.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/sizes.hpp"

namespace bloomery::cli {
namespace {

// Digests in one piece.
struct digest_array {
  std::unique_ptr<std::uint64_t[]> digests;
  std::uint64_t count = 0;

  [[nodiscard]] std::span<std::uint64_t> all() const { return {digests.get(), count}; }
};

// Of all keys of these files; `taken_bytes` is buffered already, of `room_bytes`.
outcome<digest_array> read_digests(const options& opts, std::span<const std::string> files, const hasher& hash,
                                   std::uint64_t taken_bytes, std::uint64_t room_bytes) {
  auto reader = key_reader::make(opts, files, hash);
  if (!reader) return failed(reader.error());
  digest_stream stream(std::move(*reader), hash, 64);
  progress line(opts, "reading", stream.reader().total_bytes());
  digest_buffer buffer(64);
  std::uint64_t keys = 0;
  while (true) {
    const auto more = stream.next();
    if (!more) return failed(more.error());
    if (!*more) break;
    buffer.add(stream.digests64());
    keys += stream.size();
    if (taken_bytes + buffer.size_bytes() > room_bytes) {
      return fail_text(
          fmt::format("{} keys and more do not fit into memory while a filter of this kind is built: use a kind that "
                      "is not static, "
                      "such as blocked",
                      with_commas(keys + taken_bytes / sizeof(std::uint64_t))));
    }
    line.update(stream.reader().bytes_taken(), keys);
  }
  line.finish();
  digest_array out{std::unique_ptr<std::uint64_t[]>(new std::uint64_t[keys]), keys};
  std::uint64_t copied = 0;
  for (std::size_t i = 0; i < buffer.blocks(); ++i) {
    const auto block = buffer.words(i);
    std::copy(block.begin(), block.end(), out.digests.get() + copied);
    copied += block.size();
    buffer.drop(i);
  }
  return out;
}

// A key in a file.
struct found_key {
  std::string key;  // the bytes that are hashed
  std::string text;
  std::string place;  // "line 3 of keys.txt"
};

// The first key with this digest. None where the files cannot be read again.
std::optional<found_key> find_digest(const options& opts, std::span<const std::string> files, const hasher& hash,
                                     std::uint64_t digest) {
  constexpr std::size_t shown_bytes = 80;
  auto reader = key_reader::make(opts, files, hash);
  if (!reader || !reader->all_regular()) return {};
  digest_stream stream(std::move(*reader), hash, 64);
  while (true) {
    const auto more = stream.next();
    if (!more || !*more) return {};
    const auto digests = stream.digests64();
    const auto at = static_cast<std::size_t>(std::find(digests.begin(), digests.end(), digest) - digests.begin());
    if (at == digests.size()) continue;
    const record each = stream.records()[at];
    return found_key{.key = std::string(each.key),
                     .text = std::string(each.text.substr(0, shown_bytes)),
                     .place = fmt::format("line {} of {}", each.number, stream.chunk().file)};
  }
}

// Reports whether a key is in both lists or two keys have one digest, where the lists can be read again.
failed explain_both(const options& opts, const build_request& request, std::span<const std::string> excluded,
                    const error& why) {
  const auto in = find_digest(opts, opts.operands(), request.hash(), why.number[1]);
  const auto out = in ? find_digest(opts, excluded, request.hash(), why.number[1]) : std::nullopt;
  if (!in || !out) return fail_error(why);
  const std::uint64_t others = why.number[0] - 1;
  if (in->key == out->key) {
    const std::string more = others == 0 ? "" : fmt::format(" and {}", number_of(others, "other key"));
    return fail_text(fmt::format("'{}' ({}, {}){} {} in both lists: a key is included or excluded, not both", in->text,
                                 in->place, out->place, more, others == 0 ? "is" : "are"));
  }
  return fail_text(fmt::format("'{}' ({}) and '{}' ({}) are different keys with the same digest: build with another {}",
                               in->text, in->place, out->text, out->place,
                               opts.has(flag::key_file) ? "--key-file" : "--seed, or a --hash of more bits"));
}

}  // namespace

outcome<built> build_static(const options& opts, const build_request& request) {
  const std::uint64_t room_bytes = available_memory_bytes() / 2;
  const auto keys = read_digests(opts, opts.operands(), request.hash(), 0, room_bytes);
  if (!keys) return failed(keys.error());
  digest_array excluded;
  const std::array files = {std::string(opts.text(flag::exclude))};
  if (request.excludes()) {
    auto read = read_digests(opts, files, request.hash(), keys->count * 8, room_bytes);
    if (!read) return failed(read.error());
    excluded = std::move(*read);
  }
  error why{};
  auto filter = request.build(keys->all(), excluded.all(), jobs_of(opts), why);
  if (!filter && why.code == errc::in_both_lists) return explain_both(opts, request, files, why);
  if (!filter) return failed(filter.error());
  built made{std::move(*filter)};
  made.keys_read = keys->count;
  made.keys_inserted = made.filter.shape().keys;
  made.keys_different = made.keys_inserted;
  if (request.excludes()) {
    made.excluded_read = excluded.count;
    made.excluded = made.filter.shape().capacity_keys - made.keys_inserted;
  }
  return made;
}

outcome<built> build_from_keys(const options& opts, const build_request& request) {
  auto reader = key_reader::make(opts, opts.operands(), request.hash());
  if (!reader) return failed(reader.error());
  if (auto done = reader->use(request.key_form()); !done) return failed(done.error());
  digest_stream stream(std::move(*reader), request.hash(), request.max_digest_bits());
  progress line(opts, "reading", stream.reader().total_bytes());
  const std::uint64_t room_bytes = available_memory_bytes() / 2;
  std::uint64_t taken_bytes = 0;
  key_arena arena;
  std::vector<std::string_view> keys;
  while (true) {
    const auto more = stream.next();
    if (!more) return failed(more.error());
    if (!*more) break;
    for (const std::string_view key : stream.keys()) {
      const auto copy = arena.take(key.size());
      std::copy(key.begin(), key.end(), copy.begin());
      keys.emplace_back(copy.data(), copy.size());
      taken_bytes += key.size() + sizeof(std::string_view);
    }
    if (taken_bytes > room_bytes) {
      return fail_text(
          fmt::format("{} keys and more do not fit into memory while they are sorted", with_commas(keys.size())));
    }
    line.update(stream.reader().bytes_taken(), keys.size());
  }
  line.finish();
  std::sort(keys.begin(), keys.end(), [&](std::string_view a, std::string_view b) { return request.is_before(a, b); });
  auto filter = request.build_keys(keys);
  if (!filter) return failed(filter.error());
  built made{std::move(*filter)};
  made.keys_read = keys.size();
  made.keys_inserted = made.filter.shape().keys;
  made.keys_different = made.keys_inserted;
  return made;
}

}  // namespace bloomery::cli

#include "cli/dedup/merge.hpp"

#include <functional>
#include <queue>
#include <utility>

namespace bloomery::cli {
namespace {

constexpr std::size_t batch_bytes = std::size_t{1} << 18U;
constexpr std::size_t merge_buffer_bytes = std::size_t{1} << 16U;

}  // namespace

outcome<void> append_spilled(spill_file& to, const dedup_entry& entry) {
  std::string front;
  append_number(front, entry.sequence);
  append_number(front, entry.key.size());
  if (auto done = to.append(front); !done) return done;
  if (auto done = to.append(entry.key); !done) return done;
  const bool same = entry.text == entry.key;
  front.clear();
  append_number(front, same ? 0 : entry.text.size() + 1);
  if (auto done = to.append(front); !done || same) return done;
  return to.append(entry.text);
}

outcome<void> append_survivor(spill_file& to, std::uint64_t sequence, std::uint64_t count, std::string_view text) {
  std::string line;
  survivor_sink(to).encode(line, sequence, count, text);
  return to.append(line);
}

void survivor_sink::encode(std::string& to, std::uint64_t sequence, std::uint64_t count, std::string_view text) const {
  append_number(to, sequence);
  append_number(to, count);
  append_number(to, text.size());
  to.append(text);
}

spilled_entries::spilled_entries(const spill_file& from) : reader_(from, batch_bytes) {}

outcome<std::span<const dedup_entry>> spilled_entries::next() {
  struct place {
    std::uint64_t sequence;
    std::size_t key_at;
    std::size_t key_size;
    std::size_t text_at;
    std::size_t text_size;
  };
  std::vector<place> places;
  bytes_.clear();
  while (!reader_.at_end() && bytes_.size() < batch_bytes) {
    const auto sequence = reader_.number();
    if (!sequence) return failed(sequence.error());
    const auto key_size = reader_.number();
    if (!key_size) return failed(key_size.error());
    const std::size_t key_at = bytes_.size();
    const auto key = reader_.bytes(*key_size);
    if (!key) return failed(key.error());
    bytes_.append(*key);
    const auto text_size = reader_.number();
    if (!text_size) return failed(text_size.error());
    place found{*sequence, key_at, key->size(), key_at, key->size()};
    if (*text_size != 0) {
      const auto text = reader_.bytes(*text_size - 1);
      if (!text) return failed(text.error());
      found.text_at = bytes_.size();
      found.text_size = text->size();
      bytes_.append(*text);
    }
    places.push_back(found);
  }
  // Only now, when the bytes move no more.
  entries_.clear();
  const std::string_view all = bytes_;
  for (const place& each : places) {
    entries_.push_back(
        {all.substr(each.key_at, each.key_size), all.substr(each.text_at, each.text_size), each.sequence});
  }
  return std::span<const dedup_entry>(entries_);
}

outcome<void> merge_survivors(std::span<const spill_file> survivors, dedup_sink& sink) {
  std::vector<spill_reader> readers;
  using head = std::pair<std::uint64_t, std::size_t>;  // sequence, reader
  std::priority_queue<head, std::vector<head>, std::greater<>> heads;
  const auto advance = [&](std::size_t index) -> outcome<void> {
    if (readers[index].at_end()) return {};
    const auto sequence = readers[index].number();
    if (!sequence) return failed(sequence.error());
    heads.emplace(*sequence, index);
    return {};
  };
  for (const spill_file& file : survivors) readers.emplace_back(file, merge_buffer_bytes);
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (auto done = advance(i); !done) return done;
  }
  std::string lines;
  while (!heads.empty()) {
    const auto [sequence, index] = heads.top();
    heads.pop();
    const auto count = readers[index].number();
    if (!count) return failed(count.error());
    const auto size = readers[index].number();
    if (!size) return failed(size.error());
    const auto text = readers[index].bytes(*size);
    if (!text) return failed(text.error());
    sink.encode(lines, sequence, *count, *text);
    if (auto done = advance(index); !done) return done;
    if (lines.size() < batch_bytes && !heads.empty()) continue;
    if (auto written = sink.write(lines); !written) return written;
    lines.clear();
  }
  return {};
}

}  // namespace bloomery::cli

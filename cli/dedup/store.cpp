#include "cli/dedup/store.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace bloomery::cli {
namespace {

constexpr std::uint32_t group_records = 16;
constexpr std::uint64_t max_group_bytes = std::uint64_t{1} << 20U;
// A call to read costs as much as copying about so many bytes.
constexpr std::uint64_t worth_bridging_bytes = 6144;
constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 20U;

// The key of record `index` of the group that `group` begins with; nothing when the bytes are not what was written.
std::optional<std::string_view> key_in_group(std::string_view group, bool with_texts, std::uint32_t index) {
  while (true) {
    std::uint64_t size = 0;
    if (!take_number(group, size) || size > group.size()) return {};
    if (index-- == 0) return group.substr(0, static_cast<std::size_t>(size));
    group.remove_prefix(static_cast<std::size_t>(size));
    if (!with_texts) continue;
    std::uint64_t sequence = 0;
    if (!take_number(group, sequence) || !take_number(group, size)) return {};
    if (size == 0) continue;
    if (size - 1 > group.size()) return {};
    group.remove_prefix(static_cast<std::size_t>(size - 1));
  }
}

struct order_of {
  std::uint32_t ordinal;
  std::uint32_t index;
};

// By ordinal; equal ones stay in order. Counting 11 bits at a time: comparing would cost more than the checks.
void sort_by_ordinal(std::vector<order_of>& all) {
  constexpr std::size_t worth_counting = 2048;
  if (all.size() < worth_counting) {
    std::stable_sort(all.begin(), all.end(), [](order_of a, order_of b) { return a.ordinal < b.ordinal; });
    return;
  }
  std::vector<order_of> other(all.size());
  for (unsigned shift = 0; shift < 32; shift += 11) {
    std::array<std::uint32_t, 2049> starts{};
    for (const order_of& each : all) ++starts[(each.ordinal >> shift & 2047U) + 1];
    for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
    for (const order_of& each : all) other[starts[each.ordinal >> shift & 2047U]++] = each;
    all.swap(other);
  }
}

}  // namespace

outcome<std::uint32_t> dedup_store::append(const dedup_entry& entry) {
  if (size_ % group_records == 0) groups_.push_back(file_.size_bytes());
  scratch_.clear();
  append_number(scratch_, entry.key.size());
  scratch_.append(entry.key);
  if (with_texts_) {
    append_number(scratch_, entry.sequence);
    const bool same = entry.text == entry.key;
    append_number(scratch_, same ? 0 : entry.text.size() + 1);
    if (!same) scratch_.append(entry.text);
  }
  if (auto done = file_.append(scratch_); !done) return failed(done.error());
  return static_cast<std::uint32_t>(size_++);
}

void dedup_store::adopt(std::uint64_t offset) {
  if (size_ % group_records == 0) groups_.push_back(offset);
  ++size_;
}

void dedup_store::locate(suspect& source) const {
  const std::size_t group = source.ordinal / group_records;
  const std::uint64_t end = group + 1 < groups_.size() ? groups_[group + 1] : file_.size_bytes();
  source.group_at = groups_[group];
  source.group_bytes =
      end - source.group_at > max_group_bytes ? unchecked_group : static_cast<std::uint32_t>(end - source.group_at);
}

outcome<bool> dedup_store::holds(std::uint32_t ordinal, std::string_view key) {
  if (auto done = file_.flush(); !done) return failed(done.error());
  suspect place{.ordinal = ordinal};
  locate(place);
  if (place.group_bytes <= max_group_bytes) {
    std::string group(place.group_bytes, '\0');
    if (auto done = file_.read(place.group_at, std::span(group)); !done) return failed(done.error());
    const auto stored = key_in_group(group, with_texts_, ordinal % group_records);
    return stored && *stored == key;
  }
  std::uint64_t at = place.group_at;
  std::array<char, max_number_bytes> front{};
  const auto number = [&]() -> outcome<std::uint64_t> {
    const std::size_t there =
        static_cast<std::size_t>(std::min<std::uint64_t>(front.size(), file_.flushed_bytes() - at));
    if (auto done = file_.read(at, std::span(front).first(there)); !done) return failed(done.error());
    std::string_view rest(front.data(), there);
    std::uint64_t value = 0;
    if (!take_number(rest, value)) return fail_file(file_.name(), "holds a damaged number");
    at += there - rest.size();
    return value;
  };
  for (std::uint32_t skip = ordinal % group_records;; --skip) {
    const auto size = number();
    if (!size) return failed(size.error());
    if (skip == 0) {
      if (*size != key.size()) return false;
      break;
    }
    at += *size;
    if (!with_texts_) continue;
    if (auto sequence = number(); !sequence) return failed(sequence.error());
    const auto text = number();
    if (!text) return failed(text.error());
    at += *text == 0 ? 0 : *text - 1;
  }
  std::string piece;
  while (!key.empty()) {
    piece.resize(std::min<std::size_t>(key.size(), piece_bytes));
    if (auto done = file_.read(at, std::span(piece)); !done) return failed(done.error());
    if (std::memcmp(piece.data(), key.data(), piece.size()) != 0) return false;
    at += piece.size();
    key.remove_prefix(piece.size());
  }
  return true;
}

stored_entries::stored_entries(const dedup_store& source) : reader_(source.file(), piece_bytes) {}

outcome<std::optional<dedup_entry>> stored_entries::next() {
  if (reader_.at_end()) return std::optional<dedup_entry>{};
  const auto key_size = reader_.number();
  if (!key_size) return failed(key_size.error());
  const auto key = reader_.bytes(*key_size);
  if (!key) return failed(key.error());
  key_.assign(*key);
  const auto sequence = reader_.number();
  if (!sequence) return failed(sequence.error());
  const auto size = reader_.number();
  if (!size) return failed(size.error());
  if (*size == 0) return std::optional(dedup_entry{key_, key_, *sequence});
  const auto text = reader_.bytes(*size - 1);
  if (!text) return failed(text.error());
  return std::optional(dedup_entry{key_, *text, *sequence});
}

outcome<std::vector<std::uint32_t>> refuted(const spill_file& file, bool with_texts, std::span<const suspect> suspects,
                                            std::string_view bytes) {
  std::vector<std::uint32_t> wrong;
  std::vector<order_of> order;
  order.reserve(suspects.size());
  for (std::uint32_t i = 0; i < suspects.size(); ++i) {
    if (suspects[i].group_bytes == dedup_store::unchecked_group) {
      wrong.push_back(i);
    } else {
      order.push_back({suspects[i].ordinal, i});
    }
  }
  sort_by_ordinal(order);
  constexpr std::size_t buffer_bytes = 2 * piece_bytes;
  const auto buffer = order.empty() ? nullptr : std::make_unique_for_overwrite<char[]>(buffer_bytes);
  for (std::size_t first = 0; first < order.size();) {
    // As many groups as are close together and fit.
    const std::uint64_t begin = suspects[order[first].index].group_at;
    std::uint64_t end = begin;
    std::size_t last = first;
    for (; last < order.size(); ++last) {
      const suspect& each = suspects[order[last].index];
      if (each.group_at > end + worth_bridging_bytes || each.group_at + each.group_bytes > begin + buffer_bytes) break;
      end = std::max(end, each.group_at + each.group_bytes);
    }
    const auto span = std::span(buffer.get(), static_cast<std::size_t>(end - begin));
    if (auto done = file.read(begin, span); !done) return failed(done.error());
    for (std::size_t i = first; i < last; ++i) {
      constexpr std::size_t ahead = 8;
      if (i + ahead < last) __builtin_prefetch(bytes.data() + suspects[order[i + ahead].index].key_at);
      const suspect& each = suspects[order[i].index];
      const std::string_view group(span.data() + (each.group_at - begin), each.group_bytes);
      const auto stored = key_in_group(group, with_texts, each.ordinal % group_records);
      const std::string_view key = bytes.substr(each.key_at, each.key_size);
      if (!stored || *stored != key) wrong.push_back(order[i].index);
    }
    first = last;
  }
  std::sort(wrong.begin(), wrong.end());
  return wrong;
}

}  // namespace bloomery::cli

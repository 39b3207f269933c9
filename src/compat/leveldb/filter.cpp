#include <bit>
#include <bloomery/compat/leveldb/filter.hpp>
#include <bloomery/compat/leveldb/windows.hpp>
#include <cmath>

namespace bloomery::inline BLOOMERY_ABI::leveldb {

namespace detail {

// What a look-up reads depends on the last byte; these lines come meanwhile. A filter of one line beside that of the last
// byte needs nothing: its line is adjacent.
inline void prefetch_lines(const std::byte* from, std::size_t size_bytes) noexcept {
  for (std::size_t at = 0; at < size_bytes; at += cache_line_bytes) __builtin_prefetch(from + at);
}

inline bool table_matches(std::span<const std::byte> filter, std::uint64_t digest) noexcept {
  const auto table = window_table::read(filter);
  if (table.groups == 0) return true;
  const std::uint64_t group = table.group_of(digest);
  // Groups are in the order of digests and of about the same size.
  const std::uint64_t about = fast_range(digest, table.place);
  const std::uint64_t from = about < most_window_bytes / 4 ? 0 : about - most_window_bytes / 4;
  prefetch_lines(filter.data() + to_size(from), most_window_bytes / 2);
  std::span<const std::byte> part;
  if (!table.part(group, part)) return true;
  if (part.empty()) return false;
  return !is_window_filter(part) || windows_match(part, digest);
}

}  // namespace detail

BLOOMERY_BODY bool may_match(std::span<const std::byte> filter, std::uint64_t digest) noexcept {
  if (filter.size() < 2) return false;
  if (is_window_filter(filter)) [[likely]] {
    detail::prefetch_lines(filter.data(), filter.size() - 1);
    return windows_match(filter, digest);
  }
  if (std::to_integer<unsigned>(filter.back()) != table_code) return true;
  return detail::table_matches(filter, digest);
}

BLOOMERY_BODY std::string_view name_of(filter_layout layout) noexcept {
  switch (layout) {
    case filter_layout::empty:
      return "empty";
    case filter_layout::builtin:
      return "builtin";
    case filter_layout::windows:
      return "windows";
    case filter_layout::table:
      return "table";
    case filter_layout::opaque:
      return "opaque";
  }
  return {};
}

BLOOMERY_BODY filter_description describe(std::span<const std::byte> filter) noexcept {
  if (filter.size() < 2) return {};
  const auto last = std::to_integer<unsigned>(filter.back());
  if (last <= most_hashes) {
    std::uint64_t set = 0;
    for (const std::byte byte : filter.first(filter.size() - 1)) {
      set += static_cast<unsigned>(std::popcount(std::to_integer<unsigned>(byte)));
    }
    const double fill = static_cast<double>(set) / (static_cast<double>(filter.size() - 1) * 8.0);
    return {.layout = filter_layout::builtin, .hashes = last, .fpr = std::pow(fill, last)};
  }
  if (is_window_filter(filter)) {
    const auto shape = window_shape::read(filter.size(), last);
    return {.layout = filter_layout::windows,
            .slot_bits = shape.slot_bits,
            .slots = shape.slots,
            .seed = shape.seed,
            .fpr = std::ldexp(1.0, -static_cast<int>(shape.slot_bits))};
  }
  const filter_description opaque{.layout = filter_layout::opaque, .fpr = 1.0};
  if (last != table_code) return opaque;
  const auto table = window_table::read(filter);
  if (table.groups == 0) return opaque;
  filter_description out{.layout = filter_layout::table, .slot_bits = most_slot_bits, .groups = table.groups};
  for (std::uint64_t g = 0; g < table.groups; ++g) {
    std::span<const std::byte> part;
    if (!table.part(g, part) || (!part.empty() && !is_window_filter(part))) {
      out.fpr += 1.0;
      continue;
    }
    if (part.empty()) continue;
    const auto shape = window_shape::read(part.size(), std::to_integer<unsigned>(part.back()));
    out.slot_bits = std::min(out.slot_bits, shape.slot_bits);
    out.slots += shape.slots;
    out.fpr += std::ldexp(1.0, -static_cast<int>(shape.slot_bits));
  }
  out.fpr /= static_cast<double>(table.groups);
  return out;
}

namespace detail {

inline void explain_builtin(explanation& out, std::span<const std::byte> filter, std::uint32_t hash,
                            const explained_part& part) noexcept {
  if (filter.size() < 2) return out.add_note(part, "it holds no keys", false);
  const std::uint64_t bits = (filter.size() - 1) * std::uint64_t{8};
  const auto k = std::to_integer<unsigned>(filter.back());
  const auto value = [filter](std::uint64_t bit) { return builtin_bit(filter, bit); };
  builtin_walk walk(hash);
  out.begin({.part = part});
  for (unsigned i = 0; i < k; ++i) out.add(probe_of_bit(walk.next() % bits, value, part.first_byte));
  out.draw(0, bits, value);
  out.end();
}

inline void explain_windows(explanation& out, std::span<const std::byte> filter, std::uint64_t digest,
                            const explained_part& part) noexcept {
  const auto shape = window_shape::read(filter.size(), std::to_integer<unsigned>(filter.back()));
  const window_key key(window_hash(digest), is_late(digest, shape), shape.seed);
  const unsigned r = shape.slot_bits;
  const std::uint64_t low = (std::uint64_t{1} << r) - 1;
  out.begin({.part = part, .rule = probe_rule::xor_sum, .expected = digest & low});
  for (unsigned i = 0; i < windows_of_key; ++i) {
    const std::uint32_t first = key.first_slot(i, shape.slots);
    const std::uint64_t window = window_at(filter, first * r);
    for (unsigned k = 0; k < window_slots; ++k) {
      if ((key.mask(r) >> k & 1U) == 0) continue;
      const std::uint64_t byte = (std::uint64_t{first} + k) * r / 8;
      out.add({.position = first + k,
               .byte_offset = byte < filter.size() ? part.first_byte + byte : lookup_probe::no_offset,
               .read = window >> k * r & low,
               .unit = probe_unit::slot});
    }
  }
  out.end();
}

}  // namespace detail

BLOOMERY_BODY void explain(explanation& out, std::span<const std::byte> filter, const key_digests& digests,
                           const explained_part& part) noexcept {
  if (is_builtin(filter)) return detail::explain_builtin(out, filter, digests.builtin, part);
  if (is_window_filter(filter)) return detail::explain_windows(out, filter, digests.windows, part);
  const explained_part whole = part;
  const bool is_table = std::to_integer<unsigned>(filter.back()) == table_code;
  const auto table = is_table ? window_table::read(filter) : window_table{};
  if (table.groups == 0) return out.add_note(whole, "it has an encoding for later, and matches every key", true);
  const std::uint64_t group = table.group_of(digests.windows);
  std::span<const std::byte> bytes;
  const bool is_there = table.part(group, bytes);
  if (is_there && bytes.empty()) return out.add_note(whole, "the key's group holds no keys", false);
  if (!is_there || !is_window_filter(bytes)) {
    return out.add_note(whole, "the key's group is damaged, and matches every key", true);
  }
  explained_part inner = part;
  inner.first_byte += table.start_of(group);
  detail::explain_windows(out, bytes, digests.windows, inner);
}

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb

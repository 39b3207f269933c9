// kinds/scalable/chain.hpp: a chain of filters that grows by a sub-filter when the newest one is full, over any kind of
// sub-filter.
//
// A key that no sub-filter may hold goes into the newest sub-filter; what some sub-filter may hold changes nothing. A
// sub-filter is full when it has taken as many keys as it was made for, its capacity. Then, for a key that no
// sub-filter may hold, a sub-filter of `growth` times the capacity is made. A rule defines what sub-filters are, and
// which share of the chain's FPR each gets. Shares add up to at most 1, and the FPR of a chain is at most the sum of
// its sub-filters' FPRs, so that it keeps its FPR after any growth. Small sub-filters of layout redis deliver more than
// their share, because their sizes are RedisBloom's: delivered_fpr() reports how much.
//
//     blocked_sub_filters   sub-filters of kind blocked, layout split64; sub-filter i gets the share
//                           6 / (pi (i + 1))^2. The shares fall with the square of the number of sub-filters: a chain
//                           that has grown tenfold pays for FPRs of 1/200, not of 1/2048 as with halving.
//     redis_sub_filters     sub-filters of kinds/scalable/redis_sub_filter.hpp; sub-filter i gets the share
//                           1 / 2^(i + 1).
//
// A digest is the same for all sub-filters. A single look-up prefetches the lines of all sub-filters and reads the
// newest first; a batch queries sub-filter after sub-filter, newest first, for a group of digests whose lines are
// prefetched, and when many of them have been found continues with the others only.
//
// Memory        each sub-filter has memory of its own: growing moves nothing. When it is refused, the chain is as it
//               was.
// Work          sizing a blocked sub-filter takes milliseconds. With growth 1 and a small first capacity there is a
//               sub-filter for every few keys, so a small one that needs no more bits than the one before takes its
//               size from that, and a chain that can grow no further does not try again. Loading refuses a capacity
//               that the bits of a sub-filter cannot hold at its FPR.
// Bytes         a table, 32 bytes for each sub-filter: keys, blocks (split64) or bits (redis), hash functions, 0; zeros
//               to a multiple of 64. Then the sub-filters' bytes, each followed by zeros to a multiple of 64.
//               Capacities and FPRs follow from the first capacity, the growth factor and the FPR; sizes are not
//               computed again, because the last digit of a logarithm differs between machines.
#pragma once

#include <bit>
#include <bloomery/core/aligned_list.hpp>
#include <bloomery/kinds/scalable/chain_rules.hpp>

namespace bloomery::inline BLOOMERY_ABI {

template <class Rule>
class chain {
 public:
  using digest = typename Rule::digest;
  struct sub_filter {
    typename Rule::sub_filter filter;
    std::uint64_t capacity = 0;
    std::uint64_t keys = 0;
    double full_fpr = 0;  // when it holds its capacity; 0: unknown
    [[nodiscard]] std::uint64_t room() const noexcept { return keys < capacity ? capacity - keys : 0; }
  };
  static constexpr std::size_t max_sub_filters = 1024;
  static constexpr std::uint64_t record_bytes = 32;

  chain() noexcept = default;
  static result<chain> make(const chain_settings& settings) noexcept {
    chain made;
    made.settings_ = settings;
    if (auto first = made.add_sub_filter(settings.first_keys); !first) return fail(first.error());
    return made;
  }
  [[nodiscard]] result<chain> clone() const noexcept;

  insert_result insert(const digest& given) noexcept {
    if (may_contain(given)) return insert_result::present;
    if (sub_filters_.back().room() == 0 && !grow()) return insert_result::full;
    sub_filters_.back().filter.insert(given);
    ++sub_filters_.back().keys;
    return insert_result::inserted;
  }
  batch_outcome insert_until_full(std::span<const digest> digests) noexcept;
  [[nodiscard]] bool may_contain(const digest& given) const noexcept;
  void may_contain_batch(std::span<const digest> digests, std::span<std::uint64_t> mask) const noexcept {
    for (std::size_t first = 0; first < digests.size(); first += group) {
      const auto here = digests.subspan(first, std::min(group, digests.size() - first));
      ask(here, sub_filters_.size(), mask.data() + first / 64);
    }
  }

  // In kinds/scalable/chain_merge.hpp. The union, sub-filter by sub-filter. Where it would leave a sub-filter above its
  // share of the FPR, it is refused unless any FPR is accepted.
  result<void> merge(const chain& other, merge_fpr rate) noexcept;
  void clear() noexcept {
    sub_filters_.shrink(1);
    sub_filters_[0].filter.clear();
    sub_filters_[0].keys = 0;
    keys_exact_ = true;
    ended_ = false;
  }
  // Sub-filters of the same sizes with the same bits.
  friend bool operator==(const chain& a, const chain& b) noexcept {
    return a.same_settings(b) &&
           std::equal(a.sub_filters_.begin(), a.sub_filters_.end(), b.sub_filters_.begin(), b.sub_filters_.end(),
                      [](const sub_filter& x, const sub_filter& y) { return x.filter == y.filter; });
  }

  [[nodiscard]] const chain_settings& settings() const noexcept { return settings_; }
  [[nodiscard]] const aligned_list<sub_filter>& sub_filters() const noexcept { return sub_filters_; }
  [[nodiscard]] double rate_of(std::size_t index) const noexcept {
    return settings_.scales ? settings_.fpr * Rule::share(index) : settings_.fpr;
  }
  [[nodiscard]] key_count keys() const noexcept {
    key_count all{0, keys_exact_};
    for (const sub_filter& each : sub_filters_) all.keys += each.keys;
    return all;
  }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    std::uint64_t bytes = 0;
    for (const sub_filter& each : sub_filters_) bytes += each.filter.payload().size();
    return bytes;
  }
  [[nodiscard]] double fill() const noexcept {
    double set_bytes = 0;
    for (const sub_filter& each : sub_filters_)
      set_bytes += each.filter.fill() * static_cast<double>(each.filter.payload().size());
    return sub_filters_.size() == 0 ? 0.0 : set_bytes / static_cast<double>(memory_bytes());
  }
  [[nodiscard]] double fpr_now() const noexcept {
    double none = 1;  // that no sub-filter answers yes
    for (const sub_filter& each : sub_filters_) none *= 1 - each.filter.fpr_now();
    return 1 - none;
  }
  // What the sub-filters deliver when each holds its capacity; 0 where they are sized for their shares.
  [[nodiscard]] double delivered_fpr() const noexcept {
    if constexpr (requires(const sub_filter& each) { each.filter.expected_fpr(each.capacity); }) {
      double none = 1;
      for (const sub_filter& each : sub_filters_) none *= 1 - each.filter.expected_fpr(each.capacity);
      return 1 - none;
    } else {
      return 0;
    }
  }
  // What the sub-filters hold, and the keys that earlier sub-filters answered yes to by mistake while a sub-filter was
  // filled.
  [[nodiscard]] double estimated_keys() const noexcept {
    double keys = 0;
    double none = 1;
    for (const sub_filter& each : sub_filters_) {
      keys += each.filter.estimated_keys() / std::max(none, 1e-9);
      none *= 1 - each.filter.fpr_now();
    }
    return keys;
  }

  // The bytes described above.
  [[nodiscard]] std::uint64_t stored_bytes() const noexcept {
    std::uint64_t bytes = table_bytes(sub_filters_.size());
    for (const sub_filter& each : sub_filters_) bytes += in_lines(each.filter.payload().size());
    return bytes;
  }
  void store(std::span<std::byte> out) const noexcept;
  static constexpr std::uint64_t table_bytes(std::uint64_t sub_filters) noexcept {
    return in_lines(sub_filters * record_bytes);
  }
  // A chain over bytes that are stored elsewhere, or, with `owned`, over those that it keeps. `keys` is what its
  // sub-filters hold.
  static result<chain> over(const chain_settings& settings, const stored_shape& shape, std::uint64_t sub_filters,
                            std::span<const std::byte> bytes, aligned_buffer owned = {}) noexcept;
  // Calls f(first byte, size) for every stored part that a look-up may read: the table, which holds where sub-filters
  // are, too.
  template <class F>
  void for_each_touched(const digest& given, F&& f) const {
    f(std::uint64_t{0}, table_bytes(sub_filters_.size()));
    std::uint64_t start = table_bytes(sub_filters_.size());
    for (const sub_filter& each : sub_filters_) {
      each.filter.for_each_touched(given, [&](std::uint64_t at, std::uint64_t size) { f(start + at, size); });
      start += in_lines(each.filter.payload().size());
    }
  }

 private:
  static constexpr std::size_t group = 1024;
  // Up to here the sizing finds the very same bits; beyond, where it stops a few blocks above the least, a sub-filter
  // takes enough keys for its sizing not to matter.
  static constexpr std::uint64_t small_sub_filter_bytes = 8 * cache_line_bytes;
  using group_mask = std::array<std::uint64_t, mask_words(group)>;

  static constexpr std::uint64_t in_lines(std::uint64_t bytes) noexcept {
    return (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
  }
  [[nodiscard]] bool same_settings(const chain& other) const noexcept {
    return settings_.first_keys == other.settings_.first_keys && settings_.growth == other.settings_.growth &&
           settings_.fpr == other.settings_.fpr && settings_.scales == other.settings_.scales;
  }
  [[nodiscard]] result<sub_filter> sized_sub_filter(std::uint64_t capacity) const noexcept;
  result<void> add_sub_filter(std::uint64_t capacity) noexcept;
  bool grow() noexcept {
    if (!settings_.scales || ended_ || sub_filters_.size() == max_sub_filters) return false;
    const std::uint64_t last = sub_filters_.back().capacity;
    if (last > max_keys / settings_.growth) return false;
    const auto added = add_sub_filter(last * settings_.growth);
    ended_ = !added && added.error().code != errc::out_of_memory;
    return added.has_value();
  }
  void ask(std::span<const digest> digests, std::size_t end, std::uint64_t* mask) const noexcept;
  batch_outcome insert_group(std::span<const digest> digests) noexcept;
  [[nodiscard]] result<void> check_union(const chain& other) const noexcept;
  result<void> unite(const chain& other) noexcept;

  chain_settings settings_;
  aligned_list<sub_filter> sub_filters_;
  aligned_buffer owned_;  // the bytes of loaded sub-filters
  bool keys_exact_ = true;
  bool ended_ = false;  // no filter has the FPR of a next sub-filter
};

// The next sub-filter. Fewer bits than the sub-filter before cannot do for as many keys at a lower FPR.
template <class Rule>
result<typename chain<Rule>::sub_filter> chain<Rule>::sized_sub_filter(std::uint64_t capacity) const noexcept {
  const double rate = rate_of(sub_filters_.size());
  if constexpr (!Rule::slow_sizing) {
    auto made = Rule::sub_filter::make({.keys = capacity, .fpr = rate, .memory = settings_.memory});
    if (!made) return fail(made.error());
    return sub_filter{std::move(*made), capacity, 0};
  } else {
    if (sub_filters_.size() != 0) {
      const sub_filter& last = sub_filters_.back();
      const bool is_small = last.filter.payload().size() <= small_sub_filter_bytes;
      if (is_small && last.capacity == capacity && last.full_fpr > 0 && last.full_fpr <= rate) {
        auto copy = last.filter.clone();
        if (!copy) return fail(copy.error());
        copy->clear();
        return sub_filter{std::move(*copy), capacity, 0, last.full_fpr};
      }
    }
    const auto plan = Rule::sub_filter::plan({.keys = capacity, .fpr = rate});
    if (!plan) return fail(plan.error());
    auto made = Rule::sub_filter::make(
        {.keys = capacity, .bits = plan->bits, .hashes = plan->hashes, .memory = settings_.memory});
    if (!made) return fail(made.error());
    return sub_filter{std::move(*made), capacity, 0, plan->fpr};
  }
}

template <class Rule>
result<void> chain<Rule>::add_sub_filter(std::uint64_t capacity) noexcept {
  if (auto room = sub_filters_.reserve(sub_filters_.size() + 1, "the filter", settings_.memory); !room) return room;
  auto made = sized_sub_filter(capacity);
  if (!made) return fail(made.error());
  sub_filters_.push(std::move(*made));
  return {};
}

template <class Rule>
result<chain<Rule>> chain<Rule>::clone() const noexcept {
  chain copy;
  copy.settings_ = settings_;
  copy.keys_exact_ = keys_exact_;
  if (auto room = copy.sub_filters_.reserve(sub_filters_.size(), "a copy of the filter", settings_.memory); !room) {
    return fail(room.error());
  }
  for (const sub_filter& each : sub_filters_) {
    auto filter = each.filter.clone();
    if (!filter) return fail(filter.error());
    copy.sub_filters_.push({std::move(*filter), each.capacity, each.keys});
  }
  return copy;
}

template <class Rule>
bool chain<Rule>::may_contain(const digest& given) const noexcept {
  if constexpr (Rule::sends_ahead) {
    for (const sub_filter& each : sub_filters_) {
      const std::byte* bytes = each.filter.payload().data();
      each.filter.for_each_touched(given, [&](std::uint64_t at, std::uint64_t) { __builtin_prefetch(bytes + at); });
    }
  }
  for (std::size_t i = sub_filters_.size(); i-- > 0;) {
    if (sub_filters_[i].filter.may_contain(given)) return true;
  }
  return false;
}

// Queries the sub-filters before `end`, newest first. The digests that are left are packed when an eighth of them was
// found: rarer finds, such as false positives, cost less when they are looked up again.
template <class Rule>
void chain<Rule>::ask(std::span<const digest> digests, std::size_t end, std::uint64_t* mask) const noexcept {
  std::array<digest, group> packed;
  std::array<std::uint16_t, group> place;  // in the group, of what is packed
  group_mask found;
  std::span<const digest> left = digests;
  bool is_packed = false;
  for (std::size_t word = 0; word < mask_words(digests.size()); ++word) mask[word] = 0;
  for (std::size_t i = end; i-- > 0 && !left.empty();) {
    sub_filters_[i].filter.may_contain_batch(left, found);
    std::size_t finds = 0;
    for (std::size_t word = 0; word < mask_words(left.size()); ++word) {
      finds += static_cast<std::size_t>(std::popcount(found[word]));
      if (!is_packed) mask[word] |= found[word];
    }
    if (!is_packed && finds * 8 < left.size()) continue;
    std::size_t kept = 0;
    for (std::size_t n = 0; n < left.size(); ++n) {
      const std::size_t at = is_packed ? place[n] : n;
      const std::uint64_t hit = found[n / 64] >> (n % 64) & 1U;
      mask[at / 64] |= hit << (at % 64);
      packed[kept] = left[n];
      place[kept] = static_cast<std::uint16_t>(at);
      kept += 1 - hit;
    }
    is_packed = true;
    left = std::span<const digest>(packed).first(kept);
  }
}

// Until the newest sub-filter is full for a digest that no sub-filter may hold. The sub-filters before it do not change
// meanwhile.
template <class Rule>
batch_outcome chain<Rule>::insert_group(std::span<const digest> digests) noexcept {
  std::array<digest, group> left;
  std::array<std::uint16_t, group> place;
  group_mask found;
  ask(digests, sub_filters_.size() - 1, found.data());
  std::size_t count = 0;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    left[count] = digests[i];
    place[count] = static_cast<std::uint16_t>(i);
    count += 1 - (found[i / 64] >> (i % 64) & 1U);
  }
  sub_filter& newest = sub_filters_.back();
  batch_outcome outcome{digests.size(), 0};
  for (std::size_t i = 0; i < count;) {
    const std::uint64_t fit = std::min<std::uint64_t>(newest.room(), count - i);
    if (fit == 0) {
      if (!newest.filter.may_contain(left[i])) return {place[i], outcome.inserted};
      ++i;
      continue;
    }
    const std::uint64_t inserted = newest.filter.insert_batch(std::span<const digest>(left).subspan(i, fit));
    newest.keys += inserted;
    outcome.inserted += inserted;
    i += fit;
  }
  return outcome;
}

template <class Rule>
batch_outcome chain<Rule>::insert_until_full(std::span<const digest> digests) noexcept {
  batch_outcome all;
  while (all.taken < digests.size()) {
    // What comes after the next growth is looked up again: no more of it than the sub-filter has space for, twice.
    const std::size_t wish =
        std::max<std::uint64_t>(64, std::min<std::uint64_t>(group, 2 * sub_filters_.back().room()));
    const auto here = digests.subspan(all.taken, std::min(wish, digests.size() - all.taken));
    const batch_outcome some = insert_group(here);
    all.taken += some.taken;
    all.inserted += some.inserted;
    if (some.taken < here.size() && !grow()) break;
  }
  return all;
}

template <class Rule>
void chain<Rule>::store(std::span<std::byte> out) const noexcept {
  std::memset(out.data(), 0, out.size());
  std::byte* record = out.data();
  std::byte* to = out.data() + table_bytes(sub_filters_.size());
  for (const sub_filter& each : sub_filters_) {
    const auto field = each.filter.shape().field;
    const auto bytes = each.filter.payload();
    store_le(record, each.keys);
    store_le(record + 8, field[0]);
    store_le(record + 16, field[1]);
    std::memcpy(to, bytes.data(), bytes.size());
    record += record_bytes;
    to += in_lines(bytes.size());
  }
}

template <class Rule>
result<chain<Rule>> chain<Rule>::over(const chain_settings& settings, const stored_shape& shape,
                                      std::uint64_t sub_filters, std::span<const std::byte> bytes,
                                      aligned_buffer owned) noexcept {
  chain made;
  made.settings_ = settings;
  made.keys_exact_ = shape.keys_exact;
  if (auto room = made.sub_filters_.reserve(sub_filters, "the filter", settings.memory); !room)
    return fail(room.error());
  std::uint64_t start = table_bytes(sub_filters);
  std::uint64_t capacity = settings.first_keys;
  std::uint64_t keys = 0;
  for (std::uint64_t i = 0; i < sub_filters; ++i) {
    const std::byte* record = bytes.data() + i * record_bytes;
    stored_shape of{.digest_bits = Rule::digest_bits};
    of.keys = load_le<std::uint64_t>(record);
    of.field[0] = load_le<std::uint64_t>(record + 8);
    of.field[1] = load_le<std::uint64_t>(record + 16);
    if (load_le<std::uint64_t>(record + 24) != 0) return fail(errc::bad_field, "unused number of a sub-filter", {i});
    if (of.keys > max_keys - keys || (shape.keys_exact && of.keys > capacity)) {
      return fail(errc::bad_field, "keys of a sub-filter", {of.keys});
    }
    const auto size = Rule::sub_filter::payload_bytes(of);
    if (!size) return fail(size.error());
    if (*size > bytes.size() - start) return fail(errc::bad_field, "size of a sub-filter", {of.field[0]});
    // No filter of these bits holds so many keys at this FPR: the information-theoretic bound, with a margin.
    if (!(static_cast<double>(capacity) * -std::log2(made.rate_of(i)) <= 16.0 * static_cast<double>(*size))) {
      return fail(errc::bad_field, "capacity of a sub-filter", {capacity});
    }
    auto filter = Rule::sub_filter::view(of, bytes.subspan(start, *size));
    if (!filter) return fail(filter.error());
    made.sub_filters_.push({std::move(*filter), capacity, of.keys});
    keys += of.keys;
    start += in_lines(*size);
    if (start > bytes.size()) return fail(errc::bad_field, "size of a sub-filter", {of.field[0]});
    if (i + 1 == sub_filters) break;
    if (capacity > max_keys / settings.growth) return fail(errc::bad_field, "sub-filters", {sub_filters});
    capacity *= settings.growth;
  }
  if (start != bytes.size()) return fail(errc::bad_field, "payload bytes", {bytes.size()});
  if (keys != shape.keys) return fail(errc::bad_field, "keys", {shape.keys});
  made.owned_ = std::move(owned);
  return made;
}

}  // namespace bloomery::inline BLOOMERY_ABI

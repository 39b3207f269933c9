// kinds/chain.hpp: a chain of sub-filters that grows: the one of kind scalable, of wrappers/adaptive.hpp and of
// RedisBloom's filters (src/formats/).
//
// Keys go into the newest sub-filter; a key may be there when any sub-filter says so. Look-ups read the newest first: it
// is the largest, and holds the keys of the last time. When the newest has no space, a further one is made, whose size
// the rule states. A Rule has
//
//     using sub_filter = ...;                                             // movable
//     const memory_hooks* memory() const;                                 // of the list of sub-filters
//     std::size_t most_sub_filters() const;
//     result<sub_filter> next(const filter_chain<Rule>& chain);           // after those of the chain
//     result<sub_filter> clone(const sub_filter&) const;
//     void clear(sub_filter&);                                            // the first: the others are gone
//     bool equal(const sub_filter&, const sub_filter&) const;
//     bool contains(const sub_filter&, const Digest&) const;              // for every type of digest that it takes
//     void contains_batch(const sub_filter&, std::span<const Digest>, std::span<std::uint64_t> mask) const;  // may
//     void prefetch(const sub_filter&, const Digest&) const;              // may: where it is less than a look-up
//
// and, where a key goes into the newest sub-filter alone and only if no sub-filter may hold it:
//
//     std::uint64_t room(const sub_filter&) const;                        // keys until it is full
//     void insert(sub_filter&, const Digest&) const;                      // new to it, and there is room
//     std::uint64_t add_batch(sub_filter&, std::span<const Digest>) const;   // may: how many were new
//
// A batch queries sub-filter after sub-filter, newest first, for a group of digests, and when many of them have been
// found continues with the others only.
//
// Memory        each sub-filter has memory of its own: growing moves none of it. When it is refused, the chain is as it
//               was.
// Threads       one writer, or any number of readers.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/core/aligned_list.hpp>
#include <bloomery/kinds/concept.hpp>
#include <span>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {

template <class Rule>
class filter_chain {
 public:
  using sub_filter = typename Rule::sub_filter;

  filter_chain() noexcept = default;
  explicit filter_chain(Rule rule, aligned_list<sub_filter> sub_filters = {}) noexcept
      : rule_(std::move(rule)), list_(std::move(sub_filters)) {}

  [[nodiscard]] const Rule& rule() const noexcept { return rule_; }
  [[nodiscard]] Rule& rule() noexcept { return rule_; }
  [[nodiscard]] std::size_t size() const noexcept { return list_.size(); }
  [[nodiscard]] const sub_filter& operator[](std::size_t index) const noexcept { return list_[index]; }
  [[nodiscard]] sub_filter& operator[](std::size_t index) noexcept { return list_[index]; }
  [[nodiscard]] const sub_filter& newest() const noexcept { return list_.back(); }
  [[nodiscard]] sub_filter& newest() noexcept { return list_.back(); }
  [[nodiscard]] const sub_filter* begin() const noexcept { return list_.begin(); }
  [[nodiscard]] const sub_filter* end() const noexcept { return list_.end(); }

  // For chains that are read or merged. `push` needs space.
  result<void> reserve(std::uint64_t count, std::string_view what = "the filter") noexcept {
    return list_.reserve(count, what, rule_.memory());
  }
  void push(sub_filter next) noexcept { list_.push(std::move(next)); }
  void shrink(std::size_t count) noexcept { list_.shrink(count); }

  // A further sub-filter. An error: there are as many as the rule allows, none has the size, or memory is refused.
  result<void> grow() noexcept {
    if (size() >= rule_.most_sub_filters()) return fail(errc::full, {}, {size()});
    if (auto room = reserve(size() + 1); !room) return room;
    auto next = rule_.next(*this);
    if (!next) return fail(next.error());
    push(std::move(*next));
    return {};
  }

  template <class Digest>
  [[nodiscard]] bool may_contain(const Digest& digest) const noexcept {
    if constexpr (requires(const sub_filter& each) { rule_.prefetch(each, digest); }) {
      for (const sub_filter& each : list_) rule_.prefetch(each, digest);
    }
    for (std::size_t i = size(); i-- > 0;) {
      if (rule_.contains(list_[i], digest)) return true;
    }
    return false;
  }
  // Bit i of the mask answers digest i; the mask holds mask_words(digests.size()) words.
  template <class Digest>
  void may_contain_batch(std::span<const Digest> digests, std::span<std::uint64_t> mask) const noexcept {
    constexpr std::size_t most = group_of<Digest>;
    for (std::size_t first = 0; first < digests.size(); first += most) {
      const auto here = digests.subspan(first, std::min(most, digests.size() - first));
      query(here, size(), mask.data() + first / 64);
    }
  }

  // What some sub-filter may hold changes nothing.
  template <class Digest>
  insert_result insert(const Digest& digest) noexcept {
    if (may_contain(digest)) return insert_result::present;
    if (rule_.room(newest()) == 0 && !grow()) return insert_result::full;
    rule_.insert(newest(), digest);
    return insert_result::inserted;
  }
  template <class Digest>
  batch_outcome add_until_full(std::span<const Digest> digests) noexcept;

  void clear() noexcept {
    shrink(1);
    rule_.clear(list_[0]);
  }
  [[nodiscard]] result<filter_chain> clone() const noexcept {
    filter_chain copy(rule_);
    if (auto room = copy.reserve(size(), "a copy of the filter"); !room) return fail(room.error());
    for (const sub_filter& each : list_) {
      auto one = rule_.clone(each);
      if (!one) return fail(one.error());
      copy.push(std::move(*one));
    }
    return copy;
  }
  // Whether all sub-filters are.
  friend bool operator==(const filter_chain& a, const filter_chain& b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const sub_filter& x, const sub_filter& y) { return a.rule_.equal(x, y); });
  }

  // f(sub-filter) of all, added up.
  template <class F>
  [[nodiscard]] auto sum(F&& f) const noexcept {
    std::remove_cvref_t<decltype(f(list_[0]))> all = 0;
    for (const sub_filter& each : list_) all += f(each);
    return all;
  }
  // The FPR of the chain, from f(sub-filter), the FPR of each.
  template <class F>
  [[nodiscard]] double joint_fpr(F&& f) const noexcept {
    double none = 1;  // that no sub-filter answers yes
    for (const sub_filter& each : list_) none *= 1 - f(each);
    return 1 - none;
  }

 private:
  // As many as take 8 KiB on the stack, in whole words of the mask.
  static constexpr std::size_t group = 1024;
  template <class Digest>
  static constexpr std::size_t group_of = group * sizeof(std::uint64_t) / sizeof(Digest) / 64 * 64;
  using group_mask = std::array<std::uint64_t, mask_words(group)>;

  template <class Digest>
  void contains_batch(const sub_filter& in, std::span<const Digest> digests, group_mask& mask) const noexcept {
    if constexpr (requires { rule_.contains_batch(in, digests, mask); }) {
      rule_.contains_batch(in, digests, mask);
    } else {
      for (std::size_t word = 0; word < mask_words(digests.size()); ++word) mask[word] = 0;
      for (std::size_t i = 0; i < digests.size(); ++i) {
        mask[i / 64] |= std::uint64_t{rule_.contains(in, digests[i]) ? 1U : 0U} << (i % 64);
      }
    }
  }
  template <class Digest>
  std::uint64_t add_batch(std::span<const Digest> digests) noexcept {
    if constexpr (requires { rule_.add_batch(newest(), digests); }) {
      return rule_.add_batch(newest(), digests);
    } else {
      std::uint64_t inserted = 0;
      for (const Digest& digest : digests) {
        if (rule_.contains(newest(), digest)) continue;
        rule_.insert(newest(), digest);
        ++inserted;
      }
      return inserted;
    }
  }
  template <class Digest>
  void query(std::span<const Digest> digests, std::size_t end, std::uint64_t* mask) const noexcept;
  template <class Digest>
  batch_outcome insert_group(std::span<const Digest> digests) noexcept;

  Rule rule_{};
  aligned_list<sub_filter> list_{};
};

// Queries the sub-filters before `end`, newest first. The digests that are left are packed when an eighth of them was
// found: rarer finds, such as false positives, cost less when they are looked up again.
template <class Rule>
template <class Digest>
__attribute__((noinline)) void filter_chain<Rule>::query(std::span<const Digest> digests, std::size_t end,
                                                         std::uint64_t* mask) const noexcept {
  std::array<Digest, group_of<Digest>> packed;
  std::array<std::uint16_t, group_of<Digest>> place;  // in the group, of what is packed
  group_mask found;
  std::span<const Digest> left = digests;
  bool is_packed = false;
  for (std::size_t word = 0; word < mask_words(digests.size()); ++word) mask[word] = 0;
  for (std::size_t i = end; i-- > 0 && !left.empty();) {
    contains_batch(list_[i], left, found);
    std::size_t finds = 0;
    for (std::size_t word = 0; word < mask_words(left.size()); ++word) {
      finds += static_cast<std::size_t>(std::popcount(found[word]));
      if (!is_packed) mask[word] |= found[word];
    }
    if (i == 0 && !is_packed) break;
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
    left = std::span<const Digest>(packed).first(kept);
  }
}

// Until the newest sub-filter is full for a digest that no sub-filter may hold. The sub-filters before it do not change
// meanwhile.
template <class Rule>
template <class Digest>
batch_outcome filter_chain<Rule>::insert_group(std::span<const Digest> digests) noexcept {
  std::array<Digest, group_of<Digest>> left;
  std::array<std::uint16_t, group_of<Digest>> place;
  group_mask found;
  query(digests, size() - 1, found.data());
  std::size_t count = 0;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    left[count] = digests[i];
    place[count] = static_cast<std::uint16_t>(i);
    count += 1 - (found[i / 64] >> (i % 64) & 1U);
  }
  batch_outcome outcome{digests.size(), 0};
  for (std::size_t i = 0; i < count;) {
    const std::size_t fit = to_size(std::min<std::uint64_t>(rule_.room(newest()), count - i));
    if (fit == 0) {
      if (!rule_.contains(newest(), left[i])) return {place[i], outcome.inserted};
      ++i;
      continue;
    }
    outcome.inserted += add_batch(std::span<const Digest>(left).subspan(i, fit));
    i += fit;
  }
  return outcome;
}

template <class Rule>
template <class Digest>
batch_outcome filter_chain<Rule>::add_until_full(std::span<const Digest> digests) noexcept {
  batch_outcome all;
  while (all.taken < digests.size()) {
    // What comes after the next growth is looked up again: no more of it than the sub-filter has space for, twice.
    const std::size_t wish =
        to_size(std::clamp<std::uint64_t>(2 * std::min(rule_.room(newest()), max_keys), 64, group_of<Digest>));
    const auto here = digests.subspan(all.taken, std::min(wish, digests.size() - all.taken));
    const batch_outcome some = insert_group(here);
    all.taken += some.taken;
    all.inserted += some.inserted;
    if (some.taken < here.size() && !grow()) break;
  }
  return all;
}

}  // namespace bloomery::inline BLOOMERY_ABI

// wrappers/adaptive/sub_filters.hpp: the filters of wrappers/adaptive.hpp: one, or a chain of them, and how they are
// made again from a source of keys.
//
// Sub-filters are of one kind. Keys go into the newest; a key is there when any sub-filter reports it. A digest of 64
// bits is made once for all sub-filters, one of 128 bits for each sub-filter that takes such.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/core/aligned_list.hpp>
#include <bloomery/core/recent_keys.hpp>
#include <bloomery/filter.hpp>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace bloomery::inline BLOOMERY_ABI {

// What further filters are made like. Texts are copied: those of the caller may be gone by then.
class adaptive_growth {
 public:
  explicit adaptive_growth(const filter_params& like) noexcept : like_(like) {
    copy(like.layout, layout_);
    copy(like.mode, mode_);
  }
  [[nodiscard]] filter_params params(std::uint64_t keys, double fpr) const noexcept {
    filter_params made = like_;
    made.keys = keys;
    made.fpr = fpr;
    made.bits.reset();
    made.hashes.reset();
    made.bits_per_key.reset();
    made.memory_bytes.reset();
    made.layout = layout_.data();
    made.mode = mode_.data();
    return made;
  }
  [[nodiscard]] const memory_hooks* memory() const noexcept { return like_.memory; }

 private:
  using name = std::array<char, 64>;  // longer ones are no names of a layout or mode
  static void copy(std::string_view from, name& to) noexcept {
    const std::size_t size = from.size() < to.size() - 1 ? from.size() : to.size() - 1;
    if (size != 0) std::memcpy(to.data(), from.data(), size);
  }

  filter_params like_;
  name layout_{};
  name mode_{};
};

// A callable of the caller, which is not kept but referred to.
template <class Sink>
class adaptive_source {
 public:
  adaptive_source() noexcept = default;
  template <class F>
  static adaptive_source of(F& source) noexcept {
    static_assert(std::is_same_v<decltype(source(std::declval<Sink&>())), result<void>>,
                  "a source returns bloomery::result<void>: an error when it could not give all keys");
    adaptive_source made;
    made.context_ = const_cast<void*>(static_cast<const void*>(&source));
    made.call_ = [](void* context, Sink& sink) noexcept -> result<void> { return (*static_cast<F*>(context))(sink); };
    return made;
  }
  explicit operator bool() const noexcept { return call_ != nullptr; }
  result<void> operator()(Sink& sink) const noexcept { return call_(context_, sink); }

 private:
  void* context_ = nullptr;
  result<void> (*call_)(void*, Sink&) noexcept = nullptr;
};

template <filter_kind K>
bool is_128_bit(const K& sub_filter) noexcept {
  if constexpr (digest128_kind<K>) {
    return sub_filter.digest_bits() == 128;
  } else {
    return false;
  }
}

// Calls f with the digest of the width that the sub-filter takes; `digest` is the one of 64 bits.
template <filter_kind K, class H, class Key, class F>
auto with_sub_filter_digest(const K& sub_filter, const H& hash, const Key& key, std::uint64_t digest, F&& f) noexcept {
  static_assert(!std::is_same_v<Key, prehashed128>, "adaptive takes keys or digests of 64 bits");
  if constexpr (digest128_kind<K> && hash128_function<H> && !std::is_same_v<Key, prehashed>) {
    if (is_128_bit(sub_filter)) return f(digest128_of(hash, key));
  }
  return f(digest);
}

// A batch of at most `Most` keys.
template <std::size_t Most, filter_kind K, class H, class Key>
void query_sub_filter(const K& sub_filter, const H& hash, std::span<const Key> keys,
                      std::span<const std::uint64_t> digests, std::span<std::uint64_t> found) noexcept {
  if constexpr (digest128_kind<K> && hash128_function<H> && !std::is_same_v<Key, prehashed>) {
    if (is_128_bit(sub_filter)) {
      std::array<digest128, Most> wide;
      for (std::size_t i = 0; i < keys.size(); ++i) wide[i] = digest128_of(hash, keys[i]);
      return sub_filter.may_contain_batch(std::span<const digest128>(wide).first(keys.size()), found);
    }
  }
  sub_filter.may_contain_batch(digests, found);
}

// As a set: where a copy would take space, what may be there is not inserted again.
template <filter_kind K, class Digest>
insert_result put_as_set(K& sub_filter, Digest digest) noexcept {
  if constexpr (erasable<K>) {
    if (sub_filter.may_contain(digest)) return insert_result::present;
  }
  return sub_filter.insert(digest);
}

// About how many different digests there were: by the longest runs of zeros among those of each of 2048 groups (P.
// Flajolet et al., "HyperLogLog", 2007). Within 10 %, for which there is space: filters are made for half as many more.
class distinct_estimate {
 public:
  void add(std::uint64_t digest) noexcept {
    const std::uint64_t mixed = mix64(digest + 0x9e3779b97f4a7c15ULL);
    const auto run = static_cast<std::uint8_t>(std::countl_zero(mixed << 11U | 1024U) + 1);
    std::uint8_t& longest = longest_[mixed >> 53U];
    if (run > longest) longest = run;
  }
  [[nodiscard]] std::uint64_t count() const noexcept {
    constexpr double groups = 2048;
    double sum = 0;
    double empty = 0;
    for (const std::uint8_t run : longest_) {
      sum += std::ldexp(1.0, -static_cast<int>(run));
      empty += run == 0 ? 1 : 0;
    }
    const double estimate = 0.7213 / (1 + 1.079 / groups) * groups * groups / sum;
    const bool few = estimate < 2.5 * groups && empty > 0;
    return static_cast<std::uint64_t>(few ? groups * std::log(groups / empty) : estimate);
  }

 private:
  std::array<std::uint8_t, 2048> longest_{};
};

// What a source passes its keys to: they go into a new filter, and are no longer taken for absent.
template <dynamic_kind K, hash_function H>
class adaptive_sink {
 public:
  adaptive_sink(K& into, const H& hash, recent_keys& reported) noexcept
      : into_(into), hash_(hash), reported_(reported) {}
  template <class Key>
  void operator()(const Key& key) noexcept {
    const std::uint64_t digest = digest_of(hash_, key);
    different_.add(digest);
    reported_.erase(digest);
    if (full_) return;
    with_sub_filter_digest(into_, hash_, key, digest, [this](auto d) {
      if constexpr (sizeof(d) == sizeof(std::uint64_t)) {
        waiting_[waits_++] = d;
        if (waits_ == waiting_.size()) flush();
      } else {
        put(d);
      }
    });
  }
  void flush() noexcept {
    const auto digests = std::span<const std::uint64_t>(waiting_).first(waits_);
    if constexpr (erasable<K> || bounded_kind<K>) {
      for_each_ahead<memory_access::write>(into_, digests,
                                           [this](std::size_t /*i*/, std::uint64_t digest) { put(digest); });
    } else {
      into_.insert_batch(digests);
    }
    waits_ = 0;
  }
  // Whether a key found no space; then all others are only counted.
  [[nodiscard]] bool is_full() const noexcept { return full_; }
  // About how many different keys there were.
  [[nodiscard]] std::uint64_t different() const noexcept { return different_.count(); }

 private:
  template <class Digest>
  void put(Digest digest) noexcept {
    full_ = full_ || put_as_set(into_, digest) == insert_result::full;
  }

  K& into_;
  const H& hash_;
  recent_keys& reported_;
  bool full_ = false;
  distinct_estimate different_{};
  std::size_t waits_ = 0;
  std::array<std::uint64_t, 256> waiting_;
};

template <dynamic_kind K, hash_function H>
class adaptive_sub_filters {
 public:
  static constexpr std::size_t most = 32;
  using sink = adaptive_sink<K, H>;
  using source = adaptive_source<sink>;

  // The first takes no memory of its own: `start` brings it.
  adaptive_sub_filters(const filter_params& params, const H& hash) noexcept : growth_(params), hash_(hash) {}
  result<void> start(K first, double target) noexcept {
    if (auto room = sub_filters_.reserve(1, "the filter", growth_.memory()); !room) return room;
    target_ = target;
    sub_filters_.push(std::move(first));
    return {};
  }

  // 1.5 times as many.
  static std::uint64_t larger(std::uint64_t keys) noexcept { return std::max<std::uint64_t>(64, keys + keys / 2); }
  // A sub-filter for 1.5 times the keys before the others. Shares of the FPR: 1 for the first sub-filter, then 0.55 /
  // i^2, which add up to 0.905; the rest is for keys that look like others when they come, and are not counted though
  // the sub-filter holds them.
  result<void> grow() noexcept {
    if (size() == most) return fail(errc::full, {}, {count()});
    const auto number = static_cast<double>(size());
    if (auto room = sub_filters_.reserve(size() + 1, "the filter", growth_.memory()); !room) return room;
    auto made = make(larger(count()), 0.55 * target_ / (number * number));
    if (!made) return fail(made.error());
    sub_filters_.push(std::move(*made));
    return {};
  }
  // One sub-filter for this many keys, or more if the source has more, with the keys of the source and `others` in it.
  // After an error the sub-filters are as they were.
  template <class Key>
  result<void> rebuild(const source& keys_of, std::uint64_t keys, std::span<const Key> others,
                       recent_keys& reported) noexcept;
  void clear() noexcept {
    sub_filters_.shrink(1);
    sub_filters_[0].clear();
  }

  template <class Key>
  [[nodiscard]] bool contain(const Key& key, std::uint64_t digest) const noexcept {
    for (std::size_t i = size(); i-- > 0;) {
      const K& sub_filter = sub_filters_[i];
      if (with_sub_filter_digest(sub_filter, hash_, key, digest, [&](auto d) { return sub_filter.may_contain(d); }))
        return true;
    }
    return false;
  }
  // Of at most `Most` keys.
  template <std::size_t Most, class Key>
  void ask(std::span<const Key> keys, std::span<const std::uint64_t> digests, std::uint64_t* mask) const noexcept {
    std::array<std::uint64_t, mask_words(Most)> found{};
    std::fill_n(mask, mask_words(keys.size()), 0);
    for (const K& sub_filter : sub_filters_) {
      query_sub_filter<Most>(sub_filter, hash_, keys, digests, found);
      for (std::size_t word = 0; word < mask_words(keys.size()); ++word) mask[word] |= found[word];
    }
  }
  // Into the newest.
  template <class Key>
  insert_result put(const Key& key, std::uint64_t digest) noexcept {
    K& sub_filter = newest();
    return with_sub_filter_digest(sub_filter, hash_, key, digest, [&](auto d) { return put_as_set(sub_filter, d); });
  }

  [[nodiscard]] std::size_t size() const noexcept { return sub_filters_.size(); }
  [[nodiscard]] const K& operator[](std::size_t index) const noexcept { return sub_filters_[index]; }
  [[nodiscard]] K& newest() noexcept { return sub_filters_.back(); }
  [[nodiscard]] const K& newest() const noexcept { return sub_filters_.back(); }
  // How many keys the newest can take until it holds what it was made for.
  [[nodiscard]] std::uint64_t room() const noexcept {
    return newest().capacity_keys() - std::min(newest().capacity_keys(), newest().keys().keys);
  }
  [[nodiscard]] const H& hash() const noexcept { return hash_; }
  [[nodiscard]] double target() const noexcept { return target_; }
  void set_target(double target) noexcept { target_ = target; }
  [[nodiscard]] key_count keys() const noexcept {
    key_count all;
    for (const K& sub_filter : sub_filters_) {
      const key_count some = sub_filter.keys();
      all.keys += some.keys;
      all.exact = all.exact && some.exact;
    }
    return all;
  }
  // The same, from the fill where it was not counted.
  [[nodiscard]] std::uint64_t count() const noexcept {
    return sum([](const K& sub_filter) {
      const key_count held = sub_filter.keys();
      return held.exact ? held.keys
                        : std::max(held.keys, static_cast<std::uint64_t>(sub_filter.estimated_keys() + 0.5));
    });
  }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept {
    return sum([](const K& sub_filter) { return sub_filter.capacity_keys(); });
  }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return sum([](const K& sub_filter) { return sub_filter.memory_bytes(); });
  }
  [[nodiscard]] double fpr_now() const noexcept {
    double none = 1;
    for (const K& sub_filter : sub_filters_) none *= 1 - sub_filter.fpr_now();
    return 1 - none;
  }

 private:
  template <class F>
  [[nodiscard]] std::uint64_t sum(F&& f) const noexcept {
    std::uint64_t all = 0;
    for (const K& sub_filter : sub_filters_) all += f(sub_filter);
    return all;
  }
  [[nodiscard]] result<K> make(std::uint64_t keys, double fpr) const noexcept {
    auto made = filter<K, H>::make(growth_.params(keys, fpr), hash_);
    if (!made) return fail(made.error());
    return std::move(made->kind());
  }

  adaptive_growth growth_;
  H hash_;
  double target_ = 0;
  aligned_list<K> sub_filters_{};
};

template <dynamic_kind K, hash_function H>
template <class Key>
result<void> adaptive_sub_filters<K, H>::rebuild(const source& keys_of, std::uint64_t keys, std::span<const Key> others,
                                                 recent_keys& reported) noexcept {
  if (!keys_of) return fail(errc::unsupported, "there is no source of keys to rebuild the filter from: set one");
  constexpr unsigned attempts = 4;  // a source may have more keys than the filter, and get more meanwhile
  for (unsigned attempt = 0; attempt < attempts; ++attempt) {
    auto made = make(keys, target_);
    if (!made) return fail(made.error());
    sink into(*made, hash_, reported);
    if (auto all = keys_of(into); !all) return all;
    for (const Key& key : others) into(key);
    into.flush();
    if (into.is_full() || made->keys().keys > made->capacity_keys()) {
      keys = larger(std::max(keys, into.different()));
      continue;
    }
    sub_filters_.shrink(0);
    sub_filters_.push(std::move(*made));
    return {};
  }
  return fail(errc::full, {}, {count()});
}

}  // namespace bloomery::inline BLOOMERY_ABI

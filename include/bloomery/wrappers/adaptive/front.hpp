// wrappers/adaptive/front.hpp: keys in, for wrappers/adaptive.hpp (kind and hash known at compile time) and
// wrappers/any_adaptive.hpp (chosen at run time): hashes them, passes their digests to the engine, and compares them with
// the reported ones. What each function does is stated in wrappers/adaptive.hpp.
#pragma once

#include <bloomery/any_filter_model.hpp>
#include <bloomery/filter.hpp>
#include <bloomery/wrappers/adaptive/engine.hpp>

namespace bloomery::inline BLOOMERY_ABI {

// What a source is called with: sink(key) for every key.
template <digester H>
class adaptive_sink {
 public:
  adaptive_sink(detail::adaptive_filling& into, const H& hash) noexcept : into_(into), hash_(hash) {}
  template <class Key>
  void operator()(const Key& key) noexcept {
    const std::uint64_t digest = digest_of(hash_, key);
    if constexpr (makes_digest128<Key>) {
      if (into_.takes_128_bit()) return into_.add({digest, digest128_of(hash_, key)});
    }
    into_.add(digest);
  }
  // Whether there are 128 bits of a key.
  template <class Key>
  static constexpr bool makes_digest128 = (hash128_function<H> || !hash_function<H>)&&!std::is_same_v<Key, prehashed>;

 private:
  detail::adaptive_filling& into_;
  const H& hash_;
};

// K is void where the kind is chosen at run time.
template <digester H, class K = void>
class basic_adaptive {
 public:
  static constexpr std::size_t max_sub_filters = detail::adaptive_rule::most;
  using key_sink = adaptive_sink<H>;

  [[nodiscard]] result<void> save(file_path path, const save_options& options = {}) const noexcept {
    return engine_.save(path.c_str(), options);
  }

  // `source(sink)` returns result<void>. It is called whenever the filter is rebuilt, and must live until then.
  template <class F>
  void set_source(F& source) noexcept {
    static_assert(std::is_same_v<decltype(source(std::declval<key_sink&>())), result<void>>,
                  "a source returns bloomery::result<void>: an error when it could not give all keys");
    source_ = source;
  }
  template <class F>
  void set_source(const F&& source) = delete;
  void remove_source() noexcept { source_ = {}; }

  template <class Key>
  insert_result insert(const Key& key) noexcept {
    const std::uint64_t digest = digest_of(hash_, key);
    return with_keys(std::span<const Key>(&key, 1),
                     [&](const auto& keys, const auto& source) { return engine_.insert(keys, digest, source); });
  }
  template <class Key>
  guarded_outcome add_batch(std::span<const Key> keys) noexcept {
    return insert_all(keys);
  }

  template <class Key>
  [[nodiscard]] bool may_contain(const Key& key) const noexcept {
    const std::uint64_t digest = digest_of(hash_, key);
    return contains(key, digest) && !engine_.reports().deny(hash_, key, digest);
  }
  // Bit i of the mask (bit i % 64 of word i / 64) answers key i; the mask holds mask_words(keys.size()) words.
  template <class Key>
  void may_contain_batch(std::span<const Key> keys, std::span<std::uint64_t> mask) const noexcept {
    query_all(keys, mask);
  }

  // The truth: `confirm(key)` returns whether the key is really there, and is called only where the filter returns
  // "maybe".
  template <class Key, class F>
  bool may_contain_confirmed(const Key& key, F&& confirm) noexcept {
    const std::uint64_t digest = digest_of(hash_, key);
    return engine_.reports().confirm(hash_, key, digest, contains(key, digest), confirm);
  }
  template <class Key, class F>
  void may_contain_confirmed_batch(std::span<const Key> keys, std::span<std::uint64_t> mask, F&& confirm) noexcept {
    for_each_group(keys, mask, [&](std::size_t first, auto digests, std::uint64_t* answers) {
      for (std::size_t i = 0; i < digests.size(); ++i) {
        const std::uint64_t bit = std::uint64_t{1} << (i % 64);
        const bool maybe = (answers[i / 64] & bit) != 0;
        if (!engine_.reports().confirm(hash_, keys[first + i], digests[i], maybe, confirm)) answers[i / 64] &= ~bit;
      }
    });
  }

  // The key, which is surely absent, answers no from now on. An error: it cannot be remembered, and answers as before.
  template <class Key>
  result<void> report_false_positive(const Key& key) noexcept {
    return engine_.reports().remember(hash_, key, digest_of(hash_, key));
  }
  void forget_reports() noexcept { engine_.reports().list().clear(); }

  result<adaptation> check() noexcept {
    return with_source([&](const auto& source) { return engine_.check(source); });
  }
  // From the source, for 1.5 times the keys.
  result<void> rebuild() noexcept {
    return with_source([&](const auto& source) { return engine_.rebuild(source); });
  }
  // Keys and reports are gone; source and statistics stay.
  void clear() noexcept { engine_.clear(); }

  [[nodiscard]] key_count keys() const noexcept { return engine_.keys(); }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return engine_.capacity_keys(); }
  [[nodiscard]] double target_fpr() const noexcept { return engine_.target_fpr(); }
  // From the fill, without the reported keys.
  [[nodiscard]] double fpr_now() const noexcept { return engine_.fpr_now(); }
  // Among the absent keys that were looked up with a confirmation since it was last rebuilt; 0 when there were none.
  [[nodiscard]] double observed_fpr() const noexcept { return engine_.reports().observed_fpr(); }
  [[nodiscard]] std::uint64_t reported_keys() const noexcept { return engine_.reports().list().size(); }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return engine_.memory_bytes(); }
  [[nodiscard]] adaptive_stats stats() const noexcept { return engine_.stats(); }
  // Why the last change that an insert began failed; nothing when it did not.
  [[nodiscard]] const std::optional<error>& last_error() const noexcept { return engine_.last_error(); }
  [[nodiscard]] std::size_t sub_filters() const noexcept { return engine_.sub_filters().size(); }
  [[nodiscard]] decltype(auto) sub_filter(std::size_t index) const noexcept {
    if constexpr (std::is_void_v<K>) {
      return (engine_.sub_filters()[index]);
    } else {
      return (static_cast<const detail::in_memory<K>&>(engine_.sub_filters()[index].model()).filter);
    }
  }
  [[nodiscard]] const H& hash() const noexcept { return hash_; }

 protected:
  basic_adaptive(detail::adaptive_engine engine, const H& hash) noexcept : engine_(std::move(engine)), hash_(hash) {}

  template <class Key>
  [[nodiscard]] bool contains(const Key& key, std::uint64_t digest) const noexcept {
    static_assert(!std::is_same_v<Key, prehashed128>, "adaptive takes keys or digests of 64 bits");
    if constexpr (key_sink::template makes_digest128<Key>) {
      if (engine_.any_wide()) return engine_.contains(digest, [&] { return digest128_of(hash_, key); });
    }
    if constexpr (std::is_void_v<K>) {
      return engine_.contains(digest);
    } else {  // newest first, as the engine does it, by the kind's own function
      for (std::size_t i = sub_filters(); i-- > 0;) {
        if (sub_filter(i).may_contain(digest)) return true;
      }
      return false;
    }
  }
  template <class Keys>
  guarded_outcome insert_all(const Keys& keys) noexcept {
    return with_keys(keys, [&](const auto& all, const auto& source) { return engine_.add_batch(all, source); });
  }
  // Calls f with the source as the engine takes it.
  template <class F>
  auto with_source(F&& f) noexcept {
    const auto call = [this](detail::adaptive_filling& into) {
      key_sink sink(into, hash_);
      return source_(sink);
    };
    return source_ ? f(detail::adaptive_source(call)) : f(detail::adaptive_source{});
  }
  // The same with the keys of a call: a span of them, or anything else that has a size and an operator[].
  template <class Keys, class F>
  auto with_keys(const Keys& keys, F&& f) noexcept {
    const auto digests = [&](std::size_t first, std::size_t count, std::uint64_t* out) {
      make_digests(keys, first, count, out);
    };
    const auto wide = [&](std::size_t index) { return wide_of(keys[index]); };
    const auto replay = [&](std::size_t count, detail::adaptive_filling& into) {
      key_sink sink(into, hash_);
      for (std::size_t i = 0; i < count; ++i) sink(keys[i]);
    };
    detail::adaptive_keys all{.size = keys.size(), .digests = digests, .wide = {}, .replay = replay};
    if constexpr (makes_digest128<Keys>) all.wide = wide;
    return with_source([&](const detail::adaptive_source& source) { return f(all, source); });
  }
  template <class Keys>
  using key_of = std::remove_cvref_t<decltype(std::declval<const Keys&>()[0])>;
  template <class Keys>
  static constexpr bool makes_digest128 = key_sink::template makes_digest128<key_of<Keys>>;
  template <class Key>
  [[nodiscard]] digest128 wide_of(const Key& key) const noexcept {
    if constexpr (key_sink::template makes_digest128<Key>) return digest128_of(hash_, key);
    return {};
  }
  template <class Keys>
  void make_digests(const Keys& keys, std::size_t first, std::size_t count, std::uint64_t* out) const noexcept {
    using key = key_of<Keys>;
    static_assert(!std::is_same_v<key, prehashed128>, "adaptive takes keys or digests of 64 bits");
    if constexpr (!std::is_same_v<Keys, std::span<const key>>) {
      std::array<key, 64> some;
      for (std::size_t done = 0; done < count; done += some.size()) {
        const std::size_t size = std::min(some.size(), count - done);
        for (std::size_t i = 0; i < size; ++i) some[i] = keys[first + done + i];
        make_digests(std::span<const key>(some), 0, size, out + done);
      }
    } else if constexpr (!hash_function<H> &&
                         (std::is_same_v<key, std::string_view> || std::is_same_v<key, std::uint64_t>)) {
      hash_.digests(keys.subspan(first, count), {out, count});
    } else {
      key_digests<H, key>{hash_, keys}(first, count, out);
    }
  }
  // Calls f(place of the first key, digests, the answers of the sub-filters) for group after group.
  template <class Keys, class F>
  void for_each_group(const Keys& keys, std::span<std::uint64_t> mask, F&& f) const noexcept {
    std::array<std::uint64_t, detail::adaptive_engine::group> room;
    for (std::size_t first = 0; first < keys.size(); first += room.size()) {
      const auto digests = std::span<const std::uint64_t>(room).first(std::min(room.size(), keys.size() - first));
      std::uint64_t* answers = mask.data() + first / 64;
      make_digests(keys, first, digests.size(), room.data());
      const auto wide = [&](std::size_t index) { return wide_of(keys[first + index]); };
      function_ref<digest128(std::size_t)> made_wide;
      if constexpr (makes_digest128<Keys>) made_wide = wide;
      engine_.query(digests, made_wide, answers);
      f(first, digests, answers);
    }
  }
  template <class Keys>
  void query_all(const Keys& keys, std::span<std::uint64_t> mask) const noexcept {
    for_each_group(keys, mask, [&](std::size_t first, auto digests, std::uint64_t* answers) {
      if (reported_keys() == 0) return;
      for (std::size_t word = 0; word < mask_words(digests.size()); ++word) {
        for (std::uint64_t bits = answers[word]; bits != 0; bits &= bits - 1) {
          const std::size_t i = word * 64 + static_cast<unsigned>(std::countr_zero(bits));
          if (engine_.reports().deny(hash_, keys[first + i], digests[i])) {
            answers[word] &= ~(std::uint64_t{1} << (i % 64));
          }
        }
      }
    });
  }

  detail::adaptive_engine engine_;
  H hash_;
  function_ref<result<void>(key_sink&)> source_{};
};

}  // namespace bloomery::inline BLOOMERY_ABI

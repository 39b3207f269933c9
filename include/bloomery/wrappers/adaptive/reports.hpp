// wrappers/adaptive/reports.hpp: what wrappers/adaptive.hpp has learned: the keys that were reported, and how often the
// filter was wrong.
#pragma once

#include <bloomery/core/binomial.hpp>
#include <bloomery/core/recent_keys.hpp>
#include <bloomery/core/shared_count.hpp>
#include <bloomery/hash/key.hpp>

namespace bloomery::inline BLOOMERY_ABI {

// Since the filter was made.
struct adaptive_stats {
  std::uint64_t adds = 0;
  std::uint64_t checks = 0;
  std::uint64_t readings = 0;  // checks that read the fill
  std::uint64_t rebuilds = 0;
  std::uint64_t growths = 0;
  std::uint64_t failures = 0;         // of checks, growths and rebuilds that inserts began
  std::uint64_t reports = 0;          // keys that were put on the list
  std::uint64_t dropped = 0;          // keys that left the list for newer ones
  std::uint64_t avoided = 0;          // look-ups that the list answered: false positives that did not happen
  std::uint64_t confirmed = 0;        // look-ups with a confirmation
  std::uint64_t false_positives = 0;  // those of them that the filter was wrong about
};

// Calls f(key as it is remembered, whether that is the whole key).
template <class H, class Key, class F>
auto with_recent_key(const H& hash, const Key& key, std::uint64_t digest, F&& f) noexcept {
  if constexpr (std::is_same_v<Key, prehashed>) {
    return f(recent_keys::key{.digest = digest, .is_digest = true}, true);
  } else {
    return with_key_bytes(hash, key, [&](std::span<const std::byte> bytes, bool whole) {
      return f(recent_keys::key{.digest = digest, .bytes = bytes}, whole);
    });
  }
}

class adaptive_reports {
 public:
  adaptive_reports(std::uint64_t limit_bytes, const memory_hooks* memory) noexcept : list_(limit_bytes, memory) {}

  // Whether the key, which the filter calls "maybe", was reported.
  template <class H, class Key>
  [[nodiscard]] bool deny(const H& hash, const Key& key, std::uint64_t digest) const noexcept {
    if (list_.size() == 0) return false;
    const bool listed = with_recent_key(
        hash, key, digest, [this](const recent_keys::key& it, bool whole) { return whole && list_.contains(it); });
    if (listed) avoided_.add();
    return listed;
  }
  template <class H, class Key>
  result<void> remember(const H& hash, const Key& key, std::uint64_t digest) noexcept {
    if (list_.limit_bytes() == 0) return fail(errc::unsupported, "this filter was made to remember no reported keys");
    return with_recent_key(hash, key, digest, [this](const recent_keys::key& it, bool whole) -> result<void> {
      if (!whole) return fail(errc::unsupported, "a tuple that is folded into a digest is too long to be remembered");
      const auto added = list_.add(it);
      if (!added) return fail(added.error());
      reports_ += *added ? 1U : 0U;
      return {};
    });
  }
  // The truth about a key for which the filter returns `maybe`, or no.
  template <class H, class Key, class F>
  bool confirm(const H& hash, const Key& key, std::uint64_t digest, bool maybe, F& is_there) noexcept {
    ++confirmed_;
    if (!maybe || deny(hash, key, digest)) {
      ++absent_;
      return false;
    }
    if (is_there(key)) return true;
    ++absent_;
    ++wrong_;
    ++false_positives_;
    static_cast<void>(remember(hash, key, digest));  // what cannot be remembered is confirmed again
    return false;
  }

  // Of the absent keys that were confirmed since `start_observing`; 0 when there were none.
  [[nodiscard]] double observed_fpr() const noexcept {
    return absent_ == 0 ? 0.0 : static_cast<double>(wrong_) / static_cast<double>(absent_);
  }
  // Whether the true FPR is above, with a confidence of 99.9 %.
  [[nodiscard]] bool are_above(double rate) const noexcept {
    constexpr double doubt = 0.001;
    return wrong_ != 0 && binomial::lower_bound(wrong_, absent_, doubt) > rate;
  }
  void start_observing() noexcept { absent_ = wrong_ = 0; }

  [[nodiscard]] recent_keys& list() noexcept { return list_; }
  [[nodiscard]] const recent_keys& list() const noexcept { return list_; }
  void add_to(adaptive_stats& stats) const noexcept {
    stats.reports += reports_;
    stats.dropped += list_.dropped();
    stats.avoided += avoided_.value();
    stats.confirmed += confirmed_;
    stats.false_positives += false_positives_;
  }

 private:
  recent_keys list_;
  shared_count avoided_{};
  std::uint64_t reports_ = 0;
  std::uint64_t confirmed_ = 0;
  std::uint64_t false_positives_ = 0;
  std::uint64_t absent_ = 0;  // look-ups with a confirmation whose answer was no
  std::uint64_t wrong_ = 0;   // those of them that the filter had called "maybe"
};

}  // namespace bloomery::inline BLOOMERY_ABI

// wrappers/adaptive/sub_filters.hpp: the filters of wrappers/adaptive.hpp: one, or a chain of them, and how they are
// made again from a source of keys.
//
// Sub-filters are of one kind. A digest of 64 bits is made once for all sub-filters, one of 128 bits where a sub-filter
// takes such.
#pragma once

#include <array>
#include <bloomery/any_filter.hpp>
#include <bloomery/core/function_ref.hpp>
#include <bloomery/core/recent_keys.hpp>
#include <bloomery/kinds/chain.hpp>

namespace bloomery::inline BLOOMERY_ABI::detail {

// Both digests of a key.
struct digest_pair {
  std::uint64_t digest = 0;
  digest128 wide{};
};

// As a sub-filter is made: by name, or of a type that the caller knows.
using adaptive_maker = result<any_filter> (*)(std::string_view kind, const filter_params& params,
                                              const filter_hash& hash) noexcept;

// How further sub-filters are made. Texts are copied: those of the caller may be gone by then.
class BLOOMERY_API adaptive_rule {
 public:
  using sub_filter = any_filter;

  adaptive_rule() noexcept = default;
  adaptive_rule(const filter_params& like, const filter_hash& hash, adaptive_maker maker) noexcept;

  [[nodiscard]] const memory_hooks* memory() const noexcept { return like_.memory; }
  [[nodiscard]] std::size_t most_sub_filters() const noexcept { return most; }
  // For 1.5 times the keys so far. Shares of the FPR: 1 for the first sub-filter, then 0.55 / i^2, which add up to
  // 0.905; the rest is for keys that look like others when they come, and are not counted though the sub-filter holds
  // them.
  [[nodiscard]] result<any_filter> next(const filter_chain<adaptive_rule>& chain) const noexcept;
  [[nodiscard]] result<any_filter> make(std::string_view kind, std::uint64_t keys, double fpr) const noexcept;
  [[nodiscard]] bool contains(const any_filter& in, std::uint64_t digest) const noexcept {
    return in.model().contains_one(digest) == single_answer::yes;
  }
  [[nodiscard]] bool contains(const any_filter& in, const digest_pair& pair) const noexcept;
  void contains_batch(const any_filter& in, std::span<const std::uint64_t> digests,
                      std::span<std::uint64_t> mask) const noexcept {
    static_cast<void>(in.model().may_contain(digests, mask));  // in memory: it cannot fail
  }
  void clear(any_filter& filter) const noexcept { static_cast<void>(filter.clear()); }

  static constexpr std::size_t most = 32;
  double target = 0;

 private:
  using name = std::array<char, 64>;  // longer ones are no names of a layout or mode

  filter_params like_{};
  name layout_{};
  name mode_{};
  filter_hash hash_{hasher{}};
  adaptive_maker maker_ = nullptr;
};

// 1.5 times as many.
inline std::uint64_t larger(std::uint64_t keys) noexcept { return keys < 43 ? 64 : keys + keys / 2; }

// The keys of one sub-filter, from the fill where they were not counted.
BLOOMERY_API std::uint64_t keys_in(const any_filter& filter) noexcept;

// About how many different digests there were: by the longest runs of zeros among those of each of 2048 groups (P.
// Flajolet et al., "HyperLogLog", 2007). Within 10 %, for which there is space: filters are made for half as many more.
class BLOOMERY_API distinct_estimate {
 public:
  void add(std::uint64_t digest) noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept;

 private:
  std::array<std::uint8_t, 2048> longest_{};
};

// As a set: where a copy would take space, what may be there is not inserted again.
struct set_writer {
  filter_model& into;
  bool checks_first;  // the kind stores copies

  insert_result put(std::uint64_t digest) const noexcept {
    if (checks_first && into.contains_one(digest) == single_answer::yes) return insert_result::present;
    const single_answer done = into.insert_one(digest);
    return done == single_answer::yes  ? insert_result::inserted
           : done == single_answer::no ? insert_result::present
                                       : insert_result::full;
  }
  insert_result put(const digest128& digest) const noexcept;
};

// What the keys of a source go into: a new filter. They are no longer taken for absent.
class BLOOMERY_API adaptive_filling {
 public:
  adaptive_filling(any_filter& into, bool checks_first, recent_keys& reported) noexcept
      : into_{into.model(), checks_first}, takes_128_bit_(into.digest_bits() == 128), reported_(reported) {}
  [[nodiscard]] bool takes_128_bit() const noexcept { return takes_128_bit_; }
  void add(std::uint64_t digest) noexcept {
    if (!note(digest)) return;
    waiting_[waits_++] = digest;
    if (waits_ == waiting_.size()) flush();
  }
  void add(const digest_pair& pair) noexcept {
    if (note(pair.digest)) full_ = into_.put(pair.wide) == insert_result::full;
  }
  void flush() noexcept;
  // Whether a key found no space; then all others are only counted.
  [[nodiscard]] bool is_full() const noexcept { return full_; }
  // About how many different keys there were.
  [[nodiscard]] std::uint64_t different() const noexcept { return different_.count(); }

 private:
  bool note(std::uint64_t digest) noexcept {
    different_.add(digest);
    reported_.erase(digest);
    return !full_;
  }

  set_writer into_;
  bool takes_128_bit_;
  recent_keys& reported_;
  bool full_ = false;
  distinct_estimate different_{};
  std::size_t waits_ = 0;
  std::array<std::uint64_t, 256> waiting_;
};

}  // namespace bloomery::inline BLOOMERY_ABI::detail

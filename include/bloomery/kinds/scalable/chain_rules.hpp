// kinds/scalable/chain_rules.hpp: what the sub-filters of a chain (kinds/scalable/chain.hpp) are, and which share of
// its FPR each gets.
#pragma once

#include <bloomery/kinds/blocked.hpp>
#include <bloomery/kinds/chain.hpp>
#include <bloomery/kinds/scalable/redis_sub_filter.hpp>

namespace bloomery::inline BLOOMERY_ABI {

struct blocked_sub_filters {
  using sub_filter = blocked;
  using digest = std::uint64_t;
  static constexpr unsigned digest_bits = 64;
  static constexpr bool sends_ahead = true;
  static constexpr bool slow_sizing = true;
  static constexpr std::string_view layout = "split64";  // of every sub-filter: the file stores none
  static double share(std::size_t index) noexcept {
    constexpr double sum_of_inverse_squares = 1.6449340668482264365;  // pi^2 / 6
    const double number = static_cast<double>(index) + 1;
    return 1 / (sum_of_inverse_squares * number * number);
  }
  static digest from(std::uint64_t given) noexcept { return given; }
  static digest from(const digest128& given) noexcept { return given.low; }
};

struct redis_sub_filters {
  using sub_filter = redis_sub_filter;
  using digest = digest128;
  static constexpr unsigned digest_bits = 128;
  static constexpr bool slow_sizing = false;
  static constexpr bool sends_ahead = false;  // single keys: a probe needs a division, so prefetching costs as much
  static double share(std::size_t index) noexcept { return std::ldexp(1.0, -1 - static_cast<int>(index)); }
  static digest from(std::uint64_t given) noexcept { return {given, mix64(given)}; }
  static digest from(const digest128& given) noexcept { return given; }
};

struct chain_settings {
  std::uint64_t first_keys = 0;  // capacity of the first sub-filter
  std::uint64_t growth = 2;      // capacity of a sub-filter by that of the one before
  double fpr = 0;                // of the whole chain
  bool scales = true;            // false: one sub-filter, with the whole FPR
  const memory_hooks* memory = nullptr;

  [[nodiscard]] bool same_growth(const chain_settings& other) const noexcept {
    return first_keys == other.first_keys && growth == other.growth && fpr == other.fpr && scales == other.scales;
  }
};

// The rule of kinds/chain.hpp for sub-filters Of.
template <class Of>
struct scalable_rule {
  struct sub_filter {
    typename Of::sub_filter filter;
    std::uint64_t capacity = 0;
    std::uint64_t keys = 0;
    double full_fpr = 0;  // when it holds its capacity; 0: unknown
    [[nodiscard]] std::uint64_t room() const noexcept { return keys < capacity ? capacity - keys : 0; }
  };
  using digest = typename Of::digest;
  static constexpr std::size_t max_sub_filters = 1024;

  [[nodiscard]] const memory_hooks* memory() const noexcept { return settings.memory; }
  [[nodiscard]] std::size_t most_sub_filters() const noexcept { return max_sub_filters; }
  [[nodiscard]] double rate_of(std::size_t index) const noexcept {
    return settings.scales ? settings.fpr * Of::share(index) : settings.fpr;
  }
  result<sub_filter> next(const filter_chain<scalable_rule>& chain) noexcept {
    if (chain.size() == 0) return sized(chain, settings.first_keys);
    const std::uint64_t last = chain.newest().capacity;
    if (!settings.scales || ended || last > max_keys / settings.growth) return fail(errc::full, {}, {last});
    auto made = sized(chain, last * settings.growth);
    ended = !made && made.error().code != errc::out_of_memory;
    return made;
  }
  [[nodiscard]] result<sub_filter> clone(const sub_filter& of) const noexcept {
    auto copy = of.filter.clone(settings.memory);
    if (!copy) return fail(copy.error());
    return sub_filter{std::move(*copy), of.capacity, of.keys};
  }
  void clear(sub_filter& first) noexcept {
    first.filter.clear();
    first.keys = 0;
    ended = false;
  }
  [[nodiscard]] bool equal(const sub_filter& a, const sub_filter& b) const noexcept { return a.filter == b.filter; }
  [[nodiscard]] bool contains(const sub_filter& in, const digest& asked) const noexcept {
    return in.filter.may_contain(asked);
  }
  void contains_batch(const sub_filter& in, std::span<const digest> digests,
                      std::span<std::uint64_t> mask) const noexcept {
    in.filter.may_contain_batch(digests, mask);
  }
  void prefetch(const sub_filter& in, const digest& asked) const noexcept requires(Of::sends_ahead) {
    const std::byte* bytes = in.filter.payload().data();
    in.filter.for_each_touched(asked, [&](std::uint64_t at, std::uint64_t) { __builtin_prefetch(bytes + at); });
  }
  [[nodiscard]] std::uint64_t room(const sub_filter& in) const noexcept { return in.room(); }
  void insert(sub_filter& into, const digest& added) const noexcept {
    into.filter.insert(added);
    ++into.keys;
  }
  std::uint64_t add_batch(sub_filter& into, std::span<const digest> digests) const noexcept {
    const std::uint64_t inserted = into.filter.add_batch(digests);
    into.keys += inserted;
    return inserted;
  }
  // The next sub-filter. Fewer bits than the sub-filter before cannot do for as many keys at a lower FPR.
  [[nodiscard]] result<sub_filter> sized(const filter_chain<scalable_rule>& chain,
                                         std::uint64_t capacity) const noexcept;

  // Up to here the sizing finds the very same bits; beyond, where it stops a few blocks above the least, a sub-filter
  // takes enough keys for its sizing not to matter.
  static constexpr std::uint64_t small_sub_filter_bytes = 8 * cache_line_bytes;

  chain_settings settings{};
  bool ended = false;  // no filter has the FPR of a next sub-filter
};

template <class Of>
result<typename scalable_rule<Of>::sub_filter> scalable_rule<Of>::sized(const filter_chain<scalable_rule>& chain,
                                                                        std::uint64_t capacity) const noexcept {
  const double rate = rate_of(chain.size());
  if constexpr (!Of::slow_sizing) {
    auto made = Of::sub_filter::make({.keys = capacity, .fpr = rate, .memory = settings.memory});
    if (!made) return fail(made.error());
    return sub_filter{std::move(*made), capacity, 0};
  } else {
    if (chain.size() != 0) {
      const sub_filter& last = chain.newest();
      const bool is_small = last.filter.payload().size() <= small_sub_filter_bytes;
      if (is_small && last.capacity == capacity && last.full_fpr > 0 && last.full_fpr <= rate) {
        auto copy = last.filter.clone();
        if (!copy) return fail(copy.error());
        copy->clear();
        return sub_filter{std::move(*copy), capacity, 0, last.full_fpr};
      }
    }
    const auto plan = Of::sub_filter::plan({.keys = capacity, .fpr = rate}, Of::layout);
    if (!plan) return fail(plan.error());
    auto made = Of::sub_filter::make({.keys = capacity,
                                      .bits = plan->bits,
                                      .hashes = plan->hashes,
                                      .layout = Of::layout,
                                      .memory = settings.memory});
    if (!made) return fail(made.error());
    return sub_filter{std::move(*made), capacity, 0, plan->fpr};
  }
}

}  // namespace bloomery::inline BLOOMERY_ABI

// kinds/cascade/layout.hpp: the two parts of a cascade, how large they are, and which choice makes the smallest one.
//
// A cascade holds one of its two lists: the included keys, or the excluded ones where those are so few that it is
// smaller the other way round ("reversed": what it matches is then what it answers no to).
//
// Sieve   a ribbon filter of the held keys: log2(1/q) bits for each, and it lets a share q of the other list through.
// Table   a ribbon of one bit a slot: held keys match there, and those of the other list that came through the sieve do
//         not. One bit for each of both.
//
// With h held keys and o others that is h log2(1/q) + h + q o bits, least at q = h / (o ln 2): h (log2(o / h) + 1.914).
// A share of slots with one bit more gains nothing, as the sum is linear in that share; so q is a power of two, which
// costs 0.086 bits a held key at most, unless an FPR for keys of neither list requires another one. The least that is
// possible for o much larger than h is h (log2(o / h) + 1.443) bits.
#pragma once

#include <bloomery/kinds/ribbon/layout.hpp>
#include <bloomery/sizing/sizing.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

// The sieve, zeros to a cache line, the table. A part without keys, or a sieve that would not pay, is not there.
struct cascade_geometry {
  // Layers of each part. What the last of them takes grows with the keys, which costs time when it is built and hardly
  // any space: less than a key in a thousand gets there.
  static constexpr unsigned most_layers = 3;
  // So that the table does not hash as the sieve does. Seeds of last layers are added to it, and are smaller.
  static constexpr std::uint64_t table_salt = std::uint64_t{1} << 32U;
  static constexpr ribbon_rate table_rate{.columns = 1, .share = 0};

  ribbon_geometry sieve{.rate = {.columns = 0, .share = 0}};
  ribbon_geometry table{.rate = table_rate};
  bool reversed = false;

  [[nodiscard]] bool has_sieve() const noexcept { return sieve.rate.columns != 0; }
  [[nodiscard]] bool has_table() const noexcept { return table.blocks[0] != 0; }
  [[nodiscard]] unsigned parts() const noexcept { return (has_sieve() ? 1U : 0U) + (has_table() ? 1U : 0U); }
  [[nodiscard]] std::uint64_t table_word() const noexcept { return (sieve.payload_words() + 7) / 8 * 8; }
  [[nodiscard]] std::uint64_t payload_words() const noexcept { return table_word() + table.payload_words(); }
  [[nodiscard]] std::uint64_t payload_bytes() const noexcept { return payload_words() * 8; }
  [[nodiscard]] std::uint64_t held(const sizing::universe& keys) const noexcept {
    return reversed ? keys.excluded : keys.included;
  }
  // How many keys of neither list get the answer yes.
  [[nodiscard]] double fpr() const noexcept {
    const double matched = has_table() ? (has_sieve() ? sieve.fpr() : 1.0) / 2.0 : 0.0;
    return reversed ? 1.0 - matched : matched;
  }
  // Of a look-up that reads both parts.
  [[nodiscard]] unsigned lines() const noexcept {
    return (has_sieve() ? sieve.lines() : 0U) + (has_table() ? table.lines() : 0U);
  }

  // More of the other list than come through a sieve of this FPR, but for one in thousands.
  static std::uint64_t most_through(std::uint64_t others, const ribbon_rate& rate) noexcept {
    if (rate.columns == 0) return others;
    const double mean = static_cast<double>(others) * rate.fpr();
    const auto most = static_cast<std::uint64_t>(std::ceil(mean + 4.0 * std::sqrt(mean)));
    return most < others ? most : others;
  }
  // What so many keys take at most, with a sieve of this FPR (columns 0: without).
  static cascade_geometry with_sieve(const sizing::universe& keys, bool reversed, const ribbon_rate& rate) noexcept {
    cascade_geometry made;
    made.reversed = reversed;
    const std::uint64_t held = made.held(keys);
    if (held == 0) return made;
    const std::uint64_t others = keys.included + keys.excluded - held;
    made.sieve.rate = rate;
    if (rate.columns != 0) made.sieve = ribbon_geometry::for_keys(held, rate, most_layers);
    made.table = ribbon_geometry::for_keys(held + most_through(others, rate), table_rate, most_layers);
    return made;
  }
  // The smallest one, of those whose FPR for keys of neither list is not above the one provided; with that FPR, it
  // holds the included keys. Of two that are equally large, the one that answers no more often.
  static result<cascade_geometry> for_keys(const sizing::universe& keys, std::optional<double> fpr) noexcept {
    ribbon_rate least{.columns = 0, .share = 0};
    if (fpr && *fpr < 0.5) {
      least = ribbon_rate::of(2.0 * *fpr);
      if (least.columns == 0) return fail(errc::cannot_reach_fpr, "cascade", {ribbon_rate::most_columns + 1});
    }
    cascade_geometry best = with_sieve(keys, false, least);
    const auto take_smaller = [&](const cascade_geometry& other, bool or_equal) {
      const std::uint64_t bytes = other.payload_bytes();
      if (bytes < best.payload_bytes() || (or_equal && bytes == best.payload_bytes())) best = other;
    };
    for (unsigned columns = least.columns + 1; columns <= ribbon_rate::most_columns; ++columns) {
      take_smaller(with_sieve(keys, false, {.columns = columns, .share = 0}), true);
    }
    if (fpr) return best;
    for (unsigned columns = 0; columns <= ribbon_rate::most_columns; ++columns) {
      take_smaller(with_sieve(keys, true, {.columns = columns, .share = 0}), false);
    }
    return best;
  }
};

namespace sizing {

// What a cascade cannot provide of a request.
BLOOMERY_API result<void> check_cascade(const size_request& request, std::string_view layout) noexcept;

// For lists of so many keys: not more than these bytes.
BLOOMERY_API result<size_plan> plan_cascade(const size_request& request, std::string_view layout) noexcept;

}  // namespace sizing
}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/cascade/layout.cpp>
#endif

// kinds/facts.hpp: what a filter reports of itself, as data: each fact has a name, a value, a unit and a help text.
// Surfaces print a list of them without knowing the kind.
//
//     for (const bloomery::fact& each : filter.facts()) ...               // its geometry: cheap
//     for (const bloomery::fact& each : filter.stats()->facts) ...        // how it stands: reads the whole filter
//     filter.facts().find("hash_functions")->value.integer();
//
// A kind has `fact_list facts() const` for its geometry, and may have `fact_list facts_now() const` for what changes.
#pragma once

#include <array>
#include <bloomery/core/config.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

// A text is one that lives as long as the program.
class fact_value {
 public:
  enum class type : std::uint8_t { none, integer, real, text };

  constexpr fact_value() noexcept = default;
  constexpr fact_value(std::unsigned_integral auto value) noexcept : type_(type::integer), integer_(value) {}
  constexpr fact_value(double value) noexcept : type_(type::real), real_(value) {}
  constexpr fact_value(std::string_view value) noexcept : type_(type::text), text_(value) {}
  constexpr fact_value(const char* value) noexcept : fact_value(std::string_view(value)) {}

  [[nodiscard]] constexpr type holds() const noexcept { return type_; }
  [[nodiscard]] constexpr std::uint64_t integer() const noexcept { return integer_; }
  [[nodiscard]] constexpr double real() const noexcept { return real_; }
  [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }
  [[nodiscard]] constexpr bool is_zero() const noexcept { return type_ != type::text && integer_ == 0 && !(real_ > 0); }
  friend constexpr bool operator==(const fact_value&, const fact_value&) = default;

 private:
  type type_ = type::none;
  std::uint64_t integer_ = 0;
  double real_ = 0;
  std::string_view text_;
};

enum class fact_unit : std::uint8_t { none, bits, bytes, keys, slots, counters, seconds, share };
// The figure that it is about, next to which it is printed.
enum class fact_topic : std::uint8_t { geometry, keys, fill, fpr, size };
// What it is for a filter in shards: of each its own, or one value for all.
enum class fact_join : std::uint8_t { each, sum, most, least, mean };

// How a line of text reads: `before`, value, `after`; or `zero` in place of all of it, where the value is 0.
struct fact_phrase {
  std::string_view before{};
  std::string_view after{};
  std::string_view zero{};
  bool continues = false;  // on the line of the fact before
};

struct fact {
  std::string_view name;   // for programs: lower case, one word; never renamed
  std::string_view label;  // for people
  fact_value value{};
  fact_unit unit = fact_unit::none;
  std::string_view help{};
  fact_topic topic = fact_topic::geometry;
  std::string_view group{};  // programs find it under this name, with others
  fact_join join = fact_join::each;
  fact_phrase phrase{};
  bool detail = false;  // for programs alone
};

class fact_list {
 public:
  static constexpr std::size_t most_facts = 12;

  constexpr fact_list() noexcept = default;
  constexpr fact_list(std::initializer_list<fact> facts) noexcept {
    for (const fact& each : facts) add(each);
  }
  // One that is too many is left out; the suites check that none is.
  constexpr void add(const fact& one) noexcept {
    if (size_ < most_facts) facts_[size_++] = one;
  }
  [[nodiscard]] constexpr const fact* begin() const noexcept { return facts_.data(); }
  [[nodiscard]] constexpr const fact* end() const noexcept { return facts_.data() + size_; }
  [[nodiscard]] constexpr fact* begin() noexcept { return facts_.data(); }
  [[nodiscard]] constexpr fact* end() noexcept { return facts_.data() + size_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr const fact& operator[](std::size_t index) const noexcept { return facts_[index]; }
  // nullptr when there is none of this name.
  [[nodiscard]] constexpr const fact* find(std::string_view name) const noexcept {
    for (const fact& each : *this) {
      if (each.name == name) return &each;
    }
    return nullptr;
  }

 private:
  std::array<fact, most_facts> facts_{};
  std::size_t size_ = 0;
};

// What several kinds report.
constexpr fact layout_fact(std::string_view name) noexcept {
  return {.name = "layout", .label = "layout", .value = name, .help = "how it is arranged in memory"};
}
constexpr fact mode_fact(std::string_view name) noexcept {
  return {.name = "mode",
          .label = "mode",
          .value = name,
          .help = "what it does with keys that come again, or are too many"};
}
constexpr fact bits_fact(std::uint64_t bits) noexcept {
  return {.name = "bits", .label = "bits", .value = bits, .unit = fact_unit::bits, .help = "size of the bit array"};
}
constexpr fact blocks_fact(std::uint64_t blocks) noexcept {
  return {.name = "blocks", .label = "blocks", .value = blocks, .help = "blocks of the bit array; a key is in one"};
}
constexpr fact hashes_fact(std::uint64_t hashes) noexcept {
  return {.name = "hash_functions", .label = "hash functions", .value = hashes, .help = "bits or cells that a key has"};
}
constexpr fact slot_bits_fact(std::uint64_t bits) noexcept {
  return {.name = "slot_bits", .label = "slot bits", .value = bits, .unit = fact_unit::bits, .help = "bits of a slot"};
}
constexpr fact growth_fact(std::uint64_t factor) noexcept {
  return {.name = "growth",
          .label = "growth",
          .value = factor,
          .help = "size of a new sub-filter relative to the previous one"};
}
constexpr fact sub_filters_fact(std::uint64_t count) noexcept {
  return {.name = "sub-filters", .label = "sub-filters", .value = count, .help = "filters of the chain"};
}

}  // namespace bloomery::inline BLOOMERY_ABI

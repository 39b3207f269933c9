// kinds/options.hpp: what a kind can be made with beside its size, as data: layouts, modes, a growth factor. Help,
// errors, completions and checks are rendered from it.
//
//     for (const bloomery::option_info& option : bloomery::find_kind("cuckoo")->options) ...    // layout, mode
//
// A kind that has any declares `static constexpr std::span<const option_info> options() noexcept`. Layout, mode,
// growth and window are members of filter_params, and the kind checks their choices itself. A kind may have others:
// their values are in filter_params::options, checked, for `number_of_option` and `choice_of_option`.
#pragma once

#include <bloomery/core/config.hpp>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

enum class option_type : std::uint8_t {
  choice,    // one of `choices`
  integer,   // from `least` to `most`
  duration,  // nanoseconds, from `least` to `most`
};

struct option_choice {
  std::string_view name;
  std::string_view help;
  std::string_view suffix{};     // what may follow the name, in brackets: "[:BITS]"
  bool needs_keys = false;       // a filter of it is made for a number of keys and takes no more
  unsigned copies_per_cell = 0;  // copies of a key in one cell, further ones take another; 0: copies take no space
};

struct option_info {
  std::string_view name;   // of the member of filter_params, where there is one
  std::string_view title;  // in sentences, as in "has no growth factor"
  option_type type = option_type::choice;
  std::string_view help;
  std::span<const option_choice> choices{};  // the default first
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::uint64_t default_value = 0;
  // A number that is written behind a choice of the layout: 8 and "rotating" is layout "rotating8".
  std::string_view follows{};

  [[nodiscard]] constexpr bool takes(std::uint64_t value) const noexcept { return value >= least && value <= most; }
  // The choice of this name, without what may follow it; nullptr when there is none.
  [[nodiscard]] constexpr const option_choice* find(std::string_view choice) const noexcept {
    for (const option_choice& each : choices) {
      if (each.name == choice) return &each;
    }
    return nullptr;
  }
};

// A value of an option by its name, for callers that know no kind: {"layout", "split32"}, {"growth", 4}.
struct option_value {
  std::string_view name;
  std::string_view text{};   // of a choice
  std::uint64_t number = 0;  // of an integer or a duration

  constexpr option_value(std::string_view option, std::string_view choice) noexcept : name(option), text(choice) {}
  constexpr option_value(std::string_view option, const char* choice) noexcept : name(option), text(choice) {}
  constexpr option_value(std::string_view option, std::unsigned_integral auto value) noexcept
      : name(option), number(value) {}
};

// For a kind that has an option of its own: the value that was chosen, or the default.
constexpr std::uint64_t number_of_option(std::span<const option_value> values, const option_info& option) noexcept {
  for (const option_value& value : values) {
    if (value.name == option.name) return value.number;
  }
  return option.default_value;
}
constexpr std::string_view choice_of_option(std::span<const option_value> values, const option_info& option) noexcept {
  for (const option_value& value : values) {
    if (value.name == option.name) return value.text;
  }
  return option.choices.front().name;
}

constexpr option_info layout_option(std::span<const option_choice> choices) noexcept {
  return {.name = "layout", .title = "layouts", .help = "how it is arranged in memory", .choices = choices};
}
constexpr option_info mode_option(std::span<const option_choice> choices) noexcept {
  return {.name = "mode",
          .title = "modes",
          .help = "what it does with keys that come again, or are too many",
          .choices = choices};
}

constexpr const option_info* find_option(std::span<const option_info> options, std::string_view name) noexcept {
  for (const option_info& each : options) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

}  // namespace bloomery::inline BLOOMERY_ABI

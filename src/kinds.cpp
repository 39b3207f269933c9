#include <array>
#include <bloomery/kinds.hpp>
#include <cstdio>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

template <class... Ks>
constexpr auto entries_of(type_list<Ks...> /*kinds*/) noexcept {
  return std::array{entry_of<Ks>...};
}
inline constexpr auto kind_entries = entries_of(kind_list{});

// "kind blocked has no growth factor: leave it out"; the title is that of a kind which has the option.
BLOOMERY_BODY failure no_option(const kind_entry& kind, std::string_view name) noexcept {
  std::string_view title = name;
  for (const kind_entry& each : kind_entries) {
    if (const option_info* option = find_option(each.options, name)) title = option->title;
  }
  std::array<char, 104> text{};
  std::snprintf(text.data(), text.size(), "kind %.*s has no %.*s: leave it out",
                static_cast<int>(kind.info->name.size()), kind.info->name.data(), static_cast<int>(title.size()),
                title.data());
  return fail(errc::unsupported, text.data());
}

BLOOMERY_BODY failure not_in_range(const kind_entry& kind, const option_info& option, std::uint64_t value) noexcept {
  std::array<char, 104> text{};
  std::snprintf(text.data(), text.size(), "kind %.*s: %.*s %llu is not usable: give %llu to %llu",
                static_cast<int>(kind.info->name.size()), kind.info->name.data(), static_cast<int>(option.name.size()),
                option.name.data(), static_cast<unsigned long long>(value),
                static_cast<unsigned long long>(option.least), static_cast<unsigned long long>(option.most));
  return fail(errc::unsupported, text.data());
}

// "kind blocked has the layouts split64, split32"
BLOOMERY_BODY failure no_choice(const kind_entry& kind, const option_info& option) noexcept {
  error_text text;
  text.append("kind ");
  text.append(kind.info->name);
  text.append(" has the ");
  text.append(option.title);
  std::string_view before = " ";
  for (const option_choice& choice : option.choices) {
    text.append(before);
    text.append(choice.name);
    before = ", ";
  }
  return fail(errc::unsupported, text.view());
}

// The member of filter_params for a value; false: it has none.
BLOOMERY_BODY bool put_into_member(const option_info& option, const option_value& value, filter_params& params,
                                   layout_text& layout) noexcept {
  if (!option.follows.empty()) {
    std::snprintf(layout.data(), layout.size(), "%.*s%llu", static_cast<int>(option.follows.size()),
                  option.follows.data(), static_cast<unsigned long long>(value.number));
    params.layout = layout.data();
  } else if (option.name == "layout") {
    params.layout = value.text;
  } else if (option.name == "mode") {
    params.mode = value.text;
  } else if (option.name == "growth") {
    params.growth = value.number;
  } else if (option.name == "window") {
    params.window_ns = value.number;
  } else {
    return false;
  }
  return true;
}

}  // namespace detail

BLOOMERY_BODY result<void> apply_options(const kind_entry& kind, filter_params& params, layout_text& layout) noexcept {
  for (const option_value& value : params.options) {
    const option_info* option = find_option(kind.options, value.name);
    if (option == nullptr) return detail::no_option(kind, value.name);
    if (option->type != option_type::choice && !option->takes(value.number)) {
      return detail::not_in_range(kind, *option, value.number);
    }
    // What may follow a name is known to the kind, which checks its layouts and modes.
    if (detail::put_into_member(*option, value, params, layout)) continue;
    if (option->type == option_type::choice && option->find(value.text) == nullptr) {
      return detail::no_choice(kind, *option);
    }
  }
  const auto lacks = [&](std::string_view name) { return find_option(kind.options, name) == nullptr; };
  if (!params.mode.empty() && lacks("mode")) return detail::no_option(kind, "mode");
  if (params.growth && lacks("growth")) return detail::no_option(kind, "growth");
  if (params.window_ns != 0 && lacks("window")) return detail::no_option(kind, "window");
  return {};
}

BLOOMERY_BODY std::span<const kind_entry> kinds() noexcept { return detail::kind_entries; }

BLOOMERY_BODY const kind_entry* find_kind(std::string_view name) noexcept {
  for (const kind_entry& kind : detail::kind_entries) {
    if (kind.info->name == name) return &kind;
  }
  return nullptr;
}

BLOOMERY_BODY const kind_entry* find_kind(std::uint32_t id) noexcept {
  for (const kind_entry& kind : detail::kind_entries) {
    if (kind.info->id == id) return &kind;
  }
  return nullptr;
}

}  // namespace bloomery::inline BLOOMERY_ABI

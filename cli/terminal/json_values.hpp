// cli/terminal/json_values.hpp: numbers of filters in JSON.
#pragma once

#include <bloomery/any_filter.hpp>
#include <nlohmann/json.hpp>

#include "cli/filters/fullness.hpp"

namespace bloomery::cli {

// null where it is not known.
template <class T>
nlohmann::ordered_json known(bool is_known, const T& value) {
  return is_known ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

// null for what grows, and where the file does not store it.
inline nlohmann::ordered_json capacity_of(const any_filter& filter, const filter_stats& stats) {
  return known(stats.target_known && !filter.grows(), stats.capacity_keys);
}
inline nlohmann::ordered_json target_fpr_of(const filter_stats& stats) {
  return known(stats.target_known, stats.target_fpr);
}

}  // namespace bloomery::cli

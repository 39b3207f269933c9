// guards/metrics_reader.hpp: reads back the text that guards/metrics.hpp writes, or any other in Prometheus' format.
//
//     auto done = bloomery::read_metrics(text, [&](const bloomery::metric_sample& each) {
//       if (each.family == "bloomery_lookups_total" && each.label("answer") == "saved") saved += each.value;
//     });
//
// Comments and empty lines are passed over. A line that is no sample is an error that states its number, so that a page
// of errors from a web server is not taken for a page without figures. Nothing is allocated; a line has any length.
#pragma once

#include <bloomery/core/function_ref.hpp>
#include <bloomery/core/result.hpp>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

struct metric_sample {
  std::string_view family{};
  std::string_view labels{};  // between the braces
  double value = 0;

  // Of the label with this name, as it is written: \" for a quote. Empty where there is none.
  [[nodiscard]] BLOOMERY_API std::string_view label(std::string_view name) const noexcept;
};

BLOOMERY_API result<void> read_metrics(std::string_view text, function_ref<void(const metric_sample&)> take) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/guards/metrics_reader.cpp>
#endif

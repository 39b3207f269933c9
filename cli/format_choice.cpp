#include "cli/format_choice.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "cli/text.hpp"

namespace bloomery::cli {
namespace {

struct parameter {
  flag id;
  std::string_view name;
  std::string_view formats::format_options::*member;
};

constexpr std::array parameters = {
    parameter{flag::form, "form", &formats::format_options::form},
    parameter{flag::strategy, "strategy", &formats::format_options::strategy},
    parameter{flag::k_rule, "k-rule", &formats::format_options::k_rule},
    parameter{flag::bucket_size, "bucket-size", &formats::format_options::bucket_size},
    parameter{flag::max_iterations, "max-iterations", &formats::format_options::max_iterations},
    parameter{flag::spark_version, "spark-version", &formats::format_options::spark_version},
};

}  // namespace

bool takes(const formats::format& form, std::string_view name) {
  const auto taken = words_in(form.options);
  return std::find(taken.begin(), taken.end(), name) != taken.end();
}

outcome<formats::format_options> format_options_of(const options& given) {
  formats::format_options out;
  for (const parameter& each : parameters) {
    if (!given.has(each.id)) continue;
    bool named = false;
    bool taken = false;
    for (const flag id : {flag::format, flag::to, flag::from}) {
      const formats::format* form = formats::find(given.text(id));
      if (form == nullptr) continue;
      named = true;
      taken |= takes(*form, each.name);
    }
    if (named && !taken) {
      std::string those;
      for (const formats::format* form : formats::list()) {
        if (takes(*form, each.name)) those.append(those.empty() ? "" : ", ").append(form->name);
      }
      return fail_usage(fmt::format("--{} is for format {}: leave it out", each.name, those));
    }
    out.*each.member = given.text(each.id);
  }
  return out;
}

const formats::format& output_format(const options& given, const formats::format* otherwise) {
  const std::string_view name = given.text(flag::format, given.text(flag::to));
  const formats::format* form = formats::find(name);
  if (form == nullptr) form = otherwise;
  return form == nullptr ? *formats::list().front() : *form;
}

}  // namespace bloomery::cli

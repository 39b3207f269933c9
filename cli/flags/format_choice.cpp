#include "cli/flags/format_choice.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "cli/terminal/text.hpp"

namespace bloomery::cli {
namespace {

struct parameter {
  flag id;
  std::string_view name;  // in formats::format::options
  std::string_view formats::format_options::*member;
};

constexpr std::array parameters = {
    parameter{flag::encoding, "encoding", &formats::format_options::form},
    parameter{flag::strategy, "strategy", &formats::format_options::strategy},
    parameter{flag::k_rule, "k-rule", &formats::format_options::k_rule},
    parameter{flag::bucket_size, "bucket-size", &formats::format_options::bucket_size},
    parameter{flag::max_iterations, "max-iterations", &formats::format_options::max_iterations},
    parameter{flag::spark_version, "spark-version", &formats::format_options::spark_version},
    parameter{flag::bloom_type, "bloom-type", &formats::format_options::bloom_type},
    parameter{flag::prefix_length, "prefix-length", &formats::format_options::prefix_length},
    parameter{flag::hash_type, "hash-type", &formats::format_options::hash_type},
    parameter{flag::chunk_bytes, "chunk-bytes", &formats::format_options::chunk_bytes},
};

}  // namespace

bool takes(const formats::format& format, std::string_view name) {
  return find_option(format.options, name) != nullptr;
}

namespace {

failed is_for_others(const parameter& param) {
  std::string those;
  for (const formats::format* format : formats::list()) {
    if (takes(*format, param.name)) those.append(those.empty() ? "" : ", ").append(format->name);
  }
  return fail_usage(fmt::format("--{} is for format {}: leave it out", param.name, those));
}

std::string_view hash_name(const hash_spec& spec) {
  const hash_info* info = find_hash(spec.id);
  return info == nullptr ? "another hash" : info->name;
}

// "kind blocked with xxh3", "format dcso with fnv1"
std::string bits_of(const any_filter& filter, const formats::format& from) {
  const bool ours = from.is_native();
  return fmt::format("{} {} with {}", ours ? "kind" : "format", ours ? filter.info().name : from.name,
                     hash_name(filter.hash()));
}

}  // namespace

outcome<formats::format_options> format_options_of(const options& opts) {
  formats::format_options out;
  for (const parameter& each : parameters) {
    if (!opts.has(each.id)) continue;
    bool named = false;
    bool taken = false;
    for (const flag id : {flag::format, flag::to, flag::from}) {
      const formats::format* format = formats::find(opts.text(id));
      if (format == nullptr) continue;
      named = true;
      taken |= takes(*format, each.name);
    }
    if (named && !taken) return is_for_others(each);
    out.*each.member = opts.text(each.id);
  }
  return out;
}

outcome<void> check_parameters(const options& opts, const formats::format& format) {
  for (const parameter& each : parameters) {
    const bool of_input = opts.has(flag::from) && takes(*formats::find(opts.text(flag::from)), each.name);
    if (opts.has(each.id) && !takes(format, each.name) && !of_input) return is_for_others(each);
  }
  return {};
}

failed cannot_become(std::string_view name, const any_filter& filter, const formats::format& from,
                     const formats::format& to) {
  std::string theirs(to.is_native() ? "a native file" : to.name);
  if (to.hash != nullptr) {
    if (const auto spec = to.hash({})) theirs.append(fmt::format(" with {}", hash_name(*spec)));
  }
  return fail_file(name, fmt::format("cannot become {}: its bits were set by {}, and {} sets other bits for the same "
                                     "keys. A filter does not store its keys: build it again from them with "
                                     "'bloomery build --format {} -o FILE KEYFILES'",
                                     to.name, bits_of(filter, from), theirs, to.name));
}

const formats::format& output_format(const options& opts, const formats::format* otherwise) {
  const std::string_view name = opts.text(flag::format, opts.text(flag::to));
  const formats::format* format = formats::find(name);
  if (format == nullptr) format = otherwise;
  return format == nullptr ? *formats::list().front() : *format;
}

}  // namespace bloomery::cli

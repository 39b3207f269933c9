// What -0, -f, -d, --csv, --header, --hex, --u64, --funnel and --crlf mean together.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "cli/keys/keys.hpp"

namespace bloomery::cli {
namespace {

// A field number from 1, or none when it is a name.
std::optional<std::uint64_t> field_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (bad != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

outcome<std::vector<std::string>> split_list(std::string_view list) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t comma = std::min(list.find(','), list.size());
    out.emplace_back(list.substr(0, comma));
    if (out.back().empty()) return fail_usage("-f: an empty field name: give numbers such as 1 or 2,3");
    if (comma == list.size()) return out;
    list.remove_prefix(comma + 1);
  }
}

struct funnel_name {
  std::string_view name;
  key_funnel funnel;
};
constexpr std::array funnel_names = {
    funnel_name{"bytes", key_funnel::bytes}, funnel_name{"utf8", key_funnel::utf8},
    funnel_name{"utf16", key_funnel::utf16}, funnel_name{"int", key_funnel::int32},
    funnel_name{"long", key_funnel::int64},
};

// Checked with the flag table.
key_funnel funnel_of(std::string_view name) {
  for (const funnel_name& each : funnel_names) {
    if (each.name == name) return each.funnel;
  }
  return key_funnel::none;
}

}  // namespace

outcome<void> key_format::resolve(std::span<const std::string_view> names) {
  positions.clear();
  for (const std::string& field : fields) {
    const auto named = std::find(names.begin(), names.end(), std::string_view(field));
    const auto number = field_number(field);
    if (named != names.end()) {
      positions.push_back(static_cast<std::uint64_t>(named - names.begin()));
    } else if (number && *number != 0) {
      positions.push_back(*number - 1);
    } else {
      std::string known;
      for (const std::string_view name : names) known.append(known.empty() ? "" : ", ").append(name);
      return fail_text(fmt::format("there is no field '{}'; the header has: {}", field, known.substr(0, 200)));
    }
  }
  return {};
}

outcome<void> key_format::use_rows_and_columns() {
  if (u64 || funnel != key_funnel::none) {
    return fail_usage("a row and a column are bytes: leave --u64 and --funnel out");
  }
  if (!fields.empty() && fields.size() != 2) {
    return fail_usage("the filter is of Bloom type ROWCOL: give -f with two fields, the row and FAMILY:QUALIFIER");
  }
  row_and_column = true;
  if (!fields.empty()) return {};
  fields = {"1", "2"};
  positions = {0, 1};
  return {};
}

outcome<key_format> key_format::from(const options& opts) {
  key_format format;
  format.terminator = opts.has(flag::null) ? '\0' : '\n';
  format.crlf = opts.has(flag::crlf);
  format.csv = opts.has(flag::csv);
  format.header = opts.has(flag::header);
  format.hex = opts.has(flag::hex);
  format.u64 = opts.has(flag::u64);
  format.delimiter = static_cast<char>(opts.count(flag::delimiter).value_or(format.csv ? ',' : '\t'));
  if (format.hex && format.u64) return fail_usage("--hex and --u64 contradict each other: give one");
  format.funnel = funnel_of(opts.text(flag::funnel));
  if (format.u64 && format.funnel != key_funnel::none) {
    return fail_usage("--u64 and --funnel contradict each other: give one");
  }
  if (format.hex && format.funnel > key_funnel::bytes) {
    return fail_usage("--hex gives the bytes that are hashed: leave --funnel out, or use --funnel bytes");
  }
  if (opts.has(flag::delimiter) && !format.csv && !opts.has(flag::fields)) {
    return fail_usage("-d separates fields: give -f with the fields that are the key, or --csv");
  }
  if (format.delimiter == format.terminator)
    return fail_usage("-d: fields and lines cannot end with the same character");
  if (format.csv && format.delimiter == '"') return fail_usage("-d: with --csv the quote cannot separate fields");
  if (!opts.has(flag::fields)) return format;
  auto fields = split_list(opts.text(flag::fields));
  if (!fields) return failed(fields.error());
  format.fields = std::move(*fields);
  for (const std::string& field : format.fields) {
    const auto number = field_number(field);
    if (number && *number == 0) return fail_usage("-f: fields are counted from 1, there is no field 0");
    if (!number && !format.header) {
      return fail_usage(fmt::format("-f: '{}' is not a number: give one from 1 on, or --header to use names", field));
    }
  }
  if (!format.header) {
    if (auto numbers = format.resolve({}); !numbers) return failed(numbers.error());
  }
  return format;
}

}  // namespace bloomery::cli

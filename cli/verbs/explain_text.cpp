#include "cli/verbs/explain_text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "cli/flags/numbers.hpp"
#include "cli/terminal/text.hpp"

namespace bloomery::cli {
namespace {

constexpr std::size_t drawn_row_cells = 64;
constexpr std::size_t most_named_probes = 3;  // in a sentence

// Values that are numbers to a reader; others are patterns of bits.
bool is_number(probe_unit unit) {
  return unit == probe_unit::bit || unit == probe_unit::counter || unit == probe_unit::column ||
         unit == probe_unit::threshold || unit == probe_unit::stamp || unit == probe_unit::integer;
}
std::string value_text(probe_unit unit, std::uint64_t value) {
  return is_number(unit) ? fmt::format("{}", value) : fmt::format("0x{:x}", value);
}

// "sub-filter 2, block 17"; empty: the whole filter.
std::string place_of(const lookup_group& group) {
  std::string out;
  const auto add = [&](std::string_view name, std::uint64_t index) {
    if (name.empty()) return;
    if (!out.empty()) out.append(", ");
    out.append(name);
    if (index != not_numbered) out.append(fmt::format(" {}", with_commas(index)));
  };
  add(group.part.name, group.part.index);
  add(group.place, group.place_index);
  return out;
}

// "5", "5 and 9", "5, 9, 12 and 4 more"
std::string some_of(const std::vector<std::string>& all) {
  std::string out;
  const std::size_t shown = all.size() <= most_named_probes + 1 ? all.size() : most_named_probes;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == all.size();
    out.append(i == 0 ? "" : last ? " and " : ", ").append(all[i]);
  }
  return shown == all.size() ? out : out.append(fmt::format(" and {} more", all.size() - shown));
}

// Of a group in which all probes have to match, those that do not.
std::string missing_text(const explanation& why, const lookup_group& group) {
  std::vector<std::string> missing;
  probe_unit unit = probe_unit::bit;
  for (const lookup_probe& probe : why.probes(group)) {
    if (probe.matches) continue;
    if (missing.empty()) unit = probe.unit;
    std::string position = with_commas(probe.position);
    // A key may read a bit twice.
    if (std::find(missing.begin(), missing.end(), position) == missing.end()) missing.push_back(std::move(position));
  }
  const bool several = missing.size() > 1;
  switch (unit) {
    case probe_unit::bit:
      return fmt::format("bit{} {} {} not set", several ? "s" : "", some_of(missing), several ? "are" : "is");
    case probe_unit::counter:
      return fmt::format("counter{} {} {} 0", several ? "s" : "", some_of(missing), several ? "are" : "is");
    case probe_unit::column:
      return fmt::format("{} of {} bits of the fingerprint differ", missing.size(), group.probes - 1);
    case probe_unit::threshold:
      return "the key starts below the threshold and belongs to the next layer";
    case probe_unit::stamp:
      return "the generation is not that of the line";
    case probe_unit::integer:
      return fmt::format("{} is not in the set", some_of(missing));
    default:
      return fmt::format("{} {} does not match", name_of(unit), some_of(missing));
  }
}

// Why a group matches.
std::string match_text(const explanation& why, const lookup_group& group) {
  if (!group.note.empty()) return std::string(group.note);
  const auto probes = why.probes(group);
  if (group.rule == probe_rule::xor_sum) {
    return fmt::format("its cells, xored, are the key's fingerprint, 0x{:x}", group.expected);
  }
  if (group.rule == probe_rule::run) return fmt::format("{} lanes in a row hold the key's bits", group.needed);
  if (group.rule == probe_rule::any) {
    const auto found = std::find_if(probes.begin(), probes.end(), [](const lookup_probe& p) { return p.matches; });
    if (found == probes.end()) return "a slot matches";
    return fmt::format("{} {} holds {}", name_of(found->unit), with_commas(found->position),
                       value_text(found->unit, found->read));
  }
  if (probes.empty()) return "nothing had to match";
  const probe_unit unit = probes.back().unit;
  if (unit == probe_unit::column) {
    return fmt::format("all {} bits of the fingerprint are the key's", group.probes - 1);
  }
  if (unit == probe_unit::integer) return fmt::format("{} is in the set", with_commas(probes.back().position));
  const std::uint32_t stamps = probes.front().unit == probe_unit::stamp ? 1 : 0;
  return fmt::format("all {} {}s are {}", group.probes - stamps, name_of(unit),
                     unit == probe_unit::counter ? "above 0" : "set");
}

std::string mismatch_text(const explanation& why, const lookup_group& group) {
  if (!group.note.empty()) return std::string(group.note);
  switch (group.rule) {
    case probe_rule::all:
      return missing_text(why, group);
    case probe_rule::run:
      return fmt::format("no {} lanes in a row hold the key's bits", group.needed);
    case probe_rule::xor_sum:
      return fmt::format("its cells, xored, are 0x{:x}, and the key's fingerprint is 0x{:x}", group.read,
                         group.expected);
    case probe_rule::any:
      break;
  }
  const auto probes = why.probes(group);
  if (probes.empty()) return "nothing matches";
  return fmt::format("no {} holds {}", name_of(probes.front().unit),
                     value_text(probes.front().unit, probes.front().expected));
}

std::string group_text(const explanation& why, const lookup_group& group, bool with_place) {
  const std::string place = place_of(group);
  const std::string text = group.matches ? match_text(why, group) : mismatch_text(why, group);
  return !with_place || place.empty() ? text : fmt::format("{}: {}", place, text);
}

// What was bumped to the next layer decided nothing.
bool is_bumped(const explanation& why, const lookup_group& group) {
  return group.kept == 1 && !group.matches && why.probes(group)[0].unit == probe_unit::threshold;
}

// Of groups that look for one value in places of one sort: "no cell of buckets 10, 15, 44 and 53 holds 0x167".
std::optional<std::string> one_value_text(const explanation& why, const std::vector<const lookup_group*>& tried) {
  std::vector<std::string> places;
  const lookup_group& one = *tried[0];
  const auto first = why.probes(one);
  for (const lookup_group* group : tried) {
    const auto probes = why.probes(*group);
    const bool alike = group->rule == probe_rule::any && !probes.empty() && !group->place.empty() &&
                       group->place == one.place && group->part.name == one.part.name &&
                       group->part.index == one.part.index && probes[0].unit == first[0].unit &&
                       probes[0].expected == first[0].expected;
    if (!alike) return {};
    places.push_back(with_commas(group->place_index));
  }
  const std::string part = place_of({.part = one.part});
  return fmt::format("{}{}no {} of {}s {} holds {}", part, part.empty() ? "" : ": ", name_of(first[0].unit), one.place,
                     some_of(places), value_text(first[0].unit, first[0].expected));
}

std::string no_text(const explanation& why, std::uint8_t stage) {
  std::vector<const lookup_group*> tried;
  for (const lookup_group& group : why.groups()) {
    if (group.part.stage == stage && !group.says_yes()) tried.push_back(&group);
  }
  while (tried.size() > 1 && is_bumped(why, *tried[0])) tried.erase(tried.begin());
  if (tried.empty()) return "nothing matches";
  if (tried.size() == 1) return group_text(why, *tried[0], why.groups().size() > 1);
  if (const auto text = one_value_text(why, tried)) return *text;
  std::string out;
  for (std::size_t i = 0; i < tried.size() && i <= most_named_probes; ++i) {
    out.append(out.empty() ? "" : "; ").append(group_text(why, *tried[i], true));
  }
  const std::uint64_t all = tried.size() + (why.groups_read() - why.groups().size());
  return all <= most_named_probes + 1 ? out : out.append(fmt::format("; and {} more", all - most_named_probes - 1));
}

// ---- pictures and tables ----

std::string header_of(const lookup_group& group, std::string_view unit) {
  const std::string place = place_of(group);
  const std::string cells =
      fmt::format("{}s {} to {}", unit, with_commas(group.first_cell), with_commas(group.first_cell + group.cells - 1));
  return fmt::format("  {}{}{} (^ read and {}, x read and {})\n", place, place.empty() ? "" : ", ", cells,
                     unit == "bit" ? "set" : "above 0", unit == "bit" ? "not set" : "0");
}

std::string drawn(const explanation& why, const lookup_group& group, const painter& paint) {
  const auto cells = why.cells(group);
  std::string marks(cells.size(), ' ');
  std::string reads;
  std::string_view unit = "bit";
  for (const lookup_probe& probe : why.probes(group)) {
    if (probe.unit != probe_unit::bit && probe.unit != probe_unit::counter) continue;
    unit = name_of(probe.unit);
    marks[static_cast<std::size_t>(probe.position - group.first_cell)] = probe.matches ? '^' : 'x';
    reads.append(fmt::format("{}{}={}", reads.empty() ? "" : ", ", probe.position, probe.read));
  }
  std::string out = header_of(group, unit);
  const std::size_t label = std::to_string(group.first_cell + cells.size() - 1).size();
  for (std::size_t row = 0; row < cells.size(); row += drawn_row_cells) {
    const std::size_t count = std::min(drawn_row_cells, cells.size() - row);
    out.append(fmt::format("    {:>{}}  ", group.first_cell + row, label));
    for (std::size_t i = row; i < row + count; ++i) out.append(1, "0123456789abcdef"[cells[i] & 15U]);
    out.append(1, '\n');
    std::string marked = marks.substr(row, count);
    marked.erase(marked.find_last_not_of(' ') + 1);
    if (marked.empty()) continue;
    out.append(label + 6, ' ');
    for (const char mark : marked) {
      out.append(mark == ' ' ? " " : paint(mark == '^' ? style::good : style::bad, std::string(1, mark)));
    }
    out.append(1, '\n');
  }
  return out.append(wrapped("    reads ", reads, 80));
}

struct probe_row {
  std::array<std::string, 7> text;
};
constexpr std::array<std::string_view, 7> probe_columns = {"reads", "in",     "position", "byte",
                                                           "value", "wanted", "match"};

std::string table_of(const std::vector<probe_row>& rows) {
  std::array<std::size_t, probe_columns.size()> width{};
  for (std::size_t i = 0; i < probe_columns.size(); ++i) {
    width[i] = probe_columns[i].size();
    for (const probe_row& row : rows) width[i] = std::max(width[i], row.text[i].size());
  }
  const bool has_places =
      std::any_of(rows.begin(), rows.end(), [](const probe_row& row) { return !row.text[1].empty(); });
  std::string out;
  const auto write = [&](const auto& words) {
    std::string line = " ";
    for (std::size_t i = 0; i < probe_columns.size(); ++i) {
      if (i == 1 && !has_places) continue;
      const bool left = i < 2 || i + 1 == probe_columns.size();
      line.append(left ? fmt::format(" {:<{}}", words[i], width[i]) : fmt::format(" {:>{}}", words[i], width[i]));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out.append(line).append(1, '\n');
  };
  write(probe_columns);
  for (const probe_row& row : rows) write(row.text);
  return out;
}

void add_rows(const explanation& why, const lookup_group& group, std::vector<probe_row>& rows) {
  for (const lookup_probe& probe : why.probes(group)) {
    const bool has_byte = probe.byte_offset != lookup_probe::no_offset;
    rows.push_back({{std::string(name_of(probe.unit)), place_of(group), with_commas(probe.position),
                     has_byte ? with_commas(probe.byte_offset) : "-", value_text(probe.unit, probe.read),
                     probe.has_expected ? value_text(probe.unit, probe.expected) : "-",
                     group.rule == probe_rule::xor_sum ? "-"
                     : probe.matches                   ? "yes"
                                                       : "no"}});
  }
}

}  // namespace

std::string digest_text(const explanation& why) {
  std::string out;
  for (std::size_t i = why.digest().size(); i-- > 0;) out.append(fmt::format("{:016x}", why.digest()[i]));
  return out;
}

std::string reason_of(const explanation& why) {
  std::string out;
  const auto groups = why.groups();
  std::uint8_t stages = 0;
  for (const lookup_group& group : groups) stages = std::max<std::uint8_t>(stages, group.part.stage);
  for (std::uint8_t stage = 0; stage <= stages; ++stage) {
    const auto yes = std::find_if(groups.begin(), groups.end(), [stage](const lookup_group& group) {
      return group.part.stage == stage && group.says_yes();
    });
    if (yes == groups.end()) return no_text(why, stage);
    out.append(out.empty() ? "" : "; ").append(group_text(why, *yes, groups.size() > 1));
  }
  return out;
}

std::string draw_groups(const explanation& why, const painter& paint) {
  std::string out;
  std::vector<probe_row> rows;
  const auto write_table = [&] {
    if (!rows.empty()) out.append(table_of(rows));
    rows.clear();
  };
  for (const lookup_group& group : why.groups()) {
    if (group.cells != 0) {
      write_table();
      out.append(drawn(why, group, paint));
    } else if (!group.note.empty()) {
      write_table();
      const std::string place = place_of(group);
      out.append(fmt::format("  {}{}{}\n", place, place.empty() ? "" : ": ", group.note));
    } else {
      add_rows(why, group, rows);
    }
  }
  write_table();
  if (why.is_cut()) {
    out.append(fmt::format("  shown are {} of {} and {} of {}\n", why.probes().size(),
                           number_of(why.probes_read(), "probe"), why.groups().size(),
                           number_of(why.groups_read(), "place")));
  }
  return out;
}

nlohmann::ordered_json groups_as_json(const explanation& why) {
  auto out = nlohmann::ordered_json::array();
  for (const lookup_group& group : why.groups()) {
    auto object = nlohmann::ordered_json::object();
    const auto add_place = [&](std::string_view field, std::string_view name, std::uint64_t index) {
      if (name.empty()) return;
      object[field] = {{"name", name}, {"index", index}};
      if (index == not_numbered) object[field]["index"] = nullptr;
    };
    add_place("part", group.part.name, group.part.index);
    add_place("place", group.place, group.place_index);
    object["stage"] = group.part.stage;
    object["negated"] = group.part.negated;
    object["rule"] = name_of(group.rule);
    if (group.rule == probe_rule::run) object["needed"] = group.needed;
    if (group.rule == probe_rule::xor_sum) {
      object["read"] = group.read;
      object["expected"] = group.expected;
    }
    object["matches"] = group.matches;
    if (!group.note.empty()) object["note"] = group.note;
    auto probes = nlohmann::ordered_json::array();
    for (const lookup_probe& probe : why.probes(group)) {
      auto read = nlohmann::ordered_json::object();
      read["unit"] = name_of(probe.unit);
      read["number"] = probe.number;
      read["position"] = probe.position;
      if (probe.byte_offset != lookup_probe::no_offset) read["byte"] = probe.byte_offset;
      read["read"] = probe.read;
      if (probe.has_expected) read["expected"] = probe.expected;
      read["matches"] = probe.matches;
      probes.push_back(std::move(read));
    }
    object["probes"] = std::move(probes);
    if (group.cells != 0) object["cells"] = {{"first", group.first_cell}, {"values", why.cells(group)}};
    out.push_back(std::move(object));
  }
  return out;
}

}  // namespace bloomery::cli

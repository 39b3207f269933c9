#include <bloomery/kinds/explain.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY std::string_view name_of(probe_unit unit) noexcept {
  constexpr std::array<std::string_view, 9> names = {"bit",       "counter", "slot",  "cell",   "column",
                                                     "threshold", "stamp",   "entry", "integer"};
  return names[static_cast<std::size_t>(unit)];
}

BLOOMERY_BODY std::string_view name_of(probe_rule rule) noexcept {
  constexpr std::array<std::string_view, 4> names = {"all", "any", "run", "xor"};
  return names[static_cast<std::size_t>(rule)];
}

BLOOMERY_BODY void explanation::begin(const lookup_group& group) noexcept {
  if (group.part.stage != stage_) {
    decided_ = decided_ && stage_says_yes_;
    stage_says_yes_ = false;
    stage_ = group.part.stage;
  }
  building_ = group;
  building_.matches = group.rule == probe_rule::all;
  building_.read = 0;
  building_.probes = 0;
  building_.first = probes_kept_;
  building_.kept = 0;
  building_.cells = 0;
  has_decisive_ = false;
  in_row_ = 0;
}

BLOOMERY_BODY void explanation::add(const lookup_probe& probe) noexcept {
  lookup_probe numbered = probe;
  numbered.number = building_.probes++;
  ++probes_seen_;
  bool decisive = false;
  switch (building_.rule) {
    case probe_rule::all:
      building_.matches = building_.matches && probe.matches;
      decisive = !probe.matches;
      break;
    case probe_rule::any:
      building_.matches = building_.matches || probe.matches;
      decisive = probe.matches;
      break;
    case probe_rule::run:
      in_row_ = probe.matches ? in_row_ + 1 : 0;
      building_.matches = building_.matches || in_row_ >= building_.needed;
      break;
    case probe_rule::xor_sum:
      building_.read ^= probe.read;
      break;
  }
  if (stored() != nullptr && building_.kept < max_group_probes && probes_kept_ < max_probes) {
    stored()->probes[probes_kept_++] = numbered;
    ++building_.kept;
    has_decisive_ = has_decisive_ || decisive;
  } else if (decisive && !has_decisive_ && building_.kept != 0) {
    stored()->probes[probes_kept_ - 1U] = numbered;
    has_decisive_ = true;
  }
}

BLOOMERY_BODY void explanation::end() noexcept {
  if (building_.rule == probe_rule::xor_sum) {
    building_.matches = building_.read == building_.expected;
    for (std::size_t i = building_.first; i < probes_kept_; ++i) stored()->probes[i].matches = building_.matches;
  }
  ++groups_seen_;
  const bool yes = building_.says_yes();
  stage_says_yes_ = stage_says_yes_ || yes;
  const bool fits =
      yes ? groups_kept_ < max_groups : groups_kept_ < max_other_groups && probes_kept_ <= max_group_probes;
  if (fits && stored() != nullptr) {
    stored()->groups[groups_kept_++] = building_;
    cells_used_ = static_cast<std::uint16_t>(cells_used_ + building_.cells);
  } else {
    probes_kept_ = building_.first;
  }
}

BLOOMERY_BODY void explanation::add_note(const explained_part& part, std::string_view note, bool matches) noexcept {
  begin({.part = part, .rule = matches ? probe_rule::all : probe_rule::any, .note = note});
  end();
}

}  // namespace bloomery::inline BLOOMERY_ABI

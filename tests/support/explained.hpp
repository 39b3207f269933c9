// Explanations of look-ups, held against what they claim.
#pragma once

#include <gtest/gtest.h>

#include <bloomery/kinds/explain.hpp>
#include <cstdint>
#include <map>

namespace bloomery::test {

// Whether a group matches, from its probes alone.
inline bool group_matches(const explanation& why, const lookup_group& group) {
  const auto probes = why.probes(group);
  bool all = true;
  bool any = false;
  std::uint64_t sum = 0;
  std::uint32_t row = 0;
  std::uint32_t longest = 0;
  for (const lookup_probe& probe : probes) {
    all = all && probe.matches;
    any = any || probe.matches;
    sum ^= probe.read;
    row = probe.matches ? row + 1 : 0;
    longest = std::max(longest, row);
  }
  switch (group.rule) {
    case probe_rule::all:
      return all;
    case probe_rule::any:
      return any;
    case probe_rule::run:
      return longest >= group.needed;
    case probe_rule::xor_sum:
      return sum == group.expected;
  }
  return false;
}

// The answer, from the probes and groups alone, which must be whole.
inline bool replayed(const explanation& why) {
  std::map<unsigned, bool> stages;
  for (const lookup_group& group : why.groups()) {
    const bool yes = group_matches(why, group) != group.part.negated;
    stages[group.part.stage] = stages[group.part.stage] || yes;
  }
  bool every = !stages.empty();
  for (const auto& [stage, yes] : stages) every = every && yes;
  return every != why.reversed();
}

// What holds for every explanation, of a key that a look-up answers so.
inline void expect_sound(const explanation& why, bool answer) {
  ASSERT_EQ(why.may_contain(), answer);
  ASSERT_FALSE(why.groups().empty());
  if (!why.is_cut()) {
    ASSERT_EQ(replayed(why), answer);
  }
  for (const lookup_group& group : why.groups()) {
    if (group.kept == group.probes) {
      ASSERT_EQ(group_matches(why, group), group.matches);
    }
    // Of a group where all count, a key that is not there fails in one that is kept.
    if (group.rule == probe_rule::all && !group.matches) {
      bool one_fails = false;
      for (const lookup_probe& probe : why.probes(group)) one_fails = one_fails || !probe.matches;
      ASSERT_TRUE(one_fails);
    }
    for (const lookup_probe& probe : why.probes(group)) {
      if (probe.unit == probe_unit::bit || probe.unit == probe_unit::counter) {
        ASSERT_EQ(probe.matches, probe.read != 0);
      }
      if (group.cells == 0 || (probe.unit != probe_unit::bit && probe.unit != probe_unit::counter)) continue;
      ASSERT_GE(probe.position, group.first_cell);
      ASSERT_LT(probe.position - group.first_cell, group.cells);
      // A picture may show what is left over, which a look-up reads as 0.
      const std::uint8_t drawn = why.cells(group)[probe.position - group.first_cell];
      if (probe.matches) {
        ASSERT_EQ(drawn, probe.read);
      }
    }
  }
}

}  // namespace bloomery::test

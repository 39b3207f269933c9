// An explanation by itself: rules, stages, and what is kept when it is cut.
#include <bloomery/kinds/explain.hpp>

#include "support/explained.hpp"

namespace bloomery::test {
namespace {

lookup_probe bit_read(std::uint64_t position, bool is_set) {
  return probe_of_bit(position, [is_set](std::uint64_t) { return is_set; });
}

void add_bits(explanation& out, const lookup_group& group, std::initializer_list<bool> bits) {
  out.begin(group);
  std::uint64_t position = 0;
  for (const bool is_set : bits) out.add(bit_read(position++, is_set));
  out.end();
}

TEST(Explanation, RulesDecideAboutGroups) {
  const auto decides = [](const lookup_group& group, std::initializer_list<bool> bits) {
    explanation out(std::uint64_t{1});
    add_bits(out, group, bits);
    EXPECT_EQ(replayed(out), out.may_contain());
    return out.may_contain();
  };
  EXPECT_TRUE(decides({.rule = probe_rule::all}, {true, true}));
  EXPECT_FALSE(decides({.rule = probe_rule::all}, {true, false}));
  EXPECT_TRUE(decides({.rule = probe_rule::any}, {false, true}));
  EXPECT_FALSE(decides({.rule = probe_rule::any}, {false, false}));
  EXPECT_TRUE(decides({.rule = probe_rule::run, .needed = 2}, {true, false, true, true}));
  EXPECT_FALSE(decides({.rule = probe_rule::run, .needed = 2}, {true, false, true, false}));
  EXPECT_TRUE(decides({.rule = probe_rule::xor_sum, .expected = 1}, {true, true, true}));
  EXPECT_FALSE(decides({.rule = probe_rule::xor_sum, .expected = 1}, {true, true}));
}

TEST(Explanation, StagesMustAllSayYesAndGroupsOfOneAreAlternatives) {
  explanation out(std::uint64_t{1});
  add_bits(out, {}, {false});
  add_bits(out, {}, {true});
  EXPECT_TRUE(out.may_contain());
  add_bits(out, {.part = {.stage = 1, .negated = true}}, {true});
  EXPECT_FALSE(out.may_contain());
  add_bits(out, {.part = {.stage = 1}}, {true});
  EXPECT_TRUE(out.may_contain());
  EXPECT_TRUE(replayed(out));
  out.reverse();
  EXPECT_FALSE(out.may_contain());
  EXPECT_FALSE(replayed(out));
}

TEST(Explanation, NothingReadIsANo) {
  EXPECT_FALSE(explanation(std::uint64_t{1}).may_contain());
  explanation out(std::uint64_t{1});
  out.add_note({}, "every key matches", true);
  EXPECT_TRUE(out.may_contain());
  EXPECT_EQ(out.groups()[0].note, "every key matches");
}

TEST(Explanation, KeepsTheGroupThatMatchesHoweverManyDoNot) {
  explanation out(std::uint64_t{1});
  for (std::uint64_t i = 0; i < 1000; ++i) {
    out.begin({.part = {.name = "sub-filter", .index = i}});
    for (std::uint64_t n = 0; n < 20; ++n) out.add(bit_read(n, i == 900 || n % 2 == 0));
    out.end();
  }
  EXPECT_TRUE(out.may_contain());
  EXPECT_TRUE(out.is_cut());
  EXPECT_EQ(out.groups_read(), 1000U);
  EXPECT_EQ(out.probes_read(), 20'000U);
  EXPECT_LE(out.groups().size(), explanation::max_groups);
  const lookup_group& last = out.groups().back();
  EXPECT_EQ(last.part.index, 900U);
  EXPECT_EQ(last.kept, 20U);
  for (const lookup_probe& probe : out.probes(last)) EXPECT_TRUE(probe.matches);
}

TEST(Explanation, KeepsTheProbeThatDecidesHoweverManyCameBefore) {
  for (const bool all : {true, false}) {
    explanation out(std::uint64_t{1});
    out.begin({.rule = all ? probe_rule::all : probe_rule::any});
    for (std::uint64_t n = 0; n < 3000; ++n) out.add(bit_read(n, (n == 2345) != all));
    out.end();
    EXPECT_EQ(out.may_contain(), !all);
    EXPECT_TRUE(out.is_cut());
    const lookup_probe& decisive = out.probes().back();
    EXPECT_EQ(decisive.position, 2345U);
    EXPECT_EQ(decisive.number, 2345U);
    EXPECT_EQ(decisive.matches, !all);
  }
}

TEST(Explanation, DrawsCellsAsLongAsTheyFit) {
  explanation out(std::uint64_t{1});
  for (int i = 0; i < 9; ++i) {
    out.begin({});
    out.draw(512, 512, [](std::uint64_t cell) { return cell % 3 == 0; });
    out.end();
  }
  for (std::size_t i = 0; i < 8; ++i) {
    ASSERT_EQ(out.cells(out.groups()[i]).size(), 512U);
    EXPECT_EQ(out.cells(out.groups()[i])[3], 1U);
    EXPECT_EQ(out.cells(out.groups()[i])[4], 0U);
  }
  EXPECT_EQ(out.cells(out.groups()[8]).size(), 0U);
}

TEST(Explanation, NamesEveryUnitAndRule) {
  EXPECT_EQ(name_of(probe_unit::bit), "bit");
  EXPECT_EQ(name_of(probe_unit::integer), "integer");
  EXPECT_EQ(name_of(probe_rule::xor_sum), "xor");
}

}  // namespace
}  // namespace bloomery::test

// What filters report of themselves (kinds/facts.hpp): every kind, in one piece and in shards.
#include <gtest/gtest.h>

#include <algorithm>
#include <bloomery/any_filter.hpp>
#include <bloomery/wrappers/any_shards.hpp>
#include <string>
#include <vector>

#include "support.hpp"

namespace bloomery::test {
namespace {

constexpr std::uint64_t few_keys = 500;

class Facts : public KindTest {};
BLOOMERY_FOR_KINDS(Facts, kind_table());

// Every kind, the geometry and how it stands.
std::vector<fact_list> facts_of(const any_filter& filter) { return {filter.facts(), stats_of(filter).facts}; }

TEST_P(Facts, HaveALabelAndAHelpTextEach) {
  for (const fact_list& list : facts_of(sample(GetParam(), few_keys))) {
    EXPECT_LT(list.size(), fact_list::most_facts) << "the next one would be left out";
    for (const fact& each : list) {
      EXPECT_FALSE(each.label.empty()) << each.name;
      EXPECT_FALSE(each.help.empty()) << each.name;
      EXPECT_EQ(each.help.find("--"), std::string_view::npos) << "a fact names no option of a surface";
    }
  }
}

TEST_P(Facts, HaveNamesOfTheirOwnThatNeedNoQuotes) {
  constexpr std::string_view usable = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  std::vector<std::string> names;
  for (const fact_list& list : facts_of(sample(GetParam(), few_keys))) {
    for (const fact& each : list) {
      EXPECT_FALSE(each.name.empty());
      EXPECT_EQ(each.name.find_first_not_of(usable), std::string_view::npos) << each.name;
      names.push_back(std::string(each.group) + "." + std::string(each.name));
    }
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST_P(Facts, OfTheGeometryAreWhatTheFilterHasInMemoryAndInAFile) {
  const folder box;
  const any_filter filter = sample(GetParam(), few_keys);
  EXPECT_FALSE(filter.facts().empty());
  for (const fact& each : filter.facts()) EXPECT_EQ(each.topic, fact_topic::geometry) << each.name;
  for (const fact& each : stats_of(filter).facts) EXPECT_NE(each.topic, fact_topic::geometry) << each.name;
  ASSERT_TRUE(filter.save((box / "f").c_str()));
  const auto opened = any_filter::open((box / "f").c_str());
  ASSERT_TRUE(opened);
  EXPECT_EQ(values_of(opened->facts()), values_of(filter.facts()));
}

TEST_P(Facts, StateTheLayoutAndTheModeThatTheFilterWasMadeWith) {
  for (const std::string_view name : {"layout", "mode"}) {
    const option_info* option = find_option(GetParam().entry->options, name);
    if (option == nullptr) continue;
    for (const option_choice& choice : option->choices) {
      filter_params params{.keys = few_keys, .fpr = 0.05};
      (name == "layout" ? params.layout : params.mode) = choice.name;
      std::vector<std::uint64_t> digests = {1, 2, 3};
      const auto made = GetParam().is_static
                            ? any_filter::build_digests(GetParam().info->name, params, hash_of(GetParam()), digests)
                            : any_filter::make(GetParam().info->name, params, hash_of(GetParam()));
      ASSERT_TRUE(made) << choice.name << ": " << describe(made.error()).c_str();
      const fact_list facts = made->facts();
      const fact* stated = facts.find(name);
      ASSERT_NE(stated, nullptr) << name;
      EXPECT_EQ(stated->value.text().substr(0, choice.name.size()), choice.name);
    }
  }
}

// A filter in shards has the numbers of all of them.
class ShardFacts : public KindTest {};
BLOOMERY_FOR_KINDS(ShardFacts, kinds_where([](const kind_case& kind) {
                     return kind.inserts && (kind.expires || kind.may_lose || kind.saturates);
                   }));

TEST_P(ShardFacts, AreThoseOfAllShardsTogether) {
  auto made = make_shards(GetParam().info->name, {.keys = 2000, .fpr = 0.01}, hash_of(GetParam()), {.shards = 2});
  ASSERT_TRUE(made);
  std::vector<std::uint64_t> digests;
  for (std::uint64_t i = 0; i < 600; ++i) digests.push_back(sample_digest(i));
  ASSERT_TRUE(made->add(digest_span(digests)));
  const fact_list all = stats_of(*made).facts;
  const fact_list one = stats_of(made->shard(0)).facts;
  const fact_list two = stats_of(made->shard(1)).facts;
  ASSERT_FALSE(all.empty());
  ASSERT_EQ(all.size(), one.size());
  for (const fact& each : all) {
    const fact_value first = one.find(each.name)->value;
    const fact_value second = two.find(each.name)->value;
    if (each.join == fact_join::sum) {
      EXPECT_EQ(each.value.integer(), first.integer() + second.integer()) << each.name;
    } else {
      EXPECT_LE(each.value.integer(), std::max(first.integer(), second.integer())) << each.name;
      EXPECT_GE(each.value.integer(), std::min(first.integer(), second.integer())) << each.name;
      EXPECT_LE(each.value.real(), std::max(first.real(), second.real())) << each.name;
      EXPECT_GE(each.value.real(), std::min(first.real(), second.real())) << each.name;
    }
    EXPECT_NE(each.join, fact_join::each) << each.name << ": how it stands is one value for all shards";
  }
}

}  // namespace
}  // namespace bloomery::test

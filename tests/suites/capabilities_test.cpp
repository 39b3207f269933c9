// What a kind is said to be able to do (kinds/capabilities.hpp), against what calls do.
#include <gtest/gtest.h>

#include <algorithm>
#include <bloomery/any_filter.hpp>
#include <bloomery/kinds.hpp>
#include <vector>

#include "support.hpp"

namespace bloomery::test {
namespace {

class Capabilities : public KindTest {};
BLOOMERY_FOR_KINDS(Capabilities, kind_table());

constexpr std::uint64_t few_keys = 200;

any_filter filled(const kind_case& kind) { return sample(kind, few_keys); }

bool is_unable(const error& why) { return why.code == errc::unsupported; }

TEST_P(Capabilities, OfAFilterAreThoseOfItsKindHoweverItIsHeld) {
  const folder dir;
  const any_filter made = filled(GetParam());
  const kind_capabilities& said = GetParam();
  EXPECT_EQ(made.capabilities(), said);
  EXPECT_EQ(&made.info(), GetParam().info);
  const std::string path = dir / "filter";
  ASSERT_TRUE(made.save(path.c_str()));
  const auto opened = any_filter::open(path.c_str());
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->capabilities(), said);
  EXPECT_EQ(opened->is_mapped(), said.maps);
}

TEST_P(Capabilities, AreWhatSingleCallsDo) {
  any_filter filter = filled(GetParam());
  const std::vector<std::uint64_t> digests = {7};
  std::vector<std::uint64_t> answers(1);
  const auto added = filter.add(digest_span(digests));
  EXPECT_EQ(added.has_value(), GetParam().inserts);
  const auto erased = filter.erase(digest_span(digests));
  EXPECT_EQ(erased.has_value(), GetParam().erases);
  const auto counted = filter.count(digest_span(digests), answers);
  EXPECT_EQ(counted.has_value(), GetParam().counts);
  EXPECT_TRUE(added || is_unable(added.error()));
  EXPECT_TRUE(erased || is_unable(erased.error()));
  EXPECT_TRUE(counted || is_unable(counted.error()));
  EXPECT_EQ(filter.clear().has_value(), GetParam().inserts);
}

TEST_P(Capabilities, AreWhatCombiningCallsDo) {
  const any_filter filter = filled(GetParam());
  auto into = filter.clone();
  ASSERT_TRUE(into);
  // A fixed-capacity kind may have no room for the union.
  const auto merged = into->merge(filter, merge_fpr::any);
  EXPECT_EQ(merged.has_value() || !is_unable(merged.error()), GetParam().merges);
  const auto intersected = into->intersect(filter);
  EXPECT_EQ(intersected.has_value() || !is_unable(intersected.error()), GetParam().intersects);
  EXPECT_EQ(filter.fold(1).has_value(), GetParam().folds);
  EXPECT_EQ(filter.fold_units() != 0, GetParam().folds);
}

TEST_P(Capabilities, AreWhatTheStatisticsReport) {
  const auto stats = filled(GetParam()).stats();
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats->window.has_value(), GetParam().expires);
  EXPECT_EQ(stats->loss.has_value(), GetParam().may_lose);
}

TEST_P(Capabilities, DecideHowAKindIsMade) {
  const kind_entry& kind = *GetParam().entry;
  const filter_params params{.keys = few_keys, .fpr = 0.01};
  EXPECT_NE(GetParam().inserts, GetParam().is_static);
  EXPECT_EQ(any_filter::make(kind.info->name, params, hash_of(GetParam())).has_value(), GetParam().inserts);
  std::vector<std::uint64_t> digests = {1, 2, 3};
  std::vector<std::uint64_t> others = {4, 5, 6};
  EXPECT_EQ(any_filter::build_digests(kind.info->name, params, hash_of(GetParam()), digests, others).has_value(),
            GetParam().excludes);
  EXPECT_EQ(kind.packed_hashes != nullptr, GetParam().packs);
}

TEST_P(Capabilities, TellWhoTakesWideDigestsInOneLayoutAtLeast) {
  if (GetParam().is_static) {
    EXPECT_FALSE(GetParam().takes_digest128) << "a static kind is built from 64-bit digests";
    return;
  }
  std::vector<std::string_view> layouts = {""};
  if (const option_info* option = find_option(GetParam().entry->options, "layout")) {
    for (const option_choice& choice : option->choices) layouts.push_back(choice.name);
  }
  bool wide = false;
  for (const std::string_view layout : layouts) {
    filter_params params{.keys = few_keys, .fpr = 0.05, .layout = layout};
    params.takes_digest128 = true;
    wide = wide || make_filter(GetParam(), params).digest_bits() == 128;
  }
  EXPECT_EQ(wide, GetParam().takes_digest128);
}

}  // namespace
}  // namespace bloomery::test

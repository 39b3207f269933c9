// What the kinds state of themselves in their options, against what they take.
#include <gtest/gtest.h>

#include <algorithm>
#include <bloomery/any_filter.hpp>
#include <bloomery/hash/identity.hpp>
#include <bloomery/kinds.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace bloomery;

template <class T>
std::string refusal(const result<T>& made) {
  return made ? "" : std::string(describe(made.error()).view());
}

// An error text for a filter of this kind with these parameters; empty when there is none.
std::string refusal_of(const kind_entry& kind, const filter_params& params) {
  const hasher hash = kind.info->integer_keys ? hasher::of(identity{}) : hasher();
  return refusal(kind.capabilities.is_static
                     ? any_filter::build(kind.info->name, params, hash, std::span<const std::uint64_t>())
                     : any_filter::make(kind.info->name, params, hash));
}

constexpr filter_params few_keys{.keys = 1000, .fpr = 0.05};

TEST(Kinds, TakeTheLayoutsThatTheyNameAndRefuseOthersByNamingThem) {
  for (const kind_entry& kind : kinds()) {
    const std::string refused = refusal(kind.plan(few_keys.sizes(), "round"));
    EXPECT_NE(refused, "") << kind.info->name;
    const option_info* layouts = find_option(kind.options, "layout");
    if (layouts == nullptr) {
      EXPECT_NE(refused.find(" layout"), std::string::npos) << refused;
      continue;
    }
    for (const option_choice& layout : layouts->choices) {
      EXPECT_EQ(refusal(kind.plan(few_keys.sizes(), layout.name)), "") << kind.info->name << " " << layout.name;
      EXPECT_NE(refused.find(layout.name), std::string::npos) << refused;
    }
  }
}

TEST(Kinds, TakeTheModesThatTheyNameAndRefuseOthersByNamingThem) {
  for (const kind_entry& kind : kinds()) {
    filter_params params = few_keys;
    params.mode = "round";
    const std::string refused = refusal_of(kind, params);
    EXPECT_NE(refused, "") << kind.info->name;
    const option_info* modes = find_option(kind.options, "mode");
    if (modes == nullptr) {
      EXPECT_NE(refused.find("has no modes"), std::string::npos) << refused;
      continue;
    }
    for (const option_choice& mode : modes->choices) {
      params.mode = mode.name;
      EXPECT_EQ(refusal_of(kind, params), "") << kind.info->name << " " << mode.name;
      EXPECT_NE(refused.find(mode.name), std::string::npos) << refused;
    }
  }
}

// What a value by name is refused with.
std::string refusal_of(const kind_entry& kind, const option_value& value) {
  filter_params params = few_keys;
  params.options = {&value, 1};
  return refusal_of(kind, params);
}

TEST(Kinds, TakeTheirOptionsByNameWithTheirDefaultsAndRanges) {
  for (const kind_entry& kind : kinds()) {
    for (const option_info& option : kind.options) {
      for (const option_choice& choice : option.choices) {
        EXPECT_EQ(refusal_of(kind, {option.name, choice.name}), "") << kind.info->name << " " << choice.name;
      }
      if (option.type == option_type::choice) {
        EXPECT_NE(refusal_of(kind, {option.name, "round"}).find(option.choices.back().name), std::string::npos);
        continue;
      }
      EXPECT_TRUE(option.takes(option.default_value)) << option.name;
      for (const std::uint64_t value :
           {option.least - 1, option.least, option.default_value, option.most, option.most + 1}) {
        const std::string refused = refusal_of(kind, {option.name, value});
        EXPECT_EQ(refused.empty(), option.takes(value)) << kind.info->name << " " << option.name << " " << value;
        if (option.takes(value)) continue;
        EXPECT_NE(refused.find(std::to_string(option.most)), std::string::npos) << refused;
      }
    }
    EXPECT_NE(refusal_of(kind, {"roundness", 1U}).find("has no roundness"), std::string::npos) << kind.info->name;
  }
}

// An option that no kind of the list has: its value stays where the kind finds it.
TEST(Kinds, FindTheCheckedValuesOfTheirOwnOptions) {
  static constexpr std::array<option_choice, 2> colours{
      {{.name = "red", .help = "warm"}, {.name = "blue", .help = "cold"}}};
  static constexpr std::array<option_info, 2> own{
      {{.name = "salt",
        .title = "salt",
        .type = option_type::integer,
        .help = "a number",
        .least = 1,
        .most = 9,
        .default_value = 3},
       {.name = "colour", .title = "colours", .help = "a word", .choices = colours}}};
  static constexpr kind_info info{.id = 999, .name = "odd", .summary = "none", .lines = "1"};
  const kind_entry kind{.info = &info, .options = own};
  const auto applied = [&](const option_value& value) {
    filter_params params = few_keys;
    params.options = {&value, 1};
    layout_text layout{};
    return refusal(apply_options(kind, params, layout));
  };
  EXPECT_EQ(applied({"salt", 9U}), "");
  EXPECT_EQ(applied({"colour", "blue"}), "");
  EXPECT_NE(applied({"salt", 10U}).find("kind odd: salt 10 is not usable: give 1 to 9"), std::string::npos);
  EXPECT_NE(applied({"colour", "green"}).find("kind odd has the colours red, blue"), std::string::npos);
  EXPECT_NE(applied({"growth", 2U}).find("kind odd has no growth factor: leave it out"), std::string::npos);
  const std::array values = {option_value("salt", 9U), option_value("colour", "blue")};
  EXPECT_EQ(number_of_option(values, own[0]), 9U);
  EXPECT_EQ(choice_of_option(values, own[1]), "blue");
  EXPECT_EQ(number_of_option({}, own[0]), 3U);
  EXPECT_EQ(choice_of_option({}, own[1]), "red");
}

TEST(Kinds, AreTheSameByNameAsByMember) {
  for (const kind_entry& kind : kinds()) {
    const option_info* layouts = find_option(kind.options, "layout");
    if (layouts == nullptr) continue;
    for (const option_choice& choice : layouts->choices) {
      filter_params by_member = few_keys;
      by_member.layout = choice.name;
      filter_params by_name = few_keys;
      const option_value value("layout", choice.name);
      by_name.options = {&value, 1};
      const auto one = any_filter::plan(kind.info->name, by_member);
      const auto other = any_filter::plan(kind.info->name, by_name);
      ASSERT_TRUE(one && other);
      EXPECT_EQ(one->bits, other->bits) << kind.info->name << " " << choice.name;
    }
  }
}

// The numbers are those of the layout's name: "rotating8".
TEST(Kinds, TakeANumberThatFollowsALayoutInItsName) {
  for (const kind_entry& kind : kinds()) {
    for (const option_info& option : kind.options) {
      if (option.follows.empty()) continue;
      for (std::uint64_t value = option.least - 1; value <= option.most + 1; ++value) {
        const std::string layout = std::string(option.follows) + std::to_string(value);
        EXPECT_EQ(refusal(kind.plan(few_keys.sizes(), layout)).empty(), option.takes(value)) << layout;
      }
    }
  }
}

TEST(Kinds, TakeATimeWhereTheyHaveSuchAnOptionAndRefuseItWhereNot) {
  for (const kind_entry& kind : kinds()) {
    const option_info* window = find_option(kind.options, "window");
    EXPECT_EQ(window != nullptr, kind.capabilities.expires) << kind.info->name;
    filter_params params = few_keys;
    params.window_ns = window == nullptr ? 1 : window->most;
    const std::string refused = refusal_of(kind, params);
    if (window == nullptr) {
      EXPECT_NE(refused.find("has no window"), std::string::npos) << refused;
      continue;
    }
    EXPECT_EQ(refused, "");
    params.window_ns = window->most + 1;
    EXPECT_NE(refusal_of(kind, params), "");
  }
}

TEST(Kinds, DescribeTheirOptionsAndGiveEachANameOfItsOwn) {
  for (const kind_entry& kind : kinds()) {
    for (const option_info& option : kind.options) {
      EXPECT_FALSE(option.title.empty()) << option.name;
      EXPECT_FALSE(option.help.empty()) << option.name;
      EXPECT_EQ(find_option(kind.options, option.name), &option) << "two options are called " << option.name;
      EXPECT_EQ(option.choices.empty(), option.type != option_type::choice) << option.name;
      for (const option_choice& choice : option.choices) {
        EXPECT_FALSE(choice.help.empty()) << choice.name;
        EXPECT_EQ(option.find(choice.name), &choice) << "two choices are called " << choice.name;
      }
      if (option.follows.empty()) continue;
      const option_info* layouts = find_option(kind.options, "layout");
      ASSERT_NE(layouts, nullptr) << option.name;
      EXPECT_NE(layouts->find(option.follows), nullptr) << option.follows;
    }
  }
}

// ---- what static kinds share ----

TEST(DigestSort, GivesTheDifferentOnesInOrderAndLosesNone) {
  std::mt19937_64 random(1);
  for (const std::size_t count : {0U, 1U, 2U, 24U, 25U, 26U, 1000U, 4096U, 4097U, 65535U, 65536U, 200'000U}) {
    for (const std::uint64_t values : {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{1000}, ~std::uint64_t{0}}) {
      for (const unsigned shift : {0U, 20U, 54U}) {
        std::vector<std::uint64_t> digests(count);
        for (auto& digest : digests) digest = random() % values << shift;
        std::vector<std::uint64_t> expected = digests;
        std::vector<std::uint64_t> all = digests;
        std::sort(expected.begin(), expected.end());
        expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
        const std::size_t distinct = detail::sort_distinct(digests, 1 + static_cast<unsigned>(shift % 3));
        ASSERT_EQ(distinct, expected.size());
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), digests.begin()));
        std::sort(digests.begin(), digests.end());
        std::sort(all.begin(), all.end());
        ASSERT_EQ(digests, all) << "it is a permutation";
      }
    }
  }
}

}  // namespace

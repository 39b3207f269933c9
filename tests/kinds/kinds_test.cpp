// What the kinds state of themselves in kind_info, against what they take.
#include <gtest/gtest.h>

#include <algorithm>
#include <bloomery/any_filter.hpp>
#include <bloomery/kinds.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace bloomery;

// What stands between blanks, without what follows in brackets.
std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    out.emplace_back(word.substr(0, word.find('[')));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

template <class T>
std::string refusal(const result<T>& made) {
  return made ? "" : std::string(describe(made.error()).view());
}

TEST(Kinds, TakeTheLayoutsThatTheyNameAndRefuseOthersByNamingThem) {
  for_each_type(kind_list{}, [](auto tag) {
    using K = typename decltype(tag)::type;
    const size_request request{.keys = 1000, .fpr = 0.05};
    const std::string refused = refusal(K::plan(request, "round"));
    EXPECT_NE(refused, "") << K::info.name;
    for (const std::string& layout : names_in(K::info.layouts)) {
      EXPECT_EQ(refusal(K::plan(request, layout)), "") << K::info.name << " " << layout;
      EXPECT_NE(refused.find(layout), std::string::npos) << refused;
    }
    if (K::info.layouts.empty()) {
      EXPECT_NE(refused.find(" layout"), std::string::npos) << refused;
    }
    for (unsigned g = K::info.min_generations; g <= K::info.max_generations && g != 0; ++g) {
      const std::string layout = std::string(K::info.generations_layout) + std::to_string(g);
      EXPECT_EQ(refusal(K::plan(request, layout)), "") << layout;
    }
  });
}

TEST(Kinds, TakeTheModesThatTheyNameAndRefuseOthersByNamingThem) {
  for_each_type(kind_list{}, [](auto tag) {
    const kind_info& kind = decltype(tag)::type::info;
    const auto make = [&](const std::string& mode) {
      const filter_params params{.keys = 1000, .fpr = 0.05, .mode = mode};
      return refusal(kind.is_static ? any_filter::build(kind.name, params, hasher().spec(), {})
                                    : any_filter::make(kind.name, params, hasher().spec()));
    };
    const std::string refused = make("round");
    EXPECT_NE(refused, "") << kind.name;
    for (const std::string& mode : names_in(kind.modes)) {
      EXPECT_EQ(make(mode), "") << kind.name << " " << mode;
      EXPECT_NE(refused.find(mode), std::string::npos) << refused;
    }
    if (kind.modes.empty()) {
      EXPECT_NE(refused.find("has no modes"), std::string::npos) << refused;
    }
    if (!kind.fixed_mode.empty()) {
      EXPECT_NE(kind.modes.find(kind.fixed_mode), std::string_view::npos);
    }
  });
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

// Kind window through the verbs of the tool.
#include <bloomery/filter.hpp>
#include <bloomery/kinds/window.hpp>
#include <nlohmann/json.hpp>

#include "cli/flags/numbers.hpp"
#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Window : public tool_box {
 protected:
  // A filter of a window in time whose keys, the lines 1 to 500, were inserted so long ago.
  void build_aged(const std::string& name, std::uint64_t window_s, std::uint64_t age_s) const {
    static std::uint64_t time = 0;
    const bloomery::clock_hook clock{.now_ns = [](void* /*context*/) { return time; }};
    time = bloomery::now_ns(nullptr) - age_s * second;
    auto made = bloomery::filter<bloomery::window>::make(
        {.keys = 1000, .fpr = 0.0001, .window_ns = window_s * second, .clock = &clock});
    ASSERT_TRUE(made);
    for (int i = 1; i <= 500; ++i) made->insert(std::to_string(i));
    ASSERT_TRUE(made->save(path(name).c_str()));
  }
  static constexpr std::uint64_t second = 1'000'000'000;
};

TEST_F(Window, KeysOfATimeStayAndThoseOfOlderFilesHaveExpired) {
  build("fresh", numbers(1, 500), {"--kind", "window", "--window", "30d", "-n", "1000"});
  EXPECT_EQ(run({"query", "-c", "fresh"}, numbers(1, 500)).out, "500\n");
  const ran shown = run({"info", "fresh"});
  EXPECT_TRUE(contains(shown.out, "window         30 d, or ")) << shown.out;
  EXPECT_TRUE(contains(shown.out, "covered now    the last ")) << shown.out;

  build_aged("half", 7200, 3600);
  EXPECT_EQ(run({"query", "-c", "half"}, numbers(1, 500)).out, "500\n");
  const auto half = json_of({"info", "--json", "half"});
  EXPECT_NEAR(half["window"]["guaranteed_seconds"].get<double>(), 7200, 1e-3);
  EXPECT_GE(half["window"]["covered_seconds"].get<double>(), 3600);
  EXPECT_EQ(half["window"]["covered_keys"], 500);

  build_aged("old", 7200, 86'400);
  EXPECT_EQ(run({"query", "-c", "old"}, numbers(1, 500)).out, "0\n");
  EXPECT_EQ(json_of({"info", "--json", "old"})["estimated_keys"], 0.0);
  EXPECT_EQ(run({"add", "-q", "old"}, "7\n8\n").code, 0);
  EXPECT_EQ(run({"query", "old"}, numbers(1, 500)).out, "7\n8\n");
  EXPECT_EQ(json_of({"info", "--json", "old"})["window"]["covered_keys"], 2);
}

TEST(Durations, AreReadAndShownAsUsersWriteThem) {
  using bloomery::cli::human_duration;
  using bloomery::cli::parse_duration;
  constexpr std::uint64_t second = 1'000'000'000;
  EXPECT_EQ(*parse_duration("90s"), 90 * second);
  EXPECT_EQ(*parse_duration("15m"), 900 * second);
  EXPECT_EQ(*parse_duration("1.5h"), 5400 * second);
  EXPECT_EQ(*parse_duration("30d"), 30 * 86'400 * second);
  EXPECT_EQ(*parse_duration("2w"), 14 * 86'400 * second);
  EXPECT_EQ(*parse_duration("0.25s"), second / 4);
  for (const char* bad : {"", "s", "-1s", "1", "1y", "1 s", "nans", "infs", "1e30s", "1e-30s"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
  EXPECT_EQ(human_duration(30 * 86'400 * second), "30 d");
  EXPECT_EQ(human_duration(5400 * second), "1.5 h");
  EXPECT_EQ(human_duration(90 * second), "1.5 min");
  EXPECT_EQ(human_duration(second / 4), "250 ms");
  EXPECT_EQ(human_duration(0), "0 ms");
}

}  // namespace

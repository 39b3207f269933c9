// Kind window through the verbs of the tool.
#include <bloomery/filter.hpp>
#include <bloomery/kinds/window.hpp>

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

TEST_F(Window, HoldsTheLastKeysAndForgetsTheFirst) {
  build("seen", numbers(1, 20'000), {"--kind", "window", "--window", "1000"});
  EXPECT_EQ(run({"query", "-c", "seen"}, numbers(19'001, 20'000)).out, "1000\n");
  const int old = std::stoi(run({"query", "-c", "seen"}, numbers(1, 10'000)).out);
  EXPECT_LT(old, 200);
  write("more", numbers(20'001, 40'000));
  const ran added = run({"add", "seen", "more"});
  EXPECT_EQ(added.code, 0);
  EXPECT_FALSE(contains(added.err, "warning")) << added.err;
  EXPECT_EQ(run({"query", "-c", "seen"}, numbers(39'001, 40'000)).out, "1000\n");
  EXPECT_LT(std::stoi(run({"query", "-c", "seen"}, numbers(10'001, 20'000)).out), 200);
  const auto info = json_of({"info", "--json", "seen"});
  EXPECT_EQ(info["kind"], "window");
  EXPECT_EQ(info["overfull"], false);
  EXPECT_EQ(info["capacity_keys"], 1000);
  EXPECT_GE(info["window"]["guaranteed_keys"], 1000);
  EXPECT_GE(info["window"]["covered_keys"], 1000);
  EXPECT_TRUE(info["window"]["covered_seconds"].is_null());
  EXPECT_GT(info["window"]["generation"], 100);
}

TEST_F(Window, ANumberForTheWindowIsThatOfTheKeysAndTheSameKeysGiveTheSameBytes) {
  build("one", numbers(1, 5000), {"--kind", "window", "--window", "2k", "-j", "1"});
  build("two", numbers(1, 5000), {"--kind", "window", "-n", "2000", "-j", "2"});
  EXPECT_TRUE(read("one") == read("two"));
  build("all", numbers(1, 5000), {"--kind", "window"});
  EXPECT_EQ(json_of({"info", "--json", "all"})["capacity_keys"], 5000);
  EXPECT_EQ(run({"query", "-v", "all"}, numbers(1, 5000)).out, "");
}

TEST_F(Window, KeysOfATimeStayAndOlderFilesHaveForgottenTheirs) {
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

TEST_F(Window, VerifyProvesTheWindowAndSaysThatTheRestIsForgotten) {
  build("seen", numbers(1, 20'000), {"--kind", "window", "-n", "5000"});
  write("last", numbers(15'001, 20'000));
  write("all", numbers(1, 20'000));
  const ran proved = run({"verify", "seen", "--keys", "last", "--probes", "100k"});
  EXPECT_EQ(proved.code, 0) << proved.out << proved.err;
  const ran forgotten = run({"verify", "seen", "--keys", "all", "--probes", "1k"});
  EXPECT_EQ(forgotten.code, 1);
  EXPECT_TRUE(contains(forgotten.out + forgotten.err, "this kind forgets those outside its window")) << forgotten.out;
}

TEST_F(Window, GenerationsChooseTheSmallerLayout) {
  build("line", numbers(1, 50'000), {"--kind", "window", "-n", "10k"});
  build("slots", numbers(1, 50'000), {"--kind", "window", "-n", "10k", "--generations", "5"});
  build("usual", numbers(1, 50'000), {"--kind", "window", "-n", "10k", "--layout", "rotating"});
  EXPECT_LT(read("slots").size() * 10, read("line").size() * 8);
  EXPECT_EQ(json_of({"info", "--json", "slots"})["parameters"]["layout"], "rotating5");
  EXPECT_EQ(json_of({"info", "--json", "usual"})["parameters"]["generations"], 3);
  for (const char* name : {"line", "slots", "usual"}) {
    EXPECT_EQ(run({"query", "-c", name}, numbers(40'001, 50'000)).out, "10000\n") << name;
  }
}

TEST_F(Window, RefusesWhatDoesNotGoWithIt) {
  const std::vector<std::string> build_it = {"build", "-o", "x", "--kind", "window"};
  const auto refused = [&](std::vector<std::string> more, const std::string& line) {
    more.insert(more.begin(), build_it.begin(), build_it.end());
    expect_error(more, "bloomery: build: " + line, "a\n");
  };
  refused({"--window", "soon"}, "--window: 'soon' is not usable: give a whole number such as 1000, 1e9, 10M or 1Gi");
  refused({"--window", "d"}, "--window: 'd' is not usable: give a time such as 90s, 15m, 12h, 30d or 2w");
  refused({"--window", "0s"}, "--window: '0s' is not usable: give a time such as 90s, 15m, 12h, 30d or 2w");
  refused({"--window", "900000w"}, "--window: '900000w' is too long: the longest is 34 years");
  refused({"--window", "0"}, "--window: 0 is not usable: give 1 or more");
  refused({"--window", "1k", "-n", "2k"}, "-n and a number for --window mean the same: give one");
  refused({"--generations", "15"}, "--generations: 15 is not usable: give 2 to 14");
  refused({"--generations", "5", "--layout", "stamped"},
          "--generations is for layout rotating and not for stamped: give one");
  refused({"--layout", "round"}, "kind window has the layouts stamped, rotating, and rotating2 to rotating14");
  expect_error({"build", "-o", "x", "--window", "30d"},
               "bloomery: build: kind blocked forgets nothing: leave --window out, or use --kind window", "a\n");
  EXPECT_FALSE(exists("x"));
  build("a", "a\n", {"--kind", "window"});
  build("b", "b\n", {"--kind", "window"});
  const ran merged = run({"merge", "-o", "x", "a", "b"});
  EXPECT_EQ(merged.code, 2);
  EXPECT_TRUE(contains(merged.err, "a: is of kind window, which cannot be merged")) << merged.err;
  const ran removed = run({"remove", "a"}, "a\n");
  EXPECT_EQ(removed.code, 2);
  EXPECT_TRUE(contains(removed.err, "a: is of kind window, which cannot remove keys")) << removed.err;
}

TEST(Durations, AreReadAndShownAsPeopleWriteThem) {
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

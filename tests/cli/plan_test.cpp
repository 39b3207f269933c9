#include <bloomery/kinds.hpp>
#include <nlohmann/json.hpp>

#include "cli/run_tool.hpp"
#include "cli/terminal/remedies.hpp"

namespace {

using namespace bloomery;
using namespace bloomery_test;
using nlohmann::json;

json plan_json(std::vector<std::string> words, int code = 0) {
  words.insert(words.begin(), {"plan", "--json"});
  const ran result = run_tool(words);
  EXPECT_EQ(result.code, code) << result.err;
  EXPECT_EQ(result.err, "");
  return json::parse(result.out, nullptr, false);
}

json row_of(const json& plan, std::string_view kind) {
  for (const json& row : plan["kinds"]) {
    if (row["kind"] == kind) return row;
  }
  ADD_FAILURE() << "no row for " << kind;
  return {};
}

// All but those that are sized by two lists: see transcripts/cascade.txt.
template <class F>
void for_each_kind(F f) {
  for_each_type(kind_list{}, [&](auto tag) {
    if constexpr (!excluding_kind<typename decltype(tag)::type>) f(tag);
  });
}

// Every row says what the library says for the request.
void expect_the_librarys_figures(const json& plan, const size_request& request) {
  std::size_t rows = 0;
  for_each_kind([&](auto /*tag*/) { ++rows; });
  EXPECT_EQ(plan["kinds"].size(), rows);
  for_each_kind([&](auto tag) {
    using kind = typename decltype(tag)::type;
    const auto expected = kind::plan(request);
    const json row = row_of(plan, kind::info.name);
    if (!expected) {
      EXPECT_EQ(row["fits"], false);
      EXPECT_EQ(row["why_not"], bloomery::cli::text_of(expected.error()));
      return;
    }
    EXPECT_EQ(row["keys"], expected->keys) << kind::info.name;
    EXPECT_EQ(row["memory_bytes"], expected->memory_bytes) << kind::info.name;
    EXPECT_EQ(row["bits"], expected->bits) << kind::info.name;
    EXPECT_EQ(row["hash_functions"], expected->hashes) << kind::info.name;
    EXPECT_EQ(row["expected_fpr"], expected->fpr) << kind::info.name;
    EXPECT_EQ(row["bits_per_key"], expected->bits_per_key) << kind::info.name;
    EXPECT_EQ(row["bytes_per_key"], expected->bits_per_key / 8.0) << kind::info.name;
    EXPECT_EQ(row["digest_bits"], expected->digest_bits) << kind::info.name;
    EXPECT_EQ(row["merges"], mergeable<kind>) << kind::info.name;
    EXPECT_EQ(row["erases"], erasable<kind>) << kind::info.name;
    EXPECT_EQ(row["grows"], kind::info.grows) << kind::info.name;
  });
}

TEST(Plan, PrintsTheLibrarysFiguresFromKeysAndFpr) {
  expect_the_librarys_figures(plan_json({"-n", "10M", "-p", "0.1%"}), {.keys = 10'000'000, .fpr = 0.001});
}

TEST(Plan, PrintsTheLibrarysFiguresFromKeysAndMemory) {
  const json plan = plan_json({"-n", "10M", "--mem", "32Mi"});
  expect_the_librarys_figures(plan, {.keys = 10'000'000, .memory_bytes = 32U << 20U});
}

TEST(Plan, SolvesForTheKeysFromFprAndMemory) {
  const json plan = plan_json({"-p", "1%", "--mem", "1Gi"});
  expect_the_librarys_figures(plan, {.fpr = 0.01, .memory_bytes = 1U << 30U});
  EXPECT_GT(row_of(plan, "blocked")["keys"], 800'000'000);
}

TEST(Plan, PrintsTheLibrarysFiguresFromBitsPerKeyAndHashes) {
  const json plan = plan_json({"-n", "1e6", "--bits-per-key", "12", "--hashes", "5"});
  expect_the_librarys_figures(plan, {.keys = 1'000'000, .hashes = 5, .bits_per_key = 12.0});
}

TEST(Plan, KeysAloneAssumeOnePercentAndReportIt) {
  expect_the_librarys_figures(plan_json({"-n", "10M"}), {.keys = 10'000'000, .fpr = 0.01});
  EXPECT_TRUE(contains(run_tool({"plan", "-n", "10M"}).out, "Assuming a false-positive rate of 1.00 % (-p).\n"));
  EXPECT_FALSE(contains(run_tool({"plan", "-n", "10M", "-p", "1%"}).out, "Assuming"));
}

TEST(Plan, BitsPerKeyAloneAssumeAMillionKeysAndReportIt) {
  expect_the_librarys_figures(plan_json({"--bits-per-key", "10"}), {.keys = 1'000'000, .bits_per_key = 10.0});
  EXPECT_TRUE(contains(run_tool({"plan", "--bits-per-key", "10"}).out, "Assuming 1,000,000 keys (-n).\n"));
}

TEST(Plan, PrintsARowForEveryKindWithExactAndHumanMemory) {
  const ran result = run_tool({"plan", "-n", "10M", "-p", "1%"});
  EXPECT_EQ(result.code, 0);
  for_each_kind([&](auto tag) {
    using kind = typename decltype(tag)::type;
    EXPECT_TRUE(contains(result.out, "\n" + std::string(kind::info.name) + " ")) << kind::info.name;
  });
  EXPECT_TRUE(contains(result.out, "11.4 MiB      11,991,200      9.59      1.20   7")) << result.out;
}

TEST(Plan, LayoutGoesToTheKindThatHasItAndOthersReportThatTheyDoNot) {
  const json plan = plan_json({"-n", "10M", "-p", "1%", "--layout", "split32"});
  const auto expected = blocked::plan({.keys = 10'000'000, .fpr = 0.01}, "split32");
  ASSERT_TRUE(expected);
  EXPECT_EQ(row_of(plan, "blocked")["memory_bytes"], expected->memory_bytes);
  EXPECT_EQ(row_of(plan, "bloom")["fits"], false);
}

TEST(Plan, MarksWhatIsLargerThanTheMemoryThatIsFree) {
  const json plan = plan_json({"-n", "1e15"});
  EXPECT_EQ(row_of(plan, "bloom")["exceeds_available_memory"], true);
  EXPECT_EQ(row_of(plan_json({"-n", "1000"}), "bloom")["exceeds_available_memory"], false);
  EXPECT_TRUE(contains(run_tool({"plan", "-n", "1e15"}).out, "(more than the "));
}

TEST(Plan, PrintsWhereABitmapBecomesSmaller) {
  const auto plan = blocked::plan({.keys = 10'000'000, .fpr = 0.01});
  ASSERT_TRUE(plan);
  const ran result = run_tool({"plan", "--json", "-n", "10M", "-p", "1%"});
  // A bitmap takes one bit for each integer of the range, so the ranges are equal at the bits of the filter.
  std::string limit = std::to_string(plan->bits);
  limit.insert(limit.size() - 3, ",").insert(limit.size() - 7, ",");
  EXPECT_TRUE(contains(result.out,
                       "at least one in 10.5 of their range is a key: for 10,000,000 keys, when the largest "
                       "is below " +
                           limit + "."))
      << result.out;
}

TEST(Plan, AdvisesHeadroomWithItsNumbers) {
  const auto plan = blocked::plan({.keys = 10'000'000, .fpr = 0.01});
  ASSERT_TRUE(plan);
  const auto over = blocked::plan({.keys = 12'500'000, .bits = plan->bits, .hashes = plan->hashes});
  ASSERT_TRUE(over);
  std::array<char, 32> rate{};
  std::snprintf(rate.data(), rate.size(), "answers at %.2f %%", over->fpr * 100.0);
  EXPECT_TRUE(contains(run_tool({"plan", "--json", "-n", "10M"}).out, rate.data()));
}

TEST(Plan, PlotsThreeChartsInAsciiWhenPiped) {
  const ran result = run_tool({"plan", "-n", "10M", "--plot"}, {"LC_ALL=C.UTF-8"});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(is_ascii(result.out));
  for (const char* title :
       {"False-positive rate against keys", "False-positive rate against bits per key", "k (hash functions)"}) {
    EXPECT_TRUE(contains(result.out, title)) << title;
  }
  EXPECT_TRUE(contains(result.out, "* bloom   + blocked"));
  EXPECT_GT(lines_in(result.out), lines_in(run_tool({"plan", "-n", "10M"}).out) + 40);
}

TEST(Plan, PlotsWithMoreThanAsciiOnATerminalThatHasIt) {
  const ran utf8 =
      run_tool_on_terminal({"plan", "-n", "10M", "--plot"}, {"LC_ALL=C.UTF-8", "TERM=xterm", "NO_COLOR=1"});
  EXPECT_EQ(utf8.code, 0);
  EXPECT_TRUE(contains(utf8.out, "\u2514\u2500"));  // the corner of the axes
  EXPECT_FALSE(contains(utf8.out, "\x1b["));
  const ran plain = run_tool_on_terminal({"plan", "-n", "10M", "--plot"}, {"LC_ALL=C", "TERM=xterm", "NO_COLOR=1"});
  EXPECT_FALSE(contains(plain.out, "\u2514"));
  EXPECT_TRUE(contains(plain.out, "+-----"));
}

TEST(Plan, ColoursOnATerminalOnlyOrOnRequest) {
  const std::vector<std::string> words = {"plan", "-n", "10M", "--plot"};
  EXPECT_FALSE(contains(run_tool(words, {"TERM=xterm"}).out, "\x1b["));
  EXPECT_TRUE(contains(run_tool_on_terminal(words, {"LC_ALL=C", "TERM=xterm"}).out, "\x1b["));
  EXPECT_FALSE(contains(run_tool_on_terminal(words, {"LC_ALL=C", "TERM=dumb"}).out, "\x1b["));
  EXPECT_TRUE(contains(run_tool({"plan", "-n", "10M", "--plot", "--color=always"}).out, "\x1b["));
}

TEST(Plan, ThePlottedPointsAreTheLibrarys) {
  const json plots = plan_json({"-n", "1M", "-p", "1%", "--plot"})["plots"];
  ASSERT_EQ(plots.size(), 3U);
  const auto plan = bloom::plan({.keys = 1'000'000, .fpr = 0.01});
  ASSERT_TRUE(plan);
  for (const json& point : plots[0]["curves"]["bloom"]) {
    const auto keys = static_cast<std::uint64_t>(point[0].get<double>() * 10'000.0 + 0.5);
    const auto at = bloom::plan({.keys = keys, .bits = plan->bits, .hashes = plan->hashes});
    ASSERT_TRUE(at);
    EXPECT_NEAR(point[1].get<double>() / at->fpr, 1.0, 1e-4) << keys;
  }
  EXPECT_EQ(plots[0]["curves"]["bloom"].back()[0], 200.0);
  EXPECT_FALSE(plots[0]["curves"].contains("bitmap"));
  for (const json& point : plots[2]["curves"]["blocked"]) {
    const auto at = blocked::plan({.keys = 1'000'000, .fpr = point[0].get<double>()});
    ASSERT_TRUE(at);
    EXPECT_EQ(point[1], at->hashes);
  }
}

}  // namespace

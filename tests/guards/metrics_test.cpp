// metrics: the text of the registry.
#include <bloomery/guards/metrics.hpp>
#include <bloomery/guards/metrics_reader.hpp>

#include "guards/guard_support.hpp"

namespace bloomery::guard_testing {
namespace {

std::string text_of(const metrics& page) {
  memory_sink sink;
  const auto done = page.render(byte_sink(sink));
  EXPECT_TRUE(done) << error_of(done);
  return {reinterpret_cast<const char*>(sink.bytes().data()), sink.bytes().size()};
}

struct own_counters {
  static constexpr metric_family hits{"shop_hits_total", "Hits of the shop.", metric_type::counter};
  static constexpr metric_family load{"shop_load", "Load of the shop.", metric_type::gauge};
  double now = 0.25;
  void collect(metric_sink& to) const {
    to.count(hits, 3, {"page", "a \"b\"\\\n"});
    to.value(load, now);
    to.count(hits, 4, {"page", "c"});
  }
};

TEST(Metrics, SamplesStandByFamilyWithOneHeadEach) {
  metrics page;
  const own_counters one;
  const own_counters two{.now = 1e-9};
  ASSERT_TRUE(page.add("one", one));
  ASSERT_TRUE(page.add("two", two));
  EXPECT_EQ(text_of(page), R"(# HELP shop_hits_total Hits of the shop.
# TYPE shop_hits_total counter
shop_hits_total{name="one",page="a \"b\"\\\n"} 3
shop_hits_total{name="one",page="c"} 4
shop_hits_total{name="two",page="a \"b\"\\\n"} 3
shop_hits_total{name="two",page="c"} 4
# HELP shop_load Load of the shop.
# TYPE shop_load gauge
shop_load{name="one"} 0.25
shop_load{name="two"} 1e-09
)");
  EXPECT_TRUE(page.remove(&one));
  EXPECT_FALSE(page.remove(&one));
  EXPECT_EQ(text_of(page).find("one"), std::string::npos);
}

TEST(Metrics, AHistogramIsCumulativeAndCountsWhatIsTooLong) {
  latency_histogram times;
  for (const std::uint64_t ns : {std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{1001}, std::uint64_t{1} << 40U}) {
    times.record_ns(ns);
  }
  EXPECT_EQ(times.count_up_to(0), 2U);
  EXPECT_EQ(times.count_up_to(1), 3U);
  EXPECT_EQ(times.count_up_to(latency_histogram::bounds_ns.size() - 1), 3U);
  EXPECT_EQ(times.count(), 4U);
  EXPECT_EQ(latency_histogram::bounds_ns.back(), 10'000'000'000U);
  struct source {
    const latency_histogram* times;
    void collect(metric_sink& to) const { to.histogram(metric_families::source_seconds, *times); }
  } const from{&times};
  metrics page;
  ASSERT_TRUE(page.add("", from));
  const std::string text = text_of(page);
  EXPECT_NE(text.find("# TYPE bloomery_source_seconds histogram\nbloomery_source_seconds_bucket{le=\"1e-06\"} 2\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("bloomery_source_seconds_bucket{le=\"+Inf\"} 4\n"), std::string::npos);
  EXPECT_NE(text.find("bloomery_source_seconds_count{} 4\n"), std::string::npos);
}

TEST(Metrics, AGuardShowsItsLookupsAndItsFilter) {
  table rows;
  auto guard = made_guard("blocked", 1000);
  for (std::uint64_t i = 0; i < 500; ++i) guard.put(key_number(i), [&] { return rows.write(key_number(i)); });
  for (std::uint64_t i = 0; i < 100; ++i) static_cast<void>(guard.find(key_number(i), rows.source()));
  metrics page;
  ASSERT_TRUE(page.add("users", guard));
  const std::string text = text_of(page);
  for (const char* line :
       {"bloomery_lookups_total{name=\"users\",answer=\"confirmed\"} 100\n", "bloomery_keys{name=\"users\"} 5",
        "bloomery_capacity_keys{name=\"users\"} 1000\n", "bloomery_target_fpr{name=\"users\"} 0.01\n",
        "bloomery_filtering{name=\"users\"} 1\n", "bloomery_source_seconds_count{name=\"users\"} 100\n",
        "bloomery_rebuilds_total{name=\"users\",outcome=\"done\"} 0\n", "# TYPE bloomery_fpr_now gauge\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(Metrics, WhatWasWrittenIsReadBack) {
  metrics page;
  const own_counters one;
  ASSERT_TRUE(page.add("o\"n\\e", one));
  std::string read;
  const auto done = read_metrics(text_of(page), [&](const metric_sample& each) {
    read += std::string(each.family) + '|' + std::string(each.label("name")) + '|' + std::string(each.label("page")) +
            '|' + std::to_string(each.value) + '\n';
  });
  ASSERT_TRUE(done) << error_of(done);
  EXPECT_EQ(read, R"(shop_hits_total|o\"n\\e|a \"b\"\\\n|3.000000
shop_hits_total|o\"n\\e|c|4.000000
shop_load|o\"n\\e||0.250000
)");
}

TEST(Metrics, OtherWritersAreReadAndOtherTextsAreRefused) {
  double sum = 0;
  const auto add = [&](const metric_sample& each) { sum += each.value; };
  EXPECT_TRUE(read_metrics("# HELP x y\n\nx 1\r\nx{} 2\n  x{ a=\"b\" } 4\n", add));
  EXPECT_EQ(sum, 7);
  EXPECT_TRUE(read_metrics("x 1\nx{} 2\nx{a=\"1\", b=\"2\",} 4 1700000000000\nx +Inf", add));
  EXPECT_GT(sum, 1e300);
  for (const char* wrong : {"<html>", "x", "x{a=\"b\" 1", "x{a=b} 1", "x 1 2 3", "x one", "x{a=\"b\\\"} 1", "x{,} 1"}) {
    const auto done = read_metrics(std::string("ok 1\n") + wrong, add);
    ASSERT_FALSE(done) << wrong;
    EXPECT_EQ(error_of(done), "line 2 is no sample of a metric: give text as Prometheus reads it");
  }
}

TEST(Metrics, WhatDoesNotFitIsAnError) {
  metrics page;
  const own_counters one;
  EXPECT_FALSE(page.add(std::string(192, 'x'), one));
  struct long_label {
    std::string value = std::string(300, '"');
    void collect(metric_sink& to) const { to.count(own_counters::hits, 1, {"page", value}); }
  } const source;
  ASSERT_TRUE(page.add("one", source));
  memory_sink sink;
  EXPECT_EQ(error_of(page.render(byte_sink(sink))), "the labels of a metric are too long");
  counting_memory memory(0);
  metrics refused(&memory.hooks);
  EXPECT_FALSE(refused.add("one", one));
}

}  // namespace
}  // namespace bloomery::guard_testing

// summary_exchange: who may have a key, what becomes of summaries that are late, damaged or of another hash.
#include <atomic>
#include <bloomery/guards/summary_exchange.hpp>

#include "guards/guard_support.hpp"

namespace bloomery::guard_testing {
namespace {

bytes published(summary_exchange& by, const any_filter& filter) {
  memory_sink sink;
  const auto size = by.publish(filter, byte_sink(sink));
  EXPECT_TRUE(size) << error_of(size);
  EXPECT_EQ(size.value_or(0), sink.bytes().size());
  return {sink.bytes().begin(), sink.bytes().end()};
}
summary_exchange exchange_of(std::string_view name, const hasher& hash = {}, const summary_options& options = {}) {
  auto made = summary_exchange::make(name, hash, options);
  if (!made) ADD_FAILURE() << describe(made.error()).c_str();
  for (const std::string_view peer : {"a", "b", "c"}) {
    if (peer != name) {
      EXPECT_TRUE(made->expect(peer));
    }
  }
  return std::move(*made);
}
any_filter filter_of(std::uint64_t first, std::uint64_t count, std::string_view kind = "blocked",
                     const hasher& hash = {}, const filter_params& params = {.keys = 1000, .fpr = 0.01}) {
  auto filter = any_filter::make(kind, params, hash);
  if (!filter) ADD_FAILURE() << describe(filter.error()).c_str();
  for (std::uint64_t i = first; i < first + count; ++i) EXPECT_TRUE(filter->add(key_number(i)));
  return std::move(*filter);
}
std::string who(const summary_exchange& peers, const std::string& key) {
  std::string out;
  peers.for_each_that_may_have(key, [&](std::string_view peer) { out += peer; });
  return out;
}

TEST(SummaryExchange, OnlyPeersWhoseSummaryMatchesAreAsked) {
  auto a = exchange_of("a");
  auto b = exchange_of("b");
  auto c = exchange_of("c");
  EXPECT_EQ(who(a, "whatever"), "bc") << "nothing is known of them";
  ASSERT_TRUE(a.receive("b", published(b, filter_of(0, 1000))));
  EXPECT_EQ(who(a, absent_number(1)), "c");
  ASSERT_TRUE(a.receive("c", published(c, filter_of(500, 1000))));
  for (std::uint64_t i = 0; i < 1500; ++i) {
    const std::string found = who(a, key_number(i));
    ASSERT_TRUE(i >= 1000 || found.find('b') != std::string::npos);
    ASSERT_TRUE(i < 500 || found.find('c') != std::string::npos);
  }
  std::uint64_t asked = 0;
  const auto has = [&](std::string_view peer, const std::string& key) {
    ++asked;
    const std::uint64_t first = peer == "b" ? 0 : 500;
    for (std::uint64_t i = first; i < first + 1000; ++i) {
      if (key == key_number(i)) return true;
    }
    return false;
  };
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_FALSE(*a.confirm(absent_number(i), has));
  const peer_stats stats = a.stats();
  EXPECT_EQ(asked, stats.false_positives);
  EXPECT_EQ(stats.saved + stats.false_positives, 2000U);
  EXPECT_GT(stats.efficiency(), 0.97);
  EXPECT_LT(stats.measured_fpr(), 0.03);
  EXPECT_TRUE(*a.confirm(key_number(3), has));
  EXPECT_TRUE(*a.confirm(key_number(1400), has));
  EXPECT_EQ(a.stats("b").confirmed, 1U);
  EXPECT_EQ(a.stats("c").confirmed, 1U);
  EXPECT_EQ(a.stats("nobody").received, 0U);
}

TEST(SummaryExchange, ASummaryIsSmallerThanItsFilterWhereThatIsSparse) {
  auto a = exchange_of("a");
  auto b = exchange_of("b");
  const any_filter sparse = filter_of(0, 1000, "bloom", {}, {.keys = 1000, .hashes = 2, .bits_per_key = 40});
  const bytes sent = published(b, sparse);
  EXPECT_LT(sent.size(), sparse.stats()->memory_bytes / 2);
  ASSERT_TRUE(a.receive("b", sent));
  EXPECT_EQ(a.stats("b").summary_bytes, sent.size());
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_NE(who(a, key_number(i)).find('b'), std::string::npos);
}

TEST(SummaryExchange, OlderSummariesChangeNothing) {
  std::uint64_t now = 1000;
  const clock_hook clock{.now_ns = [](void* context) { return *static_cast<std::uint64_t*>(context); },
                         .context = &now};
  auto a = exchange_of("a");
  auto b = exchange_of("b", {}, {.clock = &clock});
  const bytes first = published(b, filter_of(0, 10));
  const bytes second = published(b, filter_of(0, 20));
  EXPECT_EQ(b.stats().version, 1001U) << "the clock did not go on";
  const auto taken = a.receive("b", second);
  ASSERT_TRUE(taken);
  EXPECT_TRUE(taken->taken);
  for (const bytes& late : {first, second}) {
    const auto again = a.receive("b", late);
    ASSERT_TRUE(again) << error_of(again);
    EXPECT_FALSE(again->taken);
  }
  EXPECT_NE(who(a, key_number(15)).find('b'), std::string::npos);
  EXPECT_EQ(a.stats("b").stale, 2U);
  now = 5000;  // a process that was started again: its versions go on with the clock
  auto restarted = exchange_of("b", {}, {.clock = &clock});
  const auto newer = a.receive("b", published(restarted, filter_of(0, 5)));
  ASSERT_TRUE(newer);
  EXPECT_TRUE(newer->taken);
  EXPECT_EQ(who(a, key_number(15)), "c");
}

TEST(SummaryExchange, ADamagedSummaryIsAnErrorAndThePeerMayHaveEveryKey) {
  auto b = exchange_of("b");
  const bytes old = published(b, filter_of(0, 10));
  const bytes good = published(b, filter_of(0, 1000));
  const auto expect_refused = [&](const bytes& sent, const char* what) {
    auto a = exchange_of("a");
    ASSERT_TRUE(a.receive("b", old));
    ASSERT_EQ(who(a, key_number(500)), "c");
    const auto refused = a.receive("b", sent);
    ASSERT_FALSE(refused) << what;
    EXPECT_FALSE(error_of(refused).empty());
    EXPECT_EQ(who(a, key_number(500)), "bc") << "the peer took it meanwhile; never a wrong absent";
    EXPECT_EQ(a.stats("b").refused, 1U);
    ASSERT_TRUE(a.receive("b", good));
    EXPECT_EQ(who(a, absent_number(1)), "c") << "a good one is believed again";
  };
  for (std::size_t at = 0; at < good.size(); at += at < 400 ? 1 : 37) {
    bytes damaged = good;
    damaged[at] ^= std::byte{4};
    expect_refused(damaged, std::to_string(at).c_str());
  }
  for (std::size_t size = 0; size < good.size(); size += size < 400 ? 1 : 37) {
    expect_refused(bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)), "cut short");
  }
  bytes longer = good;
  longer.push_back(std::byte{0});
  expect_refused(longer, "appended");
}

TEST(SummaryExchange, ASummaryOfAnotherHashSeedOrSecretIsRefused) {
  const auto seeded = hasher::make("mum2", 7);
  const std::vector<std::byte> one(16, std::byte{1});
  const std::vector<std::byte> two(16, std::byte{2});
  const auto keyed = hasher::make("siphash13", 0, one);
  const auto other = hasher::make("siphash13", 0, two);
  ASSERT_TRUE(seeded && keyed && other);
  auto a = exchange_of("a");
  auto b = exchange_of("b", *seeded);
  const auto refused = a.receive("b", published(b, filter_of(0, 10, "blocked", *seeded)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(error_of(refused),
            "the filters do not fit together: the summary is of another hash, seed or key than the exchange");
  EXPECT_EQ(who(a, "whatever"), "bc");
  EXPECT_FALSE(b.publish(filter_of(0, 10), byte_sink(*std::make_unique<memory_sink>()))) << "its own filters, too";
  auto secret_a = exchange_of("a", *keyed);
  auto secret_b = exchange_of("b", *keyed);
  auto secret_c = exchange_of("c", *other);
  ASSERT_TRUE(secret_a.receive("b", published(secret_b, filter_of(0, 100, "blocked", *keyed))));
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_EQ(who(secret_a, key_number(i)), "bc");
  EXPECT_EQ(who(secret_a, absent_number(3)), "c") << "the secret is that of the exchange";
  EXPECT_FALSE(secret_a.receive("c", published(secret_c, filter_of(0, 100, "blocked", *other))));
}

TEST(SummaryExchange, NamesKindsAndMemoryThatCannotBeAreRefused) {
  auto a = exchange_of("a");
  auto b = exchange_of("b");
  auto c = exchange_of("c");
  const bytes of_b = published(b, filter_of(0, 10));
  EXPECT_EQ(error_of(a.receive("c", of_b)), "the filters do not fit together: the summary is that of another peer");
  EXPECT_FALSE(a.receive("nobody", of_b));
  EXPECT_FALSE(a.expect(""));
  EXPECT_FALSE(a.expect("a")) << "its own name";
  EXPECT_FALSE(a.expect(std::string(24, 'x')));
  EXPECT_TRUE(a.expect(std::string(23, 'x')));
  for (int i = 0; i < 61; ++i) EXPECT_TRUE(a.expect("peer " + std::to_string(i)));
  EXPECT_EQ(error_of(a.expect("one more")), "there are 64 peers at most");
  EXPECT_TRUE(a.expect("b")) << "known already";
  EXPECT_FALSE(b.publish(filter_of(0, 10, "window"), byte_sink(*std::make_unique<memory_sink>())));
  auto small = exchange_of("a", {}, {.most_bytes = 1024});
  const auto refused = small.receive("b", published(b, filter_of(0, 1000)));
  EXPECT_FALSE(refused);
  EXPECT_EQ(who(small, absent_number(0)), "bc");
  counting_memory memory(0);
  auto without = exchange_of("a", {}, {.memory = &memory.hooks});
  const auto no_memory = without.receive("b", of_b);
  ASSERT_FALSE(no_memory);
  EXPECT_EQ(no_memory.error().code, errc::out_of_memory);
  EXPECT_EQ(who(without, absent_number(0)), "bc");
}

TEST(SummaryExchange, APeerThatCannotAnswerIsAnErrorUnlessAnotherHasTheKey) {
  auto a = exchange_of("a");
  const auto b_is_down = [](std::string_view peer, const std::string&) -> result<bool> {
    if (peer == "b") return fail(errc::io, "no route to host");
    return false;
  };
  const auto failed = a.confirm("key", b_is_down);
  ASSERT_FALSE(failed);
  EXPECT_EQ(error_of(failed), "no route to host");
  const auto c_has_it = [&](std::string_view peer, const std::string& key) -> result<bool> {
    return peer == "c" ? result<bool>(true) : b_is_down(peer, key);
  };
  EXPECT_TRUE(*a.confirm(std::string("key"), c_has_it));
  EXPECT_EQ(a.stats("b").failed, 2U);
  EXPECT_EQ(a.stats("c").unfiltered, 1U);
  metrics page;
  ASSERT_TRUE(page.add("a", a));
  memory_sink sink;
  ASSERT_TRUE(page.render(byte_sink(sink)));
  const std::string text(reinterpret_cast<const char*>(sink.bytes().data()), sink.bytes().size());
  EXPECT_NE(text.find("bloomery_peer_lookups_total{name=\"a\",answer=\"failed\"} 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("bloomery_peers{name=\"a\",summary=\"unknown\"} 2\n"), std::string::npos);
  ASSERT_TRUE(a.forget("b"));
}

TEST(SummaryExchangeConcurrent, LookUpsGoOnWhileSummariesAreReplaced) {
  auto a = exchange_of("a");
  auto b = exchange_of("b");
  std::vector<bytes> sent;
  for (std::uint64_t i = 1; i <= 20; ++i) sent.push_back(published(b, filter_of(0, i * 50)));
  ASSERT_TRUE(a.receive("b", sent[0]));
  std::atomic<bool> done = false;
  std::thread receiver([&] {
    for (int round = 0; round < 20; ++round) {
      for (const bytes& each : sent) ASSERT_TRUE(a.receive("b", each));
      bytes damaged = sent.back();
      damaged[20] ^= std::byte{1};
      ASSERT_FALSE(a.receive("b", damaged));
      ASSERT_TRUE(a.receive("b", sent.back()));
    }
    done = true;
  });
  on_threads(3, [&](unsigned id) {
    const auto has = [](std::string_view peer, const std::string&) { return peer == "b"; };
    for (std::uint64_t i = id; !done || i < 100; ++i) {
      const auto found = a.confirm(key_number(i % 50), has);
      ASSERT_TRUE(found && *found) << "every summary has these keys";
    }
  });
  receiver.join();
}

}  // namespace
}  // namespace bloomery::guard_testing

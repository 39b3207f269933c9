// The window filter: its rate against the formula, how keys fade, repeats, its clock, its files, and shapes that are refused.
//
// Rates: of q queries with keys that are absent, x are answered "maybe". Where a test compares x with a rate that the filter
// itself is known to have, a wrong alarm has a probability below one in a million.
#include <bloomery/core/binomial.hpp>
#include <bloomery/kinds/window.hpp>
#include <cstdio>
#include <thread>

#include "support/typed.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;

constexpr std::uint64_t second = 1'000'000'000;

window make_window(const filter_params& params) {
  auto made = window::make(params);
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}

// A clock that the test sets.
struct hand_clock {
  std::uint64_t time = 1'700'000'000 * second;
  clock_hook hook{.now_ns = [](void* context) { return static_cast<hand_clock*>(context)->time; }, .context = this};
  hand_clock() = default;
  hand_clock(const hand_clock&) = delete;
  hand_clock& operator=(const hand_clock&) = delete;
};

std::uint64_t count_found(const window& filter, const std::vector<std::uint64_t>& digests) {
  std::vector<std::uint64_t> mask(mask_words(digests.size()));
  filter.may_contain_batch(digests, mask);
  std::uint64_t found = 0;
  for (const std::uint64_t word : mask) found += static_cast<std::uint64_t>(std::popcount(word));
  return found;
}

void expect_its_rate(const window& filter, std::uint64_t queries, std::uint64_t seed) {
  digest_source absent(seed);
  const std::uint64_t found = count_found(filter, absent.take(queries));
  EXPECT_LE(binomial::lower_bound(found, queries, 1e-6), filter.fpr_now());
  EXPECT_GE(binomial::upper_bound(found, queries, 1e-6), filter.fpr_now());
}

// A filter of the engine's own shape, filled until its generations are as full as they ever are.
window_engine full_engine(unsigned hashes, unsigned slots, double load, std::uint64_t lines) {
  const auto keys = static_cast<std::uint64_t>(load * static_cast<double>(lines));
  auto engine =
      window_engine::make({.lines = lines, .hashes = hashes, .slots = slots, .generation_keys = keys}, nullptr, 0);
  digest_source source(hashes);
  // Until the last of as many generations as leave traces is full: what is not counted is not in it.
  const std::uint32_t last = window_schedule::first_generation + engine->schedule().all;
  while (engine->schedule().generation < last || engine->schedule().counted < keys) {
    // No more than end the generation; one to begin the next.
    const auto digests = source.take(std::max<std::uint64_t>(1, keys - engine->schedule().counted));
    engine->insert(digests.data(), digests.size(), 0);
  }
  return std::move(*engine);
}

// The formula is an expectation, and a filter is a sample of so many lines. At rates from 1 % on the rates of lines differ by less
// than their mean, and 20,000 of them together are within 0.7 % of it (one standard error); at the lowest rates here they
// differ by four times their mean, and the error is 3 %. Allowed are about four of them.
TEST(Window, ItsRateIsThatOfTheFormulaForEveryKAndLoad) {
  for (unsigned hashes = 3; hashes <= 12; ++hashes) {
    for (const unsigned slots : {1U, 4U}) {
      if (slots == 1 && hashes > 10) continue;
      for (const double load : {1.5, 2.0, 2.4, 3.2, 4.0}) {
        const double keys_a_line = slots == 1 ? load : 8 * load;
        const auto engine = full_engine(hashes, slots, keys_a_line, slots == 1 ? 20'000 : 2000);
        const auto lines = static_cast<double>(engine.geometry().lines);
        const double formula =
            window_fpr::rate(slots, hashes, static_cast<double>(engine.geometry().generation_keys), lines);
        EXPECT_NEAR(engine.fpr(0) / formula, 1.0, formula > 0.01 ? 0.03 : 0.12)
            << "k " << hashes << " slots " << slots << " load " << keys_a_line;
      }
    }
  }
}

TEST(Window, AbsentKeysAreFoundAtTheRateThatTheFilterSays) {
  for (const char* layout : {"stamped", "rotating", "rotating2", "rotating8"}) {
    for (const double fpr : {0.1, 0.01, 0.001}) {
      auto filter = make_window({.keys = 100'000, .fpr = fpr, .layout = layout});
      digest_source source(5);
      // Up to the end of a generation, when it is fullest.
      while (filter.shape().field[4] < 40 || filter.shape().field[6] < filter.shape().field[2]) filter.insert(source());
      expect_its_rate(filter, 2'000'000, 6);
      EXPECT_NEAR(filter.fpr_now() / fpr, 1.0, 0.12) << layout << " " << fpr;
    }
  }
}

// Published figures of the layout stamped: keys a line and k, rate, bits for each key of the window.
TEST(Window, TheFormulaGivesTheKnownFigures) {
  struct figure {
    unsigned hashes;
    double load, rate;
  };
  for (const auto& [hashes, load, rate] :
       {figure{4, 1.5, 0.01106}, figure{5, 2.0, 0.01328}, figure{6, 2.4, 0.01531}, figure{7, 1.5, 0.00113},
        figure{7, 2.4, 0.00992}, figure{7, 4.0, 0.07719}, figure{8, 2.4, 0.00646}, figure{9, 2.0, 0.00142},
        figure{10, 2.4, 0.00199}}) {
    EXPECT_NEAR(window_fpr::rate(1, hashes, load * 1e9, 1e9) / rate, 1.0, 0.01) << hashes << " " << load;
  }
  EXPECT_NEAR(window::plan({.keys = 10'000'000, .fpr = 0.01})->bits_per_key, 26.4, 0.1);
  EXPECT_NEAR(window::plan({.keys = 10'000'000, .fpr = 0.001})->bits_per_key, 43.8, 0.1);
  EXPECT_NEAR(window::plan({.keys = 10'000'000, .fpr = 0.01}, "rotating")->bits_per_key, 19.1, 0.1);
}

// The chance of a line is the sum over all its possible hits: all 2^15 of them.
TEST(Window, TheChanceOfALineIsThatOfAllItsHits) {
  std::array<double, 15> fill{};
  for (std::size_t lane = 0; lane < 15; ++lane) fill[lane] = static_cast<double>(lane * 7 % 11 + 3) / 16.0;
  for (unsigned hashes = 3; hashes <= 10; ++hashes) {
    double chance = 0;
    for (std::uint32_t hits = 0; hits < 1U << 15U; ++hits) {
      if (kernels::window_runs(hits, hashes) == 0) continue;
      double each = 1;
      for (unsigned lane = 0; lane < 15; ++lane) each *= (hits >> lane & 1U) != 0 ? fill[lane] : 1.0 - fill[lane];
      chance += each;
    }
    EXPECT_NEAR(window_fpr::run_chance(fill, hashes), chance, 1e-12) << hashes;
  }
}

// docs/kinds/window.md has this table.
TEST(Window, OutsideTheWindowKeysFadeGenerationByGeneration) {
  constexpr std::uint64_t lines = 20'000;
  auto engine = window_engine::make({.lines = lines, .hashes = 7, .slots = 1, .generation_keys = 48'000}, nullptr, 0);
  digest_source source(1);
  std::vector<std::vector<std::uint64_t>> generations(40);
  while (engine->schedule().generation < 54 || engine->schedule().counted < 48'000) {
    const std::uint64_t digest = source();
    engine->insert(&digest, 1, 0);
    generations[engine->schedule().generation - 15].push_back(digest);
  }
  std::array<double, 16> seen{};
  for (std::size_t age = 0; age < seen.size(); ++age) {
    const auto& keys = generations[39 - age];
    std::uint64_t found = 0;
    for (const std::uint64_t key : keys) found += engine->may_contain(key, 0) ? 1U : 0U;
    seen[age] = static_cast<double>(found) / static_cast<double>(keys.size());
  }
  for (std::size_t age = 0; age <= 8; ++age) EXPECT_EQ(seen[age], 1.0) << age;
  constexpr std::array<double, 6> fading = {0.41, 0.176, 0.074, 0.035, 0.018, 0.012};
  for (std::size_t i = 0; i < fading.size(); ++i) EXPECT_NEAR(seen[9 + i], fading[i], 0.012 + 0.03 * fading[i]) << i;
  EXPECT_NEAR(seen[15], engine->fpr(0), 0.003);
}

TEST(Window, AnAgeIsNeverTooOldAndMostlyRight) {
  for (const char* layout : {"stamped", "rotating"}) {
    hand_clock clock;
    auto filter =
        make_window({.keys = 50'000, .fpr = 0.01, .layout = layout, .window_ns = 800 * second, .clock = &clock.hook});
    const std::uint64_t tick = filter.shape().field[3];
    const unsigned kept = filter.generations();
    std::vector<std::vector<std::uint64_t>> keys(40);
    digest_source source(9);
    for (auto& generation : keys) {
      generation = source.take(50'000 / kept / 2);
      filter.add_batch(generation);
      if (&generation != &keys.back()) clock.time += tick;
    }
    std::uint64_t right = 0;
    std::uint64_t asked = 0;
    for (unsigned age = 0; age <= kept; ++age) {
      for (const std::uint64_t key : keys[keys.size() - 1 - age]) {
        const auto said = filter.age(key);
        ASSERT_TRUE(said.has_value());
        ASSERT_LE(*said, age);
        right += *said == age ? 1U : 0U;
        ++asked;
      }
    }
    EXPECT_GT(static_cast<double>(right), 0.78 * static_cast<double>(asked)) << layout;
    clock.time += 16 * tick;
    EXPECT_FALSE(filter.age(keys.back()[0]).has_value());
  }
}

TEST(Window, RepeatsCostNothingSoThatTheWindowReachesFurtherBack) {
  auto filter = make_window({.keys = 10'000, .fpr = 0.01});
  digest_source source(2);
  std::vector<std::uint64_t> fresh;
  // Nine of ten are keys of the last 200 that were new.
  for (int i = 0; i < 300'000; ++i) {
    if (i % 10 == 0) fresh.push_back(source());
    filter.insert(i % 10 == 0 ? fresh.back()
                              : fresh[fresh.size() - 1 -
                                      mix64(static_cast<std::uint64_t>(i)) % std::min<std::size_t>(200, fresh.size())]);
  }
  // Some repeats fall into the next generation and count again. Still 8,000 new keys back is 80,000 of the stream.
  for (std::size_t i = fresh.size() - 8000; i < fresh.size(); ++i) ASSERT_TRUE(filter.may_contain(fresh[i]));
  EXPECT_LE(filter.fpr_now(), 0.0115);
  expect_its_rate(filter, 1'000'000, 3);
}

TEST(Window, KeysStayForTheTimeAskedForAndAreGoneAFewGenerationsLater) {
  for (const char* layout : {"stamped", "rotating", "rotating14"}) {
    hand_clock clock;
    auto filter =
        make_window({.keys = 5000, .fpr = 0.01, .layout = layout, .window_ns = 60 * second, .clock = &clock.hook});
    digest_source source(3);
    // A slow stream, 50 keys a second; each is looked up 60 seconds after its insert.
    std::vector<std::uint64_t> keys;
    std::uint64_t late_found = 0;
    std::uint64_t late = 0;
    for (std::size_t i = 0; i < 12'000; ++i) {
      keys.push_back(source());
      filter.insert(keys.back());
      ASSERT_TRUE(filter.may_contain(keys[i < 3000 ? 0 : i - 3000])) << layout << " " << i;
      clock.time += second / 50;
      if (i < 6500) continue;
      late_found += filter.may_contain(keys[i - 6500]) ? 1U : 0U;  // 130 seconds ago
      ++late;
    }
    EXPECT_LE(binomial::lower_bound(late_found, late, 1e-6), 0.01) << layout;
    const window_state state = filter.window_now();
    EXPECT_GE(state.guaranteed_ns, 60 * second);
    EXPECT_LT(state.guaranteed_ns, 60 * second + 15);
    EXPECT_GE(state.covered_ns, 60 * second);
    EXPECT_LE(state.covered_ns, 60 * second + filter.shape().field[3] + 15);
    // Nobody calls: the window passes by itself.
    EXPECT_EQ(count_found(filter, {keys.end() - 100, keys.end()}), 100U);
    clock.time += 300 * second;
    EXPECT_EQ(count_found(filter, keys), 0U);
    EXPECT_EQ(filter.fpr_now(), 0.0);
    EXPECT_EQ(filter.fill(), 0.0);
    EXPECT_EQ(filter.estimated_keys(), 0.0);
    // And the time before it is covered: it is known to be empty.
    EXPECT_GE(filter.window_now().covered_ns, 60 * second);
  }
}

TEST(Window, MoreKeysThanItWasMadeForShortenTheTimeAndItSaysByHowMuch) {
  hand_clock clock;
  auto filter = make_window({.keys = 10'000, .fpr = 0.01, .window_ns = 1000 * second, .clock = &clock.hook});
  digest_source source(4);
  std::vector<std::uint64_t> keys;
  for (int i = 0; i < 50'000; ++i) {  // 100 keys a second: ten times too many
    keys.push_back(source());
    filter.insert(keys.back());
    clock.time += second / 100;
  }
  const window_state state = filter.window_now();
  EXPECT_GE(state.guaranteed_ns, 1000 * second);
  EXPECT_GE(state.guaranteed_keys, 10'000U);
  EXPECT_GE(state.covered_keys, state.guaranteed_keys);
  EXPECT_NEAR(static_cast<double>(state.covered_ns) / second, static_cast<double>(state.covered_keys) / 100.0, 2.0);
  // What it reports as covered is there.
  const std::size_t back = state.covered_ns * 100 / second - 1;
  for (std::size_t i = keys.size() - back; i < keys.size(); ++i) ASSERT_TRUE(filter.may_contain(keys[i]));
  EXPECT_LE(filter.fpr_now(), 0.0115);
}

TEST(Window, AYoungFilterCoversTheTimeSinceItWasMade) {
  hand_clock clock;
  auto filter = make_window({.keys = 1000, .fpr = 0.01, .window_ns = 100 * second, .clock = &clock.hook});
  EXPECT_EQ(filter.window_now().covered_ns, 0U);
  clock.time += 30 * second;
  EXPECT_EQ(filter.window_now().covered_ns, 30 * second);
  filter.insert(mix64(1));
  EXPECT_EQ(filter.window_now().covered_ns, 30 * second);
  clock.time += 60 * second;
  EXPECT_EQ(filter.window_now().covered_ns, 90 * second);
  filter.clear();
  EXPECT_EQ(filter.window_now().covered_ns, 0U);
  EXPECT_EQ(filter.window_now().covered_keys, 0U);
}

TEST(Window, AClockThatGoesBackOrStandsStillLosesNothing) {
  hand_clock clock;
  auto filter = make_window({.keys = 10'000, .fpr = 0.01, .window_ns = 80 * second, .clock = &clock.hook});
  digest_source source(5);
  const auto first = source.take(500);
  filter.add_batch(first);
  clock.time -= 1000 * second;
  EXPECT_EQ(count_found(filter, first), first.size());
  const auto second_ones = source.take(500);
  filter.add_batch(second_ones);
  clock.time -= 1'600'000'000 * second;
  EXPECT_EQ(count_found(filter, first), first.size());
  EXPECT_EQ(count_found(filter, second_ones), second_ones.size());
  EXPECT_EQ(filter.window_now().covered_ns, 0U);
  clock.time = 0;
  filter.add_batch(source.take(20'000));  // by their number they still expire
  EXPECT_LT(count_found(filter, first), first.size());
}

template <class Change>
window reloaded(const window& filter, Change&& change) {
  stored_shape shape = filter.shape();
  change(shape);
  auto buffer = aligned_buffer::make(filter.payload().size(), "a test", nullptr);
  std::copy(filter.payload().begin(), filter.payload().end(), buffer->data());
  auto made = window::adopt(shape, std::move(*buffer));
  EXPECT_TRUE(made);
  return std::move(*made);
}

TEST(Window, GoesOnAfterALoadAsIfNothingHadHappenedInTheMiddleOfAGeneration) {
  for (const char* layout : {"stamped", "rotating"}) {
    hand_clock clock;
    auto filter =
        make_window({.keys = 3000, .fpr = 0.01, .layout = layout, .window_ns = 80 * second, .clock = &clock.hook});
    digest_source source(6);
    for (int i = 0; i < 5000; ++i) {
      filter.insert(source());
      clock.time += second / 40;
    }
    auto loaded = reloaded(filter, [](stored_shape& /*shape*/) {});
    loaded.set_clock(&clock.hook);
    EXPECT_TRUE(loaded == filter);
    EXPECT_EQ(loaded.window_now().covered_ns, filter.window_now().covered_ns);
    EXPECT_EQ(loaded.window_now().covered_keys, filter.window_now().covered_keys);
    for (int i = 0; i < 5000; ++i) {
      const std::uint64_t digest = source();
      ASSERT_EQ(loaded.insert(digest), filter.insert(digest));
      clock.time += second / 70;
    }
    EXPECT_TRUE(loaded == filter);
    EXPECT_EQ(loaded.keys().keys, filter.keys().keys);
    // A file that is loaded much later: everything is forgotten, and the first insert reports it too.
    const auto keys = source.take(100);
    filter.add_batch(keys);
    auto later = reloaded(filter, [](stored_shape& /*shape*/) {});
    EXPECT_EQ(count_found(later, keys), 0U) << "the clock of a loaded filter is the system's";
    EXPECT_EQ(later.insert(keys[0]), insert_result::inserted);
    EXPECT_EQ(count_found(later, keys), 1U);
    EXPECT_EQ(count_found(filter, keys), keys.size());
  }
}

TEST(Window, BatchesFollowTheClock) {
  hand_clock clock;
  auto batched = make_window({.keys = 3000, .fpr = 0.01, .window_ns = 80 * second, .clock = &clock.hook});
  auto single = make_window({.keys = 3000, .fpr = 0.01, .window_ns = 80 * second, .clock = &clock.hook});
  digest_source source(7);
  for (int i = 0; i < 100; ++i) {
    const auto digests = source.take(static_cast<std::size_t>(i * 3));
    std::uint64_t inserted = 0;
    for (const std::uint64_t digest : digests) inserted += single.insert(digest) == insert_result::inserted ? 1U : 0U;
    ASSERT_EQ(batched.add_batch(digests), inserted);
    ASSERT_TRUE(batched == single);
    clock.time += static_cast<std::uint64_t>(i) * second;
  }
}

TEST(Window, ATimeWindowStartsWithoutOldKeysAndUsesTheSystemsClock) {
  auto filter = make_window({.keys = 1000, .fpr = 0.01, .window_ns = 3600 * second});
  EXPECT_GT(filter.shape().field[5], 1'600'000'000 * second);
  filter.insert(mix64(1));
  EXPECT_TRUE(filter.may_contain(mix64(1)));
  // The file states that its generation began ten hours earlier.
  auto old = reloaded(filter, [](stored_shape& shape) { shape.field[5] -= 36'000 * second; });
  EXPECT_FALSE(old.may_contain(mix64(1)));
  EXPECT_TRUE(make_window({.keys = 1000, .fpr = 0.01}).shape().field[5] == 0) << "no time where only the number counts";
}

TEST(Window, SizesByAnyTwoOfKeysRateAndMemory) {
  const auto by_rate = window::plan({.keys = 1'000'000, .fpr = 0.01});
  ASSERT_TRUE(by_rate);
  EXPECT_LE(by_rate->fpr, 0.01);
  EXPECT_GT(by_rate->fpr, 0.0099);
  EXPECT_EQ(by_rate->memory_bytes, by_rate->bits / 8 + 256);
  const auto by_memory = window::plan({.keys = 1'000'000, .memory_bytes = by_rate->memory_bytes});
  ASSERT_TRUE(by_memory);
  EXPECT_EQ(by_memory->bits, by_rate->bits);
  EXPECT_NEAR(by_memory->fpr, by_rate->fpr, 1e-6);
  const auto by_room = window::plan({.fpr = 0.01, .memory_bytes = by_rate->memory_bytes});
  ASSERT_TRUE(by_room);
  EXPECT_NEAR(static_cast<double>(by_room->keys), 1e6, 1e4);
  EXPECT_LE(by_room->fpr, 0.01);
  EXPECT_EQ(window::plan({.keys = 1000, .fpr = 0.01, .hashes = 9})->hashes, 9U);
  EXPECT_EQ(make_window({.keys = 1000, .fpr = 0.01}).memory_bytes(),
            window::plan({.keys = 1000, .fpr = 0.01})->memory_bytes);
  for (std::uint64_t keys = 1; keys < 3000; keys = keys * 3 / 2 + 1) {
    for (const char* layout : {"stamped", "rotating"}) {
      const auto plan = window::plan({.keys = keys, .fpr = 0.01}, layout);
      ASSERT_TRUE(plan) << keys;
      EXPECT_LE(plan->fpr, 0.01) << keys;
    }
  }
}

TEST(Window, RefusesWhatItCannotBe) {
  EXPECT_EQ(window::make({.keys = 1000, .fpr = 0.01, .layout = "round"}).error().code, errc::unknown_layout);
  for (const char* layout : {"rotating1", "rotating15", "rotating03", "rotating3x", "rotating99999999999999999999"}) {
    EXPECT_EQ(window::make({.keys = 1000, .fpr = 0.01, .layout = layout}).error().code, errc::unknown_layout) << layout;
  }
  EXPECT_EQ(window::make({.keys = 1000, .fpr = 0.01, .hashes = 2}).error().code, errc::bad_hashes);
  EXPECT_EQ(window::make({.keys = 1000, .fpr = 0.01, .hashes = 11}).error().code, errc::bad_hashes);
  EXPECT_EQ(window::make({.keys = 1000, .fpr = 1e-9}).error().code, errc::cannot_reach_fpr);
  EXPECT_EQ(window::make({.keys = 1000, .memory_bytes = 319}).error().code, errc::bad_memory);
  EXPECT_EQ(window::make({.keys = 1000, .fpr = 0.01, .window_ns = ~std::uint64_t{0}}).error().code, errc::unsupported);
  EXPECT_EQ(window::plan({.keys = max_keys, .fpr = 0.01}).error().code, errc::size_overflow);
  EXPECT_EQ(window::plan({.keys = std::uint64_t{1} << 50U, .fpr = 1e-7}).error().code, errc::not_enough_hash_bits);
}

TEST(Window, ShapesThatNoFilterHasAreRefused) {
  const auto filter = make_window({.keys = 1000, .fpr = 0.01, .window_ns = second});
  ASSERT_TRUE(window::payload_bytes(filter.shape()));
  struct change {
    std::size_t field;
    std::uint64_t value;
  };
  for (const auto& [field, value] :
       {change{0, 0}, change{0, std::uint64_t{1} << 52U}, change{1, 2}, change{1, 11}, change{2, 0},
        change{2, max_keys + 1}, change{3, (std::uint64_t{1} << 59U) + 1}, change{4, 15U << 28U},
        change{6, filter.shape().field[2] + 1}, change{7, 1}, change{7, 15}, change{7, ~std::uint64_t{0}}}) {
    stored_shape shape = filter.shape();
    shape.field[field] = value;
    const auto size = window::payload_bytes(shape);
    ASSERT_FALSE(size) << field << " " << value;
    EXPECT_EQ(size.error().code, errc::bad_field);
  }
  stored_shape shape = make_window({.keys = 1000, .fpr = 0.01}).shape();
  shape.field[5] = 1;
  EXPECT_FALSE(window::payload_bytes(shape)) << "a time where none counts";
  shape = filter.shape();
  shape.digest_bits = 128;
  EXPECT_FALSE(window::payload_bytes(shape));
}

// Whatever the bytes behind a valid header say, every call is safe.
TEST(Window, AnyBytesBehindAValidHeaderAreSafeToAskAndToInsertInto) {
  for (const char* layout : {"stamped", "rotating"}) {
    for (const std::uint64_t time : {std::uint64_t{0}, 5 * second}) {
      const auto filter = make_window({.keys = 300, .fpr = 0.01, .layout = layout, .window_ns = time});
      for (const int fill : {0xff, 0xa5}) {
        auto buffer = aligned_buffer::make(filter.payload().size(), "a test", nullptr);
        std::fill_n(buffer->data(), buffer->size_bytes(), static_cast<std::byte>(fill));
        auto strange = window::adopt(filter.shape(), std::move(*buffer));
        ASSERT_TRUE(strange);
        digest_source source(8);
        const auto keys = source.take(200);
        strange->add_batch(keys);
        EXPECT_EQ(count_found(*strange, keys), keys.size());
        EXPECT_LE(strange->fpr_now(), 1.0);
        EXPECT_LE(strange->window_now().covered_keys, 2 * strange->window_now().guaranteed_keys);
        EXPECT_LE(strange->age(keys[0]).value_or(99), 14U);
      }
    }
  }
}

TEST(WindowConcurrent, ManyThreadsMayAskAtOnce) {
  auto filter = make_window({.keys = 20'000, .fpr = 0.01, .window_ns = 3600 * second});
  digest_source source(10);
  const auto keys = source.take(20'000);
  filter.add_batch(keys);
  std::vector<std::thread> threads;
  std::array<std::uint64_t, 4> found{};
  for (std::size_t id = 0; id < found.size(); ++id) {
    threads.emplace_back([&, id] { found[id] = count_found(filter, keys) + (filter.may_contain(keys[id]) ? 1U : 0U); });
  }
  for (auto& thread : threads) thread.join();
  for (const std::uint64_t each : found) EXPECT_EQ(each, keys.size() + 1);
}

// Long: the guarantee and the rate through a hundred windows of a million keys.
TEST(NightlyWindow, KeepsItsGuaranteeAndItsRateThroughAHundredWindows) {
  auto filter = make_window({.keys = 1'000'000, .fpr = 0.001});
  const digest_source source(11);
  std::uint64_t lost = 0;
  for (std::uint64_t i = 0; i < 100'000'000; ++i) {
    filter.insert(source.at(i));
    if (i >= 1'000'000) lost += filter.may_contain(source.at(i - 1'000'000)) ? 0U : 1U;
    if (i % 10'000'000 == 9'999'999) {
      EXPECT_LE(filter.fpr_now(), 0.00105);
      std::printf("%llu keys: rate %.6f\n", static_cast<unsigned long long>(i + 1), filter.fpr_now());
    }
  }
  EXPECT_EQ(lost, 0U);
  expect_its_rate(filter, 20'000'000, 12);
}

}  // namespace

// The lines and the schedule of the window filter: the edge of the guarantee, time against an exact model, stamps that wrap,
// and that every instruction set gives the bits of the scalar code. Time is a number here.
//
// Rates: x of q absent keys were found. A test that says "at the level of the filter's rate" fails when a true rate at that
// level would give such an x with a probability below one in a million.
#include <bloomery/core/binomial.hpp>
#include <bloomery/kinds/window/engine.hpp>
#include <deque>
#include <random>

#include "kernels/check.hpp"
#include "support/typed.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;

constexpr std::uint64_t no_limit_keys = max_keys;
constexpr std::uint64_t tick_ns = 1000;

window_engine make_engine(const window_geometry& geometry) {
  auto made = window_engine::make(geometry, nullptr, 0);
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}

void insert(window_engine& engine, std::uint64_t digest, std::uint64_t now = 0) { engine.insert(&digest, 1, now); }

// Inserts that were counted since the filter was made, while the generation has not wrapped.
std::uint64_t counted(const window_engine& engine) {
  const window_schedule& schedule = engine.schedule();
  return (schedule.generation - window_schedule::first_generation) * schedule.generation_keys + schedule.counted;
}

void expect_rate_level(std::uint64_t found, std::uint64_t asked, double rate, const std::string& what) {
  EXPECT_LE(binomial::lower_bound(found, asked, 1e-6), rate) << what << ": " << found << " of " << asked;
}

struct shape_case {
  std::uint64_t lines;
  std::uint64_t keys;  // a generation's
};

// A key is there as long as no more than kept * g counted inserts came after it: looked up at just that moment, and the oldest
// of those that must be there at every insert.
void expect_edge(unsigned hashes, unsigned slots, const shape_case& shape) {
  auto engine = make_engine({.lines = shape.lines, .hashes = hashes, .slots = slots, .generation_keys = shape.keys});
  const std::uint64_t guaranteed = engine.geometry().kept() * shape.keys;
  const digest_source source(hashes + 100 * slots);
  std::deque<std::uint64_t> after;  // what was counted when a key was in
  std::uint64_t oldest = 0;         // the oldest key that must be there
  std::uint64_t at_the_edge = 0;
  const std::uint64_t inserts = std::min<std::uint64_t>(40 * shape.keys + 200, 30'000);
  for (std::uint64_t i = 0; i < inserts; ++i) {
    insert(engine, source.at(i));
    const std::uint64_t total = counted(engine);
    after.push_back(total);
    while (total - after.front() > guaranteed) {
      after.pop_front();
      ++oldest;
    }
    at_the_edge += total - after.front() == guaranteed ? 1U : 0U;
    ASSERT_TRUE(engine.may_contain(source.at(oldest), 0))
        << "k " << hashes << " slots " << slots << " lines " << shape.lines << " g " << shape.keys << " insert " << i;
    ASSERT_TRUE(engine.may_contain(source.at(oldest + (i - oldest) / 2), 0));
  }
  EXPECT_GT(at_the_edge, 0U);
}

TEST(WindowEngine, AKeyIsThereUntilTheGuaranteedNumberOfOthersCameAfterIt) {
  const std::vector<shape_case> shapes = {{1, 1},   {1, 5},    {3, 20},   {1000, 1},
                                          {500, 7}, {20, 200}, {64, 154}, {2000, 1000}};
  for (const shape_case& shape : shapes) {
    for (const unsigned hashes : {3U, 4U, 7U, 10U}) expect_edge(hashes, 1, shape);
    for (const unsigned slots : {3U, 4U, 9U, 15U}) expect_edge(7, slots, shape);
  }
}

// The clock runs faster than inserts clear lines: nothing of a round before may come back.
void expect_no_return(unsigned hashes, unsigned slots, std::uint64_t keys_a_tick) {
  const std::string what = "k " + std::to_string(hashes) + ", slots " + std::to_string(slots) + ", " +
                           std::to_string(keys_a_tick) + " keys a tick_ns";
  auto engine = make_engine(
      {.lines = 20'000, .hashes = hashes, .slots = slots, .generation_keys = no_limit_keys, .tick_ns = tick_ns});
  const unsigned kept = engine.geometry().kept();
  const digest_source source(keys_a_tick);
  constexpr std::uint64_t ticks = 50;
  for (std::uint64_t t = 0; t < ticks; ++t) {
    std::vector<std::uint64_t> digests;
    for (std::uint64_t i = 0; i < keys_a_tick; ++i) digests.push_back(source.at(t * keys_a_tick + i));
    engine.insert(digests.data(), digests.size(), t * tick_ns);
  }
  const std::uint64_t now = (ticks - 1) * tick_ns;
  std::uint64_t lost = 0;
  for (std::uint64_t t = ticks - 1 - kept; t < ticks; ++t) {
    for (std::uint64_t i = 0; i < keys_a_tick; ++i)
      lost += engine.may_contain(source.at(t * keys_a_tick + i), now) ? 0 : 1;
  }
  EXPECT_EQ(lost, 0U) << what;
  std::uint64_t found = 0;
  std::uint64_t asked = 0;
  for (std::uint64_t t = ticks - 1 - 34; t <= ticks - 1 - 18; ++t) {
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(keys_a_tick, 20'000); ++i) {
      found += engine.may_contain(source.at(t * keys_a_tick + i), now) ? 1U : 0U;
      ++asked;
    }
  }
  expect_rate_level(found, asked, engine.fpr(now), what + ", old keys");
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < 200'000; ++i) wrong += engine.may_contain(mix64(~i), now) ? 1U : 0U;
  expect_rate_level(wrong, 200'000, engine.fpr(now), what + ", absent keys");
  EXPECT_GE(binomial::upper_bound(wrong, 200'000, 1e-6), engine.fpr(now)) << what;
}

TEST(WindowEngine, KeysOfARoundBeforeDoNotComeBackWhenTheClockIsFasterThanInserts) {
  for (const std::uint64_t keys : {10U, 500U, 48'000U}) {
    expect_no_return(7, 1, keys);
    expect_no_return(5, 1, keys);
    expect_no_return(8, 4, keys);
  }
}

TEST(WindowEngine, IdleTimeAloneForgetsAndAQueryWritesNothing) {
  for (const unsigned slots : {1U, 4U}) {
    auto engine =
        make_engine({.lines = 4000, .hashes = 7, .slots = slots, .generation_keys = 10'000, .tick_ns = tick_ns});
    const unsigned kept = engine.geometry().kept();
    digest_source source(slots);
    const auto keys = source.take(2000);
    engine.insert(keys.data(), keys.size(), 10 * tick_ns + 1);
    const window_engine& idle = engine;
    const std::vector<std::byte> before(idle.payload().begin(), idle.payload().end());
    const auto found_at = [&](std::uint64_t now) {
      std::uint64_t found = 0;
      for (const std::uint64_t key : keys) found += idle.may_contain(key, now) ? 1U : 0U;
      return found;
    };
    // The generation began at 10 ticks; whole ones are kept for `kept` further.
    for (unsigned t = 0; t <= kept; ++t) EXPECT_EQ(found_at((10 + t) * tick_ns + 1), keys.size()) << t;
    EXPECT_EQ(found_at((11 + kept) * tick_ns - 1), keys.size());
    EXPECT_LT(found_at((12 + kept) * tick_ns), keys.size() / 2);
    EXPECT_EQ(found_at((10 + idle.schedule().all) * tick_ns), 0U);
    EXPECT_EQ(found_at(1'000'000'000 * tick_ns), 0U);
    EXPECT_EQ(found_at((10 + std::uint64_t{idle.geometry().modulus}) * tick_ns + 1), 0U)
        << "a whole round of stamps later";
    EXPECT_EQ(idle.fpr((10 + idle.schedule().all) * tick_ns), 0.0);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), idle.payload().begin()));
  }
}

// Generations, kept exactly: what the header of kinds/window/schedule.hpp describes, written down in another way.
struct model {
  std::uint64_t tick_ns;
  std::uint64_t keys;
  std::uint64_t generation = 0;
  std::uint64_t start = 0;
  std::uint64_t counted = 0;

  [[nodiscard]] std::uint64_t generation_at(std::uint64_t now) const {
    return now < start ? generation : generation + (now - start) / tick_ns;
  }
  void before_insert(std::uint64_t now) {
    if (now >= start + tick_ns) {
      const std::uint64_t ticks = (now - start) / tick_ns;
      generation += ticks;
      start += ticks * tick_ns;
      counted = 0;
    }
    if (counted == keys) {
      ++generation;
      start = std::max(now, start);
      counted = 0;
    }
  }
};

// Bursts, lulls, idle times, a clock that goes back, questions about the future: every key that the model has in the window
// must be there, and what it counts as long gone may be there as any absent key may.
void expect_model(unsigned hashes, unsigned slots, std::uint64_t seed) {
  auto engine =
      make_engine({.lines = 300, .hashes = hashes, .slots = slots, .generation_keys = 400, .tick_ns = tick_ns});
  const unsigned kept = engine.geometry().kept();
  model exact{.tick_ns = tick_ns, .keys = 400};
  std::mt19937_64 random(seed);
  struct stored {
    std::uint64_t digest;
    std::uint64_t generation;
  };
  std::vector<stored> keys;
  std::uint64_t now = 1;
  std::uint64_t checks = 0;
  std::uint64_t old_found = 0;
  std::uint64_t old_asked = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::uint64_t dice = random() % 100;
    const std::uint64_t step = dice < 50 ? random() % 30 : dice < 80 ? random() % tick_ns : random() % (3 * tick_ns);
    now = dice >= 98   ? now + random() % (30 * tick_ns)
          : dice >= 95 ? now - std::min(now, random() % (2 * tick_ns))
                       : now + step;
    const std::uint64_t burst = dice % 10 == 0 ? random() % 600 : random() % 20;
    for (std::uint64_t i = 0; i < burst; ++i) {
      const std::uint64_t digest = random();
      exact.before_insert(now);
      insert(engine, digest, now);
      exact.counted = engine.schedule().counted;  // which inserts count is not the schedule's affair
      ASSERT_EQ(engine.schedule().start_ns, exact.start);
      keys.push_back({digest, exact.generation});
    }
    const std::uint64_t asked_at = now + (random() % 4 == 0 ? random() % (10 * tick_ns) : 0);
    const std::uint64_t generation = exact.generation_at(asked_at);
    for (int i = 0; i < 60 && !keys.empty(); ++i) {
      const stored& key = keys[keys.size() - 1 - random() % std::min<std::size_t>(keys.size(), 6000)];
      const std::uint64_t age = generation - key.generation;
      if (age <= kept) {
        ASSERT_TRUE(engine.may_contain(key.digest, asked_at)) << "age " << age << " round " << round;
        ++checks;
      } else if (age > engine.schedule().all) {
        old_found += engine.may_contain(key.digest, asked_at) ? 1U : 0U;
        ++old_asked;
      }
    }
  }
  EXPECT_GT(checks, 5000U);
  EXPECT_GT(old_asked, 1000U);
  // At its fullest the rate is the formula's for 400 keys in 300 lines.
  expect_rate_level(old_found, old_asked, window_fpr::rate(slots, hashes, 400, 300), "keys long gone");
}

TEST(WindowEngine, FollowsAnExactModelOfItsGenerationsThroughBurstsLullsAndClocksThatGoBack) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    expect_model(7, 1, seed);
    expect_model(5, 1, seed + 10);
    expect_model(7, 4, seed + 20);
  }
}

// Many rounds of a small modulus, with lines that inserts seldom touch: renewed stamps keep what is old from coming back.
std::uint64_t lost_keys(std::uint32_t modulus, unsigned slots, std::uint64_t lines, std::uint64_t& returned) {
  auto engine = make_engine({.lines = lines, .hashes = 7, .slots = slots, .generation_keys = 2, .modulus = modulus});
  const std::uint64_t guaranteed = engine.geometry().kept() * 2;
  const digest_source source(modulus);
  std::uint64_t lost = 0;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    insert(engine, source.at(i));
    if (i < guaranteed) continue;
    lost += engine.may_contain(source.at(i - guaranteed), 0) ? 0U : 1U;
    // Exactly a round ago, and a generation to both sides of it.
    for (const std::uint64_t round : {2 * modulus - 2, 2 * modulus, 2 * modulus + 2}) {
      if (i >= round) returned += engine.may_contain(source.at(i - round), 0) ? 1U : 0U;
    }
  }
  return lost;
}

TEST(WindowEngine, StampsWrapManyTimesWithoutLosingKeysOrBringingOldOnesBack) {
  for (const auto& [modulus, slots] :
       {std::pair(60U, 1U), std::pair(300U, 1U), std::pair(60U, 4U), std::pair(240U, 4U)}) {
    std::uint64_t returned = 0;
    EXPECT_EQ(lost_keys(modulus, slots, modulus / 3, returned), 0U) << modulus;
    // 60,000 questions; two keys a generation in 20 lines and more give a rate below 1 in 10,000.
    EXPECT_LT(returned, 30U) << modulus << " " << slots;
  }
}

TEST(WindowEngine, AModulusThatIsNoMultipleOf15WouldLoseKeys) {
  std::uint64_t returned = 0;
  EXPECT_GT(lost_keys(61, 1, 20, returned), 0U);
  EXPECT_EQ(window_geometry::usual_modulus(1) % 15, 0U);
  for (unsigned slots = 3; slots <= 15; ++slots) {
    EXPECT_EQ(window_geometry::usual_modulus(slots) % 15, 0U);
    EXPECT_EQ(window_geometry::usual_modulus(slots) % slots, 0U);
  }
}

TEST(WindowEngine, EveryInstructionSetGivesTheBitsAndAnswersOfTheScalarCode) {
  for (const isa level : all_isas) {
    if (!has_isa(level)) continue;
    for (unsigned hashes = 3; hashes <= 12; ++hashes) {
      EXPECT_EQ(kernels_check::window_difference(level, hashes, 4), "");
      EXPECT_EQ(hashes > 10 ? "" : kernels_check::window_difference(level, hashes, 1), "");
    }
  }
}

// From the definition at the top of kernels/window.hpp: a change of these bits is a change of the file format.
TEST(WindowEngine, TheBitsAreFrozen) {
  constexpr std::uint64_t digest = 0x0123456789abcdefULL;
  const std::uint64_t product = digest * 0x9e3779b97f4a7c15ULL;
  const auto probe = static_cast<std::uint32_t>(product / 0x100000000ULL);
  constexpr std::array<std::uint32_t, 15> odd = {0x35daa571U, 0xf238f89bU, 0x36c68c2bU, 0xa2ac77fdU, 0x678f1f9dU,
                                                 0xdb5be285U, 0xee302ee3U, 0x565b8fb5U, 0x8115dd9bU, 0xa5a7d0e3U,
                                                 0x525bb613U, 0x931f33f5U, 0x035e26fbU, 0x81849383U, 0x30575f95U};
  auto stamped = make_engine({.lines = 7, .hashes = 4, .slots = 1, .generation_keys = 1});
  insert(stamped, mix64(1));  // the shift before the next one brings generation 16
  stamped.clear(0);
  insert(stamped, digest);
  insert(stamped, digest + (std::uint64_t{1} << 63U));  // another line
  insert(stamped, digest);
  const std::byte* line = stamped.payload().data() + 64 * (7 * 1 / 256);
  ASSERT_EQ(stamped.schedule().generation, 17U);
  EXPECT_EQ(kernels::window_lane(line, 15), 17U);
  for (unsigned lane = 0; lane < 15; ++lane) {
    // Generation 15 writes lanes 0 to 3, generation 17 lanes 13, 14, 0 and 1.
    const bool used = lane <= 3 || lane >= 13;
    EXPECT_EQ(kernels::window_lane(line, lane), used ? 1U << (probe * odd[lane] / (1U << 27U)) : 0U) << lane;
  }
  auto rotating = make_engine({.lines = 7, .hashes = 4, .slots = 4, .generation_keys = 1});
  insert(rotating, digest);
  const std::byte* slot = rotating.payload().data() + 64 * 3;  // generation 15 is slot 3
  EXPECT_EQ(kernels::window_lane(slot, 15), 15U);
  const auto first = static_cast<unsigned>((digest % 0x100000000ULL) * 15 / 0x100000000ULL);
  for (unsigned lane = 0; lane < 15; ++lane) {
    const bool used = (lane + 15 - first) % 15 < 4;
    EXPECT_EQ(kernels::window_lane(slot, lane), used ? 1U << (probe * odd[lane] / (1U << 27U)) : 0U) << lane;
  }
}

}  // namespace

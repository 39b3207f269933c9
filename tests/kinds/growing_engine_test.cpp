// The engine of the growing filter against a model: a multiset of keys that knows what must be answered.
//
// Slots whose fingerprints are cut to a few bits reach voids, phantoms and spills with few keys, so that every path is
// taken thousands of times. After each phase the whole filter is checked against what always holds.
#include <bloomery/kinds/growing.hpp>
#include <map>

#include "support/typed.hpp"

// Some widths of fingerprints are tested that no filter has: their kernels are not in the library.
#include "src/kernels/growing.cpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;
using kernels::growing_slots;

template <class Slots>
growing_state new_state(unsigned depth = 0, const memory_hooks* hooks = nullptr) {
  growing_state state;
  auto pages = growing_pages::make(std::uint64_t{1} << depth, hooks);
  EXPECT_TRUE(pages);
  state.pages = std::move(*pages);
  state.first_depth = depth;
  EXPECT_TRUE(state.pages.fill(depth));
  return state;
}

// Everything that growing_engine.hpp states always holds.
template <class Slots>
void expect_sound(const growing_state& state) {
  using engine = growing_engine<Slots>;
  uint128 covered = 0;
  std::uint64_t used = 0;
  std::uint64_t spilled = 0;
  std::uint64_t pages = 0;
  std::uint64_t next = 0;
  state.pages.for_each_page([&](std::uint64_t prefix, unsigned depth, const std::byte* page) {
    EXPECT_EQ(prefix, next);
    EXPECT_LE(depth, engine::deepest);
    next = prefix + (depth == 0 ? 0 : std::uint64_t{1} << (64U - depth));
    ++pages;
    const growing_page_notes& notes = growing_pages::notes_of(page);
    std::uint32_t used_here = 0;
    std::uint32_t voids = 0;
    for (unsigned line = 0; line < kernels::growing_page_lines; ++line) {
      bool ended = false;
      for (unsigned i = 0; i < Slots::count; ++i) {
        const auto slot = Slots::get(engine::line_at(page, line), i);
        EXPECT_FALSE(ended && slot != 0) << "a hole";
        ended |= slot == 0;
        used_here += slot != 0 ? 1U : 0U;
        voids += slot == Slots::void_slot ? 1U : 0U;
      }
    }
    EXPECT_EQ(notes.used, used_here);
    EXPECT_EQ(notes.voids, voids);
    std::uint32_t short_codes = 0;
    for (std::uint32_t i = 0; i < notes.spilled; ++i) {
      const std::uint64_t code = notes.spill[i].code;
      EXPECT_GE(kernels::growing_length(code), depth + 6);
      EXPECT_TRUE(i == 0 || notes.spill[i - 1].code < code);
      EXPECT_TRUE(kernels::growing_is_full<Slots>(engine::line_at(page, kernels::growing_line_of(code, depth))));
      EXPECT_EQ(state.pages.page_of(code).pointer(), page);
      EXPECT_GT(notes.spill[i].count, 0U);
      short_codes += (code & 1U) == 0 ? 1U : 0U;
      spilled += notes.spill[i].count;
    }
    EXPECT_EQ(notes.short_spilled, short_codes);
    engine::for_each_code(prefix, depth, page, [&](std::uint64_t code, std::uint64_t count) {
      covered += static_cast<uint128>(kernels::growing_covers(code)) * count;
      return true;
    });
    used += used_here;
    return !testing::Test::HasFailure();
  });
  EXPECT_EQ(pages, state.pages.pages());
  EXPECT_EQ(used, state.slots_used);
  EXPECT_EQ(spilled, state.spilled);
  EXPECT_TRUE(covered == state.covered);
  EXPECT_GE(state.codes(), state.occurrences);
}

// The keys of a filter, and how often each is in it.
class model {
 public:
  void add(std::uint64_t key) {
    if (counts_[key]++ == 0) keys_.push_back(key);
  }
  void remove(std::size_t i) {
    const std::uint64_t key = keys_[i];
    if (--counts_[key] != 0) return;
    counts_.erase(key);
    keys_[i] = keys_.back();
    keys_.pop_back();
  }
  void add_all(const model& other) {
    for (const auto& [key, count] : other.counts_) {
      for (std::uint64_t i = 0; i < count; ++i) add(key);
    }
  }
  [[nodiscard]] const std::vector<std::uint64_t>& keys() const { return keys_; }

  template <class Slots>
  void expect_all_in(const growing_state& state) const {
    for (const auto& [key, count] : counts_) {
      ASSERT_TRUE(growing_engine<Slots>::may_contain(state, key)) << "a false negative";
      ASSERT_GE(growing_engine<Slots>::count(state, key), count);
    }
    expect_sound<Slots>(state);
  }

 private:
  std::map<std::uint64_t, std::uint64_t> counts_;
  std::vector<std::uint64_t> keys_;
};

template <class Slots>
class GrowingEngine : public testing::Test {};
using all_slots = testing::Types<growing_slots<16>, growing_slots<24>, growing_slots<32>, growing_slots<16, 1>,
                                 growing_slots<16, 4>, growing_slots<24, 3>, growing_slots<32, 6>>;
struct slots_name {
  template <class Slots>
  static std::string GetName(int /*index*/) {
    return std::to_string(Slots::width) + "_" + std::to_string(Slots::fingerprint);
  }
};
TYPED_TEST_SUITE(GrowingEngine, all_slots, slots_name);

// Random inserts (some of keys that are there), erases and rejuvenations. Few different digests fill lines and spills.
template <class Slots>
void churn(growing_state& state, model& truth, std::uint64_t operations, std::uint64_t different, double erases,
           digest_source& dice) {
  using engine = growing_engine<Slots>;
  const digest_source digests(different);
  for (std::uint64_t i = 0; i < operations; ++i) {
    const std::uint64_t roll = dice();
    const double what = static_cast<double>(roll >> 11U) * 0x1p-53;
    if (what < erases && !truth.keys().empty()) {
      const std::size_t which = roll % truth.keys().size();
      ASSERT_TRUE(engine::erase(state, truth.keys()[which]));
      truth.remove(which);
    } else if (what > 0.95 && !truth.keys().empty()) {
      ASSERT_TRUE(engine::rejuvenate(state, truth.keys()[roll % truth.keys().size()]));
    } else {
      const std::uint64_t key = digests.at(dice() % different);
      ASSERT_TRUE(engine::insert(state, key));
      truth.add(key);
    }
  }
}

TYPED_TEST(GrowingEngine, NeverLosesAKeyWhateverIsInsertedErasedAndRejuvenated) {
  for (const std::uint64_t different : {300ULL, 20'000ULL, 1ULL << 40U}) {
    auto state = new_state<TypeParam>();
    model truth;
    digest_source dice(different + 1);
    for (const double erases : {0.1, 0.5, 0.3, 0.7, 0.45}) {
      churn<TypeParam>(state, truth, 6000, different, erases, dice);
      truth.expect_all_in<TypeParam>(state);
      if (this->HasFailure()) return;
    }
    while (!truth.keys().empty()) {
      ASSERT_TRUE(growing_engine<TypeParam>::erase(state, truth.keys().back()));
      truth.remove(truth.keys().size() - 1);
    }
    // Nothing is left, not even halves of voids.
    EXPECT_EQ(state.codes(), 0U);
    EXPECT_TRUE(state.covered == 0);
    expect_sound<TypeParam>(state);
  }
}

TYPED_TEST(GrowingEngine, MergedFiltersHoldTheSumOfBothAndCanBeErasedFrom) {
  // Small into large, large into small, empty ones, and into lines that are full.
  struct sizes {
    std::uint64_t a, b, different;
  };
  for (const auto& [a_keys, b_keys, different] :
       {sizes{200, 30'000, 1ULL << 40U}, sizes{30'000, 200, 1ULL << 40U}, sizes{0, 5'000, 1ULL << 40U},
        sizes{5'000, 0, 1ULL << 40U}, sizes{12'000, 12'000, 500}, sizes{9'000, 9'000, 1ULL << 40U}}) {
    auto a = new_state<TypeParam>();
    auto b = new_state<TypeParam>(2);
    model truth;
    model other;
    digest_source dice(a_keys + 3 * b_keys);
    churn<TypeParam>(a, truth, a_keys, different, 0.2, dice);
    churn<TypeParam>(b, other, b_keys, different, 0.2, dice);
    ASSERT_TRUE(growing_engine<TypeParam>::merge(a, b, false));
    truth.add_all(other);
    truth.expect_all_in<TypeParam>(a);
    other.expect_all_in<TypeParam>(b);
    churn<TypeParam>(a, truth, 4000, different, 0.8, dice);
    truth.expect_all_in<TypeParam>(a);
    if (this->HasFailure()) return;
  }
}

TYPED_TEST(GrowingEngine, MergedSetsHoldTheUnionAndDoNotGrowByWhatTheyShare) {
  auto a = new_state<TypeParam>();
  auto b = new_state<TypeParam>();
  digest_source digests(5);
  const auto keys = digests.take(6000);
  const auto add = [](growing_state& state, std::uint64_t key) {
    if (!growing_engine<TypeParam>::may_contain(state, key)) {
      ASSERT_TRUE(growing_engine<TypeParam>::insert(state, key));
    }
  };
  for (std::size_t i = 0; i < 4000; ++i) add(a, keys[i]);
  for (std::size_t i = 2000; i < 6000; ++i) add(b, keys[i]);
  const std::uint64_t both = a.codes() + b.codes();
  ASSERT_TRUE(growing_engine<TypeParam>::merge(a, b, true));
  for (const std::uint64_t key : keys) ASSERT_TRUE(growing_engine<TypeParam>::may_contain(a, key));
  // Cut fingerprints spread voids over many lines, which is growth of another kind.
  if (TypeParam::fingerprint == TypeParam::width - 1) {
    EXPECT_LT(a.codes(), both - 1500);
  }
  expect_sound<TypeParam>(a);
}

TYPED_TEST(GrowingEngine, ASplitLineHoldsWhatTheDefinitionSays) {
  digest_source dice(9);
  for (int round = 0; round < 3000; ++round) {
    alignas(64) std::array<std::byte, 64> line{};
    const unsigned used = static_cast<unsigned>(dice() % (TypeParam::count + 1));
    std::array<std::vector<std::uint32_t>, 2> expected;
    unsigned voids = 0;
    for (unsigned i = 0; i < used; ++i) {
      const unsigned length = static_cast<unsigned>(dice() % (TypeParam::fingerprint + 1));
      const auto slot = TypeParam::cut(kernels::growing_code(dice(), length + 6), 0);
      TypeParam::put(line.data(), i, slot);
      for (unsigned half = 0; half < 2; ++half) {
        if (length != 0 && slot >> (TypeParam::width - 1) != half) continue;
        const std::uint64_t shifted = (std::uint64_t{slot} << 1U) & ((std::uint64_t{1} << TypeParam::width) - 1);
        expected[half].push_back(length == 0 ? slot : static_cast<std::uint32_t>(shifted));
        voids += expected[half].back() == TypeParam::void_slot ? 1U : 0U;
      }
    }
    alignas(64) std::array<std::byte, 64> odd{};
    const auto made = kernels::growing_split<TypeParam>(line.data(), line.data(), odd.data());
    EXPECT_EQ(made.used, expected[0].size() + expected[1].size());
    EXPECT_EQ(made.voids, voids);
    for (unsigned half = 0; half < 2; ++half) {
      expected[half].resize(TypeParam::count);
      for (unsigned i = 0; i < TypeParam::count; ++i) {
        ASSERT_EQ(TypeParam::get(half == 0 ? line.data() : odd.data(), i), expected[half][i]);
      }
    }
  }
}

// Batches of all instruction sets, and single look-ups, against what the codes of the page say.
template <class Slots>
void expect_answers_of_the_definition(const growing_state& state, const std::vector<std::uint64_t>& asked) {
  std::vector<std::uint64_t> expected(mask_words(asked.size()));
  for (std::size_t i = 0; i < asked.size(); ++i) {
    bool found = false;
    const kernels::growing_page page = state.pages.page_of(asked[i]);
    state.pages.for_each_page([&](std::uint64_t prefix, unsigned depth, const std::byte* here) {
      if (here != page.pointer()) return true;
      growing_engine<Slots>::for_each_code(prefix, depth, here, [&](std::uint64_t code, std::uint64_t /*count*/) {
        found |= kernels::growing_code_matches(code, asked[i]);
        return !found;
      });
      return false;
    });
    expected[i / 64] |= std::uint64_t{found} << (i % 64);
  }
  for (const isa level : all_isas) {
    if (!has_isa(level)) continue;
    std::vector<std::uint64_t> mask(expected.size());
    const auto& kernels = kernels::growing_kernels<Slots>::for_isa(level);
    kernels.contains_batch(state.pages.view(), asked.size(), digest_feed(asked.data()), mask.data(),
                           growing_engine<Slots>::beyond());
    EXPECT_EQ(mask, expected) << isa_name(level);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      ASSERT_EQ(kernels.contains(state.pages.view(), asked[i], growing_engine<Slots>::beyond()),
                (expected[i / 64] >> (i % 64) & 1U) != 0);
    }
  }
}

TYPED_TEST(GrowingEngine, EveryInstructionSetGivesTheAnswersOfTheDefinition) {
  auto state = new_state<TypeParam>();
  digest_source digests(10);
  const auto keys = digests.take(9000);
  for (const std::uint64_t key : keys) ASSERT_TRUE(growing_engine<TypeParam>::insert(state, key));
  auto asked = digests.take(20'001);
  asked.insert(asked.end(), keys.begin(), keys.end());
  // Digests that differ from a key in one bit try every place of the fingerprint.
  for (std::size_t i = 0; i < 6400; ++i) asked.push_back(keys[i] ^ std::uint64_t{1} << (i % 64));
  expect_answers_of_the_definition<TypeParam>(state, asked);
  // And with a directory of two levels.
  while (!state.pages.has_two_levels()) {
    ASSERT_TRUE(growing_engine<TypeParam>::split(state, 0, state.pages.page_of(0)));
  }
  expect_answers_of_the_definition<TypeParam>(state, asked);
}

TEST(GrowingDirectory, GetsItsSecondLevelWhilePagesAreShallowerThanTheRoot) {
  // The pages of digest 0 split until the directory has two levels, and leave pages of all depths behind; those of depths
  // 1 to 9 stand in several tables of the second level when they split.
  using slots = growing_slots<16>;
  auto state = new_state<slots>();
  digest_source digests(11);
  auto keys = digests.take(1500);
  for (const std::uint64_t key : keys) ASSERT_TRUE(growing_engine<slots>::insert(state, key));
  for (unsigned depth = 0; depth < 15; ++depth) {
    ASSERT_EQ(state.pages.page_of(0).tag(), depth);
    ASSERT_EQ(state.pages.has_two_levels(), depth > growing_pages::one_level_bits);
    ASSERT_TRUE(growing_engine<slots>::split(state, 0, state.pages.page_of(0)));
    for (const std::uint64_t key : keys) ASSERT_TRUE(growing_engine<slots>::may_contain(state, key));
  }
  ASSERT_EQ(state.pages.page_of(~std::uint64_t{0}).tag(), 1U);
  for (int i = 0; i < 60'000; ++i) {
    keys.push_back(digests());
    ASSERT_TRUE(growing_engine<slots>::insert(state, keys.back()));
  }
  EXPECT_GT(state.pages.page_of(~std::uint64_t{0}).tag(), 3U);
  for (const std::uint64_t key : keys) ASSERT_TRUE(growing_engine<slots>::may_contain(state, key));
  expect_sound<slots>(state);
  // A copy builds its directory anew.
  auto copy = state.pages.clone();
  ASSERT_TRUE(copy);
  state.pages.for_each_page([&](std::uint64_t prefix, unsigned depth, const std::byte* page) {
    EXPECT_EQ(copy->page_of(prefix).tag(), depth);
    EXPECT_EQ(std::memcmp(copy->page_of(prefix).pointer(), page, kernels::growing_page_bytes), 0);
    return true;
  });
  state.pages.reset(0);
  EXPECT_EQ(state.pages.pages(), 1U);
  EXPECT_EQ(state.pages.page_of(~std::uint64_t{0}).pointer(), state.pages.page_of(0).pointer());
}

TEST(GrowingDirectory, StaysSmallWhenDigestsAreChosenToBeAlike) {
  // A staircase: 1600 keys under each number of leading zeros. Without a cap on the depth each step would double it.
  using slots = growing_slots<16>;
  auto state = new_state<slots>();
  digest_source digests(12);
  std::vector<std::uint64_t> keys;
  for (unsigned zeros = 0; zeros < 40; ++zeros) {
    for (int i = 0; i < 1600; ++i) {
      keys.push_back((digests() | std::uint64_t{1} << 63U) >> zeros);
      ASSERT_TRUE(growing_engine<slots>::insert(state, keys.back()));
    }
  }
  // 2 KiB a page, and the smallest second level.
  EXPECT_LE(state.pages.directory_bytes(), 2048 * state.pages.pages() + 8192 + 65536);
  EXPECT_GT(state.spilled, 10'000U);
  for (const std::uint64_t key : keys) ASSERT_TRUE(growing_engine<slots>::may_contain(state, key));
  expect_sound<slots>(state);
}

// A void of a deep filter stands in two lines for one key. In a shallower filter its halves are codes like others.
TEST(GrowingMerge, OfADeepFilterIntoAShallowOneIsEmptyWhenEveryKeyIsErased) {
  using slots = growing_slots<16, 3>;
  using engine = growing_engine<slots>;
  growing_state deep = new_state<slots>();
  growing_state shallow = new_state<slots>();
  const digest_source digests(31);
  for (std::uint64_t i = 0; i < 40; ++i) ASSERT_TRUE(engine::insert(deep, digests.at(i)));
  for (unsigned depth = 0; depth < 5; ++depth) {
    for (std::uint64_t i = 0; i < std::uint64_t{1} << depth; ++i) {
      const std::uint64_t prefix = depth == 0 ? 0 : i << (64U - depth);
      ASSERT_TRUE(engine::split(deep, prefix, deep.pages.page_of(prefix)));
    }
  }
  ASSERT_GT(deep.codes(), deep.occurrences) << "no void has been split";
  for (std::uint64_t i = 40; i < 100; ++i) ASSERT_TRUE(engine::insert(shallow, digests.at(i)));
  ASSERT_TRUE(engine::merge(shallow, deep, false));
  ASSERT_EQ(shallow.pages.pages(), 1U);
  expect_sound<slots>(shallow);
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_NE(shallow.codes(), 0U);
    ASSERT_TRUE(engine::erase(shallow, digests.at(i))) << i;
    for (std::uint64_t j = i + 1; j < 100; ++j) ASSERT_TRUE(engine::may_contain(shallow, digests.at(j)));
  }
  EXPECT_EQ(shallow.codes(), 0U);
  EXPECT_TRUE(shallow.covered == 0);
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_FALSE(engine::may_contain(shallow, digests.at(i))) << i;
}

TEST(GrowingPage, OfVoidsDoesNotSplit) {
  // One bit of fingerprint: after a split nearly everything is void, and splitting again would free no space.
  using slots = growing_slots<16, 1>;
  auto state = new_state<slots>();
  digest_source digests(13);
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(growing_engine<slots>::insert(state, digests()));
  EXPECT_LT(state.pages.pages(), 4096U);
  expect_sound<slots>(state);
}

TEST(GrowingSpill, HoldsEqualKeysInOneEntry) {
  using slots = growing_slots<16>;
  auto state = new_state<slots>();
  const digest_source digests(14);
  for (unsigned i = 0; i < 100'000; ++i) ASSERT_TRUE(growing_engine<slots>::insert(state, digests.at(i % 3)));
  EXPECT_EQ(growing_engine<slots>::count(state, digests.at(0)), 33'334U);
  EXPECT_LT(state.pages.memory_bytes(), 20'000U);
  for (unsigned i = 0; i < 100'000; ++i) ASSERT_TRUE(growing_engine<slots>::erase(state, digests.at(i % 3)));
  EXPECT_FALSE(growing_engine<slots>::may_contain(state, digests.at(0)));
}

}  // namespace

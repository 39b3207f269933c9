// Keys through any_filter: one by one and in batches of every sort, with one answer, for every kind; and for filters of other
// products and in shards, which are any_filters, too.
#include <array>
#include <bloomery/formats.hpp>
#include <bloomery/hash/identity.hpp>
#include <bloomery/wrappers/any_shards.hpp>
#include <set>
#include <string>
#include <tuple>

#include "support/filters.hpp"

namespace bloomery::test {
namespace {

// Strings and the same bytes as columns.
struct string_keys {
  explicit string_keys(std::size_t count, const std::string& prefix = "key ") {
    strings.reserve(count);
    for (std::size_t i = 0; i < count; ++i) strings.push_back(prefix + std::string(i % 40, 'x') + std::to_string(i));
    for (const std::string& each : strings) {
      views.emplace_back(each);
      offsets.push_back(bytes.size());
      narrow_offsets.push_back(static_cast<std::uint32_t>(bytes.size()));
      bytes += each;
    }
    offsets.push_back(bytes.size());
    narrow_offsets.push_back(static_cast<std::uint32_t>(bytes.size()));
  }
  [[nodiscard]] byte_columns columns() const { return {std::as_bytes(std::span(bytes)), offsets}; }
  [[nodiscard]] byte_columns narrow_columns() const { return {std::as_bytes(std::span(bytes)), narrow_offsets}; }

  std::vector<std::string> strings;
  std::vector<std::string_view> views;
  std::string bytes;
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> narrow_offsets;
};

std::vector<std::uint64_t> integer_keys(std::size_t count, std::uint64_t first = 0) {
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back(7 * (first + i));
  return keys;
}

bool bit_at(std::span<const std::uint64_t> mask, std::size_t i) { return (mask[i / 64] >> (i % 64) & 1U) != 0; }

std::vector<bool> ask(const any_filter& filter, const key_batch& keys) {
  std::vector<std::uint64_t> mask(mask_words(keys.size()), ~std::uint64_t{0});
  const auto done = filter.may_contain(keys, mask);
  EXPECT_TRUE(done) << describe(done.error()).c_str();
  std::vector<bool> answers(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) answers[i] = bit_at(mask, i);
  return answers;
}

template <class T>
errc code_of(const result<T>& done) {
  EXPECT_FALSE(done);
  return done ? errc::count_ : done.error().code;
}

class AnyKeys : public KindTest {};
BLOOMERY_FOR_KINDS(AnyKeys,
                   kinds_where([](const kind_case& kind) { return kind.is_dynamic() && !kind.info->integer_keys; }));
class AnyIntegerKeys : public KindTest {};
BLOOMERY_FOR_KINDS(AnyIntegerKeys, kinds_where(&kind_case::is_dynamic));
class AnyBuiltKeys : public KindTest {};
BLOOMERY_FOR_KINDS(AnyBuiltKeys, kinds_where([](const kind_case& kind) { return !kind.info->integer_keys; }));

TEST_P(AnyKeys, EverySortOfBatchGivesTheFilterOfSingleKeys) {
  const string_keys keys(900);
  auto single = make_filter(GetParam(), 1000);
  for (const std::string& key : keys.strings) ASSERT_TRUE(single.add(key));
  for (const key_batch& batch : {key_batch(keys.views), key_batch(keys.columns()), key_batch(keys.narrow_columns())}) {
    auto many = make_filter(GetParam(), 1000);
    const auto added = many.add(batch);
    ASSERT_TRUE(added) << describe(added.error()).c_str();
    EXPECT_TRUE(many == single);
    EXPECT_EQ(ask(many, batch), std::vector<bool>(keys.views.size(), true));
  }
}

TEST_P(AnyKeys, AnswersAgreeKeyByKeyAndInEverySortOfBatch) {
  const string_keys present(700);
  const string_keys absent(1300, "another ");
  auto filter = make_filter(GetParam(), 1000);
  ASSERT_TRUE(filter.add(present.views));
  std::vector<bool> expected;
  for (const std::string& key : absent.strings) expected.push_back(*filter.may_contain(key));
  EXPECT_EQ(ask(filter, absent.views), expected);
  EXPECT_EQ(ask(filter, absent.columns()), expected);
  EXPECT_EQ(ask(filter, absent.narrow_columns()), expected);
  std::vector<std::uint32_t> selection(absent.views.size());
  const auto selected = filter.may_contain_select(absent.views, selection);
  ASSERT_TRUE(selected);
  std::set<std::size_t> chosen(selection.begin(), selection.begin() + static_cast<std::ptrdiff_t>(*selected));
  EXPECT_EQ(chosen.size(), *selected);
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(chosen.contains(i), expected[i]) << i;
}

TEST_P(AnyKeys, KeysOfAnyTypeHaveTheDigestsOfTheTypedFilter) {
  auto filter = make_filter(GetParam(), 1000);
  const hasher hash = *hasher::make(filter.hash());
  const auto check = [&](const auto& key) {
    EXPECT_EQ(*filter.insert(key), insert_result::inserted);
    EXPECT_NE(*filter.insert(key), insert_result::full);
    EXPECT_TRUE(*filter.may_contain(key));
    EXPECT_TRUE(*filter.may_contain(prehashed{digest_of(hash, key)}));
  };
  check("alice");
  check(std::string(300, 'l'));
  check(std::tuple("ab", "c"));
  check(-7);
  check(std::uint64_t{1} << 40U);
}

TEST_P(AnyIntegerKeys, AreTheSameOneByOneAndInBatches) {
  const auto keys = integer_keys(900);
  auto single = make_filter(GetParam(), 1000);
  std::uint64_t expected = 0;
  for (const std::uint64_t key : keys) {
    const auto done = single.insert(key);
    ASSERT_TRUE(done);
    expected += *done == insert_result::inserted ? 1U : 0U;
  }
  auto many = make_filter(GetParam(), 1000);
  const auto added = many.add(keys);
  ASSERT_TRUE(added) << describe(added.error()).c_str();
  EXPECT_EQ(*added, expected);
  EXPECT_TRUE(many == single);
  const auto others = integer_keys(1000, 5000);
  const auto answers = ask(many, others);
  for (std::size_t i = 0; i < others.size(); ++i) ASSERT_EQ(answers[i], *many.may_contain(others[i])) << i;
}

TEST_P(AnyIntegerKeys, ABatchInsertSetsTheBitsOfTheKeysThatWereNew) {
  auto keys = integer_keys(500);
  keys.insert(keys.end(), keys.begin(), keys.begin() + 100);
  for (const std::uint64_t more : integer_keys(150, 9000)) keys.push_back(more);
  auto single = make_filter(GetParam(), 1000);
  std::vector<bool> expected;
  for (const std::uint64_t key : keys) expected.push_back(*single.insert(key) == insert_result::inserted);
  auto many = make_filter(GetParam(), 1000);
  std::vector<std::uint64_t> fresh(mask_words(keys.size()), ~std::uint64_t{0});
  const auto outcome = many.insert(keys, fresh);
  ASSERT_TRUE(outcome) << describe(outcome.error()).c_str();
  EXPECT_EQ(outcome->taken, keys.size());
  EXPECT_EQ(outcome->inserted, static_cast<std::uint64_t>(std::count(expected.begin(), expected.end(), true)));
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(bit_at(fresh, i), expected[i]) << i;
  EXPECT_EQ(fresh.back() >> (keys.size() % 64), 0U) << "bits behind the last key";
  EXPECT_TRUE(many == single);
}

class AnyBoundedKeys : public KindTest {};
BLOOMERY_FOR_KINDS(AnyBoundedKeys, kinds_where([](const kind_case& kind) {
                     return kind.bounded && !kind.info->grows && !kind.may_lose;
                   }));

TEST_P(AnyBoundedKeys, ABatchInsertReturnsWhereItStoppedAndHoldsWhatItTook) {
  const string_keys keys(5000);
  auto filter = make_filter(GetParam(), 1000);
  std::vector<std::uint64_t> fresh(mask_words(keys.views.size()));
  const auto outcome = filter.insert(keys.views, fresh);
  ASSERT_TRUE(outcome) << describe(outcome.error()).c_str();
  ASSERT_LT(outcome->taken, keys.views.size());
  EXPECT_GE(outcome->taken, 1000U);
  for (std::size_t i = 0; i < outcome->taken; ++i) ASSERT_TRUE(*filter.may_contain(keys.views[i])) << i;
  for (std::size_t i = outcome->taken; i < keys.views.size(); ++i) ASSERT_FALSE(bit_at(fresh, i)) << i;
  EXPECT_EQ(*filter.insert(keys.views[outcome->taken]), insert_result::full);
  EXPECT_EQ(code_of(filter.add(keys.views[outcome->taken])), errc::full);
  // The batch without answers stops at the same key, and reports it as an error.
  auto again = make_filter(GetParam(), 1000);
  const auto added = again.add(keys.views);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, errc::full);
  EXPECT_EQ(added.error().number[1], outcome->taken);
  EXPECT_TRUE(again == filter);
}

TEST_P(AnyBuiltKeys, AFilterIsBuiltFromKeysOfEverySort) {
  const string_keys keys(3000);
  const string_keys others(3000, "another ");
  const hasher hash;
  for (const key_batch& batch : {key_batch(keys.views), key_batch(keys.columns())}) {
    const auto built = any_filter::build(GetParam().info->name, {.fpr = 0.01}, hash, batch, 1);
    ASSERT_TRUE(built) << describe(built.error()).c_str();
    EXPECT_EQ(ask(*built, keys.views), std::vector<bool>(keys.views.size(), true));
    const auto wrong = ask(*built, others.views);
    EXPECT_LT(std::count(wrong.begin(), wrong.end(), true), 90);
  }
}

class AnyErasedKeys : public KindTest {};
BLOOMERY_FOR_KINDS(AnyErasedKeys, kinds_where([](const kind_case& kind) {
                     return kind.erases && kind.counts && !kind.info->integer_keys && !kind.may_lose;
                   }));

TEST_P(AnyErasedKeys, AreErasedAndCountedOneByOneAndInBatches) {
  const string_keys keys(600);
  auto filter = make_filter(GetParam(), 1000);
  ASSERT_TRUE(filter.add(keys.views));
  std::vector<std::uint64_t> counts(keys.views.size());
  ASSERT_TRUE(filter.count(keys.views, counts));
  for (std::size_t i = 0; i < counts.size(); ++i) ASSERT_EQ(counts[i], *filter.count(keys.strings[i])) << i;
  const auto erased = filter.erase(std::span<const std::string_view>(keys.views).first(300));
  ASSERT_TRUE(erased);
  EXPECT_EQ(*erased, 300U);
  EXPECT_TRUE(*filter.erase(keys.strings[400]));
  for (std::size_t i = 300; i < keys.views.size(); ++i) {
    if (i == 400) continue;
    ASSERT_TRUE(*filter.may_contain(keys.views[i])) << i;
  }
}

// ---- what is refused ----

TEST(AnyKeysRefused, ADigestThatIsTooNarrowForTheFilterIsAnError) {
  auto filter = any_filter::make("bloom", {.keys = 1000, .fpr = 1e-15}, hasher());
  ASSERT_TRUE(filter);
  ASSERT_EQ(filter->digest_bits(), 128U);
  EXPECT_EQ(code_of(filter->insert(prehashed{1})), errc::unsupported);
  EXPECT_EQ(code_of(filter->may_contain(prehashed{1})), errc::unsupported);
  const std::vector<std::uint64_t> narrow{1, 2, 3};
  std::vector<std::uint64_t> mask(1);
  EXPECT_EQ(code_of(filter->add(as_prehashed(narrow))), errc::unsupported);
  EXPECT_EQ(code_of(filter->may_contain(as_prehashed(narrow), mask)), errc::unsupported);
  // Keys are hashed as wide as it takes.
  EXPECT_EQ(*filter->insert("alice"), insert_result::inserted);
  EXPECT_TRUE(*filter->may_contain(prehashed128{digest128_of(xxh3{}, "alice")}));
  EXPECT_TRUE(filter->add(std::vector<std::string_view>{"bob"}));
  EXPECT_TRUE(*filter->may_contain("bob"));
}

TEST(AnyKeysRefused, AWideDigestServesAFilterOf64BitsByItsLowWord) {
  auto filter = any_filter::make("blocked", {.keys = 1000, .fpr = 0.01}, hasher());
  ASSERT_TRUE(filter);
  const std::vector<digest128> wide{{.low = 11, .high = 12}, {.low = 13, .high = 14}};
  EXPECT_EQ(*filter->add(as_prehashed(wide)), 2U);
  EXPECT_TRUE(*filter->may_contain(prehashed{11}));
  EXPECT_TRUE(*filter->may_contain(prehashed128{{.low = 13, .high = 99}}));
}

TEST(AnyKeysRefused, WithoutTheSecretOfItsHashAFilterTakesNoKeysUntilItIsUnlocked) {
  const folder box;
  const std::vector<std::byte> secret(16, std::byte{7});
  const std::vector<std::byte> another(16, std::byte{8});
  auto filter = any_filter::make("blocked", {.keys = 1000, .fpr = 0.01}, *hasher::make("siphash13", 0, secret));
  ASSERT_TRUE(filter);
  ASSERT_TRUE(filter->add("alice"));
  ASSERT_TRUE(filter->save((box / "f").c_str()));
  auto opened = any_filter::open((box / "f").c_str());
  ASSERT_TRUE(opened);
  EXPECT_EQ(code_of(opened->may_contain("alice")), errc::bad_key_size);
  std::vector<std::uint64_t> mask(1);
  EXPECT_EQ(code_of(opened->may_contain(std::vector<std::string_view>{"alice"}, mask)), errc::bad_key_size);
  EXPECT_TRUE(opened->stats());
  EXPECT_EQ(code_of(opened->unlock(another)), errc::wrong_key);
  EXPECT_EQ(code_of(opened->may_contain("alice")), errc::bad_key_size);
  ASSERT_TRUE(opened->unlock(secret));
  EXPECT_TRUE(*opened->may_contain("alice"));
}

TEST(AnyKeysRefused, AFilterOfIntegersTakesEightBytesAndNothingElse) {
  enable_everything();
  auto filter = any_filter::make("bitmap", {}, hasher::of(identity{}));
  ASSERT_TRUE(filter);
  EXPECT_EQ(code_of(filter->add("alice")), errc::unsupported);
  EXPECT_EQ(code_of(filter->add(std::vector<std::string_view>{"12345678", "x"})), errc::unsupported);
  EXPECT_EQ(filter->stats()->keys.keys, 0U) << "nothing of a refused batch is in the filter";
  EXPECT_TRUE(filter->add(42));
  EXPECT_TRUE(*filter->may_contain(std::string_view("\x2a\0\0\0\0\0\0\0", 8)));
}

TEST(AnyKeysRefused, ColumnsWhoseOffsetsDoNotAscendWithinTheBytes) {
  auto filter = any_filter::make("blocked", {.keys = 1000, .fpr = 0.01}, hasher());
  ASSERT_TRUE(filter);
  const std::string bytes = "abcdef";
  const auto all = std::as_bytes(std::span(bytes));
  const std::vector<std::uint64_t> back{0, 4, 2, 6};
  EXPECT_EQ(code_of(filter->add(byte_columns(all, back))), errc::unsupported);
  const std::vector<std::uint32_t> beyond{0, 3, 7};
  EXPECT_EQ(code_of(filter->add(byte_columns(all, beyond))), errc::bad_span);
  EXPECT_EQ(filter->stats()->keys.keys, 0U);
  EXPECT_EQ(*filter->add(byte_columns(all, std::span<const std::uint64_t>())), 0U);
  const std::vector<std::uint64_t> good{0, 0, 3, 6};
  EXPECT_EQ(*filter->add(byte_columns(all, good)), 3U);
  EXPECT_TRUE(*filter->may_contain(""));
  EXPECT_TRUE(*filter->may_contain("def"));
}

TEST(AnyKeysRefused, MasksSelectionsAndCountsThatAreTooShort) {
  auto filter = any_filter::make("counting", {.keys = 1000, .fpr = 0.01}, hasher());
  ASSERT_TRUE(filter);
  const auto keys = integer_keys(65);
  std::vector<std::uint64_t> one_word(1);
  std::vector<std::uint32_t> few(64);
  EXPECT_EQ(code_of(filter->insert(keys, one_word)), errc::bad_span);
  EXPECT_EQ(code_of(filter->may_contain(keys, one_word)), errc::bad_span);
  EXPECT_EQ(code_of(filter->may_contain_select(keys, few)), errc::bad_span);
  EXPECT_EQ(code_of(filter->count(keys, one_word)), errc::bad_span);
  EXPECT_EQ(filter->stats()->keys.keys, 0U);
}

// ---- filters of other products and in shards ----

TEST(AnyKeysOfOthers, EveryFormatThatMakesFiltersTakesKeys) {
  enable_everything();
  const string_keys keys(500);
  unsigned tried = 0;
  for (const formats::format* each : formats::list()) {
    if (each->is_native()) continue;
    auto made = formats::make(each->name, {.keys = 1000, .fpr = 0.01}, {});
    if (!made) continue;
    ++tried;
    SCOPED_TRACE(each->name);
    ASSERT_TRUE(made->add(keys.strings[0]));
    ASSERT_TRUE(made->add(keys.views));
    EXPECT_EQ(ask(*made, keys.views), std::vector<bool>(keys.views.size(), true));
    EXPECT_EQ(ask(*made, keys.columns()), std::vector<bool>(keys.views.size(), true));
    for (const std::string& key : keys.strings) ASSERT_TRUE(*made->may_contain(key));
    // Integers are the same keys one by one, in a batch, and as their 8 bytes.
    const auto integers = integer_keys(100, 1'000'000);
    ASSERT_TRUE(made->add(integers));
    for (const std::uint64_t key : integers) ASSERT_TRUE(*made->may_contain(key));
    ASSERT_TRUE(made->add(std::uint64_t{77}));
    EXPECT_TRUE(ask(*made, std::vector<std::uint64_t>{77})[0]);
    EXPECT_TRUE(*made->may_contain(std::string_view("\x4d\0\0\0\0\0\0\0", 8)));
    std::uint64_t wrong = 0;
    for (int i = 0; i < 500; ++i) wrong += *made->may_contain("another " + std::to_string(i)) ? 1U : 0U;
    EXPECT_LT(wrong, 40U);
  }
  EXPECT_GE(tried, 4U);
}

TEST(AnyKeysOfOthers, AFilterInShardsTakesKeysAsOneInOnePiece) {
  const string_keys keys(2000);
  auto shards = make_shards("blocked", {.keys = 2000, .fpr = 0.01}, hasher(), {.shards = 4});
  ASSERT_TRUE(shards);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_TRUE(shards->add(keys.strings[i]));
  std::vector<std::uint64_t> fresh(mask_words(keys.views.size()));
  const auto outcome = shards->insert(keys.views, fresh);
  ASSERT_TRUE(outcome) << describe(outcome.error()).c_str();
  EXPECT_EQ(outcome->taken, 2000U);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_FALSE(bit_at(fresh, i)) << i;
  EXPECT_EQ(ask(*shards, keys.columns()), std::vector<bool>(2000, true));
}

// ---- memory ----

TEST_P(AnyIntegerKeys, RelocationKeepsTheFilterAndRefusedMemoryLeavesItInPlace) {
  auto filter = make_filter(GetParam(), 1000);
  const auto keys = integer_keys(500);
  ASSERT_TRUE(filter.add(keys));
  auto copy = copy_of(filter);
  const std::uint64_t before = filter.allocated_bytes();
  EXPECT_GE(before, filter.stats()->memory_bytes);
  ASSERT_TRUE(filter.relocate());
  EXPECT_TRUE(filter == copy);
  EXPECT_EQ(ask(filter, keys), std::vector<bool>(keys.size(), true));
  EXPECT_TRUE(filter.add(integer_keys(10, 100'000)));
}

// ---- time ----

class AnyExpiringKeys : public KindTest {};
BLOOMERY_FOR_KINDS(AnyExpiringKeys, kinds_where([](const kind_case& kind) { return kind.expires; }));

TEST_P(AnyExpiringKeys, ExpireByTheClockOfALoadedAMappedAndAShardedFilter) {
  constexpr std::uint64_t second = 1'000'000'000;
  const folder box;
  std::uint64_t time = 1'700'000'000 * second;
  const clock_hook clock{.now_ns = [](void* context) { return *static_cast<std::uint64_t*>(context); },
                         .context = &time};
  const filter_params params{.keys = 1000, .fpr = 0.01, .window_ns = 100 * second, .clock = &clock};
  auto made = any_filter::make(GetParam().info->name, params, hasher());
  ASSERT_TRUE(made) << describe(made.error()).c_str();
  auto shards = make_shards(GetParam().info->name, params, hasher(), {.shards = 2});
  ASSERT_TRUE(shards);
  const auto keys = integer_keys(500);
  ASSERT_TRUE(made->add(keys));
  ASSERT_TRUE(shards->add(keys));
  ASSERT_TRUE(made->save((box / "f").c_str()));
  ASSERT_TRUE(shards->save((box / "s").c_str()));
  const auto found = [&](const any_filter& filter) {
    const auto answers = ask(filter, keys);
    return std::count(answers.begin(), answers.end(), true);
  };
  const auto check = [&](const char* what, result<any_filter> filter) {
    SCOPED_TRACE(what);
    ASSERT_TRUE(filter) << describe(filter.error()).c_str();
    const std::uint64_t start = time;
    EXPECT_EQ(found(*filter), 500);
    time += 10'000 * second;
    EXPECT_EQ(found(*filter), 0) << "all have expired";
    time = start;
    EXPECT_EQ(found(*filter), 500);
    filter->set_clock(nullptr);
    EXPECT_EQ(found(*filter), 0) << "the system's clock is far ahead";
  };
  check("loaded", any_filter::load((box / "f").c_str(), {.clock = &clock}));
  check("from bytes", any_filter::load_bytes(saved_bytes(*made), {.clock = &clock}));
  check("mapped", any_filter::open((box / "f").c_str(), {.clock = &clock}));
  check("mapped shards", open_shards((box / "s").c_str(), {.clock = &clock}));
  check("loaded shards", load_shards((box / "s").c_str(), {.clock = &clock}));
  for (const bool in_memory : {false, true}) {
    auto opened = formats::open((box / "f").c_str(), {.load = {.clock = &clock}, .in_memory = in_memory});
    ASSERT_TRUE(opened) << describe(opened.error()).c_str();
    check("opened by its format", std::move(opened->filter));
  }
  check("made", std::move(made));
}

}  // namespace
}  // namespace bloomery::test

// Filters queried in place by keys: the answers of filter<K, H>, and only with the hash that built the file.
#include <bloomery/filter.hpp>
#include <bloomery/posix/mapped_filter.hpp>

#include <array>
#include <bloomery/hash/siphash.hpp>
#include <bloomery/kinds/blocked.hpp>
#include <bloomery/kinds/bloom.hpp>
#include <bloomery/kinds/counting.hpp>
#include <bloomery/kinds/fuse.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/typed.hpp"

namespace bloomery::test {
namespace {

std::vector<std::string> texts(std::size_t first, std::size_t count) {
  std::vector<std::string> keys(count);
  for (std::size_t i = 0; i < count; ++i) keys[i] = "https://example.org/" + std::to_string(first + i);
  return keys;
}

template <class K, class H = default_hash>
filter<K, H> saved_filter(const std::string& path, const std::vector<std::string>& keys, const H& hash = {},
                          filter_params params = {.keys = 20'000, .fpr = 0.01}) {
  auto made = filter<K, H>::make(params, hash);
  EXPECT_TRUE(made) << error_of(made);
  for (const std::string& key : keys) made->insert(key);
  EXPECT_TRUE(made->save(path.c_str(), {.replace = true}));
  return std::move(*made);
}

// One by one and in a batch, while chunks are being checked and when all are.
template <class K, class H>
void expect_same_answers(const filter<K, H>& expected, const mapped_filter<K, H>& seen,
                         const std::vector<std::string>& keys) {
  std::vector<std::uint64_t> mask(mask_words(keys.size()));
  for (const bool is_checked : {false, true}) {
    if (is_checked) {
      ASSERT_TRUE(seen.file().verify_all());
    }
    ASSERT_TRUE(seen.may_contain_batch(keys, mask));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto answer = seen.may_contain(keys[i]);
      ASSERT_TRUE(answer) << error_of(answer);
      ASSERT_EQ(*answer, expected.may_contain(keys[i])) << keys[i];
      ASSERT_EQ((mask[i / 64] >> (i % 64) & 1U) != 0, *answer) << keys[i];
    }
  }
}

TEST(MappedFilter, AnswersAsTheFilterInMemoryDoes) {
  const folder box;
  const std::string path = box / "f";
  const auto keys = texts(0, 5000);
  const auto queries = texts(2500, 20'000);
  const auto blocked_one = saved_filter<blocked>(path, keys);
  auto seen = mapped_filter<blocked>::open(path);
  ASSERT_TRUE(seen) << error_of(seen);
  expect_same_answers(blocked_one, *seen, queries);
  const auto bloom_one = saved_filter<bloom, siphash24>(path, keys, siphash24{.key = {1, 2}});
  auto keyed = mapped_filter<bloom, siphash24>::open(path, siphash24{.key = {1, 2}});
  ASSERT_TRUE(keyed) << error_of(keyed);
  expect_same_answers(bloom_one, *keyed, queries);
}

TEST(MappedFilter, TakesKeysOfAnyTypeAndBatchesOfWhatASpanTakes) {
  const folder box;
  const std::string path = box / "f";
  auto made = filter<blocked>::make({.keys = 1000, .fpr = 0.001});
  ASSERT_TRUE(made);
  const std::vector<std::uint64_t> vector{7, 8, 9};
  for (const std::uint64_t key : vector) made->insert(key);
  made->insert("alice");
  made->insert(std::tuple("user", 42));
  ASSERT_TRUE(made->save(path.c_str()));
  const auto seen = mapped_filter<blocked>::open(std::filesystem::path(path));
  ASSERT_TRUE(seen);
  EXPECT_TRUE(*seen->may_contain("alice"));
  EXPECT_TRUE(*seen->may_contain(std::string("alice")));
  EXPECT_TRUE(*seen->may_contain(std::tuple("user", 42)));
  EXPECT_FALSE(*seen->may_contain("bob"));
  std::array<std::uint64_t, 1> mask{};
  EXPECT_TRUE(seen->may_contain_batch(vector, mask));
  EXPECT_EQ(mask[0], 7U);
  std::array<std::uint64_t, 3> array{9, 1000, 7};
  EXPECT_TRUE(seen->may_contain_batch(array, mask));
  EXPECT_EQ(mask[0], 5U);
  EXPECT_TRUE(seen->may_contain_batch(std::span(array).first(1), mask));
  EXPECT_EQ(mask[0], 1U);
  const std::uint64_t c_array[] = {1000, 8};
  EXPECT_TRUE(seen->may_contain_batch(c_array, mask));
  EXPECT_EQ(mask[0], 2U);
  EXPECT_TRUE(seen->may_contain_batch(std::vector<std::string>{"bob", "alice"}, mask));
  EXPECT_EQ(mask[0], 2U);
  EXPECT_EQ(seen->may_contain_batch(vector, {}).error().code, errc::bad_span);
}

TEST(MappedFilter, AFileOfAnotherHashSeedKeyOrKindIsRefused) {
  const folder box;
  const std::string path = box / "f";
  saved_filter<bloom>(path, texts(0, 10), default_hash{.seed = 7});
  EXPECT_TRUE((mapped_filter<bloom>::open(path, default_hash{.seed = 7})));
  EXPECT_EQ(mapped_filter<bloom>::open(path).error().code, errc::mismatch);
  EXPECT_EQ((mapped_filter<bloom, siphash24>::open(path, siphash24{.key = {1, 2}}).error().code), errc::mismatch);
  EXPECT_EQ(mapped_filter<blocked>::open(path, default_hash{.seed = 7}).error().code, errc::unsupported);
  saved_filter<bloom, siphash24>(path, texts(0, 10), siphash24{.key = {1, 2}});
  EXPECT_EQ((mapped_filter<bloom, siphash24>::open(path, siphash24{.key = {1, 3}}).error().code), errc::mismatch);
  EXPECT_EQ(mapped_filter<bloom>::open(box / "none").error().code, errc::io);
}

TEST(MappedFilter, CountsAsTheFilterInMemoryDoes) {
  const folder box;
  const std::string path = box / "f";
  const auto keys = texts(0, 2000);
  auto made = filter<counting>::make({.keys = 5000, .fpr = 0.01});
  ASSERT_TRUE(made);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t times = 0; times < i % 4; ++times) made->insert(keys[i]);
  }
  ASSERT_TRUE(made->save(path.c_str()));
  const auto seen = mapped_filter<counting>::open(path);
  ASSERT_TRUE(seen) << error_of(seen);
  std::vector<std::uint64_t> counts(keys.size());
  ASSERT_TRUE(seen->count_batch(keys, counts));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(*seen->count(keys[i]), made->count(keys[i])) << i;
    ASSERT_EQ(counts[i], made->count(keys[i])) << i;
  }
  EXPECT_EQ(seen->count_batch(keys, std::span(counts).first(1)).error().code, errc::bad_span);
}

TEST(MappedFilter, ADamagedChunkIsAnErrorOfTheLookUpsThatTouchIt) {
  const folder box;
  const std::string path = box / "f";
  const auto keys = texts(0, 5000);
  saved_filter<blocked>(path, keys);
  bytes file = read_bytes(path);
  file[file.size() / 2] ^= std::byte{1};
  write_bytes(path, file);
  const auto seen = mapped_filter<blocked>::open(path);
  ASSERT_TRUE(seen);
  std::vector<std::uint64_t> mask(mask_words(keys.size()));
  EXPECT_EQ(seen->may_contain_batch(keys, mask).error().code, errc::chunk_damaged);
  std::size_t damaged = 0;
  for (const std::string& key : keys) {
    const auto answer = seen->may_contain(key);
    if (!answer) ++damaged;
    if (answer) {
      EXPECT_TRUE(*answer) << "never a wrong answer";
    }
  }
  EXPECT_GT(damaged, 0U);
  EXPECT_LT(damaged, keys.size());
  EXPECT_TRUE(mapped_filter<blocked>::open(path, {}, {.trust = true})->may_contain_batch(keys, mask));
}

// A filter that needs 128-bit digests makes them of its keys; a digest that is too short is an error.
TEST(MappedFilter, MakesDigestsAsWideAsTheFilterTakes) {
  const folder box;
  const std::string path = box / "f";
  const auto keys = texts(0, 1000);
  const auto made = saved_filter<bloom>(path, keys, {}, {.keys = 1000, .fpr = 0.01, .takes_digest128 = true});
  const auto seen = mapped_filter<bloom>::open(path);
  ASSERT_TRUE(seen) << error_of(seen);
  ASSERT_EQ(seen->file().header().shape.digest_bits, 128U);
  expect_same_answers(made, *seen, texts(500, 3000));
  EXPECT_EQ(seen->may_contain(prehashed{1}).error().code, errc::unsupported);
  std::array<std::uint64_t, 1> mask{};
  EXPECT_EQ(seen->may_contain_batch(std::array{prehashed{1}}, mask).error().code, errc::unsupported);
}

TEST(MappedFilter, StaticKindsAreQueriedToo) {
  const folder box;
  const auto keys = texts(0, 3000);
  const auto built = filter<fuse>::build(std::span<const std::string>(keys), {.fpr = 0.01});
  ASSERT_TRUE(built);
  ASSERT_TRUE(built->save((box / "f").c_str()));
  const auto seen = mapped_filter<fuse>::open(box / "f");
  ASSERT_TRUE(seen) << error_of(seen);
  expect_same_answers(*built, *seen, texts(1500, 3000));
}

}  // namespace
}  // namespace bloomery::test

// recent_keys: exactly the newest keys, whatever their digests, in the memory that it was provided.
#include <gtest/gtest.h>

#include <array>
#include <bloomery/core/recent_keys.hpp>
#include <deque>
#include <string>

namespace {

using bloomery::errc;
using bloomery::memory_hooks;
using bloomery::mix64;
using bloomery::recent_keys;

struct named_key {
  std::uint64_t digest = 0;
  std::string bytes;
  bool is_digest = false;

  [[nodiscard]] recent_keys::key key() const {
    return {.digest = digest, .bytes = std::as_bytes(std::span(bytes)), .is_digest = is_digest};
  }
  friend bool operator==(const named_key&, const named_key&) = default;
};

// Few digests, so that many keys share one; lengths from 0 to 60, and sometimes the longest.
named_key random_key(std::uint64_t number) {
  const std::uint64_t random = mix64(number);
  const std::uint64_t digest = mix64(random % 500);
  if (random % 7 == 0) return {digest, {}, true};
  const std::size_t length = random % 101 == 1 ? recent_keys::max_key_bytes : random / 1000 % 61;
  std::string bytes(length, static_cast<char>('a' + random / 100'000 % 20));
  if (length > 2) bytes[2] = static_cast<char>(random >> 50U);
  return {digest, bytes, false};
}

std::uint64_t record_bytes(const named_key& key) { return (12 + key.bytes.size() + 7) / 8 * 8; }

TEST(RecentKeys, HoldsExactlyWhatWasAddedLast) {
  recent_keys keys(recent_keys::min_limit_bytes);
  std::deque<named_key> model;
  std::uint64_t erased = 0;
  for (std::uint64_t i = 0; i < 40'000; ++i) {
    const named_key key = random_key(i);
    if (i % 3 == 2) {
      const auto gone = static_cast<std::uint64_t>(
          std::erase_if(model, [&](const named_key& each) { return each.digest == key.digest; }));
      ASSERT_EQ(keys.erase(key.digest), gone);
      erased += gone;
    } else {
      const bool is_new = std::find(model.begin(), model.end(), key) == model.end();
      const auto added = keys.add(key.key());
      ASSERT_TRUE(added);
      ASSERT_EQ(*added, is_new);
      if (is_new) model.push_back(key);
    }
    // What was dropped is the oldest.
    ASSERT_LE(keys.size(), model.size());
    while (model.size() > keys.size()) {
      ASSERT_FALSE(keys.contains(model.front().key()));
      model.pop_front();
    }
    ASSERT_TRUE(model.empty() || keys.contains(model.back().key()));
    if (i % 50 == 0) {
      for (const named_key& each : model) ASSERT_TRUE(keys.contains(each.key()));
      for (std::uint64_t n = 0; n < 50; ++n) {
        const named_key other = random_key(1'000'000 + n);
        ASSERT_EQ(keys.contains(other.key()), std::find(model.begin(), model.end(), other) != model.end());
      }
    }
  }
  EXPECT_GT(keys.dropped(), 1000U);
  EXPECT_GT(erased, 1000U);
  EXPECT_EQ(keys.memory_bytes(), recent_keys::min_limit_bytes);
}

TEST(RecentKeys, KeysOfOneDigestAreToldApart) {
  recent_keys keys(recent_keys::min_limit_bytes);
  const named_key alice{7, "alice", false};
  const named_key bob{7, "bob", false};
  const named_key digest{7, {}, true};
  const named_key nothing{7, {}, false};
  ASSERT_TRUE(keys.add(bob.key()));
  EXPECT_TRUE(keys.contains(bob.key()));
  EXPECT_FALSE(keys.contains(alice.key()));
  EXPECT_FALSE(keys.contains(digest.key()));
  ASSERT_TRUE(keys.add(digest.key()));
  EXPECT_FALSE(keys.contains(nothing.key()));
  EXPECT_EQ(keys.erase(7), 2U);
  EXPECT_EQ(keys.size(), 0U);
}

TEST(RecentKeys, HoldsAsManyAsItSays) {
  for (const auto& [length, most] : {std::pair<std::size_t, std::uint64_t>{20, 196'608}, {44, 100'000}, {8, 196'608}}) {
    recent_keys keys(std::uint64_t{8} << 20U);
    for (std::uint64_t i = 0; i < most + 1000; ++i) {
      std::string bytes(length, '\0');
      std::memcpy(bytes.data(), &i, sizeof(i));
      ASSERT_TRUE(keys.add({.digest = mix64(i), .bytes = std::as_bytes(std::span(bytes))}));
    }
    EXPECT_GE(keys.size(), most) << length;
    EXPECT_EQ(keys.memory_bytes(), std::uint64_t{8} << 20U);
  }
}

TEST(RecentKeys, TheRecordsOfTheNewestFillTheRing) {
  recent_keys keys(recent_keys::min_limit_bytes);
  std::deque<named_key> newest;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const named_key key{i, std::string(40, static_cast<char>(i)), false};
    ASSERT_TRUE(keys.add(key.key()));
    newest.push_back(key);
    bytes += record_bytes(key);
    while (newest.size() > keys.size()) {
      bytes -= record_bytes(newest.front());
      newest.pop_front();
    }
    ASSERT_LE(bytes, recent_keys::min_limit_bytes / 4 * 3);
  }
  EXPECT_GE(bytes, recent_keys::min_limit_bytes / 4 * 3 - record_bytes(newest.front()));
}

TEST(RecentKeys, AKeyThatIsTooLongIsAnErrorAndChangesNothing) {
  recent_keys keys(recent_keys::min_limit_bytes);
  const named_key longest{1, std::string(4096, 'x'), false};
  const named_key longer{1, std::string(4097, 'x'), false};
  EXPECT_TRUE(keys.add(longest.key()));
  const auto refused = keys.add(longer.key());
  ASSERT_FALSE(refused);
  EXPECT_STREQ(bloomery::describe(refused.error()).c_str(),
               "a key of 4097 bytes is too long to be remembered: at most 4096");
  EXPECT_EQ(keys.size(), 1U);
  EXPECT_TRUE(keys.contains(longest.key()));
}

TEST(RecentKeys, TakesMemoryWithTheFirstKeyAndSaysWhenItIsRefused) {
  bool refuses = true;
  const memory_hooks hooks{.allocate = [](void* context, std::size_t size, std::size_t alignment) -> void* {
                             if (*static_cast<bool*>(context)) return nullptr;
                             return bloomery::default_memory().allocate(nullptr, size, alignment);
                           },
                           .release = bloomery::default_memory().release,
                           .context = &refuses};
  recent_keys keys(recent_keys::min_limit_bytes, &hooks);
  const named_key key{1, "key", false};
  EXPECT_EQ(keys.memory_bytes(), 0U);
  EXPECT_FALSE(keys.contains(key.key()));
  EXPECT_EQ(keys.erase(1), 0U);
  keys.clear();
  const auto refused = keys.add(key.key());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::out_of_memory);
  refuses = false;
  ASSERT_TRUE(keys.add(key.key()));
  EXPECT_TRUE(keys.contains(key.key()));
  recent_keys moved(std::move(keys));
  EXPECT_TRUE(moved.contains(key.key()));
  moved.clear();
  EXPECT_FALSE(moved.contains(key.key()));
  EXPECT_EQ(moved.size(), 0U);
}

}  // namespace

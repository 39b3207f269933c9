// Numbers in files of kinds that erase: load checks them against the content, so that no later call makes them impossible.
#include <string>
#include <vector>

#include "support/typed_kinds.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;

std::uint64_t key(std::uint64_t i) { return mix64(i + 1); }

template <class K>
result<K> adopted(const K& filter, const stored_shape& shape) {
  auto buffer = aligned_buffer::make(filter.payload().size(), "a copy");
  EXPECT_TRUE(buffer);
  std::copy(filter.payload().begin(), filter.payload().end(), buffer->bytes().begin());
  return K::adopt(shape, std::move(*buffer));
}
template <class K>
result<K> with_keys(const K& filter, std::uint64_t keys) {
  stored_shape shape = filter.shape();
  shape.keys = keys;
  return adopted(filter, shape);
}
// What a mapped file gives where it is copied to be changed.
template <class K>
bool copy_of_view_is_refused(const K& filter, std::uint64_t keys) {
  stored_shape shape = filter.shape();
  shape.keys = keys;
  const auto view = K::view(shape, filter.payload());
  return !view || !view->clone();
}

template <class K>
class StoredKeys : public testing::Test {
 protected:
  static K made(std::string_view mode) {
    auto filter = K::make({.keys = 100, .fpr = 0.01, .mode = mode});
    EXPECT_TRUE(filter);
    for (std::uint64_t i = 0; i < 60; ++i) filter->insert(key(i));
    for (std::uint64_t i = 0; i < 20; ++i) filter->insert(key(i));
    return std::move(*filter);
  }
};
// Kinds with a mode in which they erase and one in which they do not, and whose bytes are one piece.
struct erases_in_some_modes {
  template <class K>
  static constexpr bool of = erasing_in_some_modes<K>&& contiguous_kind<K>;
};
TYPED_TEST_SUITE(StoredKeys, kinds_with<erases_in_some_modes>, kind_name);

TYPED_TEST(StoredKeys, OfASetAreAsManyAsSlotsInUse) {
  const TypeParam filter = this->made("set");
  const std::uint64_t keys = filter.keys().keys;
  EXPECT_TRUE(with_keys(filter, keys));
  for (const std::uint64_t other : {std::uint64_t{0}, keys - 1, keys + 1, ~std::uint64_t{0}}) {
    EXPECT_FALSE(with_keys(filter, other)) << other;
    EXPECT_TRUE(copy_of_view_is_refused(filter, other)) << other;
  }
  EXPECT_FALSE(copy_of_view_is_refused(filter, keys));
}

TYPED_TEST(StoredKeys, OfAMultisetAreNoMoreThanOccurrencesAndErasesKeepItSo) {
  const TypeParam filter = this->made("multiset");
  constexpr std::uint64_t occurrences = 80;
  EXPECT_FALSE(with_keys(filter, occurrences + 1));
  EXPECT_TRUE(copy_of_view_is_refused(filter, occurrences + 1));
  for (const std::uint64_t keys : {std::uint64_t{0}, filter.keys().keys, occurrences}) {
    auto altered = with_keys(filter, keys);
    ASSERT_TRUE(altered) << keys;
    for (std::uint64_t i = 0; i < 20; ++i) EXPECT_TRUE(altered->erase(key(i)));
    EXPECT_TRUE(adopted(*altered, altered->shape())) << keys;
    for (std::uint64_t i = 0; i < 60; ++i) EXPECT_TRUE(altered->erase(key(i)));
    EXPECT_EQ(altered->keys().keys, 0U) << keys;
    EXPECT_TRUE(adopted(*altered, altered->shape())) << keys;
  }
}

TEST(StoredRemovals, AreNoMoreThanTheBitsThatTheySet) {
  auto filter = dual::make({.keys = 100, .fpr = 0.01});
  ASSERT_TRUE(filter);
  for (std::uint64_t i = 0; i < 60; ++i) filter->insert(key(i));
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_TRUE(filter->erase(key(i)));
  stored_shape shape = filter->shape();
  ASSERT_EQ(shape.field[4], 5U);
  EXPECT_TRUE(adopted(*filter, shape));
  // The next removal would be number 0: as if there were none.
  for (const std::uint64_t removals : {~std::uint64_t{0}, std::uint64_t{1000}, std::uint64_t{0}}) {
    shape.field[4] = removals;
    EXPECT_FALSE(adopted(*filter, shape)) << removals;
    const auto view = dual::view(shape, filter->payload());
    EXPECT_TRUE(!view || !view->clone()) << removals;
  }
}

}  // namespace

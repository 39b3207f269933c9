#include <gtest/gtest.h>

#include <bloomery/core/aligned_list.hpp>
#include <cstdint>

namespace {

using namespace bloomery;

// Counts what is alive.
struct counted {
  static inline int alive = 0;
  int value = 0;
  explicit counted(int from) noexcept : value(from) { ++alive; }
  counted(counted&& other) noexcept : value(other.value) { ++alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  counted& operator=(counted&&) = delete;
  ~counted() { --alive; }
};

void* refuse(void* /*context*/, std::size_t /*size*/, std::size_t /*alignment*/) { return nullptr; }
void release(void* /*context*/, void* /*memory*/, std::size_t /*size*/, std::size_t /*alignment*/) {}

TEST(AlignedList, KeepsItsObjectsInOrderWhileItGrowsAndDestroysEachOnce) {
  {
    aligned_list<counted> list;
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(list.reserve(list.size() + 1, "a test", nullptr));
      list.push(counted(i));
      ASSERT_EQ(counted::alive, i + 1);
    }
    for (int i = 0; i < 100; ++i) ASSERT_EQ(list[static_cast<std::size_t>(i)].value, i);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(list.data()) % cache_line_bytes, 0U);
    list.shrink(40);
    EXPECT_EQ(counted::alive, 40);
    EXPECT_EQ(list.back().value, 39);
    aligned_list<counted> moved = std::move(list);
    EXPECT_EQ(moved.size(), 40U);
    aligned_list<counted> other;
    ASSERT_TRUE(other.reserve(3, "a test", nullptr));
    other.push(counted(7));
    other = std::move(moved);
    EXPECT_EQ(other.size(), 40U);
    EXPECT_EQ(counted::alive, 40);
  }
  EXPECT_EQ(counted::alive, 0);
}

TEST(AlignedList, RefusedMemoryIsAnErrorAndLeavesItAsItWas) {
  const memory_hooks nothing{.allocate = refuse, .release = release};
  aligned_list<counted> list;
  ASSERT_TRUE(list.reserve(2, "a test", nullptr));
  list.push(counted(1));
  list.push(counted(2));
  const auto refused = list.reserve(3, "a list", &nothing);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::out_of_memory);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].value, 1);
  EXPECT_EQ(list[1].value, 2);
  EXPECT_TRUE(list.reserve(2, "a list", &nothing));  // there is space: nothing is requested
}

}  // namespace

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bloomery/core/worker_pool.hpp>
#include <cstdint>

namespace {

using namespace bloomery;

TEST(RunTasks, EveryTaskIsDoneOnceOnAPartThatThereIs) {
  for (const unsigned threads : {0U, 1U, 3U, 8U}) {
    for (const std::uint64_t tasks : {0U, 1U, 2U, 1000U}) {
      std::array<std::atomic<unsigned>, 1000> done{};
      std::atomic<unsigned> strange = 0;
      run_tasks(threads, tasks, [&](std::uint64_t task, unsigned part) {
        done[task].fetch_add(1);
        if (part != 0 && part >= threads) strange.fetch_add(1);
      });
      for (std::uint64_t task = 0; task < done.size(); ++task) ASSERT_EQ(done[task], task < tasks ? 1U : 0U);
      EXPECT_EQ(strange, 0U) << threads;
    }
  }
}

TEST(WorkerTeam, EachHasMemoryOfItsOwnThatBeginsOnALine) {
  auto team = worker_pool::make({.threads = 4, .bytes_each = 100}, nullptr);
  ASSERT_TRUE(team);
  EXPECT_EQ(team->threads(), 4U);
  std::array<std::atomic<unsigned>, 2000> done{};
  std::atomic<unsigned> disturbed = 0;
  for (int run = 0; run < 2; ++run) {
    team->run(done.size(), [&](std::uint64_t task, std::span<std::byte> scratch) {
      const auto mark = static_cast<std::byte>(task);
      for (std::byte& byte : scratch) byte = mark;
      done[task].fetch_add(1);
      for (const std::byte byte : scratch) disturbed += byte == mark ? 0U : 1U;
      if (scratch.size() < 100 || reinterpret_cast<std::uintptr_t>(scratch.data()) % cache_line_bytes != 0) ++disturbed;
    });
  }
  for (const auto& times : done) EXPECT_EQ(times, 2U);
  EXPECT_EQ(disturbed, 0U);
}

// Memory of which no more than so many bytes are provided at once.
struct small_memory {
  std::size_t most = 0;
  static void* allocate(void* context, std::size_t size, std::size_t alignment) noexcept {
    if (size > static_cast<small_memory*>(context)->most) return nullptr;
    return default_memory().allocate(nullptr, size, alignment);
  }
  static void release(void* /*context*/, void* memory, std::size_t size, std::size_t alignment) noexcept {
    default_memory().release(nullptr, memory, size, alignment);
  }
};

TEST(WorkerTeam, WithLittleMemoryAreFewerAndWithTooLittleAnError) {
  small_memory memory;
  const memory_hooks hooks{.allocate = small_memory::allocate, .release = small_memory::release, .context = &memory};
  memory.most = 256;
  const auto two = worker_pool::make({.threads = 8, .bytes_each = 128}, &hooks);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->threads(), 2U);
  memory.most = 127;
  const auto none = worker_pool::make({.threads = 8, .bytes_each = 128}, &hooks);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, errc::out_of_memory);
  EXPECT_EQ(worker_pool::make({.threads = 0, .bytes_each = 0}, nullptr)->threads(), 1U);
  EXPECT_EQ(worker_pool::make({.threads = 100'000, .bytes_each = 0}, nullptr)->threads(), most_threads);
}

}  // namespace

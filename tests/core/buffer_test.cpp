#include <gtest/gtest.h>

#include <bloomery/core/buffer.hpp>
#include <bloomery/core/cpu.hpp>
#include <cstdint>
#include <fstream>
#include <string>

namespace {

using namespace bloomery;

TEST(Buffer, IsZeroedAndAlignedToCacheLines) {
  for (const std::size_t size : {1U, 63U, 64U, 65U, 4096U, 1U << 20U, (2U << 20U) + 1U, 9U << 20U}) {
    auto buffer = aligned_buffer::make(size, "test");
    ASSERT_TRUE(buffer);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % cache_line_bytes, 0U);
    EXPECT_EQ(buffer->size_bytes(), size);
    for (std::size_t i = 0; i < size; i += 997) ASSERT_EQ(buffer->data()[i], std::byte{0});
    buffer->data()[size - 1] = std::byte{1};
  }
}

#ifdef BLOOMERY_HAS_MMAP
TEST(Buffer, LargeOnesStartOnAHugePageAndAskForHugePages) {
  constexpr std::size_t size = std::size_t{64} << 20U;
  auto buffer = aligned_buffer::make(size, "test");
  ASSERT_TRUE(buffer);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % huge_page_bytes, 0U);
#ifdef MADV_HUGEPAGE
  std::ifstream smaps("/proc/self/smaps");
  ASSERT_TRUE(smaps.is_open()) << "where there are huge pages to ask for, this file tells who did";
  char first[32];
  std::snprintf(first, sizeof first, "%lx-", reinterpret_cast<unsigned long>(buffer->data()));
  bool inside = false;
  bool asked = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find('-') != std::string::npos && line.find(' ') != std::string::npos && line.find(':') > 20) {
      inside = line.rfind(first, 0) == 0;
    }
    if (inside && line.rfind("VmFlags:", 0) == 0) asked = line.find(" hg") != std::string::npos;
  }
  EXPECT_TRUE(asked) << "the mapping is not marked for huge pages";
#endif
}
#endif

TEST(Buffer, RefusedMemoryIsAnErrorThatNamesTheBytes) {
  const auto buffer = aligned_buffer::make(std::uint64_t{1} << 61U, "the filter");
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, errc::out_of_memory);
  EXPECT_EQ(buffer.error().number[0], std::uint64_t{1} << 61U);
  EXPECT_FALSE(aligned_buffer::make(~std::uint64_t{0}, "the filter"));
}

// On 32-bit targets the low half of such a size would be a small request.
TEST(Buffer, SizesOfMoreThan32BitsAreNeverCut) {
  struct seen {
    std::uint64_t requests = 0;
    std::uint64_t bytes = 0;
  } memory;
  const memory_hooks refusing{.allocate = [](void* context, std::size_t size, std::size_t) -> void* {
                                auto& all = *static_cast<seen*>(context);
                                ++all.requests;
                                all.bytes = size;
                                return nullptr;
                              },
                              .release = [](void*, void*, std::size_t, std::size_t) {},
                              .context = &memory};
  for (const std::uint64_t size : {(std::uint64_t{1} << 32U) + 1, (std::uint64_t{1} << 32U) + 4096,
                                   (std::uint64_t{1} << 40U) + 64, max_memory_bytes, max_memory_bytes + 1}) {
    memory = {};
    const auto buffer = aligned_buffer::make(size, "the filter", &refusing);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().code, errc::out_of_memory);
    EXPECT_EQ(buffer.error().number[0], size);
    EXPECT_EQ(memory.requests, size <= max_memory_bytes ? 1U : 0U);
    if (memory.requests != 0) {
      EXPECT_EQ(memory.bytes, size);
    }
  }
}

TEST(Buffer, EmptyOnesAllocateNothing) {
  const memory_hooks none{.allocate = [](void*, std::size_t, std::size_t) -> void* { return nullptr; },
                          .release = [](void*, void*, std::size_t, std::size_t) {}};
  EXPECT_TRUE(aligned_buffer::make(0, "test", &none));
  EXPECT_FALSE(aligned_buffer::make(1, "test", &none));
}

TEST(Buffer, HooksSeeEveryAllocationAndRelease) {
  std::size_t live = 0;
  const memory_hooks counting{.allocate =
                                  [](void* context, std::size_t size, std::size_t alignment) {
                                    *static_cast<std::size_t*>(context) += size;
                                    return default_memory().allocate(nullptr, size, alignment);
                                  },
                              .release =
                                  [](void* context, void* memory, std::size_t size, std::size_t alignment) {
                                    *static_cast<std::size_t*>(context) -= size;
                                    default_memory().release(nullptr, memory, size, alignment);
                                  },
                              .context = &live};
  {
    auto a = aligned_buffer::make(100, "test", &counting);
    auto b = a->clone("copy");
    EXPECT_EQ(live, 200U);
    *a = std::move(*b);
    EXPECT_EQ(live, 100U);
  }
  EXPECT_EQ(live, 0U);
}

TEST(Buffer, MovingLeavesAnEmptyBuffer) {
  auto a = aligned_buffer::make(100, "test");
  a->data()[3] = std::byte{7};
  aligned_buffer b = std::move(*a);
  EXPECT_EQ(a->size_bytes(), 0U);
  EXPECT_EQ(b.data()[3], std::byte{7});
  auto copy = b.clone("copy");
  EXPECT_EQ(copy->data()[3], std::byte{7});
}

TEST(Cpu, TheActiveInstructionSetIsOneTheProcessorHas) {
  EXPECT_TRUE(has_isa(active_isa()));
  EXPECT_TRUE(has_isa(isa::scalar));
  const char* wish = std::getenv("BLOOMERY_ISA");
  EXPECT_EQ(active_isa(), choose_isa(wish));
  std::printf("this process uses %s\n", std::string(isa_name(active_isa())).c_str());  // for scripts/check_sets
}

TEST(Cpu, AWishForASetThatTheProcessorHasIsFollowedAndAnyOtherIsNone) {
  for (const isa level : all_isas) {
    EXPECT_EQ(choose_isa(std::string(isa_name(level)).c_str()), has_isa(level) ? level : best_isa()) << isa_name(level);
  }
  for (const char* wish : {"", "none-such", "AVX2", "sse"}) EXPECT_EQ(choose_isa(wish), best_isa()) << wish;
  EXPECT_EQ(choose_isa(nullptr), best_isa());
#if defined(__x86_64__) || defined(__aarch64__)
  EXPECT_NE(has_isa(isa::sse2), has_isa(isa::neon));
#endif
}

#if !defined(__wasi__)  // where no program runs another
// The choice is made once a process, so another process proves that the environment lowers it.
TEST(Cpu, BloomeryIsaInTheEnvironmentMakesTheChoice) {
  for (const char* level : {"scalar", "sse2", "avx2", "avx512", "neon", "none-such"}) {
    const std::string run = "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX BLOOMERY_ISA=" + std::string(level) +
                            " /proc/$PPID/exe --gtest_filter=Cpu.TheActive* | grep -q 'PASSED.*1 test'";
    EXPECT_EQ(std::system(run.c_str()), 0) << level;
  }
}
#endif

}  // namespace

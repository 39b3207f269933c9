// Sizes have 64 bits up to the allocation: a filter of more than 4 GiB is refused where memory is smaller, and never made
// with less.
#include "support.hpp"

namespace bloomery::test {
namespace {

class LargerThanMemory : public KindTest {};

TEST_P(LargerThanMemory, IsRefusedWithItsSizeAndNeverCut) {
  struct limited {
    static void* allocate(void* /*context*/, std::size_t size, std::size_t alignment) {
      return size > std::size_t{1} << 26U ? nullptr : default_memory().allocate(nullptr, size, alignment);
    }
  };
  memory_hooks hooks = default_memory();
  hooks.allocate = limited::allocate;
  // Steps that are no powers of two: what is left of a size that is cut is then not 0.
  for (std::uint64_t keys = 4'000'000'000; keys < 1'000'000'000'000; keys = keys * 3 + 1'000'003) {
    const filter_params params{.keys = keys, .fpr = 0.01, .memory = &hooks};
    const auto plan = any_filter::plan(GetParam().info->name, params);
    ASSERT_TRUE(plan) << describe(plan.error()).c_str();
    if (plan->memory_bytes <= std::uint64_t{1} << 32U) continue;
    const auto made = any_filter::make(GetParam().info->name, params, hasher::of(xxh3{}));
    ASSERT_FALSE(made) << keys;
    if (made.error().code == errc::not_enough_hash_bits || made.error().code == errc::layout_too_large) continue;
    ASSERT_EQ(made.error().code, errc::out_of_memory) << describe(made.error()).c_str();
    ASSERT_GT(made.error().number[0], std::uint64_t{1} << 32U);
  }
}
BLOOMERY_FOR_KINDS(LargerThanMemory, kinds_where([](const kind_case& kind) {
                     return kind.is_dynamic() && !kind.info->grows && !kind.info->integer_keys;
                   }));

}  // namespace
}  // namespace bloomery::test

// Saving and loading take no second copy of a filter: memory is counted as it is requested, by the memory hooks and by operator
// new. The codecs' own memory is not, and packed files take the payload as a whole (native/save.hpp, native/load.hpp).
#include "suites/heap.hpp"
#include "support/filters.hpp"

namespace bloomery::test {
namespace {

class Pieces : public KindTest {};
BLOOMERY_FOR_KINDS(Pieces, kind_table());

constexpr std::int64_t scratch_bytes = 96 << 10;

any_filter large_sample(const kind_case& kind) {
  auto filter = sample(kind, 300'000);
  EXPECT_GT(saved_bytes(filter).size(), 2 * scratch_bytes) << "too small to tell a copy from scratch memory";
  return filter;
}

TEST_P(Pieces, SavingTakesLittleMemory) {
  const auto filter = large_sample(GetParam());
  const folder box;
  const std::string path = box / "filter";
  for (const bool text : {false, true}) {
    heap_watch memory;
    std::uint64_t saved = 0;
    auto count = [&](std::span<const std::byte> bytes) -> result<void> {
      saved += bytes.size();
      return {};
    };
    ASSERT_TRUE(
        memory.watch([&] { return filter.save_to(byte_sink(count), {.text = text, .memory = &memory.hooks}); }));
    EXPECT_LE(memory.most_bytes, scratch_bytes) << "text " << text;
    EXPECT_GT(saved, 2U * scratch_bytes);
    ASSERT_TRUE(memory.watch(
        [&] { return filter.save(path.c_str(), {.replace = true, .text = text, .memory = &memory.hooks}); }));
    EXPECT_LE(memory.most_bytes, scratch_bytes) << "text " << text;
  }
}

TEST_P(Pieces, LoadingTakesLittleMemoryBesideTheFilter) {
  const auto filter = large_sample(GetParam());
  const folder box;
  const std::string path = box / "filter";
  ASSERT_TRUE(filter.save(path.c_str()));
  const auto expect_little = [&](const char* what, auto&& load) {
    heap_watch memory;
    const auto loaded = memory.watch([&] { return load(load_options{.memory = &memory.hooks}); });
    ASSERT_TRUE(loaded) << describe(loaded.error()).c_str();
    EXPECT_LE(memory.most_bytes - memory.live_bytes, scratch_bytes) << what;
    EXPECT_GE(memory.live_bytes, scratch_bytes) << what;
    EXPECT_TRUE(*loaded == filter) << what;
  };
  expect_little("a file", [&](const load_options& how) { return any_filter::load(path.c_str(), how); });
  for (const bool text : {false, true}) {
    const bytes file = saved_bytes(filter, {.text = text});
    expect_little(text ? "a text in memory" : "a file in memory",
                  [&](const load_options& how) { return any_filter::load_bytes(file, how); });
  }
}

}  // namespace
}  // namespace bloomery::test

// Memory that is refused: of every change of a filter, each request in turn. What reports an error has changed nothing: the
// filter has the same bytes and the same numbers as before, and does what was requested when there is memory again.
#include <bloomery/wrappers/any_shards.hpp>

#include "suites/heap.hpp"
#include "support/filters.hpp"

namespace bloomery::test {
namespace {

class RefusedInsert : public KindTest {};
BLOOMERY_FOR_KINDS(RefusedInsert, kinds_where(&kind_case::is_dynamic));

class RefusedErase : public KindTest {};
BLOOMERY_FOR_KINDS(RefusedErase, kinds_where(&kind_case::erases));

class RefusedMerge : public KindTest {};
BLOOMERY_FOR_KINDS(RefusedMerge, kinds_where(&kind_case::merges));

class RefusedIntersection : public KindTest {};
BLOOMERY_FOR_KINDS(RefusedIntersection, kinds_where(&kind_case::intersects));

class RefusedFold : public KindTest {};
BLOOMERY_FOR_KINDS(RefusedFold, kinds_where(&kind_case::folds));

// Filters as they are made, and as files give them back; in one piece and in shards.
struct making {
  const kind_case& kind;
  bool loaded;
  unsigned shards;
};

key_list some_keys(const kind_case& kind, std::uint64_t first, std::uint64_t end) {
  key_list keys;
  for (std::uint64_t i = first; i < end; ++i) {
    // Integers: runs, bits and arrays.
    keys.push_back(!kind.info->integer_keys ? sample_digest(i)
                   : i % 3 == 0             ? i / 3
                   : i % 3 == 1             ? 100'000 + i * 7
                                            : i << 20U);
  }
  return keys;
}

any_filter filled(const making& how, const memory_hooks* memory, std::span<const std::uint64_t> keys,
                  std::uint64_t capacity) {
  const filter_params params{.keys = capacity, .fpr = 0.02, .memory = memory};
  auto made = how.shards == 0
                  ? any_filter::make(how.kind.info->name, params, hash_of(how.kind))
                  : make_shards(how.kind.info->name, params, hash_of(how.kind), {.shards = how.shards, .threads = 1});
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  insert_all(*made, keys);
  if (!how.loaded) return std::move(*made);
  auto again = any_filter::load_bytes(saved_bytes(*made), {.memory = memory});
  if (!again) {
    ADD_FAILURE() << describe(again.error()).c_str();
    std::abort();
  }
  return std::move(*again);
}

struct state {
  std::vector<bytes> saved;
  std::vector<stored_shape> shapes;

  friend bool operator==(const state& a, const state& b) {
    return a.saved == b.saved &&
           std::equal(a.shapes.begin(), a.shapes.end(), b.shapes.begin(), b.shapes.end(), same_shape);
  }
};
state state_of(const any_filter& filter) {
  state now;
  if (filter.shards() == 0) {
    now.saved.push_back(saved_bytes(filter));
    now.shapes.push_back(filter.shape());
  }
  for (unsigned i = 0; i < filter.shards(); ++i) {
    now.saved.push_back(saved_bytes(filter.shard(i)));
    now.shapes.push_back(filter.shard(i).shape());
  }
  return now;
}

// `change` returns a result. How often it was refused before it was done.
template <class Change>
std::uint64_t expect_all_or_nothing(heap_watch& memory, any_filter& filter, const char* what, Change&& change) {
  const state before = state_of(filter);
  for (std::uint64_t n = 0;; ++n) {
    memory.refuse_at = n;
    const auto done = memory.watch([&] { return change(filter); });
    memory.refuse_at = heap_watch::never;
    if (done) return n;
    EXPECT_TRUE(state_of(filter) == before) << what << ", request " << n;
    EXPECT_EQ(done.error().code, errc::out_of_memory) << what << ", request " << n;
    if (testing::Test::HasFailure() || n > 2000) {
      ADD_FAILURE() << what << " is never done";
      return n;
    }
  }
}

std::vector<making> makings(const kind_case& kind) { return {{kind, false, 0}, {kind, true, 0}, {kind, false, 2}}; }

TEST_P(RefusedMerge, ChangesNothing) {
  enable_everything();
  for (const making& how : makings(GetParam())) {
    heap_watch memory;
    const auto theirs = filled({GetParam(), false, how.shards}, nullptr, some_keys(GetParam(), 800, 2600), 3000);
    auto filter = filled(how, &memory.hooks, some_keys(GetParam(), 0, 1500), 3000);
    expect_all_or_nothing(memory, filter, "merge",
                          [&](any_filter& each) { return each.merge(theirs, merge_fpr::any); });
    EXPECT_EQ(count_missing(filter, some_keys(GetParam(), GetParam().expires ? 1500 : 0, 2600)), 0U);
  }
}

TEST_P(RefusedIntersection, ChangesNothing) {
  enable_everything();
  for (const making& how : makings(GetParam())) {
    heap_watch memory;
    const auto theirs = filled({GetParam(), false, how.shards}, nullptr, some_keys(GetParam(), 800, 2600), 3000);
    auto filter = filled(how, &memory.hooks, some_keys(GetParam(), 0, 1500), 3000);
    expect_all_or_nothing(memory, filter, "intersect", [&](any_filter& each) { return each.intersect(theirs); });
    EXPECT_EQ(count_missing(filter, some_keys(GetParam(), 800, 1500)), 0U);
  }
}

TEST_P(RefusedFold, ChangesNothing) {
  for (const making& how : makings(GetParam())) {
    heap_watch memory;
    auto filter = filled(how, &memory.hooks, some_keys(GetParam(), 0, 1500), 3000);
    const std::uint64_t refused =
        expect_all_or_nothing(memory, filter, "fold", [](any_filter& each) { return each.fold(1); });
    EXPECT_GT(refused, 0U);
  }
}

TEST_P(RefusedInsert, ChangesNothing) {
  enable_everything();
  for (const making& how : makings(GetParam())) {
    heap_watch memory;
    auto filter = filled(how, &memory.hooks, some_keys(GetParam(), 0, 500), how.kind.info->grows ? 100 : 3000);
    for (const std::uint64_t key : some_keys(GetParam(), 500, 560)) {
      const bool was_there = contains(filter, key);
      const state before = state_of(filter);
      for (std::uint64_t n = 0;; ++n) {
        memory.refuse_at = n;
        const auto outcome = memory.watch([&] { return filter.insert(prehashed{key}); });
        memory.refuse_at = heap_watch::never;
        ASSERT_TRUE(outcome);
        if (*outcome != insert_result::full) {
          ASSERT_EQ(*outcome, was_there ? insert_result::present : insert_result::inserted);
          break;
        }
        ASSERT_TRUE(state_of(filter) == before) << n;
        ASSERT_LT(n, 100U);
      }
      ASSERT_TRUE(contains(filter, key));
    }
  }
}

TEST_P(RefusedErase, ChangesNothing) {
  enable_everything();
  for (const making& how : makings(GetParam())) {
    heap_watch memory;
    auto filter = filled(how, &memory.hooks, some_keys(GetParam(), 0, 1500), 3000);
    for (const std::uint64_t key : some_keys(GetParam(), 1300, 1360)) {
      expect_all_or_nothing(memory, filter, "erase", [&](any_filter& each) { return each.erase(prehashed{key}); });
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(count_missing(filter, some_keys(GetParam(), 0, 1300)), 0U);
  }
}

}  // namespace
}  // namespace bloomery::test

// The concurrent contract of kinds/concurrent.hpp, for every kind that claims it. Run under TSan as well.
#include <atomic>
#include <bloomery/kinds/concurrent.hpp>
#include <thread>

#include "support/typed_kinds.hpp"

namespace bloomery::test {
namespace {

template <class K>
class Concurrent : public testing::Test {};
TYPED_TEST_SUITE(Concurrent, kinds_with<has_concurrent_writers>, kind_name);

constexpr unsigned thread_count = 4;

template <class F>
void on_threads(F&& f) {
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < thread_count; ++id) threads.emplace_back([&f, id] { f(id); });
  for (auto& thread : threads) thread.join();
}

TYPED_TEST(Concurrent, NoInsertIsLostAndTheBitsAreThoseOfOneThread) {
  constexpr std::uint64_t keys = 40'000;
  auto shared = make_filter<TypeParam>(keys);
  auto alone = make_filter<TypeParam>(keys);
  digest_source source(1);
  const auto digests = source.take(keys);
  alone.add_batch(digests);
  on_threads([&](unsigned id) {
    concurrent_writer writer(shared);
    for (std::size_t i = id; i < digests.size(); i += thread_count) {
      writer.insert(digests[i]);
      ASSERT_TRUE(writer.may_contain(digests[i])) << "a thread sees its own inserts";
    }
  });
  EXPECT_TRUE(shared == alone);
  EXPECT_NEAR(static_cast<double>(shared.keys().keys), static_cast<double>(alone.keys().keys), keys * 0.001);
}

TYPED_TEST(Concurrent, OfTwoThreadsWithTheSameNewKeyAtLeastOneGetsInserted) {
  constexpr std::uint64_t keys = 5000;
  // Far below capacity, so that no key is a false positive of the others.
  auto filter = make_filter<TypeParam>(keys * 20, 1e-4);
  digest_source source(2);
  const auto digests = source.take(keys);
  std::vector<std::atomic<unsigned>> reported(keys);
  std::atomic<unsigned> ready{0};
  on_threads([&](unsigned /*id*/) {
    concurrent_writer writer(filter);
    ++ready;
    while (ready < thread_count) {
    }
    for (std::size_t i = 0; i < digests.size(); ++i) {
      if (writer.insert(digests[i]) == insert_result::inserted) reported[i].fetch_add(1);
    }
  });
  for (std::size_t i = 0; i < digests.size(); ++i) {
    EXPECT_GE(reported[i].load(), 1U) << i;
    EXPECT_LE(reported[i].load(), thread_count) << i;
  }
  EXPECT_GE(filter.keys().keys, keys);
}

TYPED_TEST(Concurrent, ReadersBesideWritersSeeWhatWasPublishedToThem) {
  constexpr std::uint64_t keys = 20'000;
  auto filter = make_filter<TypeParam>(keys);
  digest_source source(3);
  const auto digests = source.take(keys);
  std::atomic<std::size_t> published{0};
  std::atomic<std::uint64_t> missing{0};
  std::thread writer_thread([&] {
    concurrent_writer writer(filter);
    for (std::size_t i = 0; i < digests.size(); ++i) {
      writer.insert(digests[i]);
      published.store(i + 1, std::memory_order_release);
    }
  });
  std::thread reader_thread([&] {
    const concurrent_writer reader(filter);
    for (std::size_t seen = 0; seen < digests.size();) {
      const std::size_t until = published.load(std::memory_order_acquire);
      for (; seen < until; ++seen) missing += reader.may_contain(digests[seen]) ? 0U : 1U;
    }
  });
  writer_thread.join();
  reader_thread.join();
  EXPECT_EQ(missing.load(), 0U);
}

TYPED_TEST(Concurrent, BatchesOfManyWritersAddUp) {
  auto filter = make_filter<TypeParam>(40'000);
  on_threads([&](unsigned id) {
    digest_source source(100 + id);
    concurrent_writer writer(filter);
    writer.add_batch(source.take(10'000));
  });
  EXPECT_NEAR(static_cast<double>(filter.keys().keys), 40'000.0, 400.0);
  EXPECT_NEAR(filter.estimated_keys(), 40'000.0, 400.0);
}

}  // namespace
}  // namespace bloomery::test

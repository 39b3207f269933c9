// Kind scalable: the work of a call is bounded by what is there, whatever a file claims. Counted, not timed.
#include "kinds/scalable_support.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;

// Sub-filters of kind blocked that count how often one is sized.
struct counted_blocked : blocked {
  static inline std::uint64_t sized = 0;
  explicit counted_blocked(blocked from) noexcept : blocked(std::move(from)) {}
  static result<size_plan> plan(const size_request& request, std::string_view layout) noexcept {
    ++sized;
    return blocked::plan(request, layout);
  }
  static result<counted_blocked> make(const filter_params& params) noexcept {
    sized += params.bits ? 0 : 1;
    auto made = blocked::make(params);
    if (!made) return fail(made.error());
    return counted_blocked(std::move(*made));
  }
  [[nodiscard]] result<counted_blocked> clone() const noexcept {
    auto copy = blocked::clone();
    if (!copy) return fail(copy.error());
    return counted_blocked(std::move(*copy));
  }
};
struct counted_sub_filters : blocked_sub_filters {
  using sub_filter = counted_blocked;
};

chain<counted_sub_filters> counted_chain(std::uint64_t first_keys, double fpr) {
  counted_blocked::sized = 0;
  auto made = chain<counted_sub_filters>::make({.first_keys = first_keys, .growth = 1, .fpr = fpr});
  EXPECT_TRUE(made);
  return std::move(*made);
}

TEST(ScalableWork, SmallLinksThatDoNotGrowAreSizedAFewTimes) {
  for (const std::uint64_t first_keys : {1U, 5U}) {
    chain<counted_sub_filters> sub_filters = counted_chain(first_keys, 0.01);
    digest_source source(1);
    for (const std::uint64_t digest : source.take(1000)) sub_filters.insert(digest);
    EXPECT_GE(sub_filters.sub_filters().size(), 1000 / first_keys - 5);
    EXPECT_LE(counted_blocked::sized, 10U);
    // And each has the bits that it would have by itself.
    for (std::size_t i = 0; i < sub_filters.sub_filters().size(); i += 97) {
      const auto plan = blocked::plan({.keys = first_keys, .fpr = sub_filters.rate_of(i)}, "split64");
      ASSERT_TRUE(plan);
      EXPECT_EQ(sub_filters.sub_filters()[i].filter.payload().size() * 8, plan->bits) << i;
      EXPECT_EQ(sub_filters.sub_filters()[i].filter.hashes(), plan->hashes) << i;
    }
  }
}

TEST(ScalableWork, AChainThatCanGrowNoFurtherIsNotSizedAgain) {
  chain<counted_sub_filters> sub_filters =
      counted_chain(1, 1e-11);  // a third sub-filter would need a rate below what any has
  digest_source source(2);
  const auto digests = source.take(200);
  std::uint64_t refused = 0;
  for (const std::uint64_t digest : digests) refused += sub_filters.insert(digest) == insert_result::full ? 1U : 0U;
  EXPECT_GT(refused, 100U);
  EXPECT_LE(counted_blocked::sized, 5U);
  sub_filters.clear();
  EXPECT_EQ(sub_filters.insert(digests[0]), insert_result::inserted);
  EXPECT_EQ(sub_filters.insert(digests[1]), insert_result::inserted) << "a chain that was cleared grows again";
}

// Counts what is requested.
struct counted_memory {
  std::uint64_t bytes = 0;
  memory_hooks hooks{.allocate = allocate, .release = release, .context = this};

  static void* allocate(void* context, std::size_t size, std::size_t alignment) {
    static_cast<counted_memory*>(context)->bytes += size;
    return default_memory().allocate(nullptr, size, alignment);
  }
  static void release(void* /*context*/, void* memory, std::size_t size, std::size_t alignment) {
    default_memory().release(nullptr, memory, size, alignment);
  }
};

// What loads holds no more keys than its bits are for, and a few keys more take little.
void expect_bounded(const stored_shape& shape, std::span<const std::byte> bytes) {
  counted_memory memory;
  auto payload = aligned_buffer::make(bytes.size(), "a test", &memory.hooks);
  ASSERT_TRUE(payload);
  std::copy(bytes.begin(), bytes.end(), payload->bytes().begin());
  auto loaded = scalable::adopt(shape, std::move(*payload));
  if (!loaded) return;
  memory.bytes = 0;
  std::uint64_t most_bytes = 4096;
  std::uint64_t probes = 0;
  for (std::size_t i = 0; i < loaded->sub_filters(); ++i) {
    const auto size = static_cast<double>(loaded->sub_filter_bytes(i).size());
    EXPECT_LE(static_cast<double>(loaded->sub_filter_capacity(i)) * -std::log2(loaded->sub_filter_fpr(i)), 16 * size);
    probes += loaded->sub_filter_hashes(i);
    most_bytes += loaded->sub_filter_bytes(i).size();
  }
  EXPECT_LE(probes, 1024 * redis_sub_filter::max_hashes);
  for (std::uint64_t i = 0; i < 8; ++i) loaded->insert(digest128{mix64(3000 + i), mix64(4000 + i)});
  // At most growth times the capacity of the newest, at up to 4,096 bits a key.
  EXPECT_LE(memory.bytes, loaded->growth() * 512 * most_bytes);
  EXPECT_LE(loaded->sub_filters(), shape.field[4] + 8);
}

TEST(ScalableWork, EveryFlippedBitOfASmallFileIsRefusedOrHarmless) {
  for (const std::string_view layout : {"split64", "redis"}) {
    SCOPED_TRACE(layout);
    scalable filter = make_scalable({.keys = 10, .fpr = 0.01, .layout = layout});
    for (std::uint64_t i = 0; filter.sub_filters() < 3; ++i) filter.insert(digest128{mix64(2 * i), mix64(2 * i + 1)});
    const stored_shape shape = filter.shape();
    std::vector<std::byte> bytes(filter.serialized_bytes());
    ASSERT_TRUE(filter.serialize(bytes));
    for (unsigned bit = 0; bit < 64; ++bit) {
      const std::uint64_t flip = std::uint64_t{1} << bit;
      for (std::size_t field = 0; field < shape.field.size(); ++field) {
        SCOPED_TRACE(field);
        stored_shape changed = shape;
        changed.field[field] ^= flip;
        expect_bounded(changed, bytes);
      }
      stored_shape changed = shape;
      changed.capacity_keys ^= flip;
      expect_bounded(changed, bytes);
      changed = shape;
      changed.fpr = std::bit_cast<double>(std::bit_cast<std::uint64_t>(shape.fpr) ^ flip);
      expect_bounded(changed, bytes);
    }
    for (std::size_t bit = 0; bit < filter.sub_filters() * chain<redis_sub_filters>::record_bytes * 8; ++bit) {
      std::vector<std::byte> changed = bytes;
      changed[bit / 8] ^= std::byte{1} << (bit % 8);
      stored_shape with = shape;
      for (const bool exact : {true, false}) {
        with.keys_exact = exact;
        expect_bounded(with, changed);
      }
    }
  }
}

TEST(ScalableWork, ACapacityThatTheBitsCannotHoldIsRefused) {
  for (const std::string_view layout : {"split64", "redis"}) {
    SCOPED_TRACE(layout);
    scalable filter = make_scalable({.keys = 1000, .fpr = 0.01, .layout = layout});
    std::vector<std::byte> bytes(filter.serialized_bytes());
    ASSERT_TRUE(filter.serialize(bytes));
    stored_shape shape = filter.shape();
    EXPECT_TRUE(scalable::view(shape, bytes));
    shape.field[3] = 1'000'000;
    const auto refused = scalable::view(shape, bytes);
    ASSERT_FALSE(refused);
    EXPECT_EQ(
        describe(refused.error()).view().find("capacity of a sub-filter has value 1000000") != std::string_view::npos,
        true)
        << describe(refused.error()).view();
  }
}

}  // namespace

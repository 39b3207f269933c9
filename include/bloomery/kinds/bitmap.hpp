// kinds/bitmap.hpp: the exact neighbour: a compressed bitmap of integer keys.
//
// What it is    a Roaring bitmap over 64-bit integers. The digest is the integer itself (hash `identity`), so there are
//               no false positives and no false negatives, and keys can be erased.
// Use it when   keys are integers and dense: from one key in about 10 of their range on, it is smaller than a Bloom
//               filter at 1 % and exact besides. From 1 bit per key (a full range) over 16 (sparser than 1 in 16) to
//               80 or more (scattered over 64 bits); `bloomery plan` prints the crossover for n and p.
// Use instead   `blocked` or `bloom` for sparse integers, or for any other keys.
// Deletes       yes: erase returns whether the key was there. Merges: union and intersection of any two.
//
// Bytes         the portable 64-bit Roaring serialisation, in its smallest form: the same set gives the same bytes.
// Paper         D. Lemire, O. Kaser, et al., "Roaring bitmaps: implementation of an optimized software library", 2018.
// Linking       the engine is compiled (bloomery::bitmap). Call enable_bitmap() once; without it, make and load return
//               an error that states it.
// Threads       any number of readers, or one writer. Nothing here is atomic.
// Memory        the engine uses operator new: memory hooks do not see it. Where memory is refused, the set is as it was:
//               insert returns `full`, merge and intersect an error. An erase may need memory, too: `erase` returns
//               false then, and `try_erase` an error.
//
//     bloomery::enable_bitmap();
//     auto set = bloomery::bitmap::make({});
//     set->insert(42);
//     bool there = set->may_contain(42);   // true, and it is exact
#pragma once

#include <atomic>
#include <bloomery/kinds/explain.hpp>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {

// The door to the compiled engine: a table of functions over an opaque set.
struct bitmap_engine {
  enum class erased : std::uint8_t { absent, erased, refused };  // refused: memory was; the key may still be there
  void* (*create)() noexcept;                                    // nullptr when memory is refused, as below
  void (*destroy)(void*) noexcept;
  void* (*clone)(const void*) noexcept;
  insert_result (*insert)(void*, std::uint64_t) noexcept;  // full: memory was refused
  erased (*erase)(void*, std::uint64_t) noexcept;
  bool (*contains)(const void*, std::uint64_t) noexcept;
  void (*clear)(void*) noexcept;
  bool (*unite)(void*, const void*) noexcept;  // false: memory was refused, and the set is as it was; as below
  bool (*intersect)(void*, const void*) noexcept;
  bool (*equal)(const void*, const void*) noexcept;
  std::uint64_t (*cardinality)(const void*) noexcept;
  std::uint64_t (*range)(const void*) noexcept;  // largest - smallest, 0 when empty
  std::uint64_t (*memory_bytes)(const void*) noexcept;
  std::uint64_t (*serialized_bytes)(const void*) noexcept;  // in the smallest form
  result<void> (*serialize)(const void*, const byte_sink&) noexcept;
  result<void*> (*deserialize)(const byte_feed&) noexcept;  // validates everything
};

namespace detail {
BLOOMERY_API std::atomic<const bitmap_engine*>& bitmap_engine_slot() noexcept;
}  // namespace detail

// Defined in bloomery::bitmap.
BLOOMERY_API void enable_bitmap() noexcept;

class BLOOMERY_API bitmap {
 public:
  static constexpr kind_info info{
      .id = 3,
      .name = "bitmap",
      .summary = "exact compressed bitmap for 64-bit integer keys: erases, no false positives",
      .lines = "2-3",
      .exact = true,
      .grows = true,
      .integer_keys = true};

  // What n keys take when at least one in 16 integers of their range is a key: 16 bits each at most. FPRs do not
  // matter.
  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept;
  static result<bitmap> make(const filter_params& params) noexcept;
  [[nodiscard]] result<bitmap> clone() const noexcept;

  insert_result insert(std::uint64_t key) noexcept { return engine_->insert(set_, key); }
  // As insert, without its answer. False: the filter is full and does not hold it.
  bool add(std::uint64_t key) noexcept { return insert(key) != insert_result::full; }
  [[nodiscard]] bool may_contain(std::uint64_t key) const noexcept { return engine_->contains(set_, key); }
  // What a look-up reads and decides: see kinds/explain.hpp.
  [[nodiscard]] explanation explain(std::uint64_t key) const noexcept;
  bool erase(std::uint64_t key) noexcept { return engine_->erase(set_, key) == bitmap_engine::erased::erased; }
  // Whether the key was there; an error when memory was refused, and the key is there still.
  result<bool> try_erase(std::uint64_t key) noexcept {
    const auto outcome = engine_->erase(set_, key);
    if (outcome == bitmap_engine::erased::refused) return fail(errc::out_of_memory, "the bitmap", {memory_bytes()});
    return outcome == bitmap_engine::erased::erased;
  }
  // A set holds a key once, however often it was inserted.
  [[nodiscard]] std::uint64_t count(std::uint64_t key) const noexcept { return may_contain(key) ? 1 : 0; }
  std::uint64_t add_batch(std::span<const std::uint64_t> keys) noexcept { return add_until_full(keys).inserted; }
  // Stops at the first key that memory is refused for.
  batch_outcome add_until_full(std::span<const std::uint64_t> keys) noexcept;
  void may_contain_batch(std::span<const std::uint64_t> keys, std::span<std::uint64_t> mask) const noexcept;

  result<void> merge(const bitmap& other) noexcept {
    if (engine_->unite(set_, other.set_)) return {};
    return fail(errc::out_of_memory, "the union", {other.memory_bytes()});
  }
  result<void> intersect(const bitmap& other) noexcept {
    if (engine_->intersect(set_, other.set_)) return {};
    return fail(errc::out_of_memory, "the intersection", {memory_bytes()});
  }
  void clear() noexcept { engine_->clear(set_); }
  friend bool operator==(const bitmap& a, const bitmap& b) noexcept { return a.engine_->equal(a.set_, b.set_); }

  [[nodiscard]] key_count keys() const noexcept { return {engine_->cardinality(set_), true}; }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return max_keys; }
  [[nodiscard]] double target_fpr() const noexcept { return 0; }
  [[nodiscard]] double fill() const noexcept;  // keys / (largest - smallest + 1)
  [[nodiscard]] double estimated_keys() const noexcept { return static_cast<double>(keys().keys); }
  [[nodiscard]] double fpr_now() const noexcept { return 0; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return engine_->memory_bytes(set_); }
  [[nodiscard]] fact_list facts() const noexcept;

  // The native file: see kinds/concept.hpp.
  [[nodiscard]] stored_shape shape() const noexcept { return {.capacity_keys = max_keys, .keys = keys().keys}; }
  [[nodiscard]] std::uint64_t serialized_bytes() const noexcept { return engine_->serialized_bytes(set_); }
  [[nodiscard]] result<void> serialize(const byte_sink& sink) const noexcept { return engine_->serialize(set_, sink); }
  [[nodiscard]] result<void> serialize(std::span<std::byte> out) const noexcept { return serialize_into(*this, out); }
  static result<bitmap> deserialize(const stored_shape& shape, const byte_feed& bytes,
                                    const memory_hooks* hooks = nullptr) noexcept;
  static result<bitmap> deserialize(const stored_shape& shape, std::span<const std::byte> bytes) noexcept {
    memory_pull pull(bytes);
    return deserialize(shape, byte_feed(pull, bytes.size()));
  }

  bitmap(bitmap&& other) noexcept : engine_(other.engine_), set_(std::exchange(other.set_, nullptr)) {}
  bitmap& operator=(bitmap&& other) noexcept {
    std::swap(engine_, other.engine_);
    std::swap(set_, other.set_);
    return *this;
  }
  bitmap(const bitmap&) = delete;
  bitmap& operator=(const bitmap&) = delete;
  ~bitmap() {
    if (set_ != nullptr) engine_->destroy(set_);
  }

 private:
  bitmap(const bitmap_engine* engine, void* set) noexcept : engine_(engine), set_(set) {}
  static const bitmap_engine* engine() noexcept { return detail::bitmap_engine_slot().load(std::memory_order_acquire); }

  const bitmap_engine* engine_;
  void* set_;
};

static_assert(serializable<bitmap> && mergeable<bitmap> && erasable<bitmap> && countable<bitmap> &&
              bounded_kind<bitmap>);

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/bitmap.cpp>
#endif

// kinds/ribbon_keys.hpp: the keys of a ribbon filter that is being built: hashed for a layer, sorted, and given back.
//
// All of it happens in the caller's digests, by bijections and exchanges: whatever becomes of the building, afterwards they
// are the same digests in another order. Beside them each thread has a few megabytes.
#pragma once

#include <algorithm>
#include <atomic>
#include <bloomery/core/buffer.hpp>
#include <bloomery/core/threads.hpp>
#include <bloomery/kernels/ribbon.hpp>
#include <cstdint>
#include <span>

namespace bloomery::detail {

// Threads that take one task after the other, each with memory of its own.
class ribbon_workers {
 public:
  static result<ribbon_workers> make(std::uint64_t threads, std::uint64_t bytes_each,
                                     const memory_hooks* memory) noexcept {
    ribbon_workers made;
    made.threads_ = static_cast<unsigned>(std::clamp<std::uint64_t>(threads, 1, most_threads));
    made.bytes_each_ = (bytes_each + 63) / 64 * 64;
    auto buffer = aligned_buffer::make(made.threads_ * made.bytes_each_, "building the filter", memory);
    if (!buffer) return fail(buffer.error());
    made.buffer_ = std::move(*buffer);
    return made;
  }
  [[nodiscard]] std::uint64_t bytes_each() const noexcept { return bytes_each_; }
  [[nodiscard]] const memory_hooks* memory() const noexcept { return buffer_.hooks(); }

  // Calls work(task, memory) for the tasks from 0 on, in any order and at the same time.
  template <class Work>
  void run(std::uint64_t tasks, Work&& work) noexcept {
    std::atomic<std::uint64_t> next = 0;
    const auto parts = static_cast<unsigned>(std::min<std::uint64_t>(threads_, tasks));
    run_on_threads(parts, [&](unsigned part) {
      const auto scratch = buffer_.bytes().subspan(part * bytes_each_, bytes_each_);
      for (std::uint64_t task = next.fetch_add(1, std::memory_order_relaxed); task < tasks;
           task = next.fetch_add(1, std::memory_order_relaxed)) {
        work(task, scratch);
      }
    });
  }

 private:
  ribbon_workers() noexcept = default;
  aligned_buffer buffer_;
  std::uint64_t bytes_each_ = 0;
  unsigned threads_ = 1;
};

// Sorts numbers that are spread evenly over all that 64 bits can hold; others, too, but slower.
class ribbon_sort {
 public:
  static constexpr std::uint64_t part_keys = std::uint64_t{1} << 17U;  // about as many are sorted in the caches

  static result<void> run(std::span<std::uint64_t> keys, ribbon_workers& workers) noexcept {
    const std::uint64_t parts = keys.size() / part_keys + 1;
    auto buffer = aligned_buffer::make((2 * parts + 1) * 8, "building the filter", workers.memory());
    if (!buffer) return fail(buffer.error());
    auto* begins = reinterpret_cast<std::uint64_t*>(buffer->data());
    begins[parts] = keys.size();
    if (parts > 1) divide(keys, {begins, parts + 1}, begins + parts + 1);
    workers.run(parts, [&](std::uint64_t part, std::span<std::byte> scratch) {
      sort_part(keys.subspan(begins[part], begins[part + 1] - begins[part]), part * cells, parts * cells, scratch);
    });
    return {};
  }

 private:
  static constexpr std::uint64_t cells = std::uint64_t{1} << 14U;  // of a part: some 8 keys each

  // Moves every key into its part, in place: what lies where a key belongs is taken along to where that belongs.
  static void divide(std::span<std::uint64_t> keys, std::span<std::uint64_t> begins, std::uint64_t* next) noexcept {
    const std::uint64_t parts = begins.size() - 1;
    for (const std::uint64_t key : keys) ++next[fast_range(key, parts)];
    std::uint64_t begin = 0;
    for (std::uint64_t part = 0; part < parts; ++part) {
      begins[part] = begin;
      begin += next[part];
      next[part] = begins[part];
    }
    for (std::uint64_t part = 0; part < parts; ++part) {
      while (next[part] != begins[part + 1]) {
        std::uint64_t key = keys[next[part]];
        for (std::uint64_t to = fast_range(key, parts); to != part; to = fast_range(key, parts)) {
          std::swap(key, keys[next[to]++]);
        }
        keys[next[part]++] = key;
      }
    }
  }

  // Counts the keys of each cell, moves them there, and sorts the few of each.
  static void sort_part(std::span<std::uint64_t> keys, std::uint64_t first_cell, std::uint64_t all_cells,
                        std::span<std::byte> scratch) noexcept {
    constexpr std::uint64_t counter_bytes = (cells + 1) * 4 + 60;
    if (keys.size() < cells || scratch.size() < counter_bytes + keys.size() * 8) {
      std::sort(keys.begin(), keys.end());
      return;
    }
    auto* moved = reinterpret_cast<std::uint64_t*>(scratch.data());
    auto* ends = reinterpret_cast<std::uint32_t*>(scratch.data() + keys.size() * 8);
    std::fill_n(ends, cells + 1, 0U);
    const auto cell_of = [=](std::uint64_t key) { return fast_range(key, all_cells) - first_cell; };
    for (const std::uint64_t key : keys) ++ends[cell_of(key) + 1];
    for (std::uint64_t cell = 0; cell < cells; ++cell) ends[cell + 1] += ends[cell];
    // What was the beginning of a cell becomes its end.
    for (const std::uint64_t key : keys) moved[ends[cell_of(key)]++] = key;
    for (std::uint64_t cell = 0, begin = 0; cell < cells; begin = ends[cell++]) {
      std::sort(moved + begin, moved + ends[cell]);
    }
    std::copy_n(moved, keys.size(), keys.data());
  }
};

class ribbon_keys {
 public:
  explicit ribbon_keys(std::span<std::uint64_t> digests) noexcept : keys_(digests), count_(digests.size()) {}
  ribbon_keys(const ribbon_keys&) = delete;
  ribbon_keys& operator=(const ribbon_keys&) = delete;
  ~ribbon_keys() {
    while (layers_ != 0) leave();
  }

  [[nodiscard]] std::span<std::uint64_t> keys() const noexcept { return keys_.first(count_); }
  [[nodiscard]] std::uint64_t size() const noexcept { return count_; }

  // Hashes the keys for the next layer, and sorts them.
  result<void> enter(std::uint64_t seed, ribbon_workers& workers) noexcept {
    entered& layer = entered_[layers_];
    layer = {kernels::ribbon_multiplier(layers_, seed), count_, count_};
    ++layers_;
    for (std::uint64_t& key : keys()) key = kernels::ribbon_hash(key, layer.multiplier);
    return ribbon_sort::run(keys(), workers);
  }
  // Back to before the layer was entered.
  void leave() noexcept {
    const entered& layer = entered_[--layers_];
    for (std::uint64_t& key : keys_.first(layer.hashed)) key = kernels::ribbon_unhash(key, layer.multiplier);
    count_ = layer.count;
  }
  // Only the first so many go on.
  void keep(std::uint64_t count) noexcept { count_ = count; }
  // Of sorted keys that are the same, one goes on, and is there alone from now on.
  void keep_distinct() noexcept {
    std::uint64_t kept = 0;
    for (std::uint64_t i = 0; i < count_; ++i) {
      if (kept != 0 && keys_[i] == keys_[kept - 1]) continue;
      std::swap(keys_[kept++], keys_[i]);
    }
    count_ = kept;
    entered_[layers_ - 1].count = kept;
  }

 private:
  struct entered {
    std::uint64_t multiplier = 0;
    std::uint64_t hashed = 0;
    std::uint64_t count = 0;  // when it is left
  };
  std::span<std::uint64_t> keys_;
  std::uint64_t count_ = 0;
  unsigned layers_ = 0;
  std::array<entered, kernels::ribbon_most_layers> entered_{};
};

}  // namespace bloomery::detail

// kinds/fuse/build.hpp: how the cells of kind fuse are filled.
//
// Every key is in 3 or 4 cells. Cells that hold a single key are looked for; that key is taken out of its other cells,
// some of which then hold a single key, and so on until all are out (or not: then there is no solution in this
// geometry). Cells are then assigned their values in the opposite order, last one first: the cell that a key was alone
// in is free to be what makes the xor of its cells the key's fingerprint, and nothing that comes later touches it.
//
// Keys come sorted by x (kernels/fuse.hpp), so that what is worked on at a time is in a few segments and in the cache.
// Each shard is filled by one thread, with memory of its own: 13 bytes a cell, less than 15 a key.
#pragma once

#include <algorithm>
#include <atomic>
#include <bloomery/core/size.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/core/worker_pool.hpp>
#include <bloomery/kernels/fuse.hpp>
#include <bloomery/kinds/digest_sort.hpp>
#include <cstring>
#include <span>

namespace bloomery::inline BLOOMERY_ABI::detail {

// What filling a shard works in, within memory that somebody else holds. The functions below take it by value, as they
// do the places: stores of bytes could change anything that is not their own.
struct fuse_work {
  std::uint64_t* keys;   // of a cell: all its keys, xored
  std::uint32_t* queue;  // cells that held a single key, as they were found; then those of them that still did
  std::uint8_t* counts;  // of a cell: how many keys it has
  std::uint64_t cells;

  // One entry more than cells: what is written there does not count.
  static std::uint64_t queue_bytes(std::uint64_t cells) noexcept { return (cells + 1) * sizeof(std::uint32_t); }
  static std::uint64_t size_bytes(std::uint64_t cells) noexcept {
    return cells * sizeof(std::uint64_t) + queue_bytes(cells) + cells;
  }
  fuse_work(std::byte* memory, std::uint64_t shard_cells) noexcept
      : keys(reinterpret_cast<std::uint64_t*>(memory)),
        queue(reinterpret_cast<std::uint32_t*>(memory + shard_cells * sizeof(std::uint64_t))),
        counts(
            reinterpret_cast<std::uint8_t*>(memory + shard_cells * sizeof(std::uint64_t) + queue_bytes(shard_cells))),
        cells(shard_cells) {}
};

// Puts the keys into their cells; false when a cell has more than it can count.
template <unsigned Wise>
bool fuse_count(const kernels::fuse_places places, std::uint64_t base, std::span<const std::uint64_t> xs,
                const fuse_work work) noexcept {
  std::memset(work.keys, 0, to_size(work.cells * sizeof(std::uint64_t)));
  std::memset(work.counts, 0, to_size(work.cells));
  unsigned most = 0;
  for (const std::uint64_t x : xs) {
    for (const std::uint64_t at : places.of_x<Wise>(x).at) {
      const std::uint64_t cell = at - base;
      most |= work.counts[cell];
      ++work.counts[cell];
      work.keys[cell] ^= x;
    }
  }
  return most < 128;  // no count has come near its end
}

// Takes out key after key; true when none is left. The queue then has the cells that they were alone in, and each of
// these cells has its key.
template <unsigned Wise>
bool fuse_peel(const kernels::fuse_places places, std::uint64_t base, std::span<const std::uint64_t> xs,
               const fuse_work work) noexcept {
  if (xs.size() > work.cells || !fuse_count<Wise>(places, base, xs, work)) return false;
  std::size_t found = 0;
  for (std::uint64_t cell = 0; cell < work.cells; ++cell) {
    work.queue[found] = static_cast<std::uint32_t>(cell);
    found += work.counts[cell] == 1 ? 1 : 0;
  }
  std::size_t out = 0;
  for (std::size_t i = 0; i < found; ++i) {
    const std::uint32_t alone = work.queue[i];
    if (work.counts[alone] != 1) continue;  // its key went by way of another cell
    const std::uint64_t x = work.keys[alone];
    work.queue[out++] = alone;
    for (const std::uint64_t at : places.of_x<Wise>(x).at) {
      const std::uint64_t cell = at - base;
      work.keys[cell] ^= x;
      --work.counts[cell];
      work.queue[found] = static_cast<std::uint32_t>(cell);
      found += work.counts[cell] == 1 ? 1 : 0;
    }
    work.keys[alone] = x;
  }
  return out == xs.size();
}

// Gives the cells of a peeled shard their values. `bytes` are those of all shards; this one's are 0.
template <class Cell, unsigned Wise>
void fuse_assign(const kernels::fuse_places places, std::uint64_t base, std::size_t keys, const fuse_work work,
                 std::byte* bytes) noexcept {
  for (std::size_t i = keys; i-- > 0;) {
    const std::uint64_t own = work.queue[i];
    const kernels::fuse_key<Wise> key = places.of_x<Wise>(work.keys[own]);
    auto value = static_cast<Cell>(key.y);
    for (const std::uint64_t at : key.at) value = static_cast<Cell>(value ^ load_le<Cell>(bytes + at * sizeof(Cell)));
    store_le(bytes + (base + own) * sizeof(Cell), value);
  }
}

// All keys, sorted by x and all different.
struct fuse_input {
  std::span<const std::uint64_t> xs;

  [[nodiscard]] std::span<const std::uint64_t> of_shard(std::uint64_t shard, unsigned shard_bits) const noexcept {
    if (shard_bits == 0) return xs;
    const auto first_of = [&](std::uint64_t wanted) {
      return std::partition_point(xs.begin(), xs.end(),
                                  [&](std::uint64_t x) { return x >> (64U - shard_bits) < wanted; });
    };
    const auto first = first_of(shard);
    return {first, first_of(shard + 1)};
  }
};

// Fills the cells, which are 0; false, with some of them filled, when a shard has no solution. Each of the threads has
// fuse_work::size_bytes of a shard.
template <class Cell, unsigned Wise>
bool fuse_fill(const kernels::fuse_geometry& geometry, const fuse_input& input, worker_pool& workers,
               std::byte* bytes) noexcept {
  const kernels::fuse_places places(geometry);
  const std::uint64_t cells = geometry.shard_cells();
  std::atomic<bool> solved = true;
  workers.run(geometry.shards(), [&](std::uint64_t shard, std::span<std::byte> scratch) {
    if (!solved) return;
    const fuse_work work(scratch.data(), cells);
    const auto xs = input.of_shard(shard, geometry.shard_bits);
    if (fuse_peel<Wise>(places, shard * cells, xs, work)) {
      fuse_assign<Cell, Wise>(places, shard * cells, xs.size(), work, bytes);
    } else {
      solved = false;
    }
  });
  return solved;
}

// Digests as x of a seed, sorted, with repeated ones at the end; digests again when it ends.
class fuse_keys {
 public:
  fuse_keys(std::span<std::uint64_t> digests, std::uint64_t seed, unsigned threads) noexcept
      : digests_(digests), first_seed_(seed), seed_(seed), threads_(threads) {
    change(digests_, [seed](std::uint64_t digest) { return kernels::fuse_x_of(digest, seed); });
    distinct_ = sort_distinct(digests_, threads_);
  }
  fuse_keys(const fuse_keys&) = delete;
  fuse_keys& operator=(const fuse_keys&) = delete;
  ~fuse_keys() {
    change(digests_.first(distinct_), [seed = seed_](std::uint64_t x) { return kernels::fuse_digest_of(x, seed); });
    change(digests_.subspan(distinct_),
           [seed = first_seed_](std::uint64_t x) { return kernels::fuse_digest_of(x, seed); });
  }
  void reseed(std::uint64_t seed) noexcept {
    change(digests_.first(distinct_), [from = seed_, seed](std::uint64_t x) {
      return kernels::fuse_x_of(kernels::fuse_digest_of(x, from), seed);
    });
    seed_ = seed;
    sort_distinct(digests_.first(distinct_), threads_);
  }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] std::span<const std::uint64_t> xs() const noexcept { return digests_.first(distinct_); }

 private:
  template <class F>
  void change(std::span<std::uint64_t> of, F&& f) const noexcept {
    const unsigned parts = of.size() < 65536 ? 1 : threads_;
    run_on_threads(parts, [&](unsigned part) {
      const std::size_t first = of.size() / parts * part;
      const std::size_t size = part + 1 == parts ? of.size() - first : of.size() / parts;
      for (std::uint64_t& digest : of.subspan(first, size)) digest = f(digest);
    });
  }

  std::span<std::uint64_t> digests_;
  std::uint64_t first_seed_;
  std::uint64_t seed_;
  unsigned threads_;
  std::size_t distinct_ = 0;
};

}  // namespace bloomery::inline BLOOMERY_ABI::detail

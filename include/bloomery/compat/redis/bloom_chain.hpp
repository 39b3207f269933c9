// compat/redis/bloom_chain.hpp: RedisBloom's Bloom filter, to the bit, as an engine for a server: BF.RESERVE, BF.ADD,
// BF.MADD, BF.INSERT, BF.EXISTS, BF.MEXISTS, BF.CARD, BF.INFO, BF.SCANDUMP, BF.LOADCHUNK and RDB are calls of it.
//
//     auto chain = bloomery::redis::bloom_chain::make({.error_rate = 0.01, .capacity = 100}, {}, &hooks);
//     if (!chain) return 2;                                    // refused memory is an error like any other
//     auto answer = (*chain)->insert("alice");                 // inserted, present, full, limit or no_memory
//     bool maybe = (*chain)->may_contain("alice");
//     void* value = chain->release();                          // what the server keeps; owned(...) takes it back
//
// A chain of sub-filters, each a classic Bloom filter of the product's own size (bloom_records.hpp). A key that any
// sub-filter may hold is present; else it goes into the newest one, or into a new one of `growth` times the capacity
// and half the FPR when that holds its capacity. The first sub-filter of a chain that scales has half of the requested
// FPR. Both encodings are there: sizes in words of 64 bits, and sizes that are powers of two (before 2019); and both
// hashes: a pair of MurmurHash64A, and of the 32-bit MurmurHash2 (the same time).
//
// When to use   for exchange with Redis: the same keys in the same order give the same bytes. A filter of one's own is
//               kind blocked (one cache line a look-up instead of k) or growing.
// Batches       take keys, or digests (digest_of) where a host has them. Queries and inserts go in waves of 64 keys
//               with prefetched memory (kernels/redis_bloom.hpp); answers are those of one key after the other.
// Memory        see host.hpp. The object has 40 bytes, a sub-filter 64 and its bits: 248 bytes for the product's default
//               filter. The object stays in place while the chain grows. next_growth_bytes() is what the next insert
//               that grows will request. Where memory is refused, the chain is as it was.
// Bounds        a header or record is checked before anything is allocated; a chain has at most 1,100 sub-filters, each
//               at most 1,100 hash functions.
// Threads       one writer, or any number of readers.
#pragma once

#include <bloomery/compat/redis/bloom_records.hpp>
#include <bloomery/compat/redis/host.hpp>
#include <bloomery/core/size.hpp>
#include <bloomery/hash/concept.hpp>
#include <bloomery/kernels/redis_bloom.hpp>

namespace bloomery::inline BLOOMERY_ABI::redis {

struct bloom_settings {
  double error_rate = 0.01;      // above 0, below 1; the commands of the product take no more than 0.25
  std::uint64_t capacity = 100;  // of the first sub-filter; log2 of its bits with option keys_are_bits
  std::uint32_t growth = 2;
  std::uint32_t options = no_rounding | hashes_64;
};

class BLOOMERY_API bloom_chain {
 public:
  static result<owned<bloom_chain>> make(const bloom_settings& settings, const engine_limits& limits = {},
                                         const memory_hooks* memory = nullptr) noexcept;
  // From the header of SCANDUMP, with no bit set: BF.LOADCHUNK with iterator 1.
  static result<owned<bloom_chain>> from_header(std::span<const std::byte> header, const engine_limits& limits = {},
                                                const memory_hooks* memory = nullptr) noexcept;
  [[nodiscard]] result<owned<bloom_chain>> clone(const memory_hooks* memory = nullptr) const noexcept;
  static void destroy(bloom_chain* chain) noexcept;
  bloom_chain(const bloom_chain&) = delete;
  bloom_chain& operator=(const bloom_chain&) = delete;

  // ---- keys ----
  [[nodiscard]] digest128 digest_of(std::string_view key) const noexcept;
  insert_outcome insert(std::string_view key) noexcept { return insert(digest_of(key)); }
  insert_outcome insert(const digest128& digest) noexcept {
    return may_contain(digest) ? insert_outcome::present : insert_absent(digest);
  }
  // The caller has looked: no sub-filter may hold it.
  insert_outcome insert_absent(const digest128& digest) noexcept;
  [[nodiscard]] bool may_contain(std::string_view key) const noexcept { return may_contain(digest_of(key)); }
  [[nodiscard]] bool may_contain(const digest128& digest) const noexcept;
  // Bit i of the mask, which has a word for every 64 keys, answers key i.
  void may_contain_batch(std::span<const std::string_view> keys, std::span<std::uint64_t> mask) const noexcept;
  void may_contain_batch(std::span<const digest128> digests, std::span<std::uint64_t> mask) const noexcept;
  // Bit i of `fresh`: key i was new. Bits from the place on where it stopped are 0.
  batch_inserted insert_batch(std::span<const std::string_view> keys, std::span<std::uint64_t> fresh) noexcept;
  batch_inserted insert_batch(std::span<const digest128> digests, std::span<std::uint64_t> fresh) noexcept;
  // As it was made: one sub-filter, no keys.
  void clear() noexcept;

  // ---- what it is ----
  [[nodiscard]] std::uint64_t keys() const noexcept;      // BF.CARD
  [[nodiscard]] std::uint64_t capacity() const noexcept;  // of all sub-filters
  [[nodiscard]] std::size_t sub_filters() const noexcept { return count_; }
  [[nodiscard]] std::uint32_t options() const noexcept { return options_; }
  [[nodiscard]] std::uint32_t growth() const noexcept { return growth_; }
  [[nodiscard]] bool scales() const noexcept { return (options_ & no_scaling) == 0; }
  [[nodiscard]] bloom_head head() const noexcept;
  [[nodiscard]] bloom_record record(std::size_t index) const noexcept;
  [[nodiscard]] std::span<const std::byte> bits(std::size_t index) const noexcept {
    return {list_[index].bits, to_size(list_[index].size_bytes)};
  }
  // "Size" of BF.INFO, which counts the product's structures.
  [[nodiscard]] std::uint64_t info_bytes() const noexcept;
  // The same settings, sub-filters and bits.
  friend bool operator==(const bloom_chain& a, const bloom_chain& b) noexcept { return a.equals(b); }

  // ---- SCANDUMP and LOADCHUNK ----
  [[nodiscard]] std::uint64_t header_bytes() const noexcept { return head().header_bytes(); }
  // `out` has header_bytes().
  void write_header(std::span<std::byte> out) const noexcept;
  // The piece after `iterator`, 1 for the first, in place: at most `most` bytes, and of one sub-filter.
  [[nodiscard]] dump_chunk scan(std::int64_t iterator, std::uint64_t most = max_chunk_bytes) const noexcept;
  // Takes the bytes that SCANDUMP returned with this iterator.
  chunk_outcome load_chunk(std::int64_t iterator, std::span<const std::byte> bytes) noexcept;

  // ---- memory ----
  [[nodiscard]] const memory_hooks* memory() const noexcept { return hooks_; }
  // All that it has from the hooks.
  [[nodiscard]] std::uint64_t allocated_bytes() const noexcept;
  // f(block, bytes) of every block that it has from the hooks.
  template <class F>
  void for_each_block(F&& f) const noexcept {
    f(static_cast<const void*>(this), std::uint64_t{sizeof(*this)});
    f(static_cast<const void*>(list_), room_ * std::uint64_t{sizeof(sub_filter)});
    for (std::size_t i = 0; i < count_; ++i) f(static_cast<const void*>(list_[i].bits), list_[i].size_bytes);
  }
  // What the next insert that grows will request; 0: it cannot grow.
  [[nodiscard]] std::uint64_t next_growth_bytes() const noexcept;
  void set_limits(const engine_limits& limits) noexcept { max_sub_filters_ = limits.max_sub_filters; }
  // Offers every block to the mover, and returns where the object is then.
  [[nodiscard]] static bloom_chain* relocate(bloom_chain* chain, const block_mover& mover) noexcept;

 private:
  friend class bloom_loader;
  struct sub_filter {
    std::byte* bits;
    std::uint64_t size_bytes;
    std::uint64_t bit_count;
    std::uint64_t keys;
    std::uint64_t capacity;
    double error_rate;
    double bits_per_key;
    std::uint32_t hashes;
    std::uint8_t log2_bits;

    [[nodiscard]] std::uint64_t room() const noexcept { return keys < capacity ? capacity - keys : 0; }
    [[nodiscard]] kernels::redis_bits view() const noexcept {
      return {bits, size_bytes, log2_bits == 0 ? bit_count : std::uint64_t{1} << log2_bits, hashes};
    }
  };
  // What the next sub-filter is, and the memory for it.
  struct next_sub_filter {
    insert_outcome outcome = insert_outcome::inserted;
    bloom_record record{};
    std::uint32_t room = 0;  // of the list; as it is: it need not grow
  };

  bloom_chain(const bloom_head& head, const engine_limits& limits, const memory_hooks* memory) noexcept;
  ~bloom_chain() = default;
  // With space for so many sub-filters.
  static result<owned<bloom_chain>> make_empty(const bloom_head& head, const engine_limits& limits,
                                               const memory_hooks* memory, std::uint64_t room) noexcept;
  void push(const bloom_record& record, block bits) noexcept;
  [[nodiscard]] next_sub_filter next() const noexcept;
  // The key is the first that the new sub-filter takes.
  insert_outcome grow(const digest128& first) noexcept;
  [[nodiscard]] std::uint64_t query(std::span<const digest128> digests, std::size_t end) const noexcept;
  batch_inserted insert_wave(std::span<const digest128> digests, std::uint64_t& fresh) noexcept;
  [[nodiscard]] bool equals(const bloom_chain& other) const noexcept;
  template <class Key, class Digest>
  batch_inserted insert_all(std::span<const Key> keys, std::span<std::uint64_t> fresh, Digest&& digest) noexcept;

  const memory_hooks* hooks_;
  sub_filter* list_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t room_ = 0;  // of the list
  std::uint32_t options_;
  std::uint32_t growth_;
  std::uint32_t max_sub_filters_;
};

// A chain from RDB: its head, then the record and the bits of each sub-filter, in their order. The bits are adopted.
class BLOOMERY_API bloom_loader {
 public:
  static result<bloom_loader> begin(const bloom_head& head, const engine_limits& limits = {},
                                    const memory_hooks* memory = nullptr) noexcept;
  // An error: the record cannot be, or the block has another size. `whole_bytes` as in check_bloom.
  result<void> add(const bloom_record& record, block bits, bool whole_bytes = true) noexcept;
  // An error: sub-filters are missing, or do not hold as many keys as the head states. The loader is used up.
  result<owned<bloom_chain>> finish() noexcept;

 private:
  explicit bloom_loader(const bloom_head& head, const engine_limits& limits, owned<bloom_chain> chain) noexcept
      : head_(head), limits_(limits), chain_(std::move(chain)) {}

  bloom_head head_;
  engine_limits limits_;
  owned<bloom_chain> chain_;
  std::uint64_t keys_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace bloomery::inline BLOOMERY_ABI::redis

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/compat/redis/bloom_chain.cpp>
#endif

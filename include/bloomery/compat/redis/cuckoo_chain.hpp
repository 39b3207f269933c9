// compat/redis/cuckoo_chain.hpp: RedisBloom's cuckoo filter, to the byte, as an engine for a server: CF.RESERVE, CF.ADD,
// CF.ADDNX, CF.INSERT, CF.INSERTNX, CF.EXISTS, CF.MEXISTS, CF.COUNT, CF.DEL, CF.COMPACT, CF.INFO, CF.SCANDUMP,
// CF.LOADCHUNK and RDB are calls of it.
//
//     auto chain = bloomery::redis::cuckoo_chain::make({.capacity = 1024}, {.max_sub_filters = 32}, &hooks);
//     if (!chain) return 2;
//     (*chain)->insert("alice");                              // CF.ADD: stores it again if it is there
//     (*chain)->insert_if_absent("alice");                    // CF.ADDNX
//     bool was_there = (*chain)->erase("alice");
//
// A chain of sub-filters, each a table of buckets of fingerprints (kernels/cuckoo/redis.hpp has places and moves). A key
// goes into a free slot of the newest sub-filter that has one; else others are moved in the newest sub-filter; else a
// sub-filter is added with `growth` times the buckets. A removal looks at the newest sub-filter first. When more than a
// tenth of the keys was removed, the newest sub-filters are emptied into older ones, as compact() does for all.
//
// When to use   for exchange with Redis. Kind cuckoo has an FPR that can be chosen, kind growing one that stays while it
//               grows; here it is 1.6 % for each sub-filter.
// Batches       as in bloom_chain.hpp.
// Memory        see host.hpp. The object has 72 bytes, a sub-filter 16 and its slots.
// Bounds        work is bounded by the size of the filter, whatever its header claims. A sub-filter has at most 4 GiB,
//               and a new one at most 64 MiB or 16 times the bytes that are there: else `limit`. compact() reads at most
//               max_compact_steps() slots and leaves the rest in place, a removal max_erase_steps. Keys are counted when bytes are loaded, not
//               believed: a number that is too small would have every removal walk through the sub-filters.
// Threads       one writer, or any number of readers.
#pragma once

#include <bloomery/compat/redis/cuckoo_records.hpp>
#include <bloomery/compat/redis/host.hpp>
#include <bloomery/core/size.hpp>
#include <bloomery/kernels/cuckoo/redis.hpp>

namespace bloomery::inline BLOOMERY_ABI::redis {

// Whether a batch stores a key that is there once more (CF.INSERT) or leaves it out (CF.INSERTNX).
enum class copies : std::uint8_t { keep, drop };

class BLOOMERY_API cuckoo_chain {
 public:
  using table_type = kernels::cuckoo_table<std::uint64_t, kernels::cuckoo_form::redis, false>;
  using editor_type = kernels::cuckoo_editor<std::uint64_t, kernels::cuckoo_form::redis, false>;
  // Of a sub-filter that is added, unless those before it have a sixteenth of that: the header alone states how large
  // it is, and a removal may walk through all of it.
  static constexpr std::uint64_t max_step_bytes = std::uint64_t{64} << 20U;

  static result<owned<cuckoo_chain>> make(const cuckoo_settings& settings, const engine_limits& limits = {},
                                          const memory_hooks* memory = nullptr) noexcept;
  // From the header of SCANDUMP, with no slot in use: CF.LOADCHUNK with iterator 1. Keys are counted as chunks come.
  static result<owned<cuckoo_chain>> from_header(std::span<const std::byte> header, const engine_limits& limits = {},
                                                 const memory_hooks* memory = nullptr) noexcept;
  [[nodiscard]] result<owned<cuckoo_chain>> clone(const memory_hooks* memory = nullptr) const noexcept;
  static void destroy(cuckoo_chain* chain) noexcept;
  cuckoo_chain(const cuckoo_chain&) = delete;
  cuckoo_chain& operator=(const cuckoo_chain&) = delete;

  // ---- keys ----
  [[nodiscard]] static std::uint64_t digest_of(std::string_view key) noexcept;
  // `inserted`, or why not: a key that is there is stored again.
  insert_outcome insert(std::string_view key) noexcept { return insert(digest_of(key)); }
  insert_outcome insert(std::uint64_t digest) noexcept;
  insert_outcome insert_if_absent(std::string_view key) noexcept { return insert_if_absent(digest_of(key)); }
  insert_outcome insert_if_absent(std::uint64_t digest) noexcept {
    return may_contain(digest) ? insert_outcome::present : insert(digest);
  }
  [[nodiscard]] bool may_contain(std::string_view key) const noexcept { return may_contain(digest_of(key)); }
  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept;
  // CF.COUNT: a bucket that is both buckets of a key counts twice. slots_holding() counts it once.
  [[nodiscard]] std::uint64_t count(std::string_view key) const noexcept { return count(digest_of(key)); }
  [[nodiscard]] std::uint64_t count(std::uint64_t digest) const noexcept;
  [[nodiscard]] std::uint64_t slots_holding(std::uint64_t digest) const noexcept;
  // Whether there was one.
  bool erase(std::string_view key) noexcept { return erase(digest_of(key)); }
  bool erase(std::uint64_t digest) noexcept;
  void may_contain_batch(std::span<const std::string_view> keys, std::span<std::uint64_t> mask) const noexcept;
  void may_contain_batch(std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) const noexcept;
  // Bit i of `fresh`: no sub-filter held key i. With copies::keep it may be empty: then no key is looked up first, and
  // all that are taken count as new.
  batch_inserted insert_batch(std::span<const std::string_view> keys, copies rule,
                              std::span<std::uint64_t> fresh) noexcept;
  batch_inserted insert_batch(std::span<const std::uint64_t> digests, copies rule,
                              std::span<std::uint64_t> fresh) noexcept;
  // CF.COMPACT: what is in every sub-filter, the newest first, goes to free slots of older ones; empty ones at the end
  // are dropped.
  void compact() noexcept { compact_sub_filters(true); }
  void clear() noexcept;

  // ---- what it is ----
  [[nodiscard]] std::uint64_t keys() const noexcept { return keys_; }
  [[nodiscard]] std::uint64_t removed() const noexcept { return removed_; }
  [[nodiscard]] std::size_t sub_filters() const noexcept { return count_; }
  [[nodiscard]] cuckoo_head head() const noexcept;
  [[nodiscard]] std::span<const std::byte> slots(std::size_t index) const noexcept {
    return {list_[index].slots, to_size(size_of(index))};
  }
  [[nodiscard]] kernels::cuckoo_geometry geometry(std::size_t index) const noexcept;
  [[nodiscard]] table_type table(std::size_t index) const noexcept { return {list_[index].slots, geometry(index)}; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept;  // of all slots
  // "Size" of CF.INFO, which counts the product's structures.
  [[nodiscard]] std::uint64_t info_bytes() const noexcept { return 40 + std::uint64_t{16} * count_ + size_bytes(); }
  // Slots that emptying sub-filters may read, and those that it read last.
  [[nodiscard]] std::uint64_t max_compact_steps() const noexcept;
  [[nodiscard]] std::uint64_t compact_steps() const noexcept { return compact_steps_; }
  // The same of a removal that empties sub-filters, which must not take seconds however large they are.
  static constexpr std::uint64_t max_erase_steps = std::uint64_t{1} << 24U;
  // The same settings and slots.
  friend bool operator==(const cuckoo_chain& a, const cuckoo_chain& b) noexcept { return a.equals(b); }

  // ---- SCANDUMP and LOADCHUNK: as in bloom_chain.hpp ----
  static constexpr std::size_t header_bytes = cuckoo_head::stored_bytes;
  void write_header(std::span<std::byte> out) const noexcept;
  [[nodiscard]] dump_chunk scan(std::int64_t iterator, std::uint64_t most = max_chunk_bytes) const noexcept;
  chunk_outcome load_chunk(std::int64_t iterator, std::span<const std::byte> bytes) noexcept;

  // ---- memory: as in bloom_chain.hpp ----
  [[nodiscard]] const memory_hooks* memory() const noexcept { return hooks_; }
  [[nodiscard]] std::uint64_t allocated_bytes() const noexcept;
  template <class F>
  void for_each_block(F&& f) const noexcept {
    f(static_cast<const void*>(this), std::uint64_t{sizeof(*this)});
    f(static_cast<const void*>(list_), room_ * std::uint64_t{sizeof(sub_filter)});
    for (std::size_t i = 0; i < count_; ++i) f(static_cast<const void*>(list_[i].slots), size_of(i));
  }
  [[nodiscard]] std::uint64_t next_growth_bytes() const noexcept;
  void set_limits(const engine_limits& limits) noexcept { max_sub_filters_ = limits.max_sub_filters; }
  [[nodiscard]] static cuckoo_chain* relocate(cuckoo_chain* chain, const block_mover& mover) noexcept;

 private:
  friend class cuckoo_loader;
  struct sub_filter {
    std::byte* slots;
    std::uint64_t buckets;
  };
  struct next_sub_filter {
    insert_outcome outcome = insert_outcome::inserted;
    std::uint64_t buckets = 0;
    std::uint32_t room = 0;  // of the list; as it is: it need not grow
  };

  cuckoo_chain(const cuckoo_head& head, const engine_limits& limits, const memory_hooks* memory) noexcept;
  ~cuckoo_chain() = default;
  static result<owned<cuckoo_chain>> make_empty(const cuckoo_head& head, const engine_limits& limits,
                                                const memory_hooks* memory) noexcept;
  [[nodiscard]] std::uint64_t size_of(std::size_t index) const noexcept { return list_[index].buckets * slots_; }
  [[nodiscard]] editor_type editor(std::size_t index) noexcept { return {list_[index].slots, geometry(index)}; }
  void drop_newest() noexcept;
  [[nodiscard]] next_sub_filter next() const noexcept;
  insert_outcome grow() noexcept;
  [[nodiscard]] bool moves_may_help() const noexcept;
  [[nodiscard]] std::uint64_t query(std::span<const std::uint64_t> digests) const noexcept;
  bool empty_into_older(std::size_t index, std::uint64_t max_steps) noexcept;
  void compact_sub_filters(bool all) noexcept;
  [[nodiscard]] bool equals(const cuckoo_chain& other) const noexcept;
  template <class Key, class Digest>
  batch_inserted insert_all(std::span<const Key> keys, copies rule, std::span<std::uint64_t> fresh,
                            Digest&& digest) noexcept;

  const memory_hooks* hooks_;
  sub_filter* list_ = nullptr;
  std::uint64_t keys_ = 0;
  std::uint64_t removed_;
  std::uint64_t buckets_;
  std::uint64_t compact_steps_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t room_ = 0;  // of the list
  std::uint32_t max_sub_filters_;
  std::uint16_t slots_;
  std::uint16_t moves_;
  std::uint16_t growth_;
};

// A chain from RDB: its head, then the bytes of each sub-filter, in their order. They are adopted.
class BLOOMERY_API cuckoo_loader {
 public:
  static result<cuckoo_loader> begin(const cuckoo_head& head, const engine_limits& limits = {},
                                     const memory_hooks* memory = nullptr) noexcept;
  // An error: `buckets`, or the size of the block, is not what follows from the head.
  result<void> add(std::uint64_t buckets, block slots) noexcept;
  // An error: sub-filters are missing. Keys are counted. The loader is used up.
  result<owned<cuckoo_chain>> finish() noexcept;

 private:
  friend class cuckoo_chain;
  cuckoo_loader(const cuckoo_head& head, owned<cuckoo_chain> chain) noexcept : head_(head), chain_(std::move(chain)) {}
  // With `used` slots in use: new memory need not be read.
  result<void> add(std::uint64_t buckets, block slots, std::uint64_t used) noexcept;

  cuckoo_head head_;
  owned<cuckoo_chain> chain_;
};

}  // namespace bloomery::inline BLOOMERY_ABI::redis

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/compat/redis/cuckoo_chain.cpp>
#endif

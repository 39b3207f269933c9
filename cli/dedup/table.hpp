// cli/dedup/table.hpp: digests to ordinals, 8 bytes a slot: which earlier keys could equal this one?
//
// A key's ordinal is its place among the different keys, from 0. The table holds for each only some 40 bits of its
// digest and the ordinal, so it returns suspects, not answers: the caller compares the bytes (store.hpp). That is what
// lets it be small: 9 to 18 bytes a key at 87 % to 44 % load, whatever the keys' lengths.
//
//     table.find(digest, [&](std::uint32_t ordinal) { ...; return stop; });     // in order of insertion
//     table.insert(digest, ordinal);
//     table.claim(digest, ordinal);                       // the first suspect, or inserts and returns `nobody`
//
// Inside: 256 partitions (or as many as requested) by the first bits of the digest, each grown alone, so that growing
// never takes twice the memory nor a pause. In a partition the next 32 bits (the remainder) are kept in ascending order
// by linear probing: a slot's home is determined by the remainder's first bits, so doubling a partition is one walk,
// and a search for what is absent ends at the first larger remainder. Any number of equal digests is right, if slow.
// Partitions are separate pages, not pieces of the heap: memory that a partition outgrows is returned to the system
// immediately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace bloomery::cli {

class dedup_table {
 public:
  static constexpr std::uint32_t max_ordinal = std::numeric_limits<std::uint32_t>::max() - 1;

  static constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

  // 2^partition_bits partitions, 1 to 16 bits.
  explicit dedup_table(unsigned partition_bits = 8);

  // Calls f(ordinal) for every key whose bits are these, in order of insertion, until it returns true.
  template <class F>
  void find(std::uint64_t digest, F&& f) const {
    const partition& target = partitions_[partition_of(digest)];
    const std::uint32_t wanted = remainder_of(digest);
    for (const slot* at = target.slots.data() + home(wanted, target.bits); at->entry != 0 && at->remainder <= wanted;
         ++at) {
      if (at->remainder == wanted && f(at->entry - 1)) return;
    }
  }
  void insert(std::uint64_t digest, std::uint32_t ordinal);
  // The ordinal that find would pass first. If there is none, inserts and returns `nobody`.
  std::uint32_t claim(std::uint64_t digest, std::uint32_t ordinal) {
    partition& target = partitions_[partition_of(digest)];
    const std::uint32_t wanted = remainder_of(digest);
    const slot* at = target.slots.data() + home(wanted, target.bits);
    while (at->entry != 0 && at->remainder < wanted) ++at;
    if (at->entry != 0 && at->remainder == wanted) return at->entry - 1;
    insert_at(target, static_cast<std::size_t>(at - target.slots.data()), {wanted, ordinal + 1});
    return nobody;
  }

  // Brings the line near that find or insert will touch.
  void prefetch(std::uint64_t digest) const {
    const partition& target = partitions_[partition_of(digest)];
    __builtin_prefetch(target.slots.data() + home(remainder_of(digest), target.bits));
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t memory_bytes() const { return slots_ * sizeof(slot); }

 private:
  struct slot {
    std::uint32_t remainder = 0;
    std::uint32_t entry = 0;  // ordinal + 1; 0: empty
  };
  // Zeroed pages.
  class slot_pages {
   public:
    slot_pages() = default;
    explicit slot_pages(std::size_t count);  // throws std::bad_alloc
    slot_pages(slot_pages&& other) noexcept : slots_(std::exchange(other.slots_, {})) {}
    slot_pages& operator=(slot_pages&& other) noexcept {
      std::swap(slots_, other.slots_);
      return *this;
    }
    ~slot_pages();
    [[nodiscard]] slot* data() const { return slots_.data(); }
    [[nodiscard]] std::size_t size() const { return slots_.size(); }
    [[nodiscard]] slot* begin() const { return slots_.data(); }
    [[nodiscard]] slot* end() const { return slots_.data() + slots_.size(); }
    slot& operator[](std::size_t i) const { return slots_[i]; }

   private:
    std::span<slot> slots_;
  };
  struct partition {
    slot_pages slots;  // 2^bits homes, then space for what is pushed past the last; the last slot stays empty
    unsigned bits = 0;
    std::uint32_t used = 0;
  };
  static constexpr unsigned first_bits = 8;

  [[nodiscard]] std::size_t partition_of(std::uint64_t digest) const {
    return static_cast<std::size_t>(digest >> (64 - partition_bits_));
  }
  [[nodiscard]] std::uint32_t remainder_of(std::uint64_t digest) const {
    return static_cast<std::uint32_t>(digest >> (32 - partition_bits_));
  }
  static std::size_t home(std::uint32_t remainder, unsigned bits) { return remainder >> (32 - bits); }

  // After all that is not larger.
  static std::size_t place_for(const partition& target, std::uint32_t remainder);
  // `at` is where it belongs in the partition as it is.
  void insert_at(partition& target, std::size_t at, slot what);
  // The same entries among 2^bits homes with `spare` slots after them.
  void rebuild(partition& target, unsigned bits, std::size_t spare);

  unsigned partition_bits_;
  std::vector<partition> partitions_;
  std::uint64_t size_ = 0;
  std::uint64_t slots_ = 0;
};

}  // namespace bloomery::cli

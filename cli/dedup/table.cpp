#include "cli/dedup/table.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace bloomery::cli {
namespace {

constexpr std::size_t first_room = 64;
constexpr unsigned max_bits = 31;

}  // namespace

dedup_table::slot_pages::slot_pages(std::size_t count) {
  // Nearly every page gets a slot soon, so all are faulted in with one call instead of one by one.
  void* const pages =
      mmap(nullptr, count * sizeof(slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  slots_ = {static_cast<slot*>(pages), count};
}

dedup_table::slot_pages::~slot_pages() {
  if (!slots_.empty()) munmap(slots_.data(), slots_.size_bytes());
}

dedup_table::dedup_table(unsigned partition_bits)
    : partition_bits_(partition_bits), partitions_(std::size_t{1} << partition_bits) {
  for (partition& each : partitions_) rebuild(each, first_bits, first_room);
}

void dedup_table::rebuild(partition& target, unsigned bits, std::size_t spare) {
  // The position of the last entry decides how much space is needed after the homes.
  std::size_t next = 0;
  for (const slot& each : target.slots) {
    if (each.entry != 0) next = std::max(next, home(each.remainder, bits)) + 1;
  }
  const std::size_t homes = std::size_t{1} << bits;
  slot_pages grown(std::max(homes, next) + spare);
  next = 0;
  for (const slot& each : target.slots) {
    if (each.entry == 0) continue;
    next = std::max(next, home(each.remainder, bits));
    grown[next++] = each;
  }
  slots_ = slots_ - target.slots.size() + grown.size();
  target.slots = std::move(grown);
  target.bits = bits;
}

void dedup_table::insert(std::uint64_t digest, std::uint32_t ordinal) {
  partition& target = partitions_[partition_of(digest)];
  const std::uint32_t remainder = remainder_of(digest);
  insert_at(target, place_for(target, remainder), {remainder, ordinal + 1});
}

std::size_t dedup_table::place_for(const partition& target, std::uint32_t remainder) {
  std::size_t at = home(remainder, target.bits);
  while (target.slots[at].entry != 0 && target.slots[at].remainder <= remainder) ++at;
  return at;
}

void dedup_table::insert_at(partition& target, std::size_t at, slot what) {
  if (target.used >= (std::uint64_t{7} << target.bits) / 8 && target.bits < max_bits) {
    rebuild(target, target.bits + 1, first_room);
    at = place_for(target, what.remainder);
  }
  std::size_t free = at;
  while (target.slots[free].entry != 0) ++free;
  // The last slot ends every search, so it is never taken.
  if (free + 1 == target.slots.size()) {
    rebuild(target, target.bits, target.slots.size() / 2);
    insert_at(target, place_for(target, what.remainder), what);
    return;
  }
  std::move_backward(target.slots.begin() + at, target.slots.begin() + free, target.slots.begin() + free + 1);
  target.slots[at] = what;
  ++target.used;
  ++size_;
}

}  // namespace bloomery::cli

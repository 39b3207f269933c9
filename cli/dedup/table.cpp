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
  // Nearly every page gets a slot at once, so all of them are taken in one go instead of one by one.
  void* const pages =
      mmap(nullptr, count * sizeof(slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  slots_ = {static_cast<slot*>(pages), count};
}

dedup_table::slot_pages::~slot_pages() {
  if (!slots_.empty()) munmap(slots_.data(), slots_.size_bytes());
}

dedup_table::dedup_table(unsigned part_bits) : part_bits_(part_bits), parts_(std::size_t{1} << part_bits) {
  for (part& each : parts_) rebuild(each, first_bits, first_room);
}

void dedup_table::rebuild(part& of, unsigned bits, std::size_t room) {
  // Where the last entry will lie says how much room is needed behind the homes.
  std::size_t next = 0;
  for (const slot& each : of.slots) {
    if (each.entry != 0) next = std::max(next, home(each.remainder, bits)) + 1;
  }
  const std::size_t homes = std::size_t{1} << bits;
  slot_pages grown(std::max(homes, next) + room);
  next = 0;
  for (const slot& each : of.slots) {
    if (each.entry == 0) continue;
    next = std::max(next, home(each.remainder, bits));
    grown[next++] = each;
  }
  slots_ = slots_ - of.slots.size() + grown.size();
  of.slots = std::move(grown);
  of.bits = bits;
}

void dedup_table::insert(std::uint64_t digest, std::uint32_t ordinal) {
  part& in = parts_[part_of(digest)];
  const std::uint32_t remainder = remainder_of(digest);
  insert_at(in, place_for(in, remainder), {remainder, ordinal + 1});
}

std::size_t dedup_table::place_for(const part& in, std::uint32_t remainder) {
  std::size_t at = home(remainder, in.bits);
  while (in.slots[at].entry != 0 && in.slots[at].remainder <= remainder) ++at;
  return at;
}

void dedup_table::insert_at(part& in, std::size_t at, slot what) {
  if (in.used >= (std::uint64_t{7} << in.bits) / 8 && in.bits < max_bits) {
    rebuild(in, in.bits + 1, first_room);
    at = place_for(in, what.remainder);
  }
  std::size_t free = at;
  while (in.slots[free].entry != 0) ++free;
  // The last slot ends every search, so it is never taken.
  if (free + 1 == in.slots.size()) {
    rebuild(in, in.bits, in.slots.size() / 2);
    insert_at(in, place_for(in, what.remainder), what);
    return;
  }
  std::move_backward(in.slots.begin() + at, in.slots.begin() + free, in.slots.begin() + free + 1);
  in.slots[at] = what;
  ++in.used;
  ++size_;
}

}  // namespace bloomery::cli

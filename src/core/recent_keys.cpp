#include <bloomery/core/recent_keys.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<bool> recent_keys::add(const key& added) noexcept {
  if (added.bytes.size() > max_key_bytes) {
    std::array<char, 96> text{};
    std::snprintf(text.data(), text.size(), "a key of %zu bytes is too long to be remembered: at most %zu",
                  added.bytes.size(), max_key_bytes);
    return fail(errc::unsupported, text.data());
  }
  if (buffer_.size_bytes() == 0) {
    auto made = aligned_buffer::make(slots() * slot_bytes + ring_bytes(), "the list of keys", memory_);
    if (!made) return fail(made.error());
    buffer_ = std::move(*made);
  }
  if (contains(added)) return false;
  while (at_.keys >= most_keys()) drop_oldest();
  const auto length = static_cast<std::uint32_t>(added.bytes.size());
  const std::uint64_t place = room_for(record_bytes(length));
  store_le(record(place), added.digest);
  store_le(record(place) + 8, length | (added.is_digest ? digest_flag : 0U));
  if (length != 0) std::memcpy(record(place) + head_bytes, added.bytes.data(), length);
  const std::uint64_t tag = tag_of(added.digest);
  std::uint64_t free_slot = home(tag);
  while (slot(free_slot) != 0) free_slot = after(free_slot);
  set_slot(free_slot, tag << 32U | (place / 8 + 1));
  ++at_.keys;
  return true;
}

// The place of a new record, which is in the ring from now on.
BLOOMERY_BODY std::uint64_t recent_keys::room_for(std::uint64_t bytes) noexcept {
  while (true) {
    if (at_.records == 0) at_ = {.dropped = at_.dropped};
    const std::uint64_t free_bytes = (at_.wrapped ? at_.oldest : ring_bytes()) - at_.next;
    if (free_bytes >= bytes) break;
    if (at_.wrapped) {
      drop_oldest();
    } else {
      at_.end = at_.next;
      at_.next = 0;
      at_.wrapped = true;
    }
  }
  const std::uint64_t place = at_.next;
  at_.next += bytes;
  ++at_.records;
  return place;
}

BLOOMERY_BODY void recent_keys::drop_oldest() noexcept {
  const std::uint64_t place = at_.oldest;
  const std::uint32_t length = length_at(place);
  if ((length & erased_flag) == 0) {
    take_out(find(digest_at(place), [place](std::uint64_t found) { return found == place; }));
    ++at_.dropped;
  }
  --at_.records;
  at_.oldest += record_bytes(length & length_mask);
  if (at_.wrapped && at_.oldest == at_.end) {
    at_.oldest = 0;
    at_.wrapped = false;
  }
}

BLOOMERY_BODY void recent_keys::take_out(std::uint64_t slot_index) noexcept {
  const std::uint64_t place = place_in(slot(slot_index));
  store_le(record(place) + 8, length_at(place) | erased_flag);
  --at_.keys;
  const auto distance = [this](std::uint64_t from, std::uint64_t to) {
    return to >= from ? to - from : to + slots() - from;
  };
  std::uint64_t gap = slot_index;
  for (std::uint64_t i = after(gap); slot(i) != 0; i = after(i)) {
    if (distance(home(slot(i) >> 32U), i) < distance(gap, i)) continue;  // its search begins after the gap
    set_slot(gap, slot(i));
    gap = i;
  }
  set_slot(gap, 0);
}

}  // namespace bloomery::inline BLOOMERY_ABI

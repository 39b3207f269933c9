#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/compat/redis/cuckoo_chain.hpp>
#include <bloomery/hash/murmur64a.hpp>
#include <cstring>
#include <new>

namespace bloomery::inline BLOOMERY_ABI::redis {
namespace detail {

inline constexpr std::size_t cuckoo_wave = 64;

inline std::uint64_t used_slots(std::span<const std::byte> slots) noexcept {
  return slots.size() - static_cast<std::uint64_t>(std::count(slots.begin(), slots.end(), std::byte{0}));
}

}  // namespace detail

// ---- making and ending ----

BLOOMERY_BODY cuckoo_chain::cuckoo_chain(const cuckoo_head& head, const engine_limits& limits,
                                         const memory_hooks* memory) noexcept
    : hooks_(memory),
      removed_(head.removed),
      buckets_(head.buckets),
      max_sub_filters_(limits.max_sub_filters),
      slots_(static_cast<std::uint16_t>(head.slots)),
      moves_(static_cast<std::uint16_t>(head.moves)),
      growth_(static_cast<std::uint16_t>(head.growth)) {
  static_assert(sizeof(cuckoo_chain) <= 72 && sizeof(sub_filter) <= 16);
}

// With space for the sub-filters that the head states.
BLOOMERY_BODY result<owned<cuckoo_chain>> cuckoo_chain::make_empty(const cuckoo_head& head, const engine_limits& limits,
                                                                   const memory_hooks* memory) noexcept {
  auto object = block::make(sizeof(cuckoo_chain), memory);
  if (!object) return fail(object.error());
  auto list = block::make(head.sub_filters * sizeof(sub_filter), memory);
  if (!list) return fail(list.error());
  const memory_hooks* const hooks = object->hooks();
  owned<cuckoo_chain> chain(new (object->release()) cuckoo_chain(head, limits, hooks));
  chain->list_ = reinterpret_cast<sub_filter*>(list->release());
  chain->room_ = static_cast<std::uint32_t>(head.sub_filters);
  return chain;
}

BLOOMERY_BODY void cuckoo_chain::drop_newest() noexcept {
  static_cast<void>(block::adopt(list_[count_ - 1].slots, to_size(size_of(count_ - 1)), hooks_));
  --count_;
}

BLOOMERY_BODY void cuckoo_chain::destroy(cuckoo_chain* chain) noexcept {
  const memory_hooks* const hooks = chain->hooks_;
  while (chain->count_ != 0) chain->drop_newest();
  static_cast<void>(block::adopt(chain->list_, chain->room_ * sizeof(sub_filter), hooks));
  chain->~cuckoo_chain();
  static_cast<void>(block::adopt(chain, sizeof(cuckoo_chain), hooks));
}

BLOOMERY_BODY result<owned<cuckoo_chain>> cuckoo_chain::make(const cuckoo_settings& settings,
                                                             const engine_limits& limits,
                                                             const memory_hooks* memory) noexcept {
  const auto head = settings.head();
  if (!head) return fail(head.error());
  auto loader = cuckoo_loader::begin(*head, limits, memory);
  if (!loader) return fail(loader.error());
  auto first = block::make(head->bytes_of(0), memory);
  if (!first) return fail(first.error());
  if (auto added = loader->add(head->buckets, std::move(*first), 0); !added) return fail(added.error());
  return loader->finish();
}

BLOOMERY_BODY result<owned<cuckoo_chain>> cuckoo_chain::clone(const memory_hooks* memory) const noexcept {
  auto copy = make_empty(head(), {.max_sub_filters = max_sub_filters_}, memory != nullptr ? memory : hooks_);
  if (!copy) return fail(copy.error());
  (*copy)->keys_ = keys_;
  for (std::size_t i = 0; i < count_; ++i) {
    auto same = block::make(size_of(i), (*copy)->hooks_);
    if (!same) return fail(same.error());
    std::memcpy(same->data(), list_[i].slots, same->size_bytes());
    (*copy)->list_[(*copy)->count_++] = {same->release(), list_[i].buckets};
  }
  return copy;
}

BLOOMERY_BODY void cuckoo_chain::clear() noexcept {
  while (count_ > 1) drop_newest();
  std::memset(list_[0].slots, 0, to_size(size_of(0)));
  keys_ = 0;
  removed_ = 0;
}

// ---- growing ----

BLOOMERY_BODY cuckoo_chain::next_sub_filter cuckoo_chain::next() const noexcept {
  if (growth_ == 0) return {.outcome = insert_outcome::full};
  const std::uint64_t most = max_sub_filters_ == 0 ? cuckoo_head::max_sub_filters : max_sub_filters_;
  if (count_ >= std::min(most, cuckoo_head::max_sub_filters)) return {.outcome = insert_outcome::limit};
  const std::uint64_t bytes = head().bytes_of(count_);
  if (bytes == 0 || bytes > std::max(max_step_bytes, 16 * size_bytes())) return {.outcome = insert_outcome::limit};
  const std::uint32_t more = count_ < 8 ? 1 : count_ / 2;
  return {.buckets = bytes / slots_, .room = count_ < room_ ? room_ : count_ + more};
}

BLOOMERY_BODY std::uint64_t cuckoo_chain::next_growth_bytes() const noexcept {
  const next_sub_filter wanted = next();
  if (wanted.outcome != insert_outcome::inserted) return 0;
  return wanted.buckets * slots_ + (wanted.room == room_ ? 0 : wanted.room * sizeof(sub_filter));
}

BLOOMERY_BODY insert_outcome cuckoo_chain::grow() noexcept {
  const next_sub_filter wanted = next();
  if (wanted.outcome != insert_outcome::inserted) return wanted.outcome;
  auto slots = block::make(wanted.buckets * slots_, hooks_);
  if (!slots) return insert_outcome::no_memory;
  if (wanted.room != room_) {
    auto list = block::make(wanted.room * sizeof(sub_filter), hooks_);
    if (!list) return insert_outcome::no_memory;
    std::memcpy(list->data(), list_, count_ * sizeof(sub_filter));
    static_cast<void>(block::adopt(list_, room_ * sizeof(sub_filter), hooks_));
    list_ = reinterpret_cast<sub_filter*>(list->release());
    room_ = wanted.room;
  }
  list_[count_++] = {slots->release(), wanted.buckets};
  return insert_outcome::inserted;
}

// ---- keys ----

BLOOMERY_BODY std::uint64_t cuckoo_chain::digest_of(std::string_view key) noexcept {
  return murmur64a{}(key.data(), key.size());
}

BLOOMERY_BODY bool cuckoo_chain::may_contain(std::uint64_t digest) const noexcept {
  for (std::size_t i = count_; i-- > 0;) {
    const table_type slots = table(i);
    if (slots.contains(slots.key(digest))) return true;
  }
  return false;
}

BLOOMERY_BODY std::uint64_t cuckoo_chain::count(std::uint64_t digest) const noexcept {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const table_type slots = table(i);
    const kernels::cuckoo_key key = slots.key(digest);
    all += slots.holding(key.first, key.fingerprint) + slots.holding(key.other, key.fingerprint);
  }
  return all;
}
BLOOMERY_BODY std::uint64_t cuckoo_chain::slots_holding(std::uint64_t digest) const noexcept {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count_; ++i) all += table(i).count(table(i).key(digest));
  return all;
}

// Where no slot of the newest sub-filter is free, no move makes space: they would be undone. To see that is cheaper than
// the moves, when there are many for its size.
BLOOMERY_BODY bool cuckoo_chain::moves_may_help() const noexcept {
  const std::uint64_t size = size_of(count_ - 1);
  return size > std::uint64_t{16} * moves_ || std::memchr(list_[count_ - 1].slots, 0, to_size(size)) != nullptr;
}

BLOOMERY_BODY insert_outcome cuckoo_chain::insert(std::uint64_t digest) noexcept {
  while (true) {
    bool stored = false;
    for (std::size_t i = count_; i-- > 0 && !stored;) {
      const editor_type slots = editor(i);
      stored = slots.put_where_free(slots.key(digest));
    }
    if (!stored && moves_may_help()) {
      const editor_type newest = editor(count_ - 1);
      stored = newest.put_by_moves(newest.key(digest), moves_);
    }
    if (stored) {
      ++keys_;
      return insert_outcome::inserted;
    }
    if (const insert_outcome grown = grow(); grown != insert_outcome::inserted) return grown;
  }
}

BLOOMERY_BODY bool cuckoo_chain::erase(std::uint64_t digest) noexcept {
  for (std::size_t i = count_; i-- > 0;) {
    const editor_type slots = editor(i);
    if (kernels::cuckoo_erase(slots, slots.key(digest)) == 0) continue;
    keys_ -= keys_ == 0 ? 0 : 1;
    ++removed_;
    if (count_ > 1 && static_cast<double>(removed_) > static_cast<double>(keys_) * 0.10) compact_sub_filters(false);
    return true;
  }
  return false;
}

// Which of up to 64 digests a sub-filter may hold: both buckets of each are prefetched, then read. What was found is
// left out in older sub-filters.
BLOOMERY_BODY std::uint64_t cuckoo_chain::query(std::span<const std::uint64_t> digests) const noexcept {
  std::array<kernels::cuckoo_key, detail::cuckoo_wave> key;
  std::array<std::uint8_t, detail::cuckoo_wave> left;
  std::size_t count = digests.size();
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < count; ++i) left[i] = static_cast<std::uint8_t>(i);
  for (std::size_t sub = count_; sub-- > 0 && count != 0;) {
    const table_type slots = table(sub);
    for (std::size_t i = 0; i < count; ++i) {
      key[i] = slots.key(digests[left[i]]);
      slots.prefetch(key[i].first);
      slots.prefetch(key[i].other);
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t hit = slots.contains(key[i]) ? 1 : 0;
      found |= hit << left[i];
      left[kept] = left[i];
      kept += 1 - hit;
    }
    count = kept;
  }
  return found;
}

BLOOMERY_BODY void cuckoo_chain::may_contain_batch(std::span<const std::uint64_t> digests,
                                                   std::span<std::uint64_t> mask) const noexcept {
  for (std::size_t first = 0; first < digests.size(); first += detail::cuckoo_wave) {
    const std::size_t size = std::min(detail::cuckoo_wave, digests.size() - first);
    mask[first / 64] = query(digests.subspan(first, size));
  }
}
BLOOMERY_BODY void cuckoo_chain::may_contain_batch(std::span<const std::string_view> keys,
                                                   std::span<std::uint64_t> mask) const noexcept {
  std::array<std::uint64_t, detail::cuckoo_wave> digests;
  for (std::size_t first = 0; first < keys.size(); first += detail::cuckoo_wave) {
    const std::size_t size = std::min(detail::cuckoo_wave, keys.size() - first);
    for (std::size_t i = 0; i < size; ++i) digests[i] = digest_of(keys[first + i]);
    mask[first / 64] = query(std::span(digests).first(size));
  }
}

// An insert changes what the next one finds, so that a wave only fetches: what it found stays found, the rest is looked
// up again, in memory that is near now.
template <class Key, class Digest>
batch_inserted cuckoo_chain::insert_all(std::span<const Key> keys, copies rule, std::span<std::uint64_t> fresh,
                                        Digest&& digest) noexcept {
  const bool looks_up = rule == copies::drop || !fresh.empty();
  std::array<std::uint64_t, detail::cuckoo_wave> digests;
  batch_inserted all;
  std::fill(fresh.begin(), fresh.end(), 0);
  for (std::size_t first = 0; first < keys.size(); first += detail::cuckoo_wave) {
    const std::size_t size = std::min(detail::cuckoo_wave, keys.size() - first);
    for (std::size_t i = 0; i < size; ++i) digests[i] = digest(keys[first + i]);
    const std::uint64_t found = looks_up ? query(std::span(digests).first(size)) : 0;
    const table_type newest = table(count_ - 1);
    for (std::size_t i = 0; i < size && !looks_up; ++i) {
      newest.send_for_write(newest.key(digests[i]).first);
      newest.send_for_write(newest.key(digests[i]).other);
    }
    for (std::size_t i = 0; i < size; ++i) {
      const bool is_there = (found >> i & 1U) != 0 || (looks_up && may_contain(digests[i]));
      if (!is_there || rule == copies::keep) {
        const insert_outcome done = insert(digests[i]);
        if (done != insert_outcome::inserted) {
          all.stop = done;
          return all;
        }
      }
      ++all.taken;
      all.inserted += is_there ? 0 : 1;
      if (!fresh.empty()) fresh[first / 64] |= std::uint64_t{is_there ? 0U : 1U} << i;
    }
  }
  return all;
}

BLOOMERY_BODY batch_inserted cuckoo_chain::insert_batch(std::span<const std::string_view> keys, copies rule,
                                                        std::span<std::uint64_t> fresh) noexcept {
  return insert_all(keys, rule, fresh, [](std::string_view key) { return digest_of(key); });
}
BLOOMERY_BODY batch_inserted cuckoo_chain::insert_batch(std::span<const std::uint64_t> digests, copies rule,
                                                        std::span<std::uint64_t> fresh) noexcept {
  return insert_all(digests, rule, fresh, [](std::uint64_t digest) { return digest; });
}

// ---- emptying sub-filters ----

BLOOMERY_BODY std::uint64_t cuckoo_chain::max_compact_steps() const noexcept {
  return (std::uint64_t{1} << 24U) + 256 * size_bytes();
}

// What is in a sub-filter to free slots of the older ones, the oldest first. A bucket of a sub-filter names the two
// buckets of its keys in a smaller one, too: numbers of buckets are powers of two.
BLOOMERY_BODY bool cuckoo_chain::empty_into_older(std::size_t index, std::uint64_t max_steps) noexcept {
  const editor_type from = editor(index);
  bool emptied = true;
  if (size_of(index) > max_steps - std::min(compact_steps_, max_steps)) return false;
  compact_steps_ += size_of(index);
  for (std::uint64_t bucket = 0; bucket < from.buckets; ++bucket) {
    for (unsigned lane = 0; lane < from.slots; ++lane) {
      std::byte& slot = from.slot(bucket, lane);
      if (slot == std::byte{0}) continue;
      bool moved = false;
      for (std::size_t older = 0; older < index && !moved; ++older) {
        compact_steps_ += std::uint64_t{2} * from.slots;
        if (compact_steps_ > max_steps) return false;
        const editor_type to = editor(older);
        const auto fingerprint = std::to_integer<std::uint64_t>(slot);
        const std::uint64_t first = bucket & (to.buckets - 1);
        moved = to.put_where_free({first, to.other(first, fingerprint), fingerprint});
      }
      if (moved) slot = std::byte{0};
      emptied &= moved;
    }
  }
  return emptied;
}

// From the newest sub-filter on: all of them, or as long as they become empty. Only the last one can be dropped.
BLOOMERY_BODY void cuckoo_chain::compact_sub_filters(bool all) noexcept {
  // Once: it adds up all sub-filters.
  const std::uint64_t max_steps = all ? max_compact_steps() : std::min(max_compact_steps(), max_erase_steps);
  compact_steps_ = 0;
  for (std::size_t i = count_; i-- > 1;) {
    const bool emptied = empty_into_older(i, max_steps);
    if (!emptied && (!all || compact_steps_ > max_steps)) break;
    if (emptied && i == count_ - 1) drop_newest();
  }
  removed_ = 0;
}

// ---- what it is ----

BLOOMERY_BODY cuckoo_head cuckoo_chain::head() const noexcept {
  return {.keys = keys_,
          .buckets = buckets_,
          .removed = removed_,
          .sub_filters = count_,
          .slots = slots_,
          .moves = moves_,
          .growth = growth_};
}
BLOOMERY_BODY kernels::cuckoo_geometry cuckoo_chain::geometry(std::size_t index) const noexcept {
  return {.buckets = list_[index].buckets, .slot_bits = 8, .slots = slots_, .form = kernels::cuckoo_form::redis};
}
BLOOMERY_BODY std::uint64_t cuckoo_chain::size_bytes() const noexcept {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count_; ++i) all += size_of(i);
  return all;
}
BLOOMERY_BODY std::uint64_t cuckoo_chain::allocated_bytes() const noexcept {
  return sizeof(*this) + room_ * sizeof(sub_filter) + size_bytes();
}
BLOOMERY_BODY bool cuckoo_chain::equals(const cuckoo_chain& other) const noexcept {
  if (slots_ != other.slots_ || moves_ != other.moves_ || growth_ != other.growth_ || count_ != other.count_) {
    return false;
  }
  for (std::size_t i = 0; i < count_; ++i) {
    if (list_[i].buckets != other.list_[i].buckets) return false;
    if (std::memcmp(list_[i].slots, other.list_[i].slots, to_size(size_of(i))) != 0) return false;
  }
  return true;
}

BLOOMERY_BODY cuckoo_chain* cuckoo_chain::relocate(cuckoo_chain* chain, const block_mover& mover) noexcept {
  chain = mover.moved(chain, sizeof(cuckoo_chain));
  chain->list_ = mover.moved(chain->list_, chain->room_ * sizeof(sub_filter));
  for (std::size_t i = 0; i < chain->count_; ++i) {
    chain->list_[i].slots = mover.moved(chain->list_[i].slots, chain->size_of(i));
  }
  return chain;
}

// ---- bytes ----

BLOOMERY_BODY void cuckoo_chain::write_header(std::span<std::byte> out) const noexcept {
  byte_writer to(out);
  head().write(to);
}

BLOOMERY_BODY dump_chunk cuckoo_chain::scan(std::int64_t iterator, std::uint64_t most) const noexcept {
  if (iterator < 1) return {};
  const auto size = [this](std::size_t i) { return size_of(i); };
  const auto place = detail::find_chunk(count_, static_cast<std::uint64_t>(iterator) - 1, size);
  if (!place.found) return {};
  const std::uint64_t length = std::min(most, size(place.sub_filter) - place.offset);
  return {iterator + static_cast<std::int64_t>(length),
          slots(place.sub_filter).subspan(to_size(place.offset), to_size(length))};
}

BLOOMERY_BODY chunk_outcome cuckoo_chain::load_chunk(std::int64_t iterator, std::span<const std::byte> bytes) noexcept {
  const auto to = detail::find_target(iterator, bytes.size(), count_, [this](std::size_t i) { return size_of(i); });
  if (to.outcome == chunk_outcome::loaded && !bytes.empty()) {
    std::byte* const at = list_[to.place.sub_filter].slots + to.place.offset;
    keys_ -= detail::used_slots({at, bytes.size()});
    std::memcpy(at, bytes.data(), bytes.size());
    keys_ += detail::used_slots(bytes);
  }
  return to.outcome;
}

BLOOMERY_BODY result<owned<cuckoo_chain>> cuckoo_chain::from_header(std::span<const std::byte> header,
                                                                    const engine_limits& limits,
                                                                    const memory_hooks* memory) noexcept {
  if (header.size() != header_bytes) {
    return fail(header.size() < header_bytes ? errc::truncated : errc::trailing_bytes, {},
                {header.size(), header_bytes});
  }
  const cuckoo_head head = cuckoo_head::read(header);
  auto loader = cuckoo_loader::begin(head, limits, memory);
  if (!loader) return fail(loader.error());
  for (std::uint64_t i = 0; i < head.sub_filters; ++i) {
    auto slots = block::make(head.bytes_of(i), memory);
    if (!slots) return fail(slots.error());
    if (auto added = loader->add(head.buckets_of(i), std::move(*slots), 0); !added) return fail(added.error());
  }
  return loader->finish();
}

BLOOMERY_BODY result<cuckoo_loader> cuckoo_loader::begin(const cuckoo_head& head, const engine_limits& limits,
                                                         const memory_hooks* memory) noexcept {
  if (auto usable = check_cuckoo(head); !usable) return fail(usable.error());
  if (!head.size_bytes(limits.max_load_bytes)) return fail(errc::bad_field, "number of buckets", {head.buckets});
  auto chain = cuckoo_chain::make_empty(head, limits, memory);
  if (!chain) return fail(chain.error());
  return cuckoo_loader(head, std::move(*chain));
}

BLOOMERY_BODY result<void> cuckoo_loader::add(std::uint64_t buckets, block slots) noexcept {
  const std::uint64_t used = detail::used_slots(slots.bytes());
  return add(buckets, std::move(slots), used);
}
BLOOMERY_BODY result<void> cuckoo_loader::add(std::uint64_t buckets, block slots, std::uint64_t used) noexcept {
  const std::uint64_t place = chain_ ? chain_->sub_filters() : head_.sub_filters;
  if (place == head_.sub_filters) return fail(errc::bad_field, "number of sub-filters", {head_.sub_filters + 1});
  if (buckets != head_.buckets_of(place)) return fail(errc::bad_field, "buckets of a sub-filter", {buckets});
  if (slots.size_bytes() != head_.bytes_of(place)) {
    return fail(errc::bad_field, "bytes of a sub-filter", {slots.size_bytes()});
  }
  chain_->keys_ += used;
  chain_->list_[chain_->count_++] = {slots.release(), buckets};
  return {};
}

BLOOMERY_BODY result<owned<cuckoo_chain>> cuckoo_loader::finish() noexcept {
  owned<cuckoo_chain> done = std::move(chain_);
  if (!done || done->sub_filters() != head_.sub_filters) {
    return fail(errc::bad_field, "number of sub-filters", {done ? done->sub_filters() : 0});
  }
  return done;
}

}  // namespace bloomery::inline BLOOMERY_ABI::redis

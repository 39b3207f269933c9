#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/compat/redis/bloom_chain.hpp>
#include <bloomery/hash/murmur2.hpp>
#include <bloomery/hash/murmur64a.hpp>
#include <cstring>
#include <new>

namespace bloomery::inline BLOOMERY_ABI::redis {

// ---- making and ending ----

BLOOMERY_BODY bloom_chain::bloom_chain(const bloom_head& head, const engine_limits& limits,
                                       const memory_hooks* memory) noexcept
    : hooks_(memory),
      options_(static_cast<std::uint32_t>(head.options)),
      growth_(static_cast<std::uint32_t>(head.growth)),
      max_sub_filters_(limits.max_sub_filters) {
  static_assert(sizeof(bloom_chain) <= 40 && sizeof(sub_filter) <= 64);
}

BLOOMERY_BODY result<owned<bloom_chain>> bloom_chain::make_empty(const bloom_head& head, const engine_limits& limits,
                                                                 const memory_hooks* memory,
                                                                 std::uint64_t room) noexcept {
  auto object = block::make(sizeof(bloom_chain), memory);
  if (!object) return fail(object.error());
  auto list = block::make(room * sizeof(sub_filter), memory);
  if (!list) return fail(list.error());
  const memory_hooks* const hooks = object->hooks();
  owned<bloom_chain> chain(new (object->release()) bloom_chain(head, limits, hooks));
  chain->list_ = reinterpret_cast<sub_filter*>(list->release());
  chain->room_ = static_cast<std::uint32_t>(room);
  return chain;
}

BLOOMERY_BODY void bloom_chain::destroy(bloom_chain* chain) noexcept {
  const memory_hooks* const hooks = chain->hooks_;
  for (std::size_t i = 0; i < chain->count_; ++i) {
    static_cast<void>(block::adopt(chain->list_[i].bits, to_size(chain->list_[i].size_bytes), hooks));
  }
  static_cast<void>(block::adopt(chain->list_, chain->room_ * sizeof(sub_filter), hooks));
  chain->~bloom_chain();
  static_cast<void>(block::adopt(chain, sizeof(bloom_chain), hooks));
}

// There is space.
BLOOMERY_BODY void bloom_chain::push(const bloom_record& record, block bits) noexcept {
  const std::uint64_t size_bytes = bits.size_bytes();
  list_[count_++] = {.bits = bits.release(),
                     .size_bytes = size_bytes,
                     .bit_count = record.bits,
                     .keys = record.keys,
                     .capacity = record.capacity,
                     .error_rate = record.error_rate,
                     .bits_per_key = record.bits_per_key,
                     .hashes = static_cast<std::uint32_t>(record.hashes),
                     .log2_bits = static_cast<std::uint8_t>(record.log2_bits)};
}

BLOOMERY_BODY result<owned<bloom_chain>> bloom_chain::make(const bloom_settings& settings, const engine_limits& limits,
                                                           const memory_hooks* memory) noexcept {
  const bloom_head head{.sub_filters = 1, .options = settings.options, .growth = settings.growth};
  if (auto usable = check_bloom(head); !usable) return fail(usable.error());
  if (!(settings.error_rate > 0 && settings.error_rate < 1)) return fail_number(errc::bad_fpr, settings.error_rate);
  if (settings.capacity == 0 || settings.capacity > max_keys) {
    return fail(errc::bad_field, "capacity of a sub-filter", {settings.capacity});
  }
  if (head.scales() && (settings.growth == 0 || settings.growth > max_growth)) {
    return fail(errc::bad_growth, {}, {settings.growth, max_growth});
  }
  const auto record =
      bloom_record::sized(settings.capacity, settings.error_rate * (head.scales() ? 0.5 : 1.0), settings.options);
  if (!record) return fail(record.error());
  auto chain = make_empty(head, limits, memory, 1);
  if (!chain) return fail(chain.error());
  auto bits = block::make(record->size_bytes, memory);
  if (!bits) return fail(bits.error());
  (*chain)->push(*record, std::move(*bits));
  return chain;
}

BLOOMERY_BODY result<owned<bloom_chain>> bloom_chain::clone(const memory_hooks* memory) const noexcept {
  auto copy = make_empty(head(), {.max_sub_filters = max_sub_filters_}, memory != nullptr ? memory : hooks_, count_);
  if (!copy) return fail(copy.error());
  for (std::size_t i = 0; i < count_; ++i) {
    auto same = block::make(list_[i].size_bytes, (*copy)->hooks_);
    if (!same) return fail(same.error());
    std::memcpy(same->data(), list_[i].bits, same->size_bytes());
    (*copy)->push(record(i), std::move(*same));
  }
  return copy;
}

BLOOMERY_BODY void bloom_chain::clear() noexcept {
  for (; count_ > 1; --count_) {
    static_cast<void>(block::adopt(list_[count_ - 1].bits, to_size(list_[count_ - 1].size_bytes), hooks_));
  }
  std::memset(list_[0].bits, 0, to_size(list_[0].size_bytes));
  list_[0].keys = 0;
}

// ---- growing ----

BLOOMERY_BODY bloom_chain::next_sub_filter bloom_chain::next() const noexcept {
  const sub_filter& last = list_[count_ - 1];
  if (!scales() || growth_ == 0 || growth_ > max_growth || last.capacity == 0 || last.capacity > max_keys / growth_) {
    return {.outcome = insert_outcome::full};
  }
  const std::uint64_t most = max_sub_filters_ == 0 ? max_bloom_sub_filters : max_sub_filters_;
  if (count_ >= std::min(most, max_bloom_sub_filters)) return {.outcome = insert_outcome::limit};
  const auto record = bloom_record::sized(last.capacity * growth_, last.error_rate / 2, options_);
  if (!record) return {.outcome = insert_outcome::full};
  // One by one first, for most filters stay small; by halves later.
  const std::uint32_t more = count_ < 8 ? 1 : count_ / 2;
  return {.record = *record, .room = count_ < room_ ? room_ : count_ + more};
}

BLOOMERY_BODY std::uint64_t bloom_chain::next_growth_bytes() const noexcept {
  const next_sub_filter wanted = next();
  if (wanted.outcome != insert_outcome::inserted) return 0;
  return wanted.record.size_bytes + (wanted.room == room_ ? 0 : wanted.room * sizeof(sub_filter));
}

BLOOMERY_BODY insert_outcome bloom_chain::grow(const digest128& first) noexcept {
  const next_sub_filter wanted = next();
  if (wanted.outcome != insert_outcome::inserted) return wanted.outcome;
  auto bits = block::make(wanted.record.size_bytes, hooks_);
  if (!bits) return insert_outcome::no_memory;
  if (wanted.room != room_) {
    auto list = block::make(wanted.room * sizeof(sub_filter), hooks_);
    if (!list) return insert_outcome::no_memory;
    std::memcpy(list->data(), list_, count_ * sizeof(sub_filter));
    static_cast<void>(block::adopt(list_, room_ * sizeof(sub_filter), hooks_));
    list_ = reinterpret_cast<sub_filter*>(list->release());
    room_ = wanted.room;
  }
  push(wanted.record, std::move(*bits));
  kernels::redis_touch(list_[count_ - 1].view(), first);
  return insert_outcome::inserted;
}

// ---- keys ----

BLOOMERY_BODY digest128 bloom_chain::digest_of(std::string_view key) const noexcept {
  return (options_ & hashes_64) != 0 ? murmur64a_pair(key.data(), key.size())
                                     : paired_murmur2{}.hash128(key.data(), key.size());
}

BLOOMERY_BODY bool bloom_chain::may_contain(const digest128& digest) const noexcept {
  for (std::size_t i = count_; i-- > 0;) {
    if (kernels::redis_contains(list_[i].view(), digest)) return true;
  }
  return false;
}

BLOOMERY_BODY insert_outcome bloom_chain::insert_absent(const digest128& digest) noexcept {
  if (list_[count_ - 1].room() == 0) {
    if (const insert_outcome grown = grow(digest); grown != insert_outcome::inserted) return grown;
  }
  sub_filter& newest = list_[count_ - 1];
  kernels::redis_insert(newest.view(), digest);
  ++newest.keys;
  return insert_outcome::inserted;
}

// Which of up to 64 digests one of the sub-filters before `end` may hold. What was found is left out from then on.
BLOOMERY_BODY std::uint64_t bloom_chain::query(std::span<const digest128> digests, std::size_t end) const noexcept {
  std::array<digest128, kernels::redis_wave> packed;
  std::array<std::uint8_t, kernels::redis_wave> place;
  std::span<const digest128> left = digests;
  std::uint64_t found = 0;
  bool is_packed = false;
  for (std::size_t i = end; i-- > 0 && !left.empty();) {
    const std::uint64_t here = kernels::redis_contains_wave(list_[i].view(), left);
    if (!is_packed) found |= here;
    if (here == 0 || (i == 0 && !is_packed)) continue;
    std::size_t kept = 0;
    for (std::size_t n = 0; n < left.size(); ++n) {
      const std::size_t at = is_packed ? place[n] : n;
      const std::uint64_t hit = here >> n & 1U;
      found |= hit << at;
      packed[kept] = left[n];
      place[kept] = static_cast<std::uint8_t>(at);
      kept += 1 - hit;
    }
    is_packed = true;
    left = std::span<const digest128>(packed).first(kept);
  }
  return found;
}

BLOOMERY_BODY void bloom_chain::may_contain_batch(std::span<const digest128> digests,
                                                  std::span<std::uint64_t> mask) const noexcept {
  for (std::size_t first = 0; first < digests.size(); first += kernels::redis_wave) {
    const std::size_t size = std::min(kernels::redis_wave, digests.size() - first);
    mask[first / 64] = query(digests.subspan(first, size), count_);
  }
}

BLOOMERY_BODY void bloom_chain::may_contain_batch(std::span<const std::string_view> keys,
                                                  std::span<std::uint64_t> mask) const noexcept {
  std::array<digest128, kernels::redis_wave> digests;
  for (std::size_t first = 0; first < keys.size(); first += kernels::redis_wave) {
    const std::size_t size = std::min(kernels::redis_wave, keys.size() - first);
    for (std::size_t i = 0; i < size; ++i) digests[i] = digest_of(keys[first + i]);
    mask[first / 64] = query(std::span(digests).first(size), count_);
  }
}

// Up to 64 digests, until one needs a sub-filter more. The older sub-filters do not change meanwhile.
BLOOMERY_BODY batch_inserted bloom_chain::insert_wave(std::span<const digest128> digests,
                                                      std::uint64_t& fresh) noexcept {
  std::array<digest128, kernels::redis_wave> left;
  std::array<std::uint8_t, kernels::redis_wave> place;
  const std::uint64_t found = query(digests, count_ - 1);
  std::size_t count = 0;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    left[count] = digests[i];
    place[count] = static_cast<std::uint8_t>(i);
    count += 1 - (found >> i & 1U);
  }
  sub_filter& newest = list_[count_ - 1];
  const kernels::redis_inserted done =
      kernels::redis_insert_wave(newest.view(), std::span(left).first(count), newest.room());
  fresh = 0;
  for (std::size_t i = 0; i < done.taken; ++i) fresh |= (done.fresh >> i & 1U) << place[i];
  const auto inserted = static_cast<std::uint64_t>(std::popcount(done.fresh));
  newest.keys += inserted;
  return {.taken = done.taken == count ? digests.size() : place[done.taken], .inserted = inserted};
}

template <class Key, class Digest>
batch_inserted bloom_chain::insert_all(std::span<const Key> keys, std::span<std::uint64_t> fresh,
                                       Digest&& digest) noexcept {
  std::array<digest128, kernels::redis_wave> digests;
  batch_inserted all;
  for (std::size_t word = 0; word < (keys.size() + 63) / 64; ++word) fresh[word] = 0;
  for (std::size_t first = 0; first < keys.size(); first += kernels::redis_wave) {
    const std::size_t size = std::min(kernels::redis_wave, keys.size() - first);
    for (std::size_t i = 0; i < size; ++i) digests[i] = digest(keys[first + i]);
    for (std::size_t at = 0; at < size;) {
      std::uint64_t here = 0;
      const batch_inserted some = insert_wave(std::span(digests).subspan(at, size - at), here);
      fresh[first / 64] |= here << at;
      at += some.taken;
      all.taken += some.taken;
      all.inserted += some.inserted;
      if (at == size) break;
      all.stop = grow(digests[at]);
      if (all.stop != insert_outcome::inserted) return all;
    }
  }
  return all;
}

BLOOMERY_BODY batch_inserted bloom_chain::insert_batch(std::span<const std::string_view> keys,
                                                       std::span<std::uint64_t> fresh) noexcept {
  return insert_all(keys, fresh, [this](std::string_view key) { return digest_of(key); });
}
BLOOMERY_BODY batch_inserted bloom_chain::insert_batch(std::span<const digest128> digests,
                                                       std::span<std::uint64_t> fresh) noexcept {
  return insert_all(digests, fresh, [](const digest128& digest) { return digest; });
}

// ---- what it is ----

BLOOMERY_BODY std::uint64_t bloom_chain::keys() const noexcept {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count_; ++i) all += list_[i].keys;
  return all;
}
BLOOMERY_BODY std::uint64_t bloom_chain::capacity() const noexcept {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < count_; ++i) all += std::min(list_[i].capacity, max_keys - all);
  return all;
}
BLOOMERY_BODY bloom_head bloom_chain::head() const noexcept {
  return {.keys = keys(), .sub_filters = count_, .options = options_, .growth = growth_};
}
BLOOMERY_BODY bloom_record bloom_chain::record(std::size_t index) const noexcept {
  const sub_filter& of = list_[index];
  return {.size_bytes = of.size_bytes,
          .bits = of.bit_count,
          .keys = of.keys,
          .error_rate = of.error_rate,
          .bits_per_key = of.bits_per_key,
          .hashes = of.hashes,
          .capacity = of.capacity,
          .log2_bits = of.log2_bits};
}
BLOOMERY_BODY std::uint64_t bloom_chain::info_bytes() const noexcept {
  std::uint64_t all = 32 + std::uint64_t{64} * count_;
  for (std::size_t i = 0; i < count_; ++i) all += list_[i].size_bytes;
  return all;
}
BLOOMERY_BODY std::uint64_t bloom_chain::allocated_bytes() const noexcept {
  std::uint64_t all = 0;
  for_each_block([&](const void*, std::uint64_t bytes) { all += bytes; });
  return all;
}
BLOOMERY_BODY bool bloom_chain::equals(const bloom_chain& other) const noexcept {
  if (options_ != other.options_ || growth_ != other.growth_ || count_ != other.count_) return false;
  for (std::size_t i = 0; i < count_; ++i) {
    if (!(record(i) == other.record(i))) return false;
    if (std::memcmp(list_[i].bits, other.list_[i].bits, to_size(list_[i].size_bytes)) != 0) return false;
  }
  return true;
}

BLOOMERY_BODY bloom_chain* bloom_chain::relocate(bloom_chain* chain, const block_mover& mover) noexcept {
  chain = mover.moved(chain, sizeof(bloom_chain));
  chain->list_ = mover.moved(chain->list_, chain->room_ * sizeof(sub_filter));
  for (std::size_t i = 0; i < chain->count_; ++i) {
    chain->list_[i].bits = mover.moved(chain->list_[i].bits, chain->list_[i].size_bytes);
  }
  return chain;
}

// ---- bytes ----

BLOOMERY_BODY void bloom_chain::write_header(std::span<std::byte> out) const noexcept {
  byte_writer to(out);
  head().write(to);
  for (std::size_t i = 0; i < count_; ++i) record(i).write(to);
}

BLOOMERY_BODY dump_chunk bloom_chain::scan(std::int64_t iterator, std::uint64_t most) const noexcept {
  if (iterator < 1) return {};
  const auto size = [this](std::size_t i) { return list_[i].size_bytes; };
  const auto place = detail::find_chunk(count_, static_cast<std::uint64_t>(iterator) - 1, size);
  if (!place.found) return {};
  const std::uint64_t length = std::min(most, size(place.sub_filter) - place.offset);
  return {iterator + static_cast<std::int64_t>(length),
          bits(place.sub_filter).subspan(to_size(place.offset), to_size(length))};
}

BLOOMERY_BODY chunk_outcome bloom_chain::load_chunk(std::int64_t iterator, std::span<const std::byte> bytes) noexcept {
  const auto to =
      detail::find_target(iterator, bytes.size(), count_, [this](std::size_t i) { return list_[i].size_bytes; });
  if (to.outcome == chunk_outcome::loaded && !bytes.empty()) {
    std::memcpy(list_[to.place.sub_filter].bits + to.place.offset, bytes.data(), bytes.size());
  }
  return to.outcome;
}

BLOOMERY_BODY result<owned<bloom_chain>> bloom_chain::from_header(std::span<const std::byte> header,
                                                                  const engine_limits& limits,
                                                                  const memory_hooks* memory) noexcept {
  if (header.size() < bloom_head::size_bytes) return fail(errc::truncated, {}, {header.size(), bloom_head::size_bytes});
  const bloom_head head = bloom_head::read(header);
  if (auto usable = check_bloom(head); !usable) return fail(usable.error());
  if (header.size() != head.header_bytes()) {
    return fail(header.size() < head.header_bytes() ? errc::truncated : errc::trailing_bytes, {},
                {header.size(), head.header_bytes()});
  }
  const auto record_at = [&](std::uint64_t i) {
    return bloom_record::read(header.subspan(to_size(bloom_head::size_bytes + i * bloom_record::stored_bytes)));
  };
  // All of it before anything is allocated.
  std::uint64_t keys = 0;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < head.sub_filters; ++i) {
    const bloom_record record = record_at(i);
    if (auto usable = check_bloom(record); !usable) return fail(usable.error());
    if (record.keys > max_keys - keys) return fail(errc::bad_field, "keys of a sub-filter", {record.keys});
    if (record.size_bytes > limits.max_load_bytes - bytes) return fail(errc::bad_field, "bits", {record.bits});
    keys += record.keys;
    bytes += record.size_bytes;
  }
  if (keys != head.keys) return fail(errc::bad_field, "keys", {head.keys});
  auto loader = bloom_loader::begin(head, limits, memory);
  if (!loader) return fail(loader.error());
  for (std::uint64_t i = 0; i < head.sub_filters; ++i) {
    auto bits = block::make(record_at(i).size_bytes, memory);
    if (!bits) return fail(bits.error());
    if (auto added = loader->add(record_at(i), std::move(*bits)); !added) return fail(added.error());
  }
  return loader->finish();
}

BLOOMERY_BODY result<bloom_loader> bloom_loader::begin(const bloom_head& head, const engine_limits& limits,
                                                       const memory_hooks* memory) noexcept {
  if (auto usable = check_bloom(head); !usable) return fail(usable.error());
  auto chain = bloom_chain::make_empty(head, limits, memory, head.sub_filters);
  if (!chain) return fail(chain.error());
  return bloom_loader(head, limits, std::move(*chain));
}

BLOOMERY_BODY result<void> bloom_loader::add(const bloom_record& record, block bits, bool whole_bytes) noexcept {
  if (!chain_ || chain_->sub_filters() == head_.sub_filters) {
    return fail(errc::bad_field, "number of sub-filters", {head_.sub_filters + 1});
  }
  if (auto usable = check_bloom(record, whole_bytes); !usable) return usable;
  if (bits.size_bytes() != record.size_bytes)
    return fail(errc::bad_field, "bytes of a sub-filter", {bits.size_bytes()});
  if (record.keys > max_keys - keys_) return fail(errc::bad_field, "keys of a sub-filter", {record.keys});
  if (record.size_bytes > limits_.max_load_bytes - bytes_) return fail(errc::bad_field, "bits", {record.bits});
  keys_ += record.keys;
  bytes_ += record.size_bytes;
  chain_->push(record, std::move(bits));
  return {};
}

BLOOMERY_BODY result<owned<bloom_chain>> bloom_loader::finish() noexcept {
  owned<bloom_chain> done = std::move(chain_);
  if (!done || done->sub_filters() != head_.sub_filters) {
    return fail(errc::bad_field, "number of sub-filters", {done ? done->sub_filters() : 0});
  }
  if (keys_ != head_.keys) return fail(errc::bad_field, "keys", {head_.keys});
  return done;
}

}  // namespace bloomery::inline BLOOMERY_ABI::redis

// wrappers/any_shards_model.hpp: the implementation of any_filter's virtual boundary for a filter in shards.
// Included by wrappers/any_shards.hpp; see there.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/any_filter.hpp>
#include <bloomery/core/aligned_list.hpp>
#include <bloomery/core/shared_lock.hpp>
#include <bloomery/core/threads.hpp>
#include <bloomery/posix/shard_set.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

using shard_list = aligned_list<any_filter>;

// An error of a file names that file; an error of the whole filter does not.
inline failure fail_part(unsigned index, std::size_t count, const error& why) noexcept {
  const bool of_a_file = why.code >= errc::io && why.code <= errc::codec_failed;
  return of_a_file ? fail_shard(index, static_cast<unsigned>(count), why) : fail(why);
}

// Work on every shard, on several threads; of several errors, that of the lowest shard.
template <class Work>
result<void> for_each_shard(unsigned threads, std::size_t count, Work&& work) noexcept {
  shared_lock lock;
  std::size_t failed_at = count;
  error why;
  run_tasks(threads, count, [&](std::uint64_t index, unsigned /*thread*/) {
    const result<void> done = work(static_cast<unsigned>(index));
    if (done) return;
    const write_guard alone(lock);
    if (index >= failed_at) return;
    failed_at = index;
    why = done.error();
  });
  if (failed_at == count) return {};
  return fail(why);
}

struct in_shards final : filter_model {
  in_shards(shard_list from, unsigned with_threads) noexcept
      : parts(std::move(from)), threads(with_threads == 0 ? machine_threads() : with_threads) {}
  static result<any_filter> wrap(shard_list parts, const hash_spec& hash, unsigned threads) noexcept {
    auto made = owned(std::move(parts), threads);
    if (!made) return fail(made.error());
    return any_filter::adopt(std::move(*made), hash);
  }

  [[nodiscard]] unsigned shards() const noexcept override { return static_cast<unsigned>(parts.size()); }
  [[nodiscard]] const any_filter* shard(unsigned index) const noexcept override { return &parts[index]; }
  [[nodiscard]] const kind_info& info() const noexcept override { return parts[0].info(); }
  [[nodiscard]] bool is_mapped() const noexcept override {
    return std::any_of(parts.begin(), parts.end(), [](const any_filter& part) { return part.is_mapped(); });
  }
  [[nodiscard]] inline stored_shape shape() const noexcept override;
  [[nodiscard]] named_values describe() const noexcept override { return parts[0].describe(); }
  [[nodiscard]] inline result<filter_stats> stats() const noexcept override;
  [[nodiscard]] inline result<std::span<const std::byte>> bytes() const noexcept override;
  result<std::uint64_t> insert(std::span<const std::uint64_t> digests) noexcept override { return insert_any(digests); }
  result<std::uint64_t> insert(std::span<const digest128> digests) noexcept override { return insert_any(digests); }
  result<void> may_contain(std::span<const std::uint64_t> digests,
                           std::span<std::uint64_t> mask) const noexcept override {
    return query_any(digests, mask);
  }
  result<void> may_contain(std::span<const digest128> digests, std::span<std::uint64_t> mask) const noexcept override {
    return query_any(digests, mask);
  }
  inline result<std::uint64_t> erase(std::span<const std::uint64_t> digests) noexcept override;
  inline result<void> count(std::span<const std::uint64_t> digests,
                            std::span<std::uint64_t> counts) const noexcept override;
  result<void> merge(const filter_model& other, merge_fpr rate) noexcept override {
    return combine(other, [rate](any_filter& into, const any_filter& from) { return into.merge(from, rate); });
  }
  result<void> intersect(const filter_model& other) noexcept override {
    return combine(other, [](any_filter& into, const any_filter& from) { return into.intersect(from); });
  }
  [[nodiscard]] bool merge_may_fail() const noexcept override { return true; }
  [[nodiscard]] result<std::unique_ptr<filter_model>> fold(std::uint64_t factor) const noexcept override {
    return copies([factor](const any_filter& part) { return part.fold(factor); });
  }
  [[nodiscard]] inline std::uint64_t fold_units() const noexcept override;
  [[nodiscard]] result<std::unique_ptr<filter_model>> clone() const noexcept override {
    return copies([](const any_filter& part) { return part.clone(); });
  }
  inline result<void> clear() noexcept override;
  [[nodiscard]] inline bool equals(const filter_model& other) const noexcept override;
  // Not used: only filters in as many shards come together here.
  [[nodiscard]] const void* kind_object() const noexcept override { return nullptr; }
  [[nodiscard]] result<void> save(const char* path, const hash_spec& /*hash*/,
                                  const save_options& options) const noexcept override {
    return save_shards(path, shards(), options, [&](unsigned i, byte_sink sink, const save_options& how) {
      return parts[i].save_to(sink, how);
    });
  }
  [[nodiscard]] result<void> save_to(const byte_sink& /*sink*/, const hash_spec& /*hash*/,
                                     const save_options& /*options*/) const noexcept override {
    return fail(errc::unsupported, "a filter in shards is a set of files: give them a name");
  }

  static result<std::unique_ptr<filter_model>> owned(shard_list parts, unsigned threads) noexcept {
    std::unique_ptr<filter_model> self(new (std::nothrow) in_shards(std::move(parts), threads));
    if (self == nullptr) return fail(errc::out_of_memory, "the filter", {sizeof(in_shards)});
    return self;
  }
  template <class Copy>
  result<std::unique_ptr<filter_model>> copies(Copy&& copy) const noexcept;
  // Gives every shard its digests: work(shard, digests) -> how many it changed.
  template <class Digest, class Work>
  result<std::uint64_t> deal(std::span<const Digest> digests, Work&& work) noexcept;
  template <class Digest>
  result<std::uint64_t> insert_any(std::span<const Digest> digests) noexcept;
  // Calls work(shard, its digests, their places in the group, place of the group) for every shard of every group.
  template <class Digest, class Work>
  result<void> for_each_group(std::span<const Digest> digests, Work&& work) const noexcept;
  template <class Digest>
  result<void> query_any(std::span<const Digest> digests, std::span<std::uint64_t> mask) const noexcept;
  template <class Join>
  result<void> combine(const filter_model& other, Join&& join) noexcept;

  shard_list parts;
  unsigned threads;
};

inline stored_shape in_shards::shape() const noexcept {
  stored_shape all = parts[0].shape();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const stored_shape one = parts[i].shape();
    all.capacity_keys += one.capacity_keys;
    all.keys += one.keys;
    all.keys_exact = all.keys_exact && one.keys_exact;
  }
  return all;
}

// Counts add up; a share is that of the keys, of which each shard has as many as the others.
inline loss_state joined(loss_state all, const loss_state& one, unsigned shards) noexcept {
  all.added_keys += one.added_keys;
  all.removals += one.removals;
  all.capacity_removals += one.capacity_removals;
  all.returned += one.returned;
  all.return_slots += one.return_slots;
  all.target_rate = std::max(all.target_rate, one.target_rate);
  all.rate += one.rate / shards;
  return all;
}

inline result<filter_stats> in_shards::stats() const noexcept {
  filter_stats all;
  for (unsigned i = 0; i < parts.size(); ++i) {
    const auto one = parts[i].stats();
    if (!one) return fail_part(i, parts.size(), one.error());
    all.capacity_keys += one->capacity_keys;
    all.target_fpr = std::max(all.target_fpr, one->target_fpr);
    all.keys.keys += one->keys.keys;
    all.keys.exact = all.keys.exact && one->keys.exact;
    all.estimated_keys += one->estimated_keys;
    // A look-up reads one shard, each as likely as the others.
    all.fill += one->fill / shards();
    all.fpr_now += one->fpr_now / shards();
    all.delivered_fpr += one->delivered_fpr / shards();
    all.memory_bytes += one->memory_bytes;
    all.cells = {all.cells.cells + one->cells.cells, one->cells.hashes, all.cells.blocks + one->cells.blocks};
    if (one->saturated) all.saturated = all.saturated.value_or(0) + *one->saturated;
    if (one->loss) all.loss = joined(all.loss.value_or(loss_state{}), *one->loss, shards());
    if (!one->window) continue;
    if (!all.window) all.window = window_state{.covered_ns = one->window->covered_ns};
    all.window->generation = std::max(all.window->generation, one->window->generation);
    all.window->guaranteed_keys += one->window->guaranteed_keys;
    all.window->covered_keys += one->window->covered_keys;
    all.window->guaranteed_ns = one->window->guaranteed_ns;
    all.window->covered_ns = std::min(all.window->covered_ns, one->window->covered_ns);
  }
  return all;
}

inline result<std::span<const std::byte>> in_shards::bytes() const noexcept {
  for (unsigned i = 0; i < parts.size(); ++i) {
    if (auto whole = parts[i].bytes(); !whole) return fail_part(i, parts.size(), whole.error());
  }
  return std::span<const std::byte>{};
}

template <class Digest, class Work>
result<std::uint64_t> in_shards::deal(std::span<const Digest> digests, Work&& work) noexcept {
  constexpr std::size_t worth_threads = 16384;
  auto memory = aligned_buffer::make(digests.size_bytes(), "the digests of the shards");
  if (!memory) return fail(memory.error());
  auto* const sorted = reinterpret_cast<Digest*>(memory->data());
  dealt_digests<Digest> dealt;
  dealt.count(digests, shards());
  auto next = dealt.ends;
  for (const Digest& digest : digests) sorted[next[shard_of(digest, shards())]++] = digest;
  std::atomic<std::uint64_t> changed = 0;
  const auto done =
      for_each_shard(digests.size() < worth_threads ? 1 : threads, parts.size(), [&](unsigned shard) -> result<void> {
        const std::span<const Digest> own = dealt.of(shard, sorted);
        if (own.empty()) return {};
        const auto some = work(shard, own);
        if (!some) return fail(some.error());
        changed.fetch_add(*some, std::memory_order_relaxed);
        return {};
      });
  if (!done) return fail(done.error());
  return changed.load();
}

template <class Digest>
result<std::uint64_t> in_shards::insert_any(std::span<const Digest> digests) noexcept {
  std::atomic<std::uint64_t> taken = 0;
  auto done = deal(digests, [&](unsigned shard, std::span<const Digest> own) {
    auto changed = parts[shard].insert(own);
    taken.fetch_add(changed ? own.size() : changed.error().number[1], std::memory_order_relaxed);
    return changed;
  });
  if (done || (done.error().code != errc::full && done.error().code != errc::too_many_copies)) return done;
  error why = done.error();
  if (why.code == errc::full) why.number[0] = shape().keys;
  why.number[1] = taken.load();
  return fail(why);
}

inline result<std::uint64_t> in_shards::erase(std::span<const std::uint64_t> digests) noexcept {
  return deal(digests, [&](unsigned shard, std::span<const std::uint64_t> own) { return parts[shard].erase(own); });
}

template <class Digest, class Work>
result<void> in_shards::for_each_group(std::span<const Digest> digests, Work&& work) const noexcept {
  constexpr std::size_t group = shard_sorter<Digest>::most;
  shard_sorter<Digest> sorted;
  for (std::size_t first = 0; first < digests.size(); first += group) {
    sorted.sort(digests.subspan(first, std::min(group, digests.size() - first)), shards());
    for (unsigned i = 0; i < shards(); ++i) {
      if (sorted.digests(i).empty()) continue;
      if (auto done = work(i, sorted.digests(i), sorted.from(i), first); !done) {
        return fail_part(i, parts.size(), done.error());
      }
    }
  }
  return {};
}

template <class Digest>
result<void> in_shards::query_any(std::span<const Digest> digests, std::span<std::uint64_t> mask) const noexcept {
  std::fill_n(mask.begin(), mask_words(digests.size()), 0);
  std::array<std::uint64_t, mask_words(shard_sorter<Digest>::most)> answers{};
  return for_each_group(digests, [&](unsigned shard, auto own, auto from, std::size_t first) {
    auto asked = parts[shard].may_contain(own, answers);
    for (std::size_t i = 0; asked && i < own.size(); ++i) {
      const std::size_t to = first + from[i];
      mask[to / 64] |= (answers[i / 64] >> (i % 64) & 1U) << (to % 64);
    }
    return asked;
  });
}

inline result<void> in_shards::count(std::span<const std::uint64_t> digests,
                                     std::span<std::uint64_t> counts) const noexcept {
  std::array<std::uint64_t, shard_sorter<std::uint64_t>::most> answers{};
  return for_each_group(digests, [&](unsigned shard, auto own, auto from, std::size_t first) {
    auto counted = parts[shard].count(own, answers);
    for (std::size_t i = 0; counted && i < own.size(); ++i) counts[first + from[i]] = answers[i];
    return counted;
  });
}

template <class Copy>
result<std::unique_ptr<filter_model>> in_shards::copies(Copy&& copy) const noexcept {
  shard_list list;
  if (auto room = list.reserve(parts.size(), "the shards", nullptr); !room) return fail(room.error());
  for (unsigned i = 0; i < parts.size(); ++i) {
    auto made = copy(parts[i]);
    if (!made) return fail_part(i, parts.size(), made.error());
    list.push(std::move(*made));
  }
  return owned(std::move(list), threads);
}

template <class Join>
result<void> in_shards::combine(const filter_model& other, Join&& join) noexcept {
  // Bits of equal shapes always come together, so they may be changed where they are; else all succeed or none.
  bool in_place = true;
  for (unsigned i = 0; i < parts.size(); ++i) {
    const stored_shape ours = parts[i].shape();
    const stored_shape theirs = other.shard(i)->shape();
    in_place =
        in_place && !parts[i].merge_may_fail() && ours.field == theirs.field && ours.digest_bits == theirs.digest_bits;
  }
  if (in_place) {  // any_filter has seen that every byte of the other is whole
    return for_each_shard(threads, parts.size(), [&](unsigned i) { return join(parts[i], *other.shard(i)); });
  }
  auto copy = clone();
  if (!copy) return fail(copy.error());
  shard_list& joined = static_cast<in_shards&>(**copy).parts;
  auto done = for_each_shard(threads, joined.size(), [&](unsigned i) -> result<void> {
    if (auto one = join(joined[i], *other.shard(i)); !one) return fail_part(i, joined.size(), one.error());
    return {};
  });
  if (done) parts = std::move(joined);
  return done;
}

inline std::uint64_t in_shards::fold_units() const noexcept {
  const std::uint64_t units = parts[0].fold_units();
  const bool alike =
      std::all_of(parts.begin(), parts.end(), [&](const any_filter& p) { return p.fold_units() == units; });
  return alike ? units : 0;
}

inline result<void> in_shards::clear() noexcept {
  for (any_filter& part : parts) {
    if (auto done = part.clear(); !done) return done;
  }
  return {};
}

inline bool in_shards::equals(const filter_model& other) const noexcept {
  for (unsigned i = 0; i < parts.size(); ++i) {
    if (!(parts[i] == *other.shard(i))) return false;
  }
  return true;
}

}  // namespace detail

}  // namespace bloomery::inline BLOOMERY_ABI

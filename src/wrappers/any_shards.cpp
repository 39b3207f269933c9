#include <algorithm>
#include <atomic>
#include <bloomery/core/shared_lock.hpp>
#include <bloomery/core/threads.hpp>
#include <bloomery/wrappers/any_shards.hpp>
#include <bloomery/wrappers/any_shards_model.hpp>
#include <optional>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

// An error of a file names that file; an error of the whole filter does not.
inline failure fail_part(unsigned index, std::size_t count, const error& why) noexcept {
  return group_of(why.code) == error_group::file ? fail_shard(index, static_cast<unsigned>(count), why) : fail(why);
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
    failed_at = to_size(index);
    why = done.error();
  });
  if (failed_at == count) return {};
  return fail(why);
}

// ---- making, building and reading them ----

BLOOMERY_BODY result<shard_list> room_for_shards(std::uint64_t shards, const memory_hooks* memory) noexcept {
  if (auto usable = check_shards(shards); !usable) return fail(usable.error());
  shard_list list;
  if (auto room = list.reserve(shards, "the shards", memory); !room) return fail(room.error());
  return list;
}

// Equal digests are in one shard, so a digest must distinguish all keys, not those of its shard.
BLOOMERY_BODY result<void> check_shard_digests(const any_filter& one, const hash_info* hash,
                                               std::uint64_t keys) noexcept {
  if (one.info().exact || one.info().grows) return {};
  const unsigned needed = sizing::hash_bits_needed(keys == 0 ? 1 : keys, one.shape().fpr);
  const unsigned has = std::min<unsigned>(hash->bits, one.digest_bits());
  if (has >= needed) return {};
  return fail(errc::not_enough_hash_bits, hash->name, {keys, needed, has});
}

// The first shard of all; `one` is what the others are made with, as well.
BLOOMERY_BODY result<any_filter> make_first(const filter_params& all, const hash_info* hash, unsigned shards,
                                            filter_params& one, const shard_maker& make_one) noexcept {
  auto made = make_one(one);
  if (!made) return made;
  const std::uint64_t keys = all.keys.value_or(made->shape().capacity_keys * shards);
  const auto fits = check_shard_digests(*made, hash, keys);
  if (fits) return made;
  if (!made->capabilities().takes_digest128 || made->digest_bits() != 64 || hash->bits < 128) return fail(fits.error());
  one.takes_digest128 = true;
  auto wider = make_one(one);
  if (!wider) return wider;
  if (auto enough = check_shard_digests(*wider, hash, keys); !enough) return fail(enough.error());
  return wider;
}

BLOOMERY_BODY result<shard_list> make_shard_list(const filter_params& params, const hash_info* hash, unsigned shards,
                                                 const shard_maker& make_one) noexcept {
  auto list = room_for_shards(shards, params.memory);
  if (!list) return list;
  filter_params one = shard_params(params, shards);
  for (unsigned i = 0; i < shards; ++i) {
    auto made = i == 0 ? make_first(params, hash, shards, one, make_one) : make_one(one);
    if (!made) return fail(made.error());
    list->push(std::move(*made));
  }
  return list;
}

BLOOMERY_BODY result<shard_list> build_shard_list(const filter_params& params, const hash_info* hash,
                                                  const shard_lists& lists, const shard_setup& setup,
                                                  const shard_builder& build_one) noexcept {
  auto list = room_for_shards(setup.shards, params.memory);
  if (!list) return list;
  auto room = aligned_list<std::optional<any_filter>>();
  if (auto got = room.reserve(setup.shards, "the shards", params.memory); !got) return fail(got.error());
  for (unsigned i = 0; i < setup.shards; ++i) room.push({});
  const filter_params one = shard_params(params, setup.shards);
  const auto dealt = sort_by_shard(lists.digests, setup.shards, params.memory);
  if (!dealt) return fail(dealt.error());
  const auto others = sort_by_shard(lists.excluded, setup.shards, params.memory);
  if (!others) return fail(others.error());
  // One thread a shard where there are enough of them; each shard that is being built takes memory for it.
  const unsigned threads = setup.threads == 0 ? machine_threads() : setup.threads;
  const unsigned at_once = std::min(threads, setup.shards);
  std::atomic<std::uint64_t> in_both = 0;
  const auto built = for_each_shard(at_once, setup.shards, [&](unsigned i) -> result<void> {
    const shard_lists own{dealt->of(i, lists.digests.data()), others->of(i, lists.excluded.data())};
    auto made = build_one(one, own, threads / at_once);
    if (!made && made.error().code == errc::in_both_lists) in_both.fetch_add(made.error().number[0]);
    if (!made) return fail(made.error());
    room[i] = std::move(*made);
    return {};
  });
  if (!built) {
    error why = built.error();
    if (why.code == errc::in_both_lists) why.number[0] = in_both.load();  // of all shards
    return fail(why);
  }
  // Digests that came again count once, as they do in a filter in one piece.
  std::uint64_t keys = 0;
  for (auto& part : room) keys += part->shape().capacity_keys;
  for (auto& part : room) {
    // Where memory or two lists decide, their FPRs differ.
    if (auto fits = check_shard_digests(*part, hash, keys); !fits) return fail(fits.error());
    list->push(std::move(*part));
  }
  return list;
}

BLOOMERY_BODY result<shard_list> read_shard_files(file_path path, unsigned shards, const load_options& options,
                                                  const shard_reader& read_one) noexcept {
  if (shards == 0) {
    const auto found = find_shards(path.c_str());
    if (!found) return fail(found.error());
    if (*found == 0) return fail(errc::io, "there are no shards of it: no file FILE.00-of-04, whatever the number");
    shards = *found;
  }
  auto list = room_for_shards(shards, options.memory);
  if (!list) return list;
  load_options how = options;
  how.shard = true;
  shard_place first{};
  for (unsigned i = 0; i < shards; ++i) {
    const shard_path name(path.c_str(), i, shards);
    if (!name.fits) return fail_errno("cannot open", ENAMETOOLONG);
    auto part = read_one(i, shards, name.c_str(), how);
    if (!part) return fail(part.error());
    if (i == 0) first = part->place;
    if (auto right = check_place(part->place, i, shards, first); !right) return fail(right.error());
    list->push(std::move(part->filter));
    const any_filter& zero = (*list)[0];
    const any_filter& last = list->back();
    if (last.info().id != zero.info().id || !(last.hash() == zero.hash()) || last.digest_bits() != zero.digest_bits()) {
      return fail_shard(i, shards, "is of another kind or hash than shard 00: give the files that were saved together");
    }
  }
  return list;
}
BLOOMERY_BODY result<shard_list> read_shard_list(file_path path, unsigned shards, const load_options& options,
                                                 const shard_reader& read_one) noexcept {
  return name_file(read_shard_files(path, shards, options, read_one), path);
}

// ---- the shards as one filter ----

BLOOMERY_BODY in_shards::in_shards(shard_list from, unsigned with_threads) noexcept
    : parts(std::move(from)), threads(with_threads == 0 ? machine_threads() : with_threads) {}

BLOOMERY_BODY result<any_filter> in_shards::wrap(result<shard_list> parts, const filter_hash& hash,
                                                 unsigned threads) noexcept {
  if (!parts) return fail(parts.error());
  auto made = owned(std::move(*parts), threads);
  if (!made) return fail(made.error());
  return any_filter::adopt(std::move(*made), hash);
}

BLOOMERY_BODY result<std::unique_ptr<filter_model>> in_shards::owned(shard_list parts, unsigned threads) noexcept {
  std::unique_ptr<filter_model> self(new (std::nothrow) in_shards(std::move(parts), threads));
  if (self == nullptr) return fail(errc::out_of_memory, "the filter", {sizeof(in_shards)});
  return self;
}

BLOOMERY_BODY stored_shape in_shards::shape() const noexcept {
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

// The value of all shards so far and of one more; a mean is that of all keys.
inline fact_value joined(const fact& all, const fact_value& one, double keys_before, double keys) noexcept {
  if (all.value.holds() != one.holds()) return all.value;
  const bool is_real = one.holds() == fact_value::type::real;
  switch (all.join) {
    case fact_join::each:
      return all.value;
    case fact_join::sum:
      return is_real ? fact_value(all.value.real() + one.real()) : fact_value(all.value.integer() + one.integer());
    case fact_join::most:
      return is_real ? fact_value(std::max(all.value.real(), one.real()))
                     : fact_value(std::max(all.value.integer(), one.integer()));
    case fact_join::least:
      return is_real ? fact_value(std::min(all.value.real(), one.real()))
                     : fact_value(std::min(all.value.integer(), one.integer()));
    case fact_join::mean:
      if (!is_real || !(keys > 0)) return all.value;
      return fact_value((all.value.real() * keys_before + one.real() * keys) / (keys_before + keys));
  }
  return all.value;
}
inline void join_facts(fact_list& all, const fact_list& one, double keys_before, double keys) noexcept {
  for (const fact& each : one) {
    fact* const known =
        std::find_if(all.begin(), all.end(), [&](const fact& other) { return other.name == each.name; });
    if (known == all.end()) {
      all.add(each);
    } else {
      known->value = joined(*known, each.value, keys_before, keys);
    }
  }
}

BLOOMERY_BODY result<filter_stats> in_shards::stats() const noexcept {
  filter_stats all;
  for (unsigned i = 0; i < parts.size(); ++i) {
    const auto one = parts[i].stats();
    if (!one) return fail_part(i, parts.size(), one.error());
    const auto keys_before = static_cast<double>(all.keys.keys);
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
    all.cell_bits = one->cell_bits;
    join_facts(all.facts, one->facts, keys_before, static_cast<double>(one->keys.keys));
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

BLOOMERY_BODY result<void> in_shards::verify() const noexcept {
  for (unsigned i = 0; i < parts.size(); ++i) {
    if (auto whole = parts[i].model().verify(); !whole) return fail_part(i, parts.size(), whole.error());
  }
  return {};
}

BLOOMERY_BODY result<explanation> in_shards::explain(const digest_span& digest) const noexcept {
  const unsigned index = digest.bits() == 128 ? shard_of(digest.as<digest128>()[0], shards())
                                              : shard_of(digest.as<std::uint64_t>()[0], shards());
  auto one = parts[index].model().explain(digest);
  if (!one) return fail_part(index, parts.size(), one.error());
  one->set_shard(index, shards());
  return one;
}

BLOOMERY_BODY std::uint64_t in_shards::allocated_bytes() const noexcept {
  std::uint64_t bytes = sizeof(*this);
  for (const any_filter& part : parts) bytes += part.allocated_bytes();
  return bytes;
}

BLOOMERY_BODY result<std::span<const std::byte>> in_shards::bytes() const noexcept {
  if (auto whole = verify(); !whole) return fail(whole.error());
  return std::span<const std::byte>{};
}

template <class Digest, class Work>
result<std::uint64_t> in_shards::deal(std::span<const Digest> digests, Work&& work) noexcept {
  constexpr std::size_t worth_threads = 16384;
  auto memory = aligned_buffer::make(digests.size_bytes(), "the digests of the shards");
  if (!memory) return fail(memory.error());
  auto* const sorted = reinterpret_cast<Digest*>(memory->data());
  auto dealt = dealt_digests::make(digests, shards(), nullptr);
  if (!dealt) return fail(dealt.error());
  for (const Digest& digest : digests) sorted[dealt->next(shard_of(digest, shards()))++] = digest;
  std::atomic<std::uint64_t> changed = 0;
  const auto done =
      for_each_shard(digests.size() < worth_threads ? 1 : threads, parts.size(), [&](unsigned shard) -> result<void> {
        const std::span<const Digest> own = dealt->of(shard, sorted);
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
result<std::uint64_t> in_shards::add_all(std::span<const Digest> digests) noexcept {
  std::atomic<std::uint64_t> taken = 0;
  auto done = deal(digests, [&](unsigned shard, std::span<const Digest> own) {
    auto changed = model(shard).add(own);
    taken.fetch_add(changed ? own.size() : changed.error().number[1], std::memory_order_relaxed);
    return changed;
  });
  if (done || !is_full(done.error())) return done;
  error why = done.error();
  if (why.code == errc::full) why.number[0] = shape().keys;
  why.number[1] = taken.load();
  return fail(why);
}

BLOOMERY_BODY result<std::uint64_t> in_shards::erase(std::span<const std::uint64_t> digests) noexcept {
  return deal(digests, [&](unsigned shard, std::span<const std::uint64_t> own) { return model(shard).erase(own); });
}

template <class Digest>
result<void> in_shards::query_all(std::span<const Digest> digests, std::span<std::uint64_t> mask) const noexcept {
  std::fill_n(mask.begin(), mask_words(digests.size()), 0);
  std::array<std::uint64_t, mask_words(shard_sorter<Digest>::most)> answers{};
  return for_each_shard_group(digests, shards(),
                              [&](unsigned shard, auto own, auto from, std::size_t first) -> result<void> {
                                if (auto found = parts[shard].model().may_contain(own, answers); !found) {
                                  return fail_part(shard, parts.size(), found.error());
                                }
                                spread_answers(answers, from, first, mask);
                                return {};
                              });
}

BLOOMERY_BODY result<void> in_shards::count(std::span<const std::uint64_t> digests,
                                            std::span<std::uint64_t> counts) const noexcept {
  std::array<std::uint64_t, shard_sorter<std::uint64_t>::most> answers{};
  return for_each_shard_group(digests, shards(),
                              [&](unsigned shard, auto own, auto from, std::size_t first) -> result<void> {
                                if (auto counted = parts[shard].model().count(own, answers); !counted) {
                                  return fail_part(shard, parts.size(), counted.error());
                                }
                                for (std::size_t i = 0; i < own.size(); ++i) counts[first + from[i]] = answers[i];
                                return {};
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

BLOOMERY_BODY result<std::uint64_t> in_shards::add(const digest_span& digests) noexcept {
  return digests.bits() == 128 ? add_all(digests.as<digest128>()) : add_all(digests.as<std::uint64_t>());
}
BLOOMERY_BODY result<void> in_shards::may_contain(const digest_span& digests,
                                                  std::span<std::uint64_t> mask) const noexcept {
  return digests.bits() == 128 ? query_all(digests.as<digest128>(), mask)
                               : query_all(digests.as<std::uint64_t>(), mask);
}
BLOOMERY_BODY result<void> in_shards::merge(const filter_model& other, merge_fpr rate) noexcept {
  return combine(other, [rate](any_filter& into, const any_filter& from) { return into.merge(from, rate); });
}
BLOOMERY_BODY result<void> in_shards::intersect(const filter_model& other) noexcept {
  return combine(other, [](any_filter& into, const any_filter& from) { return into.intersect(from); });
}
BLOOMERY_BODY result<std::unique_ptr<filter_model>> in_shards::fold(std::uint64_t factor) const noexcept {
  return copies([factor](const any_filter& part) { return part.fold(factor); });
}
BLOOMERY_BODY result<std::unique_ptr<filter_model>> in_shards::clone() const noexcept {
  return copies([](const any_filter& part) { return part.clone(); });
}

BLOOMERY_BODY std::uint64_t in_shards::fold_units() const noexcept {
  const std::uint64_t units = parts[0].fold_units();
  const bool alike =
      std::all_of(parts.begin(), parts.end(), [&](const any_filter& p) { return p.fold_units() == units; });
  return alike ? units : 0;
}

BLOOMERY_BODY result<void> in_shards::clear() noexcept {
  for (any_filter& part : parts) {
    if (auto done = part.clear(); !done) return done;
  }
  return {};
}

BLOOMERY_BODY bool in_shards::equals(const filter_model& other) const noexcept {
  for (unsigned i = 0; i < parts.size(); ++i) {
    if (!(parts[i] == *other.shard(i))) return false;
  }
  return true;
}

// ---- shards of a kind that is known at run time ----

BLOOMERY_BODY result<any_filter> read_set(file_path path, const open_shards_options& how) noexcept {
  auto opened = open_shard_files(path, 0, how);
  if (!opened) return fail(opened.error());
  return std::move(opened->filter);
}

}  // namespace detail

BLOOMERY_BODY result<any_filter> make_shards(std::string_view kind, const filter_params& params,
                                             const filter_hash& hash, const shard_setup& setup) noexcept {
  auto list = detail::make_shard_list(params, find_hash(hash.spec().id), setup.shards,
                                      [&](const filter_params& one) { return any_filter::make(kind, one, hash); });
  return detail::in_shards::wrap(std::move(list), hash, setup.threads);
}

BLOOMERY_BODY result<any_filter> build_shards(std::string_view kind, const filter_params& params,
                                              const filter_hash& hash, std::span<std::uint64_t> digests,
                                              const shard_setup& setup) noexcept {
  auto list = detail::build_shard_list(params, find_hash(hash.spec().id), {digests}, setup,
                                       [&](const filter_params& one, const detail::shard_lists& own, unsigned threads) {
                                         return any_filter::build_digests(kind, one, hash, own.digests, threads);
                                       });
  return detail::in_shards::wrap(std::move(list), hash, setup.threads);
}

BLOOMERY_BODY result<any_filter> build_shards(std::string_view kind, const filter_params& params,
                                              const filter_hash& hash, std::span<std::uint64_t> digests,
                                              std::span<std::uint64_t> excluded, const shard_setup& setup) noexcept {
  auto list =
      detail::build_shard_list(params, find_hash(hash.spec().id), {digests, excluded}, setup,
                               [&](const filter_params& one, const detail::shard_lists& own, unsigned threads) {
                                 return any_filter::build_digests(kind, one, hash, own.digests, own.excluded, threads);
                               });
  return detail::in_shards::wrap(std::move(list), hash, setup.threads);
}

BLOOMERY_BODY result<any_filter> load_shards(file_path path, const load_options& options, unsigned threads) noexcept {
  return detail::read_set(path, {.load = options, .in_memory = true, .threads = threads});
}

BLOOMERY_BODY result<any_filter> open_shards(file_path path, const load_options& options, unsigned threads) noexcept {
  return detail::read_set(path, {.load = options, .in_memory = false, .threads = threads});
}

// Somebody may write a new set meanwhile: header and payload are of one file, because it is opened once, and the stamp in
// the header distinguishes the sets.
BLOOMERY_BODY result<opened_shards> open_shard_files(file_path path, unsigned shards,
                                                     const open_shards_options& how) noexcept {
  file_header first{};
  std::uint64_t size_bytes = 0;
  const auto read_file = [&](unsigned i, unsigned count, const input_file& file,
                             const load_options& as_shard) -> result<detail::stored_shard> {
    const auto native = native_file::read(file, how.load);
    if (!native) return fail_shard(i, count, native.error());
    if (i == 0) first = native->header();
    if (auto right = check_place(native->header().shard, i, count, first.shard); !right) return fail(right.error());
    auto part = how.in_memory ? any_filter::load(*native, as_shard) : any_filter::open(*native, as_shard);
    if (!part) return detail::fail_part(i, count, part.error());
    size_bytes += native->size_bytes();
    return detail::stored_shard{std::move(*part), native->header().shard};
  };
  auto list = detail::read_shard_list(
      path, shards, how.load,
      [&](unsigned i, unsigned count, const char* name, const load_options& as_shard) -> result<detail::stored_shard> {
        if (i == 0 && how.first != nullptr) return read_file(i, count, *how.first, as_shard);
        const auto file = input_file::open(name);
        if (!file) return fail_shard(i, count, file.error());
        return read_file(i, count, *file, as_shard);
      });
  if (!list) return fail(list.error());
  const hash_spec hash = (*list)[0].hash();
  auto filter = detail::in_shards::wrap(std::move(list), hash, how.threads);
  if (!filter) return fail(filter.error());
  return opened_shards{std::move(*filter), first, size_bytes};
}

}  // namespace bloomery::inline BLOOMERY_ABI

#include <algorithm>
#include <atomic>
#include <bloomery/wrappers/any_shards.hpp>
#include <bloomery/wrappers/any_shards_model.hpp>
#include <optional>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

BLOOMERY_BODY result<shard_list> room_for_shards(std::uint64_t shards, const memory_hooks* memory) noexcept {
  if (auto usable = check_shards(shards); !usable) return fail(usable.error());
  shard_list list;
  if (auto room = list.reserve(shards, "the shards", memory); !room) return fail(room.error());
  return list;
}

// Equal digests are in one shard, so a digest must distinguish all keys, not those of its shard.
BLOOMERY_BODY result<void> check_shard_digests(const any_filter& one, std::uint64_t keys) noexcept {
  const hash_info* hash = find_hash(one.hash().id);
  if (hash == nullptr || one.info().exact || one.info().grows) return {};
  const unsigned needed = sizing::hash_bits_needed(keys == 0 ? 1 : keys, one.shape().fpr);
  const unsigned has = std::min<unsigned>(hash->bits, one.digest_bits());
  if (has >= needed) return {};
  return fail(errc::not_enough_hash_bits, hash->name, {keys, needed, has});
}

// The same for shards that were built: where memory or two lists decide, their FPRs differ. Digests that came again
// count once, as they do in a filter in one piece.
BLOOMERY_BODY result<void> check_built_digests(const shard_list& shards) noexcept {
  std::uint64_t keys = 0;
  for (const any_filter& part : shards) keys += part.shape().capacity_keys;
  for (const any_filter& part : shards) {
    if (auto fits = check_shard_digests(part, keys); !fits) return fits;
  }
  return {};
}

// All shards, each by build_one(shard, threads for it).
template <class BuildOne>
result<any_filter> build_each(const filter_params& params, const hash_spec& hash, const shard_setup& setup,
                              BuildOne&& build_one) noexcept {
  auto list = room_for_shards(setup.shards, params.memory);
  if (!list) return fail(list.error());
  auto room = aligned_list<std::optional<any_filter>>();
  if (auto got = room.reserve(setup.shards, "the shards", params.memory); !got) return fail(got.error());
  for (unsigned i = 0; i < setup.shards; ++i) room.push({});
  // One thread a shard where there are enough of them; each shard that is being built takes memory for it.
  const unsigned threads = setup.threads == 0 ? machine_threads() : setup.threads;
  const unsigned at_once = std::min(threads, setup.shards);
  std::atomic<std::uint64_t> in_both = 0;
  const auto built = for_each_shard(at_once, setup.shards, [&](unsigned i) -> result<void> {
    auto made = build_one(i, threads / at_once);
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
  for (auto& part : room) list->push(std::move(*part));
  if (auto fits = check_built_digests(*list); !fits) return fail(fits.error());
  return in_shards::wrap(std::move(*list), hash, setup.threads);
}

// The first shard of all; `one` is what the others are made with, as well.
BLOOMERY_BODY result<any_filter> make_first(std::string_view kind, const filter_params& all, const hash_spec& hash,
                                            unsigned shards, filter_params& one) noexcept {
  auto made = any_filter::make(kind, one, hash);
  if (!made) return made;
  const std::uint64_t keys = all.keys.value_or(made->shape().capacity_keys * shards);
  const auto fits = check_shard_digests(*made, keys);
  if (fits) return made;
  if (!made->info().takes_digest128 || made->digest_bits() != 64 || find_hash(hash.id)->bits < 128) {
    return fail(fits.error());
  }
  one.takes_digest128 = true;
  auto wider = any_filter::make(kind, one, hash);
  if (!wider) return wider;
  if (auto enough = check_shard_digests(*wider, keys); !enough) return fail(enough.error());
  return wider;
}

BLOOMERY_BODY result<any_filter> read_shards(const char* path, const load_options& options, unsigned threads,
                                             result<any_filter> (*read)(const char*, const load_options&)) noexcept {
  const auto shards = find_shards(path);
  if (!shards) return fail(shards.error());
  if (*shards == 0) return fail(errc::io, "there are no shards of it: no file FILE.00-of-04, whatever the number");
  auto list = room_for_shards(*shards, options.memory);
  if (!list) return fail(list.error());
  load_options how = options;
  how.shard = true;
  shard_place first{};
  for (unsigned i = 0; i < *shards; ++i) {
    const shard_path name(path, i, *shards);
    if (!name.fits) return fail_errno("cannot open", ENAMETOOLONG);
    const auto before = read_header(name.c_str());
    if (!before) return fail_shard(i, *shards, before.error());
    if (i == 0) first = before->shard;
    if (auto right = check_place(before->shard, i, *shards, first); !right) return fail(right.error());
    auto part = read(name.c_str(), how);
    if (!part) return fail_part(i, *shards, part.error());
    // Somebody may write a new set at this moment: what was read is what the header stated only if it still states so.
    const auto after = read_header(name.c_str());
    if (!after) return fail_shard(i, *shards, after.error());
    if (auto right = check_place(after->shard, i, *shards, first); !right) return fail(right.error());
    list->push(std::move(*part));
    const any_filter& zero = (*list)[0];
    const any_filter& last = list->back();
    if (last.info().id != zero.info().id || !(last.hash() == zero.hash()) || last.digest_bits() != zero.digest_bits()) {
      return fail_shard(i, *shards,
                        "is of another kind or hash than shard 00: give the files that were saved together");
    }
  }
  const hash_spec hash = (*list)[0].hash();
  return in_shards::wrap(std::move(*list), hash, threads);
}

}  // namespace detail
}  // namespace bloomery::inline BLOOMERY_ABI

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<any_filter> make_shards(std::string_view kind, const filter_params& params, const hash_spec& hash,
                                             const shard_setup& setup) noexcept {
  auto list = detail::room_for_shards(setup.shards, params.memory);
  if (!list) return fail(list.error());
  filter_params one = shard_params(params, setup.shards);
  for (unsigned i = 0; i < setup.shards; ++i) {
    auto made = i == 0 ? detail::make_first(kind, params, hash, setup.shards, one) : any_filter::make(kind, one, hash);
    if (!made) return fail(made.error());
    list->push(std::move(*made));
  }
  return detail::in_shards::wrap(std::move(*list), hash, setup.threads);
}

BLOOMERY_BODY result<any_filter> build_shards(std::string_view kind, const filter_params& params, const hash_spec& hash,
                                              std::span<std::uint64_t> digests, const shard_setup& setup) noexcept {
  if (auto usable = check_shards(setup.shards); !usable) return fail(usable.error());
  const filter_params one = shard_params(params, setup.shards);
  const auto dealt = detail::sort_by_shard(digests, setup.shards);
  return detail::build_each(params, hash, setup, [&](unsigned i, unsigned threads) {
    return any_filter::build(kind, one, hash, dealt.of(i, digests.data()), threads);
  });
}

BLOOMERY_BODY result<any_filter> build_shards(std::string_view kind, const filter_params& params, const hash_spec& hash,
                                              std::span<std::uint64_t> digests, std::span<std::uint64_t> excluded,
                                              const shard_setup& setup) noexcept {
  if (auto usable = check_shards(setup.shards); !usable) return fail(usable.error());
  const filter_params one = shard_params(params, setup.shards);
  const auto dealt = detail::sort_by_shard(digests, setup.shards);
  const auto others = detail::sort_by_shard(excluded, setup.shards);
  return detail::build_each(params, hash, setup, [&](unsigned i, unsigned threads) {
    return any_filter::build(kind, one, hash, dealt.of(i, digests.data()), others.of(i, excluded.data()), threads);
  });
}

BLOOMERY_BODY result<any_filter> load_shards(const char* path, const load_options& options, unsigned threads) noexcept {
  return detail::read_shards(path, options, threads,
                             [](const char* name, const load_options& how) { return any_filter::load(name, how); });
}

BLOOMERY_BODY result<any_filter> open_shards(const char* path, const load_options& options, unsigned threads) noexcept {
  return detail::read_shards(path, options, threads,
                             [](const char* name, const load_options& how) { return any_filter::open(name, how); });
}

}  // namespace bloomery::inline BLOOMERY_ABI

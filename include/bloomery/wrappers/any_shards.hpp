// wrappers/any_shards.hpp: a filter in shards whose kind is known at run time: an any_filter over the parts of wrappers/sharded.hpp.
//
//     auto seen = bloomery::make_shards("cuckoo", {.keys = 1'000'000, .fpr = 0.01}, hash.spec(), {.shards = 16});
//     seen->insert(digests);                           // dealt out to the shards, which are filled side by side
//     seen->save("seen.bloom");                        // seen.bloom.00-of-16 to seen.bloom.15-of-16
//     auto again = bloomery::open_shards("seen.bloom");      // every file memory-mapped where it allows
//
// The same shards, files and bytes as sharded<K> has, whatever the number of threads. It does what any_filter does, with
// these differences: shards() is not 0; save writes a set of files, and save_to, which is for one, refuses; bytes() is
// empty; describe() is that of the first shard; in shape() and stats(), keys and capacities are sums and shares are means.
//
// An insert into a kind with an end takes every digest whose shard has room. Then it fails with errc::full: number[0]
// keys are in the filter, and number[1] digests of the batch were taken, which need not be its first.
// A merge takes a filter of as many shards; when one of them refuses, all are as they were.
//
// Threads       as any_filter: one that changes it, or any number that ask it.
#pragma once

#include <atomic>
#include <bloomery/wrappers/any_shards_model.hpp>
#include <optional>

namespace bloomery::inline BLOOMERY_ABI {

struct shard_setup {
  unsigned shards = 1;   // 1 to max_shards
  unsigned threads = 0;  // that fill, build and merge them; 0: all processors
};

// A new, empty filter: each shard is made for its part of the keys and a little more.
result<any_filter> make_shards(std::string_view kind, const filter_params& params, const hash_spec& hash,
                               const shard_setup& setup) noexcept;
// A filter of all these digests, which are put in another order: see any_filter::build. With a second list for kinds that
// exclude digests: both are cut, and a shard may have nothing of either.
result<any_filter> build_shards(std::string_view kind, const filter_params& params, const hash_spec& hash,
                                std::span<std::uint64_t> digests, const shard_setup& setup) noexcept;
result<any_filter> build_shards(std::string_view kind, const filter_params& params, const hash_spec& hash,
                                std::span<std::uint64_t> digests, std::span<std::uint64_t> excluded,
                                const shard_setup& setup) noexcept;
// The set with this name, without the shards' numbers: into memory, or mapped where the files allow.
result<any_filter> load_shards(const char* path, const load_options& options = {}, unsigned threads = 0) noexcept;
result<any_filter> open_shards(const char* path, const load_options& options = {}, unsigned threads = 0) noexcept;

namespace detail {

BLOOMERY_API result<shard_list> room_for_shards(std::uint64_t shards, const memory_hooks* memory) noexcept;

// The same for shards that were built: where memory or two lists decide, their rates differ. Digests that came
// again count once, as they do in a filter in one piece.
BLOOMERY_API result<void> check_built_digests(const shard_list& shards) noexcept;

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

}  // namespace detail

BLOOMERY_API result<any_filter> make_shards(std::string_view kind, const filter_params& params, const hash_spec& hash,
                                            const shard_setup& setup) noexcept;

BLOOMERY_API result<any_filter> build_shards(std::string_view kind, const filter_params& params, const hash_spec& hash,
                                             std::span<std::uint64_t> digests, const shard_setup& setup) noexcept;

BLOOMERY_API result<any_filter> build_shards(std::string_view kind, const filter_params& params, const hash_spec& hash,
                                             std::span<std::uint64_t> digests, std::span<std::uint64_t> excluded,
                                             const shard_setup& setup) noexcept;

BLOOMERY_API result<any_filter> load_shards(const char* path, const load_options& options, unsigned threads) noexcept;

BLOOMERY_API result<any_filter> open_shards(const char* path, const load_options& options, unsigned threads) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/wrappers/any_shards.cpp>
#endif

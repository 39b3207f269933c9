// wrappers/any_shards.hpp: a filter in shards whose kind is known at run time: an any_filter over the shards of
// wrappers/sharded.hpp.
//
//     auto seen = bloomery::make_shards("cuckoo", {.keys = 1'000'000, .fpr = 0.01}, hash.spec(), {.shards = 16});
//     seen->add(keys);                                 // dealt out to the shards, which are filled side by side
//     seen->save("seen.bloom");                        // seen.bloom.00-of-16 to seen.bloom.15-of-16
//     auto again = bloomery::open_shards("seen.bloom");      // every file memory-mapped where it allows
//
// The same shards, files and bytes as sharded<K> has, whatever the number of threads. It does what any_filter does,
// with these differences: shards() is not 0; save writes a set of files, and save_to, which is for one, refuses;
// bytes() is empty; facts() are those of the first shard; in shape() and stats(), keys and capacities are sums and
// shares are means.
//
// An insert into a fixed-capacity kind takes every digest whose shard has space. Then it fails with errc::full:
// number[0] keys are in the filter, and number[1] digests of the batch were taken, which need not be its first.
// A merge takes a filter of as many shards; when one of them refuses, all are as they were.
//
// Threads       as any_filter: one that changes it, or any number that query it.
#pragma once

#include <bloomery/any_filter.hpp>

namespace bloomery::inline BLOOMERY_ABI {

struct shard_setup {
  unsigned shards = 1;   // 1 to max_shards
  unsigned threads = 0;  // that fill, build and merge them; 0: all processors
};

// A new, empty filter: each shard is made for its share of the keys and a little more.
BLOOMERY_API result<any_filter> make_shards(std::string_view kind, const filter_params& params, const filter_hash& hash,
                                            const shard_setup& setup) noexcept;
// A filter of all these digests, which are put in another order: see any_filter::build_digests. With a second list for kinds
// that exclude digests: both are sharded, and a shard may have nothing of either.
BLOOMERY_API result<any_filter> build_shards(std::string_view kind, const filter_params& params,
                                             const filter_hash& hash, std::span<std::uint64_t> digests,
                                             const shard_setup& setup) noexcept;
BLOOMERY_API result<any_filter> build_shards(std::string_view kind, const filter_params& params,
                                             const filter_hash& hash, std::span<std::uint64_t> digests,
                                             std::span<std::uint64_t> excluded, const shard_setup& setup) noexcept;
// The set with this name, without the shards' numbers: into memory, or mapped where the files allow.
BLOOMERY_API result<any_filter> load_shards(file_path path, const load_options& options = {},
                                            unsigned threads = 0) noexcept;
BLOOMERY_API result<any_filter> open_shards(file_path path, const load_options& options = {},
                                            unsigned threads = 0) noexcept;

// A set, and what its files state beside the filter.
struct opened_shards {
  any_filter filter;
  file_header first;             // the header of shard 0
  std::uint64_t size_bytes = 0;  // of all files
};
struct open_shards_options {
  load_options load{};
  bool in_memory = false;             // as load_shards; else as open_shards
  const input_file* first = nullptr;  // shard 0, where it is open already
  unsigned threads = 0;
};
// The set of `shards` files (posix/shard_set.hpp has find_shards). Each file is opened once.
BLOOMERY_API result<opened_shards> open_shard_files(file_path path, unsigned shards,
                                                    const open_shards_options& how) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/wrappers/any_shards_model.hpp>
#endif

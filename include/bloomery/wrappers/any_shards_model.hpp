// wrappers/any_shards_model.hpp: the implementation of any_filter's virtual boundary for a filter in shards, and how its
// shards are made, built and read. For wrappers/any_shards.hpp, where a shard is of a kind that is known at run time, and
// for wrappers/sharded.hpp, where it is a filter of one type.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/any_filter.hpp>
#include <bloomery/core/aligned_list.hpp>
#include <bloomery/core/function_ref.hpp>
#include <bloomery/posix/shard_set.hpp>
#include <bloomery/wrappers/any_shards.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

using shard_list = aligned_list<any_filter>;

// ---- shards of a new filter ----

// Empty shards; the maker has seen that the hash does for the keys of one.
using shard_maker = function_ref<result<any_filter>(const filter_params& one)>;
BLOOMERY_API result<shard_list> make_shard_list(const filter_params& params, const hash_info* hash, unsigned shards,
                                                const shard_maker& make_one) noexcept;

// What a set is built from: digests, which are put in the order of shards.
struct shard_lists {
  std::span<std::uint64_t> digests;
  std::span<std::uint64_t> excluded{};
};
using shard_builder =
    function_ref<result<any_filter>(const filter_params& one, const shard_lists& own, unsigned threads)>;
BLOOMERY_API result<shard_list> build_shard_list(const filter_params& params, const hash_info* hash,
                                                 const shard_lists& lists, const shard_setup& setup,
                                                 const shard_builder& build_one) noexcept;

// The files with this name, of which there are `shards`; 0: as many as are found. A reader returns a shard and what its file states of its place; its errors name the shard.
struct stored_shard {
  any_filter filter;
  shard_place place;
};
using shard_reader =
    function_ref<result<stored_shard>(unsigned index, unsigned count, const char* name, const load_options& how)>;
BLOOMERY_API result<shard_list> read_shard_list(file_path path, unsigned shards, const load_options& options,
                                                const shard_reader& read_one) noexcept;

// ---- digests of a batch and their shards ----

// Calls work(shard, its digests, their places in the group, place of the group) for every shard of every group, until
// that returns an error.
template <class Digest, class Work>
__attribute__((noinline)) result<void> for_each_shard_group(std::span<const Digest> digests, unsigned shards,
                                                            Work&& work) noexcept {
  constexpr std::size_t group = shard_sorter<Digest>::most;
  shard_sorter<Digest> sorted;
  for (std::size_t first = 0; first < digests.size(); first += group) {
    sorted.sort(digests.subspan(first, std::min(group, digests.size() - first)), shards);
    for (unsigned i = 0; i < shards; ++i) {
      if (sorted.digests(i).empty()) continue;
      if (auto done = work(i, sorted.digests(i), sorted.from(i), first); !done) return done;
    }
  }
  return {};
}

// Answers of one shard to where they belong in the mask of all, which has 0 there.
inline void spread_answers(std::span<const std::uint64_t> answers, std::span<const std::uint16_t> from,
                           std::size_t first, std::span<std::uint64_t> mask) noexcept {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t to = first + from[i];
    mask[to / 64] |= (answers[i / 64] >> (i % 64) & 1U) << (to % 64);
  }
}

struct BLOOMERY_API in_shards final : filter_model {
  in_shards(shard_list from, unsigned with_threads) noexcept;
  static result<any_filter> wrap(result<shard_list> parts, const filter_hash& hash, unsigned threads) noexcept;

  [[nodiscard]] unsigned shards() const noexcept override { return static_cast<unsigned>(parts.size()); }
  [[nodiscard]] const any_filter* shard(unsigned index) const noexcept override { return &parts[index]; }
  [[nodiscard]] const kind_entry& kind() const noexcept override { return parts[0].kind(); }
  [[nodiscard]] bool grows() const noexcept override { return parts[0].grows(); }
  [[nodiscard]] bool is_mapped() const noexcept override {
    return std::any_of(parts.begin(), parts.end(), [](const any_filter& part) { return part.is_mapped(); });
  }
  [[nodiscard]] stored_shape shape() const noexcept override;
  [[nodiscard]] fact_list facts() const noexcept override { return parts[0].facts(); }
  [[nodiscard]] result<filter_stats> stats() const noexcept override;
  [[nodiscard]] result<std::span<const std::byte>> bytes() const noexcept override;
  [[nodiscard]] unsigned digest_bits() const noexcept override { return parts[0].digest_bits(); }
  [[nodiscard]] result<void> verify() const noexcept override;
  [[nodiscard]] std::uint64_t allocated_bytes() const noexcept override;
  single_answer insert_one(std::uint64_t digest) noexcept override {
    return model(shard_of(digest, shards())).insert_one(digest);
  }
  [[nodiscard]] single_answer contains_one(std::uint64_t digest) const noexcept override {
    return parts[shard_of(digest, shards())].model().contains_one(digest);
  }
  result<std::uint64_t> add(const digest_span& digests) noexcept override;
  result<void> may_contain(const digest_span& digests, std::span<std::uint64_t> mask) const noexcept override;
  [[nodiscard]] result<explanation> explain(const digest_span& digest) const noexcept override;
  result<std::uint64_t> erase(std::span<const std::uint64_t> digests) noexcept override;
  result<void> count(std::span<const std::uint64_t> digests, std::span<std::uint64_t> counts) const noexcept override;
  result<void> merge(const filter_model& other, merge_fpr rate) noexcept override;
  result<void> intersect(const filter_model& other) noexcept override;
  [[nodiscard]] bool merge_may_fail() const noexcept override { return true; }
  [[nodiscard]] result<std::unique_ptr<filter_model>> fold(std::uint64_t factor) const noexcept override;
  [[nodiscard]] std::uint64_t fold_units() const noexcept override;
  [[nodiscard]] result<std::unique_ptr<filter_model>> clone() const noexcept override;
  result<void> clear() noexcept override;
  void set_clock(const clock_hook* clock) noexcept override {
    for (any_filter& part : parts) part.set_clock(clock);
  }
  [[nodiscard]] bool equals(const filter_model& other) const noexcept override;
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

  static result<std::unique_ptr<filter_model>> owned(shard_list parts, unsigned threads) noexcept;
  // Digests that were dealt out go to a shard's model: its hash is that of the whole.
  [[nodiscard]] filter_model& model(unsigned shard) noexcept { return parts[shard].model(); }
  template <class Copy>
  result<std::unique_ptr<filter_model>> copies(Copy&& copy) const noexcept;
  // Gives every shard its digests: work(shard, digests) -> how many it changed.
  template <class Digest, class Work>
  result<std::uint64_t> deal(std::span<const Digest> digests, Work&& work) noexcept;
  template <class Digest>
  result<std::uint64_t> add_all(std::span<const Digest> digests) noexcept;
  template <class Digest>
  result<void> query_all(std::span<const Digest> digests, std::span<std::uint64_t> mask) const noexcept;
  template <class Join>
  result<void> combine(const filter_model& other, Join&& join) noexcept;

  shard_list parts;
  unsigned threads;
};

}  // namespace detail

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/wrappers/any_shards.cpp>
#endif

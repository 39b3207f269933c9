// kinds/scalable.hpp: the scalable Bloom filter: a chain of filters, each larger than the one before.
//
// What it is    a first filter for `keys` keys; when it is full a second one is added with `growth` times its capacity,
//               and so on. Each sub-filter gets a smaller share of the FPR, so that the chain keeps `fpr` after any
//               growth.
// Use it when   the number of keys is roughly known and may be passed (a chain of one to four sub-filters is nearly a
//               `blocked` filter), or bits must be those of RedisBloom (layout redis), or a filter must refuse what
//               does not fit (mode fixed).
// Use instead   `growing` where nobody knows how many keys there will be: it reads one cache line however far it has
//               grown, and a chain reads one for each sub-filter. `blocked` where the number is known.
//
// Modes         scaling (default). fixed: one sub-filter with the whole FPR; when it holds `keys` keys, a key that it
//               does not have yet is refused.
// Growth        2 unless another factor is provided, 1 to 32768. With 1 the number of sub-filters, and the time of a
//               look-up, grows with the number of keys.
// Full          insert returns `full` and the filter is as it was: in mode fixed at the capacity; in mode scaling when
//               the next sub-filter cannot be had: memory is refused, 1024 sub-filters, 2^56 keys, an FPR that no
//               filter reaches.
// Keys          counted exactly: a key counts when it was surely absent and went into a sub-filter.
// Deletes       no. Merges: filters made alike, sub-filter by sub-filter, where every sub-filter keeps its share of
//               the FPR; any others are refused, or the union has a higher FPR if the caller accepts any. Counts are
//               estimates then.
// Order         the same keys in another order may be in other sub-filters: other bytes, the same answers for the keys.
//
// Layouts       split64 (default): sub-filters of kind blocked; one line a sub-filter. redis: RedisBloom's sub-filters,
//               128-bit digests. kinds/scalable/chain.hpp has the shares of the FPR, and the bytes;
//               kinds/scalable/redis_sub_filter.hpp those of layout redis.
// Paper         P. S. Almeida, C. Baquero, N. Preguica, D. Hutchison, "Scalable Bloom filters", IPL 101(6), 2007.
// Threads       any number of readers, or one writer. Nothing here is atomic.
//
//     auto filter = bloomery::scalable::make({.keys = 1000, .fpr = 0.01});
//     if (!filter) return 2;
//     for (std::uint64_t i = 0; i < 100'000; ++i) filter->insert(bloomery::mix64(i));
//     bool maybe = filter->may_contain(bloomery::mix64(7));   // true
//     std::size_t sub_filters = filter->sub_filters();                    // 7
#pragma once

#include <bloomery/kinds/scalable/chain_merge.hpp>

namespace bloomery::inline BLOOMERY_ABI {

enum class chain_layout : std::uint8_t { split64 = 0, redis = 1 };
enum class chain_mode : std::uint8_t { scaling = 0, fixed = 1 };

class BLOOMERY_API scalable {
  template <class Rule>
  static Rule rule_in(const chain<Rule>&);
  template <class Chain>
  using rule_of = decltype(rule_in(std::declval<Chain>()));

  // Calls f with the chain that is used. Here because its result is deduced before the functions below use it.
  template <class F>
  decltype(auto) with_chain(F&& f) {
    return layout_ == chain_layout::redis ? f(redis_) : f(lines_);
  }
  template <class F>
  decltype(auto) with_chain(F&& f) const {
    return layout_ == chain_layout::redis ? f(redis_) : f(lines_);
  }

 public:
  static constexpr kind_info info{.id = 5,
                                  .name = "scalable",
                                  .summary = "chain of blocked filters that grows at a kept rate; RedisBloom's bits",
                                  .lines = "1 a sub-filter",
                                  .grows = true,
                                  .default_keys = 1000};
  static constexpr std::uint64_t usual_growth = 2;
  static constexpr std::uint64_t max_growth = 32768;
  static constexpr std::array<option_choice, 2> layouts{
      {{.name = "split64", .help = "sub-filters of kind blocked"},
       {.name = "redis", .help = "the bytes of RedisBloom's Bloom filter"}}};
  static constexpr std::array<option_choice, 2> modes{
      {{.name = "scaling", .help = "takes any number of keys"},
       {.name = "fixed", .help = "refuses more keys than it is made for", .needs_keys = true}}};
  static constexpr std::array<option_info, 3> option_list{
      {layout_option(layouts),
       mode_option(modes),
       {.name = "growth",
        .title = "growth factor",
        .type = option_type::integer,
        .help = "size of a new sub-filter relative to the previous one",
        .least = 1,
        .most = max_growth,
        .default_value = usual_growth}}};
  static constexpr std::span<const option_info> options() noexcept { return option_list; }

  // For the first sub-filter; with memory or bits instead of an FPR, the FPR is the one that its share allows. In
  // layout redis the FPR is the one that RedisBloom's size delivers: for few keys, or very low FPRs, above the one
  // requested.
  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept;
  static result<scalable> make(const filter_params& params) noexcept;
  [[nodiscard]] result<scalable> clone() const noexcept;

  insert_result insert(std::uint64_t digest) noexcept { return insert_one(digest); }
  // As insert, without its answer. False: the filter is full and does not hold it.
  bool add(std::uint64_t digest) noexcept { return insert(digest) != insert_result::full; }
  insert_result insert(digest128 digest) noexcept { return insert_one(digest); }
  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept { return ask_one(digest); }
  [[nodiscard]] bool may_contain(digest128 digest) const noexcept { return ask_one(digest); }
  // What a look-up reads and decides: see kinds/explain.hpp.
  [[nodiscard]] explanation explain(std::uint64_t digest) const noexcept { return explain_one(digest); }
  [[nodiscard]] explanation explain(digest128 digest) const noexcept { return explain_one(digest); }
  std::uint64_t add_batch(std::span<const std::uint64_t> digests) noexcept { return insert_all(digests).inserted; }
  std::uint64_t add_batch(std::span<const digest128> digests) noexcept { return insert_all(digests).inserted; }
  // Stops at the first digest that does not fit: see bounded_kind in kinds/concept.hpp.
  batch_outcome add_until_full(std::span<const std::uint64_t> digests) noexcept { return insert_all(digests); }
  batch_outcome add_until_full(std::span<const digest128> digests) noexcept { return insert_all(digests); }
  // Bit i of the mask (bit i % 64 of word i / 64) answers digest i; the mask holds mask_words(digests.size()) words.
  void may_contain_batch(std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) const noexcept {
    ask_all(digests, mask);
  }
  void may_contain_batch(std::span<const digest128> digests, std::span<std::uint64_t> mask) const noexcept {
    ask_all(digests, mask);
  }

  result<void> merge(const scalable& other, merge_fpr rate) noexcept;
  result<void> merge(const scalable& other) noexcept { return merge(other, merge_fpr::keep_target); }
  void clear() noexcept {
    with_chain([](auto& sub_filters) { sub_filters.clear(); });
  }
  friend bool operator==(const scalable& a, const scalable& b) noexcept {
    return a.layout_ == b.layout_ && (a.layout_ == chain_layout::redis ? a.redis_ == b.redis_ : a.lines_ == b.lines_);
  }

  [[nodiscard]] key_count keys() const noexcept {
    return with_chain([](auto& sub_filters) { return sub_filters.keys(); });
  }
  // In mode scaling what it may grow to.
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return capacity_; }
  [[nodiscard]] double target_fpr() const noexcept { return settings().fpr; }
  [[nodiscard]] chain_layout layout() const noexcept { return layout_; }
  [[nodiscard]] chain_mode mode() const noexcept { return settings().scales ? chain_mode::scaling : chain_mode::fixed; }
  [[nodiscard]] bool grows() const noexcept { return mode() == chain_mode::scaling; }
  [[nodiscard]] std::uint64_t growth() const noexcept { return settings().growth; }
  [[nodiscard]] std::uint64_t first_keys() const noexcept { return settings().first_keys; }
  [[nodiscard]] unsigned digest_bits() const noexcept { return layout_ == chain_layout::redis ? 128 : 64; }
  [[nodiscard]] std::size_t sub_filters() const noexcept {
    return with_chain([](auto& sub_filters) { return sub_filters.sub_filters().size(); });
  }
  // Of one sub-filter: what it was made for, what it holds, and its bytes, which in layout redis are those of
  // RedisBloom.
  [[nodiscard]] std::uint64_t sub_filter_capacity(std::size_t sub_filter) const noexcept {
    return with_chain([&](auto& sub_filters) { return sub_filters.sub_filters()[sub_filter].capacity; });
  }
  [[nodiscard]] std::uint64_t sub_filter_keys(std::size_t sub_filter) const noexcept {
    return with_chain([&](auto& sub_filters) { return sub_filters.sub_filters()[sub_filter].keys; });
  }
  [[nodiscard]] double sub_filter_fpr(std::size_t sub_filter) const noexcept {
    return with_chain([&](auto& sub_filters) { return sub_filters.rate_of(sub_filter); });
  }
  [[nodiscard]] std::uint64_t sub_filter_hashes(std::size_t sub_filter) const noexcept {
    return with_chain(
        [&](auto& sub_filters) -> std::uint64_t { return sub_filters.sub_filters()[sub_filter].filter.hashes(); });
  }
  [[nodiscard]] std::span<const std::byte> sub_filter_bytes(std::size_t sub_filter) const noexcept {
    return with_chain([&](auto& sub_filters) { return sub_filters.sub_filters()[sub_filter].filter.payload(); });
  }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return with_chain([](auto& sub_filters) { return sub_filters.memory_bytes(); });
  }
  [[nodiscard]] double fill() const noexcept {  // share of set bits; reads all sub-filters
    return with_chain([](auto& sub_filters) { return sub_filters.fill(); });
  }
  [[nodiscard]] double estimated_keys() const noexcept {
    return with_chain([](auto& sub_filters) { return sub_filters.estimated_keys(); });
  }
  [[nodiscard]] double fpr_now() const noexcept {  // from the fills of the sub-filters
    return with_chain([](auto& sub_filters) { return sub_filters.fpr_now(); });
  }
  // Layout redis: when every sub-filter holds its capacity, which for small sub-filters may be above the target FPR. 0
  // in layout split64.
  [[nodiscard]] double delivered_fpr() const noexcept {
    return with_chain([](auto& sub_filters) { return sub_filters.delivered_fpr(); });
  }
  [[nodiscard]] fact_list facts() const noexcept;

  // The native file: see kinds/concept.hpp.
  [[nodiscard]] stored_shape shape() const noexcept;
  static result<std::uint64_t> payload_bytes(const stored_shape& shape) noexcept;
  static result<scalable> adopt(const stored_shape& shape, aligned_buffer payload) noexcept;
  static result<scalable> view(const stored_shape& shape, std::span<const std::byte> payload) noexcept;
  [[nodiscard]] std::uint64_t serialized_bytes() const noexcept {
    return with_chain([](auto& sub_filters) { return sub_filters.stored_bytes(); });
  }
  [[nodiscard]] result<void> serialize(const byte_sink& sink) const noexcept {
    return with_chain([&](auto& sub_filters) { return sub_filters.store(sink); });
  }
  [[nodiscard]] result<void> serialize(std::span<std::byte> out) const noexcept { return serialize_into(*this, out); }
  template <class Digest, class F>
  void for_each_touched(const Digest& digest, F&& f) const {
    with_chain(
        [&](auto& sub_filters) { sub_filters.for_each_touched(rule_of<decltype(sub_filters)>::from(digest), f); });
  }

 private:
  template <class Digest>
  insert_result insert_one(const Digest& digest) noexcept {
    return with_chain(
        [&](auto& sub_filters) { return sub_filters.insert(rule_of<decltype(sub_filters)>::from(digest)); });
  }
  template <class Digest>
  [[nodiscard]] bool ask_one(const Digest& digest) const noexcept {
    return with_chain(
        [&](auto& sub_filters) { return sub_filters.may_contain(rule_of<decltype(sub_filters)>::from(digest)); });
  }
  template <class Digest>
  [[nodiscard]] explanation explain_one(const Digest& digest) const noexcept;
  template <class Digest>
  batch_outcome insert_all(std::span<const Digest> digests) noexcept;
  template <class Digest>
  void ask_all(std::span<const Digest> digests, std::span<std::uint64_t> mask) const noexcept;
  [[nodiscard]] const chain_settings& settings() const noexcept {
    return with_chain([](auto& sub_filters) -> const chain_settings& { return sub_filters.settings(); });
  }
  static result<scalable> over(const stored_shape& shape, std::span<const std::byte> payload, aligned_buffer owned,
                               const memory_hooks* memory) noexcept;

  chain<blocked_sub_filters> lines_;
  chain<redis_sub_filters> redis_;  // one of the two is used
  std::uint64_t capacity_ = 0;
  chain_layout layout_ = chain_layout::split64;
};

// Digests of the width that the sub-filters do not take are turned into it one by one: every call has a defined answer.
template <class Digest>
batch_outcome scalable::insert_all(std::span<const Digest> digests) noexcept {
  return with_chain([&](auto& sub_filters) {
    using rule = rule_of<decltype(sub_filters)>;
    if constexpr (std::is_same_v<Digest, typename rule::digest>) {
      return sub_filters.add_until_full(digests);
    } else {
      batch_outcome all;
      for (const Digest& digest : digests) {
        const insert_result outcome = sub_filters.insert(rule::from(digest));
        if (outcome == insert_result::full) break;
        ++all.taken;
        all.inserted += outcome == insert_result::inserted ? 1U : 0U;
      }
      return all;
    }
  });
}

template <class Digest>
explanation scalable::explain_one(const Digest& digest) const noexcept {
  explanation out(digest);
  with_chain([&](auto& sub_filters) { sub_filters.explain(out, rule_of<decltype(sub_filters)>::from(digest)); });
  return out;
}

template <class Digest>
void scalable::ask_all(std::span<const Digest> digests, std::span<std::uint64_t> mask) const noexcept {
  with_chain([&](auto& sub_filters) {
    using rule = rule_of<decltype(sub_filters)>;
    if constexpr (std::is_same_v<Digest, typename rule::digest>) {
      sub_filters.may_contain_batch(digests, mask);
    } else {
      for (std::size_t word = 0; word < mask_words(digests.size()); ++word) mask[word] = 0;
      for (std::size_t i = 0; i < digests.size(); ++i) {
        mask[i / 64] |= std::uint64_t{sub_filters.may_contain(rule::from(digests[i]))} << (i % 64);
      }
    }
  });
}

static_assert(mappable<scalable> && refusing_merges<scalable> && bounded_kind<scalable> && digest128_kind<scalable>);

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/scalable.cpp>
#endif

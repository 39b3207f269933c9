// kinds/scalable.hpp: the scalable Bloom filter: a chain of filters, each larger than the one before.
//
// What it is    a first filter for `keys` keys; when it is full a second one is added with `growth` times its capacity, and
//               so on. Each sub-filter gets a smaller share of the rate, so that the chain keeps `fpr` after any growth.
// Use it when   the number of keys is roughly known and may be passed (a chain of one to four sub-filters is nearly a `blocked`
//               filter), or bits must be those of RedisBloom (layout redis), or a filter must refuse what does not fit
//               (mode fixed).
// Use instead   `growing` where nobody knows how many keys there will be: it asks one cache line however far it has grown,
//               and a chain asks one for each sub-filter. `blocked` where the number is known.
//
// Modes         scaling (default). fixed: one sub-filter with the whole rate; when it holds `keys` keys, a key that it does not
//               have yet is refused.
// Growth        2 unless another factor is given, 1 to 32768. With 1 the number of sub-filters, and the time of a look-up, grows
//               with the number of keys.
// Full          insert says `full` and the filter is as it was: in mode fixed at the capacity; in mode scaling when the
//               next sub-filter cannot be had: memory is refused, 1024 sub-filters, 2^56 keys, a rate that no filter reaches.
// Keys          counted exactly: a key counts when it was surely absent and went into a sub-filter.
// Deletes       no. Merges: filters made alike, sub-filter by sub-filter, where every sub-filter keeps its share of the rate; any others are
//               refused, or the union has a higher rate if the caller says that any will do. Counts are estimates then.
// Order         the same keys in another order may be in other sub-filters: other bytes, the same answers for the keys.
//
// Layouts       split64 (default): sub-filters of kind blocked; one line a sub-filter. redis: RedisBloom's sub-filters, 128-bit digests.
//               kinds/scalable/chain.hpp has the shares of the rate, and the bytes; kinds/scalable/redis_sub_filter.hpp those of layout redis.
// Paper         P. S. Almeida, C. Baquero, N. Preguica, D. Hutchison, "Scalable Bloom filters", IPL 101(6), 2007.
// Threads       any number of readers, or one writer. Nothing here is atomic.
//
//     auto filter = bloomery::scalable::make({.keys = 1000, .fpr = 0.01});
//     if (!filter) return 2;
//     for (std::uint64_t i = 0; i < 100'000; ++i) filter->insert(bloomery::mix64(i));
//     bool maybe = filter->may_contain(bloomery::mix64(7));   // true
//     std::size_t sub-filters = filter->sub-filters();                    // 7
#pragma once

#include <bloomery/kinds/scalable/chain_merge.hpp>

namespace bloomery::inline BLOOMERY_ABI {

enum class chain_layout : std::uint8_t { split64 = 0, redis = 1 };
enum class chain_mode : std::uint8_t { scaling = 0, fixed = 1 };

class scalable {
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
                                  .takes_digest128 = true,
                                  .layouts = "split64 redis",
                                  .modes = "scaling fixed",
                                  .growth_factor = true,
                                  .first_keys = 1000,
                                  .fixed_mode = "fixed"};
  static constexpr std::uint64_t usual_growth = 2;
  static constexpr std::uint64_t max_growth = 32768;

  // For the first sub-filter; with memory or bits instead of a rate, the rate is the one that its share allows. In layout redis
  // the rate is the one that RedisBloom's size delivers: for few keys, or very low rates, above the one asked for.
  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept;
  static result<scalable> make(const filter_params& params) noexcept;
  [[nodiscard]] result<scalable> clone() const noexcept;

  insert_result insert(std::uint64_t digest) noexcept { return insert_one(digest); }
  insert_result insert(digest128 digest) noexcept { return insert_one(digest); }
  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept { return ask_one(digest); }
  [[nodiscard]] bool may_contain(digest128 digest) const noexcept { return ask_one(digest); }
  std::uint64_t insert_batch(std::span<const std::uint64_t> digests) noexcept { return insert_all(digests).inserted; }
  std::uint64_t insert_batch(std::span<const digest128> digests) noexcept { return insert_all(digests).inserted; }
  // Stops at the first digest that does not fit: see bounded_kind in kinds/concept.hpp.
  batch_outcome insert_until_full(std::span<const std::uint64_t> digests) noexcept { return insert_all(digests); }
  batch_outcome insert_until_full(std::span<const digest128> digests) noexcept { return insert_all(digests); }
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
  [[nodiscard]] std::uint64_t growth() const noexcept { return settings().growth; }
  [[nodiscard]] std::uint64_t first_keys() const noexcept { return settings().first_keys; }
  [[nodiscard]] unsigned digest_bits() const noexcept { return layout_ == chain_layout::redis ? 128 : 64; }
  [[nodiscard]] std::size_t sub_filters() const noexcept {
    return with_chain([](auto& sub_filters) { return sub_filters.sub_filters().size(); });
  }
  // Of one sub-filter: what it was made for, what it holds, and its bytes, which in layout redis are those of RedisBloom.
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
  // Layout redis: when every sub-filter holds its capacity, which for small sub-filters may be above the promise. 0 in layout split64.
  [[nodiscard]] double delivered_fpr() const noexcept {
    return with_chain([](auto& sub_filters) { return sub_filters.delivered_fpr(); });
  }
  [[nodiscard]] named_values describe() const noexcept {
    return {{{.name = "layout", .text = layout_ == chain_layout::redis ? "redis" : "split64"},
             {.name = "mode", .text = mode() == chain_mode::scaling ? "scaling" : "fixed"},
             {.name = "growth", .number = growth()},
             {.name = "sub-filters", .number = sub_filters()}}};
  }

  // The native file: see kinds/concept.hpp.
  [[nodiscard]] stored_shape shape() const noexcept;
  static result<std::uint64_t> payload_bytes(const stored_shape& shape) noexcept;
  static result<scalable> adopt(const stored_shape& shape, aligned_buffer payload) noexcept;
  static result<scalable> view(const stored_shape& shape, std::span<const std::byte> payload) noexcept;
  [[nodiscard]] std::uint64_t serialized_bytes() const noexcept {
    return with_chain([](auto& sub_filters) { return sub_filters.stored_bytes(); });
  }
  [[nodiscard]] result<void> serialize(std::span<std::byte> out) const noexcept;
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

namespace detail {

inline result<chain_layout> find_chain_layout(std::string_view name) noexcept {
  if (name.empty() || name == "split64") return chain_layout::split64;
  if (name == "redis") return chain_layout::redis;
  return fail(errc::unsupported, "kind scalable has the layouts split64 and redis");
}

inline result<chain_mode> find_chain_mode(std::string_view name) noexcept {
  if (name.empty() || name == "scaling") return chain_mode::scaling;
  if (name == "fixed") return chain_mode::fixed;
  return fail(errc::unsupported, "kind scalable has the modes scaling and fixed");
}

// As far as the bits of a digest serve for the rate: see sizing::hash_bits_needed.
inline std::uint64_t chain_grows_to(chain_layout layout, double fpr) noexcept {
  if (layout == chain_layout::redis) return max_keys;
  const double most = std::ldexp(fpr, 57);
  return most < static_cast<double>(max_keys) ? static_cast<std::uint64_t>(most) : max_keys;
}

inline result<size_plan> plan_redis_chain(const size_request& request) noexcept {
  if (auto checked = sizing::check(request); !checked) return fail(checked.error());
  if (!request.keys || !request.fpr) {
    return fail(errc::unsupported, "layout redis is sized by a number of keys and a false-positive rate");
  }
  const auto size = redis_sub_filter::size_for(*request.keys, *request.fpr * redis_sub_filters::share(0));
  if (!size) return fail(size.error());
  size_plan plan{.keys = *request.keys, .bits = size->bits, .memory_bytes = size->bits / 8, .digest_bits = 128};
  plan.fpr = redis_sub_filter::expected_fpr(plan.keys, *size);
  plan.bits_per_key = static_cast<double>(plan.bits) / static_cast<double>(plan.keys);
  return plan;
}

}  // namespace detail

inline result<size_plan> scalable::plan(const size_request& request, std::string_view layout) noexcept {
  const auto found = detail::find_chain_layout(layout);
  if (!found) return fail(found.error());
  if (request.hashes.value_or(0) != 0) {
    return fail(errc::unsupported,
                "kind scalable chooses the hash functions of each sub-filter: leave their number out");
  }
  size_request first = request;
  first.hashes.reset();
  const double share = blocked_sub_filters::share(0);
  if (request.fpr && *request.fpr > 0 && *request.fpr < 1) first.fpr = *request.fpr * share;
  auto solved = *found == chain_layout::redis ? detail::plan_redis_chain(request) : blocked::plan(first);
  if (!solved) return solved;
  solved->hashes = 0;
  solved->grows_to_keys = detail::chain_grows_to(*found, request.fpr.value_or(std::min(solved->fpr / share, 1.0)));
  return solved;
}

inline result<scalable> scalable::make(const filter_params& params) noexcept {
  const auto mode = detail::find_chain_mode(params.mode);
  if (!mode) return fail(mode.error());
  const std::uint64_t growth = params.growth.value_or(usual_growth);
  if (growth < 1 || growth > max_growth) return fail(errc::bad_growth, {}, {growth, max_growth});
  const auto solved = plan(params.sizes(), params.layout);
  if (!solved) return fail(solved.error());
  const double rate = params.fpr ? *params.fpr : std::min(solved->fpr / blocked_sub_filters::share(0), 0.999);
  const chain_settings settings{.first_keys = solved->keys,
                                .growth = growth,
                                .fpr = rate,
                                .scales = *mode == chain_mode::scaling,
                                .memory = params.memory};
  scalable filter;
  filter.layout_ = *detail::find_chain_layout(params.layout);
  filter.capacity_ = settings.scales ? std::max(solved->keys, solved->grows_to_keys) : solved->keys;
  const auto made = filter.with_chain([&](auto& sub_filters) -> result<void> {
    auto first = std::remove_reference_t<decltype(sub_filters)>::make(settings);
    if (!first) return fail(first.error());
    sub_filters = std::move(*first);
    return {};
  });
  if (!made) return fail(made.error());
  return filter;
}

inline result<scalable> scalable::clone() const noexcept {
  scalable copy;
  copy.layout_ = layout_;
  copy.capacity_ = capacity_;
  if (layout_ == chain_layout::redis) {
    auto sub_filters = redis_.clone();
    if (!sub_filters) return fail(sub_filters.error());
    copy.redis_ = std::move(*sub_filters);
  } else {
    auto sub_filters = lines_.clone();
    if (!sub_filters) return fail(sub_filters.error());
    copy.lines_ = std::move(*sub_filters);
  }
  return copy;
}

// Digests of the width that the sub-filters do not take are turned into it one by one: every call has a defined answer.
template <class Digest>
batch_outcome scalable::insert_all(std::span<const Digest> digests) noexcept {
  return with_chain([&](auto& sub_filters) {
    using rule = rule_of<decltype(sub_filters)>;
    if constexpr (std::is_same_v<Digest, typename rule::digest>) {
      return sub_filters.insert_until_full(digests);
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

inline result<void> scalable::merge(const scalable& other, merge_fpr rate) noexcept {
  if (layout_ != other.layout_) return fail(errc::mismatch, "their layouts differ (split64 and redis)");
  return layout_ == chain_layout::redis ? redis_.merge(other.redis_, rate) : lines_.merge(other.lines_, rate);
}

inline stored_shape scalable::shape() const noexcept {
  const key_count held = keys();
  return {.capacity_keys = capacity_,
          .fpr = target_fpr(),
          .keys = held.keys,
          .keys_exact = held.exact,
          .digest_bits = digest_bits(),
          .field = {static_cast<std::uint64_t>(layout_), static_cast<std::uint64_t>(mode()), growth(), first_keys(),
                    sub_filters(), serialized_bytes()}};
}

inline result<std::uint64_t> scalable::payload_bytes(const stored_shape& shape) noexcept {
  const auto& field = shape.field;
  constexpr std::uint64_t max_sub_filters = chain<blocked_sub_filters>::max_sub_filters;
  if (field[0] > 1) return fail(errc::bad_field, "layout", {field[0]});
  if (field[1] > 1) return fail(errc::bad_field, "mode", {field[1]});
  if (field[2] < 1 || field[2] > max_growth) return fail(errc::bad_field, "growth", {field[2]});
  if (field[3] < 1 || field[3] > max_keys) return fail(errc::bad_field, "first capacity", {field[3]});
  if (field[4] < 1 || field[4] > (field[1] == 1 ? 1 : max_sub_filters))
    return fail(errc::bad_field, "sub-filters", {field[4]});
  if (field[5] % cache_line_bytes != 0 || field[5] > max_filter_bits / 8 * 2 ||
      field[5] < chain<blocked_sub_filters>::table_bytes(field[4]) + field[4] * cache_line_bytes) {
    return fail(errc::bad_field, "bytes of the sub-filters", {field[5]});
  }
  for (std::size_t i = 6; i < field.size(); ++i) {
    if (field[i] != 0) return fail(errc::bad_field, "unused number", {field[i]});
  }
  if (shape.digest_bits != (field[0] == 1 ? 128U : 64U))
    return fail(errc::bad_field, "digest bits", {shape.digest_bits});
  if (!(shape.fpr > 0 && shape.fpr < 1)) return fail(errc::bad_field, "false-positive rate", {0});
  if (field[1] == 1 && shape.capacity_keys != field[3]) return fail(errc::bad_field, "capacity", {shape.capacity_keys});
  return field[5];
}

inline result<scalable> scalable::over(const stored_shape& shape, std::span<const std::byte> payload,
                                       aligned_buffer owned, const memory_hooks* memory) noexcept {
  const auto expected = payload_bytes(shape);
  if (!expected) return fail(expected.error());
  if (*expected != payload.size()) return fail(errc::truncated, {}, {payload.size(), *expected});
  const chain_settings settings{.first_keys = shape.field[3],
                                .growth = shape.field[2],
                                .fpr = shape.fpr,
                                .scales = shape.field[1] == 0,
                                .memory = memory};
  scalable filter;
  filter.layout_ = static_cast<chain_layout>(shape.field[0]);
  filter.capacity_ = shape.capacity_keys;
  const auto made = filter.with_chain([&](auto& sub_filters) -> result<void> {
    auto loaded = std::remove_reference_t<decltype(sub_filters)>::over(settings, shape, shape.field[4], payload,
                                                                       std::move(owned));
    if (!loaded) return fail(loaded.error());
    sub_filters = std::move(*loaded);
    return {};
  });
  if (!made) return fail(made.error());
  return filter;
}

inline result<scalable> scalable::adopt(const stored_shape& shape, aligned_buffer payload) noexcept {
  const auto bytes = payload.bytes();
  const memory_hooks* memory = payload.hooks();
  return over(shape, bytes, std::move(payload), memory);
}

inline result<scalable> scalable::view(const stored_shape& shape, std::span<const std::byte> payload) noexcept {
  return over(shape, payload, {}, nullptr);
}

inline result<void> scalable::serialize(std::span<std::byte> out) const noexcept {
  const std::uint64_t needed = serialized_bytes();
  if (out.size() < needed) return fail(errc::bad_span, "the output", {out.size(), needed});
  with_chain([&](auto& sub_filters) { sub_filters.store(out.first(needed)); });
  return {};
}

static_assert(mappable<scalable> && refusing_merges<scalable> && bounded_kind<scalable> && digest128_kind<scalable>);

}  // namespace bloomery::inline BLOOMERY_ABI

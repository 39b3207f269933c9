// kinds/cascade.hpp: the cascade: exact about keys that are all known, in a few bits for each that is included.
//
// What it is    a filter in two layers, built from two lists: keys that it shall match, and keys that it shall not. The first
//               layer is a ribbon filter of the included keys, which lets a few excluded ones through. The second is a
//               ribbon of one bit a slot, in which all included keys match and these few do not. So it is right about every
//               key of both lists: no false negatives and no false positives.
// Use it when   all keys that will ever be asked are known when it is built, and a wrong "maybe" is not acceptable: revoked
//               certificates among those that were issued, blocked add-ons among those that there are. With one key in 100
//               included it takes 8.6 bits for each of these; the least that is possible is 8.1, a cascade of Bloom filters
//               takes 13.8, and the set of 64-bit digests 64.
// Use instead   `ribbon` or `fuse` where unknown keys are asked and a small rate of wrong answers will do; `bitmap` for
//               integers in a dense range; a set where keys come and go.
//
// Other keys    that are in neither list get any answer. fpr_now() is how many get a yes; params.fpr is a bound on it that costs
//               space. Without it, the rate is what makes the filter smallest: about 0.5 to 1 times included / excluded keys,
//               up to 1/2; and where far fewer keys are excluded than included, the cascade holds the excluded ones
//               and says yes to nearly all others. With no key to exclude it says yes to everything, with none to
//               include no to everything.
// Build         from all digests of both lists at once, which are reordered meanwhile. Takes 8 bytes for each key of both,
//               the filter twice and 3 MiB a thread. Keys may come again within a list. A digest in both lists is an error,
//               be it of the same key or of two that collide: by chance once in 2^64 / (included * excluded) builds; then
//               another seed of the hash does it. The same lists give the same bytes on any number of threads.
// Size          h (log2(o / h) + 1.91 to 2) bits and some 1 % more, h the keys of the smaller list and o of the other. Small
//               lists take whole blocks. What plan says is an upper bound.
// Merges        no, and nothing can be inserted or erased: build it again.
// Keys          keys() is the number of different included digests, excluded_keys() that of excluded ones, capacity_keys()
//               both together; exact.
//
// Bytes         the first layer, zeros to a multiple of 64 bytes, the second; each as kinds/ribbon.hpp says, with up to three
//               layers of its own. kinds/cascade/layout.hpp has the sizes and the choice between them.
// Papers        J. Larisch et al., "CRLite: a scalable system for pushing all TLS revocations to all browsers", 2017 (cascades
//               of Bloom filters); J. Schanck, "Clubcards for the WebPKI: smaller certificate revocation tests in theory and
//               practice", 2025 (two layers of linear equations); those of kinds/ribbon.hpp.
// Threads       any number of readers.
//
//     const std::vector<std::string> revoked = {"17", "42"}, valid = {"1", "2", "3", "4", "5"};
//     auto filter = bloomery::filter<bloomery::cascade>::build(std::span(revoked), std::span(valid), {});
//     if (!filter) return 2;
//     bool is_revoked = filter->may_contain("42");  // true, and surely
//     bool is_valid = !filter->may_contain("3");    // true, and surely
#pragma once

#include <bloomery/kernels/blocked.hpp>
#include <bloomery/kernels/ribbon/dispatch.hpp>
#include <bloomery/kinds/bit_store.hpp>
#include <bloomery/kinds/cascade/build.hpp>
#include <bloomery/kinds/cascade/layout.hpp>
#include <bloomery/kinds/concept.hpp>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {

class cascade {
 public:
  static constexpr kind_info info{
      .id = 11,
      .name = "cascade",
      .summary = "built once from keys to match and keys not to match: exact about both lists",
      .lines = "2 to 12, in two places",
      .is_static = true,
      .excludes = true};

  // By the numbers of both lists: request.excluded_keys, and fpr as a bound for keys of neither.
  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept {
    return sizing::plan_cascade(request, layout);
  }
  // Reorders the digests of both lists. Of the parameters, fpr bounds the rate for keys of neither list; sizes are refused.
  // 0 threads: as many as the machine has.
  static result<cascade> build(const filter_params& params, std::span<std::uint64_t> included,
                               std::span<std::uint64_t> excluded, unsigned threads = 0) noexcept;
  // Without keys to exclude, a rate must be given.
  static result<cascade> build(const filter_params& params, std::span<std::uint64_t> included,
                               unsigned threads = 0) noexcept;
  [[nodiscard]] result<cascade> clone() const noexcept;

  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept {
    const bool through = !geometry_.has_sieve() || sieve_kernels_->contains(sieve_, digest);
    return (through && table_kernels_->contains(table_, digest)) != geometry_.reversed;
  }
  // Bit i of the mask (bit i % 64 of word i / 64) answers digest i; the mask holds mask_words(digests.size()) words.
  void may_contain_batch(std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) const noexcept {
    for (std::size_t first = 0; first < digests.size(); first += group) {
      ask(digests.subspan(first, std::min(group, digests.size() - first)), mask.data() + first / 64);
    }
  }
  // The same with digests that are made as they are needed: see stream_query_kind in kinds/concept.hpp.
  void may_contain_stream(std::size_t count, const digest_feed& feed, std::span<std::uint64_t> mask) const noexcept;

  // Same lists, as far as can be told: the same answers for ever.
  friend bool operator==(const cascade& a, const cascade& b) noexcept {
    const stored_shape one = a.shape();
    const stored_shape other = b.shape();
    return one.keys == other.keys && one.capacity_keys == other.capacity_keys && one.field == other.field &&
           a.store_ == b.store_;
  }

  [[nodiscard]] key_count keys() const noexcept { return {keys_.included, true}; }
  [[nodiscard]] std::uint64_t excluded_keys() const noexcept { return keys_.excluded; }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return keys_.included + keys_.excluded; }
  [[nodiscard]] double target_fpr() const noexcept { return fpr_; }
  [[nodiscard]] const cascade_geometry& geometry() const noexcept { return geometry_; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return store_.words() * 8; }
  // Keys for each slot: of the first layer, or of the only one.
  [[nodiscard]] double fill() const noexcept {
    if (!geometry_.has_table()) return 0.0;
    const std::uint64_t keys = geometry_.has_sieve() ? geometry_.held(keys_) : capacity_keys();
    const ribbon_geometry& part = geometry_.has_sieve() ? geometry_.sieve : geometry_.table;
    return static_cast<double>(keys) / static_cast<double>(part.slots());
  }
  [[nodiscard]] double estimated_keys() const noexcept { return static_cast<double>(keys_.included); }
  // For keys of neither list.
  [[nodiscard]] double fpr_now() const noexcept { return geometry_.fpr(); }
  [[nodiscard]] named_values describe() const noexcept {
    return {{{.name = "excluded keys", .number = keys_.excluded},
             {.name = "layers", .number = geometry_.parts()},
             {.name = "first layer", .text = text_of_sieve()},
             {.name = "slot bits", .number = geometry_.sieve.rate.columns}}};
  }

  // The native file: see kinds/concept.hpp.
  [[nodiscard]] stored_shape shape() const noexcept;
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return store_.bytes(); }
  static result<std::uint64_t> payload_bytes(const stored_shape& shape) noexcept;
  static result<cascade> adopt(const stored_shape& shape, aligned_buffer payload) noexcept;
  static result<cascade> view(const stored_shape& shape, std::span<const std::byte> payload) noexcept;

  // Calls f(first byte, size) for the thresholds and blocks of both layers that a look-up may read.
  template <class F>
  void for_each_touched(std::uint64_t digest, F&& f) const;

 private:
  static constexpr std::size_t group = 512;  // digests that are asked of one layer before the other
  static constexpr std::uint64_t reversed_bit = 256;

  static cascade_geometry geometry_of(const stored_shape& shape) noexcept;
  void set(const stored_shape& shape, bit_store store) noexcept;
  // Up to `group` of them.
  void ask(std::span<const std::uint64_t> digests, std::uint64_t* mask) const noexcept;
  // Of those that the mask names, leaves the ones that match in the table, too.
  void ask_table_too(std::span<const std::uint64_t> digests, std::uint64_t* mask) const noexcept;
  [[nodiscard]] std::string_view text_of_sieve() const noexcept {
    if (!geometry_.has_sieve()) return "none";
    return geometry_.reversed ? "of the excluded keys" : "of the included keys";
  }

  bit_store store_;
  kernels::ribbon_view sieve_{};
  kernels::ribbon_view table_{};
  const kernels::ribbon_kernels* sieve_kernels_ = &kernels::ribbon_kernels::for_isa(isa::scalar, 1);
  const kernels::ribbon_kernels* table_kernels_ = &kernels::ribbon_kernels::for_isa(isa::scalar, 1);
  cascade_geometry geometry_{};
  sizing::universe keys_{};
  double fpr_ = 0;
};

inline result<cascade> cascade::build(const filter_params& params, std::span<std::uint64_t> included,
                                      std::span<std::uint64_t> excluded, unsigned threads) noexcept {
  if (!params.mode.empty()) return fail(errc::unsupported, "kind cascade has no modes to choose: leave the mode out");
  size_request request = params.sizes();
  request.excluded_keys = excluded.size();
  if (auto checked = sizing::check_cascade(request, params.layout); !checked) return fail(checked.error());
  const unsigned used = threads == 0 ? machine_threads() : threads;
  included = included.first(detail::sort_distinct(included, used));
  excluded = excluded.first(detail::sort_distinct(excluded, used));
  if (auto apart = detail::check_apart(included, excluded); !apart) return fail(apart.error());
  cascade filter;
  filter.keys_ = {.included = included.size(), .excluded = excluded.size()};
  const auto chosen = cascade_geometry::for_keys(filter.keys_, params.fpr);
  if (!chosen) return fail(chosen.error());
  const bool reversed = chosen->reversed;
  auto made = detail::new_cascade::build(*chosen, reversed ? excluded : included, reversed ? included : excluded, used,
                                         params.memory);
  if (!made) return fail(made.error());
  filter.geometry_ = made->geometry;
  // One that answers no to everything keeps any promise; 1/2 is that of a table alone.
  const double rate = made->geometry.fpr();
  filter.fpr_ = params.fpr ? *params.fpr : (rate > 0 ? rate : 0.5);
  filter.set(filter.shape(), bit_store::adopt(std::move(made->payload)));
  return filter;
}

inline result<cascade> cascade::build(const filter_params& params, std::span<std::uint64_t> included,
                                      unsigned threads) noexcept {
  if (auto checked = sizing::check_cascade(params.sizes(), params.layout); !checked) return fail(checked.error());
  return build(params, included, std::span<std::uint64_t>{}, threads);
}

inline result<cascade> cascade::clone() const noexcept {
  auto store = store_.clone("a copy of the filter");
  if (!store) return fail(store.error());
  cascade copy;
  copy.set(shape(), std::move(*store));
  return copy;
}

inline void cascade::may_contain_stream(std::size_t count, const digest_feed& feed,
                                        std::span<std::uint64_t> mask) const noexcept {
  std::array<std::uint64_t, group> digests;
  for (std::size_t first = 0; first < count; first += group) {
    const std::size_t here = std::min(group, count - first);
    for (std::size_t i = 0; i < here; i += 64) {
      const std::size_t some = std::min<std::size_t>(64, here - i);
      const std::uint64_t* made = feed(first + i, some, digests.data() + i);
      if (made != digests.data() + i) std::copy_n(made, some, digests.data() + i);
    }
    ask(std::span<const std::uint64_t>(digests).first(here), mask.data() + first / 64);
  }
}

inline void cascade::ask(std::span<const std::uint64_t> digests, std::uint64_t* mask) const noexcept {
  const digest_feed feed(digests.data());
  if (geometry_.has_sieve()) {
    sieve_kernels_->contains_batch(sieve_, digests.size(), feed, mask);
    ask_table_too(digests, mask);
  } else {
    table_kernels_->contains_batch(table_, digests.size(), feed, mask);
  }
  if (!geometry_.reversed) return;
  for (std::size_t i = 0; i < digests.size(); i += 64) {
    const std::size_t here = std::min<std::size_t>(64, digests.size() - i);
    mask[i / 64] ^= ~std::uint64_t{0} >> (64 - here);
  }
}

inline void cascade::ask_table_too(std::span<const std::uint64_t> digests, std::uint64_t* mask) const noexcept {
  std::array<std::uint64_t, group> left;
  std::array<std::uint16_t, group> places;
  std::size_t count = 0;
  for (std::size_t word = 0; word < mask_words(digests.size()); ++word) {
    for (std::uint64_t bits = mask[word]; bits != 0; bits &= bits - 1) {
      const std::size_t place = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      left[count] = digests[place];
      places[count++] = static_cast<std::uint16_t>(place);
    }
    mask[word] = 0;
  }
  std::array<std::uint64_t, group / 64> matches;
  const digest_feed feed(left.data());
  table_kernels_->contains_batch(table_, count, feed, matches.data());
  for (std::size_t i = 0; i < count; ++i)
    mask[places[i] / 64] |= (matches[i / 64] >> (i % 64) & 1U) << (places[i] % 64);
}

inline stored_shape cascade::shape() const noexcept {
  stored_shape out{
      .capacity_keys = capacity_keys(), .fpr = fpr_, .keys = keys_.included, .keys_exact = true, .digest_bits = 64};
  const ribbon_geometry& sieve = geometry_.sieve;
  out.field[0] = sieve.rate.columns | (geometry_.reversed ? reversed_bit : 0) | std::uint64_t{sieve.rate.share} << 32U;
  out.field[1] = sieve.seed | geometry_.table.seed << 32U;
  for (unsigned i = 0; i < cascade_geometry::most_layers; ++i) {
    out.field[2 + i] = sieve.blocks[i];
    out.field[5 + i] = geometry_.table.blocks[i];
  }
  return out;
}

inline cascade_geometry cascade::geometry_of(const stored_shape& shape) noexcept {
  cascade_geometry geometry;
  geometry.sieve.rate = {.columns = static_cast<unsigned>(shape.field[0] & 0xffU),
                         .share = static_cast<std::uint32_t>(shape.field[0] >> 32U)};
  geometry.reversed = (shape.field[0] & reversed_bit) != 0;
  geometry.sieve.seed = shape.field[1] & 0xffffffffU;
  geometry.table.seed = shape.field[1] >> 32U;
  for (unsigned i = 0; i < cascade_geometry::most_layers; ++i) {
    geometry.sieve.blocks[i] = shape.field[2 + i];
    geometry.table.blocks[i] = shape.field[5 + i];
  }
  return geometry;
}

inline void cascade::set(const stored_shape& shape, bit_store store) noexcept {
  geometry_ = geometry_of(shape);
  keys_ = {.included = shape.keys, .excluded = shape.capacity_keys - shape.keys};
  fpr_ = shape.fpr;
  store_ = std::move(store);
  const std::uint64_t* words = std::as_const(store_).data();
  sieve_kernels_ = &kernels::ribbon_kernels::for_isa(active_isa(), geometry_.sieve.widest());
  table_kernels_ = &kernels::ribbon_kernels::for_isa(active_isa(), geometry_.table.widest());
  sieve_ = detail::ribbon_view_of(geometry_.sieve, words);
  table_ = detail::ribbon_view_of(geometry_.table, words + geometry_.table_word(), cascade_geometry::table_salt);
}

template <class F>
void cascade::for_each_touched(std::uint64_t digest, F&& f) const {
  detail::ribbon_touched(geometry_.sieve, sieve_, digest, f);
  const std::uint64_t table = geometry_.table_word() * 8;
  detail::ribbon_touched(geometry_.table, table_, digest,
                         [&](std::uint64_t first, std::uint64_t size) { f(table + first, size); });
}

inline result<std::uint64_t> cascade::payload_bytes(const stored_shape& shape) noexcept {
  const cascade_geometry geometry = geometry_of(shape);
  const ribbon_rate& rate = geometry.sieve.rate;
  if (rate.columns > ribbon_rate::most_columns || (shape.field[0] & 0xfffffe00U) != 0 ||
      (rate.share != 0 && (rate.columns == 0 || rate.columns == ribbon_rate::most_columns))) {
    return fail(errc::bad_field, "fingerprint bits", {shape.field[0]});
  }
  for (const ribbon_geometry* part : {&geometry.sieve, &geometry.table}) {
    if (auto checked = detail::check_ribbon_blocks(*part); !checked) return fail(checked.error());
  }
  if ((geometry.sieve.blocks[0] != 0) != geometry.has_sieve() || (geometry.has_sieve() && !geometry.has_table())) {
    return fail(errc::bad_field, "blocks", {geometry.sieve.blocks[0]});
  }
  if (geometry.payload_words() > max_filter_bits / 64) {
    return fail(errc::bad_field, "blocks", {geometry.table.blocks[0]});
  }
  if (shape.capacity_keys < shape.keys) return fail(errc::bad_field, "capacity", {shape.capacity_keys});
  // Hardly ever are there more keys than slots: an equation may be implied by others.
  const std::uint64_t held = geometry.held({.included = shape.keys, .excluded = shape.capacity_keys - shape.keys});
  if (held > 2 * geometry.table.slots() || (held == 0) == geometry.has_table() ||
      (geometry.has_sieve() && held > 2 * geometry.sieve.slots())) {
    return fail(errc::bad_field, "keys", {shape.keys});
  }
  if (!shape.keys_exact) return fail(errc::bad_field, "keys exact", {0});
  if (shape.digest_bits != 64) return fail(errc::bad_field, "digest bits", {shape.digest_bits});
  return geometry.payload_bytes();
}

inline result<cascade> cascade::adopt(const stored_shape& shape, aligned_buffer payload) noexcept {
  auto filter = view(shape, payload.bytes());
  if (!filter) return filter;
  const cascade_geometry& geometry = filter->geometry_;
  const bit_store& store = filter->store_;
  bool zero = detail::ribbon_gaps_are_zero(geometry.sieve, store) &&
              detail::ribbon_gaps_are_zero(geometry.table, store, geometry.table_word());
  for (std::uint64_t i = geometry.sieve.payload_words(); i < geometry.table_word(); ++i)
    zero = zero && store.word(i) == 0;
  if (!zero) return fail(errc::bad_field, "bytes past the end", {geometry.table.blocks[0]});
  filter->set(shape, bit_store::adopt(std::move(payload)));
  return filter;
}

inline result<cascade> cascade::view(const stored_shape& shape, std::span<const std::byte> payload) noexcept {
  const auto expected = payload_bytes(shape);
  if (!expected) return fail(expected.error());
  if (*expected != payload.size()) return fail(errc::truncated, {}, {payload.size(), *expected});
  cascade filter;
  filter.set(shape, bit_store::view(payload));
  return filter;
}

static_assert(excluding_kind<cascade> && contiguous_kind<cascade> && stream_query_kind<cascade>);

}  // namespace bloomery::inline BLOOMERY_ABI

// kinds/scalable/chain.hpp: a chain of filters that grows by a sub-filter when the newest one is full, over any kind of
// sub-filter.
//
// A key that no sub-filter may hold goes into the newest sub-filter; what some sub-filter may hold changes nothing. A
// sub-filter is full when it has taken as many keys as it was made for, its capacity. Then, for a key that no
// sub-filter may hold, a sub-filter of `growth` times the capacity is made. A rule defines what sub-filters are, and
// which share of the chain's FPR each gets. Shares add up to at most 1, and the FPR of a chain is at most the sum of
// its sub-filters' FPRs, so that it keeps its FPR after any growth. Small sub-filters of layout redis deliver more than
// their share, because their sizes are RedisBloom's: delivered_fpr() reports how much.
//
//     blocked_sub_filters   sub-filters of kind blocked, layout split64; sub-filter i gets the share
//                           6 / (pi (i + 1))^2. The shares fall with the square of the number of sub-filters: a chain
//                           that has grown tenfold pays for FPRs of 1/200, not of 1/2048 as with halving.
//     redis_sub_filters     sub-filters of kinds/scalable/redis_sub_filter.hpp; sub-filter i gets the share
//                           1 / 2^(i + 1).
//
// kinds/chain.hpp is the chain itself: how it is queried, filled and grown.
//
// Work          sizing a blocked sub-filter takes milliseconds. With growth 1 and a small first capacity there is a
//               sub-filter for every few keys, so a small one that needs no more bits than the one before takes its
//               size from that, and a chain that can grow no further does not try again. Loading refuses a capacity
//               that the bits of a sub-filter cannot hold at its FPR.
// Bytes         a table, 32 bytes for each sub-filter: keys, blocks (split64) or bits (redis), hash functions, 0; zeros
//               to a multiple of 64. Then the sub-filters' bytes, each followed by zeros to a multiple of 64.
//               Capacities and FPRs follow from the first capacity, the growth factor and the FPR; sizes are not
//               computed again, because the last digit of a logarithm differs between machines.
#pragma once

#include <bloomery/core/size.hpp>
#include <bloomery/kinds/chain.hpp>
#include <bloomery/kinds/scalable/chain_rules.hpp>

namespace bloomery::inline BLOOMERY_ABI {

template <class Rule>
class chain : public filter_chain<scalable_rule<Rule>> {
  using base = filter_chain<scalable_rule<Rule>>;

 public:
  using digest = typename Rule::digest;
  using base::insert, base::may_contain;
  using typename base::sub_filter;
  static constexpr std::size_t max_sub_filters = scalable_rule<Rule>::max_sub_filters;
  static constexpr std::uint64_t record_bytes = 32;

  chain() noexcept = default;
  static result<chain> make(const chain_settings& settings) noexcept {
    chain made(base(scalable_rule<Rule>{.settings = settings}), true);
    if (auto first = made.grow(); !first) return fail(first.error());
    return made;
  }
  [[nodiscard]] result<chain> clone() const noexcept {
    auto copy = base::clone();
    if (!copy) return fail(copy.error());
    return chain(std::move(*copy), keys_exact_);
  }
  batch_outcome add_until_full(std::span<const digest> digests) noexcept { return base::add_until_full(digests); }
  void may_contain_batch(std::span<const digest> digests, std::span<std::uint64_t> mask) const noexcept {
    base::may_contain_batch(digests, mask);
  }

  // In kinds/scalable/chain_merge.hpp. The union, sub-filter by sub-filter. Where it would leave a sub-filter above its
  // share of the FPR, it is refused unless any FPR is accepted.
  result<void> merge(const chain& other, merge_fpr rate) noexcept;
  void clear() noexcept {
    base::clear();
    keys_exact_ = true;
  }
  // Sub-filters of the same sizes with the same bits.
  friend bool operator==(const chain& a, const chain& b) noexcept {
    return a.settings().same_growth(b.settings()) && static_cast<const base&>(a) == static_cast<const base&>(b);
  }

  [[nodiscard]] const chain_settings& settings() const noexcept { return this->rule().settings; }
  [[nodiscard]] const base& sub_filters() const noexcept { return *this; }
  [[nodiscard]] double rate_of(std::size_t index) const noexcept { return this->rule().rate_of(index); }
  [[nodiscard]] key_count keys() const noexcept {
    return {this->sum([](const sub_filter& each) { return each.keys; }), keys_exact_};
  }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return this->sum([](const sub_filter& each) { return std::uint64_t{each.filter.payload().size()}; });
  }
  [[nodiscard]] double fill() const noexcept {
    const double set_bytes = this->sum(
        [](const sub_filter& each) { return each.filter.fill() * static_cast<double>(each.filter.payload().size()); });
    return this->size() == 0 ? 0.0 : set_bytes / static_cast<double>(memory_bytes());
  }
  [[nodiscard]] double fpr_now() const noexcept {
    return this->joint_fpr([](const sub_filter& each) { return each.filter.fpr_now(); });
  }
  // What the sub-filters deliver when each holds its capacity; 0 where they are sized for their shares.
  [[nodiscard]] double delivered_fpr() const noexcept {
    if constexpr (requires(const sub_filter& each) { each.filter.expected_fpr(each.capacity); }) {
      return this->joint_fpr([](const sub_filter& each) { return each.filter.expected_fpr(each.capacity); });
    } else {
      return 0;
    }
  }
  // What the sub-filters hold, and the keys that earlier sub-filters answered yes to by mistake while a sub-filter was
  // filled.
  [[nodiscard]] double estimated_keys() const noexcept {
    double keys = 0;
    double none = 1;
    for (const sub_filter& each : *this) {
      keys += each.filter.estimated_keys() / std::max(none, 1e-9);
      none *= 1 - each.filter.fpr_now();
    }
    return keys;
  }

  // What a look-up reads in each sub-filter, newest first: see kinds/explain.hpp.
  void explain(explanation& out, const digest& given) const noexcept {
    std::uint64_t end = stored_bytes();
    for (std::size_t i = this->size(); i-- > 0;) {
      end -= in_lines((*this)[i].filter.payload().size());
      (*this)[i].filter.explain_part(out, given, {.name = "sub-filter", .index = i, .first_byte = end});
    }
  }

  // The bytes described above.
  [[nodiscard]] std::uint64_t stored_bytes() const noexcept {
    std::uint64_t bytes = table_bytes(this->size());
    for (const sub_filter& each : *this) bytes += in_lines(each.filter.payload().size());
    return bytes;
  }
  result<void> store(const byte_sink& sink) const noexcept;
  static constexpr std::uint64_t table_bytes(std::uint64_t sub_filters) noexcept {
    return in_lines(sub_filters * record_bytes);
  }
  // A chain over bytes that are stored elsewhere, or, with `owned`, over those that it keeps. `keys` is what its
  // sub-filters hold.
  static result<chain> over(const chain_settings& settings, const stored_shape& shape, std::uint64_t sub_filters,
                            std::span<const std::byte> bytes, aligned_buffer owned = {}) noexcept;
  // Calls f(first byte, size) for every stored part that a look-up may read: the table, which holds where sub-filters
  // are, too.
  template <class F>
  void for_each_touched(const digest& given, F&& f) const {
    f(std::uint64_t{0}, table_bytes(this->size()));
    std::uint64_t start = table_bytes(this->size());
    for (const sub_filter& each : *this) {
      each.filter.for_each_touched(given, [&](std::uint64_t at, std::uint64_t size) { f(start + at, size); });
      start += in_lines(each.filter.payload().size());
    }
  }

 private:
  chain(base sub_filters, bool keys_exact) noexcept : base(std::move(sub_filters)), keys_exact_(keys_exact) {}
  static constexpr std::uint64_t in_lines(std::uint64_t bytes) noexcept {
    return (bytes + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes;
  }
  [[nodiscard]] result<void> check_union(const chain& other) const noexcept;
  result<void> unite(const chain& other) noexcept;

  aligned_buffer owned_;  // the bytes of loaded sub-filters
  bool keys_exact_ = true;
};

template <class Rule>
result<void> chain<Rule>::store(const byte_sink& sink) const noexcept {
  piece_writer out(sink);
  const auto fill_line = [&out](std::uint64_t bytes) {
    const std::size_t missing = static_cast<std::size_t>(in_lines(bytes) - bytes);
    std::memset(out.take(missing), 0, missing);
  };
  for (const sub_filter& each : *this) {
    const auto field = each.filter.shape().field;
    std::byte* record = out.take(record_bytes);
    store_le(record, each.keys);
    store_le(record + 8, field[0]);
    store_le(record + 16, field[1]);
    store_le(record + 24, std::uint64_t{0});
  }
  fill_line(this->size() * record_bytes);
  for (const sub_filter& each : *this) {
    const auto bytes = each.filter.payload();
    if (auto done = out.write(bytes); !done) return done;
    fill_line(bytes.size());
  }
  return out.flush();
}

template <class Rule>
result<chain<Rule>> chain<Rule>::over(const chain_settings& settings, const stored_shape& shape,
                                      std::uint64_t sub_filters, std::span<const std::byte> bytes,
                                      aligned_buffer owned) noexcept {
  chain made(base(scalable_rule<Rule>{.settings = settings}), shape.keys_exact);
  if (auto room = made.reserve(sub_filters); !room) return fail(room.error());
  std::uint64_t start = table_bytes(sub_filters);
  std::uint64_t capacity = settings.first_keys;
  std::uint64_t keys = 0;
  for (std::uint64_t i = 0; i < sub_filters; ++i) {
    const std::byte* record = bytes.data() + i * record_bytes;
    stored_shape of{.digest_bits = Rule::digest_bits};
    of.keys = load_le<std::uint64_t>(record);
    of.field[0] = load_le<std::uint64_t>(record + 8);
    of.field[1] = load_le<std::uint64_t>(record + 16);
    if (load_le<std::uint64_t>(record + 24) != 0) return fail(errc::bad_field, "unused number of a sub-filter", {i});
    if (of.keys > max_keys - keys || (shape.keys_exact && of.keys > capacity)) {
      return fail(errc::bad_field, "keys of a sub-filter", {of.keys});
    }
    const auto size = Rule::sub_filter::payload_bytes(of);
    if (!size) return fail(size.error());
    if (*size > bytes.size() - start) return fail(errc::bad_field, "size of a sub-filter", {of.field[0]});
    // No filter of these bits holds so many keys at this FPR: the information-theoretic bound, with a margin.
    if (!(static_cast<double>(capacity) * -std::log2(made.rate_of(to_size(i))) <= 16.0 * static_cast<double>(*size))) {
      return fail(errc::bad_field, "capacity of a sub-filter", {capacity});
    }
    auto filter = Rule::sub_filter::view(of, bytes.subspan(to_size(start), to_size(*size)));
    if (!filter) return fail(filter.error());
    made.push({std::move(*filter), capacity, of.keys});
    keys += of.keys;
    start += in_lines(*size);
    if (start > bytes.size()) return fail(errc::bad_field, "size of a sub-filter", {of.field[0]});
    if (i + 1 == sub_filters) break;
    if (capacity > max_keys / settings.growth) return fail(errc::bad_field, "sub-filters", {sub_filters});
    capacity *= settings.growth;
  }
  if (start != bytes.size()) return fail(errc::bad_field, "payload bytes", {bytes.size()});
  if (keys != shape.keys) return fail(errc::bad_field, "keys", {shape.keys});
  made.owned_ = std::move(owned);
  return made;
}

}  // namespace bloomery::inline BLOOMERY_ABI

// src/formats/foreign_bloom.hpp: a Bloom filter of another product: its bits in place, and that product's rule.
//
// A rule states which bits of m a key has, and how bits are stored in bytes:
//
//     struct rule {
//       static constexpr kind_info info = foreign_kind(NUMBER, "what `info` prints of it");
//       using digest = std::uint64_t;                      // or digest128, digest256
//       using carried = nothing_carried;                   // what the file states beside its bits; see below
//       class probes {                                     // the bits of one key, one after the other
//        public:
//         probes(const digest& of, const divisor& bits) noexcept;
//         std::uint64_t next() noexcept;                   // below bits.value()
//       };
//       static std::uint64_t byte_of(std::uint64_t bit);   // low_bits_first or big_endian_words
//       static digest sample(std::uint64_t i);             // only where not every digest can be the hash of a key
//       static constexpr auto steps = progression::wraps_64;   // only where the probes are a + i b modulo the bits
//     };
//
// A digest of a weak hash (hash_info::weak) arrives finished with mix64, so that keys can be counted by it; unmix64
// gives the product's own number back.
//
// Bits are read and set a byte at a time, so a file can be queried where it is mapped, whatever its byte order and
// alignment. Batches prefetch the bytes of a group of keys before they test the first: two probes of every key that is
// left, then the next two. Threads may query at the same time; changing a filter is for one thread alone.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/core/divisor.hpp>
#include <bloomery/formats.hpp>
#include <bloomery/kinds/double_hashing.hpp>
#include <cmath>
#include <cstring>

#include "src/formats/foreign_model.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats {

// `number` is the rule's own, never that of another.
constexpr kind_info foreign_kind(std::uint32_t number, std::string_view summary) noexcept {
  return {.id = first_foreign_id + number, .name = "bloom", .summary = summary, .lines = "one a hash function"};
}

template <class Rule>
inline constexpr kind_entry foreign_entry{
    .info = &Rule::info,
    .capabilities = {.inserts = true,
                     .merges = true,
                     .intersects = true,
                     .maps = true,
                     .takes_digest128 = std::is_same_v<typename Rule::digest, digest128>}};

// Bit i in byte i / 8, from its lowest bit on.
constexpr std::uint64_t low_bits_first(std::uint64_t bit) noexcept { return bit / 8; }
// The same in words of 64 bits, of which the highest byte comes first.
constexpr std::uint64_t big_endian_words(std::uint64_t bit) noexcept { return bit / 64 * 8 + 7 - bit % 64 / 8; }

// What a file carries beside its bits. A format with more in its files derives from this and hides what it knows
// better.
struct nothing_carried {
  // What it knows of capacity, target FPR and keys. `stats` holds what follows from the bits.
  void tell(filter_stats& stats) const noexcept {
    stats.target_known = false;
    stats.keys = {static_cast<std::uint64_t>(stats.estimated_keys + 0.5), false};
  }
  void add_facts(fact_list& /*facts*/) const noexcept {}
  void count(std::uint64_t /*inserted*/) noexcept {}
  void recount(double /*estimated_keys*/) noexcept {}  // after what nobody counted: an intersection, or 0 for none
  static result<void> join(const nothing_carried& /*other*/) noexcept { return {}; }  // a union: whether it may be
  static result<nothing_carried> clone() noexcept { return nothing_carried{}; }
  friend bool operator==(const nothing_carried&, const nothing_carried&) = default;
};

struct bloom_shape {
  std::uint64_t bits = 0;  // what the rule takes the remainder by; 0 only without hash functions
  unsigned hashes = 0;     // none: every key may be present
  std::uint64_t size_bytes = 0;
};

// Beyond what any of these products chooses, and few enough to look up: a hostile header cannot make a look-up last.
inline constexpr std::uint64_t max_hashes = 4096;

template <class Rule>
class foreign_bloom final : public foreign_model {
 public:
  using digest = typename Rule::digest;
  using carried = typename Rule::carried;
  static constexpr unsigned width = sizeof(digest) * 8;

  // Over the bytes of a file, from `offset` on. The caller has checked that they are there, and the shape.
  static result<any_filter> open(source_bytes source, std::uint64_t offset, const bloom_shape& shape, carried with,
                                 const hash_spec& hash) noexcept {
    auto self = wrap(std::move(source), offset, shape, std::move(with));
    if (!self) return fail(self.error());
    return any_filter::adopt(std::move(*self), hash);
  }
  // A new one, with no bit set.
  static result<any_filter> make(const bloom_shape& shape, carried with, const hash_spec& hash,
                                 const memory_hooks* memory) noexcept {
    auto bytes = source_bytes::make(shape.size_bytes, memory);
    if (!bytes) return fail(bytes.error());
    return open(std::move(*bytes), 0, shape, std::move(with), hash);
  }
  // The filter of this rule inside an any_filter, or nullptr.
  static const foreign_bloom* in(const any_filter& filter) noexcept {
    return filter.info().id == Rule::info.id ? static_cast<const foreign_bloom*>(&filter.model()) : nullptr;
  }

  [[nodiscard]] const bloom_shape& geometry() const noexcept { return shape_; }
  [[nodiscard]] const carried& with() const noexcept { return carried_; }
  // The bytes of the bits, as they are in the file.
  [[nodiscard]] std::span<const std::byte> bits() const noexcept {
    return source_.bytes().subspan(to_size(offset_), to_size(shape_.size_bytes));
  }

  [[nodiscard]] const kind_entry& kind() const noexcept override { return foreign_entry<Rule>; }
  [[nodiscard]] bool is_mapped() const noexcept override { return source_.is_mapped(); }
  [[nodiscard]] stored_shape shape() const noexcept override {
    filter_stats known;
    carried_.tell(known);
    return {.capacity_keys = known.capacity_keys,
            .fpr = known.target_fpr,
            .keys = known.keys.keys,
            .keys_exact = known.keys.exact,
            .digest_bits = width};
  }
  [[nodiscard]] fact_list facts() const noexcept override {
    fact_list out{bits_fact(shape_.bits), hashes_fact(shape_.hashes)};
    carried_.add_facts(out);
    return out;
  }
  [[nodiscard]] result<filter_stats> stats() const noexcept override;
  [[nodiscard]] result<std::span<const std::byte>> bytes() const noexcept override { return bits(); }

  [[nodiscard]] unsigned digest_bits() const noexcept override { return width; }
  result<std::uint64_t> add(const digest_span& digests) noexcept override {
    if (is_mapped()) return read_only();
    const std::uint64_t inserted = insert_all(digests.as<digest>());
    carried_.count(inserted);
    return inserted;
  }
  result<void> may_contain(const digest_span& digests, std::span<std::uint64_t> mask) const noexcept override {
    query_all(digests.as<digest>(), mask);
    return {};
  }
  [[nodiscard]] result<explanation> explain(const digest_span& one) const noexcept override;
  result<void> merge(const filter_model& other, merge_fpr /*rate*/) noexcept override {
    const auto& from = static_cast<const foreign_bloom&>(other);
    if (auto can = check_geometry(from); !can) return can;
    if (auto joined = carried_.join(from.carried_); !joined) return joined;
    const auto to = writable();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] |= from.bits()[i];
    return {};
  }
  result<void> intersect(const filter_model& other) noexcept override {
    const auto& from = static_cast<const foreign_bloom&>(other);
    if (auto can = check_geometry(from); !can) return can;
    const auto to = writable();
    const double ours = fill(set_bits());
    for (std::size_t i = 0; i < to.size(); ++i) to[i] &= from.bits()[i];
    carried_.recount(estimate_overlap(cells(), ours, fill(from.set_bits()), fill(set_bits())).keys);
    return {};
  }
  [[nodiscard]] result<std::unique_ptr<filter_model>> clone() const noexcept override {
    auto with = carried_.clone();
    if (!with) return fail(with.error());
    auto copy = source_bytes::make(shape_.size_bytes, source_.memory());
    if (!copy) return fail(copy.error());
    if (shape_.size_bytes != 0) std::memcpy(copy->writable().data(), bits().data(), to_size(shape_.size_bytes));
    return wrap(std::move(*copy), 0, shape_, std::move(*with));
  }
  result<void> clear() noexcept override {
    if (is_mapped()) return read_only();
    const auto all = writable();
    std::fill(all.begin(), all.end(), std::byte{0});
    carried_.recount(0);
    return {};
  }
  [[nodiscard]] bool equals(const filter_model& other) const noexcept override {
    const auto& with = static_cast<const foreign_bloom&>(other);
    return shape_.bits == with.shape_.bits && shape_.hashes == with.shape_.hashes && carried_ == with.carried_ &&
           std::equal(bits().begin(), bits().end(), with.bits().begin(), with.bits().end());
  }

 private:
  foreign_bloom(source_bytes source, std::uint64_t offset, const bloom_shape& shape, carried with) noexcept
      : foreign_model(wording),
        source_(std::move(source)),
        offset_(offset),
        shape_(shape),
        bits_(shape.bits == 0 ? 1 : shape.bits),
        carried_(std::move(with)) {}
  static result<std::unique_ptr<filter_model>> wrap(source_bytes source, std::uint64_t offset, const bloom_shape& shape,
                                                    carried with) noexcept {
    std::unique_ptr<filter_model> self(new (std::nothrow)
                                           foreign_bloom(std::move(source), offset, shape, std::move(with)));
    if (self == nullptr) return fail(errc::out_of_memory, "the filter", {sizeof(foreign_bloom)});
    return self;
  }

  static failure read_only() noexcept { return fail(errc::read_only, "a mapped filter"); }
  static constexpr words wording{
      .subject = "this is a Bloom filter of another product, which",
      .not_native = "its bits are another product's and are none of a native filter: keep its format"};
  [[nodiscard]] result<void> check_geometry(const foreign_bloom& other) const noexcept {
    if (is_mapped()) return read_only();
    if (shape_.bits != other.shape_.bits || shape_.size_bytes != other.shape_.size_bytes) {
      return fail(errc::mismatch, "they have different numbers of bits");
    }
    if (shape_.hashes != other.shape_.hashes) {
      return fail(errc::mismatch, "they have different numbers of hash functions");
    }
    return {};
  }

  [[nodiscard]] std::span<std::byte> writable() noexcept {
    return source_.writable().subspan(to_size(offset_), to_size(shape_.size_bytes));
  }
  static constexpr std::byte mask_of(std::uint64_t bit) noexcept { return std::byte{1} << (bit % 8); }
  [[nodiscard]] bool test(const std::byte* at, std::uint64_t bit) const noexcept {
    return (at[Rule::byte_of(bit)] & mask_of(bit)) != std::byte{0};
  }
  // Bits after the last that a probe can reach are ignored.
  [[nodiscard]] std::uint64_t set_bits() const noexcept {
    std::uint64_t set = 0;
    const auto all = bits();
    std::size_t i = 0;
    for (; i + 8 <= all.size(); i += 8) {
      set += static_cast<std::uint64_t>(std::popcount(load_le<std::uint64_t>(all.data() + i)));
    }
    for (; i < all.size(); ++i) set += static_cast<std::uint64_t>(std::popcount(std::to_integer<unsigned>(all[i])));
    for (std::uint64_t bit = shape_.bits; bit < shape_.size_bytes * 8; ++bit) set -= test(all.data(), bit) ? 1 : 0;
    return set;
  }
  [[nodiscard]] cell_shape cells() const noexcept { return {.cells = shape_.bits, .hashes = shape_.hashes}; }
  [[nodiscard]] double fill(std::uint64_t set) const noexcept {
    return shape_.bits == 0 ? 1.0 : static_cast<double>(set) / static_cast<double>(shape_.bits);
  }
  [[nodiscard]] double estimated_keys(std::uint64_t set) const noexcept {
    if (shape_.hashes == 0) return 0;
    const auto m = static_cast<double>(shape_.bits);
    const double limited = std::min(static_cast<double>(set), m - 0.5);  // of a full one the estimate is a lower bound
    return std::log1p(-limited / m) * -m / static_cast<double>(shape_.hashes);
  }

  std::uint64_t insert_all(std::span<const digest> digests) noexcept;
  void query_all(std::span<const digest> digests, std::span<std::uint64_t> mask) const noexcept;
  [[nodiscard]] double measured_rate(double formula) const noexcept;

  static constexpr std::size_t group = 64;
  static constexpr std::uint64_t sampled_bytes = 4096;  // larger ones differ from the formula by less than can be seen
  static constexpr std::uint64_t near_bytes = std::uint64_t{1} << 20U;  // so near that prefetching takes longer

  source_bytes source_;
  std::uint64_t offset_;
  bloom_shape shape_;
  divisor bits_;
  carried carried_;
};

template <class Rule>
result<filter_stats> foreign_bloom<Rule>::stats() const noexcept {
  const std::uint64_t set = set_bits();
  filter_stats stats;
  stats.estimated_keys = estimated_keys(set);
  stats.fill = fill(set);
  stats.cells = cells();
  stats.fpr_now = std::pow(stats.fill, static_cast<double>(shape_.hashes));
  stats.memory_bytes = shape_.size_bytes;
  if constexpr (requires { Rule::steps; }) {
    stats.fpr_now = double_hashing(stats.estimated_keys, shape_.bits, shape_.hashes, Rule::steps).fpr(stats.fill);
  }
  if constexpr (!requires { Rule::steps; }) {
    if (shape_.size_bytes <= sampled_bytes) stats.fpr_now = measured_rate(stats.fpr_now);
  }
  carried_.tell(stats);
  return stats;
}

template <class Rule>
result<explanation> foreign_bloom<Rule>::explain(const digest_span& one) const noexcept {
  const digest& key = one.as<digest>()[0];
  explanation out(key);
  if (shape_.hashes == 0) {
    out.add_note({}, "the filter has no hash functions, so every key matches", true);
    return out;
  }
  const std::byte* const at = bits().data();
  const auto value = [&](std::uint64_t bit) { return test(at, bit); };
  typename Rule::probes probes(key, bits_);
  out.begin({});
  for (unsigned n = 0; n < shape_.hashes; ++n) {
    lookup_probe probe = probe_of_bit(probes.next(), value);
    probe.byte_offset = Rule::byte_of(probe.position);
    out.add(probe);
  }
  out.draw(0, shape_.bits, value);
  out.end();
  return out;
}

// Digests of keys by chance.
inline std::uint64_t sampled(std::uint64_t i, std::uint64_t /*like*/) noexcept { return mix64(i); }
inline digest128 sampled(std::uint64_t i, const digest128& /*like*/) noexcept {
  return {mix64(2 * i), mix64(2 * i + 1)};
}
inline digest256 sampled(std::uint64_t i, const digest256& /*like*/) noexcept {
  return {{mix64(4 * i), mix64(4 * i + 1), mix64(4 * i + 2), mix64(4 * i + 3)}};
}

// The FPR measured with random keys, where it exceeds the formula by more than four standard deviations and four keys;
// else the formula's.
template <class Rule>
double foreign_bloom<Rule>::measured_rate(double formula) const noexcept {
  constexpr std::uint64_t most_probes = std::uint64_t{1} << 17U;  // a file may state any number of them for a key
  constexpr std::uint64_t most_samples = std::uint64_t{1} << 14U;
  constexpr std::uint64_t least_samples = std::uint64_t{1} << 10U;
  const std::uint64_t samples = std::min(most_samples, most_probes / std::max<std::uint64_t>(1, shape_.hashes));
  if (samples < least_samples) return formula;
  std::uint64_t found = 0;
  for (std::uint64_t at = 0; at < samples; at += group) {
    std::array<digest, group> digests{};
    std::array<std::uint64_t, 1> mask{};
    for (std::size_t i = 0; i < group; ++i) {
      if constexpr (requires { Rule::sample(at); }) {
        digests[i] = Rule::sample(at + i);
      } else {
        digests[i] = sampled(at + i, digest{});
      }
    }
    query_all(digests, mask);
    found += static_cast<std::uint64_t>(std::popcount(mask[0]));
  }
  const double expected = formula * static_cast<double>(samples);
  const auto counted = static_cast<double>(found);
  return counted > expected + 4.0 * std::sqrt(expected) + 4.0 ? counted / static_cast<double>(samples) : formula;
}

template <class Rule>
std::uint64_t foreign_bloom<Rule>::insert_all(std::span<const digest> digests) noexcept {
  constexpr std::size_t ahead = 16;
  std::byte* const at = writable().data();
  const bool far = shape_.size_bytes > near_bytes;
  std::uint64_t inserted = 0;
  for (std::size_t first = 0; first < digests.size(); first += ahead) {
    const auto some = digests.subspan(first, std::min(ahead, digests.size() - first));
    for (std::size_t i = 0; far && i < some.size(); ++i) {
      typename Rule::probes probes(some[i], bits_);
      for (unsigned n = 0; n < shape_.hashes; ++n) __builtin_prefetch(at + Rule::byte_of(probes.next()), 1);
    }
    for (const digest& key : some) {
      typename Rule::probes probes(key, bits_);
      std::byte clear{0};
      for (unsigned n = 0; n < shape_.hashes; ++n) {
        const std::uint64_t bit = probes.next();
        std::byte& byte = at[Rule::byte_of(bit)];
        clear |= ~byte & mask_of(bit);
        byte |= mask_of(bit);
      }
      inserted += clear == std::byte{0} ? 0U : 1U;
    }
  }
  return inserted;
}

template <class Rule>
void foreign_bloom<Rule>::query_all(std::span<const digest> digests, std::span<std::uint64_t> mask) const noexcept {
  using probes = typename Rule::probes;
  const std::byte* const at = bits().data();
  const bool far = shape_.size_bytes > near_bytes;
  for (std::size_t first = 0; first < digests.size(); first += group) {
    const std::size_t size = std::min(group, digests.size() - first);
    // The probes of the keys that no bit has refuted yet, and which keys they are.
    std::array<std::optional<probes>, group> left;
    std::array<std::uint8_t, group> key{};
    std::array<std::array<std::uint64_t, 2>, group> next{};
    for (std::size_t i = 0; i < size; ++i) {
      left[i].emplace(digests[first + i], bits_);
      key[i] = static_cast<std::uint8_t>(i);
    }
    std::size_t count = size;
    for (unsigned done = 0; done < shape_.hashes && count != 0; done += 2) {
      const unsigned some = std::min(2U, shape_.hashes - done);
      for (std::size_t i = 0; i < count; ++i) {
        for (unsigned n = 0; n < some; ++n) {
          next[i][n] = left[i]->next();
          if (far) __builtin_prefetch(at + Rule::byte_of(next[i][n]));
        }
      }
      std::size_t kept = 0;
      for (std::size_t i = 0; i < count; ++i) {
        bool all = test(at, next[i][0]);
        if (some == 2) all &= test(at, next[i][1]);
        left[kept] = left[i];
        key[kept] = key[i];
        kept += all ? 1 : 0;
      }
      count = kept;
    }
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < count; ++i) word |= std::uint64_t{1} << key[i];
    mask[first / 64] = word;
  }
}

}  // namespace bloomery::inline BLOOMERY_ABI::formats

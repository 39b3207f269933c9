#include <bloomery/kinds/bloom.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<size_plan> bloom::plan(const size_request& request, std::string_view layout) noexcept {
  if (!layout.empty()) return fail(errc::kind_has_one_layout, info.name);
  return sizing::solve(bloom_model{}, request);
}

BLOOMERY_BODY result<bloom> bloom::make(const filter_params& params) noexcept {
  const auto solved = plan(params.sizes(), params.layout);
  if (!solved) return fail(solved.error());
  auto store = bit_store::make(bloom_model::memory_bytes(solved->bits) / 8, "the filter", params.memory);
  if (!store) return fail(store.error());
  bloom filter;
  filter.store_ = std::move(*store);
  filter.bits_ = solved->bits;
  filter.hashes_ = solved->hashes;
  filter.capacity_ = solved->keys;
  filter.fpr_ = params.fpr ? *params.fpr : solved->fpr;
  filter.digest_bits_ = params.takes_digest128 ? 128 : solved->digest_bits;
  return filter;
}

BLOOMERY_BODY result<bloom> bloom::clone() const noexcept {
  auto store = store_.clone("a copy of the filter");
  if (!store) return fail(store.error());
  bloom copy;
  copy.set_geometry(shape());
  copy.store_ = std::move(*store);
  return copy;
}

BLOOMERY_BODY result<void> bloom::check_same(const bloom& other) const noexcept {
  if (bits_ != other.bits_) return fail(errc::mismatch, "their numbers of bits differ; fold the larger one first");
  if (hashes_ != other.hashes_) return fail(errc::mismatch, "their numbers of hash functions differ");
  if (digest_bits_ != other.digest_bits_)
    return fail(errc::mismatch, "one uses 64-bit digests, the other 128-bit ones");
  return {};
}

BLOOMERY_BODY result<void> bloom::merge(const bloom& other) noexcept {
  if (auto same = check_same(other); !same) return same;
  store_.unite(other.store_);
  estimate_count();
  return {};
}

BLOOMERY_BODY result<void> bloom::intersect(const bloom& other) noexcept {
  if (auto same = check_same(other); !same) return same;
  const double ours = fill();
  store_.intersect(other.store_);
  keys_ = static_cast<std::uint64_t>(estimate_overlap(cells(), ours, other.fill(), fill()).keys + 0.5);
  keys_exact_ = false;
  return {};
}

// floor(floor(x m / 2^64) / f) = floor(x (m/f) / 2^64): f neighbouring bits become one.
BLOOMERY_BODY result<bloom> bloom::fold(std::uint64_t factor) const noexcept {
  if (factor == 0 || bits_ % factor != 0 || bits_ / factor < 8) {
    return fail(errc::cannot_fold, "the factor must divide the number of bits and leave at least 8");
  }
  bloom folded;
  folded.set_geometry(shape());
  folded.bits_ = bits_ / factor;
  auto store = bit_store::make(bloom_model::memory_bytes(folded.bits_) / 8, "the folded filter", store_.hooks());
  if (!store) return fail(store.error());
  folded.store_ = std::move(*store);
  // The target FPR stays, so the capacity shrinks to what m / f bits can keep it for.
  const auto room = sizing::keys_for(bloom_model{}, {.fpr = fpr_, .hashes = hashes_}, folded.bits_);
  folded.capacity_ = room ? *room : 0;
  for (std::uint64_t i = 0; i < store_.words(); ++i) {
    for (std::uint64_t word = store_.word(i); word != 0; word &= word - 1) {
      const std::uint64_t to = (i * 64 + static_cast<std::uint64_t>(std::countr_zero(word))) / factor;
      folded.store_.set(to / 64, std::uint64_t{1} << (to % 64));
    }
  }
  return folded;
}

BLOOMERY_BODY double bloom::fill() const noexcept {
  return bits_ == 0 ? 0.0 : static_cast<double>(store_.count_set()) / static_cast<double>(bits_);
}

BLOOMERY_BODY double bloom::estimated_keys() const noexcept {
  const double m = static_cast<double>(bits_);
  double set_bits = static_cast<double>(store_.count_set());
  if (set_bits > m - 0.5) set_bits = m - 0.5;  // a full filter: the estimate is a lower bound
  return std::log1p(-set_bits / m) / std::log1p(-1.0 / m) / static_cast<double>(hashes_);
}

BLOOMERY_BODY stored_shape bloom::shape() const noexcept {
  return {.capacity_keys = capacity_,
          .fpr = fpr_,
          .keys = keys_,
          .keys_exact = keys_exact_,
          .digest_bits = digest_bits_,
          .field = {bits_, hashes_}};
}

BLOOMERY_BODY void bloom::set_geometry(const stored_shape& shape) noexcept {
  bits_ = shape.field[0];
  hashes_ = static_cast<unsigned>(shape.field[1]);
  capacity_ = shape.capacity_keys;
  fpr_ = shape.fpr;
  keys_ = shape.keys;
  keys_exact_ = shape.keys_exact;
  digest_bits_ = shape.digest_bits;
}

BLOOMERY_BODY result<std::uint64_t> bloom::payload_bytes(const stored_shape& shape) noexcept {
  if (shape.field[0] < 8 || shape.field[0] > max_filter_bits) return fail(errc::bad_field, "bits", {shape.field[0]});
  if (shape.field[1] < 1 || shape.field[1] > bloom_model::max_hashes()) {
    return fail(errc::bad_field, "hash functions", {shape.field[1]});
  }
  for (std::size_t i = 2; i < shape.field.size(); ++i) {
    if (shape.field[i] != 0) return fail(errc::bad_field, "unused number", {shape.field[i]});
  }
  return bloom_model::memory_bytes(shape.field[0]);
}

BLOOMERY_BODY result<bloom> bloom::adopt(const stored_shape& shape, aligned_buffer payload) noexcept {
  const auto expected = payload_bytes(shape);
  if (!expected) return fail(expected.error());
  if (*expected != payload.size_bytes()) return fail(errc::truncated, {}, {payload.size_bytes(), *expected});
  bloom filter;
  filter.set_geometry(shape);
  filter.store_ = bit_store::adopt(std::move(payload));
  const std::uint64_t used = filter.bits_ % 64;
  if (used != 0 && (filter.store_.word(filter.store_.words() - 1) >> used) != 0) {
    return fail(errc::bad_field, "bits past the end", {filter.bits_});
  }
  return filter;
}

BLOOMERY_BODY result<bloom> bloom::view(const stored_shape& shape, std::span<const std::byte> payload) noexcept {
  const auto expected = payload_bytes(shape);
  if (!expected) return fail(expected.error());
  if (*expected != payload.size()) return fail(errc::truncated, {}, {payload.size(), *expected});
  bloom filter;
  filter.set_geometry(shape);
  filter.store_ = bit_store::view(payload);
  return filter;
}

BLOOMERY_BODY std::uint64_t bloom::add_batch(std::span<const digest128> digests) noexcept {
  const digest128_array next{digests.data()};
  const std::uint64_t inserted = kernels::bloom_insert<digest128>(store_.data(), kernel_view(), digests.size(), next);
  keys_ += inserted;
  return inserted;
}

BLOOMERY_BODY void bloom::may_contain_batch(std::span<const digest128> digests,
                                            std::span<std::uint64_t> mask) const noexcept {
  const digest128_array next{digests.data()};
  kernels::bloom_contains_batch<digest128>(kernel_view(), digests.size(), next, mask.data());
}

BLOOMERY_BODY std::uint64_t bloom::add_stream(std::size_t count, const digest_feed& feed) noexcept {
  const std::uint64_t inserted = kernels::bloom_insert<std::uint64_t>(store_.data(), kernel_view(), count, feed);
  keys_ += inserted;
  return inserted;
}

BLOOMERY_BODY void bloom::may_contain_stream(std::size_t count, const digest_feed& feed,
                                             std::span<std::uint64_t> mask) const noexcept {
  kernels::bloom_contains_batch<std::uint64_t>(kernel_view(), count, feed, mask.data());
}

BLOOMERY_BODY fact_list bloom::facts() const noexcept { return {bits_fact(bits_), hashes_fact(hashes_)}; }

BLOOMERY_BODY void bloom::explain_probes(explanation& out, probes probe) const noexcept {
  const auto test = [this](std::uint64_t bit) { return store_.test(bit / 64, std::uint64_t{1} << (bit % 64)); };
  out.begin({.rule = probe_rule::all});
  for (unsigned i = 0; i < hashes_; ++i) out.add(probe_of_bit(probe.next(bits_), test));
  out.draw(0, bits_, test);
  out.end();
}

BLOOMERY_BODY explanation bloom::explain(std::uint64_t digest) const noexcept {
  explanation out(digest);
  explain_probes(out, start(digest));
  return out;
}

BLOOMERY_BODY explanation bloom::explain(digest128 digest) const noexcept {
  explanation out(digest);
  explain_probes(out, start(digest));
  return out;
}

}  // namespace bloomery::inline BLOOMERY_ABI

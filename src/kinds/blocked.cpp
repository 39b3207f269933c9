#include <bloomery/kinds/blocked.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

// What split32 may cost in bits, for an FPR down to this one.
inline constexpr double quick_layout_share = 1.07;
inline constexpr double quick_layout_fpr = 0.005;

inline std::string_view layout_name(block_layout layout) noexcept {
  return layout == block_layout::split64 ? "split64" : "split32";
}

BLOOMERY_BODY result<size_plan> plan_layout(const size_request& request, block_layout layout) noexcept {
  const blocked_model model{layout};
  auto solved = sizing::solve(model, request);
  if (!solved) return solved;
  const std::uint64_t blocks = solved->bits / model.block_bits();
  if (blocks > model.max_blocks()) return fail(errc::layout_too_large, "layout split32", {blocks, model.max_blocks()});
  if (solved->digest_bits > 64) {
    return fail(errc::not_enough_hash_bits, "kind blocked",
                {solved->keys, sizing::hash_bits_needed(solved->keys, solved->fpr), 64});
  }
  solved->layout = layout_name(layout);
  return solved;
}

// How many times the bits of split64 split32 needs for the same keys and FPR; in a size that is fixed, how many times fewer
// keys it takes at the same FPR.
BLOOMERY_BODY double cost_of_split32(const size_request& request, const size_plan& narrow,
                                     const size_plan& wide) noexcept {
  if (!request.keys) return static_cast<double>(wide.keys) / static_cast<double>(narrow.keys);
  if (request.fpr) return static_cast<double>(narrow.bits) / static_cast<double>(wide.bits);
  const auto equal =
      plan_layout({.fpr = narrow.fpr, .bits = narrow.bits, .hashes = request.hashes}, block_layout::split64);
  return equal ? static_cast<double>(equal->keys) / static_cast<double>(narrow.keys) : 0.0;
}

BLOOMERY_BODY result<size_plan> plan_best_layout(const size_request& request) noexcept {
  auto wide = plan_layout(request, block_layout::split64);
  if (!wide) return wide;
  auto narrow = plan_layout(request, block_layout::split32);
  if (!narrow) return wide;
  const double most = request.fpr.value_or(narrow->fpr) >= quick_layout_fpr ? quick_layout_share : 1.0;
  return cost_of_split32(request, *narrow, *wide) <= most ? narrow : wide;
}

}  // namespace detail
}  // namespace bloomery::inline BLOOMERY_ABI

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<size_plan> blocked::plan(const size_request& request, std::string_view layout) noexcept {
  if (layout.empty()) return detail::plan_best_layout(request);
  if (layout == "split64") return detail::plan_layout(request, block_layout::split64);
  if (layout == "split32") return detail::plan_layout(request, block_layout::split32);
  return fail(errc::unknown_layout, "kind blocked has the layouts split64 and split32");
}

BLOOMERY_BODY result<blocked> blocked::make(const filter_params& params) noexcept {
  const auto solved = plan(params.sizes(), params.layout);
  if (!solved) return fail(solved.error());
  auto store = bit_store::make(solved->bits / 64, "the filter", params.memory);
  if (!store) return fail(store.error());
  blocked filter;
  filter.store_ = std::move(*store);
  filter.layout_ = solved->layout == "split64" ? block_layout::split64 : block_layout::split32;
  filter.set_blocks(solved->bits / filter.model().block_bits());
  filter.hashes_ = solved->hashes;
  filter.capacity_ = solved->keys;
  filter.fpr_ = params.fpr ? *params.fpr : solved->fpr;
  return filter;
}

BLOOMERY_BODY result<blocked> blocked::clone(const memory_hooks* memory) const noexcept {
  auto store = store_.clone("a copy of the filter", memory);
  if (!store) return fail(store.error());
  blocked copy;
  copy.set_geometry(shape());
  copy.store_ = std::move(*store);
  return copy;
}

BLOOMERY_BODY std::uint64_t blocked::insert_uncounted(std::size_t count, const digest_feed& feed) noexcept {
  return layout_ == block_layout::split64
             ? active_kernels<kernels::blocked_batch_kernels<kernels::split64>>().add_batch(store_.data(),
                                                                                            kernel_view(), count, feed)
             : active_kernels<kernels::blocked_batch_kernels<kernels::split32>>().add_batch(store_.data(),
                                                                                            kernel_view(), count, feed);
}

BLOOMERY_BODY std::uint64_t blocked::add_stream(std::size_t count, const digest_feed& feed) noexcept {
  const std::uint64_t inserted = insert_uncounted(count, feed);
  keys_ += inserted;
  return inserted;
}

BLOOMERY_BODY void blocked::may_contain_stream(std::size_t count, const digest_feed& feed,
                                               std::span<std::uint64_t> mask) const noexcept {
  if (layout_ == block_layout::split64) {
    active_kernels<kernels::blocked_batch_kernels<kernels::split64>>().contains_batch(kernel_view(), count, feed,
                                                                                      mask.data());
  } else {
    active_kernels<kernels::blocked_batch_kernels<kernels::split32>>().contains_batch(kernel_view(), count, feed,
                                                                                      mask.data());
  }
}

BLOOMERY_BODY result<void> blocked::check_same(const blocked& other) const noexcept {
  if (layout_ != other.layout_) return fail(errc::mismatch, "their layouts differ (split64 and split32)");
  if (blocks_ != other.blocks_)
    return fail(errc::mismatch, "their numbers of blocks differ; fold the larger one first");
  if (hashes_ != other.hashes_) return fail(errc::mismatch, "their numbers of hash functions differ");
  return {};
}

BLOOMERY_BODY result<void> blocked::merge(const blocked& other) noexcept {
  if (auto same = check_same(other); !same) return same;
  store_.unite(other.store_);
  set_count(estimated_count());
  return {};
}

BLOOMERY_BODY result<void> blocked::intersect(const blocked& other) noexcept {
  if (auto same = check_same(other); !same) return same;
  const double ours = fill();
  store_.intersect(other.store_);
  const double keys = estimate_overlap(cells(), ours, other.fill(), fill()).keys;
  set_count({static_cast<std::uint64_t>(keys + 0.5), false});
  return {};
}

// Blocks are chosen by the digest's high bits, so block b of n becomes block b / f of n / f.
BLOOMERY_BODY void blocked::fold_into(std::uint64_t factor, std::uint64_t* words) const noexcept {
  const std::uint64_t size = words_a_block();
  for (std::uint64_t i = 0; i < store_.words(); ++i) words[i / size / factor * size + i % size] |= store_.data()[i];
}

BLOOMERY_BODY result<blocked> blocked::fold(std::uint64_t factor) const noexcept {
  if (factor == 0 || blocks_ % factor != 0)
    return fail(errc::cannot_fold, "the factor must divide the number of blocks");
  blocked folded;
  folded.set_geometry(shape());
  folded.set_blocks(blocks_ / factor);
  auto store = bit_store::make(folded.blocks_ * words_a_block(), "the folded filter", store_.hooks());
  if (!store) return fail(store.error());
  folded.store_ = std::move(*store);
  // The target FPR stays, so the capacity shrinks to what the blocks left can keep it for.
  const auto room = sizing::keys_for(model(), {.fpr = fpr_, .hashes = hashes_}, folded.bits());
  folded.capacity_ = room ? *room : 0;
  fold_into(factor, folded.store_.data());
  return folded;
}

BLOOMERY_BODY double blocked::fill() const noexcept {
  return blocks_ == 0 ? 0.0 : static_cast<double>(store_.count_set()) / static_cast<double>(bits());
}

BLOOMERY_BODY double blocked::estimated_keys() const noexcept {
  const std::uint64_t words = words_a_block();
  const double m = static_cast<double>(model().block_bits());
  const double one_key =
      std::log1p(-static_cast<double>(hashes_) / m);  // ln of the share of clear bits that a key leaves
  double keys = 0;
  for (std::uint64_t block = 0; block < blocks_; ++block) {
    int set_bits = 0;
    for (std::uint64_t i = 0; i < words; ++i) set_bits += std::popcount(store_.data()[block * words + i]);
    // A full block: the estimate is a lower bound.
    const double clear = m - (static_cast<double>(set_bits) > m - 0.5 ? m - 0.5 : static_cast<double>(set_bits));
    keys += std::log(clear / m) / one_key;
  }
  return keys;
}

BLOOMERY_BODY double blocked::fpr_now() const noexcept {
  return mean_fpr([this](std::uint64_t i) { return store_.word(i); });
}

BLOOMERY_BODY double blocked::fpr_of_both(const blocked& other) const noexcept {
  const std::uint64_t words = words_a_block();
  const std::uint64_t share = other.blocks_ == 0 ? 1 : blocks_ / other.blocks_;
  return mean_fpr(
      [&](std::uint64_t i) { return store_.word(i) & other.store_.word(i / words / share * words + i % words); });
}

BLOOMERY_BODY stored_shape blocked::shape() const noexcept {
  const key_count count = keys();
  return {.capacity_keys = capacity_,
          .fpr = fpr_,
          .keys = count.keys,
          .keys_exact = count.exact,
          .digest_bits = 64,
          .field = {blocks_, hashes_, static_cast<std::uint64_t>(layout_)}};
}

BLOOMERY_BODY void blocked::set_geometry(const stored_shape& shape) noexcept {
  hashes_ = static_cast<unsigned>(shape.field[1]);
  layout_ = static_cast<block_layout>(shape.field[2]);
  set_blocks(shape.field[0]);
  capacity_ = shape.capacity_keys;
  fpr_ = shape.fpr;
  set_count({shape.keys, shape.keys_exact});
}

BLOOMERY_BODY result<std::uint64_t> blocked::payload_bytes(const stored_shape& shape) noexcept {
  if (shape.field[2] > 1) return fail(errc::bad_field, "layout", {shape.field[2]});
  const blocked_model model{static_cast<block_layout>(shape.field[2])};
  if (shape.field[0] < 1 || shape.field[0] > model.max_blocks())
    return fail(errc::bad_field, "blocks", {shape.field[0]});
  if (shape.field[1] < model.min_hashes() || shape.field[1] > model.max_hashes()) {
    return fail(errc::bad_field, "hash functions", {shape.field[1]});
  }
  if (shape.digest_bits != 64) return fail(errc::bad_field, "digest bits", {shape.digest_bits});
  for (std::size_t i = 3; i < shape.field.size(); ++i) {
    if (shape.field[i] != 0) return fail(errc::bad_field, "unused number", {shape.field[i]});
  }
  return shape.field[0] * model.block_bits() / 8;
}

BLOOMERY_BODY result<blocked> blocked::adopt(const stored_shape& shape, aligned_buffer payload) noexcept {
  auto filter = view(shape, payload.bytes());
  if (filter) filter->store_ = bit_store::adopt(std::move(payload));
  return filter;
}

BLOOMERY_BODY result<blocked> blocked::view(const stored_shape& shape, std::span<const std::byte> payload) noexcept {
  const auto expected = payload_bytes(shape);
  if (!expected) return fail(expected.error());
  if (*expected != payload.size()) return fail(errc::truncated, {}, {payload.size(), *expected});
  blocked filter;
  filter.set_geometry(shape);
  filter.store_ = bit_store::view(payload);
  return filter;
}

BLOOMERY_BODY fact_list blocked::facts() const noexcept {
  return {layout_fact(detail::layout_name(layout_)), blocks_fact(blocks_), bits_fact(bits()), hashes_fact(hashes_)};
}

BLOOMERY_BODY void blocked::explain_part(explanation& out, std::uint64_t digest,
                                         const explained_part& part) const noexcept {
  const auto test = [this](std::uint64_t bit) { return store_.test(bit / 64, std::uint64_t{1} << (bit % 64)); };
  const auto add_word = [&](std::uint64_t word, std::uint64_t mask) {
    for (; mask != 0; mask &= mask - 1) {
      const std::uint64_t bit = word * 64 + static_cast<unsigned>(std::countr_zero(mask));
      out.add(probe_of_bit(bit, test, part.first_byte));
    }
  };
  const std::uint64_t block = block_of(digest);
  out.begin({.part = part, .place = "block", .place_index = block});
  if (layout_ == block_layout::split64) {
    for_each_word<kernels::split64>(digest, add_word);
  } else {
    for_each_word<kernels::split32>(digest, add_word);
  }
  const std::uint64_t first = block * model().block_bits();
  out.draw(first, model().block_bits(), [&](std::uint64_t i) { return test(first + i); });
  out.end();
}

}  // namespace bloomery::inline BLOOMERY_ABI

// kinds/ribbon.hpp: the ribbon filter: the smallest one for keys that are all known.
//
// What it is    a system of linear equations, solved once: each key names up to 64 neighbouring slots that xor to its
//               fingerprint. A slot has no more bits than a fingerprint, and nearly all slots are in use. Keys that do
//               not fit are bumped into a second, much smaller system, and what that bumps into a third.
// Use it when   keys do not change once the filter is built, and memory or bytes on the way count more than the time to
//               build: from a million keys on log2(1/p) bits per key and less than 1 % beside them where p is a power
//               of two (8.05 at 1/256; `bloom` takes 11.5); up to 0.086 bits more at other FPRs (6.8 at 1 %, 10.0 at
//               0.1 %).
// Use instead   `fuse` for faster look-ups in a seventh more memory; any other kind when keys come one by one. Small
//               sets take whole blocks: 1.15 times log2(1/p) bits a key at 1,000 keys, 1.05 times at 4,000.
//
// Build         static: from all digests, which are reordered meanwhile. Takes 8 bytes a key for these, the filter
//               twice and 3 MiB a thread. Never refuses keys: duplicates count once, digests may be badly spread (then
//               it is larger). A set of keys gives the same bytes in whatever order and on however many threads.
// FPR           any p from 1/2 to 2^-32: a share of the slots has one bit more, such that the mean is p. An FPR above
//               1/2 gives 1/2. An empty filter answers no to everything.
// Size          plan reports an upper bound, some tenths of a percent above.
// Merges        no, and nothing can be inserted or erased: build it again.
// Keys          keys() is the number of different digests; exact.
//
// Bytes         layer after layer, the blocks of each and zeros to a multiple of 64 bytes; then of each layer the
//               thresholds and zeros to a multiple of 8 bytes; at least 64 bytes in all for these. kernels/ribbon.hpp
//               defines blocks, thresholds and what a digest reads; kinds/ribbon/layout.hpp the sizes.
// Papers        P. Dillinger, S. Walzer, "Ribbon filter: practically smaller than Bloom and Xor", 2021; P. Dillinger,
//               L. Huebschle-Schneider, P. Sanders, S. Walzer, "Fast succinct retrieval and approximate membership
//               using ribbon", SEA 2022 (bumping).
// Threads       any number of readers.
//
//     const std::vector<std::string> keys = {"alice", "bob"};
//     auto filter = bloomery::filter<bloomery::ribbon>::build(std::span(keys), {.fpr = 0.001});
//     if (!filter) return 2;
//     bool maybe = filter->may_contain("alice");  // true
#pragma once

#include <bloomery/kernels/blocked.hpp>
#include <bloomery/kernels/ribbon/dispatch.hpp>
#include <bloomery/kinds/bit_store.hpp>
#include <bloomery/kinds/explain.hpp>
#include <bloomery/kinds/ribbon/build.hpp>
#include <bloomery/kinds/ribbon/layout.hpp>
#include <bloomery/kinds/ribbon/system.hpp>
#include <type_traits>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {

class BLOOMERY_API ribbon {
 public:
  static constexpr kind_info info{.id = 10,
                                  .name = "ribbon",
                                  .summary = "built once from all keys: the smallest filter, at any rate",
                                  .lines = "2 to 9, side by side"};

  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept {
    return sizing::plan_ribbon(request, layout);
  }
  // Reorders the digests. `keys` of the parameters states what was expected; what counts is how many digests there are.
  // 0 threads: as many as the machine has.
  static result<ribbon> build(const filter_params& params, std::span<std::uint64_t> digests,
                              unsigned threads = 0) noexcept;
  [[nodiscard]] result<ribbon> clone() const noexcept;

  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept {
#if defined(BLOOMERY_X86) && defined(BLOOMERY_COMPILED_FOR)
    if (geometry_.widest() <= 8) return kernels::avx2::ribbon_ask_inline<1>(view_, digest);
    return functions_->contains(view_, digest);
#else
    return functions_->contains(view_, digest);
#endif
  }
  // What a look-up reads and decides: see kinds/explain.hpp.
  [[nodiscard]] explanation explain(std::uint64_t digest) const noexcept {
    explanation out(digest);
    detail::explain_ribbon(out, geometry_, view_, digest, {.name = "layer"});
    return out;
  }
  // Bit i of the mask (bit i % 64 of word i / 64) answers digest i; the mask holds mask_words(digests.size()) words.
  void may_contain_batch(std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) const noexcept {
    may_contain_stream(digests.size(), digest_feed(digests.data()), mask);
  }
  // The same with digests that are made as they are needed: see stream_query_kind in kinds/concept.hpp.
  void may_contain_stream(std::size_t count, const digest_feed& feed, std::span<std::uint64_t> mask) const noexcept {
    functions_->contains_batch(view_, count, feed, mask.data());
  }
  // Look-ups for which the number of columns is decided: see lookup_kind in kinds/concept.hpp.
  template <class F>
  decltype(auto) with_lookup(F&& f) const {
#if defined(BLOOMERY_X86) && defined(BLOOMERY_COMPILED_FOR)
    const auto asks_eights = [this]<unsigned Eights>(std::integral_constant<unsigned, Eights>) {
      return [view = view_](std::uint64_t digest) { return kernels::avx2::ribbon_ask_inline<Eights>(view, digest); };
    };
    if (geometry_.widest() <= 8) return f(asks_eights(std::integral_constant<unsigned, 1>{}));
    if (geometry_.widest() <= 16) return f(asks_eights(std::integral_constant<unsigned, 2>{}));
    if (geometry_.widest() <= 24) return f(asks_eights(std::integral_constant<unsigned, 3>{}));
    return f(asks_eights(std::integral_constant<unsigned, 4>{}));
#else
    return f([one = functions_->contains, view = view_](std::uint64_t digest) { return one(view, digest); });
#endif
  }

  // Same geometry and slots: the same answers for ever.
  friend bool operator==(const ribbon& a, const ribbon& b) noexcept {
    return a.geometry_.rate.columns == b.geometry_.rate.columns && a.geometry_.rate.share == b.geometry_.rate.share &&
           a.geometry_.seed == b.geometry_.seed && a.geometry_.blocks == b.geometry_.blocks && a.store_ == b.store_;
  }

  [[nodiscard]] key_count keys() const noexcept { return {keys_, true}; }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return keys_; }
  [[nodiscard]] double target_fpr() const noexcept { return fpr_; }
  [[nodiscard]] const ribbon_geometry& geometry() const noexcept { return geometry_; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return store_.words() * 8; }
  // Keys for each slot.
  [[nodiscard]] double fill() const noexcept {
    const std::uint64_t slots = geometry_.slots();
    return slots == 0 ? 0.0 : static_cast<double>(keys_) / static_cast<double>(slots);
  }
  [[nodiscard]] double estimated_keys() const noexcept { return static_cast<double>(keys_); }
  [[nodiscard]] double fpr_now() const noexcept { return geometry_.fpr(); }
  [[nodiscard]] fact_list facts() const noexcept;

  // The native file: see kinds/concept.hpp.
  [[nodiscard]] stored_shape shape() const noexcept {
    stored_shape out{.capacity_keys = keys_, .fpr = fpr_, .keys = keys_, .keys_exact = true, .digest_bits = 64};
    out.field = {geometry_.rate.columns, geometry_.rate.share, geometry_.seed};
    for (unsigned i = 0; i < ribbon_geometry::most_layers; ++i) out.field[3 + i] = geometry_.blocks[i];
    return out;
  }
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return store_.bytes(); }
  static result<std::uint64_t> payload_bytes(const stored_shape& shape) noexcept;
  static result<ribbon> adopt(const stored_shape& shape, aligned_buffer payload) noexcept;
  static result<ribbon> view(const stored_shape& shape, std::span<const std::byte> payload) noexcept;

  // Calls f(first byte, size) for the thresholds and blocks that a look-up reads.
  template <class F>
  void for_each_touched(std::uint64_t digest, F&& f) const;

 private:
  static ribbon_geometry geometry_of(const stored_shape& shape) noexcept;
  static result<sizing::ribbon_request> request_for(const filter_params& params, std::uint64_t keys) noexcept;
  static result<ribbon> build_once(const filter_params& params, std::span<std::uint64_t> digests, unsigned threads,
                                   std::uint64_t spared_bytes) noexcept;
  void set(const stored_shape& shape, bit_store store) noexcept;

  bit_store store_;
  kernels::ribbon_view view_{};
  const kernels::ribbon_kernels* functions_ = &kernels::ribbon_kernels::for_isa(isa::scalar, 1);
  ribbon_geometry geometry_{};
  std::uint64_t keys_ = 0;
  double fpr_ = 0;
};

template <class F>
void ribbon::for_each_touched(std::uint64_t digest, F&& f) const {
  detail::ribbon_touched(geometry_, view_, digest, f);
}

static_assert(static_kind<ribbon> && contiguous_kind<ribbon> && stream_query_kind<ribbon> && lookup_kind<ribbon>);

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/ribbon.cpp>
#endif

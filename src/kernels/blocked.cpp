#include <bloomery/kernels/blocked/avx2.hpp>
#include <bloomery/kernels/blocked/avx512.hpp>
#include <bloomery/kernels/blocked/dispatch.hpp>
#include <bloomery/kernels/blocked/neon.hpp>
#include <bloomery/kernels/blocked/sse2.hpp>

namespace bloomery::inline BLOOMERY_ABI::kernels {

inline namespace BLOOMERY_TARGET_ABI {

// The batches in plain C++: the bits and answers that every instruction set must give.
namespace portable {

template <class Layout>
bool blocked_contains_one(const std::uint64_t* words, std::uint64_t blocks, typename Layout::hash_count hashes,
                          std::uint64_t digest) noexcept {
  return blocked_contains<Layout>(blocked_view{words, blocks, hashes}, digest);
}
template <class Layout>
bool blocked_insert_one(std::uint64_t* words, std::uint64_t blocks, typename Layout::hash_count hashes,
                        std::uint64_t digest) noexcept {
  return blocked_insert<Layout>(words, blocked_view{words, blocks, hashes}, digest);
}
template <class Layout>
void blocked_add_one(std::uint64_t* words, std::uint64_t blocks, typename Layout::hash_count hashes,
                     std::uint64_t digest) noexcept {
  static_cast<void>(blocked_insert_one<Layout>(words, blocks, hashes, digest));
}

template <class Layout, class Each>
void blocked_batch(const blocked_view& view, std::size_t count, const digest_feed& feed, Each&& each) {
  std::array<std::uint64_t, blocked_group> buffer;
  for (std::size_t first = 0; first < count; first += blocked_group) {
    const std::size_t size = count - first < blocked_group ? count - first : blocked_group;
    const std::uint64_t* digests = feed(first, size, buffer.data());
    for (std::size_t i = 0; i < size; ++i) {
      __builtin_prefetch(view.words + Layout::block(digests[i], view.blocks) * Layout::words);
    }
    for (std::size_t i = 0; i < size; ++i) each(first + i, digests[i]);
  }
}

template <class Layout>
void blocked_contains_batch(const blocked_view& view, std::size_t count, const digest_feed& feed,
                            std::uint64_t* mask) noexcept {
  for (std::size_t word = 0; word < (count + 63) / 64; ++word) mask[word] = 0;
  blocked_batch<Layout>(view, count, feed, [&](std::size_t i, std::uint64_t digest) {
    mask[i / 64] |= std::uint64_t{blocked_contains<Layout>(view, digest)} << (i % 64);
  });
}

template <class Layout>
std::uint64_t blocked_insert_batch(std::uint64_t* words, const blocked_view& view, std::size_t count,
                                   const digest_feed& feed) noexcept {
  std::uint64_t inserted = 0;
  blocked_batch<Layout>(view, count, feed, [&](std::size_t /*i*/, std::uint64_t digest) {
    inserted += blocked_insert<Layout>(words, view, digest) ? 1U : 0U;
  });
  return inserted;
}

}  // namespace portable

#ifdef BLOOMERY_X86

// The vectors of AVX2 and AVX-512 count fewer than 2^32 blocks; larger filters take the code of SSE2.
constexpr bool fits_vectors(const blocked_view& view) noexcept { return view.blocks >> 32U == 0; }

namespace avx2 {

// Hashes while memory answers, where it can.
template <class Layout>
void contains_batch(const blocked_view& view, std::size_t count, const digest_feed& feed,
                    std::uint64_t* mask) noexcept {
  if (!fits_vectors(view)) return sse2::blocked_contains_batch<Layout>(view, count, feed, mask);
  with_source(feed, [&](const auto& source) { blocked_contains_batch<Layout>(view, count, source, mask); });
}
template <class Layout>
std::uint64_t add_batch(std::uint64_t* words, const blocked_view& view, std::size_t count,
                        const digest_feed& feed) noexcept {
  if (!fits_vectors(view)) return sse2::blocked_insert<Layout>(words, view, count, feed);
  return with_source(feed, [&](const auto& source) { return blocked_insert<Layout>(words, view, count, source); });
}

}  // namespace avx2

namespace avx512 {

// A block of split32 is one register of AVX2: longer ones gain nothing, and the loops of AVX2 hash while memory answers
// (1.6 ns a key in cache against 2.0).
template <class Layout>
void contains_batch(const blocked_view& view, std::size_t count, const digest_feed& feed,
                    std::uint64_t* mask) noexcept {
  if constexpr (Layout::lane_bits == 32) return avx2::contains_batch<Layout>(view, count, feed, mask);
  if (!fits_vectors(view)) return sse2::blocked_contains_batch<Layout>(view, count, feed, mask);
  blocked_contains_batch<Layout>(view, count, feed, mask);
}
template <class Layout>
std::uint64_t add_batch(std::uint64_t* words, const blocked_view& view, std::size_t count,
                        const digest_feed& feed) noexcept {
  if constexpr (Layout::lane_bits == 32) return avx2::add_batch<Layout>(words, view, count, feed);
  if (!fits_vectors(view)) return sse2::blocked_insert<Layout>(words, view, count, feed);
  return blocked_insert<Layout>(words, view, count, feed);
}

}  // namespace avx512

#endif

}  // namespace BLOOMERY_TARGET_ABI

template <class Layout>
const blocked_kernels<Layout>& blocked_kernels<Layout>::for_isa(isa level) noexcept {
#ifdef BLOOMERY_X86
  static constexpr blocked_kernels with_avx512{avx512::blocked_contains_one<Layout>, avx512::blocked_insert_one<Layout>,
                                               avx512::blocked_add_one<Layout>};
  static constexpr blocked_kernels with_avx2{avx2::blocked_contains_one<Layout>, avx2::blocked_insert_one<Layout>,
                                             avx2::blocked_add_one<Layout>};
  static constexpr blocked_kernels with_sse2{sse2::blocked_contains_one<Layout>, sse2::blocked_insert_one<Layout>,
                                             sse2::blocked_add_one<Layout>};
  if (level == isa::avx512 && !Layout::fixed) return with_avx512;  // see dispatch.hpp
  if (level == isa::avx2 || level == isa::avx512) return with_avx2;
  if (level == isa::sse2) return with_sse2;
#endif
#ifdef BLOOMERY_NEON
  static constexpr blocked_kernels with_neon{neon::blocked_contains_one<Layout>, neon::blocked_insert_one<Layout>,
                                             neon::blocked_add_one<Layout>};
  if (level == isa::neon) return with_neon;
#endif
  static_cast<void>(level);
  static constexpr blocked_kernels plain{portable::blocked_contains_one<Layout>, portable::blocked_insert_one<Layout>,
                                         portable::blocked_add_one<Layout>};
  return plain;
}

template <class Layout>
const blocked_batch_kernels<Layout>& blocked_batch_kernels<Layout>::for_isa(isa level) noexcept {
#ifdef BLOOMERY_X86
  static constexpr blocked_batch_kernels with_avx512{avx512::contains_batch<Layout>, avx512::add_batch<Layout>};
  static constexpr blocked_batch_kernels with_avx2{avx2::contains_batch<Layout>, avx2::add_batch<Layout>};
  static constexpr blocked_batch_kernels with_sse2{sse2::blocked_contains_batch<Layout, digest_feed>,
                                                   sse2::blocked_insert<Layout, digest_feed>};
  if (level == isa::avx512) return with_avx512;
  if (level == isa::avx2) return with_avx2;
  if (level == isa::sse2) return with_sse2;
#endif
#ifdef BLOOMERY_NEON
  static constexpr blocked_batch_kernels with_neon{neon::blocked_contains_batch<Layout, digest_feed>,
                                                   neon::blocked_insert<Layout, digest_feed>};
  if (level == isa::neon) return with_neon;
#endif
  static_cast<void>(level);
  static constexpr blocked_batch_kernels plain{portable::blocked_contains_batch<Layout>,
                                               portable::blocked_insert_batch<Layout>};
  return plain;
}

#ifndef BLOOMERY_HEADER_ONLY
template struct blocked_kernels<split32>;
template struct blocked_kernels<split64>;
template struct blocked_batch_kernels<split32>;
template struct blocked_batch_kernels<split64>;
#endif

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

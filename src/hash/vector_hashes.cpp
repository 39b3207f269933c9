#include <bloomery/hash/digest.hpp>
#include <bloomery/hash/vector/digests4_avx2.hpp>
#include <bloomery/hash/vector_hashes.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace kernels::inline BLOOMERY_TARGET_ABI {

namespace portable {

template <class H>
void integer_digests(const H& hash, const std::uint64_t* keys, std::size_t count, std::uint64_t* digests) noexcept {
  for (std::size_t i = 0; i < count; ++i) digests[i] = hash.integer(keys[i]);
}

template <class H>
void byte_digests(const H& hash, const byte_key* keys, std::size_t count, std::uint64_t* digests) noexcept {
  for (std::size_t i = 0; i < count; ++i) digests[i] = hash(keys[i].data(), keys[i].size());
}

}  // namespace portable

#ifdef BLOOMERY_X86

namespace avx2 {

template <class H>
BLOOMERY_FOR_AVX2 void integer_digests(const H& hash, const std::uint64_t* keys, std::size_t count,
                                       std::uint64_t* digests) noexcept {
  const key_digests<H, std::uint64_t> source{hash, {keys, count}};
  const vector_source<key_digests<H, std::uint64_t>> four(source);
  std::size_t i = 0;
  if constexpr (can_hash4<key_digests<H, std::uint64_t>>) {
    for (; i + 4 <= count; i += 4) store(digests + i, fetch_four(four, nullptr, 0, i));
  }
  for (; i < count; ++i) digests[i] = hash.integer(keys[i]);
}

template <class H>
BLOOMERY_FOR_AVX2 void byte_digests(const H& hash, const byte_key* keys, std::size_t count,
                                    std::uint64_t* digests) noexcept {
  const xxh3_short constants(hash.seed);
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) store(digests + i, hash_four_keys(hash, constants, keys + i));
  for (; i < count; ++i) digests[i] = hash(keys[i].data(), keys[i].size());
}

}  // namespace avx2

#endif

}  // namespace kernels::inline BLOOMERY_TARGET_ABI

BLOOMERY_BODY const vector_hashes& vector_hashes::for_isa(isa level) noexcept {
#ifdef BLOOMERY_X86
  static constexpr vector_hashes with_avx2{
      .xxh3_integers = kernels::avx2::integer_digests<xxh3>,
      .mum_integers = kernels::avx2::integer_digests<mum>,
      .aes2_integers = kernels::avx2::integer_digests<aes2>,
      .mum2_integers = kernels::avx2::integer_digests<mum2>,
      .xxh3_bytes = kernels::avx2::byte_digests<xxh3>,
      .mum2_bytes = kernels::avx2::byte_digests<mum2>,
  };
  if (level == isa::avx2 || level == isa::avx512) return with_avx2;
#endif
  static_cast<void>(level);
  static constexpr vector_hashes plain{
      .xxh3_integers = kernels::portable::integer_digests<xxh3>,
      .mum_integers = kernels::portable::integer_digests<mum>,
      .aes2_integers = kernels::portable::integer_digests<aes2>,
      .mum2_integers = kernels::portable::integer_digests<mum2>,
      .xxh3_bytes = kernels::portable::byte_digests<xxh3>,
      .mum2_bytes = kernels::portable::byte_digests<mum2>,
  };
  return plain;
}

}  // namespace bloomery::inline BLOOMERY_ABI

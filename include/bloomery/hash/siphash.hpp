// hash/siphash.hpp: SipHash-1-3 and SipHash-2-4 by Aumasson and Bernstein, keyed with 16 secret bytes.
//
// Without the key nobody can predict a digest, so nobody can choose keys that collide or that are false positives: use
// one of them where an opponent chooses keys. SipHash-1-3 (one round per word, three at the end) is the hash-table
// variant, up to 1.7 times as fast; SipHash-2-4 is the conservative one, analysed as a message authentication code.
//
//     auto hash = bloomery::siphash13::from_key(secret);   // 16 bytes, from the operating system's random source
//     if (!hash) return fail(hash.error());
//
// A default-made value has the all-zero key and hides nothing.
#pragma once

#include <array>
#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/hash/concept.hpp>
#include <bloomery/hash/partial.hpp>
#include <span>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

struct sip_state {
  std::uint64_t v0;
  std::uint64_t v1;
  std::uint64_t v2;
  std::uint64_t v3;

  // The start words spell "somepseudorandomlygeneratedbytes".
  explicit constexpr sip_state(const std::array<std::uint64_t, 2>& key) noexcept
      : v0(key[0] ^ 0x736f6d6570736575ULL),
        v1(key[1] ^ 0x646f72616e646f6dULL),
        v2(key[0] ^ 0x6c7967656e657261ULL),
        v3(key[1] ^ 0x7465646279746573ULL) {}

  template <int Rounds>
  constexpr void rounds() noexcept {
    for (int i = 0; i < Rounds; ++i) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  }

  template <int Rounds>
  constexpr void absorb(std::uint64_t word) noexcept {
    v3 ^= word;
    rounds<Rounds>();
    v0 ^= word;
  }
};

template <int WordRounds, int FinalRounds>
std::uint64_t siphash(const std::array<std::uint64_t, 2>& key, const void* bytes, std::size_t size) noexcept {
  const auto* at = static_cast<const std::byte*>(bytes);
  sip_state state(key);
  std::size_t left = size;
  for (; left >= 8; left -= 8, at += 8) state.absorb<WordRounds>(load_le<std::uint64_t>(at));
  // The last word: what is left, and the length modulo 256 in its top byte.
  state.absorb<WordRounds>(load_partial_le(at, left) | static_cast<std::uint64_t>(size) << 56U);
  state.v2 ^= 0xffU;
  state.rounds<FinalRounds>();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

// The words of a secret key of exactly 8 * N bytes.
template <std::size_t N>
result<std::array<std::uint64_t, N>> key_words(std::span<const std::byte> key, std::string_view hash_name) noexcept {
  if (key.size() != 8 * N) return fail(errc::bad_key_size, hash_name, {key.size(), 8 * N});
  std::array<std::uint64_t, N> words{};
  for (std::size_t i = 0; i < N; ++i) words[i] = load_le<std::uint64_t>(key.data() + 8 * i);
  return words;
}

}  // namespace detail

struct siphash13 {
  std::array<std::uint64_t, 2> key{};  // the secret bytes as little-endian words

  static constexpr hash_info info{.id = 10,
                                  .name = "siphash13",
                                  .bits = 64,
                                  .seed_bits = 0,
                                  .key_bytes = 16,
                                  .weak = false,
                                  .summary = "SipHash-1-3, 64 bits, secret key: for keys that an opponent chooses"};

  static result<siphash13> from_key(std::span<const std::byte> secret) noexcept {
    return detail::key_words<2>(secret, info.name).map([](const auto& words) { return siphash13{.key = words}; });
  }
  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    return detail::siphash<1, 3>(key, bytes, size);
  }
};

struct siphash24 {
  std::array<std::uint64_t, 2> key{};  // the secret bytes as little-endian words

  static constexpr hash_info info{.id = 11,
                                  .name = "siphash24",
                                  .bits = 64,
                                  .seed_bits = 0,
                                  .key_bytes = 16,
                                  .weak = false,
                                  .summary = "SipHash-2-4, 64 bits, secret key: the conservative choice"};

  static result<siphash24> from_key(std::span<const std::byte> secret) noexcept {
    return detail::key_words<2>(secret, info.name).map([](const auto& words) { return siphash24{.key = words}; });
  }
  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    return detail::siphash<2, 4>(key, bytes, size);
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI

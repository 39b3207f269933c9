// hash/highwayhash.hpp: HighwayHash-64 by Alakuijala, Cox and Wassenberg, keyed with 32 secret bytes.
//
// A second keyed hash, with a larger key. This is the scalar version, which gives the same digests on every machine; it
// is slower than SipHash at every key length (docs/hashes.md has the numbers), so choose it for its 256-bit key or to
// meet data of others, not for speed.
//
// State: four lanes of four 64-bit words (v0, v1, mul0, mul1). A step adds the packet to v1, multiplies 32-bit halves
// crosswise into mul0 and mul1, and permutes bytes between neighbouring lanes ("zipper merge"), because the middle
// bytes of a product are better mixed than its ends.
#pragma once

#include <array>
#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/hash/concept.hpp>
#include <bloomery/hash/partial.hpp>
#include <bloomery/hash/siphash.hpp>
#include <cstring>
#include <span>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

class highway_state {
 public:
  using lanes = std::array<std::uint64_t, 4>;

  explicit constexpr highway_state(const lanes& key) noexcept : mul0_(start_0), mul1_(start_1) {
    for (std::size_t i = 0; i < 4; ++i) {
      v0_[i] = mul0_[i] ^ key[i];
      v1_[i] = mul1_[i] ^ std::rotl(key[i], 32);
    }
  }

  void absorb_packet(const std::byte* at) noexcept {
    absorb({load_le<std::uint64_t>(at), load_le<std::uint64_t>(at + 8), load_le<std::uint64_t>(at + 16),
            load_le<std::uint64_t>(at + 24)});
  }

  // The last 1 to 31 bytes.
  void absorb_rest(const std::byte* at, std::size_t size) noexcept {
    for (auto& word : v0_) word += (static_cast<std::uint64_t>(size) << 32U) + size;
    for (auto& word : v1_) {
      const auto turn = static_cast<int>(size);
      const std::uint64_t low = std::rotl(static_cast<std::uint32_t>(word), turn);
      const std::uint64_t high = std::rotl(static_cast<std::uint32_t>(word >> 32U), turn);
      word = low | high << 32U;
    }
    std::array<std::byte, 32> packet{};
    const std::size_t whole = size & ~std::size_t{3};
    const std::size_t odd = size & 3U;
    std::memcpy(packet.data(), at, whole);
    if (size >= 16) {
      std::memcpy(packet.data() + 28, at + size - 4, 4);
    } else if (odd != 0) {
      // First, middle and last of the odd bytes, in this order even when they are the same byte.
      packet[16] = at[whole];
      packet[17] = at[whole + odd / 2];
      packet[18] = at[whole + odd - 1];
    }
    absorb_packet(packet.data());
  }

  std::uint64_t finish() noexcept {
    for (int i = 0; i < 4; ++i) {
      absorb({std::rotl(v0_[2], 32), std::rotl(v0_[3], 32), std::rotl(v0_[0], 32), std::rotl(v0_[1], 32)});
    }
    return v0_[0] + v1_[0] + mul0_[0] + mul1_[0];
  }

 private:
  // Digits of pi, but for the first word of each, from the published code.
  static constexpr lanes start_0 = {0xdbe6d5d5fe4cce2fULL, 0xa4093822299f31d0ULL, 0x13198a2e03707344ULL,
                                    0x243f6a8885a308d3ULL};
  static constexpr lanes start_1 = {0x3bd39e10cb0ef593ULL, 0xc0acf169b5f18a8cULL, 0xbe5466cf34e90c6cULL,
                                    0x452821e638d01377ULL};

  // Byte `from` of `word`, moved to byte `to`.
  template <int From, int To>
  static constexpr std::uint64_t byte_at(std::uint64_t word) noexcept {
    const std::uint64_t kept = word & (std::uint64_t{0xff} << (8 * From));
    if constexpr (To >= From) {
      return kept << (8 * (To - From));
    } else {
      return kept >> (8 * (From - To));
    }
  }

  // The sixteen bytes of (even, odd), permuted and added to the same lanes of `to`.
  static constexpr void zipper_add(std::uint64_t even, std::uint64_t odd, std::uint64_t& to_even,
                                   std::uint64_t& to_odd) noexcept {
    to_even += byte_at<3, 0>(even) | byte_at<4, 1>(odd) | byte_at<2, 2>(even) | byte_at<5, 3>(even) |
               byte_at<6, 4>(odd) | byte_at<1, 5>(even) | byte_at<7, 6>(odd) | byte_at<0, 7>(even);
    to_odd += byte_at<3, 0>(odd) | byte_at<4, 1>(even) | byte_at<2, 2>(odd) | byte_at<5, 3>(odd) | byte_at<1, 4>(odd) |
              byte_at<6, 5>(even) | byte_at<0, 6>(odd) | byte_at<7, 7>(even);
  }

  constexpr void absorb(const lanes& packet) noexcept {
    for (std::size_t i = 0; i < 4; ++i) {
      v1_[i] += packet[i] + mul0_[i];
      mul0_[i] ^= (v1_[i] & 0xffffffffU) * (v0_[i] >> 32U);
      v0_[i] += mul1_[i];
      mul1_[i] ^= (v0_[i] & 0xffffffffU) * (v1_[i] >> 32U);
    }
    zipper_add(v1_[0], v1_[1], v0_[0], v0_[1]);
    zipper_add(v1_[2], v1_[3], v0_[2], v0_[3]);
    zipper_add(v0_[0], v0_[1], v1_[0], v1_[1]);
    zipper_add(v0_[2], v0_[3], v1_[2], v1_[3]);
  }

  lanes v0_{};
  lanes v1_{};
  lanes mul0_;
  lanes mul1_;
};

}  // namespace detail

struct highwayhash64 {
  std::array<std::uint64_t, 4> key{};  // the secret bytes as little-endian words

  static constexpr hash_info info{.id = 12,
                                  .name = "highwayhash64",
                                  .bits = 64,
                                  .seed_bits = 0,
                                  .key_bytes = 32,
                                  .weak = false,
                                  .summary = "HighwayHash-64, secret key of 256 bits: slower than SipHash here"};

  static result<highwayhash64> from_key(std::span<const std::byte> secret) noexcept {
    return detail::key_words<4>(secret, info.name).map([](const auto& words) { return highwayhash64{.key = words}; });
  }
  std::uint64_t operator()(const void* bytes, std::size_t size) const noexcept {
    const auto* at = static_cast<const std::byte*>(bytes);
    detail::highway_state state(key);
    std::size_t left = size;
    for (; left >= 32; left -= 32, at += 32) state.absorb_packet(at);
    if (left != 0) state.absorb_rest(at, left);
    return state.finish();
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI

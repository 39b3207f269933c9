// hash/hasher.hpp: a hash chosen at run time, by name or from what a file states.
//
//     auto hash = bloomery::hasher::make("xxh3", 7);
//     if (!hash) return fail(hash.error());
//     std::uint64_t digest = hash->digest(key.data(), key.size());
//
// A single digest costs one indirect call. A batch costs one in all, and is hashed several keys at
// once where the hash can (hash/vector_hashes.hpp). Everything comes from hash_list (hash/list.hpp).
//
// A file stores a `hash_spec` (hash/spec.hpp).
//
// A hasher is a plain value of 64 bytes: copy it freely, use it from any number of threads. With a keyed hash it holds
// the secret.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/core/result.hpp>
#include <bloomery/hash/digest.hpp>
#include <bloomery/hash/digest_feed.hpp>
#include <bloomery/hash/key_batch.hpp>
#include <bloomery/hash/key_digests.hpp>
#include <bloomery/hash/spec.hpp>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

// What the run-time choice needs of one hash. `state` points to the bytes of a value of that hash.
struct hash_operations {
  const hash_info* info;
  std::size_t only_size_bytes;  // 0: keys of every size
  std::uint64_t (*digest)(const void* state, const void* bytes, std::size_t size) noexcept;
  std::uint64_t (*integer_digest)(const void* state, std::uint64_t key) noexcept;
  digest128 (*digest128_of)(const void* state, const void* bytes, std::size_t size) noexcept;
  void (*digests)(const void* state, std::span<const std::string_view> keys, std::uint64_t* out) noexcept;
  void (*digests128)(const void* state, std::span<const std::string_view> keys, digest128* out) noexcept;
  void (*digests_u64)(const void* state, std::span<const std::uint64_t> keys, std::uint64_t* out) noexcept;
  void (*digests256)(const void* state, std::span<const std::string_view> keys, digest256* out) noexcept;
  void (*with_feed)(const void* state, const key_batch& keys, void* context,
                    void (*use)(void* context, const digest_feed& feed)) noexcept;
};

// Key i as bytes; integers through `buffer`, of 8 bytes.
inline std::string_view bytes_of_key(const key_batch& keys, std::size_t i, char* buffer) noexcept {
  if (keys.keys() == key_batch::type::bytes) return keys.views()[i];
  if (keys.keys() == key_batch::type::columns) return keys.columns().key(i);
  store_le(reinterpret_cast<std::byte*>(buffer), keys.integers()[i]);
  return {buffer, 8};
}

template <hash_function H>
digest128 hash128_or_widened(const H& hash, const void* bytes, std::size_t size) noexcept {
  if constexpr (hash128_function<H>) {
    return digest128_bytes(hash, bytes, size);
  } else {
    const std::uint64_t low = digest_bytes(hash, bytes, size);
    return {.low = low, .high = mix64(low ^ 0x9e3779b97f4a7c15ULL)};
  }
}

template <hash_function H>
digest256 hash256_or_widened(const H& hash, const void* bytes, std::size_t size) noexcept {
  if constexpr (hash256_function<H>) {
    return hash.hash256(bytes, size);
  } else {
    const digest128 wide = hash128_or_widened(hash, bytes, size);
    return {{wide.low, wide.high, mix64(wide.low ^ wide.high), mix64(wide.low + wide.high)}};
  }
}

template <hash_function H>
struct hash_functions {
  // A copy, so that the state may be plain bytes; the compiler sees through it.
  static H self(const void* state) noexcept {
    H hash;
    std::memcpy(static_cast<void*>(&hash), state, sizeof(H));
    return hash;
  }
  static std::uint64_t digest(const void* state, const void* bytes, std::size_t size) noexcept {
    return digest_bytes(self(state), bytes, size);
  }
  static std::uint64_t integer_digest(const void* state, std::uint64_t key) noexcept {
    return digest_of(self(state), key);
  }
  static digest128 digest128_of(const void* state, const void* bytes, std::size_t size) noexcept {
    return hash128_or_widened(self(state), bytes, size);
  }
  static void digests(const void* state, std::span<const std::string_view> keys, std::uint64_t* out) noexcept {
    const H hash = self(state);
    if constexpr (key_digests<H, std::string_view>::inlined != inlined_hash::none) {
      for_each_group(key_digests<H, std::string_view>{hash, keys}, keys.size(), out);
    } else {
      for (const auto key : keys) *out++ = digest_bytes(hash, key.data(), key.size());
    }
  }
  static void digests128(const void* state, std::span<const std::string_view> keys, digest128* out) noexcept {
    const H hash = self(state);
    for (const auto key : keys) *out++ = hash128_or_widened(hash, key.data(), key.size());
  }
  static void digests256(const void* state, std::span<const std::string_view> keys, digest256* out) noexcept {
    const H hash = self(state);
    for (const auto key : keys) *out++ = hash256_or_widened(hash, key.data(), key.size());
  }
  static void digests_u64(const void* state, std::span<const std::uint64_t> keys, std::uint64_t* out) noexcept {
    const H hash = self(state);
    if constexpr (key_digests<H, std::uint64_t>::inlined != inlined_hash::none) {
      for_each_group(key_digests<H, std::uint64_t>{hash, keys}, keys.size(), out);
    } else {
      for (const auto key : keys) {
        const std::uint64_t bytes = little_endian(key);
        *out++ = digest_bytes(hash, &bytes, sizeof bytes);
      }
    }
  }
  static void with_feed(const void* state, const key_batch& keys, void* context,
                        void (*use)(void*, const digest_feed&)) noexcept {
    const H hash = self(state);
    if (keys.keys() == key_batch::type::integers) {
      const key_digests<H, std::uint64_t> source{hash, keys.integers()};
      use(context, digest_feed(source));
    } else if (keys.keys() == key_batch::type::bytes) {
      const key_digests<H, std::string_view> source{hash, keys.views()};
      use(context, digest_feed(source));
    } else {
      const column_digests source{hash, keys.columns()};
      use(context, digest_feed(source));
    }
  }

 private:
  struct column_digests {
    static constexpr inlined_hash inlined = inlined_hash::none;
    const H& hash;
    byte_columns columns;
    const std::uint64_t* operator()(std::size_t first, std::size_t count, std::uint64_t* buffer) const noexcept {
      std::array<std::string_view, 64> views;
      for (std::size_t i = 0; i < count; ++i) views[i] = columns.key(first + i);
      return key_digests<H, std::string_view>{hash, std::span<const std::string_view>(views).first(count)}(0, count,
                                                                                                           buffer);
    }
  };
  template <class Source>
  static void for_each_group(const Source& source, std::size_t count, std::uint64_t* out) noexcept {
    for (std::size_t first = 0; first < count; first += 64)
      source(first, std::min<std::size_t>(count - first, 64), out + first);
  }
};

template <hash_function H>
constexpr std::size_t only_size_of() noexcept {
  if constexpr (requires { H::only_size_bytes; }) {
    return H::only_size_bytes;
  } else {
    return 0;
  }
}

template <hash_function H>
inline constexpr hash_operations operations_of = {
    .info = &H::info,
    .only_size_bytes = only_size_of<H>(),
    .digest = hash_functions<H>::digest,
    .integer_digest = hash_functions<H>::integer_digest,
    .digest128_of = hash_functions<H>::digest128_of,
    .digests = hash_functions<H>::digests,
    .digests128 = hash_functions<H>::digests128,
    .digests_u64 = hash_functions<H>::digests_u64,
    .digests256 = hash_functions<H>::digests256,
    .with_feed = hash_functions<H>::with_feed,
};

}  // namespace detail

class BLOOMERY_API hasher {
 public:
  // The default hash with seed 0.
  hasher() noexcept : hasher(of(default_hash{})) {}

  // By name, as passed to --hash. Keyed hashes take a key and no seed; the others a seed and no key.
  static result<hasher> make(std::string_view name, std::uint64_t seed = 0,
                             std::span<const std::byte> key = {}) noexcept;

  // What a file was built with. A key that does not have the stored id is refused.
  static result<hasher> make(const hash_spec& spec, std::span<const std::byte> key = {}) noexcept;

  // Of a hash chosen at compile time.
  template <hash_function H>
  static hasher of(const H& hash) noexcept;

  [[nodiscard]] const hash_info& info() const noexcept { return *operations_->info; }
  [[nodiscard]] hash_spec spec() const noexcept { return spec_; }
  [[nodiscard]] bool is_128_bit() const noexcept { return info().bits == 128; }

  // Whether keys of this size may be hashed: all but for `identity`, which takes 8 bytes only.
  [[nodiscard]] bool accepts(std::size_t size_bytes) const noexcept {
    return operations_->only_size_bytes == 0 || operations_->only_size_bytes == size_bytes;
  }

  [[nodiscard]] std::uint64_t digest(const void* bytes, std::size_t size) const noexcept {
    return operations_->digest(state_.data(), bytes, size);
  }
  // Of an integer, as of its 8 little-endian bytes.
  [[nodiscard]] std::uint64_t integer(std::uint64_t key) const noexcept {
    return operations_->integer_digest(state_.data(), key);
  }
  // The hash must have 128 bits (is_128_bit); for others see digest128_bytes.
  [[nodiscard]] digest128 digest128_of(const void* bytes, std::size_t size) const noexcept {
    return operations_->digest128_of(state_.data(), bytes, size);
  }

  // Batches: out[i] is the digest of keys[i], for as many as both spans hold.
  void digests(std::span<const std::string_view> keys, std::span<std::uint64_t> out) const noexcept {
    operations_->digests(state_.data(), keys.first(std::min(keys.size(), out.size())), out.data());
  }
  void digests128(std::span<const std::string_view> keys, std::span<digest128> out) const noexcept {
    operations_->digests128(state_.data(), keys.first(std::min(keys.size(), out.size())), out.data());
  }
  // The hash must have 256 bits (murmur3-x64-128, for filters of bits-and-blooms).
  void digests256(std::span<const std::string_view> keys, std::span<digest256> out) const noexcept {
    operations_->digests256(state_.data(), keys.first(std::min(keys.size(), out.size())), out.data());
  }
  // Integers, each hashed as 8 little-endian bytes.
  void digests(std::span<const std::uint64_t> keys, std::span<std::uint64_t> out) const noexcept {
    operations_->digests_u64(state_.data(), keys.first(std::min(keys.size(), out.size())), out.data());
  }

  // Digests of 64, 128 or 256 bits, in `words`, which holds bits / 64 words for each key.
  void digest_words(std::span<const std::string_view> keys, unsigned bits, std::uint64_t* words) const noexcept;

  // Calls f with a feed of the 64-bit digests of the keys, several hashed at once where the hash can. Keys that are
  // digests already are passed on.
  template <class F>
  void with_feed(const key_batch& keys, F&& f) const noexcept {
    if (keys.keys() == key_batch::type::digests) return f(digest_feed(keys.digests().as<std::uint64_t>().data()));
    operations_->with_feed(state_.data(), keys, &f, [](void* context, const digest_feed& feed) {
      (*static_cast<std::remove_reference_t<F>*>(context))(feed);
    });
  }
  // Whether every key may be hashed.
  [[nodiscard]] bool accepts(const key_batch& keys) const noexcept {
    if (operations_->only_size_bytes == 0 || keys.keys() == key_batch::type::digests) return true;
    std::array<char, 8> buffer{};
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!accepts(detail::bytes_of_key(keys, i, buffer.data()).size())) return false;
    }
    return true;
  }

  // Same digests: same hash, seed and key (keys are compared by id).
  friend bool operator==(const hasher& a, const hasher& b) noexcept { return a.spec_ == b.spec_; }

 private:
  static constexpr std::size_t state_bytes = 32;

  hasher(const detail::hash_operations& operations, const hash_spec& spec) noexcept
      : operations_(&operations), spec_(spec) {}

  static result<hasher> make_known(const hash_info& info, std::uint64_t seed, std::span<const std::byte> key) noexcept;

  const detail::hash_operations* operations_;
  hash_spec spec_;
  alignas(8) std::array<std::byte, state_bytes> state_{};
};

template <hash_function H>
hasher hasher::of(const H& hash) noexcept {
  static_assert(sizeof(H) <= state_bytes && alignof(H) <= 8 && std::is_trivially_copyable_v<H>);
  hasher made(detail::operations_of<H>, spec_of(hash));
  std::memcpy(made.state_.data(), &hash, sizeof(H));
  return made;
}

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/hash/hasher.cpp>
#endif

// hash/hasher.hpp: a hash chosen at run time, by name or from what a file says.
//
//     auto hash = bloomery::hasher::make("xxh3", 7);
//     if (!hash) return fail(hash.error());
//     std::uint64_t digest = hash->digest(key.data(), key.size());
//
// A single digest costs one indirect call. A batch costs one in all, and `visit` hands the concrete hash to your own
// loop. Everything comes from hash_list; no hash is named here but those that make key ids.
//
// A file stores a `hash_spec`: the hash, its seed, and for keyed hashes the key id, never the key. The key id is a
// pseudo-random function of the secret key over one fixed text: SipHash-2-4 under 16-byte keys, HighwayHash-64 under
// 32-byte keys. It tells whether a key is the right one and no more: recovering the key from it means breaking that
// function. It is never 0.
//
// A hasher is a plain value of 64 bytes: copy it freely, use it from any number of threads. With a keyed hash it holds
// the secret.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/core/result.hpp>
#include <bloomery/hash/digest.hpp>
#include <bloomery/hash/list.hpp>
#include <cstdio>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

namespace bloomery::inline BLOOMERY_ABI {

// What a file stores of a hash.
struct hash_spec {
  std::uint32_t id = 1;
  std::uint64_t seed = 0;
  std::uint64_t key_id = 0;  // 0: not keyed
  friend constexpr bool operator==(const hash_spec&, const hash_spec&) = default;
};

// nullptr when there is none.
inline const hash_info* find_hash(std::string_view name) noexcept;
inline const hash_info* find_hash(std::uint32_t id) noexcept;

// The id of a secret key of 16 or 32 bytes; 0 for other sizes, which no hash takes.
inline std::uint64_t key_id_of(std::span<const std::byte> key) noexcept;

namespace detail {

// What the run-time choice needs of one hash. `state` points to the bytes of a value of that hash.
struct hash_operations {
  const hash_info* info;
  std::size_t only_size_bytes;  // 0: keys of every size
  std::uint64_t (*digest)(const void* state, const void* bytes, std::size_t size) noexcept;
  digest128 (*digest128_of)(const void* state, const void* bytes, std::size_t size) noexcept;
  void (*digests)(const void* state, std::span<const std::string_view> keys, std::uint64_t* out) noexcept;
  void (*digests128)(const void* state, std::span<const std::string_view> keys, digest128* out) noexcept;
  void (*digests_u64)(const void* state, std::span<const std::uint64_t> keys, std::uint64_t* out) noexcept;
  void (*digests256)(const void* state, std::span<const std::string_view> keys, digest256* out) noexcept;
};

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
  static digest128 digest128_of(const void* state, const void* bytes, std::size_t size) noexcept {
    return hash128_or_widened(self(state), bytes, size);
  }
  static void digests(const void* state, std::span<const std::string_view> keys, std::uint64_t* out) noexcept {
    const H hash = self(state);
    for (const auto key : keys) *out++ = digest_bytes(hash, key.data(), key.size());
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
    for (const auto key : keys) {
      const std::uint64_t bytes = little_endian(key);
      *out++ = digest_bytes(hash, &bytes, sizeof bytes);
    }
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
    .digest128_of = hash_functions<H>::digest128_of,
    .digests = hash_functions<H>::digests,
    .digests128 = hash_functions<H>::digests128,
    .digests_u64 = hash_functions<H>::digests_u64,
    .digests256 = hash_functions<H>::digests256,
};

}  // namespace detail

class hasher {
 public:
  // xxh3 with seed 0.
  hasher() noexcept : hasher(of(xxh3{})) {}

  // By name, as given to --hash. Keyed hashes take a key and no seed; the others a seed and no key.
  static result<hasher> make(std::string_view name, std::uint64_t seed = 0,
                             std::span<const std::byte> key = {}) noexcept {
    const hash_info* info = find_hash(name);
    if (info == nullptr) return fail(errc::unknown_hash, name);
    return make_known(*info, seed, key);
  }

  // What a file was built with. A key that does not have the stored id is refused.
  static result<hasher> make(const hash_spec& spec, std::span<const std::byte> key = {}) noexcept {
    const hash_info* info = find_hash(spec.id);
    std::array<char, 24> text{};
    if (info == nullptr) {
      std::snprintf(text.data(), text.size(), "%u", static_cast<unsigned>(spec.id));
      return fail(errc::unknown_hash, text.data());
    }
    if (info->key_bytes == 0 && spec.key_id != 0) return fail(errc::bad_field, "key_id", {spec.key_id});
    auto made = make_known(*info, spec.seed, key);
    if (made && made->spec_.key_id != spec.key_id) {
      std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(spec.key_id));
      return fail(errc::wrong_key, text.data());
    }
    return made;
  }

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

  // Calls f with the concrete hash (`const xxh3&`, ...): one choice, then a loop that the compiler sees through.
  template <class F>
  void visit(F&& f) const {
    any_type(hash_list{}, [&](auto tag) {
      using hash = typename decltype(tag)::type;
      if (info().id != hash::info.id) return false;
      f(detail::hash_functions<hash>::self(state_.data()));
      return true;
    });
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

inline const hash_info* find_hash(std::string_view name) noexcept {
  const hash_info* found = nullptr;
  any_type(hash_list{}, [&](auto tag) {
    using hash = typename decltype(tag)::type;
    if (hash::info.name == name) found = &hash::info;
    return found != nullptr;
  });
  return found;
}

inline const hash_info* find_hash(std::uint32_t id) noexcept {
  const hash_info* found = nullptr;
  any_type(hash_list{}, [&](auto tag) {
    using hash = typename decltype(tag)::type;
    if (hash::info.id == id) found = &hash::info;
    return found != nullptr;
  });
  return found;
}

inline std::uint64_t key_id_of(std::span<const std::byte> key) noexcept {
  constexpr std::string_view text = "bloomery secret key identifier, version 1";
  std::uint64_t id = 0;
  if (key.size() == siphash24::info.key_bytes) {
    id = (*siphash24::from_key(key))(text.data(), text.size());
  } else if (key.size() == highwayhash64::info.key_bytes) {
    id = (*highwayhash64::from_key(key))(text.data(), text.size());
  } else {
    return 0;
  }
  return id == 0 ? 1 : id;
}

template <hash_function H>
hasher hasher::of(const H& hash) noexcept {
  static_assert(sizeof(H) <= state_bytes && alignof(H) <= 8 && std::is_trivially_copyable_v<H>);
  hash_spec spec{.id = H::info.id};
  if constexpr (H::info.key_bytes != 0) {
    std::array<std::byte, H::info.key_bytes> key{};
    for (std::size_t i = 0; i < hash.key.size(); ++i) store_le(key.data() + 8 * i, hash.key[i]);
    spec.key_id = key_id_of(key);
  } else if constexpr (H::info.seed_bits != 0) {
    spec.seed = hash.seed;
  }
  hasher made(detail::operations_of<H>, spec);
  std::memcpy(made.state_.data(), &hash, sizeof(H));
  return made;
}

inline result<hasher> hasher::make_known(const hash_info& info, std::uint64_t seed,
                                         std::span<const std::byte> key) noexcept {
  if (info.key_bytes == 0 && !key.empty()) return fail(errc::not_keyed, info.name);
  if (key.size() != info.key_bytes) return fail(errc::bad_key_size, info.name, {key.size(), info.key_bytes});
  const std::uint64_t seed_max =
      info.seed_bits == 0 ? 0 : std::numeric_limits<std::uint64_t>::max() >> (64U - info.seed_bits);
  if (seed > seed_max) return fail(errc::bad_seed, info.name, {seed, seed_max});
  hasher made;
  any_type(hash_list{}, [&](auto tag) {
    using hash = typename decltype(tag)::type;
    if (hash::info.id != info.id) return false;
    if constexpr (hash::info.key_bytes != 0) {
      made = of(*hash::from_key(key));
    } else if constexpr (hash::info.seed_bits != 0) {
      made = of(hash{.seed = static_cast<decltype(hash::seed)>(seed)});
    } else {
      made = of(hash{});
    }
    return true;
  });
  return made;
}

}  // namespace bloomery::inline BLOOMERY_ABI

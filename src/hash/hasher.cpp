#include <bloomery/hash/hasher.hpp>
#include <bloomery/hash/list.hpp>
#include <cstdio>
#include <limits>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<hasher> hasher::make(std::string_view name, std::uint64_t seed,
                                          std::span<const std::byte> key) noexcept {
  const hash_info* info = find_hash(name);
  if (info == nullptr) return fail(errc::unknown_hash, name);
  return make_known(*info, seed, key);
}

BLOOMERY_BODY result<hasher> hasher::make(const hash_spec& spec, std::span<const std::byte> key) noexcept {
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

BLOOMERY_BODY void hasher::digest_words(std::span<const std::string_view> keys, unsigned bits,
                                        std::uint64_t* words) const noexcept {
  if (bits == 256) {
    digests256(keys, {reinterpret_cast<digest256*>(words), keys.size()});
  } else if (bits == 128) {
    digests128(keys, {reinterpret_cast<digest128*>(words), keys.size()});
  } else {
    digests(keys, {words, keys.size()});
  }
}

BLOOMERY_BODY result<hasher> hasher::make_known(const hash_info& info, std::uint64_t seed,
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

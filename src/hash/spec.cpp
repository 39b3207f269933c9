#include <bloomery/hash/list.hpp>
#include <bloomery/hash/spec.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY const hash_info* find_hash(std::string_view name) noexcept {
  const hash_info* found = nullptr;
  any_type(hash_list{}, [&](auto tag) {
    using hash = typename decltype(tag)::type;
    if (hash::info.name == name) found = &hash::info;
    return found != nullptr;
  });
  return found;
}

BLOOMERY_BODY const hash_info* find_hash(std::uint32_t id) noexcept {
  const hash_info* found = nullptr;
  any_type(hash_list{}, [&](auto tag) {
    using hash = typename decltype(tag)::type;
    if (hash::info.id == id) found = &hash::info;
    return found != nullptr;
  });
  return found;
}

BLOOMERY_BODY std::uint64_t key_id_of(std::span<const std::byte> key) noexcept {
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

}  // namespace bloomery::inline BLOOMERY_ABI

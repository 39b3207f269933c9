#include <bloomery/kinds.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY const kind_info* find_kind(std::string_view name) noexcept {
  const kind_info* found = nullptr;
  for_each_type(kind_list{}, [&](auto tag) {
    if (decltype(tag)::type::info.name == name) found = &decltype(tag)::type::info;
  });
  return found;
}

BLOOMERY_BODY const kind_info* find_kind(std::uint32_t id) noexcept {
  const kind_info* found = nullptr;
  for_each_type(kind_list{}, [&](auto tag) {
    if (decltype(tag)::type::info.id == id) found = &decltype(tag)::type::info;
  });
  return found;
}

}  // namespace bloomery::inline BLOOMERY_ABI

#include <bloomery/kinds/ribbon/build.hpp>

namespace bloomery::inline BLOOMERY_ABI::detail {

BLOOMERY_BODY std::uint64_t ribbon_size(ribbon_lists lists) noexcept {
  std::uint64_t all = 0;
  for (const ribbon_keys& list : lists) all += list.size();
  return all;
}

}  // namespace bloomery::inline BLOOMERY_ABI::detail

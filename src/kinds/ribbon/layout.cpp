#include <bloomery/kinds/ribbon/layout.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace sizing {

BLOOMERY_BODY result<size_plan> plan_ribbon(const size_request& request, std::string_view layout) noexcept {
  const auto asked = ribbon_request::of(request, layout);
  if (!asked) return fail(asked.error());
  return request.keys ? asked->plan(*request.keys) : asked->plan_for_size();
}

}  // namespace sizing
}  // namespace bloomery::inline BLOOMERY_ABI

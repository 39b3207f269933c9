#include <bloomery/kinds/counting/layout.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<counter_layout> find_counter_layout(std::string_view name) noexcept {
  if (name.empty() || name == "spread") return counter_layout::spread;
  if (name == "line") return counter_layout::line;
  return fail(errc::unknown_layout, "kind counting has the layouts spread and line");
}

}  // namespace bloomery::inline BLOOMERY_ABI

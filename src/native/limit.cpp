#include <array>
#include <bloomery/native/limit.hpp>
#include <cstdio>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

BLOOMERY_BODY failure over_limit(std::uint64_t limit) noexcept {
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "needs more memory than the limit of %llu bytes allows",
                static_cast<unsigned long long>(limit));
  return fail(errc::unsupported, text.data());
}

}  // namespace detail

}  // namespace bloomery::inline BLOOMERY_ABI

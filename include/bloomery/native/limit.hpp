// native/limit.hpp: how much memory reading may take.
#pragma once

#include <bloomery/core/result.hpp>
#include <cstdint>
#include <limits>

namespace bloomery::inline BLOOMERY_ABI {

inline constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

namespace detail {
BLOOMERY_API failure over_limit(std::uint64_t limit) noexcept;
}  // namespace detail

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/native/limit.cpp>
#endif

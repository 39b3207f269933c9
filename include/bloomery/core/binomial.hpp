// core/binomial.hpp: what a measured rate proves: exact confidence bounds for "x of n".
//
// Clopper-Pearson bounds: the true rate is below upper_bound(x, n, a) with confidence 1 - a, whatever it is; likewise
// above lower_bound. Zero of n bounds the rate by about 3/n at 95 %.
//
//     double at_most = bloomery::binomial::upper_bound(100'312, 10'000'000, 0.001);   // 99.9 %, one-sided
#pragma once

#include <bloomery/core/config.hpp>
#include <cmath>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI::binomial {

// The smallest rate above which seeing `events` or fewer has probability below alpha.
BLOOMERY_API double upper_bound(std::uint64_t events, std::uint64_t trials, double alpha) noexcept;

// The largest rate below which seeing `events` or more has probability below alpha.
BLOOMERY_API double lower_bound(std::uint64_t events, std::uint64_t trials, double alpha) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI::binomial

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/core/binomial.cpp>
#endif

// cli/interval.hpp: what a measured rate says about the true one.
#pragma once

#include <cstdint>

namespace bloomery::cli {

struct interval {
  double low = 0;
  double high = 1;
};

// Clopper-Pearson: with this confidence the true rate lies inside, whatever it is. Exact, so on the careful side. C.
// Clopper, E. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", 1934.
interval clopper_pearson(std::uint64_t hits, std::uint64_t trials, double confidence);

// The regularised incomplete beta function I_x(a, b).
double incomplete_beta(double a, double b, double x);

}  // namespace bloomery::cli

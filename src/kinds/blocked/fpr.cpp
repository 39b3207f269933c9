#include <bloomery/kinds/blocked/fpr.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY double rate_of_lanes(const std::array<double, 8>& fill, unsigned hashes) noexcept {
  double sum = 0;
  for (std::size_t first = 0; first < fill.size(); ++first) {
    double rate = 1;
    for (unsigned probe = 0; probe < hashes; ++probe) rate *= fill[(first + probe) % fill.size()];
    sum += rate;
  }
  return sum / static_cast<double>(fill.size());
}

}  // namespace bloomery::inline BLOOMERY_ABI

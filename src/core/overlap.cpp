#include <bloomery/core/overlap.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY overlap estimate_overlap(const cell_shape& shape, double fill_a, double fill_b,
                                       double fill_both) noexcept {
  constexpr double deviations = 1.96;  // 95 % of a normal distribution
  if (shape.cells == 0 || shape.hashes == 0) return {};
  const auto cells = static_cast<double>(shape.cells);
  const auto hashes = static_cast<double>(shape.hashes);
  const double a = detail::share_free(shape, fill_a);
  const double b = detail::share_free(shape, fill_b);
  const double either = detail::share_free(shape, fill_a + fill_b - fill_both);
  const double scale = cells / hashes;
  const double logs = std::log(either) - std::log(a) - std::log(b);
  const double in_a = -scale * std::log(a);
  const double in_b = -scale * std::log(b);
  const double keys = std::clamp(scale * logs, 0.0, std::min(in_a, in_b));

  double variance =
      cells / (hashes * hashes) * (1 / either - 1 / a - 1 / b + 2 * either / (a * b) - 1 - std::max(0.0, logs));
  if (shape.blocks != 0) {
    const auto blocks = static_cast<double>(shape.blocks);
    const double share = hashes * blocks / cells;
    variance += share * share * ((in_a - keys) * (in_b - keys) + keys * keys / 2) / blocks;
  }
  const double error = deviations * std::sqrt(std::max(0.0, variance));
  return {keys, std::max(0.0, scale * logs - error), std::max(keys, scale * logs + error)};
}

}  // namespace bloomery::inline BLOOMERY_ABI

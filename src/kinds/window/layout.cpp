#include <bloomery/kinds/window/layout.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<window_layout> window_layout::find(std::string_view name) noexcept {
  constexpr std::string_view rotating = "rotating";
  if (name.empty() || name == "stamped") return window_layout{};
  if (name == rotating) return window_layout{usual_generations + 1};
  if (name.substr(0, rotating.size()) == rotating) {
    const std::string_view digits = name.substr(rotating.size());
    unsigned generations = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9' || generations > max_generations) return find("?");
      generations = generations * 10 + static_cast<unsigned>(c - '0');
    }
    if (digits[0] != '0' && generations >= min_generations && generations <= max_generations)
      return window_layout{generations + 1};
  }
  return fail(errc::unknown_layout, "kind window has the layouts stamped, rotating, and rotating2 to rotating14");
}

BLOOMERY_BODY double window_layout::load_for(unsigned hashes, double fpr) const noexcept {
  constexpr double lines = 1e9;
  const auto distance = [&](double log_load) {
    return std::log(window_fpr::rate(slots, hashes, std::exp(log_load) * lines, lines)) - std::log(fpr);
  };
  double low = std::log(1e-4);
  double high = std::log(1024.0);
  double at = std::log(2.0);
  // The next point is where the secant of the last two is zero; where that leaves what is left, the middle.
  double before = at + 0.1;
  double value_before = distance(before);
  for (int i = 0; i < 60 && high - low > 1e-7; ++i) {
    const double value = distance(at);
    (value > 0 ? high : low) = at;
    if (std::fabs(value) < 1e-6) break;
    const double slope = (value - value_before) / (at - before);
    before = at;
    value_before = value;
    const double next = at - value / slope;
    at = next > low && next < high ? next : (low + high) / 2;
  }
  return std::exp(std::min(at, high)) * (1.0 - 1e-6);
}

BLOOMERY_BODY std::uint64_t window_layout::lines_for(std::uint64_t keys, unsigned hashes, double fpr) const noexcept {
  const std::uint64_t each = generation_keys(keys, hashes);
  const double wanted = std::ceil(static_cast<double>(each) / load_for(hashes, fpr));
  const double most = static_cast<double>(max_lines()) * 2;
  auto lines = static_cast<std::uint64_t>(wanted < most ? wanted : most);
  while (lines < max_lines() && rate(hashes, each, lines) > fpr) lines += 1 + lines / 4096;
  // Small filters vary less than the limit for large ones states.
  while (lines > 1 && lines < 64 && rate(hashes, each, lines - 1) <= fpr) --lines;
  return lines;
}

BLOOMERY_BODY std::uint64_t window_layout::keys_for(std::uint64_t lines, unsigned hashes, double fpr) const noexcept {
  auto each = static_cast<std::uint64_t>(static_cast<double>(lines) * load_for(hashes, fpr));
  while (lines < 64 && rate(hashes, each + 1, lines) <= fpr) ++each;
  while (each > 0 && rate(hashes, each, lines) > fpr) each -= 1 + each / 4096;
  return std::min(each * kept(hashes), max_keys);
}

BLOOMERY_BODY result<std::uint64_t> window_layout::lines_probed(const size_request& request) const noexcept {
  double bits = 0;
  if (request.bits) bits = static_cast<double>(*request.bits);
  if (request.bits_per_key) bits = std::ceil(*request.bits_per_key * static_cast<double>(*request.keys));
  if (request.memory_bytes) {
    const std::uint64_t least = line_bits() / 8 + trailer_bytes;
    if (*request.memory_bytes < least) return fail(errc::bad_memory, {}, {*request.memory_bytes, least});
    bits = static_cast<double>(*request.memory_bytes - trailer_bytes) * 8.0;
  }
  if (bits > static_cast<double>(max_filter_bits)) return sizing::too_large("window", bits);
  const auto lines = static_cast<std::uint64_t>(bits) / line_bits();
  return lines == 0 ? 1 : lines;
}

BLOOMERY_BODY result<size_plan> window_layout::solve(const size_request& request) const noexcept {
  constexpr double least_fpr = 1e-8;
  if (auto checked = sizing::check(request); !checked) return fail(checked.error());
  if (request.hashes && (*request.hashes < min_hashes() || *request.hashes > max_hashes())) {
    return fail(errc::bad_hashes, {}, {*request.hashes, min_hashes(), max_hashes()});
  }
  if (request.fpr && *request.fpr < least_fpr) return fail(errc::cannot_reach_fpr, "window", {300});
  size_plan plan;
  std::uint64_t lines = 0;
  if (request.keys && request.fpr) {
    plan.keys = *request.keys;
    plan.hashes = best_hashes(request, [&](unsigned k) { return lines_for(plan.keys, k, *request.fpr); });
    lines = lines_for(plan.keys, plan.hashes, *request.fpr);
  } else {
    const auto asked = lines_probed(request);
    if (!asked) return fail(asked.error());
    lines = *asked;
    if (request.keys) {
      plan.keys = *request.keys;
      plan.hashes = best_hashes(request, [&](unsigned k) { return rate(k, generation_keys(plan.keys, k), lines); });
    } else {
      // The most keys: the least of what they leave.
      plan.hashes = best_hashes(request, [&](unsigned k) { return max_keys - keys_for(lines, k, *request.fpr); });
      plan.keys = keys_for(lines, plan.hashes, *request.fpr);
      if (plan.keys == 0) return fail(errc::cannot_reach_fpr, "window", {lines * line_bits()});
    }
  }
  if (lines > max_lines()) {
    return sizing::too_large("window", static_cast<double>(lines) * static_cast<double>(line_bits()));
  }
  plan.bits = lines * line_bits();
  plan.fpr = rate(plan.hashes, generation_keys(plan.keys, plan.hashes), lines);
  plan.bits_per_key = static_cast<double>(plan.bits) / static_cast<double>(plan.keys);
  plan.memory_bytes = plan.bits / 8 + trailer_bytes;
  plan.lines = slots;
  const unsigned needed = sizing::hash_bits_needed(plan.keys, plan.fpr);
  if (needed > 64) return fail(errc::not_enough_hash_bits, "kind window", {plan.keys, needed, 64});
  return plan;
}

}  // namespace bloomery::inline BLOOMERY_ABI

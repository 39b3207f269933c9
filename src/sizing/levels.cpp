#include <algorithm>
#include <bloomery/core/aligned_list.hpp>
#include <bloomery/sizing/levels.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace level_curves {

// Where a curve has its points. The FPR halves with 1.44 bits per key, so between two of them a line is within a
// fifth of a percent of it; after the close ones there is little left to gain.
inline constexpr double close_step = 0.25;
inline constexpr double close_bits = 32;
inline constexpr double far_step = 1;
inline constexpr double most_bits = 64;
inline constexpr std::size_t most_points = 256;
static_assert(close_bits / close_step + (most_bits - close_bits) / far_step + 1 <= most_points);

struct point {
  double bytes = 0;
  double fpr = 1;
};

// A piece of a hull: so many more bytes, and what each of them takes off the FPR.
struct piece {
  std::size_t level = 0;
  double bytes = 0;
  double gain = 0;
};

// Points of which no line between two others passes below one: a new one takes those out that it makes superfluous.
class lower_hull {
 public:
  void add(const point& next) noexcept {
    while (size_ >= 2) {
      const point& a = points_[size_ - 2];
      const point& b = points_[size_ - 1];
      if ((b.bytes - a.bytes) * (next.fpr - a.fpr) - (b.fpr - a.fpr) * (next.bytes - a.bytes) > 0) break;
      --size_;
    }
    points_[size_++] = next;
  }
  [[nodiscard]] std::span<const point> points() const noexcept { return {points_.data(), size_}; }

 private:
  std::array<point, most_points> points_{};
  std::size_t size_ = 0;
};

BLOOMERY_BODY lower_hull hull_of(const level_request& request, std::uint64_t keys) noexcept {
  lower_hull hull;
  point last;
  hull.add(last);
  const double step = request.whole_bits ? far_step : close_step;
  for (double bits = step; bits <= most_bits; bits += bits < close_bits ? step : far_step) {
    const auto plan = request.solve({.keys = keys, .bits_per_key = bits}, request.layout);
    if (!plan) continue;
    const point next{static_cast<double>(plan->memory_bytes), plan->fpr};
    if (!(next.fpr < last.fpr && next.bytes > last.bytes)) continue;
    hull.add(next);
    last = next;
  }
  return hull;
}

BLOOMERY_BODY level_share share_with(const level_request& request, std::uint64_t keys, double bytes) noexcept {
  level_share share{.keys = keys};
  if (bytes < 1) return share;
  const auto plan = request.solve({.keys = keys, .memory_bytes = static_cast<std::uint64_t>(bytes)}, request.layout);
  if (!plan || static_cast<double>(plan->memory_bytes) > bytes || !(plan->fpr < 1)) return share;
  share.memory_bytes = plan->memory_bytes;
  share.bits_per_key = plan->bits_per_key;
  share.hashes = plan->hashes;
  share.fpr = plan->fpr;
  return share;
}

BLOOMERY_BODY result<std::array<double, most_levels>> best_bytes(const level_request& request,
                                                                 std::span<const std::uint64_t> keys) noexcept {
  aligned_list<piece> pieces;
  for (std::size_t level = 0; level < keys.size(); ++level) {
    const lower_hull hull = hull_of(request, keys[level]);
    const auto points = hull.points();
    if (auto space = pieces.reserve(pieces.size() + points.size(), "the plan", nullptr); !space) {
      return fail(space.error());
    }
    for (std::size_t i = 1; i < points.size(); ++i) {
      const double bytes = points[i].bytes - points[i - 1].bytes;
      pieces.push({level, bytes, (points[i - 1].fpr - points[i].fpr) / bytes});
    }
  }
  // A level's own pieces gain less and less, so they are bought in their order; those of the smallest level first where
  // several gain as much.
  std::sort(pieces.begin(), pieces.end(), [](const piece& a, const piece& b) {
    return a.gain > b.gain || (!(b.gain > a.gain) && a.level < b.level);
  });
  std::array<double, most_levels> bytes{};
  std::array<bool, most_levels> complete{};  // it takes no more
  auto left = static_cast<double>(request.memory_bytes);
  for (const piece& each : pieces) {
    if (complete[each.level]) continue;
    if (request.whole_bits && each.bytes > left) {
      complete[each.level] = true;
      continue;
    }
    const double taken = std::min(left, each.bytes);
    bytes[each.level] += taken;
    left -= taken;
  }
  return bytes;
}

}  // namespace level_curves

BLOOMERY_BODY result<void> keys_of_levels(const level_request& request, std::span<std::uint64_t> keys) noexcept {
  if (request.levels == 0 || request.levels > most_levels || keys.size() < request.levels) {
    return fail(errc::unsupported, "the number of levels is not usable: give 1 to 64");
  }
  if (!(request.size_ratio >= 1)) {
    return fail(errc::unsupported, "the size ratio of levels is not usable: give 1 or more");
  }
  if (request.keys == 0 || request.keys > max_keys) {
    return fail_number(errc::bad_keys, static_cast<double>(request.keys), {max_keys});
  }
  double total = 0;
  for (unsigned i = 0; i < request.levels; ++i) total += std::pow(request.size_ratio, i);
  std::uint64_t left = request.keys;
  for (unsigned i = 0; i + 1 < request.levels; ++i) {
    const double share = std::isfinite(total) ? std::pow(request.size_ratio, i) / total : 0;
    keys[i] = std::min(left, static_cast<std::uint64_t>(std::llround(share * static_cast<double>(request.keys))));
    left -= keys[i];
  }
  keys[request.levels - 1] = left;
  return {};
}

BLOOMERY_BODY result<level_shares> share_levels(const level_request& request) noexcept {
  std::array<std::uint64_t, most_levels> all{};
  if (auto known = keys_of_levels(request, all); !known) return fail(known.error());
  const std::span<const std::uint64_t> keys(all.data(), request.levels);
  if (*std::min_element(keys.begin(), keys.end()) == 0) {
    return fail(errc::unsupported, "the keys do not fill so many levels: give fewer");
  }
  const auto bytes = level_curves::best_bytes(request, keys);
  if (!bytes) return fail(bytes.error());
  level_shares shares;
  shares.count = request.levels;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    level_share& best = shares.levels[i];
    best = level_curves::share_with(request, keys[i], (*bytes)[i]);
    shares.memory_bytes += best.memory_bytes;
    shares.false_reads += best.fpr;
    const double part = static_cast<double>(keys[i]) / static_cast<double>(request.keys);
    const double alike = static_cast<double>(request.memory_bytes) * part;
    // A fraction of a byte would cost a whole bit per key.
    shares.uniform[i] = level_curves::share_with(request, keys[i], request.whole_bits ? std::ceil(alike) : alike);
    shares.uniform_false_reads += shares.uniform[i].fpr;
  }
  return shares;
}

BLOOMERY_BODY result<size_plan> plan_of_whole_bits(const size_request& request, std::string_view /*layout*/) noexcept {
  if (auto checked = sizing::check(request); !checked) return fail(checked.error());
  if (!request.keys || request.fpr || request.bits) {
    return fail(errc::missing_parameter, "give a number of keys with bits per key or memory");
  }
  constexpr double most_bits = 16;
  const auto keys = static_cast<double>(*request.keys);
  const double wanted = request.bits_per_key ? *request.bits_per_key
                                             : static_cast<double>(*request.memory_bytes) * 8 / keys * (1 + 1e-14);
  const double bits = std::min(most_bits, std::floor(wanted));
  if (bits < 1) return fail(errc::bad_memory, {}, {request.memory_bytes.value_or(0), (*request.keys + 7) / 8});
  const auto whole = static_cast<std::uint64_t>(bits);
  return size_plan{.keys = *request.keys,
                   .fpr = std::exp2(-bits),
                   .bits = *request.keys * whole,
                   .bits_per_key = bits,
                   .memory_bytes = (*request.keys * whole + 7) / 8};
}

}  // namespace bloomery::inline BLOOMERY_ABI

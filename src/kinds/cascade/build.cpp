#include <bloomery/kinds/cascade/build.hpp>

namespace bloomery::inline BLOOMERY_ABI::detail {

BLOOMERY_BODY result<void> check_apart(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) noexcept {
  std::uint64_t common = 0;
  std::uint64_t one = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) {
      one = a[i];
      ++common;
    }
    const bool behind = a[i] <= b[j];
    j += b[j] <= a[i] ? 1 : 0;
    i += behind ? 1 : 0;
  }
  if (common != 0) return fail(errc::in_both_lists, {}, {common, one});
  return {};
}

// Looks up digests in a ribbon, in place, and brings those that match to the front; how many they are.
BLOOMERY_BODY std::size_t matching_first(const kernels::ribbon_view& view, const kernels::ribbon_kernels& functions,
                                         std::span<std::uint64_t> digests) noexcept {
  constexpr std::size_t group = 512;
  std::size_t kept = 0;
  for (std::size_t first = 0; first < digests.size(); first += group) {
    const std::size_t count = std::min(group, digests.size() - first);
    const digest_feed feed(digests.data() + first);
    std::array<std::uint64_t, group / 64> mask;
    functions.contains_batch(view, count, feed, mask.data());
    for (std::size_t word = 0; word < (count + 63) / 64; ++word) {
      for (std::uint64_t bits = mask[word]; bits != 0; bits &= bits - 1) {
        const std::size_t at = first + word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        std::swap(digests[kept++], digests[at]);
      }
    }
  }
  return kept;
}

BLOOMERY_BODY result<std::uint64_t> sift(const kernels::ribbon_view& view, unsigned widest,
                                         std::span<std::uint64_t> digests, worker_pool& workers) noexcept {
  constexpr std::uint64_t chunk = std::uint64_t{1} << 16U;
  const auto& functions = kernels::ribbon_kernels::for_isa(active_isa(), widest);
  const std::uint64_t chunks = (digests.size() + chunk - 1) / chunk;
  auto buffer = aligned_buffer::make(chunks * 8, "building the filter", workers.memory());
  if (!buffer) return fail(buffer.error());
  auto* const counts = reinterpret_cast<std::uint64_t*>(buffer->data());
  run_tasks(workers.threads(), chunks, [&](std::uint64_t task, unsigned /*part*/) {
    const std::uint64_t first = task * chunk;
    counts[task] = matching_first(
        view, functions,
        digests.subspan(to_size(first), to_size(std::min<std::uint64_t>(chunk, digests.size() - first))));
  });
  std::uint64_t kept = 0;
  for (std::uint64_t task = 0; task < chunks; ++task) {
    for (std::uint64_t i = 0; i < counts[task]; ++i)
      std::swap(digests[to_size(kept++)], digests[to_size(task * chunk + i)]);
  }
  return kept;
}

}  // namespace bloomery::inline BLOOMERY_ABI::detail

// kinds/cascade/build.hpp: what building a cascade takes beside the systems of kinds/ribbon/build.hpp: two lists that
// must have no digest in common, and those of one that come through the sieve of the other.
#pragma once

#include <array>
#include <bit>
#include <bloomery/core/worker_pool.hpp>
#include <bloomery/kernels/blocked.hpp>
#include <bloomery/kernels/ribbon/dispatch.hpp>
#include <bloomery/kinds/cascade/layout.hpp>
#include <bloomery/kinds/digest_sort.hpp>
#include <bloomery/kinds/ribbon/build.hpp>
#include <bloomery/kinds/ribbon/system.hpp>
#include <span>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI::detail {

// Of two lists that ascend: an error when a digest is in both.
BLOOMERY_API result<void> check_apart(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) noexcept;

// The same on several threads.
BLOOMERY_API result<std::uint64_t> sift(const kernels::ribbon_view& view, unsigned widest,
                                        std::span<std::uint64_t> digests, worker_pool& workers) noexcept;

// A cascade that is being built. The digests are reordered, whatever becomes of it.
struct new_cascade {
  cascade_geometry geometry{};
  aligned_buffer payload{};

  // From the keys that are held and the others, each once, with the choices of this geometry.
  static result<new_cascade> build(const cascade_geometry& chosen, std::span<std::uint64_t> held,
                                   std::span<std::uint64_t> others, unsigned threads,
                                   const memory_hooks* memory) noexcept {
    new_cascade made;
    made.geometry.reversed = chosen.reversed;
    if (held.empty()) return made;
    auto workers = team_for(held.size() + others.size(), threads, memory);
    if (!workers) return fail(workers.error());
    aligned_buffer sieve;
    if (chosen.has_sieve()) {
      auto built = build_sieve(chosen.sieve.rate, held, *workers);
      if (!built) return fail(built.error());
      made.geometry.sieve = built->geometry;
      auto bytes = built->payload(memory);
      if (!bytes) return fail(bytes.error());
      sieve = std::move(*bytes);
      const auto* words = reinterpret_cast<const std::uint64_t*>(std::as_const(sieve).data());
      const auto view = ribbon_view_of(made.geometry.sieve, words);
      const auto through = sift(view, made.geometry.sieve.widest(), others, *workers);
      if (!through) return fail(through.error());
      others = others.first(to_size(*through));
    }
    std::array lists{ribbon_keys(held), ribbon_keys(others)};
    ribbon_enter(lists, cascade_geometry::table_salt, workers->threads());
    const auto table =
        ribbon_layers::build(lists, cascade_geometry::table_rate, *workers,
                             {.salt = cascade_geometry::table_salt, .layers = cascade_geometry::most_layers});
    if (!table) return fail(table.error());
    made.geometry.table = table->geometry;
    auto all = aligned_buffer::make(made.geometry.payload_bytes(), "the filter", memory);
    if (!all) return fail(all.error());
    if (sieve.size_bytes() != 0) std::memcpy(all->data(), sieve.data(), sieve.size_bytes());
    table->put(all->bytes().subspan(to_size(made.geometry.table_word() * 8)));
    made.payload = std::move(*all);
    return made;
  }

 private:
  // With memory for the larger part.
  static result<worker_pool> team_for(std::uint64_t keys, unsigned threads, const memory_hooks* memory) noexcept {
    const std::uint64_t slots = ribbon_geometry::blocks_that_bump(keys) * kernels::ribbon_width;
    const std::uint64_t chunks = slots / ribbon_new_layer::chunk_slots + 1;
    return worker_pool::make({.threads = std::min<std::uint64_t>(threads, chunks),
                              .bytes_each = ribbon_band::bytes_for(std::min(slots, ribbon_new_layer::chunk_slots))},
                             memory);
  }
  static result<ribbon_layers> build_sieve(const ribbon_rate& rate, std::span<std::uint64_t> held,
                                           worker_pool& workers) noexcept {
    ribbon_keys keys(held);
    keys.enter(0, workers.threads());
    return ribbon_layers::build({&keys, 1}, rate, workers, {.salt = 0, .layers = cascade_geometry::most_layers});
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI::detail

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/cascade/build.cpp>
#endif

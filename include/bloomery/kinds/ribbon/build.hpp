// kinds/ribbon/build.hpp: building a ribbon filter: which keys a layer takes, and the slots that make them match.
//
// A layer is a system of linear equations over bits: 64 coefficients that begin at the key's start, and the fingerprint
// that their slots must xor to. Keys come sorted by their starts, so that the equations near each other are near each
// other in memory. Each is brought to a slot where no other begins, by xoring those that begin where it does. One that
// vanishes on the way, and whose fingerprint does not, contradicts the others: then the first keys of its bucket are
// bumped, up to and with that one, until the threshold is one of the four that can be stored. (Keys of a bucket are
// added from its end: those at its beginning compete with the bucket before.) Solving goes from the last slot to the
// first.
//
// Chunks      of 2^18 slots are built independently, by as many threads as there are: the last bucket of a chunk is
//             bumped as a whole, so that no equation reaches the next. A chunk of equations takes 3 MiB.
// Same bytes  which equations contradict each other does not depend on the order in which keys of one start are added,
//             and slots at which no equation begins are 0: so a set of keys has one filter, in whatever order and on
//             however many threads it is built.
// Last layer  bumps nothing: it has more slots than keys, and is built with other seeds until all fit.
// Two lists   of keys may go into one system: those that shall match, and those that shall not. The equations of the
//             latter have the complement of their fingerprint on the right. No digest may be in both.
#pragma once

#include <bit>
#include <bloomery/core/cpu.hpp>
#include <bloomery/core/size.hpp>
#include <bloomery/core/worker_pool.hpp>
#include <bloomery/kernels/ribbon/dispatch.hpp>
#include <bloomery/kinds/ribbon/keys.hpp>
#include <bloomery/kinds/ribbon/layout.hpp>
#include <cstring>

namespace bloomery::inline BLOOMERY_ABI::detail {

// Equations of some slots. The one at slot i begins there: its coefficient 0 is set. None: coefficients 0.
class ribbon_band {
 public:
  enum class outcome : std::uint8_t { stored, implied, contradicts };

  static constexpr std::uint64_t bytes_for(std::uint64_t slots) noexcept { return slots * 12; }
  ribbon_band(std::span<std::byte> scratch, std::uint64_t slots, unsigned columns) noexcept
      : coefficients_(reinterpret_cast<std::uint64_t*>(scratch.data())),
        fingerprints_(reinterpret_cast<std::uint32_t*>(scratch.data() + slots * 8)),
        slots_(slots),
        bits_(kernels::ribbon_bits_of(columns)) {
    std::memset(scratch.data(), 0, to_size(bytes_for(slots)));
  }

  // `slot` is where the equation begins, and afterwards where it is stored.
  outcome add(const kernels::ribbon_row& row, std::uint64_t& slot) noexcept {
    std::uint64_t coefficients = row.coefficients;
    std::uint32_t fingerprint = row.fingerprint & bits_;
    while (coefficients_[slot] != 0) {
      coefficients ^= coefficients_[slot];
      fingerprint ^= fingerprints_[slot];
      if (coefficients == 0) return fingerprint == 0 ? outcome::implied : outcome::contradicts;
      const auto skipped = static_cast<unsigned>(std::countr_zero(coefficients));
      coefficients >>= skipped;
      slot += skipped;
    }
    coefficients_[slot] = coefficients;
    fingerprints_[slot] = fingerprint;
    return outcome::stored;
  }
  // Of the equations that are there, the one that was added last.
  void remove(std::uint64_t slot) noexcept {
    coefficients_[slot] = 0;
    fingerprints_[slot] = 0;
  }
  void solve(unsigned columns, std::uint64_t first_wide, std::uint64_t* words) const noexcept {
    kernels::ribbon_kernels::for_isa(active_isa(), columns)
        .solve(coefficients_, fingerprints_, slots_ / kernels::ribbon_width, columns, first_wide, words);
  }

 private:
  std::uint64_t* coefficients_;
  std::uint32_t* fingerprints_;
  std::uint64_t slots_;
  std::uint32_t bits_;
};

// The keys that a system shall match, and perhaps a second list, of keys that it shall not.
using ribbon_lists = std::span<ribbon_keys>;
inline constexpr std::size_t ribbon_most_lists = 2;
BLOOMERY_API std::uint64_t ribbon_size(ribbon_lists lists) noexcept;
inline void ribbon_enter(ribbon_lists lists, std::uint64_t seed, unsigned threads) noexcept {
  for (ribbon_keys& list : lists) list.enter(seed, threads);
}
inline void ribbon_leave(ribbon_lists lists) noexcept {
  for (ribbon_keys& list : lists) list.leave();
}

// A layer that is being built.
struct ribbon_new_layer {
  using some_keys = std::array<std::span<std::uint64_t>, ribbon_most_lists>;  // of each list
  using some_counts = std::array<std::uint64_t, ribbon_most_lists>;
  static constexpr std::uint64_t chunk_slots = std::uint64_t{1} << 18U;
  static constexpr std::uint64_t bucket = kernels::ribbon_bucket_starts;
  std::uint64_t starts = 0;
  std::uint64_t blocks = 0;
  std::uint64_t first_wide = 0;
  ribbon_rate rate{};
  unsigned widest = 0;
  aligned_buffer words{};
  aligned_buffer thresholds{};

  static result<ribbon_new_layer> make(const ribbon_geometry& geometry, unsigned layer,
                                       const memory_hooks* memory) noexcept {
    ribbon_new_layer made;
    made.starts = geometry.starts(layer);
    made.blocks = geometry.blocks[layer];
    made.first_wide = geometry.first_wide(layer);
    made.rate = geometry.rate;
    made.widest = geometry.widest();
    auto words = aligned_buffer::make(geometry.words(layer) * 8, "the filter", memory);
    if (!words) return fail(words.error());
    auto thresholds = aligned_buffer::make(geometry.threshold_words(layer) * 8, "the filter", memory);
    if (!thresholds) return fail(thresholds.error());
    made.words = std::move(*words);
    made.thresholds = std::move(*thresholds);
    return made;
  }
  [[nodiscard]] std::uint64_t slots() const noexcept { return blocks * kernels::ribbon_width; }
  [[nodiscard]] std::uint64_t chunks() const noexcept { return (slots() + chunk_slots - 1) / chunk_slots; }
  [[nodiscard]] std::uint64_t start_of(std::uint64_t hash) const noexcept { return fast_range(hash, starts); }
  static kernels::ribbon_row row_of(std::uint64_t hash, bool matches) noexcept {
    kernels::ribbon_row row = kernels::ribbon_row_of(hash);
    if (!matches) row.fingerprint = ~row.fingerprint;
    return row;
  }

  // Adds the keys of a bucket, from the last to the first; gives the code of its threshold. `first_slot` is that of the
  // band.
  [[nodiscard]] unsigned add_bucket(const some_keys& keys, std::uint64_t first_start, std::uint64_t first_slot,
                                    ribbon_band& band) const noexcept {
    struct stored {
      std::uint64_t slot;
      std::uint64_t start;
    };
    std::array<stored, bucket + kernels::ribbon_width> added;  // as many slots as these keys reach
    std::size_t count = 0;
    std::size_t matching = keys[0].size();
    std::size_t others = keys[1].size();
    while (matching + others != 0) {
      const bool matches = others == 0 || (matching != 0 && keys[0][matching - 1] > keys[1][others - 1]);
      const std::uint64_t hash = matches ? keys[0][--matching] : keys[1][--others];
      const std::uint64_t start = start_of(hash);
      std::uint64_t slot = start - first_slot;
      const auto outcome = band.add(row_of(hash, matches), slot);
      if (outcome == ribbon_band::outcome::stored) added[count++] = {slot, start};
      if (outcome != ribbon_band::outcome::contradicts) continue;
      unsigned code = 1;
      while (kernels::ribbon_thresholds[code] <= start - first_start) ++code;
      const std::uint64_t end = first_start + kernels::ribbon_thresholds[code];
      while (count != 0 && added[count - 1].start < end) band.remove(added[--count].slot);
      return code;
    }
    return 0;
  }

  // Builds a chunk from its keys, which are sorted. Those that are bumped are then the first of them: how many of each
  // list.
  some_counts fill_chunk(std::uint64_t chunk, const some_keys& keys, std::span<std::byte> scratch) noexcept {
    const std::uint64_t first_slot = chunk * chunk_slots;
    const std::uint64_t end_slot = std::min(first_slot + chunk_slots, slots());
    const bool is_last = chunk + 1 == chunks();
    ribbon_band band(scratch, end_slot - first_slot, widest);
    some_counts bumped{};
    some_counts end{};
    for (std::uint64_t first = first_slot; first < end_slot && first < starts; first += bucket) {
      const some_counts begin = end;
      some_keys here;
      for (std::size_t list = 0; list < ribbon_most_lists; ++list) {
        const auto all = keys[list];
        while (end[list] < all.size() && start_of(all[to_size(end[list])]) < first + bucket) ++end[list];
        here[list] = all.subspan(to_size(begin[list]), to_size(end[list] - begin[list]));
      }
      const bool bumps_all = !is_last && first + bucket == end_slot;
      const unsigned code = bumps_all ? 3U : add_bucket(here, first, first_slot, band);
      for (std::size_t list = 0; list < ribbon_most_lists; ++list) {
        for (std::uint64_t& key : here[list]) {
          if (start_of(key) - first >= kernels::ribbon_thresholds[code]) break;
          std::swap(keys[list][to_size(bumped[list]++)], key);
        }
      }
      thresholds.bytes()[to_size(first / bucket / 4)] |= static_cast<std::byte>(code << (first / bucket % 4 * 2));
    }
    solve(band, first_slot / kernels::ribbon_width);
    return bumped;
  }
  void solve(const ribbon_band& band, std::uint64_t first_block) noexcept {
    const std::uint64_t wide_before = first_block > first_wide ? first_block - first_wide : 0;
    auto* out = reinterpret_cast<std::uint64_t*>(words.data());
    band.solve(rate.columns, first_wide - std::min(first_wide, first_block),
               out + first_block * rate.columns + wide_before);
  }

  // Builds the layer, and keeps the keys that it bumps.
  result<void> fill(ribbon_lists lists, worker_pool& workers) noexcept {
    const std::uint64_t numbers = 2 * chunks() + 1;
    auto buffer = aligned_buffer::make(ribbon_most_lists * numbers * 8, "building the filter", workers.memory());
    if (!buffer) return fail(buffer.error());
    some_keys all;
    std::array<std::uint64_t*, ribbon_most_lists> begins{};  // of each chunk, and after the last
    std::array<std::uint64_t*, ribbon_most_lists> bumped{};
    for (std::size_t list = 0; list < ribbon_most_lists; ++list) {
      if (list < lists.size()) all[list] = lists[list].keys();
      begins[list] = reinterpret_cast<std::uint64_t*>(buffer->data()) + list * numbers;
      bumped[list] = begins[list] + chunks() + 1;
      for (std::uint64_t chunk = 0; chunk <= chunks(); ++chunk) {
        const auto at = std::partition_point(all[list].begin(), all[list].end(), [this, chunk](std::uint64_t hash) {
          return start_of(hash) < chunk * chunk_slots;
        });
        begins[list][chunk] = static_cast<std::uint64_t>(at - all[list].begin());
      }
    }
    workers.run(chunks(), [&](std::uint64_t chunk, std::span<std::byte> scratch) {
      some_keys some;
      for (std::size_t list = 0; list < ribbon_most_lists; ++list) {
        some[list] =
            all[list].subspan(to_size(begins[list][chunk]), to_size(begins[list][chunk + 1] - begins[list][chunk]));
      }
      const some_counts counts = fill_chunk(chunk, some, scratch);
      for (std::size_t list = 0; list < ribbon_most_lists; ++list) bumped[list][chunk] = counts[list];
    });
    for (std::size_t list = 0; list < lists.size(); ++list) {
      std::uint64_t kept = 0;
      for (std::uint64_t chunk = 0; chunk < chunks(); ++chunk) {
        for (std::uint64_t i = 0; i < bumped[list][chunk]; ++i) {
          std::swap(all[list][to_size(kept++)], all[list][to_size(begins[list][chunk] + i)]);
        }
      }
      lists[list].keep(kept);
    }
    return {};
  }
  // Builds the layer with all keys, and keeps none; false when they do not fit.
  bool fill_all(ribbon_lists lists, std::span<std::byte> scratch) noexcept {
    ribbon_band band(scratch, slots(), widest);
    for (std::size_t list = 0; list < lists.size(); ++list) {
      for (const std::uint64_t hash : lists[list].keys()) {
        std::uint64_t slot = start_of(hash);
        if (band.add(row_of(hash, list == 0), slot) == ribbon_band::outcome::contradicts) return false;
      }
    }
    solve(band, 0);
    for (ribbon_keys& list : lists) list.keep(0);
    return true;
  }
};

// All layers of a system.
struct ribbon_layers {
  ribbon_geometry geometry{};
  std::array<ribbon_new_layer, ribbon_geometry::most_layers> layers{};

  // From the distinct keys, which have entered the first layer with the system's salt.
  static result<ribbon_layers> build(ribbon_lists lists, const ribbon_rate& rate, worker_pool& workers,
                                     const ribbon_system_limits& limits = {}) noexcept {
    ribbon_layers made;
    made.geometry.rate = rate;
    for (unsigned layer = 0; ribbon_size(lists) != 0; ++layer) {
      if (ribbon_geometry::is_last(layer, ribbon_size(lists), limits.layers)) {
        if (auto done = made.build_last(layer, lists, limits.salt, workers.memory()); !done) return fail(done.error());
        break;
      }
      if (layer != 0) ribbon_enter(lists, limits.salt, workers.threads());
      made.geometry.blocks[layer] = ribbon_geometry::blocks_that_bump(ribbon_size(lists));
      auto next = ribbon_new_layer::make(made.geometry, layer, workers.memory());
      if (!next) return fail(next.error());
      if (auto filled = next->fill(lists, workers); !filled) return fail(filled.error());
      made.layers[layer] = std::move(*next);
    }
    return made;
  }

  // All in one piece, as a file has it.
  result<aligned_buffer> payload(const memory_hooks* memory) const noexcept {
    auto buffer = aligned_buffer::make(geometry.payload_bytes(), "the filter", memory);
    if (buffer) put(buffer->bytes());
    return buffer;
  }
  // The same into memory of that size that is all 0.
  void put(std::span<std::byte> to) const noexcept {
    for (unsigned layer = 0; layer < geometry.layers(); ++layer) {
      put(layers[layer].words, to.subspan(to_size(geometry.word_of(layer) * 8)));
      put(layers[layer].thresholds, to.subspan(to_size(geometry.threshold_word_of(layer) * 8)));
    }
  }

 private:
  static void put(const aligned_buffer& from, std::span<std::byte> to) noexcept {
    std::memcpy(to.data(), from.data(), from.size_bytes());
  }
  result<void> build_last(unsigned layer, ribbon_lists lists, std::uint64_t salt, const memory_hooks* memory) noexcept {
    if (layer == 0) ribbon_leave(lists);
    for (geometry.seed = 0;; ++geometry.seed) {
      geometry.blocks[layer] = ribbon_geometry::blocks_of_last(ribbon_size(lists), geometry.seed);
      auto next = ribbon_new_layer::make(geometry, layer, memory);
      if (!next) return fail(next.error());
      auto scratch = aligned_buffer::make(ribbon_band::bytes_for(next->slots()), "building the filter", memory);
      if (!scratch) return fail(scratch.error());
      ribbon_enter(lists, salt + geometry.seed, 1);
      if (next->fill_all(lists, scratch->bytes())) {
        layers[layer] = std::move(*next);
        return {};
      }
      ribbon_leave(lists);
    }
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI::detail

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/ribbon/build.cpp>
#endif

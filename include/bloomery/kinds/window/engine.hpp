// kinds/window/engine.hpp: the lines of a window filter and its schedule together: what kind window does without its sizes, its
// file and its clock. Every call that depends on the time is given it.
//
// Stamps are numbers modulo `modulus`: one that was left alone for a whole round would look young again, and its keys come
// back. Inserts renew the stamps of all lines in turn, one line now and then, so that none gets that old.
#pragma once

#include <algorithm>
#include <bloomery/kernels/window/dispatch.hpp>
#include <bloomery/kinds/bit_store.hpp>
#include <bloomery/kinds/window/layout.hpp>
#include <bloomery/kinds/window/schedule.hpp>
#include <optional>

namespace bloomery::inline BLOOMERY_ABI {

struct window_geometry {
  std::uint64_t lines = 0;
  unsigned hashes = 0;
  unsigned slots = 1;
  std::uint64_t generation_keys = 0;
  std::uint64_t tick_ns = 0;
  std::uint32_t modulus = usual_modulus(slots);

  // A multiple of 15 and of the slots.
  static constexpr std::uint32_t usual_modulus(unsigned slots) noexcept {
    return kernels::window_lanes * slots * ((std::uint32_t{1} << 28U) / slots);
  }
  [[nodiscard]] window_layout layout() const noexcept { return {slots}; }
  [[nodiscard]] unsigned kept() const noexcept { return layout().kept(hashes); }
  [[nodiscard]] std::uint64_t lines_bytes() const noexcept { return lines * slots * kernels::window_line_bytes; }
  [[nodiscard]] std::uint64_t payload_bytes() const noexcept { return lines_bytes() + window_layout::trailer_bytes; }
  bool operator==(const window_geometry&) const = default;
};

class window_engine {
 public:
  window_engine() noexcept = default;
  window_engine(const window_geometry& geometry, bit_store store) noexcept;

  static result<window_engine> make(const window_geometry& geometry, const memory_hooks* hooks,
                                    std::uint64_t now_ns) noexcept;
  [[nodiscard]] result<window_engine> clone() const noexcept;
  void clear(std::uint64_t now_ns) noexcept;

  // All of the digests; how many were surely absent.
  std::uint64_t insert(const std::uint64_t* digests, std::size_t count, std::uint64_t now_ns) noexcept;
  [[nodiscard]] bool may_contain(std::uint64_t digest, std::uint64_t now_ns) const noexcept {
    if (schedule_.is_current(now_ns)) return kernels::window_contains_one(current_, digest);
    return kernels::window_contains_one(view(now_ns), digest);
  }
  void may_contain_stream(std::size_t count, const digest_feed& feed, std::uint64_t* mask,
                          std::uint64_t now_ns) const noexcept {
    active_kernels<kernels::window_kernels>().contains_batch(view(now_ns), count, feed, mask);
  }
  void prefetch(const std::uint64_t* digests, std::size_t count) const noexcept {
    kernels::window_prefetch(current_, digests, count);
  }
  // How many generations ago the digest was inserted last: never more than it was. Nothing when it is surely absent.
  [[nodiscard]] std::optional<unsigned> age(std::uint64_t digest, std::uint64_t now_ns) const noexcept;

  // Share of set bits among those that are not left over; mean over the lines of their chance to say yes.
  [[nodiscard]] double fill(std::uint64_t now_ns) const noexcept;
  [[nodiscard]] double fpr(std::uint64_t now_ns) const noexcept;

  [[nodiscard]] const window_geometry& geometry() const noexcept { return geometry_; }
  [[nodiscard]] const window_schedule& schedule() const noexcept { return schedule_; }
  // As it was stored.
  void restore(std::uint32_t generation, std::uint64_t start_ns, std::uint64_t counted) noexcept {
    schedule_.generation = generation;
    schedule_.start_ns = start_ns;
    schedule_.counted = counted;
    current_ = view_of(generation);
  }
  [[nodiscard]] window_record record() const noexcept {
    return window_record(const_cast<std::byte*>(store_.bytes().data()) + geometry_.lines_bytes());
  }
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return store_.bytes(); }
  friend bool operator==(const window_engine& a, const window_engine& b) noexcept {
    return a.geometry_ == b.geometry_ && a.schedule_.generation == b.schedule_.generation &&
           a.schedule_.start_ns == b.schedule_.start_ns && a.schedule_.counted == b.schedule_.counted &&
           a.store_ == b.store_;
  }

 private:
  using lane_fills = std::array<double, kernels::window_lanes>;

  [[nodiscard]] kernels::window_view view_of(std::uint32_t generation) const noexcept {
    return {store_.bytes().data(), geometry_.lines, geometry_.hashes, geometry_.slots, generation, geometry_.modulus};
  }
  [[nodiscard]] kernels::window_view view(std::uint64_t now_ns) const noexcept {
    return view_of(schedule_.at(now_ns).generation);
  }
  [[nodiscard]] std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(store_.data()); }
  // How full the lanes of a slot are: logical lanes where the layout is stamped. Those left over are empty.
  static lane_fills fills_of(const kernels::window_view& view, std::uint64_t line, unsigned slot) noexcept;

  window_geometry geometry_;
  window_schedule schedule_;
  kernels::window_view current_;  // of the generation that was written last
  // Inserts between two lines that are renewed: an insert is at most 15 generations after the one before.
  std::uint64_t renewal_inserts_ = 1;
  bit_store store_;
};

inline window_engine::window_engine(const window_geometry& geometry, bit_store store) noexcept
    : geometry_(geometry),
      renewal_inserts_(std::max<std::uint64_t>(1, geometry.modulus / 16 / geometry.lines)),
      store_(std::move(store)) {
  schedule_.generation_keys = geometry.generation_keys;
  schedule_.tick_ns = geometry.tick_ns;
  schedule_.modulus = geometry.modulus;
  schedule_.kept = geometry.kept();
  schedule_.all = geometry.slots == 1 ? kernels::window_lanes : geometry.slots;
}

inline result<window_engine> window_engine::make(const window_geometry& geometry, const memory_hooks* hooks,
                                                 std::uint64_t now_ns) noexcept {
  auto store = bit_store::make(geometry.payload_bytes() / 8, "the filter", hooks);
  if (!store) return fail(store.error());
  window_engine made(geometry, std::move(*store));
  made.clear(now_ns);
  return made;
}

inline result<window_engine> window_engine::clone() const noexcept {
  auto store = store_.clone("a copy of the filter");
  if (!store) return fail(store.error());
  window_engine copy(geometry_, std::move(*store));
  copy.restore(schedule_.generation, schedule_.start_ns, schedule_.counted);
  return copy;
}

inline void window_engine::clear(std::uint64_t now_ns) noexcept {
  store_.clear();
  restore(window_schedule::first_generation, now_ns, 0);
  // Nothing was there before: the window covers no more than the time since now.
  for (std::uint32_t age = 1; age < window_record::places; ++age) record().set(schedule_.minus(age), now_ns, 0);
  record().set_renewal(0, renewal_inserts_);
}

inline std::uint64_t window_engine::insert(const std::uint64_t* digests, std::size_t count,
                                           std::uint64_t now_ns) noexcept {
  std::uint64_t inserted = 0;
  std::uint64_t left = record().inserts_left();
  std::uint64_t line = record().next_line();
  while (count != 0) {
    schedule_.prepare_insert(record(), now_ns);
    if (current_.generation != schedule_.generation) current_ = view_of(schedule_.generation);
    left = std::clamp<std::uint64_t>(left, 1, renewal_inserts_);  // a record in a file may say anything
    const kernels::window_insert_outcome some = active_kernels<kernels::window_kernels>().insert(
        bytes(), current_, digests, std::min<std::uint64_t>(count, left),
        schedule_.generation_keys - schedule_.counted);
    inserted += some.inserted;
    schedule_.counted += some.counted;
    digests += some.taken;
    count -= some.taken;
    left -= some.taken;
    if (left != 0) continue;
    line = line < geometry_.lines ? line : 0;
    kernels::window_refresh(bytes(), current_, line);
    ++line;
    left = renewal_inserts_;
  }
  record().set_renewal(line, left);
  return inserted;
}

inline std::optional<unsigned> window_engine::age(std::uint64_t digest, std::uint64_t now_ns) const noexcept {
  const kernels::window_view seen = view(now_ns);
  const std::byte* line = seen.bytes + seen.offset_of(digest);
  const std::uint32_t probe = kernels::window_probe(digest);
  if (seen.slots == 1) {
    const std::uint32_t live = kernels::window_live(seen.gap(kernels::window_stamp(line)));
    const std::uint32_t hits = kernels::window_logical(kernels::window_lane_hits(line, probe), seen.base) & live;
    const std::uint32_t runs = kernels::window_runs(hits, seen.hashes);
    if (runs == 0) return {};
    return static_cast<unsigned>(std::countr_zero(runs));
  }
  const std::uint32_t wanted = kernels::window_physical(seen.key_lanes(), kernels::window_rotation(digest));
  for (unsigned age = 0; age < seen.slots; ++age) {
    const std::byte* slot = line + (seen.generation % seen.slots + seen.slots - age) % seen.slots * 64;
    if (kernels::window_stamp(slot) != seen.generation_before(age)) continue;
    if ((kernels::window_lane_hits(slot, probe) & wanted) == wanted) return age;
  }
  return {};
}

inline window_engine::lane_fills window_engine::fills_of(const kernels::window_view& view, std::uint64_t line,
                                                         unsigned slot) noexcept {
  const std::byte* at = view.bytes + (line * view.slots + slot) * kernels::window_line_bytes;
  std::uint32_t live = 0;
  if (view.slots == 1) {
    live = kernels::window_live(view.gap(kernels::window_stamp(at)));
  } else {
    const unsigned age = (view.generation % view.slots + view.slots - slot) % view.slots;
    live = kernels::window_stamp(at) == view.generation_before(age) ? kernels::window_all_lanes : 0U;
  }
  const unsigned base = view.slots == 1 ? view.base : 0;
  lane_fills fill{};
  for (unsigned lane = 0; lane < kernels::window_lanes; ++lane) {
    if ((live >> lane & 1U) == 0) continue;
    const std::uint32_t bits = kernels::window_lane(at, (base + lane) % kernels::window_lanes);
    fill[lane] = static_cast<double>(std::popcount(bits)) / kernels::window_lane_bits;
  }
  return fill;
}

inline double window_engine::fill(std::uint64_t now_ns) const noexcept {
  const kernels::window_view seen = view(now_ns);
  double sum = 0;
  for (std::uint64_t line = 0; line < seen.lines; ++line) {
    for (unsigned slot = 0; slot < seen.slots; ++slot) {
      for (const double lane : fills_of(seen, line, slot)) sum += lane;
    }
  }
  const double lanes = static_cast<double>(seen.lines) * seen.slots * kernels::window_lanes;
  return lanes == 0 ? 0.0 : sum / lanes;
}

inline double window_engine::fpr(std::uint64_t now_ns) const noexcept {
  const kernels::window_view seen = view(now_ns);
  double sum = 0;
  for (std::uint64_t line = 0; line < seen.lines; ++line) {
    double no = 1;
    for (unsigned slot = 0; slot < seen.slots; ++slot) {
      const lane_fills fills = fills_of(seen, line, slot);
      no *= 1.0 - (seen.slots == 1 ? window_fpr::run_chance(fills, seen.hashes)
                                   : window_fpr::slot_chance(fills, seen.hashes));
    }
    sum += 1.0 - no;
  }
  return seen.lines == 0 ? 0.0 : sum / static_cast<double>(seen.lines);
}

}  // namespace bloomery::inline BLOOMERY_ABI

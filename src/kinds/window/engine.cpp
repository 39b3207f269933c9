#include <bloomery/kinds/window/engine.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY window_engine::window_engine(const window_geometry& geometry, bit_store store) noexcept
    : geometry_(geometry),
      renewal_inserts_(std::max<std::uint64_t>(1, geometry.modulus / 16 / geometry.lines)),
      store_(std::move(store)) {
  schedule_.generation_keys = geometry.generation_keys;
  schedule_.tick_ns = geometry.tick_ns;
  schedule_.modulus = geometry.modulus;
  schedule_.kept = geometry.kept();
  schedule_.all = geometry.slots == 1 ? kernels::window_lanes : geometry.slots;
}

BLOOMERY_BODY result<window_engine> window_engine::make(const window_geometry& geometry, const memory_hooks* hooks,
                                                        std::uint64_t now_ns) noexcept {
  auto store = bit_store::make(geometry.payload_bytes() / 8, "the filter", hooks);
  if (!store) return fail(store.error());
  window_engine made(geometry, std::move(*store));
  made.clear(now_ns);
  return made;
}

BLOOMERY_BODY result<window_engine> window_engine::clone() const noexcept {
  auto store = store_.clone("a copy of the filter");
  if (!store) return fail(store.error());
  window_engine copy(geometry_, std::move(*store));
  copy.restore(schedule_.generation, schedule_.start_ns, schedule_.counted);
  return copy;
}

BLOOMERY_BODY void window_engine::clear(std::uint64_t now_ns) noexcept {
  store_.clear();
  restore(window_schedule::first_generation, now_ns, 0);
  // Nothing was there before: the window covers no more than the time since now.
  for (std::uint32_t age = 1; age < window_record::places; ++age) record().set(schedule_.minus(age), now_ns, 0);
  record().set_renewal(0, renewal_inserts_);
}

BLOOMERY_BODY std::uint64_t window_engine::insert(const std::uint64_t* digests, std::size_t count,
                                                  std::uint64_t now_ns) noexcept {
  std::uint64_t inserted = 0;
  std::uint64_t left = record().inserts_left();
  std::uint64_t line = record().next_line();
  while (count != 0) {
    schedule_.prepare_insert(record(), now_ns);
    if (current_.generation != schedule_.generation) current_ = view_of(schedule_.generation);
    left = std::clamp<std::uint64_t>(left, 1, renewal_inserts_);  // a record in a file may hold anything
    const kernels::window_insert_outcome some = active_kernels<kernels::window_kernels>().insert(
        bytes(), current_, digests, to_size(std::min<std::uint64_t>(count, left)),
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

BLOOMERY_BODY std::optional<unsigned> window_engine::age(std::uint64_t digest, std::uint64_t now_ns) const noexcept {
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

BLOOMERY_BODY window_engine::lane_fills window_engine::fills_of(const kernels::window_view& view, std::uint64_t line,
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

BLOOMERY_BODY double window_engine::fill(std::uint64_t now_ns) const noexcept {
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

BLOOMERY_BODY double window_engine::fpr(std::uint64_t now_ns) const noexcept {
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

namespace detail {

// One lane of a line; one that is left over is read as zero.
inline lookup_probe window_lane_probe(const kernels::window_view& view, const std::byte* line, std::uint32_t probe,
                                      unsigned lane, bool live) noexcept {
  const std::uint32_t bit = kernels::window_bit(probe, lane);
  const unsigned at = lane * kernels::window_lane_bits + static_cast<unsigned>(std::countr_zero(bit));
  const bool is_set = live && (kernels::window_lane(line, lane) & bit) != 0;
  const auto first = static_cast<std::uint64_t>(line - view.bytes);
  return {.position = first * 8 + at,
          .byte_offset = first + at / 8,
          .read = is_set ? 1U : 0U,
          .expected = 1,
          .unit = probe_unit::bit,
          .has_expected = true,
          .matches = is_set};
}

inline void draw_window_line(explanation& out, const kernels::window_view& view, const std::byte* line) noexcept {
  constexpr std::uint64_t bits = std::uint64_t{kernels::window_lanes} * kernels::window_lane_bits;
  const auto value = [line](std::uint64_t i) { return std::to_integer<unsigned>(line[i / 8]) >> (i % 8) & 1U; };
  out.draw(static_cast<std::uint64_t>(line - view.bytes) * 8, bits, value);
}

}  // namespace detail

BLOOMERY_BODY explanation window_engine::explain(std::uint64_t digest, std::uint64_t now_ns) const noexcept {
  explanation out(digest);
  const kernels::window_view seen = view(now_ns);
  const std::byte* line = seen.bytes + seen.offset_of(digest);
  const std::uint32_t probe = kernels::window_probe(digest);
  if (seen.slots == 1) {
    const std::uint32_t live = kernels::window_live(seen.gap(kernels::window_stamp(line)));
    out.begin({.place = "line",
               .place_index = seen.line_of(digest),
               .rule = probe_rule::run,
               .needed = static_cast<std::uint32_t>(seen.hashes)});
    for (unsigned i = 0; i < kernels::window_lanes; ++i) {
      const auto lane =
          static_cast<unsigned>(std::countr_zero(kernels::window_physical(std::uint32_t{1} << i, seen.base)));
      out.add(detail::window_lane_probe(seen, line, probe, lane, (live >> i & 1U) != 0));
    }
    detail::draw_window_line(out, seen, line);
    out.end();
    return out;
  }
  const std::uint32_t wanted = kernels::window_physical(seen.key_lanes(), kernels::window_rotation(digest));
  for (unsigned age = 0; age < seen.slots; ++age) {
    const unsigned number = (seen.generation % seen.slots + seen.slots - age) % seen.slots;
    const std::byte* slot = line + number * kernels::window_line_bytes;
    const std::uint32_t stamp = kernels::window_stamp(slot);
    const bool live = stamp == seen.generation_before(age);
    out.begin({.part = {.name = "generation", .index = age},
               .place = "line",
               .place_index = seen.line_of(digest) * seen.slots + number});
    const auto first = static_cast<std::uint64_t>(slot - seen.bytes);
    out.add({.position = first / kernels::window_line_bytes,
             .byte_offset = first + std::uint64_t{4} * kernels::window_lanes,
             .read = stamp,
             .expected = seen.generation_before(age),
             .unit = probe_unit::stamp,
             .has_expected = true,
             .matches = live});
    for (unsigned lane = 0; lane < kernels::window_lanes; ++lane) {
      if ((wanted >> lane & 1U) != 0) out.add(detail::window_lane_probe(seen, slot, probe, lane, live));
    }
    detail::draw_window_line(out, seen, slot);
    out.end();
  }
  return out;
}

}  // namespace bloomery::inline BLOOMERY_ABI

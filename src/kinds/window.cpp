#include <bloomery/kinds/window.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<window> window::make(const filter_params& params) noexcept {
  const auto solved = plan(params.sizes(), params.layout);
  if (!solved) return fail(solved.error());
  const auto layout = window_layout::find(params.layout);
  if (!layout) return fail(layout.error());
  const unsigned kept = layout->kept(solved->hashes);
  if (params.window_ns > window_layout::longest_window_ns) {
    return fail(errc::unsupported, "kind window keeps keys for at most 36 years");
  }
  const window_geometry geometry{.lines = solved->bits / layout->line_bits(),
                                 .hashes = solved->hashes,
                                 .slots = layout->slots,
                                 .generation_keys = layout->generation_keys(solved->keys, solved->hashes),
                                 .tick_ns = params.window_ns / kept + (params.window_ns % kept != 0 ? 1U : 0U)};
  auto engine = window_engine::make(geometry, params.memory, geometry.tick_ns == 0 ? 0 : now_ns(params.clock));
  if (!engine) return fail(engine.error());
  window filter;
  filter.engine_ = std::move(*engine);
  filter.capacity_ = solved->keys;
  filter.fpr_ = params.fpr ? *params.fpr : solved->fpr;
  filter.clock_ = params.clock;
  return filter;
}

BLOOMERY_BODY result<window> window::clone() const noexcept {
  auto engine = engine_.clone();
  if (!engine) return fail(engine.error());
  window copy;
  copy.engine_ = std::move(*engine);
  copy.keys_ = keys_;
  copy.capacity_ = capacity_;
  copy.fpr_ = fpr_;
  copy.clock_ = clock_;
  return copy;
}

BLOOMERY_BODY std::uint64_t window::add_stream(std::size_t count, const digest_feed& feed) noexcept {
  constexpr std::size_t group = 64;
  std::array<std::uint64_t, group> room;
  std::uint64_t inserted = 0;
  for (std::size_t first = 0; first < count; first += group) {
    const std::size_t size = std::min(group, count - first);
    const std::uint64_t* digests = feed(first, size, room.data());
    engine_.prefetch(digests, size);
    inserted += engine_.insert(digests, size, now());
  }
  keys_ += inserted;
  return inserted;
}

BLOOMERY_BODY window_state window::window_now() const noexcept {
  const std::uint64_t time = now();
  const window_schedule& schedule = engine_.schedule();
  window_state state{.generation = schedule.at(time).generation,
                     .guaranteed_keys = schedule.generation_keys * schedule.kept,
                     .covered_keys = schedule.keys_kept(engine_.record(), time),
                     .guaranteed_ns = schedule.tick_ns * schedule.kept};
  if (schedule.tick_ns != 0) {
    const std::uint64_t start = schedule.start_of_age(engine_.record(), schedule.kept, time);
    state.covered_ns = time > start ? time - start : 0;
  }
  return state;
}

BLOOMERY_BODY stored_shape window::shape() const noexcept {
  const window_geometry& geometry = engine_.geometry();
  const window_schedule& schedule = engine_.schedule();
  return {.capacity_keys = capacity_,
          .fpr = fpr_,
          .keys = keys_,
          .keys_exact = true,
          .digest_bits = 64,
          .field = {geometry.lines, geometry.hashes, geometry.generation_keys, geometry.tick_ns, schedule.generation,
                    schedule.start_ns, schedule.counted, geometry.slots - 1}};
}

BLOOMERY_BODY result<std::uint64_t> window::payload_bytes(const stored_shape& shape) noexcept {
  const std::uint64_t generations = shape.field[7];
  if (generations == 1 || generations > window_layout::max_generations) {
    return fail(errc::bad_field, "generations", {generations});
  }
  const window_layout layout{static_cast<unsigned>(generations) + 1};
  if (shape.field[0] < 1 || shape.field[0] > layout.max_lines())
    return fail(errc::bad_field, "lines", {shape.field[0]});
  if (shape.field[1] < layout.min_hashes() || shape.field[1] > layout.max_hashes()) {
    return fail(errc::bad_field, "hash functions", {shape.field[1]});
  }
  if (shape.field[2] < 1 || shape.field[2] > max_keys) {
    return fail(errc::bad_field, "keys a generation", {shape.field[2]});
  }
  if (shape.field[3] > window_layout::longest_tick_ns)
    return fail(errc::bad_field, "generation time", {shape.field[3]});
  if (shape.field[4] >= window_geometry::usual_modulus(layout.slots)) {
    return fail(errc::bad_field, "generation", {shape.field[4]});
  }
  if (shape.field[3] == 0 && shape.field[5] != 0) return fail(errc::bad_field, "generation start", {shape.field[5]});
  if (shape.field[6] > shape.field[2]) return fail(errc::bad_field, "keys counted", {shape.field[6]});
  if (shape.digest_bits != 64) return fail(errc::bad_field, "digest bits", {shape.digest_bits});
  if (!shape.keys_exact) return fail(errc::bad_field, "keys estimated", {shape.keys});
  return geometry_of(shape).payload_bytes();
}

BLOOMERY_BODY result<window> window::make_of(const stored_shape& shape, bit_store store) noexcept {
  const auto expected = payload_bytes(shape);
  if (!expected) return fail(expected.error());
  if (*expected != store.words() * 8) return fail(errc::truncated, {}, {store.words() * 8, *expected});
  window filter;
  filter.engine_ = window_engine(geometry_of(shape), std::move(store));
  filter.engine_.restore(static_cast<std::uint32_t>(shape.field[4]), shape.field[5], shape.field[6]);
  filter.keys_ = shape.keys;
  filter.capacity_ = shape.capacity_keys;
  filter.fpr_ = shape.fpr;
  return filter;
}

BLOOMERY_BODY result<window> window::adopt(const stored_shape& shape, aligned_buffer payload) noexcept {
  return make_of(shape, bit_store::adopt(std::move(payload)));
}

BLOOMERY_BODY result<window> window::view(const stored_shape& shape, std::span<const std::byte> payload) noexcept {
  return make_of(shape, bit_store::view(payload));
}

BLOOMERY_BODY fact_list window::facts() const noexcept {
  return {layout_fact(layout_name(engine_.geometry().slots)),
          {.name = "lines", .label = "lines", .value = lines(), .help = "cache lines of the array"},
          hashes_fact(hashes()),
          {.name = "generations",
           .label = "generations",
           .value = generations(),
           .help = "before the current one, whose keys are all reported"}};
}

BLOOMERY_BODY fact_list window::facts_now() const noexcept {
  const window_state state = window_now();
  const bool timed = state.guaranteed_ns != 0;
  // Only where time counts.
  const auto seconds = [&](std::uint64_t ns) {
    return timed ? fact_value(static_cast<double>(ns) / 1e9) : fact_value();
  };
  const auto in_window = [](fact one) {
    one.topic = fact_topic::keys;
    one.group = "window";
    return one;
  };
  return {in_window({.name = "guaranteed_seconds",
                     .label = "window",
                     .value = seconds(state.guaranteed_ns),
                     .unit = fact_unit::seconds,
                     .help = "time after which a key may expire, if no more keys come in it than it was made for",
                     .join = fact_join::most}),
          in_window({.name = "guaranteed_keys",
                     .label = "window",
                     .value = state.guaranteed_keys,
                     .unit = fact_unit::keys,
                     .help = "number of later keys after which a key may expire",
                     .join = fact_join::sum,
                     .phrase = {.before = timed ? ", or " : "",
                                .after = timed ? " if more come in that time" : "",
                                .continues = timed}}),
          in_window({.name = "covered_seconds",
                     .label = "covered now",
                     .value = seconds(state.covered_ns),
                     .unit = fact_unit::seconds,
                     .help = "keys inserted since then are reported",
                     .join = fact_join::least,
                     .phrase = {.before = "the last "}}),
          in_window({.name = "covered_keys",
                     .label = "covered now",
                     .value = state.covered_keys,
                     .unit = fact_unit::keys,
                     .help = "keys counted in the generations that are whole",
                     .join = fact_join::sum,
                     .phrase = {.before = timed ? ", " : "", .continues = timed}}),
          in_window({.name = "generation",
                     .label = "generation",
                     .value = state.generation,
                     .help = "generations since it was made",
                     .join = fact_join::most,
                     .phrase = {.before = "; in generation ", .continues = true}})};
}

}  // namespace bloomery::inline BLOOMERY_ABI

#include <bloomery/kinds/counting.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<size_plan> counting::plan(const size_request& request, std::string_view layout) noexcept {
  const auto found = find_counter_layout(layout);
  if (!found) return fail(found.error());
  auto solved = sizing::solve(counting_model{*found}, request);
  if (solved && solved->digest_bits > 64) {
    return fail(errc::not_enough_hash_bits, "kind counting",
                {solved->keys, sizing::hash_bits_needed(solved->keys, solved->fpr), 64});
  }
  if (solved && *found == counter_layout::line) solved->lines = 1;
  return solved;
}

BLOOMERY_BODY result<counting> counting::make(const filter_params& params) noexcept {
  const auto solved = plan(params.sizes(), params.layout);
  if (!solved) return fail(solved.error());
  auto store = bit_store::make(solved->memory_bytes / 8, "the filter", params.memory);
  if (!store) return fail(store.error());
  counting filter;
  filter.store_ = std::move(*store);
  filter.layout_ = *find_counter_layout(params.layout);
  filter.size_ = solved->bits / filter.model().unit_bits();
  filter.hashes_ = solved->hashes;
  filter.capacity_ = solved->keys;
  filter.fpr_ = params.fpr ? *params.fpr : solved->fpr;
  return filter;
}

BLOOMERY_BODY result<counting> counting::clone() const noexcept {
  auto store = store_.clone("a copy of the filter");
  if (!store) return fail(store.error());
  counting copy;
  copy.set_geometry(shape());
  copy.store_ = std::move(*store);
  return copy;
}

BLOOMERY_BODY bool counting::erase(std::uint64_t digest) noexcept {
  const kernels::erased outcome =
      is_spread() ? kernels::counting_erase<kernels::spread_probes>(store_.data(), kernel_view(), digest)
                  : kernels::counting_erase<kernels::line_probes>(store_.data(), kernel_view(), digest);
  if (outcome == kernels::erased::nothing) return false;
  keys_ -= outcome == kernels::erased::last && keys_ != 0 ? 1 : 0;
  // A key that was new to the count may leave while others cover it, and the other way round.
  keys_exact_ = false;
  return true;
}

BLOOMERY_BODY std::uint64_t counting::add_stream(std::size_t count, const digest_feed& feed) noexcept {
  const std::uint64_t inserted =
      layout_ == counter_layout::spread
          ? kernels::counting_insert_spread(store_.data(), kernel_view(), count, feed)
          : active_kernels<kernels::counting_kernels>().insert_lines(store_.data(), kernel_view(), count, feed);
  keys_ += inserted;
  return inserted;
}

BLOOMERY_BODY void counting::may_contain_stream(std::size_t count, const digest_feed& feed,
                                                std::span<std::uint64_t> mask) const noexcept {
  if (is_spread()) {
    const kernels::spread_view view{store_.data(), size_, hashes_};
    kernels::bloom_contains_batch<std::uint64_t>(view, count, feed, mask.data());
  } else {
    active_kernels<kernels::counting_kernels>().contains_lines(kernel_view(), count, feed, mask.data());
  }
}

// Counters are chosen by the digest's high bits, so f neighbours become one (kinds/bloom.hpp), or f neighbouring lines.
BLOOMERY_BODY result<counting> counting::fold(std::uint64_t factor) const noexcept {
  if (factor == 0 || size_ % factor != 0 || size_ / factor < model().min_units()) {
    return fail(errc::cannot_fold, layout_ == counter_layout::spread
                                       ? "the factor must divide the number of counters and leave at least 8"
                                       : "the factor must divide the number of lines");
  }
  counting folded;
  folded.set_geometry(shape());
  folded.size_ = size_ / factor;
  auto store = bit_store::make(counting_model::memory_bytes(folded.bits()) / 8, "the folded filter", store_.hooks());
  if (!store) return fail(store.error());
  folded.store_ = std::move(*store);
  // The target FPR stays, so the capacity shrinks to what the counters left can keep it for.
  const auto room = sizing::keys_for(model(), {.fpr = fpr_, .hashes = hashes_}, folded.bits());
  folded.capacity_ = room ? *room : 0;
  std::uint64_t* to = folded.store_.data();
  for (std::uint64_t i = 0; i < store_.words(); ++i) {
    if (!is_spread()) {
      std::uint64_t& word = to[i / 8 / factor * 8 + i % 8];
      word = kernels::add_counters(word, store_.data()[i]);
      continue;
    }
    for (std::uint64_t word = store_.word(i), counter = i * kernels::counters_a_word; word != 0; ++counter) {
      const std::uint64_t add = (word & kernels::counter_most) << kernels::counter_shift(counter / factor);
      std::uint64_t& into = to[counter / factor / kernels::counters_a_word];
      into = kernels::add_counters(into, little_endian(add));
      word >>= kernels::counter_bits;
    }
  }
  return folded;
}

BLOOMERY_BODY std::uint64_t counting::saturated() const noexcept {
  std::uint64_t stuck = 0;
  for (std::uint64_t i = 0; i < store_.words(); ++i) stuck += kernels::counters_stuck(store_.data()[i]);
  return stuck;
}

BLOOMERY_BODY double counting::fill() const noexcept {
  std::uint64_t used = 0;
  for (std::uint64_t i = 0; i < store_.words(); ++i) used += kernels::counters_used(store_.data()[i]);
  return size_ == 0 ? 0.0 : static_cast<double>(used) / static_cast<double>(counters());
}

// Spread: n = ln(1 - fill) / ln(1 - 1/m) / k. Lines: the sum of the same over each of them, where a key uses k of 128.
BLOOMERY_BODY double counting::estimated_keys() const noexcept {
  const auto keys_for = [](double used, double cells, double one_key) {
    if (used > cells - 0.5) used = cells - 0.5;  // all are used: the estimate is a lower bound
    return std::log1p(-used / cells) / one_key;
  };
  const double hashes = static_cast<double>(hashes_);
  if (is_spread()) {
    const double cells = static_cast<double>(size_);
    return keys_for(fill() * cells, cells, std::log1p(-1.0 / cells) * hashes);
  }
  constexpr double cells = static_cast<double>(kernels::counters_a_line);
  const double one_key = std::log1p(-hashes / cells);
  double keys = 0;
  for (std::uint64_t line = 0; line < size_; ++line) {
    unsigned used = 0;
    for (std::uint64_t i = 0; i < 8; ++i) used += kernels::counters_used(store_.data()[line * 8 + i]);
    if (used != 0) keys += keys_for(static_cast<double>(used), cells, one_key);
  }
  return keys;
}

BLOOMERY_BODY double counting::line_fpr(std::uint64_t line) const noexcept {
  std::array<double, 8> word_fill{};
  for (std::size_t i = 0; i < 8; ++i) {
    word_fill[i] = static_cast<double>(kernels::counters_used(store_.data()[line * 8 + i])) /
                   static_cast<double>(kernels::counters_a_word);
  }
  return rate_of_lanes(word_fill, hashes_);
}

BLOOMERY_BODY double counting::fpr_now() const noexcept {
  if (is_spread()) return std::pow(fill(), static_cast<double>(hashes_));
  double sum = 0;
  for (std::uint64_t line = 0; line < size_; ++line) sum += line_fpr(line);
  return size_ == 0 ? 0.0 : sum / static_cast<double>(size_);
}

BLOOMERY_BODY stored_shape counting::shape() const noexcept {
  return {.capacity_keys = capacity_,
          .fpr = fpr_,
          .keys = keys_,
          .keys_exact = keys_exact_,
          .digest_bits = 64,
          .field = {size_, hashes_, static_cast<std::uint64_t>(layout_)}};
}

BLOOMERY_BODY void counting::set_geometry(const stored_shape& shape) noexcept {
  size_ = shape.field[0];
  hashes_ = static_cast<unsigned>(shape.field[1]);
  layout_ = static_cast<counter_layout>(shape.field[2]);
  capacity_ = shape.capacity_keys;
  fpr_ = shape.fpr;
  keys_ = shape.keys;
  keys_exact_ = shape.keys_exact;
}

BLOOMERY_BODY result<std::uint64_t> counting::payload_bytes(const stored_shape& shape) noexcept {
  if (shape.field[2] > 1) return fail(errc::bad_field, "layout", {shape.field[2]});
  const counting_model model{static_cast<counter_layout>(shape.field[2])};
  if (shape.field[0] < model.min_units() || shape.field[0] > max_filter_bits / model.unit_bits()) {
    return fail(errc::bad_field, "counters", {shape.field[0]});
  }
  if (shape.field[1] < 1 || shape.field[1] > model.max_hashes()) {
    return fail(errc::bad_field, "hash functions", {shape.field[1]});
  }
  if (shape.digest_bits != 64) return fail(errc::bad_field, "digest bits", {shape.digest_bits});
  for (std::size_t i = 3; i < shape.field.size(); ++i) {
    if (shape.field[i] != 0) return fail(errc::bad_field, "unused number", {shape.field[i]});
  }
  return counting_model::memory_bytes(shape.field[0] * model.unit_bits());
}

BLOOMERY_BODY result<counting> counting::adopt(const stored_shape& shape, aligned_buffer payload) noexcept {
  auto filter = view(shape, payload.bytes());
  if (!filter) return filter;
  filter->store_ = bit_store::adopt(std::move(payload));
  const std::uint64_t used = filter->bits() % 64;
  if (used != 0 && (filter->store_.word(filter->store_.words() - 1) >> used) != 0) {
    return fail(errc::bad_field, "counters past the end", {filter->size_});
  }
  return filter;
}

BLOOMERY_BODY result<counting> counting::view(const stored_shape& shape, std::span<const std::byte> payload) noexcept {
  const auto expected = payload_bytes(shape);
  if (!expected) return fail(expected.error());
  if (*expected != payload.size()) return fail(errc::truncated, {}, {payload.size(), *expected});
  counting filter;
  filter.set_geometry(shape);
  filter.store_ = bit_store::view(payload);
  return filter;
}

BLOOMERY_BODY fact_list counting::facts() const noexcept {
  return {layout_fact(is_spread() ? "spread" : "line"),
          {.name = is_spread() ? "counters" : "lines",
           .label = is_spread() ? "counters" : "lines",
           .value = size_,
           .help = is_spread() ? "counters of the array" : "cache lines of the array, of 128 counters each"},
          {.name = "counter_bits",
           .label = "counter bits",
           .value = kernels::counter_bits,
           .unit = fact_unit::bits,
           .help = "bits of a counter"},
          hashes_fact(hashes_)};
}

BLOOMERY_BODY fact_list counting::facts_now() const noexcept {
  return {
      {.name = "saturated",
       .label = "saturated",
       .value = saturated(),
       .unit = fact_unit::counters,
       .help = "counters that reached their most and stay there",
       .topic = fact_topic::fill,
       .join = fact_join::sum,
       .phrase = {.after = ", which stay as they are: keys that have only such cannot be removed", .zero = "none"}}};
}

BLOOMERY_BODY explanation counting::explain(std::uint64_t digest) const noexcept {
  explanation out(digest);
  const auto value = [this](std::uint64_t counter) { return kernels::counter_at(store_.data(), counter); };
  const auto add_all = [&](auto probe) {
    for (unsigned i = 0; i < hashes_; ++i) {
      const std::uint64_t counter = probe.next();
      out.add({.position = counter,
               .byte_offset = counter * kernels::counter_bits / 8,
               .read = value(counter),
               .unit = probe_unit::counter,
               .matches = value(counter) != 0});
    }
  };
  if (is_spread()) {
    out.begin({.rule = probe_rule::all});
    add_all(kernels::spread_probes(digest, size_));
    out.draw(0, size_, value);
  } else {
    const std::uint64_t line = kernels::split64::block(digest, size_);
    const std::uint64_t first = line * kernels::counters_a_line;
    out.begin({.place = "line", .place_index = line});
    add_all(kernels::line_probes(digest, size_));
    out.draw(first, kernels::counters_a_line, [&](std::uint64_t i) { return value(first + i); });
  }
  out.end();
  return out;
}

}  // namespace bloomery::inline BLOOMERY_ABI

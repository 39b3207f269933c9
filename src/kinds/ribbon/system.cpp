#include <bloomery/kinds/ribbon/system.hpp>

namespace bloomery::inline BLOOMERY_ABI::detail {

BLOOMERY_BODY kernels::ribbon_view ribbon_view_of(const ribbon_geometry& geometry, const std::uint64_t* words,
                                                  std::uint64_t salt) noexcept {
  kernels::ribbon_view view{};
  view.size_bytes = geometry.payload_bytes();
  view.count = geometry.layers();
  view.columns = geometry.rate.columns;
  view.wanted = {kernels::ribbon_bits_of(geometry.rate.columns), kernels::ribbon_bits_of(geometry.widest())};
  for (unsigned i = 0; i < view.count; ++i) {
    view.layers[i] = {.words = words + geometry.word_of(i),
                      .thresholds = reinterpret_cast<const std::byte*>(words + geometry.threshold_word_of(i)),
                      .multiplier = kernels::ribbon_multiplier(i, salt + (i + 1 == view.count ? geometry.seed : 0)),
                      .starts = geometry.starts(i),
                      .first_wide = geometry.first_wide(i)};
  }
  return view;
}

BLOOMERY_BODY result<void> check_ribbon_blocks(const ribbon_geometry& geometry) noexcept {
  for (unsigned i = 0; i < ribbon_geometry::most_layers; ++i) {
    const std::uint64_t blocks = geometry.blocks[i];
    const bool behind_none = i != 0 && geometry.blocks[i - 1] == 0;
    if (blocks == 1 || blocks > ribbon_geometry::most_blocks || (behind_none && blocks != 0)) {
      return fail(errc::bad_field, "blocks", {blocks});
    }
  }
  if (geometry.blocks[0] == 0 && geometry.seed != 0) return fail(errc::bad_field, "seed", {geometry.seed});
  if (geometry.payload_words() > max_filter_bits / 64) return fail(errc::bad_field, "blocks", {geometry.blocks[0]});
  return {};
}

BLOOMERY_BODY bool ribbon_gaps_are_zero(const ribbon_geometry& geometry, const bit_store& store,
                                        std::uint64_t first_word) noexcept {
  const auto is_zero = [&](std::uint64_t first, std::uint64_t end) {
    while (first < end && store.word(first_word + first) == 0) ++first;
    return first >= end;
  };
  for (unsigned i = 0; i < geometry.layers(); ++i) {
    if (!is_zero(geometry.word_of(i) + geometry.words(i), geometry.word_of(i + 1))) return false;
  }
  return is_zero(geometry.threshold_word_of(geometry.layers()), geometry.payload_words());
}

BLOOMERY_BODY void explain_ribbon(explanation& out, const ribbon_geometry& geometry, const kernels::ribbon_view& view,
                                  std::uint64_t digest, const explained_part& system) noexcept {
  if (view.count == 0) return out.add_note(system, "no keys are in it", false);
  std::uint64_t hash = digest;
  for (unsigned i = 0; i < view.count; ++i) {
    const kernels::ribbon_layer& layer = view.layers[i];
    hash = kernels::ribbon_hash(hash, layer.multiplier);
    const std::uint64_t start = layer.start_of(hash);
    const bool bumped = layer.is_bumped(start);
    explained_part part = system;
    part.index = i;
    out.begin({.part = part, .place = "block", .place_index = start / kernels::ribbon_width});
    out.add({.position = start / kernels::ribbon_bucket_starts,
             .byte_offset =
                 system.first_byte + geometry.threshold_word_of(i) * 8 + kernels::ribbon_layer::threshold_byte(start),
             .read = layer.threshold_of(start),
             .expected = start % kernels::ribbon_bucket_starts,
             .unit = probe_unit::threshold,
             .has_expected = true,
             .matches = !bumped});
    const kernels::ribbon_row row = kernels::ribbon_row_of(hash);
    const kernels::ribbon_place at = view.place(layer, start, row.coefficients);
    const std::uint64_t* words = layer.words + at.word;
    for (unsigned j = 0; !bumped && j < at.columns; ++j) {
      const std::uint64_t read =
          kernels::ribbon_parity(little_endian(words[j]), little_endian(words[at.columns + j]), at.here, at.next);
      const std::uint64_t expected = row.fingerprint >> kernels::ribbon_bit_of(j) & 1U;
      out.add({.position = at.word + j,
               .byte_offset = system.first_byte + (geometry.word_of(i) + at.word + j) * 8,
               .read = read,
               .expected = expected,
               .unit = probe_unit::column,
               .has_expected = true,
               .matches = read == expected});
    }
    out.end();
    if (!bumped) return;
  }
}

}  // namespace bloomery::inline BLOOMERY_ABI::detail

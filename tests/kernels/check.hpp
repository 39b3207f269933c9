// tests/kernels/check.hpp: whether an instruction set gives the bits and answers of the scalar code. Needs the library
// only, so that programs for other processors can use it too. Each function returns what differs first, or nothing.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/hash/key_digests.hpp>
#include <bloomery/kernels/blocked/dispatch.hpp>
#include <bloomery/kernels/cuckoo/dispatch.hpp>
#include <bloomery/kernels/fuse/dispatch.hpp>
#include <bloomery/kernels/gf2/dispatch.hpp>
#include <bloomery/kernels/ribbon/dispatch.hpp>
#include <bloomery/kernels/split_digests.hpp>
#include <bloomery/kernels/window/dispatch.hpp>
#include <random>
#include <string>
#include <vector>

namespace kernels_check {

using namespace bloomery;
using namespace bloomery::kernels;

inline std::vector<std::uint64_t> random_digests(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<std::uint64_t> digests(count);
  for (auto& digest : digests) digest = generator();
  return digests;
}

// Each key has memory of its own, so that a sanitizer sees a read past it.
inline std::vector<std::string> keys_of_length(std::size_t shortest, std::size_t longest, std::size_t count) {
  std::mt19937_64 generator(shortest * 1000 + longest);
  std::vector<std::string> keys(count);
  for (auto& key : keys) {
    key.resize(shortest + generator() % (longest - shortest + 1));
    for (char& c : key) c = static_cast<char>(generator());
  }
  return keys;
}

// What a filter of the first `inserted` keys of a source holds and answers to all of them, in batches.
template <class Layout>
struct batch_answers {
  std::vector<std::uint64_t> words;
  std::vector<std::uint64_t> mask;
  std::uint64_t changed = 0;

  batch_answers(const digest_feed& next, std::size_t inserted, std::size_t asked, std::uint64_t blocks, unsigned hashes,
                isa level)
      : words(blocks * Layout::words), mask((asked + 63) / 64, ~std::uint64_t{0}) {
    const blocked_view view{words.data(), blocks, hashes};
    const auto& kernels = blocked_batch_kernels<Layout>::for_isa(level);
    changed = kernels.add_batch(words.data(), view, inserted, next);
    kernels.contains_batch(view, asked, next, mask.data());
  }
  bool operator==(const batch_answers&) const = default;
};

inline std::string description(std::string_view what, isa level, unsigned lane_bits, unsigned hashes) {
  return std::string(what) + " of " + std::string(isa_name(level)) + " differ: lanes of " + std::to_string(lane_bits) +
         " bits, k " + std::to_string(hashes);
}

template <class Layout>
std::string batch_difference(isa level, unsigned hashes) {
  for (const std::uint64_t blocks : {1ULL, 3ULL, 1000ULL}) {
    for (const std::size_t count : {0U, 1U, 3U, 4U, 63U, 64U, 65U, 127U, 128U, 1000U}) {
      const auto digests = random_digests(count + 70, 1);
      const digest_feed next(digests.data());
      const batch_answers<Layout> expected(next, count, digests.size(), blocks, hashes, isa::scalar);
      const batch_answers<Layout> found(next, count, digests.size(), blocks, hashes, level);
      if (!(found == expected)) {
        return description("batches", level, Layout::lane_bits, hashes) + ", " + std::to_string(count) + " keys in " +
               std::to_string(blocks) + " blocks";
      }
    }
  }
  return {};
}

template <class Layout>
std::string single_difference(isa level, unsigned hashes) {
  const auto contains = blocked_kernels<Layout>::for_isa(level).contains;
  const auto insert = blocked_kernels<Layout>::for_isa(level).insert;
  const auto add = blocked_kernels<Layout>::for_isa(level).add;
  const typename Layout::hash_count hash_count(hashes);
  std::vector<std::uint64_t> expected(100 * Layout::words);
  std::vector<std::uint64_t> found(100 * Layout::words);
  const blocked_view expected_view{expected.data(), 100, hashes};
  const blocked_view found_view{found.data(), 100, hashes};
  bool same = true;
  for (const std::uint64_t digest : random_digests(1000, hashes)) {
    const bool changed = insert(found.data(), found_view.blocks, hash_count, digest);
    same &= changed == blocked_insert<Layout>(expected.data(), expected_view, digest);
  }
  for (const std::uint64_t digest : random_digests(100, hashes + 50)) {
    add(found.data(), found_view.blocks, hash_count, digest);
    blocked_insert<Layout>(expected.data(), expected_view, digest);
  }
  same &= found == expected;
  for (const std::uint64_t digest : random_digests(1000, hashes + 100)) {
    same &= contains(found.data(), found_view.blocks, hash_count, digest) ==
            blocked_contains<Layout>(expected_view, digest);
  }
  return same ? std::string() : description("single keys", level, Layout::lane_bits, hashes);
}

// Keys that the loops hash themselves, if the set can; the expected digests are made one by one.
template <class H, class Key>
std::string hashing_difference(isa level, const std::vector<Key>& keys) {
  const H hash{0x123456789abcdef0ULL};
  std::vector<std::uint64_t> digests;
  for (const Key& key : keys) digests.push_back(digest_of(hash, key));
  const key_digests<H, Key> source{hash, keys};
  const digest_feed next(source);
  const digest_feed given(digests.data());
  const batch_answers<split64> expected(given, keys.size() / 2, keys.size(), 50, 7, isa::scalar);
  const batch_answers<split64> found(next, keys.size() / 2, keys.size(), 50, 7, level);
  return found == expected ? std::string() : description("batches with hashing", level, 64, 7);
}

// Digests in two lists, by limits that are among them, below all and above all; each list has room for all and no more.
inline std::string split_difference(isa level, const digest_feed& next, const std::vector<std::uint64_t>& digests) {
  for (const std::size_t count : {0U, 1U, 3U, 4U, 5U, 63U, 64U}) {
    for (const std::uint64_t limit : {digests[2], digests[0] - 1, std::uint64_t{0}, ~std::uint64_t{0}}) {
      std::array<std::vector<std::uint64_t>, 2> expected;
      for (std::size_t i = 7; i < 7 + count; ++i) expected[digests[i] > limit ? 1 : 0].push_back(digests[i]);
      std::array<std::vector<std::uint64_t>, 2> found{std::vector<std::uint64_t>(count),
                                                      std::vector<std::uint64_t>(count)};
      digest_lists ends{found[0].data(), found[1].data()};
      split_kernels::for_isa(level).split(next, 7, count, limit, ends);
      found[0].resize(static_cast<std::size_t>(ends.low - found[0].data()));
      found[1].resize(static_cast<std::size_t>(ends.high - found[1].data()));
      if (found != expected) return description("lists of digests", level, 64, 0) + ", " + std::to_string(count);
    }
  }
  return {};
}
inline std::string split_difference(isa level) {
  const auto keys = random_digests(80, 3);
  std::string difference = split_difference(level, digest_feed(keys.data()), keys);
  const aes2 hash{5};
  std::vector<std::uint64_t> digests;
  for (const std::uint64_t key : keys) digests.push_back(digest_of(hash, key));
  const key_digests<aes2, std::uint64_t> source{hash, keys};
  if (difference.empty()) difference = split_difference(level, digest_feed(source), digests);
  return difference;
}

inline constexpr std::array<std::pair<std::size_t, std::size_t>, 11> length_ranges = {
    {{0, 3}, {4, 8}, {9, 15}, {16, 16}, {9, 16}, {17, 32}, {33, 64}, {65, 96}, {97, 128}, {33, 128}, {0, 300}}};

// The lines of the window filter through many generations, with keys that come again.
inline std::string window_difference(isa level, unsigned hashes, unsigned slots) {
  constexpr std::uint64_t lines = 50;
  std::vector<std::byte> scalar(lines * slots * window_line_bytes);
  std::vector<std::byte> found(scalar.size());
  std::mt19937_64 random(hashes);
  const std::uint32_t modulus = 60 * slots;
  std::uint32_t generation = window_lanes;
  const auto& one = window_kernels::for_isa(isa::scalar);
  const auto& other = window_kernels::for_isa(level);
  bool same = true;
  for (int round = 0; same && round < 100; ++round) {
    generation = (generation + static_cast<std::uint32_t>(random() % 4)) % modulus;
    const window_view scalar_view{scalar.data(), lines, hashes, slots, generation, modulus};
    const window_view found_view{found.data(), lines, hashes, slots, generation, modulus};
    std::vector<std::uint64_t> digests(random() % 130);
    for (auto& digest : digests) digest = random() % 4 == 0 ? mix64(random() % 500) : random();
    const std::uint64_t room = 1 + random() % 130;
    const auto expected = one.insert(scalar.data(), scalar_view, digests.data(), digests.size(), room);
    const auto inserted = other.insert(found.data(), found_view, digests.data(), digests.size(), room);
    same = inserted.taken == expected.taken && inserted.inserted == expected.inserted &&
           inserted.counted == expected.counted && scalar == found;
    for (auto& digest : digests) digest = random() % 2 == 0 ? mix64(random() % 500) : digest;
    std::vector<std::uint64_t> expected_mask((digests.size() + 63) / 64);
    std::vector<std::uint64_t> mask(expected_mask.size(), ~std::uint64_t{0});
    const digest_feed given(digests.data());
    one.contains_batch(scalar_view, digests.size(), given, expected_mask.data());
    other.contains_batch(found_view, digests.size(), given, mask.data());
    same &= mask == expected_mask;
    for (std::size_t i = 0; i < digests.size(); ++i) {
      same &= other.contains(found_view, digests[i]) == ((expected_mask[i / 64] >> (i % 64) & 1U) != 0);
    }
  }
  return same ? std::string() : description("lines of the window filter", level, 32, hashes);
}

// Slots of fingerprints that are half full, asked with keys that are there and others.
template <cuckoo_form Form, bool Whole>
std::string cuckoo_difference(isa level, unsigned slot_bits, unsigned slots) {
  const cuckoo_geometry geometry{.buckets = 150, .slot_bits = slot_bits, .slots = slots, .form = Form};
  std::vector<std::byte> bytes(geometry.payload_bytes());
  const cuckoo_editor<std::uint64_t, Form, Whole> table(bytes.data(), geometry);
  auto digests = random_digests(geometry.total_slots() / 2, slot_bits);
  for (const std::uint64_t digest : digests) cuckoo_insert(table, table.key(digest), cuckoo_copies::drop);
  for (const std::uint64_t digest : random_digests(333, slots)) digests.push_back(digest);
  std::vector<std::uint64_t> expected((digests.size() + 63) / 64);
  std::vector<std::uint64_t> mask(expected.size(), ~std::uint64_t{0});
  const digest_feed given(digests.data());
  const cuckoo_table<std::uint64_t, Form, Whole>& asked = table;
  using kernels = cuckoo_kernels<std::uint64_t, Form, Whole>;
  kernels::for_isa(isa::scalar).contains_batch(asked, digests.size(), given, expected.data());
  kernels::for_isa(level).contains_batch(asked, digests.size(), given, mask.data());
  return mask == expected ? std::string() : description("slots of the cuckoo filter", level, slot_bits, slots);
}

// Columns and thresholds as they come: what is asked is one of two layers. With few columns half of the answers are yes, with
// many nearly none, so words are 0 for every other filter.
inline std::string ribbon_difference(isa level, unsigned columns, bool wide) {
  constexpr std::uint64_t blocks = 20;
  for (const bool zeros : {false, true}) {
    std::vector<std::uint64_t> words(2 * blocks * (columns + 1) + ribbon_overflow_words);
    if (!zeros) words = random_digests(words.size(), columns);
    std::vector<std::byte> thresholds(2 * blocks * ribbon_width / 1024 + 1);
    thresholds[0] = std::byte{0x9c};
    const std::uint64_t first_wide = wide ? 7 : blocks;
    ribbon_view view{.size_bytes = std::uint64_t{1} << 30U, .count = 2, .columns = columns};
    view.wanted = {ribbon_bits_of(columns), ribbon_bits_of(columns + (wide ? 1U : 0U))};
    for (unsigned i = 0; i < 2; ++i) {
      view.layers[i] = {.words = words.data() + i * blocks * (columns + 1),
                        .thresholds = thresholds.data() + i,
                        .multiplier = ribbon_multiplier(i, 0),
                        .starts = (blocks - 1) * ribbon_width,
                        .first_wide = first_wide};
    }
    const auto digests = random_digests(1000, 3);
    std::vector<std::uint64_t> expected((digests.size() + 63) / 64);
    std::vector<std::uint64_t> mask(expected.size(), ~std::uint64_t{0});
    const digest_feed given(digests.data());
    const unsigned widest = columns + (wide ? 1U : 0U);
    const auto& scalar = ribbon_kernels::for_isa(isa::scalar, widest);
    const auto& other = ribbon_kernels::for_isa(level, widest);
    scalar.contains_batch(view, digests.size(), given, expected.data());
    other.contains_batch(view, digests.size(), given, mask.data());
    bool same = mask == expected;
    for (std::size_t i = 0; i < digests.size(); ++i) {
      const bool answer = (expected[i / 64] >> (i % 64) & 1U) != 0;
      same &= scalar.contains(view, digests[i]) == answer && other.contains(view, digests[i]) == answer;
    }
    // Equations that are as random, and some slots without one.
    auto coefficients = random_digests(blocks * ribbon_width, columns + 1);
    std::vector<std::uint32_t> fingerprints(coefficients.size());
    for (std::size_t i = 0; i < coefficients.size(); ++i) {
      fingerprints[i] = static_cast<std::uint32_t>(coefficients[i] >> 20U);
      coefficients[i] = i % 16 == 0 ? 0 : coefficients[i] | 1U;
    }
    std::vector<std::uint64_t> solved(blocks * (columns + 1));
    std::vector<std::uint64_t> found(solved.size());
    scalar.solve(coefficients.data(), fingerprints.data(), blocks, columns, first_wide, solved.data());
    other.solve(coefficients.data(), fingerprints.data(), blocks, columns, first_wide, found.data());
    if (!same || found != solved) return description("columns of the ribbon filter", level, columns, wide ? 1 : 0);
  }
  return {};
}

// Cells of any bytes, asked with batches of several sizes. A cell of few bits makes keys that are there.
template <class Cell, unsigned Wise>
std::string fuse_difference(isa level, unsigned segment_bits, unsigned shard_bits) {
  const fuse_geometry geometry{.seed = 0x123456789abcdef0ULL * segment_bits,
                               .segments = 7,
                               .segment_bits = segment_bits,
                               .shard_bits = shard_bits,
                               .wise = Wise,
                               .cell_bits = 8 * sizeof(Cell)};
  std::vector<std::byte> bytes(geometry.payload_bytes());
  const auto values = random_digests(bytes.size() / 8, segment_bits);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  const fuse_table<Cell, Wise> table(bytes.data(), fuse_places(geometry), false);
  bool same = true;
  for (const std::size_t count : {1U, 63U, 64U, 65U, 1000U}) {
    const auto digests = random_digests(count, shard_bits);
    std::vector<std::uint64_t> mask((count + 63) / 64, ~std::uint64_t{0});
    const digest_feed given(digests.data());
    fuse_kernels<Cell, Wise>::for_isa(level).contains_batch(table, count, given, mask.data());
    for (std::size_t i = 0; i < count; ++i) {
      same &= table.contains(digests[i]) == ((mask[i / 64] >> (i % 64) & 1U) != 0);
    }
  }
  // Which cells they are, for widths at which hardly any key is there.
  fuse_group<Wise> expected;
  fuse_group<Wise> found;
  const auto digests = random_digests(fuse_group<Wise>::size, segment_bits);
  fuse_kernels<Cell, Wise>::for_isa(isa::scalar).find(table.places, digests.data(), expected);
  fuse_kernels<Cell, Wise>::for_isa(level).find(table.places, digests.data(), found);
  same &= expected.at == found.at && expected.y == found.y;
  return same ? std::string() : description("cells of the fuse filter", level, 8 * sizeof(Cell), Wise);
}

// All of it.
// Systems of so many columns, some of which have no solution, against elimination bit by bit.
inline std::string gf2_difference(isa level, unsigned words, unsigned count, std::uint64_t seed) {
  using table = std::vector<std::vector<bool>>;
  const unsigned columns = 64 * words - 20;
  alignas(64) std::array<std::uint64_t, std::size_t{gf2_stride} * gf2_most_words> rows{};
  alignas(64) std::array<std::uint64_t, gf2_stride> sums{};
  alignas(64) std::array<std::uint64_t, gf2_stride> combined{};
  std::array<std::uint16_t, gf2_stride> pivots{};
  const auto random = random_digests(std::size_t{count} * words + 40, seed);
  table bits(count, std::vector<bool>(64 * words));
  for (unsigned i = 0; i < count; ++i) {
    // Sparse, as the rows of keys are; row 7 is the sum of two others where there are many rows.
    for (unsigned w = 0; w < words; ++w) rows[w * gf2_stride + i] = random[i * words + w] & random[(i * words + w) / 2];
    for (unsigned w = 0; w < words && i == 7 && seed % 4 == 0; ++w) {
      rows[w * gf2_stride + 7] = rows[w * gf2_stride + 3] ^ rows[w * gf2_stride + 5];
    }
    for (unsigned b = 0; b < 64 * words; ++b) bits[i][b] = (rows[b / 64 * gf2_stride + i] >> (b % 64) & 1U) != 0;
  }
  bool expected = true;
  std::vector<unsigned> expected_pivots;
  for (unsigned i = 0; i < count && expected; ++i) {
    const auto first = static_cast<unsigned>(std::find(bits[i].begin(), bits[i].end(), true) - bits[i].begin());
    expected = first < columns;
    expected_pivots.push_back(first);
    for (unsigned j = 0; j < count && expected; ++j) {
      for (unsigned b = 0; b < 64 * words && j != i && bits[j][first]; ++b) {
        if (b != first) bits[j][b] = bits[j][b] != bits[i][b];
      }
      if (j != i) bits[j][first] = false;
    }
  }
  const auto& kernels = gf2_kernels::for_isa(level);
  const std::string name = std::string(isa_name(level)) + ": " + std::to_string(count) + " equations of " +
                           std::to_string(words) + " words, seed " + std::to_string(seed);
  if (kernels.reduce[words - 1](rows.data(), count, columns, pivots.data()) != expected) return name + ": solved";
  if (!expected) return {};
  std::array<std::uint16_t, 30> some{};
  for (unsigned j = 0; j < some.size(); ++j) some[j] = static_cast<std::uint16_t>((j * 37 + 5) % (64 * words));
  kernels.gather(rows.data(), count, some.data(), some.size(), sums.data());
  kernels.combine(sums.data(), count, random.data(), 20, combined.data());
  for (unsigned i = 0; i < count; ++i) {
    if (pivots[i] != expected_pivots[i]) return name + ": pivot " + std::to_string(i);
    std::uint64_t sum = 0;
    for (unsigned j = 0; j < some.size(); ++j) sum |= std::uint64_t{bits[i][some[j]] ? 1U : 0U} << j;
    if (sums[i] != sum) return name + ": columns of row " + std::to_string(i);
    std::uint64_t value = sum >> 20U;
    for (unsigned j = 0; j < 20; ++j) value ^= (sum >> j & 1U) != 0 ? random[j] : 0;
    if (combined[i] != value) return name + ": value of row " + std::to_string(i);
  }
  return {};
}

inline std::string kernel_difference(isa level) {
  std::string difference = batch_difference<split32>(level, 8);
  if (difference.empty()) difference = single_difference<split32>(level, 8);
  for (unsigned hashes = 1; hashes <= 16 && difference.empty(); ++hashes) {
    difference = batch_difference<split64>(level, hashes);
    if (difference.empty()) difference = single_difference<split64>(level, hashes);
  }
  for (unsigned hashes = 3; hashes <= 12 && difference.empty(); ++hashes) {
    difference = window_difference(level, hashes, 4);
    if (difference.empty() && hashes <= 10) difference = window_difference(level, hashes, 1);
  }
  for (unsigned bits = 4; bits <= 28 && difference.empty(); ++bits) {
    difference = cuckoo_difference<cuckoo_form::window, false>(level, bits, 2);
    if (difference.empty()) difference = cuckoo_difference<cuckoo_form::slots, false>(level, bits, 2);
    if (difference.empty() && bits % 2 == 0 && bits <= 16) {
      difference = cuckoo_difference<cuckoo_form::slots, true>(level, bits, 4);
    }
  }
  if (difference.empty()) difference = split_difference(level);
  for (unsigned columns = 1; columns <= 32 && difference.empty(); ++columns) {
    difference = ribbon_difference(level, columns, false);
    if (difference.empty() && columns < 32) difference = ribbon_difference(level, columns, true);
  }
  for (unsigned bits = 2; bits <= 20 && difference.empty(); bits += 3) {
    difference = fuse_difference<std::uint8_t, 3>(level, bits, bits % 4);
    if (difference.empty()) difference = fuse_difference<std::uint16_t, 4>(level, bits, 0);
    if (difference.empty() && bits <= 11) difference = fuse_difference<std::uint32_t, 3>(level, bits, 10);
  }
  for (unsigned count = 1; count <= 240 && difference.empty(); count += 1 + count / 4) {
    const unsigned words = (count + 20 + 63) / 64;
    for (unsigned more = words; more <= gf2_most_words && difference.empty(); ++more) {
      difference = gf2_difference(level, more, count, count + more);
    }
  }
  if (difference.empty()) difference = hashing_difference<xxh3>(level, random_digests(411, 7));
  if (difference.empty()) difference = hashing_difference<mum2>(level, random_digests(411, 7));
  for (const auto& [shortest, longest] : length_ranges) {
    const auto keys = keys_of_length(shortest, longest, 411);
    if (difference.empty()) difference = hashing_difference<xxh3>(level, keys);
    if (difference.empty()) difference = hashing_difference<mum2>(level, keys);
  }
  return difference;
}

}  // namespace kernels_check

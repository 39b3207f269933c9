// What a look-up reads and decides, of every kind: the same answer as the look-up's, from bytes that are really there.
#include <bloomery/kinds.hpp>

#include "suites/model.hpp"
#include "support/explained.hpp"

namespace bloomery::test {
namespace {

class Explained : public KindTest {};
BLOOMERY_FOR_KINDS(Explained, kind_table());

class ExplainedDynamic : public KindTest {};
BLOOMERY_FOR_KINDS(ExplainedDynamic, kinds_where(&kind_case::is_dynamic));

class ExplainedMapped : public KindTest {};
BLOOMERY_FOR_KINDS(ExplainedMapped, kinds_where(&kind_case::maps));

class ExplainedLosing : public KindTest {};
BLOOMERY_FOR_KINDS(ExplainedLosing, kinds_where(&kind_case::may_lose));

class ExplainedExcluding : public KindTest {};
BLOOMERY_FOR_KINDS(ExplainedExcluding, kinds_where(&kind_case::excludes));

void expect_explained(const any_filter& filter, const key_list& keys) {
  const std::vector<bool> answers = find_keys(filter, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto why = explain_key(filter, keys[i]);
    ASSERT_TRUE(why) << describe(why.error()).c_str();
    ASSERT_EQ(why->digest()[0], keys[i]);
    ASSERT_EQ(why->digest().size() * 64, filter.digest_bits());
    ASSERT_NO_FATAL_FAILURE(expect_sound(*why, answers[i])) << i;
  }
}

key_list some_keys(const kind_case& kind, std::uint64_t seed, std::size_t count) {
  digest_source source(seed);
  key_list keys = source.take(count);
  if (kind.info->integer_keys) {
    for (auto& key : keys) key %= 100'000;
  }
  return keys;
}

any_filter filter_of(const kind_case& kind, const key_list& keys, double fpr = 0.01) {
  if (kind.is_static) return build_filter(kind, keys, fpr);
  any_filter filter = make_filter(kind, keys.size(), fpr);
  insert_all(filter, keys);
  return filter;
}

TEST_P(Explained, VerdictsAreTheAnswersOfLookUps) {
  for (const double fpr : {0.3, 0.01, 1e-5}) {
    const key_list present = some_keys(GetParam(), 1, 3000);
    const any_filter filter = filter_of(GetParam(), present, fpr);
    expect_explained(filter, present);
    expect_explained(filter, some_keys(GetParam(), 2, 3000));
  }
}

TEST_P(Explained, AFilterOfOneKeyOrNoneIsExplained) {
  for (const std::size_t count : {0U, 1U}) {
    const key_list present = some_keys(GetParam(), 3, count);
    any_filter filter = GetParam().is_static ? build_filter(GetParam(), present) : make_filter(GetParam(), 10);
    if (!GetParam().is_static) insert_all(filter, present);
    expect_explained(filter, present);
    expect_explained(filter, some_keys(GetParam(), 4, 500));
  }
}

TEST_P(ExplainedDynamic, EveryLayoutAndModeIsExplained) {
  random_numbers random(7);
  for (int round = 0; round < 40; ++round) {
    filter_choice choice;
    any_filter filter = make_some(GetParam(), random, choice);
    std::ostringstream text;
    text << choice;
    SCOPED_TRACE(text.str());
    const key_list present = some_keys(GetParam(), 100 + static_cast<std::uint64_t>(round), 1 + random.below(600));
    static_cast<void>(insert_keys(filter, present));  // a full one stops
    ASSERT_NO_FATAL_FAILURE(expect_explained(filter, present));
    ASSERT_NO_FATAL_FAILURE(expect_explained(filter, some_keys(GetParam(), 5, 300)));
  }
}

TEST_P(ExplainedLosing, RemovedAndReturnedKeysAreExplained) {
  key_list keys = some_keys(GetParam(), 8, 3000);
  any_filter filter = filter_of(GetParam(), keys);
  erase_all(filter, std::span(keys).first(2000));
  insert_all(filter, std::span(keys).first(20));
  expect_explained(filter, keys);
  expect_explained(filter, some_keys(GetParam(), 9, 2000));
}

TEST_P(ExplainedExcluding, BothListsAreExplainedWhicheverIsHeld) {
  for (const auto& [included, excluded] : {std::pair(100, 5000), std::pair(5000, 100), std::pair(0, 100)}) {
    key_list yes = some_keys(GetParam(), 10, static_cast<std::size_t>(included));
    key_list no = some_keys(GetParam(), 11, static_cast<std::size_t>(excluded));
    key_list first = yes;
    key_list second = no;
    const auto filter = any_filter::build_digests(GetParam().info->name, {}, hash_of(GetParam()), first, second, 1);
    ASSERT_TRUE(filter) << describe(filter.error()).c_str();
    expect_explained(*filter, yes);
    expect_explained(*filter, no);
    expect_explained(*filter, some_keys(GetParam(), 12, 500));
  }
}

// ---- positions ----

// The payload in a file that is not packed.
std::span<const std::byte> payload_in(const bytes& file) {
  const auto header = read_header_bytes(file);
  EXPECT_TRUE(header);
  return std::span<const std::byte>(file).subspan(header->payload_offset(), header->stored_bytes);
}
bytes with_flipped_bit(bytes file, std::uint64_t at, unsigned bit) {
  const auto header = read_header_bytes(file);
  file[header->payload_offset() + at] ^= std::byte{1} << bit;
  const std::uint64_t chunk = at / chunk_bytes;
  store_le(&file[header->checksums_offset() + chunk * checksum_bytes],
           chunk_checksum(chunk, chunk_at(payload_in(file), chunk)));
  return file;
}

TEST_P(Explained, BitsAndCountersAreThoseOfTheFile) {
  const key_list present = some_keys(GetParam(), 13, 400);
  const any_filter filter = filter_of(GetParam(), present);
  const bytes file = saved_bytes(filter);
  const auto payload = payload_in(file);
  key_list keys = present;
  for (const std::uint64_t key : some_keys(GetParam(), 14, 400)) keys.push_back(key);
  for (const std::uint64_t key : keys) {
    const auto why = explain_key(filter, key);
    ASSERT_TRUE(why);
    for (const lookup_probe& probe : why->probes()) {
      if (probe.byte_offset == lookup_probe::no_offset) continue;
      ASSERT_LT(probe.byte_offset, payload.size());
      const auto byte = std::to_integer<unsigned>(payload[probe.byte_offset]);
      if (probe.unit == probe_unit::bit) {
        ASSERT_EQ(byte >> (probe.position % 8) & 1U, probe.read);
      } else if (probe.unit == probe_unit::counter) {
        ASSERT_EQ(byte >> (probe.position % 2 * 4) & 15U, probe.read);
      }
    }
  }
}

// What a probe of a key reads in the filter of this file; nothing when the file is refused.
std::optional<std::uint64_t> read_at(const bytes& file, std::uint64_t key, std::size_t probe, std::size_t probes) {
  const auto filter = any_filter::load_bytes(file);
  if (!filter) return {};
  const auto why = explain_key(*filter, key);
  if (!why || why->probes().size() != probes) return {};
  return why->probes()[probe].read;
}

TEST_P(Explained, WhatAProbeReadsStandsAtItsOffset) {
  const key_list present = some_keys(GetParam(), 15, 150);
  const any_filter filter = filter_of(GetParam(), present);
  const bytes file = saved_bytes(filter);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto why = explain_key(filter, present[i]);
    ASSERT_TRUE(why);
    const auto probes = why->probes();
    for (std::size_t n = 0; n < probes.size(); ++n) {
      if (probes[n].byte_offset == lookup_probe::no_offset) continue;
      bool changed = false;
      // A word at most: one of its bits is part of what was read.
      for (unsigned bit = 0; bit < 64 && !changed; ++bit) {
        const std::uint64_t at = probes[n].byte_offset + bit / 8;
        if (at >= payload_in(file).size()) break;
        const auto now = read_at(with_flipped_bit(file, at, bit % 8), present[i], n, probes.size());
        changed = now && *now != probes[n].read;
      }
      // A file with a slot in use after an empty one is refused, and what is left over is read as 0.
      const bool stays_zero = probes[n].read == 0 && (GetParam().info->grows || GetParam().expires);
      EXPECT_TRUE(changed || stays_zero) << "key " << i << " probe " << n << ' ' << name_of(probes[n].unit);
    }
  }
}

TEST_P(Explained, ABitThatIsClearedMakesTheKeyAbsent) {
  const key_list present = some_keys(GetParam(), 16, 150);
  const any_filter filter = filter_of(GetParam(), present);
  const bytes file = saved_bytes(filter);
  const auto why = explain_key(filter, present[0]);
  ASSERT_TRUE(why);
  if (why->groups().size() != 1 || why->groups()[0].rule != probe_rule::all) return;
  for (const lookup_probe& probe : why->probes()) {
    if (probe.unit != probe_unit::bit) continue;
    const auto altered =
        any_filter::load_bytes(with_flipped_bit(file, probe.byte_offset, static_cast<unsigned>(probe.position % 8)));
    ASSERT_TRUE(altered) << describe(altered.error()).c_str();
    EXPECT_FALSE(find_keys(*altered, {present.data(), 1})[0]) << probe.position;
  }
}

// ---- through any_filter ----

TEST_P(Explained, KeysAreHashedAsLookUpsHashThem) {
  const any_filter filter = sample(GetParam(), 100);
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto why = filter.explain(i);
    const auto answer = filter.may_contain(i);
    ASSERT_TRUE(why && answer);
    EXPECT_EQ(why->may_contain(), *answer);
    EXPECT_EQ(why->shards(), 0U);
  }
}

TEST_P(ExplainedMapped, AMappedFilterIsExplainedAndADamagedOneIsAnError) {
  folder here;
  const key_list present = some_keys(GetParam(), 17, 200);
  const any_filter filter = filter_of(GetParam(), present);
  ASSERT_TRUE(filter.save((here / "whole").c_str()));
  const auto opened = any_filter::open((here / "whole").c_str());
  ASSERT_TRUE(opened && opened->is_mapped());
  expect_explained(*opened, present);

  bytes file = read_bytes(here / "whole");
  const std::uint64_t offset = read_header_bytes(file)->payload_offset();
  const auto why = explain_key(filter, present[0]);
  ASSERT_TRUE(why);
  file[offset + why->probes()[0].byte_offset] ^= std::byte{1};
  write_bytes(here / "damaged", file);
  const auto damaged = any_filter::open((here / "damaged").c_str());
  ASSERT_TRUE(damaged) << describe(damaged.error()).c_str();
  const auto failed = explain_key(*damaged, present[0]);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::chunk_damaged);
}

TEST(ExplainedKeys, ADigestThatIsTooNarrowIsRefused) {
  const auto filter = any_filter::make("bloom", {.keys = 10, .fpr = 0.01, .takes_digest128 = true}, hasher{});
  ASSERT_TRUE(filter);
  EXPECT_FALSE(filter->explain(prehashed{1}));
  const auto why = filter->explain("dog");
  ASSERT_TRUE(why);
  EXPECT_EQ(why->digest().size(), 2U);
  EXPECT_EQ(why->digest()[0], hasher{}.digest128_of("dog", 3).low);
  EXPECT_EQ(why->digest()[1], hasher{}.digest128_of("dog", 3).high);
}

}  // namespace
}  // namespace bloomery::test

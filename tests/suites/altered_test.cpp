// Files that were altered and whose checksums are right again: every field of the header, and bytes of the payload. Either load
// refuses, or what it returns is a filter like any other: it takes keys and finds them, erases, merges, and can be saved and
// loaded again.
#include <array>

#include "suites/model.hpp"

namespace bloomery::test {
namespace {

struct header_field {
  const char* name;
  std::size_t offset;
  std::size_t bytes;
};
// native/header.hpp has the table; the kind's own numbers follow at 88.
constexpr std::array<header_field, 14> common_fields = {{{"flags", 10, 2},
                                                         {"kind", 12, 4},
                                                         {"hash", 16, 4},
                                                         {"digest bits", 20, 4},
                                                         {"seed", 24, 8},
                                                         {"key id", 32, 8},
                                                         {"capacity", 40, 8},
                                                         {"keys", 48, 8},
                                                         {"fpr", 56, 8},
                                                         {"payload bytes", 64, 8},
                                                         {"stored bytes", 72, 8},
                                                         {"codec", 80, 4},
                                                         {"shard", 152, 4},
                                                         {"shards", 156, 4}}};
std::vector<header_field> all_fields() {
  std::vector<header_field> fields(common_fields.begin(), common_fields.end());
  for (std::size_t i = 0; i < 8; ++i) fields.push_back({"number of the kind", 88 + 8 * i, 8});
  return fields;
}

std::uint64_t value_of(const bytes& from, const header_field& field) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < field.bytes; ++i) {
    value |= std::to_integer<std::uint64_t>(from[field.offset + i]) << (8 * i);
  }
  return value;
}
bytes with_value(bytes from, const header_field& field, std::uint64_t value) {
  for (std::size_t i = 0; i < field.bytes; ++i) from[field.offset + i] = static_cast<std::byte>(value >> (8 * i));
  const std::size_t end =
      load_le<std::uint64_t>(&from[72]) < large_payload_bytes ? small_header_bytes : large_header_bytes;
  if (end <= from.size()) store_le(&from[end - checksum_bytes], xxh3{}(from.data(), end - checksum_bytes));
  return from;
}
// With one byte of the payload changed.
bytes with_payload_byte(bytes from, std::uint64_t at, std::byte value) {
  const auto header = read_header_bytes(from);
  from[header->payload_offset() + at] = value;
  const auto stored = std::span<const std::byte>(from).subspan(header->payload_offset(), header->stored_bytes);
  const std::uint64_t chunk = at / chunk_bytes;
  store_le(&from[header->checksums_offset() + chunk * checksum_bytes], chunk_checksum(chunk, chunk_at(stored, chunk)));
  return from;
}

std::vector<std::uint64_t> values_around(std::uint64_t value, random_numbers& random) {
  std::vector<std::uint64_t> values = {0,     1,         2,         3,         4,         8,         255,      256,
                                       65535, value - 1, value + 1, value + 2, value / 2, value * 2, value * 3};
  for (const unsigned bit : {31U, 32U, 40U, 52U, 56U, 62U, 63U}) values.push_back(std::uint64_t{1} << bit);
  for (const std::uint64_t below : {0U, 1U, 2U, 1000U}) values.push_back(~std::uint64_t{0} - below);
  for (int i = 0; i < 3; ++i) values.push_back(random() >> random.below(64));
  for (int i = 0; i < 3; ++i) values.push_back(value ^ std::uint64_t{1} << random.below(64));
  return values;
}

// A filter in use, with what is in it, each as often as it can be erased.
struct sample_filter {
  any_filter filter;
  key_list held;
};

sample_filter make_sample(const kind_case& kind, std::uint64_t seed) {
  enable_everything();
  random_numbers random(seed);
  digest_source source(seed);
  key_list keys = source.take(40 + random.below(60));
  if (kind.info->integer_keys) {
    for (auto& key : keys) key %= 100'000;
  }
  if (kind.is_static) {
    for (int tries = 0;; ++tries) {
      const filter_choice choice = choose(kind, random);
      key_list digests = keys;
      auto built = any_filter::build_digests(kind.info->name, choice.params(), hasher::of(xxh3{}).spec(), digests, 1);
      if (built) return {std::move(*built), {}};
      if (tries > 100) ADD_FAILURE() << describe(built.error()).c_str();
    }
  }
  filter_choice choice;
  do {
    sample_filter made{make_some(kind, random, choice), {}};
    if (made.filter.stats()->memory_bytes > 40'000) continue;
    const auto taken = [](const result<std::uint64_t>& done, std::size_t count) {
      return done ? count : static_cast<std::size_t>(done.error().number[1]);
    };
    const std::size_t in = taken(insert_keys(made.filter, keys), keys.size());
    made.held.assign(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(in));
    const key_list again(made.held.begin(), made.held.begin() + static_cast<std::ptrdiff_t>(in / 4));
    const std::size_t twice = taken(insert_keys(made.filter, again), again.size());
    key_list counts(again.size());
    const bool counted = made.filter.count(as_prehashed(again), counts) && !again.empty() && counts[0] > 1;
    if (counted) made.held.insert(made.held.end(), again.begin(), again.begin() + static_cast<std::ptrdiff_t>(twice));
    const key_list gone(made.held.end() - static_cast<std::ptrdiff_t>(in / 8), made.held.end());
    if (made.filter.erase(as_prehashed(gone))) made.held.resize(made.held.size() - gone.size());
    return made;
  } while (true);
}

// The keys that a filter must find: all, or the latest of one that forgets.
void expect_found(const any_filter& filter, key_list keys) {
  const auto stats = filter.stats();
  ASSERT_TRUE(stats);
  if (stats->window) {
    if (stats->window->guaranteed_ns != 0) return;
    const auto kept = std::min<std::uint64_t>(keys.size(), stats->window->guaranteed_keys);
    keys.erase(keys.begin(), keys.end() - static_cast<std::ptrdiff_t>(kept));
  }
  std::size_t missing = 0;
  for (const bool found : find_keys(filter, keys)) missing += found ? 0 : 1;
  EXPECT_EQ(missing, 0U) << "of " << keys.size();
}

void expect_saved_and_loaded(any_filter& filter) {
  memory_sink sink;
  const auto saved = filter.save_to(byte_sink(sink));
  ASSERT_TRUE(saved) << describe(saved.error()).c_str();
  auto loaded = any_filter::load_bytes(sink.bytes());
  ASSERT_TRUE(loaded) << describe(loaded.error()).c_str();
  EXPECT_TRUE(*loaded == filter);
  EXPECT_TRUE(same_shape(loaded->shape(), filter.shape()));
  filter = std::move(*loaded);
}

// `held`: what may be erased from it.
void expect_usable(any_filter filter, const key_list& held, std::uint64_t seed) {
  digest_source source(seed);
  key_list fresh;
  for (int round = 0; round < 3 && !testing::Test::HasFailure(); ++round) {
    key_list keys = source.take(30);
    if (filter.info().integer_keys) {
      for (auto& key : keys) key %= 1'000'000;
    }
    for (std::size_t i = 0; i < 5; ++i) {
      const auto why = explain_key(filter, keys[i]);
      EXPECT_TRUE(why && why->may_contain() == find_keys(filter, {&keys[i], 1})[0]);
    }
    const auto done = insert_keys(filter, keys);
    if (!done && !filter.capabilities().is_static) keys.resize(done.error().number[1]);
    if (filter.capabilities().is_static) keys.clear();
    fresh.insert(fresh.end(), keys.begin(), keys.end());
    if (!filter.capabilities().may_lose || filter.stats()->loss->removals == 0) expect_found(filter, fresh);
    expect_saved_and_loaded(filter);
    // First what came later, then, in the second round, all that was there before.
    key_list gone(fresh.end() - static_cast<std::ptrdiff_t>(keys.size() / 3), fresh.end());
    if (round == 1) gone.insert(gone.end(), held.begin(), held.end());
    if (filter.digest_bits() == 64 && filter.erase(as_prehashed(gone))) fresh.resize(fresh.size() - keys.size() / 3);
    if (!filter.capabilities().may_lose) expect_found(filter, fresh);
    expect_saved_and_loaded(filter);
    if (!filter.capabilities().may_lose) expect_found(filter, fresh);
  }
  auto copy = filter.clone();
  ASSERT_TRUE(copy) << describe(copy.error()).c_str();
  if (filter.merge(*copy, merge_fpr::any)) {
    if (!filter.capabilities().may_lose) expect_found(filter, fresh);
    expect_saved_and_loaded(filter);
  }
  if (filter.clear()) {
    expect_saved_and_loaded(filter);
    EXPECT_EQ(filter.shape().keys, 0U);
  }
}

// How many altered files were accepted.
std::uint64_t try_altered(const bytes& altered, const sample_filter& from, std::uint64_t seed) {
  auto loaded = any_filter::load_bytes(altered);
  if (!loaded) return 0;
  // Where no more than numbers changed, its keys are there and may be erased.
  const bool is_same = loaded->info().id == from.filter.info().id &&
                       loaded->digest_bits() == from.filter.digest_bits() &&
                       loaded->model().equals(from.filter.model());
  expect_usable(std::move(*loaded), is_same ? from.held : key_list{}, seed);
  return 1;
}

void alter_header(const kind_case& kind, std::uint64_t seed) {
  random_numbers random(seed);
  const sample_filter from = make_sample(kind, seed);
  const bytes good = saved_bytes(from.filter);
  std::uint64_t accepted = 0;
  for (const header_field& field : all_fields()) {
    const std::uint64_t before = value_of(good, field);
    for (const std::uint64_t value : values_around(before, random)) {
      if (with_value(good, field, value) == good) continue;
      accepted += try_altered(with_value(good, field, value), from, seed + 1);
      if (!testing::Test::HasFailure()) continue;
      ADD_FAILURE() << kind.info->name << " seed " << seed << ": " << field.name << " at " << field.offset << " was "
                    << before << " and is " << value_of(with_value(good, field, value), field);
      return;
    }
  }
  EXPECT_GT(accepted, 0U);  // the seed of the hash may be anything
}

void alter_payload(const kind_case& kind, std::uint64_t seed, unsigned times) {
  random_numbers random(seed);
  const sample_filter from = make_sample(kind, seed);
  const bytes good = saved_bytes(from.filter);
  const auto header = read_header_bytes(good);
  if (header->stored_bytes == 0) return;
  for (unsigned i = 0; i < times; ++i) {
    const std::uint64_t at = random.once_in(2) ? random.below(header->stored_bytes)
                                               : random.below(std::min<std::uint64_t>(header->stored_bytes, 64));
    const auto value = static_cast<std::byte>(random.once_in(3) ? 0 : random());
    static_cast<void>(try_altered(with_payload_byte(good, at, value), from, seed + 1));
    if (!testing::Test::HasFailure()) continue;
    ADD_FAILURE() << kind.info->name << " seed " << seed << ": byte " << at << " of the payload is "
                  << std::to_integer<unsigned>(value);
    return;
  }
}

class AlteredFile : public KindTest {};
TEST_P(AlteredFile, IsRefusedOrIsAFilterLikeAnyOther) {
  for (std::uint64_t seed = 1; seed <= 3 && !HasFailure(); ++seed) {
    alter_header(GetParam(), seed);
    if (!HasFailure()) alter_payload(GetParam(), seed, 40);
  }
}
BLOOMERY_FOR_KINDS(AlteredFile, kind_table());

class NightlyAlteredFile : public KindTest {};
TEST_P(NightlyAlteredFile, IsRefusedOrIsAFilterLikeAnyOther) {
  for (std::uint64_t seed = 1000; seed < 1100 && !HasFailure(); ++seed) {
    alter_header(GetParam(), seed);
    if (!HasFailure()) alter_payload(GetParam(), seed, 400);
  }
}
BLOOMERY_FOR_KINDS(NightlyAlteredFile, kind_table());

}  // namespace
}  // namespace bloomery::test

// leveldb.cpp: one filter of policy leveldb.BuiltinBloomFilter2: LevelDB's own, or one of windows
// (leveldb_windows.hpp). docs/formats/leveldb.md and leveldb-windows.md have the bytes; leveldb_table.cpp has the tables which
// hold many of them.
#include "src/formats/leveldb.hpp"

#include "src/formats/foreign_bloom.hpp"
#include "src/formats/formats.hpp"
#include "src/formats/leveldb_windows.hpp"
#include "src/formats/sizes.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats {
namespace leveldb_filter {

constexpr std::string_view name = "leveldb";
constexpr double default_bits_per_key = 10;  // what LevelDB's documentation advises
constexpr std::uint64_t least_bits = 64;
constexpr std::uint64_t most_keys = 0x7fffffff;  // an int there

// The last byte of the file. It is not the number of hash functions where that number is reserved.
struct carried : nothing_carried {
  unsigned k = 0;

  void add_facts(fact_list& facts) const noexcept {
    if (k <= leveldb::most_hashes) return;
    facts.add({.name = "reserved_k",
               .label = "reserved k",
               .value = k,
               .help = "no number of hash functions: all keys match"});
  }
  [[nodiscard]] result<void> join(const carried& other) const noexcept {
    if (k != other.k) return fail(errc::mismatch, "they have different numbers of hash functions");
    return {};
  }
  [[nodiscard]] result<carried> clone() const noexcept { return *this; }
  friend bool operator==(const carried& a, const carried& b) noexcept { return a.k == b.k; }
};

struct rule {
  static constexpr kind_info info = foreign_kind(7, "Bloom filter of LevelDB, policy leveldb.BuiltinBloomFilter2");
  using digest = std::uint64_t;
  using carried = leveldb_filter::carried;
  class probes {
   public:
    probes(std::uint64_t of, const divisor& bits) noexcept : walk_(leveldb::key_hash_of(of)), bits_(&bits) {}
    std::uint64_t next() noexcept { return bits_->remainder_of(walk_.next()); }

   private:
    bloomery::leveldb::builtin_walk walk_;
    const divisor* bits_;
  };
  static constexpr std::uint64_t byte_of(std::uint64_t bit) noexcept { return low_bits_first(bit); }
  static std::uint64_t sample(std::uint64_t i) noexcept { return leveldb::sample(i); }
};
using filter = foreign_bloom<rule>;

// Any bytes can be one. All that speaks for it is a last byte that is a number of hash functions, or a size that a filter of
// windows can have, after bytes of which not all are as those of plain text, whose last byte is such a number, too.
detection detect(const detection_input& seen) noexcept {
  if (!seen.size_bytes || *seen.size_bytes < 9 || seen.last.empty()) return {};
  const auto k = std::to_integer<unsigned>(seen.last.back());
  const bool windows =
      k > leveldb::most_hashes && seen.last.size() == *seen.size_bytes && leveldb::windows_model::is_one(seen.last);
  const bool text =
      std::none_of(seen.first.begin(), seen.first.end(), [](std::byte b) { return b >= std::byte{0x80}; });
  return {!text && k >= 1 && (windows || k <= leveldb::most_hashes) ? confidence::weak : confidence::no, no_limit};
}

result<any_filter> open(source_bytes source, const format_options& /*options*/) noexcept {
  const auto bytes = source.bytes();
  if (leveldb::ends_a_table(bytes)) return bad_header(name, "it is a whole table, of format leveldb-table");
  if (bytes.size() < 2) {
    // To LevelDB such a filter matches nothing, and so does one of eight bits that are not set.
    return filter::make({8, 1, 1}, carried{{}, 1}, leveldb::hash, source.memory());
  }
  if (leveldb::windows_model::is_one(bytes)) return leveldb::windows_model::open(std::move(source));
  const std::uint64_t size_bytes = bytes.size() - 1;
  const auto k = std::to_integer<unsigned>(bytes.back());
  const bloom_shape shape{size_bytes * 8, k > leveldb::most_hashes ? 0 : k, size_bytes};
  return filter::open(std::move(source), 0, shape, carried{{}, k}, leveldb::hash);
}

result<hash_spec> hash(const format_options& /*options*/) noexcept { return leveldb::hash; }

unsigned hashes_of(std::uint64_t bits_per_key) noexcept {
  return static_cast<unsigned>(std::clamp(static_cast<double>(bits_per_key) * 0.69, 1.0, 30.0));
}
double rate_of(double keys, double bits, unsigned hashes) noexcept {
  return bits < 1.0 ? 1.0 : std::pow(-std::expm1(-keys * hashes / bits), hashes);
}

// The argument of NewBloomFilterPolicy: as requested, or the smallest that reaches an FPR, or the largest that fits.
result<std::uint64_t> bits_per_key_of(const filter_params& params) noexcept {
  const auto keys = static_cast<double>(std::max<std::uint64_t>(1, *params.keys));
  constexpr std::uint64_t most = 4096;
  if (params.fpr) {
    std::uint64_t bits = 1;
    while (bits < most && rate_of(1.0, static_cast<double>(bits), hashes_of(bits)) > *params.fpr) ++bits;
    return bits;
  }
  double bits = params.bits_per_key.value_or(default_bits_per_key);
  if (params.bits_per_key && bits != std::floor(bits)) {
    return fail(errc::unsupported, "LevelDB takes a whole number of bits per key: leave the fraction out");
  }
  if (params.bits) bits = std::floor(static_cast<double>(*params.bits) / keys);
  if (params.memory_bytes) bits = std::floor(static_cast<double>(*params.memory_bytes) * 8.0 / keys);
  if (bits < 1.0) return fail(errc::unsupported, "LevelDB has a bit a key at least: give more memory, or fewer keys");
  return static_cast<std::uint64_t>(std::min(bits, static_cast<double>(most)));
}

result<size_plan> plan(const filter_params& params, const format_options& /*options*/) noexcept {
  // No keys at all are nothing special here.
  filter_params checked = params;
  if (params.keys == 0U) checked.keys = 1;
  if (const auto usable = keys_and_rate_of(checked, 0.01); !usable) return fail(usable.error());
  if (*params.keys > most_keys) return fail(errc::unsupported, "LevelDB counts the keys of a filter in 31 bits");
  const auto bits_per_key = bits_per_key_of(params);
  if (!bits_per_key) return fail(bits_per_key.error());
  const unsigned hashes = params.hashes.value_or(hashes_of(*bits_per_key));
  if (hashes < 1 || hashes > leveldb::most_hashes) {
    return fail(errc::bad_hashes, {}, {hashes, 1, leveldb::most_hashes});
  }
  const std::uint64_t size_bytes = (std::max(*params.keys * *bits_per_key, least_bits) + 7) / 8;
  const auto bits = static_cast<double>(size_bytes * 8);
  const auto keys = static_cast<double>(*params.keys);
  return size_plan{.keys = *params.keys,
                   .fpr = rate_of(keys, bits, hashes),
                   .bits = size_bytes * 8,
                   .hashes = hashes,
                   .bits_per_key = bits / std::max(1.0, keys),
                   .memory_bytes = size_bytes,
                   .digest_bits = filter::width};
}

result<any_filter> make(const filter_params& params, const format_options& options) noexcept {
  const auto size = plan(params, options);
  if (!size) return fail(size.error());
  return filter::make({size->bits, size->hashes, size->memory_bytes}, carried{{}, size->hashes}, leveldb::hash,
                      params.memory);
}

bool holds(const any_filter& from) noexcept {
  return filter::in(from) != nullptr || !leveldb::windows_model::in(from).empty();
}

result<void> save(const any_filter& from, const byte_sink& sink, const format_options& /*options*/) noexcept {
  const filter* const self = filter::in(from);
  if (self == nullptr) return sink(leveldb::windows_model::in(from));
  if (auto done = sink(self->bits()); !done) return done;
  const std::array<std::byte, 1> k = {static_cast<std::byte>(self->with().k)};
  return sink(k);
}

}  // namespace leveldb_filter

const format leveldb_format = {
    .name = leveldb_filter::name,
    .summary = "one filter of LevelDB, built-in or of windows; it has no signature: name the format",
    .writes = true,
    .merges = true,
    .by_end = true,
    .kind = &foreign_entry<leveldb_filter::rule>,
    .detect = leveldb_filter::detect,
    .open = leveldb_filter::open,
    .hash = leveldb_filter::hash,
    .plan = leveldb_filter::plan,
    .make = leveldb_filter::make,
    .holds = leveldb_filter::holds,
    .save = leveldb_filter::save,
};

}  // namespace bloomery::inline BLOOMERY_ABI::formats

// spark.cpp: what BloomFilter.writeTo of Apache Spark writes, versions 1 and 2. docs/formats/spark.md has the bytes.
#include <bloomery/hash/murmur3_spark.hpp>
#include <charconv>

#include "src/formats/foreign_bloom.hpp"
#include "src/formats/formats.hpp"
#include "src/formats/sizes.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats {
namespace spark {

constexpr std::string_view name = "spark";
constexpr double product_fpr = 0.03;
constexpr std::uint64_t max_words = 0x7fffffffU;
constexpr std::size_t head_bytes_v1 = 12;
constexpr std::size_t head_bytes_v2 = 16;

std::uint32_t read_be(std::span<const std::byte> bytes, std::size_t at) noexcept {
  return byte_swap(load_le<std::uint32_t>(bytes.data() + at));
}

struct header {
  std::uint32_t version = 2;
  std::uint32_t hashes = 0;
  std::uint32_t seed = 0;  // version 1 has none
  std::uint32_t words = 0;

  static constexpr std::size_t size_of(std::uint32_t version) noexcept {
    return version == 1 ? head_bytes_v1 : head_bytes_v2;
  }
  // There must be head_bytes_v2 of them, or of version 1 head_bytes_v1.
  static header read(std::span<const std::byte> bytes) noexcept {
    header h{.version = read_be(bytes, 0), .hashes = read_be(bytes, 4)};
    if (h.version != 1) h.seed = read_be(bytes, 8);
    h.words = read_be(bytes, size_of(h.version) - 4);
    return h;
  }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return size_of(version); }
  [[nodiscard]] std::uint64_t bit_bytes() const noexcept { return std::uint64_t{words} * 8; }
};

// The two hashes of a key, from its digest.
struct two_hashes {
  explicit two_hashes(std::uint64_t digest) noexcept
      : first(static_cast<std::uint32_t>(unmix64(digest))),
        second(static_cast<std::uint32_t>(unmix64(digest) >> 32U)) {}
  std::uint32_t first;
  std::uint32_t second;
};

// first + i second in 32 bits, i from 1 on; a negative number counts from the other end.
struct rule_v1 {
  static constexpr kind_info info = foreign_kind(5, "Bloom filter of Spark, version 1: 32-bit positions");
  using digest = std::uint64_t;
  using carried = nothing_carried;
  class probes {
   public:
    probes(std::uint64_t of, const divisor& bits) noexcept : hashes_(of), at_(hashes_.first), bits_(&bits) {}
    std::uint64_t next() noexcept {
      at_ += hashes_.second;
      return bits_->remainder_of((at_ >> 31U) != 0 ? ~at_ : at_);
    }

   private:
    two_hashes hashes_;
    std::uint32_t at_;
    const divisor* bits_;
  };
  static constexpr std::uint64_t byte_of(std::uint64_t bit) noexcept { return big_endian_words(bit); }
  static constexpr auto steps = progression::turned_over_32;
};

// The same in 64 bits, from first times 2^31 - 1 on; both hashes are signed.
struct rule_v2 {
  static constexpr kind_info info = foreign_kind(6, "Bloom filter of Spark, version 2: seeded, 64-bit positions");
  using digest = std::uint64_t;
  using carried = nothing_carried;
  class probes {
   public:
    probes(std::uint64_t of, const divisor& bits) noexcept : bits_(&bits) {
      const two_hashes hashes(of);
      at_ = extended(hashes.first) * 0x7fffffffU;
      step_ = extended(hashes.second);
    }
    std::uint64_t next() noexcept {
      at_ += step_;
      return bits_->remainder_of((at_ >> 63U) != 0 ? ~at_ : at_);
    }

   private:
    static std::uint64_t extended(std::uint32_t hash) noexcept {
      return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(hash)});
    }
    std::uint64_t at_ = 0;
    std::uint64_t step_ = 0;
    const divisor* bits_;
  };
  static constexpr std::uint64_t byte_of(std::uint64_t bit) noexcept { return big_endian_words(bit); }
  static constexpr auto steps = progression::never_wraps;  // 32-bit steps in 64 bits
};
using filter_v1 = foreign_bloom<rule_v1>;
using filter_v2 = foreign_bloom<rule_v2>;

// What is wrong with a header, or nothing.
result<void> check(const header& h, std::optional<std::uint64_t> size_bytes) noexcept {
  if (h.version == byte_swap(std::uint32_t{1})) {
    return bad_header(name, "its version is little-endian: a layout of Velox and Gluten");
  }
  if (h.version != 1 && h.version != 2) return bad_header(name, "its version is neither 1 nor 2");
  if (h.hashes < 1 || h.hashes > max_hashes) return fail(errc::bad_field, "number of hash functions", {h.hashes});
  if (h.words < 1 || h.words > max_words) return fail(errc::bad_field, "number of words", {h.words});
  const std::uint64_t needs = h.size_bytes() + h.bit_bytes();
  if (size_bytes && *size_bytes < needs) return fail(errc::truncated, {}, {*size_bytes, needs});
  if (size_bytes && *size_bytes > needs) return fail(errc::trailing_bytes, {}, {*size_bytes, needs});
  return {};
}

detection detect(const detection_input& seen) noexcept {
  if (seen.first.size() < head_bytes_v2) return {};  // version 1 has at least one word after its 12 bytes
  const header h = header::read(seen.first);
  if (!check(h, seen.size_bytes)) return {};
  return {confidence::fits, h.size_bytes() + h.bit_bytes()};
}

result<any_filter> open(source_bytes source, const format_options& /*options*/) noexcept {
  const auto bytes = source.bytes();
  if (bytes.size() < head_bytes_v2) return fail(errc::truncated, {}, {bytes.size(), head_bytes_v2});
  const header h = header::read(bytes);
  if (auto usable = check(h, bytes.size()); !usable) return fail(usable.error());
  const bloom_shape shape{std::uint64_t{h.words} * 64, h.hashes, h.bit_bytes()};
  const hash_spec by{.id = murmur3_spark::info.id, .seed = h.seed};
  if (h.version == 1) return filter_v1::open(std::move(source), h.size_bytes(), shape, {}, by);
  return filter_v2::open(std::move(source), h.size_bytes(), shape, {}, by);
}

// ---- making ---------------------------------------------------------------------------------------------------------

result<std::uint32_t> version_of(const format_options& options) noexcept {
  if (options.spark_version.empty() || options.spark_version == "2") return 2U;
  if (options.spark_version == "1") return 1U;
  return fail(errc::unsupported, "Spark's filters have the versions 1 and 2");
}

// 32 bits, with or without a sign.
result<std::uint32_t> seed_of(const format_options& options) noexcept {
  const std::string_view word = options.seed;
  if (word.empty()) return 0U;
  const bool hex = word.starts_with("0x") || word.starts_with("0X");
  std::int64_t value = 0;
  const char* const end = word.data() + word.size();
  const auto [last, bad] = std::from_chars(word.data() + (hex ? 2 : 0), end, value, hex ? 16 : 10);
  if (bad != std::errc{} || last != end || value < INT32_MIN || value > std::int64_t{UINT32_MAX}) {
    return fail(errc::unsupported, "a seed of Spark has 32 bits: give 0 to 4294967295, or 0x...");
  }
  return static_cast<std::uint32_t>(value);
}

result<hash_spec> hash(const format_options& options) noexcept {
  const auto version = version_of(options);
  const auto seed = seed_of(options);
  if (!version) return fail(version.error());
  if (!seed) return fail(seed.error());
  if (*version == 1 && *seed != 0) return fail(errc::unsupported, "version 1 of Spark's filters has no seed");
  return hash_spec{.id = murmur3_spark::info.id, .seed = *seed};
}

// As the product computes it: bits cut off, hash functions rounded half up, from bits that are not whole words yet.
result<size_plan> plan(const filter_params& params, const format_options& options) noexcept {
  if (const auto by = hash(options); !by) return fail(by.error());
  const auto asked = keys_and_rate_of(params, product_fpr);
  if (!asked) return fail(asked.error());
  const auto keys = static_cast<double>(asked->keys);
  double wanted = std::trunc(-keys * std::log(asked->fpr) / (std::log(2.0) * std::log(2.0)));
  if (params.bits) wanted = static_cast<double>(*params.bits);
  if (params.bits_per_key) wanted = std::trunc(*params.bits_per_key * keys);
  if (params.memory_bytes) {
    const std::uint64_t whole_words = *params.memory_bytes / 8;
    wanted = static_cast<double>(whole_words * 64);
  }
  if (wanted > static_cast<double>(max_words * 64)) return sizing::too_large(name, wanted);
  if (wanted < 1.0) {
    return fail(errc::unsupported, "so few keys at this rate would have no bits: give more, or a smaller rate");
  }
  const double hashes = params.hashes ? static_cast<double>(*params.hashes)
                                      : std::max(1.0, std::floor(wanted / keys * std::log(2.0) + 0.5));
  if (hashes < 1.0 || hashes > static_cast<double>(max_hashes)) {
    return fail(errc::bad_hashes, {}, {static_cast<std::uint64_t>(hashes), 1, max_hashes});
  }
  const std::uint64_t words = (static_cast<std::uint64_t>(wanted) + 63) / 64;
  return size_plan{.keys = asked->keys,
                   .fpr = asked->fpr,
                   .bits = words * 64,
                   .hashes = static_cast<unsigned>(hashes),
                   .bits_per_key = static_cast<double>(words * 64) / keys,
                   .memory_bytes = words * 8,
                   .digest_bits = filter_v2::width};
}

result<any_filter> make(const filter_params& params, const format_options& options) noexcept {
  const auto size = plan(params, options);
  if (!size) return fail(size.error());
  const bloom_shape shape{size->bits, size->hashes, size->memory_bytes};
  const auto by = hash(options);
  if (!by) return fail(by.error());
  return *version_of(options) == 1 ? filter_v1::make(shape, {}, *by, params.memory)
                                   : filter_v2::make(shape, {}, *by, params.memory);
}

// ---- writing --------------------------------------------------------------------------------------------------------

bool holds(const any_filter& from) noexcept { return filter_v1::in(from) != nullptr || filter_v2::in(from) != nullptr; }

result<void> save(const any_filter& from, const byte_sink& sink, const format_options& options) noexcept {
  const filter_v1* const v1 = filter_v1::in(from);
  const auto asked = version_of(options);
  if (!asked) return fail(asked.error());
  if (!options.spark_version.empty() && *asked != (v1 != nullptr ? 1U : 2U)) {
    return fail(errc::unsupported,
                "versions 1 and 2 of Spark's filters set other bits for the same keys: build it again");
  }
  const bloom_shape& shape = v1 != nullptr ? v1->geometry() : filter_v2::in(from)->geometry();
  std::array<std::byte, head_bytes_v2> first{};
  byte_writer to(first);
  to.write(byte_swap(v1 != nullptr ? std::uint32_t{1} : std::uint32_t{2}));
  to.write(byte_swap(static_cast<std::uint32_t>(shape.hashes)));
  if (v1 == nullptr) to.write(byte_swap(static_cast<std::uint32_t>(from.hash().seed)));
  to.write(byte_swap(static_cast<std::uint32_t>(shape.size_bytes / 8)));
  if (auto done = sink(std::span(first).first(to.position())); !done) return done;
  return sink(v1 != nullptr ? v1->bits() : filter_v2::in(from)->bits());
}

constexpr std::array versions = {option_choice{"2", "Spark 4.1 and later"}, option_choice{"1", "every Spark"}};
constexpr std::array options_of_format = {
    option_info{.name = "spark-version",
                .title = "versions",
                .help = "version of the file; 1 for Spark before 4.1",
                .choices = versions},
    option_info{.name = "seed",
                .title = "seed",
                .type = option_type::integer,
                .help = "seed of the hash, in version 2",
                .most = 0xffffffff},
};

}  // namespace spark

const format spark_format = {
    .name = spark::name,
    .summary = "BloomFilter.writeTo of Apache Spark, versions 1 and 2",
    .writes = true,
    .merges = true,
    .options = spark::options_of_format,
    .kind = &foreign_entry<spark::rule_v2>,
    .detect = spark::detect,
    .open = spark::open,
    .hash = spark::hash,
    .plan = spark::plan,
    .make = spark::make,
    .holds = spark::holds,
    .save = spark::save,
};

}  // namespace bloomery::inline BLOOMERY_ABI::formats

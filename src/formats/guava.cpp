// guava.cpp: what BloomFilter.writeTo of Google's Guava writes. docs/formats/guava.md has the bytes.
#include <bloomery/hash/murmur3.hpp>

#include "src/formats/foreign_bloom.hpp"
#include "src/formats/formats.hpp"
#include "src/formats/sizes.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats {
namespace guava {

constexpr std::string_view name = "guava";
constexpr std::size_t header_bytes = 6;
constexpr double product_fpr = 0.03;  // of BloomFilter.create(funnel, n)
constexpr unsigned most_hashes = 255;
constexpr std::uint64_t most_words = 0x7fffffff;

// All numbers of a file are big-endian.
struct header {
  unsigned strategy = 1;  // an ordinal of BloomFilterStrategies: 0 is MURMUR128_MITZ_32, 1 is MURMUR128_MITZ_64
  unsigned hashes = 0;
  std::uint32_t words = 0;  // of 64 bits

  static header read(std::span<const std::byte> bytes) noexcept {
    header h;
    h.strategy = std::to_integer<unsigned>(bytes[0]);
    h.hashes = std::to_integer<unsigned>(bytes[1]);
    for (std::size_t i = 2; i < header_bytes; ++i) h.words = h.words << 8U | std::to_integer<std::uint32_t>(bytes[i]);
    return h;
  }
  [[nodiscard]] std::array<std::byte, header_bytes> bytes() const noexcept {
    return {static_cast<std::byte>(strategy),     static_cast<std::byte>(hashes),
            static_cast<std::byte>(words >> 24U), static_cast<std::byte>(words >> 16U),
            static_cast<std::byte>(words >> 8U),  static_cast<std::byte>(words)};
  }
  [[nodiscard]] std::uint64_t bit_bytes() const noexcept { return std::uint64_t{words} * 8; }
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return header_bytes + bit_bytes(); }
  [[nodiscard]] bloom_shape shape() const noexcept { return {std::uint64_t{words} * 64, hashes, bit_bytes()}; }
};

// The file states which strategy, and nothing of keys, FPR or funnel.
template <bool Wide>
struct carried : nothing_carried {
  static void add_facts(fact_list& facts) noexcept {
    facts.add({.name = "strategy",
               .label = "strategy",
               .value = Wide ? "MURMUR128_MITZ_64" : "MURMUR128_MITZ_32",
               .help = "how Guava turns a hash into positions"});
  }
  static result<carried> clone() noexcept { return carried{}; }
};

// Of the 128-bit hash, h1 + i h2 from i = 0 on, without its top bit.
struct rule_64 {
  static constexpr kind_info info = foreign_kind(4, "Bloom filter of Guava, strategy MURMUR128_MITZ_64");
  using digest = digest128;
  using carried = guava::carried<true>;
  class probes {
   public:
    probes(const digest128& of, const divisor& bits) noexcept : at_(of.low), step_(of.high), bits_(&bits) {}
    std::uint64_t next() noexcept {
      const std::uint64_t bit = bits_->remainder_of(at_ & 0x7fffffffffffffffULL);
      at_ += step_;
      return bit;
    }

   private:
    std::uint64_t at_;
    std::uint64_t step_;
    const divisor* bits_;
  };
  static constexpr std::uint64_t byte_of(std::uint64_t bit) noexcept { return big_endian_words(bit); }
  static constexpr auto steps = progression::wraps_63;
};

// Of h1 alone, its low half + i times its high half from i = 1 on, in 32 bits; negative numbers are turned over.
struct rule_32 {
  static constexpr kind_info info = foreign_kind(3, "Bloom filter of Guava, strategy MURMUR128_MITZ_32");
  using digest = std::uint64_t;
  using carried = guava::carried<false>;
  class probes {
   public:
    probes(std::uint64_t of, const divisor& bits) noexcept
        : at_(static_cast<std::uint32_t>(of)), step_(static_cast<std::uint32_t>(of >> 32U)), bits_(&bits) {}
    std::uint64_t next() noexcept {
      at_ += step_;
      return bits_->remainder_of(at_ >> 31U == 0 ? at_ : ~at_);
    }

   private:
    std::uint32_t at_;
    std::uint32_t step_;
    const divisor* bits_;
  };
  static constexpr std::uint64_t byte_of(std::uint64_t bit) noexcept { return big_endian_words(bit); }
  static constexpr auto steps = progression::turned_over_32;
};
using filter_64 = foreign_bloom<rule_64>;
using filter_32 = foreign_bloom<rule_32>;

constexpr hash_spec murmur{.id = murmur3_x64_128::info.id};

// What is wrong with a header, or nothing.
result<void> check(const header& h) noexcept {
  if (h.strategy > 1) return bad_header(name, "its first byte, the strategy, is neither 0 nor 1");
  if (h.hashes == 0) return bad_header(name, "its second byte, the number of hash functions, is 0");
  if (h.words == 0 || h.words > most_words) return fail(errc::bad_field, "number of words", {h.words});
  return {};
}

// A file of just the size that its header requires. A longer one may be one, too: Guava reads from streams in which
// anything may follow.
detection detect(const detection_input& seen) noexcept {
  if (seen.first.size() < header_bytes) return {};
  const header h = header::read(seen.first);
  if (!check(h) || (seen.size_bytes && *seen.size_bytes < h.file_bytes())) return {};
  const bool fits = !seen.size_bytes || *seen.size_bytes == h.file_bytes();
  return {fits ? confidence::fits : confidence::weak, h.file_bytes()};
}

result<any_filter> open(source_bytes source, const format_options& /*options*/) noexcept {
  const auto bytes = source.bytes();
  if (bytes.size() < header_bytes) return fail(errc::truncated, {}, {bytes.size(), header_bytes});
  const header h = header::read(bytes);
  if (auto usable = check(h); !usable) return fail(usable.error());
  if (bytes.size() < h.file_bytes()) return fail(errc::truncated, {}, {bytes.size(), h.file_bytes()});
  return h.strategy == 0 ? filter_32::open(std::move(source), header_bytes, h.shape(), {}, murmur)
                         : filter_64::open(std::move(source), header_bytes, h.shape(), {}, murmur);
}

result<hash_spec> hash(const format_options& /*options*/) noexcept { return murmur; }

result<bool> is_128_bit(const format_options& options) noexcept {
  if (options.strategy.empty() || options.strategy == "64") return true;
  if (options.strategy == "32") return false;
  return fail(errc::unsupported, "there is no such strategy: give 32 or 64");
}

struct size {
  std::uint64_t keys = 0;
  double fpr = 0;
  double bits = 0;  // before they are rounded up to words
  double hashes = 0;
};

double rounded(double hashes) noexcept { return std::max(1.0, std::floor(hashes + 0.5)); }

// As create(funnel, keys, fpr) computes it. The number of bits is cut off to a whole one, and from that follows, up to
// Guava 33.3, the number of hash functions; from 33.4 on it follows from the FPR.
result<size> size_of(const keys_and_rate& asked, std::string_view k_rule) noexcept {
  const double ln2 = std::log(2.0);
  const auto keys = static_cast<double>(asked.keys);
  size out{asked.keys, asked.fpr, std::floor(-keys * std::log(asked.fpr) / (ln2 * ln2)), 0};
  if (k_rule.empty() || k_rule == "old") {
    out.hashes = rounded(out.bits / keys * ln2);
  } else if (k_rule == "new") {
    out.hashes = rounded(-std::log(asked.fpr) / ln2);
  } else {
    return fail(errc::unsupported, "there is no such rule for k: give old or new");
  }
  return out;
}

// Guava takes an FPR alone. Where a size is requested, the bits are those, and no more.
result<size> size_of(const filter_params& params, std::string_view k_rule) noexcept {
  filter_params whole = params;
  if (whole.keys == 0U) whole.keys = 1;  // as Guava does
  const auto asked = keys_and_rate_of(whole, product_fpr);
  if (!asked) return fail(asked.error());
  if (!params.bits && !params.bits_per_key && !params.memory_bytes) return size_of(*asked, k_rule);
  const auto keys = static_cast<double>(asked->keys);
  double bits = params.bits_per_key ? std::floor(keys * *params.bits_per_key) : 0;
  if (params.bits) bits = static_cast<double>(*params.bits);
  if (params.memory_bytes) {
    const std::uint64_t words = *params.memory_bytes / 8;
    bits = static_cast<double>(words * 64);
  }
  const double hashes = std::min<double>(most_hashes, rounded(bits / keys * std::log(2.0)));
  return size{asked->keys, std::pow(-std::expm1(-hashes * keys / bits), hashes), bits, hashes};
}

result<size_plan> plan(const filter_params& params, const format_options& options) noexcept {
  const auto size = size_of(params, options.k_rule);
  if (!size) return fail(size.error());
  const auto wide = is_128_bit(options);
  if (!wide) return fail(wide.error());
  if (size->bits < 1.0) {
    return fail(errc::unsupported, "so few keys at this rate would have no bits: give more, or a smaller rate");
  }
  if (size->bits > static_cast<double>(most_words * 64)) {
    return fail(errc::unsupported, "filters of Guava end at 16 GiB: ask for fewer keys or a larger rate");
  }
  const double hashes = params.hashes ? static_cast<double>(*params.hashes) : size->hashes;
  if (hashes < 1.0 || hashes > most_hashes) {
    return fail(errc::bad_hashes, {}, {static_cast<std::uint64_t>(hashes), 1, most_hashes});
  }
  const std::uint64_t words = (static_cast<std::uint64_t>(size->bits) + 63) / 64;
  return size_plan{.keys = size->keys,
                   .fpr = size->fpr,
                   .bits = words * 64,
                   .hashes = static_cast<unsigned>(hashes),
                   .bits_per_key = static_cast<double>(words * 64) / static_cast<double>(size->keys),
                   .memory_bytes = words * 8,
                   .digest_bits = *wide ? filter_64::width : filter_32::width};
}

result<any_filter> make(const filter_params& params, const format_options& options) noexcept {
  const auto size = plan(params, options);
  if (!size) return fail(size.error());
  const bloom_shape shape{size->bits, size->hashes, size->memory_bytes};
  return size->digest_bits == filter_32::width ? filter_32::make(shape, {}, murmur, params.memory)
                                               : filter_64::make(shape, {}, murmur, params.memory);
}

bool holds(const any_filter& from) noexcept { return filter_64::in(from) != nullptr || filter_32::in(from) != nullptr; }

template <class Filter>
result<void> save_as(unsigned strategy, const Filter& from, const byte_sink& sink) noexcept {
  const header h{strategy, from.geometry().hashes, static_cast<std::uint32_t>(from.geometry().size_bytes / 8)};
  if (auto done = sink(h.bytes()); !done) return done;
  return sink(from.bits());
}

result<void> save(const any_filter& from, const byte_sink& sink, const format_options& /*options*/) noexcept {
  if (const filter_64* const wide = filter_64::in(from)) return save_as(1, *wide, sink);
  return save_as(0, *filter_32::in(from), sink);
}

constexpr std::array strategies = {option_choice{"64", "MURMUR128_MITZ_64"}, option_choice{"32", "MURMUR128_MITZ_32"}};
constexpr std::array k_rules = {option_choice{"old", "as up to Guava 33.3"}, option_choice{"new", "as from 33.4 on"}};
constexpr std::array options_of_format = {
    option_info{.name = "strategy",
                .title = "strategies",
                .help = "MURMUR128_MITZ_64, which is Guava's default, or MURMUR128_MITZ_32",
                .choices = strategies},
    option_info{.name = "k-rule",
                .title = "rules for k",
                .help = "how the number of hash functions is chosen: old as up to Guava 33.3, new as from 33.4 on",
                .choices = k_rules},
};

}  // namespace guava

const format guava_format = {
    .name = guava::name,
    .summary = "BloomFilter.writeTo of Google's Guava (Java)",
    .writes = true,
    .merges = true,
    .options = guava::options_of_format,
    .kind = &foreign_entry<guava::rule_64>,
    .detect = guava::detect,
    .open = guava::open,
    .hash = guava::hash,
    .plan = guava::plan,
    .make = guava::make,
    .holds = guava::holds,
    .save = guava::save,
};

}  // namespace bloomery::inline BLOOMERY_ABI::formats

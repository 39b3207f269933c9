// dcso.cpp: files of DCSO's `bloom` command and of flor. docs/formats/dcso.md has the bytes.
#include <bloomery/hash/fnv.hpp>

#include "src/formats/foreign_bloom.hpp"
#include "src/formats/formats.hpp"
#include "src/formats/sizes.hpp"

namespace bloomery::inline BLOOMERY_ABI::formats {
namespace dcso {

constexpr std::string_view name = "dcso";
constexpr std::size_t header_bytes = 48;

struct header {
  std::uint64_t flags = 1;  // the lowest byte is the version
  std::uint64_t capacity = 0;
  double fpr = 0;
  std::uint64_t hashes = 0;
  std::uint64_t bits = 0;
  std::uint64_t keys = 0;

  static header read(std::span<const std::byte> bytes) noexcept {
    byte_reader from(bytes);
    header h;
    h.flags = from.read<std::uint64_t>();
    h.capacity = from.read<std::uint64_t>();
    h.fpr = from.read_double();
    h.hashes = from.read<std::uint64_t>();
    h.bits = from.read<std::uint64_t>();
    h.keys = from.read<std::uint64_t>();
    return h;
  }
  [[nodiscard]] std::uint64_t bit_bytes() const noexcept { return bits / 64 * 8 + (bits % 64 == 0 ? 0 : 8); }
};

// As the product computes it. The argument is negative, so the ceiling cuts off.
double bits_of(double keys, double fpr) noexcept {
  return std::fabs(std::ceil(keys * std::log(fpr) / std::pow(std::log(2.0), 2.0)));
}
double hashes_of(double keys, double bits) noexcept { return std::ceil(std::log(2.0) * bits / keys); }

// What is after the bits, and in the header beside m and k.
struct carried {
  std::uint64_t flags = 1;
  std::uint64_t capacity = 0;
  double fpr = 0;
  std::uint64_t keys = 0;  // inserts that set a bit; after a join the sum of both
  aligned_buffer data{};

  void tell(filter_stats& stats) const noexcept {
    stats.capacity_keys = capacity;
    stats.target_fpr = fpr;
    stats.keys = {keys, true};
  }
  void add_facts(fact_list& facts) const noexcept {
    if (data.size_bytes() == 0) return;
    facts.add({.name = "data_bytes",
               .label = "data bytes",
               .value = std::uint64_t{data.size_bytes()},
               .unit = fact_unit::bytes,
               .help = "what the file carries behind its bits"});
  }
  void count(std::uint64_t inserted) noexcept { keys += inserted; }
  void recount(double estimated_keys) noexcept { keys = static_cast<std::uint64_t>(estimated_keys + 0.5); }
  result<void> join(const carried& other) noexcept {
    if (capacity != other.capacity) return fail(errc::mismatch, "they were made for different numbers of keys");
    if (std::bit_cast<std::uint64_t>(fpr) != std::bit_cast<std::uint64_t>(other.fpr)) {
      return fail(errc::mismatch, "they were made for different false-positive rates");
    }
    keys += other.keys;
    return {};
  }
  [[nodiscard]] result<carried> clone() const noexcept {
    auto copy = data.clone("the filter's data");
    if (!copy) return fail(copy.error());
    return carried{flags, capacity, fpr, keys, std::move(*copy)};
  }
  friend bool operator==(const carried& a, const carried& b) noexcept {
    return a.flags == b.flags && a.capacity == b.capacity &&
           std::bit_cast<std::uint64_t>(a.fpr) == std::bit_cast<std::uint64_t>(b.fpr) && a.keys == b.keys &&
           std::equal(a.data.bytes().begin(), a.data.bytes().end(), b.data.bytes().begin(), b.data.bytes().end());
  }
};

// FNV-1 of the key, stepped by a multiplication that wraps, all modulo the largest prime below 2^64.
struct rule {
  static constexpr kind_info info = foreign_kind(1, "Bloom filter of DCSO's bloom, FNV-1 stepped modulo a prime");
  using digest = std::uint64_t;
  using carried = dcso::carried;
  class probes {
   public:
    probes(std::uint64_t of, const divisor& bits) noexcept : at_(reduced(unmix64(of))), bits_(&bits) {}
    std::uint64_t next() noexcept {
      at_ = reduced(at_ * step);
      return bits_->remainder_of(at_);
    }

   private:
    static constexpr std::uint64_t prime = 18446744073709551557ULL;
    static constexpr std::uint64_t step = 18446744073709550147ULL;
    static constexpr std::uint64_t reduced(std::uint64_t x) noexcept { return x >= prime ? x - prime : x; }
    std::uint64_t at_;
    const divisor* bits_;
  };
  static constexpr std::uint64_t byte_of(std::uint64_t bit) noexcept { return low_bits_first(bit); }
};
using filter = foreign_bloom<rule>;

constexpr hash_spec fnv{.id = fnv1::info.id};

// What is wrong with a header, or nothing. `size_bytes` of the file, as far as it is known.
result<void> check(const header& h, std::optional<std::uint64_t> size_bytes) noexcept {
  if ((h.flags & 0xffU) != 1) return bad_header(name, "its first byte, the version, is not 1");
  if (!(h.fpr >= 0.0 && h.fpr <= 1.0)) return bad_header(name, "its false-positive rate is not between 0 and 1");
  if (h.hashes > max_hashes) return fail(errc::bad_field, "number of hash functions", {h.hashes});
  if (h.bits == 0 ? h.hashes != 0 : h.bits > max_filter_bits) return fail(errc::bad_field, "number of bits", {h.bits});
  if (size_bytes && *size_bytes < header_bytes + h.bit_bytes()) {
    return fail(errc::truncated, {}, {*size_bytes, header_bytes + h.bit_bytes()});
  }
  return {};
}

// The version alone proves little; that the sizes follow from n and p as the product computes them proves it.
detection detect(const detection_input& seen) noexcept {
  if (seen.first.size() < header_bytes) return {};
  const header h = header::read(seen.first);
  if (!check(h, seen.size_bytes)) return {};
  const std::uint64_t least = header_bytes + h.bit_bytes();
  if (h.flags != 1) return {confidence::weak, no_limit, least};
  const auto keys = static_cast<double>(h.capacity);
  const bool its_own = std::fabs(bits_of(keys, h.fpr) - static_cast<double>(h.bits)) <= 1.0 &&
                       std::fabs(hashes_of(keys, static_cast<double>(h.bits)) - static_cast<double>(h.hashes)) <= 1.0;
  // Any data may follow the bits.
  return {its_own ? confidence::signature : confidence::fits, no_limit, least};
}

result<any_filter> open(source_bytes source, const format_options& /*options*/) noexcept {
  const auto bytes = source.bytes();
  if (bytes.size() < header_bytes) return fail(errc::truncated, {}, {bytes.size(), header_bytes});
  const header h = header::read(bytes);
  if (auto usable = check(h, bytes.size()); !usable) return fail(usable.error());
  const auto data = bytes.subspan(to_size(header_bytes + h.bit_bytes()));
  auto copy = aligned_buffer::make(data.size(), "the filter's data", source.memory());
  if (!copy) return fail(copy.error());
  if (!data.empty()) std::memcpy(copy->data(), data.data(), data.size());
  const bloom_shape shape{h.bits, static_cast<unsigned>(h.hashes), h.bit_bytes()};
  return filter::open(std::move(source), header_bytes, shape,
                      carried{h.flags, h.capacity, h.fpr, h.keys, std::move(*copy)}, fnv);
}

result<hash_spec> hash(const format_options& /*options*/) noexcept { return fnv; }

result<size_plan> plan(const filter_params& params, const format_options& /*options*/) noexcept {
  const auto asked = keys_and_rate_of(params, default_fpr);
  if (!asked) return fail(asked.error());
  const auto keys = static_cast<double>(asked->keys);
  const double bits = bits_of(keys, asked->fpr);
  if (bits > static_cast<double>(max_filter_bits)) return sizing::too_large(name, bits);
  if (bits < 1.0)
    return fail(errc::unsupported, "so few keys at this rate would have no bits: give more, or a smaller rate");
  const double hashes = params.hashes ? static_cast<double>(*params.hashes) : hashes_of(keys, bits);
  if (hashes < 1.0 || hashes > static_cast<double>(max_hashes)) {
    return fail(errc::bad_hashes, {}, {static_cast<std::uint64_t>(hashes), 1, max_hashes});
  }
  const header h{.bits = static_cast<std::uint64_t>(bits)};
  return size_plan{.keys = asked->keys,
                   .fpr = asked->fpr,
                   .bits = h.bits,
                   .hashes = static_cast<unsigned>(hashes),
                   .bits_per_key = bits / keys,
                   .memory_bytes = h.bit_bytes(),
                   .digest_bits = filter::width};
}

result<any_filter> make(const filter_params& params, const format_options& options) noexcept {
  const auto size = plan(params, options);
  if (!size) return fail(size.error());
  return filter::make({size->bits, size->hashes, size->memory_bytes}, carried{.capacity = size->keys, .fpr = size->fpr},
                      fnv, params.memory);
}

bool holds(const any_filter& from) noexcept { return filter::in(from) != nullptr; }

result<void> save(const any_filter& from, const byte_sink& sink, const format_options& /*options*/) noexcept {
  const filter* const self = filter::in(from);
  const carried& with = self->with();
  std::array<std::byte, header_bytes> first{};
  byte_writer to(first);
  to.write(with.flags);
  to.write(with.capacity);
  to.write_double(with.fpr);
  to.write<std::uint64_t>(self->geometry().hashes);
  to.write(self->geometry().bits);
  to.write(with.keys);
  if (auto done = sink(first); !done) return done;
  if (auto done = sink(self->bits()); !done) return done;
  return sink(with.data.bytes());
}

}  // namespace dcso

const format dcso_format = {
    .name = dcso::name,
    .summary = "the bloom command of DCSO and flor (.bloom)",
    .writes = true,
    .merges = true,
    .gzip = true,
    .kind = &foreign_entry<dcso::rule>,
    .detect = dcso::detect,
    .open = dcso::open,
    .hash = dcso::hash,
    .plan = dcso::plan,
    .make = dcso::make,
    .holds = dcso::holds,
    .save = dcso::save,
};

}  // namespace bloomery::inline BLOOMERY_ABI::formats

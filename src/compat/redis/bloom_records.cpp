#include <algorithm>
#include <bloomery/compat/redis/bloom_records.hpp>
#include <cmath>

namespace bloomery::inline BLOOMERY_ABI::redis {

BLOOMERY_BODY bloom_head bloom_head::read(std::span<const std::byte> bytes) noexcept {
  byte_reader from(bytes);
  bloom_head head;
  head.keys = from.read<std::uint64_t>();
  head.sub_filters = from.read<std::uint32_t>();
  head.options = from.read<std::uint32_t>();
  head.growth = from.read<std::uint32_t>();
  return head;
}
BLOOMERY_BODY void bloom_head::write(byte_writer& to) const noexcept {
  to.write(keys);
  to.write(static_cast<std::uint32_t>(sub_filters));
  to.write(static_cast<std::uint32_t>(options));
  to.write(static_cast<std::uint32_t>(growth));
}

BLOOMERY_BODY bloom_record bloom_record::read(std::span<const std::byte> bytes) noexcept {
  byte_reader from(bytes);
  bloom_record record;
  record.size_bytes = from.read<std::uint64_t>();
  record.bits = from.read<std::uint64_t>();
  record.keys = from.read<std::uint64_t>();
  record.error_rate = from.read_double();
  record.bits_per_key = from.read_double();
  record.hashes = from.read<std::uint32_t>();
  record.capacity = from.read<std::uint64_t>();
  record.log2_bits = from.read<std::uint8_t>();
  return record;
}
BLOOMERY_BODY void bloom_record::write(byte_writer& to) const noexcept {
  to.write(size_bytes);
  to.write(bits);
  to.write(keys);
  to.write_double(error_rate);
  to.write_double(bits_per_key);
  to.write(static_cast<std::uint32_t>(hashes));
  to.write(capacity);
  to.write(static_cast<std::uint8_t>(log2_bits));
}

// The constants are ln(2)^2 and ln 2 as the product writes them: another last digit may give another size.
BLOOMERY_BODY double bloom_record::bits_per_key_for(double error_rate) noexcept {
  return std::fabs(-(std::log(error_rate) / 0.480453013918201));
}
BLOOMERY_BODY double bloom_record::hashes_for(double bits_per_key) noexcept {
  return std::ceil(0.693147180559945 * bits_per_key);
}

BLOOMERY_BODY result<bloom_record> bloom_record::sized(std::uint64_t capacity, double error_rate,
                                                       std::uint64_t options) noexcept {
  bloom_record made{.error_rate = error_rate, .bits_per_key = bits_per_key_for(error_rate), .capacity = capacity};
  const double wanted = static_cast<double>(capacity) * made.bits_per_key;
  const double most = (options & keys_are_bits) != 0
                          ? std::ldexp(1.0, static_cast<int>(std::min<std::uint64_t>(capacity, 64)))
                          : wanted;
  if (!(error_rate > 0) || !(most < static_cast<double>(max_filter_bits))) return sizing::too_large("scalable", most);
  std::uint64_t bits = 0;
  if ((options & keys_are_bits) != 0) {
    made.log2_bits = capacity;
    bits = std::uint64_t{1} << capacity;
    made.capacity = static_cast<std::uint64_t>(static_cast<double>(bits) / made.bits_per_key);
  } else if ((options & no_rounding) != 0) {
    bits = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
  } else {
    if (wanted < 1) return fail(errc::bad_field, "bits", {0});
    made.log2_bits = static_cast<std::uint64_t>(std::logb(wanted) + 1);
    bits = std::uint64_t{1} << made.log2_bits;
    const auto spare = static_cast<std::uint64_t>(static_cast<double>(bits) - wanted);
    made.capacity += static_cast<std::uint64_t>(static_cast<double>(spare) / made.bits_per_key);
  }
  made.size_bytes = (bits + 63) / 64 * 8;
  made.bits = made.size_bytes * 8;
  made.hashes = static_cast<std::uint64_t>(hashes_for(made.bits_per_key));
  if (auto usable = check_bloom(made); !usable) return fail(usable.error());
  return made;
}

BLOOMERY_BODY result<void> check_bloom(const bloom_head& head) noexcept {
  if (head.sub_filters == 0 || head.sub_filters > max_bloom_sub_filters) {
    return fail(errc::bad_field, "number of sub-filters", {head.sub_filters});
  }
  if ((head.options & ~std::uint64_t{known_options}) != 0) return fail(errc::bad_field, "options", {head.options});
  if (head.growth > UINT32_MAX) return fail(errc::bad_field, "growth", {head.growth});
  return {};
}

BLOOMERY_BODY result<void> check_bloom(const bloom_record& record, bool whole_bytes) noexcept {
  if (!(record.error_rate > 0.0 && record.error_rate < 1.0)) {
    return fail(errc::not_in_format, "redisbloom: the rate of a sub-filter is not between 0 and 1");
  }
  if (record.log2_bits > 63) return fail(errc::bad_field, "n2", {record.log2_bits});
  if (record.bits == 0 || record.size_bytes > max_filter_bits / 8 || record.bits > record.size_bytes * 8 ||
      (whole_bytes && record.bits != record.size_bytes * 8)) {
    return fail(errc::bad_field, "bits", {record.bits});
  }
  if (record.log2_bits != 0 && record.bits < record.modulus()) return fail(errc::bad_field, "n2", {record.log2_bits});
  if (record.hashes < 1 || record.hashes > max_bloom_hashes ||
      bloom_record::hashes_for(record.bits_per_key) != static_cast<double>(record.hashes)) {
    return fail(errc::bad_field, "number of hash functions", {record.hashes});
  }
  if (static_cast<double>(record.capacity) * record.bits_per_key > 2 * static_cast<double>(record.bits)) {
    return fail(errc::bad_field, "capacity of a sub-filter", {record.capacity});
  }
  return {};
}

}  // namespace bloomery::inline BLOOMERY_ABI::redis

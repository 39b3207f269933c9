#include <algorithm>
#include <bit>
#include <bloomery/compat/redis/cuckoo_records.hpp>
#include <bloomery/sizing/sizing.hpp>

namespace bloomery::inline BLOOMERY_ABI::redis {

BLOOMERY_BODY std::uint64_t cuckoo_head::buckets_of(std::uint64_t sub_filter) const noexcept {
  std::uint64_t here = buckets;
  for (std::uint64_t i = 0; i < sub_filter && growth > 1; ++i) {
    if (here > max_buckets / growth) return 0;
    here *= growth;
  }
  return here;
}
BLOOMERY_BODY std::uint64_t cuckoo_head::bytes_of(std::uint64_t sub_filter) const noexcept {
  const std::uint64_t here = buckets_of(sub_filter);
  return here > max_sub_filter_bytes / slots ? 0 : here * slots;
}
BLOOMERY_BODY std::optional<std::uint64_t> cuckoo_head::size_bytes(std::uint64_t most) const noexcept {
  std::uint64_t all = 0;
  for (std::uint64_t i = 0; i < sub_filters; ++i) {
    const std::uint64_t here = bytes_of(i);
    if (here == 0 || here > most - all) return {};
    all += here;
  }
  return all;
}
BLOOMERY_BODY cuckoo_head cuckoo_head::read(std::span<const std::byte> bytes) noexcept {
  byte_reader from(bytes);
  cuckoo_head head;
  head.keys = from.read<std::uint64_t>();
  head.buckets = from.read<std::uint64_t>();
  head.removed = from.read<std::uint64_t>();
  head.sub_filters = from.read<std::uint64_t>();
  head.slots = from.read<std::uint16_t>();
  head.moves = from.read<std::uint16_t>();
  head.growth = from.read<std::uint16_t>();
  return head;
}
BLOOMERY_BODY void cuckoo_head::write(byte_writer& to) const noexcept {
  to.write(keys);
  to.write(buckets);
  to.write(removed);
  to.write(sub_filters);
  to.write(static_cast<std::uint16_t>(slots));
  to.write(static_cast<std::uint16_t>(moves));
  to.write(static_cast<std::uint16_t>(growth));
}

BLOOMERY_BODY result<void> check_cuckoo(const cuckoo_head& head) noexcept {
  if (!std::has_single_bit(head.buckets) || head.buckets > cuckoo_head::max_buckets) {
    return fail(errc::bad_field, "number of buckets", {head.buckets});
  }
  if (head.slots < 1 || head.slots > 255) return fail(errc::bad_field, "slots a bucket", {head.slots});
  if (head.moves < 1 || head.moves > 65535) return fail(errc::bad_field, "iterations", {head.moves});
  // A power of two: the other bucket of a key would be elsewhere in the other sub-filters.
  if (head.growth > cuckoo_head::max_growth || (head.growth != 0 && !std::has_single_bit(head.growth))) {
    return fail(errc::bad_field, "expansion", {head.growth});
  }
  if (head.sub_filters < 1 || head.sub_filters > (head.growth == 0 ? 1 : cuckoo_head::max_sub_filters)) {
    return fail(errc::bad_field, "number of sub-filters", {head.sub_filters});
  }
  return {};
}

BLOOMERY_BODY result<cuckoo_head> cuckoo_settings::head() const noexcept {
  if (slots < 1 || slots > 255) return fail(errc::bad_field, "slots a bucket", {slots});
  if (capacity > max_keys) return fail(errc::bad_field, "number of buckets", {capacity});
  if (growth > cuckoo_head::max_growth) return fail(errc::bad_field, "expansion", {growth});
  const cuckoo_head made{.buckets = std::bit_ceil(std::max<std::uint64_t>(1, capacity / slots)),
                         .slots = slots,
                         .moves = moves,
                         .growth = growth == 0 ? 0 : std::bit_ceil(growth)};
  if (auto usable = check_cuckoo(made); !usable) return fail(usable.error());
  if (made.bytes_of(0) == 0) return fail(errc::bad_field, "number of buckets", {made.buckets});
  return made;
}

}  // namespace bloomery::inline BLOOMERY_ABI::redis

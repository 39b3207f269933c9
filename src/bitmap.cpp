// The engine behind kinds/bitmap.hpp: CRoaring, whose headers throw, kept out of the core.
//
// A set is a map from the high 32 bits of the keys to a 32-bit Roaring bitmap of the low ones, without empty parts.
// CRoaring trusts what it deserialises, so the portable form is validated here first: every container's order, counts
// and bounds.
#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/kinds/bitmap.hpp>
#include <map>
#include <memory>
#include <new>
#include <roaring/roaring.hh>

namespace bloomery {
namespace {

using integer_set = std::map<std::uint32_t, Roaring>;

integer_set& set_of(void* set) noexcept { return *static_cast<integer_set*>(set); }
const integer_set& set_of(const void* set) noexcept { return *static_cast<const integer_set*>(set); }
std::uint32_t high(std::uint64_t key) noexcept { return static_cast<std::uint32_t>(key >> 32U); }
std::uint32_t low(std::uint64_t key) noexcept { return static_cast<std::uint32_t>(key); }
std::uint64_t join(std::uint32_t high_bits, std::uint32_t low_bits) noexcept {
  return (std::uint64_t{high_bits} << 32U) | low_bits;
}

// Runs f, which may throw std::bad_alloc; `otherwise` is the answer then.
template <class T, class F>
T guarded(T otherwise, F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    return otherwise;
  }
}
template <class F>
void guarded(F&& f) noexcept {
  guarded(false, [&] {
    f();
    return true;
  });
}

void* create() noexcept { return new (std::nothrow) integer_set; }
void destroy(void* set) noexcept { delete &set_of(set); }
void* clone(const void* set) noexcept {
  return guarded<void*>(nullptr, [&] { return new integer_set(set_of(set)); });
}
insert_result insert(void* set, std::uint64_t key) noexcept {
  return guarded(insert_result::full, [&] {
    return set_of(set)[high(key)].addChecked(low(key)) ? insert_result::inserted : insert_result::present;
  });
}
bool erase(void* set, std::uint64_t key) noexcept {
  return guarded(false, [&] {
    const auto part = set_of(set).find(high(key));
    if (part == set_of(set).end() || !part->second.removeChecked(low(key))) return false;
    if (part->second.isEmpty()) set_of(set).erase(part);
    return true;
  });
}
bool contains(const void* set, std::uint64_t key) noexcept {
  const auto part = set_of(set).find(high(key));
  return part != set_of(set).end() && part->second.contains(low(key));
}
void clear(void* set) noexcept { set_of(set).clear(); }
bool unite(void* set, const void* other) noexcept {
  return guarded(false, [&] {
    for (const auto& [key, part] : set_of(other)) set_of(set)[key] |= part;
    return true;
  });
}
void intersect(void* set, const void* other) noexcept {
  guarded([&] {
    for (auto part = set_of(set).begin(); part != set_of(set).end();) {
      const auto match = set_of(other).find(part->first);
      if (match != set_of(other).end()) part->second &= match->second;
      const bool keep = match != set_of(other).end() && !part->second.isEmpty();
      part = keep ? std::next(part) : set_of(set).erase(part);
    }
  });
}
bool equal(const void* a, const void* b) noexcept { return set_of(a) == set_of(b); }
std::uint64_t cardinality(const void* set) noexcept {
  std::uint64_t count = 0;
  for (const auto& [key, part] : set_of(set)) count += part.cardinality();
  return count;
}
std::uint64_t range(const void* set) noexcept {
  if (set_of(set).empty()) return 0;
  const auto& [first_key, first] = *set_of(set).begin();
  const auto& [last_key, last] = *set_of(set).rbegin();
  return join(last_key, last.maximum()) - join(first_key, first.minimum());
}
std::uint64_t memory_bytes(const void* set) noexcept {
  constexpr std::uint64_t part_bytes = sizeof(integer_set::value_type) + 4 * sizeof(void*);  // with its tree node
  std::uint64_t bytes = sizeof(integer_set);
  for (const auto& [key, part] : set_of(set)) bytes += part_bytes + part.getSizeInBytes(true);
  return bytes;
}

// A copy in which every container has the smallest of its forms, whatever inserts and erases led here.
Roaring smallest(const Roaring& part) {
  Roaring copy = part;
  copy.removeRunCompression();
  copy.runOptimize();
  return copy;
}

// u64 number of parts, then each part: u32 high bits, the portable 32-bit form.
std::uint64_t serialized_bytes(const void* set) noexcept {
  return guarded(std::uint64_t{0}, [&] {
    std::uint64_t bytes = 8;
    for (const auto& [key, part] : set_of(set)) bytes += 4 + smallest(part).getSizeInBytes(true);
    return bytes;
  });
}
void serialize(const void* set, std::byte* out) noexcept {
  guarded([&] {
    store_le(out, std::uint64_t{set_of(set).size()});
    out += 8;
    for (const auto& [key, part] : set_of(set)) {
      store_le(out, key);
      out += 4;
      out += smallest(part).write(reinterpret_cast<char*>(out), true);
    }
  });
}

// One container of `keys` values; false when its values are not in order or do not add up.
bool check_runs(byte_reader& reader, std::uint32_t keys) noexcept {
  const std::uint32_t runs = reader.read<std::uint16_t>();
  std::uint32_t counted = 0;
  std::uint32_t next = 0;  // the smallest value that the next run may start with: a gap is left between runs
  for (std::uint32_t i = 0; i < runs && reader.ok(); ++i) {
    const std::uint32_t start = reader.read<std::uint16_t>();
    const std::uint32_t length = reader.read<std::uint16_t>() + 1U;
    if (start < next || start + length > 65536) return false;
    next = start + length + 1;
    counted += length;
  }
  return reader.ok() && runs > 0 && counted == keys;
}
bool check_array(byte_reader& reader, std::uint32_t keys) noexcept {
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < keys; ++i) {
    const std::uint32_t value = reader.read<std::uint16_t>();
    if (!reader.ok() || value < next) return false;
    next = value + 1;
  }
  return true;
}
bool check_bits(byte_reader& reader, std::uint32_t keys) noexcept {
  std::uint32_t counted = 0;
  for (int i = 0; i < 1024; ++i) counted += static_cast<std::uint32_t>(std::popcount(reader.read<std::uint64_t>()));
  return reader.ok() && counted == keys;
}

// Checks one 32-bit bitmap in the portable form and gives its size in bytes, or 0.
std::size_t check_part(std::span<const std::byte> bytes) noexcept {
  constexpr std::uint32_t cookie_without_runs = 12346;
  constexpr std::uint32_t cookie_with_runs = 12347;  // in the low half; the high half is containers - 1
  constexpr std::uint32_t largest_array = 4096;
  byte_reader reader(bytes);
  const auto cookie = reader.read<std::uint32_t>();
  const bool with_runs = (cookie & 0xffffU) == cookie_with_runs;
  if (!with_runs && cookie != cookie_without_runs) return 0;
  const std::uint32_t containers = with_runs ? (cookie >> 16U) + 1 : reader.read<std::uint32_t>();
  if (!reader.ok() || containers == 0 || containers > 65536) return 0;
  const auto run_flags = reader.take(with_runs ? (containers + 7) / 8 : 0);
  const auto heads = reader.take(std::size_t{containers} * 4);
  const bool with_offsets = !with_runs || containers >= 4;
  const auto offsets = reader.take(with_offsets ? std::size_t{containers} * 4 : 0);
  if (!reader.ok()) return 0;
  std::uint32_t next_key = 0;
  for (std::uint32_t i = 0; i < containers; ++i) {
    const std::uint32_t key = load_le<std::uint16_t>(heads.data() + std::size_t{i} * 4);
    const std::uint32_t keys = load_le<std::uint16_t>(heads.data() + std::size_t{i} * 4 + 2) + 1U;
    if (key < next_key) return 0;
    next_key = key + 1;
    if (with_offsets && load_le<std::uint32_t>(offsets.data() + std::size_t{i} * 4) != reader.position()) return 0;
    const bool is_run = with_runs && (std::to_integer<unsigned>(run_flags[i / 8]) >> (i % 8) & 1U) != 0;
    const bool good = is_run                  ? check_runs(reader, keys)
                      : keys <= largest_array ? check_array(reader, keys)
                                              : check_bits(reader, keys);
    if (!good) return 0;
  }
  return reader.position();
}

void* deserialize(std::span<const std::byte> bytes, const char** why) noexcept {
  return guarded<void*>(nullptr, [&]() -> void* {
    byte_reader reader(bytes);
    const auto parts = reader.read<std::uint64_t>();
    if (!reader.ok() || parts > bytes.size() / 8) {
      *why = "the bitmap's number of parts does not fit its size";
      return nullptr;
    }
    auto set = std::make_unique<integer_set>();
    for (std::uint64_t i = 0; i < parts; ++i) {
      const auto key = reader.read<std::uint32_t>();
      const auto rest = bytes.subspan(reader.position());
      const std::size_t size = reader.ok() ? check_part(rest) : 0;
      if (size == 0 || (!set->empty() && set->rbegin()->first >= key)) {
        *why = "a part of the bitmap is damaged";
        return nullptr;
      }
      reader.take(size);
      set->emplace_hint(set->end(), key, Roaring::readSafe(reinterpret_cast<const char*>(rest.data()), size));
    }
    if (reader.remaining() != 0) {
      *why = "the bitmap is followed by other bytes";
      return nullptr;
    }
    return set.release();
  });
}

constexpr bitmap_engine engine = {.create = create,
                                  .destroy = destroy,
                                  .clone = clone,
                                  .insert = insert,
                                  .erase = erase,
                                  .contains = contains,
                                  .clear = clear,
                                  .unite = unite,
                                  .intersect = intersect,
                                  .equal = equal,
                                  .cardinality = cardinality,
                                  .range = range,
                                  .memory_bytes = memory_bytes,
                                  .serialized_bytes = serialized_bytes,
                                  .serialize = serialize,
                                  .deserialize = deserialize};

}  // namespace

void enable_bitmap() noexcept { detail::bitmap_engine_slot().store(&engine, std::memory_order_release); }

}  // namespace bloomery

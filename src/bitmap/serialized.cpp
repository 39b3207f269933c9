#include "src/bitmap/serialized.hpp"

#include <algorithm>
#include <array>
#include <bloomery/core/bytes.hpp>
#include <concepts>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace bloomery::inline BLOOMERY_ABI {
namespace bitmap_engine_parts {

namespace {

constexpr std::uint32_t cookie_without_runs = 12346;
constexpr std::uint32_t cookie_with_runs = 12347;  // in the low half; the high half is containers - 1
constexpr std::size_t least_offsets = 4;           // with runs, fewer containers have no table of offsets

// The encoding in which a container is written: its smallest one, or the one it has.
template <class Choose>
std::uint64_t part_bytes(const part& of, Choose&& choose) noexcept {
  std::uint64_t bytes = 0;
  bool with_runs = false;
  for (const container& each : of) {
    const encoding as = choose(each);
    with_runs |= as == encoding::runs;
    bytes += 4 + encoded_bytes(as, each.keys, as == encoding::runs ? count_runs(each) : 0);
  }
  bytes += with_runs ? 4 + (of.size() + 7) / 8 : 8;
  if (!with_runs || of.size() >= least_offsets) bytes += 4 * of.size();
  return bytes;
}

template <std::unsigned_integral T>
void put(piece_writer& out, T value) noexcept {
  store_le(out.take(sizeof value), value);
}

void put_container(piece_writer& out, const container& from, encoding as) noexcept {
  if (as == encoding::runs) put(out, static_cast<std::uint16_t>(count_runs(from)));
  if (as == from.as) {
    for (const std::uint16_t word : from.words) put(out, word);
    return;
  }
  bit_words words;
  expand(from, words);
  if (as == encoding::bits) {
    for (const std::uint16_t word : words) put(out, word);
  } else if (as == encoding::array) {
    each_bit(words, [&](std::uint32_t value) { put(out, static_cast<std::uint16_t>(value)); });
  } else {
    each_bit_run(words, [&](std::uint32_t first, std::uint32_t length) {
      put(out, static_cast<std::uint16_t>(first));
      put(out, static_cast<std::uint16_t>(length - 1));
    });
  }
}

void put_part(piece_writer& out, const part& from) noexcept {
  const bool with_runs = std::any_of(from.begin(), from.end(),
                                     [](const container& each) { return smallest_encoding(each) == encoding::runs; });
  const auto containers = static_cast<std::uint32_t>(from.size());
  std::size_t offset = 4 + 4 * from.size();  // of the next container in the part
  if (with_runs) {
    put(out, cookie_with_runs | (containers - 1) << 16U);
    for (std::size_t i = 0; i < from.size(); i += 8) {
      unsigned flags = 0;
      for (std::size_t j = i; j < from.size() && j < i + 8; ++j) {
        flags |= (smallest_encoding(from[j]) == encoding::runs ? 1U : 0U) << (j - i);
      }
      put(out, static_cast<std::uint8_t>(flags));
    }
    offset += (from.size() + 7) / 8;
  } else {
    put(out, cookie_without_runs);
    put(out, containers);
    offset += 4;
  }
  for (const container& each : from) {
    put(out, each.high);
    put(out, static_cast<std::uint16_t>(each.keys - 1));
  }
  if (!with_runs || from.size() >= least_offsets) {
    offset += 4 * from.size();
    for (const container& each : from) {
      put(out, static_cast<std::uint32_t>(offset));
      const std::uint32_t runs = count_runs(each);
      offset += encoded_bytes(smallest_encoding(each.keys, runs), each.keys, runs);
    }
  }
  for (const container& each : from) put_container(out, each, smallest_encoding(each));
}

// What is read is checked before it is believed: numbers against the bytes that are left, and each container's values.
class set_reader {
 public:
  explicit set_reader(const byte_feed& from) noexcept : from_(from), size_(from.left_bytes()) {}

  // Reading is over when one of these fails: the source's error, or what is wrong with the bytes.
  [[nodiscard]] const result<void>& done() const noexcept { return done_; }
  [[nodiscard]] bool fill(std::span<std::byte> out) noexcept {
    if (out.size() > from_.left_bytes()) return damaged();
    if (done_) done_ = from_.read(out);
    return done_.has_value();
  }
  template <std::unsigned_integral T>
  T number() noexcept {
    std::array<std::byte, sizeof(T)> bytes{};
    return fill(bytes) ? load_le<T>(bytes.data()) : T{0};
  }
  // Nothing is requested that is not there.
  bool words(std::vector<std::uint16_t>& out, std::size_t count) {
    if (count > from_.left_bytes() / 2) return damaged();
    out.resize(count);
    if (!fill(std::as_writable_bytes(std::span(out)))) return false;
    for (std::uint16_t& word : out) word = little_endian(word);
    return true;
  }
  bool damaged(std::string_view why = "a part of the bitmap is damaged") noexcept {
    if (done_) done_ = fail(errc::codec_failed, why);
    return false;
  }
  [[nodiscard]] std::uint64_t left_bytes() const noexcept { return from_.left_bytes(); }
  [[nodiscard]] std::uint64_t position() const noexcept { return size_ - from_.left_bytes(); }

 private:
  const byte_feed& from_;
  std::uint64_t size_;
  result<void> done_{};
};

// Whether the values are in order and as many as stated, with a gap between runs.
bool is_sound(const container& of) noexcept {
  if (of.as == encoding::bits) return count_bits(of.words) == of.keys;
  std::uint32_t next = 0;
  if (of.as == encoding::array) {
    for (const std::uint32_t value : of.words) {
      if (value < next) return false;
      next = value + 1;
    }
    return true;
  }
  std::uint32_t counted = 0;
  for (std::size_t i = 0; i < of.words.size(); i += 2) {
    const std::uint32_t start = of.words[i];
    const std::uint32_t length = of.words[i + 1] + 1U;
    if (start < next || start + length > 65536) return false;
    next = start + length + 1;
    counted += length;
  }
  return !of.words.empty() && counted == of.keys;
}

// One 32-bit bitmap in the portable encoding. Beside its containers that takes up to 520 KiB, for its tables.
bool read_part(set_reader& from, part& to) {
  const std::uint64_t start = from.position();
  const auto cookie = from.number<std::uint32_t>();
  const bool with_runs = (cookie & 0xffffU) == cookie_with_runs;
  if (!with_runs && cookie != cookie_without_runs) return from.damaged();
  const std::uint32_t containers = with_runs ? (cookie >> 16U) + 1 : from.number<std::uint32_t>();
  if (containers == 0 || containers > 65536 || containers > from.left_bytes() / 4) return from.damaged();
  std::vector<std::byte> run_flags(with_runs ? (containers + 7) / 8 : 0);
  std::vector<std::uint16_t> heads;
  std::vector<std::uint16_t> offsets;
  const bool with_offsets = !with_runs || containers >= least_offsets;
  if (!from.fill(run_flags) || !from.words(heads, std::size_t{containers} * 2)) return false;
  if (with_offsets && !from.words(offsets, std::size_t{containers} * 2)) return false;
  std::uint32_t next_key = 0;
  for (std::uint32_t i = 0; i < containers; ++i) {
    container each{.high = heads[2 * std::size_t{i}], .keys = heads[2 * std::size_t{i} + 1] + 1U};
    if (each.high < next_key) return from.damaged();
    next_key = each.high + 1U;
    const std::uint64_t offset = from.position() - start;
    if (with_offsets &&
        (offsets[2 * std::size_t{i}] | std::uint32_t{offsets[2 * std::size_t{i} + 1]} << 16U) != offset) {
      return from.damaged();
    }
    const bool is_run = with_runs && (std::to_integer<unsigned>(run_flags[i / 8]) >> (i % 8) & 1U) != 0;
    each.as = is_run ? encoding::runs : encoding_without_runs(each.keys);
    const std::size_t words = each.as == encoding::runs    ? 2 * std::size_t{from.number<std::uint16_t>()}
                              : each.as == encoding::array ? each.keys
                                                           : bits_bytes / 2;
    if (!from.words(each.words, words)) return false;
    if (!is_sound(each)) return from.damaged();
    to.push_back(std::move(each));
  }
  return true;
}

}  // namespace

std::uint64_t memory_bytes(const integer_set& set) noexcept {
  constexpr std::uint64_t node_bytes = 80;  // of the tree, with the part's own list
  std::uint64_t bytes = sizeof(integer_set);
  for (const auto& [key, of] : set) {
    bytes += node_bytes + part_bytes(of, [](const container& each) { return each.as; });
  }
  return bytes;
}

std::uint64_t serialized_bytes(const integer_set& set) noexcept {
  std::uint64_t bytes = 8;
  for (const auto& [key, of] : set) {
    bytes += 4 + part_bytes(of, [](const container& each) { return smallest_encoding(each); });
  }
  return bytes;
}

result<void> serialize(const integer_set& set, const byte_sink& sink) noexcept {
  piece_writer out(sink);
  put(out, std::uint64_t{set.size()});
  for (const auto& [key, from] : set) {
    put(out, key);
    put_part(out, from);
  }
  return out.flush();
}

result<integer_set*> deserialize(const byte_feed& bytes) noexcept {
  const failure no_memory = fail(errc::out_of_memory, "the bitmap", {bytes.left_bytes()});
  return guarded<result<integer_set*>>(no_memory, [&]() -> result<integer_set*> {
    set_reader from(bytes);
    const auto parts = from.number<std::uint64_t>();
    if (!from.done() || parts > from.left_bytes() / 8 + 1) {
      from.damaged("the bitmap's number of parts does not fit its size");
      return fail(from.done().error());
    }
    auto set = std::make_unique<integer_set>();
    for (std::uint64_t i = 0; i < parts; ++i) {
      const auto key = from.number<std::uint32_t>();
      part next;
      if (!set->empty() && set->rbegin()->first >= key) from.damaged();
      if (!from.done() || !read_part(from, next)) return fail(from.done().error());
      set->emplace_hint(set->end(), key, std::move(next));
    }
    if (from.left_bytes() != 0) return fail(errc::codec_failed, "the bitmap is followed by other bytes");
    return set.release();
  });
}

}  // namespace bitmap_engine_parts
}  // namespace bloomery::inline BLOOMERY_ABI

#include <bloomery/native/rans.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace rans {

BLOOMERY_BODY counts count_bytes(std::span<const std::byte> from) noexcept {
  counts all{};
  for (const std::byte byte : from) ++all[std::to_integer<std::size_t>(byte)];
  return all;
}

BLOOMERY_BODY std::uint32_t share(std::uint64_t count, std::uint64_t of, std::uint64_t bytes,
                                  std::uint32_t among) noexcept {
  if (count == 0) return 0;
  while (of >= std::uint64_t{1} << 32U) {
    of >>= 1U;
    count >>= 1U;
  }
  const std::uint64_t all = of * bytes;
  const std::uint64_t found = (count * among + all / 2) / all;
  return found == 0 ? 1U : static_cast<std::uint32_t>(found < most_frequent ? found : most_frequent);
}

// By the number of set bits; false when they do not leave byte 0 its share, and are to be made among fewer.
BLOOMERY_BODY bool fill_by_set_bits(std::span<const std::uint32_t, 9> of_one, frequencies& to) noexcept {
  std::uint64_t sum = 0;
  for (unsigned bits = 1; bits <= 8; ++bits) sum += std::uint64_t{bytes_with_bits[bits]} * of_one[bits];
  if (sum < scale - most_frequent || sum > most_frequent) return false;
  for (unsigned byte = 1; byte < 256; ++byte) {
    to[byte] = of_one[static_cast<std::size_t>(std::popcount(byte))];
    if (to[byte] > most_frequent) return false;
  }
  to[0] = scale - static_cast<std::uint32_t>(sum);
  return true;
}

BLOOMERY_BODY std::array<std::uint32_t, 9> choose_by_set_bits(const counts& found, std::uint64_t size) noexcept {
  std::array<std::uint64_t, 9> with{};
  for (unsigned byte = 0; byte < 256; ++byte) with[static_cast<std::size_t>(std::popcount(byte))] += found[byte];
  std::array<std::uint32_t, 9> of_one{};
  frequencies unused{};
  // What is too rare for its share gets 1, which adds up to 255 at most.
  for (const std::uint32_t among : {scale, most_frequent - 255}) {
    for (unsigned bits = 1; bits <= 8; ++bits) of_one[bits] = share(with[bits], size, bytes_with_bits[bits], among);
    if (of_one[1] < 8) of_one[1] = 8;  // so that byte 0 is never above what is allowed
    if (fill_by_set_bits(of_one, unused)) break;
  }
  return of_one;
}

BLOOMERY_BODY frequencies choose_by_byte(const counts& found, std::uint64_t size) noexcept {
  frequencies of{};
  std::uint32_t sum = 0;
  unsigned largest = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    of[byte] = share(found[byte], size, 1, most_frequent - 255);
    sum += of[byte];
    if (of[byte] > of[largest]) largest = byte;
  }
  // The rest belongs to the most frequent one, as far as it may have it.
  const std::uint32_t more = scale - sum;
  const std::uint32_t given = more < most_frequent - of[largest] ? more : most_frequent - of[largest];
  of[largest] += given;
  of[(largest + 1) % 256] += more - given;
  return of;
}

// How many bits the payload will take.
BLOOMERY_BODY double cost_bits(const counts& found, const frequencies& of) noexcept {
  double bits = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (found[byte] != 0) bits += static_cast<double>(found[byte]) * (scale_bits - std::log2(of[byte]));
  }
  return bits;
}

// Where each byte's share of 65536 begins.
BLOOMERY_BODY frequencies begins_of(const frequencies& of) noexcept {
  frequencies begins{};
  std::uint32_t sum = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    begins[byte] = sum;
    sum += of[byte];
  }
  return begins;
}

BLOOMERY_BODY std::span<std::byte> encode(std::span<const std::byte> from, const frequencies& of,
                                          std::span<std::byte> to) noexcept {
  const frequencies begins = begins_of(of);
  std::array<std::uint64_t, 2> x = {least_state, least_state};
  std::size_t at = to.size();
  if (at < 16) return {};
  for (std::size_t i = from.size(); i-- > 0;) {
    const auto byte = std::to_integer<std::size_t>(from[i]);
    std::uint64_t& state = x[i % 2];
    const std::uint64_t frequency = of[byte];
    if (state >= frequency << 47U) {
      if (at < 16 + 4) return {};
      at -= 4;
      store_le(to.data() + at, static_cast<std::uint32_t>(state));
      state >>= 32U;
    }
    state = (state / frequency << scale_bits) + state % frequency + begins[byte];
  }
  at -= 16;
  store_le(to.data() + at, x[0]);
  store_le(to.data() + at + 8, x[1]);
  return to.subspan(at);
}

BLOOMERY_BODY result<void> decode(std::span<const std::byte> from, const frequencies& of, std::span<std::byte> to,
                                  extent how_much) noexcept {
  if (from.size() < 16) return damaged("it ends too early");
  auto table = aligned_buffer::make(scale, "unpacking the filter");
  if (!table) return fail(table.error());
  auto* const byte_at = reinterpret_cast<std::uint8_t*>(table->data());
  std::array<slot, 256> slots{};
  const frequencies begins = begins_of(of);
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (of[byte] == 0) continue;
    slots[byte] = {static_cast<std::uint16_t>(of[byte]), static_cast<std::uint16_t>(begins[byte])};
    std::memset(byte_at + begins[byte], static_cast<int>(byte), of[byte]);
  }
  std::uint64_t even = load_le<std::uint64_t>(from.data());
  std::uint64_t odd = load_le<std::uint64_t>(from.data() + 8);
  for (const std::uint64_t state : {even, odd}) {
    if (state < least_state || state >= state_end) return damaged("it begins with a number that no coder makes");
  }
  std::size_t at = 16;
  const auto next = [&](std::uint64_t& state, std::byte& out) {
    const auto low = static_cast<std::uint32_t>(state % scale);
    const std::uint8_t byte = byte_at[low];
    out = static_cast<std::byte>(byte);
    // Below 2^63 again: the frequency is below 2^16, the rest of the state below 2^47.
    state = slots[byte].frequency * (state >> scale_bits) + low - slots[byte].begin;
    if (state >= least_state) return true;
    if (from.size() - at < 4) return false;
    state = state << 32U | load_le<std::uint32_t>(from.data() + at);
    at += 4;
    return true;
  };
  std::size_t i = 0;
  for (; i + 2 <= to.size(); i += 2) {
    if (!next(even, to[i]) || !next(odd, to[i + 1])) return damaged("it ends too early");
  }
  if (i < to.size() && !next(even, to[i])) return damaged("it ends too early");
  if (how_much == extent::first_bytes) return {};
  if (at != from.size()) return damaged("it unpacks to more bytes than the header says");
  if (even != least_state || odd != least_state) return damaged("it does not end where coding began");
  return {};
}

BLOOMERY_BODY std::size_t write_table(std::span<const std::uint32_t, 9> of_one, std::span<std::byte> to) noexcept {
  for (unsigned bits = 1; bits <= 8; ++bits) {
    store_le(to.data() + std::size_t{2} * (bits - 1), static_cast<std::uint16_t>(of_one[bits]));
  }
  return set_bits_table_bytes;
}

BLOOMERY_BODY std::size_t write_table(const frequencies& of, std::span<std::byte> to) noexcept {
  std::memset(to.data(), 0, byte_map_bytes);
  std::size_t at = byte_map_bytes;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (of[byte] == 0) continue;
    to[byte / 8] |= std::byte{1} << (byte % 8);
    store_le(to.data() + at, static_cast<std::uint16_t>(of[byte]));
    at += 2;
  }
  return at;
}

BLOOMERY_BODY result<std::size_t> read_table(form how, std::span<const std::byte> from, frequencies& to) noexcept {
  if (how == form::by_set_bits) {
    if (from.size() < set_bits_table_bytes) return damaged("it ends too early");
    std::array<std::uint32_t, 9> of_one{};
    for (unsigned bits = 1; bits <= 8; ++bits) {
      of_one[bits] = load_le<std::uint16_t>(from.data() + std::size_t{2} * (bits - 1));
    }
    if (!fill_by_set_bits(of_one, to)) return damaged("its frequencies are not usable");
    return set_bits_table_bytes;
  }
  if (from.size() < byte_map_bytes) return damaged("it ends too early");
  std::size_t at = byte_map_bytes;
  std::uint64_t sum = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if ((from[byte / 8] >> (byte % 8) & std::byte{1}) == std::byte{0}) continue;
    if (from.size() - at < 2) return damaged("it ends too early");
    to[byte] = load_le<std::uint16_t>(from.data() + at);
    at += 2;
    if (to[byte] == 0 || to[byte] > most_frequent) return damaged("its frequencies are not usable");
    sum += to[byte];
  }
  if (sum != scale) return damaged("its frequencies are not usable");
  return at;
}

BLOOMERY_BODY result<std::uint64_t> compress(std::span<const std::byte> from, std::span<std::byte> to,
                                             int /*level*/) noexcept {
  if (to.size() < bound(from.size())) return damaged("there is no room for it");
  const counts found = count_bytes(from);
  std::size_t at = 1;
  if (!from.empty()) {
    const auto of_one = choose_by_set_bits(found, from.size());
    const frequencies of = choose_by_byte(found, from.size());
    frequencies by_bits{};
    const bool usable = fill_by_set_bits(of_one, by_bits);
    std::size_t map_bytes = byte_map_bytes;
    for (const std::uint32_t frequency : of) map_bytes += frequency != 0 ? 2 : 0;
    const double by_bits_cost = cost_bits(found, by_bits) + 8.0 * set_bits_table_bytes;
    const double by_byte_cost = cost_bits(found, of) + 8.0 * static_cast<double>(map_bytes);
    const bool bits_win = usable && by_bits_cost <= by_byte_cost;
    to[0] = static_cast<std::byte>(bits_win ? form::by_set_bits : form::by_byte);
    at += bits_win ? write_table(of_one, to.subspan(1)) : write_table(of, to.subspan(1));
    const auto coded =
        encode(from, bits_win ? by_bits : of, to.subspan(at, from.size() + 1 > at ? from.size() + 1 - at : 0));
    if (!coded.empty()) {
      std::memmove(to.data() + at, coded.data(), coded.size());
      return at + coded.size();
    }
  }
  to[0] = static_cast<std::byte>(form::stored);
  if (!from.empty()) std::memcpy(to.data() + 1, from.data(), from.size());
  return from.size() + 1;
}

BLOOMERY_BODY result<void> unpack(std::span<const std::byte> from, std::span<std::byte> to, extent how_much) noexcept {
  if (from.empty()) return damaged("it ends too early");
  const auto how = static_cast<form>(from[0]);
  from = from.subspan(1);
  if (how == form::stored) {
    const bool fits = how_much == extent::all ? from.size() == to.size() : from.size() > to.size();
    if (!fits) return damaged("it does not have as many bytes as the header says");
    if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
    return {};
  }
  if (how != form::by_set_bits && how != form::by_byte) return damaged("its form is none that is known");
  frequencies of{};
  const auto table_bytes = read_table(how, from, of);
  if (!table_bytes) return fail(table_bytes.error());
  return decode(from.subspan(*table_bytes), of, to, how_much);
}

BLOOMERY_BODY result<void> decompress(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
  return unpack(from, to, extent::all);
}

BLOOMERY_BODY result<void> unpack_first(std::span<const std::byte> from, std::span<std::byte> to) noexcept {
  return unpack(from, to, extent::first_bytes);
}

}  // namespace rans
}  // namespace bloomery::inline BLOOMERY_ABI

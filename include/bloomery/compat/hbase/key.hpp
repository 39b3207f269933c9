// compat/hbase/key.hpp: what HBase hashes of a cell for the Bloom filter of its file.
//
//     ROW                      the row
//     ROWPREFIX_FIXED_LENGTH   the first bytes of the row, or all of a shorter one
//     ROWCOL                   row and column, as the beginning of a KeyValue's key:
//
//         u16   length of the row, big-endian
//         row
//         u8    length of the family: 0, the family is in no Bloom key
//         qualifier
//         i64   timestamp, the latest there is: 7f ff ff ff ff ff ff ff
//         u8    type Maximum: ff
//
// Keys of ROWCOL are ordered by row and then by qualifier, not by these bytes. The plain row is not added beside them;
// HBase looks up (row, no qualifier), too, which is in the filter where a whole row or family was deleted.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/core/bytes.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI::hbase {

enum class bloom_type : std::uint8_t { row, rowcol, rowprefix };

// As in a file, and as in the shell's BLOOMFILTER =>.
constexpr std::string_view name_of(bloom_type type) noexcept {
  switch (type) {
    case bloom_type::row:
      return "ROW";
    case bloom_type::rowcol:
      return "ROWCOL";
    case bloom_type::rowprefix:
      return "ROWPREFIX_FIXED_LENGTH";
  }
  return {};
}

inline constexpr std::size_t max_row_bytes = 0x7fff;  // a short in Java

struct cell_name {
  std::string_view row{};
  std::string_view qualifier{};
  // The order of keys in a file.
  friend std::strong_ordering operator<=>(const cell_name& a, const cell_name& b) noexcept {
    if (const int rows = a.row.compare(b.row); rows != 0) return rows <=> 0;
    return a.qualifier.compare(b.qualifier) <=> 0;
  }
  friend bool operator==(const cell_name& a, const cell_name& b) noexcept {
    return a.row == b.row && a.qualifier == b.qualifier;
  }
};

inline constexpr std::array<std::byte, 9> rowcol_tail = {std::byte{0x7f}, std::byte{0xff}, std::byte{0xff},
                                                         std::byte{0xff}, std::byte{0xff}, std::byte{0xff},
                                                         std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};

constexpr std::size_t rowcol_key_bytes(const cell_name& cell) noexcept {
  return 2 + cell.row.size() + 1 + cell.qualifier.size() + rowcol_tail.size();
}

// Into rowcol_key_bytes of `out`. The row has at most max_row_bytes.
inline std::string_view write_rowcol_key(const cell_name& cell, std::span<char> out) noexcept {
  char* to = out.data();
  *to++ = static_cast<char>(cell.row.size() >> 8U);
  *to++ = static_cast<char>(cell.row.size());
  to = std::copy(cell.row.begin(), cell.row.end(), to);
  *to++ = '\0';
  to = std::copy(cell.qualifier.begin(), cell.qualifier.end(), to);
  std::memcpy(to, rowcol_tail.data(), rowcol_tail.size());
  return {out.data(), rowcol_key_bytes(cell)};
}

// Nothing: these bytes are no such key.
inline std::optional<cell_name> read_rowcol_key(std::string_view key) noexcept {
  constexpr std::size_t least = 2 + 1 + rowcol_tail.size();
  if (key.size() < least) return {};
  const auto byte = [key](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(key[i])); };
  const std::size_t row_bytes = byte(0) << 8U | byte(1);
  if (row_bytes > max_row_bytes || key.size() - least < row_bytes || key[2 + row_bytes] != '\0') return {};
  if (std::memcmp(key.data() + key.size() - rowcol_tail.size(), rowcol_tail.data(), rowcol_tail.size()) != 0) return {};
  return cell_name{key.substr(2, row_bytes), key.substr(3 + row_bytes, key.size() - least - row_bytes)};
}

// The order of Bloom keys in a file. Keys of ROWCOL are such.
inline bool before(bloom_type type, std::string_view a, std::string_view b) noexcept {
  if (type != bloom_type::rowcol) return a < b;
  const auto one = read_rowcol_key(a);
  const auto two = read_rowcol_key(b);
  return one && two ? *one < *two : a < b;
}

// What of a row is in a filter of type ROWPREFIX_FIXED_LENGTH.
constexpr std::string_view prefix_of(std::string_view row, std::size_t prefix_bytes) noexcept {
  return row.substr(0, prefix_bytes);
}

}  // namespace bloomery::inline BLOOMERY_ABI::hbase

// native/foreign.hpp: describes a file that is not a filter, in words that are safe to print.
//
// Whoever provides a wrong file should see at once which wrong file it is: its first bytes, with everything unprintable
// escaped, and a guess when the bytes are well known.
#pragma once

#include <array>
#include <bloomery/core/result.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI::detail {

BLOOMERY_API bool starts_with(std::span<const std::byte> bytes, std::string_view beginning) noexcept;

struct known_beginning {
  std::string_view bytes;
  std::string_view guess;
};
inline constexpr std::array known_beginnings = {
    known_beginning{"\x1f\x8b", " (gzip: unpack it first)"},
    known_beginning{"\x28\xb5\x2f\xfd", " (zstd: unpack it first)"},
    known_beginning{{"\xfd\x37zXZ\0", 6}, " (xz: unpack it first)"},
    known_beginning{"BZh", " (bzip2: unpack it first)"},
    known_beginning{"PK\x03\x04", " (zip: unpack it first)"},
    known_beginning{"\x7f\x45LF", " (a program)"},
    known_beginning{"\x89PNG\r\n", " (a PNG image)"},
    known_beginning{"\xff\xd8\xff", " (a JPEG image)"},
    known_beginning{"%PDF-", " (a PDF document)"},
    known_beginning{{"SQLite format 3\0", 16}, " (an SQLite database)"},
    known_beginning{"PAR1", " (a Parquet file)"},
    known_beginning{"REDIS0", " (a Redis database file)"},
    known_beginning{{"\xac\xed\x00\x05", 4}, " (a serialised Java object)"},
    known_beginning{"\x80\x04\x95", " (a pickled Python object)"},
    known_beginning{"\x80\x05\x95", " (a pickled Python object)"},
    known_beginning{"DATABLK", " (a file of HBase)"},
};

BLOOMERY_API std::string_view guess_of(std::span<const std::byte> first) noexcept;

// Quoted, at most 12 bytes of the file.
BLOOMERY_API failure not_a_filter(std::span<const std::byte> first) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI::detail

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/native/foreign.cpp>
#endif

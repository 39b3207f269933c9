#include "cli/keys/input_signature.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bloomery/native/header.hpp>
#include <bloomery/native/text.hpp>

namespace bloomery::cli {
namespace {

// Byte i of the input is from low[i] to high[i].
struct signature {
  input_type type;
  std::string_view low;
  std::string_view high;
  std::string_view what{};  // of what is refused: the input ...
  std::string_view remedy{};
};

constexpr signature unpacked(input_type type, std::string_view bytes) { return {type, bytes, bytes}; }
constexpr signature refused(std::string_view bytes, std::string_view what, std::string_view remedy) {
  return {input_type::refused, bytes, bytes, what, remedy};
}

constexpr std::string_view build_from_keys = "give the keys that it was built from";
constexpr std::string_view bzip2 = "is compressed with bzip2";
constexpr std::string_view bunzip2 = "unpack it first (bzip2 -dc FILE | bloomery ...)";
constexpr std::string_view lz4 = "is compressed with lz4";
constexpr std::string_view unlz4 = "unpack it first (lz4 -dc FILE | bloomery ...)";
constexpr std::string_view lzma = "is compressed with lzma, the format before xz";
constexpr std::string_view unlzma = "unpack it first (lzma -dc FILE | bloomery ...)";

constexpr std::array signatures = {
    unpacked(input_type::gzip, {"\x1f\x8b\x08", 3}),
    unpacked(input_type::zstd, {"\x28\xb5\x2f\xfd", 4}),
    // A zstd file may begin with a skippable frame.
    signature{input_type::zstd, {"\x50\x2a\x4d\x18", 4}, {"\x5f\x2a\x4d\x18", 4}},
    unpacked(input_type::xz, {"\xfd\x37\x7a\x58\x5a\x00", 6}),
    // The block size and, after it, the first block (the digits of pi) or the end of an empty file (those of its root).
    signature{input_type::refused, "BZh1\x31\x41\x59\x26\x53\x59", "BZh9\x31\x41\x59\x26\x53\x59", bzip2, bunzip2},
    signature{input_type::refused, "BZh1\x17\x72\x45\x38\x50\x90", "BZh9\x17\x72\x45\x38\x50\x90", bzip2, bunzip2},
    refused({"\x04\x22\x4d\x18", 4}, lz4, unlz4),
    refused({"\x02\x21\x4c\x18", 4}, lz4, unlz4),  // the legacy frame
    // Properties as every encoder sets them, a dictionary of a multiple of 64 KiB, the size (unknown, or below 1 TiB),
    // and the first byte of the code, which is always 0.
    signature{input_type::refused, std::string_view("\x5d\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0", 14),
              std::string_view("\x5d\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0", 14), lzma, unlzma},
    signature{input_type::refused, std::string_view("\x5d\0\0\0\0\0\0\0\0\0\0\0\0\0", 14),
              std::string_view("\x5d\0\0\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 14), lzma, unlzma},
    refused({"LZIP\x01", 5}, "is compressed with lzip", "unpack it first (lzip -dc FILE | bloomery ...)"),
    refused({"\x1f\x9d\x90", 3}, "is compressed with compress", "unpack it first (gzip -dc FILE | bloomery ...)"),
    refused({"PK\x03\x04", 4}, "is a zip archive", "unpack it first (unzip -p FILE | bloomery ...)"),
    refused({"7z\xbc\xaf\x27\x1c", 6}, "is a 7z archive", "unpack it first (7z x -so FILE | bloomery ...)"),
    refused(file_magic, "is a filter of Bloomery, not a list of keys", build_from_keys),
    refused(text_begin, "is a filter of Bloomery as text, not a list of keys", build_from_keys),
    refused({"BLMYDUP\0", 8}, "is a state of 'bloomery dedup', not a list of keys", "give the lines themselves"),
    // The output of a server's DUMP: a module's value with the id MBbloom.. .
    signature{input_type::refused, std::string_view("\x07\x81\x30\x16\xe5\xa2\x89\x80", 8),
              std::string_view("\x07\x81\x30\x16\xe5\xa2\x89\xbf", 8), "is a filter of RedisBloom, not a list of keys",
              build_from_keys},
};

// As far as both go.
bool agrees(const signature& candidate, std::string_view bytes) {
  for (std::size_t i = 0; i < std::min(bytes.size(), candidate.low.size()); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (byte < static_cast<unsigned char>(candidate.low[i]) || byte > static_cast<unsigned char>(candidate.high[i]))
      return false;
  }
  return true;
}

// Blanks may stand before the text encoding of a filter.
std::string_view without_blanks(std::string_view bytes) {
  while (!bytes.empty() && detail::is_blank(bytes.front())) bytes.remove_prefix(1);
  return bytes;
}

}  // namespace

input_detection detect_input(std::string_view first_bytes) {
  first_bytes = first_bytes.substr(0, signature_bytes);
  for (const signature& each : signatures) {
    const std::string_view bytes = each.low == text_begin ? without_blanks(first_bytes) : first_bytes;
    if (bytes.size() < each.low.size() || !agrees(each, bytes)) continue;
    if (each.type != input_type::refused) return {each.type};
    return {each.type, fmt::format("{}: {}, or --no-decompress to read its bytes unchanged", each.what, each.remedy)};
  }
  return {};
}

bool may_complete_signature(std::string_view first_bytes) {
  return std::any_of(signatures.begin(), signatures.end(), [&](const signature& each) {
    return first_bytes.size() < each.low.size() && agrees(each, first_bytes);
  });
}

}  // namespace bloomery::cli

// cli/keys/input_signature.hpp: what the first bytes of key input show it to be.
//
// Compressed input that the tool can unpack is unpacked. Other compressed data, archives, filter files and states of
// dedup are never meant as keys, but would pass for a few odd lines: they are refused by name. Signatures are as long
// as necessary: text that begins with BZh is text. --no-decompress reads such bytes unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bloomery::cli {

enum class input_type : std::uint8_t { plain, gzip, zstd, xz, refused };

struct input_detection {
  input_type type = input_type::plain;
  std::string refusal{};  // of `refused`: why, and what to do, for a message after the name of the input
};

// Later bytes do not matter.
inline constexpr std::size_t signature_bytes = 128;

// Of input that begins with these bytes, or has no more.
input_detection detect_input(std::string_view first_bytes);
// Whether further bytes could complete a signature.
bool may_complete_signature(std::string_view first_bytes);

}  // namespace bloomery::cli

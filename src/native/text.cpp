#include <bloomery/native/text.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

BLOOMERY_BODY failure bad_character(char c, std::uint64_t at) noexcept {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "byte %llu is 0x%02x", static_cast<unsigned long long>(at),
                static_cast<unsigned>(static_cast<unsigned char>(c)));
  return fail(errc::bad_text, text.data());
}

}  // namespace detail
}  // namespace bloomery::inline BLOOMERY_ABI

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY bool is_text_form(std::span<const std::byte> bytes) noexcept {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (!text.empty() && detail::is_blank(text.front())) text.remove_prefix(1);
  return text.starts_with(text_begin);
}

BLOOMERY_BODY result<text_block> find_text(std::span<const std::byte> bytes) noexcept {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t begin = text.find(text_begin);
  if (begin == std::string_view::npos) return fail(errc::bad_text, "it has no BEGIN line");
  for (std::size_t i = 0; i < begin; ++i) {
    if (!detail::is_blank(text[i])) return detail::bad_character(text[i], i);
  }
  text_block block;
  block.offset = begin + text_begin.size();
  const std::size_t end = text.find(text_end, to_size(block.offset));
  if (end == std::string_view::npos) return fail(errc::bad_text, "it has no END line, so its end is missing");
  for (std::size_t i = end + text_end.size(); i < text.size(); ++i) {
    if (!detail::is_blank(text[i])) return detail::bad_character(text[i], i);
  }
  block.body = text.substr(to_size(block.offset), to_size(end - block.offset));

  std::uint64_t characters = 0;
  std::uint64_t pads = 0;
  for (std::size_t i = 0; i < block.body.size(); ++i) {
    const char c = block.body[i];
    if (detail::is_blank(c)) continue;
    const bool value = detail::base64_values[static_cast<unsigned char>(c)] != detail::not_base64;
    if ((!value && c != '=') || (value && pads != 0)) return detail::bad_character(c, block.offset + i);
    ++characters;
    pads += value ? 0 : 1;
  }
  if (characters % 4 != 0 || pads > 2) return fail(errc::bad_text, "characters are missing or were added");
  block.decoded_bytes = characters / 4 * 3 - pads;
  return block;
}

BLOOMERY_BODY result<void> text_reader::decode(place& at, std::uint64_t bytes, std::byte* out) const noexcept {
  for (const std::uint64_t end = at.made + bytes; at.made < end && at.next < block_.body.size(); ++at.next) {
    const std::uint8_t value = detail::base64_values[static_cast<unsigned char>(block_.body[at.next])];
    if (value == detail::not_base64) continue;
    at.held = at.held << 6U | value;
    at.held_bits += 6;
    if (at.held_bits < 8) continue;
    at.held_bits -= 8;
    if (out != nullptr) *out++ = static_cast<std::byte>(at.held >> at.held_bits & 0xffU);
    ++at.made;
    at.held &= (1U << at.held_bits) - 1U;
    // In the last quartet, bits that make no byte must be zero, or two texts would be the same file.
    if (at.made == block_.decoded_bytes && at.held != 0)
      return fail(errc::bad_text, "its last character is not usable");
  }
  return {};
}

BLOOMERY_BODY result<void> text_reader::read_at(std::uint64_t offset, std::span<std::byte> out) noexcept {
  if (offset > block_.decoded_bytes || out.size() > block_.decoded_bytes - offset) {
    return fail(errc::bad_span, "the text", {block_.decoded_bytes, offset + out.size()});
  }
  // The nearest place before, or the front again.
  std::size_t nearest = 0;
  if (places_[1].made <= offset && (places_[0].made > offset || places_[1].made > places_[0].made)) nearest = 1;
  if (places_[nearest].made > offset) places_[nearest] = {};
  if (auto done = decode(places_[nearest], offset - places_[nearest].made, nullptr); !done) return done;
  return decode(places_[nearest], out.size(), out.data());
}

BLOOMERY_BODY result<void> decode_text(const text_block& block, std::span<std::byte> out) noexcept {
  return text_reader(block).read_at(0, out);
}

}  // namespace bloomery::inline BLOOMERY_ABI

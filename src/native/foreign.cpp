#include <bloomery/native/foreign.hpp>

namespace bloomery::inline BLOOMERY_ABI::detail {

BLOOMERY_BODY bool starts_with(std::span<const std::byte> bytes, std::string_view beginning) noexcept {
  return bytes.size() >= beginning.size() &&
         std::string_view(reinterpret_cast<const char*>(bytes.data()), beginning.size()) == beginning;
}

BLOOMERY_BODY bool looks_like_text(std::span<const std::byte> bytes) noexcept {
  for (const std::byte b : bytes) {
    const auto c = std::to_integer<unsigned>(b);
    if (c == 0x7f || (c < 0x20 && c != '\t' && c != '\n' && c != '\r')) return false;
  }
  return true;
}

// Text that begins as an object or a list does.
BLOOMERY_BODY bool looks_like_json(std::span<const std::byte> text) noexcept {
  std::array<char, 2> front{};
  std::size_t found = 0;
  for (std::size_t i = 0; i < text.size() && found < front.size(); ++i) {
    const char c = std::to_integer<char>(text[i]);
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') front[found++] = c;
  }
  const std::string_view next = front[0] == '{' ? "\"}" : front[0] == '[' ? "\"{[]" : "";
  return found == front.size() && next.find(front[1]) != std::string_view::npos;
}

BLOOMERY_BODY std::string_view guess_of(std::span<const std::byte> first) noexcept {
  for (const known_beginning& known : known_beginnings) {
    if (starts_with(first, known.bytes)) return known.guess;
  }
  if (first.size() >= 5 && starts_with(first.subspan(1), "BLMY")) {
    return " (a filter that was copied as text: copy it as binary)";
  }
  constexpr std::size_t tar_mark = 257;
  if (first.size() > tar_mark && starts_with(first.subspan(tar_mark), "ustar")) return " (a tar archive)";
  if (!looks_like_text(first.first(first.size() < 64 ? first.size() : 64))) return "";
  return looks_like_json(first) ? " (JSON)" : " (text)";
}

BLOOMERY_BODY failure not_a_filter(std::span<const std::byte> first) noexcept {
  constexpr std::size_t shown = 12;
  error_text text;
  text.append("\"");
  for (std::size_t i = 0; i < first.size() && i < shown; ++i) {
    const auto c = std::to_integer<unsigned>(first[i]);
    std::array<char, 8> piece{};
    if (c == '"' || c == '\\') {
      std::snprintf(piece.data(), piece.size(), "\\%c", static_cast<int>(c));
    } else if (c >= 0x20 && c < 0x7f) {
      piece[0] = static_cast<char>(c);
    } else {
      std::snprintf(piece.data(), piece.size(), "\\x%02x", c);
    }
    text.append(piece.data());
  }
  text.append("\"");
  text.append(guess_of(first));
  return fail(errc::not_a_filter, text.view());
}

}  // namespace bloomery::inline BLOOMERY_ABI::detail

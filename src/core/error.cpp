#include <algorithm>
#include <bloomery/core/error.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY void path_tail::assign(std::string_view path) noexcept {
  constexpr std::string_view cut = "...";
  const std::size_t most = text_.size() - 1;
  char* to = text_.data();
  if (path.size() > most) {
    to = std::copy(cut.begin(), cut.end(), to);
    path.remove_prefix(path.size() - (most - cut.size()));
  }
  *std::copy(path.begin(), path.end(), to) = '\0';
}

BLOOMERY_BODY error make_error(errc code, std::string_view text, std::array<std::uint64_t, 4> number) noexcept {
  error e;
  e.code = code;
  e.advice = row_of(code).usual_remedy;
  e.number = number;
  const std::size_t length = text.size() < e.text.size() - 1 ? text.size() : e.text.size() - 1;
  if (length != 0) std::memcpy(e.text.data(), text.data(), length);
  return e;
}

BLOOMERY_BODY error_text human_bytes(std::uint64_t bytes) noexcept {
  constexpr std::array<const char*, 7> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < units.size()) {
    value /= 1024.0;
    ++unit;
  }
  std::array<char, 32> out{};
  const int digits = (unit == 0 || value >= 99.95) ? 0 : 1;
  std::snprintf(out.data(), out.size(), "%.*f %s", digits, value, units[unit]);
  error_text text;
  text.append(out.data());
  return text;
}

BLOOMERY_BODY error_text sentence_of(const error& e) noexcept {
  error_text out;
  const std::string_view sentence = row_of(e.code).sentence;
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    const std::size_t close = sentence[i] == '{' ? sentence.find('}', i) : std::string_view::npos;
    if (close == std::string_view::npos) {
      out.append(sentence.substr(i, 1));
      continue;
    }
    const std::string_view name = sentence.substr(i + 1, close - i - 1);
    if (name == "t") {
      out.append(e.text_view());
    } else {
      const std::uint64_t value = e.number[static_cast<std::size_t>(name.back() - '0') & 3U];
      if (name.front() == 'b') {
        out.append(human_bytes(value).view());
      } else {
        std::array<char, 24> digits{};
        std::snprintf(digits.data(), digits.size(), "%llu", static_cast<unsigned long long>(value));
        out.append(digits.data());
      }
    }
    i = close;
  }
  return out;
}

BLOOMERY_BODY error_text describe(const error& e, remedy_words words) noexcept {
  error_text out;
  if (!e.path.empty()) {
    out.append(e.path.view());
    out.append(": ");
  }
  const error_text sentence = sentence_of(e);
  out.append(sentence.view());
  if (const std::string_view advice = words(e.advice); !advice.empty()) {
    // "is cut short: it has 5 bytes; copy it again", but "exists already: use another name".
    const bool has_reason = sentence.view().find(": ") != std::string_view::npos;
    out.append(has_reason ? "; " : ": ");
    out.append(advice);
  }
  return out;
}

}  // namespace bloomery::inline BLOOMERY_ABI

#include "cli/keys/csv_scanner.hpp"

#include <cstddef>
#include <cstring>

namespace bloomery::cli {
namespace {

const char* find_or_null(const char* at, const char* end, char c) {
  return static_cast<const char*>(at == end ? nullptr : std::memchr(at, c, static_cast<std::size_t>(end - at)));
}

}  // namespace

void csv_scanner::step(char c) {
  if (c == delimiter_) {
    state_ = state::field_start;
  } else if (c == '"' && state_ != state::plain) {
    state_ = state::quoted;  // the first of a field, or the second of a doubled one
  } else if (state_ != state::after_quote) {
    state_ = state::plain;
  }
}

void csv_scanner::pass(const char* end) {
  if (end[-1] == delimiter_) {
    state_ = state::field_start;
  } else if (state_ != state::after_quote) {
    state_ = state::plain;
  }
}

const char* csv_scanner::record_end(const char* at, const char* end) {
  while (at != end) {
    if (state_ == state::quoted) {
      const char* const quote = find_or_null(at, end, '"');
      if (quote == nullptr) return end;
      state_ = state::after_quote;
      at = quote + 1;
      continue;
    }
    if (state_ == state::record_start) {
      const char* const found = find_or_null(at, end, terminator_);
      const char* const stop = found == nullptr ? end : found;
      if (find_or_null(at, stop, '"') == nullptr) {
        if (found == nullptr) pass(end);
        return stop;
      }
    }
    if (*at == terminator_) {
      state_ = state::record_start;
      return at;
    }
    step(*at++);
  }
  return end;
}

const char* csv_scanner::last_record_end(const char* at, const char* end) {
  if (at == end) return nullptr;
  if (find_or_null(at, end, '"') == nullptr) {
    if (state_ == state::quoted) return nullptr;
    const auto* const last = static_cast<const char*>(memrchr(at, terminator_, static_cast<std::size_t>(end - at)));
    if (last != nullptr) state_ = state::record_start;
    if (last == nullptr || last + 1 != end) pass(end);
    return last;
  }
  const char* last = nullptr;
  while (true) {
    const char* const found = record_end(at, end);
    if (found == end) return last;
    last = found;
    at = found + 1;
  }
}

}  // namespace bloomery::cli

// cli/keys/csv_scanner.hpp: where CSV records end.
//
// A terminator inside a quoted field ends nothing, so the state of the quotes must be known from the beginning of the
// file on. The scanner carries it from one stretch of bytes to the next, and is quick where there are no quotes.
//
//     csv_scanner scanner('\n', ',');
//     const char* at = scanner.record_end(begin, end);      // a '\n', or `end`: go on with the next bytes
#pragma once

#include <cstdint>

namespace bloomery::cli {

class csv_scanner {
 public:
  csv_scanner() = default;
  csv_scanner(char terminator, char delimiter) : terminator_(terminator), delimiter_(delimiter) {}
  // The terminator that ends the record, or `end` when it is not in [at, end).
  const char* record_end(const char* at, const char* end);
  // The last terminator in [at, end) that ends a record, or nullptr.
  const char* last_record_end(const char* at, const char* end);
  // Whether the next byte is inside quotes.
  [[nodiscard]] bool is_quoted() const { return state_ == state::quoted; }

 private:
  enum class state : std::uint8_t { record_start, field_start, plain, quoted, after_quote };
  void step(char c);
  // Over bytes without quotes, outside of them; at < end.
  void pass(const char* end);

  char terminator_ = '\n';
  char delimiter_ = ',';
  state state_ = state::record_start;
};

}  // namespace bloomery::cli

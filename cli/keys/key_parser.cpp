#include "cli/keys/key_parser.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bloomery/compat/hbase/key.hpp>
#include <bloomery/core/bytes.hpp>
#include <charconv>
#include <cstring>
#include <limits>

#include "cli/flags/numbers.hpp"
#include "cli/keys/line_ends.hpp"

namespace bloomery::cli {
namespace {

std::string_view view_of(std::span<const char> bytes) { return {bytes.data(), bytes.size()}; }

template <class Integer>
std::optional<Integer> parse_integer(std::string_view text) {
  Integer value = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (bad != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

// How many bytes of UTF-8 the first character of the text has; 0 where it is none.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (size == 0 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if (byte(i) >> 6U != 2) return 0;
  }
  // Overlong encodings, halves of surrogate pairs, and code points above the last one.
  const unsigned second = byte(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90)) return 0;
  return size;
}

// The number of a character that has so many bytes.
std::uint32_t character_at(std::string_view text, std::size_t size) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  std::uint32_t number = size == 1 ? byte(0) : byte(0) & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) number = number << 6U | (byte(i) & 0x3fU);
  return number;
}

const char* find(const char* at, const char* end, char c) {
  const void* const found = at == end ? nullptr : std::memchr(at, c, static_cast<std::size_t>(end - at));
  return found == nullptr ? end : static_cast<const char*>(found);
}

std::string_view between(const char* at, const char* end) { return {at, static_cast<std::size_t>(end - at)}; }

// The text of a failure continues "FILE: line N".
failed bad(std::string_view what) { return fail_text(fmt::format(": {}", what)); }

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 40)) {
    if (c >= ' ' && c <= '~') {
      out.append(1, c);
    } else {
      out.append(fmt::format("\\x{:02x}", static_cast<unsigned char>(c)));
    }
  }
  return out.append(text.size() > 40 ? "...'" : "'");
}

chunk_parser::chunk_parser(key_chunk& chunk, const hasher& hash)
    : chunk_(chunk),
      format_(*chunk.format_),
      hash_(hash),
      any_size_(hash.accepts(0) && hash.accepts(1)),
      last_field_(std::numeric_limits<std::size_t>::max()) {
  if (!format_.positions.empty()) {
    last_field_ = static_cast<std::size_t>(*std::max_element(format_.positions.begin(), format_.positions.end()));
  }
}

void chunk_parser::run() {
  if (format_.is_plain() && any_size_) {
    run_plain();
  } else if (format_.csv) {
    run_csv();
  } else {
    run_lines();
  }
  chunk_.lines_ = line_;
}

void chunk_parser::run_plain() {
  const std::string_view bytes = chunk_.bytes();
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  for_each_end(at, end, format_.terminator, [&](const char* stop) {
    chunk_.keys.push_back(between(at, stop));
    at = stop + 1;
  });
  if (at != end) chunk_.keys.push_back(between(at, end));
  line_ = chunk_.keys.size();
}

void chunk_parser::run_lines() {
  const std::string_view bytes = chunk_.bytes();
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  while (at != end) {
    const char* const stop = find(at, end, format_.terminator);
    std::string_view content = between(at, stop);
    if (format_.crlf && !content.empty() && content.back() == '\r') content.remove_suffix(1);
    if (!take(between(at, stop), content)) return;
    ++line_;
    at = stop == end ? end : stop + 1;
  }
}

void chunk_parser::run_csv() {
  const std::string_view bytes = chunk_.bytes();
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  // Only quoted fields hold newlines; without them record i is line i.
  const bool counts_lines = format_.terminator == '\n' && find(at, end, '"') != end;
  csv_scanner scanner(format_.terminator, format_.delimiter);
  while (at != end) {
    const bool marked =
        line_ == 0 && chunk_.may_have_mark_ && bytes.substr(0, byte_order_mark.size()) == byte_order_mark;
    const char* const start = marked ? at + byte_order_mark.size() : at;
    const char* const stop = scanner.record_end(start, end);
    if (counts_lines) chunk_.line_offsets_.push_back(line_);
    if (stop == end && scanner.is_quoted()) {
      chunk_.failed_line_ = line_;
      chunk_.failure = bad("a quoted field has no closing quote").value();
    }
    if (chunk_.failure || !take(between(at, stop), between(start, stop))) {
      if (counts_lines) chunk_.line_offsets_.pop_back();
      return;
    }
    line_ += 1 + (counts_lines ? static_cast<std::uint64_t>(std::count(start, stop, '\n')) : 0);
    at = stop == end ? end : stop + 1;
  }
}

bool chunk_parser::take(std::string_view text, std::string_view content) {
  auto key = key_of(content);
  if (key && !any_size_ && !hash_.accepts(key->size())) {
    key = bad(fmt::format("hash {} takes one integer", hash_.info().name));
  }
  if (!key) {
    chunk_.failed_line_ = line_;
    chunk_.failure = key.error();
    return false;
  }
  chunk_.keys.push_back(*key);
  chunk_.texts_.push_back(text);
  return true;
}

outcome<void> chunk_parser::split(std::string_view text) {
  chunk_.fields_.clear();
  if (format_.csv) return split_csv(text);
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    const char* const stop = find(at, end, format_.delimiter);
    chunk_.fields_.push_back(between(at, stop));
    if (stop == end || chunk_.fields_.size() > last_field_) return {};
    at = stop + 1;
  }
}

outcome<void> chunk_parser::split_csv(std::string_view text) {
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  while (true) {
    if (text.empty() || text[0] != '"') {
      const std::size_t end = std::min(text.find(format_.delimiter), text.size());
      chunk_.fields_.push_back(text.substr(0, end));
      if (end == text.size()) return {};
      text.remove_prefix(end + 1);
      continue;
    }
    std::size_t close = text.find('"', 1);
    bool doubled = false;
    while (close != std::string_view::npos && close + 1 < text.size() && text[close + 1] == '"') {
      doubled = true;
      close = text.find('"', close + 2);
    }
    if (close == std::string_view::npos) return bad("a quoted field has no closing quote");
    std::string_view field = text.substr(1, close - 1);
    if (doubled) {
      const auto plain = chunk_.arena_.take(field.size());
      std::size_t size = 0;
      for (std::size_t i = 0; i < field.size(); ++i) {
        plain[size++] = field[i];
        if (field[i] == '"') ++i;
      }
      field = view_of(plain.first(size));
    }
    chunk_.fields_.push_back(field);
    text.remove_prefix(close + 1);
    if (text.empty()) return {};
    if (text[0] != format_.delimiter) return bad("a quoted field is followed by text: double the quotes inside it");
    text.remove_prefix(1);
  }
}

failed chunk_parser::no_field(std::uint64_t position) const {
  const std::size_t there = chunk_.fields_.size();
  std::string text = fmt::format(" has {} field{}, there is no field {}", there, there == 1 ? "" : "s", position + 1);
  for (std::size_t i = 0; i < format_.positions.size(); ++i) {
    const std::string& name = format_.fields[i];
    if (format_.positions[i] != position || name == std::to_string(position + 1)) continue;
    text.append(fmt::format(" ({})", name));
    break;
  }
  return fail_text(std::move(text));
}

outcome<std::string_view> chunk_parser::key_of(std::string_view text) {
  if (!format_.csv && format_.positions.empty()) return bytes_of(text);
  if (auto done = split(text); !done) return failed(done.error());
  if (format_.positions.empty()) {
    return chunk_.fields_.size() == 1 ? bytes_of(chunk_.fields_[0]) : tuple_of(chunk_.fields_);
  }
  chunk_.chosen_.clear();
  for (const std::uint64_t position : format_.positions) {
    if (position >= chunk_.fields_.size()) return no_field(position);
    chunk_.chosen_.push_back(chunk_.fields_[position]);
  }
  if (format_.row_and_column) return row_and_column(chunk_.chosen_[0], chunk_.chosen_[1]);
  return chunk_.chosen_.size() == 1 ? bytes_of(chunk_.chosen_[0]) : tuple_of(chunk_.chosen_);
}

// The family is in no key: a file holds one.
outcome<std::string_view> chunk_parser::row_and_column(std::string_view row_text, std::string_view column_text) {
  const auto row = bytes_of(row_text);
  if (!row) return row;
  const auto column = bytes_of(column_text);
  if (!column) return column;
  const std::size_t colon = column->find(':');
  if (colon == std::string_view::npos) {
    return bad(fmt::format("{} is not a column: give FAMILY:QUALIFIER", quoted(column_text)));
  }
  if (row->size() > hbase::max_row_bytes) {
    return bad(fmt::format("a row of {} bytes: HBase has at most {}", row->size(), hbase::max_row_bytes));
  }
  const hbase::cell_name cell{*row, column->substr(colon + 1)};
  return hbase::write_rowcol_key(cell, chunk_.arena_.take(hbase::rowcol_key_bytes(cell)));
}

// What a funnel of Guava feeds to the hash when it puts one field after the other.
outcome<std::string_view> chunk_parser::joined(std::span<const std::string_view> fields) {
  std::string all;
  for (const std::string_view field : fields) {
    auto bytes = bytes_of(field);
    if (!bytes) return bytes;
    all.append(*bytes);
  }
  const auto copy = chunk_.arena_.take(all.size());
  std::copy(all.begin(), all.end(), copy.begin());
  return view_of(copy);
}

outcome<std::string_view> chunk_parser::tuple_of(std::span<const std::string_view> fields) {
  if (format_.funnel != key_funnel::none) return joined(fields);
  field_sink sink(hash_);
  for (const std::string_view field : fields) {
    auto bytes = bytes_of(field);
    if (!bytes) return bytes;
    sink.put(*bytes);  // an integer is a field of its 8 bytes, as bytes_of returns them
  }
  const auto encoded = sink.bytes();
  const auto copy = chunk_.arena_.take(encoded.size());
  std::memcpy(copy.data(), encoded.data(), encoded.size());
  return view_of(copy);
}

outcome<std::string_view> chunk_parser::funnelled(std::string_view text) {
  const auto integer = [&](auto value, std::string_view what) -> outcome<std::string_view> {
    if (!value) return bad(fmt::format("{} is not an integer from {}", quoted(text), what));
    const auto bytes = chunk_.arena_.take(sizeof *value);
    store_le(reinterpret_cast<std::byte*>(bytes.data()), *value);
    return view_of(bytes);
  };
  const auto unsigned_of = [&](auto value) {
    using integer_type = std::make_unsigned_t<typename decltype(value)::value_type>;
    return value ? std::optional(static_cast<integer_type>(*value)) : std::nullopt;
  };
  switch (format_.funnel) {
    case key_funnel::none:
    case key_funnel::bytes:
      return text;
    case key_funnel::int32:
      return integer(unsigned_of(parse_integer<std::int32_t>(text)), "-2147483648 to 2147483647");
    case key_funnel::int64:
      return integer(unsigned_of(parse_integer<std::int64_t>(text)), "-9223372036854775808 to 9223372036854775807");
    case key_funnel::utf8:
    case key_funnel::utf16:
      break;
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = character_bytes(text.substr(at));
    if (size == 0) {
      return bad(fmt::format("{} is not UTF-8 at byte {}: no text of Java has these bytes; --funnel bytes takes them",
                             quoted(text), at + 1));
    }
    at += size;
  }
  return format_.funnel == key_funnel::utf8 ? text : text_in_utf16(text);
}

// `text` is UTF-8. No character takes more bytes than twice those that it has there.
outcome<std::string_view> chunk_parser::text_in_utf16(std::string_view text) {
  const auto bytes = chunk_.arena_.take(text.size() * 2);
  std::size_t used = 0;
  const auto put = [&](std::uint32_t unit) {
    bytes[used++] = static_cast<char>(unit);
    bytes[used++] = static_cast<char>(unit >> 8U);
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = character_bytes(text.substr(at));
    const std::uint32_t number = character_at(text.substr(at), size);
    at += size;
    if (number < 0x10000) {
      put(number);
    } else {
      put(0xd800U + ((number - 0x10000U) >> 10U));
      put(0xdc00U + ((number - 0x10000U) & 0x3ffU));
    }
  }
  return view_of(bytes.first(used));
}

outcome<std::string_view> chunk_parser::bytes_of(std::string_view text) {
  if (format_.u64) {
    const auto value = parse_integer<std::uint64_t>(text);
    if (!value) return bad(fmt::format("{} is not an integer from 0 to 18446744073709551615", quoted(text)));
    const auto bytes = chunk_.arena_.take(8);
    store_le(reinterpret_cast<std::byte*>(bytes.data()), *value);
    return view_of(bytes);
  }
  if (!format_.hex) return funnelled(text);
  if (text.size() % 2 != 0) {
    return bad(fmt::format("{} has an odd number of hexadecimal digits: two make a byte", quoted(text)));
  }
  const auto bytes = chunk_.arena_.take(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return bad(fmt::format("{} is not hexadecimal: give digits 0-9 a-f", quoted(text)));
    bytes[i] = static_cast<char>(high * 16 + low);
  }
  return view_of(bytes);
}

}  // namespace bloomery::cli

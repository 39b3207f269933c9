#include "cli/keys.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bloomery/core/bytes.hpp>
#include <charconv>
#include <cstring>

namespace bloomery::cli {
namespace {

constexpr std::size_t first_buffer_bytes = std::size_t{1} << 20U;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string_view view_of(std::span<const char> bytes) { return {bytes.data(), bytes.size()}; }

// A short form of input that may be anything, for a message.
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

std::optional<std::uint64_t> parse_u64(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (bad != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

std::span<char> key_arena::take(std::size_t size) {
  if (size > block_bytes) {
    large_.push_back(std::make_unique<char[]>(size));
    return {large_.back().get(), size};
  }
  if (block_ < blocks_.size() && block_bytes - used_ < size) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) blocks_.push_back(std::make_unique<char[]>(block_bytes));
  char* const at = blocks_[block_].get() + used_;
  used_ += size;
  return {at, size};
}

void key_arena::reset() {
  large_.clear();
  block_ = 0;
  used_ = 0;
}

outcome<key_reader> key_reader::make(const options& given, std::span<const std::string> files, const hasher& hash) {
  auto format = key_format::from(given);
  if (!format) return failed(format.error());
  if (hash.accepts(8) && !hash.accepts(0) && !format->u64) {
    return fail_usage(fmt::format("hash {} takes integers of 8 bytes: give --u64", hash.info().name));
  }
  key_reader reader(std::move(*format), hash);
  reader.files_.assign(files.begin(), files.end());
  if (reader.files_.empty()) reader.files_.emplace_back("-");
  if (std::count(reader.files_.begin(), reader.files_.end(), "-") > 1) {
    return fail_usage("standard input (-) can be read only once");
  }
  bool known = true;
  for (const std::string& file : reader.files_) {
    // Opened here so that a missing file is noticed before any work is done. Standard input is not read yet.
    if (file == "-") {
      reader.all_regular_ = known = false;
      continue;
    }
    const auto source = byte_source::stat(file);
    if (!source) return failed(source.error());
    reader.all_regular_ &= source->regular;
    known &= source->regular;
    reader.total_ += source->size_bytes;
  }
  if (!known) reader.total_ = 0;
  reader.buffer_.resize(first_buffer_bytes);
  return reader;
}

outcome<bool> key_reader::open_next() {
  if (next_file_ == files_.size()) return false;
  auto source = byte_source::open(files_[next_file_]);
  if (!source) return failed(source.error());
  ++next_file_;
  source_ = std::move(*source);
  open_ = true;
  ended_ = false;
  header_due_ = format_.header;
  begin_ = end_ = scanned_ = 0;
  csv_state_ = csv_state::field_start;
  line_ = 1;
  return true;
}

outcome<void> key_reader::fill() {
  if (begin_ != 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(buffer_.size() * 2);
  const auto count = source_.read(std::span(buffer_).subspan(end_));
  if (!count) return failed(count.error());
  end_ += *count;
  ended_ = *count == 0;
  return {};
}

outcome<bool> key_reader::next(key_batch& batch) {
  batch.records.clear();
  batch.arena.reset();
  if (deferred_) return failed(*deferred_);
  while (true) {
    if (!open_) {
      auto opened = open_next();
      if (!opened || !*opened) return opened;
    }
    if (auto taken = take_records(batch); !taken) {
      if (batch.records.empty()) return failed(taken.error());
      deferred_ = taken.error();
    }
    if (!batch.records.empty()) {
      records_ += batch.records.size();
      return true;
    }
    if (ended_) {
      finished_bytes_ += source_.bytes_taken();
      source_ = byte_source{};
      open_ = false;
    } else if (auto filled = fill(); !filled) {
      return failed(filled.error());
    }
  }
}

std::optional<std::size_t> key_reader::record_length() {
  if (format_.csv) return csv_record_length();
  const char* const from = buffer_.data() + begin_ + scanned_;
  const std::size_t size = end_ - begin_ - scanned_;
  const void* const found = size == 0 ? nullptr : std::memchr(from, format_.terminator, size);
  if (found == nullptr) {
    scanned_ += size;
    return {};
  }
  return scanned_ + static_cast<std::size_t>(static_cast<const char*>(found) - from);
}

std::optional<std::size_t> key_reader::csv_record_length() {
  for (; begin_ + scanned_ < end_; ++scanned_) {
    const char c = buffer_[begin_ + scanned_];
    if (csv_state_ == csv_state::quoted) {
      if (c == '"') csv_state_ = csv_state::after_quote;
    } else if (c == format_.terminator) {
      return scanned_;
    } else if (c == format_.delimiter) {
      csv_state_ = csv_state::field_start;
    } else if (c == '"' && csv_state_ != csv_state::plain) {
      csv_state_ = csv_state::quoted;  // the first of a field, or the second of a doubled one
    } else if (csv_state_ == csv_state::field_start) {
      csv_state_ = csv_state::plain;
    }
  }
  return {};
}

outcome<void> key_reader::take_records(key_batch& batch) {
  while (batch.records.size() < batch_records) {
    const auto length = record_length();
    const std::size_t left = end_ - begin_;
    if (!length && (!ended_ || left == 0)) return {};
    if (!length && csv_state_ == csv_state::quoted) return bad_line("a quoted field has no closing quote");
    const std::string_view text(buffer_.data() + begin_, length ? *length : left);
    begin_ += length ? *length + 1 : left;
    scanned_ = 0;
    csv_state_ = csv_state::field_start;
    if (auto taken = take_one(text, batch); !taken) return taken;
  }
  return {};
}

outcome<void> key_reader::take_one(std::string_view text, key_batch& batch) {
  if (header_due_) {
    header_due_ = false;
    if (auto names = split(text, batch.arena); !names) return names;
    if (auto resolved = format_.resolve(parts_); !resolved) return bad_line(resolved.error().text);
  } else {
    const auto key = key_of(text, batch.arena);
    if (!key) return failed(key.error());
    if (!hash_.accepts(key->size())) return bad_line(fmt::format("hash {} takes one integer", hash_.info().name));
    batch.records.push_back({text, *key, line_});
  }
  // A quoted field may hold newlines.
  line_ += 1 + (format_.csv && format_.terminator == '\n'
                    ? static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'))
                    : 0);
  return {};
}

outcome<void> key_reader::split(std::string_view text, key_arena& arena) {
  parts_.clear();
  if (format_.csv) return split_csv(text, arena);
  if (format_.crlf && !text.empty() && text.back() == '\r') text.remove_suffix(1);
  while (true) {
    const std::size_t end = std::min(text.find(format_.delimiter), text.size());
    parts_.push_back(text.substr(0, end));
    if (end == text.size()) return {};
    text.remove_prefix(end + 1);
  }
}

outcome<void> key_reader::split_csv(std::string_view text, key_arena& arena) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (line_ == 1 && text.substr(0, 3) == byte_order_mark) text.remove_prefix(3);
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  while (true) {
    if (text.empty() || text[0] != '"') {
      const std::size_t end = std::min(text.find(format_.delimiter), text.size());
      parts_.push_back(text.substr(0, end));
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
    if (close == std::string_view::npos) return bad_line("a quoted field has no closing quote");
    std::string_view field = text.substr(1, close - 1);
    if (doubled) {
      const auto plain = arena.take(field.size());
      std::size_t size = 0;
      for (std::size_t i = 0; i < field.size(); ++i) {
        plain[size++] = field[i];
        if (field[i] == '"') ++i;
      }
      field = view_of(plain.first(size));
    }
    parts_.push_back(field);
    text.remove_prefix(close + 1);
    if (text.empty()) return {};
    if (text[0] != format_.delimiter)
      return bad_line("a quoted field is followed by text: double the quotes inside it");
    text.remove_prefix(1);
  }
}

outcome<std::string_view> key_reader::key_of(std::string_view text, key_arena& arena) {
  if (!format_.csv && format_.positions.empty()) {
    if (format_.crlf && !text.empty() && text.back() == '\r') text.remove_suffix(1);
    return bytes_of(text, arena);
  }
  if (auto done = split(text, arena); !done) return failed(done.error());
  if (format_.positions.empty()) {
    return parts_.size() == 1 ? bytes_of(parts_[0], arena) : tuple_of(parts_, arena);
  }
  chosen_.clear();
  for (const std::uint64_t position : format_.positions) {
    chosen_.push_back(position < parts_.size() ? parts_[position] : std::string_view{});
  }
  return chosen_.size() == 1 ? bytes_of(chosen_[0], arena) : tuple_of(chosen_, arena);
}

outcome<std::string_view> key_reader::tuple_of(std::span<const std::string_view> fields, key_arena& arena) const {
  field_sink sink(hash_);
  for (const std::string_view field : fields) {
    auto bytes = bytes_of(field, arena);
    if (!bytes) return bytes;
    sink.put(*bytes);  // an integer is a field of its 8 bytes, as bytes_of gives them
  }
  const auto encoded = sink.bytes();
  const auto copy = arena.take(encoded.size());
  std::memcpy(copy.data(), encoded.data(), encoded.size());
  return view_of(copy);
}

outcome<std::string_view> key_reader::bytes_of(std::string_view text, key_arena& arena) const {
  if (format_.u64) {
    const auto value = parse_u64(text);
    if (!value) return bad_line(fmt::format("{} is not an integer from 0 to 18446744073709551615", quoted(text)));
    const auto bytes = arena.take(8);
    store_le(reinterpret_cast<std::byte*>(bytes.data()), *value);
    return view_of(bytes);
  }
  if (!format_.hex) return text;
  if (text.size() % 2 != 0) {
    return bad_line(fmt::format("{} has an odd number of hexadecimal digits: two make a byte", quoted(text)));
  }
  const auto bytes = arena.take(text.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return bad_line(fmt::format("{} is not hexadecimal: give digits 0-9 a-f", quoted(text)));
    bytes[i] = static_cast<char>(high * 16 + low);
  }
  return view_of(bytes);
}

failed key_reader::bad_line(std::string_view what) const {
  return fail_file(source_.name(),
                   fmt::format("{} {}: {}", format_.terminator == '\n' ? "line" : "record", line_, what));
}

}  // namespace bloomery::cli

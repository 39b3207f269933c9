#include "cli/keys/keys.hpp"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <unordered_map>

#include "cli/flags/numbers.hpp"
#include "cli/keys/key_parser.hpp"
#include "cli/terminal/standard_streams.hpp"

namespace bloomery::cli {
namespace {

// Where each column is among `names`; none when these are not the same names, each of them once.
std::optional<std::vector<std::uint64_t>> order_of(std::span<const std::string> columns,
                                                   std::span<const std::string_view> names) {
  std::unordered_map<std::string_view, std::uint64_t> places;
  for (const std::string_view name : names) places.emplace(name, places.size());
  if (places.size() != names.size() || columns.size() != names.size()) return {};
  std::vector<std::uint64_t> order;
  for (const std::string& column : columns) {
    const auto found = places.extract(std::string_view(column));
    if (found.empty()) return {};
    order.push_back(found.mapped());
  }
  return order;
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

void key_chunk::reserve(std::size_t size) {
  if (size <= capacity_) return;
  auto larger = std::unique_ptr<char[]>(new char[size]);  // not set to zero
  if (end_ != 0) std::memcpy(larger.get(), buffer_.get(), end_);
  buffer_ = std::move(larger);
  capacity_ = size;
}

void key_chunk::clear() {
  keys.clear();
  texts_.clear();
  line_offsets_.clear();
  digests64.clear();
  wide_words.clear();
  text.clear();
  tally = 0;
  failure.reset();
  failed_line_.reset();
  arena_.reset();
  waited = starts_file_ = may_have_mark_ = false;
  begin_ = end_ = 0;
  line_base_ = lines_ = 0;
  // One giant line must not be paid for by every chunk, for ever.
  constexpr std::size_t most_kept_bytes = std::size_t{1} << 22U;
  if (capacity_ > most_kept_bytes) {
    buffer_.reset();
    capacity_ = 0;
  }
}

unsigned jobs_of(const options& opts) {
  // More threads than this would only wait for each other.
  constexpr std::uint64_t most = 256;
  if (const auto jobs = opts.count(flag::jobs)) return static_cast<unsigned>(std::min(*jobs, most));
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  const unsigned processors = known ? static_cast<unsigned>(CPU_COUNT(&allowed)) : std::thread::hardware_concurrency();
  return std::clamp(processors, 1U, static_cast<unsigned>(most));
}

namespace {

outcome<key_format> format_for(const options& opts, const hasher& hash) {
  auto format = key_format::from(opts);
  if (format && hash.accepts(8) && !hash.accepts(0) && !format->u64) {
    return fail_usage(fmt::format("hash {} takes integers of 8 bytes: give --u64", hash.info().name));
  }
  return format;
}

}  // namespace

outcome<void> key_reader::take_words(const options& opts, std::span<const std::string> words, const hasher& hash,
                                     key_chunk& chunk, formats::key_form form) {
  auto format = format_for(opts, hash);
  if (!format) return failed(format.error());
  if (form == formats::key_form::row_and_column) {
    if (auto done = format->use_rows_and_columns(); !done) return done;
  }
  format->terminator = '\0';
  chunk.clear();
  std::string joined;
  for (const std::string& word : words) joined.append(word).push_back('\0');
  chunk.reserve(joined.size());
  std::copy(joined.begin(), joined.end(), chunk.buffer_.get());
  chunk.end_ = joined.size();
  chunk.format_ = std::make_shared<const key_format>(std::move(*format));
  chunk_parser(chunk, hash).run();
  if (!chunk.failure) return {};
  return fail_text(fmt::format("key {}{}", *chunk.failed_line_ + 1, chunk.failure->text));
}

outcome<key_reader> key_reader::make(const options& opts, std::span<const std::string> files, const hasher& hash,
                                     std::size_t chunk_bytes) {
  auto format = format_for(opts, hash);
  if (!format) return failed(format.error());
  key_reader reader(hash);
  reader.format_ = std::make_shared<const key_format>(std::move(*format));
  reader.chunk_bytes_ = chunk_bytes;
  reader.jobs_ = jobs_of(opts);
  if (opts.has(flag::no_decompress)) reader.decompression_ = byte_source::decompression::none;
  reader.files_.assign(files.begin(), files.end());
  if (reader.files_.empty()) reader.files_.emplace_back("-");
  if (std::count(reader.files_.begin(), reader.files_.end(), "-") > 1) {
    return fail_usage("standard input (-) can be read only once");
  }
  for (const std::string& file : reader.files_) {
    // Checked here so that a missing file is noticed before any work is done. Standard input is not read yet.
    if (file == "-") {
      if (auto there = check_standard_input(); !there) return failed(there.error());
      reader.all_regular_ = false;
      continue;
    }
    const auto source = byte_source::stat(file, reader.decompression_);
    if (!source) return failed(source.error());
    reader.all_regular_ &= source->regular;
    reader.total_ += source->size_bytes;
  }
  if (!reader.all_regular_) reader.total_ = 0;
  return reader;
}

outcome<void> key_reader::use(formats::key_form form) {
  if (form != formats::key_form::row_and_column) return {};
  key_format format = *format_;
  if (auto done = format.use_rows_and_columns(); !done) return done;
  format_ = std::make_shared<const key_format>(std::move(format));
  return {};
}

outcome<bool> key_reader::open_next() {
  if (next_file_ == files_.size()) return false;
  auto source = byte_source::open(files_[next_file_], wake_, decompression_);
  if (!source) return failed(source.error());
  ++next_file_;
  source_ = std::move(*source);
  open_ = at_start_ = true;
  ended_ = false;
  mark_due_ = format_->csv;
  header_due_ = format_->header;
  file_format_ = format_;
  scanner_ = csv_scanner(format_->terminator, format_->delimiter);
  carried_.clear();
  return true;
}

void key_reader::close_source() {
  finished_bytes_ += source_.bytes_taken();
  source_ = byte_source{};
  open_ = false;
}

outcome<bool> key_reader::read(key_chunk& chunk) {
  chunk.clear();
  if (deferred_) return failed(*deferred_);
  while (true) {
    if (!open_) {
      auto opened = open_next();
      if (!opened || !*opened) return opened;
    }
    const auto filled = fill(chunk);
    if (!filled) {
      if (cut_ <= chunk.begin_) return failed(filled.error());
      deferred_ = filled.error();
    }
    if (ended_) cut_ = chunk.end_;
    const bool has_records = cut_ > chunk.begin_;
    if (has_records) {
      carried_.assign(chunk.buffer_.get() + cut_, chunk.end_ - cut_);
      chunk.end_ = cut_;
      chunk.file = source_.name();
      chunk.format_ = file_format_;
      chunk.starts_file_ = at_start_;
      chunk.waited = !source_.is_regular();
      chunk.bytes_taken = finished_bytes_ + source_.bytes_taken();
      at_start_ = false;
    }
    if (ended_) close_source();
    if (has_records) return true;
    chunk.clear();
  }
}

outcome<void> key_reader::fill(key_chunk& chunk) {
  std::size_t target = chunk_bytes_;
  while (target <= carried_.size()) target *= 2;
  chunk.reserve(target);
  std::memcpy(chunk.buffer_.get(), carried_.data(), carried_.size());
  chunk.end_ = carried_.size();
  scanned_ = mark_due_ ? 0 : chunk.end_;
  cut_ = 0;
  while (true) {
    const bool has_records = cut_ > chunk.begin_;
    if (chunk.end_ == target) {
      if (has_records) return {};
      target *= 2;
      chunk.reserve(target);
    }
    using patience = byte_source::patience;
    const auto count = source_.read({chunk.buffer_.get() + chunk.end_, target - chunk.end_},
                                    has_records ? patience::now : patience::wait);
    if (!count) return failed(count.error());
    if (source_.is_starved()) return {};
    ended_ = *count == 0;
    chunk.end_ += *count;
    find_end(chunk);
    if (header_due_) {
      if (auto taken = take_header(chunk); !taken) {
        cut_ = 0;  // without their header, records mean nothing
        return taken;
      }
    }
    if (ended_) return {};
  }
}

void key_reader::find_end(const key_chunk& chunk) {
  const char* const begin = chunk.buffer_.get();
  const char* const end = begin + chunk.end_;
  if (mark_due_) {
    constexpr std::string_view mark = chunk_parser::byte_order_mark;
    const std::string_view first(begin, std::min(chunk.end_, mark.size()));
    if (first.size() < mark.size() && first == mark.substr(0, first.size()) && !ended_) return;
    mark_due_ = false;
    if (first == mark) scanned_ = mark.size();
  }
  const char* const from = begin + scanned_;
  const char* last = nullptr;
  if (format_->csv) {
    last = scanner_.last_record_end(from, end);
  } else if (from != end) {
    last = static_cast<const char*>(memrchr(from, format_->terminator, static_cast<std::size_t>(end - from)));
  }
  if (last != nullptr) cut_ = static_cast<std::size_t>(last + 1 - begin);
  scanned_ = chunk.end_;
}

outcome<void> key_reader::take_header(key_chunk& chunk) {
  if (chunk.end_ == 0 || (cut_ == 0 && !ended_)) return {};
  std::string_view bytes(chunk.buffer_.get(), chunk.end_);
  if (format_->csv && bytes.substr(0, 3) == chunk_parser::byte_order_mark) bytes.remove_prefix(3);
  const char* const end = bytes.data() + bytes.size();
  csv_scanner scanner(format_->terminator, format_->delimiter);
  const char* const stop =
      format_->csv ? scanner.record_end(bytes.data(), end) : std::find(bytes.data(), end, format_->terminator);
  std::string_view text(bytes.data(), static_cast<std::size_t>(stop - bytes.data()));
  const bool is_first = !header_;
  if (is_first) header_.emplace(text);
  if (format_->crlf && !format_->csv && !text.empty() && text.back() == '\r') text.remove_suffix(1);

  key_format resolved = *format_;
  chunk.format_ = format_;
  outcome<void> split = chunk_parser(chunk, hash_).split(text);
  if (split) {
    if (is_first) columns_.assign(chunk.fields_.begin(), chunk.fields_.end());
    if (is_first) header_file_ = source_.name();
    split = use_header(chunk, resolved);
    if (!split) split.error().text.insert(0, ": ");
  }
  if (!split) {
    return fail_file(source_.name(),
                     fmt::format("{} 1{}", format_->terminator == '\n' ? "line" : "record", split.error().text));
  }
  file_format_ = std::make_shared<const key_format>(std::move(resolved));
  header_due_ = false;
  chunk.begin_ = static_cast<std::size_t>(stop - chunk.buffer_.get()) + (stop == end ? 0 : 1);
  chunk.line_base_ =
      1 + (format_->terminator == '\n' ? static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')) : 0);
  return {};
}

outcome<void> key_reader::use_header(const key_chunk& chunk, key_format& resolved) {
  const auto& names = chunk.fields_;
  const bool same = std::equal(names.begin(), names.end(), columns_.begin(), columns_.end());
  if (same_header_ && !same) {
    const std::size_t at = static_cast<std::size_t>(
        std::mismatch(names.begin(), names.end(), columns_.begin(), columns_.end()).first - names.begin());
    const std::string what =
        at < names.size() && at < columns_.size()
            ? fmt::format("column {} is {}, not {}", at + 1, quoted(names[at]), quoted(columns_[at]))
            : fmt::format("it has {}, not {}", number_of(names.size(), "column"), columns_.size());
    return fail_text(
        fmt::format("{}, so its records cannot stand below the header of {}: give files with the same "
                    "columns in the same order, or one file at a time",
                    what, header_file_));
  }
  if (same || !format_->csv || !format_->fields.empty()) return resolved.resolve(names);
  // Complete records are the keys: their fields are taken in the order of the first file.
  auto order = order_of(columns_, names);
  if (!order) {
    return fail_text(
        fmt::format("its columns are not those of {}, and without -f the key is the whole record: give the "
                    "same columns, or name those that are the key with -f",
                    header_file_));
  }
  resolved.positions = std::move(*order);
  return {};
}

void key_reader::parse(key_chunk& chunk) const {
  chunk.may_have_mark_ = chunk.starts_file_ && chunk.begin_ == 0;
  chunk_parser(chunk, hash_).run();
}

void key_reader::settle(key_chunk& chunk) {
  if (chunk.starts_file_) next_line_ = 0;
  chunk.line_base_ += next_line_;
  next_line_ = chunk.line_base_ + chunk.lines_;
  records_ += chunk.size();
  settled_bytes_ = std::max(settled_bytes_, chunk.bytes_taken);
  if (!chunk.failed_line_) return;
  chunk.failure->text = fmt::format("{}: {} {}{}", chunk.file, format_->terminator == '\n' ? "line" : "record",
                                    chunk.line_base_ + 1 + *chunk.failed_line_, chunk.failure->text);
  chunk.failed_line_.reset();
}

outcome<bool> key_reader::next(key_chunk& chunk) {
  if (chunk.failure) return failed(*chunk.failure);
  while (true) {
    auto more = read(chunk);
    if (!more || !*more) return more;
    parse(chunk);
    settle(chunk);
    if (!chunk.keys.empty()) return true;
    if (chunk.failure) return failed(*chunk.failure);
  }
}

}  // namespace bloomery::cli

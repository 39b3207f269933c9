#include "cli/dedup/mapped.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <system_error>
#include <tuple>

#include "cli/keys/line_ends.hpp"
#include "cli/keys/parallel_for.hpp"

namespace bloomery::cli {
namespace {

constexpr std::uint64_t chunk_bytes = std::uint64_t{1} << 18U;
constexpr std::uint64_t first_window_bytes = std::uint64_t{4} << 20U;
// More lines than this in a window would need more memory than their bytes.
constexpr std::uint64_t least_line_bytes = 32;
constexpr std::size_t shard_count = 32;
constexpr unsigned shard_partition_bits = 3;
constexpr unsigned least_bin_shift = 20;
constexpr std::size_t print_bytes = std::size_t{1} << 18U;

const char* find_or_end(const char* at, const char* end, char c) {
  const void* const found = at == end ? nullptr : std::memchr(at, c, static_cast<std::size_t>(end - at));
  return found == nullptr ? end : static_cast<const char*>(found);
}

}  // namespace

mapped_dedup::mapped_dedup(const mapped_files& input, const mapped_dedup_settings& settings, printer print)
    : input_(&input), settings_(settings), print_(std::move(print)) {
  while (input.size() >> place_shift_ > dedup_table::max_ordinal) ++place_shift_;
  // Each thread has the pages of a bin in memory: next to small windows they must be small too.
  while (std::uint64_t{1} << bin_shift_ > settings_.window_bytes / 4 && bin_shift_ > least_bin_shift) --bin_shift_;
  for (std::size_t i = 0; i < shard_count; ++i) shards_.push_back({dedup_table(shard_partition_bits), {}, {}});
  position_ = input.files().front().begin;
}

mapped_dedup::~mapped_dedup() {
  if (printer_thread_.joinable()) printer_thread_.join();
}

outcome<bool> mapped_dedup::run(const progress_callback& report_progress) {
  while (cut_window()) {
    const unsigned jobs = now_.used == 1 ? 1 : settings_.jobs;
    parallel_for(now_.used, jobs, [&](std::size_t i, bool) { hash_chunk(i); });
    parallel_for(shards_.size(), jobs, [&](std::size_t i, bool) { look_up_shard(shards_[i]); });
    if (table_bytes() > settings_.table_bytes) {
      if (auto printed = await_printer(); !printed) return failed(printed.error());
      return false;
    }
    parallel_for(bin_of(place_of(position_)) + 1, jobs, [&](std::size_t i, bool) { check_bin(i); });
    decide_rest();
    if (auto printed = print_window(); !printed) return failed(printed.error());
    report_progress(position_, lines_);
  }
  if (auto printed = await_printer(); !printed) return failed(printed.error());
  return !line_too_long_;
}

bool mapped_dedup::cut_window() {
  // So many bytes that lines of the length of those before make no more of them than is good.
  std::uint64_t wanted = first_window_bytes;
  if (printed_.lines != 0) {
    const std::uint64_t before = printed_.chunks[printed_.used - 1].end - printed_.begin;
    wanted = settings_.window_bytes / least_line_bytes * std::max<std::uint64_t>(1, before / printed_.lines);
  }
  wanted = std::clamp(wanted, chunk_bytes, settings_.window_bytes);
  now_.used = 0;
  now_.begin = position_;
  now_.trouble.reset();
  now_.thrown = nullptr;
  while (position_ < now_.begin + wanted && file_ < input_->files().size()) {
    const mapped_files::stretch& file = input_->files()[file_];
    if (position_ == file.end) {
      if (++file_ < input_->files().size()) position_ = input_->files()[file_].begin;
      continue;
    }
    if (now_.used == now_.chunks.size()) now_.chunks.emplace_back();
    chunk& next = now_.chunks[now_.used++];
    next.begin = position_;
    next.end = std::min(position_ + chunk_bytes, file.end);
    const char* const stop =
        find_or_end(input_->bytes_at(next.end - 1), input_->bytes_at(file.end), settings_.terminator);
    next.unterminated = stop == input_->bytes_at(file.end);
    next.end =
        next.unterminated ? file.end : next.end + static_cast<std::uint64_t>(stop - input_->bytes_at(next.end - 1));
    position_ = next.end;
    line_too_long_ |= next.end - next.begin > std::numeric_limits<std::uint32_t>::max();
  }
  if (hashed_.size() < now_.used) hashed_.resize(now_.used);
  return now_.used != 0 && !line_too_long_;
}

void mapped_dedup::hash_chunk(std::size_t index) {
  chunk& target = now_.chunks[index];
  target.starts.clear();
  std::vector<std::string_view> keys;
  const char* const begin = input_->bytes_at(target.begin);
  const char* const end = input_->bytes_at(target.end);
  const char* line = begin;
  const auto take = [&](const char* stop) {
    target.starts.push_back(static_cast<std::uint32_t>(line - begin));
    keys.emplace_back(line, static_cast<std::size_t>(stop - line));
    line = stop + 1;
  };
  for_each_end(begin, end, settings_.terminator, take);
  if (target.unterminated) take(end);
  target.repeats.assign(keys.size(), 0);
  std::vector<std::uint64_t> digests(keys.size());
  settings_.hash.digests(keys, digests);
  deal_out(hashed_[index], target, digests);
}

void mapped_dedup::deal_out(hashed& to, const chunk& target, std::span<const std::uint64_t> digests) const {
  // Counted first, then put in place; after that, the ends are those of the shards.
  to.shard_ends.assign(shards_.size() + 1, 0);
  for (const std::uint64_t digest : digests) ++to.shard_ends[shard_of(digest) + 1];
  for (std::size_t i = 1; i < to.shard_ends.size(); ++i) to.shard_ends[i] += to.shard_ends[i - 1];
  to.lines.resize(digests.size());
  for (std::uint32_t line = 0; line < digests.size(); ++line) {
    to.lines[to.shard_ends[shard_of(digests[line])]++] = {digests[line], line, target.starts[line]};
  }
}

void mapped_dedup::look_up_shard(shard& target) {
  constexpr std::size_t ahead = 16;
  const auto index = static_cast<std::size_t>(&target - shards_.data());
  std::vector<suspect> found;
  for (std::uint32_t c = 0; c < now_.used; ++c) {
    const hashed& from = hashed_[c];
    const chunk& owner = now_.chunks[c];
    const std::size_t begin = index == 0 ? 0 : from.shard_ends[index - 1];
    const auto lines = std::span(from.lines).subspan(begin, from.shard_ends[index] - begin);
    for (const hashed_line& each : lines.first(std::min(ahead, lines.size()))) target.table.prefetch(each.digest);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (i + ahead < lines.size()) target.table.prefetch(lines[i + ahead].digest);
      const std::uint32_t other = target.table.claim(lines[i].digest, place_of(owner.begin + lines[i].start));
      if (other != dedup_table::nobody) found.push_back({c, lines[i].line, other});
    }
  }
  sort_suspects(target, found);
}

void mapped_dedup::sort_suspects(shard& target, std::vector<suspect>& found) const {
  const std::size_t bins = bin_of(place_of(position_)) + 1;
  target.bin_begins.assign(bins + 2, 0);
  for (const suspect& each : found) ++target.bin_begins[bin_of(each.place) + 2];
  for (std::size_t i = 2; i < target.bin_begins.size(); ++i) target.bin_begins[i] += target.bin_begins[i - 1];
  target.suspects.resize(found.size());
  for (const suspect& each : found) target.suspects[target.bin_begins[bin_of(each.place) + 1]++] = each;
}

void mapped_dedup::prefetch_line(std::uint64_t position) const {
  __builtin_prefetch(input_->bytes_at(position));
  __builtin_prefetch(input_->bytes_at(position + 64));
}

void mapped_dedup::check_bin(std::size_t bin) {
  constexpr std::size_t ahead = 8;
  constexpr std::size_t many = 64;
  const mapped_files::stretch stretch{bin << bin_shift_, std::min((bin + 1) << bin_shift_, position_)};
  std::size_t count = 0;
  for (const shard& each : shards_) count += each.bin_begins[bin + 1] - each.bin_begins[bin];
  if (count == 0) return;
  if (count >= many) input_->expect(stretch);
  std::vector<suspect> wrong;
  for (const shard& each : shards_) {
    const auto all =
        std::span(each.suspects).subspan(each.bin_begins[bin]).first(each.bin_begins[bin + 1] - each.bin_begins[bin]);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i + 2 * ahead < all.size()) {
        const suspect& later = all[i + 2 * ahead];
        __builtin_prefetch(now_.chunks[later.chunk].starts.data() + later.line);
      }
      if (i + ahead < all.size()) {
        const suspect& later = all[i + ahead];
        const chunk& owner = now_.chunks[later.chunk];
        prefetch_line(std::uint64_t{later.place} << place_shift_);
        prefetch_line(owner.begin + owner.starts[later.line]);
      }
      chunk& owner = now_.chunks[all[i].chunk];
      if (stands_at(all[i].place, key(owner, all[i].line), owner.begin + owner.starts[all[i].line])) {
        owner.repeats[all[i].line] = 1;
      } else {
        wrong.push_back(all[i]);
      }
    }
  }
  // What is not about to be printed is not needed soon.
  if (stretch.end <= printed_.begin) input_->release(stretch);
  if (wrong.empty()) return;
  const std::lock_guard held(wrong_lock_);
  wrong_.insert(wrong_.end(), wrong.begin(), wrong.end());
}

std::string_view mapped_dedup::key(const chunk& target, std::uint32_t line) const {
  const std::uint64_t begin = target.begin + target.starts[line];
  const bool last = line + 1 == target.starts.size();
  const std::uint64_t end = last ? target.end : target.begin + target.starts[line + 1];
  return {input_->bytes_at(begin), static_cast<std::size_t>(end - begin - (last && target.unterminated ? 0 : 1))};
}

bool mapped_dedup::stands_at(std::uint32_t place, std::string_view key, std::uint64_t position) const {
  const std::uint64_t place_begin = std::uint64_t{place} << place_shift_;
  const std::uint64_t place_end = std::min(place_begin + (std::uint64_t{1} << place_shift_), position);
  // Several lines may begin there when they are short, and one file may end and the next one begin.
  for (std::uint64_t at = place_begin; at < place_end;) {
    const mapped_files::stretch& file = input_->file_of(at);
    at = std::max(at, file.begin);
    const char* const file_end = input_->bytes_at(file.end);
    const char* const last = input_->bytes_at(std::min(place_end, file.end));
    // From the terminator of the line before, or the beginning of the file, on.
    const char* line =
        at == file.begin ? input_->bytes_at(at) : find_or_end(input_->bytes_at(at) - 1, last, settings_.terminator) + 1;
    for (; line < last; line = find_or_end(line, last, settings_.terminator) + 1) {
      const auto left = static_cast<std::size_t>(file_end - line);
      if (left < key.size() || std::memcmp(line, key.data(), key.size()) != 0) continue;
      if (left == key.size() || line[key.size()] == settings_.terminator) return true;
    }
    at = file.end;
  }
  return false;
}

// In order: a line that turns out to be new is known to the lines after it.
void mapped_dedup::decide_rest() {
  std::sort(wrong_.begin(), wrong_.end(), [](const suspect& a, const suspect& b) {
    return std::tuple(a.chunk, a.line) < std::tuple(b.chunk, b.line);
  });
  for (const suspect& each : wrong_) {
    chunk& owner = now_.chunks[each.chunk];
    const std::uint64_t position = owner.begin + owner.starts[each.line];
    const std::string_view text = key(owner, each.line);
    const std::uint64_t digest = settings_.hash.digest(text.data(), text.size());
    dedup_table& table = shards_[shard_of(digest)].table;
    table.find(digest, [&](std::uint32_t place) {
      owner.repeats[each.line] = stands_at(place, text, position) ? 1 : 0;
      return owner.repeats[each.line] != 0;
    });
    if (owner.repeats[each.line] == 0) table.insert(digest, place_of(position));
  }
  wrong_.clear();
  now_.lines = 0;
  for (std::size_t i = 0; i < now_.used; ++i) {
    const auto& repeats = now_.chunks[i].repeats;
    now_.lines += repeats.size();
    repeats_ += static_cast<std::uint64_t>(std::count(repeats.begin(), repeats.end(), 1));
  }
  lines_ += now_.lines;
}

outcome<void> mapped_dedup::await_printer() {
  if (printer_thread_.joinable()) printer_thread_.join();
  if (printed_.thrown != nullptr) std::rethrow_exception(printed_.thrown);
  if (printed_.trouble) return failed(*printed_.trouble);
  return {};
}

outcome<void> mapped_dedup::print_window() {
  if (auto printed = await_printer(); !printed) return printed;
  std::swap(now_, printed_);
  const auto print = [this] {
    try {
      if (auto done = print_lines(printed_); !done) printed_.trouble = done.error();
    } catch (...) {
      // Thrown again where it can be caught: in the caller's thread. A text would need memory that there may not be.
      printed_.thrown = std::current_exception();
    }
  };
  if (settings_.jobs > 1) {
    try {
      printer_thread_ = std::thread(print);
      return {};
    } catch (const std::system_error&) {
      // No thread available: this one prints.
    }
  }
  print();
  return await_printer();
}

// Copied, not written from the file's own pages: a page that is lost meanwhile would look like a fault of the output.
outcome<void> mapped_dedup::gather(std::string_view text) {
  while (gathered_.size() + text.size() > print_bytes) {
    const std::size_t fits = print_bytes - gathered_.size();
    gathered_.append(text.substr(0, fits));
    text.remove_prefix(fits);
    if (auto done = print_(gathered_); !done) return done;
    gathered_.clear();
  }
  gathered_.append(text);
  return {};
}

outcome<void> mapped_dedup::print_lines(const window& target) {
  gathered_.clear();
  gathered_.reserve(print_bytes);
  for (std::size_t i = 0; i < target.used; ++i) {
    const chunk& each = target.chunks[i];
    const std::size_t lines = print_ ? each.starts.size() : 0;
    for (std::size_t line = 0; line < lines; ++line) {
      if (each.repeats[line] != 0) continue;
      // As many as follow each other.
      const std::uint32_t first = each.starts[line];
      while (line < lines && each.repeats[line] == 0) ++line;
      const std::uint64_t end = line == lines ? each.end - each.begin : each.starts[line];
      const std::string_view text(input_->bytes_at(each.begin + first), static_cast<std::size_t>(end - first));
      if (auto done = gather(text); !done) return done;
      if (line < lines || !each.unterminated) continue;
      if (auto done = gather({&settings_.terminator, 1}); !done) return done;
    }
    input_->release({each.begin, each.end});
  }
  return gathered_.empty() ? outcome<void>{} : print_(gathered_);
}

std::uint64_t mapped_dedup::table_bytes() const {
  std::uint64_t sum = 0;
  for (const shard& each : shards_) sum += each.table.memory_bytes();
  return sum;
}

}  // namespace bloomery::cli

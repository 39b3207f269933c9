#include "cli/dedup/exact.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <system_error>

#include "cli/dedup/merge.hpp"
#include "cli/flags/numbers.hpp"

namespace bloomery::cli {
namespace {

constexpr std::size_t partition_count = 64;
constexpr std::size_t stragglers = partition_count;  // the partition of keys that the frozen table suspects wrongly
constexpr unsigned deepest_level = 4;

std::size_t partition_of(std::uint64_t digest, unsigned level) {
  // Other bits at every level, and none that the table of a partition needs.
  return static_cast<std::size_t>(mix64(digest + level) % partition_count);
}

}  // namespace

void exact_dedup::window::clear() {
  out.clear();
  bytes.clear();
  suspects.clear();
  wrong.clear();
  trouble.reset();
  thrown = nullptr;
  written = false;
}

std::string_view exact_dedup::window::key(std::size_t index) const {
  return std::string_view(bytes).substr(suspects[index].key_at, suspects[index].key_size);
}

std::string_view exact_dedup::window::text(std::size_t index) const {
  const std::size_t end = index + 1 < suspects.size() ? suspects[index + 1].key_at : bytes.size();
  const std::size_t at = suspects[index].key_at + suspects[index].key_size;
  // A mark, then the text where it is not the key.
  return bytes[at] == '\0' ? key(index) : std::string_view(bytes).substr(at + 1, end - at - 1);
}

exact_dedup::exact_dedup(dedup_settings settings, dedup_sink& sink, dedup_memory known, bool may_split)
    : settings_(std::move(settings)), sink_(&sink), known_(std::move(known)), may_split_(may_split) {
  // Addresses only: pages are allocated as they are written, and growing would take the memory twice.
  for (window* each : {&filling_, &checking_}) {
    each->out.reserve(settings_.window_bytes);
    each->bytes.reserve(settings_.window_bytes);
  }
}

exact_dedup::~exact_dedup() {
  if (checker_.joinable()) checker_.join();
}

outcome<std::unique_ptr<exact_dedup>> exact_dedup::make(dedup_settings settings, dedup_sink& sink) {
  auto file = spill_file::make(settings.folder);
  if (!file) return failed(file.error());
  dedup_memory known{dedup_store(std::move(*file), settings.mode == dedup_mode::counts),
                     std::make_unique<dedup_table>()};
  const bool may_split = settings.level < deepest_level;
  return std::unique_ptr<exact_dedup>(new exact_dedup(std::move(settings), sink, std::move(known), may_split));
}

std::unique_ptr<exact_dedup> exact_dedup::resume(dedup_settings settings, dedup_sink& sink, dedup_memory known) {
  return std::unique_ptr<exact_dedup>(new exact_dedup(std::move(settings), sink, std::move(known), false));
}

std::uint64_t exact_dedup::memory_bytes() const {
  return known_.table->memory_bytes() + known_.store.memory_bytes() + counts_.capacity() * sizeof(counts_[0]) +
         reported_.capacity() / 8;
}

outcome<void> exact_dedup::add(std::span<const dedup_entry> entries, std::span<const std::uint64_t> digests) {
  constexpr std::size_t ahead = 12;
  for (std::size_t i = 0; i < std::min(ahead, entries.size()); ++i) known_.table->prefetch(digests[i]);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i + ahead < entries.size()) known_.table->prefetch(digests[i + ahead]);
    std::optional<std::uint32_t> known;
    known_.table->find(digests[i], [&](std::uint32_t ordinal) {
      known = ordinal;
      return true;
    });
    if (known) {
      take_suspect(entries[i], *known);
    } else if (auto taken = take_new(entries[i], digests[i]); !taken) {
      return taken;
    }
    if (filling_.out.size() + filling_.bytes.size() >= settings_.window_bytes) {
      if (auto swapped = swap_windows(); !swapped) return swapped;
    }
  }
  const bool full = memory_bytes() > settings_.table_bytes || known_.store.size() >= dedup_table::max_ordinal;
  return full && !split_ && settings_.level < deepest_level ? freeze() : outcome<void>{};
}

outcome<void> exact_dedup::take_new(const dedup_entry& entry, std::uint64_t digest) {
  if (split_) return append_spilled(split_->partitions[partition_of(digest, settings_.level)], entry);
  const auto ordinal = known_.store.append(entry);
  if (!ordinal) return failed(ordinal.error());
  known_.table->insert(digest, *ordinal);
  ++different_;
  if (settings_.mode == dedup_mode::first) sink_->encode(filling_.out, entry.sequence, 1, entry.text);
  if (settings_.mode == dedup_mode::counts) counts_.push_back(1);
  return {};
}

void exact_dedup::take_suspect(const dedup_entry& entry, std::uint32_t ordinal) {
  filling_.suspects.push_back({.ordinal = ordinal,
                               .key_at = filling_.bytes.size(),
                               .key_size = entry.key.size(),
                               .out_at = filling_.out.size(),
                               .sequence = entry.sequence});
  filling_.bytes.append(entry.key);
  const bool same = entry.text == entry.key;
  filling_.bytes.push_back(same ? '\0' : '\1');
  if (!same) filling_.bytes.append(entry.text);
}

// The window that has been filled goes to be checked; the one before it must be done with first.
outcome<void> exact_dedup::swap_windows() {
  if (auto settled = settle(); !settled) return settled;
  if (auto flushed = known_.store.flush(); !flushed) return flushed;
  for (suspect& each : filling_.suspects) known_.store.locate(each);
  std::swap(filling_, checking_);
  filling_.clear();
  checking_is_due_ = true;
  if (settings_.background) {
    try {
      checker_ = std::thread([this] { check(checking_); });
      return {};
    } catch (const std::system_error&) {
      // No thread available: this one does the work.
    }
  }
  check(checking_);
  return {};
}

// Runs beside the filling of the next window: it touches nothing but its window, the store's file and the sink.
void exact_dedup::check(window& checked) {
  try {
    auto wrong = refuted(known_.store.file(), known_.store.has_texts(), checked.suspects, checked.bytes);
    if (!wrong) {
      checked.trouble = wrong.error();
      return;
    }
    checked.wrong = std::move(*wrong);
    if (settings_.mode != dedup_mode::first || !checked.wrong.empty()) return;
    checked.written = true;
    if (auto written = sink_->write(checked.out); !written) checked.trouble = written.error();
  } catch (...) {
    // Thrown again where it can be caught: in the caller's thread. A text would need memory that there may not be.
    checked.thrown = std::current_exception();
  }
}

outcome<void> exact_dedup::settle() {
  if (!checking_is_due_) return {};
  if (checker_.joinable()) checker_.join();
  checking_is_due_ = false;
  if (checking_.thrown != nullptr) std::rethrow_exception(checking_.thrown);
  if (checking_.trouble) return failed(*checking_.trouble);
  if (checking_.written) return {};
  return settings_.mode == dedup_mode::first ? settle_first(checking_) : settle_again(checking_);
}

// Whose key it is after all: an ordinal, or none when it is a new key, which has then been stored or split off.
outcome<std::optional<std::uint32_t>> exact_dedup::decide(const window& checked, std::size_t index) {
  const std::string_view key = checked.key(index);
  const dedup_entry entry{key, checked.text(index), checked.suspects[index].sequence};
  const std::uint64_t digest = settings_.hash.digest(key.data(), key.size());
  std::vector<std::uint32_t> candidates;
  known_.table->find(digest, [&](std::uint32_t ordinal) {
    candidates.push_back(ordinal);
    return false;
  });
  for (const std::uint32_t ordinal : candidates) {
    const auto same = known_.store.holds(ordinal, key);
    if (!same) return failed(same.error());
    if (*same) return std::optional(ordinal);
  }
  std::optional<std::uint32_t> none;
  if (split_) {
    if (auto done = append_spilled(split_->partitions[stragglers], entry); !done) return failed(done.error());
    return none;
  }
  const auto ordinal = known_.store.append(entry);
  if (!ordinal) return failed(ordinal.error());
  known_.table->insert(digest, *ordinal);
  ++different_;
  if (settings_.mode == dedup_mode::counts) {
    counts_.push_back(1);
    late_.push_back(*ordinal);
  }
  return none;
}

// Lines that were suspects and are new stand where they belong between the others.
outcome<void> exact_dedup::settle_first(window& checked) {
  std::string patched;
  std::size_t copied = 0;
  for (const std::uint32_t index : checked.wrong) {
    const auto other = decide(checked, index);
    if (!other) return failed(other.error());
    if (*other || split_) continue;
    const suspect& line = checked.suspects[index];
    patched.append(checked.out, copied, line.out_at - copied);
    copied = line.out_at;
    sink_->encode(patched, line.sequence, 1, checked.text(index));
  }
  patched.append(checked.out, copied);
  return sink_->write(patched);
}

// Modes that care for every occurrence.
outcome<void> exact_dedup::settle_again(window& checked) {
  std::string lines;
  auto wrong = checked.wrong.begin();
  for (std::size_t i = 0; i < checked.suspects.size(); ++i) {
    std::uint32_t ordinal = checked.suspects[i].ordinal;
    if (wrong != checked.wrong.end() && *wrong == i) {
      ++wrong;
      const auto other = decide(checked, i);
      if (!other) return failed(other.error());
      if (!*other) continue;
      ordinal = **other;
    }
    if (settings_.mode == dedup_mode::counts) {
      if (++counts_[ordinal] == 0) ++carries_[ordinal];
      continue;
    }
    if (reported_.size() <= ordinal) reported_.resize(static_cast<std::size_t>(known_.store.size()));
    if (reported_[ordinal]) continue;
    reported_[ordinal] = true;
    if (split_) {
      if (auto done = append_survivor(split_->decided, checked.suspects[i].sequence, 1, checked.text(i)); !done)
        return done;
    } else {
      sink_->encode(lines, checked.suspects[i].sequence, 1, checked.text(i));
    }
  }
  return lines.empty() ? outcome<void>{} : sink_->write(lines);
}

outcome<void> exact_dedup::flush() {
  if (filling_.out.empty() && filling_.suspects.empty()) return settle();
  if (auto swapped = swap_windows(); !swapped) return swapped;
  return settle();
}

outcome<void> exact_dedup::freeze() {
  if (!may_split_) {
    return fail_text(fmt::format("the lines that are remembered take more than {}: give more with --mem",
                                 human_size(settings_.table_bytes)));
  }
  // Nothing may be undecided: what turns out to be new must still find its place in the table.
  if (auto flushed = flush(); !flushed) return flushed;
  auto made = std::make_unique<split>();
  for (std::size_t i = 0; i <= partition_count; ++i) {
    auto file = spill_file::make(settings_.folder);
    if (!file) return failed(file.error());
    made->partitions.push_back(std::move(*file));
  }
  auto decided = spill_file::make(settings_.folder);
  if (!decided) return failed(decided.error());
  made->decided = std::move(*decided);
  split_ = std::move(made);
  was_split_ = true;
  return {};
}

outcome<void> exact_dedup::finish() {
  if (auto flushed = flush(); !flushed) return flushed;
  if (auto flushed = known_.store.flush(); !flushed) return flushed;
  if (settings_.mode == dedup_mode::counts) {
    if (auto written = write_counts(); !written) return written;
  }
  return split_ ? finish_split() : outcome<void>{};
}

std::uint64_t exact_dedup::count_of(std::uint32_t ordinal) const {
  const auto carried = carries_.find(ordinal);
  return counts_[ordinal] + (carried == carries_.end() ? 0 : carried->second << 32U);
}

outcome<void> exact_dedup::write_counts() {
  struct late_line {
    std::uint64_t sequence;
    std::uint64_t count;
    std::string text;
  };
  std::vector<late_line> late;
  for (int pass = late_.empty() ? 1 : 0; pass < 2; ++pass) {
    stored_entries all(known_.store);
    std::string lines;
    auto next_late = late.begin();
    auto skipped = late_.begin();
    for (std::uint32_t ordinal = 0; ordinal < known_.store.size(); ++ordinal) {
      const auto entry = all.next();
      if (!entry) return failed(entry.error());
      const dedup_entry& line = **entry;
      if (skipped != late_.end() && *skipped == ordinal) {
        ++skipped;
        if (pass == 0) late.push_back({line.sequence, count_of(ordinal), std::string(line.text)});
        continue;
      }
      if (pass == 0) continue;
      for (; next_late != late.end() && next_late->sequence < line.sequence; ++next_late) {
        sink_->encode(lines, next_late->sequence, next_late->count, next_late->text);
      }
      sink_->encode(lines, line.sequence, count_of(ordinal), line.text);
      if (lines.size() < (std::size_t{1} << 16U)) continue;
      if (auto written = sink_->write(lines); !written) return written;
      lines.clear();
    }
    for (; pass == 1 && next_late != late.end(); ++next_late) {
      sink_->encode(lines, next_late->sequence, next_late->count, next_late->text);
    }
    if (auto written = sink_->write(lines); !written) return written;
  }
  return {};
}

// One partition: what survives goes to `survivors`, in input order.
outcome<void> exact_dedup::finish_partition(std::size_t index, spill_file& survivors) {
  spill_file partition = std::move(split_->partitions[index]);
  if (auto flushed = partition.flush(); !flushed) return flushed;
  if (partition.size_bytes() == 0) return {};
  survivor_sink sink(survivors);
  dedup_settings settings = settings_;
  ++settings.level;
  auto inner = make(settings, sink);
  if (!inner) return failed(inner.error());
  spilled_entries source(partition);
  std::vector<std::uint64_t> digests;
  while (true) {
    const auto entries = source.next();
    if (!entries) return failed(entries.error());
    if (entries->empty()) break;
    digests.clear();
    for (const dedup_entry& each : *entries) digests.push_back(settings_.hash.digest(each.key.data(), each.key.size()));
    if (auto added = (*inner)->add(*entries, digests); !added) return added;
  }
  if (auto finished = (*inner)->finish(); !finished) return finished;
  different_ += (*inner)->different();
  return survivors.flush();
}

outcome<void> exact_dedup::finish_split() {
  known_ = {};
  counts_ = {};
  reported_ = {};
  filling_ = {};
  checking_ = {};
  std::vector<spill_file> survivors;
  for (std::size_t i = 0; i < split_->partitions.size(); ++i) {
    auto file = spill_file::make(settings_.folder);
    if (!file) return failed(file.error());
    if (auto done = finish_partition(i, *file); !done) return done;
    survivors.push_back(std::move(*file));
  }
  if (auto flushed = split_->decided.flush(); !flushed) return flushed;
  survivors.push_back(std::move(split_->decided));
  return merge_survivors(survivors, *sink_);
}

}  // namespace bloomery::cli

#include "cli/verbs/verify_checks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <bloomery/compat/hbase/key.hpp>
#include <bloomery/core/binomial.hpp>
#include <bloomery/core/bytes.hpp>
#include <mutex>
#include <optional>

#include "cli/flags/numbers.hpp"
#include "cli/keys/digests.hpp"
#include "cli/keys/parallel_for.hpp"
#include "cli/keys/seen_keys.hpp"
#include "cli/terminal/progress.hpp"

namespace bloomery::cli {
namespace {

constexpr std::uint64_t default_probes = 1'000'000;
constexpr std::size_t shown_missing = 5;
constexpr std::size_t shown_bytes = 200;

// For messages.
std::string name_of(const std::string& path) { return path == "-" ? "standard input" : path; }

// Looks up all keys of a chunk; the results are at the front of its mask, which is left empty when that fails.
bool look_up_chunk(const opened_filter& opened, key_chunk& chunk, std::size_t more_words) {
  chunk.mask.assign(mask_words(chunk.size()) + more_words, 0);
  const auto queried = look_up(opened.filter, chunk);
  if (queried) return true;
  chunk.mask.clear();
  chunk.fail(fail_file(opened.name, queried.error()).value());
  return false;
}

std::uint64_t hits_in(std::span<const std::uint64_t> mask, std::size_t count) {
  std::uint64_t hits = 0;
  for (std::size_t i = 0; i < count; ++i) hits += bit_of(mask, i) ? 1 : 0;
  return hits;
}

void note_missing(const key_chunk& chunk, findings& found) {
  const auto records = chunk.records();
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    if (bit_of(chunk.mask, i)) continue;
    ++found.missing;
    if (found.first_missing.size() < shown_missing) {
      found.first_missing.push_back({records.number(i), std::string(records.text(i).substr(0, shown_bytes))});
    }
  }
}

outcome<void> look_up_keys(const options& opts, const opened_filter& opened, const hasher& hash, seen_keys& seen,
                           findings& found, const key_observer& observe) {
  const std::array files = {std::string(opts.text(flag::keys))};
  auto reader = key_reader::make(opts, files, hash);
  if (!reader) return failed(reader.error());
  if (auto done = reader->use(formats::looks_up(opened.filter)); !done) return failed(done.error());
  // Threads look up keys and make the fingerprints, which follow the results.
  digest_stream stream(std::move(*reader), hash, opened.filter.digest_bits(), [&](key_chunk& chunk) {
    if (!look_up_chunk(opened, chunk, chunk.size())) return;
    chunk.tally = hits_in(chunk.mask, chunk.size());
    std::uint64_t* print = chunk.mask.data() + mask_words(chunk.size());
    for (const std::string_view key : chunk.keys) *print++ = seen_keys::print(key);
  });
  progress line(opts, "looking up keys", stream.reader().total_bytes());
  while (true) {
    const auto more = stream.next();
    if (!more) return failed(more.error());
    if (!*more) break;
    const key_chunk& chunk = stream.chunk();
    if (chunk.mask.empty()) continue;  // the failure comes next
    found.keys += chunk.size();
    if (chunk.tally != chunk.size()) note_missing(chunk, found);
    if (observe) observe(chunk);
    seen.add(std::span(chunk.mask).subspan(mask_words(chunk.size())));
    line.update(stream.reader().bytes_taken(), found.keys);
  }
  // A check of nothing would pass, whatever the filter holds.
  if (found.keys == 0) {
    return fail_file(name_of(files.front()), "holds no keys, so nothing can be checked: give those of the filter");
  }
  seen.sort(jobs_of(opts));
  found.different = seen.size();
  return {};
}

// Looks up generated keys with the numbers [first, first + count): random bytes of fixed seed, 16 of them, or 8 where
// keys are integers. Those that were seen are left out.
class probe_batch {
 public:
  probe_batch(const opened_filter& opened, const hasher& hash, bool integers)
      : opened_(&opened), hash_(hash), key_bytes_(integers ? 8 : 16) {}

  struct counted {
    std::uint64_t queried = 0;
    std::uint64_t hits = 0;
  };
  result<counted> look_up(std::uint64_t first, std::size_t count, const seen_keys& seen) const {
    std::string bytes(count * key_bytes_, '\0');
    std::vector<std::string_view> keys;
    keys.reserve(count);
    const std::uint64_t words = key_bytes_ / 8;
    for (std::size_t i = 0; i < count; ++i) {
      char* const at = bytes.data() + i * key_bytes_;
      for (std::uint64_t word = 0; word < words; ++word) {
        store_le(reinterpret_cast<std::byte*>(at) + 8 * word, mix64(start + (first + i) * words + word));
      }
      const std::string_view key(at, key_bytes_);
      if (!seen.contains(seen_keys::print(key))) keys.push_back(key);
    }
    key_chunk chunk;
    std::string columns;
    if (formats::looks_up(opened_->filter) == formats::key_form::row_and_column) add_columns(keys, columns);
    chunk.keys = std::move(keys);
    chunk.mask.resize(mask_words(chunk.size()));
    make_digests(chunk, hash_, opened_->filter.digest_bits());
    if (auto queried = cli::look_up(opened_->filter, chunk); !queried) return fail(queried.error());
    return counted{chunk.size(), hits_in(chunk.mask, chunk.size())};
  }

 private:
  static constexpr std::uint64_t start = 0x9e3779b97f4a7c16ULL;

  // Half of each key becomes the row, half the qualifier; `to` holds them.
  static void add_columns(std::vector<std::string_view>& keys, std::string& to) {
    const auto cell_of = [](std::string_view key) {
      return hbase::cell_name{key.substr(0, key.size() / 2), key.substr(key.size() / 2)};
    };
    std::size_t size = 0;
    for (const std::string_view key : keys) size += hbase::rowcol_key_bytes(cell_of(key));
    to.resize(size);
    std::span<char> left = to;
    for (std::string_view& key : keys) {
      key = hbase::write_rowcol_key(cell_of(key), left);
      left = left.subspan(key.size());
    }
  }

  const opened_filter* opened_;
  hasher hash_;
  std::size_t key_bytes_;
};

outcome<void> look_up_generated(const options& opts, const opened_filter& opened, const hasher& hash,
                                const seen_keys& seen, findings& found) {
  constexpr std::uint64_t batch = 4096;
  const std::uint64_t wanted = opts.count(flag::probes).value_or(default_probes);
  progress line(opts, "looking up absent keys", wanted);
  const probe_batch source(opened, hash, opts.has(flag::u64));
  std::mutex lock;
  std::optional<problem> failure;
  // Keys that were seen are made up for by further numbers: the same ones, however many threads there are.
  for (std::uint64_t first = 0; found.probes < wanted && !failure;) {
    const std::uint64_t count = wanted - found.probes;
    parallel_for((count + batch - 1) / batch, jobs_of(opts), [&](std::size_t i, bool here) {
      const std::uint64_t at = i * batch;
      const auto counted = source.look_up(first + at, static_cast<std::size_t>(std::min(batch, count - at)), seen);
      const std::lock_guard held(lock);
      if (!counted) {
        failure = fail_file(opened.name, counted.error()).value();
        return;
      }
      found.probes += counted->queried;
      found.hits += counted->hits;
      if (here) line.update(found.probes, found.probes);
    });
    first += count;
  }
  if (failure) return failed(*failure);
  return {};
}

outcome<void> query_absent(const options& opts, const opened_filter& opened, const hasher& hash, const seen_keys& seen,
                           findings& found) {
  const std::array files = {std::string(opts.text(flag::absent))};
  auto reader = key_reader::make(opts, files, hash);
  if (!reader) return failed(reader.error());
  if (auto done = reader->use(formats::looks_up(opened.filter)); !done) return failed(done.error());
  // One more word: how many of the keys were seen. They do not count as hits.
  digest_stream stream(std::move(*reader), hash, opened.filter.digest_bits(), [&](key_chunk& chunk) {
    if (!look_up_chunk(opened, chunk, 1)) return;
    chunk.tally = 0;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      const bool is_key = seen.contains(seen_keys::print(chunk.keys[i]));
      chunk.mask.back() += is_key ? 1 : 0;
      chunk.tally += bit_of(chunk.mask, i) && !is_key ? 1 : 0;
    }
  });
  progress line(opts, "looking up absent keys", stream.reader().total_bytes());
  while (true) {
    const auto more = stream.next();
    if (!more) return failed(more.error());
    if (!*more) break;
    const key_chunk& chunk = stream.chunk();
    if (chunk.mask.empty()) continue;  // the failure comes next
    found.not_absent += chunk.mask.back();
    found.probes += chunk.size() - chunk.mask.back();
    found.hits += chunk.tally;
    line.update(stream.reader().bytes_taken(), found.probes);
  }
  if (found.probes != 0) return {};
  const std::string why = found.not_absent == 0 ? "holds no keys" : "holds no absent keys: all of them are in --keys";
  return fail_file(name_of(files.front()),
                   why + ", so no FPR can be measured: give others, or leave --absent out to have them generated");
}

std::string_view missing_advice(const kind_capabilities& kind, const findings& found) {
  if (found.may_lose()) {
    return "more keys are missing than its removals explain: leave removed keys out of those of --keys, "
           "or build it again from these keys";
  }
  if (kind.expires) return "keys are missing: keys of this kind expire outside its window, which 'bloomery info' shows";
  if (found.missing * 2 > found.keys) {
    return "most keys are missing: give the options that it was built with (-f, -d, --csv, --hex, --u64, --crlf, -0), "
           "or the keys that it was built from";
  }
  return "some keys are missing: build it again from these keys, or see whether they have changed since";
}

// More false positives than promised, and not because of too many keys.
std::string fpr_advice(const findings& found, const opened_filter& opened) {
  if (opened.filter.capabilities().excludes && !found.generated) {
    return "keys of --absent are in it: it is exact about the keys that it was built to exclude, and about no others";
  }
  if (!found.generated) {
    return "it is not overfull: some of the absent keys may have been added to it beside those of --keys; "
           "measure with generated ones (--probes) to see";
  }
  if (const std::string text = delivered_advice(found.stats); !text.empty()) return text;
  const hash_info* hash = find_hash(opened.filter.hash().id);
  if (hash != nullptr && !opened.format->is_native()) {
    return fmt::format(
        "it is not overfull: {}, the hash of format {}, may be too weak for these keys; a native filter "
        "has a better one",
        hash->name, opened.format->name);
  }
  if (hash != nullptr && hash->id != default_hash::info.id && hash->id != xxh3::info.id) {
    return fmt::format("it is not overfull: the hash {} may be too weak; build it again with --hash {}", hash->name,
                       default_hash::info.name);
  }
  return "it is not overfull: its bits are not what its keys should have made of them; build it again";
}

}  // namespace

std::vector<std::string> advice_on(const findings& found, const opened_filter& opened) {
  std::vector<std::string> out;
  if (!found.keys_hold()) out.emplace_back(missing_advice(opened.filter.capabilities(), found));
  fullness full = found.full;
  // A filter that is too full hardly counts any more, but the keys are here: all of them, as far as its estimate can
  // tell.
  constexpr double estimate_error = 1.05;
  const bool all_here =
      !full.countable || static_cast<double>(full.keys) < estimate_error * static_cast<double>(found.different);
  if (found.keys_hold() && all_here && !found.stats.loss) {
    full = {.keys = found.different, .taken = found.different, .countable = true, .overfull = full.overfull};
  }
  if (const std::string text = loss_advice(found.stats); !text.empty()) out.push_back(text);
  if (full.overfull) {
    out.push_back(overfull_advice(opened.filter.info(), found.stats, full));
  } else if (!found.fpr_holds()) {
    out.push_back(fpr_advice(found, opened));
  }
  return out;
}

outcome<findings> examine(const options& opts, const opened_filter& opened, const key_observer& observe) {
  const auto hash = hasher_of(opts, opened);
  if (!hash) return failed(hash.error());
  findings found;
  found.generated = !opts.has(flag::absent);
  // One that excludes keys is exact about those, which --absent names. Generated ones are in neither list.
  found.exact = opened.filter.info().exact || (opened.filter.capabilities().excludes && !found.generated);
  const auto stats = opened.filter.stats();
  if (!stats) return fail_file(opened.name, stats.error());
  found.stats = *stats;
  found.full = fullness_of(opened.filter.kind(), *stats);
  if (found.exact) found.stats.target_fpr = found.stats.fpr_now = 0;  // about these probes
  seen_keys seen;
  if (opts.has(flag::keys)) {
    if (auto done = look_up_keys(opts, opened, *hash, seen, found, observe); !done) return failed(done.error());
  }
  auto done = found.generated ? look_up_generated(opts, opened, *hash, seen, found)
                              : query_absent(opts, opened, *hash, seen, found);
  if (!done) return failed(done.error());
  const double each_side = (1.0 - findings::confidence) / 2.0;
  found.low = binomial::lower_bound(found.hits, found.probes, each_side);
  found.high = binomial::upper_bound(found.hits, found.probes, each_side);
  found.lost_low = binomial::lower_bound(found.missing, found.keys, each_side);
  found.lost_high = binomial::upper_bound(found.missing, found.keys, each_side);
  return found;
}

}  // namespace bloomery::cli

#include "bench/peers/group.hpp"

#include <cstdio>
#include <fstream>
#include <utility>

namespace bloomery::bench {
namespace {

std::uint64_t filter_bytes(const candidate_size& size) {
  return static_cast<std::uint64_t>(static_cast<double>(size.keys) * size.bits_per_key / 8);
}

std::uint64_t needed_bytes(const registration& of, const candidate_size& size) {
  const double beyond = size.type->number ? of.bytes_per_number : of.bytes_per_text;
  return (of.sized_by_bits ? filter_bytes(size) : 0) +
         static_cast<std::uint64_t>(beyond * static_cast<double>(size.keys));
}

// One candidate of the group, and what has been measured of it.
struct entry {
  entry(const registration& made_by, timed_case made)
      : of(&made_by), each(std::move(made)), added(each), added_singly(each) {}

  const registration* of;
  timed_case each;
  add_times added;
  add_times added_singly;
  query_times queried{};
  rate_count absent{};
  thread_figures query_threads{};
  thread_figures add_threads{};
  thread_figures add_parallel{};
};

void nothing(std::uint64_t /*keys*/) {}

// What is filled last stays.
void fill_all(std::vector<std::unique_ptr<entry>>& entries, std::uint64_t fills) {
  constexpr std::uint64_t fpr_probes = 1'000'000;
  constexpr std::uint64_t most_keys_singly = 10'000'000;  // minutes for figures that show nothing new
  for (std::uint64_t fill = 0; fill < fills; ++fill) {
    for (const auto& of : entries) {
      const bool twice = of->each.subject().has_batches() && of->each.keys() <= most_keys_singly;
      if (twice) of->added_singly.fill(of->each, call_with::single, nothing);
      of->added.fill(of->each, call_with::batch, nothing);
      of->each.count_hits_of_fill(fpr_probes / fills, of->absent);
    }
  }
}

// Separate keys for every thread of a pool, as many as make a round long enough to start together. Each thread makes its own: keys that
// another thread has just made are in the cache of that thread's core, and fetching them is not what is measured.
class thread_keys {
 public:
  static constexpr std::size_t keys = 8 * chunk_keys;

  thread_keys(const key_type& type, std::uint64_t of_keys, unsigned threads) {
    for (unsigned i = 0; i < threads; ++i) feeds_.push_back(feed_of(type, of_keys));
    blocks_.resize(threads);
  }
  // `make` gets a feed and the number of the thread, on that thread.
  template <class Make>
  void next(worker_pool& threads, Make make) {
    threads.run([&](unsigned thread) { blocks_[thread] = make(*feeds_[thread], thread); });
  }
  [[nodiscard]] const key_block& operator[](unsigned thread) const { return blocks_[thread]; }

 private:
  std::vector<std::unique_ptr<key_feed>> feeds_;
  std::vector<key_block> blocks_;
};

// The least of all rounds counts, as for the floor.
void keep_least(double& of, double ns) { of = of == 0 ? ns : std::min(of, ns); }
void keep_least(thread_figures& of, const thread_figures& round) {
  keep_least(of.one, round.one);
  keep_least(of.all, round.all);
}

thread_figures query_together(entry& of, const candidate_size& size, worker_pool& threads) {
  constexpr std::size_t rounds = 10;
  worker_pool alone(1);
  thread_keys keys(*size.type, size.keys, threads.threads());
  std::vector<double> one;
  std::vector<double> all;
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto query = [&](unsigned thread) {
      const std::uint64_t hits = std::as_const(of.each).subject().query(keys[thread], call_with::batch);
      keep(&hits);
    };
    // Other keys each time: those of before would find their lines in the cache.
    const auto next_keys = [&] {
      const std::uint64_t first = of.each.skip_keys(thread_keys::keys * threads.threads());
      keys.next(threads, [&](key_feed& feed, unsigned thread) {
        return feed.absent(of.each.fill(), first + thread * thread_keys::keys, thread_keys::keys);
      });
    };
    next_keys();
    all.push_back(threads.run(query));
    next_keys();
    one.push_back(alone.run(query));
  }
  return {.one = ns_per_key(low_percentile(std::move(one)), thread_keys::keys),
          .all = ns_per_key(low_percentile(std::move(all)), thread_keys::keys * threads.threads())};
}

// Into the emptied candidate; each round adds other keys, as many as fit, or the same again where it is small.
thread_figures add_together(entry& of, const candidate_size& size, worker_pool& threads) {
  constexpr std::uint64_t most_rounds = 20;
  const std::uint64_t in_round = thread_keys::keys * threads.threads();
  const std::uint64_t rounds = std::clamp<std::uint64_t>(size.keys / in_round / 2, 10, most_rounds);
  worker_pool alone(1);
  thread_keys keys(*size.type, size.keys, threads.threads());
  of.each.start_fill();
  std::vector<double> one;
  std::vector<double> all;
  for (std::uint64_t round = 0; round < 2 * rounds; ++round) {
    keys.next(threads, [&](key_feed& feed, unsigned thread) {
      const std::uint64_t first = (round * threads.threads() + thread) * thread_keys::keys % size.keys;
      return feed.present(of.each.fill(), first, thread_keys::keys);
    });
    if (round % 2 == 0) {
      all.push_back(threads.run([&](unsigned thread) { of.each.subject().add_shared(keys[thread]); }));
    } else {
      one.push_back(alone.run([&](unsigned) { of.each.subject().add(keys[0], call_with::batch); }));
    }
  }
  return {.one = ns_per_key(low_percentile(std::move(one)), thread_keys::keys),
          .all = ns_per_key(low_percentile(std::move(all)), in_round)};
}

// The same with one call that starts its own threads, with as many keys as a program that builds a filter; `one` is the same
// call with one thread.
thread_figures add_in_parallel(entry& of, const candidate_size& size, unsigned threads) {
  constexpr std::uint64_t rounds = 5;
  constexpr std::uint64_t most = 4'000'000;
  const auto in_round =
      static_cast<std::size_t>(std::clamp(size.keys, std::uint64_t{thread_keys::keys} * threads, most));
  const auto feed = feed_of(*size.type, size.keys);
  of.each.start_fill();
  std::vector<double> one;
  std::vector<double> all;
  for (std::uint64_t round = 0; round < 2 * rounds; ++round) {
    const key_block keys = feed->present(of.each.fill(), round * in_round % size.keys, in_round);
    bool done = false;
    const bool alone = round % 2 != 0;
    const double seconds = seconds_of([&] { done = of.each.subject().add_parallel(keys, alone ? 1 : threads); });
    if (!done) return {};
    (alone ? one : all).push_back(seconds);
  }
  return {.one = ns_per_key(low_percentile(std::move(one)), in_round),
          .all = ns_per_key(low_percentile(std::move(all)), in_round)};
}

// In rounds, too: what disturbs one processor for some seconds would otherwise decide about a candidate. The look-ups come first,
// because adding empties the candidates.
void measure_threads(std::vector<std::unique_ptr<entry>>& entries, const candidate_size& size, worker_pool& threads,
                     std::size_t rounds) {
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const auto& of : entries) keep_least(of->query_threads, query_together(*of, size, threads));
  }
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const auto& of : entries) {
      if (of->each.subject().shares_adds()) keep_least(of->add_threads, add_together(*of, size, threads));
      keep_least(of->add_parallel, add_in_parallel(*of, size, threads.threads()));
    }
  }
}

candidate_row row_of(const entry& of) {
  candidate_row row{.of = of.of, .batches = of.each.subject().has_batches()};
  of.queried.write(row.figures);
  row.figures.add = of.added.ns_per_key();
  row.figures.add_single = of.added_singly.ns_per_key();
  if (!row.batches) row.figures.add_single = row.figures.add;
  row.figures.memory_bytes = of.each.subject().memory_bytes();
  row.figures.bits_per_key = of.each.bits_per_key();
  row.figures.absent = of.absent;
  row.query_threads = of.query_threads;
  row.add_threads = of.add_threads;
  row.add_parallel = of.add_parallel;
  return row;
}

}  // namespace

std::uint64_t free_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  std::string unit;
  while (file >> name >> kib && std::getline(file, unit)) {
    if (name == "MemAvailable:") return kib * 1024;
  }
  return 0;
}

group_result run_group(const std::vector<registration>& registrations, const candidate_size& size,
                       const group_effort& effort) {
  group_result out{.size = size};
  std::vector<std::unique_ptr<entry>> entries;
  // All candidates exist at once, and the two buffers of the floor beside them.
  std::uint64_t left = free_memory_bytes() / 10 * 9;
  left -= std::min(left, 2 * filter_bytes(size));
  for (const registration& of : registrations) {
    const std::uint64_t bytes = needed_bytes(of, size);
    if (bytes > left) {
      out.left_out.push_back(&of);
      continue;
    }
    auto made = of.make(size);
    if (made == nullptr) continue;
    left -= bytes;
    entries.push_back(
        std::make_unique<entry>(of, timed_case(std::move(made), feed_of(*size.type, size.keys), size.keys)));
  }
  constexpr std::uint64_t most_fills = 100;
  fill_all(entries, fills_for(size.keys, effort.add_keys, most_fills));
  worker_pool threads(effort.threads);
  auto floor = floor_meter::make(filter_bytes(size));
  for (std::size_t round = 0; round < effort.rounds; ++round) {
    if (floor) floor->take_round(effort.round_chunks, threads);
    for (const auto& of : entries) {
      const std::size_t warm_chunks = warm_chunks_for(of->each.subject().memory_bytes());
      of->queried.take_round(of->each, effort.round_chunks, nothing, warm_chunks);
    }
  }
  if (floor) out.floor = floor->figures();
  if (effort.threads > 1) measure_threads(entries, size, threads, effort.rounds);
  for (const auto& of : entries) out.rows.push_back(row_of(*of));
  return out;
}

std::optional<fpr_point> measure_fpr(const registration& of, const candidate_size& size) {
  auto made = of.make(size);
  if (made == nullptr) return std::nullopt;
  timed_case each(std::move(made), feed_of(*size.type, size.keys), size.keys);
  each.start_fill();
  while (!each.is_full()) each.add_chunk();
  fpr_point out;
  constexpr std::uint64_t enough_hits = 400;
  constexpr std::uint64_t most_probes = 20'000'000;
  while (out.absent.hits < enough_hits && out.absent.asked < most_probes) {
    each.count_hits_of_fill(20 * chunk_keys, out.absent);
  }
  out.bits_per_key = each.bits_per_key();
  return out;
}

}  // namespace bloomery::bench

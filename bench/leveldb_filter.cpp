// Filters of LevelDB: our policy against the built-in one, through the virtual functions that a table reader and a table
// writer call. Rounds alternate between the two; a figure is the tenth percentile of the rounds, in ns per key.
//
//     bench_leveldb_filter [ROUNDS [BITS_PER_KEY]]      default 40 rounds, 10 bits
//
//     stream    look-ups behind each other in filters that are in the cache: of absent keys, of present ones, of both at random
//     alone     each look-up ends before the next one begins (both kinds of keys; what the loop costs is taken off)
//     cold      alone, in 128 MiB of filters
//     making    CreateFilter
//
// Keys are 16 decimal digits. Before the times stand the false-positive rates (FPRs) and the bytes of a filter.
#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <algorithm>
#include <array>
#include <bloomery/compat/leveldb/encoder.hpp>
#include <bloomery/core/intrinsics.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/clock.hpp"

namespace {

using leveldb::FilterPolicy;
using leveldb::Slice;

class windows_policy final : public FilterPolicy {
 public:
  explicit windows_policy(unsigned bits_per_key) : bits_per_key_(bits_per_key) {}
  [[nodiscard]] const char* Name() const override { return bloomery::leveldb::builtin_policy_name.data(); }
  void CreateFilter(const Slice* keys, int n, std::string* dst) const override {
    thread_local bloomery::leveldb::filter_encoder encoder;
    const auto filter = encoder.encode_keys(std::span(keys, static_cast<std::size_t>(n)), bits_per_key_);
    const auto bytes = filter ? *filter : encoder.matches_all();
    dst->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  [[nodiscard]] bool KeyMayMatch(const Slice& key, const Slice& filter) const override {
    return bloomery::leveldb::may_match(std::as_bytes(std::span(filter.data(), filter.size())),
                                        std::string_view(key.data(), key.size()));
  }

 private:
  unsigned bits_per_key_;
};

constexpr std::size_t key_bytes = 16;
// Each round has queries of its own: processors learn the outcomes of some thousand that come again.
constexpr std::size_t round_queries = 8192;

// Key i of stream s; all are different.
void write_key(char* out, std::uint64_t stream, std::uint64_t i) {
  std::uint64_t number = bloomery::mix64(stream << 40U | i) % 10'000'000'000'000'000U;
  for (std::size_t at = key_bytes; at-- != 0; number /= 10) out[at] = static_cast<char>('0' + number % 10);
}

struct key_list {
  std::string text;
  std::vector<Slice> slices;

  key_list(std::uint64_t stream, std::size_t count) : text(count * key_bytes, ' ') {
    for (std::size_t i = 0; i < count; ++i) {
      write_key(text.data() + i * key_bytes, stream, i);
      slices.emplace_back(text.data() + i * key_bytes, key_bytes);
    }
  }
};

struct query {
  Slice key;
  Slice filter;
};
// With the keys in the order in which they are looked up.
struct query_list {
  std::string text;
  std::vector<query> all;

  query_list() = default;
  query_list(query_list&&) = default;
  query_list& operator=(query_list&&) = default;

  [[nodiscard]] std::span<const query> of_round(std::size_t round) const {
    return std::span(all).subspan(round * round_queries, round_queries);
  }
};

// Filters of n keys each one behind the other, and queries of them.
class filter_set {
 public:
  filter_set(const FilterPolicy& policy, const std::vector<Slice>& keys, std::size_t n, std::size_t filters) : n_(n) {
    for (std::size_t i = 0; i < filters; ++i) {
      starts_.push_back(text_.size());
      policy.CreateFilter(keys.data() + i * n, static_cast<int>(n), &text_);
    }
    starts_.push_back(text_.size());
  }
  // The same filters again and again, in any order, until there are so many bytes; filter i is a copy of origins_[i].
  filter_set(const filter_set& of, std::size_t bytes) : n_(of.n_) {
    text_.reserve(bytes + of.size_bytes());
    for (std::uint64_t i = 0; text_.size() < bytes; ++i) {
      const std::size_t from = bloomery::mix64(i) % of.count();
      origins_.push_back(from);
      starts_.push_back(text_.size());
      text_.append(of.text_, of.starts_[from], of.starts_[from + 1] - of.starts_[from]);
    }
    starts_.push_back(text_.size());
  }
  [[nodiscard]] std::size_t count() const { return starts_.size() - 1; }
  [[nodiscard]] std::size_t size_bytes() const { return text_.size(); }
  // Of keys of which `present` of 2 are in their filter.
  [[nodiscard]] query_list queries(const key_list& keys, const key_list& absent, std::size_t count,
                                   unsigned present) const {
    query_list out;
    out.text.reserve(count * key_bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t random = bloomery::mix64(i + (std::uint64_t{present} << 50U));
      const std::size_t at = (random >> 20U) % this->count();
      const std::size_t from = origins_.empty() ? at : origins_[at];
      const bool in = present == 2 || (present == 1 && random % 2 == 0);
      const Slice key = in ? keys.slices[from * n_ + (random >> 8U) % n_] : absent.slices[i % absent.slices.size()];
      out.text.append(key.data(), key.size());
      out.all.push_back(
          {{out.text.data() + i * key_bytes, key_bytes}, {text_.data() + starts_[at], starts_[at + 1] - starts_[at]}});
    }
    return out;
  }

 private:
  std::size_t n_;
  std::string text_;
  std::vector<std::size_t> starts_;
  std::vector<std::size_t> origins_;
};

std::uint64_t matches = 0;  // so that no loop is left out

inline void fence() {
#ifdef BLOOMERY_X86
  _mm_lfence();
#else
  __asm__ volatile("isb" ::: "memory");
#endif
}

template <class F>
double ns_per(std::size_t count, F&& f) {
  return 1e9 * bloomery::bench::seconds_of(f) / static_cast<double>(count);
}

double stream(const FilterPolicy& policy, std::span<const query> queries) {
  return ns_per(queries.size(), [&] {
    for (const query& each : queries) matches += policy.KeyMayMatch(each.key, each.filter) ? 1 : 0;
  });
}
double alone(const FilterPolicy& policy, std::span<const query> queries) {
  const double all = ns_per(queries.size(), [&] {
    for (const query& each : queries) {
      fence();
      matches += policy.KeyMayMatch(each.key, each.filter) ? 1 : 0;
    }
  });
  const double loop = ns_per(queries.size(), [&] {
    for (const query& each : queries) {
      fence();
      matches += each.key.size();
    }
  });
  return all - loop;
}
double making(const FilterPolicy& policy, std::span<const Slice> keys, std::size_t n) {
  std::string out;
  return ns_per(keys.size() / n * n, [&] {
    for (std::size_t at = 0; at + n <= keys.size(); at += n) {
      out.clear();
      policy.CreateFilter(keys.data() + at, static_cast<int>(n), &out);
      matches += out.size();
    }
  });
}

// Of one row: what each of the two policies took, round by round.
struct times {
  std::array<std::vector<double>, 2> of{};

  [[nodiscard]] double low(unsigned which) const { return bloomery::bench::low_percentile(of.at(which)); }
  void print(const char* what) const {
    std::printf("  %-16s %8.1f %8.1f %8.2f\n", what, low(0), low(1), low(1) / low(0));
  }
};

void compare(std::array<const FilterPolicy*, 2> policies, std::size_t n, std::size_t rounds) {
  const std::size_t filters = std::max<std::size_t>(8, 4096 / n);
  const key_list present(2 * n, filters * n);
  const key_list absent(2 * n + 1, 1U << 18U);
  std::printf("%zu keys a filter %s %8s %8s %8s\n", n, "       ", "built-in", "ours", "ratio");
  std::array<std::array<query_list, 3>, 2> hot;
  std::array<std::unique_ptr<filter_set>, 2> sets;
  std::array<double, 2> fpr{};
  std::array<double, 2> bytes{};
  for (unsigned p = 0; p < 2; ++p) {
    sets.at(p) = std::make_unique<filter_set>(*policies.at(p), present.slices, n, filters);
    const filter_set& set = *sets.at(p);
    bytes.at(p) = static_cast<double>(set.size_bytes()) / static_cast<double>(filters);
    const std::size_t queried = 1U << 21U;
    std::size_t wrong = 0;
    for (const query& each : set.queries(present, absent, queried, 0).all) {
      wrong += policies.at(p)->KeyMayMatch(each.key, each.filter) ? 1U : 0U;
    }
    fpr.at(p) = 100.0 * static_cast<double>(wrong) / static_cast<double>(queried);
    for (unsigned what = 0; what < 3; ++what) {
      hot.at(p).at(what) = set.queries(present, absent, round_queries * rounds, what);
    }
  }
  std::printf("  %-16s %8.4f %8.4f %8.3f\n", "FPR, %", fpr[0], fpr[1], fpr[1] / fpr[0]);
  std::printf("  %-16s %8.1f %8.1f %8.3f\n", "bytes", bytes[0], bytes[1], bytes[1] / bytes[0]);
  std::array<std::unique_ptr<filter_set>, 2> large;
  std::array<query_list, 2> cold;
  for (unsigned p = 0; p < 2; ++p) {
    large.at(p) = std::make_unique<filter_set>(*sets.at(p), std::size_t{128} << 20U);
    cold.at(p) = large.at(p)->queries(present, absent, round_queries * rounds, 1);
  }
  std::array<times, 6> rows{};
  for (std::size_t round = 0; round < rounds; ++round) {
    for (unsigned p = 0; p < 2; ++p) {
      const FilterPolicy& policy = *policies.at(p);
      for (unsigned what = 0; what < 3; ++what)
        rows.at(what).of.at(p).push_back(stream(policy, hot.at(p).at(what).of_round(round)));
      rows[3].of.at(p).push_back(alone(policy, hot.at(p)[1].of_round(round)));
      rows[4].of.at(p).push_back(alone(policy, cold.at(p).of_round(round)));
      rows[5].of.at(p).push_back(making(policy, std::span(absent.slices).first(std::max<std::size_t>(8192, 4 * n)), n));
    }
  }
  constexpr std::array<const char*, 6> names = {"stream, absent", "stream, mixed", "stream, present",
                                                "alone, mixed",   "cold, mixed",   "making"};
  for (std::size_t i = 0; i < rows.size(); ++i) rows.at(i).print(names.at(i));
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 40;
  const int bits_per_key = argc > 2 ? std::atoi(argv[2]) : 10;
  if (rounds == 0 || bits_per_key <= 0) return 2;
  const std::unique_ptr<const FilterPolicy> builtin(leveldb::NewBloomFilterPolicy(bits_per_key));
  const windows_policy ours(static_cast<unsigned>(bits_per_key));
  for (const std::size_t n : {10U, 20U, 35U, 50U, 100U, 155U, 500U, 5000U}) {
    compare({builtin.get(), &ours}, n, rounds);
  }
  return matches == 0 ? 1 : 0;
}

#include "cli/verbs/demo_steps.hpp"

#include <fmt/core.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <bloomery/core/binomial.hpp>
#include <bloomery/kinds/blocked.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unordered_set>

namespace bloomery::cli {
namespace {

constexpr std::uint64_t max_queries = 1'000'000;
constexpr std::uint64_t min_queries = 100'000;
constexpr std::size_t batch = 4096;
constexpr std::size_t shown_blocks = 100;

// 16 of each, so that four bits choose.
using word_list = std::array<std::string_view, 16>;
constexpr word_list adjectives = {"bright", "quiet", "northern", "little", "open",  "early",  "silver", "public",
                                  "green",  "daily", "old",      "free",   "rapid", "common", "blue",   "grand"};
constexpr word_list nouns = {"river", "market", "garden", "bridge", "harbour", "letter",  "mountain", "window",
                             "forge", "signal", "island", "museum", "kitchen", "orchard", "station",  "library"};
constexpr word_list endings = {".com", ".com", ".com", ".org", ".net", ".de",  ".co.uk", ".io",
                               ".com", ".org", ".fr",  ".jp",  ".cn",  ".com", ".edu",   ".info"};
constexpr word_list sections = {"news",   "articles", "shop/items", "blog",   "wiki",   "forum/threads",
                                "photos", "products", "docs",       "events", "people", "tags",
                                "video",  "reviews",  "recipes",    "archive"};

using clock = std::chrono::steady_clock;
double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

class writer {
 public:
  explicit writer(char* out) : at_(out) {}
  void text(std::string_view s) {
    std::memcpy(at_, s.data(), s.size());
    at_ += s.size();
  }
  void base36(std::uint64_t value) {
    constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyz";
    std::array<char, 13> reversed{};
    std::size_t size = 0;
    do {
      reversed[size++] = digits[value % 36];
      value /= 36;
    } while (value != 0);
    while (size != 0) *at_++ = reversed[--size];
  }
  [[nodiscard]] char* position() const { return at_; }

 private:
  char* at_;
};

// Bits that choose, taken one after the other.
class chooser {
 public:
  explicit chooser(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t take(unsigned count) {
    const std::uint64_t taken = bits_ & ((std::uint64_t{1} << count) - 1);
    bits_ >>= count;
    return taken;
  }
  std::string_view word(const word_list& from) { return from[take(4)]; }

 private:
  std::uint64_t bits_;
};

// What this process holds in memory now; 0 where that cannot be known.
std::uint64_t resident_bytes() {
  malloc_trim(0);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "re"),
                                                             [](std::FILE* open) { return std::fclose(open); });
  unsigned long long pages = 0;
  if (!file || std::fscanf(file.get(), "%*u %llu", &pages) != 1) return 0;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t described(const any_filter& filter, std::string_view name) {
  const fact_list facts = filter.facts();
  const fact* found = facts.find(name);
  return found == nullptr ? 0 : found->value.integer();
}

}  // namespace

// scheme://[www.]adjective-noun.tld/section/[20YY/MM/]word-word[-word...]-ID[.html|?page=N]. The ID after the last
// dash is a one-to-one function of the number, so that no two numbers share a URL.
std::size_t write_url(std::uint64_t number, char* out) {
  const std::uint64_t id = mix64(number + 0x9e3779b97f4a7c15ULL);
  chooser choose(mix64(id));
  writer to(out);
  to.text(choose.take(3) == 0 ? "http://" : "https://");
  if (choose.take(1) == 0) to.text("www.");
  to.text(choose.word(adjectives));
  to.text(choose.word(nouns));
  to.text(choose.word(endings));
  to.text("/");
  to.text(choose.word(sections));
  to.text("/");
  if (choose.take(1) == 0) {
    to.text("20");
    to.base36(1 + choose.take(1));
    to.base36(choose.take(3));
    to.text("/0");
    to.base36(1 + choose.take(3));
    to.text("/");
  }
  for (std::uint64_t left = 1 + choose.take(2); left != 0; --left) {
    to.text(choose.word(left % 2 == 0 ? adjectives : nouns));
    to.text("-");
  }
  to.base36(id);
  const std::uint64_t tail = choose.take(3);
  if (tail < 2) to.text(".html");
  if (tail == 2) {
    to.text("?page=");
    to.base36(2 + choose.take(2));
  }
  return static_cast<std::size_t>(to.position() - out);
}

std::string url_of(std::uint64_t number) {
  std::array<char, max_url_bytes> buffer{};
  return {buffer.data(), write_url(number, buffer.data())};
}

demo_tour::demo_tour(const options& opts, std::uint64_t keys)
    : opts_(&opts),
      next_absent_(std::uint64_t{1} << 62U),
      bytes_(batch * max_url_bytes),
      urls_(batch),
      mask_(mask_words(batch)) {
  figures_.keys = keys;
  figures_.target_fpr = default_fpr;
}

result<void> demo_tour::add_until(std::uint64_t until, progress& line) {
  while (added_ < until) {
    const std::size_t size = std::min<std::uint64_t>(batch, until - added_);
    for (std::size_t i = 0; i < size; ++i) {
      char* out = bytes_.data() + i * max_url_bytes;
      urls_[i] = {out, write_url(added_ + i, out)};
      if (added_ < figures_.keys) figures_.url_bytes += urls_[i].size();
    }
    const auto start = clock::now();
    auto inserted = filter_->add(std::span<const std::string_view>(urls_).first(size));
    if (!inserted) return fail(inserted.error());
    if (added_ < figures_.keys) figures_.add_seconds += seconds_since(start);
    added_ += size;
    line.update(added_, added_);
  }
  return {};
}

result<answer_count> demo_tour::query_urls(const any_filter& filter, std::uint64_t first, std::uint64_t step,
                                           std::uint64_t count) {
  answer_count out;
  while (out.queried < count) {
    const std::size_t size = std::min<std::uint64_t>(batch, count - out.queried);
    for (std::size_t i = 0; i < size; ++i) {
      char* to = bytes_.data() + i * max_url_bytes;
      urls_[i] = {to, write_url(first + (out.queried + i) * step, to)};
    }
    const auto start = clock::now();
    auto queried = filter.may_contain(std::span<const std::string_view>(urls_).first(size), mask_);
    if (!queried) return fail(queried.error());
    out.seconds += seconds_since(start);
    for (std::size_t i = 0; i < mask_words(size); ++i) {
      out.yes += static_cast<std::uint64_t>(std::popcount(mask_[i]));
    }
    out.queried += size;
  }
  return out;
}

result<answer_count> demo_tour::query_absent(std::uint64_t count) {
  auto queried = query_urls(*filter_, next_absent_, 1, count);
  next_absent_ += count;
  return queried;
}

result<void> demo_tour::add_point() {
  const auto expected =
      blocked::plan({.keys = added_, .bits = figures_.plan.bits, .hashes = figures_.plan.hashes}, figures_.plan.layout);
  if (!expected) return fail(expected.error());
  auto measured = query_absent(std::clamp(figures_.keys / 5, min_queries, max_queries / 5));
  if (!measured) return fail(measured.error());
  figures_.curve.push_back({.keys = added_, .expected = expected->fpr, .absent = *measured});
  return {};
}

result<void> demo_tour::build() {
  const auto plan = blocked::plan({.keys = figures_.keys, .fpr = default_fpr});
  if (!plan) return fail(plan.error());
  figures_.plan = *plan;
  auto made = any_filter::make(blocked::info.name, {.keys = figures_.keys, .fpr = default_fpr}, hash_);
  if (!made) return fail(made.error());
  filter_.emplace(std::move(*made));
  figures_.filter_bytes = plan->memory_bytes;
  progress line(*opts_, "building", figures_.keys);
  for (std::uint64_t quarter = 1; quarter <= 4; ++quarter) {
    const auto start = clock::now();
    if (auto done = add_until(figures_.keys / 4 * quarter + (quarter == 4 ? figures_.keys % 4 : 0), line); !done) {
      return done;
    }
    figures_.build_seconds += seconds_since(start);
    if (auto done = add_point(); !done) return done;
  }
  return {};
}

result<void> demo_tour::query() {
  const std::uint64_t count = std::min(figures_.keys, max_queries);
  auto present = query_urls(*filter_, 0, figures_.keys / count, count);
  if (!present) return fail(present.error());
  auto absent = query_absent(std::max(count, min_queries));
  if (!absent) return fail(absent.error());
  figures_.present = *present;
  figures_.absent = *absent;
  figures_.curve.back().absent = *absent;  // the same filter, queried more often
  figures_.fpr_low = binomial::lower_bound(absent->yes, absent->queried, 0.005);
  figures_.fpr_high = binomial::upper_bound(absent->yes, absent->queried, 0.005);
  return {};
}

void demo_tour::compare_memory() {
  figures_.set_keys = std::min(figures_.keys, max_queries);
  const std::uint64_t before = resident_bytes();
  {
    std::unordered_set<std::string> set;
    for (std::uint64_t i = 0; i < figures_.set_keys; ++i) set.insert(url_of(i));
    const std::uint64_t after = resident_bytes();
    figures_.set_bytes = after > before ? after - before : 0;
  }
  malloc_trim(0);
  figures_.set_scaled_bytes =
      static_cast<std::uint64_t>(static_cast<double>(figures_.set_bytes) * static_cast<double>(figures_.keys) /
                                 static_cast<double>(figures_.set_keys));
}

result<void> demo_tour::look_at_fill() {
  const auto stats = filter_->stats();
  if (!stats) return fail(stats.error());
  figures_.fill = stats->fill;
  const auto bytes = filter_->bytes();
  if (!bytes) return fail(bytes.error());
  const std::uint64_t blocks = described(*filter_, "blocks");
  if (blocks == 0) return {};
  const std::size_t block_bytes = bytes->size() / blocks;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    int set_bits = 0;
    for (std::size_t at = 0; at < block_bytes; at += 8) {
      set_bits += std::popcount(load_le<std::uint64_t>(bytes->data() + block * block_bytes + at));
    }
    const double share = static_cast<double>(set_bits) / static_cast<double>(block_bytes * 8);
    ++figures_
          .blocks_by_fill[static_cast<std::size_t>(share * static_cast<double>(figures_.blocks_by_fill.size() - 1))];
    if (block < shown_blocks) figures_.block_fill.push_back(share);
  }
  return {};
}

std::string demo_tour::file_path() {
  const char* folder = std::getenv("TMPDIR");
  return fmt::format("{}/bloomery-demo-{}.bloom", folder == nullptr || *folder == '\0' ? "/tmp" : folder, getpid());
}

result<void> demo_tour::prove_file() {
  const std::string path = file_path();
  if (auto saved = filter_->save(path.c_str()); !saved) return fail(saved.error());
  const auto start = clock::now();
  auto opened = any_filter::open(path.c_str());
  figures_.open_seconds = seconds_since(start);
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) figures_.file_bytes = static_cast<std::uint64_t>(status.st_size);
  // What is mapped stays readable; so nothing is left on disk even if we are stopped during the look-ups.
  ::unlink(path.c_str());
  if (!opened) return fail(opened.error());
  figures_.file_mapped = opened->is_mapped();
  auto queried = query_urls(*opened, 0, figures_.keys / figures_.present.queried, figures_.present.queried);
  if (!queried) return fail(queried.error());
  figures_.from_file = *queried;
  return {};
}

result<void> demo_tour::overfill() {
  const std::uint64_t last = figures_.keys + figures_.keys / 2;
  progress line(*opts_, "overfilling", last);
  for (const std::uint64_t until : {figures_.keys + figures_.keys / 4, last}) {
    if (auto done = add_until(until, line); !done) return done;
    if (auto done = add_point(); !done) return done;
  }
  return {};
}

}  // namespace bloomery::cli

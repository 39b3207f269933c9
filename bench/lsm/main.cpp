// bench_lsm: fills real stores, and measures their gets. bench/lsm/run calls it part by part.
//
//   bench_lsm fill --folder F --keys decimal --filters none,builtin,ours     makes one store a filter
//   bench_lsm gets --folder F --keys decimal --filters none,builtin,ours     absent and present keys, in rounds, store by store
//   bench_lsm hot  --folder F ...                                            few hot keys in a flood of absent ones
//   also: --count N keys (3M), --gets N a round (20k), --rounds N (7), --direct (reads pass by the page cache)
//
// Present keys are the even numbers, absent ones the odd ones: they lie between the present ones, in the range of every table.
// A line of JSON a store and part.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>
#include <sstream>

#include "bench/lsm/store.hpp"

namespace lsm {

void stop(const std::string& why) {
  std::fprintf(stderr, "bench_lsm: %s\n", why.c_str());
  std::_Exit(2);
}

namespace {

struct request {
  std::string part;
  std::string folder;
  std::string keys = "decimal";
  std::vector<std::string> filters{"none", "builtin", "ours"};
  std::uint64_t count = 3'000'000;
  std::uint64_t gets = 20'000;
  std::uint64_t rounds = 7;
  bool direct = false;
};

request read_request(int argc, char** argv) {
  request out;
  if (argc < 2) stop("fill, gets or hot?");
  out.part = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--direct") {
      out.direct = true;
      continue;
    }
    if (i + 1 == argc) stop(name + " needs a value");
    const std::string value = argv[++i];
    if (name == "--folder") {
      out.folder = value;
    } else if (name == "--keys") {
      out.keys = value;
    } else if (name == "--filters") {
      out.filters.clear();
      std::istringstream list(value);
      for (std::string each; std::getline(list, each, ',');) out.filters.push_back(each);
    } else if (name == "--count") {
      out.count = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--gets") {
      out.gets = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--rounds") {
      out.rounds = std::strtoull(value.c_str(), nullptr, 10);
    } else {
      stop("no option " + name);
    }
  }
  if (out.folder.empty()) stop("--folder is needed");
  if (out.keys != "decimal" && out.keys != "big-endian") stop("--keys is decimal or big-endian");
  return out;
}

// The number as 16 decimal digits, or as 8 bytes, the highest first.
class key_text {
 public:
  explicit key_text(bool big_endian) : big_endian_(big_endian) {}
  std::string_view operator()(std::uint64_t number) {
    if (!big_endian_) {
      std::snprintf(text_, sizeof text_, "%016llu", static_cast<unsigned long long>(number));
      return {text_, 16};
    }
    for (unsigned i = 0; i < 8; ++i) text_[i] = static_cast<char>(number >> (56 - 8 * i));
    return {text_, 8};
  }

 private:
  bool big_endian_;
  char text_[24]{};
};

class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t limit) {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % limit;
  }

 private:
  std::uint64_t state_;
};

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double cpu_s() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

settings settings_of(const request& wanted, const std::string& filter) {
  return {.folder = wanted.folder + "/" + wanted.keys + "-" + filter,
          .filter = filter,
          .keys = wanted.count,
          .direct = wanted.direct};
}

void fill(const request& wanted) {
  for (const auto& filter : wanted.filters) {
    const settings how = settings_of(wanted, filter);
    std::filesystem::remove_all(how.folder);
    std::filesystem::create_directories(how.folder);
    key_text key(wanted.keys == "big-endian");
    std::string value(100, 'v');
    std::vector<std::uint64_t> order(wanted.count);  // every number once
    std::iota(order.begin(), order.end(), 0);
    random_numbers random(7);
    for (std::uint64_t i = wanted.count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    const double wall = now_s(), cpu = cpu_s();
    auto store = open_store(how, true);
    for (const std::uint64_t number : order) {
      std::memcpy(value.data(), &number, sizeof number);
      store->put(key(2 * number), value);
    }
    const double filled = now_s() - wall;
    store->settle();
    fill_figures cost = store->filter_cost();
    cost.wall_s = filled;
    cost.cpu_s = cpu_s() - cpu;
    // Opened again, its log becomes a table; afterwards nothing changes.
    store.reset();
    store = open_store(how, true);
    store->settle();
    const shape made = store->describe();
    std::printf(
        R"({"part": "fill", "keys": "%s", "filter": "%s", "count": %llu, "wall_s": %.2f, "cpu_s": %.2f, )"
        R"("filter_cpu_s": %.3f, "filter_keys": %llu, "files": "%s", "table_bytes": %llu, "filter_bytes": %llu})"
        "\n",
        wanted.keys.c_str(), filter.c_str(), static_cast<unsigned long long>(wanted.count), cost.wall_s, cost.cpu_s,
        cost.filter_cpu_s, static_cast<unsigned long long>(cost.filter_keys), made.files_of_level.c_str(),
        static_cast<unsigned long long>(made.table_bytes), static_cast<unsigned long long>(made.filter_bytes));
    std::fflush(stdout);
  }
}

struct subject {
  std::string filter;
  std::unique_ptr<store> of;
  double best_us[2] = {std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  std::uint64_t reads[2] = {0, 0};
  std::uint64_t useful[2] = {0, 0};
  std::uint64_t false_matches[2] = {0, 0};
};

std::vector<subject> open_all(const request& wanted) {
  std::vector<subject> out;
  for (const auto& filter : wanted.filters)
    out.push_back({.filter = filter, .of = open_store(settings_of(wanted, filter), false)});
  key_text key(wanted.keys == "big-endian");
  // Every table is opened, which reads its index and filters, and the cache is full.
  for (auto& each : out) {
    random_numbers random(1);
    for (int i = 0; i < 30'000; ++i) each.of->get(key(random.below(2 * wanted.count)));
  }
  return out;
}

// Stores that hold their compactions would wait for them for ever when they are closed.
[[noreturn]] void leave_open() {
  std::fflush(stdout);
  std::_Exit(0);
}

void gets(const request& wanted) {
  auto stores = open_all(wanted);
  key_text key(wanted.keys == "big-endian");
  for (std::uint64_t round = 0; round < wanted.rounds; ++round) {
    for (auto& each : stores) {
      for (const std::size_t present : {0U, 1U}) {
        random_numbers random(100 + round * 2 + present);
        const std::uint64_t reads = each.of->reads(), useful = each.of->useful(), wrong = each.of->false_matches();
        std::uint64_t found = 0;
        const double start = now_s();
        for (std::uint64_t i = 0; i < wanted.gets; ++i) {
          found += each.of->get(key(2 * random.below(wanted.count) + 1 - present)) ? 1U : 0U;
        }
        const double us = (now_s() - start) * 1e6 / static_cast<double>(wanted.gets);
        if (found != present * wanted.gets) stop(each.filter + ": a get was answered wrongly");
        each.best_us[present] = std::min(each.best_us[present], us);
        each.reads[present] += each.of->reads() - reads;
        each.useful[present] += each.of->useful() - useful;
        each.false_matches[present] += each.of->false_matches() - wrong;
      }
    }
  }
  const auto all = static_cast<double>(wanted.rounds * wanted.gets);
  for (const auto& each : stores) {
    for (const std::size_t present : {0U, 1U}) {
      std::printf(
          R"({"part": "gets", "keys": "%s", "direct": %s, "filter": "%s", "of": "%s", "us": %.3f, "reads": %.5f, )"
          R"("useful": %.5f, "false": %.5f, "gets": %.0f})"
          "\n",
          wanted.keys.c_str(), wanted.direct ? "true" : "false", each.filter.c_str(),
          present == 1 ? "present" : "absent", each.best_us[present], static_cast<double>(each.reads[present]) / all,
          static_cast<double>(each.useful[present]) / all, static_cast<double>(each.false_matches[present]) / all, all);
    }
  }
  leave_open();
}

// One get of a thousand hot keys, then nine of absent ones.
void hot(const request& wanted) {
  constexpr std::uint64_t hot_keys = 1000, absent_each = 9;
  auto stores = open_all(wanted);
  key_text key(wanted.keys == "big-endian");
  for (std::uint64_t round = 0; round <= wanted.rounds; ++round) {  // the first one warms up
    for (auto& each : stores) {
      random_numbers random(500 + round);
      double hot_s = 0;
      for (std::uint64_t i = 0; i < wanted.gets; ++i) {
        random_numbers which(random.below(hot_keys));
        const std::uint64_t number = which.below(wanted.count);
        const std::uint64_t reads = each.of->reads();
        const double start = now_s();
        if (!each.of->get(key(2 * number))) stop(each.filter + ": a hot key was missed");
        hot_s += now_s() - start;
        if (round != 0) {
          each.reads[0] += each.of->reads() - reads;
          each.reads[1] += each.of->reads() == reads ? 1U : 0U;
        }
        for (std::uint64_t j = 0; j < absent_each; ++j) each.of->get(key(2 * random.below(wanted.count) + 1));
      }
      if (round != 0) each.best_us[0] = std::min(each.best_us[0], hot_s * 1e6 / static_cast<double>(wanted.gets));
    }
  }
  const auto all = static_cast<double>(wanted.rounds * wanted.gets);
  for (const auto& each : stores) {
    std::printf(
        R"({"part": "hot", "keys": "%s", "direct": %s, "filter": "%s", "us": %.3f, "reads": %.4f, "without_a_read": %.4f})"
        "\n",
        wanted.keys.c_str(), wanted.direct ? "true" : "false", each.filter.c_str(), each.best_us[0],
        static_cast<double>(each.reads[0]) / all, static_cast<double>(each.reads[1]) / all);
  }
  leave_open();
}

int run(int argc, char** argv) {
  const request wanted = read_request(argc, argv);
  if (wanted.part == "fill") {
    fill(wanted);
  } else if (wanted.part == "gets") {
    gets(wanted);
  } else if (wanted.part == "hot") {
    hot(wanted);
  } else {
    stop("there is no part " + wanted.part);
  }
  return 0;
}

}  // namespace
}  // namespace lsm

int main(int argc, char** argv) { return lsm::run(argc, argv); }

// bench_peers: our kinds and their peers in one process, measured in rounds, and the memory-latency floor beside them. Writes one
// JSON object.
//
//     bench_peers [OPTIONS] MODULE.so...
//
//     --keys u64,bytes16,url     types of keys (all)
//     --sizes 1k,10k,...         numbers of keys (1k to 100M by tens)
//     --bits N                   bits per key, where there is a choice (12)
//     --pages own|small|huge     own: as each candidate requests; small: no huge pages; huge: malloc requests them too
//     --only TEXT                candidates with this in "name (build)" only; repeatable
//     --rounds N                 rounds (6)
//     --threads N                look up and add with so many threads too (all processors; 1: do not)
//     --fpr                      no times: false-positive rates of 1M keys from 4 to 30 bits per key
//     --list                     the candidates of the modules
#include <dlfcn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/peers/group.hpp"
#include "bench/peers/machine.hpp"

namespace {

using namespace bloomery::bench;
using json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "bench_peers: %s\n", what.c_str());
  std::exit(2);
}

struct arguments {
  std::vector<const key_type*> types{};
  std::vector<std::uint64_t> sizes{};
  double bits = 12;
  std::string pages = "own";
  std::vector<std::string> only{};
  group_effort effort{.threads = std::max(1U, std::thread::hardware_concurrency())};
  bool fpr_only = false;
  bool list = false;
  std::vector<std::string> modules{};
};

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t comma = text.find(',');
    out.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

// 1000, 10k, 5M, 1G
std::uint64_t count_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const std::uint64_t scale = unit.empty()  ? 1
                              : unit == "k" ? 1000
                              : unit == "M" ? 1'000'000
                              : unit == "G" ? 1'000'000'000
                                            : 0;
  if (error != std::errc() || value == 0 || scale == 0) {
    refuse("'" + std::string(text) + "' is no number: give one such as 1000, 10k, 5M or 1G");
  }
  return value * scale;
}

const key_type& type_of(std::string_view name) {
  for (const key_type& type : key_types) {
    if (type.name == name) return type;
  }
  refuse("no keys of type '" + std::string(name) + "': there are u64, bytes16 and url");
}

arguments parse(int argc, char** argv) {
  arguments out;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto value = [&]() -> std::string_view {
      if (i + 1 >= argc) refuse(std::string(word) + " needs a value");
      return argv[++i];
    };
    if (word == "--keys") {
      for (const auto name : split(value())) out.types.push_back(&type_of(name));
    } else if (word == "--sizes") {
      for (const auto size : split(value())) out.sizes.push_back(count_of(size));
    } else if (word == "--bits") {
      out.bits = std::strtod(std::string(value()).c_str(), nullptr);
      if (!(out.bits >= 1 && out.bits <= 64)) refuse("--bits takes 1 to 64");
    } else if (word == "--pages") {
      out.pages = value();
      if (out.pages != "own" && out.pages != "small" && out.pages != "huge") refuse("--pages takes own, small or huge");
    } else if (word == "--only") {
      out.only.emplace_back(value());
    } else if (word == "--rounds") {
      out.effort.rounds = count_of(value());
    } else if (word == "--threads") {
      out.effort.threads = static_cast<unsigned>(count_of(value()));
    } else if (word == "--fpr") {
      out.fpr_only = true;
    } else if (word == "--list") {
      out.list = true;
    } else if (word.substr(0, 1) == "-") {
      refuse("no option " + std::string(word) + "; the head of bench/peers/main.cpp has them");
    } else {
      out.modules.emplace_back(word);
    }
  }
  if (out.modules.empty()) refuse("name the modules with the candidates, such as lib/candidates_shipped.so");
  if (out.types.empty()) {
    for (const key_type& type : key_types) out.types.push_back(&type);
  }
  if (out.sizes.empty()) out.sizes = {1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};
  return out;
}

// Who gets huge pages is settled before any memory is taken.
void settle_pages(const std::string& pages, char** argv) {
  if (pages == "small" && ::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) refuse("cannot switch huge pages off");
  if (pages != "huge" || std::getenv("GLIBC_TUNABLES") != nullptr) return;
  ::setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1", 1);
  ::execv("/proc/self/exe", argv);
  refuse("cannot start again with other settings of malloc");
}

std::vector<registration> registrations_of(const arguments& options) {
  std::vector<registration> out;
  for (const std::string& path : options.modules) {
    void* const module =
        ::dlopen((path.find('/') == std::string::npos ? "./" + path : path).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) refuse(std::string("cannot open a module: ") + ::dlerror());
    const auto entry =
        reinterpret_cast<void (*)(std::vector<registration>&)>(::dlsym(module, "bloomery_register_candidates"));
    if (entry == nullptr) refuse("'" + path + "' is no module of candidates: it has no bloomery_register_candidates");
    entry(out);
  }
  if (options.only.empty()) return out;
  std::vector<registration> some;
  for (const registration& each : out) {
    for (const std::string& text : options.only) {
      if ((each.name + " (" + each.build + ")").find(text) == std::string::npos) continue;
      some.push_back(each);
      break;
    }
  }
  if (some.empty()) refuse("no candidate has '" + options.only.front() + "' in its name; --list shows them");
  return some;
}

// ---- output ----------------------------------------------------------------------------------------------------------

double rounded(double ns) { return static_cast<double>(static_cast<std::int64_t>(ns * 1000 + 0.5)) / 1000; }

json as_json(const registration& of) {
  return {{"name", of.name},
          {"version", of.version},
          {"ours", of.ours},
          {"packaged", of.packaged},
          {"minor", of.minor},
          {"build", of.build},
          {"sized_by_bits", of.sized_by_bits}};
}

json as_json(const candidate_row& row, const candidate_size& size) {
  json out = as_json(*row.of);
  out["key_type"] = size.type->name;
  out["keys"] = size.keys;
  out["bits_per_key"] = rounded(row.figures.bits_per_key);
  out["memory_bytes"] = row.figures.memory_bytes;
  out["fpr"] = row.figures.absent.rate();
  out["probes"] = row.figures.absent.asked;
  out["has_batches"] = row.batches;
  for (const figure_name& each : figure_names) out["ns_per_key"][each.name] = rounded(row.figures.*each.ns);
  const auto together = [&](const char* name, const thread_figures& of) {
    if (of.all > 0) out["threads"][name] = {{"one", rounded(of.one)}, {"all", rounded(of.all)}};
  };
  together("absent_batch", row.query_threads);
  together("add", row.add_threads);
  together("add_parallel", row.add_parallel);
  return out;
}

json as_json(const floor_figures& floor, const candidate_size& size) {
  return {{"key_type", size.type->name},
          {"keys", size.keys},
          {"size_bytes", floor.size_bytes},
          {"ns_per_line",
           {{"independent", rounded(floor.independent)},
            {"independent_small_pages", rounded(floor.independent_small)},
            {"dependent", rounded(floor.dependent)},
            {"dependent_small_pages", rounded(floor.dependent_small)},
            {"threads", rounded(floor.threads_independent)},
            {"threads_small_pages", rounded(floor.threads_independent_small)}}}};
}

void measure(const arguments& options, const std::vector<registration>& registrations, json& out) {
  out["rows"] = json::array();
  out["floors"] = json::array();
  out["left_out"] = json::array();
  for (const key_type* type : options.types) {
    for (const std::uint64_t keys : options.sizes) {
      std::fprintf(stderr, "bench_peers: %llu keys, %s\n", static_cast<unsigned long long>(keys),
                   std::string(type->title).c_str());
      const candidate_size size{.keys = keys, .bits_per_key = options.bits, .type = type};
      const group_result group = run_group(registrations, size, options.effort);
      for (const candidate_row& row : group.rows) out["rows"].push_back(as_json(row, size));
      if (group.floor) out["floors"].push_back(as_json(*group.floor, size));
      for (const registration* of : group.left_out) {
        json each = as_json(*of);
        each["key_type"] = type->name;
        each["keys"] = keys;
        out["left_out"].push_back(std::move(each));
      }
    }
  }
}

void measure_fprs(const arguments& options, const std::vector<registration>& registrations, json& out) {
  constexpr std::uint64_t keys = 1'000'000;
  out["rates"] = json::array();  // the name in archived runs
  for (const registration& of : registrations) {
    if (!of.sized_by_bits) continue;
    for (unsigned bits = 4; bits <= 30; bits += 2) {
      const candidate_size size{.keys = keys, .bits_per_key = static_cast<double>(bits), .type = options.types.front()};
      const auto point = measure_fpr(of, size);
      if (!point) continue;
      json each = as_json(of);
      each["keys"] = keys;
      each["bits_per_key"] = rounded(point->bits_per_key);
      each["fpr"] = point->absent.rate();
      each["false_positives"] = point->absent.hits;
      each["probes"] = point->absent.asked;
      out["rates"].push_back(std::move(each));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const arguments options = parse(argc, argv);
  settle_pages(options.pages, argv);
  const std::vector<registration> registrations = registrations_of(options);
  json out;
  if (options.list) {
    for (const registration& each : registrations) out.push_back(as_json(each));
  } else {
    out = {{"machine", machine_facts()},
           {"pages", options.pages},
           {"chunk_keys", chunk_keys},
           {"threads", options.effort.threads}};
    if (options.fpr_only) {
      measure_fprs(options, registrations, out);
    } else {
      measure(options, registrations, out);
    }
  }
  std::puts(out.dump(1).c_str());
  return std::fflush(stdout) == 0 ? 0 : 2;
}

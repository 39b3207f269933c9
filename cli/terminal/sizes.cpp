#include "cli/terminal/sizes.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cli/flags/numbers.hpp"

namespace bloomery::cli {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

// All of a small file of the system, or "".
std::string slurp(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             [](std::FILE* f) { return std::fclose(f); });
  if (file == nullptr) return {};
  std::array<char, 16384> buffer{};
  const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), file.get());
  return {buffer.data(), size};
}

std::uint64_t number_in(const std::string& path) {
  unsigned long long value = 0;
  const std::string text = slurp(path);  // "max" when there is no limit
  return std::sscanf(text.c_str(), "%llu", &value) == 1 ? value : unlimited;
}

std::uint64_t machine_bytes() {
  const std::string text = slurp("/proc/meminfo");
  const std::size_t at = text.find("MemAvailable:");
  unsigned long long kib = 0;
  if (at == std::string::npos || std::sscanf(text.c_str() + at, "MemAvailable: %llu kB", &kib) != 1) return unlimited;
  return kib * 1024;
}

// The folder of our control group after `prefix` in /proc/self/cgroup.
std::optional<std::string> group_folder(const std::string& groups, std::string_view prefix) {
  const std::size_t at = groups.find(prefix);
  if (at == std::string::npos) return {};
  const std::size_t start = at + prefix.size();
  return groups.substr(start, groups.find('\n', start) - start);
}

std::uint64_t group_bytes() {
  const std::string groups = slurp("/proc/self/cgroup");
  std::uint64_t limit = unlimited;
  if (const auto v2 = group_folder(groups, "0::")) {
    limit =
        std::min({limit, number_in("/sys/fs/cgroup" + *v2 + "/memory.max"), number_in("/sys/fs/cgroup/memory.max")});
  }
  if (const auto v1 = group_folder(groups, ":memory:")) {
    limit = std::min({limit, number_in("/sys/fs/cgroup/memory" + *v1 + "/memory.limit_in_bytes"),
                      number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
  }
  return limit;
}

}  // namespace

std::uint64_t available_memory_bytes() { return std::min(machine_bytes(), group_bytes()); }

outcome<void> check_memory(std::uint64_t bytes) {
  const std::uint64_t available = available_memory_bytes();
  if (bytes <= available) return {};
  return fail_text(
      fmt::format("this filter would take {} of memory and {} are available: use fewer keys (-n) or a larger "
                  "false-positive rate (-p)",
                  exact_size(bytes), human_size(available)));
}

}  // namespace bloomery::cli

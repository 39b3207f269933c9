#include "bench/peers/machine.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <bloomery/core/cpu.hpp>
#include <bloomery/version.hpp>
#include <fstream>
#include <string>
#include <thread>

namespace bloomery::bench {
namespace {

std::string first_line(const char* path, const std::string& start = {}) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(start, 0) == 0) return line;
  }
  return "unknown";
}

std::string after(const std::string& line, char mark) {
  const std::size_t at = line.find(mark);
  return at == std::string::npos ? line : line.substr(line.find_first_not_of(" \t", at + 1));
}

// As the kernel reports it: 512K. The C library is wrong about some guests.
std::string cache_size(unsigned index) {
  return first_line(("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size").c_str());
}

}  // namespace

nlohmann::ordered_json machine_facts() {
  utsname system{};
  ::uname(&system);
  return {{"processor", after(first_line("/proc/cpuinfo", "model name"), ':')},
          {"threads", std::thread::hardware_concurrency()},
          {"l1d", cache_size(0)},
          {"l2", cache_size(2)},
          {"l3", cache_size(3)},
          {"memory_bytes",
           static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))},
          {"system", std::string(system.sysname) + " " + system.release},
          {"transparent_huge_pages", first_line("/sys/kernel/mm/transparent_hugepage/enabled")},
          {"compiler", std::string("g++ ") + __VERSION__},
          {"isa", isa_name(active_isa())},
          {"bloomery", version}};
}

}  // namespace bloomery::bench

// replay.cpp: runs a fuzz target as an ordinary program over files, or over all files of folders: each file, and each
// beginning of it (of large ones every beginning near both ends, and a sample between).
//
// Prints "begin FILE" and "ok FILE" around each file, so that a crash can be told from its log.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

// A prefix is copied to memory of exactly its size, so that AddressSanitizer sees one byte too many.
void run_prefix(const std::vector<std::uint8_t>& bytes, std::size_t size) {
  const std::vector<std::uint8_t> prefix(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  LLVMFuzzerTestOneInput(prefix.data(), prefix.size());
}

void run_file(const std::filesystem::path& path) {
  std::printf("begin %s\n", path.c_str());
  std::fflush(stdout);
  std::ifstream file(path, std::ios::binary);
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  constexpr std::size_t near_bytes = 4096;
  constexpr std::size_t stride_bytes = 61;
  for (std::size_t size = 0; size <= bytes.size();) {
    run_prefix(bytes, size);
    const bool between = size >= near_bytes && size + near_bytes < bytes.size();
    size += between ? stride_bytes : 1;
  }
  std::printf("ok %s\n", path.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> paths;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      paths.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) run_file(path);
  return paths.empty() ? 1 : 0;
}

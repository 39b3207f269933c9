// replay CORPUS [TARGET...]: runs the fuzz targets (all, or those named) as an ordinary program over their corpora, the files of
// CORPUS/<target>/: each file, and each beginning of it (of large ones every beginning near both ends, and a sample between).
//
// Prints "begin TARGET FILE" and "ok TARGET FILE" around each file, so that a crash can be found in its log. Exit 1: a target has no
// corpus, or a corpus no target; 2: there is no such target.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/target.hpp"

namespace {

using bloomery::fuzzing::target;

// A prefix is copied to memory of exactly its size, so that AddressSanitizer sees one byte too many.
void run_prefix(const target& target, const std::vector<std::uint8_t>& bytes, std::size_t size) {
  const std::vector<std::uint8_t> prefix(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  target.run(prefix.data(), prefix.size());
}

void run_file(const target& target, const std::filesystem::path& path) {
  const std::string name(target.name);
  std::printf("begin %s %s\n", name.c_str(), path.c_str());
  std::fflush(stdout);
  std::ifstream file(path, std::ios::binary);
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  constexpr std::size_t near_bytes = 4096;
  constexpr std::size_t stride_bytes = 61;
  for (std::size_t size = 0; size <= bytes.size();) {
    run_prefix(target, bytes, size);
    const bool between = size >= near_bytes && size + near_bytes < bytes.size();
    size += between ? stride_bytes : 1;
  }
  std::printf("ok %s %s\n", name.c_str(), path.c_str());
}

// Whether the target has a corpus.
bool run_corpus(const target& target, const std::filesystem::path& corpus) {
  std::vector<std::filesystem::path> paths;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(corpus / target.name, missing)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) run_file(target, path);
  if (paths.empty()) std::printf("%s has no corpus\n", std::string(target.name).c_str());
  return !paths.empty();
}

const target* find_target(std::string_view name) {
  for (const target& each : bloomery::fuzzing::targets()) {
    if (each.name == name) return &each;
  }
  std::printf("there is no target %s\n", std::string(name).c_str());
  return nullptr;
}

bool every_corpus_has_a_target(const std::filesystem::path& corpus) {
  bool all = true;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    if (entry.is_directory()) all = find_target(entry.path().filename().string()) != nullptr && all;
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::printf("usage: replay CORPUS [TARGET...]\n");
    return 2;
  }
  const std::filesystem::path corpus = argv[1];
  bool complete = every_corpus_has_a_target(corpus);
  for (int i = 2; i < argc; ++i) {
    const target* named = find_target(argv[i]);
    if (named == nullptr) return 2;
    complete = run_corpus(*named, corpus) && complete;
  }
  if (argc == 2) {
    for (const target& each : bloomery::fuzzing::targets()) complete = run_corpus(each, corpus) && complete;
  }
  return complete ? 0 : 1;
}

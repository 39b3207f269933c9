// core/file_path.hpp: the name of a file, as functions take it: a C string, or what has one (std::string,
// std::filesystem::path).
//
//     result<any_filter> open(file_path path);
//
//     open("seen.bloom");
//     open(folder / "seen.bloom");          // a std::filesystem::path
//
// It holds a pointer and no copy: for parameters only.
#pragma once

#include <bloomery/core/config.hpp>
#include <concepts>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

class file_path {
 public:
  file_path(const char* path) noexcept : path_(path) {}
  // By c_str(), so that <string> and <filesystem> are included by those who use them.
  template <class Path>
  requires requires(const Path& path) {
    { path.c_str() } -> std::same_as<const char*>;
  }
  file_path(const Path& path) noexcept : path_(path.c_str()) {}

  [[nodiscard]] const char* c_str() const noexcept { return path_; }
  operator std::string_view() const noexcept { return path_; }

 private:
  const char* path_;
};

}  // namespace bloomery::inline BLOOMERY_ABI

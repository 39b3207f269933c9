#include "cli/filters/in_place.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>

namespace bloomery::cli {
namespace {

std::array<char, PATH_MAX> path_in_place{};
std::size_t path_length = 0;

}  // namespace

void set_in_place(std::string_view path) noexcept {
  path_length = std::min(path.size(), path_in_place.size());
  std::copy_n(path.data(), path_length, path_in_place.data());
}

std::string_view file_in_place() noexcept { return {path_in_place.data(), path_length}; }

}  // namespace bloomery::cli

// cli/terminal/progress.hpp: one progress line on standard error.
//
//     progress line(opts, "building", total_bytes);     // 0: unknown
//     line.update(bytes_done, keys_done);                // as often as you like: it draws 10 times a second at most
//     line.finish();                                     // clears it; the destructor does too
//
// Shown when standard error is a terminal, or with --progress (as separate lines if it is none); never with
// --quiet or --no-progress, and not before half a second has passed: short work needs none.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "cli/flags/flags.hpp"

namespace bloomery::cli {

class progress {
 public:
  progress(const options& opts, std::string_view label, std::uint64_t total);
  ~progress() { finish(); }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  // `done` in the unit of `total`; `keys` for keys per second.
  void update(std::uint64_t done, std::uint64_t keys);
  void finish();

 private:
  using clock = std::chrono::steady_clock;
  [[nodiscard]] std::string line(std::uint64_t done, std::uint64_t keys, double seconds) const;

  std::string label_;
  std::uint64_t total_ = 0;
  bool on_ = false;
  bool terminal_ = false;
  bool drawn_ = false;
  clock::time_point start_;
  clock::time_point next_;
};

}  // namespace bloomery::cli

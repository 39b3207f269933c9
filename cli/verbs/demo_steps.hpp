// cli/verbs/demo_steps.hpp: what `bloomery demo` does and measures; demo.cpp prints it.
//
// Keys are URLs generated on the fly from a number, the same on every machine: those of numbers below `keys` go into
// the filter, those of far higher numbers are the absent ones. Different numbers have different URLs.
#pragma once

#include <array>
#include <bloomery/any_filter.hpp>
#include <bloomery/hash/hasher.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/progress.hpp"

namespace bloomery::cli {

// Writes the URL of a number; returns its size. `out` has room for max_url_bytes.
inline constexpr std::size_t max_url_bytes = 160;
std::size_t write_url(std::uint64_t number, char* out);
std::string url_of(std::uint64_t number);

// Look-ups and their results.
struct answer_count {
  std::uint64_t queried = 0;
  std::uint64_t yes = 0;
  double seconds = 0;  // for hashing and look-ups, without making the URLs

  [[nodiscard]] double rate() const {
    return queried == 0 ? 0.0 : static_cast<double>(yes) / static_cast<double>(queried);
  }
  [[nodiscard]] double ns_per_key() const { return queried == 0 ? 0.0 : seconds * 1e9 / static_cast<double>(queried); }
};

struct fpr_point {
  std::uint64_t keys = 0;
  double expected = 0;
  answer_count absent{};
};

struct demo_figures {
  std::uint64_t keys = 0;
  double target_fpr = 0;
  size_plan plan{};
  // building
  std::uint64_t url_bytes = 0;  // all URLs together
  double add_seconds = 0;       // hashing and inserting
  double build_seconds = 0;     // with making the URLs
  // look-ups
  answer_count present{};
  answer_count absent{};
  double fpr_low = 0;  // with 99 % confidence the true FPR is between these
  double fpr_high = 0;
  // memory
  std::uint64_t filter_bytes = 0;
  std::uint64_t set_keys = 0;
  std::uint64_t set_bytes = 0;         // measured, for set_keys
  std::uint64_t set_scaled_bytes = 0;  // for as many keys as the filter holds
  // the fill
  double fill = 0;
  std::vector<double> block_fill{};                // of the first blocks
  std::array<std::uint64_t, 41> blocks_by_fill{};  // in steps of 2.5 %
  // the file
  std::uint64_t file_bytes = 0;
  double open_seconds = 0;
  bool file_mapped = false;
  answer_count from_file{};
  // at a quarter, a half ... and above the capacity
  std::vector<fpr_point> curve{};

  [[nodiscard]] std::uint64_t false_negatives() const {
    return present.queried - present.yes + from_file.queried - from_file.yes;
  }
  [[nodiscard]] bool fpr_kept() const { return fpr_low <= 1.05 * target_fpr; }
  [[nodiscard]] bool kept() const { return false_negatives() == 0 && fpr_kept(); }
};

// The steps, each to be called once and in this order; they fill in `figures`.
class demo_tour {
 public:
  demo_tour(const options& opts, std::uint64_t keys);

  result<void> build();
  result<void> query();
  void compare_memory();
  result<void> look_at_fill();
  // Saves the filter to file_path(), opens that, queries it and removes it.
  result<void> prove_file();
  static std::string file_path();
  result<void> overfill();

  [[nodiscard]] const demo_figures& figures() const { return figures_; }

 private:
  // Adds the URLs from as many as there are up to `until`.
  result<void> add_until(std::uint64_t until, progress& line);
  // Looks up the URLs first, first + step, ...
  result<answer_count> query_urls(const any_filter& filter, std::uint64_t first, std::uint64_t step,
                                  std::uint64_t count);
  result<answer_count> query_absent(std::uint64_t count);
  result<void> add_point();

  const options* opts_;
  hasher hash_;
  std::optional<any_filter> filter_;
  demo_figures figures_;
  std::uint64_t added_ = 0;
  std::uint64_t next_absent_;
  std::vector<char> bytes_;
  std::vector<std::string_view> urls_;
  std::vector<std::uint64_t> mask_;
};

}  // namespace bloomery::cli

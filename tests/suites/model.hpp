// Filters of random parameters, of any kind, and every way of one through a file. What a kind can be made from comes out of its
// `info`: no kind is named here.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "support/filters.hpp"

namespace bloomery::test {

struct filter_choice {
  std::uint64_t keys = 1;
  double fpr = 0.01;
  std::string layout{};
  std::string mode{};
  std::optional<std::uint64_t> growth{};
  bool wide = false;

  [[nodiscard]] filter_params params() const {
    return {.keys = keys, .fpr = fpr, .layout = layout, .mode = mode, .growth = growth, .takes_digest128 = wide};
  }
};
std::ostream& operator<<(std::ostream& out, const filter_choice& choice);

filter_choice choose(const kind_case& kind, random_numbers& random);
// An empty filter of some choice that the kind takes.
any_filter make_some(const kind_case& kind, random_numbers& random, filter_choice& choice);

// How a filter can be saved, and loaded again.
struct encoding {
  std::uint32_t codec = codec_none;
  bool text = false;
  bool mapped = false;
};
std::vector<encoding> all_encodings();
std::ostream& operator<<(std::ostream& out, const encoding& how);

// Saved and loaded again. What comes back is equal, has the same numbers, and gives the same bytes.
std::optional<any_filter> through_file(const any_filter& filter, const encoding& how);

}  // namespace bloomery::test

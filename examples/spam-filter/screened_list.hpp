// A list to screen against: words, senders, phone numbers, IPs, domains or URLs. The list is a file of sorted lines on disk, a
// filter of it is in memory. "No" is the filter's answer and needs no disk; "maybe" is confirmed in the file.
//
// The hash has a secret key, because who sends spam is an opponent: he may know the list and this program. Without the key
// he cannot compute which other names the filter takes for listed ones.
#pragma once

#include <bloomery/filter.hpp>
#include <bloomery/hash/siphash.hpp>
#include <bloomery/kinds/blocked.hpp>
#include <bloomery/posix/mapping.hpp>
#include <string>

#include "examples/common/example.hpp"

namespace examples {

template <class Hash = bloomery::siphash13>
class screened_list {
 public:
  screened_list(const std::string& path, std::uint64_t lines, double fpr, const Hash& hash)
      : file_(must(bloomery::file_mapping::open(path))),
        filter_(must(filter::make({.keys = lines, .fpr = fpr}, hash))) {
    for (std::string_view rest = text(); !rest.empty(); rest.remove_prefix(line_of(rest).size() + 1))
      filter_.insert(line_of(rest));
  }

  [[nodiscard]] bool maybe(std::string_view entry) const { return filter_.may_contain(entry); }

  // Counts what the filter settles, and what it costs to be sure.
  bool listed(std::string_view entry) {
    ++asked;
    if (!maybe(entry)) return false;
    ++confirmed;
    const bool found = in_file(entry);
    false_positives += found ? 0U : 1U;
    return found;
  }

  [[nodiscard]] std::uint64_t memory_bytes() const { return filter_.memory_bytes(); }
  [[nodiscard]] std::uint64_t file_bytes() const { return file_.bytes().size(); }

  std::uint64_t asked = 0;
  std::uint64_t confirmed = 0;
  std::uint64_t false_positives = 0;

 private:
  using filter = bloomery::filter<bloomery::blocked, Hash>;

  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(file_.bytes().data()), file_.bytes().size()};
  }
  static std::string_view line_of(std::string_view rest) { return rest.substr(0, rest.find('\n')); }

  // By halves: `from` and `to` are starts of lines.
  [[nodiscard]] bool in_file(std::string_view entry) const {
    std::size_t from = 0;
    for (std::size_t to = text().size(); from < to;) {
      const std::size_t middle = from + (to - from) / 2;
      const std::size_t before = text().rfind('\n', middle == 0 ? 0 : middle - 1);
      const std::size_t start = middle == 0 || before == std::string_view::npos || before < from ? from : before + 1;
      const std::string_view line = line_of(text().substr(start));
      if (line == entry) return true;
      (line < entry ? from : to) = line < entry ? start + line.size() + 1 : start;
    }
    return false;
  }

  bloomery::file_mapping file_;
  filter filter_;
};

}  // namespace examples

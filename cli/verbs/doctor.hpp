// cli/verbs/doctor.hpp: what `bloomery doctor` finds out; doctor.cpp prints it.
//
// doctor_checks.cpp judges the filter and what verify measures of it, doctor_keys.cpp the keys themselves, and
// doctor_live.cpp the figures of a running program. A finding is a sentence with its numbers, how sure it is, and the
// command that repairs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/verbs/verify_checks.hpp"

namespace bloomery::cli {

enum class severity : std::uint8_t {
  broken,  // answers are wrong, or more of them than promised
  advice,  // it works, and could be better
};

struct symptom {
  std::string_view name;  // for programs
  severity how_bad = severity::advice;
  std::string_view confidence;  // "certain", "99 %", "likely"
  std::string text;
  std::string command{};  // that repairs it; empty: the text says what to do
};

// What --keys shows of the keys themselves; see doctor_keys.cpp.
class key_sample {
 public:
  // Of one chunk after the other, with their digests by the hash of the filter.
  void add(const key_chunk& chunk);
  // Once, after all; `different` are the keys that are not repeated.
  void finish(std::uint64_t different);

  std::uint64_t keys = 0;
  std::uint64_t different = 0;
  std::uint64_t bytes = 0;
  // Pairs of different keys with one digest.
  std::uint64_t collisions = 0;
  // How far the digests are from evenly spread, in standard deviations; the worst of three slices of their bits.
  double unevenness = 0;
  // At most so many different keys can be written with the bytes that occur at each place; more than 2^62: infinity.
  double universe = 0;
  // Decimal integers, or with --u64.
  bool integers = false;
  std::uint64_t least = 0;
  std::uint64_t most = 0;

 private:
  void see(std::string_view key);

  std::vector<std::uint64_t> digests_;
  static constexpr std::size_t places = 64;
  std::vector<std::vector<bool>> at_place_{};  // which bytes occur there
  std::vector<bool> lengths_ = std::vector<bool>(places + 1);
  bool long_keys_ = false;
  bool all_integers_ = true;
};

// What --live shows.
struct live_figures {
  std::string name;  // of the guard; empty: it has none
  double saved = 0;
  double remembered = 0;
  double confirmed = 0;
  double false_positives = 0;
  double unfiltered = 0;
  double failed = 0;
  double inserts = 0;
  double removals = 0;
  double failed_rebuilds = 0;
  std::optional<bool> filtering{};
  [[nodiscard]] double absent() const { return saved + remembered + false_positives; }
  [[nodiscard]] double queried() const { return absent() + confirmed + unfiltered + failed; }
};
outcome<live_figures> read_live(const std::string& path, std::string_view filter_name);

struct examination {
  std::string file;
  const opened_filter* opened = nullptr;  // nullptr: it cannot be read
  filter_stats stats{};
  fullness full{};
  std::optional<findings> measured{};  // nothing: a keyed hash without its secret
  std::optional<key_sample> keys{};
  std::optional<live_figures> live{};
};

// Worst first.
std::vector<symptom> diagnose(const options& opts, const examination& of);
// Of a file that cannot be read, with what is known of its header.
symptom damage_of(const options& opts, const std::string& file, const error& why);
// What was left out, and what to give for it.
std::vector<std::string> not_checked(const options& opts, const examination& of);

}  // namespace bloomery::cli

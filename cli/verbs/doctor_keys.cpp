// What a list of keys shows: repeats, digests that are not evenly spread, few possible keys, dense integers.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/verbs/doctor.hpp"

namespace bloomery::cli {
namespace {

// Without signs and leading zeros, so that another text is another number.
std::optional<std::uint64_t> integer_in(std::string_view text) {
  std::uint64_t value = 0;
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// How many standard deviations the counts of equal ranges are from what chance gives, by a chi-squared test.
double spread_of(const std::vector<std::uint64_t>& digests, unsigned shift) {
  unsigned bits = 4;
  while (bits < 12 && (std::uint64_t{16} << (bits + 1)) <= digests.size()) ++bits;
  if ((std::uint64_t{8} << bits) > digests.size()) return 0;  // too few to judge
  std::vector<std::uint64_t> counts(std::size_t{1} << bits);
  for (const std::uint64_t each : digests) ++counts[each >> shift & (counts.size() - 1)];
  const double wanted = static_cast<double>(digests.size()) / static_cast<double>(counts.size());
  double sum = 0;
  for (const std::uint64_t each : counts)
    sum += (static_cast<double>(each) - wanted) * (static_cast<double>(each) - wanted) / wanted;
  const auto freedom = static_cast<double>(counts.size() - 1);
  return (sum - freedom) / std::sqrt(2 * freedom);
}

}  // namespace

void key_sample::see(std::string_view key) {
  bytes += key.size();
  if (key.size() > places) {
    long_keys_ = true;
  } else {
    lengths_[key.size()] = true;
    if (at_place_.size() < key.size()) at_place_.resize(key.size(), std::vector<bool>(256));
    for (std::size_t i = 0; i < key.size(); ++i) at_place_[i][static_cast<unsigned char>(key[i])] = true;
  }
}

void key_sample::add(const key_chunk& chunk) {
  const auto records = chunk.records();
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    see(chunk.keys[i]);
    if (!all_integers_) continue;
    const auto value = integer_in(records.text(i));
    if (!value) {
      all_integers_ = false;
      continue;
    }
    least = keys + i == 0 ? *value : std::min(least, *value);
    most = std::max(most, *value);
  }
  keys += chunk.size();
  if (!chunk.digests64.empty()) {
    digests_.insert(digests_.end(), chunk.digests64.begin(), chunk.digests64.end());
  } else {  // the first word of wider ones
    const std::size_t words = chunk.wide_bits / 64;
    for (std::size_t i = 0; i < chunk.wide_words.size(); i += words) digests_.push_back(chunk.wide_words[i]);
  }
}

void key_sample::finish(std::uint64_t different_keys) {
  different = different_keys;
  std::sort(digests_.begin(), digests_.end());
  digests_.erase(std::unique(digests_.begin(), digests_.end()), digests_.end());
  collisions = different > digests_.size() ? different - digests_.size() : 0;
  for (const unsigned shift : {52U, 26U, 0U}) unevenness = std::max(unevenness, spread_of(digests_, shift));
  integers = all_integers_ && keys != 0;
  constexpr double endless = 0x1p62;
  for (std::size_t size = 0; size <= places && !long_keys_; ++size) {
    if (!lengths_[size]) continue;
    double of_size = 1;
    for (std::size_t i = 0; i < size; ++i) {
      of_size *= static_cast<double>(std::count(at_place_[i].begin(), at_place_[i].end(), true));
    }
    universe += of_size;
  }
  if (long_keys_ || universe > endless) universe = HUGE_VAL;
  digests_ = {};
}

}  // namespace bloomery::cli

// What the tests of RedisBloom's bytes share: its golden files, and chains and dumps put together by hand.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/hash/murmur2.hpp>
#include <bloomery/hash/murmur64a.hpp>
#include <filesystem>
#include <map>

#include "src/formats/rdb.hpp"
#include "support/format_files.hpp"

namespace bloomery::redisbloom_testing {

using namespace test;

struct redis_case {
  std::string name;
  filter_params params;
  formats::format_options options;
  std::size_t keys;
};
inline const std::vector<redis_case>& redis_cases() {
  static const std::vector<redis_case> cases = {
      {"bf_default", {.keys = 100, .fpr = 0.01}, {}, 50},
      {"bf_100_0.01", {.keys = 100, .fpr = 0.01}, {}, 100},
      {"bf_100_0.01_scaled", {.keys = 100, .fpr = 0.01}, {}, 400},
      {"bf_100_0.001_exp4_scaled", {.keys = 100, .fpr = 0.001, .growth = 4}, {}, 400},
      {"bf_400_0.01_nonscaling", {.keys = 400, .fpr = 0.01, .mode = "fixed"}, {}, 400},
      {"bf_10_0.01_exp1_scaled", {.keys = 10, .fpr = 0.01, .growth = 1}, {}, 100},
      {"bf_1_0.24", {.keys = 1, .fpr = 0.24}, {}, 1},
      {"cf_default_1024", {.keys = 1024}, {.kind = "cuckoo"}, 200},
      {"cf_100_bs2", {.keys = 100}, {.kind = "cuckoo", .bucket_size = "2"}, 80},
      {"cf_16_bs4_exp2_grown",
       {.keys = 16, .growth = 2},
       {.kind = "cuckoo", .bucket_size = "4", .max_iterations = "20"},
       200},
  };
  return cases;
}

inline std::string redis_file(const std::string& name) { return golden("redisbloom/2.8.20/" + name); }
inline std::string dump_of(const std::string& name) { return redis_file(name + ".rdbdump.bin"); }
// Header and chunks, joined in their order.
inline std::string scandump_of(const std::string& name) {
  std::map<unsigned long, std::string> chunks;
  const std::string prefix = name + ".chunk";
  for (const auto& entry : std::filesystem::directory_iterator(BLOOMERY_GOLDEN_DIR "/redisbloom/2.8.20")) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(prefix)) chunks[std::stoul(file.substr(prefix.size()))] = redis_file(file);
  }
  std::string all;
  for (const auto& [number, bytes] : chunks) all += bytes;
  return all;
}
inline std::vector<std::string> redis_keys(std::size_t count) {
  std::vector<std::string> keys;
  for (const auto& row : rows_of(redis_file("keys.tsv"))) {
    if (keys.size() < count) keys.push_back(from_hex(row[0]));
  }
  EXPECT_EQ(keys.size(), count);
  return keys;
}
inline const formats::format& redisbloom() { return *formats::find("redisbloom"); }
inline constexpr formats::format_options as_dump{.form = "dump"};

inline std::string refusal_of(const std::string& file) {
  const auto opened = open_text(file, {.from = "redisbloom"});
  return opened ? "" : std::string(describe(opened.error()).view());
}

// Bytes of a value, put together by hand.
template <class T>
void put(std::string& to, T value) {
  std::array<char, sizeof(T)> bytes{};
  std::memcpy(bytes.data(), &value, sizeof(T));
  to.append(bytes.data(), bytes.size());
}
struct plain_sub_filter {
  std::uint64_t size_bytes, bits, keys;
  double rate, bits_per_key;
  std::uint32_t hashes;
  std::uint64_t capacity;
  std::uint8_t log2_bits;
};
inline std::string chain_bytes(std::uint64_t keys, std::uint32_t options, std::uint32_t growth,
                               const std::vector<plain_sub_filter>& sub_filters) {
  std::string out;
  put(out, keys);
  put(out, static_cast<std::uint32_t>(sub_filters.size()));
  put(out, options);
  put(out, growth);
  std::string bits;
  for (const plain_sub_filter& sub_filter : sub_filters) {
    put(out, sub_filter.size_bytes);
    put(out, sub_filter.bits);
    put(out, sub_filter.keys);
    put(out, sub_filter.rate);
    put(out, sub_filter.bits_per_key);
    put(out, sub_filter.hashes);
    put(out, sub_filter.capacity);
    put(out, sub_filter.log2_bits);
    bits.append(sub_filter.size_bytes, '\0');
  }
  return out + bits;
}
inline double bits_per_key_of(double rate) { return std::fabs(-(std::log(rate) / 0.480453013918201)); }
inline plain_sub_filter sub_filter_of(std::uint64_t size_bytes, std::uint64_t capacity, double rate,
                                      std::uint8_t log2_bits) {
  const double b = bits_per_key_of(rate);
  return {size_bytes, size_bytes * 8, 0, rate, b, static_cast<std::uint32_t>(std::ceil(0.693147180559945 * b)),
          capacity,   log2_bits};
}

inline std::string sealed(std::string value) {
  put(value, std::uint16_t{9});
  put(value, formats::rdb::crc64(0, std::as_bytes(std::span(value))));
  return value;
}
inline std::string module_head(char version, bool cuckoo_filter = false) {
  std::string out = cuckoo_filter ? std::string("\x07\x81\x30\x16\xe5\xa2\x89\x82\x14", 9)
                                  : std::string("\x07\x81\x30\x16\xe5\xa2\x89\xbe\xf8", 9);
  return out + version;
}
inline void put_number(std::string& to, unsigned value) {
  to += '\x02';
  if (value >= 64) to += static_cast<char>(0x40 | value >> 8);
  to += static_cast<char>(value & 0xff);
}
inline void put_real(std::string& to, double value) {
  to += '\x04';
  put(to, value);
}

// The rule of positions, for itself.
inline std::string bits_by_hand(std::size_t size_bytes, std::uint64_t modulus, unsigned hashes,
                                const std::vector<std::string>& keys, bool wide) {
  std::string bits(size_bytes, '\0');
  for (const std::string& key : keys) {
    const digest128 of =
        wide ? murmur64a_pair(key.data(), key.size()) : paired_murmur2{}.hash128(key.data(), key.size());
    for (unsigned i = 0; i < hashes; ++i) {
      const std::uint64_t bit = (of.low + i * of.high) % modulus;
      bits[bit / 8] = static_cast<char>(bits[bit / 8] | 1 << bit % 8);
    }
  }
  return bits;
}

}  // namespace bloomery::redisbloom_testing

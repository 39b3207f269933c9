// bench/keys.hpp: the keys that benchmarks insert and look up, made from numbers while no clock runs.
//
// A source has present keys and absent ones, each by its number, and can start afresh for another filter (`fill`): the
// same kind filled with other keys. All keys of a fill are different, and the same on every machine.
//
//     random_keys        8 or 16 random bytes, or URLs: what times and usual FPRs are measured with
//     integer_keys       every third integer in random order, for kinds that take integers
//     sequence_keys      keys that are hard on a weak hash: hard_key_sets
//
// bench/key_feed.hpp makes chunks of them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/core/bytes.hpp>
#include <bloomery/core/wide.hpp>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace bloomery::bench {

inline constexpr std::size_t max_key_bytes = 128;

struct key_source {
  key_source() = default;
  key_source(const key_source&) = delete;
  key_source& operator=(const key_source&) = delete;
  virtual ~key_source() = default;
  // Writes a key of at most max_key_bytes and returns its size.
  virtual std::size_t present(std::uint64_t fill, std::uint64_t number, char* out) const noexcept = 0;
  virtual std::size_t absent(std::uint64_t fill, std::uint64_t number, char* out) const noexcept = 0;
};

inline std::size_t write_random_key(std::uint64_t number, char* out) noexcept {
  auto* const bytes = reinterpret_cast<std::byte*>(out);
  store_le(bytes, mix64(number));  // one to one, so different numbers give different keys
  store_le(bytes + 8, mix64(number ^ 0x9e3779b97f4a7c15ULL));
  return 16;
}
inline std::size_t write_random_number(std::uint64_t number, char* out) noexcept {
  store_le(reinterpret_cast<std::byte*>(out), mix64(number));
  return 8;
}
// Like the lines of a crawl: 41 to 101 bytes, 65 on average, parts that repeat and one that does not.
inline std::size_t write_url(std::uint64_t number, char* out) noexcept {
  static constexpr std::array<std::string_view, 16> hosts = {
      "www.example.org",  "shop.example.com", "news.example.net", "en.wiki.example.org",
      "cdn.example.com",  "img.example.net",  "a.example.io",     "static.files.example.com",
      "blog.example.org", "docs.example.dev", "api.example.com",  "forum.archive.example.net",
      "m.example.org",    "video.example.tv", "maps.example.com", "mirror.example.edu"};
  static constexpr std::array<std::string_view, 16> parts = {
      "/articles", "/2024", "/catalogue", "/a",      "/products", "/images", "/downloads", "/en",
      "/tag",      "/user", "/questions", "/search", "/archive",  "/r",      "/releases",  "/topics"};
  const std::uint64_t unique = mix64(number);
  std::uint64_t choice = mix64(unique ^ 0x9e3779b97f4a7c15ULL);
  char* at = out;
  const auto put = [&at](std::string_view text) {
    std::memcpy(at, text.data(), text.size());
    at += text.size();
  };
  const auto choose = [&choice](unsigned bits) {
    const std::uint64_t chosen = choice & ((1U << bits) - 1);
    choice >>= bits;
    return chosen;
  };
  put("https://");
  put(hosts[choose(4)]);
  for (std::uint64_t i = choose(2) + 1; i != 0; --i) put(parts[choose(4)]);
  put(choose(1) == 0 ? "/p/" : "/article?id=");
  constexpr unsigned digits = 16;
  for (unsigned i = 0; i < digits; ++i) *at++ = "0123456789abcdef"[(unique >> (4 * i)) & 15U];
  return static_cast<std::size_t>(at - out);
}

// What a timed key is.
struct key_type {
  std::string_view name;   // in JSON and as an argument
  std::string_view title;  // in tables
  bool number;             // an unsigned 64-bit integer; otherwise a text
  std::size_t (*write)(std::uint64_t number, char* out) noexcept;
};
inline constexpr std::array key_types = {
    key_type{"u64", "64-bit integers", true, write_random_number},
    key_type{"bytes16", "16 bytes", false, write_random_key},
    key_type{"url", "URLs of 65 bytes", false, write_url},
};

class random_keys final : public key_source {
 public:
  explicit random_keys(std::uint64_t keys, const key_type& type = key_types[1]) : keys_(keys), write_(type.write) {}
  std::size_t present(std::uint64_t fill, std::uint64_t number, char* out) const noexcept override {
    return write_(1 + fill * keys_ + number, out);
  }
  std::size_t absent(std::uint64_t fill, std::uint64_t number, char* out) const noexcept override {
    constexpr std::uint64_t far = std::uint64_t{1} << 63U;
    return write_(far + (fill << 40U) + number, out);
  }

 private:
  std::uint64_t keys_;
  std::size_t (*write_)(std::uint64_t number, char* out) noexcept;
};

class integer_keys final : public key_source {
 public:
  explicit integer_keys(std::uint64_t keys)
      : keys_(keys), bits_(std::max<unsigned>(2, static_cast<unsigned>(std::bit_width(keys - 1)))) {}
  std::size_t present(std::uint64_t /*fill*/, std::uint64_t number, char* out) const noexcept override {
    return write(3 * scattered(number), out);
  }
  std::size_t absent(std::uint64_t fill, std::uint64_t number, char* out) const noexcept override {
    return write(3 * fast_range(mix64((fill << 40U) + number + 1), keys_) + 1, out);
  }

 private:
  static std::size_t write(std::uint64_t value, char* out) noexcept {
    store_le(reinterpret_cast<std::byte*>(out), value);
    return 8;
  }
  // A permutation of [0, keys): mixes one to one within the next power of two, again until it lands inside.
  [[nodiscard]] std::uint64_t scattered(std::uint64_t number) const noexcept {
    const std::uint64_t mask = ~std::uint64_t{0} >> (64U - bits_);
    do {
      for (const std::uint64_t odd : {0xff51afd7ed558ccdULL, 0xc4ceb9fe1a85ec53ULL}) {
        number = (number * odd + 0x9e3779b97f4a7c15ULL) & mask;
        number ^= number >> (bits_ / 2);
      }
    } while (number >= keys_);
    return number;
  }

  std::uint64_t keys_;
  unsigned bits_;
};

// ---- keys that a weak hash does badly on -----------------------------------------------------------------------------

inline std::size_t write_decimal(std::uint64_t number, char* out) noexcept {
  return static_cast<std::size_t>(std::to_chars(out, out + max_key_bytes, number).ptr - out);
}
inline std::size_t write_counter(std::uint64_t number, char* out) noexcept {
  store_le(reinterpret_cast<std::byte*>(out), number);
  return 8;
}
inline std::size_t write_same_prefix(std::uint64_t number, char* out) noexcept {
  constexpr std::string_view prefix = "https://www.example.org/catalogue/2024/spring/articles?session=0&item=";
  std::memcpy(out, prefix.data(), prefix.size());
  return prefix.size() + write_decimal(number, out + prefix.size());
}
// Short words of the letters a and b: a, b, aa, ab, ba, bb, aaa, ...
inline std::size_t write_low_entropy(std::uint64_t number, char* out) noexcept {
  const std::uint64_t word = number + 2;
  const auto letters = static_cast<unsigned>(std::bit_width(word)) - 1;
  for (unsigned i = 0; i < letters; ++i) out[i] = (word >> (letters - 1 - i) & 1U) == 0 ? 'a' : 'b';
  return letters;
}

struct hard_key_set {
  std::string_view name;     // in JSON
  std::string_view title;    // of a column
  std::string_view meaning;  // a line of the manual
  std::size_t (*write)(std::uint64_t number, char* out) noexcept;
};
inline constexpr std::array hard_key_sets = {
    hard_key_set{"decimal", "decimal", "0, 1, 2, ... in decimal digits", write_decimal},
    hard_key_set{"counter", "counter", "the same as 8 little-endian bytes", write_counter},
    hard_key_set{"same_prefix", "same prefix", "70 equal bytes, then decimal digits", write_same_prefix},
    hard_key_set{"low_entropy", "low entropy", "short words of two letters", write_low_entropy},
};

// The first numbers are present, those right behind them absent.
class sequence_keys final : public key_source {
 public:
  sequence_keys(const hard_key_set& set, std::uint64_t keys, std::uint64_t probes)
      : set_(&set), keys_(keys), probes_(probes) {}
  std::size_t present(std::uint64_t fill, std::uint64_t number, char* out) const noexcept override {
    return set_->write(fill * (keys_ + probes_) + number, out);
  }
  std::size_t absent(std::uint64_t fill, std::uint64_t number, char* out) const noexcept override {
    return set_->write(fill * (keys_ + probes_) + keys_ + number, out);
  }

 private:
  const hard_key_set* set_;
  std::uint64_t keys_;
  std::uint64_t probes_;
};

}  // namespace bloomery::bench

// bench/key_feed.hpp: chunks of the keys of a source, as a candidate takes them: as they are, or as digests.
//
//     auto feed = feed_of(key_types[0], keys);
//     key_block block = feed->present(fill, first, count);      // the keys first, first + 1, ...; valid until the next
//
// number_feed   the 8 little-endian bytes that a source writes, as integers
// text_feed     its bytes
// digest_feed   digests of 64 or 128 bits, made before the clock runs
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/core/bytes.hpp>
#include <bloomery/hash/hasher.hpp>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/candidate.hpp"
#include "bench/keys.hpp"

namespace bloomery::bench {

class key_feed {
 public:
  key_feed(const key_feed&) = delete;
  key_feed& operator=(const key_feed&) = delete;
  virtual ~key_feed() = default;

  key_block present(std::uint64_t fill, std::uint64_t first, std::size_t count) {
    return make(count, [&](std::size_t i, char* to) { return source_->present(fill, first + i, to); });
  }
  key_block absent(std::uint64_t fill, std::uint64_t first, std::size_t count) {
    return make(count, [&](std::size_t i, char* to) { return source_->absent(fill, first + i, to); });
  }
  // Present keys at random, of `keys` that there are.
  key_block present_at_random(std::uint64_t fill, std::uint64_t keys, std::uint64_t first, std::size_t count) {
    return make(count, [&](std::size_t i, char* to) {
      return source_->present(fill, fast_range(mix64((first + i + 1) * 0x9e3779b97f4a7c15ULL), keys), to);
    });
  }

 protected:
  explicit key_feed(std::shared_ptr<const key_source> source) : source_(std::move(source)) {}

  // A chunk is made in groups, so that bytes that only pass through take no cache from what is timed.
  static constexpr std::size_t group = 256;
  virtual void begin(std::size_t count) = 0;
  virtual void take(std::span<const std::string_view> keys, std::size_t first) = 0;
  virtual key_block end() = 0;
  // Where the bytes of the next group go: at least group * max_key_bytes.
  virtual char* buffer() {
    bytes_.resize(group * max_key_bytes);
    return bytes_.data();
  }

 private:
  template <class Write>
  key_block make(std::size_t count, Write write) {
    begin(count);
    for (std::size_t first = 0; first < count; first += group) {
      const std::size_t size = std::min(group, count - first);
      char* to = buffer();
      for (std::size_t i = 0; i < size; ++i) {
        views_[i] = {to, write(first + i, to)};
        to += views_[i].size();
      }
      take(std::span<const std::string_view>(views_).first(size), first);
    }
    return end();
  }

  std::shared_ptr<const key_source> source_;
  std::vector<char> bytes_;
  std::array<std::string_view, group> views_{};
};

class number_feed final : public key_feed {
 public:
  explicit number_feed(std::shared_ptr<const key_source> source) : key_feed(std::move(source)) {}

 private:
  void begin(std::size_t count) override { numbers_.resize(count); }
  void take(std::span<const std::string_view> keys, std::size_t first) override {
    for (const std::string_view key : keys) numbers_[first++] = load_le<std::uint64_t>(key.data());
  }
  key_block end() override { return {.numbers = numbers_}; }

  std::vector<std::uint64_t> numbers_;
};

class text_feed final : public key_feed {
 public:
  explicit text_feed(std::shared_ptr<const key_source> source) : key_feed(std::move(source)) {}

 private:
  void begin(std::size_t count) override {
    texts_.resize(count);
    bytes_.resize((count + group) * max_key_bytes);
    used_ = 0;
  }
  char* buffer() override { return bytes_.data() + used_; }
  void take(std::span<const std::string_view> keys, std::size_t first) override {
    std::copy(keys.begin(), keys.end(), texts_.begin() + static_cast<std::ptrdiff_t>(first));
    used_ = static_cast<std::size_t>(keys.back().data() + keys.back().size() - bytes_.data());
  }
  key_block end() override { return {.texts = texts_}; }

  std::vector<std::string_view> texts_;
  std::vector<char> bytes_;
  std::size_t used_ = 0;
};

class digest_feed final : public key_feed {
 public:
  digest_feed(std::shared_ptr<const key_source> source, const hasher& hash, unsigned digest_bits)
      : key_feed(std::move(source)), hash_(hash), wide_(digest_bits == 128) {}

 private:
  void begin(std::size_t count) override {
    if (wide_) {
      wide_digests_.resize(count);
    } else {
      digests_.resize(count);
    }
  }
  void take(std::span<const std::string_view> keys, std::size_t first) override {
    if (wide_) {
      hash_.digests128(keys, std::span(wide_digests_).subspan(first, keys.size()));
    } else {
      hash_.digests(keys, std::span(digests_).subspan(first, keys.size()));
    }
  }
  key_block end() override { return {.numbers = digests_, .wide = wide_digests_}; }

  hasher hash_;
  bool wide_;
  std::vector<std::uint64_t> digests_;
  std::vector<digest128> wide_digests_;
};

// Keys of this type as they are.
inline std::unique_ptr<key_feed> feed_of(const key_type& type, std::uint64_t keys) {
  auto source = std::make_shared<random_keys>(keys, type);
  if (type.number) return std::make_unique<number_feed>(std::move(source));
  return std::make_unique<text_feed>(std::move(source));
}

}  // namespace bloomery::bench

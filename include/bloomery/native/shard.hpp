// native/shard.hpp: one filter in several shards: which shard a digest belongs to, and what a shard's file states of
// itself.
//
//     unsigned at = bloomery::shard_of(digest, 16);               // 0 to 15
//     auto params = bloomery::shard_params({.keys = 1'000'000, .fpr = 0.01}, 16);   // what each of the 16 is made from
//
// The shard is taken from the high bits of a mix of the digest. Kinds use the digest itself, high bits and low ones, so
// within a shard every bit that they look at is as random as before: a shard is an ordinary filter of its keys.
//
// Space         keys fall into shards at random, so some get more than their share. Each shard is made for so many
//               that the chance that any of them gets more is below one in a million (Bernstein's inequality for the
//               binomial): 4 shards of a million keys have 0.6 % more space, 16 of a thousand 20 %.
// Set           the files of one save have one stamp, made from the content of all of them: a file of another set, or
//               of another day, has another stamp, and the same content has the same.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/core/buffer.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/hash/concept.hpp>
#include <bloomery/kinds/concept.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {

inline constexpr unsigned max_shards = 4096;

// What a file states of its place in a set; a count of 0: it is no shard, but the whole filter.
struct shard_place {
  std::uint32_t index = 0;
  std::uint32_t count = 0;
  std::uint64_t stamp = 0;
  friend bool operator==(const shard_place&, const shard_place&) = default;
};

// Part of the file format: never changed.
constexpr unsigned shard_of(std::uint64_t digest, unsigned count) noexcept {
  return static_cast<unsigned>(fast_range(mix64(digest + 0xd1b54a32d192ed03ULL), count));
}
constexpr unsigned shard_of(const digest128& digest, unsigned count) noexcept { return shard_of(digest.low, count); }

// "03-of-16": as many digits as the count has, and at least two.
struct shard_label {
  std::array<char, 24> text{};
  shard_label(unsigned index, unsigned count) noexcept {
    const int digits = count < 100 ? 2 : count < 1000 ? 3 : 4;
    std::snprintf(text.data(), text.size(), "%0*u-of-%0*u", digits, index % 10000, digits, count % 10000);
  }
  [[nodiscard]] const char* c_str() const noexcept { return text.data(); }
};

BLOOMERY_API result<void> check_shards(std::uint64_t count) noexcept;

// Keys that one of this many shards is made for when all together hold `keys`.
BLOOMERY_API std::uint64_t shard_keys(std::uint64_t keys, unsigned count) noexcept;

BLOOMERY_API filter_params shard_params(const filter_params& all, unsigned count) noexcept;

// Digests of a group, put in the order of their shards.
template <class Digest>
class shard_sorter {
 public:
  static constexpr std::size_t most = 4096 / sizeof(Digest);  // all of it is on the stack
  static_assert(most % 64 == 0, "groups are whole words of a mask");

  void sort(std::span<const Digest> made, unsigned count) noexcept {
    std::array<std::uint16_t, most> at;
    for (unsigned i = 0; i <= count; ++i) ends_[i] = 0;
    for (std::size_t i = 0; i < made.size(); ++i) {
      at[i] = static_cast<std::uint16_t>(shard_of(made[i], count));
      ++ends_[at[i] + std::size_t{1}];
    }
    for (unsigned i = 1; i <= count; ++i) ends_[i] = static_cast<std::uint16_t>(ends_[i] + ends_[i - 1]);
    // Each end is the beginning of its shard until the shard's digests have moved it.
    for (std::size_t i = 0; i < made.size(); ++i) {
      const std::size_t place = ends_[at[i]]++;
      digests_[place] = made[i];
      from_[place] = static_cast<std::uint16_t>(i);
    }
  }
  [[nodiscard]] std::span<const Digest> digests(unsigned shard) const noexcept {
    return std::span<const Digest>(digests_).subspan(begin(shard), ends_[shard] - begin(shard));
  }
  // Where they were in the group.
  [[nodiscard]] std::span<const std::uint16_t> from(unsigned shard) const noexcept {
    return std::span<const std::uint16_t>(from_).subspan(begin(shard), ends_[shard] - begin(shard));
  }

 private:
  [[nodiscard]] std::size_t begin(unsigned shard) const noexcept { return shard == 0 ? 0 : ends_[shard - 1]; }

  std::array<Digest, most> digests_;
  std::array<std::uint16_t, most> from_;
  std::array<std::uint16_t, std::size_t{max_shards} + 1> ends_;
};

namespace detail {

// Where the digests of each shard are in a list that is in the order of shards.
class dealt_digests {
 public:
  template <class Digest>
  static result<dealt_digests> make(std::span<const Digest> digests, unsigned shards,
                                    const memory_hooks* memory) noexcept {
    const std::size_t numbers = std::size_t{shards} + 1;
    auto buffer = aligned_buffer::make(2 * numbers * sizeof(std::size_t), "the digests of the shards", memory);
    if (!buffer) return fail(buffer.error());
    dealt_digests made;
    made.ends_ = reinterpret_cast<std::size_t*>(buffer->data());
    made.next_ = made.ends_ + numbers;
    made.buffer_ = std::move(*buffer);
    for (const Digest& digest : digests) ++made.ends_[shard_of(digest, shards) + std::size_t{1}];
    for (unsigned i = 1; i <= shards; ++i) made.ends_[i] += made.ends_[i - 1];
    std::copy_n(made.ends_, numbers, made.next_);
    return made;
  }
  template <class Digest>
  [[nodiscard]] std::span<Digest> of(unsigned shard, Digest* all) const noexcept {
    return {all + ends_[shard], ends_[shard + std::size_t{1}] - ends_[shard]};
  }
  [[nodiscard]] std::size_t end(unsigned shard) const noexcept { return ends_[shard + std::size_t{1}]; }
  // The place of a shard's next digest.
  [[nodiscard]] std::size_t& next(unsigned shard) noexcept { return next_[shard]; }

 private:
  dealt_digests() noexcept = default;
  aligned_buffer buffer_;
  std::size_t* ends_ = nullptr;  // of the shard before
  std::size_t* next_ = nullptr;
};

// Digests into the order of their shards, in place: those of one shard in any order.
BLOOMERY_API result<dealt_digests> sort_by_shard(std::span<std::uint64_t> digests, unsigned shards,
                                                 const memory_hooks* memory) noexcept;

}  // namespace detail

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/native/shard.cpp>
#endif

// What the tests of RedisBloom's engines share: its golden files, keys, and plain models of both filters, written from
// docs/formats/redisbloom.md: one key after the other, with %.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bloomery/compat/redis/bloom_chain.hpp>
#include <bloomery/compat/redis/cuckoo_chain.hpp>
#include <bloomery/hash/murmur2.hpp>
#include <bloomery/hash/murmur64a.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/golden.hpp"
#include "support/memory.hpp"

namespace bloomery::redis_testing {

using namespace bloomery::redis;

inline std::string golden_file(const std::string& name) { return test::golden("redisbloom/2.8.20/" + name); }

// The replies of SCANDUMP, by their iterators; 1 is the header.
inline std::map<std::int64_t, std::string> golden_chunks(const std::string& name) {
  std::map<std::int64_t, std::string> chunks;
  const std::string prefix = name + ".chunk";
  for (const auto& entry : std::filesystem::directory_iterator(BLOOMERY_GOLDEN_DIR "/redisbloom/2.8.20")) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with(prefix)) continue;
    chunks[std::stoll(file.substr(file.find("_iter") + 5))] = golden_file(file);
  }
  EXPECT_GE(chunks.size(), 2U) << name;
  return chunks;
}
inline std::vector<std::string> golden_keys(std::size_t count) {
  std::vector<std::string> keys;
  for (const auto& row : test::rows_of(golden_file("keys.tsv"))) {
    if (keys.size() < count) keys.push_back(test::from_hex(row[0]));
  }
  EXPECT_EQ(keys.size(), count);
  return keys;
}
inline std::vector<std::string> plain_keys(std::size_t count, const std::string& prefix = "") {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back(prefix + std::to_string(i));
  return keys;
}
inline std::vector<std::string_view> views(const std::vector<std::string>& keys) { return {keys.begin(), keys.end()}; }
inline std::span<const std::byte> bytes_in(const std::string& text) { return std::as_bytes(std::span(text)); }
inline std::string text_in(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::vector<std::uint64_t> mask_for(std::size_t count) { return std::vector<std::uint64_t>((count + 63) / 64); }
inline bool bit_of(const std::vector<std::uint64_t>& mask, std::size_t i) {
  return (mask[i / 64] >> (i % 64) & 1U) != 0;
}

// All replies of SCANDUMP of an engine, in pieces of at most `most` bytes.
template <class Chain>
std::map<std::int64_t, std::string> chunks_of(const Chain& chain, std::uint64_t most = max_chunk_bytes) {
  std::map<std::int64_t, std::string> chunks;
  std::string header;
  if constexpr (requires { chain.header_bytes(); }) {
    header.resize(chain.header_bytes());
  } else {
    header.resize(Chain::header_bytes);
  }
  chain.write_header(std::as_writable_bytes(std::span(header)));
  chunks[1] = header;
  for (dump_chunk each = chain.scan(1, most); each.iterator != 0; each = chain.scan(each.iterator, most)) {
    chunks[each.iterator] = text_in(each.bytes);
  }
  return chunks;
}
template <class Chain>
owned<Chain> replayed(const std::map<std::int64_t, std::string>& chunks, const memory_hooks* memory = nullptr) {
  auto chain = Chain::from_header(bytes_in(chunks.at(1)), {}, memory);
  if (!chain) ADD_FAILURE() << describe(chain.error()).view();
  if (!chain) return {};
  for (const auto& [iterator, bytes] : chunks) {
    if (iterator == 1) continue;
    EXPECT_EQ((*chain)->load_chunk(iterator, bytes_in(bytes)), chunk_outcome::loaded) << iterator;
  }
  return std::move(*chain);
}

struct plain_bloom {
  struct link {
    std::vector<std::uint8_t> bytes;
    std::uint64_t modulus, keys, capacity;
    double error;
    unsigned hashes;
  };
  std::vector<link> links;
  std::uint64_t growth;
  std::uint32_t options;

  plain_bloom(const bloom_settings& from) : growth(from.growth), options(from.options) {
    push(from.capacity, from.error_rate * ((options & no_scaling) != 0 ? 1.0 : 0.5));
  }
  void push(std::uint64_t capacity, double error) {
    const double per_key = std::fabs(-(std::log(error) / 0.480453013918201));
    double bits = std::floor(static_cast<double>(capacity) * per_key);
    std::uint64_t power = 0;
    if ((options & no_rounding) == 0) {
      power = 1;
      while (static_cast<double>(power) <= bits) power *= 2;
      const double spare = std::floor(static_cast<double>(power) - static_cast<double>(capacity) * per_key);
      capacity += static_cast<std::uint64_t>(spare / per_key);
      bits = static_cast<double>(power);
    }
    const auto words = static_cast<std::uint64_t>(std::ceil(std::max(1.0, bits) / 64));
    links.push_back({std::vector<std::uint8_t>(words * 8), power != 0 ? power : words * 64, 0, capacity, error,
                     static_cast<unsigned>(std::ceil(0.693147180559945 * per_key))});
  }
  [[nodiscard]] std::vector<std::uint64_t> positions(const link& in, const std::string& key) const {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    if ((options & hashes_64) != 0) {
      a = murmur64a{.seed = 0xc6a4a7935bd1e995ULL}(key.data(), key.size());
      b = murmur64a{.seed = a}(key.data(), key.size());
    } else {
      a = murmur2_32(key.data(), key.size(), 0x9747b28cU);
      b = murmur2_32(key.data(), key.size(), static_cast<std::uint32_t>(a));
    }
    std::vector<std::uint64_t> all;
    for (unsigned i = 0; i < in.hashes; ++i) all.push_back((a + i * b) % in.modulus);
    return all;
  }
  [[nodiscard]] bool holds(const std::string& key) const {
    return std::any_of(links.begin(), links.end(), [&](const link& in) {
      const auto all = positions(in, key);
      return std::all_of(all.begin(), all.end(),
                         [&](std::uint64_t bit) { return (in.bytes[bit / 8] >> (bit % 8) & 1U) != 0; });
    });
  }
  insert_outcome insert(const std::string& key, std::size_t most_links = 1100) {
    if (holds(key)) return insert_outcome::present;
    if (links.back().keys >= links.back().capacity) {
      if ((options & no_scaling) != 0) return insert_outcome::full;
      if (links.size() >= most_links) return insert_outcome::limit;
      push(links.back().capacity * growth, links.back().error / 2);
    }
    for (const std::uint64_t bit : positions(links.back(), key)) {
      links.back().bytes[bit / 8] = static_cast<std::uint8_t>(links.back().bytes[bit / 8] | 1U << (bit % 8));
    }
    ++links.back().keys;
    return insert_outcome::inserted;
  }
  void expect_equal(const bloom_chain& chain) const {
    ASSERT_EQ(chain.sub_filters(), links.size());
    for (std::size_t i = 0; i < links.size(); ++i) {
      const bloom_record record = chain.record(i);
      EXPECT_EQ(record.keys, links[i].keys);
      EXPECT_EQ(record.capacity, links[i].capacity);
      EXPECT_EQ(record.hashes, links[i].hashes);
      EXPECT_EQ(record.modulus(), links[i].modulus);
      const auto bits = chain.bits(i);
      EXPECT_TRUE(std::equal(bits.begin(), bits.end(), reinterpret_cast<const std::byte*>(links[i].bytes.data()),
                             reinterpret_cast<const std::byte*>(links[i].bytes.data()) + links[i].bytes.size()));
    }
  }
};

struct plain_cuckoo {
  std::vector<std::vector<std::uint8_t>> links;
  std::uint64_t buckets, slots, moves, growth, keys = 0, removed = 0;

  plain_cuckoo(const cuckoo_settings& from) : buckets(1), slots(from.slots), moves(from.moves), growth(1) {
    while (buckets < from.capacity / slots) buckets *= 2;
    while (growth < from.growth) growth *= 2;
    if (from.growth == 0) growth = 0;
    links.emplace_back(buckets * slots);
  }
  [[nodiscard]] std::uint64_t place(std::size_t link, std::uint64_t hash) const {
    return hash % (links[link].size() / slots) * slots;
  }
  static std::uint64_t hash_of(const std::string& key) { return murmur64a{}(key.data(), key.size()); }
  static std::uint8_t print_of(std::uint64_t hash) { return static_cast<std::uint8_t>(hash % 255 + 1); }
  static std::uint64_t other(std::uint64_t hash, std::uint8_t print) { return hash ^ (print * 0x5bd1e995ULL); }
  bool put(std::size_t link, std::uint64_t hash, std::uint8_t print) {
    for (std::uint64_t i = 0; i < slots; ++i) {
      std::uint8_t& slot = links[link][place(link, hash) + i];
      if (slot != 0) continue;
      slot = print;
      return true;
    }
    return false;
  }
  bool kick(std::uint64_t hash, std::uint8_t print) {
    const std::vector<std::uint8_t> before = links.back();
    const std::size_t last = links.size() - 1;
    for (std::uint64_t n = 0; n < moves; ++n) {
      std::swap(links.back()[place(last, hash) + n % slots], print);
      hash = other(hash % (links.back().size() / slots), print);
      if (put(last, hash, print)) return true;
    }
    links.back() = before;
    return false;
  }
  insert_outcome insert(const std::string& key, std::size_t most_links = 32) {
    const std::uint64_t hash = hash_of(key);
    const std::uint8_t print = print_of(hash);
    while (true) {
      for (std::size_t i = links.size(); i-- > 0;) {
        if (put(i, hash, print) || put(i, other(hash, print), print)) return ++keys, insert_outcome::inserted;
      }
      if (kick(hash, print)) return ++keys, insert_outcome::inserted;
      if (growth == 0) return insert_outcome::full;
      if (links.size() >= most_links) return insert_outcome::limit;
      links.emplace_back(links.back().size() * growth);
    }
  }
  [[nodiscard]] std::uint64_t count(const std::string& key) const {
    const std::uint64_t hash = hash_of(key);
    const std::uint8_t print = print_of(hash);
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < links.size(); ++i) {
      for (std::uint64_t n = 0; n < slots; ++n) {
        all += links[i][place(i, hash) + n] == print ? 1 : 0;
        all += links[i][place(i, other(hash, print)) + n] == print ? 1 : 0;
      }
    }
    return all;
  }
  bool erase(const std::string& key) {
    const std::uint64_t hash = hash_of(key);
    const std::uint8_t print = print_of(hash);
    for (std::size_t i = links.size(); i-- > 0;) {
      for (const std::uint64_t at : {place(i, hash), place(i, other(hash, print))}) {
        for (std::uint64_t n = 0; n < slots; ++n) {
          if (links[i][at + n] != print) continue;
          links[i][at + n] = 0;
          --keys;
          ++removed;
          if (links.size() > 1 && static_cast<double>(removed) > static_cast<double>(keys) * 0.10) compact(false);
          return true;
        }
      }
    }
    return false;
  }
  void compact(bool all) {
    for (std::size_t link = links.size(); link-- > 1;) {
      bool emptied = true;
      for (std::uint64_t at = 0; at < links[link].size(); ++at) {
        const std::uint8_t print = links[link][at];
        if (print == 0) continue;
        bool moved = false;
        for (std::size_t older = 0; older < link && !moved; ++older) {
          moved = put(older, at / slots, print) || put(older, other(at / slots, print), print);
        }
        if (moved) links[link][at] = 0;
        emptied = emptied && moved;
      }
      if (!emptied && !all) break;
      if (emptied && link == links.size() - 1) links.pop_back();
    }
    removed = 0;
  }
  void expect_equal(const cuckoo_chain& chain) const {
    EXPECT_EQ(chain.keys(), keys);
    EXPECT_EQ(chain.removed(), removed);
    ASSERT_EQ(chain.sub_filters(), links.size());
    for (std::size_t i = 0; i < links.size(); ++i) {
      EXPECT_TRUE(text_in(chain.slots(i)) == std::string(links[i].begin(), links[i].end())) << i;
    }
  }
};

}  // namespace bloomery::redis_testing

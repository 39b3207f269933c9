// Filters and tables of LevelDB for tests: golden ones, real ones, and tables made by hand.
#pragma once

#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "src/formats/crc32c.hpp"
#include "support/format_files.hpp"

namespace bloomery::test {

inline std::string leveldb_file(const std::string& name) { return golden("leveldb/" + name); }
inline result<formats::opened> open_leveldb(std::string_view text) { return open_text(text, {.from = "leveldb"}); }

inline std::vector<std::string> random_keys(std::mt19937_64& random, std::size_t count, std::uint64_t most_bytes = 40) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) {
    std::string key = std::to_string(i) + "/";  // all different
    for (std::uint64_t left = random() % most_bytes; left != 0; --left) key.push_back(static_cast<char>(random()));
    keys.push_back(std::move(key));
  }
  return keys;
}

inline std::uint64_t varint_at(const std::string& text, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(text[at++]);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
}

// The filters of a sound table. Their block is the one that stands behind the name of the policy.
inline std::vector<std::string> filters_of(const std::string& file) {
  const std::string name = "filter.leveldb.BuiltinBloomFilter2";
  std::size_t at = file.rfind(name) + name.size();
  const std::uint64_t offset = varint_at(file, at);
  const std::string block = file.substr(offset, varint_at(file, at));
  const auto number_at = [&](std::size_t from) {
    return load_le<std::uint32_t>(reinterpret_cast<const std::byte*>(block.data()) + from);
  };
  const std::size_t end = number_at(block.size() - 5);
  std::vector<std::string> filters;
  for (std::size_t each = end; each + 5 < block.size(); each += 4) {
    filters.push_back(block.substr(number_at(each), number_at(each + 4) - number_at(each)));
  }
  return filters;
}

// Whether a policy finds a key in any filter of a sound table.
inline std::vector<bool> ask_policy(const ::leveldb::FilterPolicy& policy, const std::string& file,
                                    const std::vector<std::string>& keys) {
  const auto filters = filters_of(file);
  std::vector<bool> out;
  for (const std::string& key : keys) {
    out.push_back(std::any_of(filters.begin(), filters.end(),
                              [&](const std::string& filter) { return policy.KeyMayMatch(key, filter); }));
  }
  return out;
}

// The one table of a database of these keys, after a compaction.
inline std::string real_table(const ::leveldb::FilterPolicy& policy, const std::vector<std::string>& keys,
                              std::size_t block_bytes, bool packed) {
  std::string folder = (std::filesystem::temp_directory_path() / "bloomery-leveldb-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return {};
  ::leveldb::Options options;
  options.create_if_missing = true;
  options.filter_policy = &policy;
  options.block_size = block_bytes;
  options.compression = packed ? ::leveldb::kSnappyCompression : ::leveldb::kNoCompression;
  ::leveldb::DB* raw = nullptr;
  EXPECT_TRUE(::leveldb::DB::Open(options, folder, &raw).ok());
  std::unique_ptr<::leveldb::DB> database(raw);
  for (std::size_t i = 0; database != nullptr && i < keys.size(); ++i) {
    EXPECT_TRUE(database->Put({}, keys[i], std::string(mix64(i) % 200, 'v')).ok());
  }
  if (database != nullptr) database->CompactRange(nullptr, nullptr);
  database.reset();
  std::vector<std::string> tables;
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(each.path(), std::ios::binary);
    if (each.path().extension() == ".ldb")
      tables.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  std::filesystem::remove_all(folder);
  EXPECT_EQ(tables.size(), 1U) << "so that no other table can answer for it";
  return tables.empty() ? "" : tables.front();
}

inline std::string number_of(const formats::opened& opened, std::string_view name) {
  const fact_list facts = opened.filter.facts();
  const fact* found = facts.find(name);
  if (found == nullptr) return "none";
  return found->value.holds() == fact_value::type::text ? std::string(found->value.text())
                                                        : std::to_string(found->value.integer());
}

// ---- tables made by hand, with the right checksums ----

inline std::string le32(std::uint32_t value) {
  std::string out;
  for (unsigned i = 0; i < 4; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}
inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<char>(value | 0x80U));
  out.push_back(static_cast<char>(value));
  return out;
}
inline std::string with_trailer(std::string block, char type = 0) {
  block.push_back(type);
  const std::uint32_t sum = formats::crc32c(std::as_bytes(std::span(block)));
  return block + le32((sum >> 15U | sum << 17U) + 0xa282ead8U);
}
inline std::string entry(std::size_t shared, const std::string& suffix, const std::string& value) {
  return varint(shared) + varint(suffix.size()) + varint(value.size()) + suffix + value;
}

struct hand_made {
  std::string data{};     // before the filter block
  std::string filters{};  // the filter block
  std::string before{};   // entries of the metaindex before that of the filters
  std::string key = "filter.leveldb.BuiltinBloomFilter2";
  std::size_t shared = 0;  // of that key with the one before
  char type = 0;

  [[nodiscard]] std::string file() const {
    std::string out = data + with_trailer(filters, type);
    const std::string meta =
        before + entry(shared, key.substr(shared), varint(data.size()) + varint(filters.size())) + le32(0) + le32(1);
    std::string footer = varint(out.size()) + varint(meta.size()) + varint(0) + varint(0);
    footer.resize(40, '\0');
    return out + with_trailer(meta) + footer + std::string("\x57\xfb\x80\x8b\x24\x75\x47\xdb", 8);
  }
};

}  // namespace bloomery::test

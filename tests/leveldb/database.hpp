// A LevelDB in a folder of its own, small enough to have several levels of few keys.
#pragma once

#include <gtest/gtest.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "support/files.hpp"  // a folder for each test

namespace bloomery::test {

inline std::string text_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

using policy_of_leveldb = std::unique_ptr<const ::leveldb::FilterPolicy>;

// Compactions can be held: what was scheduled waits until release(). Gets of absent keys start some of their own.
class held_env final : public ::leveldb::EnvWrapper {
 public:
  held_env() : EnvWrapper(::leveldb::Env::Default()) {}
  void Schedule(void (*run)(void*), void* argument) override {
    const std::lock_guard lock(mutex_);
    if (!held_) return target()->Schedule(run, argument);
    waiting_.emplace_back(run, argument);
  }
  void hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    for (const auto& [run, argument] : waiting_) target()->Schedule(run, argument);
    waiting_.clear();
  }

 private:
  std::mutex mutex_;
  bool held_ = false;
  std::vector<std::pair<void (*)(void*), void*>> waiting_;
};

class database {
 public:
  explicit database(std::string folder) : folder_(std::move(folder)) {
    options.create_if_missing = true;
    options.compression = ::leveldb::kNoCompression;
    options.write_buffer_size = 64 << 10;
    options.max_file_size = 64 << 10;
  }

  ::leveldb::Options options;

  void open(const ::leveldb::FilterPolicy* policy) {
    close();
    options.filter_policy = policy;
    ::leveldb::DB* opened = nullptr;
    const auto status = ::leveldb::DB::Open(options, folder_, &opened);
    ASSERT_TRUE(status.ok()) << status.ToString();
    db_.reset(opened);
  }
  void close() { db_.reset(); }
  ::leveldb::DB* operator->() const { return db_.get(); }
  [[nodiscard]] ::leveldb::DB* get() const { return db_.get(); }

  void put(const std::string& key, const std::string& value) {
    const auto status = db_->Put({}, key, value);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  // The value, or "-".
  [[nodiscard]] std::string value_of(const std::string& key, const ::leveldb::ReadOptions& how = {}) const {
    std::string value;
    const auto status = db_->Get(how, key, &value);
    return status.ok() ? value : status.IsNotFound() ? "-" : "error: " + status.ToString();
  }
  // All tables go into the last level that has any; then the memtable is empty.
  void compact() { db_->CompactRange(nullptr, nullptr); }

  // Table files, and their bytes.
  [[nodiscard]] std::map<std::string, std::string> tables() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().extension() == ".ldb") all[entry.path().string()] = text_of_file(entry.path().string());
    }
    return all;
  }

 private:
  std::string folder_;
  std::unique_ptr<::leveldb::DB> db_;
};

// 36 keys a filter, as with LevelDB's defaults.
inline std::string value_for(const std::string& key) { return key + std::string(100, 'v'); }

inline std::string decimal_key(std::uint64_t i) {
  std::string digits = std::to_string(i);
  return std::string(16 - digits.size(), '0') + digits;
}
inline std::string big_endian_key(std::uint64_t i) {
  std::string key(8, 0);
  for (std::size_t byte = 0; byte < 8; ++byte) key[byte] = static_cast<char>(i >> (56 - 8 * byte));
  return key;
}

// Where the filter block of a table is: offset and size. The metaindex has them behind the policy's name.
inline std::pair<std::size_t, std::size_t> filter_block(const std::string& table, const std::string& policy) {
  std::size_t at = table.rfind("filter." + policy);
  if (at == std::string::npos) return {0, 0};
  at += policy.size() + 7;
  const auto number = [&] {
    std::size_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(table[at++]);
      value |= std::size_t{byte & 127U} << shift;
      if (byte < 128) return value;
    }
  };
  const std::size_t offset = number();
  return {offset, number()};
}

// The last byte of every filter of a table that is not empty: 30 or less is LevelDB's own.
inline std::vector<unsigned> filter_codes(const std::string& table, const std::string& policy) {
  const auto place = filter_block(table, policy);  // clang 14 captures no structured binding
  const std::size_t offset = place.first, size = place.second;
  std::vector<unsigned> codes;
  if (size < 5) return codes;
  const auto word = [&](std::size_t at) {
    std::size_t value = 0;
    for (std::size_t i = 4; i-- > 0;) value = value << 8U | static_cast<unsigned char>(table[offset + at + i]);
    return value;
  };
  const std::size_t ends = word(size - 5);
  for (std::size_t at = ends; at + 4 <= size - 5; at += 4) {
    if (word(at + 4) > word(at)) codes.push_back(static_cast<unsigned char>(table[offset + word(at + 4) - 1]));
  }
  return codes;
}

}  // namespace bloomery::test

// An Env for LevelDB that reads tables with pread, counts what it reads, and can hold compactions. LevelDB's own maps tables: then
// blocks pass by its block cache, and reads cannot be counted.
#pragma once

#include <fcntl.h>
#include <leveldb/env.h>
#include <leveldb/status.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace lsm {

class counted_file final : public leveldb::RandomAccessFile {
 public:
  counted_file(int file, bool direct, std::atomic<std::uint64_t>& reads)
      : file_(file), direct_(direct), reads_(reads) {}
  ~counted_file() override { ::close(file_); }

  leveldb::Status Read(std::uint64_t offset, std::size_t size, leveldb::Slice* result, char* scratch) const override {
    reads_.fetch_add(1, std::memory_order_relaxed);
    const auto got =
        direct_ ? read_direct(offset, size, scratch) : ::pread(file_, scratch, size, static_cast<off_t>(offset));
    if (got < 0) return leveldb::Status::IOError("pread", std::strerror(errno));
    *result = leveldb::Slice(scratch, static_cast<std::size_t>(got));
    return leveldb::Status::OK();
  }

 private:
  static constexpr std::size_t sector = 4096;
  struct aligned {
    char* bytes = nullptr;
    std::size_t size = 0;
    ~aligned() { std::free(bytes); }
  };

  // Whole sectors around what is wanted, into memory that begins at one.
  ssize_t read_direct(std::uint64_t offset, std::size_t size, char* scratch) const {
    thread_local aligned buffer;
    const std::uint64_t from = offset / sector * sector;
    const auto before = static_cast<std::size_t>(offset - from);
    const std::size_t whole = (before + size + sector - 1) / sector * sector;
    if (buffer.size < whole) {
      std::free(buffer.bytes);
      buffer.bytes = static_cast<char*>(std::aligned_alloc(sector, whole));
      buffer.size = whole;
    }
    const ssize_t got = ::pread(file_, buffer.bytes, whole, static_cast<off_t>(from));
    if (got < 0) return got;
    const std::size_t there = static_cast<std::size_t>(got) > before ? static_cast<std::size_t>(got) - before : 0;
    const std::size_t used = there < size ? there : size;
    std::memcpy(scratch, buffer.bytes + before, used);
    return static_cast<ssize_t>(used);
  }

  int file_;
  bool direct_;
  std::atomic<std::uint64_t>& reads_;
};

class counting_env final : public leveldb::EnvWrapper {
 public:
  counting_env(bool direct, bool hold) : EnvWrapper(leveldb::Env::Default()), direct_(direct), hold_(hold) {}

  leveldb::Status NewRandomAccessFile(const std::string& name, leveldb::RandomAccessFile** made) override {
    const int file = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | (direct_ ? O_DIRECT : 0));
    if (file < 0) return leveldb::Status::IOError(name, std::strerror(errno));
    *made = new counted_file(file, direct_, reads_);
    return leveldb::Status::OK();
  }
  void Schedule(void (*run)(void*), void* argument) override {
    if (!hold_) target()->Schedule(run, argument);
  }
  [[nodiscard]] std::uint64_t reads() const { return reads_.load(std::memory_order_relaxed); }

 private:
  bool direct_;
  bool hold_;
  std::atomic<std::uint64_t> reads_{0};
};

}  // namespace lsm

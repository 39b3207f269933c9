// posix/mapping.hpp: a regular file mapped read-only into memory, unmapped at the end of its scope.
//
// Nothing is read until it is touched. The mapping follows the file: replacing the file (as save does, by a rename) is
// safe, because the old bytes live on until they are unmapped; cutting or overwriting it in place is not: a touch
// beyond the new end is a bus error, as for every memory-mapped file.
//
// Where the system maps no files (WASI), the file is read into memory when it is opened.
#pragma once

#include <bloomery/core/buffer.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/posix/input.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {

class file_mapping {
 public:
  static result<file_mapping> open(file_path path) noexcept {
    const auto file = input_file::open(path);
    if (!file) return fail(file.error());
    return open(*file);
  }
  // A file that is open; the mapping may outlive it.
  static result<file_mapping> open(const input_file& file) noexcept {
    if (!file.is_regular()) return name_file(not_regular(), file.path());
    if (file.size_bytes() == 0) return name_file(fail(errc::empty_file, {}, {256}), file.path());
    file_mapping mapping;
    mapping.path_.assign(file.path());
    if (auto done = mapping.map(file); !done) return name_file(fail(done.error()), file.path());
    return mapping;
  }

  static failure not_regular() noexcept { return fail(errc::not_mappable, "a pipe or device"); }

  file_mapping() noexcept = default;
  file_mapping(file_mapping&& other) noexcept : file_mapping() { *this = std::move(other); }
  file_mapping& operator=(file_mapping&& other) noexcept {
#ifndef BLOOMERY_HAS_MMAP
    std::swap(memory_, other.memory_);
#endif
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(path_, other.path_);
    return *this;
  }
  file_mapping(const file_mapping&) = delete;
  file_mapping& operator=(const file_mapping&) = delete;
  ~file_mapping() { unmap(); }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

  // As it was opened, for errors.
  [[nodiscard]] std::string_view path() const noexcept { return path_.view(); }

  // How the kernel reads ahead. Random is the state after open: a probe should cost its own page and no other.
#ifdef BLOOMERY_HAS_MMAP
  void advise_random() const noexcept { advise(MADV_RANDOM); }
  void advise_sequential() const noexcept { advise(MADV_SEQUENTIAL); }
#else
  void advise_random() const noexcept {}
  void advise_sequential() const noexcept {}
#endif

 private:
#ifdef BLOOMERY_HAS_MMAP
  result<void> map(const input_file& file) noexcept {
    if (file.size_bytes() > max_memory_bytes) return fail(errc::out_of_memory, "the file", {file.size_bytes()});
    const std::size_t size = to_size(file.size_bytes());
    void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
    if (memory == MAP_FAILED) return detail::fail_errno("cannot map", errno);
    data_ = static_cast<const std::byte*>(memory);
    size_ = size;
    advise_random();
    return {};
  }
  void unmap() noexcept {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  }
  void advise(int advice) const noexcept {
    if (data_ != nullptr) ::madvise(const_cast<std::byte*>(data_), size_, advice);
  }
#else
  result<void> map(const input_file& file) noexcept {
    auto memory = aligned_buffer::make(file.size_bytes(), "the file");
    if (!memory) return fail(memory.error());
    memory_ = std::move(*memory);
    if (auto done = file.read_at(0, memory_.bytes()); !done) return done;
    data_ = memory_.data();
    size_ = memory_.size_bytes();
    return {};
  }
  void unmap() noexcept {}
  aligned_buffer memory_;
#endif
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  path_tail path_;
};

}  // namespace bloomery::inline BLOOMERY_ABI

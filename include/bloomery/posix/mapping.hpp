// posix/mapping.hpp: a regular file mapped read-only into memory, unmapped at the end of its scope.
//
// Nothing is read until it is touched. The mapping follows the file: replacing the file (as save does, by a rename) is
// safe, because the old bytes live on until they are unmapped; cutting or overwriting it in place is not: a touch
// beyond the new end is a bus error, as for every memory-mapped file.
#pragma once

#include <sys/mman.h>
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
    void* memory = ::mmap(nullptr, file.size_bytes(), PROT_READ, MAP_SHARED, file.descriptor(), 0);
    if (memory == MAP_FAILED) return name_file(detail::fail_errno("cannot map", errno), file.path());
    file_mapping mapping;
    mapping.path_.assign(file.path());
    mapping.data_ = static_cast<const std::byte*>(memory);
    mapping.size_ = file.size_bytes();
    mapping.advise_random();
    return mapping;
  }

  static failure not_regular() noexcept { return fail(errc::not_mappable, "a pipe or device"); }

  file_mapping() noexcept = default;
  file_mapping(file_mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), path_(other.path_) {}
  file_mapping& operator=(file_mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(path_, other.path_);
    return *this;
  }
  file_mapping(const file_mapping&) = delete;
  file_mapping& operator=(const file_mapping&) = delete;
  ~file_mapping() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  }

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

  // As it was opened, for errors.
  [[nodiscard]] std::string_view path() const noexcept { return path_.view(); }

  // How the kernel reads ahead. Random is the state after open: a probe should cost its own page and no other.
  void advise_random() const noexcept { advise(MADV_RANDOM); }
  void advise_sequential() const noexcept { advise(MADV_SEQUENTIAL); }

 private:
  void advise(int advice) const noexcept {
    if (data_ != nullptr) ::madvise(const_cast<std::byte*>(data_), size_, advice);
  }
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  path_tail path_;
};

}  // namespace bloomery::inline BLOOMERY_ABI

// Bytes in and out of files, a folder for each test, and files put together by hand.
#pragma once

#include <bloomery/core/result.hpp>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace bloomery::inline BLOOMERY_ABI {
struct file_header;
}

namespace bloomery::test {

using bytes = std::vector<std::byte>;

// A folder of its own for each test, removed at its end.
class folder {
 public:
  folder();
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder();
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::filesystem::path path_;
};

void write_bytes(const std::string& path, const bytes& content);
bytes read_bytes(const std::string& path);
bytes as_bytes(std::string_view text);

// A file with these fields and this stored payload, and the right checksums for both.
bytes assemble(const file_header& header, const bytes& stored);
// Makes the checksum of a small header right again.
void seal_header(bytes& file);

// What is wrong and what would help, without the path, which differs from run to run (tests/posix/error_paths_test.cpp).
template <class R>
std::string error_of(const R& outcome) {
  if (outcome) return "no error";
  error unnamed = outcome.error();
  unnamed.path = {};
  return std::string(describe(unnamed).view());
}

}  // namespace bloomery::test

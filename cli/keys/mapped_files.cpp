#include "cli/keys/mapped_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "cli/keys/input_signature.hpp"

namespace bloomery::cli {
namespace {

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
std::uint64_t to_page(std::uint64_t position) { return position / page_bytes() * page_bytes(); }
std::uint64_t past_page(std::uint64_t position) { return to_page(position + page_bytes() - 1); }

// A file that can be mapped, and what of it.
class opened_file {
 public:
  explicit opened_file(const std::string& name)
      : descriptor_(name == "-" ? dup(STDIN_FILENO)
                                : ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {
    struct stat status {};
    if (descriptor_ < 0 || fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return;
    const off_t offset = lseek(descriptor_, 0, SEEK_CUR);
    if (offset < 0 || offset >= status.st_size) return;
    std::array<char, signature_bytes> first{};
    const ssize_t got = pread(descriptor_, first.data(), first.size(), offset);
    // What is compressed or refused is for byte_source.
    if (got < 0 || detect_input({first.data(), static_cast<std::size_t>(got)}).type != input_type::plain) return;
    range_ = {static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(status.st_size)};
  }
  opened_file(opened_file&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), range_(other.range_) {}
  opened_file& operator=(opened_file&&) = delete;
  ~opened_file() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const mapped_files::stretch& range() const { return range_; }  // empty: not to be mapped
  [[nodiscard]] std::uint64_t mapped_bytes() const { return past_page(range_.end) - to_page(range_.begin); }

 private:
  int descriptor_;
  mapped_files::stretch range_;
};

}  // namespace

std::optional<mapped_files> mapped_files::open(std::span<const std::string> names, std::uint64_t most_bytes) {
  const std::string standard_input = "-";
  if (names.empty()) names = {&standard_input, 1};
  std::vector<opened_file> opened;
  mapped_files made;
  std::uint64_t size = 0;
  for (const std::string& name : names) {
    opened.emplace_back(name);
    const opened_file& file = opened.back();
    if (file.range().end == 0 || file.mapped_bytes() > most_bytes - size) return {};
    size += file.mapped_bytes();
    if (name == "-") made.standard_input_end_ = file.range().end;
  }
  // Addresses for all of them first, so that they are contiguous.
  void* const space = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return {};
  made.base_ = static_cast<char*>(space);
  made.size_ = size;
  std::uint64_t at = 0;
  for (const opened_file& file : opened) {
    const std::uint64_t from = to_page(file.range().begin);
    if (mmap(made.base_ + at, file.mapped_bytes(), PROT_READ, MAP_SHARED | MAP_FIXED, file.descriptor(),
             static_cast<off_t>(from)) == MAP_FAILED) {
      return {};
    }
    made.files_.push_back({at + file.range().begin - from, at + file.range().end - from});
    at += file.mapped_bytes();
  }
  return made;
}

mapped_files::~mapped_files() {
  if (base_ != nullptr) munmap(base_, size_);
}

const mapped_files::stretch& mapped_files::file_of(std::uint64_t position) const {
  return *std::partition_point(files_.begin(), files_.end(), [&](const stretch& each) { return each.end <= position; });
}

std::uint64_t mapped_files::content_bytes() const {
  std::uint64_t sum = 0;
  for (const stretch& each : files_) sum += each.end - each.begin;
  return sum;
}

void mapped_files::pass_standard_input() const {
  if (standard_input_end_ != 0) lseek(STDIN_FILENO, static_cast<off_t>(standard_input_end_), SEEK_SET);
}

void mapped_files::expect(stretch range) const {
  // One access makes the system map what it has in its cache of the pages around, 64 KiB as a rule. Asking it for all
  // of them by madvise costs more: it goes from page to page.
  constexpr std::uint64_t around_bytes = std::uint64_t{1} << 16U;
  for (std::uint64_t at = range.begin; at < range.end; at = (at / around_bytes + 1) * around_bytes) {
    static_cast<void>(*const_cast<const volatile char*>(base_ + at));
  }
}

void mapped_files::release(stretch range) const {
  const std::uint64_t from = past_page(range.begin);
  const std::uint64_t to = range.end >= size_ ? size_ : to_page(range.end);
  if (from < to) madvise(base_ + from, to - from, MADV_DONTNEED);
}

}  // namespace bloomery::cli

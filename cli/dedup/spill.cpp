#include "cli/dedup/spill.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace bloomery::cli {
namespace {

// Without a name from the start where the file system can do that.
int open_nameless(const std::string& folder) {
  int descriptor = -1;
  do {
    descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return descriptor;
  std::string name = folder + "/bloomery-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

}  // namespace

std::string spill_folder(const options& opts) {
  if (opts.has(flag::temp_dir)) return std::string(opts.text(flag::temp_dir));
  const char* const set = std::getenv("TMPDIR");
  return set != nullptr && *set != '\0' ? set : "/tmp";
}

bool write_at(int descriptor, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    if (written <= 0) return false;
    offset += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::optional<std::size_t> read_at(int descriptor, std::span<char> to, std::uint64_t offset) {
  std::size_t read = 0;
  while (read < to.size()) {
    const ssize_t got = pread(descriptor, to.data() + read, to.size() - read, static_cast<off_t>(offset + read));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {};
    if (got == 0) break;
    read += static_cast<std::size_t>(got);
  }
  return read;
}

outcome<spill_file> spill_file::make(const std::string& folder) {
  spill_file made;
  made.name_ = folder;
  made.descriptor_ = open_nameless(folder);
  if (made.descriptor_ >= 0) return made;
  return fail_file(folder, fmt::format("cannot make a temporary file in it: {}: give another folder with --temp-dir",
                                       std::strerror(errno)));
}

spill_file spill_file::named(int descriptor, std::string name, std::uint64_t start, std::uint64_t size) {
  spill_file made;
  made.descriptor_ = descriptor;
  made.name_ = std::move(name);
  made.start_ = start;
  made.flushed_ = size;
  return made;
}

spill_file::spill_file(spill_file&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      name_(std::move(other.name_)),
      start_(other.start_),
      flushed_(other.flushed_),
      pending_(std::move(other.pending_)) {}

spill_file& spill_file::operator=(spill_file&& other) noexcept {
  if (this == &other) return *this;
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  name_ = std::move(other.name_);
  start_ = other.start_;
  flushed_ = other.flushed_;
  pending_ = std::move(other.pending_);
  return *this;
}

spill_file::~spill_file() {
  if (descriptor_ >= 0) close(descriptor_);
}

outcome<void> spill_file::write_out(std::string_view bytes) {
  if (!write_at(descriptor_, bytes, start_ + flushed_)) {
    return fail_file(name_, fmt::format("cannot write: {}: more room is needed there, or another folder (--temp-dir)",
                                        std::strerror(errno)));
  }
  flushed_ += bytes.size();
  return {};
}

outcome<void> spill_file::append(std::string_view bytes) {
  if (pending_.size() + bytes.size() > block_bytes) {
    if (auto flushed = flush(); !flushed) return flushed;
    if (bytes.size() > block_bytes) return write_out(bytes);
  }
  pending_.append(bytes);
  return {};
}

outcome<void> spill_file::flush() {
  if (pending_.empty()) return {};
  if (auto written = write_out(pending_); !written) return written;
  pending_.clear();
  return {};
}

outcome<void> spill_file::read(std::uint64_t offset, std::span<char> to) const {
  const auto got = read_at(descriptor_, to, start_ + offset);
  if (got && *got == to.size()) return {};
  return fail_file(name_, fmt::format("cannot read what was written: {}",
                                      got ? "the file has become shorter" : std::strerror(errno)));
}

outcome<void> spill_reader::need(std::uint64_t size) {
  if (buffer_.size() - at_ >= size) return {};
  buffer_.erase(0, at_);
  at_ = 0;
  const std::uint64_t left = file_->flushed_bytes() - next_;
  const std::uint64_t wanted = std::min(left, std::max<std::uint64_t>(block_bytes_, size) - buffer_.size());
  const std::size_t before = buffer_.size();
  if (before + wanted < size) return fail_file(file_->name(), "ends in the middle of a record");
  buffer_.resize(before + static_cast<std::size_t>(wanted));
  auto got = file_->read(next_, std::span(buffer_).subspan(before));
  next_ += wanted;
  return got;
}

outcome<std::uint64_t> spill_reader::number() {
  const std::uint64_t left = file_->flushed_bytes() - position();
  if (auto there = need(std::min<std::uint64_t>(max_number_bytes, left)); !there) return failed(there.error());
  std::string_view rest = std::string_view(buffer_).substr(at_);
  std::uint64_t value = 0;
  if (!take_number(rest, value)) return fail_file(file_->name(), "holds a damaged number");
  at_ = buffer_.size() - rest.size();
  return value;
}

outcome<std::string_view> spill_reader::bytes(std::uint64_t size) {
  const std::uint64_t left = file_->flushed_bytes() - position();
  if (size > left) return fail_file(file_->name(), "ends in the middle of a record");
  if (auto there = need(size); !there) return failed(there.error());
  const std::string_view found = std::string_view(buffer_).substr(at_, static_cast<std::size_t>(size));
  at_ += static_cast<std::size_t>(size);
  return found;
}

}  // namespace bloomery::cli

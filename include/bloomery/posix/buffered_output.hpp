// posix/buffered_output.hpp: a sink that makes fewer, larger writes to an output file.
#pragma once

#include <array>
#include <bloomery/posix/output.hpp>
#include <cstring>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

// Text goes out in lines; this makes fewer, larger writes of them.
class buffered_output {
 public:
  explicit buffered_output(output_file& file) noexcept : file_(&file) {}
  result<void> operator()(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() >= held_.size() - used_) {
      if (auto done = flush(); !done) return done;
    }
    if (bytes.size() >= held_.size()) return file_->write(bytes);
    if (!bytes.empty()) std::memcpy(held_.data() + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
    return {};
  }
  result<void> flush() noexcept {
    const std::size_t size = std::exchange(used_, 0);
    return file_->write(std::span(held_).first(size));
  }

 private:
  output_file* file_;
  std::array<std::byte, 8192> held_;
  std::size_t used_ = 0;
};

}  // namespace detail

}  // namespace bloomery::inline BLOOMERY_ABI

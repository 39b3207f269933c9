// native/sink.hpp: where saved bytes go: a file, standard output, memory, a socket of yours.
//
//     auto to_socket = [&](std::span<const std::byte> bytes) -> bloomery::result<void> { ... };
//     auto saved = bloomery::save_to(filter, hash.spec(), bloomery::byte_sink(to_socket));
//
// A sink takes bytes in order, in pieces of any size, and either takes all of them or fails. It refers to your function,
// which must live until the saving ends (core/pieces.hpp).
#pragma once

#include <bloomery/core/buffer.hpp>
#include <bloomery/core/pieces.hpp>
#include <bloomery/core/result.hpp>
#include <cstddef>
#include <cstring>
#include <span>

namespace bloomery::inline BLOOMERY_ABI {

// Collects bytes in memory, which grows as needed.
class memory_sink {
 public:
  explicit memory_sink(const memory_hooks* memory = nullptr) noexcept : memory_(memory) {}

  result<void> operator()(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() > buffer_.size_bytes() - used_) {
      std::size_t room = buffer_.size_bytes() < 4096 ? 4096 : buffer_.size_bytes() * 2;
      if (room < used_ + bytes.size()) room = used_ + bytes.size();
      auto larger = aligned_buffer::make(room, "the saved filter", memory_);
      if (!larger) return fail(larger.error());
      if (used_ != 0) std::memcpy(larger->data(), buffer_.data(), used_);
      buffer_ = std::move(*larger);
    }
    if (!bytes.empty()) std::memcpy(buffer_.data() + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
    return {};
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return buffer_.bytes().first(used_); }

 private:
  const memory_hooks* memory_;
  aligned_buffer buffer_;
  std::size_t used_ = 0;
};

}  // namespace bloomery::inline BLOOMERY_ABI

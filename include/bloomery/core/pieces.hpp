// core/pieces.hpp: bytes that go and come in pieces, so that nobody needs all of them in one place.
//
//     auto to_socket = [&](std::span<const std::byte> bytes) -> bloomery::result<void> { ... };
//     auto done = filter.serialize(bloomery::byte_sink(to_socket));
//
// Both ends refer to your function, which must live as long as they are used.
#pragma once

#include <array>
#include <bloomery/core/result.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {

class byte_sink {
 public:
  template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, byte_sink> && std::is_lvalue_reference_v<F> &&
           std::is_invocable_r_v<result<void>, F, std::span<const std::byte>>) explicit byte_sink(F&& function) noexcept
      : call_([](void* context, std::span<const std::byte> bytes) -> result<void> {
          return (*static_cast<std::remove_reference_t<F>*>(context))(bytes);
        }),
        context_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))) {}

  result<void> operator()(std::span<const std::byte> bytes) const { return call_(context_, bytes); }

 private:
  result<void> (*call_)(void* context, std::span<const std::byte> bytes);
  void* context_;
};

// Gives so many bytes in order, once. More than are left is an error.
class byte_feed {
 public:
  // `pull(span)` fills the span with the next bytes, or fails.
  template <class F>
  requires(std::is_invocable_r_v<result<void>, F&, std::span<std::byte>>) byte_feed(F& pull, std::uint64_t size_bytes)
  noexcept
      : call_([](void* context, std::span<std::byte> out) -> result<void> { return (*static_cast<F*>(context))(out); }),
        context_(std::addressof(pull)),
        left_(size_bytes) {}

  [[nodiscard]] std::uint64_t left_bytes() const noexcept { return left_; }
  result<void> read(std::span<std::byte> out) const {
    if (out.size() > left_) return fail(errc::truncated, {}, {left_, out.size()});
    left_ -= out.size();
    return out.empty() ? result<void>{} : call_(context_, out);
  }

 private:
  result<void> (*call_)(void* context, std::span<std::byte> out);
  void* context_;
  mutable std::uint64_t left_;
};

// For byte_feed: bytes in memory.
class memory_pull {
 public:
  explicit memory_pull(std::span<const std::byte> bytes) noexcept : left_(bytes) {}
  result<void> operator()(std::span<std::byte> out) noexcept {
    std::memcpy(out.data(), left_.data(), out.size());
    left_ = left_.subspan(out.size());
    return {};
  }

 private:
  std::span<const std::byte> left_;
};

// For byte_sink: memory that has the space.
class memory_fill {
 public:
  explicit memory_fill(std::span<std::byte> to) noexcept : left_(to) {}
  result<void> operator()(std::span<const std::byte> bytes) noexcept {
    if (bytes.size() > left_.size()) return fail(errc::bad_span, "the output", {left_.size(), bytes.size()});
    if (!bytes.empty()) std::memcpy(left_.data(), bytes.data(), bytes.size());
    left_ = left_.subspan(bytes.size());
    return {};
  }

 private:
  std::span<std::byte> left_;
};

// Makes pieces of 4 KiB of small ones. After an error nothing more is written; `flush`, which comes last, returns it.
class piece_writer {
 public:
  explicit piece_writer(byte_sink to) noexcept : to_(to) {}

  // The next `size` bytes, 4096 at most, to be filled before the next call.
  std::byte* take(std::size_t size) {
    if (size > held_.size() - used_) static_cast<void>(flush());
    return held_.data() + std::exchange(used_, used_ + size);
  }
  // Passed on as they are.
  result<void> write(std::span<const std::byte> bytes) {
    if (auto done = flush(); !done) return done;
    if (!bytes.empty()) done_ = to_(bytes);
    return done_;
  }
  result<void> flush() {
    const std::size_t size = std::exchange(used_, 0);
    if (done_ && size != 0) done_ = to_(std::span<const std::byte>(held_).first(size));
    return done_;
  }

 private:
  byte_sink to_;
  result<void> done_{};
  std::array<std::byte, 4096> held_{};
  std::size_t used_ = 0;
};

}  // namespace bloomery::inline BLOOMERY_ABI

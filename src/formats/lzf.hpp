// src/formats/lzf.hpp: LZF, by Marc Lehmann's liblzf: how Redis packs strings in its files.
//
// A packed string is a row of runs. A control byte below 32: that many bytes and one more follow as they are. Others
// name a piece of what is unpacked already: the length is the top three bits (7: plus the next byte) and two more; the
// distance is the other five bits and one more byte, plus one.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/core/buffer.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

namespace bloomery::inline BLOOMERY_ABI::formats {

// The most bytes that so many can stand for: three give 264 at most.
constexpr std::uint64_t lzf_most_bytes(std::uint64_t packed_bytes) noexcept { return packed_bytes * 88; }

// Whether `packed` unpacks to exactly as many bytes as `out` has.
inline bool lzf_unpack(std::span<const std::byte> packed, std::span<std::byte> out) noexcept {
  std::size_t from = 0;
  std::size_t to = 0;
  while (from < packed.size()) {
    const auto control = std::to_integer<std::size_t>(packed[from++]);
    if (control < 32) {
      const std::size_t size = control + 1;
      if (size > packed.size() - from || size > out.size() - to) return false;
      std::copy_n(packed.data() + from, size, out.data() + to);
      from += size;
      to += size;
      continue;
    }
    std::size_t size = control >> 5U;
    if (size == 7) {
      if (from == packed.size()) return false;
      size += std::to_integer<std::size_t>(packed[from++]);
    }
    size += 2;
    if (from == packed.size()) return false;
    const std::size_t distance = ((control & 31U) << 8U) + std::to_integer<std::size_t>(packed[from++]) + 1;
    if (distance > to || size > out.size() - to) return false;
    for (; size != 0; --size, ++to) out[to] = out[to - distance];  // may overlap what it writes
  }
  return to == out.size();
}

// Packs as liblzf does, choice by choice, so that a file has the bytes that Redis would write: the last place of every
// three bytes is remembered by a hash of 16 bits; within a piece only those of its last two bytes are.
class lzf_packer {
 public:
  static constexpr std::size_t table_entries = std::size_t{1} << 16U;
  static result<lzf_packer> make() noexcept {
    auto table = aligned_buffer::make(table_entries * sizeof(std::uint32_t), "packing");
    if (!table) return fail(table.error());
    return lzf_packer(std::move(*table));
  }

  // How many bytes of `out` are used; 0 when they are too few. Strings of 4 GiB and more are left alone.
  std::size_t pack(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
    if (in.empty() || in.size() > UINT32_MAX) return 0;
    std::fill_n(last_at(), table_entries, 0U);
    in_ = in;
    out_ = out;
    at_ = 0;
    used_ = 1;
    run_ = 0;
    while (at_ + 2 < in_.size()) {
      const std::size_t before = remembered(at_);
      const bool same = before != 0 && at_ - before - 1 < longest_distance && in_[before + 2] == in_[at_ + 2] &&
                        in_[before] == in_[at_] && in_[before + 1] == in_[at_ + 1];
      if (!same) {
        if (used_ >= out_.size()) return 0;
        copy_byte();
        continue;
      }
      if (!write_piece(before)) return 0;
      if (at_ + 2 >= in_.size()) break;
      remembered(at_ - 2);
      remembered(at_ - 1);
    }
    if (used_ + 3 > out_.size()) return 0;
    while (at_ < in_.size()) copy_byte();
    end_run();
    return used_;
  }

 private:
  static constexpr std::size_t longest_run = 32;
  static constexpr std::size_t longest_distance = 8192;
  static constexpr std::size_t longest_piece = 264;

  explicit lzf_packer(aligned_buffer table) noexcept : table_(std::move(table)) {}
  std::uint32_t* last_at() noexcept { return reinterpret_cast<std::uint32_t*>(table_.data()); }

  // Where these three bytes, or others with the same hash, were last; here they are now. 0 is never returned again.
  std::size_t remembered(std::size_t at) noexcept {
    const auto three = std::to_integer<std::uint32_t>(in_[at]) << 16U |
                       std::to_integer<std::uint32_t>(in_[at + 1]) << 8U | std::to_integer<std::uint32_t>(in_[at + 2]);
    return std::exchange(last_at()[((three >> 8U) - three * 5) & (table_entries - 1)], static_cast<std::uint32_t>(at));
  }
  void copy_byte() noexcept {
    out_[used_++] = in_[at_++];
    if (++run_ == longest_run) {
      end_run();
      ++used_;
    }
  }
  // Its length goes to the byte before it, which an empty run gives back.
  void end_run() noexcept {
    if (run_ == 0) {
      --used_;
    } else {
      out_[used_ - run_ - 1] = static_cast<std::byte>(run_ - 1);
    }
    run_ = 0;
  }
  bool write_piece(std::size_t before) noexcept {
    const std::size_t most = std::min(in_.size() - at_ - 2, longest_piece);
    std::size_t size = 3;
    while (size < most && in_[before + size] == in_[at_ + size]) ++size;
    if (used_ - (run_ == 0 ? 1 : 0) + 4 >= out_.size()) return false;
    end_run();
    const std::size_t distance = at_ - before - 1;
    const std::size_t length = size - 2;
    out_[used_++] = static_cast<std::byte>((distance >> 8U) + (std::min<std::size_t>(length, 7) << 5U));
    if (length >= 7) out_[used_++] = static_cast<std::byte>(length - 7);
    out_[used_++] = static_cast<std::byte>(distance & 0xffU);
    ++used_;
    at_ += size;
    return true;
  }

  aligned_buffer table_;
  std::span<const std::byte> in_{};
  std::span<std::byte> out_{};
  std::size_t at_ = 0;
  std::size_t used_ = 0;
  std::size_t run_ = 0;
};

}  // namespace bloomery::inline BLOOMERY_ABI::formats

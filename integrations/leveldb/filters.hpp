// Slices of LevelDB in, filters out: what the policies here share.
#pragma once

#include <leveldb/slice.h>

#include <bloomery/compat/leveldb/encoder.hpp>
#include <bloomery/leveldb/key_part.hpp>
#include <string>

namespace bloomery::inline BLOOMERY_ABI::leveldb {

inline std::string_view view_of(const ::leveldb::Slice& slice) noexcept { return {slice.data(), slice.size()}; }
inline std::span<const std::byte> bytes_of(const ::leveldb::Slice& slice) noexcept {
  return std::as_bytes(std::span<const char>(slice.data(), slice.size()));
}

enum class filter_family : std::uint8_t { ours, builtin };

// Appends the filter of these keys. Where memory is refused it is one that matches every key. No bits: the same.
void append_filter(std::span<const ::leveldb::Slice> keys, const key_part& part, filter_family family,
                   unsigned bits_per_key, std::string& out);

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb

// compat/leveldb/encoder.hpp: makes filters of filter.hpp, and of LevelDB's built-in policy.
//
//     thread_local bloomery::leveldb::filter_encoder encoder;
//     auto filter = encoder.encode(digests, 10);                      // digest_of(key) of each key
//     if (filter) dst->append(reinterpret_cast<const char*>(filter->data()), filter->size());
//     encoder.encode_keys(std::span<const leveldb::Slice>(keys, n), 10);   // the same from keys: anything with data(), size()
//
// The bytes depend on the set of digests and the bits per key alone: not on their order, on copies, or on the instruction
// set. They are never more than those of the built-in policy for so many keys. 3 to 16 bits per key are used: of more,
// 16. For fewer, and for some sets at 3, there is no filter of this layout: encode_keys makes one of the built-in policy
// then, and encode one that matches every key.
//
// Memory        blocks that it keeps for the next filter: some 12 KiB, and 16 bytes a key.
// Threads       one.
#pragma once

#include <bloomery/compat/leveldb/filter.hpp>
#include <bloomery/compat/leveldb/windows.hpp>
#include <bloomery/core/buffer.hpp>
#include <bloomery/core/result.hpp>

namespace bloomery::inline BLOOMERY_ABI::leveldb {

class BLOOMERY_API filter_encoder {
 public:
  explicit filter_encoder(const memory_hooks* memory = nullptr) noexcept : memory_(memory) {}

  // The bytes stay as they are until the next call. Where memory is refused, an error; a host that cannot report it writes
  // matches_all().
  result<std::span<const std::byte>> encode(std::span<const std::uint64_t> digests, unsigned bits_per_key) noexcept;
  // LevelDB's own bytes; builtin_digest_of(key) of each key, copies too.
  result<std::span<const std::byte>> encode_builtin(std::span<const std::uint32_t> digests,
                                                    unsigned bits_per_key) noexcept;
  // Two bytes, 0 and 255.
  static std::span<const std::byte> matches_all() noexcept;

  // Memory for so many digests, kept for the next filter; may be the argument of encode.
  result<std::span<std::uint64_t>> digests(std::size_t count) noexcept;
  result<std::span<std::uint32_t>> builtin_digests(std::size_t count) noexcept;

  template <class Keys>
  result<std::span<const std::byte>> encode_keys(const Keys& keys, unsigned bits_per_key) noexcept {
    if (bits_per_key < least_slot_bits) return encode_builtin_keys(keys, bits_per_key);
    const auto digests = this->digests(std::size(keys));
    if (!digests) return fail(digests.error());
    auto out = digests->begin();
    for (const auto& key : keys) *out++ = digest_of({key.data(), key.size()});
    const auto made = encode(*digests, bits_per_key);
    return made && made->size() == matches_all().size() ? encode_builtin_keys(keys, bits_per_key) : made;
  }
  template <class Keys>
  result<std::span<const std::byte>> encode_builtin_keys(const Keys& keys, unsigned bits_per_key) noexcept {
    const auto digests = builtin_digests(std::size(keys));
    if (!digests) return fail(digests.error());
    auto out = digests->begin();
    for (const auto& key : keys) *out++ = builtin_digest_of({key.data(), key.size()});
    return encode_builtin(*digests, bits_per_key);
  }

 private:
  // At least so many bytes; what was in it is lost.
  static result<void> reserve(aligned_buffer& buffer, std::uint64_t size_bytes, const memory_hooks* memory) noexcept;

  const memory_hooks* memory_;
  aligned_buffer input_;
  aligned_buffer sorted_;
  aligned_buffer work_;
  aligned_buffer output_;
};

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/compat/leveldb/encoder.cpp>
#endif

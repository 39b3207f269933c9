// hash/digest_feed.hpp: where a batch gets its digests.
//
// One class for digests that exist already and for keys that are hashed on the way (hash/key_digests.hpp), so that the
// batch loops of the kinds are compiled once, not once for each type of key and hash. It is called once for up to 64
// keys. The loops that can hash four keys at a time in vector registers look at inlined() and skip the call.
//
//     const digest_feed feed(digests.data());                       // digests that exist
//     const key_digests<xxh3, std::string> source{hash, keys};
//     const digest_feed feed(source);                               // hashed when the loop needs them
//
// A feed refers to what it was made from and must not outlive it.
#pragma once

#include <bloomery/core/config.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace bloomery::inline BLOOMERY_ABI {

// Pairs of hash and key type that vector loops compute themselves.
enum class inlined_hash : std::uint8_t {
  none,
  xxh3_integers,
  mum_integers,
  aes2_integers,
  mum2_integers,
  xxh3_views,
  xxh3_strings,
  mum2_views,
  mum2_strings
};

class digest_feed {
 public:
  explicit digest_feed(const std::uint64_t* digests) noexcept
      : source_(digests),
        call_([](const void* source, std::size_t first, std::size_t /*count*/, std::uint64_t* /*buffer*/) noexcept {
          return static_cast<const std::uint64_t*>(source) + first;
        }) {}
  template <class Source>
  requires std::is_class_v<Source>
  explicit digest_feed(const Source& source) noexcept
      : source_(&source),
        call_([](const void* from, std::size_t first, std::size_t count, std::uint64_t* buffer) noexcept {
          return (*static_cast<const Source*>(from))(first, count, buffer);
        }),
        inlined_(Source::inlined) {}

  // The digests of keys first to first + count - 1, in `buffer` or wherever they are already. `first` ascends from call
  // to call; `count` is at most 64.
  const std::uint64_t* operator()(std::size_t first, std::size_t count, std::uint64_t* buffer) const noexcept {
    return call_(source_, first, count, buffer);
  }
  [[nodiscard]] inlined_hash inlined() const noexcept { return inlined_; }
  // The key_digests of the types that inlined() names.
  template <class Source>
  [[nodiscard]] const Source& source() const noexcept {
    return *static_cast<const Source*>(source_);
  }

 private:
  const void* source_;
  const std::uint64_t* (*call_)(const void*, std::size_t, std::size_t, std::uint64_t*) noexcept;
  inlined_hash inlined_ = inlined_hash::none;
};

}  // namespace bloomery::inline BLOOMERY_ABI

// hash/digest_feed.hpp: digests for the loops that do not hash.
//
// A source of digests (ready_digests in kernels/blocked.hpp, digest_source in hash/vector/digest_batch.hpp) behind a pointer
// to its function, which is called once for 64 keys. So the loops of an instruction set without vector code for hashing
// are compiled once, not once for each source. The feed refers to the source and must not outlive it.
#pragma once

#include <bloomery/core/config.hpp>
#include <cstddef>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI::kernels {

class digest_feed {
 public:
  template <class Next>
  explicit digest_feed(const Next& next) noexcept
      : source_(&next),
        call_([](const void* source, std::size_t first, std::size_t count, std::uint64_t* room) noexcept {
          return (*static_cast<const Next*>(source))(first, count, room);
        }) {}

  const std::uint64_t* operator()(std::size_t first, std::size_t count, std::uint64_t* room) const noexcept {
    return call_(source_, first, count, room);
  }

 private:
  const void* source_;
  const std::uint64_t* (*call_)(const void*, std::size_t, std::size_t, std::uint64_t*) noexcept;
};

}  // namespace bloomery::inline BLOOMERY_ABI::kernels

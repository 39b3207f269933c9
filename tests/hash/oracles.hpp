// Oracles that cannot be called in a file that includes our headers, and the keys that all of them hash.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace bloomery_test {

// The compiled libxxhash. Our headers inline xxhash.h and rename its functions, so these live in xxhash_oracle.cpp.
std::uint64_t library_xxh64(const void* bytes, std::size_t size, std::uint64_t seed);
std::uint64_t library_xxh3(const void* bytes, std::size_t size, std::uint64_t seed);
std::pair<std::uint64_t, std::uint64_t> library_xxh3_128(const void* bytes, std::size_t size, std::uint64_t seed);

// Calls check(bytes, size) for every length from 0 to 300 at every alignment modulo 8. The bytes end where their memory
// ends, so that a sanitizer sees a read past the end.
template <class Check>
void for_each_key(Check check) {
  for (std::size_t size = 0; size <= 300; ++size) {
    for (std::size_t offset = 0; offset < 8; ++offset) {
      const std::size_t total = offset + size;
      auto* memory = new unsigned char[total];
      for (std::size_t i = 0; i < total; ++i)
        memory[i] = static_cast<unsigned char>((i - offset) * 167U + size * 31U + 13U);
      check(static_cast<const void*>(memory + offset), size);
      delete[] memory;
    }
  }
}

}  // namespace bloomery_test

// cli/keys/digest_buffer.hpp: digests buffered in memory, in blocks, so that growing never copies what is there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace bloomery::cli {

template <class Digest>
class digest_buffer {
 public:
  void add(std::span<const Digest> digests) {
    while (!digests.empty()) {
      if (in_last_ == block_digests || blocks_.empty()) {
        blocks_.push_back(std::unique_ptr<Digest[]>(new Digest[block_digests]));
        in_last_ = 0;
      }
      const std::size_t count = std::min(digests.size(), block_digests - in_last_);
      std::memcpy(static_cast<void*>(blocks_.back().get() + in_last_), digests.data(), count * sizeof(Digest));
      in_last_ += count;
      digests = digests.subspan(count);
    }
  }
  [[nodiscard]] std::size_t blocks() const { return blocks_.size(); }
  [[nodiscard]] std::span<const Digest> block(std::size_t i) const {
    return {blocks_[i].get(), i + 1 == blocks_.size() ? in_last_ : block_digests};
  }
  // Frees the block.
  void drop(std::size_t i) { blocks_[i].reset(); }
  void clear() { blocks_.clear(); }
  [[nodiscard]] std::uint64_t size_bytes() const { return blocks_.size() * block_digests * sizeof(Digest); }

 private:
  static constexpr std::size_t block_digests = std::size_t{1} << 16U;
  std::vector<std::unique_ptr<Digest[]>> blocks_;
  std::size_t in_last_ = 0;
};

}  // namespace bloomery::cli

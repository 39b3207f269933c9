// cli/keys/digest_buffer.hpp: digests buffered in memory, in blocks, so that growing never copies what is there.
#pragma once

#include <algorithm>
#include <bloomery/hash/key_batch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace bloomery::cli {

class digest_buffer {
 public:
  explicit digest_buffer(unsigned digest_bits) : bits_(digest_bits) {}

  // Whole digests, as words.
  void add(std::span<const std::uint64_t> words) {
    while (!words.empty()) {
      if (in_last_ == block_words || blocks_.empty()) {
        blocks_.push_back(std::unique_ptr<std::uint64_t[]>(new std::uint64_t[block_words]));
        in_last_ = 0;
      }
      const std::size_t count = std::min(words.size(), block_words - in_last_);
      std::memcpy(blocks_.back().get() + in_last_, words.data(), count * sizeof(std::uint64_t));
      in_last_ += count;
      words = words.subspan(count);
    }
  }
  [[nodiscard]] std::size_t blocks() const { return blocks_.size(); }
  [[nodiscard]] std::span<const std::uint64_t> words(std::size_t i) const {
    return {blocks_[i].get(), i + 1 == blocks_.size() ? in_last_ : block_words};
  }
  [[nodiscard]] digest_span block(std::size_t i) const {
    return {blocks_[i].get(), words(i).size() * 64 / bits_, bits_};
  }
  // Frees the block.
  void drop(std::size_t i) { blocks_[i].reset(); }
  void clear() { blocks_.clear(); }
  [[nodiscard]] std::uint64_t size_bytes() const { return blocks_.size() * block_words * sizeof(std::uint64_t); }

 private:
  static constexpr std::size_t block_words = std::size_t{1} << 16U;  // a multiple of the words of every digest
  unsigned bits_;
  std::vector<std::unique_ptr<std::uint64_t[]>> blocks_;
  std::size_t in_last_ = 0;
};

}  // namespace bloomery::cli

// kinds/ribbon/keys.hpp: the keys of a ribbon filter that is being built: hashed for a layer, sorted, and restored.
//
// All of it happens in the caller's digests, by bijections and exchanges: whatever becomes of the building, afterwards
// they are the same digests in another order.
#pragma once

#include <array>
#include <bloomery/core/size.hpp>
#include <bloomery/kernels/ribbon.hpp>
#include <bloomery/kinds/digest_sort.hpp>
#include <cstdint>
#include <span>

namespace bloomery::inline BLOOMERY_ABI::detail {

class ribbon_keys {
 public:
  explicit ribbon_keys(std::span<std::uint64_t> digests) noexcept : keys_(digests), count_(digests.size()) {}
  ribbon_keys(const ribbon_keys&) = delete;
  ribbon_keys& operator=(const ribbon_keys&) = delete;
  ~ribbon_keys() {
    while (layers_ != 0) leave();
  }

  [[nodiscard]] std::span<std::uint64_t> keys() const noexcept { return keys_.first(to_size(count_)); }
  [[nodiscard]] std::uint64_t size() const noexcept { return count_; }

  // Hashes the keys for the next layer, and sorts them. Of those that are the same one goes on, and is there alone from
  // now on.
  void enter(std::uint64_t seed, unsigned threads) noexcept {
    entered& layer = entered_[layers_];
    layer = {kernels::ribbon_multiplier(layers_, seed), count_, count_};
    ++layers_;
    for (std::uint64_t& key : keys()) key = kernels::ribbon_hash(key, layer.multiplier);
    count_ = sort_distinct(keys(), threads);
    layer.count = count_;
  }
  // Back to before the layer was entered.
  void leave() noexcept {
    const entered& layer = entered_[--layers_];
    for (std::uint64_t& key : keys_.first(to_size(layer.hashed))) key = kernels::ribbon_unhash(key, layer.multiplier);
    count_ = layer.count;
  }
  // Only the first so many go on.
  void keep(std::uint64_t count) noexcept { count_ = count; }

 private:
  struct entered {
    std::uint64_t multiplier = 0;
    std::uint64_t hashed = 0;
    std::uint64_t count = 0;  // when it is left
  };
  std::span<std::uint64_t> keys_;
  std::uint64_t count_ = 0;
  unsigned layers_ = 0;
  std::array<entered, kernels::ribbon_most_layers> entered_{};
};

}  // namespace bloomery::inline BLOOMERY_ABI::detail

#include "cli/keys/seen_keys.hpp"

#include "cli/keys/share_out.hpp"

namespace bloomery::cli {

void seen_keys::sort(unsigned threads) {
  share_out(drawers_.size(), threads, [&](std::size_t i, bool /*here*/) {
    std::vector<std::uint64_t>& in = drawers_[i];
    std::sort(in.begin(), in.end());
    in.erase(std::unique(in.begin(), in.end()), in.end());
  });
  size_ = 0;
  for (const std::vector<std::uint64_t>& in : drawers_) size_ += in.size();
}

}  // namespace bloomery::cli

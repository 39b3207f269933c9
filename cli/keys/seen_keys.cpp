#include "cli/keys/seen_keys.hpp"

#include "cli/keys/parallel_for.hpp"

namespace bloomery::cli {

void seen_keys::sort(unsigned threads) {
  parallel_for(buckets_.size(), threads, [&](std::size_t i, bool /*here*/) {
    std::vector<std::uint64_t>& bucket = buckets_[i];
    std::sort(bucket.begin(), bucket.end());
    bucket.erase(std::unique(bucket.begin(), bucket.end()), bucket.end());
  });
  size_ = 0;
  for (const std::vector<std::uint64_t>& bucket : buckets_) size_ += bucket.size();
}

}  // namespace bloomery::cli

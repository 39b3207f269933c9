// cli/digests.hpp: keys in, digests out: what every verb that reads keys does.
//
//     digest_stream stream(std::move(*reader), hash, filter.digest_bits());
//     while (true) {
//       auto more = stream.next();
//       if (!more || !*more) break;
//       auto changed = stream.is_wide() ? filter.insert(stream.wide()) : filter.insert(stream.narrow());
//       stream.records()[i]                        // the record of digest i
//     }
#pragma once

#include <bloomery/hash/hasher.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "cli/keys.hpp"

namespace bloomery::cli {

class digest_stream {
 public:
  digest_stream(key_reader reader, const hasher& hash, unsigned digest_bits)
      : reader_(std::move(reader)), hash_(hash), wide_digests_(digest_bits == 128) {}

  // False at the end of all input. What the spans below hold is valid until the next call.
  outcome<bool> next() {
    auto more = reader_.next(batch_);
    if (!more || !*more) return more;
    keys_.clear();
    for (const record& each : batch_.records) keys_.push_back(each.key);
    if (wide_digests_) {
      wide_.resize(keys_.size());
      hash_.digests_wide(keys_, wide_);
    } else {
      narrow_.resize(keys_.size());
      hash_.digests(keys_, narrow_);
    }
    return true;
  }

  [[nodiscard]] bool is_wide() const { return wide_digests_; }
  [[nodiscard]] std::span<const std::uint64_t> narrow() const { return narrow_; }
  [[nodiscard]] std::span<const digest128> wide() const { return wide_; }
  [[nodiscard]] std::span<const record> records() const { return batch_.records; }
  [[nodiscard]] std::span<const std::string_view> keys() const { return keys_; }
  [[nodiscard]] const key_reader& reader() const { return reader_; }

 private:
  key_reader reader_;
  hasher hash_;
  bool wide_digests_;
  key_batch batch_;
  std::vector<std::string_view> keys_;
  std::vector<std::uint64_t> narrow_;
  std::vector<digest128> wide_;
};

}  // namespace bloomery::cli

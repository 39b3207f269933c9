// cli/build_request.hpp: what kind of filter is asked for, and its size once the number of keys is known.
//
//     auto request = build_request::from(given);
//     auto filter = request->make(keys);          // refused when it cannot be had in the memory there is, or in --mem
#pragma once

#include <bloomery/any_filter.hpp>
#include <bloomery/hash/hasher.hpp>
#include <cstdint>
#include <optional>

#include "cli/flags.hpp"
#include "cli/problem.hpp"

namespace bloomery::cli {

class build_request {
 public:
  static outcome<build_request> from(const options& given);

  [[nodiscard]] const kind_info& kind() const { return *kind_; }
  [[nodiscard]] const hasher& hash() const { return hash_; }
  // From -n.
  [[nodiscard]] std::optional<std::uint64_t> keys() const { return keys_; }
  // Whether the number of keys must be known before the first is inserted.
  [[nodiscard]] bool needs_count() const { return !keys_ && !kind_->grows; }
  // Whether more keys could make digests of 128 bits necessary, so that both widths must be kept until they are
  // counted.
  [[nodiscard]] bool may_need_wide() const;

  [[nodiscard]] outcome<any_filter> make(std::uint64_t keys) const;

 private:
  [[nodiscard]] outcome<filter_params> sized(std::uint64_t keys) const;
  [[nodiscard]] outcome<void> check_ceiling(const filter_params& params, std::uint64_t bytes) const;

  const kind_info* kind_ = nullptr;
  hasher hash_;
  std::optional<std::uint64_t> keys_;
  std::optional<double> fpr_;
  std::optional<double> bits_per_key_;
  std::optional<std::uint64_t> ceiling_bytes_;
  std::optional<unsigned> hashes_;
  double headroom_ = 0;
  std::string layout_;
};

}  // namespace bloomery::cli

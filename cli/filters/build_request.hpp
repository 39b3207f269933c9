// cli/filters/build_request.hpp: the kind of filter requested, and its size once the number of keys is known.
//
//     auto request = build_request::from(opts);
//     auto filter = request->make(keys);          // refused if it exceeds the available memory, or --mem
//
// Without --kind the plan decides, when the number of keys is known: kind blocked, which touches one cache line a key,
// unless it takes more than 1.25 times the bits (and 4 KiB more) that kind bloom takes for the same false-positive
// rate (FPR), as it does for a very low FPR, or does not fit into --mem where bloom does.
//
// For a file that will be compressed it is kind bloom with fewer hash functions, where the caller did not choose them
// (sizing::packed_hashes): blocked is as good as random, whatever its size.
#pragma once

#include <bloomery/any_filter.hpp>
#include <bloomery/formats.hpp>
#include <bloomery/hash/hasher.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/flags.hpp"
#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

class build_request {
 public:
  static outcome<build_request> from(const options& opts);

  [[nodiscard]] const hasher& hash() const { return hash_; }
  // From -n.
  [[nodiscard]] std::optional<std::uint64_t> keys() const { return keys_; }
  // What is made where no number of keys is needed.
  [[nodiscard]] std::uint64_t first_keys() const { return keys_.value_or(kind_->info->default_keys); }
  // Whether the number of keys must be known before the first is inserted.
  [[nodiscard]] bool needs_count() const { return !keys_ && !kind_->info->grows; }
  // Whether the kind is static: made by `build` from the complete key set.
  [[nodiscard]] bool is_static() const { return kind_->capabilities.is_static; }
  // Whether it is made from the keys themselves, in an order of its own; and how they are made, and compared.
  [[nodiscard]] bool takes_keys() const { return format_ != nullptr && format_->build != nullptr; }
  [[nodiscard]] formats::key_form key_form() const { return format_->looks_up(format_options_); }
  [[nodiscard]] bool is_before(std::string_view a, std::string_view b) const {
    return format_->before(a, b, format_options_);
  }
  [[nodiscard]] outcome<any_filter> build_keys(std::span<const std::string_view> keys) const;
  // Whether it takes keys to exclude as well.
  [[nodiscard]] bool excludes() const { return kind_->capabilities.excludes; }
  // Whether an insert can be refused although there are no more keys than the filter was made for.
  [[nodiscard]] bool may_be_full() const { return copies_per_cell({}) != 0; }
  // Whether each copy of a key takes space, so that a filter of as many different keys can be full.
  [[nodiscard]] bool stores_copies() const { return copies_per_cell(mode_) != 0; }
  // The number of keys to size for, so that so many different ones among all that were read find room with their
  // copies.
  [[nodiscard]] std::uint64_t keys_with_copies(std::uint64_t different, std::uint64_t read) const {
    return stores_copies() && read > different ? different + (read - different) / copies_per_cell(mode_) : different;
  }
  // The same with equal keys stored once; none where the kind cannot do that, or the mode was chosen by the caller.
  [[nodiscard]] std::optional<build_request> as_set() const;
  // The mode of the kind in which copies take no space; empty: there is none.
  [[nodiscard]] std::string_view set_mode() const;
  // The mode requested; empty: the default.
  [[nodiscard]] const std::string& mode() const { return mode_; }
  [[nodiscard]] const kind_info& kind() const { return *kind_->info; }
  // The most bits of a digest that the filter may take: beside 64 bits, to count them by, these are kept until the keys
  // are counted.
  [[nodiscard]] unsigned max_digest_bits() const;
  // From --mem: what the filter may take.
  [[nodiscard]] std::optional<std::uint64_t> ceiling_bytes() const { return ceiling_bytes_; }
  // Whether the memory determines the FPR.
  [[nodiscard]] bool memory_decides() const {
    return ceiling_bytes_ && !fpr_ && !bits_per_key_ && !kind_->capabilities.excludes;  // two lists have one size
  }

  // `room_bytes` is a ceiling below that of --mem, if other data takes some of it.
  [[nodiscard]] outcome<any_filter> make(std::uint64_t keys, std::optional<std::uint64_t> room_bytes = {}) const;
  // The filter of all these digests, for static kinds; `excluded` are those of --exclude. What the library
  // refuses is in `why`, too.
  [[nodiscard]] outcome<any_filter> build(std::span<std::uint64_t> digests, std::span<std::uint64_t> excluded,
                                          unsigned threads, error& why) const;
  // How large that filter would be; a problem if it is impossible.
  [[nodiscard]] outcome<std::uint64_t> memory_for(std::uint64_t keys) const;
  // Its expected FPR.
  [[nodiscard]] std::optional<double> fpr_for(std::uint64_t keys) const;
  // A problem when a filter of that size with so many keys is useless, and -p did not request such an FPR.
  [[nodiscard]] outcome<void> check_useful(std::uint64_t keys, double fpr, std::uint64_t size_bytes) const;

  // The largest filter within so many bytes, made so that it can be folded into fine steps, for an unknown
  // number of keys; a problem when the kind cannot fold.
  [[nodiscard]] outcome<any_filter> make_foldable(std::uint64_t room_bytes) const;
  // The smallest that it can be folded to that keeps its target FPR with so many keys.
  [[nodiscard]] outcome<any_filter> folded(any_filter filter, std::uint64_t keys) const;

 private:
  struct sized_kind {
    const kind_entry* kind = nullptr;
    filter_params params;
    size_plan plan;
  };
  // `excluded`: how many keys of --exclude there are.
  [[nodiscard]] outcome<sized_kind> sized(std::uint64_t keys, std::optional<std::uint64_t> room_bytes,
                                          std::uint64_t excluded = 0) const;
  // The same, for keys that are really there: a problem when the filter would answer nothing.
  [[nodiscard]] outcome<sized_kind> sized_usefully(std::uint64_t keys, std::optional<std::uint64_t> room_bytes,
                                                   std::uint64_t excluded = 0) const;
  [[nodiscard]] outcome<filter_params> params_for(std::uint64_t keys, std::optional<std::uint64_t> room_bytes,
                                                  std::uint64_t excluded = 0) const;
  // Copies of a key that take one cell of the filter in this mode; 0: copies take no space.
  [[nodiscard]] unsigned copies_per_cell(std::string_view mode) const;
  // Whether the kind has the options that were passed, with these values.
  static outcome<void> check_options(const options& opts, const kind_entry& kind);
  static outcome<void> check_exclude(const options& opts, const kind_entry& kind);
  [[nodiscard]] outcome<sized_kind> chosen(const filter_params& params) const;
  // What is made for a compressed file: sparser, and smaller once compressed; none if impossible.
  [[nodiscard]] std::optional<sized_kind> chosen_packed(const filter_params& params) const;
  // --format of another product, which has its own kind, hash and sizes.
  static outcome<build_request> from_format(const options& opts, const formats::format& format);
  // --like: as a filter that is there.
  static outcome<build_request> from_like(const options& opts);
  [[nodiscard]] outcome<any_filter> make_like() const;
  outcome<void> take_sizes(const options& opts);
  // --window and --generations.
  outcome<void> take_window(const options& opts);
  // What a filter of these parameters is made with: itself, or each of its shards.
  [[nodiscard]] filter_params params_per_shard(const filter_params& params) const;
  [[nodiscard]] result<any_filter> make_from(const kind_entry& kind, const filter_params& params) const;
  [[nodiscard]] outcome<void> check_ceiling(const sized_kind& sized) const;

  const formats::format* format_ = nullptr;  // of another product
  formats::format_options format_options_{};
  std::shared_ptr<const any_filter> like_;
  const kind_entry* kind_ = nullptr;
  const kind_entry* compact_ = nullptr;  // where the plan decides: the other choice
  hasher hash_;
  std::optional<std::uint64_t> keys_;
  std::optional<double> fpr_;
  std::optional<double> bits_per_key_;
  std::optional<std::uint64_t> ceiling_bytes_;
  std::optional<unsigned> hashes_;
  double headroom_ = 0;
  std::uint64_t window_ns_ = 0;
  std::string layout_;
  std::string mode_;
  std::optional<std::uint64_t> growth_;
  std::vector<option_value> own_options_;  // that have no member of filter_params; texts are those of the options
  unsigned shards_ = 0;                    // 0: one file
  unsigned threads_ = 1;                   // that fill the shards
  bool packs_ = false;                     // the file will be compressed
};

}  // namespace bloomery::cli

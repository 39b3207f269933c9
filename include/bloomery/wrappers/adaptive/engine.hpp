// wrappers/adaptive/engine.hpp: what wrappers/adaptive.hpp does with digests, for any kind: it takes keys, checks the
// FPR, grows and is rebuilt. The keys themselves are seen by wrappers/adaptive/front.hpp alone.
#pragma once

#include <bloomery/wrappers/adaptive/reports.hpp>
#include <bloomery/wrappers/adaptive/sub_filters.hpp>
#include <bloomery/wrappers/guarded.hpp>
#include <optional>

namespace bloomery::inline BLOOMERY_ABI {

struct adaptive_options {
  std::uint64_t check_every = 10'000;                    // adds between two checks; 0: only check() checks
  std::uint64_t report_bytes = std::uint64_t{8} << 20U;  // for the reported keys, from 16 KiB; 0: none is remembered
};

// What a check did.
enum class adaptation : std::uint8_t { none, grown, rebuilt };

namespace detail {

// Passes all keys to what is filled; nothing: there is no source.
using adaptive_source = function_ref<result<void>(adaptive_filling& into)>;

// The keys of one call.
struct adaptive_keys {
  std::size_t size = 0;
  function_ref<void(std::size_t first, std::size_t count, std::uint64_t* out)> digests;
  function_ref<digest128(std::size_t index)> wide;  // nothing: their digests of 64 bits are all there is
  // Those before `count` once more: the source need not know them.
  function_ref<void(std::size_t count, adaptive_filling& into)> replay;
};

class BLOOMERY_API adaptive_engine {
 public:
  static constexpr std::size_t group = 512;  // a multiple of 64, so that every group starts a word of the mask

  static result<adaptive_engine> start(any_filter first, std::optional<double> target, const filter_params& params,
                                       const adaptive_options& options, const filter_hash& hash,
                                       adaptive_maker maker) noexcept;

  insert_result insert(const adaptive_keys& key, std::uint64_t digest, const adaptive_source& source) noexcept {
    return add(key, 0, digest, source);
  }
  guarded_outcome add_batch(const adaptive_keys& keys, const adaptive_source& source) noexcept;
  // At most a group of them. `wide` as in adaptive_keys.
  void query(std::span<const std::uint64_t> digests, const function_ref<digest128(std::size_t)>& wide,
             std::uint64_t* mask) const noexcept;
  template <class Wide>
  [[nodiscard]] bool contains(std::uint64_t digest, Wide&& wide) const noexcept {
    if (any_wide_) [[unlikely]]
      return sub_filters_.may_contain(digest_pair{digest, wide()});
    return sub_filters_.may_contain(digest);
  }
  [[nodiscard]] bool contains(std::uint64_t digest) const noexcept { return sub_filters_.may_contain(digest); }

  result<adaptation> check(const adaptive_source& source) noexcept { return check_with({}, 0, source, true); }
  result<void> rebuild(const adaptive_source& source) noexcept { return rebuild_for(larger(count()), {}, 0, source); }
  void clear() noexcept;

  [[nodiscard]] const filter_chain<adaptive_rule>& sub_filters() const noexcept { return sub_filters_; }
  // Whether a sub-filter takes digests of 128 bits.
  [[nodiscard]] bool any_wide() const noexcept { return any_wide_; }
  [[nodiscard]] adaptive_reports& reports() noexcept { return reports_; }
  [[nodiscard]] const adaptive_reports& reports() const noexcept { return reports_; }
  [[nodiscard]] key_count keys() const noexcept;
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept {
    return sub_filters_.sum([](const any_filter& each) { return each.shape().capacity_keys; });
  }
  [[nodiscard]] double target_fpr() const noexcept { return sub_filters_.rule().target; }
  [[nodiscard]] double fpr_now() const noexcept;
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return sub_filters_.sum([](const any_filter& each) { return each.allocated_bytes(); }) +
           reports_.list().memory_bytes();
  }
  [[nodiscard]] adaptive_stats stats() const noexcept {
    adaptive_stats all = stats_;
    reports_.add_to(all);
    return all;
  }
  [[nodiscard]] const std::optional<error>& last_error() const noexcept { return last_error_; }
  [[nodiscard]] result<void> save(const char* path, const save_options& options) const noexcept;

 private:
  adaptive_engine(const adaptive_rule& rule, const adaptive_options& options, const memory_hooks* memory) noexcept
      : options_(options), sub_filters_(rule), reports_(options.report_bytes, memory) {}

  // In adds; a check may be due although it is none by itself (check_every is 0).
  [[nodiscard]] std::uint64_t interval() const noexcept;
  [[nodiscard]] std::uint64_t count() const noexcept {
    return sub_filters_.sum([](const any_filter& each) { return keys_in(each); });
  }
  // `so_far` counts the keys of this call up to the one that is added: the source may not know them.
  insert_result add(const adaptive_keys& keys, std::size_t index, std::uint64_t digest,
                    const adaptive_source& source) noexcept;
  insert_result put(const adaptive_keys& keys, std::size_t index, std::uint64_t digest,
                    const adaptive_source& source) noexcept;
  insert_result put_into_newest(const adaptive_keys& keys, std::size_t index, std::uint64_t digest) noexcept;
  // How many of these digests, which are the next of the call, the only sub-filter has taken at once.
  std::size_t add_at_once(std::span<const std::uint64_t> digests, bool has_source, guarded_outcome& all) noexcept;
  result<adaptation> check_with(const adaptive_keys& keys, std::size_t so_far, const adaptive_source& source,
                                bool read_fill) noexcept;
  void check_if_due(const adaptive_keys& keys, std::size_t so_far, const adaptive_source& source) noexcept;
  result<void> rebuild_for(std::uint64_t keys_wanted, const adaptive_keys& keys, std::size_t so_far,
                           const adaptive_source& source) noexcept;
  result<void> grow() noexcept;
  [[nodiscard]] bool is_above_by_fill(bool read_fill) noexcept;
  // After a failure it is not tried again at once: a source may take long to fail.
  [[nodiscard]] bool may_try() const noexcept { return stats_.adds >= try_again_at_; }
  bool note(const result<void>& tried) noexcept;
  // Whether the newest holds what it was made for.
  [[nodiscard]] bool is_closed() noexcept;
  void see_sub_filters() noexcept;

  adaptive_options options_;
  filter_chain<adaptive_rule> sub_filters_;
  adaptive_reports reports_;
  adaptive_stats stats_{};
  std::uint64_t since_check_ = 0;
  std::uint64_t next_reading_ = 0;  // of the fill: at this many keys
  std::uint64_t try_again_at_ = 0;  // of the adds
  std::uint64_t room_ = 0;          // keys that the newest surely takes until it holds what it was made for
  std::uint64_t newest_capacity_ = 0;
  bool any_wide_ = false;
  bool checks_first_ = false;  // see set_writer
  std::optional<error> last_error_{};
};

}  // namespace detail
}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/wrappers/adaptive.cpp>
#endif

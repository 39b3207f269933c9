// wrappers/any_adaptive.hpp: a filter that watches its own false-positive rate, of a kind and with a hash that are chosen
// at run time.
//
//     auto seen = bloomery::any_adaptive::make("blocked", {.keys = 1'000'000, .fpr = 0.01}, bloomery::hasher{});
//     if (!seen) return std::puts(bloomery::describe(seen.error()).c_str()), 2;
//     seen->set_source(all_keys);                                  // as for adaptive<K>
//     seen->insert("alice");
//     seen->add_batch(urls);                                    // a batch (hash/key_batch.hpp)
//     bool maybe = seen->may_contain("bob");
//     if (maybe && !table.has("bob")) seen->report_false_positive("bob");   // "bob" answers no from now on
//
// It does what adaptive<K> does, and wrappers/adaptive.hpp describes it. The kind is one that takes keys one by one, has
// false positives, and whose keys do not expire; another one is an error. A sub-filter is an any_filter.
#pragma once

#include <bloomery/wrappers/adaptive/front.hpp>

namespace bloomery::inline BLOOMERY_ABI {

class BLOOMERY_API any_adaptive : public basic_adaptive<hasher> {
 public:
  static result<any_adaptive> make(std::string_view kind, const filter_params& params, const hasher& hash,
                                   const adaptive_options& options = {}) noexcept;
  // A filter in memory that is there already, such as a loaded one. Its hash must be usable. Its target is its promised
  // FPR; `params` states with which layout, mode and memory it grows.
  static result<any_adaptive> over(any_filter existing, const filter_params& params = {},
                                   const adaptive_options& options = {}) noexcept;

  // Keys of a batch: an error for what cannot be read, such as offsets that do not ascend, or a mask that is too small.
  result<guarded_outcome> add_batch(const key_batch& keys) noexcept;
  result<void> may_contain_batch(const key_batch& keys, std::span<std::uint64_t> mask) const noexcept;

 private:
  using basic_adaptive<hasher>::basic_adaptive;
  static result<any_adaptive> start(any_filter first, const hasher& hash, std::optional<double> target,
                                    const filter_params& params, const adaptive_options& options) noexcept;
};

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/wrappers/any_adaptive.cpp>
#endif

// filter_model.hpp: what a filter is behind any_filter, and what it reports. For those who make filters of their own
// available at run time: a kind of the list needs none of it.
//
// any_filter_model.hpp has the model of every kind of the list, in memory and memory-mapped; wrappers/any_shards_model.hpp
// that of several filters together; formats have theirs in src/formats/.
#pragma once

#include <bloomery/hash/hasher.hpp>
#include <bloomery/hash/key_batch.hpp>
#include <bloomery/kinds/explain.hpp>
#include <bloomery/kinds/table.hpp>
#include <bloomery/native/save.hpp>
#include <memory>
#include <optional>

namespace bloomery::inline BLOOMERY_ABI {

// What `info` shows; computed by reading the whole filter.
struct filter_stats {
  std::uint64_t capacity_keys = 0;
  double target_fpr = 0;
  key_count keys;
  double estimated_keys = 0;
  double fill = 0;
  double fpr_now = 0;
  double delivered_fpr = 0;  // by a layout that is another product's, when it is full; 0: the target FPR
  std::uint64_t memory_bytes = 0;
  cell_shape cells{};                    // where keys are estimated from the fill: for estimate_overlap
  unsigned cell_bits = 1;                // of the stored words: a cell is in use when one of its bits is set
  std::optional<window_state> window{};  // what is covered; only for kinds that expire
  std::optional<loss_state> loss{};      // what removals cost; only for kinds that may lose keys
  fact_list facts{};                     // what the kind reports beyond this
  // False: the file does not state for how many keys and for which FPR it was made. Both are 0 then.
  bool target_known = true;
};

class any_filter;

// The hash of a filter, or what is known of it: that of a keyed hash cannot be used before its secret is there.
class filter_hash {
 public:
  filter_hash(const hasher& hash) noexcept : spec_(hash.spec()), hash_(hash), usable_(true) {}
  filter_hash(const hash_spec& spec) noexcept : spec_(spec) {
    if (auto made = hasher::make(spec)) *this = *made;
  }
  [[nodiscard]] const hash_spec& spec() const noexcept { return spec_; }
  // Only if it is usable.
  [[nodiscard]] const hasher& get() const noexcept { return hash_; }
  [[nodiscard]] bool is_usable() const noexcept { return usable_; }

 private:
  hash_spec spec_;
  hasher hash_;
  bool usable_ = false;
};

namespace detail {

// Of one digest. `yes`: it may be there, or was new; `failed`: the batch call reports why.
enum class single_answer : std::uint8_t { no, yes, full, failed };

// By tables: whether a key is new nobody can predict, so that a branch on it costs more than the call.
constexpr single_answer single_answer_of(insert_result outcome) noexcept {
  constexpr single_answer answers[] = {single_answer::yes, single_answer::no, single_answer::full};
  static_assert(insert_result::inserted == insert_result{0} && insert_result::full == insert_result{2});
  return answers[static_cast<std::size_t>(outcome)];
}
// Of an answer that is not `failed`.
constexpr insert_result insert_result_of(single_answer answer) noexcept {
  constexpr insert_result outcomes[] = {insert_result::present, insert_result::inserted, insert_result::full};
  static_assert(single_answer::no == single_answer{0} && single_answer::full == single_answer{2});
  return outcomes[static_cast<std::size_t>(answer)];
}

// The implementation of any_filter: see any_filter_model.hpp, wrappers/any_shards_model.hpp for several of them
// together, and formats.hpp for filters of other products. Digests are as wide as digest_bits() states: any_filter has
// checked that. What a model does not override it cannot do, and states so.
struct BLOOMERY_API filter_model {
  filter_model() = default;
  filter_model(const filter_model&) = delete;
  filter_model& operator=(const filter_model&) = delete;
  virtual ~filter_model() = default;
  // 0: no shards, but one filter.
  [[nodiscard]] virtual unsigned shards() const noexcept { return 0; }
  [[nodiscard]] virtual const any_filter* shard(unsigned /*index*/) const noexcept { return nullptr; }
  [[nodiscard]] virtual const kind_entry& kind() const noexcept = 0;
  [[nodiscard]] const kind_info& info() const noexcept { return *kind().info; }
  // Whether this filter takes any number of keys; in some modes, kinds that grow do not.
  [[nodiscard]] virtual bool grows() const noexcept { return info().grows; }
  [[nodiscard]] virtual unsigned digest_bits() const noexcept { return 64; }
  [[nodiscard]] virtual bool is_mapped() const noexcept { return false; }
  [[nodiscard]] virtual stored_shape shape() const noexcept = 0;
  [[nodiscard]] virtual fact_list facts() const noexcept = 0;
  [[nodiscard]] virtual result<filter_stats> stats() const noexcept = 0;
  [[nodiscard]] virtual result<std::span<const std::byte>> bytes() const noexcept {
    return std::span<const std::byte>{};
  }
  // Compares what is not yet checked with its checksums.
  [[nodiscard]] virtual result<void> verify() const noexcept { return {}; }
  // All memory, with this object.
  [[nodiscard]] virtual std::uint64_t allocated_bytes() const noexcept;

  // One digest of 64 bits.
  virtual single_answer insert_one(std::uint64_t digest) noexcept;
  [[nodiscard]] virtual single_answer contains_one(std::uint64_t digest) const noexcept;
  // How many were new; stops at the first that does not fit, with an error whose number[1] is its place.
  virtual result<std::uint64_t> add(const digest_span& digests) noexcept;
  virtual result<std::uint64_t> add_stream(std::size_t count, const digest_feed& feed) noexcept;
  // The same with an answer for each: bit i of `fresh`, which is all 0, when digest i was new. To stop is no error.
  virtual result<batch_outcome> insert(const digest_span& digests, std::span<std::uint64_t> fresh) noexcept;
  virtual result<void> may_contain(const digest_span& digests, std::span<std::uint64_t> mask) const noexcept = 0;
  [[nodiscard]] virtual result<explanation> explain(const digest_span& digest) const noexcept;  // of one
  virtual result<void> may_contain_stream(std::size_t count, const digest_feed& feed,
                                          std::span<std::uint64_t> mask) const noexcept;
  virtual result<std::uint64_t> erase(std::span<const std::uint64_t> digests) noexcept;
  virtual result<void> count(std::span<const std::uint64_t> digests, std::span<std::uint64_t> counts) const noexcept;

  // `other` is of the same kind.
  virtual result<void> merge(const filter_model& other, merge_fpr rate) noexcept;
  virtual result<void> intersect(const filter_model& other) noexcept;
  // Whether filters of one shape may be refused, because of the FPR, of space or of memory.
  [[nodiscard]] virtual bool merge_may_fail() const noexcept { return true; }
  [[nodiscard]] virtual result<std::unique_ptr<filter_model>> fold(std::uint64_t factor) const noexcept;
  [[nodiscard]] virtual std::uint64_t fold_units() const noexcept { return 0; }
  [[nodiscard]] virtual result<std::unique_ptr<filter_model>> clone() const noexcept = 0;
  virtual result<void> clear() noexcept;
  // Kinds that expire: another clock, null is the system's. Others need none.
  virtual void set_clock(const clock_hook* /*clock*/) noexcept {}
  [[nodiscard]] virtual bool equals(const filter_model& other) const noexcept = 0;
  [[nodiscard]] virtual const void* kind_object() const noexcept = 0;
  [[nodiscard]] virtual result<void> save(const char* path, const hash_spec& hash,
                                          const save_options& options) const noexcept = 0;
  [[nodiscard]] virtual result<void> save_to(const byte_sink& sink, const hash_spec& hash,
                                             const save_options& options) const noexcept = 0;

  // "kind blocked cannot erase", in the words of the model.
  [[nodiscard]] virtual failure cannot(std::string_view what) const noexcept;
};

}  // namespace detail

}  // namespace bloomery::inline BLOOMERY_ABI

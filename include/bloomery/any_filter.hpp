// any_filter.hpp: one owner for a filter of any kind, for programs that learn the kind at run time (tool, server,
// bindings).
//
// It holds a filter of the list in kinds.hpp together with what its digests were made by (hash_spec), in memory or
// memory-mapped. Everything a kind may be unable to do (erase, count, fold, take 128-bit digests, change while mapped)
// is a result that states so. This is the library's only virtual boundary; it is paid per batch.
//
//     auto filter = bloomery::any_filter::make("blocked", {.keys = 1000, .fpr = 0.01}, hash.spec());
//     filter->insert(digests);                       // how many changed something
//     filter->may_contain(digests, mask);            // bit i answers digest i
//     filter->save("seen.bloom");
//     auto again = bloomery::any_filter::open("seen.bloom");   // memory-mapped where the file allows
//
// own() takes a filter of a kind that the program knows; it needs <bloomery/any_filter_model.hpp>.
#pragma once

#include <bloomery/core/type_list.hpp>
#include <bloomery/hash/hasher.hpp>
#include <bloomery/kinds/concept.hpp>
#include <bloomery/native/load.hpp>
#include <bloomery/native/save.hpp>
#include <memory>
#include <new>
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
  cell_shape cells{};                        // where keys are estimated from the fill: for estimate_overlap
  std::optional<std::uint64_t> saturated{};  // counters that are stuck; only for kinds that have such
  std::optional<window_state> window{};      // what is covered; only for kinds that expire
  std::optional<loss_state> loss{};          // what removals cost; only for kinds that may lose keys
  // False: the file does not state for how many keys and for which FPR it was made. Both are 0 then.
  bool target_known = true;
};

class any_filter;
class input_file;

namespace detail {

// The implementation of any_filter: see any_filter_model.hpp, wrappers/any_shards_model.hpp for several of them
// together, and formats.hpp for filters of other products.
struct BLOOMERY_API filter_model {
  filter_model() = default;
  filter_model(const filter_model&) = delete;
  filter_model& operator=(const filter_model&) = delete;
  virtual ~filter_model() = default;
  // 0: no shards, but one filter.
  [[nodiscard]] virtual unsigned shards() const noexcept { return 0; }
  [[nodiscard]] virtual const any_filter* shard(unsigned /*index*/) const noexcept { return nullptr; }
  [[nodiscard]] virtual const kind_info& info() const noexcept = 0;
  [[nodiscard]] virtual bool is_mapped() const noexcept = 0;
  [[nodiscard]] virtual stored_shape shape() const noexcept = 0;
  [[nodiscard]] virtual named_values describe() const noexcept = 0;
  [[nodiscard]] virtual result<filter_stats> stats() const noexcept = 0;
  [[nodiscard]] virtual result<std::span<const std::byte>> bytes() const noexcept = 0;
  virtual result<std::uint64_t> insert(std::span<const std::uint64_t> digests) noexcept = 0;
  virtual result<std::uint64_t> insert(std::span<const digest128> digests) noexcept = 0;
  virtual result<void> may_contain(std::span<const std::uint64_t> digests,
                                   std::span<std::uint64_t> mask) const noexcept = 0;
  virtual result<void> may_contain(std::span<const digest128> digests,
                                   std::span<std::uint64_t> mask) const noexcept = 0;
  // Only filters of another product take these.
  virtual result<std::uint64_t> insert256(std::span<const digest256> /*digests*/) noexcept { return not_256(); }
  virtual result<void> may_contain256(std::span<const digest256> /*digests*/,
                                      std::span<std::uint64_t> /*mask*/) const noexcept {
    return not_256();
  }
  virtual result<std::uint64_t> erase(std::span<const std::uint64_t> digests) noexcept = 0;
  virtual result<void> count(std::span<const std::uint64_t> digests,
                             std::span<std::uint64_t> counts) const noexcept = 0;
  // `other` is of the same kind.
  virtual result<void> merge(const filter_model& other, merge_fpr rate) noexcept = 0;
  virtual result<void> intersect(const filter_model& other) noexcept = 0;
  // Whether filters of one shape may be refused, because of the FPR, of space or of memory.
  [[nodiscard]] virtual bool merge_may_fail() const noexcept { return true; }
  [[nodiscard]] virtual result<std::unique_ptr<filter_model>> fold(std::uint64_t factor) const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t fold_units() const noexcept = 0;
  [[nodiscard]] virtual result<std::unique_ptr<filter_model>> clone() const noexcept = 0;
  virtual result<void> clear() noexcept = 0;
  [[nodiscard]] virtual bool equals(const filter_model& other) const noexcept = 0;
  [[nodiscard]] virtual const void* kind_object() const noexcept = 0;
  [[nodiscard]] virtual result<void> save(const char* path, const hash_spec& hash,
                                          const save_options& options) const noexcept = 0;
  [[nodiscard]] virtual result<void> save_to(const byte_sink& sink, const hash_spec& hash,
                                             const save_options& options) const noexcept = 0;

 private:
  static failure not_256() noexcept { return fail(errc::unsupported, "this filter takes no 256-bit digests"); }
};

}  // namespace detail

class BLOOMERY_API any_filter {
 public:
  // A new, empty filter. The hash must fit the kind and give as many bits as n and p need.
  static result<any_filter> make(std::string_view kind, const filter_params& params, const hash_spec& hash) noexcept;
  // A filter of all these digests, which are put in another order, as large as they need (params.keys is ignored).
  // Static kinds (built from the complete key set) can be made in no other way; 0 threads: all processors. Digests of
  // 64 bits.
  static result<any_filter> build(std::string_view kind, const filter_params& params, const hash_spec& hash,
                                  std::span<std::uint64_t> digests, unsigned threads = 0) noexcept;
  // The same with a second list, of digests that it must not match; kinds that do not exclude any refuse. Both are put
  // in another order.
  static result<any_filter> build(std::string_view kind, const filter_params& params, const hash_spec& hash,
                                  std::span<std::uint64_t> digests, std::span<std::uint64_t> excluded,
                                  unsigned threads = 0) noexcept;
  template <filter_kind K>
  static result<any_filter> own(K filter, const hash_spec& hash) noexcept;
  // What is no kind of ours, or several filters: see formats.hpp and wrappers/any_shards.hpp.
  static any_filter adopt(std::unique_ptr<detail::filter_model> model, const hash_spec& hash) noexcept {
    return {std::move(model), hash};
  }
  [[nodiscard]] const detail::filter_model& model() const noexcept { return *self_; }

  // Into memory, everything checked; or mapped, chunks checked when they are first touched (and loaded where the file
  // cannot be mapped: compressed, text, or a kind that is unpacked).
  static result<any_filter> load(const char* path, const load_options& options = {}) noexcept;
  static result<any_filter> load_bytes(std::span<const std::byte> bytes, const load_options& options = {}) noexcept;
  static result<any_filter> open(const char* path, const load_options& options = {}) noexcept;
  [[nodiscard]] result<void> save(const char* path, const save_options& options = {}) const noexcept {
    return self_->save(path, hash_, options);
  }
  [[nodiscard]] result<void> save_to(const byte_sink& sink, const save_options& options = {}) const noexcept {
    return self_->save_to(sink, hash_, options);
  }

  [[nodiscard]] const kind_info& info() const noexcept { return self_->info(); }
  [[nodiscard]] const hash_spec& hash() const noexcept { return hash_; }
  [[nodiscard]] unsigned digest_bits() const noexcept { return self_->shape().digest_bits; }
  [[nodiscard]] stored_shape shape() const noexcept { return self_->shape(); }
  [[nodiscard]] named_values describe() const noexcept { return self_->describe(); }
  [[nodiscard]] bool is_mapped() const noexcept { return self_->is_mapped(); }
  // Of a filter in shards (wrappers/any_shards.hpp), each of which is a filter of its own; 0: this one is in one piece.
  [[nodiscard]] unsigned shards() const noexcept { return self_->shards(); }
  [[nodiscard]] const any_filter& shard(unsigned index) const noexcept { return *self_->shard(index); }
  [[nodiscard]] result<filter_stats> stats() const noexcept { return self_->stats(); }
  // The stored words of kinds that have them, for pictures of the fill; empty for others. Every chunk is checked first,
  // as it is for stats(), unless the file is trusted.
  [[nodiscard]] result<std::span<const std::byte>> bytes() const noexcept { return self_->bytes(); }

  // How many digests changed something. Digests are 64, 128 or 256 bits wide, as digest_bits() returns. A
  // fixed-capacity kind fails with errc::full at the first digest that does not fit: number[0] keys are in the filter,
  // number[1] digests were taken. A kind that limits the copies of a key fails at the limit with errc::too_many_copies:
  // it holds number[0] of that one already. One that has no space for another removed key to come back fails with
  // errc::no_room_to_return.
  result<std::uint64_t> insert(std::span<const std::uint64_t> digests) noexcept { return self_->insert(digests); }
  result<std::uint64_t> insert(std::span<const digest128> digests) noexcept { return self_->insert(digests); }
  result<std::uint64_t> insert(std::span<const digest256> digests) noexcept { return self_->insert256(digests); }
  // Bit i of the mask answers digest i; the mask holds mask_words(digests.size()) words.
  result<void> may_contain(std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) const noexcept {
    if (mask.size() < mask_words(digests.size())) return too_small(mask.size(), digests.size());
    return self_->may_contain(digests, mask);
  }
  result<void> may_contain(std::span<const digest128> digests, std::span<std::uint64_t> mask) const noexcept {
    if (mask.size() < mask_words(digests.size())) return too_small(mask.size(), digests.size());
    return self_->may_contain(digests, mask);
  }
  result<void> may_contain(std::span<const digest256> digests, std::span<std::uint64_t> mask) const noexcept {
    if (mask.size() < mask_words(digests.size())) return too_small(mask.size(), digests.size());
    return self_->may_contain256(digests, mask);
  }
  // How many of the digests were there and are erased, one occurrence of each; kinds that do not erase refuse.
  result<std::uint64_t> erase(std::span<const std::uint64_t> digests) noexcept { return self_->erase(digests); }
  result<bool> erase(std::uint64_t digest) noexcept {
    const auto erased = self_->erase({&digest, 1});
    if (!erased) return fail(erased.error());
    return *erased != 0;
  }
  // How often the filter holds each digest; kinds that do not count refuse. `counts` is as long as `digests`.
  result<void> count(std::span<const std::uint64_t> digests, std::span<std::uint64_t> counts) const noexcept {
    if (counts.size() < digests.size()) return fail(errc::bad_span, "the counts", {counts.size(), digests.size()});
    return self_->count(digests, counts);
  }

  // Union and intersection: same kind, hash, seed and key, and the geometry that the kind requires.
  // Some kinds refuse a union that would exceed their target FPR, unless any FPR is accepted.
  result<void> merge(const any_filter& other, merge_fpr rate = merge_fpr::keep_target) noexcept;
  result<void> intersect(const any_filter& other) noexcept;
  // Whether even filters of one shape may be refused.
  [[nodiscard]] bool merge_may_fail() const noexcept { return self_->merge_may_fail(); }
  [[nodiscard]] result<any_filter> fold(std::uint64_t factor) const noexcept;
  // What a factor must divide; 0 for kinds that cannot fold.
  [[nodiscard]] std::uint64_t fold_units() const noexcept { return self_->fold_units(); }
  [[nodiscard]] result<any_filter> clone() const noexcept;
  result<void> clear() noexcept { return self_->clear(); }
  // Same kind, hash and content.
  friend bool operator==(const any_filter& a, const any_filter& b) noexcept {
    return a.info().id == b.info().id && a.hash_ == b.hash_ && a.shards() == b.shards() && a.self_->equals(*b.self_);
  }

 private:
  using owner = std::unique_ptr<detail::filter_model>;

  any_filter(owner self, const hash_spec& hash) noexcept : self_(std::move(self)), hash_(hash) {}
  static failure too_small(std::size_t words, std::size_t answers) noexcept {
    return fail(errc::bad_span, "the mask", {words * 64, answers});
  }
  static result<any_filter> load_stream(const input_file& stream, const load_options& options) noexcept;
  [[nodiscard]] result<void> check_same(const any_filter& other) const noexcept;
  static result<void> check_mode(const kind_info& kind, std::string_view mode) noexcept;
  static result<void> check_hash(const kind_info& kind, const hash_spec& hash, const size_plan& plan) noexcept;
  template <filter_kind K>
  static result<void> check_params(const filter_params& params, const hash_spec& hash) noexcept;
  // Calls f(std::type_identity<K>{}) for the kind with this id.
  template <class K, class... Rest, class F>
  static result<any_filter> with_kind(type_list<K, Rest...> /*kinds*/, std::uint32_t id, F&& f) noexcept {
    if (K::info.id == id) return f(std::type_identity<K>{});
    if constexpr (sizeof...(Rest) != 0) return with_kind(type_list<Rest...>{}, id, f);
    return fail(errc::bad_field, "kind", {id});
  }

  owner self_;
  hash_spec hash_;
};

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/any_filter_model.hpp>
#endif

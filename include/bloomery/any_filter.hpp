// any_filter.hpp: a filter of keys whose kind and hash are chosen at run time. What every host uses (tool, server,
// bindings).
//
//     auto seen = bloomery::any_filter::make("blocked", {.keys = 1'000'000, .fpr = 0.01}, bloomery::hasher{});
//     if (!seen) return std::puts(bloomery::describe(seen.error()).c_str()), 2;
//     seen->insert("https://example.org/");          // result: inserted, present or full
//     seen->may_contain("https://example.org/");     // result: true
//     seen->may_contain(urls, mask);                 // a batch (hash/key_batch.hpp): bit i answers key i
//     seen->save("seen.bloom");
//     auto again = bloomery::any_filter::open("seen.bloom");   // memory-mapped where the file allows
//
// It holds a filter of the list in kinds.hpp and its hash, in memory or memory-mapped; filters of other products
// (formats.hpp) and in shards (wrappers/any_shards.hpp) are any_filters, too. Keys are of any type that hash/key.hpp
// takes. Everything a filter may be unable to do (erase, count, fold, change while mapped) is a result that states so.
//
// A single key costs its hash and one virtual call beside the kind's own work; a batch costs one virtual call in all,
// and is hashed several keys at once where the hash can.
//
// A keyed hash needs its secret: pass it to unlock(). Without it everything works but keys.
//
// own() takes a filter of a kind that the program knows; it needs <bloomery/any_filter_model.hpp>.
//
// Threads: one that changes it, or any number that query it.
#pragma once

#include <bloomery/core/file_path.hpp>
#include <bloomery/core/type_list.hpp>
#include <bloomery/filter_model.hpp>
#include <bloomery/hash/hasher.hpp>
#include <bloomery/native/load.hpp>
#include <memory>
#include <new>

namespace bloomery::inline BLOOMERY_ABI {

class input_file;
class native_file;

class BLOOMERY_API any_filter {
 public:
  // A new, empty filter. The hash must fit the kind and give as many bits as n and p need.
  static result<any_filter> make(std::string_view kind, const filter_params& params, const filter_hash& hash) noexcept;
  // What a filter of this kind would have; see sizing/sizing.hpp.
  static result<size_plan> plan(std::string_view kind, const filter_params& params) noexcept;
  // A filter of all these keys, as large as they need (params.keys is ignored). Static kinds (built from the complete
  // key set) can be made in no other way; 0 threads: all processors. While it builds, each key takes 8 bytes more.
  static result<any_filter> build(std::string_view kind, const filter_params& params, const filter_hash& hash,
                                  const key_batch& keys, unsigned threads = 0) noexcept;
  // The same with a second list, of keys that it must not match; kinds that do not exclude any refuse.
  static result<any_filter> build(std::string_view kind, const filter_params& params, const filter_hash& hash,
                                  const key_batch& keys, const key_batch& excluded, unsigned threads = 0) noexcept;
  // The same of digests of 64 bits, which are put in another order.
  static result<any_filter> build_digests(std::string_view kind, const filter_params& params, const filter_hash& hash,
                                          std::span<std::uint64_t> digests, unsigned threads = 0) noexcept;
  static result<any_filter> build_digests(std::string_view kind, const filter_params& params, const filter_hash& hash,
                                          std::span<std::uint64_t> digests, std::span<std::uint64_t> excluded,
                                          unsigned threads = 0) noexcept;
  template <filter_kind K>
  static result<any_filter> own(K filter, const filter_hash& hash) noexcept;
  // What is no kind of ours, or several filters: see formats.hpp and wrappers/any_shards.hpp.
  static any_filter adopt(std::unique_ptr<detail::filter_model> model, const filter_hash& hash) noexcept {
    return {std::move(model), hash};
  }
  [[nodiscard]] const detail::filter_model& model() const noexcept { return *self_; }
  [[nodiscard]] detail::filter_model& model() noexcept { return *self_; }

  // Into memory, everything checked; or mapped, chunks checked when they are first touched (and loaded where the file
  // cannot be mapped: compressed, text, or a kind that is unpacked).
  static result<any_filter> load(file_path path, const load_options& options = {}) noexcept;
  static result<any_filter> load_bytes(std::span<const std::byte> bytes, const load_options& options = {}) noexcept;
  static result<any_filter> open(file_path path, const load_options& options = {}) noexcept;
  // The same of a file that is open (posix/input.hpp), or whose header has been read, too (posix/load.hpp). The filter
  // does not need it any more.
  static result<any_filter> load(const input_file& file, const load_options& options = {}) noexcept;
  static result<any_filter> load(const native_file& file, const load_options& options = {}) noexcept;
  static result<any_filter> open(const input_file& file, const load_options& options = {}) noexcept;
  static result<any_filter> open(const native_file& file, const load_options& options = {}) noexcept;
  [[nodiscard]] result<void> save(file_path path, const save_options& options = {}) const noexcept {
    return self_->save(path.c_str(), hash(), options);
  }
  [[nodiscard]] result<void> save_to(const byte_sink& sink, const save_options& options = {}) const noexcept {
    return self_->save_to(sink, hash(), options);
  }

  // Its kind: of the table in kinds/table.hpp, or one of another product that has the same entries.
  [[nodiscard]] const kind_entry& kind() const noexcept { return self_->kind(); }
  [[nodiscard]] const kind_info& info() const noexcept { return *kind().info; }
  [[nodiscard]] const kind_capabilities& capabilities() const noexcept { return kind().capabilities; }
  // Whether it takes any number of keys: its kind does, and it is in no mode that does not.
  [[nodiscard]] bool grows() const noexcept { return self_->grows(); }
  [[nodiscard]] const hash_spec& hash() const noexcept { return hash_.spec(); }
  [[nodiscard]] const filter_hash& key_hash() const noexcept { return hash_; }
  // Gives a keyed hash its secret; another one than the filter was built with is refused.
  result<void> unlock(std::span<const std::byte> key) noexcept;
  [[nodiscard]] unsigned digest_bits() const noexcept { return digest_bits_; }
  [[nodiscard]] stored_shape shape() const noexcept { return self_->shape(); }
  // Its geometry; see kinds/facts.hpp. How it stands is in stats().
  [[nodiscard]] fact_list facts() const noexcept { return self_->facts(); }
  [[nodiscard]] bool is_mapped() const noexcept { return self_->is_mapped(); }
  // Of a filter in shards (wrappers/any_shards.hpp), each of which is a filter of its own; 0: this one is in one piece.
  [[nodiscard]] unsigned shards() const noexcept { return self_->shards(); }
  [[nodiscard]] const any_filter& shard(unsigned index) const noexcept { return *self_->shard(index); }
  [[nodiscard]] result<filter_stats> stats() const noexcept { return self_->stats(); }
  // The stored words of kinds that have them, else empty. As for stats(), all chunks of an untrusted file are checked.
  [[nodiscard]] result<std::span<const std::byte>> bytes() const noexcept { return self_->bytes(); }

  // One key. An error is one of the filter or of the key (too short a digest, a mapped filter that is damaged), never
  // that the filter is full.
  template <single_key Key>
  result<insert_result> insert(const Key& key) noexcept;
  // The same without an answer; that the filter is full is an error.
  template <single_key Key>
  result<void> add(const Key& key) noexcept;
  template <single_key Key>
  [[nodiscard]] result<bool> may_contain(const Key& key) const noexcept;
  template <single_key Key>
  [[nodiscard]] result<explanation> explain(const Key& key) const noexcept;  // what a look-up reads and decides
  // Erases one occurrence of the key; false, and nothing changes, when it is surely absent.
  template <single_key Key>
  result<bool> erase(const Key& key) noexcept;
  // How often the filter holds the key: 0 only when it is surely absent.
  template <single_key Key>
  [[nodiscard]] result<std::uint64_t> count(const Key& key) const noexcept;

  // Batches. Bit i of `fresh` is set when key i was new; it holds mask_words(keys.size()) words. `taken` is where the
  // batch stopped: less than keys.size() when key number `taken` does not fit; add reports why.
  result<batch_outcome> insert(const key_batch& keys, std::span<std::uint64_t> fresh) noexcept;
  // How many keys were new. A fixed-capacity kind fails with errc::full at the first key that does not fit: number[0]
  // keys are in the filter, number[1] keys were taken. A kind that limits the copies of a key fails at the limit with
  // errc::too_many_copies: it holds number[0] of that one already. One that has no space for another removed key to come
  // back fails with errc::no_room_to_return.
  result<std::uint64_t> add(const key_batch& keys) noexcept;
  // Bit i of the mask answers key i; the mask holds mask_words(keys.size()) words.
  result<void> may_contain(const key_batch& keys, std::span<std::uint64_t> mask) const noexcept;
  // The indexes of the keys that may be present, at most 2^32; `selection` holds keys.size() of them. How many there are.
  result<std::size_t> may_contain_select(const key_batch& keys, std::span<std::uint32_t> selection) const noexcept;
  // How many of the keys were there and are erased, one occurrence of each; kinds that do not erase refuse.
  result<std::uint64_t> erase(const key_batch& keys) noexcept;
  // How often the filter holds each key; kinds that do not count refuse. `counts` is as long as `keys`.
  result<void> count(const key_batch& keys, std::span<std::uint64_t> counts) const noexcept;

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
  // For kinds that expire: another clock, which must outlive the filter; null is the system's. See load_options::clock.
  void set_clock(const clock_hook* clock) noexcept { self_->set_clock(clock); }
  // All memory that the filter takes, with what surrounds its bits.
  [[nodiscard]] std::uint64_t allocated_bytes() const noexcept { return sizeof(*this) + self_->allocated_bytes(); }
  // Moves the filter to memory that is allocated anew, so that a server can give up fragmented memory. Takes the memory
  // of a second filter meanwhile; when it is refused, the filter stays where it is.
  result<void> relocate() noexcept;
  // Same kind, hash and content.
  friend bool operator==(const any_filter& a, const any_filter& b) noexcept {
    return a.info().id == b.info().id && a.hash() == b.hash() && a.shards() == b.shards() && a.self_->equals(*b.self_);
  }

 private:
  using owner = std::unique_ptr<detail::filter_model>;

  any_filter(owner self, const filter_hash& hash) noexcept
      : self_(std::move(self)), hash_(hash), digest_bits_(self_->digest_bits()) {}
  // Calls f(digest) with a digest as wide as the filter takes.
  template <class Key, class F>
  auto with_digest(const Key& key, F&& f) const noexcept -> decltype(f(std::uint64_t{}));
  // Calls f(digests, index of the first) for group after group of keys, or once for keys that are digests. f returns
  // result<bool>: false ends that.
  template <class F>
  result<void> for_each_group(const key_batch& keys, F&& f) const noexcept;
  [[nodiscard]] result<void> check_keys(const key_batch& keys) const noexcept;
  [[nodiscard]] error no_keys() const noexcept;
  static failure too_small(std::size_t words, std::size_t answers) noexcept {
    return fail(errc::bad_span, "the mask", {std::uint64_t{words} * 64, answers});
  }
  // What follows from a header, by read(type_identity<K>) -> result<stored_filter<K>>.
  template <class Read>
  static result<any_filter> load_kind(const file_header& header, Read&& read) noexcept;
  [[nodiscard]] result<void> check_same(const any_filter& other) const noexcept;
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
  filter_hash hash_;
  unsigned digest_bits_;
};

// ---- one key ----

namespace detail {
template <class Key>
digest256 digest256_of(const hasher& hash, const Key& key) noexcept {
  digest256 digest;
  with_key_bytes(hash, key, [&](std::span<const std::byte> bytes, bool /*whole*/) {
    const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    hash.digests256({&view, 1}, {&digest, 1});
  });
  return digest;
}
template <class Key>
inline constexpr bool is_prehashed = std::is_same_v<Key, prehashed> || std::is_same_v<Key, prehashed128>;
}  // namespace detail

template <class Key, class F>
auto any_filter::with_digest(const Key& key, F&& f) const noexcept -> decltype(f(std::uint64_t{})) {
  if constexpr (!detail::is_prehashed<Key>) {
    if (!hash_.is_usable()) [[unlikely]]
      return fail(no_keys());
    if constexpr (is_byte_key<Key>) {
      if (!hash_.get().accepts(detail::key_bytes(key).size())) [[unlikely]]
        return fail(no_keys());
    }
  }
  if (digest_bits_ == 64) [[likely]]
    return f(digest_of(hash_.get(), key));
  if (digest_bits_ == 128) {
    if constexpr (!std::is_same_v<Key, prehashed>) return f(digest128_of(hash_.get(), key));
  } else if constexpr (!detail::is_prehashed<Key>) {
    return f(detail::digest256_of(hash_.get(), key));
  }
  return fail(errc::unsupported,
              digest_bits_ == 128 ? "this filter takes 128-bit digests" : "this filter takes keys, not digests");
}

template <single_key Key>
result<insert_result> any_filter::insert(const Key& key) noexcept {
  return with_digest(key, [&](auto digest) -> result<insert_result> {
    if constexpr (std::is_same_v<decltype(digest), std::uint64_t>) {
      const auto answer = self_->insert_one(digest);
      if (answer != detail::single_answer::failed) [[likely]]
        return detail::insert_result_of(answer);
    }
    std::uint64_t fresh = 0;
    const auto done = self_->insert(std::span<const decltype(digest)>(&digest, 1), {&fresh, 1});
    if (!done) return fail(done.error());
    if (done->taken == 0) return insert_result::full;
    return fresh != 0 ? insert_result::inserted : insert_result::present;
  });
}

template <single_key Key>
result<void> any_filter::add(const Key& key) noexcept {
  return with_digest(key, [&](auto digest) -> result<void> {
    if constexpr (std::is_same_v<decltype(digest), std::uint64_t>) {
      if (self_->insert_one(digest) <= detail::single_answer::yes) [[likely]]
        return {};
    }
    const auto done = self_->add(std::span<const decltype(digest)>(&digest, 1));
    if (!done) return fail(done.error());
    return {};
  });
}

template <single_key Key>
result<bool> any_filter::may_contain(const Key& key) const noexcept {
  return with_digest(key, [&](auto digest) -> result<bool> {
    if constexpr (std::is_same_v<decltype(digest), std::uint64_t>) {
      const auto answer = self_->contains_one(digest);
      if (answer != detail::single_answer::failed) [[likely]]
        return answer == detail::single_answer::yes;
    }
    std::uint64_t mask = 0;
    const auto done = self_->may_contain(std::span<const decltype(digest)>(&digest, 1), {&mask, 1});
    if (!done) return fail(done.error());
    return (mask & 1U) != 0;
  });
}

template <single_key Key>
result<explanation> any_filter::explain(const Key& key) const noexcept {
  return with_digest(key, [&](auto digest) { return self_->explain(std::span<const decltype(digest)>(&digest, 1)); });
}

template <single_key Key>
result<bool> any_filter::erase(const Key& key) noexcept {
  return with_digest(key, [&](auto digest) -> result<bool> {
    if constexpr (std::is_same_v<decltype(digest), std::uint64_t>) {
      const auto erased = self_->erase({&digest, 1});
      if (!erased) return fail(erased.error());
      return *erased != 0;
    } else {
      return self_->cannot("erase");
    }
  });
}

template <single_key Key>
result<std::uint64_t> any_filter::count(const Key& key) const noexcept {
  return with_digest(key, [&](auto digest) -> result<std::uint64_t> {
    if constexpr (std::is_same_v<decltype(digest), std::uint64_t>) {
      std::uint64_t found = 0;
      const auto counted = self_->count({&digest, 1}, {&found, 1});
      if (!counted) return fail(counted.error());
      return found;
    } else {
      return self_->cannot("count");
    }
  });
}

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/any_filter_model.hpp>
#endif

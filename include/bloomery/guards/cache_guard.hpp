// guards/cache_guard.hpp: filter, cache, source: a look-up of a key that the source does not have reaches neither of
// the other two (cache penetration).
//
//     struct row_store {                                          // a cache and a source: three functions each
//       std::map<std::string, int> rows;
//       std::optional<int> get(const std::string& key);           // or result<std::optional<int>>
//       bool put(const std::string& key, int value);              // or void, result<void>, result<bool>
//       bool remove(const std::string& key);                      // or result<bool>; a cache's, as put
//     } cache, table;
//     auto users = bloomery::cache_guard<row_store, row_store>::make(cache, table, "blocked",
//                                                                    {.keys = 1'000'000, .fpr = 0.01}, {});
//     auto stored = users->put("alice", 7);      // filter, then source, then cache
//     auto found = users->get("bob");            // result<std::optional<int>>: here without cache and source
//
// What it is    a lookup_guard (its page holds here, too: policies, rebuilds, failures), and the order of the three:
//
//   |        | filter                     | cache                          | source                            |
//   |--------|----------------------------|--------------------------------|-----------------------------------|
//   | get    | queried first; no: the end | queried next; a hit is the end | queried last; its row is cached   |
//   | put    | key inserted, first        | value stored, last             | value stored, second              |
//   | remove | key erased if the kind can | key removed, second            | row removed, first                |
//
//               A filter of a kind that cannot erase keeps the key, which is "maybe" until the next rebuild.
//
// The cache     may lose anything at any time. It may fail: a get goes on to the source, a put or remove has succeeded
//               once the source says so. What it then still holds may be old: such keys are not read from the cache
//               until it took their value again. 16 for each of 256 groups are remembered; with more, the whole group is
//               read from the source. Call cache_was_emptied() when that happened.
// Writers       all through one guard, else a row may be "absent" here (see lookup_guard), and the cache old. Writers of
//               keys in one group take turns, for as long as source and cache take, and a get that read the source before
//               one of them does not overwrite the cache after it. get never waits for a source.
// Several       processes with one cache: as anywhere, give its entries a time to live.
// Return value  put: what the source returned; remove: likewise. A source that returns bool states whether the key was
//               new (put), or was there (remove); kinds that erase need both.
// Threads       any number at once. Cache and source are called by many threads, and must stand that. Neither may call
//               put or remove of the guard.
// Memory        that of the lookup_guard and 40 KiB.
#pragma once

#include <bloomery/guards/cache/state.hpp>
#include <bloomery/guards/lookup_guard.hpp>

namespace bloomery::inline BLOOMERY_ABI {

template <class Cache, class Source>
class cache_guard {
 public:
  using options = lookup_guard_options;

  // Cache and source must outlive the guard.
  static result<cache_guard> make(Cache& cache, Source& source, std::string_view kind, const filter_params& params,
                                  const hasher& hash, const options& how = {}) noexcept {
    return join(cache, source, lookup_guard::make(kind, params, hash, how));
  }
  // A filter that is there already: see lookup_guard::over.
  static result<cache_guard> over(Cache& cache, Source& source, any_filter existing, const filter_params& params = {},
                                  const options& how = {}) noexcept {
    return join(cache, source, lookup_guard::over(std::move(existing), params, how));
  }

  // The value, or what is empty where the source has none. An error is one of the source.
  template <single_key Key>
  auto get(const Key& key) {
    using value = detail::answer_type<decltype(source_->get(key))>;
    // The value comes from the cache, or from the source.
    return lookups_.find(key, [&](const Key& wanted) -> result<value> {
      const std::uint64_t digest = digest_of(hash_, wanted);
      if (state_->may_read_cache(digest)) {
        const std::uint64_t started = steady_ns();
        result<value> cached = cache_->get(wanted);
        state_->cache_time.record_ns(steady_ns() - started);
        if (cached && *cached) {
          state_->counts.hits.add();
          return cached;
        }
        (cached ? state_->counts.misses : state_->counts.failed_reads).add();
      } else {
        state_->counts.distrusted.add();
      }
      const std::uint64_t version = state_->version(digest);
      const std::uint64_t started = steady_ns();
      result<value> found = source_->get(wanted);
      state_->source_time.record_ns(steady_ns() - started);
      if (!found) {
        state_->counts.failed_sources.add();
      } else if (*found) {
        fill_cache(wanted, digest, version, **found);
      }
      return found;
    });
  }

  template <single_key Key, class Value>
  auto put(const Key& key, const Value& value) {
    const std::uint64_t digest = digest_of(hash_, key);
    const auto alone = state_->begin_write(digest);
    return lookups_.put(key, [&] {
      // Until the cache has taken what the source has, it may hold what the source had.
      state_->distrust(digest);
      if constexpr (std::is_void_v<decltype(source_->put(key, value))>) {
        source_->put(key, value);
        write_cache(digest, [&] { return cache_->put(key, value); });
      } else {
        auto done = source_->put(key, value);
        if (detail::has_failed(done)) {  // it may have stored the value all the same
          write_cache(digest, [&] { return cache_->remove(key); });
        } else {
          write_cache(digest, [&] { return cache_->put(key, value); });
        }
        return done;
      }
    });
  }

  template <single_key Key>
  auto remove(const Key& key) {
    const std::uint64_t digest = digest_of(hash_, key);
    const auto alone = state_->begin_write(digest);
    return lookups_.remove(key, [&] {
      state_->distrust(digest);
      auto done = source_->remove(key);
      write_cache(digest, [&] { return cache_->remove(key); });
      return done;
    });
  }

  // The filter and its figures: rebuilds, why_rebuild(), is_filtering(), ... Its find() knows nothing of the cache.
  [[nodiscard]] lookup_guard& lookups() noexcept { return lookups_; }
  [[nodiscard]] const lookup_guard& lookups() const noexcept { return lookups_; }
  // The cache holds nothing old any more, because it holds nothing.
  void cache_was_emptied() noexcept { state_->trust_all(); }

  [[nodiscard]] cache_stats stats() const noexcept { return state_->stats(lookups_.stats()); }
  void collect(metric_sink& to) const noexcept {
    lookups_.collect(to);
    state_->collect(to);
  }

 private:
  cache_guard(Cache& cache, Source& source, lookup_guard lookups, std::unique_ptr<detail::cache_state> state) noexcept
      : cache_(&cache), source_(&source), lookups_(std::move(lookups)), state_(std::move(state)) {
    hash_ = lookups_.with_filter([](const any_filter& filter) { return filter.key_hash().get(); });
  }
  static result<cache_guard> join(Cache& cache, Source& source, result<lookup_guard> made) noexcept {
    if (!made) return fail(made.error());
    std::unique_ptr<detail::cache_state> state(new (std::nothrow) detail::cache_state);
    if (state == nullptr) return fail(errc::out_of_memory, "the guard", {sizeof(detail::cache_state)});
    return cache_guard(cache, source, std::move(*made), std::move(state));
  }

  // What was read from the source, unless a writer of the group came since.
  template <class Key, class Value>
  void fill_cache(const Key& key, std::uint64_t digest, std::uint64_t version, const Value& value) {
    const auto alone = state_->begin_fill(digest, version);
    if (!alone) return state_->counts.skipped_fills.add();
    write_cache(digest, [&] { return cache_->put(key, value); });
  }
  template <class Write>
  void write_cache(std::uint64_t digest, Write&& write) {
    if constexpr (std::is_void_v<decltype(write())>) {
      write();
    } else {
      if (detail::has_failed(write())) return state_->counts.failed_writes.add();
    }
    state_->counts.writes.add();
    state_->trust(digest);
  }

  Cache* cache_;
  Source* source_;
  lookup_guard lookups_;
  std::unique_ptr<detail::cache_state> state_;
  hasher hash_{};
};

}  // namespace bloomery::inline BLOOMERY_ABI

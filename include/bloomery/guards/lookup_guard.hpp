// guards/lookup_guard.hpp: a filter in front of a source of truth, such as a database: look-ups of keys that it does not
// have never reach it.
//
//     auto users = bloomery::lookup_guard::make("blocked", {.keys = 1'000'000, .fpr = 0.01}, bloomery::hasher{});
//     if (!users) return std::puts(bloomery::describe(users.error()).c_str()), 2;
//     auto stored = users->put("alice", [&] { return table.write("alice", row); });          // filter first, then table
//     auto found = users->find("bob", [&](auto& key) { return table.read(key); });           // no: without the table
//     std::printf("%.1f %% saved\n", 100 * users->stats().efficiency());
//
// What it is    an any_filter, a lock, and counters. find() queries the filter; "absent" is the answer at once, "maybe" is
//               decided by the source, a function that you pass. The source is always right, the filter only saves work.
// Policies      Keys known up front: start unloaded (or `over` a filter from a file) and rebuild from the source; until
//               then every answer is "maybe". Learn on write: start empty; every write goes through put(). Negative
//               answers reported back: with `report_bytes`, a false positive is remembered, and the same key is absent
//               without the source until it is inserted. They combine.
// Writers       every write must pass through the guard: put(key, write) around the write, or insert(key) once the source
//               has the key. A key that another program writes is "absent" here until the next rebuild.
// put           write() returns nothing, bool or result<bool>; false means that the source had the key already: then
//               kinds that erase take the copy back that put() inserted. With these kinds return it.
// remove        the key stays "maybe", unless the kind erases: then it leaves the filter if write() returned true, that
//               the source had it. Other kinds forget removed keys with the next rebuild.
// Rebuild       rebuild(source) reads all keys into a new filter, larger where there are more, and swaps it in; the
//               others go on meanwhile, and no key that they insert is lost. start_rebuild(source) does it on a thread
//               of its own. It waits for the writes that are under way, so write() must not call it. After an error the
//               old filter stays.
// Failures      nothing that fails makes an answer "absent". An error of the source is returned and counted. A key that
//               does not fit, refused memory, or a filter file that is damaged: every answer is "maybe"
//               (is_filtering() is false, last_error() states why) until a rebuild ends well.
// Keys          of any type (hash/key.hpp), the same type for the same source. The kind takes keys one by one; kinds
//               whose keys expire (window) or that may lose keys (dual) are refused. `over` takes static ones, too: they
//               filter, and the first insert ends that until a rebuild.
// Threads       everything but the destructor and moves: any number of threads at once. Look-ups share one lock, which an
//               insert takes alone for the time of one insert. The source is called outside of it.
// Memory        that of the filter, twice during a rebuild, and 40 bytes for each key inserted meanwhile; 8 KiB.
#pragma once

#include <bloomery/guards/lookup/state.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

// result<T> -> T, and T -> T.
template <class T>
struct value_in_result {
  using type = T;
};
template <class T>
struct value_in_result<result<T>> {
  using type = T;
};
template <class T>
using answer_type = typename value_in_result<std::remove_cvref_t<T>>::type;

// Whether a write states that it did what it is for: inserted a new key, removed one that was there.
template <class Done>
bool has_changed(const Done& done, bool silent) noexcept {
  if constexpr (std::is_same_v<Done, result<bool>>) {
    return done && *done;
  } else if constexpr (std::is_same_v<Done, bool>) {
    return done;
  } else if constexpr (std::is_same_v<Done, result<void>>) {
    return silent && done;
  } else {
    return silent;
  }
}
template <class Done>
bool states_no(const Done& done) noexcept {
  if constexpr (std::is_same_v<Done, result<bool>>) return done && !*done;
  if constexpr (std::is_same_v<Done, bool>) return !done;
  return false;
}

// Ends a write, also when it throws.
class write_scope {
 public:
  write_scope(guard_state& state, const guard_write& write) noexcept : state_(&state), write_(write) {}
  write_scope(const write_scope&) = delete;
  write_scope& operator=(const write_scope&) = delete;
  ~write_scope() { state_->end_write(write_); }

 private:
  guard_state* state_;
  guard_write write_;
};

}  // namespace detail

class BLOOMERY_API lookup_guard {
 public:
  static result<lookup_guard> make(std::string_view kind, const filter_params& params, const hasher& hash,
                                   const lookup_guard_options& options = {}) noexcept;
  // A filter that is there already, and has all keys of the source. `params` state with which layout, mode and memory it
  // is rebuilt.
  static result<lookup_guard> over(any_filter existing, const filter_params& params = {},
                                   const lookup_guard_options& options = {}) noexcept;

  // What source(key) returns, or T{} without calling it: T is bool, or what is false when empty, such as
  // std::optional<row>. The source returns T or result<T>.
  template <single_key Key, class Source>
  auto find(const Key& key, Source&& source) -> result<detail::answer_type<std::invoke_result_t<Source&, const Key&>>> {
    using answer = result<detail::answer_type<std::invoke_result_t<Source&, const Key&>>>;
    const detail::guard_ticket ticket = self_->look(key);
    if (!ticket.maybe) return answer(typename answer::value_type{});
    const std::uint64_t started = steady_ns();
    answer found = source(key);
    self_->source_time.record_ns(steady_ns() - started);
    if (found) {
      self_->settle(key, ticket, static_cast<bool>(*found));
    } else {
      self_->counts.failed.add();
    }
    return found;
  }
  // Not counted.
  template <single_key Key>
  [[nodiscard]] bool may_contain(const Key& key) const noexcept {
    return self_->may_contain(key);
  }

  // Inserts the key, then calls write(), and returns what that returns.
  template <single_key Key, class Write>
  auto put(const Key& key, Write&& write) -> std::invoke_result_t<Write&> {
    const detail::guard_write begun = self_->begin_insert(key);
    const detail::write_scope until_end(*self_, begun);
    if constexpr (std::is_void_v<std::invoke_result_t<Write&>>) {
      write();
    } else {
      auto done = write();
      if (self_->erases() && begun.inserted && detail::states_no(done)) self_->erase(key, begun);
      return done;
    }
  }
  // A key that the source has. An error: it does not fit, and every answer is "maybe" from now on.
  template <single_key Key>
  result<void> insert(const Key& key) noexcept {
    return self_->insert(key);
  }
  // Calls write(), which removes the key from the source and returns bool or result<bool>: whether it was there.
  template <single_key Key, class Write>
  auto remove(const Key& key, Write&& write) -> std::invoke_result_t<Write&> {
    const detail::guard_write begun = self_->begin_removal(key);
    const detail::write_scope until_end(*self_, begun);
    auto done = write();
    if (detail::has_changed(done, false)) {
      self_->counts.removals.add();
      if (self_->erases()) self_->erase(key, begun);
    }
    return done;
  }

  // `source(sink)` calls sink(key) for every key, in any order, and returns result<void>: an error when it could not.
  result<void> rebuild(guard_keys source) noexcept { return self_->rebuild(source); }
  // The same on another thread, which keeps a copy of the source. An error: one is running, or memory was refused.
  template <class Source>
  result<void> start_rebuild(Source source) noexcept {
    struct job final : detail::background_rebuild {
      explicit job(Source&& from) : source(std::move(from)) {}
      result<void> read(guard_sink& sink) override { return source(sink); }
      Source source;
    };
    std::unique_ptr<detail::background_rebuild> made(new (std::nothrow) job(std::move(source)));
    if (made == nullptr) return fail(errc::out_of_memory, "the rebuild", {sizeof(job)});
    return self_->start(std::move(made));
  }
  // Until a rebuild that was started has ended; what became of it. One thread.
  result<void> wait() noexcept { return self_->wait(); }
  [[nodiscard]] bool is_rebuilding() const noexcept { return self_->is_rebuilding(); }
  // Cheap enough to call every second. `overfull`: more keys than it was made for; `false_positives`: surely more than
  // twice as many as it was made for, since the filter was made.
  [[nodiscard]] rebuild_reason why_rebuild() const noexcept { return self_->why_rebuild(); }

  // False: every answer is "maybe".
  [[nodiscard]] bool is_filtering() const noexcept { return self_->is_filtering(); }
  [[nodiscard]] std::optional<error> last_error() const noexcept { return self_->last_error(); }
  [[nodiscard]] lookup_stats stats() const noexcept { return self_->stats(); }
  void collect(metric_sink& to) const noexcept { self_->collect(to); }
  [[nodiscard]] const latency_histogram& source_time() const noexcept { return self_->source_time; }
  // Calls f(const any_filter&) while nothing changes it: to save it, or to read its figures.
  template <class F>
  auto with_filter(F&& f) const {
    return self_->with_filter(f);
  }

 private:
  explicit lookup_guard(std::unique_ptr<detail::guard_state> self) noexcept : self_(std::move(self)) {}

  std::unique_ptr<detail::guard_state> self_;
};

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/guards/lookup.cpp>
#endif

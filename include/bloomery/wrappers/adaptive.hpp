// wrappers/adaptive.hpp: a filter of any kind that watches its own false-positive rate and learns from its false
// positives.
//
//     auto seen = bloomery::adaptive<bloomery::blocked>::make({.keys = 1'000'000, .fpr = 0.01});
//     if (!seen) return 2;
//     auto all_keys = [&](auto& sink) -> bloomery::result<void> {    // must live as long as the filter calls it
//       for (const auto& row : table) sink(row.name);
//       return {};                                                   // or the error that ended it: nothing changes
//     };
//     seen->set_source(all_keys);
//     seen->insert("alice");
//     bool maybe = seen->may_contain("bob");
//     if (maybe && !table.has("bob")) seen->report_false_positive("bob");   // "bob" answers no from now on
//     bool sure = seen->may_contain_confirmed("carol", [&](const auto& key) { return table.has(key); });   // both
//
// What it is    filters of one kind, most often one, and a list of the keys that were reported. A key that is inserted
//               is taken from the list. Keys are a set: what may be there is not inserted again, so that copies take no
//               space.
// Use it when   the number of keys is a guess and the keys can be had again from where they are stored; or the same
//               absent keys are looked up again and again; or an opponent repeats the false positives that it found.
// Use instead   `growing` when only the number of keys is unknown: it grows without a pause and without a source.
//
// Checks        after every `check_every` adds (10,000), and after every eighth of its capacity where that is fewer. A
//               check compares two FPRs with twice the target, the FPR that it was made with:
//               by fill     fpr_now(). Read when it holds more keys than it was made for, and then once for each 64th
//                           more of them, because reading costs as much as the filter is large.
//               by reports  the false positives among the absent keys that were looked up with a confirmation since it
//                           was last rebuilt, when their true FPR is above with a confidence of 99.9 %.
//               check() does it at once and reads the fill in any case.
// With a source above twice the target it rebuilds itself from the source for 1.5 times the keys that it holds (and
//               again for more, if the source has more), and keeps the target then. Between two checks the FPR may pass
//               twice the target. Above by reports alone: for 1.5 times its capacity, up to four times its keys.
//               Fixed-capacity kinds are rebuilt when they are full.
// Without one   a filter that holds what it was made for is closed, and one for 1.5 times the keys so far is added
//               before it, of at most 32. The i-th after the first has the FPR 0.55 target / i^2: together they stay
//               below twice the target, whatever is inserted, and need not be checked for that. Only where memory was
//               refused may they pass it. No closed filter gets better: above by reports alone is an error.
// Errors        memory that is refused, or a source that fails, leaves it as it was. check() and rebuild() return the
//               error; that of what an insert began is in last_error(), and it is tried again after as many adds as are
//               between two checks. The key itself is in: only fixed-capacity kinds return `full` when they can get no
//               space.
//
// Source        passes every key that is to be found, as it was inserted, in any order, any number of times; the keys
//               of the running call need not be among them. Keys that it no longer has are gone after a rebuild.
//               It must not call the filter, and neither it nor a confirmation may throw.
// Reports       a reported key answers no until it, or one with its digest, is inserted. The list holds keys, not
//               digests: a key that is there is found though another with its digest was reported, with any hash.
//               Report only what is surely absent; a present key that is reported answers no, until it is inserted
//               again or a rebuild meets it. With may_contain_confirmed that cannot happen: the callback decides, and
//               is called for every "maybe"; it returns true where it does not know. Not remembered, and still "maybe":
//               keys of more than 4096 bytes, and tuples of which a part was folded into a digest (hash/key.hpp).
// Memory        that of the filters, and for the list nothing before the first report and then report_bytes (8 MiB),
//               which hold 196,608 keys of up to 20 bytes, 100,000 of up to 44 (core/recent_keys.hpp). Then the oldest
//               is dropped, and answers "maybe" again. A rebuild has both filters in memory while it runs.
// Deletes       no: the filter that seems to hold a key may not be the one that does. Delete from the source and
//               rebuild().
// Merges        no. Files: save() writes the filter without the list when it is one; over() adapts one that was loaded.
// Run time      wrappers/any_adaptive.hpp is the same for a kind and a hash that are chosen at run time: one engine, over
//               any_filter. A look-up here is the kind's own function.
// Threads       one writer, or any number of readers. may_contain and may_contain_batch read; everything that learns or
//               adds writes: insert, report_false_positive, may_contain_confirmed, check, rebuild.
#pragma once

#include <bloomery/wrappers/adaptive/front.hpp>

namespace bloomery::inline BLOOMERY_ABI {

template <dynamic_kind K, hash_function H = default_hash>
class adaptive : public basic_adaptive<H, K> {
  static_assert(!K::info.exact, "an exact kind has no false positives");
  static_assert(!expiring<K>, "a kind whose keys expire has nothing to be rebuilt from");

 public:
  static result<adaptive> make(const filter_params& params, const adaptive_options& options = {},
                               const H& hash = {}) noexcept {
    auto made = filter<K, H>::make(params, hash);
    if (!made) return fail(made.error());
    return start(std::move(*made), params.fpr, params, options);
  }
  // A filter that is there already, such as a loaded one. Its target is its promised FPR; `params` states with which
  // layout, mode and memory it grows.
  static result<adaptive> over(filter<K, H> existing, const filter_params& params = {},
                               const adaptive_options& options = {}) noexcept {
    return start(std::move(existing), {}, params, options);
  }

 private:
  using base = basic_adaptive<H, K>;
  using base::base;

  static result<adaptive> start(filter<K, H> first, std::optional<double> target, const filter_params& params,
                                const adaptive_options& options) noexcept {
    const hash_spec spec = spec_of(first.hash());
    auto owned = any_filter::own(std::move(first.kind()), spec);
    if (!owned) return fail(owned.error());
    constexpr detail::adaptive_maker make_another = [](std::string_view /*kind*/, const filter_params& like,
                                                       const filter_hash& hash) noexcept -> result<any_filter> {
      auto made = filter<K, H>::make(like);
      if (!made) return fail(made.error());
      return any_filter::own(std::move(made->kind()), hash);
    };
    auto engine = detail::adaptive_engine::start(std::move(*owned), target, params, options, spec, make_another);
    if (!engine) return fail(engine.error());
    return adaptive(std::move(*engine), first.hash());
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI

// kinds/window.hpp: the window filter: keys expire, by number or by time.
//
// What it is    a filter of what came lately. Time is cut into generations; a shift to the next one moves and clears
//               nothing, so there is no pause, nothing to do while idle, and no background thread. An insert or look-up
//               touches one cache line, and a look-up writes nothing.
// Use it when   only the last million keys count, or those of the last 30 days: seen lately, sent lately, replayed
//               lately.
// Use instead   `blocked` where nothing expires: a third of the memory. `counting` where keys leave one by one.
//
// Window        `keys` is the guaranteed window: with it, each insert is reported until at least so many others were
//               counted. An insert counts when it sets a new bit in its generation: what is repeated within one costs
//               nothing, and a stream with repeats is covered further back.
// Time          with `window_ns`, generations also end by time: a key is reported for at least so long after its last
//               insert, and the filter forgets while nothing happens. `keys` then states how many may come in that
//               time; if more do, generations end early, the FPR is kept, and the window is shorter. window() reports
//               what is really covered.
// Beyond it     the guarantee ends up to one generation later than requested. Then a key fades: of those just outside,
//               four in ten are still seen, then two, then fewer (docs/kinds/window.md has the table). No trace of a
//               key is left after 15 generations (stamped), or as soon as its slot is used again (rotating).
// Age           age() reports how many generations ago a key was inserted last: sometimes too young, never too old.
// Result        `inserted` means that the key was surely not in the window, `present` that it may have been there. Both
//               renew it. keys() counts the first ones over the filter's whole life.
// Deletes       no; keys leave by themselves. Merges: no, two filters have no common generations.
// Clock         a clock that goes back stands still until it has caught up; one that jumps ahead lets keys expire.
//
// Layouts       stamped (default): one line a key, 26 bits for each key of the window at 1 %, 44 at 0.1 %.
//               rotating, rotating2 to rotating14 (generations; rotating has 3): one line for each generation and one
//               more a look-up, 30 % smaller at 1 % and 36 % at 0.1 %.
//               kernels/window.hpp defines the bits, kinds/window/fpr.hpp the FPR, kinds/window/schedule.hpp the time.
// Bytes         the lines; then 256 bytes: a record of generations (kinds/window/schedule.hpp).
// Papers        A. Shtul, C. Baquero, P. S. Almeida, "Age-partitioned Bloom filters", 2020 (slices by age).
// Threads       any number of readers, or one writer. Nothing here is atomic.
//
//     auto seen = bloomery::window::make({.keys = 1'000'000, .fpr = 0.01});
//     if (!seen) return 2;
//     seen->insert(bloomery::mix64(7));
//     for (std::uint64_t i = 0; i < 1'000'000; ++i) seen->insert(bloomery::mix64(100 + i));
//     bool maybe = seen->may_contain(bloomery::mix64(7));   // true: a million others came after it, and no more
#pragma once

#include <bloomery/core/clock.hpp>
#include <bloomery/kinds/concept.hpp>
#include <bloomery/kinds/window/engine.hpp>

namespace bloomery::inline BLOOMERY_ABI {

class BLOOMERY_API window {
 public:
  static constexpr kind_info info{.id = 7,
                                  .name = "window",
                                  .summary = "forgets: keys expire by number or by time; one cache line per key",
                                  .lines = "1"};
  static constexpr std::array<option_choice, 2> layouts{
      {{.name = "stamped", .help = "one cache line a look-up"},
       {.name = "rotating",
        .help = "a bit for each generation side by side: smaller, more lines a look-up",
        .suffix = "[G]"}}};
  static constexpr std::array<option_info, 3> option_list{
      {layout_option(layouts),
       {.name = "window",
        .title = "window",
        .type = option_type::duration,
        .help = "time after which a key expires; without one, the number of later keys decides alone",
        .most = window_layout::longest_window_ns},
       {.name = "generations",
        .title = "generations",
        .type = option_type::integer,
        .help = "layout rotating, with G generations",
        .least = window_layout::min_generations,
        .most = window_layout::max_generations,
        .default_value = window_layout::usual_generations,
        .follows = "rotating"}}};
  static constexpr std::span<const option_info> options() noexcept { return option_list; }

  static result<size_plan> plan(const size_request& request, std::string_view layout = {}) noexcept {
    const auto found = window_layout::find(layout);
    if (!found) return fail(found.error());
    return found->solve(request);
  }
  static result<window> make(const filter_params& params) noexcept;
  [[nodiscard]] result<window> clone() const noexcept;

  insert_result insert(std::uint64_t digest) noexcept {
    const std::uint64_t absent = engine_.insert(&digest, 1, now());
    keys_ += absent;
    return absent != 0 ? insert_result::inserted : insert_result::present;
  }
  // As insert, without its answer. False: the filter is full and does not hold it.
  bool add(std::uint64_t digest) noexcept { return insert(digest) != insert_result::full; }
  [[nodiscard]] bool may_contain(std::uint64_t digest) const noexcept { return engine_.may_contain(digest, now()); }
  // What a look-up reads and decides: see kinds/explain.hpp.
  [[nodiscard]] explanation explain(std::uint64_t digest) const noexcept { return engine_.explain(digest, now()); }
  // How many generations ago the key was inserted last: never more than it was. Nothing when it is surely absent.
  [[nodiscard]] std::optional<unsigned> age(std::uint64_t digest) const noexcept { return engine_.age(digest, now()); }

  // How many of the digests were surely not in the window.
  std::uint64_t add_batch(std::span<const std::uint64_t> digests) noexcept {
    return add_stream(digests.size(), digest_feed(digests.data()));
  }
  // Bit i of the mask (bit i % 64 of word i / 64) answers digest i; the mask holds mask_words(digests.size()) words.
  void may_contain_batch(std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) const noexcept {
    may_contain_stream(digests.size(), digest_feed(digests.data()), mask);
  }
  // The same with digests that are made as they are needed: see stream_kind in kinds/concept.hpp.
  std::uint64_t add_stream(std::size_t count, const digest_feed& feed) noexcept;
  void may_contain_stream(std::size_t count, const digest_feed& feed, std::span<std::uint64_t> mask) const noexcept {
    engine_.may_contain_stream(count, feed, mask.data(), now());
  }

  void clear() noexcept {
    engine_.clear(now());
    keys_ = 0;
  }
  // Same geometry, generation and bits: the same answers for ever.
  friend bool operator==(const window& a, const window& b) noexcept { return a.engine_ == b.engine_; }

  // What is guaranteed and what is really covered, now.
  [[nodiscard]] window_state window_now() const noexcept;
  // Another clock; null is the system's. A filter that was loaded has that of load_options.
  void set_clock(const clock_hook* clock) noexcept { clock_ = clock; }

  [[nodiscard]] key_count keys() const noexcept { return {keys_, true}; }
  [[nodiscard]] std::uint64_t capacity_keys() const noexcept { return capacity_; }
  [[nodiscard]] double target_fpr() const noexcept { return fpr_; }
  [[nodiscard]] unsigned hashes() const noexcept { return engine_.geometry().hashes; }
  [[nodiscard]] std::uint64_t lines() const noexcept { return engine_.geometry().lines; }
  // Generations before the current one whose keys are all reported.
  [[nodiscard]] unsigned generations() const noexcept { return engine_.geometry().kept(); }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return engine_.geometry().payload_bytes(); }
  [[nodiscard]] double fill() const noexcept { return engine_.fill(now()); }
  [[nodiscard]] double fpr_now() const noexcept { return engine_.fpr(now()); }
  // Counted in the generations that are kept: a key that came in several of them is several.
  [[nodiscard]] double estimated_keys() const noexcept {
    return static_cast<double>(engine_.schedule().keys_kept(engine_.record(), now()));
  }
  [[nodiscard]] fact_list facts() const noexcept;
  [[nodiscard]] fact_list facts_now() const noexcept;

  // The native file: see kinds/concept.hpp.
  [[nodiscard]] stored_shape shape() const noexcept;
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return engine_.payload(); }
  static result<std::uint64_t> payload_bytes(const stored_shape& shape) noexcept;
  static result<window> adopt(const stored_shape& shape, aligned_buffer payload) noexcept;
  static result<window> view(const stored_shape& shape, std::span<const std::byte> payload) noexcept;

  // Calls f(first byte, size) for every part of the payload that a look-up of the digest may read.
  template <class F>
  void for_each_touched(std::uint64_t digest, F&& f) const {
    const std::uint64_t group = engine_.geometry().slots * kernels::window_line_bytes;
    f(fast_range(digest, lines()) * group, group);
  }

 private:
  // Where nothing depends on the time, the clock is not read.
  [[nodiscard]] std::uint64_t now() const noexcept { return engine_.geometry().tick_ns == 0 ? 0 : now_ns(clock_); }
  static std::string_view layout_name(unsigned slots) noexcept {
    constexpr std::array<std::string_view, 15> names = {
        "stamped",   "",          "rotating2",  "rotating3",  "rotating4",  "rotating5",  "rotating6", "rotating7",
        "rotating8", "rotating9", "rotating10", "rotating11", "rotating12", "rotating13", "rotating14"};
    return names[slots - 1];
  }
  static window_geometry geometry_of(const stored_shape& shape) noexcept {
    return {.lines = shape.field[0],
            .hashes = static_cast<unsigned>(shape.field[1]),
            .slots = static_cast<unsigned>(shape.field[7]) + 1,
            .generation_keys = shape.field[2],
            .tick_ns = shape.field[3]};
  }
  static result<window> make_of(const stored_shape& shape, bit_store store) noexcept;

  window_engine engine_;
  std::uint64_t keys_ = 0;
  std::uint64_t capacity_ = 0;
  double fpr_ = 0;
  const clock_hook* clock_ = nullptr;
};

static_assert(mappable<window> && stream_kind<window> && expiring<window> && !mergeable<window>);

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/window.cpp>
#endif

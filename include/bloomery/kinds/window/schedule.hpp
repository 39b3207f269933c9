// kinds/window/schedule.hpp: when the generations of a window filter end, by number of keys and by time.
//
// A generation ends when it has counted `generation_keys` keys and another comes, and, where `tick_ns` is not 0, so
// long after it began. The second happens by itself: `at(now)` returns what the generation is by then, and reads
// nothing that has to be done. Time that passes while nobody inserts is made up for by the next insert, at most `all`
// generations at once: by then every key is forgotten. A clock that goes back, before the start of the generation,
// stands still until it has caught up.
//
// A record of the generations before is after the filter's lines (window_record): when each began and how many keys it
// counted, little-endian, generation G in place G mod 15; that of the current one is zero. Then the line whose stamp is
// renewed next, and how many inserts before that.
#pragma once

#include <bloomery/core/bytes.hpp>
#include <bloomery/kernels/window.hpp>
#include <cstddef>
#include <cstdint>

namespace bloomery::inline BLOOMERY_ABI {

class window_record {
 public:
  static constexpr std::uint32_t places = kernels::window_lanes;

  explicit window_record(std::byte* bytes) noexcept : bytes_(bytes) {}

  [[nodiscard]] std::uint64_t start_ns(std::uint32_t generation) const noexcept {
    return get(2 * (generation % places));
  }
  [[nodiscard]] std::uint64_t counted(std::uint32_t generation) const noexcept {
    return get(2 * (generation % places) + 1);
  }
  void set(std::uint32_t generation, std::uint64_t start_ns, std::uint64_t counted) noexcept {
    put(2 * (generation % places), start_ns);
    put(2 * (generation % places) + 1, counted);
  }
  [[nodiscard]] std::uint64_t next_line() const noexcept { return get(2 * places); }
  [[nodiscard]] std::uint64_t inserts_left() const noexcept { return get(2 * places + 1); }
  void set_renewal(std::uint64_t next_line, std::uint64_t inserts_left) noexcept {
    put(2 * places, next_line);
    put(2 * places + 1, inserts_left);
  }

 private:
  [[nodiscard]] std::uint64_t get(std::size_t i) const noexcept { return load_le<std::uint64_t>(bytes_ + 8 * i); }
  void put(std::size_t i, std::uint64_t value) noexcept { store_le(bytes_ + 8 * i, value); }

  std::byte* bytes_;
};

// A generation, and how far it is ahead of the one that was written last.
struct window_moment {
  std::uint32_t generation = 0;
  std::uint32_t steps = 0;     // at most `all`
  std::uint64_t ticks = 0;     // ends of generations that time brought
  std::uint64_t start_ns = 0;  // of the generation
};

struct window_schedule {
  // The filter starts in this one, so that a stamp of 0 is of a generation that is forgotten.
  static constexpr std::uint32_t first_generation = kernels::window_lanes;

  std::uint64_t generation_keys = 1;
  std::uint64_t tick_ns = 0;
  std::uint32_t modulus = 0;
  std::uint32_t kept = 0;  // generations before the current one whose keys are all reported
  std::uint32_t all = 0;   // steps after which nothing is left

  std::uint32_t generation = first_generation;
  std::uint64_t start_ns = 0;
  std::uint64_t counted = 0;

  [[nodiscard]] std::uint32_t plus(std::uint32_t steps) const noexcept {
    return generation < modulus - steps ? generation + steps : generation - (modulus - steps);
  }
  [[nodiscard]] std::uint32_t minus(std::uint32_t steps) const noexcept {
    return generation >= steps ? generation - steps : generation + (modulus - steps);
  }

  // Whether the generation that was written last is that of now.
  [[nodiscard]] bool is_current(std::uint64_t now_ns) const noexcept {
    return tick_ns == 0 || now_ns <= start_ns || now_ns - start_ns < tick_ns;
  }
  [[nodiscard]] window_moment at(std::uint64_t now_ns) const noexcept {
    if (is_current(now_ns)) return {generation, 0, 0, start_ns};
    const std::uint64_t ticks = (now_ns - start_ns) / tick_ns;
    const auto steps = static_cast<std::uint32_t>(ticks < all ? ticks : all);
    return {plus(steps), steps, ticks, start_ns + ticks * tick_ns};
  }

  void end_generation(window_record record, std::uint64_t next_start_ns) noexcept {
    record.set(generation, start_ns, counted);
    generation = plus(1);
    start_ns = next_start_ns;
    counted = 0;
    record.set(generation, 0, 0);
  }

  // What is due before an insert.
  void prepare_insert(window_record record, std::uint64_t now_ns) noexcept {
    if (tick_ns != 0) {
      const window_moment moment = at(now_ns);
      const std::uint64_t skipped = moment.ticks - moment.steps;
      for (std::uint32_t i = 0; i < moment.steps; ++i) {
        end_generation(record, start_ns + (i == 0 ? skipped + 1 : 1) * tick_ns);
      }
    }
    if (counted >= generation_keys) end_generation(record, now_ns > start_ns ? now_ns : start_ns);
  }

  // When the generation of that age began, as seen from `now_ns`.
  [[nodiscard]] std::uint64_t start_of_age(window_record record, std::uint32_t age,
                                           std::uint64_t now_ns) const noexcept {
    const window_moment moment = at(now_ns);
    if (age <= moment.ticks) return moment.start_ns - age * tick_ns;
    const std::uint32_t behind = age - static_cast<std::uint32_t>(moment.ticks);
    return record.start_ns(minus(behind));
  }
  // The keys of the current generation and of those that are kept whole.
  [[nodiscard]] std::uint64_t keys_kept(window_record record, std::uint64_t now_ns) const noexcept {
    const std::uint32_t steps = at(now_ns).steps;
    std::uint64_t keys = 0;
    for (std::uint32_t age = steps; age <= kept; ++age) {
      const std::uint64_t found = age == steps ? counted : record.counted(minus(age - steps));
      keys += found < generation_keys ? found : generation_keys;  // a record in a file may hold anything
    }
    return keys;
  }
};

}  // namespace bloomery::inline BLOOMERY_ABI

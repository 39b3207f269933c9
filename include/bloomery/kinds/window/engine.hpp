// kinds/window/engine.hpp: the lines of a window filter and its schedule together: what kind window does without its
// sizes, its file and its clock. Every call that depends on the time takes it as an argument.
//
// Stamps are numbers modulo `modulus`: one that was left alone for a whole round would look young again, and its keys
// come back. Inserts renew the stamps of all lines in turn, one line now and then, so that none gets that old.
#pragma once

#include <algorithm>
#include <bloomery/kernels/window/dispatch.hpp>
#include <bloomery/kinds/bit_store.hpp>
#include <bloomery/kinds/explain.hpp>
#include <bloomery/kinds/window/layout.hpp>
#include <bloomery/kinds/window/schedule.hpp>
#include <optional>

namespace bloomery::inline BLOOMERY_ABI {

struct window_geometry {
  std::uint64_t lines = 0;
  unsigned hashes = 0;
  unsigned slots = 1;
  std::uint64_t generation_keys = 0;
  std::uint64_t tick_ns = 0;
  std::uint32_t modulus = usual_modulus(slots);

  // A multiple of 15 and of the slots.
  static constexpr std::uint32_t usual_modulus(unsigned slots) noexcept {
    return kernels::window_lanes * slots * ((std::uint32_t{1} << 28U) / slots);
  }
  [[nodiscard]] window_layout layout() const noexcept { return {slots}; }
  [[nodiscard]] unsigned kept() const noexcept { return layout().kept(hashes); }
  [[nodiscard]] std::uint64_t lines_bytes() const noexcept { return lines * slots * kernels::window_line_bytes; }
  [[nodiscard]] std::uint64_t payload_bytes() const noexcept { return lines_bytes() + window_layout::trailer_bytes; }
  bool operator==(const window_geometry&) const = default;
};

class BLOOMERY_API window_engine {
 public:
  window_engine() noexcept = default;
  window_engine(const window_geometry& geometry, bit_store store) noexcept;

  static result<window_engine> make(const window_geometry& geometry, const memory_hooks* hooks,
                                    std::uint64_t now_ns) noexcept;
  [[nodiscard]] result<window_engine> clone() const noexcept;
  void clear(std::uint64_t now_ns) noexcept;

  // All of the digests; how many were surely absent.
  std::uint64_t insert(const std::uint64_t* digests, std::size_t count, std::uint64_t now_ns) noexcept;
  [[nodiscard]] bool may_contain(std::uint64_t digest, std::uint64_t now_ns) const noexcept {
    if (schedule_.is_current(now_ns)) return kernels::window_contains_one(current_, digest);
    return kernels::window_contains_one(view(now_ns), digest);
  }
  void may_contain_stream(std::size_t count, const digest_feed& feed, std::uint64_t* mask,
                          std::uint64_t now_ns) const noexcept {
    active_kernels<kernels::window_kernels>().contains_batch(view(now_ns), count, feed, mask);
  }
  [[nodiscard]] explanation explain(std::uint64_t digest, std::uint64_t now_ns) const noexcept;
  void prefetch(const std::uint64_t* digests, std::size_t count) const noexcept {
    kernels::window_prefetch(current_, digests, count);
  }
  // How many generations ago the digest was inserted last: never more than it was. Nothing when it is surely absent.
  [[nodiscard]] std::optional<unsigned> age(std::uint64_t digest, std::uint64_t now_ns) const noexcept;

  // Share of set bits among those that are not left over; mean over the lines of their chance to answer yes.
  [[nodiscard]] double fill(std::uint64_t now_ns) const noexcept;
  [[nodiscard]] double fpr(std::uint64_t now_ns) const noexcept;

  [[nodiscard]] const window_geometry& geometry() const noexcept { return geometry_; }
  [[nodiscard]] const window_schedule& schedule() const noexcept { return schedule_; }
  // As it was stored.
  void restore(std::uint32_t generation, std::uint64_t start_ns, std::uint64_t counted) noexcept {
    schedule_.generation = generation;
    schedule_.start_ns = start_ns;
    schedule_.counted = counted;
    current_ = view_of(generation);
  }
  [[nodiscard]] window_record record() const noexcept {
    return window_record(const_cast<std::byte*>(store_.bytes().data()) + geometry_.lines_bytes());
  }
  [[nodiscard]] std::span<const std::byte> payload() const noexcept { return store_.bytes(); }
  friend bool operator==(const window_engine& a, const window_engine& b) noexcept {
    return a.geometry_ == b.geometry_ && a.schedule_.generation == b.schedule_.generation &&
           a.schedule_.start_ns == b.schedule_.start_ns && a.schedule_.counted == b.schedule_.counted &&
           a.store_ == b.store_;
  }

 private:
  using lane_fills = std::array<double, kernels::window_lanes>;

  [[nodiscard]] kernels::window_view view_of(std::uint32_t generation) const noexcept {
    return {store_.bytes().data(), geometry_.lines, geometry_.hashes, geometry_.slots, generation, geometry_.modulus};
  }
  [[nodiscard]] kernels::window_view view(std::uint64_t now_ns) const noexcept {
    return view_of(schedule_.at(now_ns).generation);
  }
  [[nodiscard]] std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(store_.data()); }
  // How full the lanes of a slot are: logical lanes where the layout is stamped. Those left over are empty.
  static lane_fills fills_of(const kernels::window_view& view, std::uint64_t line, unsigned slot) noexcept;

  window_geometry geometry_;
  window_schedule schedule_;
  kernels::window_view current_;  // of the generation that was written last
  // Inserts between two lines that are renewed: an insert is at most 15 generations after the one before.
  std::uint64_t renewal_inserts_ = 1;
  bit_store store_;
};

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds/window/engine.cpp>
#endif

#include <algorithm>
#include <bloomery/compat/leveldb/encoder.hpp>
#include <bloomery/compat/leveldb/window_solver.hpp>
#include <cstring>

namespace bloomery::inline BLOOMERY_ABI::leveldb {

namespace detail {

inline unsigned widest_slot_bits(std::size_t keys, std::size_t filter_bytes) noexcept {
  return static_cast<unsigned>(std::min<std::uint64_t>(most_slot_bits, 8 * std::uint64_t{filter_bytes - 1} / keys));
}

// One filter of windows of out.size() bytes. false: it cannot be solved.
inline bool encode_slots(window_system& system, std::span<const std::uint64_t> digests, unsigned slot_bits,
                         std::span<std::byte> out) noexcept {
  const auto size = static_cast<std::uint32_t>(out.size() - 1);
  const std::uint32_t slots = 8 * size / slot_bits;
  return fits_system(slots, slot_bits) &&
         solve_windows(system, digests, {.size_bytes = size, .slot_bits = slot_bits, .slots = slots, .seed = 0}, out);
}

inline bool encode_widest(window_system& system, std::span<const std::uint64_t> digests,
                          std::span<std::byte> out) noexcept {
  const unsigned widest = widest_slot_bits(digests.size(), out.size());
  return widest >= least_slot_bits && encode_slots(system, digests, widest, out);
}

// With as many bits a slot as can be solved. 0: none.
inline std::size_t encode_windows(window_system& system, std::span<const std::uint64_t> digests,
                                  std::span<std::byte> out) noexcept {
  for (unsigned r = widest_slot_bits(digests.size(), out.size()); r >= least_slot_bits; --r) {
    if (encode_slots(system, digests, r, out)) return out.size();
  }
  return 0;
}

// Digests in ascending order, as a table of filters.
class table_maker {
 public:
  table_maker(window_system& system, std::span<const std::uint64_t> digests, std::span<std::byte> out) noexcept
      : system_(system), digests_(digests), out_(out) {}

  // The bytes of it; 0: it does not fit.
  std::size_t make() noexcept {
    const std::uint64_t fewest = std::max<std::uint64_t>(2, (digests_.size() + 219) / 220);
    // Each time some more groups: a few more are enough but for digests that are no hashes.
    for (std::uint64_t groups = fewest; groups < 2 * fewest + 8; groups += 1 + groups / 64) {
      groups_ = groups;
      wide_ = groups < 240 && out_.size() <= 0xffff ? 2 : 4;
      const std::uint64_t tail = wide_ == 2 ? 2 : 6;
      const std::uint64_t table = tail + wide_ * (groups - 1);
      if (groups > 0xffffffffU || out_.size() <= table) return 0;
      if (choose_bits(out_.size() - table)) {
        if (const std::size_t used = write(); used != 0) return used;
      }
    }
    return 0;
  }

 private:
  // f(keys of the group, its first) for all groups.
  template <class F>
  void for_each_group(F&& f) const noexcept {
    std::size_t at = 0;
    for (std::uint64_t g = 0; g < groups_; ++g) {
      std::size_t end = at;
      while (end < digests_.size() && fast_range(digests_[end], groups_) == g) ++end;
      f(digests_.subspan(at, end - at));
      at = end;
    }
  }
  static std::uint64_t need(std::uint64_t keys, unsigned r) noexcept {
    return keys == 0 ? 0 : std::max<std::uint64_t>(8, (keys * r + 7) / 8) + 1;
  }
  // One less fits as well, so that a group has a second chance.
  static bool fits(std::uint64_t keys, unsigned r) noexcept {
    if (keys == 0) return true;
    const std::uint64_t bits = 8 * (need(keys, r) - 1);
    const unsigned least = std::max(least_slot_bits, r - 1);
    return fits_system(bits / least, least);
  }
  bool choose_bits(std::uint64_t room) noexcept {
    for (bits_ = most_slot_bits; bits_ >= least_slot_bits; --bits_) {
      std::uint64_t sum = 0;
      bool all_fit = true;
      for_each_group([&](std::span<const std::uint64_t> group) {
        sum += need(group.size(), bits_);
        all_fit = all_fit && fits(group.size(), bits_);
      });
      if (sum > room) continue;
      spare_ = room - sum;
      return all_fit;
    }
    return false;
  }
  std::size_t write() noexcept {
    std::uint64_t at = 0;
    std::uint64_t spare = spare_;
    std::uint64_t group_number = 0;
    bool done = true;
    for_each_group([&](std::span<const std::uint64_t> group) {
      if (group_number != 0) set_start(group_number - 1, at);
      ++group_number;
      if (group.empty() || !done) return;
      const std::uint64_t more = need(group.size(), bits_ + 1) - need(group.size(), bits_);
      const bool widen = bits_ < most_slot_bits && more <= spare && fits(group.size(), bits_ + 1);
      if (widen) spare -= more;
      const std::uint64_t size = need(group.size(), bits_ + (widen ? 1U : 0U));
      done = encode_windows(system_, group, out_.subspan(to_size(at), to_size(size))) != 0;
      at += size;
    });
    return done ? finish(at) : 0;
  }
  // The starts are collected at the end of the memory, where they are not in the way of the filters.
  [[nodiscard]] std::byte* start(std::uint64_t number) const noexcept {
    return out_.data() + to_size(out_.size() - wide_ * (groups_ - 1 - number));
  }
  void set_start(std::uint64_t number, std::uint64_t value) noexcept {
    if (wide_ == 2) {
      store_le(start(number), static_cast<std::uint16_t>(value));
    } else {
      store_le(start(number), static_cast<std::uint32_t>(value));
    }
  }
  std::size_t finish(std::uint64_t end) noexcept {
    const std::uint64_t bytes = wide_ * (groups_ - 1);
    std::byte* at = out_.data() + to_size(end);
    std::memmove(at, start(0), to_size(bytes));
    at += to_size(bytes);
    if (wide_ == 4) {
      store_le(at, static_cast<std::uint32_t>(groups_));
      at += 4;
    }
    *at++ = static_cast<std::byte>(wide_ == 2 ? groups_ : 1);
    *at++ = std::byte{table_code};
    return static_cast<std::size_t>(at - out_.data());
  }

  window_system& system_;
  std::span<const std::uint64_t> digests_;
  std::span<std::byte> out_;
  std::uint64_t groups_ = 0;
  std::uint64_t spare_ = 0;
  unsigned wide_ = 2;
  unsigned bits_ = 0;
};

}  // namespace detail

BLOOMERY_BODY result<void> filter_encoder::reserve(aligned_buffer& buffer, std::uint64_t size_bytes,
                                                   const memory_hooks* memory) noexcept {
  if (buffer.size_bytes() >= size_bytes) return {};
  auto larger = aligned_buffer::make(std::max<std::uint64_t>(size_bytes + size_bytes / 2, 1024), "the filter", memory);
  if (!larger) return fail(larger.error());
  buffer = std::move(*larger);
  return {};
}

BLOOMERY_BODY std::span<const std::byte> filter_encoder::matches_all() noexcept {
  static constexpr std::array<std::byte, 2> bytes = {std::byte{0}, std::byte{table_code}};
  return bytes;
}

BLOOMERY_BODY result<std::span<std::uint64_t>> filter_encoder::digests(std::size_t count) noexcept {
  if (const auto done = reserve(input_, count * std::uint64_t{8}, memory_); !done) return fail(done.error());
  return std::span<std::uint64_t>(reinterpret_cast<std::uint64_t*>(input_.data()), count);
}

BLOOMERY_BODY result<std::span<std::uint32_t>> filter_encoder::builtin_digests(std::size_t count) noexcept {
  if (const auto done = reserve(input_, count * std::uint64_t{4}, memory_); !done) return fail(done.error());
  return std::span<std::uint32_t>(reinterpret_cast<std::uint32_t*>(input_.data()), count);
}

BLOOMERY_BODY result<std::span<const std::byte>> filter_encoder::encode(std::span<const std::uint64_t> digests,
                                                                        unsigned bits_per_key) noexcept {
  if (const auto done = reserve(sorted_, digests.size() * std::uint64_t{8}, memory_); !done) return fail(done.error());
  auto* const first = reinterpret_cast<std::uint64_t*>(sorted_.data());
  // Versions of a key are neighbours.
  auto* last = std::unique_copy(digests.begin(), digests.end(), first);
  if (first == last) return encode_builtin({}, 1);
  if (bits_per_key < least_slot_bits) return matches_all();

  const unsigned bits = std::min(bits_per_key, most_slot_bits);
  const std::uint64_t most_room = builtin_bytes_of(static_cast<std::uint64_t>(last - first), bits) + 1;
  if (const auto done = reserve(work_, sizeof(window_system), memory_); !done) return fail(done.error());
  if (const auto done = reserve(output_, most_room, memory_); !done) return fail(done.error());
  auto& system = *reinterpret_cast<window_system*>(work_.data());
  // A filter of windows is the same for digests in any order, and there is none when two are equal: most are made without
  // sorting.
  if (most_room <= most_window_bytes) {
    const auto out = output_.bytes().first(to_size(most_room));
    if (detail::encode_widest(system, {first, last}, out)) return std::span<const std::byte>(out);
  }
  std::sort(first, last);
  last = std::unique(first, last);
  const std::span<const std::uint64_t> unique(first, last);
  const std::uint64_t room = builtin_bytes_of(unique.size(), bits) + 1;
  const auto out = output_.bytes().first(to_size(room));
  std::size_t used = 0;
  if (room <= most_window_bytes) used = detail::encode_windows(system, unique, out);
  if (used == 0) used = detail::table_maker(system, unique, out).make();
  if (used == 0) return matches_all();
  return std::span<const std::byte>(out.first(used));
}

BLOOMERY_BODY result<std::span<const std::byte>> filter_encoder::encode_builtin(std::span<const std::uint32_t> digests,
                                                                                unsigned bits_per_key) noexcept {
  const std::uint64_t bytes = builtin_bytes_of(digests.size(), bits_per_key);
  if (const auto done = reserve(output_, bytes + 1, memory_); !done) return fail(done.error());
  const auto out = output_.bytes().first(to_size(bytes + 1));
  std::memset(out.data(), 0, out.size());
  const unsigned hashes = builtin_hashes_of(bits_per_key);
  for (const std::uint32_t digest : digests) {
    builtin_walk walk(digest);
    for (unsigned i = 0; i < hashes; ++i) {
      const std::uint64_t bit = walk.next() % (bytes * 8);
      out[to_size(bit / 8)] |= std::byte{1} << (bit % 8);
    }
  }
  out.back() = static_cast<std::byte>(hashes);
  return std::span<const std::byte>(out);
}

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb

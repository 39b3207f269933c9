// items.hpp: commands for many items at a time: in waves, so that an engine can prefetch, and within limits.
#pragma once

#include <algorithm>
#include <array>
#include <bloomery/compat/redis/host.hpp>
#include <bloomery/kernels/redis_bloom.hpp>

#include "integrations/redis/call.hpp"
#include "integrations/redis/config.hpp"

namespace bloomery::redis_module {

using arguments_view = std::span<server_string* const>;

// Items go to the engines in their own waves: a word of answers each.
inline constexpr std::size_t wave = kernels::redis_wave;
using wave_views = std::array<std::string_view, wave>;

// The items from `first` on, as many as a wave has.
inline std::span<const std::string_view> wave_at(arguments_view items, std::size_t first, wave_views& views) noexcept {
  const std::size_t size = std::min(wave, items.size() - first);
  for (std::size_t i = 0; i < size; ++i) views[i] = view(items[first + i]);
  return {views.data(), size};
}

// Whether a command for so many items may look at so much (bits or slots) for each of them. If not, that was the answer.
bool may_work(const call& made, std::uint64_t work_per_item, std::size_t items) noexcept;
// The same for one item of a filter. With a limit that is not very low, no filter takes so much for one.
template <class Traits>
bool may_look_up(const call& made, const typename Traits::chain_type& chain) noexcept {
  return chain.sub_filters() * Traits::most_work_per_sub_filter <= configured.work_limit ||
         may_work(made, Traits::work_per_item(chain), 1);
}

// ---- queries ----

// Answers every item. There need be no filter.
template <class Chain>
int answer_may_contain(const call& made, const Chain* chain, arguments_view items) noexcept {
  server.reply_with_array(made.context, static_cast<long>(items.size()));
  wave_views views;
  for (std::size_t first = 0; first < items.size(); first += wave) {
    const auto some = wave_at(items, first, views);
    std::uint64_t found = 0;
    if (chain != nullptr) chain->may_contain_batch(some, {&found, 1});
    for (std::size_t i = 0; i < some.size(); ++i)
      server.reply_with_bool(made.context, static_cast<int>(found >> i & 1U));
  }
  return ok;
}

// ---- inserts ----

// A word for each wave of items: bit i answers item i of it.
struct item_answers {
  static constexpr std::size_t words_at_hand = 32;
  std::array<std::uint64_t, 2 * words_at_hand> at_hand;
  std::span<std::uint64_t> fresh;   // it was new
  std::span<std::uint64_t> failed;  // it is not in the filter: there was no space, and none could be made
  std::size_t answered = 0;  // where a full filter ends a command, it answers no item behind the first that it refused
  std::size_t taken = 0;
  std::uint64_t inserted = 0;
  redis::insert_outcome stop = redis::insert_outcome::inserted;  // of the last that was refused

  item_answers(server_context* context, std::size_t items) noexcept;
  [[nodiscard]] bool is_fresh(std::size_t item) const noexcept { return (fresh[item / wave] >> item % wave & 1U) != 0; }
  [[nodiscard]] bool has_failed(std::size_t item) const noexcept {
    return (failed[item / wave] >> item % wave & 1U) != 0;
  }
};

// What a command does when a filter is full that does not grow: RedisBloom's BF.* end, its CF.* go on.
enum class when_full : std::uint8_t { end, go_on };

// One wave; insert(items, fresh) is the engine's insert_batch. False: the command ends.
template <class Insert>
bool insert_wave(std::span<const std::string_view> items, std::size_t word, when_full rule, item_answers& all,
                 Insert&& insert) noexcept {
  std::uint64_t& fresh = all.fresh[word];
  std::uint64_t& failed = all.failed[word];
  fresh = failed = 0;
  for (std::size_t at = 0; at < items.size();) {
    std::uint64_t here = 0;
    const redis::batch_inserted some = insert(items.subspan(at), std::span(&here, 1));
    fresh |= here << at;
    at += some.taken;
    all.taken += some.taken;
    all.inserted += some.inserted;
    all.answered += some.taken;
    if (at == items.size()) break;
    all.stop = some.stop;
    failed |= std::uint64_t{1} << at;
    ++all.answered;
    ++at;
    if (some.stop == redis::insert_outcome::full && rule == when_full::end) return false;
  }
  return true;
}
template <class Insert>
void insert_all(arguments_view items, when_full rule, item_answers& all, Insert&& insert) noexcept {
  wave_views views;
  for (std::size_t first = 0; first < items.size(); first += wave) {
    if (!insert_wave(wave_at(items, first, views), first / wave, rule, all, insert)) return;
  }
}

// The items that are in the filter now, which are all but a few: those that are replicated.
arguments_view taken_of(const call& made, arguments_view items, const item_answers& all) noexcept;

// What a memory_scope has to know of a filter that may grow.
template <class Chain>
std::uint64_t bytes_if_limited(const Chain& chain) noexcept {
  return configured.memory_limit_bytes == 0 ? 0 : chain.allocated_bytes();
}

}  // namespace bloomery::redis_module

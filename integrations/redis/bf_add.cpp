// BF.ADD and BF.MADD, and the items of BF.INSERT.
//
// A command is replicated by its effect. What changed nothing is not replicated. A filter that was made is replicated with
// its settings, because a replica has defaults of its own. An item that was not taken is left out: what filled this
// server's memory need not fill the replica's, and both have to hold the same.
#include <array>
#include <cstdio>

#include "integrations/redis/bf_commands.hpp"
#include "integrations/redis/counters.hpp"

namespace bloomery::redis_module {

using redis::batch_inserted;
using redis::bloom_chain;
using redis::insert_outcome;

namespace {

const char* text_of(insert_outcome stop, refusal why) noexcept {
  if (stop == insert_outcome::full) return filter_is_full;
  return why == refusal::object_limit ? beyond_memory_limit : cannot_insert;
}

// A word for each wave of items: bit i answers item i of it.
struct item_answers {
  static constexpr std::size_t words_at_hand = 32;
  std::array<std::uint64_t, 2 * words_at_hand> at_hand;
  std::span<std::uint64_t> fresh;   // it was new
  std::span<std::uint64_t> failed;  // it is not in the filter: there was no space, and none could be made
  std::size_t answered = 0;         // a full filter answers no item behind the first that it refused
  std::size_t taken = 0;
  std::uint64_t inserted = 0;
  insert_outcome stop = insert_outcome::inserted;  // of the last that was refused

  item_answers(server_context* context, std::size_t items) noexcept {
    const std::size_t words = (items + wave - 1) / wave;
    auto* const memory =
        words <= words_at_hand
            ? at_hand.data()
            : static_cast<std::uint64_t*>(server.pool_alloc(context, 2 * words * sizeof(std::uint64_t)));
    fresh = {memory, words};
    failed = {memory + words, words};
  }
  [[nodiscard]] bool is_fresh(std::size_t item) const noexcept { return (fresh[item / wave] >> item % wave & 1U) != 0; }
  [[nodiscard]] bool has_failed(std::size_t item) const noexcept {
    return (failed[item / wave] >> item % wave & 1U) != 0;
  }
};

// One wave. False: the filter is full.
bool insert_wave(bloom_chain& chain, std::span<const std::string_view> items, std::uint64_t& fresh,
                 std::uint64_t& failed, item_answers& all) noexcept {
  fresh = failed = 0;
  for (std::size_t at = 0; at < items.size();) {
    std::uint64_t here = 0;
    const batch_inserted some = chain.insert_batch(items.subspan(at), {&here, 1});
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
    if (some.stop == insert_outcome::full) return false;
  }
  return true;
}

void insert_all(bloom_chain& chain, std::span<server_string* const> items, item_answers& all) noexcept {
  std::array<std::string_view, wave> some;
  for (std::size_t first = 0; first < items.size(); first += wave) {
    const std::size_t size = std::min(wave, items.size() - first);
    for (std::size_t i = 0; i < size; ++i) some[i] = view(items[first + i]);
    const std::size_t word = first / wave;
    if (!insert_wave(chain, std::span(some).first(size), all.fresh[word], all.failed[word], all)) return;
  }
}

// The items that are in the filter now, which are all but a few.
std::span<server_string* const> taken_of(const call& made, std::span<server_string* const> items,
                                         const item_answers& all) noexcept {
  if (all.taken == items.size()) return items;
  auto* const kept = static_cast<server_string**>(server.pool_alloc(made.context, (all.taken + 1) * sizeof(void*)));
  std::size_t count = 0;
  for (std::size_t i = 0; i < all.answered; ++i) {
    if (!all.has_failed(i)) kept[count++] = items[i];
  }
  return {kept, count};
}

void replicate_created(const call& made, std::span<server_string* const> items, const new_filter& filter) noexcept {
  char rate[32];
  std::snprintf(rate, sizeof rate, "%.17g", filter.error_rate);
  const auto capacity = static_cast<long long>(filter.capacity);
  const auto expansion = static_cast<long long>(filter.expansion);
  if (filter.scales || expansion == 0) {
    server.replicate(made.context, "BF.INSERT", "sclccclcv", made.key(), "CAPACITY", capacity, "ERROR", rate,
                     "EXPANSION", expansion, "ITEMS", items.data(), items.size());
  } else {
    server.replicate(made.context, "BF.INSERT", "sclccclccv", made.key(), "CAPACITY", capacity, "ERROR", rate,
                     "EXPANSION", expansion, "NONSCALING", "ITEMS", items.data(), items.size());
  }
}

void take_effect(const call& made, std::span<server_string* const> items, std::uint64_t inserted, bool took_all,
                 const new_filter* created) noexcept {
  counted.items.add(inserted);
  if (created != nullptr) {
    replicate_created(made, items, *created);
    report(made, event_reserve);
  } else if (inserted != 0 && took_all) {
    server.replicate_verbatim(made.context);
  } else if (inserted != 0) {
    server.replicate(made.context, "BF.MADD", "sv", made.key(), items.data(), items.size());
  }
  if (inserted != 0) report(made, event_add);
}

std::uint64_t bytes_if_limited(const bloom_chain& chain) noexcept {
  return configured.memory_limit_bytes == 0 ? 0 : chain.allocated_bytes();
}

}  // namespace

int insert_items(const call& made, open_bloom& key, std::size_t first, const new_filter& wanted) noexcept {
  const auto items = made.arguments.subspan(first);
  const bool is_new = key.chain() == nullptr;
  if (!may_work(made, is_new ? bits_per_item(wanted) : bits_per_item(*key.chain()), items.size())) return ok;
  bloom_chain* const made_or_there = is_new ? make_filter(made, key, wanted) : key.chain();
  if (made_or_there == nullptr) return ok;
  bloom_chain& chain = *made_or_there;
  item_answers all(made.context, items.size());
  refusal why = refusal::none;
  {
    memory_scope scope(made.context, bytes_if_limited(chain));
    insert_all(chain, items, all);
    why = scope.why();
  }
  server.reply_with_array(made.context, static_cast<long>(all.answered));
  for (std::size_t i = 0; i < all.answered; ++i) {
    if (all.has_failed(i)) {
      made.refuse(text_of(all.stop, why));
    } else {
      server.reply_with_bool(made.context, all.is_fresh(i) ? 1 : 0);
    }
  }
  take_effect(made, taken_of(made, items, all), all.inserted, all.taken == items.size(), is_new ? &wanted : nullptr);
  return ok;
}

namespace {

int insert_one(const call& made, bloom_chain& chain, const new_filter* created) noexcept {
  insert_outcome outcome = insert_outcome::inserted;
  refusal why = refusal::none;
  {
    memory_scope scope(made.context, bytes_if_limited(chain));
    outcome = chain.insert(made.text(2));
    why = scope.why();
  }
  if (outcome == insert_outcome::present) return server.reply_with_bool(made.context, 0);
  if (outcome != insert_outcome::inserted) return made.refuse(text_of(outcome, why));
  take_effect(made, made.arguments.subspan(2), 1, true, created);
  return server.reply_with_bool(made.context, 1);
}

}  // namespace

int bf_add(const call& made) noexcept {
  if (made.size() != 3) return made.wrong_arity();
  open_bloom key(made.context, made.key(), open_read | open_write);
  if (key.has_other_type()) return made.refuse(wrong_type);
  if (key.chain() != nullptr) return may_work(made, *key.chain()) ? insert_one(made, *key.chain(), nullptr) : ok;
  const new_filter wanted;
  bloom_chain* const chain = make_filter(made, key, wanted);
  return chain == nullptr ? ok : insert_one(made, *chain, &wanted);
}

int bf_madd(const call& made) noexcept {
  if (made.size() < 3) return made.wrong_arity();
  open_bloom key(made.context, made.key(), open_read | open_write);
  if (key.has_other_type()) return made.refuse(wrong_type);
  return insert_items(made, key, 2, {});
}

}  // namespace bloomery::redis_module

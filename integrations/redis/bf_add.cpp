// BF.ADD and BF.MADD, and the items of BF.INSERT.
//
// A command is replicated by its effect. What changed nothing is not replicated. A filter that was made is replicated with
// its settings, because a replica has defaults of its own. An item that was not taken is left out: what filled this
// server's memory need not fill the replica's, and both have to hold the same.
#include <cstdio>

#include "integrations/redis/handlers.hpp"
#include "integrations/redis/items.hpp"
#include "integrations/redis/making.hpp"

namespace bloomery::redis_module {

using redis::bloom_chain;
using redis::insert_outcome;

namespace {

const char* text_of(insert_outcome stop, refusal why) noexcept {
  if (stop == insert_outcome::full) return filter_is_full;
  return why == refusal::object_limit ? beyond_memory_limit : cannot_insert;
}

std::uint64_t bits_per_item(const new_bloom& wanted) noexcept {
  const double rate = wanted.scales ? wanted.error_rate / 2 : wanted.error_rate;
  return static_cast<std::uint64_t>(redis::bloom_record::hashes_for(redis::bloom_record::bits_per_key_for(rate)));
}

void replicate_created(const call& made, std::span<server_string* const> items, const new_bloom& filter) noexcept {
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
                 const new_bloom* created) noexcept {
  counted.bloom.items.add(inserted);
  if (created != nullptr) {
    replicate_created(made, items, *created);
    made.report(bloom_traits::event_reserve);
  } else if (inserted != 0 && took_all) {
    server.replicate_verbatim(made.context);
  } else if (inserted != 0) {
    server.replicate(made.context, "BF.MADD", "sv", made.key(), items.data(), items.size());
  }
  if (inserted != 0) made.report(bloom_traits::event_add);
}

}  // namespace

int insert_items(const call& made, open_bloom& key, std::size_t first, const new_bloom& wanted) noexcept {
  const auto items = made.arguments.subspan(first);
  const bool is_new = key.chain() == nullptr;
  const std::uint64_t work = is_new ? bits_per_item(wanted) : bloom_traits::work_per_item(*key.chain());
  if (!may_work(made, work, items.size())) return ok;
  bloom_chain* const made_or_there = is_new ? make_filter(made, key, wanted) : key.chain();
  if (made_or_there == nullptr) return ok;
  bloom_chain& chain = *made_or_there;
  item_answers all(made.context, items.size());
  refusal why = refusal::none;
  {
    memory_scope scope(made.context, bytes_if_limited(chain));
    insert_all(items, when_full::end, all, [&](std::span<const std::string_view> some, std::span<std::uint64_t> fresh) {
      return chain.insert_batch(some, fresh);
    });
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

int insert_one(const call& made, bloom_chain& chain, const new_bloom* created) noexcept {
  const auto digest = chain.digest_of(made.text(2));
  if (chain.may_contain(digest)) return server.reply_with_bool(made.context, 0);
  insert_outcome outcome = insert_outcome::inserted;
  refusal why = refusal::none;
  {
    memory_scope scope(made.context, bytes_if_limited(chain));
    outcome = chain.insert_absent(digest);
    why = scope.why();
  }
  if (outcome != insert_outcome::inserted) return made.refuse(text_of(outcome, why));
  take_effect(made, made.arguments.subspan(2), 1, true, created);
  return server.reply_with_bool(made.context, 1);
}

}  // namespace

int bf_add(const call& made) noexcept {
  if (made.size() != 3) return made.wrong_arity();
  open_bloom key(made.context, made.key(), open_read | open_write);
  if (key.has_other_type()) return made.refuse(wrong_type);
  if (key.chain() != nullptr) {
    return may_look_up<bloom_traits>(made, *key.chain()) ? insert_one(made, *key.chain(), nullptr) : ok;
  }
  const new_bloom wanted;
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

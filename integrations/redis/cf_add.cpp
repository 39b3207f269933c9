// CF.ADD and CF.ADDNX, and the items of CF.INSERT and CF.INSERTNX.
//
// A filter has at most cf-max-expansions sub-filters. RedisBloom looks at that once a command, so that one CF.INSERT can
// add thousands; here the engine keeps to it, and the items that do not fit answer -1. Commands are replicated by their
// effect, as BF.* are.
#include "integrations/redis/handlers.hpp"
#include "integrations/redis/items.hpp"
#include "integrations/redis/making.hpp"

namespace bloomery::redis_module {

using redis::copies;
using redis::cuckoo_chain;
using redis::insert_outcome;

namespace {

constexpr const char* too_many_sub_filters = "Maximum expansions reached";

const char* why_not_stored(insert_outcome stop, refusal why) noexcept {
  if (stop == insert_outcome::full) return "Filter is full";
  if (stop == insert_outcome::limit) return too_many_sub_filters;
  return why == refusal::object_limit ? beyond_memory_limit : "ERR Insufficient memory";
}

// RedisBloom refuses the whole command then, whether there is space or not.
bool is_at_limit(const call& made, const cuckoo_chain* chain) noexcept {
  return chain != nullptr && chain->sub_filters() >= configured.cuckoo_sub_filters && !is_replayed(made.context);
}

// An item may move others. A move reads a bucket, and takes as long as reading some more slots; it may be undone.
std::uint64_t slots_of_moves(std::uint64_t slots, std::uint64_t moves) noexcept { return moves * (64 + slots); }
std::uint64_t slots_per_insert(const new_cuckoo& wanted) noexcept {
  return 2 * wanted.slots + slots_of_moves(wanted.slots, wanted.moves);
}
std::uint64_t slots_per_insert(const cuckoo_chain& chain) noexcept {
  return cuckoo_traits::work_per_item(chain) + slots_of_moves(chain.head().slots, chain.head().moves);
}

// As may_look_up.
bool may_insert(const call& made, const cuckoo_chain& chain) noexcept {
  constexpr std::uint64_t most_of_moves = max_moves * (64 + max_slots);
  if (chain.sub_filters() * 2 * max_slots + most_of_moves <= configured.work_limit) return true;
  return may_work(made, slots_per_insert(chain), 1);
}

void take_effect(const call& made, const char* command, arguments_view items, std::uint64_t inserted, bool took_all,
                 const new_cuckoo* created) noexcept {
  counted.cuckoo.items.add(inserted);
  if (created != nullptr) {
    replicate_made(made, *created);
    made.report(cuckoo_traits::event_reserve);
  }
  if (inserted == 0) return;
  if (took_all && created == nullptr) {
    server.replicate_verbatim(made.context);
  } else {
    server.replicate(made.context, command, "scv", made.key(), "ITEMS", items.data(), items.size());
  }
  made.report(cuckoo_traits::event_add);
}

const char* insert_command(copies rule) noexcept { return rule == copies::keep ? "CF.INSERT" : "CF.INSERTNX"; }

// RESP3 has booleans for CF.INSERT, where -1 is false.
void answer_item(const call& made, copies rule, bool is_resp3, bool has_failed, bool is_fresh) noexcept {
  if (rule == copies::keep && is_resp3) {
    server.reply_with_bool(made.context, has_failed ? 0 : 1);
  } else {
    server.reply_with_number(made.context, has_failed ? -1 : is_fresh ? 1 : 0);
  }
}

int add(const call& made, copies rule) noexcept {
  if (made.size() != 3) return made.wrong_arity();
  open_cuckoo key(made.context, made.key(), open_read | open_write);
  if (key.has_other_type()) return made.refuse(wrong_type);
  if (is_at_limit(made, key.chain())) return made.refuse(too_many_sub_filters);
  if (key.chain() != nullptr && !may_insert(made, *key.chain())) return ok;
  const new_cuckoo wanted;
  const bool is_new = key.chain() == nullptr;
  cuckoo_chain* const chain = is_new ? make_filter(made, key, wanted) : key.chain();
  if (chain == nullptr) return ok;
  insert_outcome outcome = insert_outcome::inserted;
  refusal why = refusal::none;
  {
    const memory_scope scope(made.context, bytes_if_limited(*chain));
    chain->set_limits({});  // one item adds one sub-filter at most
    outcome = rule == copies::keep ? chain->insert(made.text(2)) : chain->insert_if_absent(made.text(2));
    why = scope.why();
  }
  const bool is_inserted = outcome == insert_outcome::inserted;
  const bool is_taken = is_inserted || outcome == insert_outcome::present;
  take_effect(made, insert_command(rule), made.arguments.subspan(2), is_inserted ? 1 : 0, true,
              is_new ? &wanted : nullptr);
  if (!is_taken) return made.refuse(why_not_stored(outcome, why));
  return server.reply_with_bool(made.context, is_inserted ? 1 : 0);
}

}  // namespace

int cf_add(const call& made) noexcept { return add(made, copies::keep); }
int cf_addnx(const call& made) noexcept { return add(made, copies::drop); }

int insert_items(const call& made, open_cuckoo& key, std::size_t first, const new_cuckoo& wanted,
                 copies rule) noexcept {
  const auto items = made.arguments.subspan(first);
  const bool is_new = key.chain() == nullptr;
  if (is_at_limit(made, key.chain())) return made.refuse(too_many_sub_filters);
  if (!may_work(made, is_new ? slots_per_insert(wanted) : slots_per_insert(*key.chain()), items.size())) return ok;
  cuckoo_chain* const chain = is_new ? make_filter(made, key, wanted) : key.chain();
  if (chain == nullptr) return ok;
  item_answers all(made.context, items.size());
  {
    const memory_scope scope(made.context, bytes_if_limited(*chain));
    const auto most = static_cast<std::uint32_t>(configured.cuckoo_sub_filters);
    chain->set_limits({.max_sub_filters = is_replayed(made.context) ? 0 : most});
    insert_all(items, when_full::go_on, all,
               [&](std::span<const std::string_view> some, std::span<std::uint64_t> fresh) {
                 return chain->insert_batch(some, rule, rule == copies::keep ? std::span<std::uint64_t>() : fresh);
               });
  }
  const bool is_resp3 = (server.get_context_flags(made.context) & context_resp3) != 0;
  server.reply_with_array(made.context, static_cast<long>(items.size()));
  for (std::size_t i = 0; i < items.size(); ++i) {
    answer_item(made, rule, is_resp3, all.has_failed(i), rule == copies::keep || all.is_fresh(i));
  }
  take_effect(made, insert_command(rule), taken_of(made, items, all), all.inserted, all.taken == items.size(),
              is_new ? &wanted : nullptr);
  return ok;
}

}  // namespace bloomery::redis_module

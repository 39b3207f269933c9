// CF.DEL and CF.COMPACT.
#include "integrations/redis/handlers.hpp"
#include "integrations/redis/items.hpp"
#include "integrations/redis/types.hpp"

namespace bloomery::redis_module {

using redis::cuckoo_chain;

int cf_del(const call& made) noexcept {
  if (made.size() != 3) return made.wrong_arity();
  const open_cuckoo key(made.context, made.key(), open_read | open_write);
  if (key.chain() == nullptr) return made.refuse("Not found");
  cuckoo_chain& chain = *key.chain();
  if (!may_look_up<cuckoo_traits>(made, chain)) return ok;
  const std::uint64_t before = chain.keys();
  const bool was_there = chain.erase(made.text(2));
  counted.cuckoo.items.remove(before - chain.keys());
  if (was_there) {
    server.replicate_verbatim(made.context);
    made.report(cuckoo_traits::event_del);
  }
  return server.reply_with_bool(made.context, was_there ? 1 : 0);
}

// RedisBloom registers it as a command that reads; here it writes, and a replica refuses it.
int cf_compact(const call& made) noexcept {
  if (made.size() != 2) return made.wrong_arity();
  const open_cuckoo key(made.context, made.key(), open_read | open_write);
  if (key.chain() == nullptr) return made.refuse("Cuckoo filter was not found");
  cuckoo_chain& chain = *key.chain();
  // Every slot is read, and an item may be offered to all older sub-filters.
  const std::uint64_t per_key = cuckoo_traits::work_per_item(chain);
  if (!may_work(made, per_key, chain.keys() + chain.size_bytes() / per_key)) return ok;
  const bool has_effect = chain.sub_filters() > 1 || chain.removed() != 0;
  chain.compact();
  if (has_effect) {
    server.replicate_verbatim(made.context);
    made.report(cuckoo_traits::event_compact);
  }
  return made.answer_ok();
}

}  // namespace bloomery::redis_module

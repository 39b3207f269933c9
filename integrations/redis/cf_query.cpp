// CF.EXISTS, CF.MEXISTS and CF.COUNT. A key that is missing, or of another type, holds nothing: no error, as in RedisBloom.
#include "integrations/redis/cf_commands.hpp"

namespace bloomery::redis_module {

using redis::cuckoo_chain;

std::uint64_t slots_per_item(const cuckoo_chain& chain) noexcept {
  return 2 * chain.head().slots * chain.sub_filters();
}

int cf_exists(const call& made) noexcept {
  if (made.size() != 3) return made.wrong_arity();
  const open_cuckoo key(made.context, made.key(), open_read);
  const cuckoo_chain* const chain = key.chain();
  if (chain != nullptr && !may_look_up(made, *chain)) return ok;
  return server.reply_with_bool(made.context, chain != nullptr && chain->may_contain(made.text(2)) ? 1 : 0);
}

int cf_mexists(const call& made) noexcept {
  if (made.size() < 3) return made.wrong_arity();
  const open_cuckoo key(made.context, made.key(), open_read);
  const auto items = made.arguments.subspan(2);
  if (key.chain() != nullptr && !may_work(made, slots_per_item(*key.chain()), items.size())) return ok;
  return answer_may_contain(made, key.chain(), items);
}

int cf_count(const call& made) noexcept {
  if (made.size() != 3) return made.wrong_arity();
  const open_cuckoo key(made.context, made.key(), open_read);
  if (key.chain() != nullptr && !may_look_up(made, *key.chain())) return ok;
  const std::uint64_t count = key.chain() == nullptr ? 0 : key.chain()->count(made.text(2));
  return server.reply_with_number(made.context, static_cast<long long>(count));
}

}  // namespace bloomery::redis_module

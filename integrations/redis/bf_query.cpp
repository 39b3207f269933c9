// BF.EXISTS and BF.MEXISTS.
#include "integrations/redis/bf_commands.hpp"
#include "integrations/redis/items.hpp"

namespace bloomery::redis_module {

using redis::bloom_chain;

std::uint64_t bits_per_item(const bloom_chain& chain) noexcept {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < chain.sub_filters(); ++i) all += chain.record(i).hashes;
  return all;
}
std::uint64_t bits_per_item(const new_filter& wanted) noexcept {
  const double rate = wanted.scales ? wanted.error_rate / 2 : wanted.error_rate;
  return static_cast<std::uint64_t>(redis::bloom_record::hashes_for(redis::bloom_record::bits_per_key_for(rate)));
}

// A key that is missing, or of another type, holds nothing: no error, as in RedisBloom.
int bf_exists(const call& made) noexcept {
  if (made.size() != 3) return made.wrong_arity();
  const open_bloom key(made.context, made.key(), open_read);
  const bloom_chain* const chain = key.chain();
  if (chain != nullptr && !may_work(made, *chain)) return ok;
  return server.reply_with_bool(made.context, chain != nullptr && chain->may_contain(made.text(2)) ? 1 : 0);
}

int bf_mexists(const call& made) noexcept {
  if (made.size() < 3) return made.wrong_arity();
  const open_bloom key(made.context, made.key(), open_read);
  const bloom_chain* const chain = key.chain();
  const auto items = made.arguments.subspan(2);
  if (chain != nullptr && !may_work(made, bits_per_item(*chain), items.size())) return ok;
  return answer_may_contain(made, chain, items);
}

}  // namespace bloomery::redis_module

// BF.EXISTS, BF.MEXISTS, CF.EXISTS, CF.MEXISTS and CF.COUNT. A key that is missing, or of another type, holds nothing: no error,
// as in RedisBloom.
#include "integrations/redis/handlers.hpp"
#include "integrations/redis/items.hpp"
#include "integrations/redis/types.hpp"

namespace bloomery::redis_module {

namespace {

template <class Traits>
int exists(const call& made) noexcept {
  if (made.size() != 3) return made.wrong_arity();
  const open_filter<Traits> key(made.context, made.key(), open_read);
  const auto* const chain = key.chain();
  if (chain != nullptr && !may_look_up<Traits>(made, *chain)) return ok;
  return server.reply_with_bool(made.context, chain != nullptr && chain->may_contain(made.text(2)) ? 1 : 0);
}

template <class Traits>
int mexists(const call& made) noexcept {
  if (made.size() < 3) return made.wrong_arity();
  const open_filter<Traits> key(made.context, made.key(), open_read);
  const auto* const chain = key.chain();
  const auto items = made.arguments.subspan(2);
  if (chain != nullptr && !may_work(made, Traits::work_per_item(*chain), items.size())) return ok;
  return answer_may_contain(made, chain, items);
}

}  // namespace

int bf_exists(const call& made) noexcept { return exists<bloom_traits>(made); }
int cf_exists(const call& made) noexcept { return exists<cuckoo_traits>(made); }
int bf_mexists(const call& made) noexcept { return mexists<bloom_traits>(made); }
int cf_mexists(const call& made) noexcept { return mexists<cuckoo_traits>(made); }

int cf_count(const call& made) noexcept {
  if (made.size() != 3) return made.wrong_arity();
  const open_cuckoo key(made.context, made.key(), open_read);
  if (key.chain() != nullptr && !may_look_up<cuckoo_traits>(made, *key.chain())) return ok;
  const std::uint64_t count = key.chain() == nullptr ? 0 : key.chain()->count(made.text(2));
  return server.reply_with_number(made.context, static_cast<long long>(count));
}

}  // namespace bloomery::redis_module

#include "integrations/redis/items.hpp"

#include "integrations/redis/counters.hpp"
#include "integrations/redis/memory.hpp"

namespace bloomery::redis_module {

bool may_work(const call& made, std::uint64_t work_per_item, std::size_t items) noexcept {
  const std::uint64_t limit = configured.work_limit;
  if (limit == 0 || items <= limit / std::max<std::uint64_t>(work_per_item, 1)) return true;
  if (is_replayed(made.context)) return true;
  ++counted.refused_for_work;
  made.refuse(beyond_work_limit);
  return false;
}

item_answers::item_answers(server_context* context, std::size_t items) noexcept {
  const std::size_t words = (items + wave - 1) / wave;
  auto* const memory = words <= words_at_hand
                           ? at_hand.data()
                           : static_cast<std::uint64_t*>(server.pool_alloc(context, 2 * words * sizeof(std::uint64_t)));
  fresh = {memory, words};
  failed = {memory + words, words};
}

arguments_view taken_of(const call& made, arguments_view items, const item_answers& all) noexcept {
  if (all.taken == items.size()) return items;
  auto* const kept = static_cast<server_string**>(server.pool_alloc(made.context, (all.taken + 1) * sizeof(void*)));
  std::size_t count = 0;
  for (std::size_t i = 0; i < all.answered; ++i) {
    if (!all.has_failed(i)) kept[count++] = items[i];
  }
  return {kept, count};
}

}  // namespace bloomery::redis_module

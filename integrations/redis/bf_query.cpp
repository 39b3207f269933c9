// BF.EXISTS and BF.MEXISTS.
#include <algorithm>
#include <array>

#include "integrations/redis/bf_commands.hpp"
#include "integrations/redis/counters.hpp"

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

bool may_work(const call& made, std::uint64_t bits_per_item, std::size_t items) noexcept {
  const std::uint64_t limit = configured.work_limit;
  if (limit == 0 || items <= limit / std::max<std::uint64_t>(bits_per_item, 1)) return true;
  if (is_replayed(made.context)) return true;
  ++counted.refused_for_work;
  made.refuse(beyond_work_limit);
  return false;
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
  server.reply_with_array(made.context, static_cast<long>(items.size()));
  std::array<std::string_view, wave> some;
  for (std::size_t first = 0; first < items.size(); first += wave) {
    const std::size_t size = std::min(wave, items.size() - first);
    std::uint64_t found = 0;
    if (chain != nullptr) {
      for (std::size_t i = 0; i < size; ++i) some[i] = view(items[first + i]);
      chain->may_contain_batch(std::span(some).first(size), {&found, 1});
    }
    for (std::size_t i = 0; i < size; ++i) server.reply_with_bool(made.context, static_cast<int>(found >> i & 1U));
  }
  return ok;
}

}  // namespace bloomery::redis_module

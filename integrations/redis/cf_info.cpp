// CF.INFO and CF.DEBUG: what a filter is.
#include <cinttypes>
#include <cstdio>

#include "integrations/redis/handlers.hpp"
#include "integrations/redis/types.hpp"

namespace bloomery::redis_module {

using redis::cuckoo_chain;
using redis::cuckoo_head;

int cf_info(const call& made) noexcept {
  if (made.size() != 2) return made.wrong_arity();
  return read_filter<cuckoo_traits>(made, [&](const cuckoo_chain& chain) {
    const cuckoo_head head = chain.head();
    const struct {
      const char* name;
      std::uint64_t value;
    } fields[] = {{"Size", chain.info_bytes()},
                  {"Number of buckets", head.buckets},
                  {"Number of filters", head.sub_filters},
                  {"Number of items inserted", head.keys},
                  {"Number of items deleted", head.removed},
                  {"Bucket size", head.slots},
                  {"Expansion rate", head.growth},
                  {"Max iterations", head.moves}};
    server.reply_with_map(made.context, std::size(fields));
    for (const auto& field : fields) {
      server.reply_with_simple_string(made.context, field.name);
      server.reply_with_number(made.context, static_cast<long long>(field.value));
    }
    return ok;
  });
}

int cf_debug(const call& made) noexcept {
  if (made.size() != 2) return made.wrong_arity();
  return read_filter<cuckoo_traits>(made, [&](const cuckoo_chain& chain) {
    const cuckoo_head head = chain.head();
    char line[256];
    const int length =
        std::snprintf(line, sizeof line,
                      "bktsize:%" PRIu64 " buckets:%" PRIu64 " items:%" PRIu64 " deletes:%" PRIu64 " filters:%" PRIu64
                      " max_iterations:%" PRIu64 " expansion:%" PRIu64,
                      head.slots, head.buckets, head.keys, head.removed, head.sub_filters, head.moves, head.growth);
    return server.reply_with_buffer(made.context, line, static_cast<std::size_t>(length));
  });
}

}  // namespace bloomery::redis_module

// BF.SCANDUMP and BF.LOADCHUNK.
#include "integrations/redis/chunks.hpp"
#include "integrations/redis/handlers.hpp"
#include "integrations/redis/types.hpp"

namespace bloomery::redis_module {

using redis::bloom_chain;
using redis::chunk_outcome;

namespace {

const char* text_of(chunk_outcome outcome) noexcept {
  switch (outcome) {
    case chunk_outcome::loaded:
      return nullptr;
    case chunk_outcome::bad_iterator:
      return bad_data;
    case chunk_outcome::no_sub_filter:
      return "ERR invalid offset - no link found";
    case chunk_outcome::too_large:
      return "ERR invalid chunk - Too big for current filter";
  }
  return bad_data;
}

// False: it could not, and that was the answer.
bool load_header(const call& made, open_bloom& key, std::span<const std::byte> header) noexcept {
  const memory_scope scope(made.context, 0);
  return key.set(made, bloom_chain::from_header(header, {}, &server_memory()), scope, bad_data) != nullptr;
}

}  // namespace

int bf_scandump(const call& made) noexcept {
  if (made.size() != 3) return made.wrong_arity();
  return read_filter<bloom_traits>(made, [&](const bloom_chain& chain) {
    long long iterator = 0;
    if (!made.number(2, iterator)) return made.refuse("Second argument must be numeric");
    if (iterator == 0) return answer_header(made, chain, chain.header_bytes());
    const redis::dump_chunk chunk = chain.scan(iterator);
    return answer_chunk(made, chunk.iterator, chunk.bytes);
  });
}

int bf_loadchunk(const call& made) noexcept {
  if (made.size() != 4) return made.wrong_arity();
  long long iterator = 0;
  if (!made.number(2, iterator)) return made.refuse("ERR Second argument must be numeric");
  open_bloom key(made.context, made.key(), open_read | open_write);
  if (key.has_other_type()) return made.refuse(wrong_type);
  if (key.chain() != nullptr) {
    if (const char* const why = text_of(key.chain()->load_chunk(iterator, bytes_of(made, 3)))) return made.refuse(why);
  } else {
    if (iterator != 1) return made.refuse(not_found);
    if (!load_header(made, key, bytes_of(made, 3))) return ok;
  }
  return answer_loaded(made, bloom_traits::event_load);
}

}  // namespace bloomery::redis_module

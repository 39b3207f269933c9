// CF.SCANDUMP and CF.LOADCHUNK.
//
// RedisBloom returns the beginning of a sub-filter of up to 16 MiB whatever the place in it is that an iterator states. Here
// it is the rest from that place on; the iterators that SCANDUMP itself returns give the same pieces in both.
#include "integrations/redis/chunks.hpp"
#include "integrations/redis/handlers.hpp"
#include "integrations/redis/types.hpp"

namespace bloomery::redis_module {

using redis::chunk_outcome;
using redis::cuckoo_chain;
using redis::cuckoo_head;

namespace {

constexpr const char* no_position = "Invalid position";

int load_header(const call& made, open_cuckoo& key, std::span<const std::byte> header) noexcept {
  if (key.chain() != nullptr) return made.refuse(item_exists);
  if (header.size() != cuckoo_chain::header_bytes) return made.refuse("Invalid header");
  constexpr const char* why = "Couldn't create filter!";
  if (!may_load(made.context, cuckoo_head::read(header).sub_filters)) return made.refuse(why);
  const memory_scope scope(made.context, 0);
  auto chain = cuckoo_chain::from_header(header, {}, &server_memory());
  if (key.set(made, std::move(chain), scope, why) == nullptr) return ok;
  return answer_loaded(made, cuckoo_traits::event_load);
}

int load_data(const call& made, cuckoo_chain& chain, std::int64_t position) noexcept {
  const std::uint64_t before = chain.keys();
  if (chain.load_chunk(position, bytes_of(made, 3)) != chunk_outcome::loaded)
    return made.refuse("Couldn't load chunk!");
  counted.cuckoo.items.add(chain.keys());
  counted.cuckoo.items.remove(before);
  return answer_loaded(made, cuckoo_traits::event_load);
}

}  // namespace

int cf_scandump(const call& made) noexcept {
  if (made.size() != 3) return made.wrong_arity();
  long long position = 0;
  if (!made.number(2, position) || position < 0) return made.refuse(no_position);
  return read_filter<cuckoo_traits>(made, [&](const cuckoo_chain& chain) {
    if (chain.keys() != 0 && position == 0) return answer_header(made, chain, cuckoo_chain::header_bytes);
    const auto chunk = chain.keys() == 0 ? redis::dump_chunk{} : chain.scan(position);
    if (chunk.iterator != 0) return answer_chunk(made, chunk.iterator, chunk.bytes);
    server.reply_with_array(made.context, 2);
    server.reply_with_number(made.context, 0);
    return server.reply_with_null(made.context);
  });
}

int cf_loadchunk(const call& made) noexcept {
  if (made.size() != 4) return made.wrong_arity();
  long long position = 0;
  if (!made.number(2, position) || position == 0) return made.refuse(no_position);
  open_cuckoo key(made.context, made.key(), open_read | open_write);
  if (key.has_other_type()) return made.refuse(wrong_type);
  if (position == 1) return load_header(made, key, bytes_of(made, 3));
  if (key.chain() == nullptr) return made.refuse(not_found);
  return load_data(made, *key.chain(), position);
}

}  // namespace bloomery::redis_module

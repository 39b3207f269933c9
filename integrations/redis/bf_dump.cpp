// BF.SCANDUMP and BF.LOADCHUNK: a filter leaves and comes in pieces of up to 16 MiB.
#include "integrations/redis/bf_commands.hpp"

namespace bloomery::redis_module {

using redis::bloom_chain;
using redis::chunk_outcome;

namespace {

int answer_chunk(const call& made, std::int64_t iterator, std::span<const std::byte> bytes) noexcept {
  server.reply_with_array(made.context, 2);
  server.reply_with_number(made.context, iterator);
  return server.reply_with_buffer(made.context, reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

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

const char* load_header(const call& made, open_bloom& key, std::span<const std::byte> header) noexcept {
  memory_scope scope(made.context, 0);
  auto chain = bloom_chain::from_header(header, {}, &server_memory());
  if (chain) {
    key.set(std::move(*chain));
    return nullptr;
  }
  if (scope.why() == refusal::object_limit) return beyond_memory_limit;
  return chain.error().code == errc::out_of_memory ? cannot_create_for_memory : bad_data;
}

}  // namespace

int bf_scandump(const call& made) noexcept {
  if (made.size() != 3) return made.wrong_arity();
  const open_bloom key(made.context, made.key(), open_read);
  if (key.has_other_type()) return made.refuse(wrong_type);
  if (key.chain() == nullptr) return made.refuse(not_found);
  long long iterator = 0;
  if (!made.number(2, iterator)) return made.refuse("Second argument must be numeric");
  if (iterator != 0) {
    const redis::dump_chunk chunk = key.chain()->scan(iterator);
    return answer_chunk(made, chunk.iterator, chunk.bytes);
  }
  const std::size_t size_bytes = key.chain()->header_bytes();
  const std::span header(static_cast<std::byte*>(server.pool_alloc(made.context, size_bytes)), size_bytes);
  key.chain()->write_header(header);
  return answer_chunk(made, 1, header);
}

int bf_loadchunk(const call& made) noexcept {
  if (made.size() != 4) return made.wrong_arity();
  long long iterator = 0;
  if (!made.number(2, iterator)) return made.refuse("ERR Second argument must be numeric");
  const std::string_view text = made.text(3);
  const std::span bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
  open_bloom key(made.context, made.key(), open_read | open_write);
  if (key.has_other_type()) return made.refuse(wrong_type);
  const bool is_header = key.chain() == nullptr;
  if (is_header && iterator != 1) return made.refuse(not_found);
  const char* const why = is_header ? load_header(made, key, bytes) : text_of(key.chain()->load_chunk(iterator, bytes));
  if (why != nullptr) return made.refuse(why);
  server.replicate_verbatim(made.context);
  report(made, event_load);
  return made.answer_ok();
}

}  // namespace bloomery::redis_module

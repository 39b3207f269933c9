// chunks.hpp: a filter leaves by SCANDUMP and comes by LOADCHUNK, in pieces of up to 16 MiB.
#pragma once

#include <bloomery/compat/redis/host.hpp>

#include "integrations/redis/call.hpp"

namespace bloomery::redis_module {

inline int answer_chunk(const call& made, std::int64_t iterator, std::span<const std::byte> bytes) noexcept {
  server.reply_with_array(made.context, 2);
  server.reply_with_number(made.context, iterator);
  return server.reply_with_buffer(made.context, reinterpret_cast<const char*>(bytes.data()), bytes.size());
}
template <class Chain>
int answer_header(const call& made, const Chain& chain, std::size_t size_bytes) noexcept {
  const std::span header(static_cast<std::byte*>(server.pool_alloc(made.context, size_bytes)), size_bytes);
  chain.write_header(header);
  return answer_chunk(made, 1, header);
}
inline int answer_loaded(const call& made, const char* event) noexcept {
  server.replicate_verbatim(made.context);
  made.report(event);
  return made.answer_ok();
}

inline std::span<const std::byte> bytes_of(const call& made, std::size_t index) noexcept {
  const std::string_view text = made.text(index);
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace bloomery::redis_module

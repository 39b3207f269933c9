#include <array>

#include "integrations/redis/config.hpp"
#include "integrations/redis/types.hpp"

namespace bloomery::redis_module {

using redis::cuckoo_chain;
using redis::cuckoo_head;
using redis::cuckoo_loader;

bool may_load(server_context* context, std::uint64_t sub_filters) noexcept {
  return sub_filters <= configured.cuckoo_sub_filters || is_replayed(context) ||
         (server.get_context_flags(context) & context_replica) != 0;
}

void cuckoo_traits::save(server_io* to, const cuckoo_chain& chain) noexcept {
  const cuckoo_head head = chain.head();
  for (const std::uint64_t number :
       {head.sub_filters, head.buckets, head.keys, head.removed, head.slots, head.moves, head.growth}) {
    server.save_number(to, number);
  }
  for (std::size_t i = 0; i < chain.sub_filters(); ++i) {
    server.save_number(to, chain.geometry(i).buckets);
    server.save_buffer(to, reinterpret_cast<const char*>(chain.slots(i).data()), chain.slots(i).size());
  }
}

// Before encoding 4 a filter had two slots a bucket, twenty moves and sub-filters of one size, and counted no removals.
result<redis::owned<cuckoo_chain>> cuckoo_traits::load(server_io* from, int encoding) noexcept {
  cuckoo_head head;
  head.sub_filters = server.load_number(from);
  head.buckets = server.load_number(from);
  head.keys = server.load_number(from);
  if (encoding >= 4) {
    for (std::uint64_t* const number : {&head.removed, &head.slots, &head.moves, &head.growth}) {
      *number = server.load_number(from);
    }
  }
  if (server.is_io_error(from) != 0) return fail(errc::truncated);
  if (!may_load(server.get_context_from_io(from), head.sub_filters)) {
    return fail(errc::bad_field, "number of sub-filters", {head.sub_filters});
  }
  auto loader = cuckoo_loader::begin(head, {}, &server_memory());
  if (!loader) return fail(loader.error());
  for (std::uint64_t i = 0; i < head.sub_filters; ++i) {
    const std::uint64_t buckets = encoding >= 4 ? server.load_number(from) : head.buckets;
    auto slots = adopt_bytes(from);
    if (slots.data() == nullptr || server.is_io_error(from) != 0) return fail(errc::truncated);
    if (auto added = loader->add(buckets, std::move(slots)); !added) return fail(added.error());
  }
  return loader->finish();
}

void cuckoo_traits::add_digest(server_digest* to, const cuckoo_chain& chain) noexcept {
  std::array<std::byte, cuckoo_chain::header_bytes> header{};
  chain.write_header(header);
  server.digest_buffer(to, reinterpret_cast<const char*>(header.data()), header.size());
  for (std::size_t i = 0; i < chain.sub_filters(); ++i) {
    server.digest_buffer(to, reinterpret_cast<const char*>(chain.slots(i).data()), chain.slots(i).size());
  }
}

}  // namespace bloomery::redis_module

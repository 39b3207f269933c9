#include <bloomery/version.hpp>

#include "integrations/redis/counters.hpp"
#include "integrations/redis/memory.hpp"

namespace bloomery::redis_module {

module_counters counted;

namespace {

// The server puts "bf_" in front of every name.
void print_info(info_context* to, int) noexcept {
  if (server.info_section(to, "bloomery") != ok) return;
  server.info_text(to, "version", version.data());
  server.info_number(to, "objects", counted.bloom.objects.now() + counted.cuckoo.objects.now());
  server.info_number(to, "items", counted.bloom.items.now() + counted.cuckoo.items.now());
  server.info_number(to, "cuckoo_objects", counted.cuckoo.objects.now());
  server.info_number(to, "cuckoo_items", counted.cuckoo.items.now());
  server.info_number(to, "memory_bytes", memory_use.bytes.load(std::memory_order_relaxed));
  server.info_number(to, "commands", counted.commands);
  server.info_number(to, "refused_memory", memory_use.refused.load(std::memory_order_relaxed));
  server.info_number(to, "refused_memory_limit", memory_use.at_limit.load(std::memory_order_relaxed));
  server.info_number(to, "refused_work_limit", counted.refused_for_work);
}

}  // namespace

int register_info(server_context* context) noexcept { return server.register_info(context, print_info); }

}  // namespace bloomery::redis_module

#include "integrations/redis/bloom_type.hpp"

#include <array>

#include "integrations/redis/counters.hpp"
#include "integrations/redis/memory.hpp"

namespace bloomery::redis_module {

using redis::bloom_chain;
using redis::bloom_head;
using redis::bloom_loader;
using redis::bloom_record;

namespace {

constexpr int encoding_version = 4;

server_type* type = nullptr;

bloom_chain& chain_of(void* value) noexcept { return *static_cast<bloom_chain*>(value); }
const bloom_chain& chain_of(const void* value) noexcept { return *static_cast<const bloom_chain*>(value); }

void* keep(redis::owned<bloom_chain> chain) noexcept {
  counted.objects.add(1);
  counted.items.add(chain->keys());
  return chain.release();
}

void free_value(void* value) noexcept {
  redis::owned<bloom_chain> chain(&chain_of(value));
  counted.objects.remove(1);
  counted.items.remove(chain->keys());
}

// ---- RDB ----

void save(server_io* to, void* value) noexcept {
  const bloom_chain& chain = chain_of(value);
  const bloom_head head = chain.head();
  server.save_number(to, head.keys);
  server.save_number(to, head.sub_filters);
  server.save_number(to, head.options);
  server.save_number(to, head.growth);
  for (std::size_t i = 0; i < chain.sub_filters(); ++i) {
    const bloom_record record = chain.record(i);
    server.save_number(to, record.capacity);
    server.save_double(to, record.error_rate);
    server.save_number(to, record.hashes);
    server.save_double(to, record.bits_per_key);
    server.save_number(to, record.bits);
    server.save_number(to, record.log2_bits);
    server.save_buffer(to, reinterpret_cast<const char*>(chain.bits(i).data()), chain.bits(i).size());
    server.save_number(to, record.keys);
  }
}

// Encoding 0 has no options, no number of bits and no n2; growth came with encoding 4.
bloom_head load_head(server_io* from, int encoding) noexcept {
  bloom_head head;
  head.keys = server.load_number(from);
  head.sub_filters = server.load_number(from);
  if (encoding >= 2) head.options = server.load_number(from);
  if (encoding >= 4) head.growth = server.load_number(from);
  return head;
}

result<void> load_sub_filter(server_io* from, int encoding, bloom_loader& loader) noexcept {
  bloom_record record;
  record.capacity = server.load_number(from);
  record.error_rate = server.load_double(from);
  record.hashes = server.load_number(from);
  record.bits_per_key = server.load_double(from);
  if (encoding >= 1) {
    record.bits = server.load_number(from);
    record.log2_bits = server.load_number(from);
  } else {
    const double bits = static_cast<double>(record.capacity) * record.bits_per_key;
    record.bits = bits >= 0 && bits < static_cast<double>(max_filter_bits) ? static_cast<std::uint64_t>(bits) : 0;
  }
  std::size_t size_bytes = 0;
  char* const bytes = server.load_buffer(from, &size_bytes);
  if (bytes != nullptr) count_adopted(bytes);
  auto bits = redis::block::adopt(bytes, size_bytes, &server_memory());
  record.size_bytes = size_bytes;
  record.keys = server.load_number(from);
  if (bytes == nullptr || server.is_io_error(from) != 0) return fail(errc::truncated);
  return loader.add(record, std::move(bits));
}

result<redis::owned<bloom_chain>> load_chain(server_io* from, int encoding) noexcept {
  const bloom_head head = load_head(from, encoding);
  if (server.is_io_error(from) != 0) return fail(errc::truncated);
  auto loader = bloom_loader::begin(head, {}, &server_memory());
  if (!loader) return fail(loader.error());
  for (std::uint64_t i = 0; i < head.sub_filters; ++i) {
    if (auto loaded = load_sub_filter(from, encoding, *loader); !loaded) return fail(loaded.error());
  }
  return loader->finish();
}

void* load(server_io* from, int encoding) noexcept {
  if (encoding < 0 || encoding > encoding_version) {
    server.log_io_error(from, "warning", "Bloom filter: encoding %d is newer than this module", encoding);
    return nullptr;
  }
  auto chain = load_chain(from, encoding);
  if (!chain) {
    server.log_io_error(from, "warning", "Bloom filter: %s", describe(chain.error()).c_str());
    return nullptr;
  }
  return keep(std::move(*chain));
}

// ---- AOF ----

void rewrite(server_io* to, server_string* key, void* value) noexcept {
  const bloom_chain& chain = chain_of(value);
  auto header = redis::block::make(chain.header_bytes(), &server_memory());
  if (!header) return server.log_io_error(to, "warning", "Bloom filter: no memory to rewrite it");
  chain.write_header(header->bytes());
  const auto emit = [&](std::int64_t iterator, std::span<const std::byte> bytes) {
    server.emit_aof(to, "BF.LOADCHUNK", "slb", key, static_cast<long long>(iterator),
                    reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  emit(1, header->bytes());
  for (auto chunk = chain.scan(1); chunk.iterator != 0; chunk = chain.scan(chunk.iterator)) {
    emit(chunk.iterator, chunk.bytes);
  }
}

// ---- other callbacks ----

std::size_t memory_of(const void* value) noexcept {
  std::size_t bytes = 0;
  chain_of(value).for_each_block(
      [&](const void* block, std::uint64_t) { bytes += server.malloc_size(const_cast<void*>(block)); });
  return bytes;
}

// Two filters with the same settings and bits have the same digest, wherever they are.
void add_digest(server_digest* to, void* value) noexcept {
  const bloom_chain& chain = chain_of(value);
  server.digest_number(to, chain.options());
  server.digest_number(to, chain.growth());
  for (std::size_t i = 0; i < chain.sub_filters(); ++i) {
    std::array<std::byte, bloom_record::stored_bytes> record{};
    byte_writer writer(record);
    chain.record(i).write(writer);
    server.digest_buffer(to, reinterpret_cast<const char*>(record.data()), record.size());
    server.digest_buffer(to, reinterpret_cast<const char*>(chain.bits(i).data()), chain.bits(i).size());
  }
  server.digest_end(to);
}

// How much work it is to free the value. 0: always in the background, when UNLINK or a setting allows that.
std::size_t free_effort(server_string*, const void* value) noexcept {
  constexpr std::uint64_t large_bytes = std::uint64_t{1} << 20U;
  const bloom_chain& chain = chain_of(value);
  return chain.allocated_bytes() >= large_bytes ? 0 : chain.sub_filters() + 2;
}

void* copy(server_string*, server_string*, const void* value) noexcept {
  auto same = chain_of(value).clone();
  return same ? keep(std::move(*same)) : nullptr;
}

int defrag(defrag_context* context, server_string*, void** value) noexcept {
  const redis::block_mover mover{
      .move = [](void* to, void* memory,
                 std::size_t) { return server.defrag_alloc(static_cast<defrag_context*>(to), memory); },
      .context = context};
  *value = bloom_chain::relocate(&chain_of(*value), mover);
  return 0;  // done
}

}  // namespace

bool register_bloom_type(server_context* context) noexcept {
  type_methods methods{.rdb_load = load,
                       .rdb_save = save,
                       .aof_rewrite = rewrite,
                       .memory_usage = memory_of,
                       .digest = add_digest,
                       .free = free_value,
                       .free_effort = free_effort,
                       .copy = copy,
                       .defrag = defrag};
  type = server.create_data_type(context, "MBbloom--", encoding_version, &methods);
  return type != nullptr;
}

open_bloom::open_bloom(server_context* context, server_string* name, int mode) noexcept
    : key_(server.open_key(context, name, mode)) {
  if (key_ == nullptr) return;
  if (server.module_type(key_) == type) {
    chain_ = static_cast<bloom_chain*>(server.module_value(key_));
  } else {
    has_other_type_ = server.key_type(key_) != key_is_missing;
  }
}

open_bloom::~open_bloom() {
  if (key_ != nullptr) server.close_key(key_);
}

void open_bloom::set(redis::owned<bloom_chain> chain) noexcept {
  chain_ = static_cast<bloom_chain*>(keep(std::move(chain)));
  server.set_module_value(key_, type, chain_);
}

}  // namespace bloomery::redis_module

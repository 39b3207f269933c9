#include <array>

#include "integrations/redis/types.hpp"

namespace bloomery::redis_module {

using redis::bloom_chain;
using redis::bloom_head;
using redis::bloom_loader;
using redis::bloom_record;

void bloom_traits::save(server_io* to, const bloom_chain& chain) noexcept {
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

namespace {

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
  auto bits = adopt_bytes(from);
  record.size_bytes = bits.size_bytes();
  record.keys = server.load_number(from);
  if (bits.data() == nullptr || server.is_io_error(from) != 0) return fail(errc::truncated);
  return loader.add(record, std::move(bits));
}

}  // namespace

result<redis::owned<bloom_chain>> bloom_traits::load(server_io* from, int encoding) noexcept {
  const bloom_head head = load_head(from, encoding);
  if (server.is_io_error(from) != 0) return fail(errc::truncated);
  auto loader = bloom_loader::begin(head, {}, &server_memory());
  if (!loader) return fail(loader.error());
  for (std::uint64_t i = 0; i < head.sub_filters; ++i) {
    if (auto loaded = load_sub_filter(from, encoding, *loader); !loaded) return fail(loaded.error());
  }
  return loader->finish();
}

std::uint64_t bloom_traits::work_per_item(const bloom_chain& chain) noexcept {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < chain.sub_filters(); ++i) all += chain.record(i).hashes;
  return all;
}

void bloom_traits::add_digest(server_digest* to, const bloom_chain& chain) noexcept {
  server.digest_number(to, chain.options());
  server.digest_number(to, chain.growth());
  for (std::size_t i = 0; i < chain.sub_filters(); ++i) {
    std::array<std::byte, bloom_record::stored_bytes> record{};
    byte_writer writer(record);
    chain.record(i).write(writer);
    server.digest_buffer(to, reinterpret_cast<const char*>(record.data()), record.size());
    server.digest_buffer(to, reinterpret_cast<const char*>(chain.bits(i).data()), chain.bits(i).size());
  }
}

}  // namespace bloomery::redis_module

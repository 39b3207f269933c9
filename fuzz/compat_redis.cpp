// fuzz/compat_redis.cpp: RedisBloom's engines, fed as a server feeds them: LOADCHUNK with a header and a chunk, and records of RDB.
//
// The first byte of an input selects the engine (bit 0) and how it is loaded (bit 1: from records). Then the header; what is behind it
// is the bits or slots, as far as they reach. What is loaded must behave: answer alike one by one and in batches, survive a dump and a
// copy, find what it takes, and keep to the memory that it reports.
#include <algorithm>
#include <array>
#include <bloomery/compat/redis/bloom_chain.hpp>
#include <bloomery/compat/redis/cuckoo_chain.hpp>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "target.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::redis;

constexpr std::uint64_t max_load_bytes = std::uint64_t{1} << 20U;
constexpr std::uint64_t max_growth_bytes = std::uint64_t{1} << 21U;

void require(bool condition) {
  if (!condition) std::abort();
}

std::uint64_t live_bytes = 0;
bool may_grow = false;
void* limited_allocate(void* /*context*/, std::size_t size, std::size_t alignment) {
  // The list of sub-filters is beside the bits.
  require(may_grow || size <= 2 * max_load_bytes);
  if (size > max_growth_bytes) return nullptr;
  live_bytes += size;
  return default_memory().allocate(nullptr, size, alignment);
}
void limited_release(void* /*context*/, void* memory, std::size_t size, std::size_t alignment) {
  live_bytes -= size;
  default_memory().release(nullptr, memory, size, alignment);
}
constexpr memory_hooks limited{.allocate = limited_allocate, .release = limited_release};
constexpr engine_limits limits{.max_sub_filters = 40, .max_load_bytes = max_load_bytes};

block block_from(std::span<const std::byte>& left, std::uint64_t size) {
  auto made = block::make(size, &limited);
  require(made.has_value());
  const std::size_t here = std::min<std::uint64_t>(size, left.size());
  if (here != 0) std::memcpy(made->data(), left.data(), here);
  left = left.subspan(here);
  return std::move(*made);
}

result<owned<bloom_chain>> bloom_from_records(std::span<const std::byte> in) {
  if (in.size() < bloom_head::size_bytes) return fail(errc::truncated);
  const bloom_head head = bloom_head::read(in);
  auto loader = bloom_loader::begin(head, limits, &limited);
  if (!loader) return fail(loader.error());
  if (in.size() < head.header_bytes()) return fail(errc::truncated);
  auto left = in.subspan(head.header_bytes());
  for (std::uint64_t i = 0; i < head.sub_filters; ++i) {
    const auto record = bloom_record::read(in.subspan(bloom_head::size_bytes + i * bloom_record::stored_bytes));
    if (record.size_bytes > max_load_bytes) return fail(errc::truncated);
    if (auto added = loader->add(record, block_from(left, record.size_bytes), i % 2 == 0); !added) {
      return fail(added.error());
    }
  }
  return loader->finish();
}
result<owned<cuckoo_chain>> cuckoo_from_records(std::span<const std::byte> in) {
  if (in.size() < cuckoo_head::stored_bytes) return fail(errc::truncated);
  const cuckoo_head head = cuckoo_head::read(in);
  auto loader = cuckoo_loader::begin(head, limits, &limited);
  if (!loader) return fail(loader.error());
  auto left = in.subspan(cuckoo_head::stored_bytes);
  for (std::uint64_t i = 0; i < head.sub_filters; ++i) {
    if (auto added = loader->add(head.buckets_of(i), block_from(left, head.bytes_of(i))); !added) {
      return fail(added.error());
    }
  }
  return loader->finish();
}

std::uint64_t header_size(std::span<const std::byte> in, const bloom_chain* /*of*/) {
  return in.size() < bloom_head::size_bytes ? in.size() : bloom_head::read(in).header_bytes();
}
std::uint64_t header_size(std::span<const std::byte> /*in*/, const cuckoo_chain* /*of*/) {
  return cuckoo_head::stored_bytes;
}

template <class Chain>
result<owned<Chain>> from_chunks(std::span<const std::byte> in) {
  const std::uint64_t size = std::min<std::uint64_t>(in.size(), header_size(in, static_cast<const Chain*>(nullptr)));
  auto chain = Chain::from_header(in.first(size), limits, &limited);
  if (!chain) return chain;
  auto left = in.subspan(size);
  // Chunks of as many bytes as sub-filters have, and a last one that may not fit.
  std::int64_t iterator = 1;
  for (dump_chunk next = (*chain)->scan(1); next.iterator != 0 && !left.empty(); next = (*chain)->scan(iterator)) {
    const std::size_t length = std::min(next.bytes.size(), left.size());
    iterator += static_cast<std::int64_t>(length);
    require((*chain)->load_chunk(iterator, left.first(length)) == chunk_outcome::loaded);
    left = left.subspan(length);
  }
  static_cast<void>((*chain)->load_chunk(iterator + static_cast<std::int64_t>(left.size()), left));
  return chain;
}

constexpr std::array<std::string_view, 6> keys = {"", "a", "key", "another key", "a key of more than sixteen bytes",
                                                  "b"};

template <class Chain>
std::uint64_t answers(const Chain& chain) {
  std::array<std::uint64_t, 1> mask{};
  chain.may_contain_batch(std::span<const std::string_view>(keys), mask);
  for (std::size_t i = 0; i < keys.size(); ++i) require(chain.may_contain(keys[i]) == ((mask[0] >> i & 1U) != 0));
  return mask[0];
}

batch_inserted insert_all(bloom_chain& into, std::span<std::uint64_t> fresh) {
  return into.insert_batch(std::span<const std::string_view>(keys), fresh);
}
batch_inserted insert_all(cuckoo_chain& into, std::span<std::uint64_t> fresh) {
  return into.insert_batch(std::span<const std::string_view>(keys), copies::drop, fresh);
}

template <class Chain>
void use(Chain& chain) {
  const std::uint64_t before = answers(chain);
  require(live_bytes == chain.allocated_bytes());
  auto copy = chain.clone();
  require(copy.has_value() && **copy == chain && answers(**copy) == before);
  require(live_bytes == chain.allocated_bytes() + (*copy)->allocated_bytes());
  may_grow = true;
  std::array<std::uint64_t, 1> fresh{};
  const batch_inserted done = insert_all(**copy, fresh);
  require((fresh[0] & before) == 0 || done.taken != keys.size());
  for (std::size_t i = 0; i < done.taken; ++i) require((*copy)->may_contain(keys[i]));
  may_grow = false;
  require(live_bytes == chain.allocated_bytes() + (*copy)->allocated_bytes());
  if constexpr (requires { chain.erase(keys[0]); }) {
    for (const std::string_view key : keys) static_cast<void>((*copy)->erase(key));
    const std::uint64_t most = (*copy)->max_compact_steps() + (*copy)->size_bytes() + 2 * 255;
    (*copy)->compact();
    require((*copy)->compact_steps() <= most);
  }
}

template <class Chain>
void run_loaded(result<owned<Chain>> loaded) {
  if (loaded) {
    use(**loaded);
  } else {
    require(describe(loaded.error()).length != 0);
  }
}

int run_one(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto in = std::as_bytes(std::span(data + 1, size - 1));
  const bool is_cuckoo = (data[0] & 1U) != 0;
  const bool has_records = (data[0] & 2U) != 0;
  if (is_cuckoo) {
    run_loaded(has_records ? cuckoo_from_records(in) : from_chunks<cuckoo_chain>(in));
  } else {
    run_loaded(has_records ? bloom_from_records(in) : from_chunks<bloom_chain>(in));
  }
  require(live_bytes == 0);
  return 0;
}

}  // namespace

BLOOMERY_FUZZ_TARGET(run_one)

#include <bloomery/leveldb/c.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "integrations/leveldb/filters.hpp"

namespace {

namespace ours = bloomery::leveldb;

struct c_policy {
  unsigned bits_per_key;
};

void destroy(void* state) { delete static_cast<c_policy*>(state); }

// What LevelDB frees with free(). An empty filter would match no key, so that memory refused is an exception, as everywhere in
// LevelDB.
char* create_filter(void* state, const char* const* keys, const size_t* lengths, int count, size_t* filter_length) {
  thread_local ours::filter_encoder encoder;
  const unsigned bits = static_cast<const c_policy*>(state)->bits_per_key;
  const std::size_t n = count > 0 ? static_cast<std::size_t>(count) : 0;
  bloomery::result<std::span<const std::byte>> made = ours::filter_encoder::matches_all();
  if (bits != 0 && bits < ours::least_slot_bits) {
    if (const auto digests = encoder.builtin_digests(n)) {
      for (std::size_t i = 0; i < n; ++i) (*digests)[i] = ours::builtin_digest_of({keys[i], lengths[i]});
      made = encoder.encode_builtin(*digests, bits);
    }
  } else if (bits != 0) {
    if (const auto digests = encoder.digests(n)) {
      for (std::size_t i = 0; i < n; ++i) (*digests)[i] = ours::digest_of({keys[i], lengths[i]});
      made = encoder.encode(*digests, bits);
    }
  }
  const auto bytes = made ? *made : ours::filter_encoder::matches_all();
  char* out = static_cast<char*>(std::malloc(bytes.size()));
  if (out == nullptr) throw std::bad_alloc();
  std::memcpy(out, bytes.data(), bytes.size());
  *filter_length = bytes.size();
  return out;
}

uint8_t key_may_match(void*, const char* key, size_t length, const char* filter, size_t filter_length) {
  return ours::may_match(std::as_bytes(std::span(filter, filter_length)), std::string_view(key, length)) ? 1 : 0;
}

const char* name(void*) { return ours::builtin_policy_name.data(); }

}  // namespace

leveldb_filterpolicy_t* bloomery_leveldb_filterpolicy_create(int bits_per_key) {
  auto* state = new (std::nothrow) c_policy{bits_per_key > 0 ? static_cast<unsigned>(bits_per_key) : 0U};
  if (state == nullptr) return nullptr;
  return leveldb_filterpolicy_create(state, &destroy, &create_filter, &key_may_match, &name);
}

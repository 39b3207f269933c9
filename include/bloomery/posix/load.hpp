// posix/load.hpp: reads a native file into memory.
//
//     auto stored = bloomery::load<bloomery::bloom>("users.bloom");
//     if (!stored) return fail(stored.error());
//     auto hash = bloomery::hasher::make(stored->hash);
//     bool maybe = stored->filter.may_contain(hash->digest("alice", 5));
//
// Everything is checked as native/load.hpp describes. `path` may be a pipe or a device; such input is read into memory
// first. `read_header` returns what a file holds without reading the rest of it.
#pragma once

#include <bloomery/native/load.hpp>
#include <bloomery/posix/input.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {
BLOOMERY_API result<stored_payload> load_file(const char* path, const kind_loader& kind,
                                              const load_options& options) noexcept;
// As read_file, for what should be a filter: other streams are refused by their first bytes, and none is read further
// than its header states, however long it goes on.
BLOOMERY_API result<file_bytes> read_filter(const input_file& file, const memory_hooks* memory,
                                            std::uint64_t max_bytes) noexcept;
}  // namespace detail

// The bytes of a filter's file, read once, for input that cannot be read again (a pipe): call read_header_bytes for
// the kind, then load_bytes.
BLOOMERY_API result<file_bytes> read_filter(const char* path, const memory_hooks* memory = nullptr,
                                            std::uint64_t max_bytes = no_limit) noexcept;

template <filter_kind K>
result<stored_filter<K>> load(const char* path, const load_options& options = {}) noexcept {
  return detail::adopt_payload<K>(detail::load_file(path, detail::loader_of<K>(), options), options);
}

// The header of a file. Input that can be read only once (a pipe) is used up by this: see read_filter.
BLOOMERY_API result<file_header> read_header(const char* path) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/posix/load.cpp>
#endif

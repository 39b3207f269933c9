// posix/save.hpp: writes a filter as a native file.
//
//     auto saved = bloomery::save(*filter, hash.spec(), "users.bloom", {.replace = true});
//     if (!saved) report(saved.error());
//
// The file appears under its name whole or not at all (posix/output.hpp). native/save.hpp makes the bytes.
#pragma once

#include <bloomery/core/file_path.hpp>
#include <bloomery/native/save.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {
BLOOMERY_API result<void> save_file(const saved_content& content, const hash_spec& hash, const char* path,
                                    const save_options& options) noexcept;
}  // namespace detail

// Writes the file at `path`: see posix/output.hpp for what happens to what was there.
template <filter_kind K>
result<void> save(const K& filter, const hash_spec& hash, file_path path, const save_options& options = {}) noexcept {
  return detail::save_file(detail::content_of(filter), hash, path.c_str(), options);
}

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/posix/save.cpp>
#endif

// posix/names.hpp: names of files: paths without memory of their own, temporary names, renames, and folders synced
// after them. For posix/output.hpp.
#pragma once

#include <array>
#include <atomic>
#include <bloomery/core/result.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/posix/system.hpp>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI::detail {

struct path_text {
  std::array<char, PATH_MAX> text{};
  std::size_t length = 0;

  bool assign(std::string_view path) noexcept {
    length = 0;
    return append(path);
  }
  bool append(std::string_view more) noexcept {
    if (more.size() >= text.size() - length) return false;
    if (!more.empty()) std::memcpy(text.data() + length, more.data(), more.size());
    length += more.size();
    text[length] = '\0';
    return true;
  }
  [[nodiscard]] const char* c_str() const noexcept { return text.data(); }
  [[nodiscard]] std::string_view view() const noexcept { return {text.data(), length}; }
  // With the last slash; empty for a name in the current folder.
  [[nodiscard]] std::string_view folder() const noexcept { return view().substr(0, view().rfind('/') + 1); }
};

// Follows symbolic links of the last component, also to a file that does not exist yet.
BLOOMERY_API result<void> follow_links(path_text& path) noexcept;

// Hard to guess and different for every call; the exclusive creation is what makes it unique.
BLOOMERY_API std::uint64_t temporary_number() noexcept;

// A rename that fails with EEXIST instead of replacing.
BLOOMERY_API int rename_new(const char* from, const char* to) noexcept;

// Both files change their names, at once. -1 with errno EINVAL or ENOSYS where the system cannot.
BLOOMERY_API int exchange_names([[maybe_unused]] const char* one, [[maybe_unused]] const char* other) noexcept;

// The folder of a file that is to be renamed. A rename survives a power failure only once its folder is written. It is
// opened before the rename, because after it nothing may fail that need not; a folder that may not be read cannot be
// synced, and that is no error.
class folder_sync {
 public:
  static result<folder_sync> open(std::string_view folder) noexcept {
    folder_sync out;
    path_text path;
    path.assign(folder.empty() ? std::string_view{"."} : folder);
    out.fd_ = unique_fd(open_again(path.c_str(), O_RDONLY | O_DIRECTORY));
    if (!out.fd_.is_open() && errno != EACCES && errno != EPERM) return fail_errno("cannot open its folder", errno);
    return out;
  }
  // errc::not_synced: the file is in place. Some file systems cannot sync, which is no error either.
  [[nodiscard]] result<void> sync() const noexcept {
    if (!fd_.is_open()) return {};
    int synced = -1;
    do {
      synced = ::fsync(fd_.get());
    } while (synced != 0 && errno == EINTR);
    if (synced == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS) return {};
    std::array<char, 128> buffer{};
    return fail(errc::not_synced, error_words(::strerror_r(errno, buffer.data(), buffer.size()), buffer.data()));
  }

 private:
  folder_sync() noexcept = default;
  unique_fd fd_;
};

}  // namespace bloomery::inline BLOOMERY_ABI::detail

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/posix/names.cpp>
#endif

#include <bloomery/posix/names.hpp>

namespace bloomery::inline BLOOMERY_ABI::detail {

BLOOMERY_BODY result<void> follow_links(path_text& path) noexcept {
  constexpr int max_links = 40;
  for (int links = 0; links < max_links; ++links) {
    std::array<char, PATH_MAX> to{};
    const ssize_t size = ::readlink(path.c_str(), to.data(), to.size());
    if (size < 0) return {};  // not a link, or not there; the next call on it reports which
    const std::string_view next(to.data(), static_cast<std::size_t>(size));
    path_text joined;
    const bool fits = (next.starts_with('/') || joined.append(path.folder())) && joined.append(next);
    if (!fits) return fail_errno("cannot create", ENAMETOOLONG);
    path = joined;
  }
  return fail_errno("cannot create", ELOOP);
}

BLOOMERY_BODY std::uint64_t temporary_number() noexcept {
  static std::atomic<std::uint64_t> calls{0};
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  std::uint64_t number = mix64(static_cast<std::uint64_t>(now.tv_sec) * 1000000007ULL);
  number = mix64(number ^ static_cast<std::uint64_t>(now.tv_nsec));
  number = mix64(number ^ process_number());
  return mix64(number ^ calls.fetch_add(1, std::memory_order_relaxed));
}

BLOOMERY_BODY int rename_new(const char* from, const char* to) noexcept {
#ifdef RENAME_NOREPLACE
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
#endif
  if (::link(from, to) != 0) return -1;
  ::unlink(from);
  return 0;
}

BLOOMERY_BODY int exchange_names([[maybe_unused]] const char* one, [[maybe_unused]] const char* other) noexcept {
#ifdef RENAME_EXCHANGE
  return ::renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
#else
  errno = ENOSYS;
  return -1;
#endif
}

}  // namespace bloomery::inline BLOOMERY_ABI::detail

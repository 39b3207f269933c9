#include <bloomery/posix/input.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

BLOOMERY_BODY failure over_limit(std::uint64_t limit) noexcept {
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "needs more memory than the limit of %llu bytes allows",
                static_cast<unsigned long long>(limit));
  return fail(errc::unsupported, text.data());
}

}  // namespace detail
}  // namespace bloomery::inline BLOOMERY_ABI

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<file_bytes> read_file(const char* path, const memory_hooks* memory,
                                           std::uint64_t max_bytes) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  return detail::read_open_file(*file, memory, max_bytes,
                                [](std::span<const std::byte>) -> result<std::uint64_t> { return no_limit; });
}

}  // namespace bloomery::inline BLOOMERY_ABI

#include <bloomery/posix/input.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<file_bytes> read_file(const char* path, const memory_hooks* memory,
                                           std::uint64_t max_bytes) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  return detail::read_open_file(*file, memory, max_bytes,
                                [](std::span<const std::byte>) -> result<std::uint64_t> { return no_limit; });
}

}  // namespace bloomery::inline BLOOMERY_ABI

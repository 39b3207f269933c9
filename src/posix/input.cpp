#include <bloomery/posix/input.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<file_bytes> read_file(file_path path, const memory_hooks* memory,
                                           std::uint64_t max_bytes) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  const auto to_the_end = [](std::span<const std::byte>) -> result<std::uint64_t> { return no_limit; };
  return name_file(detail::read_open_file(*file, memory, max_bytes, to_the_end), path);
}

}  // namespace bloomery::inline BLOOMERY_ABI

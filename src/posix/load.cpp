#include <array>
#include <bloomery/native/text.hpp>
#include <bloomery/posix/load.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

BLOOMERY_BODY byte_source source_of(const input_file& file) noexcept {
  return {&file, file.size_bytes(), [](const void* from, std::uint64_t offset, std::span<std::byte> out) noexcept {
            return static_cast<const input_file*>(from)->read_at(offset, out);
          }};
}

BLOOMERY_BODY result<bool> begins_as_text(const input_file& file) noexcept {
  std::array<std::byte, 4096> first{};
  const auto seen = std::span(first).first(file.size_bytes() < first.size() ? file.size_bytes() : first.size());
  if (auto done = file.read_at(0, seen); !done) return fail(done.error());
  return is_text_form(seen);
}

BLOOMERY_BODY result<file_bytes> read_filter(const input_file& file, const memory_hooks* memory,
                                             std::uint64_t max_bytes) noexcept {
  return read_open_file(file, memory, max_bytes, [](std::span<const std::byte> first) -> result<std::uint64_t> {
    if (is_text_form(first)) return no_limit;
    const auto header = decode_header_area(first, first.size());
    if (!header) return fail(header.error());
    return header->file_bytes();
  });
}

BLOOMERY_BODY result<stored_payload> load_file(const char* path, const kind_loader& kind,
                                               const load_options& options) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  if (file->is_regular()) {
    const auto text = begins_as_text(*file);
    if (!text) return fail(text.error());
    if (!*text) return read_native(source_of(*file), kind, options);
  }
  const auto read = read_filter(*file, options.memory, options.max_bytes);
  if (!read) return fail(read.error());
  return read_native_bytes(read->bytes(), kind, options);
}

}  // namespace detail

BLOOMERY_BODY result<file_bytes> read_filter(const char* path, const memory_hooks* memory,
                                             std::uint64_t max_bytes) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  return detail::read_filter(*file, memory, max_bytes);
}

BLOOMERY_BODY result<file_header> read_header(const char* path) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  if (file->is_regular()) {
    const auto text = detail::begins_as_text(*file);
    if (!text) return fail(text.error());
    if (!*text) return detail::header_of(detail::source_of(*file));
  }
  const auto read = detail::read_filter(*file, nullptr, no_limit);
  if (!read) return fail(read.error());
  return read_header_bytes(read->bytes());
}

}  // namespace bloomery::inline BLOOMERY_ABI

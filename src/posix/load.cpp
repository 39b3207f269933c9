#include <algorithm>
#include <array>
#include <bloomery/native/text.hpp>
#include <bloomery/posix/load.hpp>
#include <optional>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

BLOOMERY_BODY byte_source source_of(const input_file& file) noexcept {
  return {&file, file.size_bytes(), [](const void* from, std::uint64_t offset, std::span<std::byte> out) noexcept {
            return static_cast<const input_file*>(from)->read_at(offset, out);
          }};
}

// As read_file, for what should be a filter: other streams are refused by their first bytes, and none is read further
// than its header states, however long it goes on. `header` is that of a native stream; else it stays empty.
BLOOMERY_BODY result<file_bytes> read_filter(const input_file& file, const memory_hooks* memory,
                                             std::uint64_t max_bytes, std::optional<file_header>& header) noexcept {
  return read_open_file(file, memory, max_bytes, [&](std::span<const std::byte> first) -> result<std::uint64_t> {
    if (is_text_form(first)) return no_limit;
    const auto decoded = decode_header_area(first, first.size());
    if (!decoded) return fail(decoded.error());
    header = *decoded;
    return decoded->file_bytes();
  });
}

}  // namespace detail

BLOOMERY_BODY result<native_file> native_file::read(const input_file& file, const load_options& options) noexcept {
  if (file.is_regular()) {
    std::array<std::byte, large_header_bytes> first{};
    const auto seen = std::span(first).first(to_size(std::min<std::uint64_t>(file.size_bytes(), first.size())));
    if (auto done = file.read_at(0, seen); !done) return fail(done.error());
    return read(file, seen, options);
  }
  std::optional<file_header> header;
  auto bytes = detail::read_filter(file, options.memory, options.max_bytes, header);
  if (!bytes) return fail(bytes.error());
  return header ? read(std::move(*bytes), *header) : read(std::move(*bytes));
}

BLOOMERY_BODY result<native_file> native_file::read(const input_file& file, std::span<const std::byte> first,
                                                    const load_options& options) noexcept {
  if (is_text_form(first)) {
    std::optional<file_header> none;
    auto bytes = detail::read_filter(file, options.memory, options.max_bytes, none);
    if (!bytes) return fail(bytes.error());
    return read(std::move(*bytes));
  }
  const auto header = decode_header(first, file.size_bytes());
  if (!header) return fail(header.error());
  native_file made;
  made.file_ = &file;
  made.decoded_.header = *header;
  return made;
}

BLOOMERY_BODY result<native_file> native_file::read(file_bytes bytes) noexcept {
  const auto decoded = detail::decode_file(bytes.bytes());
  if (!decoded) return fail(decoded.error());
  native_file made;
  made.bytes_ = std::move(bytes);
  made.decoded_ = *decoded;
  return made;
}

BLOOMERY_BODY result<native_file> native_file::read(file_bytes bytes, const file_header& header) noexcept {
  if (auto whole = detail::check_file_size(header, bytes.size); !whole) return fail(whole.error());
  native_file made;
  made.decoded_ = {header, bytes.bytes(), {}};
  made.bytes_ = std::move(bytes);
  return made;
}

BLOOMERY_BODY detail::byte_source native_file::source() const noexcept { return detail::source_of(*file_); }

BLOOMERY_BODY result<file_bytes> read_filter(file_path path, const memory_hooks* memory,
                                             std::uint64_t max_bytes) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  std::optional<file_header> header;
  return name_file(detail::read_filter(*file, memory, max_bytes, header), path.c_str());
}

BLOOMERY_BODY result<file_header> read_header(file_path path) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  const auto native = native_file::read(*file);
  if (!native) return name_file(fail(native.error()), path.c_str());
  return native->header();
}

}  // namespace bloomery::inline BLOOMERY_ABI

// posix/load.hpp: reads a native file into memory.
//
//     auto stored = bloomery::load<bloomery::bloom>("users.bloom");
//     if (!stored) return fail(stored.error());
//     auto hash = bloomery::hasher::make(stored->hash);
//     bool maybe = stored->filter.may_contain(hash->digest("alice", 5));
//
// Everything is checked as native/load.hpp describes. `path` may be a pipe or a device; such input, and a text, is read
// into memory first. `read_header` returns what a file holds without reading the rest of it.
//
// A file is opened once and its header decoded once. A program that needs the header before it loads does that, too:
//
//     auto input = bloomery::input_file::open("users.bloom");
//     auto file = bloomery::native_file::read(*input);
//     if (file->header().kind_id == bloomery::bloom::info.id) auto stored = bloomery::load<bloomery::bloom>(*file);
#pragma once

#include <bloomery/native/load.hpp>
#include <bloomery/posix/input.hpp>

namespace bloomery::inline BLOOMERY_ABI {

// A native file, or its text, that is open, and its header. Of a regular file nothing more is read yet; a pipe and a
// text are read to their ends.
class BLOOMERY_API native_file {
 public:
  // `file` must outlive the result.
  static result<native_file> read(const input_file& file, const load_options& options = {}) noexcept;
  // The same of a regular file whose first large_header_bytes, or all, were read before.
  static result<native_file> read(const input_file& file, std::span<const std::byte> first,
                                  const load_options& options = {}) noexcept;
  // Of bytes that were read before, all of them.
  static result<native_file> read(file_bytes bytes) noexcept;
  // The same, of which the header was decoded before, without the size of the file.
  static result<native_file> read(file_bytes bytes, const file_header& header) noexcept;

  [[nodiscard]] const file_header& header() const noexcept { return decoded_.header; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept {
    return file_ != nullptr ? file_->size_bytes() : bytes_.size;
  }
  // The file, if its payload can be mapped: it is regular, not packed and no text. Else nullptr.
  [[nodiscard]] const input_file* mappable_file() const noexcept {
    return header().codec == codec_none ? file_ : nullptr;
  }
  template <filter_kind K>
  [[nodiscard]] result<stored_filter<K>> load(const load_options& options) const noexcept {
    if (file_ == nullptr) return detail::load_decoded<K>(decoded_, options);
    return detail::load_source<K>(header(), source(), options);
  }

 private:
  native_file() noexcept = default;
  [[nodiscard]] detail::byte_source source() const noexcept;
  const input_file* file_ = nullptr;  // nullptr: it is in bytes_
  file_bytes bytes_{};
  detail::decoded_file decoded_{};
};

// The bytes of a filter's file, read once, for input that cannot be read again (a pipe): call read_header_bytes for
// the kind, then load_bytes.
BLOOMERY_API result<file_bytes> read_filter(file_path path, const memory_hooks* memory = nullptr,
                                            std::uint64_t max_bytes = no_limit) noexcept;

template <filter_kind K>
result<stored_filter<K>> load(const native_file& file, const load_options& options = {}) noexcept {
  return file.load<K>(options);
}
template <filter_kind K>
result<stored_filter<K>> load(const input_file& file, const load_options& options = {}) noexcept {
  const auto native = native_file::read(file, options);
  if (!native) return name_file(fail(native.error()), file.path());
  return name_file(load<K>(*native, options), file.path());
}
template <filter_kind K>
result<stored_filter<K>> load(file_path path, const load_options& options = {}) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  return load<K>(*file, options);
}

// The header of a file. Input that can be read only once (a pipe) is used up by this: see native_file.
BLOOMERY_API result<file_header> read_header(file_path path) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/posix/load.cpp>
#endif

#include <algorithm>
#include <array>
#include <bloomery/formats.hpp>
#include <bloomery/posix/buffered_output.hpp>

namespace bloomery::inline BLOOMERY_ABI::formats {

namespace detail {
namespace {

result<const format*> chosen(const detection_input& seen, const open_options& how) noexcept {
  return how.from.empty() ? detect(seen) : find_or_fail(how.from);
}

result<opened> open_native(const format& form, const result<native_file>& file, const open_options& how) noexcept {
  if (!file) return fail(file.error());
  auto filter = how.in_memory ? any_filter::load(*file, how.load) : any_filter::open(*file, how.load);
  if (!filter) return fail(filter.error());
  return opened{std::move(*filter), &form, file->size_bytes(), file->header().codec, file->header()};
}

// `header`: of a native stream, where it is known.
result<opened> open_read(file_bytes bytes, const std::optional<file_header>& header, const open_options& how) noexcept {
  const auto all = bytes.bytes();
  const auto form = chosen({all, all.size(), all.last(std::min(all.size(), last_detection_bytes))}, how);
  if (!form) return fail(form.error());
  if (!(*form)->is_native()) return open_foreign(**form, source_bytes(std::move(bytes)), how);
  return open_native(**form,
                     header ? native_file::read(std::move(bytes), *header) : native_file::read(std::move(bytes)), how);
}

}  // namespace
}  // namespace detail

result<const format*> find_or_fail(std::string_view name) noexcept {
  if (const format* found = find(name)) return found;
  return fail(errc::unknown_format, name);
}

result<opened> open_bytes(file_bytes bytes, const open_options& how) noexcept {
  return detail::open_read(std::move(bytes), {}, how);
}

namespace {

result<opened> open_file(const input_file& file, const open_options& how) noexcept {
  if (!file.is_regular()) {
    std::optional<file_header> header;
    auto read = bloomery::detail::read_stream(
        file, how.load.memory, how.load.max_bytes,
        [&](std::span<const std::byte> first) { return detail::stream_limit(first, how.from, &header); });
    if (!read) return fail(read.error());
    return detail::open_read(std::move(*read), header, how);
  }
  static_assert(detection_bytes >= large_header_bytes);
  std::array<std::byte, detection_bytes> first{};
  const auto seen = std::span(first).first(to_size(std::min<std::uint64_t>(file.size_bytes(), first.size())));
  if (auto done = file.read_at(0, seen); !done) return fail(done.error());
  std::array<std::byte, last_detection_bytes> last{};
  const auto seen_last = std::span(last).first(std::min(seen.size(), last.size()));
  if (auto done = file.read_at(file.size_bytes() - seen_last.size(), seen_last); !done) return fail(done.error());
  const auto form = detail::chosen({seen, file.size_bytes(), seen_last}, how);
  if (!form) return fail(form.error());
  if ((*form)->is_native()) return detail::open_native(**form, native_file::read(file, seen, how.load), how);
  if (seen.empty()) return detail::open_foreign(**form, source_bytes(), how);
  auto mapping = file_mapping::open(file);
  if (!mapping) return fail(mapping.error());
  return detail::open_foreign(**form, source_bytes(std::move(*mapping)), how);
}

}  // namespace

result<opened> open(const input_file& file, const open_options& how) noexcept {
  return name_file(open_file(file, how), file.path());
}

result<opened> open(file_path path, const open_options& how) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  return open(*file, how);
}

bool holds(const format& form, const any_filter& filter) noexcept {
  if (form.is_native()) return filter.info().id < first_foreign_id;
  return form.holds != nullptr && form.holds(filter);
}

result<void> save_to(const any_filter& filter, const format& form, const byte_sink& sink, const save_options& how,
                     const format_options& options) noexcept {
  if (form.is_native()) {
    save_options native = how;
    native.text = form.name == "text";
    return filter.save_to(sink, native);
  }
  return detail::save_foreign(filter, form, sink, how, options);
}

namespace {
// Apart from the file's names, so that neither takes much stack.
__attribute__((noinline)) result<void> save_buffered(const any_filter& filter, const format& form, output_file& file,
                                                     const save_options& how, const format_options& options) noexcept {
  bloomery::detail::buffered_output buffered(file);
  if (auto done = detail::save_foreign(filter, form, byte_sink(buffered), how, options); !done) return done;
  return buffered.flush();
}
}  // namespace

result<void> save(const any_filter& filter, const format& form, file_path path, const save_options& how,
                  const format_options& options) noexcept {
  if (!holds(form, filter)) return fail(errc::not_in_format, form.name);
  if (form.is_native()) {
    save_options native = how;
    native.text = form.name == "text";
    return filter.save(path, native);
  }
  auto file = output_file::open(path.c_str(), how.replace);
  if (!file) return fail(file.error());
  if (auto done = save_buffered(filter, form, *file, how, options); !done) return name_file(done, path.c_str());
  return file->commit();
}

}  // namespace bloomery::inline BLOOMERY_ABI::formats

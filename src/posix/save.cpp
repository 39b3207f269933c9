#include <bloomery/posix/buffered_output.hpp>
#include <bloomery/posix/save.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

// Apart from the file's names, so that neither takes much stack.
__attribute__((noinline)) BLOOMERY_BODY result<void> write_buffered(const file_image& image, output_file& file,
                                                                    bool text) noexcept {
  buffered_output buffered(file);
  if (auto done = write_image(image, byte_sink(buffered), text); !done) return done;
  return buffered.flush();
}

BLOOMERY_BODY result<void> save_file(const saved_content& content, const hash_spec& hash, const char* path,
                                     const save_options& options) noexcept {
  auto file = output_file::open(path, options.replace);
  if (!file) return fail(file.error());
  const auto image = make_image(content, hash, options);
  if (!image) return name_file(fail(image.error()), path);
  if (auto done = write_buffered(*image, *file, options.text); !done) return name_file(done, path);
  return file->commit();
}

}  // namespace detail

}  // namespace bloomery::inline BLOOMERY_ABI

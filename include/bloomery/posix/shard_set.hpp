// posix/shard_set.hpp: the files of a filter in shards: FILE.00-of-04 to FILE.03-of-04, each a native file of its own.
//
// Writing: every file is written, synced and closed under a hidden name first; only when all of them are whole do they
// get their names, one by one (posix/output_set.hpp). If that fails midway, or a signal ends the program, the old files
// get their names back; if a power failure falls between two names, the stamp of the set distinguishes the old files
// from the new, and reading refuses. Old and new files are all there then, some of them under hidden names.
//
// Reading: each file must be the shard that its name states, of as many, and of the same set as the first.
//
// An error in one shard is errc::bad_shard; its text begins with the shard ("02-of-04 is cut short..."), number[0] is
// the shard's number, its remedy is that of the error, and its path that of the set.
#pragma once

#include <dirent.h>

#include <array>
#include <bloomery/native/shard.hpp>
#include <bloomery/posix/buffered_output.hpp>
#include <bloomery/posix/load.hpp>
#include <bloomery/posix/output.hpp>
#include <bloomery/posix/output_set.hpp>
#include <bloomery/posix/save.hpp>
#include <cerrno>
#include <string_view>

namespace bloomery::inline BLOOMERY_ABI {

// FILE.02-of-04
struct shard_path {
  detail::path_text text{};
  bool fits = false;
  shard_path(const char* path, unsigned index, unsigned count) noexcept
      : fits(text.assign(path) && text.append(".") && text.append(shard_label(index, count).c_str())) {}
  [[nodiscard]] const char* c_str() const noexcept { return text.c_str(); }
};

BLOOMERY_API failure fail_shard(unsigned index, unsigned count, std::string_view what) noexcept;
BLOOMERY_API failure fail_shard(unsigned index, unsigned count, const error& why) noexcept;

namespace detail {

// The two smallest sets of which one shard is there, by their number of shards; 0: none.
struct set_sizes {
  unsigned least = 0;
  unsigned next = 0;

  void note(unsigned count) noexcept {
    if (least == 0 || count < least) {
      next = least;
      least = count;
    } else if (count != least && (next == 0 || count < next)) {
      next = count;
    }
  }
};
// Those of shard 0, and of shard 1.
using found_sets = std::array<set_sizes, 2>;

}  // namespace detail

// Of how many shards the set with this name is; 0 when there is none. Sets of several sizes are an error.
BLOOMERY_API result<unsigned> find_shards(const char* path) noexcept;

// Whether a file is the shard that it should be; `first` is the place of the set's first shard.
BLOOMERY_API result<void> check_place(const shard_place& found, unsigned index, unsigned count,
                                      const shard_place& first) noexcept;

namespace detail {

// A sink that makes one number of the bytes.
class stamping_sink {
 public:
  result<void> operator()(std::span<const std::byte> bytes) noexcept {
    value_ = mix64(value_ ^ xxh3{}(bytes.data(), bytes.size()));
    return {};
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0;
};

// Writes one shard to its file. The names are in other frames of the stack.
template <class Write>
__attribute__((noinline)) result<void> stage_shard(output_file& file, unsigned index, const save_options& how,
                                                   Write& write) noexcept {
  buffered_output buffered(file);
  if (auto done = write(index, byte_sink(buffered), how); !done) return done;
  if (auto done = buffered.flush(); !done) return done;
  return file.stage();
}

__attribute__((noinline)) inline result<output_file> open_shard(const char* path, unsigned index, unsigned count,
                                                                bool replace) noexcept {
  const shard_path name(path, index, count);
  if (!name.fits) return fail_errno("cannot create", ENAMETOOLONG);
  auto file = output_file::open(name.c_str(), replace);
  if (!file) return fail_shard(index, count, file.error());
  return file;
}

// What is written must be out of the way before the first file gets its name.
template <class Write>
result<void> stage_shards(const char* path, unsigned count, const save_options& options, Write& write,
                          output_set& files) noexcept {
  save_options how = options;
  how.shard.count = count;
  for (unsigned i = 0; i < count; ++i) {
    auto file = open_shard(path, i, count, options.replace);
    if (!file) return fail(file.error());
    how.shard.index = i;
    if (auto done = stage_shard(*file, i, how, write); !done) return fail_shard(i, count, done.error());
    files.add(std::move(*file));
  }
  return {};
}

}  // namespace detail

// Writes a set. `write(i, sink, options)` saves shard i as save_to does; it is called twice for each.
template <class Write>
result<void> save_shards(const char* path, unsigned count, const save_options& options, Write&& write) noexcept {
  if (auto usable = check_shards(count); !usable) return usable;
  const auto there = find_shards(path);
  if (!there) return fail(there.error());
  if (*there != 0 && *there != count) return name_file(fail(errc::two_shard_sets, {}, {*there, count}), path);
  save_options how = options;
  how.shard = {};
  save_options plain{.memory = options.memory};
  for (unsigned i = 0; i < count; ++i) {
    detail::stamping_sink stamp;
    if (auto done = write(i, byte_sink(stamp), plain); !done) {
      return name_file(fail_shard(i, count, done.error()), path);
    }
    how.shard.stamp += mix64(stamp.value() + i);
  }
  output_set files;
  if (auto room = files.reserve(count, options.memory); !room) return room;
  if (auto done = detail::stage_shards(path, count, how, write, files); !done) {
    return name_file(done, path);
  }
  unsigned where = 0;
  const auto done = files.commit(where);
  if (!done && done.error().code != errc::not_synced) {
    return name_file(fail_shard(where, count, done.error()), path);
  }
  return name_file(done, path);
}

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/posix/shard_set.cpp>
#endif

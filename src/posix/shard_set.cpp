#include <bloomery/posix/shard_set.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY failure fail_shard(unsigned index, unsigned count, std::string_view what) noexcept {
  error_text text;
  text.append(shard_label(index, count).c_str());
  text.append(" ");
  text.append(what);
  return fail(errc::bad_shard, text.view(), {index});
}

BLOOMERY_BODY failure fail_shard(unsigned index, unsigned count, const error& why) noexcept {
  failure of_shard = fail_shard(index, count, sentence_of(why).view());
  of_shard.value().advice = why.advice;
  return of_shard;
}

}  // namespace bloomery::inline BLOOMERY_ABI

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

BLOOMERY_BODY bool shard_exists(const char* path, unsigned index, unsigned count) noexcept {
  const shard_path name(path, index, count);
  return name.fits && ::access(name.c_str(), F_OK) == 0;
}

// The number of shards in a label such as "00-of-16" of this shard; 0 for any other text.
BLOOMERY_BODY unsigned count_in_label(std::string_view text, unsigned index) noexcept {
  constexpr std::string_view middle = "-of-";
  const std::size_t at = text.find(middle);
  if (at == std::string_view::npos) return 0;
  unsigned count = 0;
  for (const char c : text.substr(at + middle.size())) {
    if (c < '0' || c > '9' || count > max_shards) return 0;
    count = count * 10 + static_cast<unsigned>(c - '0');
  }
  return index < count && count <= max_shards && text == shard_label(index, count).c_str() ? count : 0;
}

// Reads the folder, which takes a few system calls. False where that cannot be done: a folder that may be searched but
// not listed, or one so large that looking up every name takes less time.
BLOOMERY_BODY bool list_sets(const char* path, found_sets& found) noexcept {
  constexpr unsigned most_entries = 4 * max_shards;
  path_text folder;
  const std::string_view whole(path);
  const std::string_view name = whole.substr(whole.rfind('/') + 1);
  if (!folder.assign(whole.substr(0, whole.size() - name.size())) || !folder.append(".")) return false;
  DIR* const list = ::opendir(folder.c_str());
  if (list == nullptr) return errno == ENOENT || errno == ENOTDIR;
  bool read_all = false;
  for (unsigned i = 0; i < most_entries; ++i) {
    errno = 0;
    const dirent* const entry = ::readdir(list);
    read_all = entry == nullptr && errno == 0;
    if (entry == nullptr) break;
    const std::string_view text(entry->d_name);
    if (text.size() <= name.size() || text[name.size()] != '.' || text.substr(0, name.size()) != name) continue;
    for (unsigned index = 0; index < found.size(); ++index) {
      const unsigned count = count_in_label(text.substr(name.size() + 1), index);
      if (count != 0 && shard_exists(path, index, count)) found[index].note(count);  // a link may lead nowhere
    }
  }
  ::closedir(list);
  return read_all;
}

// Looks up every name that there may be.
BLOOMERY_BODY found_sets probe_sets(const char* path) noexcept {
  found_sets found{};
  for (unsigned index = 0; index < found.size(); ++index) {
    for (unsigned count = index + 1; count <= max_shards; ++count) {
      if (shard_exists(path, index, count)) found[index].note(count);
    }
  }
  return found;
}

}  // namespace detail
}  // namespace bloomery::inline BLOOMERY_ABI

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY result<unsigned> find_shards(const char* path) noexcept {
  detail::found_sets found{};
  if (!detail::list_sets(path, found)) found = detail::probe_sets(path);
  const auto& [first, second] = found;
  if (first.least == 0) return second.least;  // then loading reports that the first is missing
  if (first.next != 0) return name_file(fail(errc::two_shard_sets, {}, {first.least, first.next}), path);
  return first.least;
}

BLOOMERY_BODY result<void> check_place(const shard_place& found, unsigned index, unsigned count,
                                       const shard_place& first) noexcept {
  if (found.count == 0) return fail_shard(index, count, "is no shard but a whole filter: give the file of that shard");
  if (found.index != index || found.count != count) {
    error_text text;
    text.append("holds shard ");
    text.append(shard_label(found.index, found.count).c_str());
    text.append(": give the file of that shard");
    return fail_shard(index, count, text.view());
  }
  if (found.stamp != first.stamp) {
    return fail_shard(index, count, "belongs to another set than shard 00: give the files that were saved together");
  }
  return {};
}

}  // namespace bloomery::inline BLOOMERY_ABI

// support.hpp: what the tests of the native file share: samples of every kind, bytes in and out of files, memory that
// counts and refuses.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <bloomery/core/bytes.hpp>
#include <bloomery/kinds.hpp>
#include <bloomery/native/load.hpp>
#include <bloomery/native/save.hpp>
#include <bloomery/posix/mapped.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace bloomery::test {

using bytes = std::vector<std::byte>;

template <class List>
struct types_of;
template <class... Ts>
struct types_of<type_list<Ts...>> {
  using type = ::testing::Types<Ts...>;
};
using all_kinds = types_of<kind_list>::type;
using mapped_kinds = ::testing::Types<bloom, blocked, window>;

inline void enable_everything() {
  enable_codecs();
  enable_bitmap();
}

struct kind_names {
  template <class K>
  static std::string GetName(int /*index*/) {
    return std::string(K::info.name);
  }
};

// Digest of sample key i; a sample of n keys holds those below n.
inline std::uint64_t sample_digest(std::uint64_t i) { return mix64(i + 1); }

template <class K>
hash_spec sample_hash() {
  return {.id = K::info.integer_keys ? identity::info.id : xxh3::info.id,
          .seed = K::info.integer_keys ? std::uint64_t{0} : std::uint64_t{7}};
}

template <class K>
K sample(std::uint64_t keys, const memory_hooks* memory = nullptr) {
  enable_everything();
  std::vector<std::uint64_t> digests(keys);
  for (std::uint64_t i = 0; i < keys; ++i) digests[i] = K::info.integer_keys ? 7 * i : sample_digest(i);
  if constexpr (static_kind<K>) {
    auto filter = K::build({.fpr = 0.01, .memory = memory}, digests, 1);
    if (!filter) ADD_FAILURE() << describe(filter.error()).c_str();
    return std::move(*filter);
  } else {
    auto filter = K::make({.keys = keys, .fpr = 0.01, .memory = memory});
    if (!filter) ADD_FAILURE() << describe(filter.error()).c_str();
    for (const std::uint64_t digest : digests) filter->insert(digest);
    return std::move(*filter);
  }
}

template <class K>
bytes saved(const K& filter, const save_options& options = {}) {
  memory_sink sink;
  const auto done = save_to(filter, sample_hash<K>(), byte_sink(sink), options);
  if (!done) ADD_FAILURE() << describe(done.error()).c_str();
  return {sink.bytes().begin(), sink.bytes().end()};
}

// A file with these fields and this stored payload, and the right checksums for both.
inline bytes assemble(const file_header& header, const bytes& stored) {
  detail::file_image image;
  image.header = header;
  image.stored = stored;
  memory_sink sink;
  const auto done = detail::write_native(image, byte_sink(sink));
  if (!done) ADD_FAILURE() << describe(done.error()).c_str();
  return {sink.bytes().begin(), sink.bytes().end()};
}

// Makes the checksum of a small header right again.
inline void seal_header(bytes& file) {
  const std::size_t at = small_header_bytes - checksum_bytes;
  store_le(file.data() + at, xxh3{}(file.data(), at));
}

template <class R>
std::string error_of(const R& outcome) {
  return outcome ? std::string("no error") : std::string(describe(outcome.error()).view());
}

template <class K>
std::string load_error(const bytes& file, const load_options& options = {}) {
  return error_of(load_bytes<K>(file, options));
}

// A folder of its own for each test, removed at its end.
class folder {
 public:
  folder() {
    static std::atomic<int> count{0};
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string("bloomery-") + test->test_suite_name() + "-" + test->name() + "-" +
                       std::to_string(::getpid()) + "-" + std::to_string(count++);
    for (char& c : name) c = c == '/' ? '-' : c;
    path_ = std::filesystem::path(::testing::TempDir()) / name;
    std::filesystem::create_directories(path_);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  std::filesystem::path path_;
};

inline void write_bytes(const std::string& path, const bytes& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
}
inline bytes read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  bytes content;
  for (std::istreambuf_iterator<char> at(file), end; at != end; ++at) content.push_back(static_cast<std::byte>(*at));
  return content;
}
inline bytes as_bytes(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

// Memory that counts what is asked for, and refuses the n-th request (from 0).
struct counting_memory {
  std::uint64_t refuse_at = ~std::uint64_t{0};
  std::uint64_t requests = 0;
  std::uint64_t largest = 0;
  std::uint64_t live = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t most_bytes = 0;  // at any time
  memory_hooks hooks{.allocate = allocate, .release = release, .context = this};

  counting_memory() = default;
  explicit counting_memory(std::uint64_t refused) : refuse_at(refused) {}
  counting_memory(const counting_memory&) = delete;
  counting_memory& operator=(const counting_memory&) = delete;

  static void* allocate(void* context, std::size_t size, std::size_t alignment) {
    auto& self = *static_cast<counting_memory*>(context);
    if (size > self.largest) self.largest = size;
    if (self.requests++ == self.refuse_at) return nullptr;
    void* memory = default_memory().allocate(nullptr, size, alignment);
    self.live += memory != nullptr ? 1 : 0;
    self.live_bytes += memory != nullptr ? size : 0;
    self.most_bytes = std::max(self.most_bytes, self.live_bytes);
    return memory;
  }
  static void release(void* context, void* memory, std::size_t size, std::size_t alignment) {
    --static_cast<counting_memory*>(context)->live;
    static_cast<counting_memory*>(context)->live_bytes -= size;
    default_memory().release(nullptr, memory, size, alignment);
  }
};

}  // namespace bloomery::test

#include "cli/dedup_state.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bloomery/core/bytes.hpp>
#include <bloomery/file/load.hpp>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace bloomery::cli {
namespace {

constexpr std::string_view magic("BLMYDUP\0", 8);
constexpr std::uint32_t version = 1;
constexpr std::uint64_t data_at = 4096;
constexpr std::array<std::uint64_t, 2> commit_at = {512, 1024};
constexpr std::size_t commit_bytes = 40;

std::uint64_t load64(const char* at) { return load_le<std::uint64_t>(reinterpret_cast<const std::byte*>(at)); }
void store64(char* at, std::uint64_t value) { store_le(reinterpret_cast<std::byte*>(at), value); }

outcome<std::uint64_t> hash_of(const spill_file& file, std::uint64_t size) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  if (state == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset(state.get());
  std::string block;
  for (std::uint64_t at = 0; at < size;) {
    block.resize(static_cast<std::size_t>(std::min<std::uint64_t>(size - at, std::uint64_t{1} << 20U)));
    if (auto done = file.read(at, std::span(block)); !done) return failed(done.error());
    XXH3_64bits_update(state.get(), block.data(), block.size());
    at += block.size();
  }
  return XXH3_64bits_digest(state.get());
}

}  // namespace

dedup_state::dedup_state(dedup_state&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      is_new_(other.is_new_),
      last_(other.last_) {}

dedup_state::~dedup_state() {
  if (descriptor_ < 0) return;
  if (is_new_) unlink(path_.c_str());
  close(descriptor_);
}

outcome<dedup_state> dedup_state::open(const std::string& path) {
  int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const bool missing = descriptor < 0 && errno == ENOENT;
  if (missing) descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0 && errno == EISDIR) return fail_file(path, make_error(errc::is_directory));
  if (descriptor < 0) {
    return fail_file(path, fmt::format("cannot {}: {}", missing ? "create" : "open", std::strerror(errno)));
  }
  dedup_state state(descriptor, path);
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    return fail_file(path, "is not an ordinary file: give one, or a name that is not there yet");
  }
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return fail_file(path, "is being used by another dedup: try again when that is done");
  }
  // One that was made and left at once is as good as none.
  if (missing || status.st_size == 0) {
    state.is_new_ = missing;
    if (auto begun = state.begin(); !begun) return failed(begun.error());
    return state;
  }
  if (auto read = state.read_front(); !read) return failed(read.error());
  return state;
}

outcome<void> dedup_state::begin() {
  std::string front(static_cast<std::size_t>(data_at), '\0');
  front.replace(0, magic.size(), magic);
  store_le(reinterpret_cast<std::byte*>(front.data()) + 8, version);
  if (pwrite(descriptor_, front.data(), front.size(), 0) != static_cast<ssize_t>(front.size())) {
    return fail_file(path_, fmt::format("cannot write: {}", std::strerror(errno)));
  }
  last_.data_hash = XXH3_64bits(nullptr, 0);
  return write_commit({.generation = 1, .data_hash = last_.data_hash});
}

outcome<void> dedup_state::read_front() {
  std::array<char, data_at> front{};
  const ssize_t got = pread(descriptor_, front.data(), front.size(), 0);
  if (got < 0) return fail_file(path_, fmt::format("cannot read: {}", std::strerror(errno)));
  if (static_cast<std::size_t>(got) < magic.size() || std::string_view(front.data(), magic.size()) != magic) {
    return fail_file(path_, read_header(path_.c_str()) ? "is a filter, which only --approx can continue: give --approx"
                                                       : "is not the state of a dedup: give one, or a new name");
  }
  const auto stored_version = load_le<std::uint32_t>(reinterpret_cast<const std::byte*>(front.data()) + 8);
  if (stored_version != version) {
    return fail_file(path_, fmt::format("is a state of version {}, this program reads version {}: use a newer bloomery",
                                        stored_version, version));
  }
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) return fail_file(path_, std::strerror(errno));
  for (const std::uint64_t at : commit_at) {
    const char* const record = front.data() + at;
    if (load64(record + 32) != XXH3_64bits(record, 32)) continue;
    if (load64(record) > last_.generation) {
      last_ = {load64(record), load64(record + 8), load64(record + 16), load64(record + 24)};
    }
  }
  if (last_.generation == 0) return fail_file(path_, "is damaged: neither of its commit records is whole");
  if (static_cast<std::uint64_t>(status.st_size) < data_at ||
      last_.data_bytes > static_cast<std::uint64_t>(status.st_size) - data_at) {
    return fail_file(path_, fmt::format("is cut short: it should have {} bytes and has {}", data_at + last_.data_bytes,
                                        status.st_size));
  }
  return {};
}

outcome<dedup_memory> dedup_state::load(const hasher& hash) {
  const int again = fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (again < 0) return fail_file(path_, std::strerror(errno));
  dedup_memory known{dedup_store(spill_file::named(again, path_, data_at, last_.data_bytes), false),
                     std::make_unique<dedup_table>()};
  const auto found = hash_of(known.store.file(), last_.data_bytes);
  if (!found) return failed(found.error());
  if (*found != last_.data_hash) return fail_file(path_, "is damaged: its lines are not what was written");
  spill_reader reader(known.store.file(), std::size_t{1} << 20U);
  while (!reader.at_end()) {
    const std::uint64_t offset = reader.position();
    const auto size = reader.number();
    if (!size) return failed(size.error());
    const auto key = reader.bytes(*size);
    if (!key) return failed(key.error());
    if (known.store.size() >= dedup_table::max_ordinal) return fail_file(path_, "holds more lines than can be used");
    known.table->insert(hash.digest(key->data(), key->size()), static_cast<std::uint32_t>(known.store.size()));
    known.store.adopt(offset);
  }
  if (known.store.size() != last_.keys) {
    return fail_file(path_, fmt::format("is damaged: it holds {} lines and says {}", known.store.size(), last_.keys));
  }
  return known;
}

outcome<void> dedup_state::commit(dedup_store& store) {
  if (auto flushed = store.flush(); !flushed) return flushed;
  const std::uint64_t size = store.file().flushed_bytes();
  const auto hash = hash_of(store.file(), size);
  if (!hash) return failed(hash.error());
  if (ftruncate(descriptor_, static_cast<off_t>(data_at + size)) != 0 || fdatasync(descriptor_) != 0) {
    return fail_file(path_, fmt::format("cannot write: {}", std::strerror(errno)));
  }
  const commit_record record{last_.generation + 1, size, store.size(), *hash};
  if (auto written = write_commit(record); !written) return written;
  last_ = record;
  is_new_ = false;
  return {};
}

outcome<void> dedup_state::write_commit(const commit_record& record) {
  std::array<char, commit_bytes> bytes{};
  store64(bytes.data(), record.generation);
  store64(bytes.data() + 8, record.data_bytes);
  store64(bytes.data() + 16, record.keys);
  store64(bytes.data() + 24, record.data_hash);
  store64(bytes.data() + 32, XXH3_64bits(bytes.data(), 32));
  const auto at = static_cast<off_t>(commit_at[record.generation % commit_at.size()]);
  if (pwrite(descriptor_, bytes.data(), bytes.size(), at) != static_cast<ssize_t>(bytes.size()) ||
      fdatasync(descriptor_) != 0) {
    return fail_file(path_, fmt::format("cannot write: {}", std::strerror(errno)));
  }
  last_.generation = record.generation;
  return {};
}

}  // namespace bloomery::cli

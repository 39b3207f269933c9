#include "cli/dedup/state.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bloomery/core/bytes.hpp>
#include <bloomery/posix/load.hpp>
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

std::uint64_t load64(const char* at) { return load_le<std::uint64_t>(reinterpret_cast<const std::byte*>(at)); }
void store64(char* at, std::uint64_t value) { store_le(reinterpret_cast<std::byte*>(at), value); }

std::uint64_t slot_of(std::uint64_t generation) { return commit_at[generation % commit_at.size()]; }

// Calls that a signal interrupts are made again.
template <class F>
int retried(const F& call) {
  int done = -1;
  do {
    done = call();
  } while (done < 0 && errno == EINTR);
  return done;
}
bool sync_data(int descriptor) {
  return retried([&] { return fdatasync(descriptor); }) == 0;
}
bool cut_file(int descriptor, std::uint64_t size) {
  return retried([&] { return ftruncate(descriptor, static_cast<off_t>(size)); }) == 0;
}
failed cannot_write(const std::string& path) {
  return fail_file(path, fmt::format("cannot write: {}", std::strerror(errno)));
}

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
      was_empty_(other.was_empty_),
      is_dirty_(other.is_dirty_),
      slot_is_dirty_(other.slot_is_dirty_),
      last_(other.last_),
      slot_before_(other.slot_before_) {}

dedup_state::~dedup_state() {
  if (descriptor_ < 0) return;
  restore();
  close(descriptor_);
}

void dedup_state::restore() noexcept {
  if (is_new_) {
    unlink(path_.c_str());
    return;
  }
  if (was_empty_) {
    cut_file(descriptor_, 0);
    return;
  }
  if (slot_is_dirty_) {
    // As long as the disk may have the record it must keep the keys that belong to it. Then the state is the new one.
    const std::string_view before(slot_before_.data(), slot_before_.size());
    if (!write_at(descriptor_, before, slot_of(last_.generation + 1)) || !sync_data(descriptor_)) return;
  }
  if (is_dirty_) cut_file(descriptor_, data_at + last_.data_bytes);
}

outcome<dedup_state> dedup_state::open(const std::string& path) {
  int descriptor = retried([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC); });
  const bool missing = descriptor < 0 && errno == ENOENT;
  if (missing) {
    descriptor = retried([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
  }
  if (descriptor < 0 && errno == EISDIR) return fail_file(path, make_error(errc::is_directory));
  if (descriptor < 0) {
    return fail_file(path, fmt::format("cannot {}: {}", missing ? "create" : "open", std::strerror(errno)));
  }
  dedup_state state(descriptor, path);
  state.is_new_ = missing;
  if (auto locked = state.lock(); !locked) return failed(locked.error());
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return fail_file(path, fmt::format("cannot open: {}", std::strerror(errno)));
  // An empty file, created and not written, counts as none.
  state.is_new_ = missing && status.st_size == 0;
  if (status.st_size == 0) {
    state.was_empty_ = true;
    if (auto begun = state.begin(); !begun) return failed(begun.error());
    return state;
  }
  if (auto read = state.read_front(); !read) return failed(read.error());
  return state;
}

outcome<void> dedup_state::lock() {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) return fail_file(path_, fmt::format("cannot open: {}", std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) {
    return fail_file(path_, "is not an ordinary file: give one, or a name that is not there yet");
  }
  const int locked = retried([&] { return flock(descriptor_, LOCK_EX | LOCK_NB); });
  if (locked != 0 && errno != EWOULDBLOCK) {
    return fail_file(path_, fmt::format("cannot lock: {}", std::strerror(errno)));
  }
  // One that had no name any more when it was locked was that of a first run which failed.
  if (locked == 0 && fstat(descriptor_, &status) == 0 && status.st_nlink != 0) return {};
  is_new_ = false;  // the holder of the lock handles it
  return fail_file(path_, "is being used by another dedup: try again when that is done");
}

// In one call, so that an interrupted run leaves a complete state or nothing.
outcome<void> dedup_state::begin() {
  const commit_record first{.generation = 1, .data_hash = XXH3_64bits(nullptr, 0)};
  std::string front(static_cast<std::size_t>(data_at), '\0');
  front.replace(0, magic.size(), magic);
  store_le(reinterpret_cast<std::byte*>(front.data()) + 8, version);
  const auto record = encoded(first);
  front.replace(static_cast<std::size_t>(slot_of(first.generation)), record.size(), record.data(), record.size());
  if (!write_at(descriptor_, front, 0) || !sync_data(descriptor_)) return cannot_write(path_);
  last_ = first;
  return {};
}

outcome<void> dedup_state::read_front() {
  std::array<char, data_at> front{};
  const auto got = read_at(descriptor_, front, 0);
  if (!got) return fail_file(path_, fmt::format("cannot read: {}", std::strerror(errno)));
  if (*got < magic.size() || std::string_view(front.data(), magic.size()) != magic) {
    const auto input = input_file::adopt(detail::unique_fd(fcntl(descriptor_, F_DUPFD_CLOEXEC, 0)));
    return fail_file(path_, input && native_file::read(*input)
                                ? "is a filter, which only --approx can continue: give --approx"
                                : "is not the state of a dedup: give one, or a new name");
  }
  const auto stored_version = load_le<std::uint32_t>(reinterpret_cast<const std::byte*>(front.data()) + 8);
  if (stored_version != version) {
    return fail_file(path_, fmt::format("is a state of version {}, this program reads version {}: use a newer bloomery",
                                        stored_version, version));
  }
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) return fail_file(path_, fmt::format("cannot read: {}", std::strerror(errno)));
  for (const std::uint64_t at : commit_at) {
    const char* const record = front.data() + at;
    if (load64(record + 32) != XXH3_64bits(record, 32)) continue;
    if (load64(record) > last_.generation) {
      last_ = {load64(record), load64(record + 8), load64(record + 16), load64(record + 24)};
    }
  }
  if (last_.generation == 0) return fail_file(path_, "is damaged: neither of its commit records is intact");
  if (static_cast<std::uint64_t>(status.st_size) < data_at ||
      last_.data_bytes > static_cast<std::uint64_t>(status.st_size) - data_at) {
    return fail_file(path_, fmt::format("is cut short: it should have {} bytes and has {}", data_at + last_.data_bytes,
                                        status.st_size));
  }
  std::memcpy(slot_before_.data(), front.data() + slot_of(last_.generation + 1), slot_before_.size());
  return {};
}

outcome<dedup_memory> dedup_state::load(const hasher& hash) {
  const int copy = fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return fail_file(path_, fmt::format("cannot open: {}", std::strerror(errno)));
  spill_file file = spill_file::named(copy, path_, data_at, last_.data_bytes);
  is_dirty_ = true;
  dedup_memory known{dedup_store(std::move(file), false), std::make_unique<dedup_table>()};
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
    return fail_file(path_, fmt::format("is damaged: it holds {} lines instead of {}", known.store.size(), last_.keys));
  }
  return known;
}

outcome<void> dedup_state::commit(dedup_store& store) {
  if (auto flushed = store.flush(); !flushed) return flushed;
  const std::uint64_t size = store.file().flushed_bytes();
  const auto hash = hash_of(store.file(), size);
  if (!hash) return failed(hash.error());
  if (!cut_file(descriptor_, data_at + size) || !sync_data(descriptor_)) return cannot_write(path_);
  const commit_record record{last_.generation + 1, size, store.size(), *hash};
  if (auto written = write_commit(record); !written) return written;
  std::memcpy(slot_before_.data(), encoded(last_).data(), slot_before_.size());
  last_ = record;
  is_new_ = was_empty_ = is_dirty_ = slot_is_dirty_ = false;
  return {};
}

std::array<char, dedup_state::commit_bytes> dedup_state::encoded(const commit_record& record) {
  std::array<char, commit_bytes> bytes{};
  store64(bytes.data(), record.generation);
  store64(bytes.data() + 8, record.data_bytes);
  store64(bytes.data() + 16, record.keys);
  store64(bytes.data() + 24, record.data_hash);
  store64(bytes.data() + 32, XXH3_64bits(bytes.data(), 32));
  return bytes;
}

outcome<void> dedup_state::write_commit(const commit_record& record) {
  const auto bytes = encoded(record);
  slot_is_dirty_ = true;
  if (!write_at(descriptor_, {bytes.data(), bytes.size()}, slot_of(record.generation)) || !sync_data(descriptor_)) {
    return cannot_write(path_);
  }
  return {};
}

}  // namespace bloomery::cli

#include <bloomery/posix/output.hpp>

namespace bloomery::inline BLOOMERY_ABI {

BLOOMERY_BODY const char* pending_temporary(std::size_t slot) noexcept {
  if (slot >= detail::temporary_slots.size()) return nullptr;
  const auto& found = detail::temporary_slots[slot];
  return found.state.load(std::memory_order_acquire) == detail::temporary_slot::named ? found.path.c_str() : nullptr;
}

BLOOMERY_BODY void remove_pending_temporaries() noexcept {
  for (auto& each : detail::pending_sets) {
    if (detail::pending_set* set = each.exchange(nullptr); set != nullptr) set->withdraw(*set);
  }
  for (std::size_t slot = 0; slot < detail::temporary_slots.size(); ++slot) {
    if (const char* path = pending_temporary(slot); path != nullptr) ::unlink(path);
  }
}

BLOOMERY_BODY result<output_file> output_file::open(const char* path, bool replace) noexcept {
  output_file file;
  file.path_.assign(path);
  file.replace_ = replace;
  if (auto done = file.open_new(path); !done) return name_file(fail(done.error()), path);
  return file;
}

BLOOMERY_BODY result<void> output_file::open_new(const char* path) noexcept {
  if (detail::descriptor_of(path) >= 0) return open_straight(path);
  if (!target_.assign(path)) return detail::fail_errno("cannot create", ENAMETOOLONG);
  if (auto done = detail::follow_links(target_); !done) return done;
  struct stat status {};
  if (::stat(target_.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return fail(errc::is_directory);
    if (!S_ISREG(status.st_mode)) return open_straight(path);
    if (!replace_) return fail(errc::already_exists);
    old_ = {.exists = true,
            .mode = status.st_mode & static_cast<mode_t>(0777),
            .owner = status.st_uid,
            .group = status.st_gid};
  } else if (errno != ENOENT) {
    return detail::fail_errno("cannot create", errno);
  }
  return create_temporary();
}

BLOOMERY_BODY result<void> output_file::open_straight(const char* path) noexcept {
  const int number = detail::descriptor_of(path);
  const int fd = number >= 0 ? detail::duplicate(number) : detail::open_again(path, O_WRONLY);
  if (fd < 0) return detail::fail_errno("cannot open", errno);
  fd_ = detail::unique_fd(fd);
  straight_ = true;
  return {};
}

BLOOMERY_BODY result<void> output_file::create_temporary() noexcept {
  constexpr int attempts = 16;
  claim_slot();
  for (int attempt = 0; attempt < attempts; ++attempt) {
    std::array<char, 48> name{};
    std::snprintf(name.data(), name.size(), ".bloomery-%016llx.tmp",
                  static_cast<unsigned long long>(detail::temporary_number()));
    temporary_.assign(target_.folder());
    if (!temporary_.append(name.data())) return detail::fail_errno("cannot create", ENAMETOOLONG);
    // Registered before it exists: a signal between the two lines then leaves nothing behind.
    if (slot_ != nullptr) {
      slot_->path = temporary_;
      slot_->state.store(detail::temporary_slot::named, std::memory_order_release);
    }
    // A file that others may not read must not be readable while it is being written.
    const mode_t mode = old_.exists ? 0600 : 0666;
    const int fd = detail::open_again(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (fd >= 0) {
      fd_ = detail::unique_fd(fd);
      pending_ = true;
      return {};
    }
    if (slot_ != nullptr) slot_->state.store(detail::temporary_slot::claimed, std::memory_order_release);
    if (errno != EEXIST) return detail::fail_errno("cannot create", errno);
  }
  return detail::fail_errno("cannot create", EEXIST);
}

BLOOMERY_BODY result<void> output_file::keep_permissions() noexcept {
  if (!old_.exists) return {};
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return detail::fail_errno("cannot write", errno);
  if (status.st_uid != old_.owner || status.st_gid != old_.group) {
    if (auto done = detail::set_owner(fd_.get(), old_.owner, old_.group); !done) return done;
  }
  return detail::set_mode(fd_.get(), old_.mode);
}

BLOOMERY_BODY result<void> output_file::commit() noexcept {
  if (auto done = stage(); !done) return done;
  if (straight_) return {};
  const auto folder = detail::folder_sync::open(target_.folder());
  if (!folder) return name_file(fail(folder.error()), path_.view());
  if (auto done = publish(); !done) return done;
  return name_file(folder->sync(), path_.view());
}

BLOOMERY_BODY result<void> output_file::stage() noexcept {
  if (std::exchange(staged_, true)) return {};
  return name_file(write_out(), path_.view());
}

BLOOMERY_BODY result<void> output_file::write_out() noexcept {
  if (straight_) {
    const int fd = fd_.release();
    if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) return detail::fail_errno("cannot write", errno);
    return {};
  }
  if (auto done = keep_permissions(); !done) return done;
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return detail::fail_errno("cannot write", errno);
  new_ = {.device = status.st_dev, .number = status.st_ino};
  int synced = -1;
  do {
    synced = ::fsync(fd_.get());
  } while (synced != 0 && errno == EINTR);
  // Some file systems cannot sync, which is not this file's fault.
  if (synced != 0 && errno != EINVAL && errno != ENOTSUP) return detail::fail_errno("cannot write", errno);
  const int fd = fd_.release();
  if (::close(fd) != 0 && errno != EINTR) return detail::fail_errno("cannot write", errno);
  return {};
}

BLOOMERY_BODY result<void> output_file::publish() noexcept {
  const int renamed = replace_ ? ::rename(temporary_.c_str(), target_.c_str())
                               : detail::rename_new(temporary_.c_str(), target_.c_str());
  if (renamed != 0) {
    const failure why = errno == EEXIST ? fail(errc::already_exists) : detail::fail_errno("cannot create", errno);
    return name_file(why, path_.view());
  }
  pending_ = false;
  return {};
}

// Not the signal handler's any more: it knows the whole set.
BLOOMERY_BODY void output_file::release_slot() noexcept {
  if (slot_ != nullptr) slot_->state.store(detail::temporary_slot::unused, std::memory_order_release);
  slot_ = nullptr;
}

// Where the old file goes when names cannot be exchanged.
BLOOMERY_BODY detail::path_text output_file::old_name() const noexcept {
  detail::path_text name = temporary_;
  name.length -= std::string_view{"tmp"}.size();
  name.append("old");
  return name;
}

BLOOMERY_BODY bool output_file::is_new_file(const detail::path_text& path) const noexcept {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && status.st_dev == new_.device && status.st_ino == new_.number;
}

BLOOMERY_BODY result<void> output_file::switch_in() noexcept {
  if (straight_) return {};
  if (!old_.exists) return publish();
  return name_file(exchange(), path_.view());
}

BLOOMERY_BODY result<void> output_file::exchange() noexcept {
  if (detail::exchange_names(temporary_.c_str(), target_.c_str()) == 0) return {};
  // EPERM: some sandboxes refuse the call.
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP && errno != EPERM) {
    return detail::fail_errno("cannot create", errno);
  }
  // Two names for the old file, so that there is one at every moment; where a file cannot have two, there is a moment
  // without.
  const detail::path_text old = old_name();
  if (::link(target_.c_str(), old.c_str()) != 0 && ::rename(target_.c_str(), old.c_str()) != 0) {
    return detail::fail_errno("cannot create", errno);
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return detail::fail_errno("cannot create", errno);
  return {};
}

// Which file is where is looked up, because a signal may come between a rename and a note of it.
BLOOMERY_BODY bool output_file::switch_back() noexcept {
  if (straight_) return true;
  pending_ = false;
  const detail::path_text old = old_name();
  if (is_new_file(temporary_)) {
    ::unlink(temporary_.c_str());
  } else if (::access(temporary_.c_str(), F_OK) == 0) {
    return ::rename(temporary_.c_str(), target_.c_str()) == 0;
  }
  if (::access(old.c_str(), F_OK) == 0) {
    if (::rename(old.c_str(), target_.c_str()) != 0) return false;
    ::unlink(old.c_str());  // still there if both were names of the old file
    return true;
  }
  if (!old_.exists && is_new_file(target_)) ::unlink(target_.c_str());
  return true;
}

BLOOMERY_BODY void output_file::drop_old() noexcept {
  if (straight_) return;
  pending_ = false;
  if (!old_.exists) return;
  ::unlink(temporary_.c_str());
  ::unlink(old_name().c_str());
}

BLOOMERY_BODY void output_file::claim_slot() noexcept {
  for (auto& slot : detail::temporary_slots) {
    int expected = detail::temporary_slot::unused;
    if (slot.state.compare_exchange_strong(expected, detail::temporary_slot::claimed, std::memory_order_acq_rel)) {
      slot_ = &slot;
      return;
    }
  }
}

BLOOMERY_BODY void output_file::discard() noexcept {
  if (pending_) ::unlink(temporary_.c_str());
  pending_ = false;
  release_slot();
}

}  // namespace bloomery::inline BLOOMERY_ABI

// posix/output_set.hpp: several files that are replaced together: all of them, or none.
//
//     output_set set;
//     if (auto space = set.reserve(count, memory); !space) return space;
//     ... for each: output_file::open, write, stage ...
//     set.add(std::move(*file));
//     unsigned where = 0;
//     if (auto done = set.commit(where); !done) ...     // of the file `where`
//
// All bytes are on the disk before the first name changes. Then every new file changes names with the old one, which
// stays under the hidden name of the temporary file until all have changed and the folder is synced. When the system
// refuses midway, or a signal ends the program, the old files get their names back.
//
// A crash between two changes leaves a mixed set. Nothing is lost then: whatever has not its name has a hidden one
// (.bloomery-*.tmp; .bloomery-*.old where a file system cannot exchange names), old files and new.
#pragma once

#include <atomic>
#include <bloomery/core/aligned_list.hpp>
#include <bloomery/posix/output.hpp>

namespace bloomery::inline BLOOMERY_ABI {

class output_set : private detail::pending_set {
 public:
  output_set() noexcept { withdraw = on_signal; }
  output_set(const output_set&) = delete;
  output_set& operator=(const output_set&) = delete;
  ~output_set() { unregister(); }

  result<void> reserve(unsigned count, const memory_hooks* memory) noexcept {
    auto room = files_.reserve(count, "the shards' files", memory);
    if (room) enlist();
    return room;
  }
  // A staged file; there must be space. A signal handler finds it here from now on.
  void add(output_file&& file) noexcept {
    files_.push(std::move(file));
    if (place_ != nullptr) files_.back().release_slot();
  }

  // `where`: which file failed. errc::not_synced: all of them are in place.
  result<void> commit(unsigned& where) noexcept {
    where = 0;
    if (files_.size() == 0) return {};
    const auto folder = detail::folder_sync::open(files_[0].folder());
    if (!folder) return fail(folder.error());
    for (output_file& each : files_) each.release_slot();  // an old file may have that name soon
    for (unsigned i = 0; i < files_.size(); ++i) {
      if (auto done = files_[i].switch_in(); !done) {
        where = i;
        return switch_back() ? done : not_restored(done.error());
      }
    }
    auto synced = folder->sync();
    for (unsigned i = 1; i < files_.size() && synced; ++i) synced = sync_other_folder(i);
    all_switched_.store(true, std::memory_order_release);
    for (output_file& each : files_) each.drop_old();
    unregister();
    return synced;
  }

 private:
  // Links may lead to other folders.
  [[nodiscard]] result<void> sync_other_folder(unsigned i) const noexcept {
    if (files_[i].folder() == files_[i - 1].folder()) return {};
    const auto folder = detail::folder_sync::open(files_[i].folder());
    return folder ? folder->sync() : fail(errc::not_synced, folder.error().text_view());
  }

  void enlist() noexcept {
    for (auto& each : detail::pending_sets) {
      detail::pending_set* none = nullptr;
      if (place_ == nullptr && each.compare_exchange_strong(none, this, std::memory_order_acq_rel)) place_ = &each;
    }
  }
  void unregister() noexcept {
    detail::pending_set* self = this;
    if (place_ != nullptr) place_->compare_exchange_strong(self, nullptr, std::memory_order_acq_rel);
    place_ = nullptr;
  }

  bool switch_back() noexcept {
    bool done = true;
    for (std::size_t i = files_.size(); i-- > 0;) done &= files_[i].switch_back();
    unregister();
    return done;
  }
  static failure not_restored(const error& why) noexcept {
    error_text text;
    text.append(why.text_view());
    text.append("; old files are kept as .bloomery-*");
    return fail(why.code, text.view());
  }
  static void on_signal(detail::pending_set& self) noexcept {
    auto& set = static_cast<output_set&>(self);
    const bool whole = set.all_switched_.load(std::memory_order_acquire);
    for (output_file& each : set.files_) {
      if (whole) {
        each.drop_old();
      } else {
        each.switch_back();
      }
    }
  }

  aligned_list<output_file> files_;
  std::atomic<bool> all_switched_ = false;
  std::atomic<detail::pending_set*>* place_ = nullptr;
};

}  // namespace bloomery::inline BLOOMERY_ABI

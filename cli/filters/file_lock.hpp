// cli/filters/file_lock.hpp: one process at a time reads, changes and replaces a file.
//
//     auto lock = file_lock::take(path);            // a problem if another process holds it; does not wait
//     ... load, change ...
//     if (auto same = lock->check_path(); !same) return failed(same.error());
//     ... save, which renames a new file over the old one ...
//
// The lock is an advisory one (flock) on the file that the path names now. Saving replaces that file, so a process that
// locked the old one next finds that the path names another and begins again: of two that change a file at the same
// time, neither works on what the other has just replaced. Readers need no lock: they see the old file or the new one.
// What is changed is read through the locked descriptor, so that it is what was locked.
#pragma once

#include <sys/types.h>

#include <bloomery/posix/input.hpp>
#include <string>

#include "cli/terminal/problem.hpp"

namespace bloomery::cli {

class file_lock {
 public:
  // Of a regular file that may be written; others are problems.
  static outcome<file_lock> take(const std::string& path);
  // A problem when the path does not name the locked file any more: another process replaced it without the lock.
  [[nodiscard]] outcome<void> check_path() const;
  // The locked file, to be read.
  [[nodiscard]] const input_file& file() const { return file_; }

 private:
  file_lock(std::string path, input_file file) : path_(std::move(path)), file_(std::move(file)) {}
  [[nodiscard]] bool is_at_path() const;

  std::string path_;
  input_file file_;
};

}  // namespace bloomery::cli

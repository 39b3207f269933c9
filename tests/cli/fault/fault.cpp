// A library for LD_PRELOAD that makes calls to the system fail, one chosen call at a time.
//
//     BLOOMERY_FAULT=CALL:N:WHAT        the N-th call (1, 2, ...) of the process goes wrong
//     BLOOMERY_FAULT=CALL:N+:WHAT       the N-th and every later one
//     BLOOMERY_FAULT=CALL:0:0           none
//     BLOOMERY_FAULT=...,...            two of them, each with a count of its own
//     BLOOMERY_FAULT_LOG=FILE           FILE is created when a call went wrong. When the process exits, with N = 0 it
//                                       receives the number of calls; without BLOOMERY_FAULT that of all: "write 3\n..."
//     BLOOMERY_FAULT_OPENS=FILE         FILE gets a line for each open, openat, creat and fopen: the path as it was passed
//
// WHAT   a number below 0: the call fails with that errno (-4 is EINTR); above 0: the process is sent that signal before
//        the call is made; 0: the call (a read or a write) takes half of its bytes
// CALL   what is counted:
//        write, read       on regular files, without the standard streams
//        pwrite, pread     on regular files
//        stdout, stdin     writes to descriptor 1, reads from descriptor 0, whatever they are
//        fsync, fdatasync  of regular files; close of regular files
//        syncfolder        fsync of folders
//        rename            also renameat and renameat2
//        exchange          renameat2 that exchanges two names; it counts as rename, too
//        open              open, openat, creat, fopen, opendir, mkstemp, tmpfile
//        stat              stat, lstat, fstat, fstatat, statx
//        access, readlink, ftruncate, flock, link, unlink, dup
//        fcntl             with a lock
//        mmap              of a file
//        mmapanon          of memory; also mremap
//        malloc            malloc, calloc, realloc, aligned_alloc, posix_memalign, memalign, and operator new, from the
//                          start of the process on. Not in sanitized builds, which have their own (BLOOMERY_FAULT_NO_MALLOC)
//        thread            pthread_create
//
// Standard error is never touched, so that messages come through. Nothing here allocates. Nothing is really synced, which
// tests need not wait for.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct plan {
  char call[16] = {};
  long number = 0;
  bool repeats = false;
  int what = 0;
};

struct all_plans {
  bool are_read = false;
  plan each[2] = {};
  const char* log = nullptr;
  const char* opens = nullptr;
};

std::atomic<long> calls[2] = {};

long number_at(const char*& text) {
  const bool negative = *text == '-';
  if (negative) ++text;
  long value = 0;
  while (*text >= '0' && *text <= '9') value = value * 10 + (*text++ - '0');
  return negative ? -value : value;
}

// By hand: sscanf may allocate.
plan read_plan(const char*& text) {
  plan out;
  std::size_t length = 0;
  while (*text >= 'a' && *text <= 'z' && length + 1 < sizeof out.call) out.call[length++] = *text++;
  if (*text++ != ':') return {};
  out.number = number_at(text);
  out.repeats = *text == '+';
  if (out.repeats) ++text;
  if (*text++ != ':') return {};
  out.what = static_cast<int>(number_at(text));
  return out;
}

all_plans read_plans() {
  all_plans out;
  out.are_read = true;
  out.log = std::getenv("BLOOMERY_FAULT_LOG");
  out.opens = std::getenv("BLOOMERY_FAULT_OPENS");
  const char* text = std::getenv("BLOOMERY_FAULT");
  if (text == nullptr) return out;
  out.each[0] = read_plan(text);
  if (*text == ',') out.each[1] = read_plan(++text);
  return out;
}

// The first call comes from the loader, with one thread; the environment may not be there yet.
const all_plans& chosen() {
  static all_plans read{};
  if (!read.are_read && environ != nullptr) read = read_plans();
  return read;
}

void log_text(const char* text, std::size_t size) {
  if (chosen().log == nullptr) return;
  const long file = syscall(SYS_openat, AT_FDCWD, chosen().log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  syscall(SYS_write, file, text, size);
  syscall(SYS_close, file);
}

// In one write, so that lines of several threads do not mix.
void log_open(const char* path) {
  if (chosen().opens == nullptr) return;
  const int kept = errno;
  const long file = syscall(SYS_openat, AT_FDCWD, chosen().opens, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file >= 0) {
    char line[4097] = {};
    const std::size_t size = strnlen(path, sizeof line - 1);
    std::memcpy(line, path, size);
    line[size] = '\n';
    syscall(SYS_write, file, line, size + 1);
    syscall(SYS_close, file);
  }
  errno = kept;
}

// For counting.
constexpr const char* names[] = {"write",     "read",     "pwrite",     "pread",  "stdout",   "stdin",  "fsync",
                                 "fdatasync", "close",    "syncfolder", "rename", "exchange", "open",   "stat",
                                 "access",    "readlink", "ftruncate",  "flock",  "link",     "unlink", "dup",
                                 "fcntl",     "mmap",     "mmapanon",   "malloc", "thread"};
std::atomic<long> counts[sizeof names / sizeof *names] = {};

void count(const char* call) {
  for (std::size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (std::strcmp(names[i], call) == 0) ++counts[i];
  }
}

// What is to happen to this call: nothing when it is not the one.
bool is_due(const char* call, int& what) {
  bool due = false;
  if (chosen().log != nullptr && chosen().each[0].call[0] == '\0') count(call);
  for (int i = 0; i < 2; ++i) {
    const plan& wanted = chosen().each[i];
    if (std::strcmp(call, wanted.call) != 0) continue;
    const long number = ++calls[i];
    if (wanted.repeats ? number < wanted.number : number != wanted.number) continue;
    what = wanted.what;
    due = true;
  }
  if (!due) return false;
  const int kept = errno;
  log_text("failed\n", 7);
  errno = kept;
  return true;
}

struct at_exit {
  ~at_exit() {
    const plan& first = chosen().each[0];
    if (chosen().log == nullptr || first.number != 0) return;
    char text[sizeof names / sizeof *names * 40] = {};
    std::size_t size = 0;
    for (std::size_t i = 0; i < sizeof names / sizeof *names; ++i) {
      size += static_cast<std::size_t>(
          std::snprintf(text + size, sizeof text - size, "%s %ld\n", names[i], counts[i].load()));
    }
    if (first.call[0] != '\0') {
      size = static_cast<std::size_t>(std::snprintf(text, sizeof text, "%ld\n", calls[0].load()));
    }
    log_text(text, size);
  }
} count_at_exit;

mode_t type_of(int descriptor) {
  struct stat status {};
  return syscall(SYS_fstat, descriptor, &status) == 0 ? status.st_mode & static_cast<mode_t>(S_IFMT) : 0;
}
bool is_regular(int descriptor) { return descriptor > STDERR_FILENO && type_of(descriptor) == S_IFREG; }

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

// Whether the call is to fail; errno says how.
bool fails(const char* call) {
  int what = 1;
  if (!is_due(call, what)) return false;
  if (what > 0) raise(what);
  if (what >= 0) return false;
  errno = -what;
  return true;
}

// The same for a call that moves bytes.
bool fails(const char* call, std::size_t& size) {
  int what = 1;
  if (!is_due(call, what)) return false;
  if (what > 0) raise(what);
  if (what == 0) size = (size + 1) / 2;
  if (what >= 0) return false;
  errno = -what;
  return true;
}

bool takes_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t size) {
  if (descriptor == STDOUT_FILENO && fails("stdout", size)) return -1;
  if (is_regular(descriptor) && fails("write", size)) return -1;
  return next<ssize_t (*)(int, const void*, size_t)>("write")(descriptor, bytes, size);
}

ssize_t read(int descriptor, void* bytes, size_t size) {
  if (descriptor == STDIN_FILENO && fails("stdin", size)) return -1;
  if (is_regular(descriptor) && fails("read", size)) return -1;
  return next<ssize_t (*)(int, void*, size_t)>("read")(descriptor, bytes, size);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t place) {
  if (is_regular(descriptor) && fails("pwrite", size)) return -1;
  return next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite")(descriptor, bytes, size, place);
}

ssize_t pread(int descriptor, void* bytes, size_t size, off_t place) {
  if (is_regular(descriptor) && fails("pread", size)) return -1;
  return next<ssize_t (*)(int, void*, size_t, off_t)>("pread")(descriptor, bytes, size, place);
}

int fsync(int descriptor) {
  if (is_regular(descriptor) && fails("fsync")) return -1;
  if (type_of(descriptor) == S_IFDIR && fails("syncfolder")) return -1;
  return 0;
}

int fdatasync(int descriptor) { return is_regular(descriptor) && fails("fdatasync") ? -1 : 0; }

// The descriptor is closed all the same, as Linux does it.
int close(int descriptor) {
  const bool failed = is_regular(descriptor) && fails("close");
  const int number = errno;
  const int done = next<int (*)(int)>("close")(descriptor);
  if (!failed) return done;
  errno = number;
  return -1;
}

int dup(int descriptor) noexcept {
  if (fails("dup")) return -1;
  return next<int (*)(int)>("dup")(descriptor);
}

int rename(const char* from, const char* to) noexcept {
  if (fails("rename")) return -1;
  return next<int (*)(const char*, const char*)>("rename")(from, to);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  if (fails("rename")) return -1;
  return next<int (*)(int, const char*, int, const char*)>("renameat")(from_folder, from, to_folder, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  if ((flags & RENAME_EXCHANGE) != 0 && fails("exchange")) return -1;
  if (fails("rename")) return -1;
  return next<int (*)(int, const char*, int, const char*, unsigned)>("renameat2")(from_folder, from, to_folder, to,
                                                                                  flags);
}

int link(const char* from, const char* to) noexcept {
  if (fails("link")) return -1;
  return next<int (*)(const char*, const char*)>("link")(from, to);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  if (fails("link")) return -1;
  return next<int (*)(int, const char*, int, const char*, int)>("linkat")(from_folder, from, to_folder, to, flags);
}

int unlink(const char* path) noexcept {
  if (fails("unlink")) return -1;
  return next<int (*)(const char*)>("unlink")(path);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  if (fails("unlink")) return -1;
  return next<int (*)(int, const char*, int)>("unlinkat")(folder, path, flags);
}

ssize_t readlink(const char* path, char* bytes, size_t size) noexcept {
  if (fails("readlink")) return -1;
  return next<ssize_t (*)(const char*, char*, size_t)>("readlink")(path, bytes, size);
}

int access(const char* path, int mode) noexcept {
  if (fails("access")) return -1;
  return next<int (*)(const char*, int)>("access")(path, mode);
}

int ftruncate(int descriptor, off_t size) noexcept {
  if (fails("ftruncate")) return -1;
  return next<int (*)(int, off_t)>("ftruncate")(descriptor, size);
}

int flock(int descriptor, int operation) noexcept {
  if (fails("flock")) return -1;
  return next<int (*)(int, int)>("flock")(descriptor, operation);
}

// Every command's third argument is an int or a pointer, and passes as a pointer does.
int fcntl(int descriptor, int command, ...) {
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  const bool locks = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
  if (locks && fails("fcntl")) return -1;
  return next<int (*)(int, int, ...)>("fcntl")(descriptor, command, argument);
}

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = takes_mode(flags) ? va_arg(list, mode_t) : 0;
  va_end(list);
  if (fails("open")) return -1;
  log_open(path);
  return next<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = takes_mode(flags) ? va_arg(list, mode_t) : 0;
  va_end(list);
  if (fails("open")) return -1;
  log_open(path);
  return next<int (*)(int, const char*, int, ...)>("openat")(folder, path, flags, mode);
}

int creat(const char* path, mode_t mode) {
  if (fails("open")) return -1;
  log_open(path);
  return next<int (*)(const char*, mode_t)>("creat")(path, mode);
}

FILE* fopen(const char* path, const char* mode) {
  if (fails("open")) return nullptr;
  log_open(path);
  return next<FILE* (*)(const char*, const char*)>("fopen")(path, mode);
}

FILE* tmpfile() {
  if (fails("open")) return nullptr;
  return next<FILE* (*)()>("tmpfile")();
}

int mkstemp(char* path) {
  if (fails("open")) return -1;
  return next<int (*)(char*)>("mkstemp")(path);
}

int mkostemp(char* path, int flags) {
  if (fails("open")) return -1;
  return next<int (*)(char*, int)>("mkostemp")(path, flags);
}

DIR* opendir(const char* path) {
  if (fails("open")) return nullptr;
  return next<DIR* (*)(const char*)>("opendir")(path);
}

int stat(const char* path, struct stat* status) noexcept {
  if (fails("stat")) return -1;
  return next<int (*)(const char*, struct stat*)>("stat")(path, status);
}

int lstat(const char* path, struct stat* status) noexcept {
  if (fails("stat")) return -1;
  return next<int (*)(const char*, struct stat*)>("lstat")(path, status);
}

int fstat(int descriptor, struct stat* status) noexcept {
  if (fails("stat")) return -1;
  return next<int (*)(int, struct stat*)>("fstat")(descriptor, status);
}

int fstatat(int folder, const char* path, struct stat* status, int flags) noexcept {
  if (fails("stat")) return -1;
  return next<int (*)(int, const char*, struct stat*, int)>("fstatat")(folder, path, status, flags);
}

int statx(int folder, const char* path, int flags, unsigned mask, struct statx* status) noexcept {
  if (fails("stat")) return -1;
  return next<int (*)(int, const char*, int, unsigned, struct statx*)>("statx")(folder, path, flags, mask, status);
}

void* mmap(void* place, size_t size, int protection, int flags, int descriptor, off_t offset) noexcept {
  if (fails((flags & MAP_ANONYMOUS) != 0 ? "mmapanon" : "mmap")) return MAP_FAILED;
  return next<void* (*)(void*, size_t, int, int, int, off_t)>("mmap")(place, size, protection, flags, descriptor,
                                                                      offset);
}

void* mremap(void* place, size_t size, size_t new_size, int flags, ...) noexcept {
  va_list list;
  va_start(list, flags);
  void* target = (flags & MREMAP_FIXED) != 0 ? va_arg(list, void*) : nullptr;
  va_end(list);
  if (fails("mmapanon")) return MAP_FAILED;
  return next<void* (*)(void*, size_t, size_t, int, ...)>("mremap")(place, size, new_size, flags, target);
}

// Returns its errno.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) noexcept {
  if (fails("thread")) return errno;
  return next<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create")(thread, attributes,
                                                                                                     run, argument);
}

#ifndef BLOOMERY_FAULT_NO_MALLOC
// glibc's own names, because dlsym may allocate before it can be asked for these.
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) noexcept { return fails("malloc") ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) noexcept { return fails("malloc") ? nullptr : __libc_calloc(count, size); }
void* realloc(void* block, size_t size) noexcept { return fails("malloc") ? nullptr : __libc_realloc(block, size); }
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return fails("malloc") ? nullptr : __libc_memalign(alignment, size);
}
void* memalign(size_t alignment, size_t size) noexcept {
  return fails("malloc") ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** block, size_t alignment, size_t size) noexcept {
  if (fails("malloc")) return errno;
  void* got = __libc_memalign(alignment, size);
  if (got == nullptr) return ENOMEM;
  *block = got;
  return 0;
}
#endif
}

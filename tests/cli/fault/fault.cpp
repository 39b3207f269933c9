// A library for LD_PRELOAD that makes system calls on regular files fail, one chosen call at a time.
//
//     BLOOMERY_FAULT=CALL:N:WHAT
//
// CALL   write, fsync or rename (renameat2 counts as rename)
// N      the first, second ... such call of the process
// WHAT   a number below 0: the call fails with that errno; above 0: the process is sent that signal before the call is
//        made; 0: the call (write) takes half of its bytes
//
// Calls on pipes, terminals and the standard streams are neither counted nor changed, so that messages still come
// through.
#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct plan {
  char call[16] = {};
  int number = 0;
  int what = 0;
};

plan wanted() {
  plan out;
  const char* text = std::getenv("BLOOMERY_FAULT");
  if (text == nullptr || std::sscanf(text, "%15[a-z]:%d:%d", out.call, &out.number, &out.what) != 3) out.number = 0;
  return out;
}

// What is to happen to this call: nothing when it is not the one.
bool is_due(const char* call, int& what) {
  static const plan chosen = wanted();
  static std::atomic<int> calls{0};
  if (std::strcmp(call, chosen.call) != 0 || ++calls != chosen.number) return false;
  what = chosen.what;
  return true;
}

bool is_file(int descriptor) {
  struct stat status {};
  return descriptor > STDERR_FILENO && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

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

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t size) {
  int what = 1;
  if (is_file(descriptor) && is_due("write", what)) {
    if (what > 0) raise(what);
    if (what == 0) size = (size + 1) / 2;
    if (what < 0) {
      errno = -what;
      return -1;
    }
  }
  return next<ssize_t (*)(int, const void*, size_t)>("write")(descriptor, bytes, size);
}

int fsync(int descriptor) {
  if (is_file(descriptor) && fails("fsync")) return -1;
  return next<int (*)(int)>("fsync")(descriptor);
}

int rename(const char* from, const char* to) noexcept {
  if (fails("rename")) return -1;
  return next<int (*)(const char*, const char*)>("rename")(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  if (fails("rename")) return -1;
  return next<int (*)(int, const char*, int, const char*, unsigned)>("renameat2")(from_folder, from, to_folder, to,
                                                                                  flags);
}
}

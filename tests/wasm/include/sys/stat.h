// <sys/stat.h> of WASI, with the call for pipes, which it has not: tests of pipes compile, and are left out.
#pragma once

#include_next <sys/stat.h>

inline int mkfifo(const char* /*path*/, mode_t /*mode*/) { return -1; }

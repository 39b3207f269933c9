// hash/xxhash_inline.hpp: the one place that includes xxhash.h.
//
// Everything is inlined, so that a program links no libxxhash and the compiler sees through short keys. The headers of
// other libraries are not written for our warnings, hence the pragmas.
#pragma once

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wshadow"
#endif

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

// core/config.hpp: compiled or header-only, and what that changes. Included by every header, directly or through
// others.
//
// Compiled (the default): bodies are in libbloomery, which a program links (target bloomery::bloomery).
// Header-only: a program that defines BLOOMERY_HEADER_ONLY for all of its files gets the same bodies inline and links
// nothing (target bloomery::header_only, or the generated single header).
//
// The two modes live in different inline namespaces, so that libraries that chose differently may meet in one program.
// Sources open the namespace as `namespace bloomery::inline BLOOMERY_ABI {` and write `bloomery::blocked` as ever.
#pragma once

#if __cplusplus < 202002L
#error "Bloomery needs C++20: compile with -std=c++20"
#endif

#if defined(BLOOMERY_HEADER_ONLY)
#define BLOOMERY_ABI header_only
#define BLOOMERY_BODY inline
#define BLOOMERY_API
#else
// Grows with every change after which old programs must be compiled again, as the version of the shared library does.
#define BLOOMERY_ABI abi0
#define BLOOMERY_BODY
#define BLOOMERY_API __attribute__((visibility("default")))
#endif

#ifndef BLOOMERY_HEADER_ONLY
#error "this file is the header-only half"
#endif
#include <bloomery/filter.hpp>
#include <bloomery/kinds/blocked.hpp>

bool header_only_finds(const char* path, const char* key);

bool header_only_finds(const char* path, const char* key) {
  const auto filter = bloomery::filter<bloomery::blocked>::load(path);
  return filter && filter->may_contain(key);
}

// Compiled and header-only code in one program: both.cpp links the library, both_header_only.cpp has it inline. A file that
// the one writes, the other reads.
#include <bloomery/filter.hpp>
#include <bloomery/kinds/blocked.hpp>

bool header_only_finds(const char* path, const char* key);

int main() {
  auto filter = bloomery::filter<bloomery::blocked>::make({.keys = 1000, .fpr = 0.01});
  if (!filter) return 2;
  filter->insert("alice");
  if (!filter->save("both.bloom", {.replace = true})) return 2;
  return header_only_finds("both.bloom", "alice") && !header_only_finds("both.bloom", "bob") ? 0 : 1;
}

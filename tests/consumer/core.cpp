// The core as an embedder uses it: one header, one library.
#include <bloomery/bloomery.hpp>
#include <cstdio>

int main() {
  auto filter = bloomery::filter<bloomery::blocked>::make({.keys = 1000, .fpr = 0.01});
  if (!filter) {
    std::fprintf(stderr, "%s\n", bloomery::describe(filter.error()).c_str());
    return 2;
  }
  if (filter->may_contain("alice")) return 1;
  filter->insert("alice");
  return filter->may_contain("alice") ? 0 : 1;
}

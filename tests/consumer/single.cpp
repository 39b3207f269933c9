// The generated header alone.
#include <bloomery_single.hpp>

int main() {
  auto filter = bloomery::filter<bloomery::blocked>::make({.keys = 1000, .fpr = 0.01});
  if (!filter) return 2;
  filter->insert("alice");
  return filter->may_contain("alice") ? 0 : 1;
}

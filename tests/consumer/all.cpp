// Everything as an embedder uses it: the compiled parts linked, then made known by one call.
#include <bloomery/bloomery.hpp>
#include <cstdint>
#include <cstdio>

namespace {

int refused(const bloomery::error& error) {
  std::fprintf(stderr, "%s\n", bloomery::describe(error).c_str());
  return 2;
}

}  // namespace

int main() {
  bloomery::enable_all();

  auto numbers = bloomery::filter<bloomery::bitmap, bloomery::identity>::make({});
  if (!numbers) return refused(numbers.error());
  numbers->insert(std::uint64_t{42});
  if (!numbers->may_contain(std::uint64_t{42}) || numbers->may_contain(std::uint64_t{43})) return 1;

  auto names = bloomery::filter<bloomery::bloom>::make({.keys = 1000, .fpr = 0.01});
  if (!names) return refused(names.error());
  names->insert("alice");
  for (const auto codec : {bloomery::codec_zstd, bloomery::codec_gzip}) {
    const auto saved = names->save("names.bloom", {.codec = codec, .replace = true});
    if (!saved) return refused(saved.error());
    const auto again = bloomery::filter<bloomery::bloom>::load("names.bloom");
    if (!again) return refused(again.error());
    if (!again->may_contain("alice")) return 1;
  }
  return 0;
}

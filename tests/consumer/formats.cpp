// Files of other products as an embedder uses them: bloomery::formats alone.
#include <array>
#include <bloomery/formats.hpp>
#include <cstdio>

namespace {

int refused(const bloomery::error& error) {
  std::fprintf(stderr, "%s\n", bloomery::describe(error).c_str());
  return 2;
}

}  // namespace

int main() {
  const bloomery::formats::format* dcso = bloomery::formats::find("dcso");
  if (dcso == nullptr) return 1;
  auto made = bloomery::formats::make("dcso", {.keys = 1000, .fpr = 0.01});
  if (!made) return refused(made.error());
  const auto hash = bloomery::hasher::make(made->hash());
  if (!hash) return refused(hash.error());
  const std::array digests = {hash->digest("alice", 5)};
  if (const auto inserted = made->insert(digests); !inserted) return refused(inserted.error());
  if (const auto saved = bloomery::formats::save(*made, *dcso, "names.dcso", {.replace = true}); !saved) {
    return refused(saved.error());
  }
  const auto opened = bloomery::formats::open("names.dcso");
  if (!opened) return refused(opened.error());
  std::array<std::uint64_t, 1> mask{};
  if (const auto asked = opened->filter.may_contain(digests, mask); !asked) return refused(asked.error());
  return opened->form == dcso && mask[0] == 1 ? 0 : 1;
}

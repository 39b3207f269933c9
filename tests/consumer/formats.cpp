// Files of other products as an embedder uses them: bloomery::formats alone.
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
  if (const auto added = made->add("alice"); !added) return refused(added.error());
  if (const auto saved = bloomery::formats::save(*made, *dcso, "names.dcso", {.replace = true}); !saved) {
    return refused(saved.error());
  }
  const auto opened = bloomery::formats::open("names.dcso");
  if (!opened) return refused(opened.error());
  const auto present = opened->filter.may_contain("alice");
  if (!present) return refused(present.error());
  return opened->form == dcso && *present ? 0 : 1;
}

// What a look-up reads and decides in filters of other products: those that they wrote, and new ones of every format.
#include <filesystem>

#include "support/explained.hpp"
#include "support/format_files.hpp"

namespace bloomery {
namespace {

using namespace test;

std::vector<std::string> explained_keys(std::string_view prefix, std::size_t count) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back(std::string(prefix) + std::to_string(i));
  return keys;
}

// How many may be there.
std::size_t expect_explained(const any_filter& filter, const std::vector<std::string>& keys) {
  const std::vector<bool> answers = query(filter, keys);
  const auto stored = filter.bytes();
  EXPECT_TRUE(stored);
  std::size_t found = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    found += answers[i] ? 1U : 0U;
    const auto why = filter.explain(keys[i]);
    EXPECT_TRUE(why) << describe(why.error()).view();
    if (!why) return found;
    expect_sound(*why, answers[i]);
    for (const lookup_probe& probe : why->probes()) {
      if (stored->empty() || probe.unit != probe_unit::bit) continue;
      EXPECT_LT(probe.byte_offset, stored->size());
      const auto byte = std::to_integer<unsigned>((*stored)[probe.byte_offset]);
      EXPECT_EQ(byte >> (probe.position % 8) & 1U, probe.read);
    }
    if (testing::Test::HasFailure()) return found;
  }
  return found;
}

TEST(ExplainedFormats, NewFiltersOfEveryFormatAreExplained) {
  for (const formats::format* form : formats::list()) {
    if (form->is_native() || form->make == nullptr) continue;
    for (const std::string_view kind : {"", "cuckoo"}) {
      if (!kind.empty() && form->kind_of == nullptr) continue;
      SCOPED_TRACE(std::string(form->name) + " " + std::string(kind));
      auto made = formats::make(form->name, {.keys = 200, .fpr = 0.01}, {.kind = kind});
      if (!made) made = formats::make(form->name, {.keys = 200, .bits_per_key = 10}, {.kind = kind});
      if (!made) made = formats::make(form->name, {.keys = 200}, {.kind = kind});
      ASSERT_TRUE(made) << describe(made.error()).view();
      const auto present = explained_keys("present ", 150);
      insert(*made, present);
      EXPECT_EQ(expect_explained(*made, present), present.size());
      EXPECT_LT(expect_explained(*made, explained_keys("absent ", 1000)), 200U);
    }
  }
}

TEST(ExplainedFormats, GoldenFilesAreExplained) {
  const std::filesystem::path root = BLOOMERY_GOLDEN_DIR;
  for (const formats::format* form : formats::list()) {
    if (form->is_native()) continue;
    SCOPED_TRACE(form->name);
    const bool table = form->name == "leveldb-table";
    std::size_t opened = 0;
    std::size_t found = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(root / (table ? "leveldb" : std::string(form->name)))) {
      const std::string extension = entry.path().extension();
      if (!entry.is_regular_file() || extension == ".tsv" || extension == ".md" || extension == ".txt") continue;
      if (table != (extension == ".ldb")) continue;
      SCOPED_TRACE(entry.path().filename());
      const auto file = formats::open(entry.path().c_str(), {.from = form->name});
      if (!file || file->filter.digest_bits() == 0) continue;  // pieces of one file
      ++opened;
      found += expect_explained(file->filter, explained_keys("key", 400));
      found += expect_explained(file->filter, explained_keys("", 400));
      ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(opened, 0U);
    EXPECT_GT(found, 0U);
  }
}

TEST(ExplainedFormats, DamagedFilesAreExplainedSafely) {
  for (const std::string name : {"leveldb/table_bpk10.ldb", "leveldb/bpk10_n7.bin", "dcso/n7_p0.05.bloom"}) {
    const std::string whole = golden(name);
    for (std::size_t at = 0; at < whole.size(); at += whole.size() / 97 + 1) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ 0xffU);
      const auto file = open_text(damaged);
      if (file) expect_explained(file->filter, explained_keys("k", 50));
    }
  }
}

}  // namespace
}  // namespace bloomery

// Sizes that a file only claims: nothing is allocated for them, and nothing lasts. Over the files of fuzz/corpus/format_*,
// so that every format of the list is here.
#include <algorithm>
#include <filesystem>

#include "support/format_files.hpp"

namespace bloomery {
namespace {

using namespace test;

std::string corpus_of(std::string_view name) {
  std::string folder = std::string(BLOOMERY_SOURCE_DIR) + "/fuzz/corpus/format_" + std::string(name);
  std::replace(folder.end() - static_cast<std::ptrdiff_t>(name.size()), folder.end(), '-', '_');
  return folder;
}

std::vector<std::string> corpus_files(std::string_view name) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(corpus_of(name))) {
    std::ifstream in(entry.path(), std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return files;
}

std::vector<const formats::format*> foreign_formats() {
  std::vector<const formats::format*> out;
  for (const formats::format* form : formats::list()) {
    if (!form->is_native()) out.push_back(form);
  }
  return out;
}

constexpr std::uint64_t unpacked_bytes = 65536;  // as much as packed files may become here

result<formats::opened> open_counted(const std::string& file, std::string_view from, counting_memory& memory) {
  auto buffer = aligned_buffer::make(file.size(), "a test", &memory.hooks);
  EXPECT_TRUE(buffer);
  std::memcpy(buffer->data(), file.data(), file.size());
  memory.requested_bytes = 0;
  return formats::open_bytes({std::move(*buffer), file.size()},
                             {.from = from, .load = {.memory = &memory.hooks, .max_bytes = unpacked_bytes}});
}

void store_number(std::string& file, std::size_t at, std::size_t width, std::uint64_t value, bool big) {
  for (std::size_t i = 0; i < width; ++i) {
    const std::size_t byte = big ? width - 1 - i : i;
    file[at + i] = static_cast<char>(byte < 8 ? value >> (8 * byte) & 0xffU : 0);
  }
}

TEST(HostileSizes, AreCheckedBeforeAnythingIsAllocated) {
  constexpr std::size_t header_bytes = 80;
  const std::vector<std::uint64_t> values = {0,
                                             1,
                                             0x7f,
                                             0xffff,
                                             0x7fffffff,
                                             0x80000000,
                                             0xffffffff,
                                             1ULL << 40U,
                                             1ULL << 59U,
                                             (1ULL << 60U) - 1,
                                             (1ULL << 60U) + 1,
                                             1ULL << 61U,
                                             ~0ULL >> 1U,
                                             1ULL << 63U,
                                             ~0ULL - 63,
                                             ~0ULL};
  for (const formats::format* form : foreign_formats()) {
    for (const std::string& file : corpus_files(form->name)) {
      for (std::size_t at = 0; at < std::min(file.size(), header_bytes); ++at) {
        for (const std::size_t width : {4U, 8U}) {
          if (at + width > file.size()) continue;
          for (const std::uint64_t value : values) {
            for (const bool big : {false, true}) {
              std::string hostile = file;
              store_number(hostile, at, width, value, big);
              counting_memory memory;
              const auto opened = open_counted(hostile, form->name, memory);
              ASSERT_LE(memory.requested_bytes, 4 * (hostile.size() + unpacked_bytes))
                  << form->name << ": " << value << " at byte " << at;
              if (!opened) continue;
              ASSERT_LE(opened->filter.stats()->memory_bytes, hostile.size() + unpacked_bytes) << form->name;
            }
          }
        }
      }
    }
  }
}

// A file that lacks one byte is refused. What stands behind a filter may be missing: data of dcso, or what Guava ignores.
TEST(HostileSizes, AFileThatIsCutIsNotTakenForAWholeOne) {
  std::size_t refused = 0;
  for (const formats::format* form : foreign_formats()) {
    if (form->name == "leveldb") continue;  // any bytes are one
    const std::uint64_t header_bytes = form->name == "dcso" ? 48 : form->name == "guava" ? 6 : no_limit / 2;
    for (const std::string& file : corpus_files(form->name)) {
      const auto whole = open_text(file, {.from = form->name});
      if (!whole) continue;
      const std::uint64_t needs = header_bytes + whole->filter.stats()->memory_bytes;
      for (std::size_t size = file.size() > 2000 ? file.size() - 2000 : 0; size < file.size(); ++size) {
        const auto cut = open_text(std::string_view(file).substr(0, size), {.from = form->name});
        refused += cut ? 0 : 1;
        ASSERT_TRUE(cut || cut.error().code != errc::out_of_memory) << "a size that is less than none was asked for";
        const bool blanks = file.find_first_not_of(" \n", size) == std::string::npos;  // behind JSON
        ASSERT_TRUE(!cut || blanks || (size >= needs && cut->codec == codec_none))
            << form->name << ": " << size << " of " << file.size();
      }
    }
  }
  EXPECT_GT(refused, 10'000U);
}

TEST(HostileSizes, NoFilterHasMoreHashFunctionsThanItCanBeAskedWith) {
  constexpr std::uint64_t most = 4096;
  for (const formats::format* form : foreign_formats()) {
    for (const std::string& file : corpus_files(form->name)) {
      const auto opened = open_text(file, {.from = form->name});
      if (!opened) continue;
      const fact_list facts = opened->filter.facts();
      const fact* hashes = facts.find("hash_functions");
      EXPECT_TRUE(hashes == nullptr || hashes->value.integer() <= most) << form->name;
    }
  }
}

TEST(HostileSizes, ARefusedAllocationIsAnError) {
  for (const formats::format* form : foreign_formats()) {
    for (const std::string& file : corpus_files(form->name)) {
      constexpr memory_hooks none{.allocate = [](void*, std::size_t, std::size_t) -> void* { return nullptr; },
                                  .release = [](void*, void*, std::size_t, std::size_t) {}};
      auto bytes = bytes_of(file);
      const auto opened = formats::open_bytes(std::move(bytes), {.from = form->name, .load = {.memory = &none}});
      EXPECT_TRUE(opened || !describe(opened.error()).view().empty());
    }
  }
}

// The recipe for a format, as far as it can be checked.
TEST(FormatRecipe, EveryFormatHasAFuzzTargetACorpusThatOpensAndAPage) {
  for (const formats::format* form : foreign_formats()) {
    std::string name = "format_" + std::string(form->name);
    std::replace(name.begin(), name.end(), '-', '_');
    const std::filesystem::path root = BLOOMERY_SOURCE_DIR;
    EXPECT_TRUE(std::filesystem::exists(root / "fuzz" / (name + ".cpp"))) << name;
    const std::string product(form->name.substr(0, form->name.find("-table")));  // one page for both of LevelDB's
    EXPECT_TRUE(std::filesystem::exists(root / "docs/formats" / (product + ".md"))) << form->name;
    EXPECT_TRUE(std::filesystem::exists(root / "tests/golden" / product / "README.md")) << form->name;
    ASSERT_TRUE(std::filesystem::is_directory(corpus_of(form->name))) << form->name;
    const auto files = corpus_files(form->name);
    const auto opens = [&](const std::string& file) { return open_text(file, {.from = form->name}).has_value(); };
    EXPECT_TRUE(std::any_of(files.begin(), files.end(), opens)) << form->name;
  }
}

TEST(FormatRecipe, EveryFormatHasANameAndARuleOfItsOwn) {
  const auto all = foreign_formats();
  for (const formats::format* one : all) {
    EXPECT_EQ(formats::find(one->name), one);
    EXPECT_FALSE(one->summary.empty()) << one->name;
    EXPECT_TRUE(one->detect != nullptr && one->open != nullptr && one->hash != nullptr) << one->name;
    EXPECT_EQ(one->writes, one->save != nullptr) << one->name;
    // RedisBloom's are of kinds that native files hold, too.
    EXPECT_EQ(one->kind->info->id >= formats::first_foreign_id, one->kind_of == nullptr) << one->name;
    for (const formats::format* other : all) {
      EXPECT_TRUE(other == one || one->kind->info->id != other->kind->info->id) << one->name << " and " << other->name;
    }
  }
}

}  // namespace
}  // namespace bloomery

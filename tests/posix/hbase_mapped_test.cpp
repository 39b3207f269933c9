// A store file of HBase, queried where it is mapped: a chunk is read and checked when a key asks for it.
#include <array>
#include <bloomery/formats.hpp>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/format_files.hpp"

namespace bloomery {
namespace {

using namespace test;

TEST(HBaseMapped, AKeyReadsItsOwnChunkAndNoOther) {
  std::vector<std::string> rows;
  for (int i = 0; i < 2000; ++i) rows.push_back("row-" + std::to_string(10'000'000 + i));
  const formats::format* const hbase = formats::find("hbase");
  const auto made = hbase->build(views_of(rows), {.fpr = 0.01}, {.chunk_bytes = "256"});
  ASSERT_TRUE(made) << describe(made.error()).view();
  std::string file = text_of(*made, *hbase);
  const folder here;
  const std::string path = here / "store";
  write_bytes(path, as_bytes(file));
  const auto answer = [](const any_filter& filter, const std::string& row) {
    const std::array<std::string_view, 1> keys = {row};
    std::array<std::uint64_t, 1> mask{};
    const auto done = formats::may_contain(filter, keys, mask);
    return done ? std::string(mask[0] != 0 ? "maybe" : "no") : std::string(describe(done.error()).view());
  };
  const auto opened = formats::open(path);
  ASSERT_TRUE(opened) << describe(opened.error()).view();
  EXPECT_TRUE(opened->filter.is_mapped());
  EXPECT_TRUE(opened->filter.model().verify());
  for (const std::string& row : rows) ASSERT_EQ(answer(opened->filter, row), "maybe");
  EXPECT_EQ(answer(opened->filter, "zzz"), "no");

  // Damage in the first chunk.
  file[40] = static_cast<char>(file[40] ^ 1);
  write_bytes(path, as_bytes(file));
  const auto damaged = formats::open(path);
  ASSERT_TRUE(damaged) << describe(damaged.error()).view();
  EXPECT_EQ(answer(damaged->filter, rows.back()), "maybe");
  EXPECT_NE(answer(damaged->filter, rows.front()).find("checksum"), std::string::npos);
  EXPECT_FALSE(damaged->filter.model().verify());
  EXPECT_FALSE(formats::open(path, {.in_memory = true}));
}

}  // namespace
}  // namespace bloomery

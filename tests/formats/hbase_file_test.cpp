// Store files of HBase. No HBase runs here: the files are those of our own writer, by the layout in
// docs/formats/hbase.md.
#include <algorithm>
#include <array>
#include <bit>
#include <bloomery/compat/hbase/key.hpp>

#include "src/formats/hbase_chunks.hpp"
#include "src/formats/hfile_writer.hpp"
#include "support/format_files.hpp"

namespace bloomery {
namespace {

using hbase::bloom_type;
using test::from_hex;
using test::golden;
using test::open_text;
using test::rows_of;
using test::text_of;
using test::views_of;
namespace hfile = formats::hfile;
using names = std::vector<std::string>;

names rows(std::size_t count, const std::string& with = "row-") {
  names out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(with + std::to_string(10'000'000 + i));
  return out;
}

std::string column_key(std::string_view row, std::string_view qualifier) {
  std::string out(hbase::rowcol_key_bytes({row, qualifier}), '\0');
  return std::string(hbase::write_rowcol_key({row, qualifier}, out));
}

std::string file_of(const names& keys, const hfile::build_options& options = {}) {
  const auto file = formats::hfile::build(views_of(keys), options, nullptr);
  EXPECT_TRUE(file) << describe(file.error()).view();
  if (!file) return {};
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}
// Of several chunks.
constexpr std::uint64_t small_chunk = 256;
std::string small_file() { return file_of(rows(2000), {.chunk_bytes = small_chunk}); }

std::string refusal_of(const std::string& file, std::string_view from = {}) {
  const auto opened = open_text(file, {.from = from});
  return opened ? std::string() : std::string(describe(opened.error()).view());
}

// As the product answers: of the one chunk.
std::vector<bool> query(const any_filter& filter, const names& keys) {
  std::vector<std::uint64_t> mask(mask_words(keys.size()) + 1);
  const auto done = formats::may_contain(filter, views_of(keys), mask);
  EXPECT_TRUE(done) << describe(done.error()).view();
  std::vector<bool> answers(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) answers[i] = (mask[i / 64] >> (i % 64) & 1U) != 0;
  return answers;
}

std::uint64_t count_of(const std::vector<bool>& answers) {
  return static_cast<std::uint64_t>(std::count(answers.begin(), answers.end(), true));
}

void expect_rows_are_found(formats::hfile::compression packing) {
  for (const auto hash : {hbase::hash_type::jenkins, hbase::hash_type::murmur, hbase::hash_type::murmur3}) {
    const auto opened = open_text(file_of(rows(2000), {.hash = hash, .chunk_bytes = small_chunk, .packing = packing}));
    ASSERT_TRUE(opened) << describe(opened.error()).view();
    EXPECT_EQ(opened->form->name, "hbase");
    const fact_list facts = opened->filter.facts();
    EXPECT_GE(facts.find("chunks")->value.integer(), 9U);
    EXPECT_EQ(count_of(query(opened->filter, rows(2000))), 2000U);
    // 1 % of those between the first and the last, and none beside.
    EXPECT_LT(count_of(query(opened->filter, rows(2000, "row-1"))), 60U);
    EXPECT_EQ(count_of(query(opened->filter, {"", "a", "row-", "row-2", "zzz"})), 0U);
    const auto stats = opened->filter.stats();
    ASSERT_TRUE(stats);
    EXPECT_EQ(stats->keys.keys, 2000U);
    EXPECT_NEAR(stats->estimated_keys, 2000.0, 100.0);
    EXPECT_GT(stats->fpr_now, 0.002);
    EXPECT_LT(stats->fpr_now, 0.02);
  }
}

TEST(HBaseFile, FindsEveryRowInTheOneChunkThatMayHaveIt) { expect_rows_are_found(hfile::compression::none); }
TEST(HBaseFileGzip, FindsEveryRowInTheOneChunkThatMayHaveIt) { expect_rows_are_found(hfile::compression::gz); }

TEST(HBaseFile, IsTheSameForTheSameKeys) {
  names keys;
  for (int i = 0; i < 400; ++i) keys.push_back("key" + std::to_string(i));
  std::sort(keys.begin(), keys.end());
  EXPECT_TRUE(file_of(keys, {.chunk_bytes = 128}) == golden("hbase/our_row.hfile"));
  names cells;
  for (int i = 0; i < 20; ++i) {
    for (const char* qualifier : {"", "mail", "name"}) {
      cells.push_back(column_key("user" + std::to_string(100 + i), qualifier));
    }
  }
  EXPECT_TRUE(file_of(cells, {.type = bloom_type::rowcol, .chunk_bytes = 128, .max_fold = 0}) ==
              golden("hbase/our_rowcol.hfile"));
}

TEST(HBaseFile, HasTheBitsThatHBasesClassesSet) {
  auto keys = names();
  for (const auto& row : rows_of(golden("hbase/row_ht1_max1003_fold2_n12.keys.tsv"))) keys.push_back(from_hex(row[0]));
  std::sort(keys.begin(), keys.end());
  const std::string file = file_of(keys, {.chunk_bytes = 1204, .max_fold = 2});
  // The same chunk but for its size before folding: 1204 bytes hold 1004 keys, and 12 fold it twice.
  const std::string bits = golden("hbase/row_ht1_max1003_fold2_n12.bin");
  EXPECT_EQ(file.substr(33, bits.size()), bits);
  EXPECT_EQ(file.substr(0, 8), "BLMFBLK2");
}

TEST(HBaseFile, LooksUpRowAndColumnAndTheRowAlone) {
  names keys;
  for (const std::string& row : rows(500)) {
    for (const char* qualifier : {"", "name", "size"}) {
      if (*qualifier != '\0' || row.back() == '7') keys.push_back(column_key(row, qualifier));
    }
  }
  const auto opened = open_text(file_of(keys, {.type = bloom_type::rowcol, .chunk_bytes = small_chunk}));
  ASSERT_TRUE(opened) << describe(opened.error()).view();
  EXPECT_EQ(formats::looks_up(opened->filter), formats::key_form::row_and_column);
  EXPECT_EQ(count_of(query(opened->filter, keys)), keys.size());
  // Other columns of rows that are there: found where the whole row was deleted, and by chance.
  names others;
  for (const std::string& row : rows(500)) others.push_back(column_key(row, "other"));
  const auto answers = query(opened->filter, others);
  std::uint64_t by_chance = 0;
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (i % 10 == 7) {
      EXPECT_TRUE(answers[i]) << i;
    } else {
      by_chance += answers[i] ? 1U : 0U;
    }
  }
  EXPECT_LT(by_chance, 20U);
  // A row without a column is no question to such a filter: HBase reads the file.
  EXPECT_EQ(count_of(query(opened->filter, rows(10))), 10U);
  EXPECT_EQ(count_of(query(opened->filter, {"nothing"})), 1U);
}

// The qualifier follows the row, so the bytes of keys are in another order than the keys.
TEST(HBaseFile, FindsColumnsOfRowsOfAnyLength) {
  names keys;
  std::vector<hbase::cell_name> cells;
  const names all = {"", "a", "aa", "ab", "b", std::string(200, 'c'), std::string(300, 'c'), std::string(30000, 'd')};
  for (const std::string& row : all) {
    for (const std::string_view qualifier : {"", "q", "r"}) cells.push_back({row, qualifier});
  }
  std::sort(cells.begin(), cells.end());
  for (const auto& cell : cells) keys.push_back(column_key(cell.row, cell.qualifier));
  const auto opened = open_text(file_of(keys, {.type = bloom_type::rowcol, .chunk_bytes = 128}));
  ASSERT_TRUE(opened) << describe(opened.error()).view();
  EXPECT_EQ(count_of(query(opened->filter, keys)), keys.size());
  for (const std::string& key : keys) {
    const auto why = formats::explain(opened->filter, key);
    ASSERT_TRUE(why);
    EXPECT_TRUE(why->may_contain());
  }
}

TEST(HBaseFile, LooksUpThePrefixOfARow) {
  const names users = {"user1-a", "user1-b", "user2", "user4-z"};
  const auto opened = open_text(file_of(users, {.type = bloom_type::rowprefix, .prefix_bytes = 5}));
  ASSERT_TRUE(opened) << describe(opened.error()).view();
  EXPECT_EQ(query(opened->filter, {"user1", "user1-a", "user2\xff", "user4", "user3-a", "user9", "user"}),
            (std::vector<bool>{true, true, true, true, false, false, false}));
  EXPECT_EQ(opened->filter.facts().find("prefix_bytes")->value.integer(), 5U);
  EXPECT_EQ(opened->filter.shape().keys, 3U);
}

TEST(HBaseFile, AQuestionReadsOneChunkAndKeepsIt) {
  const std::string file = small_file();
  const auto bytes = std::as_bytes(std::span(file));
  const auto section = formats::hfile::read_section(bytes, nullptr);
  ASSERT_TRUE(section) << describe(section.error()).view();
  ASSERT_GE(section->chunks.size(), 9U);
  formats::hfile::chunk_cache cache;
  const auto read = [&](std::size_t chunk) {
    std::size_t size = 0;
    EXPECT_TRUE(
        cache.with(bytes, *section, chunk, nullptr, [&](std::span<const std::byte> bits) { size = bits.size(); }));
    return size;
  };
  EXPECT_EQ(cache.reads(), 0U);  // opening a file reads none
  EXPECT_EQ(read(3), small_chunk);
  EXPECT_EQ(read(3), small_chunk);
  EXPECT_EQ(cache.reads(), 1U);
  EXPECT_EQ(read(4), small_chunk);
  EXPECT_EQ(cache.reads(), 2U);
  cache.clear();
  EXPECT_EQ(read(4), small_chunk);
  EXPECT_EQ(cache.reads(), 3U);
}

TEST(HBaseFile, TheChunkThatWasNotUsedForLongestMakesRoom) {
  const std::string file = file_of(rows(20'000), {.chunk_bytes = small_chunk});
  const auto bytes = std::as_bytes(std::span(file));
  const auto section = formats::hfile::read_section(bytes, nullptr);
  ASSERT_TRUE(section);
  constexpr std::size_t most = formats::hfile::chunk_cache::most_chunks;
  ASSERT_GT(section->chunks.size(), most + 1);
  formats::hfile::chunk_cache cache;
  const auto read = [&](std::size_t chunk) {
    EXPECT_TRUE(cache.with(bytes, *section, chunk, nullptr, [](std::span<const std::byte> /*bits*/) {}));
    return cache.reads();
  };
  for (std::size_t i = 0; i < most; ++i) read(i);
  EXPECT_EQ(read(0), most);         // still there, and now the last that was used
  EXPECT_EQ(read(most), most + 1);  // takes the place of 1
  EXPECT_EQ(read(0), most + 1);
  EXPECT_EQ(read(1), most + 2);
}

TEST(HBaseFile, DigestsAloneAreLookedUpInAllChunks) {
  const auto opened = open_text(small_file());
  ASSERT_TRUE(opened);
  const auto hash = hasher::make(opened->filter.hash());
  ASSERT_TRUE(hash);
  std::vector<prehashed128> digests;
  for (const std::string& key : rows(2000)) digests.push_back({hash->digest128_of(key.data(), key.size())});
  std::vector<std::uint64_t> mask(mask_words(digests.size()));
  ASSERT_TRUE(opened->filter.may_contain(digests, mask));
  std::uint64_t found = 0;
  for (const std::uint64_t word : mask) found += static_cast<std::uint64_t>(std::popcount(word));
  EXPECT_EQ(found, digests.size());
  // A digest of a row has nothing of its prefix: such a filter does not lose it.
  const auto prefixes = open_text(file_of(rows(10), {.type = bloom_type::rowprefix, .prefix_bytes = 4}));
  ASSERT_TRUE(prefixes);
  EXPECT_TRUE(*prefixes->filter.may_contain(rows(1).front()));
}

TEST(HBaseFile, MergesChunksOfEqualShapeAndRanges) {
  names some;
  names others;
  const names all = rows(2000);
  for (std::size_t i = 0; i < all.size(); ++i) (i % 2 == 0 ? some : others).push_back(all[i]);
  // One chunk each: 1000 keys in chunks of one size.
  const auto one = open_text(file_of(others, {.chunk_bytes = 4096}), {.in_memory = true});
  auto both = open_text(file_of(some, {.chunk_bytes = 4096}), {.in_memory = true});
  ASSERT_TRUE(one && both);
  const auto merged = both->filter.merge(one->filter);
  ASSERT_TRUE(merged) << describe(merged.error()).view();
  EXPECT_EQ(count_of(query(both->filter, all)), all.size());
  const auto again = open_text(text_of(both->filter, *both->form));
  ASSERT_TRUE(again) << describe(again.error()).view();
  EXPECT_EQ(count_of(query(again->filter, all)), all.size());
  EXPECT_EQ(again->filter.stats()->keys.keys, 2000U);
  // Chunks of the same ranges.
  auto twice = open_text(small_file(), {.in_memory = true});
  const auto same = open_text(small_file());
  ASSERT_TRUE(twice->filter.merge(same->filter));
  EXPECT_EQ(count_of(query(twice->filter, all)), all.size());
}

TEST(HBaseFile, DoesNotMergeWhatDiffers) {
  const hfile::build_options usual{.chunk_bytes = 4096};
  auto into = open_text(file_of(rows(1000), usual), {.in_memory = true});
  ASSERT_TRUE(into);
  const auto why = [&](const std::string& file) {
    const auto other = open_text(file);
    EXPECT_TRUE(other);
    const auto done = into->filter.merge(other->filter);
    return done ? std::string() : std::string(describe(done.error()).view());
  };
  EXPECT_NE(why(file_of(rows(10), usual)).find("different sizes"), std::string::npos);
  EXPECT_NE(why(small_file()).find("hunks"), std::string::npos);
  EXPECT_NE(why(file_of(rows(1000), {.error_rate = 0.001F, .chunk_bytes = 4096})).find("hash functions"),
            std::string::npos);
  EXPECT_NE(why(file_of({"row-1"}, {.type = bloom_type::rowprefix, .prefix_bytes = 5})).find("Bloom types"),
            std::string::npos);
  EXPECT_EQ(count_of(query(into->filter, rows(1000))), 1000U);
}

TEST(HBaseFile, OutOfOrderOrWithoutKeysIsNotWritten) {
  const auto refused = [](const names& keys, const hfile::build_options& options = {}) {
    return !formats::hfile::build(views_of(keys), options, nullptr);
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({"b", "a"}));
  EXPECT_FALSE(refused({"a", "a", "b"}));
  EXPECT_TRUE(refused({std::string(40'000, 'r')}));
  EXPECT_TRUE(refused({"a"}, {.type = bloom_type::rowcol}));
  EXPECT_TRUE(refused({"a"}, {.error_rate = 1.0F}));
  const auto copies = open_text(file_of({"a", "a", "b", "b", "b"}));
  EXPECT_EQ(copies->filter.stats()->keys.keys, 2U);
}

// The names and numbers of small fields, replaced by others of the same length; sums of checks are left out by type 0.
std::string without_checksums(std::string file) {
  for (const char* magic : {"BLMFBLK2", "IDXROOT2", "FILEINF2", "BLMFMET2"}) {
    for (std::size_t at = file.find(magic); at != std::string::npos; at = file.find(magic, at + 1))
      file[at + 24] = '\0';
  }
  return file;
}
std::string replaced(std::string file, std::string_view what, std::string_view with) {
  const std::size_t at = file.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return file.replace(at, what.size(), with);
}

TEST(HBaseFile, WhatCannotBeReadIsRefusedByName) {
  const std::string file = without_checksums(file_of({"a", "b"}));
  EXPECT_EQ(refusal_of(file), "");
  EXPECT_NE(refusal_of(replaced(file,
                                "\x11"
                                "BLOOM_FILTER_TYPE\x12\x03ROW",
                                "\x11"
                                "BLOOM_FILTER_TYPE\x12\x03RAW"))
                .find("type"),
            std::string::npos);
  EXPECT_NE(refusal_of(replaced(file, "BLOOM_FILTER_TYPE", "XLOOM_FILTER_TYPE")).find("no Bloom filter"),
            std::string::npos);
  EXPECT_NE(refusal_of(replaced(file, "PBUF", "XBUF")).find("0.95"), std::string::npos);
  EXPECT_NE(refusal_of(replaced(file, "CellComparatorImpl\x60\x02", "CellComparatorImpl\x60\x03")).find("SNAPPY"),
            std::string::npos);
  EXPECT_NE(refusal_of(replaced(file, "BLMFMET2", "BLMFMETX")).find("does not belong"), std::string::npos);
  EXPECT_NE(refusal_of(replaced(file, "BLMFMET2", "DFBLMET2")).find("no Bloom filter"), std::string::npos);
  EXPECT_NE(refusal_of(replaced(file, "BLMFBLK2", "BLMFBLKX"), "hbase").find("no chunk"), std::string::npos);
  EXPECT_NE(refusal_of(replaced(file, "TRABLK\"$", "TRABLKXX")).find("trailer"), std::string::npos);
  std::string old = file;
  old[old.size() - 1] = '\x02';
  old[old.size() - 4] = '\x00';
  EXPECT_NE(refusal_of(old, "hbase").find("version"), std::string::npos);
  EXPECT_NE(refusal_of("short", "hbase"), "");
}

// One number of the meta block or of a block's header, each beyond what there is.
TEST(HBaseFile, HostileNumbersAllocateNothing) {
  const std::string file = without_checksums(file_of({"a", "b"}));
  const std::size_t meta = file.find("BLMFMET2") + 33;
  for (const std::size_t field : {std::size_t{0}, std::size_t{12}, std::size_t{16}, std::size_t{36}, std::size_t{41},
                                  std::size_t{49}, std::size_t{53}}) {
    std::string other = file;
    for (std::size_t i = 0; i < 4; ++i) other[meta + field + i] = '\xff';
    EXPECT_NE(refusal_of(other), "") << field;
  }
  for (const char* magic : {"BLMFBLK2", "IDXROOT2", "FILEINF2", "BLMFMET2"}) {
    for (const std::size_t field : {8U, 12U, 29U}) {
      std::string other = file;
      for (std::size_t i = 0; i < 4; ++i) other[file.find(magic) + field + i] = '\x7f';
      EXPECT_NE(refusal_of(other), "") << magic << field;
    }
  }
}

TEST(HBaseFileGzip, BlocksThatClaimToBeLargeAllocateNothing) {
  const std::string packed = without_checksums(file_of({"a", "b"}, {.packing = formats::hfile::compression::gz}));
  EXPECT_EQ(refusal_of(packed), "");
  for (const char* magic : {"BLMFBLK2", "FILEINF2", "BLMFMET2"}) {
    std::string other = packed;
    other[packed.find(magic) + 12] = '\x7f';
    EXPECT_NE(refusal_of(other).find("unpacked"), std::string::npos) << magic;
  }
}

void expect_safe(const std::string& text) {
  const auto opened = open_text(text, {.from = "hbase"});
  if (!opened) return;
  const names keys = {"", "a", "b", "row-10000000", std::string(100, 'x')};
  const auto answers = query(opened->filter, keys);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto why = formats::explain(opened->filter, keys[i]);
    EXPECT_TRUE(why && why->may_contain() == answers[i]);
  }
  static_cast<void>(opened->filter.stats());
  static_cast<void>(opened->filter.facts());
  EXPECT_TRUE(text_of(opened->filter, *opened->form) == text);
}

void expect_harmless(const std::string& file) {
  const std::size_t trailer = file.size() - 4096;
  const auto in_padding = [&](std::size_t at) { return at > trailer + 128 && at + 16 < file.size(); };
  for (std::size_t at = 0; at < file.size(); ++at) {
    if (in_padding(at)) continue;
    expect_safe(file.substr(0, at));
    for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ flip);
      expect_safe(damaged);
    }
  }
}

TEST(HBaseFile, DamageDoesNoHarm) {
  expect_harmless(file_of(rows(40), {.chunk_bytes = 128, .max_fold = 0}));
  expect_harmless(without_checksums(file_of({"a", "b"})));
  expect_harmless(
      without_checksums(file_of({column_key("a", "q"), column_key("b", "q")}, {.type = bloom_type::rowcol})));
}
TEST(HBaseFileGzip, DamageDoesNoHarm) {
  expect_harmless(without_checksums(file_of({"a", "b"}, {.packing = hfile::compression::gz})));
}

}  // namespace
}  // namespace bloomery

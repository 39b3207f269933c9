// The list of errors: frozen numbers, sentences, remedies, and the page that lists them.
#include <gtest/gtest.h>

#include <bloomery/core/result.hpp>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace bloomery;

// Bindings and programs hold these. A code is added at the end; none is ever changed, removed or used again.
TEST(Error, NumbersAndNamesAreFrozen) {
  const std::vector<std::string_view> names = {"out_of_memory",
                                               "bad_fpr",
                                               "bad_keys",
                                               "bad_hashes",
                                               "bad_bits",
                                               "bad_bits_per_key",
                                               "bad_memory",
                                               "missing_parameter",
                                               "too_many_parameters",
                                               "size_overflow",
                                               "cannot_reach_fpr",
                                               "not_enough_hash_bits",
                                               "layout_too_large",
                                               "unsupported",
                                               "mismatch",
                                               "cannot_fold",
                                               "bad_seed",
                                               "bad_key_size",
                                               "wrong_key",
                                               "not_linked",
                                               "bad_span",
                                               "full",
                                               "unknown_kind",
                                               "unknown_hash",
                                               "unknown_codec",
                                               "io",
                                               "is_directory",
                                               "already_exists",
                                               "empty_file",
                                               "not_a_filter",
                                               "truncated",
                                               "trailing_bytes",
                                               "newer_version",
                                               "header_damaged",
                                               "chunk_damaged",
                                               "bad_field",
                                               "bad_text",
                                               "codec_failed",
                                               "read_only",
                                               "not_keyed",
                                               "merge_exceeds_target",
                                               "bad_growth",
                                               "too_many_copies",
                                               "bad_shards",
                                               "bad_shard",
                                               "two_shard_sets",
                                               "shard_alone",
                                               "unknown_format",
                                               "no_format",
                                               "several_formats",
                                               "not_in_format",
                                               "in_both_lists",
                                               "no_room_to_return",
                                               "not_synced",
                                               "kind_has_one_layout",
                                               "kind_has_no_modes",
                                               "kind_has_no_hashes",
                                               "integer_keys_only",
                                               "not_mappable",
                                               "format_not_compressed",
                                               "bad_option",
                                               "unknown_layout",
                                               "unknown_mode"};
  ASSERT_EQ(error_rows.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const error_row& row = error_rows[i];
    EXPECT_EQ(row.name, names[i]);
    EXPECT_EQ(static_cast<std::size_t>(row.code), i + 1) << row.name;
    EXPECT_EQ(&row_of(row.code), &row) << row.name;
  }
  static_assert(static_cast<int>(errc::out_of_memory) == 1);
  static_assert(static_cast<int>(errc::io) == 26);
  static_assert(static_cast<int>(errc::not_synced) == 54);
  static_assert(static_cast<int>(errc::unknown_mode) == 63);
}

TEST(Error, EveryCodeHasASentence) {
  for (const error_row& row : error_rows) EXPECT_FALSE(row.sentence.empty()) << row.name;
  for (const std::uint16_t none : {std::uint16_t{0}, static_cast<std::uint16_t>(errc::count_), std::uint16_t{65535}}) {
    EXPECT_EQ(describe(make_error(static_cast<errc>(none))).view(), "unknown error") << none;
  }
}

TEST(Error, EveryRemedyButNoneHasWordsAndIsThatOfACode) {
  for (const remedy_row& row : remedy_rows) {
    EXPECT_EQ(row.words.empty(), row.code == remedy::none) << row.name;
    EXPECT_EQ(plain_words(row.code), row.words);
    bool used = false;
    for (const error_row& each : error_rows) used = used || each.usual_remedy == row.code;
    EXPECT_TRUE(used) << row.name;
  }
}

TEST(Error, PlaceholdersAreFilledWithNumbersBytesAndText) {
  const error e = make_error(errc::out_of_memory, "the filter", {1288490189});
  EXPECT_EQ(sentence_of(e).view(), "the filter needs 1288490189 bytes (1.2 GiB) of memory, which the system refused");
}

TEST(Error, EveryPlaceholderOfEverySentenceIsKnown) {
  for (const error_row& row : error_rows) {
    const auto text = describe(make_error(row.code, "x", {1, 2, 3, 4}));
    EXPECT_EQ(text.view().find('{'), std::string_view::npos) << text.view();
    EXPECT_EQ(text.view().find('}'), std::string_view::npos) << text.view();
  }
}

TEST(Error, TheLongestOfEveryCodeIsNotCut) {
  const std::string text(1000, 'x');
  for (const error_row& row : error_rows) {
    error e = make_error(row.code, text, {~0ULL, ~0ULL, ~0ULL, ~0ULL});
    e.path.assign(text);
    const auto whole = describe(e);
    EXPECT_LT(whole.length + 1, whole.buffer.size()) << row.name;
    EXPECT_TRUE(whole.view().ends_with(row_of(e.advice).words)) << row.name;
  }
}

TEST(Error, LongTextsAreCutAndStayTerminated) {
  const std::string text(1000, 'x');
  const error e = make_error(errc::unsupported, text);
  EXPECT_EQ(e.text_view().size(), e.text.size() - 1);
  EXPECT_EQ(describe(e).view().size(), e.text.size() - 1);
}

TEST(Error, TextsWithBracesAreNotExpanded) {
  EXPECT_EQ(describe(make_error(errc::unsupported, "{0} {t} {b1}")).view(), "{0} {t} {b1}");
}

TEST(Error, ARemedyFollowsTheSentence) {
  EXPECT_EQ(describe(make_error(errc::already_exists)).view(),
            "exists already: allow replacing it, or use another name");
  EXPECT_EQ(describe(make_error(errc::truncated, {}, {5, 9})).view(),
            "is cut short: it has 5 bytes and should have 9; copy or build it again");
  EXPECT_EQ(describe(make_error(errc::is_directory)).view(), "is a directory: give a file");
}

TEST(Error, AHostWordsTheRemedies) {
  const auto words = [](remedy what) noexcept -> std::string_view {
    return what == remedy::allow_replace ? "pass replace=True" : std::string_view{};
  };
  EXPECT_EQ(describe(make_error(errc::already_exists), words).view(), "exists already: pass replace=True");
  EXPECT_EQ(describe(make_error(errc::unknown_kind, "x"), words).view(), "there is no kind 'x'");
}

TEST(Error, AnErrorMayCarryAnotherRemedyThanItsCode) {
  error e = make_error(errc::no_format, "\"ab\"; could be leveldb");
  EXPECT_EQ(remedy_of(e), remedy::none);
  e.advice = remedy::name_the_format;
  EXPECT_EQ(describe(e).view(),
            "is not a filter in any known format: it starts with \"ab\"; could be leveldb; name its format");
}

TEST(Error, APathStandsInFront) {
  error e = make_error(errc::is_directory);
  e.path.assign("a/seen.bloom");
  EXPECT_EQ(describe(e).view(), "a/seen.bloom: is a directory: give a file");
  EXPECT_EQ(sentence_of(e).view(), "is a directory: give a file");
}

TEST(Error, ALongPathKeepsItsEnd) {
  const std::string folder(300, 'f');
  const path_tail cut(folder + "/seen.bloom");
  EXPECT_EQ(cut.view().size(), 199U);
  EXPECT_EQ(cut.view().substr(0, 4), "...f");
  EXPECT_TRUE(cut.view().ends_with("/seen.bloom"));
  const std::string whole(199, 'w');
  EXPECT_EQ(path_tail(whole).view(), whole);
  EXPECT_TRUE(path_tail().empty());
  path_tail again(whole);
  again.assign("short");
  EXPECT_EQ(again.view(), "short");
}

TEST(Error, TheFirstPathIsKept) {
  const result<int> failed = name_file(result<int>(fail(errc::is_directory)), "inner");
  EXPECT_EQ(name_file(failed, "outer").error().path.view(), "inner");
  EXPECT_EQ(name_file(result<int>(7), "outer"), 7);
}

TEST(Error, FullIsWhatTheFilterHasNoSpaceFor) {
  for (const error_row& row : error_rows) {
    const bool expected = row.name == "full" || row.name == "too_many_copies" || row.name == "no_room_to_return";
    EXPECT_EQ(is_full(make_error(row.code)), expected) << row.name;
  }
}

TEST(Error, HumanBytesRoundToThreeDigitsAtMost) {
  EXPECT_EQ(human_bytes(0).view(), "0 B");
  EXPECT_EQ(human_bytes(1023).view(), "1023 B");
  EXPECT_EQ(human_bytes(1536).view(), "1.5 KiB");
  EXPECT_EQ(human_bytes(std::uint64_t{1} << 40U).view(), "1.0 TiB");
  EXPECT_EQ(human_bytes(~std::uint64_t{0}).view(), "16.0 EiB");
}

TEST(Error, AnErrorOwnsNoMemory) { EXPECT_TRUE(std::is_trivially_copyable_v<error>); }

std::string_view name_of_group(error_group group) {
  switch (group) {
    case error_group::memory:
      return "memory";
    case error_group::parameter:
      return "parameter";
    case error_group::operation:
      return "operation";
    case error_group::file:
      return "file";
  }
  return "";
}

TEST(Error, ThePageListsEveryCodeAndNoOther) {
  std::ifstream page(BLOOMERY_SOURCE_DIR "/docs/errors.md");
  ASSERT_TRUE(page);
  std::vector<std::string> listed;
  for (std::string line; std::getline(page, line);) {
    if (line.size() > 2 && line[0] == '|' && line[2] >= '0' && line[2] <= '9') listed.push_back(line);
  }
  ASSERT_EQ(listed.size(), error_rows.size());
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const error_row& row = error_rows[i];
    const std::string_view advice = row_of(row.usual_remedy).name;
    std::string expected = "| " + std::to_string(static_cast<int>(row.code));
    expected.append(" | `").append(row.name).append("` | ").append(name_of_group(row.group));
    expected.append(" | ").append(row.sentence).append(" | ");
    if (row.usual_remedy != remedy::none)
      expected.append("`").append(advice).append("` |");
    else
      expected.append("|");
    EXPECT_EQ(listed[i], expected);
  }
}

}  // namespace

// --header with verbs that print records and with those that only take keys, and with files whose columns differ.
#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Header : public tool_box {
 protected:
  void SetUp() override {
    tool_box::SetUp();
    write("a.csv", "id,mail\n1,ann\n2,bob\n");
    write("same.csv", "\"id\",mail\r\n3,ann\r\n");
    write("other.csv", "mail,id\nann,4\neve,5\n");
    write("more.csv", "id,mail,age\n6,ann,30\n");
    build("f", "ann\n");
    build("c", "ann\nann\n", {"--kind", "counting"});
  }
  // As one command line, with the options that all tests here have.
  [[nodiscard]] ran by_mail(const std::string& words, const std::string& files) const {
    return sh("$TOOL " + words + " --csv --header -f mail " + files);
  }
};

constexpr const char* same_columns = "give files with the same columns in the same order, or one file at a time\n";

TEST_F(Header, QueryPrintsItAboveTheLines) {
  EXPECT_EQ(by_mail("query f", "a.csv").out, "id,mail\n1,ann\n");
  EXPECT_EQ(by_mail("query -v f", "a.csv").out, "id,mail\n2,bob\n");
  EXPECT_EQ(by_mail("query --mark f", "a.csv").out, "mark\tid,mail\n1\t1,ann\n0\t2,bob\n");
  EXPECT_EQ(by_mail("query f", "< a.csv").out, "id,mail\n1,ann\n");
  EXPECT_EQ(sh("printf 'n\\tm\\0001\\tann\\000' | $TOOL query -0 --header -f m f | tr '\\0' '|'").out, "n\tm|1\tann|");
}

TEST_F(Header, QueryPrintsItAlsoWhenNoLineIsSelected) {
  const ran none = sh("printf 'id,mail\\n7,zoe\\n' | $TOOL query --csv --header -f mail f");
  EXPECT_EQ(none.out, "id,mail\n");
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(sh("printf 'id,mail\\n' | $TOOL query --csv --header -f mail f").out, "id,mail\n");
  const ran empty = sh("$TOOL query --csv --header -f mail f < /dev/null");
  EXPECT_EQ(empty.out, "");
  EXPECT_EQ(empty.code, 1);
}

TEST_F(Header, CountsAndExitCodesHaveNoHeader) {
  EXPECT_EQ(by_mail("query -c f", "a.csv").out, "1\n");
  const ran quiet = by_mail("query -q f", "a.csv");
  EXPECT_EQ(quiet.out, "");
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(nlohmann::json::parse(by_mail("query --json f", "a.csv").out)["keys"], 2);
}

TEST_F(Header, CountPrintsItBehindItsOwnColumn) {
  EXPECT_EQ(by_mail("count c", "a.csv").out, "count\tid,mail\n2\t1,ann\n0\t2,bob\n");
  EXPECT_EQ(by_mail("count --json c", "a.csv").out,
            "{\"line\":\"1,ann\",\"count\":2}\n{\"line\":\"2,bob\",\"count\":0}\n");
}

TEST_F(Header, ItIsPrintedOnceAboveFilesWithTheSameColumns) {
  EXPECT_EQ(by_mail("query f", "a.csv same.csv").out, "id,mail\n1,ann\n3,ann\r\n") << "names, not quotes, are compared";
  EXPECT_EQ(by_mail("count c", "a.csv same.csv").out, "count\tid,mail\n2\t1,ann\n0\t2,bob\n2\t3,ann\r\n");
}

TEST_F(Header, RecordsWithOtherColumnsAreNotPrintedBelowIt) {
  const std::string other =
      "bloomery: other.csv: line 1: column 1 is 'mail', not 'id', so its records cannot stand below "
      "the header of a.csv: ";
  const std::string more =
      "bloomery: more.csv: line 1: it has 3 columns, not 2, so its records cannot stand below the "
      "header of a.csv: ";
  for (const std::string words : {"query f", "query -v f", "query --mark f", "count c", "dedup", "dedup --counts",
                                  "dedup --repeated", "dedup --approx", "dedup --state state"}) {
    const ran reordered = by_mail(words, "a.csv other.csv");
    EXPECT_EQ(reordered.err, other + same_columns) << words;
    EXPECT_EQ(reordered.code, 2) << words;
    EXPECT_FALSE(contains(reordered.out, "ann,4")) << words;
    const ran longer = by_mail(words, "a.csv more.csv");
    EXPECT_EQ(longer.err, more + same_columns) << words;
    EXPECT_EQ(longer.code, 2) << words;
  }
  // Also without fields: a header is a line, and the lines belong to it.
  write("x", "name\nann\n");
  write("y", "mail\nann\n");
  EXPECT_EQ(run({"query", "--header", "f", "x", "y"}).code, 2);
  EXPECT_EQ(run({"query", "--header", "f", "x", "x"}).out, "name\nann\nann\n");
}

TEST_F(Header, ColumnsAreFoundByNameInEachFileWhereOnlyKeysCount) {
  EXPECT_EQ(by_mail("query -c f", "a.csv other.csv more.csv").out, "3\n");
  EXPECT_EQ(nlohmann::json::parse(by_mail("query --json f", "a.csv other.csv").out)["present"], 2);
  EXPECT_EQ(nlohmann::json::parse(by_mail("dedup --json", "a.csv other.csv").out)["different"], 3);
  EXPECT_EQ(lines_in(by_mail("count --json c", "a.csv other.csv").out), 4U);
  EXPECT_EQ(by_mail("build -q -o g", "a.csv other.csv").code, 0);
  EXPECT_EQ(run({"query", "g"}, "ann\nbob\neve\n4\nmail\n").out, "ann\nbob\neve\n");
  EXPECT_EQ(by_mail("add -q f", "other.csv a.csv").code, 0);
  EXPECT_EQ(run({"query", "f"}, "bob\neve\n2\n5\n").out, "bob\neve\n");
  EXPECT_EQ(by_mail("verify -q g --keys other.csv --probes 10", "").code, 0);
  EXPECT_EQ(by_mail("remove -q c", "other.csv").code, 1) << "eve is not in it, ann is removed once";
  EXPECT_EQ(run({"count", "c"}, "ann\n").out, "1\tann\n");
}

TEST_F(Header, WholeRecordsHaveTheirFieldsInTheOrderOfTheFirstFile) {
  ASSERT_EQ(run({"build", "-q", "-o", "g", "--csv", "--header", "a.csv", "other.csv"}).code, 0);
  EXPECT_EQ(run({"query", "--csv", "g"}, "1,ann\n4,ann\n5,eve\nann,4\n").out, "1,ann\n4,ann\n5,eve\n");
  const std::string text =
      "its columns are not those of a.csv, and without -f the key is the whole record: give the "
      "same columns, or name those that are the key with -f";
  expect_error({"build", "-o", "h", "--csv", "--header", "a.csv", "more.csv"}, "bloomery: more.csv: line 1: " + text);
  write("twice.csv", "mail,mail\nann,ann\n");
  expect_error({"build", "-o", "h", "--csv", "--header", "a.csv", "twice.csv"}, "bloomery: twice.csv: line 1: " + text);
}

}  // namespace

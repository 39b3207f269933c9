// The reader by itself, with chunks so small that records straddle their edges at every offset.
#include <bloomery/any_filter.hpp>
#include <bloomery/core/wide.hpp>

#include "cli/keys/digests.hpp"
#include "cli/keys/distinct_counter.hpp"
#include "cli/tool_box.hpp"
#include "cli/verbs/verb.hpp"

namespace {

using namespace bloomery_test;
namespace cli = bloomery::cli;
using std::string_literals::operator""s;

class KeyChunks : public tool_box {
 protected:
  static cli::options options_of(std::vector<std::string> words) {
    words.insert(words.begin(), "query");
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    const std::size_t count = pointers.size();
    pointers.push_back(nullptr);
    auto given = cli::options::parse(cli::query_verb, std::span(pointers).first(count));
    EXPECT_TRUE(given.has_value());
    return *given;
  }
  // All that comes out, as text: "file-less" lines of number, record and key, and the failure at the end.
  static void append(std::string& out, const cli::record& each) {
    out.append(std::to_string(each.number)).append("[").append(each.text).append("|").append(each.key).append("]\n");
  }
  [[nodiscard]] std::string all_records(const std::vector<std::string>& words, const std::vector<std::string>& files,
                                        std::size_t chunk_bytes) const {
    auto reader = make(words, files, chunk_bytes);
    std::string out;
    cli::key_chunk chunk;
    while (true) {
      const auto more = reader.next(chunk);
      if (!more) return out.append(more.error().text.substr(more.error().text.rfind('/') + 1));
      if (!*more) return out;
      for (const cli::record& each : chunk.records()) append(out, each);
    }
  }
  [[nodiscard]] std::string all_streamed(std::vector<std::string> words, const std::vector<std::string>& files,
                                         std::size_t chunk_bytes, const char* jobs) const {
    words.insert(words.end(), {"-j", jobs});
    const auto mark = [](cli::key_chunk& chunk) { chunk.tally = chunk.size(); };
    cli::digest_stream stream(make(words, files, chunk_bytes), {}, 64, mark);
    std::string out;
    while (true) {
      const auto more = stream.next();
      if (!more) return out.append(more.error().text.substr(more.error().text.rfind('/') + 1));
      if (!*more) return out;
      EXPECT_EQ(stream.chunk().tally, stream.size());
      for (std::size_t i = 0; i < stream.size(); ++i) {
        append(out, stream.records()[i]);
        const std::string_view key = stream.keys()[i];
        EXPECT_EQ(stream.digests64()[i], bloomery::hasher{}.digest(key.data(), key.size()));
      }
    }
  }
  // The same for every size of chunks and any number of threads.
  void expect_records(const std::vector<std::string>& words, const std::vector<std::string>& inputs,
                      const std::string& expected) const {
    std::vector<std::string> files;
    for (const std::string& input : inputs) {
      files.push_back(path("input" + std::to_string(files.size())));
      write("input" + std::to_string(files.size() - 1), input);
    }
    for (std::size_t bytes = 1; bytes <= 40; ++bytes) {
      ASSERT_EQ(all_records(words, files, bytes), expected) << "chunks of " << bytes;
    }
    ASSERT_EQ(all_records(words, files, cli::key_reader::usual_chunk_bytes), expected);
    for (const char* jobs : {"1", "2", "5"}) {
      for (const std::size_t bytes : {1U, 2U, 3U, 7U, 16U}) {
        ASSERT_EQ(all_streamed(words, files, bytes, jobs), expected) << jobs << " threads, chunks of " << bytes;
      }
    }
  }

 private:
  static cli::key_reader make(const std::vector<std::string>& words, const std::vector<std::string>& files,
                              std::size_t chunk_bytes) {
    auto reader = cli::key_reader::make(options_of(words), files, bloomery::hasher{}, chunk_bytes);
    EXPECT_TRUE(reader.has_value());
    return std::move(*reader);
  }
};

TEST_F(KeyChunks, LinesAreTheSameWhereverChunksEnd) {
  expect_records({}, {"a\n\nbcd\nefghijklmnopqrstuvw\n\n\nx\0y\r\nend"s, "", "\n", "z\n"},
                 "1[a|a]\n2[|]\n3[bcd|bcd]\n4[efghijklmnopqrstuvw|efghijklmnopqrstuvw]\n5[|]\n6[|]\n"
                 "7[x\0y\r|x\0y\r]\n8[end|end]\n1[|]\n1[z|z]\n"s);
}

TEST_F(KeyChunks, CrlfAndNulAreTheSameWhereverChunksEnd) {
  expect_records({"--crlf"}, {"a\r\n\r\nb\r"}, "1[a\r|a]\n2[\r|]\n3[b\r|b]\n");
  expect_records({"-0"}, {"a\nb\0\0c"s}, "1[a\nb|a\nb]\n2[|]\n3[c|c]\n");
}

TEST_F(KeyChunks, FieldsAndHeadersAreTheSameWhereverChunksEnd) {
  expect_records({"-f", "2"}, {"a\tb\tc\n\t\nx\ty"}, "1[a\tb\tc|b]\n2[\t|]\n3[x\ty|y]\n");
  expect_records({"-f", "two", "--header", "-d", ":"}, {"one:two\na:b\n", "two:one\nc:d\n", "", "two", "one:two\n"},
                 "2[a:b|b]\n2[c:d|c]\n");
}

TEST_F(KeyChunks, CsvIsTheSameWhereverChunksEnd) {
  expect_records({"--csv", "-f", "2"},
                 {"1,\"a\nb\"\r\n2,\"say \"\"x\"\"\n\"\n3,p\"l\"\n\"4\n\",\"\"\n5,\"\"\"\"\n6,end",
                  "\xef\xbb\xbf\"1\n\",x\n2,y\n"},
                 "1[1,\"a\nb\"\r|a\nb]\n3[2,\"say \"\"x\"\"\n\"|say \"x\"\n]\n5[3,p\"l\"|p\"l\"]\n6[\"4\n\",\"\"|]\n"
                 "8[5,\"\"\"\"|\"]\n9[6,end|end]\n1[\xef\xbb\xbf\"1\n\",x|x]\n3[2,y|y]\n");
  expect_records({"--csv", "--header", "-f", "b\nb"},
                 {"\xef\xbb\xbf"
                  "a,\"b\nb\"\n1,2\n3,\"4\n5\"\n6,7\n"},
                 "3[1,2|2]\n4[3,\"4\n5\"|4\n5]\n6[6,7|7]\n");
}

TEST_F(KeyChunks, FailuresAreTheSameWhereverChunksEnd) {
  expect_records({"--csv", "-f", "1"}, {"a\n\"b\n\"\nc\n\"d\ne\n"},
                 "1[a|a]\n2[\"b\n\"|b\n]\n4[c|c]\ninput0: line 5: a quoted field has no closing quote");
  expect_records({"--csv", "-f", "1"}, {"\"a\n\"\n\"b\"c\nd\n"},
                 "1[\"a\n\"|a\n]\ninput0: line 3: a quoted field is followed by text: double the quotes inside it");
  expect_records({"-f", "2"}, {"a\tb\n", "c\td\ne\nf\tg\n"},
                 "1[a\tb|b]\n1[c\td|d]\ninput1: line 2 has 1 field, there is no field 2");
  expect_records({"--header", "-f", "x"}, {"y\n1\n"}, "input0: line 1: there is no field 'x'; the header has: y");
}

TEST_F(KeyChunks, AFailureOfTheWorkComesInItsPlace) {
  std::string input;
  for (int i = 0; i < 1000; ++i) input.append(std::to_string(i)).append("\n");
  write("input", input);
  for (const char* jobs : {"1", "2", "5"}) {
    const auto work = [](cli::key_chunk& chunk) {
      for (const std::string_view key : chunk.keys) {
        if (key == "700") chunk.fail({"seven hundred", cli::problem_kind::error});
      }
    };
    auto reader = cli::key_reader::make(options_of({"-j", jobs}), std::array{path("input")}, bloomery::hasher{}, 64);
    ASSERT_TRUE(reader);
    cli::digest_stream stream(std::move(*reader), {}, 64, work);
    std::uint64_t seen = 0;
    while (true) {
      const auto more = stream.next();
      if (!more) {
        EXPECT_EQ(more.error().text, "seven hundred");
        EXPECT_FALSE(stream.next()) << "and stays";
        break;
      }
      ASSERT_TRUE(*more);
      seen += stream.size();
    }
    EXPECT_GT(seen, 700U) << jobs;
    EXPECT_LT(seen, 720U) << jobs;
  }
}

TEST_F(KeyChunks, StreamsEndCleanlyWhereverTheyAreLeft) {
  write("input", numbers(1, 3000));
  for (int taken = 0; taken < 40; ++taken) {
    auto reader = cli::key_reader::make(options_of({"-j", "3"}), std::array{path("input")}, bloomery::hasher{}, 100);
    ASSERT_TRUE(reader);
    cli::digest_stream stream(std::move(*reader), {}, 128);
    for (int i = 0; i < taken; ++i) {
      const auto chunk = stream.take();  // kept, not given back
      ASSERT_TRUE(chunk);
      ASSERT_NE(*chunk, nullptr);
      EXPECT_EQ((*chunk)->digests(128).size(), (*chunk)->size());
    }
  }
}

TEST(DistinctCounter, IsExactUpToHalfAMillion) {
  cli::distinct_counter counter;
  std::vector<std::uint64_t> digests;
  for (std::uint64_t i = 0; i < 500'000; ++i) digests.push_back(i);
  counter.add(digests);
  counter.add(digests);
  EXPECT_TRUE(counter.is_exact());
  EXPECT_EQ(counter.different(), 500'000U);
  EXPECT_EQ(counter.at_most(), 500'000U);
  EXPECT_EQ(counter.added(), 1'000'000U);
}

TEST(DistinctCounter, EstimatesWithinItsMargin) {
  for (const std::uint64_t different : {600'000U, 1'000'000U, 3'000'000U}) {
    cli::distinct_counter counter;
    cli::distinct_counter backwards;
    std::vector<std::uint64_t> digests;
    for (std::uint64_t i = 0; i < different; ++i) digests.push_back(bloomery::mix64(i));
    counter.add(digests);
    counter.add(digests);
    std::reverse(digests.begin(), digests.end());
    backwards.add(digests);
    EXPECT_FALSE(counter.is_exact());
    EXPECT_NEAR(static_cast<double>(counter.different()), static_cast<double>(different),
                0.006 * static_cast<double>(different));
    EXPECT_GE(counter.at_most(), different);
    EXPECT_LE(backwards.at_most(), different) << "never more than were added";
    backwards.add(digests);
    EXPECT_EQ(counter.different(), backwards.different()) << "the order does not matter";
  }
}

// Several fields of a line are the tuple that the library hashes.
class KeyTuples : public tool_box {};

TEST_F(KeyTuples, SeveralFieldsAreATupleOfTheLibrary) {
  using namespace bloomery;
  hasher hash;
  auto filter = any_filter::make("bloom", {.keys = 10, .fpr = 1e-6}, hash.spec());
  ASSERT_TRUE(filter->add(std::tuple("ab", "c")));
  ASSERT_TRUE(filter->add(std::tuple(std::string(700, 'l'), "m")));
  ASSERT_TRUE(filter->save(path("f").c_str()));
  const std::string long_line = std::string(700, 'l') + "\tm\n";
  EXPECT_EQ(run({"query", "-f", "1,2", "f"}, "ab\tc\na\tbc\n" + long_line).out, "ab\tc\n" + long_line);
  EXPECT_EQ(run({"query", "-f", "2,1", "f"}, "c\tab\nab\tc\n").out, "c\tab\n") << "in the order that is given";
}

TEST_F(KeyTuples, IntegerFieldsAreATupleOfIntegers) {
  using namespace bloomery;
  hasher hash;
  auto filter = any_filter::make("bloom", {.keys = 10, .fpr = 1e-6}, hash.spec());
  ASSERT_TRUE(filter->add(std::tuple(5, 6)));
  ASSERT_TRUE(filter->save(path("f").c_str()));
  EXPECT_EQ(run({"query", "--u64", "-f", "1,2", "f"}, "5\t6\n6\t5\n").out, "5\t6\n");
}

}  // namespace

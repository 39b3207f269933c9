// Files of other products in the tool: how they are told, asked, built, changed, merged and converted.
#include <sstream>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Formats : public tool_box {
 protected:
  static std::string golden(const std::string& name) { return std::string(BLOOMERY_GOLDEN_DIR) + "/" + name; }
  void copy(const std::string& from, const std::string& to) const {
    std::filesystem::copy_file(golden(from), path(to));
    std::filesystem::permissions(path(to), std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
  }
  // A file in this format, of these lines.
  void build_as(const std::string& form, const std::string& name, std::string_view lines,
                std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"--format", form});
    build(name, lines, more);
  }
};

// ---- which there are ----

TEST_F(Formats, AreListedWithWhatCanBeDoneWithEach) {
  const ran result = run({"formats"});
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(contains(result.out, "native          read query write build merge any "));
  EXPECT_TRUE(contains(result.out, "dcso            read query write build merge fnv1 "));
  EXPECT_TRUE(contains(result.out, "bits-and-blooms read query write build merge murmur3-x64-128 "));
  expect_error({"formats", "dcso"}, "bloomery: formats: takes no 'dcso'");
}

TEST_F(Formats, AreListedForPrograms) {
  const auto all = json_of({"formats", "--json"})["formats"];
  ASSERT_TRUE(all.is_array());
  EXPECT_EQ(all[0]["name"], "native");
  EXPECT_EQ(all[0]["hash"], nullptr);
  std::size_t found = 0;
  for (const auto& each : all) {
    for (const char* name : {"summary", "reads", "queries", "writes", "builds", "merges", "gzip", "options"}) {
      EXPECT_TRUE(each.contains(name)) << each;
    }
    if (each["name"] == "dcso") {
      ++found;
      EXPECT_EQ(each["hash"], "fnv1");
      EXPECT_EQ(each["gzip"], true);
      EXPECT_TRUE(each["options"].empty());
    }
    if (each["name"] == "bits-and-blooms") {
      ++found;
      EXPECT_EQ(each["hash"], "murmur3-x64-128");
      EXPECT_EQ(each["options"], nlohmann::json::array({"encoding"}));
    }
  }
  EXPECT_EQ(found, 2U);
}

TEST_F(Formats, EveryFormatThatIsBuiltIsToldByItsContentAgain) {
  const nlohmann::json said = json_of({"formats", "--json"});
  unsigned built = 0;
  for (const auto& each : said["formats"]) {
    if (each["builds"] != true || each["writes"] != true) continue;
    ++built;
    const std::string name = each["name"];
    build_as(name, name, numbers(1, 500));
    const ran counted = run({"query", "-c", "--from", name, name}, numbers(1, 500));
    EXPECT_EQ(counted.out, "500\n") << name << counted.err;
    EXPECT_EQ(json_of({"info", "--json", "--from", name, name})["format"], name);
    EXPECT_EQ(run({"verify", "--probes", "1000", "--from", name, name, "--keys", "-"}, numbers(1, 500)).code, 0)
        << name;
  }
  EXPECT_GE(built, 7U);
}

// ---- how they are told ----

TEST_F(Formats, AFileIsToldByItsContentNotByItsName) {
  copy("dcso/n100_p0.01.bloom", "a.json");
  copy("dcso/n100_p0.01.bloom.gz", "a.bin");
  copy("bits-and-blooms/n100_p0.01.bin", "b.bloom");
  copy("bits-and-blooms/n100_p0.01.json", "b.gz");
  for (const char* name : {"a.json", "a.bin"}) EXPECT_EQ(json_of({"info", "--json", name})["format"], "dcso") << name;
  for (const char* name : {"b.bloom", "b.gz"}) {
    EXPECT_EQ(json_of({"info", "--json", name})["format"], "bits-and-blooms") << name;
  }
}

TEST_F(Formats, APipeIsToldAsAFileIs) {
  for (const char* file : {"dcso/n100_p0.01.bloom", "dcso/n100_p0.01.bloom.gz", "bits-and-blooms/n100_p0.01.bin",
                           "bits-and-blooms/n100_p0.01.json"}) {
    const std::string source = shell_quoted(golden(file));
    const ran from_pipe = sh("cat " + source + " | $TOOL info --json -");
    const ran from_file = sh("$TOOL info --json " + source);
    ASSERT_EQ(from_pipe.code, 0) << from_pipe.err;
    auto piped = nlohmann::json::parse(from_pipe.out);
    auto opened = nlohmann::json::parse(from_file.out);
    piped.erase("file");
    opened.erase("file");
    EXPECT_EQ(piped, opened) << file;
  }
}

TEST_F(Formats, WhatIsNoFilterIsCalledWhatItLooksLike) {
  const std::string none = ": is not a filter in any known format: it starts with ";
  const auto refused = [&](const std::string& name, std::string_view bytes, const std::string& text) {
    write(name, bytes);
    for (const char* verb : {"info", "query", "verify"}) {
      std::vector<std::string> words = {verb, name};
      if (std::string_view(verb) == "verify") words.insert(words.end(), {"--keys", "/dev/null"});
      expect_error(words, "bloomery: " + name + none + text);
    }
  };
  refused("text", "one\ntwo\nthree\n", R"("one\x0atwo\x0athre" (text))");
  refused("program", std::string_view("\x7f\x45LF\x02\x01\x01\0", 8), R"("\x7fELF\x02\x01\x01\x00" (a program))");
  refused("image", std::string_view("\x89PNG\r\n\x1a\n\0\0\0\r", 12),
          R"("\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0d" (a PNG image))");
  refused("database", std::string_view("SQLite format 3\0\x10\0", 18), R"("SQLite forma" (an SQLite database))");
  refused("table", std::string_view("PAR1\x15\x06\x15\x0e", 8), R"("PAR1\x15\x06\x15\x0e" (a Parquet file))");
  refused("rows.csv", "id,name\n1,ann\n", R"("id,name\x0a1,an" (text))");
  refused("other.json", R"({"name":"x"})", R"("{\"name\":\"x\"}" (JSON))");
  write("empty", "");
  expect_error({"info", "empty"}, "bloomery: empty: is empty: a filter file has at least 256 bytes");
  ASSERT_EQ(sh("gzip -n < text > text.gz").code, 0);
  const ran packed = run({"info", "text.gz"});
  EXPECT_EQ(packed.code, 2);
  EXPECT_TRUE(contains(packed.err, " (gzip: unpack it first)\n")) << packed.err;
  const ran piped = sh("cat text | $TOOL info -");
  EXPECT_EQ(piped.err, "bloomery: standard input" + none + "\"one\\x0atwo\\x0athre\" (text)\n");
}

// For a shell: so many KiB of addresses and no more. A sanitizer takes terabytes of them for itself.
std::string limited_to(unsigned kib) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  static_cast<void>(kib);
  return {};
#endif
#endif
  return "ulimit -v " + std::to_string(kib) + "; ";
}

// What has no end is not waited for: its first bytes say that it is none.
TEST_F(Formats, AnEndlessStreamOfSomethingElseIsRefused) {
  const auto refused = [&](const std::string& form, const std::string& what) {
    const ran result = sh(limited_to(2'000'000) + "timeout 60 \"$TOOL\" info --from " + form + " /dev/zero");
    EXPECT_EQ(result.code, 2) << form;
    EXPECT_EQ(result.err.rfind("bloomery: /dev/zero: ", 0), 0U) << result.err;
    EXPECT_TRUE(contains(result.err, what)) << result.err;
  };
  refused("native", "is not a Bloomery filter");
  refused("text", "is not a Bloomery filter");
  refused("dcso", "its first byte, the version, is not 1");
  refused("bits-and-blooms", "field m has value 0");
  refused("guava", "the number of hash functions, is 0");
  refused("redisbloom", "number of sub-filters has value 0");
  refused("spark", "its version is neither 1 nor 2");
}

TEST_F(Formats, AGzipBombIsRefused) {
  ASSERT_EQ(sh("(head -c 168 " + shell_quoted(golden("dcso/n100_p0.01.bloom")) +
               "; head -c 300000000 /dev/zero) | gzip -9 > bomb.gz")
                .code,
            0);
  const ran result = sh(limited_to(200'000) + "\"$TOOL\" info bomb.gz");
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(contains(result.err, "more than 64 MiB behind the filter: unpack it first")) << result.err;
}

TEST_F(Formats, FromNamesTheFormatAndIsChecked) {
  copy("bits-and-blooms/n100_p0.01.bin", "b");
  copy("dcso/n100_p0.01.bloom", "d");
  EXPECT_EQ(run({"info", "--from", "bits-and-blooms", "b"}).code, 0);
  expect_error({"info", "--from", "dcso", "b"},
               "bloomery: b: is not a filter in format dcso: its first byte, the version, is not 1");
  expect_error({"info", "--from", "bits-and-blooms", "d"},
               "bloomery: d: its header is not usable: field k has value 7205759403792793600");
  EXPECT_EQ(run({"info", "--from", "native", "d"}).code, 2);
  const ran unknown = run({"info", "--from", "nothing", "d"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.err.rfind("bloomery: info: --from: there is no 'nothing'; there are: native, text, dcso, ", 0), 0U)
      << unknown.err;
}

// ---- info ----

TEST_F(Formats, InfoSaysWhatTheFileCarries) {
  copy("dcso/n100_p0.01_data.bloom", "d");
  const ran text = run({"info", "d"});
  EXPECT_TRUE(contains(text.out, "168 bytes") || contains(text.out, "188 bytes")) << text.out;
  EXPECT_TRUE(contains(text.out, "  data bytes     20\n")) << text.out;
  EXPECT_TRUE(contains(text.out, "  FPR promised   1.00 % (1 in 100)\n")) << text.out;
  const auto of = json_of({"info", "--json", "d"});
  EXPECT_EQ(of["capacity_keys"], 100);
  EXPECT_EQ(of["hash"], "fnv1");
  EXPECT_EQ(of["parameters"]["bits"], 958);
  EXPECT_EQ(of["parameters"]["hash_functions"], 7);
}

TEST_F(Formats, InfoSaysWhatTheFileDoesNotCarry) {
  copy("bits-and-blooms/n100_p0.01.json", "b");
  const ran text = run({"info", "b"});
  EXPECT_TRUE(contains(text.out, "  capacity       unknown: not stored in the file\n")) << text.out;
  EXPECT_TRUE(contains(text.out, "  FPR promised   unknown: not stored in the file\n")) << text.out;
  const auto of = json_of({"info", "--json", "b"});
  EXPECT_EQ(of["capacity_keys"], nullptr);
  EXPECT_EQ(of["target_fpr"], nullptr);
  EXPECT_EQ(of["keys_exact"], false);
  EXPECT_EQ(of["digest_bits"], 256);
  EXPECT_EQ(of["overfull"], false);
}

// Every filter file that a product wrote, beside the list of who wrote them.
TEST_F(Formats, InfoTellsTheTruthAboutEveryGoldenFile) {
  const auto cases = [](const std::string& file) {
    std::vector<std::vector<std::string>> rows;
    std::ifstream in(golden(file));
    for (std::string line; std::getline(in, line);) {
      if (line.empty() || line.front() == '#') continue;
      std::istringstream fields(line);
      rows.emplace_back();
      for (std::string field; std::getline(fields, field, '\t');) rows.back().push_back(field);
    }
    return rows;
  };
  std::size_t files = 0;
  const auto told = [&](const std::string& file, const std::string& form, std::uint64_t bits, std::uint64_t hashes,
                        bool named = false) {
    ++files;
    std::vector<std::string> words = {"info", "--json", golden(file)};
    if (named) words.insert(words.end(), {"--from", form});
    const auto of = json_of(words);
    EXPECT_EQ(of["format"], form) << file;
    EXPECT_EQ(of["parameters"]["bits"], bits) << file;
    EXPECT_EQ(of["parameters"]["hash_functions"], hashes) << file;
    EXPECT_EQ(of["file_bytes"], std::filesystem::file_size(golden(file))) << file;
    return of;
  };
  const auto number = [](const std::string& text) { return std::stoull(text); };
  for (const auto& row : cases("leveldb/cases.tsv")) {
    const std::string file = "leveldb/" + row[0] + ".bin";
    const auto of = told(file, "leveldb", (number(row[3]) - 1) * 8, number(row[4]), true);
    EXPECT_NEAR(of["estimated_keys"], std::stod(row[2]), 1 + 0.15 * std::stod(row[2])) << file;
    EXPECT_EQ(run({"info", golden(file)}).code, 2) << file << " carries no signature";
  }
  for (const auto& row : cases("guava/cases.tsv")) {
    const auto of = told("guava/" + row[0] + ".bin", "guava", number(row[7]) * 64, number(row[6]));
    EXPECT_EQ(of["parameters"]["strategy"], row[2]) << row[0];
    EXPECT_EQ(of["keys"], number(row[11])) << row[0];
    // The product takes the bits of a key to be independent, which those of a small filter are not: it delivers more.
    EXPECT_GE(of["fpr_now"].get<double>(), std::stod(row[12]) - 1e-12) << row[0];
  }
  for (const auto& row : cases("spark/cases.tsv")) {
    const auto of = told("spark/" + row[0] + ".bin", "spark", number(row[6]) * 64, number(row[5]));
    EXPECT_EQ(of["seed"], static_cast<std::uint32_t>(std::stoll(row[4]))) << row[0];
    EXPECT_NEAR(of["keys"], std::stod(row[7]), 6) << row[0];
    EXPECT_TRUE(contains(run({"info", golden("spark/" + row[0] + ".bin")}).out, "version " + row[1])) << row[0];
  }
  for (const auto& row : cases("bits-and-blooms/cases.tsv")) {
    for (const char* ending : {".bin", ".json"}) {
      told("bits-and-blooms/" + row[0] + ending, "bits-and-blooms", number(row[3]), number(row[4]));
    }
  }
  for (const char* ending : {".bloom", ".bloom.gz", "_data.bloom"}) {
    const auto of = told(std::string("dcso/n100_p0.01") + ending, "dcso", 958, 7);
    EXPECT_EQ(of["keys"], 100);
    EXPECT_EQ(of["capacity_keys"], 100);
    EXPECT_EQ(of["target_fpr"], 0.01);
  }
  EXPECT_EQ(told("dcso/empty_n100_p0.01.bloom", "dcso", 958, 7)["keys"], 0);
  EXPECT_EQ(told("dcso/n100_p0.001.bloom", "dcso", 1437, 10)["target_fpr"], 0.001);
  EXPECT_EQ(told("dcso/n100_p0.5.bloom", "dcso", 144, 1)["keys"], 73) << "inserts that set a bit";
  EXPECT_EQ(told("dcso/n7_p0.05.bloom", "dcso", 43, 5)["overfull"], true);
  EXPECT_GE(files, 57U);
}

// ---- build ----

TEST_F(Formats, BuildMakesTheBytesOfTheProduct) {
  copy("dcso/keys.txt", "keys");
  ASSERT_EQ(run({"build", "-q", "--format", "dcso", "-n", "100", "-p", "0.001", "-o", "d", "keys"}).code, 0);
  EXPECT_TRUE(read("d") == sh("cat " + shell_quoted(golden("dcso/n100_p0.001.bloom"))).out);
  // Keys in hexadecimal, as they stand in the list but for the empty one.
  ASSERT_EQ(sh("grep -v '^#' " + shell_quoted(golden("bits-and-blooms/keys.tsv")) + " | sed 's/^-$//' > hex").code, 0);
  for (const char* ending : {"bin", "json"}) {
    const std::string form = std::string(ending) == "bin" ? "binary" : "json";
    const ran made = run({"build", "-q", "--format", "bits-and-blooms", "--encoding", form, "--hex", "-n", "100", "-p",
                          "1%", "-o", ending, "hex"});
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_TRUE(read(ending) == sh("cat " + shell_quoted(golden("bits-and-blooms/n100_p0.01.") + ending)).out)
        << ending;
    EXPECT_EQ(run({"query", "-c", "--hex", ending, "hex"}).out, "101\n");
  }
}

TEST_F(Formats, ABuildWithoutANumberOfKeysCountsThem) {
  build_as("dcso", "counted", numbers(1, 5000));
  build_as("dcso", "given", numbers(1, 5000), {"-n", "5000"});
  EXPECT_TRUE(read("counted") == read("given"));
  build_as("bits-and-blooms", "counted.b", numbers(1, 5000), {"-j", "1"});
  build_as("bits-and-blooms", "given.b", numbers(1, 5000), {"-n", "5000", "-j", "4"});
  EXPECT_TRUE(read("counted.b") == read("given.b"));
}

TEST_F(Formats, MemoryIsKeptAndFilled) {
  for (const char* form : {"dcso", "bits-and-blooms"}) {
    for (const char* memory : {"1000", "1001", "4096", "64Ki"}) {
      for (const bool known : {true, false}) {
        const std::string name = std::string(form) + memory + (known ? "n" : "");
        std::vector<std::string> how = {"--mem", memory};
        if (known) how.insert(how.end(), {"-n", "2000"});
        build_as(form, name, numbers(1, 2000), how);
        const std::uint64_t used = json_of({"info", "--json", name})["memory_bytes"];
        const std::uint64_t allowed = std::string_view(memory) == "64Ki" ? 65536 : std::stoull(memory);
        EXPECT_LE(used, allowed) << name;
        // Beyond 92 bits a key nothing is gained.
        EXPECT_GE(used, std::min<std::uint64_t>(allowed - 8, 2000 * 92 / 8)) << name;
      }
    }
  }
  const ran small = run({"build", "--format", "dcso", "--mem", "7", "-n", "10", "-o", "x"});
  EXPECT_EQ(small.code, 2);
  EXPECT_TRUE(contains(small.err, "memory of 7 bytes is too small")) << small.err;
}

TEST_F(Formats, AFormatHasItsOwnKindAndHash) {
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"kind", "bloom"}, {"hash", "xxh3"}, {"seed", "1"}, {"key-file", "k"}, {"layout", "split64"}}) {
    expect_error({"build", "-o", "x", "--format", "dcso", "--" + name, value},
                 "bloomery: build: format dcso has a kind and a hash of its own: leave --" + name + " out");
  }
  EXPECT_FALSE(exists("x"));
}

TEST_F(Formats, OptionsOfOtherFormatsAreRefused) {
  const std::string text = "--encoding is for format bits-and-blooms, redisbloom: leave it out";
  expect_error({"build", "-o", "x", "--format", "dcso", "--encoding", "json"}, "bloomery: build: " + text);
  expect_error({"build", "-o", "x", "--encoding", "json"}, "bloomery: build: " + text);
  build("native", numbers(1, 10));
  build_as("dcso", "d", numbers(1, 10));
  expect_error({"convert", "native", "-o", "x", "--to", "text", "--encoding", "json"}, "bloomery: convert: " + text);
  expect_error({"merge", "-o", "x", "--encoding", "json", "d", "d"}, "bloomery: merge: " + text);
  expect_error({"merge", "-o", "x", "--encoding", "json", "native"}, "bloomery: merge: " + text);
  EXPECT_EQ(run({"build", "-o", "x", "--format", "bits-and-blooms", "--encoding", "yaml"}).code, 2);
  EXPECT_FALSE(exists("x"));
}

TEST_F(Formats, CompressionThatAFormatDoesNotHaveIsRefusedBeforeAnythingIsRead) {
  expect_error({"build", "-o", "x", "--format", "dcso", "--compress", "zstd", "missing"},
               "bloomery: build: files in format dcso are packed with gzip or not at all");
  expect_error({"build", "-o", "x", "--format", "bits-and-blooms", "--compress", "gzip", "missing"},
               "bloomery: build: files in format bits-and-blooms are not compressed: leave --compress out");
}

// ---- convert ----

TEST_F(Formats, ConvertGoesBetweenNativeAndTextAndBack) {
  build("native", numbers(1, 500));
  EXPECT_EQ(run({"convert", "native", "-o", "text", "--to", "text"}).err,
            "text: text, from native, 1,286 bytes (1.3 KiB)\n");
  EXPECT_EQ(read("text").size(), 1286U);
  EXPECT_EQ(read("text").rfind("-----BEGIN BLOOMERY FILTER-----", 0), 0U);
  ASSERT_EQ(run({"convert", "-q", "text", "-o", "again", "--to", "native"}).code, 0);
  EXPECT_TRUE(read("again") == read("native"));
  ASSERT_EQ(run({"convert", "-q", "native", "-o", "packed", "--to", "native", "--compress", "zstd"}).code, 0);
  EXPECT_EQ(json_of({"info", "--json", "packed"})["compression"], "zstd");
  const auto of = json_of({"convert", "--json", "text", "-o", "third", "--to", "native"});
  EXPECT_EQ(of["format"], "native");
  EXPECT_EQ(of["from"], "text");
  EXPECT_EQ(of["file_bytes"], read("third").size());
}

TEST_F(Formats, ConvertGoesBetweenTheFormsOfOneFormat) {
  build_as("bits-and-blooms", "b.bin", numbers(1, 500));
  ASSERT_EQ(run({"convert", "-q", "b.bin", "-o", "b.json", "--to", "bits-and-blooms", "--encoding", "json"}).code, 0);
  EXPECT_EQ(read("b.json").rfind("{\"m\":", 0), 0U);
  ASSERT_EQ(run({"convert", "-q", "b.json", "-o", "again", "--to", "bits-and-blooms", "--encoding", "binary"}).code, 0);
  EXPECT_TRUE(read("again") == read("b.bin"));
  build_as("dcso", "d", numbers(1, 500));
  ASSERT_EQ(run({"convert", "-q", "d", "-o", "d.gz", "--to", "dcso", "--compress", "gzip"}).code, 0);
  ASSERT_EQ(run({"convert", "-q", "d.gz", "-o", "d2", "--to", "dcso"}).code, 0);
  EXPECT_TRUE(read("d2") == read("d"));
  const ran piped = sh("$TOOL convert d -o - --to dcso > d3");
  EXPECT_EQ(piped.err, "standard output: dcso, from dcso\n");
  EXPECT_TRUE(read("d3") == read("d"));
}

TEST_F(Formats, ConvertSaysWhyNotAndWhatToDoInstead) {
  build("native", numbers(1, 10));
  build("classic", numbers(1, 10), {"--kind", "bloom", "--hash", "fnv1"});
  build_as("dcso", "d", numbers(1, 10));
  build_as("bits-and-blooms", "b", numbers(1, 10));
  const auto refused = [&](const std::string& name, const std::string& to, const std::string& by,
                           const std::string& other) {
    expect_error({"convert", name, "-o", "x", "--to", to},
                 "bloomery: " + name + ": cannot become " + to + ": its bits were set by " + by + ", and " + other +
                     " sets other bits for the same keys. A filter does not store its keys: build it again from "
                     "them with 'bloomery build --format " +
                     to + " -o FILE KEYFILES'");
    EXPECT_FALSE(exists("x"));
  };
  refused("native", "dcso", "kind blocked with xxh3", "dcso with fnv1");
  refused("classic", "dcso", "kind bloom with fnv1", "dcso with fnv1");
  refused("d", "bits-and-blooms", "format dcso with fnv1", "bits-and-blooms with murmur3-x64-128");
  refused("b", "dcso", "format bits-and-blooms with murmur3-x64-128", "dcso with fnv1");
  refused("d", "native", "format dcso with fnv1", "a native file");
  refused("b", "text", "format bits-and-blooms with murmur3-x64-128", "a native file");
}

TEST_F(Formats, ConvertWantsOneFileAFormatAndAPlace) {
  build("f", numbers(1, 10));
  expect_error({"convert"}, "bloomery: convert: give the filter: bloomery convert FILE -o OUT --to FORMAT");
  expect_error({"convert", "f", "-o", "x"},
               "bloomery: convert: give the format to write with --to; see 'bloomery formats'");
  expect_error({"convert", "f", "--to", "text"},
               "bloomery: convert: give the file to write: -o FILE, or -o - for standard output");
  write("there", "kept");
  expect_error({"convert", "f", "--to", "text", "-o", "there"},
               "bloomery: there: exists already: use --force to replace it, or another name");
  EXPECT_EQ(read("there"), "kept");
  EXPECT_EQ(run({"convert", "f", "--to", "text", "-o", "there", "--force"}).code, 0);
}

// ---- add ----

TEST_F(Formats, AddKeepsTheFormatItsFormAndItsPacking) {
  struct made {
    std::string name;
    std::vector<std::string> how;
  };
  const std::vector<made> all = {{"d", {"--format", "dcso"}},
                                 {"d.gz", {"--format", "dcso", "--compress", "gzip"}},
                                 {"b", {"--format", "bits-and-blooms"}},
                                 {"b.json", {"--format", "bits-and-blooms", "--encoding", "json"}}};
  for (const auto& [name, how] : all) {
    std::vector<std::string> sized = how;
    sized.insert(sized.end(), {"-n", "1000"});
    build(name, numbers(1, 500), sized);
    build(name + ".all", numbers(1, 1000), sized);
    const ran result = run({"add", name}, numbers(501, 1000));
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err.rfind(name + ": bloom, 500 keys read, ", 0), 0U) << result.err;
    EXPECT_TRUE(read(name) == read(name + ".all")) << name;
    EXPECT_EQ(run({"query", "-c", name}, numbers(1, 1000)).out, "1000\n");
  }
}

TEST_F(Formats, AnAddThatFailsLeavesTheFileAsItWas) {
  build_as("dcso", "d", numbers(1, 10));
  const std::string before = read("d");
  EXPECT_EQ(run({"add", "--hex", "d"}, "0x\n").code, 2);
  EXPECT_EQ(run({"add", "d", "missing"}).code, 2);
  EXPECT_TRUE(read("d") == before);
  expect_error({"remove", "d"},
               "bloomery: d: is of kind bloom, which cannot remove keys; kinds that can: bitmap, counting, growing, "
               "cuckoo, dleft, dual");
  EXPECT_TRUE(read("d") == before);
}

TEST_F(Formats, AnOverfullFileIsSaidToBe) {
  build_as("dcso", "d", numbers(1, 100));
  const ran result = run({"add", "d"}, numbers(101, 400));
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(contains(result.err, "warning: d: now holds about ")) << result.err;
  EXPECT_EQ(json_of({"info", "--json", "d"})["overfull"], true);
}

// ---- merge ----

TEST_F(Formats, MergeKeepsTheFormatOfItsInputs) {
  for (const char* form : {"dcso", "bits-and-blooms"}) {
    const std::string f(form);
    build_as(form, f + "1", numbers(1, 500), {"-n", "1000"});
    build_as(form, f + "2", numbers(501, 1000), {"-n", "1000"});
    build_as(form, f + "all", numbers(1, 1000), {"-n", "1000"});
    const auto of = json_of({"merge", "--json", "-o", f, f + "1", f + "2"});
    EXPECT_EQ(of["format"], form);
    EXPECT_EQ(json_of({"info", "--json", f})["fill"], json_of({"info", "--json", f + "all"})["fill"]);
    EXPECT_EQ(run({"query", "-c", f}, numbers(1, 1000)).out, "1000\n");
    ASSERT_EQ(run({"merge", "-q", "--intersect", "-o", f + "both", f + "1", f + "all"}).code, 0);
    EXPECT_EQ(run({"query", "-c", f + "both"}, numbers(1, 500)).out, "500\n");
  }
  EXPECT_TRUE(read("bits-and-blooms") == read("bits-and-bloomsall"));
}

TEST_F(Formats, MergeMayWriteAnotherForm) {
  build_as("bits-and-blooms", "b", numbers(1, 500));
  build_as("bits-and-blooms", "b.json", numbers(1, 500), {"--encoding", "json"});
  ASSERT_EQ(run({"merge", "-q", "--encoding", "json", "-o", "both.json", "b", "b.json"}).code, 0);
  EXPECT_TRUE(read("both.json") == read("b.json"));
  ASSERT_EQ(run({"merge", "-q", "-o", "both", "b", "b.json"}).code, 0);
  EXPECT_TRUE(read("both") == read("b"));
}

TEST_F(Formats, UnlikeFiltersAreNotMerged) {
  build("native", numbers(1, 100), {"--kind", "bloom"});
  build("blocked", numbers(1, 100), {"--kind", "blocked"});
  build_as("dcso", "d", numbers(1, 100));
  build_as("dcso", "large", numbers(1, 200));
  build_as("dcso", "rate", numbers(1, 100), {"-p", "0.0100001"});
  build_as("bits-and-blooms", "b", numbers(1, 100));
  const std::string one = ": only filters of one product can be merged";
  expect_error({"merge", "-o", "x", "d", "b"}, "bloomery: d is in format dcso, b in format bits-and-blooms" + one);
  expect_error({"merge", "-o", "x", "d", "native"}, "bloomery: d is in format dcso, native in format native" + one);
  expect_error({"merge", "-o", "x", "d", "blocked"}, "bloomery: d is in format dcso, blocked in format native" + one);
  expect_error({"merge", "-o", "x", "native", "d"}, "bloomery: native is in format native, d in format dcso" + one);
  expect_error({"merge", "-o", "x", "d", "large"},
               "bloomery: d and large: the filters do not fit together: they have different numbers of bits; bits 958 "
               "and 1,917");
  expect_error({"merge", "-o", "x", "d", "rate"},
               "bloomery: d and rate: the filters do not fit together: they were made for different false-positive "
               "rates");
  const ran other = run({"merge", "-o", "x", "--format", "bits-and-blooms", "d", "d"});
  EXPECT_EQ(other.code, 2);
  EXPECT_EQ(
      other.err.rfind("bloomery: d: cannot become bits-and-blooms: its bits were set by format dcso with fnv1", 0), 0U)
      << other.err;
  EXPECT_FALSE(exists("x"));
}

// ---- hostile files ----

TEST_F(Formats, DamagedFilesAreErrorsOfOneLine) {
  copy("dcso/n100_p0.01.bloom", "d");
  const std::string whole = read("d");
  write("cut", std::string_view(whole).substr(0, 100));
  expect_error({"info", "--from", "dcso", "cut"},
               "bloomery: cut: is cut short: it has 100 bytes and should have 168; copy or build it again");
  std::string hashes = whole;
  hashes[31] = '\x7f';
  write("hashes", hashes);
  const ran refused = run({"info", "--from", "dcso", "hashes"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(
      refused.err.rfind("bloomery: hashes: its header is not usable: field number of hash functions has value ", 0), 0U)
      << refused.err;
  std::string bits = whole;
  bits[38] = '\x0f';
  write("bits", bits);
  EXPECT_EQ(run({"query", "--from", "dcso", "bits"}, "x\n").code, 2);
  copy("dcso/n100_p0.01.bloom.gz", "d.gz");
  const std::string packed = read("d.gz");
  write("cut.gz", std::string_view(packed).substr(0, packed.size() - 5));
  expect_error({"info", "--from", "dcso", "cut.gz"},
               "bloomery: cut.gz: cannot be unpacked: its gzip data is damaged, cut off or followed by something");
  write("more.gz", packed + "x");
  expect_error({"info", "more.gz"},
               "bloomery: more.gz: cannot be unpacked: its gzip data is damaged, cut off or followed by something");
  write("cut.json", R"({"m":959,"k":7,"b":"AAAAAAAAA78Y5Foa)");
  expect_error({"info", "cut.json"},
               "bloomery: cut.json: is not a filter in format bits-and-blooms: its JSON is cut short: copy it again");
}

}  // namespace

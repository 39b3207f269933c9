// bloomery with files of Apache Spark: tests/golden/spark has who wrote them.
#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class SparkTool : public tool_box {
 protected:
  [[nodiscard]] static std::string golden(const std::string& name) {
    std::ifstream in(BLOOMERY_GOLDEN_DIR "/spark/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // The keys of a case, one a line: integers as --u64 takes them, others in hexadecimal.
  [[nodiscard]] static std::string keys(const std::string& name) {
    std::istringstream lines(golden(name + ".probes.tsv"));
    std::string out;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with('#')) continue;
      std::istringstream fields(line);
      std::string kind;
      std::string value;
      std::string inserted;
      fields >> kind >> value >> inserted;
      if (inserted != "1") continue;
      if (kind == "long") value = std::to_string(static_cast<unsigned long long>(std::stoll(value)));
      out.append(value == "-" ? "" : value).append("\n");
    }
    return out;
  }
};

TEST_F(SparkTool, BuildsTheBytesOfTheProduct) {
  build("a", keys("str_n100_fpp001_v1_seed0"),
        {"--hex", "--format", "spark", "--spark-version", "1", "-n", "100", "-p", "0.001"});
  EXPECT_TRUE(read("a") == golden("str_n100_fpp001_v1_seed0.bin"));
  build("b", keys("str_n100_fpp001_v2_seedm7"),
        {"--hex", "--format", "spark", "--seed", "0xfffffff9", "-n", "100", "-p", "0.001"});
  EXPECT_TRUE(read("b") == golden("str_n100_fpp001_v2_seedm7.bin"));
  build("c", keys("long_n100_fpp03_v2_seed42"), {"--u64", "--format", "spark", "--seed", "42", "-n", "100"});
  EXPECT_TRUE(read("c") == golden("long_n100_fpp03_v2_seed42.bin"));
}

TEST_F(SparkTool, AsksAndChangesThem) {
  write("f", golden("long_n100_fpp03_v2_seed42.bin"));
  EXPECT_EQ(run({"query", "-c", "--u64", "f"}, keys("long_n100_fpp03_v2_seed42")).out, "100\n");
  EXPECT_EQ(run({"add", "--u64", "f"}, "123456789\n").code, 0);
  EXPECT_EQ(run({"query", "-q", "--u64", "f"}, "123456789\n").code, 0);
  const ran refused = run({"convert", "f", "-o", "x", "--to", "native"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("cannot become native"), std::string::npos) << refused.err;
}

TEST_F(SparkTool, ItsOptionsAreForNoOtherFormat) {
  EXPECT_EQ(run({"build", "-o", "x", "--spark-version", "1", "--format", "dcso"}, "a\n").code, 2);
  EXPECT_EQ(run({"build", "-o", "x", "--spark-version", "3", "--format", "spark"}, "a\n").code, 2);
  EXPECT_EQ(run({"build", "-o", "x", "--spark-version", "1", "--seed", "7", "--format", "spark"}, "a\n").code, 2);
  EXPECT_EQ(run({"build", "-o", "x", "--hash", "xxh3", "--format", "spark"}, "a\n").code, 2);
}

}  // namespace

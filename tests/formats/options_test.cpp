// The options of formats, as data: what the tool renders is what the library takes.
#include <array>
#include <bloomery/formats.hpp>
#include <set>
#include <string>

#include "support/filters.hpp"

namespace bloomery::test {
namespace {

// A filter that is made with this value of the option, or why not.
std::string made_with(const formats::format& format, const option_info& option, const std::string& value) {
  formats::format_options options;
  filter_params params{.keys = 1000, .fpr = 0.01};
  if (option.name == "encoding") options.form = value;
  if (option.name == "kind") options.kind = value;
  if (option.name == "strategy") options.strategy = value;
  if (option.name == "k-rule") options.k_rule = value;
  if (option.name == "spark-version") options.spark_version = value;
  if (option.name == "seed") options.seed = value;
  if (option.name == "bucket-size") options = {.kind = "cuckoo", .bucket_size = value};
  if (option.name == "max-iterations") options = {.kind = "cuckoo", .max_iterations = value};
  if (option.name == "mode") params.mode = value;
  if (option.name == "growth") params.growth = std::stoull(value);
  if (option.name == "bloom-type") options.bloom_type = value;
  if (option.name == "hash-type") options.hash_type = value;
  if (option.name == "chunk-bytes") options.chunk_bytes = value;
  if (option.name == "prefix-length" || value == "rowprefix") {
    options.bloom_type = "rowprefix";
    options.prefix_length = value == "rowprefix" ? std::string_view("4") : std::string_view(value);
  }
  if (options.kind == "cuckoo") params.fpr.reset();  // it has the one of its fingerprints
  const std::array<std::string_view, 1> row = {"row"};
  const std::array<std::string_view, 1> row_and_column = {
      std::string_view("\0\3row\0q\x7f\xff\xff\xff\xff\xff\xff\xff\xff", 16)};
  const auto made = format.build == nullptr ? formats::make(format.name, params, options)
                                            : format.build(value == "rowcol" ? row_and_column : row, params, options);
  if (!made) return std::string(describe(made.error()).view());
  memory_sink sink;
  const auto saved = formats::save_to(*made, format, byte_sink(sink), {}, options);
  return saved ? "" : std::string(describe(saved.error()).view());
}

TEST(FormatOptions, EveryChoiceAndBothEndsOfEveryRangeAreTakenAndOthersRefused) {
  enable_everything();
  unsigned seen = 0;
  for (const formats::format* format : formats::list()) {
    for (const option_info& option : format->options) {
      SCOPED_TRACE(std::string(format->name) + " " + std::string(option.name));
      ++seen;
      EXPECT_FALSE(option.help.empty());
      EXPECT_FALSE(option.title.empty());
      if (option.type == option_type::choice) {
        ASSERT_FALSE(option.choices.empty());
        for (const option_choice& choice : option.choices) {
          EXPECT_FALSE(choice.help.empty()) << choice.name;
          EXPECT_EQ(made_with(*format, option, std::string(choice.name)), "") << choice.name;
        }
        EXPECT_NE(made_with(*format, option, "nonsense"), "");
      } else {
        EXPECT_EQ(made_with(*format, option, std::to_string(option.least)), "");
        EXPECT_EQ(made_with(*format, option, std::to_string(option.most)), "");
        EXPECT_NE(made_with(*format, option, std::to_string(option.most + 1)), "");
      }
    }
  }
  EXPECT_GE(seen, 15U);
}

TEST(FormatOptions, HaveNamesThatAreUniqueInAFormat) {
  for (const formats::format* format : formats::list()) {
    std::set<std::string_view> names;
    for (const option_info& option : format->options) EXPECT_TRUE(names.insert(option.name).second) << option.name;
  }
}

}  // namespace
}  // namespace bloomery::test

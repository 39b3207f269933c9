#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Info : public tool_box {};

TEST_F(Info, PlotDrawsTheFill) {
  build("full", numbers(1, 20000));
  build("sparse", numbers(1, 20), {"-n", "20000"});
  const std::string full = run({"info", "--plot", "full"}).out;
  const std::string sparse = run({"info", "--plot", "sparse"}).out;
  EXPECT_TRUE(is_ascii(full)) << "in a pipe";
  EXPECT_EQ(std::count(full.begin(), full.end(), '|'), 16);
  const auto blanks = [](const std::string& text) {
    const std::size_t first = text.find('|');
    return std::count(text.begin() + static_cast<std::ptrdiff_t>(first), text.end(), ' ');
  };
  EXPECT_GT(blanks(sparse), blanks(full) + 300);
  // Cells in use, not bits: at its capacity half of the counters are above 0, and a sixth of their bits is set.
  build("counters", numbers(1, 20000), {"--kind", "counting"});
  const std::string counters = run({"info", "--plot", "counters"}).out;
  const std::string emptiest = counters.substr(counters.find("emptiest section ") + 17);
  EXPECT_GT(std::stod(emptiest), 35.0) << emptiest;
  build("bits", numbers(1, 10), {"--kind", "bitmap", "--u64"});
  EXPECT_TRUE(contains(run({"info", "--plot", "bits"}).out, "kind bitmap has no bit array to draw"));
}

}  // namespace

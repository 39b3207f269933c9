#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Verify : public tool_box {
 protected:
  void SetUp() override {
    tool_box::SetUp();
    write("keys", numbers(1, 20000));
    ASSERT_EQ(run({"build", "-q", "-o", "f", "keys"}).code, 0);
  }
};

TEST_F(Verify, TheIntervalIsClopperPearson) {
  // No hit in n: the upper end is 1 - 0.005^(1/n).
  build("bits", numbers(1, 100), {"--kind", "bitmap", "--u64"});
  write("few", numbers(1, 100));
  const auto none = json_of({"verify", "--json", "--u64", "bits", "--keys", "few", "--probes", "1000"});
  EXPECT_EQ(none["false_positives"], 0);
  EXPECT_EQ(none["fpr_low"], 0.0);
  EXPECT_NEAR(none["fpr_high"].get<double>(), 1.0 - std::pow(0.005, 1e-3), 1e-9);
  // Otherwise: at the lower end k or more hits have a probability of 0.005, at the upper end k or fewer.
  const auto found = json_of({"verify", "--json", "f", "--keys", "keys", "--probes", "2000"});
  const int trials = 2000;
  const int hits = found["false_positives"];
  const auto at_most = [&](int k, double p) {
    double sum = 0;
    for (int i = 0; i <= k; ++i) {
      sum += std::exp(std::lgamma(trials + 1.0) - std::lgamma(i + 1.0) - std::lgamma(trials - i + 1.0) +
                      i * std::log(p) + (trials - i) * std::log1p(-p));
    }
    return sum;
  };
  ASSERT_GT(hits, 0);
  EXPECT_NEAR(1.0 - at_most(hits - 1, found["fpr_low"]), 0.005, 1e-6);
  EXPECT_NEAR(at_most(hits, found["fpr_high"]), 0.005, 1e-6);
}

}  // namespace

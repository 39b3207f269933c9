// Every end is found, whatever the length of the text and wherever it lies.
#include "cli/keys/line_ends.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace bloomery_test {
namespace {

TEST(LineEnds, AreThoseThatALookAtEveryByteFinds) {
  std::mt19937 random(1);
  std::string text(300, '\0');
  for (int round = 0; round < 2000; ++round) {
    const unsigned density = 1U << (random() % 9U);
    for (char& c : text) c = random() % density == 0 ? '\n' : static_cast<char>(random());
    const std::size_t from = random() % 70;
    const std::size_t to = from + random() % (text.size() - from + 1);
    std::vector<std::size_t> expected;
    for (std::size_t i = from; i < to; ++i) {
      if (text[i] == '\n') expected.push_back(i);
    }
    std::vector<std::size_t> found;
    bloomery::cli::for_each_end(text.data() + from, text.data() + to, '\n',
                                [&](const char* at) { found.push_back(static_cast<std::size_t>(at - text.data())); });
    ASSERT_EQ(found, expected) << from << ' ' << to;
  }
}

}  // namespace
}  // namespace bloomery_test

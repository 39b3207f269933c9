// The parts of de-duplication, closer than the command line gets: forced collisions, tiny memory, damaged states.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <unordered_set>

#include "cli/dedup/exact.hpp"
#include "cli/dedup/state.hpp"
#include "cli/dedup/table.hpp"
#include "cli/tool_box.hpp"

namespace bloomery_test {
namespace {

using namespace bloomery;
using namespace bloomery::cli;

// What was written, line by line.
class collecting_sink final : public dedup_sink {
 public:
  explicit collecting_sink(bool counts = false) : counts_(counts) {}
  void encode(std::string& to, std::uint64_t /*sequence*/, std::uint64_t count, std::string_view text) const override {
    if (counts_) to.append(std::to_string(count)).append(" ");
    to.append(text).append("\n");
  }
  outcome<void> write(std::string_view encoded) override {
    all_.append(encoded);
    return {};
  }
  [[nodiscard]] const std::string& all() const { return all_; }

 private:
  bool counts_;
  std::string all_;
};

std::vector<std::string> random_lines(std::size_t count, std::uint32_t different, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < count; ++i) {
    const auto which = static_cast<std::uint32_t>(random() % different);
    lines.push_back("line " + std::to_string(which) + std::string(which % 7 == 0 ? 300 : which % 5, 'x'));
  }
  return lines;
}

std::string expected(const std::vector<std::string>& lines, dedup_mode mode) {
  std::map<std::string, std::uint64_t> counts;
  std::string out;
  std::vector<std::string> order;
  for (const std::string& line : lines) {
    const std::uint64_t count = ++counts[line];
    if (count == 1) order.push_back(line);
    if ((mode == dedup_mode::first && count == 1) || (mode == dedup_mode::repeated && count == 2)) {
      out.append(line).append("\n");
    }
  }
  if (mode == dedup_mode::counts) {
    for (const std::string& line : order) out.append(std::to_string(counts[line])).append(" " + line + "\n");
  }
  return out;
}

struct trial {
  dedup_mode mode = dedup_mode::first;
  std::size_t window_bytes = 4096;
  std::uint64_t table_bytes = std::uint64_t{1} << 30U;
  bool background = false;
  bool flush_often = false;
};

// The engine over these lines with its own hash, which may be weak.
std::string run_engine(const std::vector<std::string>& lines, const trial& how, const hasher& hash = {},
                       bool* was_split = nullptr) {
  collecting_sink sink(how.mode == dedup_mode::counts);
  auto made = exact_dedup::make({.mode = how.mode,
                                 .hash = hash,
                                 .folder = std::filesystem::temp_directory_path().string(),
                                 .table_bytes = how.table_bytes,
                                 .window_bytes = how.window_bytes,
                                 .background = how.background},
                                sink);
  EXPECT_TRUE(made) << made.error().text;
  std::vector<dedup_entry> entries;
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < lines.size();) {
    entries.clear();
    all.clear();
    for (std::size_t j = 0; j < 100 && i < lines.size(); ++j, ++i) {
      entries.push_back({lines[i], lines[i], i});
      all.push_back(hash.digest(lines[i].data(), lines[i].size()));
    }
    const auto added = (*made)->add(entries, all);
    EXPECT_TRUE(added) << added.error().text;
    if (how.flush_often) {
      EXPECT_TRUE((*made)->flush());
    }
  }
  const auto finished = (*made)->finish();
  EXPECT_TRUE(finished) << finished.error().text;
  EXPECT_EQ((*made)->different(), std::unordered_set<std::string>(lines.begin(), lines.end()).size());
  if (was_split != nullptr) *was_split = (*made)->was_split();
  return sink.all();
}

// Keys of 8 bytes with the hash `identity` are their own digests, so tests choose collisions as they like.
std::string key_of(std::uint64_t digest) { return {reinterpret_cast<const char*>(&digest), sizeof digest}; }

TEST(DedupTable, FindsWhatWasInsertedAndNothingElse) {
  dedup_table table;
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> digests;
  for (std::uint32_t i = 0; i < 300000; ++i) {
    digests.push_back(random());
    table.insert(digests.back(), i);
  }
  EXPECT_EQ(table.size(), digests.size());
  for (std::uint32_t i = 0; i < digests.size(); ++i) {
    bool found = false;
    table.find(digests[i], [&](std::uint32_t ordinal) { return found = ordinal == i; });
    ASSERT_TRUE(found) << i;
  }
  // 40 bits of 300,000 digests: a million others meet one of them a third of a time.
  int met = 0;
  for (int i = 0; i < 1000000; ++i) {
    table.find(random(), [&](std::uint32_t) {
      ++met;
      return true;
    });
  }
  EXPECT_LT(met, 10);
  EXPECT_LE(table.memory_bytes(), 300000 * 19 + 256 * 8 * 64);
}

TEST(DedupTable, KeepsEqualDigestsInOrderOfInsertion) {
  dedup_table table;
  std::vector<std::uint32_t> order;
  const std::array<std::uint64_t, 4> digests = {0, 7, std::uint64_t{0} - 1, std::uint64_t{1} << 63U};
  for (std::uint32_t i = 0; i < 4000; ++i) table.insert(digests[i % digests.size()], i);
  for (std::uint32_t which = 0; which < digests.size(); ++which) {
    order.clear();
    table.find(digests[which], [&](std::uint32_t ordinal) {
      order.push_back(ordinal);
      return false;
    });
    // 0 and 7 share their 40 bits.
    std::vector<std::uint32_t> wanted;
    for (std::uint32_t i = 0; i < 4000; ++i) {
      if (i % 4 == which || (which < 2 && i % 4 < 2)) wanted.push_back(i);
    }
    EXPECT_EQ(order, wanted) << which;
  }
}

TEST(DedupExact, AgreesWithAMapInEveryModeAndWindow) {
  const auto lines = random_lines(4000, 1500, 3);
  for (const dedup_mode mode : {dedup_mode::first, dedup_mode::repeated, dedup_mode::counts}) {
    for (const std::size_t window : {std::size_t{200}, std::size_t{5000}, std::size_t{1} << 20U}) {
      for (const bool background : {false, true}) {
        const trial how{.mode = mode, .window_bytes = window, .background = background};
        EXPECT_EQ(run_engine(lines, how), expected(lines, mode)) << static_cast<int>(mode) << " " << window;
      }
    }
  }
}

TEST(DedupExact, ConfirmsSuspectsByTheirBytesWhenDigestsCollide) {
  // Three families of keys that share the 40 bits which the table sees; each key comes several times.
  const auto hash = *hasher::make("identity");
  std::mt19937 random(5);
  std::vector<std::string> lines;
  for (int i = 0; i < 1500; ++i) {
    const std::uint64_t family = std::uint64_t{random() % 3} << 60U;
    lines.push_back(key_of(family | (random() % 40)));
  }
  for (const dedup_mode mode : {dedup_mode::first, dedup_mode::repeated, dedup_mode::counts}) {
    for (const std::size_t window : {std::size_t{100}, std::size_t{3000}, std::size_t{1} << 20U}) {
      for (const bool background : {false, true}) {
        const trial how{.mode = mode, .window_bytes = window, .background = background};
        EXPECT_EQ(run_engine(lines, how, hash), expected(lines, mode)) << static_cast<int>(mode) << " " << window;
      }
    }
  }
}

TEST(DedupExact, SplitsWhatDoesNotFitAndMergesItInOrder) {
  const auto lines = random_lines(60000, 30000, 11);
  for (const dedup_mode mode : {dedup_mode::first, dedup_mode::repeated, dedup_mode::counts}) {
    bool was_split = false;
    // Less than an empty table takes: every level splits at once, down to the deepest.
    const trial how{.mode = mode, .table_bytes = 1, .background = true};
    EXPECT_EQ(run_engine(std::vector<std::string>(lines.begin(), lines.begin() + 3000), how, {}, &was_split),
              expected(std::vector<std::string>(lines.begin(), lines.begin() + 3000), mode));
    EXPECT_TRUE(was_split);
    // An empty table fits, and the index of half of the keys.
    const trial half{.mode = mode, .window_bytes = 20000, .table_bytes = 662000, .background = true};
    EXPECT_EQ(run_engine(lines, half, {}, &was_split), expected(lines, mode));
    EXPECT_TRUE(was_split);
  }
}

TEST(DedupExact, SplitsCollidingKeysToo) {
  const auto hash = *hasher::make("identity");
  std::mt19937 random(6);
  std::vector<std::string> lines;
  for (int i = 0; i < 1500; ++i) lines.push_back(key_of(std::uint64_t{random() % 2} << 63U | (random() % 40)));
  for (const dedup_mode mode : {dedup_mode::first, dedup_mode::repeated, dedup_mode::counts}) {
    bool was_split = false;
    const trial how{.mode = mode, .window_bytes = 500, .table_bytes = 1};
    EXPECT_EQ(run_engine(lines, how, hash, &was_split), expected(lines, mode));
    EXPECT_TRUE(was_split);
  }
}

TEST(DedupExact, ComparesKeysThatAreLongerThanAnyBuffer) {
  std::vector<std::string> lines;
  const std::string base(3U << 20U, 'y');
  for (const char last : {'a', 'b', 'a', 'c', 'b', 'a'}) lines.push_back(base + last);
  lines.emplace_back("");
  lines.emplace_back("short");
  lines.emplace_back("");
  for (const dedup_mode mode : {dedup_mode::first, dedup_mode::repeated, dedup_mode::counts}) {
    EXPECT_EQ(run_engine(lines, {.mode = mode}), expected(lines, mode));
  }
}

TEST(DedupExact, WritesEverythingAtAFlush) {
  const auto lines = random_lines(500, 100, 2);
  EXPECT_EQ(run_engine(lines, {.flush_often = true}), expected(lines, dedup_mode::first));
  collecting_sink sink;
  auto made = exact_dedup::make({.hash = {}, .folder = std::filesystem::temp_directory_path().string()}, sink);
  ASSERT_TRUE(made);
  const std::array<dedup_entry, 3> entries = {{{"a", "a", 0}, {"b", "b", 1}, {"a", "a", 2}}};
  const std::array<std::uint64_t, 3> all = {1, 2, 1};
  ASSERT_TRUE((*made)->add(entries, all));
  EXPECT_EQ(sink.all(), "");
  ASSERT_TRUE((*made)->flush());
  EXPECT_EQ(sink.all(), "a\nb\n");
}

TEST(Spill, NumbersOfEverySizeComeBack) {
  std::string bytes;
  std::vector<std::uint64_t> numbers = {0, 1, 127, 128, 16383, 16384, std::uint64_t{0} - 1};
  for (unsigned bit = 0; bit < 64; ++bit) numbers.push_back(std::uint64_t{1} << bit);
  for (const std::uint64_t number : numbers) append_number(bytes, number);
  std::string_view rest = bytes;
  for (const std::uint64_t number : numbers) {
    std::uint64_t found = 1;
    ASSERT_TRUE(take_number(rest, found));
    EXPECT_EQ(found, number);
  }
  EXPECT_TRUE(rest.empty());
  std::string_view cut("\xff\xff", 2);
  std::uint64_t found = 0;
  EXPECT_FALSE(take_number(cut, found));
}

class DedupState : public tool_box {
 protected:
  // Adds these keys and commits; how many were new.
  [[nodiscard]] std::uint64_t remember(const std::vector<std::string>& keys) const {
    auto state = dedup_state::open(path("state"));
    EXPECT_TRUE(state) << state.error().text;
    auto known = state->load(hasher());
    EXPECT_TRUE(known) << known.error().text;
    collecting_sink sink;
    auto dedup = exact_dedup::resume({}, sink, std::move(*known));
    std::vector<dedup_entry> entries;
    std::vector<std::uint64_t> all;
    for (const std::string& key : keys) {
      entries.push_back({key, key, entries.size()});
      all.push_back(hasher().digest(key.data(), key.size()));
    }
    EXPECT_TRUE(dedup->add(entries, all));
    EXPECT_TRUE(dedup->finish());
    EXPECT_TRUE(state->commit(dedup->store()));
    return dedup->different();
  }
  // What opening and loading says; "" when it works.
  [[nodiscard]] std::string trouble() const {
    auto state = dedup_state::open(path("state"));
    if (!state) return state.error().text;
    const auto known = state->load(hasher());
    return known ? "" : known.error().text;
  }
};

TEST_F(DedupState, RemembersFromRunToRun) {
  EXPECT_EQ(remember({"a", "b", "a"}), 2);
  EXPECT_EQ(remember({"b", "c"}), 1);
  EXPECT_EQ(remember({"a", "b", "c"}), 0);
  EXPECT_EQ(remember({}), 0);
}

TEST_F(DedupState, NoticesEveryFlippedByteThatCounts) {
  ASSERT_EQ(remember({"some", "keys", "that", "matter"}), 4);
  const std::string whole = read("state");
  for (std::size_t at = 0; at < whole.size(); at = at == 63 ? 500 : at == 563 ? 1016 : at == 1071 ? 4090 : at + 1) {
    // Between the records nothing is stored; the older commit record may be anything.
    const bool counts = at < 12 || (at >= 512 && at < 552) || at >= 4096;
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    write("state", damaged);
    const std::string text = trouble();
    if (at >= 512 && at < 552) {
      // Then the commit before it counts again: an empty state, not a wrong one.
      EXPECT_EQ(text, "");
      EXPECT_EQ(remember({"some"}), 1);
    } else {
      EXPECT_EQ(!text.empty(), counts) << at << ": " << text;
    }
  }
}

TEST_F(DedupState, SurvivesEveryTruncation) {
  ASSERT_EQ(remember({"some", "keys"}), 2);
  const std::string whole = read("state");
  for (std::size_t size = 1; size < whole.size(); ++size) {
    write("state", whole.substr(0, size));
    EXPECT_NE(trouble(), "") << size;
  }
}

TEST_F(DedupState, IgnoresWhatWasNotCommitted) {
  ASSERT_EQ(remember({"some", "keys"}), 2);
  write("state", read("state") + std::string(100, '\x05'));
  EXPECT_EQ(remember({"some", "keys", "more"}), 1);
  EXPECT_EQ(remember({"some", "keys", "more"}), 0);
}

TEST_F(DedupState, IsUsedByOneAtATime) {
  auto state = dedup_state::open(path("state"));
  ASSERT_TRUE(state);
  const auto other = dedup_state::open(path("state"));
  ASSERT_FALSE(other);
  EXPECT_TRUE(contains(other.error().text, "is being used by another dedup")) << other.error().text;
}

TEST_F(DedupState, LeavesNothingWhenTheFirstRunFails) {
  { ASSERT_TRUE(dedup_state::open(path("state"))); }
  EXPECT_FALSE(exists("state"));
}

}  // namespace
}  // namespace bloomery_test

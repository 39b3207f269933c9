// seen_set: who is told that a key is new, what another process finds, and damage. What needs processes is in
// seen_set_process_test.cpp.
#include <array>
#include <atomic>
#include <bloomery/guards/seen_set.hpp>
#include <filesystem>

#include "guards/guard_support.hpp"

namespace bloomery::guard_testing {
namespace {

namespace fs = std::filesystem;
constexpr seen_set_options small_journal{.journal_bytes = 4096};

seen_set opened(const std::string& path, std::string_view kind = "scalable",
                const filter_params& params = {.keys = 2000, .fpr = 0.001}, const seen_set_options& options = {}) {
  auto made = seen_set::open(path, kind, params, hasher{}, options);
  if (!made) ADD_FAILURE() << describe(made.error()).c_str();
  return std::move(*made);
}
bool is_new(seen_set& set, const std::string& key) {
  const auto fresh = set.insert_if_new(key);
  EXPECT_TRUE(fresh) << described(fresh);
  return fresh && *fresh;
}
bool same_filter(const seen_set& a, const seen_set& b) {
  return a.with_filter(
      [&](const any_filter& one) { return b.with_filter([&](const any_filter& other) { return one == other; }); });
}
void copy_files(const std::string& from, const std::string& to) {
  for (const char* end : {"", ".journal", ".journal.old"}) {
    fs::remove(to + end);
    if (fs::exists(from + end)) fs::copy_file(from + end, to + end);
  }
}

TEST(SeenSet, AKeyIsNewOnce) {
  auto set = seen_set::make("scalable", {.keys = 1000, .fpr = 0.001}, hasher{});
  ASSERT_TRUE(set) << described(set);
  std::uint64_t fresh = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) fresh += is_new(*set, key_number(i)) ? 1 : 0;
  EXPECT_GT(fresh, 9950U) << "0.1 % of the new ones are lost";
  for (std::uint64_t i = 0; i < 10'000; ++i) ASSERT_FALSE(is_new(*set, key_number(i)));
  EXPECT_TRUE(*set->insert_if_new(42));
  EXPECT_FALSE(*set->insert_if_new(42L));
  EXPECT_EQ(set->stats().fresh, fresh + 1);
  EXPECT_EQ(set->stats().seen, 20'001 - fresh);
  EXPECT_EQ(described(set->snapshot()), "the seen set has no file");
}

TEST(SeenSet, ABatchTellsEachKeyOnceAlsoWhereItHoldsItTwice) {
  const folder box;
  for (const std::string_view kind : {"blocked", "window"}) {
    auto set = opened(box / std::string(kind), kind, {.keys = 2000, .fpr = 0.0001});
    std::vector<std::string> keys;
    for (std::uint64_t i = 0; i < 300; ++i) keys.push_back(key_number(i / 2));
    std::array<std::uint64_t, 5> fresh{};
    const auto count = set.insert_if_new(std::span<const std::string>(keys), fresh);
    ASSERT_TRUE(count) << described(count);
    EXPECT_EQ(*count, 150U);
    for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(fresh[i / 64] >> (i % 64) & 1U, i % 2 == 0 ? 1U : 0U) << i;
    EXPECT_EQ(*set.insert_if_new(std::span<const std::string>(keys), fresh), 0U);
    EXPECT_FALSE(set.insert_if_new(std::span<const std::string>(keys), std::span(fresh).first(4)));
  }
}

// At every moment the files give the filter that one without files has.
TEST(SeenSet, AnotherProcessFindsTheSameFilterWheneverItOpens) {
  const folder box;
  for (const char* kind : {"blocked", "scalable", "growing", "cuckoo", "counting", "window"}) {
    const filter_params params{.keys = 3500, .fpr = 0.01};
    const std::string path = box / kind;
    auto memory = seen_set::make(kind, params, hasher{});
    ASSERT_TRUE(memory);
    auto stored = opened(path, kind, params, small_journal);
    std::uint64_t replayed = 0;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const std::string key = key_number(i % 7 == 0 ? i / 2 : i);
      ASSERT_EQ(is_new(stored, key), is_new(*memory, key)) << kind << ' ' << i;
      if (i % 500 != 499) continue;
      copy_files(path, box / "copy");
      auto again = opened(box / "copy", kind, params, small_journal);
      EXPECT_TRUE(same_filter(again, *memory)) << kind << ' ' << i;
      replayed += again.stats().replayed;
    }
    EXPECT_GT(replayed, 0U);
    EXPECT_GT(stored.stats().snapshots, 5U) << "the journal is bounded";
    EXPECT_LE(stored.stats().journal_bytes, 2 * small_journal.journal_bytes);
  }
}

TEST(SeenSet, KilledAnywhereInASnapshotItFindsTheSameFilter) {
  const folder box;
  for (const char* kind : {"scalable", "cuckoo", "window"}) {
    const filter_params params{.keys = 5000, .fpr = 0.01};
    const std::string path = box / kind;
    auto set = opened(path, kind, params);
    for (std::uint64_t i = 0; i < 200; ++i) is_new(set, key_number(i));
    ASSERT_TRUE(set.snapshot());
    for (std::uint64_t i = 200; i < 4000; ++i) is_new(set, key_number(i));
    copy_files(path, box / "before");
    ASSERT_TRUE(set.snapshot());
    copy_files(path, box / "after");
    const auto expect_same = [&](const char* when) {
      auto again = opened(box / "killed", kind, params);
      EXPECT_TRUE(same_filter(again, set)) << kind << ": " << when;
      EXPECT_FALSE(is_new(again, key_number(3999)));
      EXPECT_TRUE(again.snapshot());
      EXPECT_FALSE(fs::exists(box / "killed.journal.old"));
    };
    copy_files(box / "before", box / "killed");
    fs::rename(box / "killed.journal", box / "killed.journal.old");
    expect_same("the old journal has its name, and there is no new one");
    copy_files(box / "before", box / "killed");
    fs::rename(box / "killed.journal", box / "killed.journal.old");
    fs::copy_file(box / "after.journal", box / "killed.journal");
    expect_same("the new journal is there, and the snapshot is the old one");
    copy_files(box / "after", box / "killed");
    fs::copy_file(box / "before.journal", box / "killed.journal.old");
    expect_same("the snapshot is in place, and the old journal, too");
    copy_files(box / "before", box / "killed");
    fs::rename(box / "killed.journal", box / "killed.journal.old");
    write_bytes(box / "killed.journal", bytes(17));
    expect_same("the header of the new journal is cut short");
  }
}

TEST(SeenSet, AJournalThatIsCutAnywhereLosesOnlyWhatWasNotFinished) {
  const folder box;
  const std::string path = box / "seen";
  {
    auto set = opened(path);
    for (std::uint64_t i = 0; i < 20; ++i) is_new(set, key_number(i));
  }
  const bytes journal = read_bytes(path + ".journal");
  ASSERT_EQ(journal.size(), 64U + 20U * 16U);
  for (std::size_t size = 0; size <= journal.size(); ++size) {
    write_bytes(path + ".journal", bytes(journal.begin(), journal.begin() + static_cast<std::ptrdiff_t>(size)));
    auto set = opened(path);
    const std::uint64_t whole = size < 64 ? 0 : (size - 64) / 16;
    EXPECT_EQ(set.stats().replayed, whole);
    EXPECT_EQ(set.stats().torn_bytes, size < 64 ? size : (size - 64) % 16);
    for (std::uint64_t i = 0; i < whole; ++i) ASSERT_TRUE(set.may_contain(key_number(i)));
    EXPECT_TRUE(is_new(set, "another"));
    const auto again = read_bytes(path + ".journal");
    EXPECT_EQ(again.size(), 64 + 16 * (whole + 1)) << "it goes on where the whole records end";
  }
}

TEST(SeenSet, DamageIsAnErrorOrTheLastRecord) {
  const folder box;
  const std::string path = box / "seen";
  {
    auto set = opened(path);
    for (std::uint64_t i = 0; i < 8; ++i) is_new(set, key_number(i));
  }
  const bytes journal = read_bytes(path + ".journal");
  for (std::size_t at = 0; at < journal.size(); ++at) {
    bytes damaged = journal;
    damaged[at] ^= std::byte{0x10};
    write_bytes(path + ".journal", damaged);
    const auto set = seen_set::open(path, "scalable", {.keys = 2000, .fpr = 0.001}, hasher{});
    if (at < journal.size() - 16) {
      ASSERT_FALSE(set) << at;
      EXPECT_NE(described(set).find("seen.journal: "), std::string::npos) << described(set);
      continue;
    }
    ASSERT_TRUE(set) << described(set);
    for (std::uint64_t i = 0; i < 7; ++i) EXPECT_TRUE(set->may_contain(key_number(i)));
  }
  bytes zeros = journal;
  zeros.resize(zeros.size() + 4096);
  write_bytes(path + ".journal", zeros);
  EXPECT_EQ(opened(path).stats().torn_bytes, 4096U) << "pages that were never written";
}

TEST(SeenSet, FilesThatDoNotBelongTogetherAreRefused) {
  const folder box;
  const std::string path = box / "seen";
  {
    auto set = opened(path);
    for (std::uint64_t i = 0; i < 100; ++i) is_new(set, key_number(i));
    ASSERT_TRUE(set.snapshot());
    is_new(set, "later");
  }
  EXPECT_EQ(described(seen_set::open(path, "blocked", {.keys = 100, .fpr = 0.01}, hasher{})),
            path + ": the filters do not fit together: the file is of another kind");
  const auto seeded = hasher::make({.id = hasher{}.spec().id, .seed = 5});
  ASSERT_TRUE(seeded);
  EXPECT_EQ(described(seen_set::open(path, "scalable", {.keys = 100, .fpr = 0.01}, *seeded)),
            path + ": the filters do not fit together: the file is of another hash, seed or key");
  fs::rename(path, path + ".away");
  EXPECT_EQ(
      described(seen_set::open(path, "scalable", {.keys = 100, .fpr = 0.01}, hasher{})),
      path +
          ".journal: the filters do not fit together: the journal follows a newer snapshot than the one that is there");
  fs::rename(path + ".away", path);
  bytes snapshot = read_bytes(path);
  snapshot[snapshot.size() / 2] ^= std::byte{1};
  write_bytes(path, snapshot);
  EXPECT_FALSE(seen_set::open(path, "scalable", {.keys = 100, .fpr = 0.01}, hasher{}));
  EXPECT_EQ(described(seen_set::make("dual", {.keys = 100, .fpr = 0.01}, hasher{})),
            "kind dual cannot remember what was seen: it may lose keys");
  EXPECT_FALSE(seen_set::make("fuse", {.keys = 100, .fpr = 0.01}, hasher{}));
  EXPECT_FALSE(seen_set::open(box / "none/seen", "scalable", {.keys = 100, .fpr = 0.01}, hasher{}));
}

TEST(SeenSet, OneObjectAtATimeHasTheFiles) {
  const folder box;
  auto set = opened(box / "seen");
  const auto second = seen_set::open(box / "seen", "scalable", {.keys = 2000, .fpr = 0.001}, hasher{});
  ASSERT_FALSE(second);
  EXPECT_EQ(described(second),
            (box / "seen.lock") + ": another process, or another object of this one, has this file open");
}

TEST(SeenSet, AFullFilterIsAnErrorAndTheKeyStaysNew) {
  const folder box;
  auto set = opened(box / "seen", "cuckoo", {.keys = 64, .fpr = 0.01});
  std::uint64_t number = 0;
  result<bool> last = true;
  while (last && number < 10'000) last = set.insert_if_new(key_number(number++));
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, errc::full);
  EXPECT_EQ(set.stats().failed, 1U);
  const std::uint64_t in_it = set.with_filter([](const any_filter& filter) { return filter.shape().keys; });
  EXPECT_EQ(set.stats().journal_bytes, 64 + 16 * in_it) << "no record of the key that did not fit";
}

TEST(SeenSet, ATimeWindowGoesOnInTheNextProcess) {
  constexpr std::uint64_t day = 86'400'000'000'000;
  struct {
    std::uint64_t now = 20'000 * day;
  } time;
  const clock_hook clock{.now_ns = [](void* context) { return *static_cast<std::uint64_t*>(context); },
                         .context = &time.now};
  const folder box;
  const filter_params params{.keys = 1000, .fpr = 0.001, .window_ns = 30 * day, .clock = &clock};
  for (int half = 0; half < 2; ++half) {  // with a snapshot between, and from the journal alone
    const std::string path = box / (half == 0 ? "journal" : "snapshot");
    const std::uint64_t begun = time.now;
    {
      auto set = opened(path, "window", params);
      EXPECT_TRUE(is_new(set, "early"));
      time.now = begun + 20 * day;
      EXPECT_TRUE(is_new(set, "late"));
      if (half == 1) {
        ASSERT_TRUE(set.snapshot());
      }
    }
    time.now = begun + 25 * day;
    {
      auto set = opened(path, "window", params);
      EXPECT_FALSE(is_new(set, "early")) << "seen, and not renewed by that";
      EXPECT_FALSE(is_new(set, "late"));
    }
    time.now = begun + 49 * day;
    {
      auto set = opened(path, "window", params);
      EXPECT_FALSE(is_new(set, "late")) << "29 days later";
    }
    time.now = begun + 400 * day;
    auto set = opened(path, "window", params);
    EXPECT_TRUE(is_new(set, "early"));
    EXPECT_TRUE(is_new(set, "late"));
  }
}

TEST(SeenSet, WideDigestsAreJournaledWhole) {
  const folder box;
  const auto xxh = hasher::make({.id = xxh3::info.id});
  ASSERT_TRUE(xxh);
  const filter_params params{.keys = 500, .fpr = 0.001, .takes_digest128 = true};
  {
    auto set = seen_set::open(box / "seen", "bloom", params, *xxh);
    ASSERT_TRUE(set) << described(set);
    ASSERT_EQ(set->with_filter([](const any_filter& filter) { return filter.digest_bits(); }), 128U);
    for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(*set->insert_if_new(key_number(i)));
    EXPECT_FALSE(set->insert_if_new(prehashed{7})) << "half a digest";
  }
  auto set = seen_set::open(box / "seen", "bloom", params, *xxh);
  ASSERT_TRUE(set) << described(set);
  EXPECT_EQ(set->stats().replayed, 100U);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_FALSE(*set->insert_if_new(key_number(i)));
  EXPECT_TRUE(set->insert_if_new(key_number(1000)));
}

TEST(SeenSet, RefusedMemoryIsAnErrorAndNoKeyIsLost) {
  bool finished = false;
  for (std::uint64_t refused = 0; refused < 60 && !finished; ++refused) {
    const folder box;
    counting_memory memory(refused);
    const filter_params params{.keys = 100, .fpr = 0.01, .memory = &memory.hooks};
    std::vector<std::string> taken;
    {
      auto set = seen_set::open(box / "seen", "scalable", params, hasher{}, small_journal);
      if (!set) {
        EXPECT_EQ(set.error().code, errc::out_of_memory);
        continue;
      }
      for (std::uint64_t i = 0; i < 1000; ++i) {
        const auto fresh = set->insert_if_new(key_number(i));
        if (fresh) taken.push_back(key_number(i));
        if (!fresh) {
          EXPECT_TRUE(is_full(fresh.error()) || fresh.error().code == errc::out_of_memory) << described(fresh);
        }
      }
      for (const auto& key : taken) ASSERT_TRUE(set->may_contain(key));
      finished = memory.requests <= refused;
    }
    auto again = opened(box / "seen");
    for (const auto& key : taken) ASSERT_TRUE(again.may_contain(key));
  }
}

// Under ThreadSanitizer as well.
TEST(SeenSetConcurrent, EachKeyIsNewForOneThreadAloneWhileSnapshotsAreWritten) {
  const folder box;
  constexpr unsigned threads = 4;
  constexpr std::uint64_t keys = 4000;
  for (const std::string_view kind : {"scalable", "window"}) {
    const filter_params params{.keys = keys, .fpr = 1e-6};
    const std::string path = box / std::string(kind);
    std::array<std::atomic<unsigned>, keys> told{};
    {
      auto set = opened(path, kind, params, small_journal);
      on_threads(threads, [&](unsigned id) {
        for (std::uint64_t i = 0; i < keys; i += 2) {
          const std::uint64_t number = id % 2 == 0 ? i : keys - 2 - i;
          const std::array<std::string, 2> two{key_number(number), key_number(number + 1)};
          std::array<std::uint64_t, 1> fresh{};
          ASSERT_TRUE(set.insert_if_new(std::span<const std::string>(two), fresh));
          told[number] += static_cast<unsigned>(fresh[0] & 1U);
          told[number + 1] += static_cast<unsigned>(fresh[0] >> 1U);
          if (i % 1000 == 0 && id == 1) {
            ASSERT_TRUE(set.snapshot());
          }
        }
      });
      for (std::uint64_t i = 0; i < keys; ++i) ASSERT_EQ(told[i], 1U) << i;
      EXPECT_GT(set.stats().snapshots, 5U);
    }
    auto again = opened(path, kind, params, small_journal);
    for (std::uint64_t i = 0; i < keys; ++i) ASSERT_TRUE(again.may_contain(key_number(i)));
  }
}

}  // namespace
}  // namespace bloomery::guard_testing

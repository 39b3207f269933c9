// What is saved comes back: every kind, every compression, native and text, from memory, files and pipes.
#include <fcntl.h>
#include <sys/stat.h>
#include <bloomery/posix/load.hpp>
#include <bloomery/posix/save.hpp>

#include <csignal>
#include <thread>

#include <bloomery/kinds/blocked.hpp>
#include <bloomery/kinds/bloom.hpp>
#include <bloomery/posix/mapped.hpp>

#include "support/filters.hpp"
#include "support/typed.hpp"

namespace bloomery::test {
namespace {

class RoundTrip : public KindTest {};
BLOOMERY_FOR_KINDS(RoundTrip, kind_table());

TEST_P(RoundTrip, EveryCompressionAndEncodingGivesTheSameFilter) {
  for (const std::uint64_t keys : {std::uint64_t{20}, std::uint64_t{100'000}}) {
    const any_filter filter = sample(GetParam(), keys);
    for (const std::uint32_t codec : linked_codecs()) {
      for (const bool text : {false, true}) {
        const bytes file = saved_bytes(filter, {.codec = codec, .text = text});
        const auto loaded = any_filter::load_bytes(file);
        ASSERT_TRUE(loaded) << describe(loaded.error()).c_str();
        EXPECT_TRUE(*loaded == filter);
        EXPECT_EQ(loaded->hash(), sample_hash(GetParam()));
        const auto header = read_header_bytes(file);
        ASSERT_TRUE(header);
        EXPECT_EQ(header->codec, codec);
        EXPECT_EQ(header->text, text);
        EXPECT_TRUE(same_shape(loaded->shape(), filter.shape()));
        // Saved again, it is the same file.
        EXPECT_TRUE(saved_bytes(*loaded, {.codec = codec, .text = text}) == file);
      }
    }
  }
}

TEST_P(RoundTrip, ThroughAFileByItsPath) {
  const folder box;
  const std::string path = box / "filter";
  const any_filter filter = sample(GetParam(), 1000);
  for (const bool text : {false, true}) {
    ASSERT_TRUE(filter.save(path.c_str(), {.replace = true, .text = text}));
    EXPECT_TRUE(read_bytes(path) == saved_bytes(filter, {.text = text}));
    const auto loaded = any_filter::load(path.c_str());
    ASSERT_TRUE(loaded) << describe(loaded.error()).c_str();
    EXPECT_TRUE(*loaded == filter);
    const auto header = read_header(path.c_str());
    ASSERT_TRUE(header);
    EXPECT_EQ(header->kind_id, GetParam().info->id);
    EXPECT_EQ(header->text, text);
  }
  EXPECT_EQ(box.names(), std::vector<std::string>{"filter"});
}

TEST_P(RoundTrip, ThroughAPipe) {
  const folder box;
  const std::string path = box / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const any_filter filter = sample(GetParam(), 200'000);  // several times what a pipe holds
  for (const bool text : {false, true}) {
    std::thread writer([&] {
      const auto done = filter.save(path.c_str(), {.text = text});
      EXPECT_TRUE(done) << describe(done.error()).c_str();
    });
    const auto loaded = any_filter::load(path.c_str());
    writer.join();
    ASSERT_TRUE(loaded) << describe(loaded.error()).c_str();
    EXPECT_TRUE(*loaded == filter);
  }
  EXPECT_EQ(box.names(), std::vector<std::string>{"pipe"});
}

// any_filter loads what the file holds; a program that names a kind gets no other.
template <class K>
void expect_others_refused_by(const kind_case& kind) {
  if (kind.info->id == K::info.id) return;
  EXPECT_EQ(load_error<K>(saved_bytes(sample(kind, 20))),
            "holds a filter of kind number " + std::to_string(kind.info->id) + ", not " + std::string(K::info.name) +
                " (kind number " + std::to_string(K::info.id) + ")");
}
TEST_P(RoundTrip, AnotherKindIsRefusedByName) {
  expect_others_refused_by<bloom>(GetParam());
  expect_others_refused_by<blocked>(GetParam());
}

TEST(RoundTripOf, EmptyBlockedLayoutsAnd128BitDigestsKeepTheirShape) {
  auto split32 = blocked::make({.keys = 50, .fpr = 0.01, .layout = "split32"});
  ASSERT_TRUE(split32);
  const auto loaded = load_bytes<blocked>(saved(*split32));
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->filter.layout(), block_layout::split32);

  auto wide = bloom::make({.keys = 50, .fpr = 1e-18});
  ASSERT_TRUE(wide);
  ASSERT_EQ(wide->digest_bits(), 128U);
  wide->insert(digest128{1, 2});
  const auto wide_loaded = load_bytes<bloom>(saved(*wide));
  ASSERT_TRUE(wide_loaded);
  EXPECT_EQ(wide_loaded->filter.digest_bits(), 128U);
  EXPECT_TRUE(wide_loaded->filter.may_contain(digest128{1, 2}));
}

TEST(RoundTripOf, EstimatedCountsStayEstimates) {
  bloom a = sample<bloom>(100);
  const bloom b = sample<bloom>(100);
  ASSERT_TRUE(a.merge(b));
  ASSERT_FALSE(a.keys().exact);
  const auto loaded = load_bytes<bloom>(saved(a));
  ASSERT_TRUE(loaded);
  EXPECT_FALSE(loaded->filter.keys().exact);
  EXPECT_EQ(loaded->filter.keys().keys, a.keys().keys);
}

TEST(Load, MissingFilesAndFoldersAndEmptyFilesAreDistinguished) {
  const folder box;
  EXPECT_EQ(describe(load<bloom>((box / "none").c_str()).error()).view(),
            (box / "none") + ": cannot open: No such file or directory");
  EXPECT_EQ(load<bloom>((box / ".").c_str()).error().code, errc::is_directory);
  EXPECT_EQ(read_header((box / ".").c_str()).error().code, errc::is_directory);
  write_bytes(box / "empty", {});
  EXPECT_EQ(load<bloom>((box / "empty").c_str()).error().code, errc::empty_file);
  EXPECT_EQ(load<bloom>("/dev/null").error().code, errc::empty_file);
  EXPECT_EQ(mapped<bloom>::open((box / "empty").c_str()).error().code, errc::empty_file);
}

TEST(Load, StreamThatIsNoFilterIsRefusedByItsFirstBytes) {
  const auto loaded = load<bloom>("/dev/zero");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, errc::not_a_filter);
  EXPECT_EQ(read_filter("/dev/zero").error().code, errc::not_a_filter);
  EXPECT_EQ(read_header("/dev/zero").error().code, errc::not_a_filter);
}

TEST(Load, StreamIsReadNoFurtherThanItsHeaderStates) {
  const folder box;
  const std::string path = box / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const bytes file = saved(sample<bloom>(100'000));
  std::thread writer([&] {
    const int fd = ::open(path.c_str(), O_WRONLY);
    ::signal(SIGPIPE, SIG_IGN);
    EXPECT_TRUE(detail::write_all(fd, file));
    const bytes more(65536);
    while (detail::write_all(fd, more)) {
    }
    ::close(fd);
  });
  const auto loaded = load<bloom>(path.c_str());
  writer.join();
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, errc::trailing_bytes);
}

TEST(Load, StreamWithoutEndStopsAtTheLimit) {
  const auto read = read_file("/dev/zero", nullptr, 1 << 20);
  ASSERT_FALSE(read);
  EXPECT_EQ(describe(read.error()).view(), "/dev/zero: needs more memory than the limit of 1048576 bytes allows");
}

TEST(Load, TrustLeavesOutTheChunksButNotTheHeader) {
  bytes file = saved(sample<bloom>(20));
  file[small_header_bytes] ^= std::byte{1};
  EXPECT_TRUE(load_bytes<bloom>(file, {.trust = true}));
  EXPECT_FALSE(load_bytes<bloom>(file));
  file[20] ^= std::byte{1};
  EXPECT_FALSE(load_bytes<bloom>(file, {.trust = true}));
}

}  // namespace
}  // namespace bloomery::test

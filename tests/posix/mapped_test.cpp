// Filters asked where they lie: the same answers as in memory, damage found when it is touched, few pages read.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "native/support.hpp"

namespace bloomery::test {
namespace {

template <class K>
class Mapped : public ::testing::Test {};
TYPED_TEST_SUITE(Mapped, mapped_kinds, kind_names);

template <class K>
std::string saved_at(const folder& box, const K& filter) {
  const std::string path = box / "filter";
  EXPECT_TRUE(save(filter, sample_hash<K>(), path.c_str(), {.replace = true}));
  return path;
}

TYPED_TEST(Mapped, AnswersAsTheFilterInMemoryDoes) {
  const folder box;
  for (const std::uint64_t keys : {std::uint64_t{20}, std::uint64_t{100'000}}) {
    const TypeParam filter = sample<TypeParam>(keys);
    const std::string path = saved_at(box, filter);
    for (const bool trust : {false, true}) {
      const auto file = mapped<TypeParam>::open(path.c_str(), trust);
      ASSERT_TRUE(file) << describe(file.error()).c_str();
      EXPECT_EQ(file->hash(), sample_hash<TypeParam>());
      EXPECT_EQ(file->header().shape.keys, filter.keys().keys);
      std::uint64_t differing = 0;
      for (std::uint64_t i = 0; i < 2 * keys; ++i) {
        const auto answer = file->may_contain(sample_digest(i));
        ASSERT_TRUE(answer);
        differing += *answer != filter.may_contain(sample_digest(i)) ? 1U : 0U;
      }
      EXPECT_EQ(differing, 0U);
    }
  }
}

TYPED_TEST(Mapped, BatchesOfEverySizeAnswerAsSingleLookUpsDo) {
  const folder box;
  const TypeParam filter = sample<TypeParam>(30'000);
  const std::string path = saved_at(box, filter);
  for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 1000U, 1024U, 1025U, 5000U}) {
    for (const bool trust : {false, true}) {
      const auto file = mapped<TypeParam>::open(path.c_str(), trust);
      ASSERT_TRUE(file);
      std::vector<std::uint64_t> digests;
      for (std::uint64_t i = 0; i < size; ++i) digests.push_back(sample_digest(i * 13));
      std::vector<std::uint64_t> mask(mask_words(size), ~std::uint64_t{0});
      ASSERT_TRUE(file->may_contain_batch(digests, mask));
      for (std::size_t i = 0; i < size; ++i) {
        EXPECT_EQ((mask[i / 64] >> (i % 64) & 1U) != 0, filter.may_contain(digests[i])) << i;
      }
      for (std::size_t i = size; i < mask.size() * 64; ++i) EXPECT_EQ(mask[i / 64] >> (i % 64) & 1U, 0U);
    }
  }
}

TYPED_TEST(Mapped, MaskThatIsTooSmallIsRefused) {
  const folder box;
  const std::string path = saved_at(box, sample<TypeParam>(20));
  const auto file = mapped<TypeParam>::open(path.c_str());
  ASSERT_TRUE(file);
  const std::vector<std::uint64_t> digests(65);
  std::vector<std::uint64_t> mask(1);
  const auto asked = file->may_contain_batch(digests, mask);
  ASSERT_FALSE(asked);
  EXPECT_EQ(describe(asked.error()).view(), "the mask is too small: it holds 64 and 65 are needed");
}

TYPED_TEST(Mapped, DamagedChunkIsAnErrorOfTheLookUpsThatTouchItOnly) {
  const folder box;
  const TypeParam filter = sample<TypeParam>(100'000);
  const std::string path = saved_at(box, filter);
  bytes content = read_bytes(path);
  constexpr std::uint64_t bad_chunk = 5;
  content[large_header_bytes + bad_chunk * chunk_bytes + 77] ^= std::byte{16};
  write_bytes(path, content);

  const auto file = mapped<TypeParam>::open(path.c_str());
  ASSERT_TRUE(file) << "the header is whole";
  const auto trusting = mapped<TypeParam>::open(path.c_str(), true);
  ASSERT_TRUE(trusting);
  std::uint64_t touching = 0;
  std::vector<std::uint64_t> mask(1);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::uint64_t digest = sample_digest(i);
    bool touches = false;
    filter.for_each_touched(
        digest, [&](std::uint64_t first, std::uint64_t /*size*/) { touches |= first / chunk_bytes == bad_chunk; });
    touching += touches ? 1U : 0U;
    const auto answer = file->may_contain(digest);
    ASSERT_EQ(!answer, touches) << i;
    const auto batch = file->may_contain_batch(std::span(&digest, 1), mask);
    ASSERT_EQ(!batch, touches) << i;
    if (touches) {
      EXPECT_EQ(describe(answer.error()).view(), "is damaged in chunk 5, bytes 24576 to 28671: copy or build it again");
      EXPECT_EQ(batch.error().code, errc::chunk_damaged);
    }
    EXPECT_TRUE(trusting->may_contain(digest));
  }
  EXPECT_GT(touching, 10U);
  const auto verified = file->verify_all();
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().number[0], bad_chunk);
  EXPECT_FALSE(trusting->verify_all());
}

// A filter with removals and keys that came back, 50,000 keys in all: large enough for a large header.
dual sample_with_removals() {
  dual filter = sample<dual>(50'000);
  for (std::uint64_t i = 0; i < 25'000; ++i) filter.erase(sample_digest(i));
  for (std::uint64_t i = 0; i < 150; ++i) EXPECT_EQ(filter.insert(sample_digest(i)), insert_result::inserted);
  return filter;
}

TEST(MappedDual, AnswersWithItsRemovalsAndWhatCameBack) {
  const folder box;
  const dual filter = sample_with_removals();
  const std::string path = saved_at(box, filter);
  const auto file = mapped<dual>::open(path.c_str());
  ASSERT_TRUE(file) << describe(file.error()).c_str();
  std::vector<std::uint64_t> digests;
  for (std::uint64_t i = 0; i < 60'000; ++i) digests.push_back(sample_digest(i));
  std::vector<std::uint64_t> mask(mask_words(digests.size()));
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const auto answer = file->may_contain(digests[i]);
    ASSERT_TRUE(answer);
    ASSERT_EQ(*answer, filter.may_contain(digests[i])) << i;
  }
  ASSERT_TRUE(file->may_contain_batch(digests, mask));
  for (std::size_t i = 0; i < digests.size(); ++i) {
    ASSERT_EQ((mask[i / 64] >> (i % 64) & 1U) != 0, filter.may_contain(digests[i])) << i;
  }
  EXPECT_EQ(file->unchecked().loss_now().removals, filter.loss_now().removals);
  const auto copy = file->unchecked().clone();
  ASSERT_TRUE(copy);
  EXPECT_TRUE(*copy == filter);
}

TEST(MappedDual, DamageInAnyOfItsPartsIsAnErrorOfTheLookUpsThatTouchIt) {
  const folder box;
  const dual filter = sample_with_removals();
  const std::string path = saved_at(box, filter);
  const bytes good = read_bytes(path);
  const std::uint64_t half = filter.adds().memory_bytes();
  for (const std::uint64_t at : {std::uint64_t{100}, half + 5000, filter.memory_bytes() - 100}) {
    const std::uint64_t bad_chunk = at / chunk_bytes;
    bytes content = good;
    content[large_header_bytes + at] ^= std::byte{1};
    write_bytes(path, content);
    const auto file = mapped<dual>::open(path.c_str());
    ASSERT_TRUE(file);
    std::uint64_t touching = 0;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      bool touches = false;
      filter.for_each_touched(sample_digest(i), [&](std::uint64_t first, std::uint64_t size) {
        touches |= first / chunk_bytes <= bad_chunk && bad_chunk <= (first + size - 1) / chunk_bytes;
      });
      touching += touches ? 1U : 0U;
      ASSERT_EQ(!file->may_contain(sample_digest(i)), touches) << at << " " << i;
    }
    EXPECT_GT(touching, 10U) << at;
  }
}

TYPED_TEST(Mapped, ManyThreadsMayAskAtOnce) {
  const folder box;
  const TypeParam filter = sample<TypeParam>(200'000);
  const std::string path = saved_at(box, filter);
  const auto file = mapped<TypeParam>::open(path.c_str());
  ASSERT_TRUE(file);
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < 20'000; ++i) {
        const std::uint64_t digest = sample_digest(i * 7 + thread * 100'000);
        const auto answer = file->may_contain(digest);
        if (!answer || *answer != filter.may_contain(digest)) ++wrong;
      }
      if (!file->verify_all()) ++wrong;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0U);
}

TYPED_TEST(Mapped, MovesWithItsFile) {
  const folder box;
  const TypeParam filter = sample<TypeParam>(1000);
  auto file = mapped<TypeParam>::open(saved_at(box, filter).c_str());
  ASSERT_TRUE(file);
  const mapped<TypeParam> moved = std::move(*file);
  EXPECT_TRUE(moved.verify_all());
  EXPECT_TRUE(moved.may_contain(sample_digest(1)).value_or(false));
  const auto copy = moved.unchecked().clone();
  ASSERT_TRUE(copy);
  EXPECT_TRUE(*copy == filter);
}

TEST(Mapped, WideDigestsAreAskedAndCheckedToo) {
  const folder box;
  auto filter = bloom::make({.keys = 5000, .fpr = 1e-18});
  ASSERT_TRUE(filter);
  std::vector<digest128> digests;
  for (std::uint64_t i = 0; i < 100; ++i) digests.push_back({sample_digest(i), sample_digest(i + 1000)});
  for (std::size_t i = 0; i < 50; ++i) filter->insert(digests[i]);
  const std::string path = saved_at(box, *filter);
  const auto file = mapped<bloom>::open(path.c_str());
  ASSERT_TRUE(file);
  std::vector<std::uint64_t> mask(2);
  ASSERT_TRUE(file->may_contain_batch(digests, mask));
  for (std::size_t i = 0; i < digests.size(); ++i) {
    EXPECT_EQ(file->may_contain(digests[i]).value_or(false), i < 50) << i;
    EXPECT_EQ((mask[i / 64] >> (i % 64) & 1U) != 0, i < 50) << i;
  }
  bytes content = read_bytes(path);
  for (std::size_t i = 0; i < file->header().stored_bytes; i += 512) {
    content[file->header().payload_offset() + i] ^= std::byte{1};
  }
  write_bytes(box / "damaged", content);
  const auto damaged = mapped<bloom>::open((box / "damaged").c_str());
  ASSERT_TRUE(damaged);
  EXPECT_EQ(damaged->may_contain(digests[0]).error().code, errc::chunk_damaged);
}

TEST(Mapped, FilesThatCannotBeAskedInPlaceSayWhatToDo) {
  const folder box;
  const std::string path = box / "filter";
  const bloom filter = sample<bloom>(1000);
  const auto error_of = [&](const save_options& options) {
    EXPECT_TRUE(save(filter, {}, path.c_str(), options));
    const auto file = mapped<bloom>::open(path.c_str());
    return file ? std::string("no error") : std::string(describe(file.error()).view());
  };
  EXPECT_EQ(error_of({.codec = codec_zstd, .replace = true}),
            "is compressed and cannot be asked in place: load it into memory");
  EXPECT_EQ(error_of({.replace = true, .text = true}),
            "is in text form and cannot be asked in place: load it into memory");
  EXPECT_EQ(error_of({.replace = true}), "no error");
  EXPECT_EQ(describe(mapped<bloom>::open("/dev/null").error()).view(),
            "is a pipe or device and cannot be memory-mapped: load it into memory");
  EXPECT_EQ(mapped<bloom>::open((box / ".").c_str()).error().code, errc::is_directory);
  EXPECT_EQ(mapped<bloom>::open((box / "none").c_str()).error().code, errc::io);
  EXPECT_EQ(mapped<blocked>::open(path.c_str()).error().code, errc::unsupported);
}

// Resident pages of the mapped file whose path this is, in KiB.
std::uint64_t resident_kib(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool ours = false;
  std::uint64_t sum = 0;
  while (std::getline(maps, line)) {
    unsigned long long kib = 0;
    if (line.find(" kB") == std::string::npos && line.find('-') != std::string::npos && line.find(':') > 8) {
      ours = line.ends_with(path);
    } else if (ours && std::sscanf(line.c_str(), "Rss: %llu kB", &kib) == 1) {
      sum += kib;
    }
  }
  return sum;
}

// An empty filter of 1 GiB as a file with a hole for a payload: only its header and its checksums are written.
template <class K>
void write_empty_gibibyte(const std::string& path, const stored_shape& shape) {
  file_header header;
  header.kind_id = K::info.id;
  header.shape = shape;
  header.payload_bytes = header.stored_bytes = std::uint64_t{1} << 30U;
  bytes first(large_header_bytes);
  ASSERT_TRUE(encode_header(header, first));
  bytes table(header.chunks() * checksum_bytes);
  const bytes zeros(chunk_bytes);
  for (std::uint64_t i = 0; i < header.chunks(); ++i) store_le(&table[i * checksum_bytes], chunk_checksum(i, zeros));
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::pwrite(fd, first.data(), first.size(), 0), static_cast<ssize_t>(first.size()));
  ASSERT_EQ(::pwrite(fd, table.data(), table.size(), static_cast<off_t>(header.checksums_offset())),
            static_cast<ssize_t>(table.size()));
  ::close(fd);
}

long page_faults() {
  rusage usage{};
  EXPECT_EQ(::getrusage(RUSAGE_THREAD, &usage), 0);
  return usage.ru_minflt + usage.ru_majflt;
}

// Opens the file, asks it once, and checks how much of it was needed for that. A sanitizer has page faults of its own.
template <class K>
void expect_few_pages(const std::string& path, long most_faults, std::uint64_t most_kib) {
  const auto first = mapped<K>::open(path.c_str());  // the code's own pages are touched by this one
  ASSERT_TRUE(first && first->may_contain(sample_digest(1))) << describe(first.error()).c_str();
  const long before = page_faults();
  const auto file = mapped<K>::open(path.c_str());
  ASSERT_TRUE(file) << describe(file.error()).c_str();
  const auto answer = file->may_contain(sample_digest(2));
  const long faults = page_faults() - before;
  ASSERT_TRUE(answer) << describe(answer.error()).c_str();
  EXPECT_FALSE(*answer);
  EXPECT_GT(faults, 1) << "the look-up was not seen at all";
  EXPECT_LE(faults, most_faults);
  // With each page that is touched the kernel maps neighbours that it has in memory anyway.
  EXPECT_LE(resident_kib(path), most_kib);
}

TEST(Mapped, OneQuestionToAGibibyteTouchesAFewPages) {
  const folder box;
  const std::uint64_t bits = std::uint64_t{1} << 33U;
  const std::string lines = box / "blocked";
  write_empty_gibibyte<blocked>(lines, {.capacity_keys = 1, .fpr = 0.01, .field = {bits / 512, 7, 0}});
  expect_few_pages<blocked>(lines, 64, 2 * 1024);
  const std::string classic = box / "bloom";
  write_empty_gibibyte<bloom>(classic, {.capacity_keys = 1, .fpr = 0.01, .field = {bits, 7}});
  expect_few_pages<bloom>(classic, 96, 8 * 1024);
}

}  // namespace
}  // namespace bloomery::test

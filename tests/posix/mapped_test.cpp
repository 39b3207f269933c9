// Filters queried in place: the same answers as in memory, damage found when it is touched, few pages read.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <bloomery/posix/load.hpp>
#include <bloomery/posix/save.hpp>

#include <algorithm>
#include <atomic>
#include <bloomery/core/bytes.hpp>
#include <bloomery/kinds/blocked.hpp>
#include <bloomery/kinds/bloom.hpp>
#include <bloomery/kinds/dual.hpp>
#include <bloomery/posix/mapped.hpp>
#include <cstdio>
#include <fstream>
#include <thread>

#include "support/filters.hpp"
#include "support/typed.hpp"

namespace bloomery::test {
namespace {

class Mapped : public KindTest {};
BLOOMERY_FOR_KINDS(Mapped, kinds_where(&kind_case::maps));

any_filter opened(const std::string& path, bool trust = false) {
  auto file = any_filter::open(path.c_str(), {.trust = trust});
  if (!file) {
    ADD_FAILURE() << describe(file.error()).c_str();
    std::abort();
  }
  EXPECT_TRUE(file->is_mapped());
  return std::move(*file);
}
std::string saved_at(const folder& box, const any_filter& filter) {
  const std::string path = box / "filter";
  EXPECT_TRUE(filter.save(path.c_str(), {.replace = true}));
  return path;
}
template <class K>
std::string saved_at(const folder& box, const K& filter) {
  const std::string path = box / "filter";
  EXPECT_TRUE(save(filter, sample_hash<K>(), path.c_str(), {.replace = true}));
  return path;
}
key_list sample_digests(std::uint64_t count, std::uint64_t step = 1, std::uint64_t first = 0) {
  key_list digests(count);
  for (std::uint64_t i = 0; i < count; ++i) digests[i] = sample_digest(first + i * step);
  return digests;
}

TEST_P(Mapped, AnswersAsTheFilterInMemoryDoes) {
  const folder box;
  for (const std::uint64_t keys : {std::uint64_t{20}, std::uint64_t{100'000}}) {
    const any_filter filter = sample(GetParam(), keys);
    const std::string path = saved_at(box, filter);
    const key_list digests = sample_digests(2 * keys);
    for (const bool trust : {false, true}) {
      const any_filter file = opened(path, trust);
      EXPECT_EQ(file.hash(), sample_hash(GetParam()));
      EXPECT_EQ(file.shape().keys, filter.shape().keys);
      EXPECT_EQ(find_keys(file, digests), find_keys(filter, digests));
    }
  }
}

TEST_P(Mapped, BatchesOfEverySizeAnswerAsSingleLookUpsDo) {
  const folder box;
  const any_filter filter = sample(GetParam(), 30'000);
  const std::string path = saved_at(box, filter);
  for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 1000U, 1024U, 1025U, 5000U}) {
    const key_list digests = sample_digests(size, 13);
    for (const bool trust : {false, true}) {
      const std::vector<bool> found = find_keys(opened(path, trust), digests);
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(found[i], contains(filter, digests[i])) << i;
    }
  }
}

TEST_P(Mapped, MaskThatIsTooSmallIsRefused) {
  const folder box;
  const any_filter file = opened(saved_at(box, sample(GetParam(), 20)));
  const key_list digests(65);
  std::vector<std::uint64_t> mask(1);
  EXPECT_EQ(error_of(file.may_contain(as_prehashed(digests), mask)),
            "the mask is too small: it holds 64 and 65 are needed");
}

TEST_P(Mapped, DamagedChunkIsAnErrorOfTheLookUpsThatTouchItOnly) {
  const folder box;
  const any_filter filter = sample(GetParam(), 100'000);
  const std::string path = saved_at(box, filter);
  bytes content = read_bytes(path);
  constexpr std::uint64_t bad_chunk = 5;
  content[large_header_bytes + bad_chunk * chunk_bytes + 77] ^= std::byte{16};
  write_bytes(path, content);

  const any_filter file = opened(path);  // the header is whole
  const any_filter trusting = opened(path, true);
  std::uint64_t touching = 0;
  std::vector<std::uint64_t> mask(1);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::uint64_t digest = sample_digest(i);
    const auto chunks = GetParam().touched_chunks(filter, digest);
    const bool touches = std::find(chunks.begin(), chunks.end(), bad_chunk) != chunks.end();
    touching += touches ? 1U : 0U;
    const auto done = file.may_contain(as_prehashed({&digest, 1}), mask);
    ASSERT_EQ(!done, touches) << i;
    if (touches) {
      EXPECT_EQ(error_of(done), "is damaged in chunk 5, bytes 24576 to 28671: copy or build it again");
    }
    EXPECT_TRUE(trusting.may_contain(as_prehashed({&digest, 1}), mask));
  }
  EXPECT_GT(touching, 10U);
  const auto verified = file.stats();
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code, errc::chunk_damaged);
  EXPECT_EQ(verified.error().number[0], bad_chunk);
  EXPECT_FALSE(trusting.clone());
}

TEST_P(Mapped, ManyThreadsMayQueryAtOnce) {
  const folder box;
  const any_filter filter = sample(GetParam(), 200'000);
  const any_filter file = opened(saved_at(box, filter));
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < 20'000; ++i) {
        const std::uint64_t digest = sample_digest(i * 7 + thread * 100'000);
        std::uint64_t in_file = 0;
        std::uint64_t in_memory = 0;
        const std::span<const std::uint64_t> one(&digest, 1);
        if (!file.may_contain(as_prehashed(one), std::span(&in_file, 1)) ||
            !filter.may_contain(as_prehashed(one), std::span(&in_memory, 1)) || in_file != in_memory) {
          ++wrong;
        }
      }
      if (!file.stats()) ++wrong;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0U);
}

TEST_P(Mapped, MovesWithItsFile) {
  const folder box;
  const any_filter filter = sample(GetParam(), 1000);
  any_filter file = opened(saved_at(box, filter));
  const any_filter moved = std::move(file);
  EXPECT_TRUE(moved.stats());
  const auto copy = moved.clone();
  ASSERT_TRUE(copy);
  EXPECT_TRUE(*copy == filter);
}

// ---- mapped<K>, for programs that know the kind: it is generic, and two kinds prove it ----

template <class K>
void expect_single_look_ups_in_place() {
  const folder box;
  const K filter = sample<K>(100'000);
  auto file = mapped<K>::open(saved_at(box, filter).c_str());
  ASSERT_TRUE(file) << describe(file.error()).c_str();
  EXPECT_EQ(file->hash(), sample_hash<K>());
  EXPECT_EQ(file->header().shape.keys, filter.keys().keys);
  const mapped<K> moved = std::move(*file);
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    const auto answer = moved.may_contain(sample_digest(i));
    ASSERT_TRUE(answer);
    ASSERT_EQ(*answer, filter.may_contain(sample_digest(i))) << i;
  }
  EXPECT_TRUE(moved.verify_all());
  const auto copy = moved.unchecked().clone();
  ASSERT_TRUE(copy);
  EXPECT_TRUE(*copy == filter);

  bytes content = read_bytes(box / "filter");
  content[large_header_bytes + 5 * chunk_bytes + 77] ^= std::byte{16};
  write_bytes(box / "damaged", content);
  const auto damaged = mapped<K>::open((box / "damaged").c_str());
  const auto trusting = mapped<K>::open((box / "damaged").c_str(), true);
  ASSERT_TRUE(damaged && trusting);
  std::uint64_t touching = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    bool touches = false;
    filter.for_each_touched(sample_digest(i),
                            [&](std::uint64_t first, std::uint64_t /*size*/) { touches |= first / chunk_bytes == 5; });
    touching += touches ? 1U : 0U;
    const auto answer = damaged->may_contain(sample_digest(i));
    ASSERT_EQ(!answer, touches) << i;
    if (touches) {
      EXPECT_EQ(answer.error().code, errc::chunk_damaged);
    }
    EXPECT_TRUE(trusting->may_contain(sample_digest(i)));
  }
  EXPECT_GT(touching, 10U);
  EXPECT_EQ(damaged->verify_all().error().number[0], 5U);
  EXPECT_FALSE(trusting->verify_all());
}
TEST(MappedOfAKind, SingleLookUpsAnswerInPlaceAndFindDamage) {
  expect_single_look_ups_in_place<bloom>();
  expect_single_look_ups_in_place<blocked>();
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

TEST(MappedDual, DamageAnywhereIsAnErrorOfTheLookUpsThatTouchIt) {
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

TEST(MappedOfAKind, Digests128AreLookedUpAndCheckedToo) {
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

TEST(MappedOfAKind, FilesThatCannotBeQueriedInPlaceReportWhatToDo) {
  const folder box;
  const std::string path = box / "filter";
  const bloom filter = sample<bloom>(1000);
  const auto error_of = [&](const save_options& options) {
    EXPECT_TRUE(save(filter, {}, path.c_str(), options));
    return test::error_of(mapped<bloom>::open(path.c_str()));
  };
  EXPECT_EQ(error_of({.codec = codec_zstd, .replace = true}),
            "is compressed and cannot be queried in place: load it into memory");
  EXPECT_EQ(error_of({.replace = true, .text = true}),
            "is in text form and cannot be queried in place: load it into memory");
  EXPECT_EQ(error_of({.replace = true}), "no error");
  EXPECT_EQ(describe(mapped<bloom>::open("/dev/null").error()).view(),
            "/dev/null: is a pipe or device and cannot be queried in place: load it into memory");
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

// Opens the file, looks one key up, and checks how much of it was needed for that. A sanitizer has page faults of its own.
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

TEST(MappedOfAKind, OneLookUpInAGibibyteTouchesAFewPages) {
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

// Every truncation and every flipped bit of a file is an error: for what is loaded, and for what is mapped.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bloomery/kinds/bloom.hpp>

#include "support/filters.hpp"
#include "support/typed.hpp"

namespace bloomery::test {
namespace {

struct encoding {
  std::uint32_t codec;
  bool text;
};
std::vector<encoding> encodings() {
  std::vector<encoding> all = {{codec_none, true}};
  for (const std::uint32_t codec : linked_codecs()) all.push_back({codec, false});
  return all;
}

class Damage : public KindTest {};
BLOOMERY_FOR_KINDS(Damage, kind_table());

TEST_P(Damage, EveryTruncationIsAnError) {
  for (const auto [codec, text] : encodings()) {
    const bytes whole = saved_bytes(sample(GetParam(), 20), {.codec = codec, .text = text});
    // The newline after the last line of the text encoding is not part of its content.
    const std::size_t needed = text ? whole.size() - 1 : whole.size();
    for (std::size_t size = 0; size < needed; ++size) {
      const bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(any_filter::load_bytes(cut)) << size << " of " << whole.size() << ", codec " << codec;
      EXPECT_FALSE(read_header_bytes(cut)) << size << " of " << whole.size() << ", codec " << codec;
    }
  }
}

TEST_P(Damage, EveryFlippedBitIsAnError) {
  for (const auto [codec, text] : encodings()) {
    bytes file = saved_bytes(sample(GetParam(), 20), {.codec = codec, .text = text});
    ASSERT_TRUE(any_filter::load_bytes(file));
    for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
      const std::byte mask{static_cast<unsigned char>(1U << (bit % 8))};
      file[bit / 8] ^= mask;
      EXPECT_FALSE(any_filter::load_bytes(file)) << "bit " << bit % 8 << " of byte " << bit / 8 << ", codec " << codec;
      file[bit / 8] ^= mask;
    }
  }
}

TEST_P(Damage, EveryOtherValueOfEveryByteIsAnError) {
  bytes file = saved_bytes(sample(GetParam(), 20), {.codec = codec_none});
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (unsigned change = 1; change < 256; ++change) {
      file[i] ^= static_cast<std::byte>(change);
      EXPECT_FALSE(any_filter::load_bytes(file)) << "byte " << i << " changed by " << change;
      file[i] ^= static_cast<std::byte>(change);
    }
  }
}

TEST_P(Damage, AnAppendedByteIsAnError) {
  for (const auto [codec, text] : encodings()) {
    bytes file = saved_bytes(sample(GetParam(), 20), {.codec = codec, .text = text});
    file.push_back(std::byte{text ? std::uint8_t{'A'} : std::uint8_t{0}});
    EXPECT_FALSE(any_filter::load_bytes(file));
  }
}

class MappedDamage : public KindTest {};
BLOOMERY_FOR_KINDS(MappedDamage, kinds_where(&kind_case::maps));

// Whether a mapped file is refused: at open, or as damaged by the look-up of keys that it holds (it has one chunk), by whatever
// reads all of it, and by a copy.
testing::AssertionResult refused(const std::string& path) {
  const auto file = any_filter::open(path.c_str());
  if (!file) return testing::AssertionSuccess();
  if (!file->is_mapped()) return testing::AssertionFailure() << "it is not mapped";
  for (std::uint64_t key = 0; key < 3; ++key) {
    const std::uint64_t digest = file->info().integer_keys ? 7 * key : sample_digest(key);
    std::uint64_t mask = 0;
    const auto done = file->may_contain(as_prehashed({&digest, 1}), std::span(&mask, 1));
    if (done) return testing::AssertionFailure() << "a look-up answered " << mask;
    if (done.error().code != errc::chunk_damaged) return testing::AssertionFailure() << "not called damage";
  }
  if (file->stats()) return testing::AssertionFailure() << "stats found nothing";
  if (file->clone()) return testing::AssertionFailure() << "it was copied";
  return testing::AssertionSuccess();
}

TEST_P(MappedDamage, EveryFlippedBitIsAnErrorAtOpenOrWhenTouched) {
  const folder box;
  const std::string path = box / "filter";
  bytes file = saved_bytes(sample(GetParam(), 20));
  write_bytes(path, file);
  const int fd = ::open(path.c_str(), O_WRONLY);
  ASSERT_GE(fd, 0);
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    const auto at = static_cast<off_t>(bit / 8);
    const std::byte changed = file[bit / 8] ^ std::byte{static_cast<unsigned char>(1U << (bit % 8))};
    ASSERT_EQ(::pwrite(fd, &changed, 1, at), 1);
    EXPECT_TRUE(refused(path)) << "bit " << bit % 8 << " of byte " << bit / 8;
    ASSERT_EQ(::pwrite(fd, &file[bit / 8], 1, at), 1);
  }
  ::close(fd);
  const auto whole = any_filter::open(path.c_str());
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->is_mapped());
  EXPECT_TRUE(whole->stats());
}

TEST_P(MappedDamage, EveryTruncationIsAnErrorAtOpen) {
  const folder box;
  const std::string path = box / "filter";
  const bytes file = saved_bytes(sample(GetParam(), 20));
  write_bytes(path, file);
  for (std::size_t size = file.size(); size-- > 0;) {
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(size)), 0);
    EXPECT_FALSE(any_filter::open(path.c_str())) << size << " of " << file.size();
  }
}

TEST(DamageOf, EveryByteOfALargeHeaderIsCovered) {
  bytes file = saved(sample<bloom>(60'000));
  ASSERT_EQ(read_header_bytes(file).value_or(file_header{}).payload_offset(), large_header_bytes);
  for (std::size_t i = 0; i < large_header_bytes; ++i) {
    file[i] ^= std::byte{0x10};
    EXPECT_FALSE(read_header_bytes(file)) << "byte " << i;
    EXPECT_FALSE(load_bytes<bloom>(file)) << "byte " << i;
    file[i] ^= std::byte{0x10};
  }
  EXPECT_TRUE(load_bytes<bloom>(file));
}

TEST(DamageOf, ChunksThatChangedPlacesAreNoticed) {
  const bytes whole = saved(sample<bloom>(20'000));
  const auto header = read_header_bytes(whole);
  ASSERT_TRUE(header);
  ASSERT_GT(header->chunks(), 3U);
  bytes file = whole;
  const auto chunk = [&](std::size_t i) {
    return file.begin() + static_cast<std::ptrdiff_t>(header->payload_offset() + i * chunk_bytes);
  };
  std::swap_ranges(chunk(1), chunk(2), chunk(2));
  EXPECT_EQ(load_error<bloom>(file), "is damaged in chunk 1, bytes 4352 to 8447: copy or build it again");
  // With their checksums, too.
  std::byte* table = file.data() + header->checksums_offset();
  std::swap_ranges(table + 8, table + 16, table + 16);
  EXPECT_EQ(load_error<bloom>(file), "is damaged in chunk 1, bytes 4352 to 8447: copy or build it again");
}

TEST(DamageOf, TheLastChunkIsNamedWithItsRealEnd) {
  bytes file = saved(sample<bloom>(20));
  const auto header = read_header_bytes(file);
  ASSERT_TRUE(header);
  file[header->payload_offset() + 3] ^= std::byte{4};
  EXPECT_EQ(load_error<bloom>(file), "is damaged in chunk 0, bytes 256 to " +
                                         std::to_string(255 + header->stored_bytes) + ": copy or build it again");
}

TEST(DamageOf, BytesBetweenPayloadAndChecksumsMustBeZero) {
  const bytes whole = saved(sample<bloom>(1000), {.codec = codec_gzip});
  const auto header = read_header_bytes(whole);
  ASSERT_TRUE(header);
  const std::uint64_t padding = padding_bytes(header->stored_bytes);
  ASSERT_NE(padding, 0U) << "the sample has no padding: choose another";
  for (std::uint64_t i = 0; i < padding; ++i) {
    bytes file = whole;
    file[header->payload_offset() + header->stored_bytes + i] = std::byte{1};
    EXPECT_EQ(load_bytes<bloom>(file).error().code, errc::chunk_damaged);
    EXPECT_FALSE(load_bytes<bloom>(file, {.trust = true}));
  }
}

}  // namespace
}  // namespace bloomery::test

// Memory is requested after the sizes have been checked, never beyond a limit, and every refusal is survived.
#include <bloomery/kinds/blocked.hpp>
#include <bloomery/kinds/bloom.hpp>
#include <bloomery/native/codec.hpp>
#include <bloomery/posix/mapped.hpp>
#include <bloomery/posix/save.hpp>

#include "support/filters.hpp"
#include "support/memory.hpp"
#include "support/typed.hpp"

namespace bloomery::test {
namespace {

bytes packed(std::uint32_t codec_id, const bytes& payload) {
  enable_codecs();
  const auto codec = find_codec(codec_id);
  bytes out((*codec)->bound(payload.size()));
  const auto used = (*codec)->compress(payload, out, 0);
  EXPECT_TRUE(used);
  out.resize(*used);
  return out;
}

// A bloom of 1024 bytes, as a header would have it.
file_header small_bloom() {
  file_header header;
  header.kind_id = bloom::info.id;
  header.shape = {.capacity_keys = 800, .fpr = 0.01, .field = {8192, 7}};
  header.payload_bytes = 1024;
  header.stored_bytes = 1024;
  return header;
}

TEST(HostileFile, SizesThatDoNotFitRequestNoMemory) {
  const bytes whole = assemble(small_bloom(), bytes(1024));
  ASSERT_TRUE(load_bytes<bloom>(whole)) << load_error<bloom>(whole);
  struct change {
    std::size_t offset;
    std::uint64_t value;
  };
  const std::uint64_t huge = std::uint64_t{1} << 50U;
  const std::vector<std::vector<change>> files = {
      {{72, huge}},                                                   // stored bytes
      {{64, huge}},                                                   // payload bytes
      {{64, huge}, {72, huge}},                                       // both
      {{88, huge}},                                                   // bits of the kind
      {{64, huge / 8}, {72, huge / 8}, {88, huge}},                   // all three, in agreement
      {{64, huge / 8}, {80, codec_zstd | 12ULL << 32U}, {88, huge}},  // a payload that no packed kilobyte can hold
      {{64, huge / 8}, {80, codec_gzip | 12ULL << 32U}, {88, huge}},
      {{64, huge / 8}, {80, codec_rans | 12ULL << 32U}, {88, huge}},
      {{88, 0}},
      {{96, 0}},
      {{96, 65}},
      {{104, 1}},
  };
  for (const auto& changes : files) {
    bytes file = whole;
    file.resize(std::max<std::size_t>(file.size(), large_header_bytes + 4096));
    for (const auto [offset, value] : changes) store_le(&file[offset], value);
    for (const bool large : {false, true}) {
      bytes sealed = file;
      const std::size_t at = (large ? large_header_bytes : small_header_bytes) - checksum_bytes;
      if (large) std::fill(sealed.begin() + 152, sealed.end(), std::byte{0});
      store_le(&sealed[at], xxh3{}(sealed.data(), at));
      if (!large) sealed.resize(whole.size());
      counting_memory memory;
      const auto loaded = load_bytes<bloom>(sealed, {.memory = &memory.hooks});
      EXPECT_FALSE(loaded) << changes[0].offset;
      EXPECT_EQ(memory.requests, 0U) << "offset " << changes[0].offset << " value " << changes[0].value;
    }
  }
}

TEST(HostileFile, PackedPayloadsThatUnpackToMoreOrLessAreRefused) {
  for (const std::uint32_t codec : {codec_zstd, codec_gzip, codec_rans}) {
    for (const std::size_t real : {std::size_t{0}, std::size_t{1023}, std::size_t{1025}, std::size_t{16} << 20U}) {
      const bytes stored = packed(codec, bytes(real));
      file_header header = small_bloom();
      header.codec = codec;
      header.stored_bytes = stored.size();
      counting_memory memory;
      const auto loaded = load_bytes<bloom>(assemble(header, stored), {.memory = &memory.hooks});
      ASSERT_FALSE(loaded) << codec_name(codec) << " " << real;
      EXPECT_EQ(loaded.error().code, errc::codec_failed) << describe(loaded.error()).c_str();
      EXPECT_LE(memory.largest, std::max<std::uint64_t>(1024, stored.size()));
      EXPECT_EQ(memory.live, 0U);
    }
  }
}

// Packed payloads that are not what they claim: noise, half of a payload, and the beginning of one.
std::vector<bytes> false_payloads(std::uint32_t codec, std::uint64_t payload_bytes) {
  std::vector<bytes> all;
  all.emplace_back(1300);
  for (std::size_t i = 0; i < all[0].size(); ++i) all[0][i] = static_cast<std::byte>(mix64(i));
  const bytes whole = packed(codec, bytes(payload_bytes));
  all.push_back(packed(codec, bytes(payload_bytes / 64)));
  all.push_back(whole);
  all.back().resize(whole.size() / 64 + 12);
  // The frame of all, which names its size, around noise.
  all.push_back(whole);
  all.back().resize(std::min<std::size_t>(whole.size(), 9));
  all.back().insert(all.back().end(), all[0].begin(), all[0].end());
  return all;
}

class HostilePackedFile : public KindTest {};
BLOOMERY_FOR_KINDS(HostilePackedFile, kind_table());

TEST_P(HostilePackedFile, TakesNoMemoryButForWhatItIsProvenToHold) {
  const bytes large = saved_bytes(sample(GetParam(), 200'000));
  for (const std::uint32_t codec : {codec_zstd, codec_gzip, codec_rans}) {
    file_header header = *read_header_bytes(large);
    header.codec = codec;
    for (const bytes& stored : false_payloads(codec, header.payload_bytes)) {
      header.stored_bytes = stored.size();
      const bytes file = assemble(header, stored);
      counting_memory memory;
      const auto loaded = any_filter::load_bytes(file, {.memory = &memory.hooks});
      EXPECT_FALSE(loaded);
      EXPECT_LE(memory.most_bytes, 4 * file.size() + 65536) << codec_name(codec) << " of " << header.payload_bytes;
    }
  }
}

// The other side of it: what is really packed that well is loaded.
TEST(PackedFile, OfASparseFilterIsLoadedHoweverSmallItIs) {
  for (const std::uint32_t codec : {codec_zstd, codec_gzip, codec_rans}) {
    auto filter = bloom::make({.keys = 2'000'000, .fpr = 0.01});
    ASSERT_TRUE(filter);
    filter->insert(sample_digest(1));
    const bytes file = saved(*filter, {.codec = codec});
    ASSERT_LT(file.size() * 64, filter->memory_bytes());
    counting_memory memory;
    const auto loaded = load_bytes<bloom>(file, {.memory = &memory.hooks});
    ASSERT_TRUE(loaded) << describe(loaded.error()).c_str();
    EXPECT_TRUE(loaded->filter == *filter);
    EXPECT_LE(memory.most_bytes, filter->memory_bytes() + 2 * file.size());
  }
}

TEST(HostileFile, PackedPayloadsFollowedByOtherBytesAreRefused) {
  for (const std::uint32_t codec : {codec_zstd, codec_gzip, codec_rans}) {
    bytes stored = packed(codec, bytes(1024));
    stored.push_back(std::byte{0});
    file_header header = small_bloom();
    header.codec = codec;
    header.stored_bytes = stored.size();
    EXPECT_TRUE(load_error<bloom>(assemble(header, stored)).starts_with("cannot be unpacked")) << codec_name(codec);
  }
}

TEST(HostileFile, BitsAfterTheEndOfABloomAreRefused) {
  file_header header = small_bloom();
  header.shape.field[0] = 8190;
  bytes stored(1024);
  EXPECT_TRUE(load_bytes<bloom>(assemble(header, stored)));
  stored.back() = std::byte{0x80};
  EXPECT_EQ(load_error<bloom>(assemble(header, stored)),
            "its header is not usable: field bits past the end has value 8190");
}

TEST(HostileFile, A128BitDigestOfAKindThatTakesNoneIsRefused) {
  bytes file = saved(sample<blocked>(20));
  store_le<std::uint32_t>(&file[20], 128);
  seal_header(file);
  EXPECT_EQ(load_error<blocked>(file), "its header is not usable: field digest bits has value 128");
}

TEST(Memory, IsRequestedWithinTheLimitOnly) {
  const bloom filter = sample<bloom>(10'000);  // about 12 KB
  for (const std::uint32_t codec : linked_codecs()) {
    for (const bool text : {false, true}) {
      const bytes file = saved(filter, {.codec = codec, .text = text});
      counting_memory memory;
      const auto loaded = load_bytes<bloom>(file, {.memory = &memory.hooks, .max_bytes = 1000});
      ASSERT_FALSE(loaded);
      EXPECT_EQ(describe(loaded.error()).view(), "needs more memory than the limit of 1000 bytes allows");
      EXPECT_EQ(memory.requests, 0U);
      EXPECT_TRUE(load_bytes<bloom>(file, {.max_bytes = file.size() + 4096}));
    }
  }
}

class Refusal : public KindTest {};
BLOOMERY_FOR_KINDS(Refusal, kind_table());

// Runs `action(hooks)` with the n-th request refused, for every n until one run needs fewer; how many were refused.
template <class Action>
std::uint64_t refuse_each(Action&& action) {
  for (std::uint64_t n = 0;; ++n) {
    counting_memory memory(n);
    const result<void> done = action(&memory.hooks);
    EXPECT_EQ(memory.live, 0U);
    if (memory.requests <= n) {
      EXPECT_TRUE(done) << describe(done.error()).c_str();
      return n;
    }
    EXPECT_TRUE(!done && done.error().code == errc::out_of_memory) << "request " << n << " was refused";
  }
}

TEST_P(Refusal, OfAnyPieceIsAnErrorOfLoad) {
  const any_filter filter = sample(GetParam(), 1000);
  const folder box;
  for (const std::uint32_t codec : linked_codecs()) {
    for (const bool text : {false, true}) {
      const std::string path = box / "filter";
      ASSERT_TRUE(filter.save(path.c_str(), {.codec = codec, .replace = true, .text = text}));
      const std::uint64_t refused = refuse_each([&](const memory_hooks* hooks) -> result<void> {
        const auto loaded = any_filter::load(path.c_str(), {.memory = hooks});
        if (!loaded) return fail(loaded.error());
        EXPECT_TRUE(*loaded == filter);
        return {};
      });
      // The payload, or pieces of it; a packed one before it; the text. Kinds that unpack it into such memory, or list
      // its parts there, request more.
      const std::uint64_t pieces = 1U + (codec != codec_none ? 1U : 0U) + (text ? 1U : 0U);
      if (GetParam().unpacks_with_hooks) {
        EXPECT_GT(refused, pieces);
      } else {
        EXPECT_EQ(refused, pieces);
      }
    }
  }
}

TEST_P(Refusal, OfAnyPieceIsAnErrorOfSaveAndLeavesNoFile) {
  const any_filter filter = sample(GetParam(), 1000);
  const folder box;
  const std::string path = box / "filter";
  for (const std::uint32_t codec : linked_codecs()) {
    const std::uint64_t refused = refuse_each([&](const memory_hooks* hooks) -> result<void> {
      auto done = filter.save(path.c_str(), {.codec = codec, .memory = hooks});
      EXPECT_EQ(box.names().size(), done ? 1U : 0U);
      return done;
    });
    EXPECT_EQ(refused, codec == codec_none ? 0U : GetParam().is_contiguous ? 1U : 2U);
    std::filesystem::remove(path);
  }
}

TEST(RefusalOfMemory, IsAnErrorOfOpeningAMappedFile) {
  const folder box;
  const std::string path = box / "filter";
  ASSERT_TRUE(save(sample<bloom>(1000), {}, path.c_str()));
  EXPECT_EQ(refuse_each([&](const memory_hooks* hooks) -> result<void> {
              const auto file = mapped<bloom>::open(path.c_str(), false, hooks);
              if (!file) return fail(file.error());
              return {};
            }),
            1U);
}

TEST(RefusalOfMemory, IsAnErrorOfReadingAStreamAtEachOfItsSteps) {
  const std::uint64_t refused = refuse_each([&](const memory_hooks* hooks) -> result<void> {
    const auto read = read_file("/dev/zero", hooks, std::uint64_t{1} << 20U);
    if (!read && read.error().code == errc::out_of_memory) return fail(read.error());
    EXPECT_EQ(read.error().code, errc::unsupported);
    return {};
  });
  EXPECT_EQ(refused, 6U);  // 64 KiB doubled until it passes 1 MiB
}

}  // namespace
}  // namespace bloomery::test

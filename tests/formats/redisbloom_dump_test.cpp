// The encodings of RedisBloom's DUMP, and what is refused of its bytes.
#include <bloomery/any_filter_model.hpp>
#include <bloomery/kinds/cuckoo.hpp>
#include <bloomery/kinds/scalable.hpp>

#include "formats/redisbloom_support.hpp"

namespace bloomery::redisbloom_testing {
namespace {

TEST(RedisBloom, OldEncodingsOfTheDumpAreRead) {
  const auto keys = redis_keys(40);
  for (const char version : {'\0', '\1', '\2', '\3', '\4'}) {
    SCOPED_TRACE(static_cast<int>(version));
    // 40 keys at 0.01: 383.4 bits in 48 bytes; encoding 0 takes the remainder by 383. Others are of 512 bits, rounded.
    const unsigned size = version == 0 ? 48 : 64;
    const unsigned modulus = version == 0 ? 383 : 512;
    const std::string bits = bits_by_hand(size, modulus, 7, keys, version >= 2);
    std::string value = module_head(version);
    put_number(value, 40);
    put_number(value, 1);
    if (version >= 2) put_number(value, 4);
    if (version >= 4) put_number(value, 3);
    put_number(value, 40);
    put_real(value, 0.01);
    put_number(value, 7);
    put_real(value, bits_per_key_of(0.01));
    if (version >= 1) put_number(value, 512);
    if (version >= 1) put_number(value, 9);
    value += '\x05';
    value += static_cast<char>(0x40);
    value += static_cast<char>(size);
    value += bits;
    put_number(value, 40);
    const auto opened = open_text(sealed(value + '\0'));
    ASSERT_TRUE(opened) << describe(opened.error()).view();
    for (const bool present : query(opened->filter, keys)) EXPECT_TRUE(present);
    EXPECT_LT(opened->filter.stats()->fpr_now, 0.02);
    EXPECT_EQ(opened->filter.facts()[2].value.integer(), version >= 4 ? 3U : 2U);
    // The oldest has sub-filters that no header of SCANDUMP holds.
    memory_sink sink;
    EXPECT_EQ(formats::save_to(opened->filter, redisbloom(), byte_sink(sink)).has_value(), version != 0);
    EXPECT_EQ(opened->written.form, "dump");
  }
}

TEST(RedisBloom, TheOldestEncodingIsWrittenAsItIs) {
  const auto keys = redis_keys(60);
  std::string value = module_head('\0');
  for (const unsigned number : {30U, 1U, 40U}) put_number(value, number);
  put_real(value, 0.01);
  put_number(value, 7);
  put_real(value, bits_per_key_of(0.01));
  value += std::string("\x05\x30", 2) + bits_by_hand(48, 383, 7, {keys.begin(), keys.begin() + 30}, false);
  put_number(value, 30);
  value += '\0';
  const auto opened = open_text(sealed(value), {.in_memory = true});
  ASSERT_TRUE(opened) << describe(opened.error()).view();
  const auto footless = [](const std::string& file) { return file.substr(0, file.size() - 10); };  // version, checksum
  const auto saved = [](const any_filter& filter, const formats::format_options& form) {
    memory_sink sink;
    const auto done = formats::save_to(filter, redisbloom(), byte_sink(sink), {}, form);
    return done ? std::string(reinterpret_cast<const char*>(sink.bytes().data()), sink.bytes().size())
                : std::string(describe(done.error()).view());
  };
  EXPECT_TRUE(footless(saved(opened->filter, as_dump)) == value);
  EXPECT_NE(saved(opened->filter, {}).find("use encoding dump"), std::string::npos);
  // More keys, up to its capacity.
  auto fuller = opened->filter.clone();
  ASSERT_TRUE(fuller);
  EXPECT_GE(insert(*fuller, {keys.begin() + 30, keys.begin() + 38}), 7U);
  const auto again = open_text(saved(*fuller, as_dump));
  ASSERT_TRUE(again) << describe(again.error()).view();
  EXPECT_TRUE(again->filter == *fuller);
  // The next sub-filter is one of a newer release, as in the product: there is no encoding for both.
  insert(*fuller, keys);
  EXPECT_NE(saved(*fuller, as_dump).find("which no encoding holds together"), std::string::npos);
}

// The checksum is right, so that nothing else refuses them.
TEST(RedisBloom, SizesInADumpAreCheckedBeforeAnythingIsAllocated) {
  const auto wide = [](std::string& to, std::uint64_t value) {
    to += "\x02\x81";
    for (unsigned i = 0; i < 8; ++i) to += static_cast<char>(value >> (56 - 8 * i));
  };
  const auto asked = [](const std::string& file) {
    std::uint64_t most = 0;
    const memory_hooks counted{
        .allocate = [](void* largest, std::size_t size, std::size_t alignment) -> void* {
          auto& so_far = *static_cast<std::uint64_t*>(largest);
          so_far = std::max<std::uint64_t>(so_far, size);
          return size > 1U << 20U ? nullptr : default_memory().allocate(nullptr, size, alignment);
        },
        .release = [](void* /*largest*/, void* memory, std::size_t size,
                      std::size_t alignment) { default_memory().release(nullptr, memory, size, alignment); },
        .context = &most};
    auto buffer = aligned_buffer::make(file.size(), "a test", &counted);
    EXPECT_TRUE(buffer);
    std::memcpy(buffer->data(), file.data(), file.size());
    most = 0;
    EXPECT_FALSE(formats::open_bytes({std::move(*buffer), file.size()}, {.from = "redisbloom"}));
    return most;
  };
  for (const std::uint64_t sub_filters : {1'000ULL, 60'000ULL, 1ULL << 32U, 1ULL << 57U, ~0ULL}) {
    std::string bloom = module_head(4);
    put_number(bloom, 0);
    wide(bloom, sub_filters);
    put_number(bloom, 5);
    put_number(bloom, 2);
    EXPECT_LE(asked(sealed(bloom + std::string(200, '\0'))), 1000U) << sub_filters;
    std::string cuckoos = module_head(4, true);
    wide(cuckoos, sub_filters);
    for (const unsigned number : {1U, 0U, 0U, 2U, 20U, 1U}) put_number(cuckoos, number);
    EXPECT_LE(asked(sealed(cuckoos + std::string(200, '\0'))), 1000U) << sub_filters;
  }
  // A packed string of six bytes that claims to be a gigabyte, as the only sub-filter does, too.
  std::string packed = module_head(4);
  for (const unsigned number : {0U, 1U, 5U, 2U, 40U}) put_number(packed, number);
  put_real(packed, 0.01);
  put_number(packed, 7);
  put_real(packed, bits_per_key_of(0.01));
  wide(packed, std::uint64_t{1} << 33U);
  put_number(packed, 0);
  packed += std::string("\x05\xc3\x06\x80\x40\0\0\0\0a\xe0\xff\0\0", 14);
  put_number(packed, 0);
  EXPECT_LE(asked(sealed(packed + '\0')), 1000U);
}

// Its own numbers must agree: a file of something else may pass every other check.
TEST(RedisBloom, AChainIsDetectedByTheBitsPerKeyOfItsRate) {
  plain_sub_filter sub_filter = sub_filter_of(144, 100, 0.005, 0);
  EXPECT_TRUE(open_text(chain_bytes(0, 5, 2, {sub_filter})));
  sub_filter.bits_per_key += 0.01;
  EXPECT_FALSE(open_text(chain_bytes(0, 5, 2, {sub_filter})));
  EXPECT_TRUE(open_text(chain_bytes(0, 5, 2, {sub_filter}), {.from = "redisbloom"}));
}

TEST(RedisBloom, OldEncodingsOfCuckooFiltersAreRead) {
  const std::string slots = scandump_of("cf_default_1024").substr(38);
  std::string value = module_head('\3', true);
  put_number(value, 1);
  put_number(value, 512);
  put_number(value, 200);
  value += std::string("\x05\x44\x00", 3) + slots;
  const auto opened = open_text(sealed(value + '\0'));
  ASSERT_TRUE(opened) << describe(opened.error()).view();
  EXPECT_TRUE(text_of(opened->filter, redisbloom()) == scandump_of("cf_default_1024"));
}

TEST(RedisBloom, StringsThatAreNumbersAreStoredAsSuch) {
  // Eight bytes of bits that read "12345678".
  for (const std::string& bits : {std::string("12345678"), std::string("-7654321"), std::string("01234567")}) {
    std::string file = chain_bytes(1, 5, 2, {sub_filter_of(8, 1, 0.12, 0)});
    file[20 + 16] = 1;  // its key
    file.replace(file.size() - 8, 8, bits);
    const auto opened = open_text(file);
    ASSERT_TRUE(opened) << describe(opened.error()).view();
    const std::string dump = text_of(opened->filter, redisbloom(), {}, as_dump);
    EXPECT_EQ(dump.find(bits) == std::string::npos, bits[0] != '0');
    const auto again = open_text(dump);
    ASSERT_TRUE(again);
    EXPECT_TRUE(text_of(again->filter, redisbloom()) == file);
  }
}

TEST(RedisBloom, HasTheChecksumOfJones) {
  const std::string text = "123456789";
  EXPECT_EQ(formats::rdb::crc64(0, std::as_bytes(std::span(text))), 0xe9c6d914c4b8d9caULL);
}

TEST(RedisBloom, PackedStringsAreWhole) {
  auto packer = formats::lzf_packer::make();
  ASSERT_TRUE(packer);
  std::uint64_t state = 7;
  for (std::size_t size = 1; size < 3000; size += size < 64 ? 1 : 97) {
    for (const unsigned values : {1U, 2U, 3U, 16U, 256U}) {
      std::vector<std::byte> in(size);
      for (std::byte& byte : in) byte = static_cast<std::byte>(mix64(++state) % values);
      std::vector<std::byte> out(size + size / 16 + 64);
      out.resize(packer->pack(in, out));
      ASSERT_FALSE(out.empty());
      ASSERT_LE(size, formats::lzf_most_bytes(out.size()));
      std::vector<std::byte> again(size);
      ASSERT_TRUE(formats::lzf_unpack(out, again)) << size << " " << values;
      EXPECT_EQ(again, in);
      std::vector<std::byte> longer(size + 1);
      EXPECT_FALSE(formats::lzf_unpack(out, longer));
      std::vector<std::byte> shorter(size - 1);
      EXPECT_FALSE(formats::lzf_unpack(out, shorter));
      // Space for less than it takes: nothing, and nothing after it is touched.
      std::vector<std::byte> little(out.size() - 1);
      EXPECT_EQ(packer->pack(in, little), 0U);
    }
  }
}

TEST(RedisBloom, PiecesOfAPackedStringLieInWhatIsUnpackedAlready) {
  const auto unpacks = [](std::initializer_list<unsigned> packed, std::size_t size) {
    std::vector<std::byte> in;
    for (const unsigned byte : packed) in.push_back(static_cast<std::byte>(byte));
    std::vector<std::byte> out(size);
    return formats::lzf_unpack(in, out);
  };
  EXPECT_TRUE(unpacks({0, 'a', 0x20, 0}, 4)) << "three more of the byte before";
  EXPECT_FALSE(unpacks({0, 'a', 0x20, 1}, 4)) << "from one byte before the first";
  EXPECT_FALSE(unpacks({0x20, 0}, 3)) << "of nothing";
  EXPECT_FALSE(unpacks({0, 'a', 0x3f, 0xff}, 4));
  EXPECT_FALSE(unpacks({0, 'a', 0x20}, 4)) << "cut off";
  EXPECT_FALSE(unpacks({0, 'a', 0xe0}, 4));
  EXPECT_FALSE(unpacks({2, 'a', 'b'}, 3));
}

// ---- what is refused -----------------------------------------------------------------------------------------------------

TEST(RedisBloom, ChecksWhatTheProductChecks) {
  const plain_sub_filter good = sub_filter_of(144, 100, 0.005, 0);
  ASSERT_EQ(refusal_of(chain_bytes(0, 5, 2, {good})), "");
  const auto with = [&](auto change) {
    plain_sub_filter sub_filter = good;
    change(sub_filter);
    return refusal_of(chain_bytes(0, 5, 2, {sub_filter}));
  };
  EXPECT_NE(with([](auto& l) { l.rate = 0; }), "");
  EXPECT_NE(with([](auto& l) { l.rate = 1; }), "");
  EXPECT_NE(with([](auto& l) { l.rate = -0.01; }), "");
  EXPECT_NE(with([](auto& l) { l.rate = std::nan(""); }), "");
  EXPECT_NE(with([](auto& l) { l.log2_bits = 64; }), "");
  EXPECT_NE(with([](auto& l) { l.log2_bits = 11; }), "") << "2^11 are more than its bits";
  EXPECT_EQ(with([](auto& l) { l.log2_bits = 10; }), "") << "2^10 are fewer";
  EXPECT_NE(with([](auto& l) { l.bits += 8; }), "");
  EXPECT_NE(with([](auto& l) { l.bits = 0, l.size_bytes = 0; }), "");
  EXPECT_NE(with([](auto& l) { l.hashes += 1; }), "");
  EXPECT_NE(with([](auto& l) { l.keys = 1; }), "") << "more keys than the chain";
  EXPECT_NE(with([](auto& l) { l.hashes = 1'000'000'000, l.bits_per_key = 1'000'000'000 / 0.693147180559945; }), "");
  EXPECT_NE(refusal_of(chain_bytes(0, 16, 2, {good})), "") << "unknown option";
  EXPECT_NE(refusal_of(chain_bytes(1, 5, 2, {good})), "") << "keys of no sub-filter";
  EXPECT_EQ(refusal_of(chain_bytes(0, 4, 2, {sub_filter_of(144, 100, 0.005, 10)})), "");
  EXPECT_NE(refusal_of(chain_bytes(1, 4, 2, {sub_filter_of(144, 100, 0.005, 10)})), "") << "the same of an old chain";
  EXPECT_NE(refusal_of(chain_bytes(0, 5, 2, {})), "") << "no sub-filter";
  const std::string file = chain_bytes(0, 5, 2, {good});
  EXPECT_EQ(refusal_of(file + "x"),
            "has 218 bytes and should have 217: something was appended; copy or build it again");
  EXPECT_EQ(refusal_of(file.substr(0, 216)),
            "is cut short: it has 216 bytes and should have 217; copy or build it again");
  EXPECT_EQ(refusal_of(file.substr(0, 73)),
            "is not a filter in format redisbloom: a SCANDUMP header alone: give its chunks behind it");
  // Billions of sub-filters, and bits that a file of this size cannot have.
  std::string many = file;
  std::fill_n(many.begin() + 8, 4, '\xff');
  EXPECT_NE(refusal_of(many).find("number of sub-filters has value 4294967295"), std::string::npos) << refusal_of(many);
  EXPECT_NE(with([](auto& l) { l.capacity = 1'000'000; }), "") << "more keys than the bits are for";
  EXPECT_NE(with([](auto& l) { l.bits = std::uint64_t{1} << 58U; }), "");
}

TEST(RedisBloom, ChecksWhatTheProductChecksOfCuckooFilters) {
  const std::string good = scandump_of("cf_16_bs4_exp2_grown");
  ASSERT_EQ(refusal_of(good), "");
  const auto with = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    std::string file = good;
    for (std::size_t i = 0; i < size; ++i) file[at + i] = static_cast<char>(value >> 8 * i & 0xff);
    return refusal_of(file);
  };
  EXPECT_NE(with(8, 0, 8), "") << "no buckets";
  EXPECT_NE(with(8, 3, 8), "") << "no power of two";
  EXPECT_NE(with(8, std::uint64_t{1} << 57U, 8), "");
  EXPECT_NE(with(24, 0, 8), "") << "no sub-filters";
  EXPECT_NE(with(24, 65537, 8), "");
  EXPECT_NE(with(32, 0, 2), "") << "no slots";
  EXPECT_NE(with(32, 256, 2), "");
  EXPECT_NE(with(34, 0, 2), "") << "no iterations";
  EXPECT_NE(with(36, 0, 2), "") << "several sub-filters that do not grow";
  EXPECT_NE(with(36, 3, 2), "") << "growth is no power of two";
  EXPECT_NE(refusal_of(good.substr(0, good.size() - 1)), "");
  EXPECT_NE(refusal_of(good + "x"), "");
  // Also of a filter that has not grown, whose size does not show it.
  for (const char growth : {'\3', '\5', '\x64'}) {
    std::string one = scandump_of("cf_default_1024");
    ASSERT_EQ(refusal_of(one), "");
    one[36] = growth;
    EXPECT_NE(refusal_of(one), "");
  }
}

TEST(RedisBloom, DumpsWithAWrongChecksumOrEncodingAreRefused) {
  const std::string good = dump_of("cf_default_1024");
  ASSERT_EQ(refusal_of(good), "");
  std::string damaged = good;
  damaged[100] = static_cast<char>(damaged[100] ^ 1);
  EXPECT_NE(refusal_of(damaged).find("checksum"), std::string::npos);
  const std::string body = good.substr(0, good.size() - 10);
  EXPECT_EQ(refusal_of(sealed(body)), "");
  std::string newer = body;
  newer[9] = 5;
  EXPECT_NE(refusal_of(sealed(newer)).find("newer RedisBloom"), std::string::npos);
  // The version of RDB: there are module values of this form since 8.
  for (const std::uint16_t version : {std::uint16_t{7}, std::uint16_t{8}}) {
    std::string other = body;
    put(other, version);
    put(other, formats::rdb::crc64(0, std::as_bytes(std::span(other))));
    EXPECT_EQ(refusal_of(other).find("RDB version") != std::string::npos, version == 7);
  }
  // With the right checksum, every cut and every changed byte of what is packed is an error or a filter that can be queried.
  for (std::size_t size = 10; size < body.size(); ++size) survives(sealed(body.substr(0, size)), "redisbloom");
  for (std::size_t at = 10; at < body.size(); ++at) {
    for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
      std::string changed = body;
      changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ flip);
      survives(sealed(changed), "redisbloom");
    }
  }
}

TEST(RedisBloom, DamageIsAnErrorOrHarmless) {
  expect_harmless_damage(scandump_of("bf_1_0.24"), "redisbloom");
  expect_harmless_damage(dump_of("bf_1_0.24"), "redisbloom");
  expect_harmless_damage(scandump_of("bf_10_0.01_exp1_scaled"), "redisbloom");
  expect_harmless_damage(scandump_of("cf_16_bs4_exp2_grown"), "redisbloom");
}

TEST(RedisBloom, SizesAndOptionsThatItDoesNotHaveAreRefused) {
  const auto refused = [](const filter_params& params, const formats::format_options& options) {
    const auto made = formats::make("redisbloom", params, options);
    return made ? "" : std::string(describe(made.error()).view());
  };
  EXPECT_NE(refused({.keys = 100, .growth = 0}, {}), "");
  EXPECT_NE(refused({.keys = 100, .growth = 32769}, {}), "");
  EXPECT_NE(refused({.keys = 100, .hashes = 3}, {}), "");
  EXPECT_NE(refused({.keys = 100, .mode = "set"}, {}), "");
  EXPECT_NE(refused({.keys = 100}, {.kind = "blocked"}), "");
  EXPECT_NE(refused({.keys = 100}, {.bucket_size = "4"}), "");
  EXPECT_NE(refused({.keys = 100}, {.kind = "cuckoo", .bucket_size = "256"}), "");
  EXPECT_NE(refused({.keys = 100}, {.kind = "cuckoo", .max_iterations = "65536"}), "");
  EXPECT_NE(refused({.keys = 1000, .fpr = 0.001}, {.kind = "cuckoo"}), "");
  EXPECT_NE(refused({.keys = 1000, .bits_per_key = 8}, {.kind = "cuckoo"}), "");
  const auto made = formats::make("redisbloom", {.keys = 100});
  ASSERT_TRUE(made);
  memory_sink sink;
  EXPECT_FALSE(formats::save_to(*made, redisbloom(), byte_sink(sink), {}, {.form = "json"}));
  // A rate above a quarter is a quarter.
  const auto loose = formats::make("redisbloom", {.keys = 100, .fpr = 0.9});
  const auto quarter = formats::make("redisbloom", {.keys = 100, .fpr = 0.25});
  ASSERT_TRUE(loose && quarter);
  EXPECT_TRUE(*loose == *quarter);
}

}  // namespace
}  // namespace bloomery::redisbloom_testing

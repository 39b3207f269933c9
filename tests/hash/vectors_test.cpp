// Values that the authors of the hashes published.
#include <gtest/gtest.h>

#include <array>
#include <bloomery/hash/list.hpp>
#include <numeric>
#include <string_view>

namespace {

using namespace bloomery;
using words = std::array<std::uint64_t, 64>;

// The key 00 01 02 ... of the reference vectors.
template <std::size_t N>
std::array<std::byte, N> counting_key() {
  std::array<std::byte, N> key{};
  for (std::size_t i = 0; i < N; ++i) key[i] = static_cast<std::byte>(i);
  return key;
}
const auto message = counting_key<64>();

// SipHash's reference code: digests of the messages 00 01 ... of length 0 to 63 under the key 00 01 ... 0f.
constexpr words siphash24_published = {
    0x726fdb47dd0e0e31ULL, 0x74f839c593dc67fdULL, 0x0d6c8009d9a94f5aULL, 0x85676696d7fb7e2dULL, 0xcf2794e0277187b7ULL,
    0x18765564cd99a68dULL, 0xcbc9466e58fee3ceULL, 0xab0200f58b01d137ULL, 0x93f5f5799a932462ULL, 0x9e0082df0ba9e4b0ULL,
    0x7a5dbbc594ddb9f3ULL, 0xf4b32f46226bada7ULL, 0x751e8fbc860ee5fbULL, 0x14ea5627c0843d90ULL, 0xf723ca908e7af2eeULL,
    0xa129ca6149be45e5ULL, 0x3f2acc7f57c29bdbULL, 0x699ae9f52cbe4794ULL, 0x4bc1b3f0968dd39cULL, 0xbb6dc91da77961bdULL,
    0xbed65cf21aa2ee98ULL, 0xd0f2cbb02e3b67c7ULL, 0x93536795e3a33e88ULL, 0xa80c038ccd5ccec8ULL, 0xb8ad50c6f649af94ULL,
    0xbce192de8a85b8eaULL, 0x17d835b85bbb15f3ULL, 0x2f2e6163076bcfadULL, 0xde4daaaca71dc9a5ULL, 0xa6a2506687956571ULL,
    0xad87a3535c49ef28ULL, 0x32d892fad841c342ULL, 0x7127512f72f27cceULL, 0xa7f32346f95978e3ULL, 0x12e0b01abb051238ULL,
    0x15e034d40fa197aeULL, 0x314dffbe0815a3b4ULL, 0x027990f029623981ULL, 0xcadcd4e59ef40c4dULL, 0x9abfd8766a33735cULL,
    0x0e3ea96b5304a7d0ULL, 0xad0c42d6fc585992ULL, 0x187306c89bc215a9ULL, 0xd4a60abcf3792b95ULL, 0xf935451de4f21df2ULL,
    0xa9538f0419755787ULL, 0xdb9acddff56ca510ULL, 0xd06c98cd5c0975ebULL, 0xe612a3cb9ecba951ULL, 0xc766e62cfcadaf96ULL,
    0xee64435a9752fe72ULL, 0xa192d576b245165aULL, 0x0a8787bf8ecb74b2ULL, 0x81b3e73d20b49b6fULL, 0x7fa8220ba3b2eceaULL,
    0x245731c13ca42499ULL, 0xb78dbfaf3a8d83bdULL, 0xea1ad565322a1a0bULL, 0x60e61c23a3795013ULL, 0x6606d7e446282b93ULL,
    0x6ca4ecb15c5f91e1ULL, 0x9f626da15c9625f3ULL, 0xe51b38608ef25f57ULL, 0x958a324ceb064572ULL,
};
// The same messages and key, from the reference code compiled for one and three rounds.
constexpr words siphash13_published = {
    0xabac0158050fc4dcULL, 0xc9f49bf37d57ca93ULL, 0x82cb9b024dc7d44dULL, 0x8bf80ab8e7ddf7fbULL, 0xcf75576088d38328ULL,
    0xdef9d52f49533b67ULL, 0xc50d2b50c59f22a7ULL, 0xd3927d989bb11140ULL, 0x369095118d299a8eULL, 0x25a48eb36c063de4ULL,
    0x79de85ee92ff097fULL, 0x70c118c1f94dc352ULL, 0x78a384b157b4d9a2ULL, 0x306f760c1229ffa7ULL, 0x605aa111c0f95d34ULL,
    0xd320d86d2a519956ULL, 0xcc4fdd1a7d908b66ULL, 0x9cf2689063dbd80cULL, 0x8ffc389cb473e63eULL, 0xf21f9de58d297d1cULL,
    0xc0dc2f46a6cce040ULL, 0xb992abfe2b45f844ULL, 0x7ffe7b9ba320872eULL, 0x525a0e7fdae6c123ULL, 0xf464aeb267349c8cULL,
    0x45cd5928705b0979ULL, 0x3a3e35e3ca9913a5ULL, 0xa91dc74e4ade3b35ULL, 0xfb0bed02ef6cd00dULL, 0x88d93cb44ab1e1f4ULL,
    0x540f11d643c5e663ULL, 0x2370dd1f8c21d1bcULL, 0x81157b6c16a7b60dULL, 0x4d54b9e57a8ff9bfULL, 0x759f12781f2a753eULL,
    0xcea1a3bebf186b91ULL, 0x2cf508d3ada26206ULL, 0xb6101c2da3c33057ULL, 0xb3f47496ae3a36a1ULL, 0x626b57547b108392ULL,
    0xc1d2363299e41531ULL, 0x667cc1923f1ad944ULL, 0x65704ffec8138825ULL, 0x24f280d1c28949a6ULL, 0xc2ca1cedfaf8876bULL,
    0xc2164bfc9f042196ULL, 0xa16e9c9368b1d623ULL, 0x49fb169c8b5114fdULL, 0x9f3143f8df074c46ULL, 0xc6fdaf2412cc86b3ULL,
    0x7eaf49d10a52098fULL, 0x1cf313559d292f9aULL, 0xc44a30dda2f41f12ULL, 0x36fae98943a71ed0ULL, 0x318fb34c73f0bce6ULL,
    0xa27abf3670a7e980ULL, 0xb4bcc0db243c6d75ULL, 0x23f8d852fdb71513ULL, 0x8f035f4da67d8a08ULL, 0xd89cd0e5b7e8f148ULL,
    0xf6f4e6bcf7a644eeULL, 0xaec59ad80f1837f2ULL, 0xc3b2f6154b6694e0ULL, 0x9d199062b7bbb3a8ULL,
};
// HighwayHash's own test: the same messages, of length 0 to 64, under the key 00 01 ... 1f.
constexpr std::array<std::uint64_t, 65> highwayhash64_published = {
    0x907a56de22c26e53ULL, 0x7eab43aac7cddd78ULL, 0xb8d0569ab0b53d62ULL, 0x5c6befab8a463d80ULL, 0xf205a46893007edaULL,
    0x2b8a1668e4a94541ULL, 0xbd4ccc325befca6fULL, 0x4d02ae1738f59482ULL, 0xe1205108e55f3171ULL, 0x32d2644ec77a1584ULL,
    0xf6e10acdb103a90bULL, 0xc3bbf4615b415c15ULL, 0x243cc2040063fa9cULL, 0xa89a58ce65e641ffULL, 0x24b031a348455a23ULL,
    0x40793f86a449f33bULL, 0xcfab3489f97eb832ULL, 0x19fe67d2c8c5c0e2ULL, 0x04dd90a69c565cc2ULL, 0x75d9518e2371c504ULL,
    0x38ad9b1141d3dd16ULL, 0x0264432ccd8a70e0ULL, 0xa9db5a6288683390ULL, 0xd7b05492003f028cULL, 0x205f615aea59e51eULL,
    0xeee0c89621052884ULL, 0x1bfc1a93a7284f4fULL, 0x512175b5b70da91dULL, 0xf71f8976a0a2c639ULL, 0xae093fef1f84e3e7ULL,
    0x22ca92b01161860fULL, 0x9fc7007ccf035a68ULL, 0xa0c964d9ecd580fcULL, 0x2c90f73ca03181fcULL, 0x185cf84e5691eb9eULL,
    0x4fc1f5ef2752aa9bULL, 0xf5b7391a5e0a33ebULL, 0xb9b84b83b4e96c9cULL, 0x5e42fe712a5cd9b4ULL, 0xa150f2f90c3f97dcULL,
    0x7fa522d75e2d637dULL, 0x181ad0cc0dffd32bULL, 0x3889ed981e854028ULL, 0xfb4297e8c586ee2dULL, 0x6d064a45bb28059cULL,
    0x90563609b3ec860cULL, 0x7aa4fce94097c666ULL, 0x1326bac06b911e08ULL, 0xb926168d2b154f34ULL, 0x9919848945b1948dULL,
    0xa2a98fc534825ebeULL, 0xe9809095213ef0b6ULL, 0x582e5483707bc0e9ULL, 0x086e9414a88a6af5ULL, 0xee86b98d20f6743dULL,
    0xf89b7ff609b1c0a7ULL, 0x4c7d9cc19e22c3e8ULL, 0x9a97005024562a6fULL, 0x5dd41cf423e6ebefULL, 0xdf13609c0468e227ULL,
    0x6e0da4f64188155aULL, 0xb755ba4b50d7d4a1ULL, 0x887a3484647479bdULL, 0xab8eebe9bf2139a0ULL, 0x75542c5d4cd2a6ffULL,
};

TEST(Siphash, MatchesThePublishedVectors) {
  const auto sip24 = siphash24::from_key(counting_key<16>());
  const auto sip13 = siphash13::from_key(counting_key<16>());
  ASSERT_TRUE(sip24);
  ASSERT_TRUE(sip13);
  for (std::size_t size = 0; size < 64; ++size) {
    EXPECT_EQ((*sip24)(message.data(), size), siphash24_published[size]) << size;
    EXPECT_EQ((*sip13)(message.data(), size), siphash13_published[size]) << size;
  }
}

TEST(Highwayhash, MatchesThePublishedVectors) {
  const auto hash = highwayhash64::from_key(counting_key<32>());
  ASSERT_TRUE(hash);
  for (std::size_t size = 0; size <= 64; ++size) {
    EXPECT_EQ((*hash)(message.data(), size), highwayhash64_published[size]) << size;
  }
}

TEST(Siphash, RefusesAKeyOfAnotherSize) {
  const auto key = counting_key<17>();
  for (const std::size_t size : {std::size_t{0}, std::size_t{15}, std::size_t{17}}) {
    const auto hash = siphash13::from_key(std::span(key).first(size));
    ASSERT_FALSE(hash);
    EXPECT_EQ(hash.error().code, errc::bad_key_size);
    EXPECT_EQ(hash.error().number[0], size);
    EXPECT_EQ(hash.error().number[1], 16U);
  }
}

struct fnv_case {
  std::string_view text;
  std::uint64_t fnv1;
  std::uint64_t fnv1a;
};
// From the test suite of the FNV reference code.
constexpr std::array<fnv_case, 10> fnv_published = {{
    {"", 0xcbf29ce484222325ULL, 0xcbf29ce484222325ULL},
    {"a", 0xaf63bd4c8601b7beULL, 0xaf63dc4c8601ec8cULL},
    {"b", 0xaf63bd4c8601b7bdULL, 0xaf63df4c8601f1a5ULL},
    {"c", 0xaf63bd4c8601b7bcULL, 0xaf63de4c8601eff2ULL},
    {"f", 0xaf63bd4c8601b7b9ULL, 0xaf63db4c8601ead9ULL},
    {"fo", 0x08326207b4eb2f34ULL, 0x08985907b541d342ULL},
    {"foo", 0xd8cbc7186ba13533ULL, 0xdcb27518fed9d577ULL},
    {"foob", 0x0378817ee2ed65cbULL, 0xdd120e790c2512afULL},
    {"fooba", 0xd329d59b9963f790ULL, 0xcac165afa2fef40aULL},
    {"foobar", 0x340d8765a4dda9c2ULL, 0x85944171f73967e8ULL},
}};

TEST(Fnv, MatchesThePublishedVectors) {
  for (const auto& row : fnv_published) {
    EXPECT_EQ(fnv1{}(row.text.data(), row.text.size()), row.fnv1) << row.text;
    EXPECT_EQ(fnv1a{}(row.text.data(), row.text.size()), row.fnv1a) << row.text;
  }
}

TEST(Lookup3, MatchesThePublishedSelfTest) {
  struct self_test {
    std::string_view text;
    lookup3_words start;
    lookup3_words end;
  };
  constexpr std::string_view speech = "Four score and seven years ago";
  const std::array<self_test, 6> rows = {{
      {"", {.pc = 0, .pb = 0}, {.pc = 0xdeadbeefU, .pb = 0xdeadbeefU}},
      {"", {.pc = 0, .pb = 0xdeadbeefU}, {.pc = 0xbd5b7ddeU, .pb = 0xdeadbeefU}},
      {"", {.pc = 0xdeadbeefU, .pb = 0xdeadbeefU}, {.pc = 0x9c093ccdU, .pb = 0xbd5b7ddeU}},
      {speech, {.pc = 0, .pb = 0}, {.pc = 0x17770551U, .pb = 0xce7226e6U}},
      {speech, {.pc = 0, .pb = 1}, {.pc = 0xe3607caeU, .pb = 0xbd371de4U}},
      {speech, {.pc = 1, .pb = 0}, {.pc = 0xcd628161U, .pb = 0x6cbea4b3U}},
  }};
  for (const auto& row : rows) {
    const auto end = lookup3_hashlittle2(row.text.data(), row.text.size(), row.start);
    EXPECT_EQ(end.pc, row.end.pc);
    EXPECT_EQ(end.pb, row.end.pb);
  }
  EXPECT_EQ(lookup3_hashlittle(speech.data(), speech.size(), 0), 0x17770551U);
  EXPECT_EQ(lookup3_hashlittle(speech.data(), speech.size(), 1), 0xcd628161U);
}

TEST(Lookup3, JoinsPcLowAndPbHigh) {
  constexpr std::string_view speech = "Four score and seven years ago";
  EXPECT_EQ(lookup3{}(speech.data(), speech.size()), 0xce7226e617770551ULL);
  EXPECT_EQ(lookup3{.seed = 1}(speech.data(), speech.size()), 0x6cbea4b3cd628161ULL);
  EXPECT_EQ(lookup3{.seed = std::uint64_t{1} << 32U}(speech.data(), speech.size()), 0xbd371de4e3607caeULL);
}

// As HBase gave them (its variant differs for tails with bytes from 0x80 on, which are left out here).
TEST(Murmur2, HasTheValuesOfAnotherImplementation) {
  struct row {
    std::string_view key;
    std::uint32_t seed;
    std::uint32_t hash;
  };
  constexpr std::array rows = {
      row{"", 0, 0},
      row{"u", 0, 0x5827c2fcU},
      row{"\x84\xa1\xbe\xdb", 0, 0x8ebf29d6U},
      row{"\x84\xa1\xbe\xdb", 305419896, 0x72912b85U},
      row{"\x84\xa1\xbe\xdb", 0xffffffffU, 0xd5f8a489U},
      row{"\x93\xb0\xcd\xea\x07\x24\x41", 0, 0x2a8fe778U},
      row{"\x93\xb0\xcd\xea\x07\x24\x41", 1, 0x013c774cU},
      row{"\x98\xb5\xd2\xef\x0c\x29\x46\x63", 0, 0x78db69b2U},
      row{"\xb1\xce\xeb\x08\x25\x42\x5f\x7c\x99\xb6\xd3\xf0\x0d", 305419896, 0xf3a78f56U},
  };
  for (const auto& each : rows) EXPECT_EQ(murmur2_32(each.key.data(), each.key.size(), each.seed), each.hash);
}

TEST(PairedMurmur, SeedsTheSecondHashWithTheFirst) {
  constexpr std::string_view key = "some key";
  const digest128 wide = paired_murmur64a{}.hash128(key.data(), key.size());
  EXPECT_EQ(wide.low, (murmur64a{.seed = 0xc6a4a7935bd1e995ULL}(key.data(), key.size())));
  EXPECT_EQ(wide.high, murmur64a{.seed = wide.low}(key.data(), key.size()));
  EXPECT_EQ(paired_murmur64a{}(key.data(), key.size()), wide.low);
  const digest128 narrow = paired_murmur2{}.hash128(key.data(), key.size());
  EXPECT_EQ(narrow.low, murmur2_32(key.data(), key.size(), 0x9747b28cU));
  EXPECT_EQ(narrow.high, murmur2_32(key.data(), key.size(), static_cast<std::uint32_t>(narrow.low)));
}

TEST(Identity, IsTheLittleEndianInteger) {
  constexpr std::array<unsigned char, 8> bytes = {1, 2, 3, 4, 5, 6, 7, 0x88};
  EXPECT_EQ(identity{}(bytes.data(), 8), 0x8807060504030201ULL);
}

}  // namespace

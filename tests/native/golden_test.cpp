// Files that earlier versions wrote are read for ever, and today's code writes them again to the same bytes.
// tests/golden/native/README.md describes how they were made.
#include <bloomery/hash/identity.hpp>
#include <bloomery/kinds.hpp>

#include "support/typed.hpp"

namespace bloomery::test {
namespace {

constexpr xxh3 golden_hash{.seed = 7};
const hash_spec golden_spec{.id = xxh3::info.id, .seed = 7};
constexpr std::uint64_t golden_keys = 20;

std::string golden_key(std::uint64_t i) { return "key-" + std::to_string(i); }
std::string golden_path(const std::string& name) { return std::string(BLOOMERY_GOLDEN_DIR "/native/") + name; }

template <class K>
void insert_golden_keys(K& filter) {
  for (std::uint64_t i = 0; i < golden_keys; ++i) {
    const std::string key = golden_key(i);
    if constexpr (digest128_kind<K>) {
      if (filter.shape().digest_bits == 128) {
        filter.insert(golden_hash.hash128(key.data(), key.size()));
        continue;
      }
    }
    filter.insert(K::info.integer_keys ? i : golden_hash(key.data(), key.size()));
  }
}

std::vector<std::uint64_t> golden_digests() {
  std::vector<std::uint64_t> digests;
  for (std::uint64_t i = 0; i < golden_keys; ++i) {
    const std::string key = golden_key(i);
    digests.push_back(golden_hash(key.data(), key.size()));
  }
  return digests;
}

// Static kinds: read from the file, written as the file, and every key is found.
template <static_kind K>
void expect_golden_build(const std::string& name) {
  const bytes file = read_bytes(golden_path(name));
  ASSERT_FALSE(file.empty()) << golden_path(name);
  const auto loaded = load_bytes<K>(file);
  ASSERT_TRUE(loaded) << name << ": " << describe(loaded.error()).c_str();
  EXPECT_EQ(loaded->hash, golden_spec) << name;
  EXPECT_EQ(loaded->filter.keys().keys, golden_keys) << name;
  for (const std::uint64_t digest : golden_digests()) EXPECT_TRUE(loaded->filter.may_contain(digest)) << name;
  memory_sink sink;
  ASSERT_TRUE(save_to(loaded->filter, golden_spec, byte_sink(sink)));
  EXPECT_TRUE(bytes(sink.bytes().begin(), sink.bytes().end()) == file) << name;
}

// Read from the file, and filled again with the same keys: both are written as the file. (How a filter is sized may
// improve with time, so the geometry is the file's.)
template <class K>
void expect_golden(const std::string& name, const hash_spec& hash = golden_spec, const save_options& options = {}) {
  enable_everything();
  const bytes file = read_bytes(golden_path(name));
  ASSERT_FALSE(file.empty()) << golden_path(name);
  const auto loaded = load_bytes<K>(file);
  ASSERT_TRUE(loaded) << name << ": " << describe(loaded.error()).c_str();
  EXPECT_EQ(loaded->hash, hash) << name;
  EXPECT_EQ(loaded->header.codec, options.codec) << name;
  EXPECT_EQ(loaded->filter.keys().keys, golden_keys) << name;
  auto refilled = loaded->filter.clone();
  ASSERT_TRUE(refilled);
  refilled->clear();
  EXPECT_FALSE(*refilled == loaded->filter) << name;
  insert_golden_keys(*refilled);
  EXPECT_TRUE(*refilled == loaded->filter) << name;
  // What a compression library writes may change with its version; what it reads may not. Ours has no versions.
  if (options.codec != codec_none && options.codec != codec_rans) return;
  for (const K* filter : {&loaded->filter, static_cast<const K*>(&*refilled)}) {
    memory_sink sink;
    ASSERT_TRUE(save_to(*filter, hash, byte_sink(sink), options));
    EXPECT_TRUE(bytes(sink.bytes().begin(), sink.bytes().end()) == file) << name;
  }
}

// Integers by the default hash, in the default kind with the layout that it chooses.
TEST(Golden, TheDefaultIsReadAndWrittenAgain) {
  const bytes file = read_bytes(golden_path("blocked-mum2.bloom"));
  ASSERT_FALSE(file.empty());
  const auto loaded = load_bytes<blocked>(file);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->hash, (hash_spec{.id = 23, .seed = 7}));
  auto again = blocked::make({.keys = golden_keys, .fpr = 0.01});
  ASSERT_TRUE(again);
  for (std::uint64_t i = 0; i < golden_keys; ++i) again->insert(digest_of(default_hash{.seed = 7}, i));
  EXPECT_TRUE(*again == loaded->filter);
  EXPECT_EQ(again->keys().keys, loaded->filter.keys().keys);  // 19: one was a false positive
  memory_sink sink;
  ASSERT_TRUE(save_to(*again, loaded->hash, byte_sink(sink)));
  EXPECT_TRUE(bytes(sink.bytes().begin(), sink.bytes().end()) == file);
}

TEST(Golden, BloomIsReadAndWrittenAgain) {
  expect_golden<bloom>("bloom.bloom");
  expect_golden<bloom>("bloom.txt", golden_spec, {.text = true});
  expect_golden<bloom>("bloom-zstd.bloom", golden_spec, {.codec = codec_zstd});
  expect_golden<bloom>("bloom-gzip.bloom", golden_spec, {.codec = codec_gzip});
  expect_golden<bloom>("bloom-rans.bloom", golden_spec, {.codec = codec_rans});
}

TEST(Golden, BloomOfWideDigestsIsReadAndWrittenAgain) { expect_golden<bloom>("bloom-128.bloom"); }

TEST(Golden, BlockedIsReadAndWrittenAgain) {
  expect_golden<blocked>("blocked.bloom");
  expect_golden<blocked>("blocked-split32.bloom");
}

TEST(Golden, CountingIsReadAndWrittenAgain) {
  expect_golden<counting>("counting.bloom");
  expect_golden<counting>("counting-line.bloom");
  expect_golden<counting>("counting-rans.bloom", golden_spec, {.codec = codec_rans});
}

TEST(Golden, GrowingIsReadAndWrittenAgain) { expect_golden<growing>("growing.bloom"); }

TEST(Golden, CuckooIsReadAndWrittenAgain) {
  expect_golden<cuckoo>("cuckoo.bloom");
  expect_golden<cuckoo>("cuckoo-slots4.bloom");
  expect_golden<cuckoo>("cuckoo-sorted.bloom");
}

TEST(Golden, DleftIsReadAndWrittenAgain) { expect_golden<dleft>("dleft.bloom"); }

TEST(Golden, DualIsReadAndWrittenAgainAndRemembersWhatWasRemoved) {
  expect_golden<dual>("dual.bloom");
  const bytes file = read_bytes(golden_path("dual-removed.bloom"));
  const auto loaded = load_bytes<dual>(file);
  ASSERT_TRUE(loaded) << describe(loaded.error()).c_str();
  const auto before = load_bytes<dual>(read_bytes(golden_path("dual.bloom")));
  ASSERT_TRUE(before);
  auto again = before->filter.clone();
  ASSERT_TRUE(again);
  const auto digests = golden_digests();
  for (std::size_t i = 0; i < 10; ++i) EXPECT_TRUE(again->erase(digests[i])) << i;
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(again->insert(digests[i]), insert_result::inserted) << i;
  EXPECT_TRUE(*again == loaded->filter);
  for (const dual* filter : {&loaded->filter, static_cast<const dual*>(&*again)}) {
    for (std::size_t i = 0; i < digests.size(); ++i) {
      EXPECT_EQ(filter->may_contain(digests[i]), i < 2 || i >= 10) << i;
    }
    EXPECT_EQ(filter->loss_now().removals, 10U);
    EXPECT_EQ(filter->returned(), 2U);
    memory_sink sink;
    ASSERT_TRUE(save_to(*filter, golden_spec, byte_sink(sink)));
    EXPECT_TRUE(bytes(sink.bytes().begin(), sink.bytes().end()) == file);
  }
}

TEST(Golden, FuseIsReadAndWrittenAgainAndBuiltAsItWas) {
  for (const auto& [layout, name] : {std::pair{"wise3", "fuse.bloom"}, {"wise4", "fuse-wise4.bloom"}}) {
    expect_golden_build<fuse>(name);
    auto digests = golden_digests();
    const auto built = fuse::build({.fpr = 0.01, .layout = layout}, digests, 1);
    const auto loaded = load_bytes<fuse>(read_bytes(golden_path(name)));
    ASSERT_TRUE(built && loaded) << name;
    EXPECT_TRUE(*built == loaded->filter) << name;
  }
}

TEST(Golden, WindowIsReadAndWrittenAgain) {
  expect_golden<window>("window.bloom");
  expect_golden<window>("window-rotating.bloom");
}

TEST(Golden, ScalableIsReadAndWrittenAgain) {
  expect_golden<scalable>("scalable.bloom");
  expect_golden<scalable>("scalable-redis.bloom");
}

TEST(Golden, RibbonIsReadAndWrittenAgain) { expect_golden_build<ribbon>("ribbon.bloom"); }

TEST(Golden, CascadeIsReadAndWrittenAgainAndBuiltAsItWas) {
  expect_golden_build<cascade>("cascade.bloom");
  auto digests = golden_digests();
  std::vector<std::uint64_t> excluded;
  for (std::uint64_t i = golden_keys; i < 2000; ++i) {
    const std::string key = golden_key(i);
    excluded.push_back(golden_hash(key.data(), key.size()));
  }
  const auto built = cascade::build({.fpr = 0.01}, digests, excluded, 1);
  const auto loaded = load_bytes<cascade>(read_bytes(golden_path("cascade.bloom")));
  ASSERT_TRUE(built && loaded);
  EXPECT_TRUE(*built == loaded->filter);
  for (const std::uint64_t digest : excluded) EXPECT_FALSE(loaded->filter.may_contain(digest));
}

TEST(Golden, BitmapIsReadAndWrittenAgain) { expect_golden<bitmap>("bitmap.bloom", {.id = identity::info.id}); }

TEST(Golden, EveryKindHasAFile) {
  for_each_type(kind_list{}, [](auto tag) {
    const std::string name(decltype(tag)::type::info.name);
    EXPECT_TRUE(std::filesystem::exists(golden_path(name + ".bloom"))) << name;
  });
}

}  // namespace
}  // namespace bloomery::test

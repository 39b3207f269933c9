// A filter in shards behind any_filter: the same files as sharded<K>, and one filter to whoever queries it.
#include <bloomery/hash/murmur3.hpp>
#include <bloomery/wrappers/any_shards.hpp>
#include <filesystem>
#include <fstream>

#include <bloomery/kinds.hpp>
#include <bloomery/wrappers/sharded.hpp>

#include "support/filters.hpp"
#include "support/typed.hpp"

namespace {

using namespace bloomery;
using namespace bloomery::test;

class AnyShards : public testing::Test {
 protected:
  void SetUp() override {
    enable_everything();
    std::string name = (std::filesystem::temp_directory_path() / "bloomery-shards-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] std::string file(const std::string& name, unsigned shard, unsigned shards) const {
    return path(name) + "." + shard_label(shard, shards).c_str();
  }
  [[nodiscard]] static std::string content(const std::string& name) {
    std::ifstream file(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void put(const std::string& name, const std::string& bytes) {
    std::ofstream(name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void expect_same_files(const std::string& a, const std::string& b, unsigned shards) const {
    for (unsigned i = 0; i < shards; ++i) {
      EXPECT_TRUE(content(file(a, i, shards)) == content(file(b, i, shards))) << a << " " << b << " " << i;
      EXPECT_FALSE(content(file(a, i, shards)).empty());
    }
  }
  std::filesystem::path folder_;
};

std::vector<std::uint64_t> digests_of(std::uint64_t seed, std::size_t count) {
  digest_source source(seed);
  return source.take(count);
}

std::vector<std::string_view> kind_names() {
  std::vector<std::string_view> names;
  for_each_type(kind_list{}, [&](auto tag) { names.push_back(decltype(tag)::type::info.name); });
  return names;
}

hash_spec spec_for(std::string_view kind) {
  const bool integers = find_kind(kind)->info->integer_keys;
  return {.id = integers ? identity::info.id : default_hash::info.id, .seed = 0};
}

template <class T>
T must(result<T> made) {
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}
template <class R>
std::string error_text_of(const R& outcome) {
  if (outcome) return "no error";
  error unnamed = outcome.error();
  unnamed.path = {};
  return std::string(describe(unnamed).view());
}

// Of any kind, filled with these digests.
any_filter filled_shards(std::string_view kind, std::vector<std::uint64_t> digests, const shard_setup& setup) {
  const filter_params params{.keys = digests.size(), .fpr = 0.01};
  if (find_kind(kind)->capabilities.is_static) return must(build_shards(kind, params, spec_for(kind), digests, setup));
  any_filter made = must(make_shards(kind, params, spec_for(kind), setup));
  must(made.add(as_prehashed(digests)));
  return made;
}

std::uint64_t present(const any_filter& filter, const std::vector<std::uint64_t>& digests) {
  std::vector<std::uint64_t> mask(mask_words(digests.size()), ~std::uint64_t{0});
  const auto asked = filter.may_contain(as_prehashed(digests), mask);
  EXPECT_TRUE(asked) << error_text_of(asked);
  std::uint64_t hits = 0;
  for (std::size_t i = 0; i < digests.size(); ++i) hits += mask[i / 64] >> (i % 64) & 1U;
  return hits;
}

TEST_F(AnyShards, AnswersAsOneFilterOfEveryKind) {
  const auto digests = digests_of(1, 5000);
  const auto others = digests_of(2, 20'000);
  for (const std::string_view kind : kind_names()) {
    SCOPED_TRACE(kind);
    const any_filter filter = filled_shards(kind, digests, {.shards = 5});
    EXPECT_EQ(filter.shards(), 5U);
    EXPECT_EQ(present(filter, digests), digests.size());
    EXPECT_LT(present(filter, others), 260U);
    const auto stats = must(filter.stats());
    EXPECT_EQ(stats.keys.keys, filter.shape().keys);
    EXPECT_GE(stats.keys.keys, 4900U);
    EXPECT_LT(stats.fpr_now, 0.0105);
    std::uint64_t memory = 0;
    for (unsigned i = 0; i < 5; ++i) memory += must(filter.shard(i).stats()).memory_bytes;
    EXPECT_EQ(stats.memory_bytes, memory);
    EXPECT_TRUE(must(filter.clone()) == filter);
  }
}

TEST_F(AnyShards, FilesOfEveryKindComeBackMappedOrLoaded) {
  const auto digests = digests_of(1, 3000);
  for (const std::string_view kind : kind_names()) {
    SCOPED_TRACE(kind);
    const std::string name(kind);
    const any_filter filter = filled_shards(kind, digests, {.shards = 3});
    for (const std::uint32_t codec : {codec_none, codec_rans}) {
      ASSERT_TRUE(filter.save(path(name).c_str(), {.codec = codec, .replace = true}));
      const any_filter loaded = must(load_shards(path(name).c_str()));
      const any_filter opened = must(open_shards(path(name).c_str()));
      EXPECT_TRUE(loaded == filter);
      EXPECT_TRUE(opened == filter);
      EXPECT_FALSE(loaded.is_mapped());
      EXPECT_EQ(opened.is_mapped(), codec == codec_none && opened.shard(0).is_mapped());
      EXPECT_EQ(present(opened, digests), digests.size());
    }
  }
}

template <class K>
sharded<K> typed(const std::vector<std::uint64_t>& digests, unsigned shards) {
  std::vector<prehashed> keys;
  for (const std::uint64_t digest : digests) keys.push_back({digest});
  const filter_params params{.keys = digests.size(), .fpr = 0.01};
  if constexpr (static_kind<K>) {
    return must(sharded<K>::build(std::span<const prehashed>(keys), params, shards, {}, 1));
  } else {
    auto made = must(sharded<K>::make(params, shards));
    EXPECT_EQ(made.add_batch(std::span<const prehashed>(keys)).refused, 0U);
    return made;
  }
}

template <class K>
void write_both(const std::string& typed_path, const std::string& any_path, unsigned threads) {
  const auto digests = digests_of(3, 40'000);
  ASSERT_TRUE(typed<K>(digests, 7).save(typed_path.c_str()));
  ASSERT_TRUE(filled_shards(K::info.name, digests, {.shards = 7, .threads = threads}).save(any_path.c_str()));
}

TEST_F(AnyShards, TheFilesAreThoseOfShardedWhateverTheThreads) {
  for (const unsigned threads : {1U, 2U, 5U}) {
    const std::string end = std::to_string(threads);
    write_both<blocked>(path("tb" + end), path("ab" + end), threads);
    write_both<cuckoo>(path("tc" + end), path("ac" + end), threads);
    write_both<fuse>(path("tf" + end), path("af" + end), threads);
    for (const char* kind : {"b", "c", "f"}) expect_same_files("t" + (kind + end), "a" + (kind + end), 7);
  }
}

TEST_F(AnyShards, TwoListsAreCutAlikeAndGiveTheFilesOfSharded) {
  const auto in = digests_of(21, 60);
  const auto out = digests_of(22, 9000);
  std::vector<prehashed> in_keys;
  std::vector<prehashed> out_keys;
  for (const std::uint64_t digest : in) in_keys.push_back({digest});
  for (const std::uint64_t digest : out) out_keys.push_back({digest});
  using keys = std::span<const prehashed>;
  for (const unsigned shards : {1U, 7U, 30U}) {
    const std::string typed_name = "t" + std::to_string(shards);
    ASSERT_TRUE(must(sharded<cascade>::build(keys(in_keys), keys(out_keys), {}, shards)).save(path(typed_name)));
    for (const unsigned threads : {1U, 5U}) {
      auto included = in;
      auto excluded = out;
      const any_filter filter = must(
          build_shards("cascade", {}, spec_for("cascade"), included, excluded, {.shards = shards, .threads = threads}));
      EXPECT_EQ(present(filter, in), in.size());
      EXPECT_EQ(present(filter, out), 0U);
      EXPECT_EQ(filter.shape().keys, in.size());
      EXPECT_EQ(filter.shape().capacity_keys, in.size() + out.size());
      const std::string name = "a" + std::to_string(shards) + "-" + std::to_string(threads);
      ASSERT_TRUE(filter.save(path(name).c_str()));
      expect_same_files(typed_name, name, shards);
      EXPECT_EQ(present(must(open_shards(path(name).c_str())), out), 0U);
    }
  }
}

TEST_F(AnyShards, WhatTwoListsHaveInCommonIsCountedOverAllShards) {
  auto in = digests_of(23, 700);
  auto out = digests_of(24, 9000);
  for (std::size_t i = 0; i < 50; ++i) out[i * 100] = in[i];
  const auto made = build_shards("cascade", {}, spec_for("cascade"), in, out, {.shards = 16, .threads = 3});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::in_both_lists);
  EXPECT_EQ(made.error().number[0], 50U);
  EXPECT_NE(std::find(in.begin(), in.end(), made.error().number[1]), in.end());
  EXPECT_NE(std::find(out.begin(), out.end(), made.error().number[1]), out.end());
  EXPECT_EQ(error_text_of(build_shards("ribbon", {.fpr = 0.01}, spec_for("ribbon"), in, out, {.shards = 2})),
            "kind ribbon cannot exclude keys");
  EXPECT_EQ(build_shards("cascade", {}, spec_for("cascade"), in, out, {.shards = 0}).error().code, errc::bad_shards);
}

TEST_F(AnyShards, TakesWideDigestsWhereAllKeysTogetherNeedThem) {
  // 64 bits would do for each of the shards.
  const filter_params params{.keys = 200'000, .fpr = 1e-12};
  any_filter filter = must(make_shards("bloom", params, spec_for("bloom"), {.shards = 16}));
  EXPECT_EQ(filter.digest_bits(), 128U);
  const auto halves = digests_of(4, 4000);
  std::vector<digest128> digests;
  for (std::size_t i = 0; i < halves.size(); i += 2) digests.push_back({halves[i], halves[i + 1]});
  EXPECT_EQ(must(filter.add(as_prehashed(digests))), digests.size());
  std::vector<std::uint64_t> mask(mask_words(digests.size()));
  ASSERT_TRUE(filter.may_contain(as_prehashed(digests), mask));
  for (std::size_t i = 0; i < digests.size(); ++i) EXPECT_EQ(mask[i / 64] >> (i % 64) & 1U, 1U) << i;
  const auto typed_one = sharded<bloom>::make(params, 16);
  ASSERT_TRUE(typed_one) << error_text_of(typed_one);
  EXPECT_EQ(typed_one->shard(15).digest_bits(), 128U);
}

TEST_F(AnyShards, AnExplanationNamesTheShardAndAnErrorItsFile) {
  any_filter filter = must(make_shards("bloom", {.keys = 1000, .fpr = 0.01}, spec_for("bloom"), {.shards = 8}));
  const auto digests = digests_of(5, 500);
  must(filter.add(as_prehashed(digests)));
  ASSERT_TRUE(filter.save(path("set").c_str()));
  for (const any_filter& each : {must(open_shards(path("set").c_str())), must(load_shards(path("set").c_str()))}) {
    for (const std::uint64_t digest : digests) {
      const explanation why = must(each.explain(prehashed{digest}));
      EXPECT_TRUE(why.may_contain());
      EXPECT_EQ(why.shards(), 8U);
      EXPECT_EQ(why.shard(), shard_of(digest, 8));
    }
  }
  std::string bytes = content(file("set", shard_of(digests[0], 8), 8));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  put(file("set", shard_of(digests[0], 8), 8), bytes);
  const any_filter damaged = must(open_shards(path("set").c_str()));
  const auto failed = damaged.explain(prehashed{digests[0]});
  ASSERT_FALSE(failed);
  EXPECT_NE(error_text_of(failed).find("shard"), std::string::npos) << error_text_of(failed);
}

TEST_F(AnyShards, AHashMustTellAllKeysApartNotThoseOfAShard) {
  const hash_spec short_hash{.id = murmur3_x86_32::info.id, .seed = 0};
  const filter_params params{.keys = 400'000, .fpr = 0.01};
  EXPECT_TRUE(any_filter::make("blocked", {.keys = 30'000, .fpr = 0.01}, short_hash));
  const auto made = make_shards("blocked", params, short_hash, {.shards = 16});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::not_enough_hash_bits);
  EXPECT_EQ(made.error().number[0], 400'000U);
  // Copies count once.
  std::vector<std::uint64_t> digests(400'000);
  for (std::uint64_t i = 0; i < digests.size(); ++i) digests[i] = mix64(i % 30'000);
  EXPECT_TRUE(build_shards("ribbon", {.fpr = 0.01}, short_hash, digests, {.shards = 16}));
  for (std::uint64_t i = 0; i < digests.size(); ++i) digests[i] = mix64(i);
  const auto built = build_shards("ribbon", {.fpr = 0.01}, short_hash, digests, {.shards = 16});
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, errc::not_enough_hash_bits);
}

TEST_F(AnyShards, ErasesAndCountsInTheShardOfTheKey) {
  const auto digests = digests_of(5, 3000);
  any_filter filter = filled_shards("counting", digests, {.shards = 4});
  const std::vector<std::uint64_t> gone(digests.begin(), digests.begin() + 1000);
  ASSERT_TRUE(filter.add(as_prehashed(std::span(digests).subspan(2000, 500))));
  EXPECT_EQ(must(filter.erase(as_prehashed(gone))), 1000U);
  EXPECT_LT(present(filter, gone), 30U);
  std::vector<std::uint64_t> counts(digests.size());
  ASSERT_TRUE(filter.count(as_prehashed(digests), counts));
  for (std::size_t i = 1000; i < digests.size(); ++i) EXPECT_GE(counts[i], i >= 2000 && i < 2500 ? 2U : 1U) << i;
  EXPECT_EQ(present(filter, {digests.begin() + 1000, digests.end()}), 2000U);
}

TEST_F(AnyShards, MergesShardByShardWithOneOfAsMany) {
  const auto digests = digests_of(6, 4000);
  const auto half = [&](std::size_t first) {
    any_filter made = must(make_shards("blocked", {.keys = 4000, .fpr = 0.01}, spec_for("blocked"), {.shards = 4}));
    must(made.add(as_prehashed(std::span(digests).subspan(first, 2000))));
    return made;
  };
  any_filter one = half(0);
  const any_filter other = half(2000);
  ASSERT_TRUE(one.merge(other));
  EXPECT_TRUE(one == filled_shards("blocked", digests, {.shards = 4}));
  EXPECT_EQ(error_text_of(one.merge(filled_shards("blocked", digests, {.shards = 5}))),
            "the filters do not fit together: one is of 4 shards, the other of 5");
  const any_filter whole = must(any_filter::make("blocked", {.keys = 1000, .fpr = 0.01}, spec_for("blocked")));
  EXPECT_EQ(error_text_of(one.merge(whole)),
            "the filters do not fit together: one is of 4 shards, the other in one piece");
  EXPECT_FALSE(one == whole);
  any_filter both = half(0);
  ASSERT_TRUE(both.intersect(one));
  EXPECT_TRUE(both == half(0));
}

TEST_F(AnyShards, AMergeThatOneShardRefusesChangesNone) {
  any_filter into = must(make_shards("dleft", {.keys = 4000, .fpr = 0.01}, spec_for("dleft"), {.shards = 4}));
  must(into.add(as_prehashed(digests_of(7, 2000))));
  any_filter other = must(into.clone());
  ASSERT_TRUE(other.clear());
  must(other.add(as_prehashed(digests_of(8, 500))));
  // Keys of the last shard alone, so that nothing but this shard is too full for two.
  for (const std::uint64_t digest : digests_of(9, 3200)) {
    if (shard_of(digest, 4) == 3) must(other.insert(prehashed{digest}));
  }
  const any_filter before = must(into.clone());
  const auto merged = into.merge(other);
  ASSERT_FALSE(merged);
  EXPECT_EQ(merged.error().code, errc::full);
  EXPECT_TRUE(into == before);
}

TEST_F(AnyShards, AFullShardIsSaidAndTheOthersTakeTheirKeys) {
  any_filter filter = must(make_shards("cuckoo", {.keys = 1000, .fpr = 0.01}, spec_for("cuckoo"), {.shards = 4}));
  const auto digests = digests_of(10, 20'000);
  const auto outcome = filter.add(as_prehashed(digests));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::full);
  EXPECT_EQ(outcome.error().number[0], filter.shape().keys);
  EXPECT_GE(outcome.error().number[1], 1000U);
  EXPECT_LT(outcome.error().number[1], 20'000U);
  EXPECT_GE(present(filter, digests), outcome.error().number[1]);
}

TEST_F(AnyShards, FoldsEveryShard) {
  const auto digests = digests_of(11, 1000);
  const auto made_for = [&](std::uint64_t bits) {
    any_filter made =
        must(make_shards("blocked", {.keys = 1000, .bits = bits, .hashes = 5}, spec_for("blocked"), {.shards = 4}));
    must(made.add(as_prehashed(digests)));
    return made;
  };
  const any_filter large = made_for(4 * 512 * 16);
  EXPECT_EQ(large.fold_units(), 16U);
  EXPECT_TRUE(must(large.fold(4)) == made_for(4 * 512 * 4));
}

TEST_F(AnyShards, IsNoFilterOfOneFile) {
  const any_filter filter = filled_shards("blocked", digests_of(12, 100), {.shards = 2});
  memory_sink sink;
  EXPECT_EQ(error_text_of(filter.save_to(byte_sink(sink))), "a filter in shards is a set of files: give them a name");
  for (const unsigned shards : {0U, 4097U}) {
    const auto made = make_shards("blocked", {.keys = 100, .fpr = 0.01}, spec_for("blocked"), {.shards = shards});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, errc::bad_shards);
  }
  EXPECT_EQ(error_text_of(open_shards(path("nothing").c_str())),
            "there are no shards of it: no file FILE.00-of-04, whatever the number");
}

TEST_F(AnyShards, WhatDoesNotBelongTogetherIsNamed) {
  ASSERT_TRUE(filled_shards("blocked", digests_of(1, 1000), {.shards = 3}).save(path("f").c_str()));
  ASSERT_TRUE(filled_shards("blocked", digests_of(2, 1000), {.shards = 3}).save(path("g").c_str()));
  const std::string whole = content(file("f", 1, 3));
  std::string damaged = whole;
  damaged[300] = static_cast<char>(damaged[300] ^ 1);
  put(file("f", 1, 3), damaged);
  EXPECT_EQ(error_text_of(load_shards(path("f").c_str())).substr(0, 37), "shard 01-of-03 is damaged in chunk 0,");
  const any_filter opened = must(open_shards(path("f").c_str()));
  std::vector<std::uint64_t> mask(mask_words(1000));
  EXPECT_EQ(error_text_of(opened.may_contain(as_prehashed(digests_of(1, 1000)), mask)).substr(0, 37),
            "shard 01-of-03 is damaged in chunk 0,");
  EXPECT_EQ(error_text_of(opened.stats()).substr(0, 14), "shard 01-of-03");
  EXPECT_EQ(error_text_of(opened.clone()).substr(0, 14), "shard 01-of-03");
  put(file("f", 1, 3), content(file("g", 1, 3)));
  EXPECT_EQ(error_text_of(open_shards(path("f").c_str())),
            "shard 01-of-03 belongs to another set than shard 00: give the files that were saved together");
  // A file that only claims to belong here.
  const auto header = read_header(file("f", 0, 3).c_str());
  const any_filter stranger = must(any_filter::make("bloom", {.keys = 400, .fpr = 0.01}, spec_for("bloom")));
  ASSERT_TRUE(stranger.save(file("f", 1, 3).c_str(), {.replace = true, .shard = {1, 3, header->shard.stamp}}));
  EXPECT_EQ(error_text_of(open_shards(path("f").c_str())),
            "shard 01-of-03 is of another kind or hash than shard 00: give the files that were saved together");
  put(file("f", 1, 3), whole);
  EXPECT_TRUE(open_shards(path("f").c_str()));
}

}  // namespace

// The bodies of support/*.hpp, compiled once for all test programs. This is the only place of the suites that sees every kind as a
// type.
#include "support.hpp"
#include <bloomery/hash/identity.hpp>
#include <bloomery/native/codec.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <bloomery/core/binomial.hpp>
#include <bloomery/core/bytes.hpp>
#include <bloomery/kinds.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <ostream>

#if defined(__wasi__)  // where neither is built
namespace bloomery::inline BLOOMERY_ABI {
void enable_bitmap() noexcept {}
void enable_codecs() noexcept {}
}  // namespace bloomery::inline BLOOMERY_ABI
#endif

namespace bloomery::test {

// ---- kind_table.hpp ----

namespace {

template <class K>
concept takes_hooks_to_unpack = (mappable<K> && !contiguous_kind<K>) ||
                                requires(const stored_shape& shape, std::span<const std::byte> from,
                                         const memory_hooks* hooks) {
  K::deserialize(shape, from, hooks);
};

template <mappable K>
std::vector<std::uint64_t> touched_chunks(const any_filter& filter, std::uint64_t digest) {
  std::vector<std::uint64_t> chunks;
  static_cast<const K*>(filter.model().kind_object())
      ->for_each_touched(digest, [&](std::uint64_t first, std::uint64_t size) {
        for (std::uint64_t i = first / chunk_bytes; i <= (first + size - 1) / chunk_bytes; ++i) chunks.push_back(i);
      });
  return chunks;
}

bool is_linked(const kind_info& kind) {
  const filter_hash hash = kind.integer_keys ? hasher::of(identity{}) : hasher::of(xxh3{});
  const auto made = any_filter::make(kind.name, {.keys = 1, .fpr = 0.01}, hash);
  return made || made.error().code != errc::not_linked;
}

template <filter_kind K>
kind_case case_of() {
  kind_case made{capabilities_of<K>(), &K::info, &entry_of<K>, contiguous_kind<K>, takes_hooks_to_unpack<K>};
  if constexpr (mappable<K>) made.touched_chunks = touched_chunks<K>;
  made.cell_bits = cell_bits_of<K>();
  if constexpr (saturating<K>) made.most_count = K::most_count;
  return made;
}

// What cannot go on without: reports why and ends the program.
template <class T>
T value_or_abort(result<T> made) {
  if (!made) {
    ADD_FAILURE() << describe(made.error()).c_str();
    std::abort();
  }
  return std::move(*made);
}

}  // namespace

const std::vector<kind_case>& kind_table() {
  static const std::vector<kind_case> table = [] {
    std::vector<kind_case> cases;
    enable_everything();
    for_each_type(kind_list{}, [&](auto tag) {
      using K = typename decltype(tag)::type;
      if (is_linked(K::info)) cases.push_back(case_of<K>());
    });
    return cases;
  }();
  return table;
}

std::vector<kind_case> kinds_where(const std::function<bool(const kind_case&)>& predicate) {
  std::vector<kind_case> kept;
  std::copy_if(kind_table().begin(), kind_table().end(), std::back_inserter(kept), predicate);
  if (kept.empty()) {
    std::fputs("kinds_where: a suite concerns no kind\n", stderr);
    std::abort();
  }
  return kept;
}

const kind_case& kind_named(std::string_view name) {
  const auto found = std::find_if(kind_table().begin(), kind_table().end(),
                                  [&](const kind_case& kind) { return kind.info->name == name; });
  if (found == kind_table().end()) {
    ADD_FAILURE() << "there is no kind " << name;
    std::abort();
  }
  return *found;
}

std::ostream& operator<<(std::ostream& out, const kind_case& kind) { return out << kind.info->name; }
std::string case_name(const testing::TestParamInfo<kind_case>& info) { return std::string(info.param.info->name); }

// ---- files.hpp ----

folder::folder() {
  static std::atomic<int> count{0};
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string("bloomery-") + test->test_suite_name() + "-" + test->name() + "-" +
                     std::to_string(::getpid()) + "-" + std::to_string(count++);
  std::replace(name.begin(), name.end(), '/', '-');
  path_ = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::create_directories(path_);
}
folder::~folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}
std::vector<std::string> folder::names() const {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) found.push_back(entry.path().filename());
  std::sort(found.begin(), found.end());
  return found;
}

void write_bytes(const std::string& path, const bytes& content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
}
bytes read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  bytes content;
  for (std::istreambuf_iterator<char> at(file), end; at != end; ++at) content.push_back(static_cast<std::byte>(*at));
  return content;
}
bytes as_bytes(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

bytes assemble(const file_header& header, const bytes& stored) {
  detail::file_image image;
  image.header = header;
  image.stored = stored;
  memory_sink sink;
  const auto done = detail::write_native(image, byte_sink(sink));
  if (!done) ADD_FAILURE() << describe(done.error()).c_str();
  return {sink.bytes().begin(), sink.bytes().end()};
}
void seal_header(bytes& file) {
  const std::size_t at = small_header_bytes - checksum_bytes;
  store_le(file.data() + at, xxh3{}(file.data(), at));
}

// ---- filters.hpp ----

void enable_everything() {
  enable_bitmap();
  enable_codecs();
}

std::vector<std::uint32_t> linked_codecs() {
  enable_everything();
  std::vector<std::uint32_t> codecs = {codec_none};
  for (const std::uint32_t codec : {codec_zstd, codec_gzip, codec_rans}) {
    if (find_codec(codec)) codecs.push_back(codec);
  }
  return codecs;
}

hash_spec hash_of(const kind_case& kind) {
  return kind.info->integer_keys ? hasher::of(identity{}).spec() : hasher::of(xxh3{}).spec();
}
hash_spec sample_hash(const kind_case& kind) {
  return kind.info->integer_keys ? hash_spec{.id = identity::info.id, .seed = 0}
                                 : hash_spec{.id = xxh3::info.id, .seed = 7};
}

any_filter make_filter(const kind_case& kind, std::uint64_t keys, double fpr) {
  return make_filter(kind, {.keys = keys, .fpr = fpr});
}
any_filter make_filter(const kind_case& kind, const filter_params& params) {
  enable_everything();
  return value_or_abort(any_filter::make(kind.info->name, params, hash_of(kind)));
}
any_filter build_filter(const kind_case& kind, key_list digests, double fpr, unsigned threads) {
  enable_everything();
  return value_or_abort(any_filter::build_digests(kind.info->name, {.fpr = fpr}, hash_of(kind), digests, threads));
}

any_filter sample(const kind_case& kind, std::uint64_t keys) {
  enable_everything();
  key_list digests(keys);
  for (std::uint64_t i = 0; i < keys; ++i) digests[i] = kind.info->integer_keys ? 7 * i : sample_digest(i);
  return value_or_abort(
      any_filter::build_digests(kind.info->name, {.keys = keys, .fpr = 0.01}, sample_hash(kind), digests, 1));
}

insert_result insert_one(any_filter& filter, std::uint64_t digest) {
  const auto inserted = filter.insert(prehashed{digest});
  EXPECT_TRUE(inserted) << describe(inserted.error()).c_str();
  return inserted.value_or(insert_result::full);
}
bool contains(const any_filter& filter, std::uint64_t digest) {
  const auto found = filter.may_contain(prehashed{digest});
  EXPECT_TRUE(found) << describe(found.error()).c_str();
  return found.value_or(false);
}
std::uint64_t insert_all(any_filter& filter, std::span<const std::uint64_t> digests) {
  const auto inserted = filter.add(as_prehashed(digests));
  EXPECT_TRUE(inserted) << describe(inserted.error()).c_str();
  return inserted.value_or(0);
}
std::uint64_t erase_all(any_filter& filter, std::span<const std::uint64_t> digests) {
  const auto erased = filter.erase(as_prehashed(digests));
  EXPECT_TRUE(erased) << describe(erased.error()).c_str();
  return erased.value_or(0);
}
std::vector<std::uint64_t> count_all(const any_filter& filter, std::span<const std::uint64_t> digests) {
  std::vector<std::uint64_t> counts(digests.size(), 99);
  const auto counted = filter.count(as_prehashed(digests), counts);
  EXPECT_TRUE(counted) << describe(counted.error()).c_str();
  return counts;
}

std::vector<digest128> widened(std::span<const std::uint64_t> keys) {
  std::vector<digest128> wide;
  wide.reserve(keys.size());
  for (const std::uint64_t key : keys) wide.push_back({key, mix64(key)});
  return wide;
}
result<explanation> explain_key(const any_filter& filter, std::uint64_t key) {
  if (filter.digest_bits() == 128) return filter.explain(prehashed128{widened({&key, 1})[0]});
  return filter.explain(prehashed{key});
}

result<std::uint64_t> insert_keys(any_filter& filter, std::span<const std::uint64_t> keys) {
  return filter.digest_bits() == 128 ? filter.add(as_prehashed(widened(keys))) : filter.add(as_prehashed(keys));
}
std::vector<bool> find_keys(const any_filter& filter, std::span<const std::uint64_t> keys) {
  std::vector<std::uint64_t> mask(mask_words(keys.size()), ~std::uint64_t{0});
  const auto done = filter.digest_bits() == 128 ? filter.may_contain(as_prehashed(widened(keys)), mask)
                                                : filter.may_contain(as_prehashed(keys), mask);
  EXPECT_TRUE(done) << describe(done.error()).c_str();
  if (done && keys.size() % 64 != 0) {
    EXPECT_EQ(mask.back() >> (keys.size() % 64), 0U) << "bits behind the last key";
  }
  std::vector<bool> found(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) found[i] = (mask[i / 64] >> (i % 64) & 1U) != 0;
  return found;
}
std::uint64_t count_found(const any_filter& filter, std::span<const std::uint64_t> keys) {
  std::vector<std::uint64_t> mask(mask_words(keys.size()));
  const auto done = filter.may_contain(as_prehashed(keys), mask);
  EXPECT_TRUE(done) << describe(done.error()).c_str();
  std::uint64_t found = 0;
  for (const std::uint64_t word : mask) found += static_cast<std::uint64_t>(std::popcount(word));
  return found;
}
std::uint64_t most_lost(const any_filter& filter, std::uint64_t keys) {
  const auto loss = stats_of(filter).loss;
  std::uint64_t lost = 0;
  while (loss && lost < keys && binomial::lower_bound(lost + 1, keys, 0.001) <= loss->target_rate) ++lost;
  return lost;
}

filter_stats stats_of(const any_filter& filter) { return value_or_abort(filter.stats()); }
bool same_shape(const stored_shape& a, const stored_shape& b) {
  return a.capacity_keys == b.capacity_keys && a.fpr == b.fpr && a.keys == b.keys && a.keys_exact == b.keys_exact &&
         a.digest_bits == b.digest_bits && a.field == b.field;
}
std::vector<std::string> values_of(const fact_list& facts) {
  std::vector<std::string> out;
  for (const fact& each : facts) {
    const fact_value& value = each.value;
    out.push_back(std::string(each.name) + "=" +
                  (value.holds() == fact_value::type::text   ? std::string(value.text())
                   : value.holds() == fact_value::type::real ? std::to_string(value.real())
                                                             : std::to_string(value.integer())));
  }
  return out;
}
any_filter copy_of(const any_filter& filter) { return value_or_abort(filter.clone()); }
bytes saved_bytes(const any_filter& filter, const save_options& options) {
  memory_sink sink;
  const auto saved = filter.save_to(byte_sink(sink), options);
  EXPECT_TRUE(saved) << describe(saved.error()).c_str();
  return {sink.bytes().begin(), sink.bytes().end()};
}
std::string load_error(std::span<const std::byte> file, const load_options& options) {
  return error_of(any_filter::load_bytes(file, options));
}

}  // namespace bloomery::test

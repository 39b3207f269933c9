// model.hpp: a filter of any kind beside an exact model of its keys. What a kind can do comes from its concepts, what it can be
// made from out of its `info`: no kind is named here.
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "suites/support.hpp"

namespace bloomery::testing_support {

using key_list = std::vector<std::uint64_t>;

struct kind_case {
  const kind_info* info = nullptr;
  bool is_static = false;
  bool excludes = false;
  bool erases = false;
  bool counts = false;
  bool merges = false;
  bool intersects = false;
  bool folds = false;
  bool is_mapped = false;
  std::uint64_t most_count = ~std::uint64_t{0};  // a count ends here
};

template <filter_kind K>
kind_case case_of() {
  kind_case made{.info = &K::info,
                 .is_static = static_kind<K>,
                 .excludes = excluding_kind<K>,
                 .erases = erasable<K>,
                 .counts = countable<K>,
                 .merges = mergeable<K>,
                 .intersects = intersectable<K>,
                 .folds = foldable<K>,
                 .is_mapped = mappable<K>};
  if constexpr (saturating<K>) made.most_count = K::most_count;
  return made;
}

inline std::vector<kind_case> kind_cases(bool is_static) {
  std::vector<kind_case> cases;
  for_each_type(kind_list{}, [&](auto tag) {
    const kind_case each = case_of<typename decltype(tag)::type>();
    if (each.is_static == is_static) cases.push_back(each);
  });
  return cases;
}
inline std::string case_name(const testing::TestParamInfo<kind_case>& info) {
  return std::string(info.param.info->name);
}

class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(mix64(seed)) {}
  std::uint64_t operator()() { return mix64(state_ += 0x9e3779b97f4a7c15ULL); }
  std::uint64_t below(std::uint64_t end) { return (*this)() % end; }
  bool once_in(std::uint64_t n) { return below(n) == 0; }
  template <class T>
  const T& one_of(const std::vector<T>& from) {
    return from[below(from.size())];
  }

 private:
  std::uint64_t state_;
};

// The names in "window[:BITS] slots4[:BITS]", each also with a number where one may follow; or one empty name.
inline std::vector<std::string> names_in(std::string_view list, random_numbers& random) {
  std::vector<std::string> names = {""};
  std::istringstream words{std::string(list)};
  for (std::string word; words >> word;) {
    const std::size_t bracket = word.find('[');
    names.push_back(word.substr(0, bracket));
    if (bracket == std::string::npos) continue;
    const std::string colon = word[bracket + 1] == ':' ? ":" : "";
    names.push_back(names.back() + colon + std::to_string(2 + random.below(16)));
  }
  return names;
}

struct filter_choice {
  std::uint64_t keys = 1;
  double fpr = 0.01;
  std::string layout{};
  std::string mode{};
  std::optional<std::uint64_t> growth{};
  bool wide = false;

  [[nodiscard]] filter_params params() const {
    return {.keys = keys, .fpr = fpr, .layout = layout, .mode = mode, .growth = growth, .takes_digest128 = wide};
  }
};
inline std::ostream& operator<<(std::ostream& out, const filter_choice& choice) {
  out << "keys " << choice.keys << " fpr " << choice.fpr << " layout '" << choice.layout << "' mode '" << choice.mode
      << "'";
  if (choice.growth) out << " growth " << *choice.growth;
  return choice.wide ? out << " wide" : out;
}

inline filter_choice choose(const kind_info& kind, random_numbers& random) {
  static const std::vector<std::uint64_t> sizes = {1, 2, 3, 7, 16, 63, 64, 65, 100, 257, 1000, 3000};
  static const std::vector<double> rates = {0.3, 0.1, 0.05, 0.02, 0.01, 0.003, 0.001, 1e-4, 1e-6};
  filter_choice choice{.keys = random.one_of(sizes),
                       .fpr = random.one_of(rates),
                       .layout = random.one_of(names_in(kind.layouts, random)),
                       .mode = random.one_of(names_in(kind.modes, random)),
                       .growth = {},
                       .wide = kind.takes_digest128 && random.once_in(4)};
  // A filter for one key that does not grow faster has as many sub-filters as keys: right, and slow.
  if (kind.growth_factor && random.once_in(2)) choice.growth = (choice.keys < 64 ? 2 : 1) + random.below(3);
  return choice;
}
// An empty filter of some choice that the kind takes.
inline any_filter make_some(const kind_info& kind, random_numbers& random, filter_choice& choice) {
  enable_all();
  const hash_spec hash = kind.integer_keys ? hasher::of(identity{}).spec() : hasher::of(xxh3{}).spec();
  for (int tries = 0; tries < 1000; ++tries) {
    choice = choose(kind, random);
    auto made = any_filter::make(kind.name, choice.params(), hash);
    if (made) return std::move(*made);
  }
  ADD_FAILURE() << kind.name << " takes none of the choices";
  std::abort();
}

// Keys as digests, of the width that the filter takes.
inline std::vector<digest128> widened(std::span<const std::uint64_t> keys) {
  std::vector<digest128> wide;
  wide.reserve(keys.size());
  for (const std::uint64_t key : keys) wide.push_back({key, mix64(key)});
  return wide;
}
inline result<std::uint64_t> insert_keys(any_filter& filter, std::span<const std::uint64_t> keys) {
  return filter.digest_bits() == 128 ? filter.insert(widened(keys)) : filter.insert(keys);
}
inline std::vector<bool> find_keys(const any_filter& filter, std::span<const std::uint64_t> keys) {
  std::vector<std::uint64_t> mask(mask_words(keys.size()));
  const auto asked =
      filter.digest_bits() == 128 ? filter.may_contain(widened(keys), mask) : filter.may_contain(keys, mask);
  EXPECT_TRUE(asked) << describe(asked.error()).c_str();
  std::vector<bool> found(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) found[i] = (mask[i / 64] >> (i % 64) & 1U) != 0;
  return found;
}

inline bool same_shape(const stored_shape& a, const stored_shape& b) {
  return a.capacity_keys == b.capacity_keys && a.fpr == b.fpr && a.keys == b.keys && a.keys_exact == b.keys_exact &&
         a.digest_bits == b.digest_bits && a.field == b.field;
}

// How a filter can be saved, and loaded again.
struct encoding {
  std::uint32_t codec = codec_none;
  bool text = false;
  bool mapped = false;
};
inline std::vector<encoding> all_encodings() {
  std::vector<encoding> all;
  for (const std::uint32_t codec : {codec_none, codec_zstd, codec_gzip, codec_rans}) {
    for (const bool text : {false, true}) all.push_back({codec, text, false});
  }
  all.push_back({codec_none, false, true});
  return all;
}
inline std::ostream& operator<<(std::ostream& out, const encoding& how) {
  return out << codec_name(how.codec) << (how.text ? " text" : "") << (how.mapped ? " mapped" : "");
}

// Saved and loaded again. What comes back is equal, has the same numbers, and gives the same bytes.
inline std::optional<any_filter> through_file(const any_filter& filter, const encoding& how) {
  const save_options options{.codec = how.codec, .text = how.text};
  memory_sink sink;
  if (const auto saved = filter.save_to(byte_sink(sink), options); !saved) {
    ADD_FAILURE() << "cannot be saved: " << describe(saved.error()).c_str();
    return {};
  }
  const std::vector<std::byte> bytes(sink.bytes().begin(), sink.bytes().end());
  auto loaded = [&]() -> result<any_filter> {
    if (!how.mapped) return any_filter::load_bytes(bytes);
    const auto path = std::filesystem::path(testing::TempDir()) / ("bloomery-model-" + std::to_string(::getpid()));
    if (const auto saved = filter.save(path.c_str(), {.replace = true}); !saved) return fail(saved.error());
    auto opened = any_filter::open(path.c_str());
    std::filesystem::remove(path);
    return opened;
  }();
  if (!loaded) {
    ADD_FAILURE() << how << ": cannot be loaded: " << describe(loaded.error()).c_str();
    return {};
  }
  EXPECT_TRUE(*loaded == filter) << how;
  EXPECT_TRUE(same_shape(loaded->shape(), filter.shape())) << how;
  EXPECT_EQ(saved_bytes(*loaded, options), bytes) << how;
  if (!loaded->is_mapped()) return std::move(*loaded);
  auto copy = loaded->clone();
  EXPECT_TRUE(copy && *copy == filter && same_shape(copy->shape(), filter.shape())) << how;
  return copy ? std::optional<any_filter>(std::move(*copy)) : std::nullopt;
}

}  // namespace bloomery::testing_support

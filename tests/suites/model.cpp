#include "suites/model.hpp"
#include <bloomery/native/codec.hpp>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>

namespace bloomery::test {

namespace {

// The choices of an option, each also with a number where one may follow; and an empty name, for the default.
std::vector<std::string> names_of(const kind_case& kind, std::string_view option, random_numbers& random) {
  std::vector<std::string> names = {""};
  const option_info* found = find_option(kind.entry->options, option);
  if (found == nullptr) return names;
  for (const option_choice& choice : found->choices) {
    names.emplace_back(choice.name);
    if (choice.suffix.empty()) continue;
    const std::string colon = choice.suffix[1] == ':' ? ":" : "";
    names.push_back(names.back() + colon + std::to_string(2 + random.below(16)));
  }
  return names;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const filter_choice& choice) {
  out << "keys " << choice.keys << " fpr " << choice.fpr << " layout '" << choice.layout << "' mode '" << choice.mode
      << "'";
  if (choice.growth) out << " growth " << *choice.growth;
  return choice.wide ? out << " wide" : out;
}

filter_choice choose(const kind_case& kind, random_numbers& random) {
  static const std::vector<std::uint64_t> sizes = {1, 2, 3, 7, 16, 63, 64, 65, 100, 257, 1000, 3000};
  static const std::vector<double> rates = {0.3, 0.1, 0.05, 0.02, 0.01, 0.003, 0.001, 1e-4, 1e-6};
  filter_choice choice{.keys = random.one_of(sizes),
                       .fpr = random.one_of(rates),
                       .layout = random.one_of(names_of(kind, "layout", random)),
                       .mode = random.one_of(names_of(kind, "mode", random)),
                       .growth = {},
                       .wide = kind.takes_digest128 && random.once_in(4)};
  // A filter for one key that does not grow faster has as many sub-filters as keys: right, and slow.
  if (find_option(kind.entry->options, "growth") != nullptr && random.once_in(2))
    choice.growth = (choice.keys < 64 ? 2 : 1) + random.below(3);
  return choice;
}
any_filter make_some(const kind_case& kind, random_numbers& random, filter_choice& choice) {
  enable_everything();
  for (int tries = 0; tries < 1000; ++tries) {
    choice = choose(kind, random);
    auto made = any_filter::make(kind.info->name, choice.params(), hash_of(kind));
    if (made) return std::move(*made);
  }
  ADD_FAILURE() << kind << " takes none of the choices";
  std::abort();
}

std::vector<encoding> all_encodings() {
  std::vector<encoding> all;
  for (const std::uint32_t codec : linked_codecs()) {
    for (const bool text : {false, true}) all.push_back({codec, text, false});
  }
  all.push_back({codec_none, false, true});
  return all;
}
std::ostream& operator<<(std::ostream& out, const encoding& how) {
  return out << codec_name(how.codec) << (how.text ? " text" : "") << (how.mapped ? " mapped" : "");
}

std::optional<any_filter> through_file(const any_filter& filter, const encoding& how) {
  const save_options options{.codec = how.codec, .text = how.text};
  memory_sink sink;
  if (const auto saved = filter.save_to(byte_sink(sink), options); !saved) {
    ADD_FAILURE() << "cannot be saved: " << describe(saved.error()).c_str();
    return {};
  }
  const bytes file(sink.bytes().begin(), sink.bytes().end());
  auto loaded = [&]() -> result<any_filter> {
    if (!how.mapped) return any_filter::load_bytes(file);
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
  EXPECT_EQ(saved_bytes(*loaded, options), file) << how;
  if (!loaded->is_mapped()) return std::move(*loaded);
  auto copy = loaded->clone();
  EXPECT_TRUE(copy && *copy == filter && same_shape(copy->shape(), filter.shape())) << how;
  return copy ? std::optional<any_filter>(std::move(*copy)) : std::nullopt;
}

}  // namespace bloomery::test

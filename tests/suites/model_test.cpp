// Random operations on a filter of every kind, beside an exact model of its keys: insert, duplicates, erase, count, merge,
// intersect, fold, clone, clear, and files in every encoding. A key that is in the model is found, always; what is loaded is what
// was saved, down to the bytes. Kinds that expire or may lose keys are held to what they promise instead.
#include <algorithm>
#include <bloomery/core/binomial.hpp>
#include <sstream>
#include <unordered_map>

#include "suites/model.hpp"

namespace bloomery::test {
namespace {

// What is in a filter: how often, and when it came last.
class key_model {
 public:
  struct entry {
    std::uint64_t count = 0;
    std::uint64_t last = 0;
    std::size_t place = 0;
  };

  void insert(std::uint64_t key, bool counts) {
    entry& at = held_[key];
    if (at.count == 0) {
      at.place = keys_.size();
      keys_.push_back(key);
    }
    at.count = counts ? at.count + 1 : 1;
    at.last = ++inserts_;
  }
  void erase(std::uint64_t key, std::uint64_t times = 1) {
    const auto at = held_.find(key);
    if (at == held_.end()) return;
    at->second.count -= std::min(times, at->second.count);
    if (at->second.count != 0) return;
    held_[keys_.back()].place = at->second.place;
    keys_[at->second.place] = keys_.back();
    keys_.pop_back();
    held_.erase(key);
  }
  void clear() { *this = {}; }
  [[nodiscard]] std::uint64_t count(std::uint64_t key) const {
    const auto at = held_.find(key);
    return at == held_.end() ? 0 : at->second.count;
  }
  [[nodiscard]] const key_list& keys() const { return keys_; }
  // Keys after which no more than so many came.
  [[nodiscard]] key_list latest(std::uint64_t later) const {
    key_list keys;
    for (const std::uint64_t key : keys_) {
      if (inserts_ - held_.at(key).last < later) keys.push_back(key);
    }
    return keys;
  }

 private:
  std::unordered_map<std::uint64_t, entry> held_;
  key_list keys_;
  std::uint64_t inserts_ = 0;
};

class model_run {
 public:
  model_run(const kind_case& kind, std::uint64_t seed)
      : kind_(kind), random_(seed), filter_(make_some(kind, random_, choice_)) {
    // Digests that begin alike crowd into a few pages, buckets or blocks.
    crowded_ = !kind.info->integer_keys && random_.once_in(4);
    is_multiset_ = counts_copies();
    can_erase_ = kind.erases && filter_.digest_bits() == 64 && filter_.erase(as_prehashed(key_list{})).has_value();
    trace_ << kind.info->name << " seed " << seed << ": " << choice_ << (crowded_ ? " crowded" : "") << '\n';
  }

  void run(unsigned steps) {
    for (unsigned i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      step();
      check(filter_, model_);
    }
    for (const encoding& how : all_encodings()) {
      if (!testing::Test::HasFailure()) reload(how);
    }
    if (!testing::Test::HasFailure()) check(filter_, model_);
    if (testing::Test::HasFailure()) ADD_FAILURE() << trace_.str();
  }

 private:
  // A set counts a key once, or takes it once.
  [[nodiscard]] bool counts_copies() const {
    if (!kind_.counts || filter_.digest_bits() != 64) return false;
    auto copy = filter_.clone();
    const key_list twice = {7, 7};
    key_list counts(2);
    return !copy->add(as_prehashed(twice)) || (copy->count(as_prehashed(twice), counts) && counts[0] == 2);
  }
  void step();
  void insert(any_filter& into, key_model& model, const key_list& keys);
  void erase(std::size_t most);
  void erase_absent();
  void count();
  void combine();
  void fold();
  void clone();
  void clear();
  void reload(const encoding& how);
  void check(const any_filter& filter, const key_model& model);
  void check_lost(const any_filter& filter, const key_list& keys, std::uint64_t missing) const;

  std::size_t some_number() {
    static const std::vector<std::uint64_t> fixed = {1, 2, 16, 127, 1024};
    const std::uint64_t most = std::min<std::uint64_t>(2 * choice_.keys, 3000);
    return random_.once_in(3) ? random_.one_of(fixed) : 1 + random_.below(most);
  }
  std::uint64_t fresh_key() {
    const std::uint64_t number = next_key_++;
    if (kind_.info->integer_keys) return number * 7 % (std::uint64_t{1} << 32U);
    const std::uint64_t digest = mix64(number * 0x9e3779b97f4a7c15ULL + 99);
    return crowded_ ? digest >> 14U | std::uint64_t{0x2a} << 50U : digest;
  }
  key_list fresh_keys(std::size_t count) {
    key_list keys(count);
    for (auto& key : keys) key = fresh_key();
    return keys;
  }
  key_list some_keys(std::size_t count) {
    key_list keys;
    for (std::size_t i = 0; i < count && !model_.keys().empty(); ++i) keys.push_back(random_.one_of(model_.keys()));
    return keys;
  }

  kind_case kind_;
  random_numbers random_;
  filter_choice choice_;
  any_filter filter_;
  key_model model_;
  std::ostringstream trace_;
  std::uint64_t next_key_ = 1;
  std::uint64_t folded_by_ = 1;
  bool crowded_ = false;
  bool is_multiset_ = false;
  bool can_erase_ = false;
};

void model_run::step() {
  switch (random_.below(12)) {
    case 0:
    case 1:
    case 2:
      return insert(filter_, model_, fresh_keys(some_number()));
    case 3:
      return insert(filter_, model_, some_keys(1 + random_.below(40)));
    case 4:
    case 5:
      return erase(random_.once_in(2) ? model_.keys().size() : some_number());
    case 6:
      return random_.once_in(2) ? count() : erase_absent();
    case 7:
      return combine();
    case 8:
      return random_.once_in(4) ? fold() : clone();
    case 9:
      return random_.once_in(8) ? clear() : reload({});
    default:
      return reload(random_.one_of(all_encodings()));
  }
}

// A bounded kind reports how many it took, and holds those.
void model_run::insert(any_filter& into, key_model& model, const key_list& keys) {
  trace_ << "insert " << keys.size() << '\n';
  const std::uint64_t before = into.shape().keys;
  const auto inserted = insert_keys(into, keys);
  std::size_t taken = keys.size();
  if (!inserted) {
    const errc code = inserted.error().code;
    ASSERT_TRUE(code == errc::full || code == errc::too_many_copies || code == errc::no_room_to_return)
        << describe(inserted.error()).c_str();
    taken = inserted.error().number[1];
    ASSERT_LT(taken, keys.size());
    trace_ << "  full after " << taken << '\n';
  } else {
    EXPECT_EQ(into.shape().keys, before + *inserted);
  }
  for (std::size_t i = 0; i < taken; ++i) model.insert(keys[i], is_multiset_);
}

// A kind that may lose keys refuses those that it has lost.
void model_run::erase(std::size_t most) {
  if (!can_erase_) return;
  key_list keys = model_.keys();
  while (keys.size() > most) keys.pop_back();
  if (random_.once_in(2)) std::reverse(keys.begin(), keys.end());
  trace_ << "erase " << keys.size() << '\n';
  if (kind_.may_lose) {
    for (const std::uint64_t key : keys) {
      const bool found = find_keys(filter_, {&key, 1})[0];
      EXPECT_EQ(*filter_.erase(prehashed{key}), found);
      model_.erase(key);
    }
    return;
  }
  const auto erased = filter_.erase(as_prehashed(keys));
  ASSERT_TRUE(erased) << describe(erased.error()).c_str();
  EXPECT_EQ(*erased, keys.size());
  for (const std::uint64_t key : keys) model_.erase(key);
}

void model_run::erase_absent() {
  if (!can_erase_) return;
  trace_ << "erase absent\n";
  const auto before = saved_bytes(filter_);
  for (const std::uint64_t key : fresh_keys(20)) {
    if (find_keys(filter_, {&key, 1})[0]) continue;
    EXPECT_FALSE(*filter_.erase(prehashed{key}));
  }
  EXPECT_EQ(saved_bytes(filter_), before);
}

void model_run::count() {
  if (!kind_.counts || filter_.digest_bits() != 64) return;
  const key_list keys = some_keys(200);
  key_list counts(keys.size());
  ASSERT_TRUE(filter_.count(as_prehashed(keys), counts));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_GE(counts[i], is_multiset_ ? std::min(model_.count(keys[i]), kind_.most_count) : 1);
  }
}

// With a filter of its own keys, or a copy with more: the sum or the union, or the keys that both have.
void model_run::combine() {
  if (!kind_.merges) return;
  const bool is_copy = random_.once_in(2);
  auto other = is_copy ? filter_.clone() : any_filter::make(kind_.info->name, choice_.params(), filter_.hash());
  ASSERT_TRUE(other) << describe(other.error()).c_str();
  if (!is_copy && folded_by_ != 1) {
    if (auto folded = other->fold(folded_by_)) other = std::move(folded);
  }
  key_model model = is_copy ? model_ : key_model();
  const bool intersects = kind_.intersects && random_.once_in(3);
  trace_ << (intersects ? "intersect" : "merge") << (is_copy ? " a copy\n" : " another\n");
  insert(*other, model, fresh_keys(some_number()));
  if (!is_copy) insert(*other, model, some_keys(20));
  check(*other, model);
  const auto before = saved_bytes(filter_);
  const auto done = intersects ? filter_.intersect(*other)
                               : filter_.merge(*other, random_.once_in(2) ? merge_fpr::any : merge_fpr::keep_target);
  if (!done) {
    trace_ << "  refused: " << describe(done.error()).c_str() << '\n';
    EXPECT_NE(done.error().code, errc::out_of_memory);
    EXPECT_EQ(saved_bytes(filter_), before);
  } else if (intersects) {
    for (const std::uint64_t key : key_list(model_.keys())) {
      const std::uint64_t both = std::min(model_.count(key), model.count(key));
      model_.erase(key, model_.count(key) - both);
    }
  } else {
    for (const std::uint64_t key : model.keys()) {
      for (std::uint64_t i = 0; i < model.count(key); ++i) model_.insert(key, is_multiset_);
    }
  }
}

void model_run::fold() {
  const std::uint64_t units = filter_.fold_units();
  const std::uint64_t factor = 2 + random_.below(3);
  if (!kind_.folds || units == 0 || units % factor != 0) return;
  trace_ << "fold " << factor << '\n';
  auto folded = filter_.fold(factor);
  if (!folded) return;
  filter_ = std::move(*folded);
  folded_by_ *= factor;
}

void model_run::clone() {
  trace_ << "clone\n";
  auto copy = filter_.clone();
  ASSERT_TRUE(copy) << describe(copy.error()).c_str();
  EXPECT_TRUE(*copy == filter_);
  EXPECT_TRUE(same_shape(copy->shape(), filter_.shape()));
  EXPECT_EQ(saved_bytes(*copy), saved_bytes(filter_));
  filter_ = std::move(*copy);
}

void model_run::clear() {
  trace_ << "clear\n";
  ASSERT_TRUE(filter_.clear());
  for (const bool found : find_keys(filter_, model_.keys())) EXPECT_FALSE(found);
  EXPECT_EQ(filter_.shape().keys, 0U);
  model_.clear();
}

void model_run::reload(const encoding& how) {
  trace_ << "reload " << how << '\n';
  if (auto loaded = through_file(filter_, how)) filter_ = std::move(*loaded);
}

void model_run::check(const any_filter& filter, const key_model& model) {
  const auto stats = filter.stats();
  ASSERT_TRUE(stats);
  const key_list keys = stats->window ? model.latest(stats->window->guaranteed_keys) : model.keys();
  std::uint64_t missing = 0;
  for (const bool found : find_keys(filter, keys)) missing += found ? 0U : 1U;
  if (stats->loss && stats->loss->removals != 0) return check_lost(filter, keys, missing);
  EXPECT_EQ(missing, 0U) << "of " << keys.size();
}

// No more than the rate that it reports, with a confidence that all runs together leave little to chance.
void model_run::check_lost(const any_filter& filter, const key_list& keys, std::uint64_t missing) const {
  if (crowded_ || missing == 0) return;
  const auto loss = filter.stats()->loss;
  EXPECT_LE(binomial::lower_bound(missing, keys.size(), 1e-9), std::max(loss->rate, loss->target_rate))
      << missing << " of " << keys.size() << " are lost";
}

class Model : public KindTest {};
TEST_P(Model, NoKeyIsMissedAndFilesAreExactWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= 12 && !HasFailure(); ++seed) model_run(GetParam(), seed).run(24);
}
BLOOMERY_FOR_KINDS(Model, kinds_where(&kind_case::is_dynamic));

class NightlyModel : public KindTest {};
TEST_P(NightlyModel, NoKeyIsMissedAndFilesAreExactWhateverHappens) {
  for (std::uint64_t seed = 1000; seed < 1400 && !HasFailure(); ++seed) model_run(GetParam(), seed).run(60);
}
BLOOMERY_FOR_KINDS(NightlyModel, kinds_where(&kind_case::is_dynamic));

// Static kinds: from any number of keys, with copies among them, and with keys to exclude.
void build_and_reload(const kind_case& kind, std::uint64_t seed) {
  enable_everything();
  random_numbers random(seed);
  const filter_choice choice = choose(kind, random);
  digest_source source(seed);
  const key_list keys = source.take(random.once_in(8) ? random.below(3) : random.below(2 * choice.keys + 1));
  key_list digests = keys;
  for (std::uint64_t i = 0; i < random.below(8) && !keys.empty(); ++i) digests.push_back(random.one_of(keys));
  const key_list excluded = source.take(kind.excludes ? random.below(300) : 0);
  key_list absent = excluded;
  const hash_spec hash = hasher::of(xxh3{}).spec();
  const auto built = kind.excludes
                         ? any_filter::build_digests(kind.info->name, choice.params(), hash, digests, absent, 1)
                         : any_filter::build_digests(kind.info->name, choice.params(), hash, digests, 1);
  if (!built) {
    // Some layouts do not have the FPR that was drawn.
    EXPECT_NE(built.error().code, errc::out_of_memory);
    return;
  }
  const auto check = [&](const any_filter& filter) {
    for (const bool found : find_keys(filter, keys)) EXPECT_TRUE(found);
    for (const bool found : find_keys(filter, excluded)) EXPECT_FALSE(found);
  };
  check(*built);
  for (const encoding& how : all_encodings()) {
    if (const auto loaded = through_file(*built, how)) check(*loaded);
  }
  if (testing::Test::HasFailure()) ADD_FAILURE() << kind.info->name << " seed " << seed << ": " << choice;
}

class StaticModel : public KindTest {};
TEST_P(StaticModel, NoKeyIsMissedAndFilesAreExactWhateverItIsBuiltFrom) {
  for (std::uint64_t seed = 1; seed <= 12 && !HasFailure(); ++seed) build_and_reload(GetParam(), seed);
}
BLOOMERY_FOR_KINDS(StaticModel, kinds_where(&kind_case::is_static));

class NightlyStaticModel : public KindTest {};
TEST_P(NightlyStaticModel, NoKeyIsMissedAndFilesAreExactWhateverItIsBuiltFrom) {
  for (std::uint64_t seed = 1000; seed < 1400 && !HasFailure(); ++seed) build_and_reload(GetParam(), seed);
}
BLOOMERY_FOR_KINDS(NightlyStaticModel, kinds_where(&kind_case::is_static));

}  // namespace
}  // namespace bloomery::test

// Peers that come from packages, and what one would write without any:
//   LevelDB         the built-in filter policy, made from all keys of a table at once
//   textbook        k positions by double hashing in a std::vector<bool>
//   unordered_set   of the standard library
//   flat_hash_set   of Abseil
// Hash sets are exact; they are here for what they cost. Their bytes are counted as the allocator hands them out.
#include <absl/container/flat_hash_set.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <algorithm>
#include <bloomery/core/wide.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unordered_set>

#include "bench/peers/registration.hpp"

namespace {

using namespace bloomery;
using bench::candidate_size;

std::string_view bytes_of(const std::uint64_t& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}
std::string_view bytes_of(const std::string_view& text) { return text; }

// ---- LevelDB ---------------------------------------------------------------------------------------------------------

template <class Key>
struct leveldb_subject {
  using key = Key;
  std::unique_ptr<const leveldb::FilterPolicy> policy;
  std::uint64_t expected_bytes;
  std::vector<leveldb::Slice> slices{};
  std::string filter{};

  void clear() {
    slices.clear();
    filter.assign(expected_bytes, '\0');  // pages are there before the clock runs
    filter.clear();
  }
  void prepare(std::span<const Key> keys) {
    slices.reserve(keys.size());
    for (const Key& each : keys) slices.emplace_back(bytes_of(each).data(), bytes_of(each).size());
  }
  void build(std::span<const Key> /*keys*/) {
    policy->CreateFilter(slices.data(), static_cast<int>(slices.size()), &filter);
  }
  [[nodiscard]] bool may_contain(const Key& each) const {
    return policy->KeyMayMatch({bytes_of(each).data(), bytes_of(each).size()}, filter);
  }
  [[nodiscard]] std::uint64_t memory_bytes() const { return filter.size(); }
};

template <class Key>
std::unique_ptr<bench::candidate> make_leveldb(const candidate_size& size) {
  constexpr std::uint64_t most_keys = 0x7fffffff;  // their count is an int
  if (size.keys > most_keys || size.bits_per_key < 1) return nullptr;
  const auto bits_per_key = static_cast<int>(std::lround(size.bits_per_key));
  leveldb_subject<Key> subject{
      std::unique_ptr<const leveldb::FilterPolicy>(leveldb::NewBloomFilterPolicy(bits_per_key)),
      size.keys * static_cast<std::uint64_t>(bits_per_key) / 8 + 16};
  return std::make_unique<bench::candidate_of<leveldb_subject<Key>>>(std::move(subject));
}

// ---- the textbook ----------------------------------------------------------------------------------------------------

template <class Key>
struct textbook_subject {
  using key = Key;
  std::vector<bool> bits;
  unsigned hashes;

  void clear() { bits.assign(bits.size(), false); }
  void insert(const Key& each) {
    auto [at, step] = start(each);
    for (unsigned i = 0; i < hashes; ++i, at += step) bits[at % bits.size()] = true;
  }
  [[nodiscard]] bool may_contain(const Key& each) const {
    auto [at, step] = start(each);
    for (unsigned i = 0; i < hashes; ++i, at += step) {
      if (!bits[at % bits.size()]) return false;
    }
    return true;
  }
  [[nodiscard]] std::uint64_t memory_bytes() const { return bits.size() / 8; }

 private:
  static std::pair<std::uint64_t, std::uint64_t> start(const Key& each) {
    const std::uint64_t hash = std::hash<std::string_view>{}(bytes_of(each));
    return {hash, mix64(hash) | 1U};
  }
};

template <class Key>
std::unique_ptr<bench::candidate> make_textbook(const candidate_size& size) {
  const auto bits = static_cast<std::size_t>(size.bits_per_key * static_cast<double>(size.keys));
  const auto hashes = static_cast<unsigned>(std::max(1L, std::lround(size.bits_per_key * std::log(2.0))));
  return std::make_unique<bench::candidate_of<textbook_subject<Key>>>(
      textbook_subject<Key>{std::vector<bool>(bits), hashes});
}

// ---- hash sets -------------------------------------------------------------------------------------------------------

// What malloc hands out for so many bytes: a word more, in steps of two words, at least four.
std::uint64_t malloc_bytes(std::size_t bytes) { return std::max<std::uint64_t>(32, (bytes + 8 + 15) / 16 * 16); }

template <class T>
struct counting_allocator {
  using value_type = T;
  std::shared_ptr<std::uint64_t> bytes;

  counting_allocator() : bytes(current()) {}
  template <class U>
  counting_allocator(const counting_allocator<U>& other) : bytes(other.bytes) {}  // NOLINT: allocators convert

  T* allocate(std::size_t count) {
    *bytes += malloc_bytes(count * sizeof(T));
    return static_cast<T*>(::operator new(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) {
    *bytes -= malloc_bytes(count * sizeof(T));
    ::operator delete(memory);
  }
  template <class U>
  friend bool operator==(const counting_allocator& a, const counting_allocator<U>& b) {
    return a.bytes == b.bytes;
  }
  // The count of the set that is being made.
  static std::shared_ptr<std::uint64_t>& current() {
    static std::shared_ptr<std::uint64_t> count = std::make_shared<std::uint64_t>(0);
    return count;
  }
};

template <class Key>
struct stored_key {
  using type = Key;
};
template <>
struct stored_key<std::string_view> {
  using type = std::string;
};

template <class Hash>
struct see_through_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return Hash{}(text); }
};

template <class Key, class Set>
struct set_subject {
  using key = Key;
  using stored = typename Set::key_type;
  std::uint64_t keys;
  std::shared_ptr<std::uint64_t> bytes;
  Set set;

  explicit set_subject(std::uint64_t count)
      : keys(count), bytes(counting_allocator<stored>::current()), set(typename Set::allocator_type()) {}
  void clear() {
    set.clear();
    set.reserve(keys);
    text_bytes = 0;
  }
  void insert(const Key& each) {
    const auto [at, inserted] = set.emplace(each);
    if constexpr (std::is_same_v<Key, std::string_view>) {
      constexpr std::size_t within = 15;  // shorter texts are in the string itself
      if (inserted && each.size() > within) text_bytes += malloc_bytes(each.size() + 1);
    }
  }
  [[nodiscard]] bool may_contain(const Key& each) const { return set.find(each) != set.end(); }
  [[nodiscard]] std::uint64_t memory_bytes() const { return *bytes + text_bytes; }

  std::uint64_t text_bytes = 0;
};

template <class Key, class Set>
std::unique_ptr<bench::candidate> make_set(const candidate_size& size) {
  counting_allocator<typename Set::key_type>::current() = std::make_shared<std::uint64_t>(0);
  return std::make_unique<bench::candidate_of<set_subject<Key, Set>>>(set_subject<Key, Set>(size.keys));
}

template <class Key>
struct standard_set {
  using stored = typename stored_key<Key>::type;
  using hash =
      std::conditional_t<std::is_same_v<stored, Key>, std::hash<Key>, see_through_hash<std::hash<std::string_view>>>;
  using type = std::unordered_set<stored, hash, std::equal_to<>, counting_allocator<stored>>;
};
template <class Key>
struct abseil_set {
  using stored = typename stored_key<Key>::type;
  using hash =
      std::conditional_t<std::is_same_v<stored, Key>, absl::Hash<Key>, see_through_hash<absl::Hash<std::string_view>>>;
  using type = absl::flat_hash_set<stored, hash, std::equal_to<>, counting_allocator<stored>>;
};

template <class Key>
std::unique_ptr<bench::candidate> make_standard_set(const candidate_size& size) {
  return make_set<Key, typename standard_set<Key>::type>(size);
}
template <class Key>
std::unique_ptr<bench::candidate> make_abseil_set(const candidate_size& size) {
  return make_set<Key, typename abseil_set<Key>::type>(size);
}

using maker = std::unique_ptr<bench::candidate> (*)(const candidate_size&);
auto either(maker numbers, maker texts) {
  return [numbers, texts](const candidate_size& size) { return size.type->number ? numbers(size) : texts(size); };
}

}  // namespace

void bloomery_register_candidates(std::vector<bench::registration>& out) {
  using number = std::uint64_t;
  using text = std::string_view;
  out.push_back({.name = "LevelDB policy",
                 .version = std::to_string(leveldb::kMajorVersion) + "." + std::to_string(leveldb::kMinorVersion),
                 .build = "Debian package",
                 .bytes_per_number = 40,
                 .bytes_per_text = 130,
                 .make = either(make_leveldb<number>, make_leveldb<text>)});
  out.push_back({.name = "textbook vector<bool>",
                 .version = "libstdc++ " + std::to_string(_GLIBCXX_RELEASE),
                 .build = "native",
                 .make = either(make_textbook<number>, make_textbook<text>)});
  out.push_back({.name = "std::unordered_set",
                 .version = "libstdc++ " + std::to_string(_GLIBCXX_RELEASE),
                 .build = "native",
                 .sized_by_bits = false,
                 .bytes_per_number = 48,
                 .bytes_per_text = 170,
                 .make = either(make_standard_set<number>, make_standard_set<text>)});
  out.push_back({.name = "absl::flat_hash_set",
                 .version = "LTS " + std::to_string(ABSL_LTS_RELEASE_VERSION),
                 .build = "native",
                 .sized_by_bits = false,
                 .bytes_per_number = 20,
                 .bytes_per_text = 160,
                 .make = either(make_abseil_set<number>, make_abseil_set<text>)});
}

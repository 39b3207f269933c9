// bench/candidate.hpp: what is measured: a kind, a filter with its hash, or a peer. It is filled with keys and queried for them.
//
// All are driven through this one interface, a chunk of keys at a time, so that a call through it costs nothing next to
// the work, and the loop over single keys is compiled with the candidate. `candidate_of` makes one from a subject:
//
//     struct my_set {
//       using key = std::uint64_t;                     // or std::string_view, digest128
//       void clear();
//       void insert(key);                              // and, where there is one, add_batch(span)
//       bool may_contain(key) const;                   // and, where there is one, may_contain_batch(span, mask),
//                                                      // or count_batch(span) where answers come in another form,
//                                                      // and with_lookup(f) as filter has it
//       std::uint64_t memory_bytes() const;
//     };
//     candidate_of<my_set> each(my_set{...});
//
// A static subject, built from the complete key set, has `void build(std::span<const key>)` in place of insert, and may
// have `prepare` of the same signature, which is not timed.
// `query` may be called from several threads at a time; `add_shared` too, where `shares_adds`.
#pragma once

#include <array>
#include <bit>
#include <bloomery/hash/concept.hpp>
#include <bloomery/kinds/concept.hpp>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/clock.hpp"

namespace bloomery::bench {

enum class call_with : std::uint8_t {
  batch,      // one call for the chunk
  single,     // one call for each key; they may overlap in time
  dependent,  // one call for each key, which depends on the answer before
};

// Keys of one type: one of the spans has them.
struct key_block {
  std::span<const std::uint64_t> numbers{};
  std::span<const std::string_view> texts{};
  std::span<const digest128> wide{};

  [[nodiscard]] std::size_t size() const { return numbers.size() + texts.size() + wide.size(); }
  template <class Key>
  [[nodiscard]] std::span<const Key> keys_of() const {
    if constexpr (std::is_same_v<Key, std::uint64_t>) return numbers;
    if constexpr (std::is_same_v<Key, std::string_view>) return texts;
    if constexpr (std::is_same_v<Key, digest128>) return wide;
  }
};

class candidate {
 public:
  candidate() = default;
  candidate(const candidate&) = delete;
  candidate& operator=(const candidate&) = delete;
  virtual ~candidate() = default;

  // Forgets all keys, and touches its memory so that the clock does not see the pages come.
  virtual void clear() = 0;
  virtual void add(const key_block& keys, call_with how) = 0;
  // For static candidates: `add` only buffers keys, `prepare` brings them into the form in which a caller has them,
  // `build` builds.
  [[nodiscard]] virtual bool builds_static() const { return false; }
  virtual void prepare() {}
  virtual void build() {}
  // Whether add and query with call_with::batch differ from a loop over single keys.
  [[nodiscard]] virtual bool has_batches() const = 0;
  [[nodiscard]] virtual std::uint64_t query(const key_block& keys, call_with how) const = 0;  // how many were found
  [[nodiscard]] virtual bool shares_adds() const { return false; }
  virtual void add_shared(const key_block& /*keys*/) {}
  // One call that adds with several threads of its own; false: there is none.
  virtual bool add_parallel(const key_block& /*keys*/, unsigned /*threads*/) { return false; }
  [[nodiscard]] virtual std::uint64_t memory_bytes() const = 0;
};

// ---- from a subject --------------------------------------------------------------------------------------------------

inline std::uint64_t count_answers(std::span<const std::uint64_t> mask, std::size_t answers) {
  std::uint64_t hits = 0;
  for (std::size_t i = 0; i < answers / 64; ++i) hits += static_cast<std::uint64_t>(std::popcount(mask[i]));
  if (const std::size_t rest = answers % 64; rest != 0) {
    hits += static_cast<std::uint64_t>(std::popcount(mask[answers / 64] & (~std::uint64_t{0} >> (64 - rest))));
  }
  return hits;
}

template <class Subject>
class candidate_of final : public candidate {
 public:
  using key = typename Subject::key;
  static constexpr bool counts_batches = requires(const Subject& s, std::span<const key> keys) { s.count_batch(keys); };
  static constexpr bool queries_batches =
      counts_batches || requires(const Subject& s, std::span<const key> keys, std::span<std::uint64_t> mask) {
    s.may_contain_batch(keys, mask);
  };
  static constexpr bool adds_batches = requires(Subject & s, std::span<const key> keys) { s.add_batch(keys); };
  static constexpr bool adds_shared = requires(Subject & s, std::span<const key> keys) { s.insert_shared(keys); };
  static constexpr bool is_built = requires(Subject & s, std::span<const key> keys) { s.build(keys); };

  explicit candidate_of(Subject subject) : subject_(std::move(subject)) {}

  void clear() override {
    subject_.clear();
    buffered_.clear();
    buffered_bytes_.clear();
  }
  void add(const key_block& block, [[maybe_unused]] call_with how) override {
    const auto keys = block.keys_of<key>();
    if constexpr (is_built) {
      buffer_keys(keys);
    } else {
      if constexpr (adds_batches) {
        if (how == call_with::batch) {
          subject_.add_batch(keys);
          return;
        }
      }
      for (const key& each : keys) subject_.insert(each);
    }
  }
  [[nodiscard]] bool builds_static() const override { return is_built; }
  void prepare() override {
    if constexpr (requires { subject_.prepare(std::span<const key>(buffered_)); }) {
      subject_.prepare(std::span<const key>(buffered_));
    }
  }
  void build() override {
    if constexpr (is_built) subject_.build(std::span<const key>(buffered_));
  }
  [[nodiscard]] bool has_batches() const override { return queries_batches; }

  [[nodiscard]] std::uint64_t query(const key_block& block, call_with how) const override {
    const auto keys = block.keys_of<key>();
    if (how == call_with::dependent) return query_dependent(keys);
    if constexpr (queries_batches) {
      if (how == call_with::batch) return query_batch(keys);
    }
    const auto count_hits = [keys](const auto& may_contain) {
      std::uint64_t hits = 0;
      for (const key& each : keys) hits += may_contain(each) ? 1U : 0U;
      return hits;
    };
    if constexpr (requires { subject_.with_lookup(count_hits); }) {
      return subject_.with_lookup(count_hits);
    } else {
      return count_hits([this](const key& each) { return subject_.may_contain(each); });
    }
  }
  [[nodiscard]] bool shares_adds() const override { return adds_shared; }
  void add_shared(const key_block& block) override {
    if constexpr (adds_shared) subject_.insert_shared(block.keys_of<key>());
  }
  bool add_parallel(const key_block& block, unsigned threads) override {
    if constexpr (requires { subject_.insert_parallel(block.keys_of<key>(), threads); }) {
      subject_.insert_parallel(block.keys_of<key>(), threads);
      return true;
    }
    return false;
  }
  [[nodiscard]] std::uint64_t memory_bytes() const override { return subject_.memory_bytes(); }
  [[nodiscard]] const Subject& subject() const { return subject_; }

 private:
  std::uint64_t query_batch(std::span<const key> keys) const {
    if constexpr (counts_batches) {
      return subject_.count_batch(keys);
    } else {
      std::array<std::uint64_t, mask_words(chunk_keys)> mask;
      std::uint64_t hits = 0;
      for (std::size_t first = 0; first < keys.size(); first += chunk_keys) {
        const auto chunk = keys.subspan(first, std::min(chunk_keys, keys.size() - first));
        subject_.may_contain_batch(chunk, std::span<std::uint64_t>(mask));
        hits += count_answers(mask, chunk.size());
      }
      return hits;
    }
  }
  // Which of two neighbours is looked up depends on the answer before.
  std::uint64_t query_dependent(std::span<const key> keys) const {
    std::uint64_t hits = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
      last = subject_.may_contain(keys[i + last]) ? 1U : 0U;
      hits += last;
    }
    return hits;
  }
  // Texts are copied into large pieces that never move, since the views point into them.
  void buffer_keys(std::span<const key> keys) {
    if constexpr (std::is_same_v<key, std::string_view>) {
      for (const std::string_view each : keys) {
        auto& bytes =
            buffered_bytes_.empty() || buffered_bytes_.back().size() + each.size() > buffered_bytes_.back().capacity()
                ? buffered_bytes_.emplace_back()
                : buffered_bytes_.back();
        if (bytes.capacity() < each.size()) bytes.reserve(std::max<std::size_t>(std::size_t{1} << 24U, each.size()));
        const std::size_t at = bytes.size();
        bytes.insert(bytes.end(), each.begin(), each.end());
        buffered_.emplace_back(bytes.data() + at, each.size());
      }
    } else {
      buffered_.insert(buffered_.end(), keys.begin(), keys.end());
    }
  }

  Subject subject_;
  std::vector<key> buffered_;
  std::vector<std::vector<char>> buffered_bytes_;
};

template <class Subject>
using contender_of = candidate_of<Subject>;  // the name in tests/

}  // namespace bloomery::bench

// bench/contender.hpp: something that is filled with keys and asked for them: a kind, a filter with its hash, a peer.
//
// All are driven through this one interface, a chunk of keys at a time, so that a call through it costs nothing next to
// the work, and the loop over single keys is compiled with the contender. `contender_of` makes one from a subject:
//
//     struct my_set {
//       using key = std::uint64_t;                     // or std::string_view, digest128
//       void clear();
//       void insert(key);                              // and, where there is one, insert_batch(span)
//       bool may_contain(key) const;                   // and, where there is one, may_contain_batch(span, mask),
//                                                      // or count_batch(span) where answers come in another form,
//                                                      // and with_lookup(f) as filter has it
//       std::uint64_t memory_bytes() const;
//     };
//     contender_of<my_set> each(my_set{...});
//
// A subject that is built from all of its keys at once has `void build(std::span<const key>)` in place of insert, and
// may have `prepare` of the same form, which is not timed.
// `ask` may be called from several threads at a time; `add_shared` too, where `shares_adds`.
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
  [[nodiscard]] std::span<const Key> of() const {
    if constexpr (std::is_same_v<Key, std::uint64_t>) return numbers;
    if constexpr (std::is_same_v<Key, std::string_view>) return texts;
    if constexpr (std::is_same_v<Key, digest128>) return wide;
  }
};

class contender {
 public:
  contender() = default;
  contender(const contender&) = delete;
  contender& operator=(const contender&) = delete;
  virtual ~contender() = default;

  // Forgets all keys, and touches its memory so that the clock does not see the pages come.
  virtual void clear() = 0;
  virtual void add(const key_block& keys, call_with how) = 0;
  // For those that are built at once: `add` only lays keys aside, `prepare` brings them into the form in which a caller
  // has them, `build` builds.
  [[nodiscard]] virtual bool builds_static() const { return false; }
  virtual void prepare() {}
  virtual void build() {}
  // Whether add and ask with call_with::batch differ from a loop over single keys.
  [[nodiscard]] virtual bool has_batches() const = 0;
  [[nodiscard]] virtual std::uint64_t ask(const key_block& keys, call_with how) const = 0;  // how many were found
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
class contender_of final : public contender {
 public:
  using key = typename Subject::key;
  static constexpr bool counts_batches = requires(const Subject& s, std::span<const key> keys) { s.count_batch(keys); };
  static constexpr bool asks_batches =
      counts_batches || requires(const Subject& s, std::span<const key> keys, std::span<std::uint64_t> mask) {
    s.may_contain_batch(keys, mask);
  };
  static constexpr bool adds_batches = requires(Subject & s, std::span<const key> keys) { s.insert_batch(keys); };
  static constexpr bool adds_shared = requires(Subject & s, std::span<const key> keys) { s.insert_shared(keys); };
  static constexpr bool is_built = requires(Subject & s, std::span<const key> keys) { s.build(keys); };

  explicit contender_of(Subject subject) : subject_(std::move(subject)) {}

  void clear() override {
    subject_.clear();
    laid_aside_.clear();
    laid_bytes_.clear();
  }
  void add(const key_block& block, [[maybe_unused]] call_with how) override {
    const auto keys = block.of<key>();
    if constexpr (is_built) {
      lay_aside(keys);
    } else {
      if constexpr (adds_batches) {
        if (how == call_with::batch) {
          subject_.insert_batch(keys);
          return;
        }
      }
      for (const key& each : keys) subject_.insert(each);
    }
  }
  [[nodiscard]] bool builds_static() const override { return is_built; }
  void prepare() override {
    if constexpr (requires { subject_.prepare(std::span<const key>(laid_aside_)); }) {
      subject_.prepare(std::span<const key>(laid_aside_));
    }
  }
  void build() override {
    if constexpr (is_built) subject_.build(std::span<const key>(laid_aside_));
  }
  [[nodiscard]] bool has_batches() const override { return asks_batches; }

  [[nodiscard]] std::uint64_t ask(const key_block& block, call_with how) const override {
    const auto keys = block.of<key>();
    if (how == call_with::dependent) return ask_dependent(keys);
    if constexpr (asks_batches) {
      if (how == call_with::batch) return query_batch(keys);
    }
    const auto count_hits = [keys](const auto& asks) {
      std::uint64_t hits = 0;
      for (const key& each : keys) hits += asks(each) ? 1U : 0U;
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
    if constexpr (adds_shared) subject_.insert_shared(block.of<key>());
  }
  bool add_parallel(const key_block& block, unsigned threads) override {
    if constexpr (requires { subject_.insert_parallel(block.of<key>(), threads); }) {
      subject_.insert_parallel(block.of<key>(), threads);
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
        const auto part = keys.subspan(first, std::min(chunk_keys, keys.size() - first));
        subject_.may_contain_batch(part, std::span<std::uint64_t>(mask));
        hits += count_answers(mask, part.size());
      }
      return hits;
    }
  }
  // Which of two neighbours is asked for hangs on the answer before.
  std::uint64_t ask_dependent(std::span<const key> keys) const {
    std::uint64_t hits = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i + 1 < keys.size(); ++i) {
      last = subject_.may_contain(keys[i + last]) ? 1U : 0U;
      hits += last;
    }
    return hits;
  }
  // Texts are copied into large pieces that never move, since the views point into them.
  void lay_aside(std::span<const key> keys) {
    if constexpr (std::is_same_v<key, std::string_view>) {
      for (const std::string_view each : keys) {
        auto& bytes = laid_bytes_.empty() || laid_bytes_.back().size() + each.size() > laid_bytes_.back().capacity()
                          ? laid_bytes_.emplace_back()
                          : laid_bytes_.back();
        if (bytes.capacity() < each.size()) bytes.reserve(std::max<std::size_t>(std::size_t{1} << 24U, each.size()));
        const std::size_t at = bytes.size();
        bytes.insert(bytes.end(), each.begin(), each.end());
        laid_aside_.emplace_back(bytes.data() + at, each.size());
      }
    } else {
      laid_aside_.insert(laid_aside_.end(), keys.begin(), keys.end());
    }
  }

  Subject subject_;
  std::vector<key> laid_aside_;
  std::vector<std::vector<char>> laid_bytes_;
};

}  // namespace bloomery::bench

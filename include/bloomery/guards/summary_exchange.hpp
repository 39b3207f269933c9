// guards/summary_exchange.hpp: who of several peers may have a key: each sends the others a compressed filter of its
// keys, and is queried only where that says "maybe".
//
//     auto peers = bloomery::summary_exchange::make("node-a", bloomery::hasher{});
//     if (!peers || !peers->expect("node-b")) return 2;
//     auto sent = peers->publish(own_filter, bloomery::byte_sink(to_all));     // bytes for every peer
//     auto taken = peers->receive("node-b", bytes);                            // what node-b published
//     auto there = peers->confirm(key, [&](std::string_view peer, auto& k) { return query(peer, k); });
//
// What it is    the peers, each with the last filter that it sent. No network inside: bytes go to your sink, and come
//               from you.
// Summaries     the native file of a filter, in `codec` (rans by default: a Bloom filter that is made sparser than usual is
//               sent in fewer bits, see docs/kinds/bloom.md), after 64 bytes: name, version, size, check. Every kind but
//               window and dual.
// Versions      the time of publish, or one more than the last where the clock did not go on. An older summary than the
//               one that is there changes nothing and is reported as such: messages may come late, or twice.
// Safe answer   a peer that sent nothing yet may have every key. A summary that is damaged, of another hash, seed or
//               secret, or refused memory, is an error, and from then on the peer may have every key, until a good one
//               comes: what is there may be older than what was refused. A key that a peer took since its last
//               summary is "absent" there: publish as often as that matters, and let what decides (an insert, a
//               payment) be confirmed elsewhere.
// confirm       asks all peers that match until one has the key. False: none of them has it. If one that was asked could
//               not answer and no other has it, that is an error, never false.
// Threads       look-ups: any number at once, also while summaries are received. expect: before, or by one thread.
// Memory        the filters of the peers, two of one peer for the moment of its replacement; 1 KiB a peer.
#pragma once

#include <bloomery/guards/summary/state.hpp>

namespace bloomery::inline BLOOMERY_ABI {

class BLOOMERY_API summary_exchange {
 public:
  // A name has 1 to 23 bytes. The hash, with its seed and secret, is that of all peers.
  static result<summary_exchange> make(std::string_view own_name, const hasher& hash,
                                       const summary_options& options = {}) noexcept;
  // A peer that there is. At most 64.
  result<void> expect(std::string_view peer) noexcept { return self_->expect(peer); }

  // The bytes for the peers; how many.
  result<std::uint64_t> publish(const any_filter& filter, const byte_sink& to) noexcept {
    return self_->publish(filter, to);
  }
  // What this peer sent; bytes of another peer are refused.
  result<summary_receipt> receive(std::string_view peer, std::span<const std::byte> bytes) noexcept {
    return self_->receive(peer, bytes);
  }
  // Whatever it sent is not believed any more: it may have every key. For a peer that lost its state.
  result<void> forget(std::string_view peer) noexcept { return self_->forget(peer); }

  // Calls f(std::string_view peer) for each that may have the key. How many there were.
  template <single_key Key, class F>
  std::size_t for_each_that_may_have(const Key& key, F&& f) const {
    const detail::summary_matches matches = self_->look(key);
    std::size_t count = 0;
    for (std::size_t i = 0; i < self_->peers(); ++i) {
      if (!matches.has(i)) continue;
      ++count;
      f(self_->name(i));
    }
    return count;
  }
  template <single_key Key>
  [[nodiscard]] bool may_have(const Key& key) const noexcept {
    return self_->look(key).any();
  }
  // Whether one of the peers has the key: has(peer, key) returns bool or result<bool>, and is called for those that match.
  template <single_key Key, class F>
  result<bool> confirm(const Key& key, F&& has) {
    const detail::summary_matches matches = self_->look(key);
    std::optional<error> failed;
    for (std::size_t i = 0; i < self_->peers(); ++i) {
      if (!matches.has(i)) {
        self_->count_saved(i);
        continue;
      }
      const result<bool> answer = has(self_->name(i), key);
      self_->settle(i, matches, answer);
      if (answer && *answer) return true;
      if (!answer) failed = answer.error();
    }
    if (failed) return fail(*failed);
    return false;
  }

  [[nodiscard]] std::size_t peers() const noexcept { return self_->peers(); }
  // Of one peer; zeros for a name that is not expected.
  [[nodiscard]] peer_stats stats(std::string_view peer) const noexcept { return self_->stats(peer); }
  // Of all together; `version` is that of the last own summary, `summary_bytes` its size.
  [[nodiscard]] peer_stats stats() const noexcept { return self_->stats(); }
  void collect(metric_sink& to) const noexcept { self_->collect(to); }

 private:
  explicit summary_exchange(std::unique_ptr<detail::summary_state> self) noexcept : self_(std::move(self)) {}

  std::unique_ptr<detail::summary_state> self_;
};

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/guards/summary.cpp>
#endif

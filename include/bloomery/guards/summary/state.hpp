// guards/summary/state.hpp: what guards/summary_exchange.hpp does with the digests of keys, and the bytes of a summary.
//
//      0   8  magic 89 42 4c 53 55 4d 0a 1a        48   8  bytes of the filter
//      8   4  version of this layout, 1            56   8  check of the bytes before
//     12   4  0                                    64   .  the filter: a native file (docs/file-format.md)
//     16  24  name of the sender, zeros after it
//     40   8  version of the summary
#pragma once

#include <array>
#include <bloomery/any_filter.hpp>
#include <bloomery/core/clock.hpp>
#include <bloomery/core/shared_count.hpp>
#include <bloomery/core/shared_lock.hpp>
#include <bloomery/guards/metrics.hpp>
#include <bloomery/native/codec.hpp>
#include <memory>
#include <optional>

namespace bloomery::inline BLOOMERY_ABI {

struct summary_options {
  std::uint32_t codec = codec_rans;
  std::uint64_t most_bytes = std::uint64_t{1} << 30U;  // of memory for a peer's filter
  const memory_hooks* memory = nullptr;                // for the filters of the peers; must outlive the exchange
  const clock_hook* clock = nullptr;                   // for versions; null is the system's
};

// What became of bytes that were received.
struct summary_receipt {
  bool taken = false;  // false: older than the one that is there, or the same
  std::uint64_t version = 0;
};

struct peer_stats {
  std::uint64_t version = 0;        // of its summary; 0: there is none, and it may have every key
  std::uint64_t summary_bytes = 0;  // as it was sent
  std::uint64_t received = 0;       // summaries that were taken
  std::uint64_t stale = 0;          // older ones
  std::uint64_t refused = 0;        // that were errors
  std::uint64_t saved = 0;          // it was not asked: its summary says "absent"
  std::uint64_t confirmed = 0;      // it was asked and has the key
  std::uint64_t false_positives = 0;
  std::uint64_t unfiltered = 0;  // asked without a summary, and it has not the key
  std::uint64_t failed = 0;      // asked, and it could not answer

  // The share of queries that were saved; 0 before the first.
  [[nodiscard]] double efficiency() const noexcept {
    return share(saved, saved + confirmed + false_positives + unfiltered + failed);
  }
  [[nodiscard]] double measured_fpr() const noexcept { return share(false_positives, saved + false_positives); }

 private:
  static double share(std::uint64_t part, std::uint64_t all) noexcept {
    return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
  }
};

namespace detail {

// By the index of the peer.
struct summary_matches {
  std::uint64_t maybe = 0;
  std::uint64_t unfiltered = 0;  // those of them without a summary
  [[nodiscard]] bool has(std::size_t i) const noexcept { return (maybe >> i & 1U) != 0; }
  [[nodiscard]] bool any() const noexcept { return maybe != 0; }
};

struct summary_header {
  static constexpr std::size_t bytes = 64;
  static constexpr std::size_t most_name_bytes = 23;
  std::array<char, most_name_bytes + 1> name{};
  std::uint64_t version = 0;
  std::uint64_t filter_bytes = 0;
};
BLOOMERY_API void encode_summary_header(const summary_header& header,
                                        std::span<std::byte, summary_header::bytes> out) noexcept;
// Of a whole summary: that the bytes after the header are as many as it states is checked, too.
BLOOMERY_API result<summary_header> decode_summary_header(std::span<const std::byte> summary) noexcept;

class BLOOMERY_API summary_state {
 public:
  static constexpr std::size_t most_peers = 64;

  static result<std::unique_ptr<summary_state>> make(std::string_view own_name, const hasher& hash,
                                                     const summary_options& options) noexcept;

  result<void> expect(std::string_view peer) noexcept;
  result<std::uint64_t> publish(const any_filter& filter, const byte_sink& to) noexcept;
  result<summary_receipt> receive(std::string_view peer, std::span<const std::byte> bytes) noexcept;
  result<void> forget(std::string_view peer) noexcept;

  template <class Key>
  [[nodiscard]] summary_matches look(const Key& key) const noexcept {
    summary_matches out;
    std::optional<std::uint64_t> narrow;
    std::optional<digest128> wide;
    const read_guard with_others(lock_);
    const std::size_t count = peers();
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bit = std::uint64_t{1} << i;
      const auto& filter = peers_[i]->filter;
      const result<bool> found = filter ? query(*filter, key, narrow, wide) : fail(errc::unsupported);
      if (found && !*found) continue;
      out.maybe |= bit;
      if (!found) out.unfiltered |= bit;
    }
    return out;
  }
  void count_saved(std::size_t i) const noexcept { peers_[i]->counts.saved.add(); }
  void settle(std::size_t i, const summary_matches& matches, const result<bool>& answer) const noexcept;

  [[nodiscard]] std::size_t peers() const noexcept { return count_.load(std::memory_order_acquire); }
  // Lives as long as the exchange.
  [[nodiscard]] std::string_view name(std::size_t i) const noexcept { return peers_[i]->name.data(); }
  [[nodiscard]] peer_stats stats(std::string_view peer) const noexcept;
  [[nodiscard]] peer_stats stats() const noexcept;
  void collect(metric_sink& to) const noexcept;

 private:
  using name_text = std::array<char, summary_header::most_name_bytes + 1>;
  struct peer_state {
    name_text name{};
    std::optional<any_filter> filter{};  // nothing: it may have every key
    std::uint64_t version = 0;           // of the newest summary that came, also where it was forgotten
    std::uint64_t summary_bytes = 0;
    struct {
      shared_count received, stale, refused, saved, confirmed, false_positives, unfiltered, failed;
    } counts{};
  };

  // By digests that are made once for all peers, by the hash that has the secret.
  template <class Key>
  [[nodiscard]] result<bool> query(const any_filter& filter, const Key& key, std::optional<std::uint64_t>& narrow,
                                   std::optional<digest128>& wide) const noexcept {
    if constexpr (is_byte_key<Key>) {
      if (!hash_.accepts(key_bytes(key).size())) return fail(errc::unsupported);
    }
    if (filter.digest_bits() == 64) {
      if constexpr (!std::is_same_v<Key, prehashed128>) {
        if (!narrow) narrow = digest_of(hash_, key);
        return filter.may_contain(prehashed{*narrow});
      }
    } else {
      if constexpr (!std::is_same_v<Key, prehashed>) {
        if (!wide) wide = digest128_of(hash_, key);
        return filter.may_contain(prehashed128{*wide});
      }
    }
    return fail(errc::unsupported);
  }

  summary_state(const hasher& hash, const summary_options& options) noexcept : hash_(hash), options_(options) {}
  static result<name_text> check_name(std::string_view name) noexcept;
  [[nodiscard]] peer_state* find(std::string_view peer) const noexcept;
  result<summary_receipt> take(peer_state& from, std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] peer_stats stats_of(const peer_state& peer) const noexcept;

  mutable shared_lock lock_{};
  hasher hash_;
  summary_options options_;
  name_text own_name_{};
  std::uint64_t own_version_ = 0;
  std::uint64_t own_bytes_ = 0;
  std::array<std::unique_ptr<peer_state>, most_peers> peers_{};
  std::atomic<std::size_t> count_{0};
};

}  // namespace detail

namespace metric_families {
inline constexpr metric_family peer_lookups{"bloomery_peer_lookups_total",
                                            "Look-ups at a peer, by what became of them.", metric_type::counter};
inline constexpr metric_family summaries{"bloomery_summaries_total",
                                         "Summaries that peers sent, by what became of them.", metric_type::counter};
inline constexpr metric_family summary_bytes{"bloomery_summary_bytes", "Size of the own summary when it was sent last.",
                                             metric_type::gauge};
inline constexpr metric_family known_peers{"bloomery_peers", "Peers, by whether their summary is known.",
                                           metric_type::gauge};
}  // namespace metric_families

}  // namespace bloomery::inline BLOOMERY_ABI

#include <algorithm>
#include <bloomery/guards/summary_exchange.hpp>

namespace bloomery::inline BLOOMERY_ABI {
namespace detail {

inline constexpr std::uint64_t summary_magic = 0x1a0a4d55534c4289ULL;
inline constexpr std::uint32_t summary_layout = 1;

inline std::uint64_t summary_check(const std::byte* from) noexcept {
  std::uint64_t check = 0;
  for (std::size_t i = 0; i < summary_header::bytes - 8; i += 8) {
    check = mix64((check ^ load_le<std::uint64_t>(from + i)) + i + 1);
  }
  return check;
}

BLOOMERY_BODY void encode_summary_header(const summary_header& header,
                                         std::span<std::byte, summary_header::bytes> out) noexcept {
  byte_writer to(out);
  to.write(summary_magic);
  to.write(summary_layout);
  to.write(std::uint32_t{0});
  to.write_bytes(std::as_bytes(std::span(header.name)));
  to.write(header.version);
  to.write(header.filter_bytes);
  to.write(summary_check(out.data()));
}

BLOOMERY_BODY result<summary_header> decode_summary_header(std::span<const std::byte> summary) noexcept {
  if (summary.size() < summary_header::bytes) {
    return fail(errc::truncated, {}, {summary.size(), summary_header::bytes});
  }
  byte_reader from(summary);
  if (from.read<std::uint64_t>() != summary_magic) return fail(errc::io, "is no summary of a peer");
  const auto layout = from.read<std::uint32_t>();
  const auto zero = from.read<std::uint32_t>();
  if (load_le<std::uint64_t>(summary.data() + 56) != summary_check(summary.data())) {
    return fail(errc::header_damaged, "of the summary");
  }
  if (layout != summary_layout || zero != 0) return fail(errc::newer_version, {}, {layout, summary_layout});
  summary_header header;
  const auto name = from.take(header.name.size());
  std::memcpy(header.name.data(), name.data(), name.size());
  if (header.name.back() != '\0') return fail(errc::bad_field, "name", {0});
  header.version = from.read<std::uint64_t>();
  header.filter_bytes = from.read<std::uint64_t>();
  const std::uint64_t rest = summary.size() - summary_header::bytes;
  if (header.filter_bytes > rest) return fail(errc::truncated, {}, {rest, header.filter_bytes});
  if (header.filter_bytes < rest) return fail(errc::trailing_bytes, {}, {rest, header.filter_bytes});
  return header;
}

BLOOMERY_BODY result<summary_state::name_text> summary_state::check_name(std::string_view name) noexcept {
  name_text out{};
  if (name.empty() || name.size() >= out.size() || name.find('\0') != std::string_view::npos) {
    return fail(errc::unsupported, "the name of a peer has 1 to 23 bytes, and no NUL");
  }
  std::copy(name.begin(), name.end(), out.begin());
  return out;
}

BLOOMERY_BODY result<std::unique_ptr<summary_state>> summary_state::make(std::string_view own_name, const hasher& hash,
                                                                         const summary_options& options) noexcept {
  const auto name = check_name(own_name);
  if (!name) return fail(name.error());
  std::unique_ptr<summary_state> self(new (std::nothrow) summary_state(hash, options));
  if (self == nullptr) return fail(errc::out_of_memory, "the peers", {sizeof(summary_state)});
  self->own_name_ = *name;
  return self;
}

BLOOMERY_BODY summary_state::peer_state* summary_state::find(std::string_view peer) const noexcept {
  const std::size_t count = peers();
  for (std::size_t i = 0; i < count; ++i) {
    if (name(i) == peer) return peers_[i].get();
  }
  return nullptr;
}

BLOOMERY_BODY result<void> summary_state::expect(std::string_view peer) noexcept {
  const auto name = check_name(peer);
  if (!name) return fail(name.error());
  if (peer == std::string_view(own_name_.data()))
    return fail(errc::unsupported, "a peer has another name than the own one");
  if (find(peer) != nullptr) return {};
  const std::size_t count = peers();
  if (count == most_peers) return fail(errc::unsupported, "there are 64 peers at most");
  peers_[count].reset(new (std::nothrow) peer_state);
  if (peers_[count] == nullptr) return fail(errc::out_of_memory, "the peers", {sizeof(peer_state)});
  peers_[count]->name = *name;
  count_.store(count + 1, std::memory_order_release);
  return {};
}

BLOOMERY_BODY result<std::uint64_t> summary_state::publish(const any_filter& filter, const byte_sink& to) noexcept {
  if (filter.capabilities().expires) return filter.model().cannot("be a summary: its keys expire");
  if (filter.capabilities().may_lose) return filter.model().cannot("be a summary: it may lose keys");
  if (filter.hash() != hash_.spec()) {
    return fail(errc::mismatch, "the summary is of another hash, seed or key than the exchange");
  }
  // Its size stands in front of it.
  memory_sink bytes(options_.memory);
  const save_options how{.codec = options_.codec, .memory = options_.memory};
  if (auto saved = filter.save_to(byte_sink(bytes), how); !saved) return fail(saved.error());
  summary_header header{.name = own_name_, .filter_bytes = bytes.bytes().size()};
  {
    const write_guard alone(lock_);
    own_version_ = std::max(now_ns(options_.clock), own_version_ + 1);
    own_bytes_ = summary_header::bytes + header.filter_bytes;
    header.version = own_version_;
  }
  std::array<std::byte, summary_header::bytes> first;
  encode_summary_header(header, first);
  if (auto done = to(first); !done) return fail(done.error());
  if (auto done = to(bytes.bytes()); !done) return fail(done.error());
  return summary_header::bytes + header.filter_bytes;
}

BLOOMERY_BODY result<summary_receipt> summary_state::receive(std::string_view peer,
                                                             std::span<const std::byte> bytes) noexcept {
  peer_state* const from = find(peer);
  if (from == nullptr) return fail(errc::unsupported, "a summary came from a peer that is not expected");
  auto taken = take(*from, bytes);
  if (taken) {
    (taken->taken ? from->counts.received : from->counts.stale).add();
    return taken;
  }
  // What is there may be older than what was refused: a key may have come in between.
  from->counts.refused.add();
  std::optional<any_filter> old;
  const write_guard alone(lock_);
  old.swap(from->filter);
  from->summary_bytes = 0;
  return taken;
}

BLOOMERY_BODY result<summary_receipt> summary_state::take(peer_state& from, std::span<const std::byte> bytes) noexcept {
  const auto header = decode_summary_header(bytes);
  if (!header) return fail(header.error());
  if (header->name != from.name) return fail(errc::mismatch, "the summary is that of another peer");
  {
    const read_guard with_others(lock_);
    if (header->version < from.version || (header->version == from.version && from.filter)) {
      return summary_receipt{.taken = false, .version = header->version};
    }
  }
  auto filter = any_filter::load_bytes(bytes.subspan(summary_header::bytes),
                                       {.memory = options_.memory, .max_bytes = options_.most_bytes});
  if (!filter) return fail(filter.error());
  if (filter->capabilities().expires || filter->capabilities().may_lose) {
    return filter->model().cannot("be a summary");
  }
  if (filter->hash() != hash_.spec()) {
    return fail(errc::mismatch, "the summary is of another hash, seed or key than the exchange");
  }
  if (filter->digest_bits() > 128) return filter->model().cannot("be a summary");
  std::optional<any_filter> fresh(std::move(*filter));
  const write_guard alone(lock_);
  if (header->version < from.version) return summary_receipt{.taken = false, .version = header->version};
  fresh.swap(from.filter);
  from.version = header->version;
  from.summary_bytes = bytes.size();
  return summary_receipt{.taken = true, .version = header->version};
}

BLOOMERY_BODY result<void> summary_state::forget(std::string_view peer) noexcept {
  peer_state* const from = find(peer);
  if (from == nullptr) return fail(errc::unsupported, "there is no such peer");
  std::optional<any_filter> old;
  const write_guard alone(lock_);
  old.swap(from->filter);
  from->summary_bytes = 0;
  from->version = 0;
  return {};
}

BLOOMERY_BODY void summary_state::settle(std::size_t i, const summary_matches& matches,
                                         const result<bool>& answer) const noexcept {
  const auto& counts = peers_[i]->counts;
  if (!answer) return counts.failed.add();
  if (*answer) return counts.confirmed.add();
  ((matches.unfiltered >> i & 1U) != 0 ? counts.unfiltered : counts.false_positives).add();
}

// ---- figures ----

BLOOMERY_BODY peer_stats summary_state::stats_of(const peer_state& peer) const noexcept {
  const auto& counts = peer.counts;
  return {.version = peer.filter ? peer.version : 0,
          .summary_bytes = peer.summary_bytes,
          .received = counts.received.value(),
          .stale = counts.stale.value(),
          .refused = counts.refused.value(),
          .saved = counts.saved.value(),
          .confirmed = counts.confirmed.value(),
          .false_positives = counts.false_positives.value(),
          .unfiltered = counts.unfiltered.value(),
          .failed = counts.failed.value()};
}

BLOOMERY_BODY peer_stats summary_state::stats(std::string_view peer) const noexcept {
  const peer_state* const found = find(peer);
  if (found == nullptr) return {};
  const read_guard with_others(lock_);
  return stats_of(*found);
}

BLOOMERY_BODY peer_stats summary_state::stats() const noexcept {
  const read_guard with_others(lock_);
  peer_stats all{.version = own_version_, .summary_bytes = own_bytes_};
  for (std::size_t i = 0; i < peers(); ++i) {
    const peer_stats each = stats_of(*peers_[i]);
    all.received += each.received;
    all.stale += each.stale;
    all.refused += each.refused;
    all.saved += each.saved;
    all.confirmed += each.confirmed;
    all.false_positives += each.false_positives;
    all.unfiltered += each.unfiltered;
    all.failed += each.failed;
  }
  return all;
}

BLOOMERY_BODY void summary_state::collect(metric_sink& to) const noexcept {
  namespace family = metric_families;
  const peer_stats all = stats();
  std::uint64_t known = 0;
  {
    const read_guard with_others(lock_);
    for (std::size_t i = 0; i < peers(); ++i) known += peers_[i]->filter ? 1U : 0U;
  }
  to.count(family::peer_lookups, all.saved, {"answer", "saved"});
  to.count(family::peer_lookups, all.confirmed, {"answer", "confirmed"});
  to.count(family::peer_lookups, all.false_positives, {"answer", "false_positive"});
  to.count(family::peer_lookups, all.unfiltered, {"answer", "unfiltered"});
  to.count(family::peer_lookups, all.failed, {"answer", "failed"});
  to.value(family::efficiency, all.efficiency());
  to.value(family::measured_fpr, all.measured_fpr());
  to.count(family::summaries, all.received, {"outcome", "taken"});
  to.count(family::summaries, all.stale, {"outcome", "stale"});
  to.count(family::summaries, all.refused, {"outcome", "refused"});
  to.count(family::summary_bytes, all.summary_bytes);
  to.count(family::known_peers, known, {"summary", "known"});
  to.count(family::known_peers, peers() - known, {"summary", "unknown"});
}

}  // namespace detail

BLOOMERY_BODY result<summary_exchange> summary_exchange::make(std::string_view own_name, const hasher& hash,
                                                              const summary_options& options) noexcept {
  auto made = detail::summary_state::make(own_name, hash, options);
  if (!made) return fail(made.error());
  return summary_exchange(std::move(*made));
}

}  // namespace bloomery::inline BLOOMERY_ABI

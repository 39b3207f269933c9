// peer_summary.cpp: a fuzz target for what a peer sends to a summary_exchange: as it is, and with its header made right.
#include <algorithm>
#include <bloomery/guards/summary_exchange.hpp>
#include <cstdlib>
#include <vector>

#include "target.hpp"

namespace {

using namespace bloomery;

void require(bool condition) {
  if (!condition) std::abort();
}

void receive(std::span<const std::byte> bytes) {
  auto peers = summary_exchange::make("here", hasher{}, {.most_bytes = std::uint64_t{16} << 20U});
  require(peers.has_value() && peers->expect("there").has_value());
  const auto taken = peers->receive("there", bytes);
  const bool known = taken && taken->taken;
  if (!known) require(peers->may_have("any key"));  // never "absent" without a summary
  if (!taken) static_cast<void>(describe(taken.error()));
}

int run_input(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  receive(file);
  detail::summary_header header{.version = 1, .filter_bytes = size};
  constexpr std::string_view sender = "there";
  std::copy(sender.begin(), sender.end(), header.name.begin());
  std::vector<std::byte> made(detail::summary_header::bytes);
  detail::encode_summary_header(header, std::span<std::byte, detail::summary_header::bytes>(made));
  made.insert(made.end(), file.begin(), file.end());
  receive(made);
  return 0;
}

}  // namespace

BLOOMERY_FUZZ_TARGET(run_input)

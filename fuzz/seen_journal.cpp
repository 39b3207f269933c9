// seen_journal.cpp: a fuzz target for the journal of a seen_set: as it is, and with its header made right.
#include <algorithm>
#include <array>
#include <bloomery/guards/seen/journal.hpp>
#include <cstdlib>
#include <vector>

#include "target.hpp"

namespace {

using namespace bloomery;

void require(bool condition) {
  if (!condition) std::abort();
}

void read_all(std::span<const std::byte> file) {
  const auto read = [&](std::uint64_t offset, std::span<std::byte> out) -> result<void> {
    require(offset <= file.size() && out.size() <= file.size() - offset);  // never beyond the size that was stated
    std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return {};
  };
  std::uint64_t taken = 0;
  const auto check = [](const detail::journal_header&) -> result<void> { return {}; };
  const auto take = [&](const detail::journal_record&) -> result<void> {
    ++taken;
    return {};
  };
  const auto end = detail::read_journal(read, file.size(), check, take);
  if (!end) return static_cast<void>(describe(end.error()));
  require(end->records == taken && end->bytes <= file.size());
}

int run_input(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  read_all(file);
  // The rest of the input as records that are whole, of a header whose numbers are its first bytes.
  if (size < 2) return 0;
  const detail::journal_header header{.kind_id = data[0], .wide = (data[1] & 1U) != 0, .timed = (data[1] & 2U) != 0};
  std::vector<std::byte> made(detail::journal_header::bytes);
  detail::encode_journal_header(header, std::span<std::byte, detail::journal_header::bytes>(made));
  const std::uint64_t count = size / 8;
  for (std::uint64_t i = 0; i < count; ++i) {
    made.resize(made.size() + header.record_bytes());
    detail::encode_journal_record(header, i, {{load_le<std::uint64_t>(data + 8 * i), i}, i},
                                  std::span(made).last(header.record_bytes()));
  }
  read_all(made);
  if (count != 0) {
    made[data[1] % made.size()] ^= std::byte{1};
    read_all(made);
  }
  return 0;
}

}  // namespace

BLOOMERY_FUZZ_TARGET(run_input)

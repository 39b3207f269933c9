#include <algorithm>
#include <array>
#include <bloomery/guards/seen/journal.hpp>

namespace bloomery::inline BLOOMERY_ABI::detail {

inline constexpr std::uint64_t journal_magic = 0x1a0a0d524a4c4289ULL;
inline constexpr std::uint32_t journal_version = 1;
inline constexpr std::uint32_t journal_wide = 1;
inline constexpr std::uint32_t journal_timed = 2;

// Of `words` 64-bit words; from another start, another check.
inline std::uint64_t journal_check(std::uint64_t start, const std::byte* from, std::size_t words) noexcept {
  std::uint64_t check = mix64(start + 0x9e3779b97f4a7c15ULL);
  for (std::size_t i = 0; i < words; ++i) check = mix64((check ^ load_le<std::uint64_t>(from + 8 * i)) + i + 1);
  return check;
}
inline std::uint64_t record_start(const journal_header& header, std::uint64_t number) noexcept {
  return mix64(header.id) + number;
}

BLOOMERY_BODY void encode_journal_header(const journal_header& header,
                                         std::span<std::byte, journal_header::bytes> out) noexcept {
  byte_writer to(out);
  to.write(journal_magic);
  to.write(journal_version);
  to.write((header.wide ? journal_wide : 0U) | (header.timed ? journal_timed : 0U));
  to.write(header.kind_id);
  to.write(header.hash.id);
  to.write(header.hash.seed);
  to.write(header.hash.key_id);
  to.write(header.first_keys);
  to.write(header.id);
  to.write(journal_check(0, out.data(), 7));
}

BLOOMERY_BODY result<journal_header> decode_journal_header(
    std::span<const std::byte, journal_header::bytes> in) noexcept {
  byte_reader from(in);
  if (from.read<std::uint64_t>() != journal_magic) return fail(errc::io, "is no journal of a seen set");
  const auto version = from.read<std::uint32_t>();
  if (load_le<std::uint64_t>(in.data() + 56) != journal_check(0, in.data(), 7)) {
    return fail(errc::header_damaged, "of the journal");
  }
  if (version != journal_version) return fail(errc::newer_version, {}, {version, journal_version});
  const auto flags = from.read<std::uint32_t>();
  if ((flags & ~(journal_wide | journal_timed)) != 0) return fail(errc::bad_field, "flags", {flags});
  journal_header header{.wide = (flags & journal_wide) != 0, .timed = (flags & journal_timed) != 0};
  header.kind_id = from.read<std::uint32_t>();
  header.hash.id = from.read<std::uint32_t>();
  header.hash.seed = from.read<std::uint64_t>();
  header.hash.key_id = from.read<std::uint64_t>();
  header.first_keys = from.read<std::uint64_t>();
  header.id = from.read<std::uint64_t>();
  return header;
}

BLOOMERY_BODY void encode_journal_record(const journal_header& header, std::uint64_t number,
                                         const journal_record& record, std::span<std::byte> out) noexcept {
  byte_writer to(out);
  to.write(record.digest.low);
  if (header.wide) to.write(record.digest.high);
  if (header.timed) to.write(record.time_ns);
  to.write(journal_check(record_start(header, number), out.data(), header.record_bytes() / 8 - 1));
}

BLOOMERY_BODY result<journal_end> read_journal(const journal_reader& read, std::uint64_t size_bytes,
                                               function_ref<result<void>(const journal_header&)> check,
                                               function_ref<result<void>(const journal_record&)> take) noexcept {
  if (size_bytes < journal_header::bytes) return journal_end{};
  std::array<std::byte, journal_header::bytes> first;
  if (auto done = read(0, first); !done) return fail(done.error());
  const auto header = decode_journal_header(first);
  if (!header) return fail(header.error());
  if (auto done = check(*header); !done) return fail(done.error());
  const std::size_t record_bytes = header->record_bytes();
  const std::uint64_t count = (size_bytes - journal_header::bytes) / record_bytes;
  journal_end end{.records = 0, .bytes = journal_header::bytes};
  std::array<std::byte, std::size_t{8} << 10U> held;
  const std::uint64_t most = held.size() / record_bytes;
  for (std::uint64_t number = 0; number < count;) {
    const auto some = static_cast<std::size_t>(std::min(most, count - number));
    const std::uint64_t offset = journal_header::bytes + number * record_bytes;
    if (auto done = read(offset, std::span(held).first(some * record_bytes)); !done) return fail(done.error());
    for (std::size_t i = 0; i < some; ++i, ++number) {
      const std::byte* const at = held.data() + i * record_bytes;
      const bool whole = load_le<std::uint64_t>(at + record_bytes - 8) ==
                         journal_check(record_start(*header, number), at, record_bytes / 8 - 1);
      if (!whole) continue;
      if (number != end.records) {
        const std::uint64_t bad = journal_header::bytes + end.records * record_bytes;
        return fail(errc::chunk_damaged, {}, {end.records, bad, bad + record_bytes - 1});
      }
      journal_record record{.digest = {load_le<std::uint64_t>(at), 0}};
      if (header->wide) record.digest.high = load_le<std::uint64_t>(at + 8);
      if (header->timed) record.time_ns = load_le<std::uint64_t>(at + record_bytes - 16);
      if (auto done = take(record); !done) return fail(done.error());
      ++end.records;
      end.bytes += record_bytes;
    }
  }
  return end;
}

}  // namespace bloomery::inline BLOOMERY_ABI::detail

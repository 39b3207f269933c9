// guards/seen/journal.hpp: the bytes of a journal: what a guards/seen_set.hpp took since its last snapshot.
//
//      0   8  magic 89 42 4c 4a 52 0d 0a 1a        24   8  seed
//      8   4  version, 1                           32   8  key id, 0 when not keyed
//     12   4  flags: 1 wide, 2 timed               40   8  keys of the filter before the first record
//     16   4  kind id                              48   8  id, another one for each journal
//     20   4  hash id                              56   8  check of the words before
//     64   .  records: digest (8; wide: 16), time in ns since 1970 (8; timed only), check (8)
//
// Integers are little-endian. The check of a record depends on the id of the journal and the number of the record, so
// that no record of another journal, and no page of zeros, passes for one. A process that is killed leaves a last record that
// is cut short: records at the end that fail their check, with none after them that passes, were never finished and are
// cut off. One that fails with a good one after it is damage, and an error.
#pragma once

#include <bloomery/core/bytes.hpp>
#include <bloomery/core/function_ref.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/core/wide.hpp>
#include <bloomery/hash/spec.hpp>
#include <span>

namespace bloomery::inline BLOOMERY_ABI::detail {

struct journal_header {
  std::uint32_t kind_id = 0;
  hash_spec hash{};
  bool wide = false;
  bool timed = false;
  std::uint64_t first_keys = 0;
  std::uint64_t id = 0;

  static constexpr std::size_t bytes = 64;
  static constexpr std::size_t most_record_bytes = 32;
  [[nodiscard]] std::size_t record_bytes() const noexcept { return 16U + (wide ? 8U : 0U) + (timed ? 8U : 0U); }
};
struct journal_record {
  digest128 digest{};  // of a filter of 64-bit digests: the low word
  std::uint64_t time_ns = 0;
};
// Where the records end that are whole.
struct journal_end {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;  // 0: not even the header is
};

BLOOMERY_API void encode_journal_header(const journal_header& header,
                                        std::span<std::byte, journal_header::bytes> out) noexcept;
BLOOMERY_API result<journal_header> decode_journal_header(
    std::span<const std::byte, journal_header::bytes> in) noexcept;
// header.record_bytes() bytes.
BLOOMERY_API void encode_journal_record(const journal_header& header, std::uint64_t number,
                                        const journal_record& record, std::span<std::byte> out) noexcept;

// What a journal is read through: read(offset, out) fills all of `out`.
using journal_reader = function_ref<result<void>(std::uint64_t offset, std::span<std::byte> out)>;
// check(header) once, then take(record) for every record in order, as soon as it is known to be whole; either may fail.
BLOOMERY_API result<journal_end> read_journal(const journal_reader& read, std::uint64_t size_bytes,
                                              function_ref<result<void>(const journal_header&)> check,
                                              function_ref<result<void>(const journal_record&)> take) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI::detail

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/guards/journal.cpp>
#endif

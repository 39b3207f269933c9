// posix/mapped.hpp: queries a filter in its file, without loading it.
//
//     auto filter = bloomery::mapped<bloomery::blocked>::open("users.bloom");
//     if (!filter) return fail(filter.error());
//     bloomery::result<bool> maybe = filter->may_contain(digest);
//
// posix/mapped_filter.hpp takes keys.
//
// Opening checks the header and reads nothing else, so a file of any size opens at once. A chunk of 4096 bytes is
// checked when a look-up first touches it; a damaged one is an error of that look-up (errc::chunk_damaged), never a
// wrong answer. `trust` leaves that check out, for files known to be whole. `verify_all` checks everything now; from
// then on, as from the moment when every chunk has been touched, a look-up costs what it does in memory.
//
// Threads         any number at once. Two that touch a chunk at the same time may both check it.
// Limits          regular files that are neither packed nor in text encoding: others are refused with
//                 errc::not_mappable. Do not cut or overwrite a mapped file in place (posix/mapping.hpp); `save`
//                 replaces it safely.
#pragma once

#include <algorithm>
#include <atomic>
#include <bloomery/core/buffer.hpp>
#include <bloomery/core/result.hpp>
#include <bloomery/kinds/batch.hpp>
#include <bloomery/kinds/explain.hpp>
#include <bloomery/native/chunks.hpp>
#include <bloomery/native/header.hpp>
#include <bloomery/native/load.hpp>
#include <bloomery/native/text.hpp>
#include <bloomery/posix/load.hpp>
#include <bloomery/posix/mapping.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {

// Which chunks of a mapped file have been found whole: one bit each, after a count of them. Set by any thread.
class verified_chunks {
 public:
  static result<verified_chunks> make(std::uint64_t chunks, const memory_hooks* memory) noexcept {
    auto buffer = aligned_buffer::make(8 + (chunks + 63) / 64 * 8, "the list of checked chunks", memory);
    if (!buffer) return fail(buffer.error());
    verified_chunks made;
    made.words_ = reinterpret_cast<std::uint64_t*>(buffer->data());
    made.chunks_ = chunks;
    made.buffer_ = std::move(*buffer);
    return made;
  }
  verified_chunks() noexcept = default;

  // Relaxed everywhere: the bits guard bytes that never change, so there is nothing to order.
  [[nodiscard]] bool all() const noexcept { return at(0).load(std::memory_order_relaxed) == chunks_; }
  [[nodiscard]] bool test(std::uint64_t chunk) const noexcept {
    return (at(1 + chunk / 64).load(std::memory_order_relaxed) >> (chunk % 64) & 1U) != 0;
  }
  void set(std::uint64_t chunk) const noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (chunk % 64);
    if ((at(1 + chunk / 64).fetch_or(bit, std::memory_order_relaxed) & bit) == 0) {
      at(0).fetch_add(1, std::memory_order_relaxed);
    }
  }

 private:
  [[nodiscard]] std::atomic_ref<std::uint64_t> at(std::uint64_t word) const noexcept {
    return std::atomic_ref<std::uint64_t>(words_[word]);
  }
  std::uint64_t* words_ = nullptr;
  std::uint64_t chunks_ = 0;
  aligned_buffer buffer_;
};

}  // namespace detail

template <mappable K>
class mapped {
 public:
  // `shard`: take a shard of a set alone, too.
  static result<mapped> open(file_path path, bool trust = false, const memory_hooks* memory = nullptr,
                             bool shard = false) noexcept;
  // A file that is open, or whose header has been read, too.
  static result<mapped> open(const input_file& file, bool trust = false, const memory_hooks* memory = nullptr,
                             bool shard = false) noexcept;
  static result<mapped> open(const native_file& file, bool trust = false, const memory_hooks* memory = nullptr,
                             bool shard = false) noexcept;

  // Digests of 64 bits, and of 128 for kinds that take them.
  template <class Digest>
  [[nodiscard]] result<bool> may_contain(Digest digest) const noexcept {
    if (auto fits = check_digest_width<Digest>(header_.shape.digest_bits); !fits) return fail(fits.error());
    if (!known_whole()) {
      if (auto whole = check_touched(digest); !whole) return fail(whole.error());
    }
    return filter_.may_contain(digest);
  }
  template <class Digest>
  [[nodiscard]] result<explanation> explain(Digest digest) const noexcept requires explained_kind<K> {
    if (auto fits = check_digest_width<Digest>(header_.shape.digest_bits); !fits) return fail(fits.error());
    if (!known_whole()) {
      if (auto whole = check_touched(digest); !whole) return fail(whole.error());
    }
    return filter_.explain(digest);
  }
  // As K::may_contain_batch. When it fails, the mask holds no answers.
  result<void> may_contain_batch(std::span<const std::uint64_t> digests, std::span<std::uint64_t> mask) const noexcept {
    return query_batch(digests, mask);
  }
  result<void> may_contain_batch(std::span<const digest128> digests,
                                 std::span<std::uint64_t> mask) const noexcept requires digest128_kind<K> {
    return query_batch(digests, mask);
  }

  // As K::count for each digest. When it fails, there are no counts.
  result<void> count_batch(std::span<const std::uint64_t> digests,
                           std::span<std::uint64_t> counts) const noexcept requires countable<K> {
    if (auto fits = check_digest_width<std::uint64_t>(header_.shape.digest_bits); !fits) return fits;
    for (std::size_t i = 0; !known_whole() && i < digests.size(); ++i) {
      if (auto whole = check_touched(digests[i]); !whole) return whole;
    }
    bloomery::count_batch(filter_, digests, counts);
    return {};
  }

  // Whether no look-up has to check a chunk any more.
  [[nodiscard]] bool is_known_whole() const noexcept { return known_whole(); }
  // Reads the whole file once and compares every chunk with its checksum.
  [[nodiscard]] result<void> verify_all() const noexcept;
  // The same, but that a trusted file is taken as it is, and one whose chunks have all been checked is not read again.
  [[nodiscard]] result<void> verify_unless_trusted() const noexcept {
    return known_whole() ? result<void>{} : verify_all();
  }

  // Kinds that expire: another clock, null is the system's.
  void set_clock(const clock_hook* clock) noexcept {
    if constexpr (requires { filter_.set_clock(clock); }) filter_.set_clock(clock);
  }

  // The filter as it is in the file, for everything but look-ups (fill, describe, clone). Its bytes are not checked
  // unless verify_all has succeeded. It must not outlive the mapping.
  [[nodiscard]] const K& unchecked() const noexcept { return filter_; }
  [[nodiscard]] const file_header& header() const noexcept { return header_; }
  [[nodiscard]] hash_spec hash() const noexcept { return header_.hash; }

 private:
  static failure is_text() noexcept { return fail(errc::not_mappable, "in text form"); }
  static result<void> check(const file_header& header, bool shard) noexcept {
    if (auto done = detail::check_kind(header, detail::loader_of<K>()); !done) return done;
    if (auto whole = detail::check_alone(header, shard); !whole) return whole;
    if (header.codec != codec_none) {
      return fail(errc::not_mappable, "compressed");
    }
    return {};
  }
  static result<mapped> view(file_mapping mapping, const file_header& header, bool trust,
                             const memory_hooks* memory) noexcept;
  mapped(file_mapping mapping, const file_header& header, K filter, detail::verified_chunks verified,
         bool trust) noexcept
      : mapping_(std::move(mapping)),
        header_(header),
        filter_(std::move(filter)),
        verified_(std::move(verified)),
        trust_(trust) {}

  [[nodiscard]] bool known_whole() const noexcept { return trust_ || verified_.all(); }
  [[nodiscard]] std::span<const std::byte> stored() const noexcept {
    return mapping_.bytes().subspan(to_size(header_.payload_offset()), to_size(header_.stored_bytes));
  }
  [[nodiscard]] result<void> check_chunk(std::uint64_t chunk) const noexcept;

  template <class Digest>
  [[nodiscard]] result<void> check_touched(Digest digest) const noexcept {
    result<void> whole{};
    filter_.for_each_touched(digest, [&](std::uint64_t first, std::uint64_t size) {
      for (std::uint64_t chunk = first / chunk_bytes; whole && chunk <= (first + size - 1) / chunk_bytes; ++chunk) {
        if (!verified_.test(chunk)) whole = check_chunk(chunk);
      }
    });
    return whole;
  }

  template <class Digest>
  result<void> query_batch(std::span<const Digest> digests, std::span<std::uint64_t> mask) const noexcept;

  file_mapping mapping_;
  file_header header_;
  K filter_;
  detail::verified_chunks verified_;
  bool trust_;
};

template <mappable K>
result<mapped<K>> mapped<K>::open(file_path path, bool trust, const memory_hooks* memory, bool shard) noexcept {
  const auto file = input_file::open(path);
  if (!file) return fail(file.error());
  return open(*file, trust, memory, shard);
}

template <mappable K>
result<mapped<K>> mapped<K>::open(const input_file& file, bool trust, const memory_hooks* memory, bool shard) noexcept {
  auto mapping = file_mapping::open(file);
  if (!mapping) return fail(mapping.error());
  const auto first = mapping->bytes().first(std::min<std::size_t>(mapping->bytes().size(), large_header_bytes));
  if (is_text_form(first)) return name_file(is_text(), file.path());
  const auto header = decode_header(first, mapping->bytes().size());
  if (!header) return name_file(fail(header.error()), file.path());
  if (auto right = check(*header, shard); !right) return name_file(fail(right.error()), file.path());
  return name_file(view(std::move(*mapping), *header, trust, memory), file.path());
}

template <mappable K>
result<mapped<K>> mapped<K>::open(const native_file& file, bool trust, const memory_hooks* memory,
                                  bool shard) noexcept {
  if (file.header().text) return is_text();
  if (auto right = check(file.header(), shard); !right) return fail(right.error());
  if (file.mappable_file() == nullptr) return file_mapping::not_regular();
  auto mapping = file_mapping::open(*file.mappable_file());
  if (!mapping) return fail(mapping.error());
  return view(std::move(*mapping), file.header(), trust, memory);
}

template <mappable K>
result<mapped<K>> mapped<K>::view(file_mapping mapping, const file_header& header, bool trust,
                                  const memory_hooks* memory) noexcept {
  auto filter =
      K::view(header.shape, mapping.bytes().subspan(to_size(header.payload_offset()), to_size(header.stored_bytes)));
  if (!filter) return fail(filter.error());
  auto verified = detail::verified_chunks::make(header.chunks(), memory);
  if (!verified) return fail(verified.error());
  return mapped(std::move(mapping), header, std::move(*filter), std::move(*verified), trust);
}

template <mappable K>
result<void> mapped<K>::check_chunk(std::uint64_t chunk) const noexcept {
  const std::byte* table = mapping_.bytes().data() + header_.checksums_offset();
  const auto expected = load_le<std::uint64_t>(table + chunk * checksum_bytes);
  const std::uint64_t padding_at = header_.payload_offset() + header_.stored_bytes;
  const bool whole =
      chunk_checksum(chunk, chunk_at(stored(), chunk)) == expected &&
      (chunk + 1 != header_.chunks() ||
       all_zero(mapping_.bytes().subspan(to_size(padding_at), to_size(padding_bytes(header_.stored_bytes)))));
  if (!whole) {
    return name_file(chunk_damaged(header_.payload_offset(), header_.stored_bytes, chunk), mapping_.path());
  }
  verified_.set(chunk);
  return {};
}

template <mappable K>
result<void> mapped<K>::verify_all() const noexcept {
  mapping_.advise_sequential();
  result<void> whole{};
  for (std::uint64_t chunk = 0; whole && chunk < header_.chunks(); ++chunk) whole = check_chunk(chunk);
  mapping_.advise_random();
  return whole;
}

template <mappable K>
template <class Digest>
result<void> mapped<K>::query_batch(std::span<const Digest> digests, std::span<std::uint64_t> mask) const noexcept {
  if (mask.size() < mask_words(digests.size())) {
    return fail(errc::bad_span, "the mask", {std::uint64_t{mask.size()} * 64, digests.size()});
  }
  if (auto fits = check_digest_width<Digest>(header_.shape.digest_bits); !fits) return fits;
  // A group's checks bring its bytes into the cache for the batch that follows. Whole words of the mask: 64 divides it.
  constexpr std::size_t group = 1024;
  for (std::size_t first = 0; first < digests.size();) {
    if (known_whole()) {
      filter_.may_contain_batch(digests.subspan(first), mask.subspan(first / 64));
      return {};
    }
    const auto here = digests.subspan(first, std::min(group, digests.size() - first));
    for (const Digest digest : here) {
      if (auto whole = check_touched(digest); !whole) return whole;
    }
    filter_.may_contain_batch(here, mask.subspan(first / 64));
    first += here.size();
  }
  return {};
}

}  // namespace bloomery::inline BLOOMERY_ABI

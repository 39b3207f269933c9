// posix/mapped_filter.hpp: queries a filter of keys in its file, without loading it: what filter<K, H> is in memory.
//
//     auto seen = bloomery::mapped_filter<bloomery::blocked>::open("seen.bloom");
//     if (!seen) return std::puts(bloomery::describe(seen.error()).c_str()), 2;
//     bloomery::result<bool> maybe = seen->may_contain("https://example.org/");
//     auto done = seen->may_contain_batch(urls, mask);         // a vector, an array or a span; bit i answers key i
//
// Keys and hash are those of filter.hpp: keys of any type (hash/key.hpp), mum2 with seed 0 unless you choose another.
// A file of another hash, seed or key is refused. Checks, threads and limits are those of posix/mapped.hpp: an error of a
// look-up is a damaged chunk, never a wrong answer.
#pragma once

#include <array>
#include <bloomery/hash/key.hpp>
#include <bloomery/hash/key_digests.hpp>
#include <bloomery/hash/spec.hpp>
#include <bloomery/posix/mapped.hpp>

namespace bloomery::inline BLOOMERY_ABI {

template <mappable K, hash_function H = default_hash>
class mapped_filter {
 public:
  static result<mapped_filter> open(file_path path, const H& hash = {}, const load_options& options = {}) noexcept {
    const auto file = input_file::open(path);
    if (!file) return fail(file.error());
    return open(*file, hash, options);
  }
  // A file that is open; it is not needed any more then.
  static result<mapped_filter> open(const input_file& file, const H& hash = {},
                                    const load_options& options = {}) noexcept {
    auto opened = mapped<K>::open(file, options.trust, options.memory, options.shard);
    if (!opened) return fail(opened.error());
    if (!(opened->hash() == spec_of(hash))) {
      return fail(errc::mismatch, "the file was written with another hash, seed or key than the program uses");
    }
    return mapped_filter(std::move(*opened), hash);
  }

  template <class Key>
  [[nodiscard]] result<bool> may_contain(const Key& key) const noexcept {
    if constexpr (both_128_bit && !std::is_same_v<Key, prehashed>) {
      if (takes_128_bit()) return file_.may_contain(digest128_of(hash_, key));
    }
    return file_.may_contain(digest_of(hash_, key));
  }
  // How often the key is there, as far as the kind can determine: 0 only when it is surely absent.
  template <class Key>
  requires countable<K>
  [[nodiscard]] result<std::uint64_t> count(const Key& key) const noexcept {
    const std::uint64_t digest = digest_of(hash_, key);
    std::uint64_t found = 0;
    if (auto done = file_.count_batch({&digest, 1}, {&found, 1}); !done) return fail(done.error());
    return found;
  }

  // Batches of keys of one type: what std::span takes. The mask holds mask_words(keys.size()) words. When it fails, there
  // are no answers.
  template <class Keys>
  result<void> may_contain_batch(const Keys& keys, std::span<std::uint64_t> mask) const noexcept {
    return query(constant(std::span(keys)), mask);
  }
  // `counts` is as long as `keys`.
  template <class Keys>
  requires countable<K> result<void> count_batch(const Keys& keys, std::span<std::uint64_t> counts)
  const noexcept {
    const auto all = constant(std::span(keys));
    if (counts.size() < all.size()) return fail(errc::bad_span, "the counts", {counts.size(), all.size()});
    return run_groups<std::uint64_t>(all, [&](auto digests, std::size_t first) {
      return file_.count_batch(digests, counts.subspan(first, digests.size()));
    });
  }

  // The filter by digests, its header and its checks: verify_all, is_known_whole.
  [[nodiscard]] const mapped<K>& file() const noexcept { return file_; }
  [[nodiscard]] const H& hash() const noexcept { return hash_; }

 private:
  static constexpr bool both_128_bit = digest128_kind<K> && hash128_function<H>;
  // A multiple of 64, so that every group starts a word of the mask.
  static constexpr std::size_t group = 512;

  mapped_filter(mapped<K> file, const H& hash) noexcept : file_(std::move(file)), hash_(hash) {}

  template <class Key, std::size_t Size>
  static std::span<const std::remove_const_t<Key>> constant(std::span<Key, Size> keys) noexcept {
    return keys;
  }
  [[nodiscard]] bool takes_128_bit() const noexcept { return file_.header().shape.digest_bits == 128; }

  template <class Key>
  result<void> query(std::span<const Key> keys, std::span<std::uint64_t> mask) const noexcept {
    if (mask.size() < mask_words(keys.size())) {
      return fail(errc::bad_span, "the mask", {std::uint64_t{mask.size()} * 64, keys.size()});
    }
    const auto look_up = [&](auto digests, std::size_t first) {
      return file_.may_contain_batch(digests, mask.subspan(first / 64));
    };
    if constexpr (both_128_bit && !std::is_same_v<Key, prehashed>) {
      if (takes_128_bit()) return run_groups<digest128>(keys, look_up);
    }
    if constexpr (stream_query_kind<K>) {
      if (!takes_128_bit() && file_.is_known_whole()) {
        file_.unchecked().may_contain_stream(keys.size(), digest_feed(key_digests<H, Key>{hash_, keys}), mask);
        return {};
      }
    }
    return run_groups<std::uint64_t>(keys, look_up);
  }
  // Calls f(digests, index of the first) for group after group, as long as it succeeds.
  template <class Digest, class Key, class F>
  result<void> run_groups(std::span<const Key> keys, F&& f) const noexcept {
    std::array<Digest, group> digests;
    for (std::size_t first = 0; first < keys.size(); first += group) {
      const std::size_t size = keys.size() - first < group ? keys.size() - first : group;
      if constexpr (sizeof(Digest) == 16) {
        for (std::size_t i = 0; i < size; ++i) digests[i] = digest128_of(hash_, keys[first + i]);
      } else {
        key_digests<H, Key>{hash_, keys}(first, size, digests.data());
      }
      if (auto done = f(std::span<const Digest>(digests).first(size), first); !done) return done;
    }
    return {};
  }

  mapped<K> file_;
  H hash_;
};

}  // namespace bloomery::inline BLOOMERY_ABI

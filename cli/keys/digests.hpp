// cli/keys/digests.hpp: keys in, digests out, on all processors: what every verb that reads keys does.
//
//     digest_stream stream(std::move(*reader), hash, filter.digest_bits());
//     while (true) {
//       auto more = stream.next();
//       if (!more || !*more) break;
//       auto inserted = filter.add(stream.digests());
//       stream.records()[i]                        // the record of digest i
//     }
//
// Threads read chunks of the input one after the other and split, extract and hash them side by side; the caller gets
// them in the order of the input, so what it does does not depend on their number. A verb can add work
// for every chunk, done after hashing, such as a look-up that writes its results into chunk.text:
//
//     digest_stream stream(std::move(*reader), hash, bits, [&](key_chunk& chunk) { ... });   // from many threads
//     auto chunk = stream.take();                  // in order; nullptr at the end
//     out.write((*chunk)->text);
//     stream.give_back(std::move(*chunk));         // its memory is used again
//
// -j N is the number of threads beside the caller's; with -j 1 there are none and the caller does everything, as it
// does for the first chunk in any case: short input is not worth a thread. A bounded number of chunks is under way. A
// failure, be it of reading, of a record or of the verb's work, comes after all chunks before it. Destruction stops
// the threads, also when one of them waits for input that does not come.
#pragma once

#include <bloomery/hash/hasher.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "cli/keys/keys.hpp"

namespace bloomery::cli {

class digest_stream {
 public:
  using work = std::function<void(key_chunk&)>;

  digest_stream(key_reader reader, const hasher& hash, unsigned digest_bits, work extra = {});
  digest_stream(digest_stream&& other) noexcept;
  digest_stream& operator=(digest_stream&& other) noexcept;
  ~digest_stream();

  // The next chunk, or nullptr at the end of all input. Chunks are never empty.
  outcome<std::unique_ptr<key_chunk>> take();
  void give_back(std::unique_ptr<key_chunk> chunk);

  // Whether nothing more has come after so long: time to print what is there. Does not wait with -j 1,
  // where the caller reads: then it is always true.
  [[nodiscard]] bool is_idle_for(std::chrono::milliseconds patience);

  // False at the end of all input. What the functions below return is valid until the next call.
  outcome<bool> next();
  [[nodiscard]] const key_chunk& chunk() const { return *chunk_; }
  [[nodiscard]] std::size_t size() const { return chunk_->size(); }
  [[nodiscard]] std::span<const std::uint64_t> digests64() const { return chunk_->digests64; }
  // Of the width that it was made with.
  [[nodiscard]] digest_span digests() const { return chunk_->digests(digest_bits_); }
  [[nodiscard]] record_view records() const { return chunk_->records(); }
  [[nodiscard]] std::span<const std::string_view> keys() const { return chunk_->keys; }

  // For what it knows of the input, and how much of it was delivered.
  [[nodiscard]] const key_reader& reader() const;

 private:
  class pipeline;
  std::unique_ptr<pipeline> pipeline_;
  std::unique_ptr<key_chunk> chunk_;
  unsigned digest_bits_ = 64;
};

// Makes the digests of a chunk, of this width.
inline void make_digests(key_chunk& chunk, const hasher& hash, unsigned digest_bits) {
  std::vector<std::uint64_t>& words = digest_bits == 64 ? chunk.digests64 : chunk.wide_words;
  if (digest_bits != 64) chunk.wide_bits = digest_bits;
  words.resize(chunk.size() * (digest_bits / 64));
  hash.digest_words(chunk.keys, digest_bits, words.data());
}

}  // namespace bloomery::cli

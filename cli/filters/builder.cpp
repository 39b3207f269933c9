#include "cli/filters/builder.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "cli/filters/fullness.hpp"
#include "cli/filters/kind_table.hpp"
#include "cli/filters/static_build.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/keys/digest_buffer.hpp"
#include "cli/keys/digests.hpp"
#include "cli/keys/distinct_counter.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/progress.hpp"
#include "cli/terminal/sizes.hpp"

namespace bloomery::cli {
namespace {

outcome<digest_stream> open_keys(const options& opts, const build_request& request, unsigned digest_bits,
                                 digest_stream::work extra = {}) {
  auto reader = key_reader::make(opts, opts.operands(), request.hash());
  if (!reader) return failed(reader.error());
  return digest_stream(std::move(*reader), request.hash(), digest_bits, std::move(extra));
}

result<void> insert(built& into, const key_batch& digests) {
  const auto inserted = into.filter.add(digests);
  if (!inserted) return fail(inserted.error());
  into.keys_read += digests.size();
  into.keys_inserted += *inserted;
  return {};
}

// Keys straight from the input into a filter whose size is known. What the filter refuses is in `why`, too.
outcome<built> build_direct(const options& opts, const build_request& request, any_filter filter, error& why) {
  built made{std::move(filter)};
  auto stream = open_keys(opts, request, made.filter.digest_bits());
  if (!stream) return failed(stream.error());
  progress line(opts, "building", stream->reader().total_bytes());
  while (true) {
    const auto more = stream->next();
    if (!more) return failed(more.error());
    if (!*more) return made;
    auto done = insert(made, stream->digests());
    if (!done) {
      why = done.error();
      return fail_error(why);
    }
    line.update(stream->reader().bytes_taken(), made.keys_read);
  }
}

// Reads once, and counts.
class collector {
 public:
  collector(const options& opts, const build_request& request)
      : opts_(opts), request_(request), extra_bits_(request.max_digest_bits()) {
    constexpr std::uint64_t least_bytes = std::uint64_t{16} << 20U;
    const auto ceiling = request.ceiling_bytes();
    limit_bytes_ = ceiling ? std::max(*ceiling, least_bytes) : available_memory_bytes() / 2;
  }

  outcome<built> run() {
    auto stream = open_keys(opts_, request_, 64, [this](key_chunk& chunk) { add_wider_digests(chunk); });
    if (!stream) return failed(stream.error());
    progress line(opts_, "reading", stream->reader().total_bytes());
    bool only_counts = false;
    while (true) {
      const auto more = stream->next();
      if (!more) return failed(more.error());
      if (!*more) break;
      counter_.add(stream->digests64());
      line.update(stream->reader().bytes_taken(), counter_.added());
      if (only_counts) continue;
      buffer_digests(*stream);
      if (fits()) continue;
      if (!stream->reader().all_regular()) return build_folding(*stream, line);
      only_counts = true;
      clear_buffers();
    }
    line.finish();
    return counted(build_counted(only_counts));
  }

 private:
  [[nodiscard]] std::uint64_t keys() const { return std::max<std::uint64_t>(1, counter_.at_most()); }
  // What the filter is sized for.
  [[nodiscard]] std::uint64_t wanted_keys() const { return request_.keys_with_copies(keys(), counter_.added()); }
  [[nodiscard]] std::uint64_t buffered_bytes() const { return digests64_.size_bytes() + wide_.size_bytes(); }

  void add_wider_digests(key_chunk& chunk) const {
    if (extra_bits_ != 64) make_digests(chunk, request_.hash(), extra_bits_);
  }

  void clear_buffers() {
    digests64_.clear();
    wide_.clear();
  }

  void buffer_digests(const digest_stream& stream) {
    digests64_.add(stream.digests64());
    wide_.add(stream.chunk().wide_words);
  }

  // Whether the buffers leave room for the filter.
  bool fits() {
    const std::uint64_t taken = buffered_bytes();
    if (taken > limit_bytes_ / 2) return false;
    // Planning takes time: repeated when the buffers have grown by 1/16.
    if (taken <= checked_bytes_ + checked_bytes_ / 16) return true;
    checked_bytes_ = taken;
    if (request_.memory_decides()) return true;  // the filter takes what is left
    const auto filter_bytes = request_.memory_for(wanted_keys());
    return !filter_bytes || taken + *filter_bytes <= limit_bytes_;  // impossible sizes are reported at the end
  }

  outcome<built> counted(outcome<built> made) const {
    if (!made) return made;
    made->keys_different = counter_.at_most();
    made->different_exact = counter_.is_exact();
    return made;
  }

  // "7,000 different keys among 10,000 read"
  [[nodiscard]] std::string keys_text() const {
    const std::uint64_t found = counter_.at_most();
    const std::uint64_t read = counter_.added();
    if (found == read) return fmt::format("{}, as many as were read", number_of(read, "key"));
    return fmt::format("{} different {} among {} read{}", with_commas(found), found == 1 ? "key" : "keys",
                       with_commas(read), counter_.is_exact() ? "" : " (estimated, 1 % added)");
  }

  // Blocks are dropped as they are done with, unless the filter may be full and the next one needs them.
  result<void> insert_buffered(built& made) {
    digest_buffer& buffer = made.filter.digest_bits() == 64 ? digests64_ : wide_;
    const bool keeps = request_.may_be_full();
    for (std::size_t i = 0; i < buffer.blocks(); ++i) {
      if (auto done = insert(made, buffer.block(i)); !done) return done;
      if (!keeps) buffer.drop(i);
    }
    if (!keeps) buffer.clear();
    return {};
  }

  // A filter for so many keys, from the buffers or from the files. What it refuses is in `why`, too.
  outcome<built> build_for(std::uint64_t wanted, bool read_again, error& why) {
    auto filter = request_.make(wanted, limit_bytes_ - std::min(limit_bytes_, buffered_bytes()));
    if (!filter) return failed(filter.error());
    if (read_again) return build_direct(opts_, request_, std::move(*filter), why);
    built made{std::move(*filter)};
    if (auto done = insert_buffered(made); !done) {
      why = done.error();
      return fail_error(why);
    }
    return made;
  }

  // Fixed-capacity kinds can be full although they are sized for all keys: copies of a key crowd the few places that it
  // has, and some layouts fill less than others. Then a larger filter is made, and where that does not help, a set.
  outcome<built> build_counted(bool read_again) {
    constexpr unsigned most_steps = 3;  // of a quarter each: twice the size
    const bool can_repeat = read_again || request_.may_be_full();
    const bool has_copies = counter_.different() < counter_.added();
    std::optional<build_request> set =
        can_repeat && has_copies && request_.stores_copies() ? request_.as_set() : std::nullopt;
    std::uint64_t wanted = wanted_keys();
    unsigned step = 0;
    bool is_set = false;
    while (true) {
      error why{};
      auto made = build_for(wanted, read_again, why);
      if (made) {
        note(opts_, sized_text(wanted));
        if (is_set) warn_of_set();
        return made;
      }
      if (why.code == errc::full && can_repeat && step < most_steps) {
        ++step;
        wanted += wanted / 4 + 1;
      } else if (set && !is_set) {
        request_ = *set;
        is_set = true;
        step = 0;
        wanted = keys();
      } else {
        return made;
      }
    }
  }

  void warn_of_set() const {
    warn(opts_, fmt::format(
                    "kind {} has no room for all copies of these keys: each key is stored once, in mode {}, and "
                    "none can be removed; give --mode {} to accept that, or --kind {}",
                    request_.kind().name, request_.mode(), request_.mode(), kinds_that(&kind_capabilities::saturates)));
  }

  [[nodiscard]] std::string sized_text(std::uint64_t wanted) const {
    if (wanted == keys()) return fmt::format("sized for {}", keys_text());
    const std::string_view why =
        counter_.different() < counter_.added() ? "with room for copies" : "to find room for all";
    return fmt::format("sized for {}, {}: {}", number_of(wanted, "key"), why, keys_text());
  }

  // From a pipe that cannot be read again: into the largest filter there may be, and then folded.
  outcome<built> build_folding(digest_stream& stream, progress& line) {
    auto filter = request_.make_foldable(request_.ceiling_bytes().value_or(available_memory_bytes() / 2));
    if (!filter && !request_.memory_for(keys())) return refuse_all(stream);
    if (!filter) return keys_do_not_fit();
    built made{std::move(*filter)};
    if (auto done = insert_buffered(made); !done) return fail_error(done.error());
    clear_buffers();
    while (true) {
      const auto more = stream.next();
      if (!more) return failed(more.error());
      if (!*more) break;
      counter_.add(stream.digests64());
      auto done = insert(made, stream.chunk().digests(made.filter.digest_bits()));
      if (!done) return fail_error(done.error());
      line.update(stream.reader().bytes_taken(), made.keys_read);
    }
    line.finish();
    return counted(fold(std::move(made)));
  }

  [[nodiscard]] failed keys_do_not_fit() const {
    return fail_text(fmt::format("{} keys do not fit into memory while they are counted: give their number with -n",
                                 with_commas(counter_.added())));
  }

  // What is impossible for the keys so far is so for all: counts the rest, so that the refusal is about all.
  outcome<built> refuse_all(digest_stream& stream) {
    clear_buffers();
    while (true) {
      const auto more = stream.next();
      if (!more) return failed(more.error());
      if (!*more) break;
      counter_.add(stream.digests64());
    }
    const auto size = request_.memory_for(keys());
    return size ? keys_do_not_fit() : failed(size.error());
  }

  outcome<built> fold(built made) const {
    const std::uint64_t largest = made.filter.shape().capacity_keys;
    const bool too_many = keys() > largest;
    if (too_many && request_.ceiling_bytes() && !request_.memory_decides()) {
      // The same refusal as for a file, with the FPR that would fit.
      if (auto refused = request_.make(keys()); !refused) return failed(refused.error());
    }
    if (request_.memory_decides()) {
      const auto stats = made.filter.stats();
      if (!stats) return fail_error(stats.error());
      const double counted_fpr = request_.fpr_for(keys()).value_or(1.0);
      if (stats->fpr_now > useless_fpr && counted_fpr <= useless_fpr) {
        return fail_text(
            fmt::format("{} from a pipe would have a false-positive rate of {}: give their number, -n {}, for {}",
                        number_of(keys(), "key"), percent(stats->fpr_now), keys(), percent(counted_fpr)));
      }
      if (auto useful = request_.check_useful(keys(), stats->fpr_now, stats->memory_bytes); !useful) {
        return failed(useful.error());
      }
    } else {
      auto smaller = request_.folded(std::move(made.filter), keys());
      if (!smaller) return failed(smaller.error());
      made.filter = std::move(*smaller);
    }
    const std::uint64_t capacity = made.filter.shape().capacity_keys;
    std::string text =
        fmt::format("more keys than could be buffered in memory: filled a filter made for {}", with_commas(largest));
    if (capacity < largest) text.append(fmt::format(", folded to one for {}", with_commas(capacity)));
    note(opts_, fmt::format("{}; {}", text, keys_text()));
    return made;
  }

  const options& opts_;
  build_request request_;
  unsigned extra_bits_;  // of the digests that are kept beside those of 64 bits
  std::uint64_t limit_bytes_ = 0;
  std::uint64_t checked_bytes_ = 0;
  distinct_counter counter_;
  digest_buffer digests64_{64};
  digest_buffer wide_{extra_bits_};
};

}  // namespace

outcome<built> build_filter(const options& opts, const build_request& request) {
  if (request.takes_keys()) return build_from_keys(opts, request);
  if (request.is_static()) return build_static(opts, request);
  if (request.needs_count()) return collector(opts, request).run();
  auto filter = request.make(request.first_keys());
  if (!filter) return failed(filter.error());
  error why{};
  auto made = build_direct(opts, request, std::move(*filter), why);
  if (!made && why.code == errc::full && request.stores_copies()) {
    return fail_text(
        made.error().text +
        fmt::format("; copies of a key take room, too, unless --mode {} stores them once", request.set_mode()));
  }
  return made;
}

}  // namespace bloomery::cli

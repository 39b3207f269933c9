// cli/verbs/dedup.hpp: what the two halves of bloomery dedup share: dedup.cpp is exact, dedup_approx.cpp is not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "cli/dedup/exact.hpp"
#include "cli/flags/flags.hpp"
#include "cli/keys/digests.hpp"
#include "cli/terminal/output.hpp"

namespace bloomery::cli {

// Lines to standard output, or nowhere if only their number is requested.
class dedup_lines final : public dedup_sink {
 public:
  dedup_lines(dedup_mode mode, char terminator, bool silent) : mode_(mode), terminator_(terminator), silent_(silent) {}
  void encode(std::string& to, std::uint64_t /*sequence*/, std::uint64_t count, std::string_view text) const override {
    if (silent_) return;
    if (mode_ == dedup_mode::counts) to.append(std::to_string(count)).push_back('\t');
    to.append(text).push_back(terminator_);
  }
  outcome<void> write(std::string_view encoded) override {
    const std::size_t known = static_cast<std::size_t>(std::min<std::uint64_t>(skip_, encoded.size()));
    skip_ -= known;
    written_ += encoded.size();
    out_.write(encoded.substr(known));
    return out_.flush();
  }
  // What has been written will come once more, from the beginning, and is then passed over.
  void start_again() { skip_ = std::exchange(written_, 0); }
  // The names of the fields stay in front of the lines. Once; the reader knows them from the first chunk on.
  outcome<void> write_header(const key_reader& reader) {
    if (header_done_ || silent_ || !reader.header()) return {};
    header_done_ = true;
    if (mode_ == dedup_mode::counts) out_.write("count\t");
    out_.write(*reader.header());
    out_.write(terminator_);
    return out_.flush();
  }

 private:
  dedup_mode mode_;
  char terminator_;
  bool silent_;
  bool header_done_ = false;
  std::uint64_t written_ = 0;
  std::uint64_t skip_ = 0;
  output out_;
};

struct dedup_tally {
  std::uint64_t lines = 0;
  std::uint64_t different = 0;
  // Of --approx.
  double target_fpr = 0;
  double fpr_now = 0;
};

// The end of the output, and what --json prints. A state is changed after it: then standard output, where it is a file,
// is on the disk when this returns, because what a state knows is never printed again.
outcome<void> finish_output(const options& opts, const dedup_tally& done);

// All lines of the input, with digests of 64 bits.
inline outcome<digest_stream> open_lines(const options& opts, const hasher& hash) {
  auto reader = key_reader::make(opts, opts.operands(), hash);
  if (!reader) return failed(reader.error());
  if (!opts.has(flag::json)) reader->require_same_header();
  return digest_stream(std::move(*reader), hash, 64);
}

outcome<void> run_approx_dedup(const options& opts, dedup_lines& sink);

}  // namespace bloomery::cli

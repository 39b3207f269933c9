// bloomery explain: what a look-up of a key reads in a filter, and why it answers so.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/filters/open.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/keys/digests.hpp"
#include "cli/keys/key_parser.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/verbs/explain_text.hpp"
#include "cli/verbs/verb.hpp"

namespace bloomery::cli {
namespace {

// The FPR now, which reads the whole filter: computed when a key needs it, once. Nothing where the rest is damaged.
class lazy_fpr {
 public:
  lazy_fpr(const options& opts, const opened_filter& opened) : opts_(opts), opened_(opened) {}
  std::optional<double> get() {
    if (known_) return fpr_;
    known_ = true;
    const auto stats = opened_.filter.stats();
    if (stats) {
      fpr_ = stats->fpr_now;
    } else {
      warn(opts_, fmt::format("{}: {}", opened_.name, cli::text_of(stats.error())));
    }
    return fpr_;
  }

 private:
  const options& opts_;
  const opened_filter& opened_;
  bool known_ = false;
  std::optional<double> fpr_;
};

struct explained_key {
  std::string_view text;  // as it was given
  std::string_view key;   // the bytes that are hashed
  explanation why;
  std::optional<double> fpr;  // of a key that may be present

  // "maybe", or "present" where an answer is never wrong.
  [[nodiscard]] std::string_view word() const {
    if (!why.may_contain()) return "absent";
    return fpr && *fpr == 0 ? "present" : "maybe";
  }
};

std::string hex_of(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out.append(fmt::format("{:02x}", static_cast<unsigned char>(byte)));
  return out;
}

std::string_view name_of_hash(const any_filter& filter) {
  const hash_info* info = find_hash(filter.hash().id);
  return info == nullptr ? "?" : info->name;
}

// On one line.
std::string title_of(std::string_view key) {
  const bool plain = !key.empty() && std::none_of(key.begin(), key.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
  });
  return plain ? std::string(key) : quoted(key);
}

std::string text_of(const opened_filter& opened, const explained_key& of, const painter& paint) {
  std::string out = fmt::format("{}\n", paint(style::bold, title_of(of.text)));
  out.append(fmt::format("  digest {} ({})\n", digest_text(of.why), name_of_hash(opened.filter)));
  if (of.why.shards() != 0) {
    out.append(fmt::format("  shard {} of {}, counted from 0\n", of.why.shard(), of.why.shards()));
  }
  out.append(draw_groups(of.why, paint));
  if (of.why.reversed()) out.append("  the filter holds the excluded keys: a match there is a no\n");
  const std::string chance_text =
      of.fpr && *of.fpr > 0 ? fmt::format("; chance of that for an absent key now: {}", percent(*of.fpr)) : "";
  return out.append(fmt::format("  {}: {}{}\n", paint(style::bold, of.word()), reason_of(of.why), chance_text));
}

nlohmann::ordered_json json_of(const opened_filter& opened, const explained_key& of) {
  auto out = nlohmann::ordered_json::object();
  out["key"] = of.text;
  out["hashed_bytes"] = hex_of(of.key);
  out["hash"] = name_of_hash(opened.filter);
  out["digest"] = digest_text(of.why);
  out["digest_bits"] = of.why.digest().size() * 64;
  if (of.why.shards() != 0) out["shard"] = {{"index", of.why.shard()}, {"count", of.why.shards()}};
  out["may_contain"] = of.why.may_contain();
  out["fpr_now"] = of.fpr ? nlohmann::ordered_json(*of.fpr) : nlohmann::ordered_json(nullptr);
  out["reason"] = reason_of(of.why);
  out["reversed"] = of.why.reversed();
  out["is_cut"] = of.why.is_cut();
  out["groups"] = groups_as_json(of.why);
  return out;
}

outcome<int> run_explain(const options& opts) {
  if (opts.operands().size() < 2) {
    return fail_usage("give the filter and the keys: bloomery explain FILE KEY...");
  }
  const auto opened = open_filter(opts, opts.operands().front());
  if (!opened) return failed(opened.error());
  const auto hash = hasher_of(opts, *opened);
  if (!hash) return failed(hash.error());
  key_chunk chunk;
  if (auto taken = key_reader::take_words(opts, std::span(opts.operands()).subspan(1), *hash, chunk,
                                          formats::looks_up(opened->filter));
      !taken) {
    return failed(taken.error());
  }
  const unsigned digest_bits = opened->filter.digest_bits();
  make_digests(chunk, *hash, digest_bits);
  const bool by_key = formats::looks_up(opened->filter) != formats::key_form::digest;
  const painter paint(opts, STDOUT_FILENO);
  lazy_fpr rate(opts, *opened);
  output out;
  bool all = true;
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    auto why = by_key ? formats::explain(opened->filter, chunk.keys[i])
                      : opened->filter.model().explain(chunk.digests(digest_bits).subspan(i, 1));
    if (!why) {
      // What was explained before stays explained.
      static_cast<void>(out.flush());
      return fail_file(opened->name, why.error());
    }
    const bool found = why->may_contain();
    all = all && found;
    const explained_key of{chunk.records().text(i), chunk.keys[i], std::move(*why), found ? rate.get() : std::nullopt};
    if (opts.has(flag::json)) {
      out.write(json_of(*opened, of).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
      out.write('\n');
    } else {
      out.write(i == 0 ? "" : "\n");
      out.write(text_of(*opened, of, paint));
    }
  }
  if (auto done = out.flush(); !done) return failed(done.error());
  return all ? 0 : 1;
}

constexpr std::array explain_examples = {
    example{"bloomery explain seen.bloom alice", "which bits a look-up of alice reads, and what they say"},
    example{"bloomery explain --u64 ids.bloom 42 43", "two integers"},
    example{"bloomery explain --json seen.bloom alice | jq '.groups[].probes[].position'", "the positions alone"},
};

}  // namespace

const verb explain_verb = {
    .name = "explain",
    .alias = "",
    .bit = on_explain,
    .summary = "show what a look-up of a key reads in a filter, and why it answers so",
    .usage = "[OPTIONS] FILE KEY...",
    .description =
        "Looks up each KEY in the filter FILE, of any kind and format, and shows its digest, what was read and what "
        "that means. The keys are arguments, not files: after -- a KEY may begin with a dash.\n\n"
        "Bits and counters are drawn if they are few: those of a filter of up to 4,096 cells, or of the block that the "
        "key has. What the key reads is marked: ^ if it is set, x if it is not. Else there is a table: what is read, "
        "in which block, bucket or sub-filter, its position there, the byte of the filter's payload, the value, the "
        "value that would match, and whether it does.\n\n"
        "The last line is the answer and its reason. A key that may be present gets the probability that an absent key "
        "looks the same now, the false-positive rate, for which the whole filter is read. With --json each key is an "
        "object on its own line.",
    .examples = explain_examples,
    .exit_codes = "0: all keys may be present; 1: at least one is absent; 2: error",
    .run = run_explain,
};

}  // namespace bloomery::cli

// What is wrong with a filter, from its file, its keys, and the figures of a running program.
#include <fmt/core.h>

#include <algorithm>
#include <bloomery/core/binomial.hpp>
#include <bloomery/hash/list.hpp>
#include <bloomery/native/header.hpp>
#include <bloomery/posix/input.hpp>
#include <cmath>

#include "cli/filters/kind_table.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/verbs/doctor.hpp"

namespace bloomery::cli {
namespace {

constexpr double doubt = 0.005;                  // on each side: 99 %
constexpr std::uint64_t worth_having = 100'000;  // keys, below which a set of the keys costs little
constexpr std::uint64_t most_sub_filters = 4;

// For sh.
std::string shell_word(std::string_view word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-./,:+@%=") == std::string_view::npos;
  if (plain) return std::string(word);
  std::string out = "'";
  for (const char c : word) out.append(c == '\'' ? std::string_view("'\\''") : std::string_view(&c, 1));
  return out.append("'");
}

// How the keys are written, as it was given.
std::string key_options(const options& opts) {
  std::string out;
  const std::pair<flag, std::string_view> switches[] = {{flag::null, "-0"},         {flag::csv, "--csv"},
                                                        {flag::header, "--header"}, {flag::hex, "--hex"},
                                                        {flag::u64, "--u64"},       {flag::crlf, "--crlf"}};
  for (const auto& [id, text] : switches) {
    if (opts.has(id)) out.append(" ").append(text);
  }
  if (opts.has(flag::fields)) out.append(" -f ").append(shell_word(opts.text(flag::fields)));
  if (opts.has(flag::delimiter)) out.append(" -d ").append(shell_word(opts.text(flag::delimiter)));
  if (opts.has(flag::funnel)) out.append(" --funnel ").append(opts.text(flag::funnel));
  if (opts.has(flag::key_file)) out.append(" --key-file ").append(shell_word(opts.text(flag::key_file)));
  return out;
}

std::string keys_name(const options& opts) {
  return opts.has(flag::keys) && opts.text(flag::keys) != "-" ? shell_word(opts.text(flag::keys)) : "KEYFILE";
}

// "bloomery build KEYFILE -o FILE --force" and what is to be different.
std::string build_again(const options& opts, std::string_view file, std::string_view with) {
  return fmt::format("bloomery build{} {} -o {} --force{}{}", key_options(opts), keys_name(opts), shell_word(file),
                     with.empty() ? "" : " ", with);
}

// What has a better hash than the file of another product.
std::string build_native(const options& opts) {
  return fmt::format("bloomery build{} {} -o NATIVE.bloom", key_options(opts), keys_name(opts));
}

// As the filter is, for the options of another build: kind or format, and FPR.
std::string same_kind(const examination& of) {
  const opened_filter& opened = *of.opened;
  std::string out = opened.format->is_native() ? fmt::format("--kind {}", opened.filter.info().name)
                                               : fmt::format("--format {}", opened.format->name);
  if (of.stats.target_known && of.stats.target_fpr > 0) out.append(fmt::format(" -p {:.3g}", of.stats.target_fpr));
  const hash_spec& hash = opened.filter.hash();
  const hash_info* info = find_hash(hash.id);
  if (opened.format->is_native() && info != nullptr && hash.id != default_hash::info.id) {
    out.append(fmt::format(" --hash {}", info->name));
  }
  if (opened.format->is_native() && hash.seed != 0 && hash.key_id == 0)
    out.append(fmt::format(" --seed {}", hash.seed));
  return out;
}

// Keys in the filter, as well as is known.
std::uint64_t keys_of(const examination& of) {
  constexpr double estimate_error = 1.05;
  const bool all_known = of.keys && of.measured && of.measured->missing == 0 &&
                         (!of.full.countable ||
                          static_cast<double>(of.full.keys) < estimate_error * static_cast<double>(of.keys->different));
  return all_known ? of.keys->different : of.full.keys;
}

using symptoms = std::vector<symptom>;

void check_missing(const options& opts, const examination& of, symptoms& out) {
  if (!of.measured || of.measured->keys_hold()) return;
  const findings& found = *of.measured;
  out.push_back({.name = "keys_missing",
                 .how_bad = severity::broken,
                 .confidence = "certain",
                 .text = fmt::format("{} of {} in {} are not in it: it says that they are absent",
                                     with_commas(found.missing), number_of(found.keys, "key"), keys_name(opts)),
                 .command = found.missing * 2 > found.keys
                                ? "give the options that its keys were written with (-f, --csv, --hex, --u64, -0), or"
                                  " its own keys"
                                : build_again(opts, of.file, same_kind(of))});
}

void check_full(const options& opts, const examination& of, symptoms& out) {
  if (!of.full.overfull) return;
  const std::uint64_t keys = of.stats.loss ? of.full.taken : keys_of(of);
  std::string text = !of.full.countable
                         ? fmt::format("it holds far more keys than the {} that it was made for, too many to count",
                                       with_commas(of.stats.capacity_keys))
                         : fmt::format("it {} {} and was made for {}", of.stats.loss ? "has taken" : "holds about",
                                       number_of(keys, "key"), with_commas(of.stats.capacity_keys));
  text.append(fmt::format("; its FPR is {} and was to be {}", percent(of.stats.fpr_now), percent(of.stats.target_fpr)));
  const bool known = of.full.countable || (of.keys && of.keys->different > of.stats.capacity_keys);
  // Static kinds size themselves, and a build without -n counts its keys.
  const std::string size =
      known && !of.opened->filter.capabilities().is_static ? fmt::format(" -n {} --headroom 20%", keys) : "";
  out.push_back({.name = "overfull",
                 .how_bad = severity::broken,
                 .confidence = of.stats.keys.exact && of.full.countable ? "certain" : "likely",
                 .text = std::move(text),
                 .command = build_again(opts, of.file, same_kind(of) + size)});
}

// The measured FPR against what is promised, and against what the fill says.
void check_fpr(const options& opts, const examination& of, symptoms& out) {
  if (of.measured && of.measured->probes != 0 && !of.measured->fpr_holds()) {
    const findings& found = *of.measured;
    std::string text = fmt::format(
        "{} of {} matched: {}, between {} and {}; {}", with_commas(found.hits), number_of(found.probes, "absent key"),
        percent(found.rate()), percent(found.low), percent(found.high),
        found.stats.target_known ? target_fpr_text(found.stats) : "its fill explains " + percent(found.stats.fpr_now));
    if (!found.generated && !of.full.overfull && found.low > 2 * of.stats.fpr_now) {
      text.append("; if the list is right, its hash confuses these keys with its own; else they were added to it");
    }
    // What a product's own hash does, it does again.
    const bool native = of.opened->format->is_native();
    out.push_back({.name = "fpr_above_target",
                   .how_bad = severity::broken,
                   .confidence = "99 %",
                   .text = std::move(text),
                   .command = of.full.overfull ? ""
                              : native         ? build_again(opts, of.file, same_kind(of))
                                               : build_native(opts)});
  } else if (!of.full.overfull && of.stats.target_known && !of.opened->filter.info().exact &&
             of.stats.fpr_now > 1.05 * std::max(of.stats.target_fpr, of.stats.delivered_fpr)) {
    out.push_back({.name = "fpr_above_target",
                   .how_bad = severity::broken,
                   .confidence = "likely",
                   .text = fmt::format("by its fill its FPR is {}, and was to be {}", percent(of.stats.fpr_now),
                                       percent(of.stats.target_fpr)),
                   .command = build_again(opts, of.file, same_kind(of))});
  }
  if (const std::string text = delivered_advice(of.stats); !text.empty()) {
    out.push_back({.name = "layout_above_target", .how_bad = severity::broken, .confidence = "certain", .text = text});
  }
  if (const std::string text = loss_advice(of.stats); !text.empty()) {
    out.push_back({.name = "loses_keys",
                   .how_bad = severity::broken,
                   .confidence = "certain",
                   .text = text,
                   .command = build_again(opts, of.file, same_kind(of))});
  }
}

// Digests that are alike more often than chance has it.
void check_hash(const options& opts, const examination& of, symptoms& out) {
  const any_filter& filter = of.opened->filter;
  if (filter.info().exact && !filter.capabilities().excludes) return;
  const hash_info* info = find_hash(filter.hash().id);
  const std::string name = info == nullptr ? "its hash" : fmt::format("hash {}", info->name);
  const std::string better =
      of.opened->format->is_native()
          ? build_again(opts, of.file, fmt::format("--kind {} --hash {}", filter.info().name, default_hash::info.name))
          : build_native(opts);
  const double target = of.stats.target_known && of.stats.target_fpr > 0 ? of.stats.target_fpr : of.stats.fpr_now;
  if (of.keys) {
    const key_sample& keys = *of.keys;
    // A key that is absent shares its digest with one of n about twice as often as one of n does with another.
    const double added =
        keys.different == 0 ? 0 : 2 * static_cast<double>(keys.collisions) / static_cast<double>(keys.different);
    const bool collides = keys.collisions >= 5 && added > 0.05 * target;
    constexpr double most_uneven = 8;  // once in 10^14 for a good hash
    if (collides || keys.unevenness > most_uneven) {
      out.push_back({.name = "weak_hash",
                     .how_bad = severity::broken,
                     .confidence = "99 %",
                     .text = collides ? fmt::format("{} of {} share their digest with another one by {}: this alone "
                                                    "is an FPR of about {} for keys like these",
                                                    with_commas(keys.collisions),
                                                    number_of(keys.different, "different key"), name, percent(added))
                                      : fmt::format("the digests of these keys by {} are not evenly spread: {:.0f} "
                                                    "standard deviations from chance",
                                                    name, keys.unevenness),
                     .command = better});
      return;
    }
  }
  if (!of.measured || of.measured->generated || of.measured->probes == 0) return;
  // Real absent keys match more often than the fill explains. Where all keys are known, no others are in it.
  const findings& found = *of.measured;
  const bool all_keys =
      of.keys && static_cast<double>(of.full.keys) < 1.05 * static_cast<double>(of.keys->different) + 10;
  if (all_keys && found.low > 1.25 * of.stats.fpr_now) {
    out.push_back({.name = "weak_hash",
                   .how_bad = severity::broken,
                   .confidence = "99 %",
                   .text = fmt::format("absent keys like these match at {} or more, its fill explains {}: {} confuses "
                                       "them with its keys",
                                       percent(found.low), percent(of.stats.fpr_now), name),
                   .command = better});
  }
}

void check_keys(const options& opts, const examination& of, symptoms& out) {
  if (!of.keys) return;
  const key_sample& keys = *of.keys;
  const any_filter& filter = of.opened->filter;
  if (keys.keys > keys.different && (keys.keys - keys.different) * 100 > keys.keys) {
    out.push_back({.name = "duplicate_keys",
                   .how_bad = severity::advice,
                   .confidence = "certain",
                   .text = fmt::format("{} of {} are repeats: a filter sized for the lines is {:.1f} times as large as "
                                       "it need be",
                                       with_commas(keys.keys - keys.different), number_of(keys.keys, "key"),
                                       static_cast<double>(keys.keys) / static_cast<double>(keys.different)),
                   .command = fmt::format("bloomery dedup{} {}", key_options(opts), keys_name(opts))});
  }
  const double n = static_cast<double>(keys.different);
  const double filter_bits = static_cast<double>(of.stats.memory_bytes) * 8;
  if (keys.integers && keys.different > 1000 && !filter.info().integer_keys) {
    const double bitmap_bits = static_cast<double>(keys.most) + 1;
    if (bitmap_bits < filter_bits) {
      out.push_back(
          {.name = "dense_integers",
           .how_bad = severity::advice,
           .confidence = "certain",
           .text = fmt::format("the keys are {} integers up to {}: a bitmap takes at most {}, this filter {}; "
                               "and it is exact",
                               with_commas(keys.different), with_commas(keys.most),
                               human_size(static_cast<std::uint64_t>(bitmap_bits / 8) + 1),
                               human_size(of.stats.memory_bytes)),
           .command = fmt::format("bloomery build {} -o {} --force --kind bitmap --u64", keys_name(opts),
                                  shell_word(of.file))});
      return;
    }
  }
  if (filter.info().exact) return;
  constexpr double few = 64;  // possible keys for each that is in it
  if (keys.different > 1000 && keys.universe < few * n) {
    out.push_back(
        {.name = "low_entropy",
         .how_bad = severity::advice,
         .confidence = "certain",
         .text = fmt::format("only {} different keys can be written with the bytes of these {}: who tries "
                             "all of them learns what is in it, and one bit for each is {}",
                             with_commas(static_cast<std::uint64_t>(keys.universe)), with_commas(keys.different),
                             human_size(static_cast<std::uint64_t>(keys.universe / 8) + 1)),
         .command = build_again(opts, of.file, "--hash siphash13 --key-file SECRET")});
  }
}

// What the same bits would give with another number of hash functions.
void check_hashes(const options& opts, const examination& of, symptoms& out) {
  const fact_list facts = of.opened->filter.facts();
  const fact* hashes = facts.find("hash_functions");
  const fact* bits = facts.find("bits");
  const kind_info& kind = of.opened->filter.info();
  if (hashes == nullptr || bits == nullptr || of.opened->filter.shards() != 0 || of.full.overfull) return;
  const std::uint64_t keys = std::max(of.stats.target_known ? of.stats.capacity_keys : 0, keys_of(of));
  if (keys == 0 || bits->value.integer() == 0 || of.opened->codec != codec_none) return;
  const auto now = plan_kind(
      kind, {.keys = keys, .bits = bits->value.integer(), .hashes = static_cast<unsigned>(hashes->value.integer())});
  const auto best = plan_kind(kind, {.keys = keys, .bits = bits->value.integer()});
  if (!now || !best || now->hashes == best->hashes || now->fpr < 1.5 * best->fpr) return;
  out.push_back(
      {.name = "wrong_k",
       .how_bad = severity::advice,
       .confidence = "certain",
       .text = fmt::format("{} hash functions give {} at {}, {} would give {} with the same bits", now->hashes,
                           percent(now->fpr), number_of(keys, "key"), best->hashes, percent(best->fpr)),
       .command = build_again(opts, of.file, fmt::format("{} -n {} --hashes {}", same_kind(of), keys, best->hashes))});
}

// What the kind cannot do and its use needs.
void check_kind(const options& opts, const examination& of, symptoms& out) {
  const any_filter& filter = of.opened->filter;
  const kind_capabilities& can = filter.capabilities();
  const double in_it = static_cast<double>(of.full.keys);
  if (of.keys && of.measured && of.measured->missing == 0 && of.full.countable && !can.expires && !can.excludes) {
    const double known = static_cast<double>(of.keys->different);
    const double beyond = in_it - known;
    if (beyond > 0.1 * in_it && beyond > 5 * std::sqrt(in_it) + 10) {
      out.push_back({.name = "stale_keys",
                     .how_bad = severity::advice,
                     .confidence = of.stats.keys.exact ? "certain" : "99 %",
                     .text = fmt::format(
                         "about {} of its {} keys are not in {}: removed since, or of another list; "
                         "they take space and answer \"maybe\"{}",
                         with_commas(static_cast<std::uint64_t>(beyond)), with_commas(of.full.keys), keys_name(opts),
                         can.erases ? "" : fmt::format(", and kind {} cannot erase", filter.info().name)),
                     .command = build_again(opts, of.file, can.erases ? same_kind(of) : "--kind cuckoo")});
    }
  }
  for (const fact_list& facts : {filter.facts(), of.stats.facts}) {
    const fact* chain = facts.find("sub-filters");
    if (chain == nullptr || chain->value.integer() <= most_sub_filters) continue;
    out.push_back(
        {.name = "long_chain",
         .how_bad = severity::advice,
         .confidence = "certain",
         .text = fmt::format("it grew to {} sub-filters: an absent key is looked up in each of them; one "
                             "filter for {} is one look-up",
                             chain->value.integer(), number_of(of.full.keys, "key")),
         .command = build_again(opts, of.file, fmt::format("{} -n {} --headroom 20%", same_kind(of), of.full.keys))});
    break;
  }
}

void check_size(const options& opts, const examination& of, symptoms& out) {
  const std::uint64_t keys = keys_of(of);
  if (keys >= worth_having || of.opened->filter.info().exact) return;
  // A hash set of short strings: 32 bytes a string, 16 of a node, 8 of a bucket, and longer texts apart.
  const double mean =
      of.keys && of.keys->keys != 0 ? static_cast<double>(of.keys->bytes) / static_cast<double>(of.keys->keys) : 16;
  const double set_bytes = static_cast<double>(keys) * (56 + (mean > 15 ? mean + 16 : 0));
  static_cast<void>(opts);
  out.push_back({.name = "small_set",
                 .how_bad = severity::advice,
                 .confidence = "likely",
                 .text = fmt::format("{}: a hash set of them takes about {}, has no false positives and can list its "
                                     "keys; below {} a filter pays where the set must be sent or loaded often",
                                     number_of(keys, "key"), human_size(static_cast<std::uint64_t>(set_bytes)),
                                     with_commas(worth_having))});
}

void check_live(const options& opts, const examination& of, symptoms& out) {
  if (!of.live) return;
  const live_figures& live = *of.live;
  const auto whole = [](double value) { return value > 0 ? static_cast<std::uint64_t>(std::min(value, 1e18)) : 0; };
  const any_filter& filter = of.opened->filter;
  if (live.filtering && !*live.filtering) {
    out.push_back({.name = "not_filtering",
                   .how_bad = severity::broken,
                   .confidence = "certain",
                   .text = fmt::format("the running guard answers \"maybe\" to every key ({} look-ups so far): its "
                                       "filter is not loaded, damaged or full",
                                       with_commas(whole(live.unfiltered))),
                   .command = "call rebuild() of the guard; last_error() says why"});
  }
  const double low = binomial::lower_bound(whole(live.false_positives), whole(live.absent()), doubt);
  if (of.stats.target_known && whole(live.absent()) != 0 && low > 1.05 * of.stats.target_fpr) {
    const bool repeats = of.measured && of.measured->fpr_holds() && !of.full.overfull;
    out.push_back({.name = "live_fpr",
                   .how_bad = severity::broken,
                   .confidence = "99 %",
                   .text = fmt::format("{} of {} look-ups of absent keys were false positives: {} or more, promised "
                                       "was {}{}",
                                       with_commas(whole(live.false_positives)), with_commas(whole(live.absent())),
                                       percent(low), percent(of.stats.target_fpr),
                                       repeats ? "; the filter itself keeps its promise: the same keys come again and "
                                                 "again"
                                               : ""),
                   .command = repeats ? "give the guard report_bytes, so that it remembers them; or use a keyed hash, "
                                        "if an opponent repeats what it found"
                                      : build_again(opts, of.file, same_kind(of))});
  }
  constexpr double enough = 1000;
  if (live.queried() >= enough && live.absent() < 0.05 * live.queried()) {
    out.push_back(
        {.name = "nothing_to_save",
         .how_bad = severity::advice,
         .confidence = "certain",
         .text = fmt::format("{} of {} look-ups were of keys that are there: a filter saves nothing of them",
                             with_commas(whole(live.queried() - live.absent())), with_commas(whole(live.queried())))});
  }
  const double in_it = static_cast<double>(std::max<std::uint64_t>(of.full.keys, 1));
  if (!filter.capabilities().erases && live.removals > 0.1 * in_it) {
    out.push_back(
        {.name = "removals",
         .how_bad = severity::advice,
         .confidence = "certain",
         .text = fmt::format("{} keys were removed from the source, and kind {} holds {} and cannot erase: "
                             "they answer \"maybe\" until it is built again",
                             with_commas(whole(live.removals)), filter.info().name, with_commas(of.full.keys)),
         .command = build_again(opts, of.file, "--kind cuckoo")});
  }
  if (live.failed_rebuilds > 0) {
    out.push_back({.name = "failed_rebuilds",
                   .how_bad = severity::broken,
                   .confidence = "certain",
                   .text = fmt::format("{} of its rebuilds failed: it has the keys of an older one",
                                       with_commas(whole(live.failed_rebuilds))),
                   .command = "last_error() of the guard says why"});
  }
}

}  // namespace

std::vector<symptom> diagnose(const options& opts, const examination& of) {
  symptoms out;
  check_missing(opts, of, out);
  check_full(opts, of, out);
  check_fpr(opts, of, out);
  check_hash(opts, of, out);
  check_live(opts, of, out);
  check_kind(opts, of, out);
  check_hashes(opts, of, out);
  check_keys(opts, of, out);
  check_size(opts, of, out);
  std::stable_sort(out.begin(), out.end(), [](const symptom& a, const symptom& b) { return a.how_bad < b.how_bad; });
  return out;
}

symptom damage_of(const options& opts, const std::string& file, const error& why) {
  symptom out{.name = "damaged", .how_bad = severity::broken, .confidence = "certain", .text = {}};
  error unnamed = why;
  unnamed.path = {};
  out.text = std::string(sentence_of(unnamed).view());
  // The header may be whole, and says what to build.
  std::string with;
  const auto input = input_file::open(file);
  if (input && input->is_regular()) {
    std::vector<std::byte> first(
        static_cast<std::size_t>(std::min<std::uint64_t>(input->size_bytes(), large_header_bytes)));
    if (input->read_at(0, first)) {
      if (const auto header = detail::decode_header_area(first, input->size_bytes())) {
        const kind_entry* kind = find_kind(header->kind_id);
        if (kind != nullptr) {
          with = fmt::format("--kind {}", kind->info->name);
          if (header->shape.fpr > 0) with.append(fmt::format(" -p {:.3g}", header->shape.fpr));
          if (!kind->capabilities.is_static && !kind->info->grows && header->shape.capacity_keys != 0) {
            with.append(fmt::format(" -n {}", header->shape.capacity_keys));
          }
        }
      }
    }
  }
  out.command = build_again(opts, file, with);
  return out;
}

std::vector<std::string> not_checked(const options& opts, const examination& of) {
  std::vector<std::string> out;
  if (!of.measured && !of.opened->filter.info().exact) {
    out.emplace_back("keys and FPR: it has a keyed hash; give its secret with --key-file");
  }
  if (!opts.has(flag::keys)) out.emplace_back("missing, repeated and confused keys: give --keys KEYFILE");
  if (!opts.has(flag::absent) && !of.opened->filter.info().exact)
    out.emplace_back("the FPR for keys of your own: give --absent FILE");
  if (!opts.has(flag::live)) out.emplace_back("use in a running program: give --live metrics.txt");
  return out;
}

}  // namespace bloomery::cli

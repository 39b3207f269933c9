#include "cli/filters/build_request.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bloomery/kinds/digest_sort.hpp>
#include <bloomery/wrappers/any_shards.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "cli/filters/fullness.hpp"
#include "cli/filters/kind_table.hpp"
#include "cli/filters/open.hpp"
#include "cli/filters/shards.hpp"
#include "cli/flags/format_choice.hpp"
#include "cli/flags/numbers.hpp"
#include "cli/keys/keys.hpp"
#include "cli/terminal/sizes.hpp"
#include "cli/terminal/text.hpp"

namespace bloomery::cli {
namespace {

constexpr std::string_view default_kind = "blocked";
constexpr std::string_view compact_kind = "bloom";
// What the speed of the usual kind may cost: this share more bits, and in small filters a page.
constexpr double usual_share = 1.25;
constexpr std::uint64_t usual_bits = std::uint64_t{4096} * 8;
constexpr std::string_view default_keyed_hash = "siphash13";
constexpr std::string_view integer_hash = "identity";

outcome<hasher> chosen_hash(const options& opts, const kind_info& kind) {
  const bool has_secret = opts.has(flag::key_file);
  const std::string_view fallback =
      kind.integer_keys ? integer_hash : (has_secret ? default_keyed_hash : default_hash::info.name);
  const std::string_view name = opts.text(flag::hash, fallback);
  const hash_info* info = find_hash(name);
  if (info == nullptr) return fail_parameter(make_error(errc::unknown_hash, name));
  std::vector<std::byte> secret;
  if (info->key_bytes != 0) {
    if (!has_secret) {
      return fail_usage(
          fmt::format("hash {} needs a secret key of {} bytes: give it with --key-file", name, info->key_bytes));
    }
    if (opts.has(flag::seed))
      return fail_usage(fmt::format("hash {} takes a secret key and no seed: leave --seed out", name));
    auto read = read_secret(std::string(opts.text(flag::key_file)), info->key_bytes);
    if (!read) return failed(read.error());
    secret = std::move(*read);
  } else if (has_secret) {
    return fail_usage(fmt::format("hash {} takes no secret key: use siphash13, siphash24 or highwayhash64", name));
  }
  auto made = hasher::make(name, opts.count(flag::seed).value_or(0), secret);
  if (!made) return fail_parameter(made.error());
  return *made;
}

}  // namespace

outcome<build_request> build_request::from_format(const options& opts, const formats::format& format) {
  constexpr std::array own = {flag::kind,        flag::layout, flag::mode, flag::growth,   flag::window,
                              flag::generations, flag::hash,   flag::seed, flag::key_file, flag::exclude};
  for (const flag_row& row : flag_table()) {
    if ((row.verbs & on_build) == 0 || !opts.has(row.id) || takes(format, row.name) ||
        (!is_own_option(row.id) && std::find(own.begin(), own.end(), row.id) == own.end())) {
      continue;
    }
    return fail_usage(fmt::format("format {} has a kind and a hash of its own: leave --{} out", format.name, row.name));
  }
  if (opts.has(flag::shards)) {
    return fail_usage(fmt::format("a filter in shards is of format native, not {}: leave --shards out", format.name));
  }
  if (format.make == nullptr && format.build == nullptr)
    return fail_usage(fmt::format("files in format {} can be read, not built", format.name));
  auto taken = format_options_of(opts);
  if (!taken) return failed(taken.error());
  taken->kind = opts.text(flag::kind);
  taken->seed = opts.text(flag::seed);
  build_request request;
  request.format_ = &format;
  request.format_options_ = *taken;
  request.kind_ = format.kind_of == nullptr ? format.kind : format.kind_of(*taken);
  request.mode_ = opts.text(flag::mode);
  request.growth_ = opts.count(flag::growth);
  const auto spec = format.hash(*taken);
  if (!spec) return fail_parameter(spec.error());
  const auto hash = hasher::make(*spec);
  if (!hash) return fail_parameter(hash.error());
  request.hash_ = *hash;
  if (auto sizes = request.take_sizes(opts); !sizes) return failed(sizes.error());
  if (auto possible = request.sized(request.first_keys(), {}); !possible) return failed(possible.error());
  return request;
}

outcome<void> build_request::take_sizes(const options& opts) {
  if (opts.has(flag::fpr) && opts.has(flag::bits_per_key)) {
    return fail_usage("-p and --bits-per-key contradict each other: give one");
  }
  keys_ = opts.count(flag::capacity);
  fpr_ = opts.real(flag::fpr);
  bits_per_key_ = opts.real(flag::bits_per_key);
  ceiling_bytes_ = opts.count(flag::memory);
  headroom_ = opts.real(flag::headroom).value_or(0);
  if (const auto hashes = opts.count(flag::hashes)) {
    hashes_ = static_cast<unsigned>(std::min<std::uint64_t>(*hashes, std::numeric_limits<unsigned>::max()));
  }
  return {};
}

outcome<build_request> build_request::from(const options& opts) {
  const formats::format& format = output_format(opts);
  if (!format.is_native()) return from_format(opts, format);
  if (opts.has(flag::like)) return from_like(opts);
  if (auto fitting = check_parameters(opts, format); !fitting) return failed(fitting.error());
  build_request request;
  const std::string_view kind = opts.text(flag::kind, default_kind);
  request.kind_ = find_kind(kind);
  if (request.kind_ == nullptr) return fail_parameter(make_error(errc::unknown_kind, kind));
  // A layout belongs to the usual kind.
  if (!opts.has(flag::kind) && !opts.has(flag::layout)) request.compact_ = find_kind(compact_kind);
  if (request.kind_->info->integer_keys && !opts.has(flag::u64)) {
    return fail_usage(fmt::format("kind {} holds integers: give --u64", kind));
  }
  if (request.kind_->info->exact && (opts.has(flag::memory) || opts.has(flag::bits_per_key) || opts.has(flag::fpr))) {
    return fail_usage(
        fmt::format("kind {} is exact and as large as its keys: leave -p, --bits-per-key and --mem out", kind));
  }
  if (request.kind_->info->grows && (opts.has(flag::memory) || opts.has(flag::bits_per_key))) {
    return fail_usage(fmt::format("kind {} grows with its keys: leave --mem and --bits-per-key out", kind));
  }
  if (auto fits = check_exclude(opts, *request.kind_); !fits) return failed(fits.error());
  if (request.kind_->capabilities.is_static && opts.has(flag::headroom)) {
    return fail_usage(fmt::format("kind {} is static and takes no keys later: leave --headroom out", kind));
  }
  if (auto fits = check_options(opts, *request.kind_); !fits) return failed(fits.error());
  if (auto sizes = request.take_sizes(opts); !sizes) return failed(sizes.error());
  auto hash = chosen_hash(opts, *request.kind_->info);
  if (!hash) return failed(hash.error());
  request.hash_ = *hash;
  request.layout_ = opts.text(flag::layout);
  request.mode_ = opts.text(flag::mode);
  request.growth_ = opts.count(flag::growth);
  for (const flag_row& row : flag_table()) {
    if (!is_own_option(row.id) || !opts.has(row.id)) continue;
    request.own_options_.push_back(row.type == value_type::kind_choice ? option_value(row.name, opts.text(row.id))
                                                                       : option_value(row.name, *opts.count(row.id)));
  }
  request.shards_ = shards_wanted(opts);
  request.threads_ = jobs_of(opts);
  request.packs_ = opts.text(flag::compress, "none") != "none";
  if (auto taken = request.take_window(opts); !taken) return failed(taken.error());
  // Impossible sizes are refused before any input is read. What is impossible for one key is so for more; but the bits
  // of one key may be fewer than the least filter has.
  if (request.bits_per_key_ && !request.keys_) {
    constexpr std::uint64_t many_keys = 1'000'000;
    const auto params = request.params_for(many_keys, {});
    if (!params) return failed(params.error());
    if (auto possible = request.chosen(*params); !possible) return failed(possible.error());
  } else if (!request.kind_->info->exact) {
    if (auto possible = request.sized(request.first_keys(), {}); !possible) return failed(possible.error());
  }
  return request;
}

outcome<void> build_request::check_exclude(const options& opts, const kind_entry& kind) {
  if (opts.has(flag::exclude) && !kind.capabilities.excludes) {
    return fail_usage(fmt::format("kind {} cannot exclude keys: leave --exclude out, or use --kind {}", kind.info->name,
                                  kinds_that(&kind_capabilities::excludes)));
  }
  if (kind.capabilities.excludes && !opts.has(flag::exclude)) {
    return fail_usage(
        fmt::format("kind {} is built from keys to include and keys to exclude: give the latter with --exclude FILE",
                    kind.info->name));
  }
  return {};
}

outcome<void> build_request::check_options(const options& opts, const kind_entry& kind) {
  for (const flag_row& row : flag_table()) {
    if (!opts.has(row.id)) continue;
    const option_info* own = find_option(kind.options, row.name);
    const option_info* known = own;
    std::string others;  // that have it
    for (const kind_entry& each : kinds()) {
      const option_info* option = find_option(each.options, row.name);
      if (option == nullptr) continue;
      known = own == nullptr ? option : own;
      others.append(others.empty() ? "" : ", ").append(each.info->name);
    }
    // A layout is part of the size, and the plan refuses one that is wrong.
    if (known == nullptr || row.id == flag::layout) continue;
    if (own == nullptr) {
      return fail_usage(fmt::format("kind {} has no {}: leave --{} out, or use --kind {}", kind.info->name,
                                    known->title, row.name, others));
    }
    const option_choice* choice = own->find(opts.text(row.id));
    if (choice != nullptr && choice->needs_keys && !opts.has(flag::capacity)) {
      return fail_usage(
          fmt::format("{} {} takes as many keys as it is made for: give their number with -n", row.name, choice->name));
    }
    const std::uint64_t value = opts.count(row.id).value_or(own->least);
    if (own->type == option_type::integer && !own->takes(value)) {
      return fail_usage(fmt::format("--{}: {} is not usable: give {} to {}", row.name, value, own->least, own->most));
    }
  }
  return {};
}

outcome<void> build_request::take_window(const options& opts) {
  if (const auto generations = opts.count(flag::generations)) {
    const std::string_view follows = find_option(kind_->options, "generations")->follows;
    if (!layout_.empty() && layout_ != follows) {
      return fail_usage(fmt::format("--generations is for layout {} and not for {}: give one", follows, layout_));
    }
    layout_ = fmt::format("{}{}", follows, *generations);
  }
  const std::string_view text = opts.text(flag::window);
  if (!opts.has(flag::window)) return {};
  const bool timed = looks_like_duration(text);
  const auto value = timed ? parse_duration(text) : parse_count(text);
  if (!value) return fail_usage(fmt::format("--window: {}", value.error().text));
  if (timed) {
    window_ns_ = *value;
  } else if (*value == 0) {
    return fail_usage("--window: 0 is not usable: give 1 or more");
  } else if (keys_ && *keys_ != *value) {
    return fail_usage("-n and a number for --window mean the same: give one");
  } else {
    keys_ = *value;
  }
  return {};
}

unsigned build_request::max_digest_bits() const {
  if (format_ != nullptr) {
    const auto plan = format_->plan({.keys = std::uint64_t{1} << 20U}, format_options_);
    return plan ? plan->digest_bits : 64;
  }
  constexpr std::uint64_t most_keys_in_memory = std::uint64_t{1} << 36U;
  const double fpr =
      fpr_ ? *fpr_ : (bits_per_key_ ? std::exp2(-*bits_per_key_) : (ceiling_bytes_ ? 1e-12 : default_fpr));
  const bool takes_128_bit =
      kind_->capabilities.takes_digest128 || (compact_ != nullptr && compact_->capabilities.takes_digest128);
  return takes_128_bit && hash_.is_128_bit() && sizing::hash_bits_needed(most_keys_in_memory, fpr) > 64 ? 128 : 64;
}

unsigned build_request::copies_per_cell(std::string_view mode) const {
  const option_info* modes = find_option(kind_->options, "mode");
  if (modes == nullptr) return 0;
  const option_choice* chosen_mode = mode.empty() ? &modes->choices.front() : modes->find(mode);
  return chosen_mode == nullptr ? 0 : chosen_mode->copies_per_cell;
}

std::string_view build_request::set_mode() const {
  const option_info* modes = find_option(kind_->options, "mode");
  if (modes == nullptr) return {};
  for (const option_choice& choice : modes->choices) {
    if (choice.copies_per_cell == 0) return choice.name;
  }
  return {};
}

std::optional<build_request> build_request::as_set() const {
  if (!mode_.empty() || set_mode().empty()) return {};
  build_request set = *this;
  set.mode_ = set_mode();
  return set;
}

outcome<void> build_request::check_ceiling(const sized_kind& sized) const {
  if (!ceiling_bytes_ || sized.plan.memory_bytes <= *ceiling_bytes_) return {};
  std::string text = fmt::format("{} keys take {} and --mem allows {}", with_commas(*sized.params.keys),
                                 exact_size(sized.plan.memory_bytes), exact_size(*ceiling_bytes_));
  const filter_params fitting{.keys = sized.params.keys, .hashes = hashes_, .memory_bytes = ceiling_bytes_};
  const auto best = format_ != nullptr ? format_->plan(fitting, format_options_)
                                       : sized.kind->plan(params_per_shard(fitting).sizes(), layout_);
  if (best && best->fpr <= useless_fpr) text.append(fmt::format(": with -p {:.3g} they fit", best->fpr * 1.001));
  return fail_text(std::move(text));
}

outcome<void> build_request::check_useful(std::uint64_t keys, double fpr, std::uint64_t size_bytes) const {
  if (fpr_ || kind_->capabilities.excludes || fpr <= useless_fpr) return {};
  std::string text = fmt::format("{} in {} would have a false-positive rate of {}", number_of(keys, "key"),
                                 exact_size(size_bytes), percent(fpr));
  const filter_params useful{.keys = keys, .fpr = default_fpr};
  const auto plan = format_ != nullptr ? format_->plan(useful, format_options_)
                                       : kind_->plan(params_per_shard(useful).sizes(), layout_);
  if (plan && memory_decides()) {
    text.append(fmt::format(": give --mem {} for {}", plan->memory_bytes * std::max(shards_, 1U), percent(plan->fpr)));
  } else if (plan) {
    text.append(fmt::format(": give --bits-per-key {:.3g} for {}", plan->bits_per_key, percent(plan->fpr)));
  }
  return fail_text(text.append(", or -p to accept such an FPR"));
}

outcome<filter_params> build_request::params_for(std::uint64_t keys, std::optional<std::uint64_t> room_bytes,
                                                 std::uint64_t excluded) const {
  filter_params params;
  const double wanted = std::ceil(static_cast<double>(keys) * (1.0 + headroom_));
  if (headroom_ > 0 && !(wanted < static_cast<double>(max_keys))) {
    return fail_parameter(make_error(errc::bad_keys, fmt::format("{:.3g}", wanted), {max_keys}));
  }
  params.keys = headroom_ > 0 ? static_cast<std::uint64_t>(wanted) : keys;
  params.layout = layout_;
  params.mode = mode_;
  params.window_ns = window_ns_;
  params.growth = growth_;
  params.options = own_options_;
  params.hashes = hashes_;
  if (kind_->info->exact) return params;
  params.bits_per_key = bits_per_key_;
  if (kind_->capabilities.excludes) {
    params.excluded_keys = excluded;
    params.fpr = fpr_;  // without one, the lists decide
    return params;
  }
  if (memory_decides()) {
    params.memory_bytes = std::min(*ceiling_bytes_, room_bytes.value_or(*ceiling_bytes_));
  } else if (fpr_) {
    params.fpr = fpr_;
  } else if (!bits_per_key_ && format_ == nullptr) {  // a format has its own default FPR
    params.fpr = default_fpr;
  }
  return params;
}

std::optional<build_request::sized_kind> build_request::chosen_packed(const filter_params& params) const {
  const kind_entry* kind = compact_ != nullptr ? compact_ : kind_;
  if (!packs_ || format_ != nullptr || !kind->capabilities.packs || hashes_ || !params.fpr) return {};
  sized_kind packed{kind, params, {}};
  packed.params.hashes = kind->packed_hashes(*params.fpr);
  const auto plan = kind->plan(packed.params.sizes(), {});
  if (!plan || (ceiling_bytes_ && plan->memory_bytes > *ceiling_bytes_)) return {};
  packed.plan = *plan;
  return packed;
}

outcome<build_request::sized_kind> build_request::chosen(const filter_params& params) const {
  if (auto packed = chosen_packed(params)) return *packed;
  const auto usual = format_ != nullptr ? format_->plan(params, format_options_) : kind_->plan(params.sizes(), layout_);
  if (compact_ != nullptr) {
    const auto compact = compact_->plan(params.sizes(), {});
    if (compact && !usual) return sized_kind{compact_, params, *compact};
    if (compact && usual && usual->fpr > 0) {
      // Both at the same FPR, whatever they are sized by.
      const auto same = compact_->plan({.keys = params.keys, .fpr = usual->fpr, .hashes = params.hashes}, {});
      const bool too_large = same && usual->bits > same->bits + usual_bits &&
                             static_cast<double>(usual->bits) > static_cast<double>(same->bits) * usual_share;
      const bool fits_alone =
          ceiling_bytes_ && usual->memory_bytes > *ceiling_bytes_ && compact->memory_bytes <= *ceiling_bytes_;
      if (too_large || fits_alone) return sized_kind{compact_, params, *compact};
    }
  }
  if (!usual && usual.error().code == errc::not_enough_hash_bits && params.memory_bytes) {
    // The memory allows a lower FPR than the digests have bits for: it is a ceiling, so use less.
    filter_params less = params;
    less.memory_bytes.reset();
    less.fpr = std::exp2(sizing::hash_bits_needed(*params.keys, 1.0) + 2.0 - 64.0);  // a size may yield a lower one
    return chosen(less);
  }
  if (!usual) return fail_parameter(usual.error());
  return sized_kind{kind_, params, *usual};
}

filter_params build_request::params_per_shard(const filter_params& params) const {
  return shards_ == 0 ? params : shard_params(params, shards_);
}

result<any_filter> build_request::make_from(const kind_entry& kind, const filter_params& params) const {
  if (shards_ == 0) return any_filter::make(kind.info->name, params, hash_.spec());
  return make_shards(kind.info->name, params, hash_.spec(), {.shards = shards_, .threads = threads_});
}

outcome<build_request::sized_kind> build_request::sized(std::uint64_t keys, std::optional<std::uint64_t> room_bytes,
                                                        std::uint64_t excluded) const {
  const auto params = params_for(keys, room_bytes, excluded);
  if (!params) return failed(params.error());
  if (kind_->info->exact) return sized_kind{kind_, *params, {}};
  auto sized = chosen(*params);
  if (!sized) return sized;
  if (shards_ != 0) {
    const auto one = sized->kind->plan(params_per_shard(sized->params).sizes(), layout_);
    if (!one) return fail_parameter(one.error());
    sized->plan.memory_bytes = one->memory_bytes * shards_;
    sized->plan.fpr = one->fpr;
  }
  if (auto fits = check_ceiling(*sized); !fits) return failed(fits.error());
  if (auto fits = check_memory(sized->plan.memory_bytes); !fits) return failed(fits.error());
  return sized;
}

outcome<build_request::sized_kind> build_request::sized_usefully(std::uint64_t keys,
                                                                 std::optional<std::uint64_t> room_bytes,
                                                                 std::uint64_t excluded) const {
  auto size = sized(keys, room_bytes, excluded);
  if (!size) return size;
  if (auto useful = check_useful(*size->params.keys, size->plan.fpr, size->plan.memory_bytes); !useful) {
    return failed(useful.error());
  }
  return size;
}

outcome<any_filter> build_request::make(std::uint64_t keys, std::optional<std::uint64_t> room_bytes) const {
  if (like_ != nullptr) return make_like();
  const auto size = sized_usefully(keys, room_bytes);
  if (!size) return failed(size.error());
  auto filter =
      format_ != nullptr ? format_->make(size->params, format_options_) : make_from(*size->kind, size->params);
  if (!filter) return fail_parameter(filter.error());
  return std::move(*filter);
}

outcome<any_filter> build_request::build(std::span<std::uint64_t> digests, std::span<std::uint64_t> excluded,
                                         unsigned threads, error& why) const {
  const auto sized_now = [&] {
    return sized_usefully(std::max<std::uint64_t>(1, digests.size()), {}, excluded.size());
  };
  auto size = sized_now();
  if (!size) {
    // Too large if all keys were different; copies count once.
    digests = digests.first(detail::sort_distinct(digests, threads));
    excluded = excluded.first(detail::sort_distinct(excluded, threads));
    size = sized_now();
    if (!size) return failed(size.error());
  }
  const auto build = [&] {
    const std::string_view kind = size->kind->info->name;
    const shard_setup setup{.shards = shards_, .threads = threads};
    if (kind_->capabilities.excludes) {
      return shards_ != 0 ? build_shards(kind, size->params, hash_.spec(), digests, excluded, setup)
                          : any_filter::build_digests(kind, size->params, hash_, digests, excluded, threads);
    }
    return shards_ != 0 ? build_shards(kind, size->params, hash_.spec(), digests, setup)
                        : any_filter::build_digests(kind, size->params, hash_, digests, threads);
  };
  auto filter = build();
  if (!filter) {
    why = filter.error();
    return fail_parameter(why);
  }
  if (ceiling_bytes_) {
    // Some sets of keys take a little more than planned.
    const auto made = filter->stats();
    if (!made) return fail_parameter(made.error());
    size->plan.memory_bytes = made->memory_bytes;
    size->params.keys = made->keys.keys;
    if (auto fits = check_ceiling(*size); !fits) return failed(fits.error());
  }
  return std::move(*filter);
}

outcome<any_filter> build_request::build_keys(std::span<const std::string_view> keys) const {
  const auto size = sized(std::max<std::uint64_t>(1, keys.size()), {});
  if (!size) return failed(size.error());
  auto filter = format_->build(keys, size->params, format_options_);
  if (!filter) return fail_parameter(filter.error());
  return std::move(*filter);
}

outcome<std::uint64_t> build_request::memory_for(std::uint64_t keys) const {
  const auto size = sized_usefully(keys, {});
  if (!size) return failed(size.error());
  return size->plan.memory_bytes;
}

std::optional<double> build_request::fpr_for(std::uint64_t keys) const {
  const auto size = sized(keys, {});
  return size ? std::optional(size->plan.fpr) : std::nullopt;
}

outcome<any_filter> build_request::make_foldable(std::uint64_t room_bytes) const {
  if (format_ != nullptr) return fail_text(fmt::format("format {} cannot be folded", format_->name));
  constexpr std::uint64_t block_bits = 512;
  // Divisible by every number up to 16: between two sizes that it folds to there are a few percent.
  constexpr std::uint64_t steps = 720'720;
  const double fpr = fpr_.value_or(default_fpr);
  const unsigned pieces = std::max(shards_, 1U);
  const std::uint64_t blocks = room_bytes * 8 / block_bits / pieces;
  // The number of hash functions stays what it is when a filter is folded, so it is the best for the FPR.
  const auto usual = kind_->plan({.keys = 1'000'000, .fpr = fpr, .hashes = hashes_}, layout_);
  if (!usual) return fail_parameter(usual.error());
  filter_params params{.fpr = fpr,
                       .bits = (blocks > steps ? blocks / steps * steps : blocks) * block_bits * pieces,
                       .hashes = usual->hashes};
  params.layout = layout_.empty() ? usual->layout : std::string_view(layout_);  // not chosen again for the size
  const auto small = any_filter::make(kind_->info->name, {.keys = 64, .fpr = fpr, .layout = layout_}, hash_.spec());
  if (!small) return fail_parameter(small.error());
  if (const auto can = small->fold(1); !can) return fail_error(can.error());
  auto filter = make_from(*kind_, params);
  if (!filter) return fail_parameter(filter.error());
  return std::move(*filter);
}

outcome<any_filter> build_request::folded(any_filter filter, std::uint64_t keys) const {
  const auto wanted = params_for(keys, {});
  if (!wanted) return failed(wanted.error());
  // Of the fullest shard there may be, where there are shards.
  const std::uint64_t keys_wanted = *params_per_shard(*wanted).keys * std::max(shards_, 1U);
  const std::uint64_t capacity = filter.shape().capacity_keys;
  // The capacity is nearly proportional to the size; the last steps are tried.
  for (std::uint64_t factor = capacity / std::max<std::uint64_t>(1, keys_wanted) + 1; factor > 1; --factor) {
    auto smaller = filter.fold(factor);
    if (smaller && smaller->shape().capacity_keys >= keys_wanted) return std::move(*smaller);
  }
  return filter;
}

}  // namespace bloomery::cli

#include "cli/build_request.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cli/filters.hpp"
#include "cli/numbers.hpp"
#include "cli/sizes.hpp"

namespace bloomery::cli {
namespace {

constexpr double default_fpr = 0.01;
constexpr std::string_view default_kind = "blocked";
constexpr std::string_view default_hash = "xxh3";
constexpr std::string_view default_keyed_hash = "siphash13";
constexpr std::string_view integer_hash = "identity";

outcome<hasher> chosen_hash(const options& given, const kind_info& kind) {
  const bool has_secret = given.has(flag::key_file);
  const std::string_view fallback = kind.integer_keys ? integer_hash : (has_secret ? default_keyed_hash : default_hash);
  const std::string_view name = given.text(flag::hash, fallback);
  const hash_info* info = find_hash(name);
  if (info == nullptr) return fail_parameter(make_error(errc::unknown_hash, name));
  std::vector<std::byte> secret;
  if (info->key_bytes != 0) {
    if (!has_secret) {
      return fail_usage(
          fmt::format("hash {} needs a secret key of {} bytes: give it with --key-file", name, info->key_bytes));
    }
    if (given.has(flag::seed))
      return fail_usage(fmt::format("hash {} takes a secret key and no seed: leave --seed out", name));
    auto read = read_secret(std::string(given.text(flag::key_file)), info->key_bytes);
    if (!read) return failed(read.error());
    secret = std::move(*read);
  } else if (has_secret) {
    return fail_usage(fmt::format("hash {} takes no secret key: use siphash13, siphash24 or highwayhash64", name));
  }
  auto made = hasher::make(name, given.count(flag::seed).value_or(0), secret);
  if (!made) return fail_parameter(made.error());
  return *made;
}

}  // namespace

outcome<build_request> build_request::from(const options& given) {
  build_request request;
  const std::string_view kind = given.text(flag::kind, default_kind);
  request.kind_ = find_kind(kind);
  if (request.kind_ == nullptr) return fail_parameter(make_error(errc::unknown_kind, kind));
  if (request.kind_->integer_keys && !given.has(flag::u64)) {
    return fail_usage(fmt::format("kind {} holds integers: give --u64", kind));
  }
  if (request.kind_->exact && (given.has(flag::memory) || given.has(flag::bits_per_key) || given.has(flag::fpr))) {
    return fail_usage(
        fmt::format("kind {} is exact and as large as its keys: leave -p, --bits-per-key and --mem out", kind));
  }
  if (given.has(flag::fpr) && given.has(flag::bits_per_key)) {
    return fail_usage("-p and --bits-per-key contradict each other: give one");
  }
  auto hash = chosen_hash(given, *request.kind_);
  if (!hash) return failed(hash.error());
  request.hash_ = *hash;
  request.keys_ = given.count(flag::capacity);
  request.fpr_ = given.real(flag::fpr);
  request.bits_per_key_ = given.real(flag::bits_per_key);
  request.ceiling_bytes_ = given.count(flag::memory);
  request.headroom_ = given.real(flag::headroom).value_or(0);
  request.layout_ = given.text(flag::layout);
  if (const auto hashes = given.count(flag::hashes)) {
    request.hashes_ = static_cast<unsigned>(std::min<std::uint64_t>(*hashes, std::numeric_limits<unsigned>::max()));
  }
  // What can never be had is refused before any input is read. What one key cannot have, more cannot.
  if (!request.kind_->grows) {
    if (auto possible = request.sized(request.keys_.value_or(1)); !possible) return failed(possible.error());
  }
  return request;
}

bool build_request::may_need_wide() const {
  constexpr std::uint64_t most_keys_in_memory = std::uint64_t{1} << 36U;
  const double fpr =
      fpr_ ? *fpr_ : (bits_per_key_ ? std::exp2(-*bits_per_key_) : (ceiling_bytes_ ? 1e-12 : default_fpr));
  return kind_->wide_digests && hash_.is_wide() && sizing::hash_bits_needed(most_keys_in_memory, fpr) > 64;
}

outcome<void> build_request::check_ceiling(const filter_params& params, std::uint64_t bytes) const {
  if (!ceiling_bytes_ || bytes <= *ceiling_bytes_) return {};
  std::string text = fmt::format("{} keys take {} and --mem allows {}", with_commas(*params.keys), exact_size(bytes),
                                 exact_size(*ceiling_bytes_));
  const auto best =
      plan_kind(*kind_, {.keys = params.keys, .hashes = params.hashes, .memory_bytes = ceiling_bytes_}, layout_);
  if (best && best->fpr < 1.0) text.append(fmt::format(": with -p {:.3g} they fit", best->fpr * 1.001));
  return fail_text(std::move(text));
}

outcome<filter_params> build_request::sized(std::uint64_t keys) const {
  filter_params params;
  const double wanted = std::ceil(static_cast<double>(keys) * (1.0 + headroom_));
  if (headroom_ > 0 && !(wanted < static_cast<double>(max_keys))) {
    return fail_parameter(make_error(errc::bad_keys, fmt::format("{:.3g}", wanted), {max_keys}));
  }
  params.keys = headroom_ > 0 ? static_cast<std::uint64_t>(wanted) : keys;
  params.layout = layout_;
  params.hashes = hashes_;
  if (kind_->exact) return params;
  params.bits_per_key = bits_per_key_;
  if (!bits_per_key_ && !fpr_ && ceiling_bytes_) {
    params.memory_bytes = ceiling_bytes_;
  } else if (!bits_per_key_) {
    params.fpr = fpr_.value_or(default_fpr);
  }
  const auto plan = plan_kind(*kind_, params.sizes(), layout_);
  if (!plan) return fail_parameter(plan.error());
  if (auto fits = check_ceiling(params, plan->memory_bytes); !fits) return failed(fits.error());
  if (auto fits = check_memory(plan->memory_bytes); !fits) return failed(fits.error());
  return params;
}

outcome<any_filter> build_request::make(std::uint64_t keys) const {
  const auto params = sized(keys);
  if (!params) return failed(params.error());
  auto filter = any_filter::make(kind_->name, *params, hash_.spec());
  if (!filter) return fail_parameter(filter.error());
  return std::move(*filter);
}

}  // namespace bloomery::cli

#include "cli/dedup_approx.hpp"

#include <fmt/core.h>

#include "cli/filters.hpp"
#include "cli/kind_table.hpp"
#include "cli/numbers.hpp"
#include "cli/sizes.hpp"

namespace bloomery::cli {
namespace {

constexpr std::uint64_t first_capacity = std::uint64_t{1} << 20U;
constexpr std::string_view link_kind = "blocked";

}  // namespace

outcome<seen_filter> seen_filter::growing(double fpr, const hasher& hash, std::optional<std::uint64_t> ceiling_bytes) {
  seen_filter made(hash);
  made.grows_ = true;
  made.next_fpr_ = fpr / 2;
  made.capacity_ = first_capacity / 2;
  made.ceiling_bytes_ = ceiling_bytes;
  if (auto grown = made.grow(); !grown) return failed(grown.error());
  return made;
}

outcome<void> seen_filter::grow() {
  const std::uint64_t capacity = capacity_ * 2;
  const auto plan = plan_kind(*find_kind(link_kind), {.keys = capacity, .fpr = next_fpr_});
  if (!plan) return fail_parameter(plan.error());
  if (ceiling_bytes_ && memory_bytes_ + plan->memory_bytes > *ceiling_bytes_) {
    return fail_text(
        fmt::format("the lines do not fit into {} at this rate: give their number with -n, a larger -p or "
                    "more --mem",
                    exact_size(*ceiling_bytes_)));
  }
  if (auto fits = check_memory(plan->memory_bytes); !fits) return fits;
  auto link = any_filter::make(link_kind, {.keys = capacity, .fpr = next_fpr_}, hash_.spec());
  if (!link) return fail_parameter(link.error());
  links_.push_back(std::move(*link));
  memory_bytes_ += plan->memory_bytes;
  capacity_ = capacity;
  inserted_ = 0;
  next_fpr_ /= 2;
  return {};
}

outcome<void> seen_filter::ask(const any_filter& link, std::span<const std::uint64_t> digests) {
  mask_.assign(mask_words(digests.size()), 0);
  const auto asked = link.digest_bits() == 128 ? link.may_contain(wide_, mask_) : link.may_contain(digests, mask_);
  return asked ? outcome<void>{} : outcome<void>(fail_error(asked.error()));
}

outcome<void> seen_filter::add(std::span<const std::string_view> keys, std::span<const std::uint64_t> digests,
                               std::vector<bool>& fresh) {
  any_filter& last = links_.back();
  if (last.digest_bits() == 128) {
    wide_.resize(keys.size());
    hash_.digests_wide(keys, wide_);
  }
  fresh.assign(keys.size(), true);
  for (const any_filter& link : links_) {
    if (auto asked = ask(link, digests); !asked) return asked;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (bit_of(mask_, i)) fresh[i] = false;
    }
  }
  // Asking has brought the lines near. One by one, because a key may come twice among these.
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!fresh[i]) continue;
    const auto changed = last.digest_bits() == 128 ? last.insert(std::span<const digest128>(wide_).subspan(i, 1))
                                                   : last.insert(digests.subspan(i, 1));
    if (!changed) return fail_error(changed.error());
    fresh[i] = *changed != 0;
    inserted_ += *changed;
  }
  return grows_ && inserted_ >= capacity_ ? grow() : outcome<void>{};
}

}  // namespace bloomery::cli

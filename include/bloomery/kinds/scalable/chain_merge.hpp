// kinds/scalable/chain_merge.hpp: the union of two chains (kinds/scalable/chain.hpp).
#pragma once

#include <bloomery/kinds/scalable/chain.hpp>

namespace bloomery::inline BLOOMERY_ABI {

template <class Rule>
result<void> chain<Rule>::unite(const chain& other) noexcept {
  const std::size_t common = std::min(this->size(), other.size());
  if (auto room = this->reserve(other.size(), "the union"); !room) return room;
  this->rule().ended = false;
  for (std::size_t i = common; i < other.size(); ++i) {
    auto copy = this->rule().clone(other[i]);
    if (!copy) {
      this->shrink(common);
      return fail(copy.error());
    }
    this->push(std::move(*copy));
  }
  for (std::size_t i = 0; i < common; ++i) {
    sub_filter& each = (*this)[i];
    const std::uint64_t theirs = other[i].keys;
    if (auto united = each.filter.merge(other[i].filter); !united) return united;
    const auto estimate = static_cast<std::uint64_t>(each.filter.estimated_keys() + 0.5);
    each.keys = std::clamp(estimate, std::max(each.keys, theirs), each.keys + theirs);
  }
  keys_exact_ = false;
  return {};
}

template <class Rule>
result<void> chain<Rule>::check_union(const chain& other) const noexcept {
  if (this == &other) return fail(errc::mismatch, "a filter is not merged with itself");
  if (!settings().same_growth(other.settings())) {
    return fail(errc::mismatch, "their first capacities, growth factors, rates or modes differ");
  }
  for (std::size_t i = 0; i < std::min(this->size(), other.size()); ++i) {
    if ((*this)[i].filter.shape().field != other[i].filter.shape().field) {
      return fail(errc::mismatch, "their sub-filters differ in size");
    }
  }
  return {};
}

template <class Rule>
result<void> chain<Rule>::merge(const chain& other, merge_fpr rate) noexcept {
  if (auto same = check_union(other); !same) return same;
  bool fits = true;
  for (std::size_t i = 0; i < std::min(this->size(), other.size()); ++i) {
    fits = fits && (*this)[i].keys <= (*this)[i].capacity && other[i].keys <= (*this)[i].room();
  }
  if (fits || rate == merge_fpr::any) return unite(other);
  // Keys that both have may make it fit nevertheless: tried with a copy.
  auto tried = clone();
  if (!tried) return fail(tried.error());
  if (auto united = tried->unite(other); !united) return united;
  double excess = 0;
  for (std::size_t i = 0; i < tried->size(); ++i) {
    const sub_filter& each = (*tried)[i];
    double most = rate_of(i);
    if constexpr (requires { each.filter.expected_fpr(each.capacity); }) {
      most = std::max(most, each.filter.expected_fpr(each.capacity));
    }
    excess += std::max(0.0, each.filter.fpr_now() - most);
  }
  if (excess > 0) return fail_number(errc::merge_exceeds_target, (settings().fpr + excess) * 100);
  *this = std::move(*tried);
  return {};
}

}  // namespace bloomery::inline BLOOMERY_ABI

#include <bloomery/rocksdb/level_policy.hpp>

#include <algorithm>
#include <bloomery/kinds/bloom.hpp>
#include <bloomery/sizing/levels.hpp>

namespace bloomery::inline BLOOMERY_ABI::rocksdb {
namespace {

std::unique_ptr<const ::rocksdb::FilterPolicy> made_of(const level_filter& filter) {
  // -1: a Ribbon filter in every table that asks this policy.
  return std::unique_ptr<const ::rocksdb::FilterPolicy>(filter.ribbon
                                                            ? ::rocksdb::NewRibbonFilterPolicy(filter.bits_per_key, -1)
                                                            : ::rocksdb::NewBloomFilterPolicy(filter.bits_per_key));
}

class levels_policy final : public ::rocksdb::FilterPolicy {
 public:
  explicit levels_policy(const level_filters& filters) : otherwise_(made_of(filters.otherwise)) {
    for (std::size_t i = 0; i < filters.of_level.size(); ++i) {
      if (filters.of_level[i].bits_per_key >= least_bits) of_level_[i] = made_of(filters.of_level[i]);
    }
  }

  const char* Name() const override { return "bloomery.LevelFilterPolicy"; }
  const char* CompatibilityName() const override { return otherwise_->CompatibilityName(); }
  ::rocksdb::FilterBitsBuilder* GetBuilderWithContext(const ::rocksdb::FilterBuildingContext& table) const override {
    if (table.level_at_creation < 0) return otherwise_->GetBuilderWithContext(table);
    const auto level = std::min(static_cast<std::size_t>(table.level_at_creation), of_level_.size() - 1);
    return of_level_[level] ? of_level_[level]->GetBuilderWithContext(table) : nullptr;
  }
  ::rocksdb::FilterBitsReader* GetFilterBitsReader(const ::rocksdb::Slice& contents) const override {
    return otherwise_->GetFilterBitsReader(contents);
  }

 private:
  static constexpr double least_bits = 0.5;  // RocksDB's
  std::unique_ptr<const ::rocksdb::FilterPolicy> otherwise_;
  std::array<std::unique_ptr<const ::rocksdb::FilterPolicy>, most_levels_planned> of_level_{};  // none: no filter
};

}  // namespace

result<level_filters> plan_level_filters(const level_plan_request& request) noexcept {
  if (request.levels > most_levels_planned) return fail(errc::unsupported, "a plan has at most 16 levels");
  const double bytes = std::max(0.0, static_cast<double>(request.keys) * request.bits_per_key / 8);
  const auto plan = share_levels({.keys = request.keys,
                                  .levels = request.levels,
                                  .size_ratio = request.size_ratio,
                                  .memory_bytes = static_cast<std::uint64_t>(std::min(bytes, 0x1p62)),
                                  .solve = &bloom::plan});
  if (!plan) return fail(plan.error());
  level_filters filters;
  const auto shares = plan->shared();
  for (std::size_t level = 0; level < filters.of_level.size(); ++level) {
    const auto& share = shares[std::min<std::size_t>(level, shares.size() - 1)];
    filters.of_level[level] = {.bits_per_key = share.bits_per_key, .ribbon = level >= request.ribbon_from};
  }
  filters.otherwise = filters.of_level.back();
  return filters;
}

std::shared_ptr<const ::rocksdb::FilterPolicy> new_level_policy(const level_filters& filters) {
  return std::make_shared<levels_policy>(filters);
}

}  // namespace bloomery::inline BLOOMERY_ABI::rocksdb

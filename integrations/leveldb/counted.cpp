#include <bloomery/leveldb/counted.hpp>

namespace bloomery::inline BLOOMERY_ABI::leveldb {
namespace {

struct answers {
  std::uint64_t filters = 0;
  std::uint64_t refuted = 0;
};
thread_local answers of_this_get;

class counting_policy final : public ::leveldb::FilterPolicy {
 public:
  explicit counting_policy(const ::leveldb::FilterPolicy* inner) : inner_(inner) {}

  const char* Name() const override { return inner_->Name(); }
  void CreateFilter(const ::leveldb::Slice* keys, int n, std::string* dst) const override {
    inner_->CreateFilter(keys, n, dst);
  }
  bool KeyMayMatch(const ::leveldb::Slice& key, const ::leveldb::Slice& filter) const override {
    const bool matches = inner_->KeyMayMatch(key, filter);
    ++of_this_get.filters;
    of_this_get.refuted += matches ? 0U : 1U;
    return matches;
  }

 private:
  const ::leveldb::FilterPolicy* inner_;
};

void add(std::atomic<std::uint64_t>& counter, std::uint64_t amount) noexcept {
  if (amount != 0) counter.fetch_add(amount, std::memory_order_relaxed);
}

constexpr metric_family gets_family{"bloomery_leveldb_gets_total", "Gets, by what they found.", metric_type::counter};
constexpr metric_family filters_family{"bloomery_leveldb_filters_total",
                                       "Filters that gets looked up, by what the answer was worth.",
                                       metric_type::counter};

}  // namespace

policy_pointer new_counting_policy(const ::leveldb::FilterPolicy* inner) {
  return std::make_unique<counting_policy>(inner);
}

::leveldb::Status counted_db::get(const ::leveldb::ReadOptions& options, const ::leveldb::Slice& key,
                                  std::string* value) {
  of_this_get = {};
  auto status = db_->Get(options, key, value);
  const answers got = of_this_get;
  const std::uint64_t matches = got.filters - got.refuted;
  // A key that is found without a look at a filter was in a memtable, or in a table without filters.
  const std::uint64_t right = status.ok() && matches != 0 ? 1 : 0;
  add(gets_, 1);
  add(found_, status.ok() ? 1 : 0);
  add(filters_, got.filters);
  add(useful_, got.refuted);
  if (status.ok() || status.IsNotFound()) add(false_matches_, matches - right);
  return status;
}

get_counts counted_db::counts() const noexcept {
  return {.gets = gets_.load(std::memory_order_relaxed),
          .found = found_.load(std::memory_order_relaxed),
          .filters = filters_.load(std::memory_order_relaxed),
          .useful = useful_.load(std::memory_order_relaxed),
          .false_matches = false_matches_.load(std::memory_order_relaxed)};
}

void counted_db::collect(metric_sink& to) const {
  const get_counts now = counts();
  to.count(gets_family, now.found, {"answer", "found"});
  to.count(gets_family, now.gets - now.found, {"answer", "absent"});
  to.count(filters_family, now.useful, {"answer", "useful"});
  to.count(filters_family, now.false_matches, {"answer", "false"});
  to.count(filters_family, now.filters - now.useful - now.false_matches, {"answer", "right"});
}

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb

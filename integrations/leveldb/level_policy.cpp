#include <bloomery/leveldb/level_policy.hpp>

#include <algorithm>
#include <bloomery/sizing/levels.hpp>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "integrations/leveldb/filters.hpp"

namespace bloomery::inline BLOOMERY_ABI::leveldb {
namespace {

// Which table this thread is making, and for whom: threads serve several databases, one job after the other. A memtable is
// written in the middle of a compaction, which then goes on.
struct job {
  const void* log = nullptr;
  int level = -1;
  bool writes_memtable = false;
};
thread_local job job_of_this_thread;

// The numbers of "Compacting 4@0 + 3@1 files": the tables go to the second level.
int target_of_compaction(std::string_view line) noexcept {
  const std::size_t at = line.rfind('@');
  int level = -1;
  if (at == std::string_view::npos) return -1;
  const auto read = std::from_chars(line.data() + at + 1, line.data() + line.size(), level);
  return read.ec == std::errc() ? level : -1;
}

class level_log final : public ::leveldb::Logger {
 public:
  explicit level_log(::leveldb::Logger* inner) : inner_(inner) {}

  void Logv(const char* format, std::va_list arguments) override {
    std::va_list copy;
    va_copy(copy, arguments);
    learn(format, copy);
    va_end(copy);
    if (inner_) inner_->Logv(format, arguments);
  }

 private:
  __attribute__((format(printf, 2, 0))) void learn(const char* format, std::va_list arguments) noexcept {
    const std::string_view kind(format);
    const bool compacting = kind.starts_with("Compacting ");
    const bool memtable = kind.starts_with("Level-0 table ");
    if (!compacting && !memtable) return;
    std::array<char, 128> text{};
    std::vsnprintf(text.data(), text.size(), format, arguments);
    const std::string_view line(text.data());
    job& now = job_of_this_thread;
    if (now.log != this) now = {.log = this};
    if (compacting) {
      now.level = target_of_compaction(line);
      now.writes_memtable = false;
    } else {
      now.writes_memtable = line.ends_with("started");
    }
  }

  std::unique_ptr<::leveldb::Logger> inner_;
};

class levels_policy final : public ::leveldb::FilterPolicy {
 public:
  levels_policy(level_policy_options options, const ::leveldb::Logger* log) : options_(std::move(options)), log_(log) {}

  const char* Name() const override { return options_.part.policy_name().c_str(); }
  void CreateFilter(const ::leveldb::Slice* keys, int n, std::string* dst) const override {
    append_filter({keys, n > 0 ? static_cast<std::size_t>(n) : 0}, options_.part, filter_family::ours, bits_now(),
                  *dst);
  }
  bool KeyMayMatch(const ::leveldb::Slice& key, const ::leveldb::Slice& filter) const override {
    return may_match(bytes_of(filter), options_.part.extract(view_of(key)));
  }

 private:
  [[nodiscard]] unsigned bits_now() const noexcept {
    const job& now = job_of_this_thread;
    if (now.log != log_) return options_.bits.otherwise;
    const int level = now.writes_memtable ? 0 : now.level;
    if (level < 0 || static_cast<std::size_t>(level) >= level_count) return options_.bits.otherwise;
    return options_.bits.of_level[static_cast<std::size_t>(level)];
  }

  level_policy_options options_;
  const ::leveldb::Logger* log_;
};

}  // namespace

result<level_bits> plan_level_bits(const level_plan_request& request) noexcept {
  if (request.levels > level_count) return fail(errc::unsupported, "LevelDB has at most 7 levels");
  const double bytes = std::max(0.0, static_cast<double>(request.keys) * request.bits_per_key / 8);
  const auto plan = share_levels({.keys = request.keys,
                                  .levels = request.levels,
                                  .size_ratio = request.size_ratio,
                                  .memory_bytes = static_cast<std::uint64_t>(std::min(bytes, 0x1p62)),
                                  .solve = &plan_of_whole_bits,
                                  .whole_bits = true});
  if (!plan) return fail(plan.error());
  level_bits bits;
  const auto shares = plan->shared();
  for (std::size_t level = 0; level < level_count; ++level) {
    const auto& share = shares[std::min<std::size_t>(level, shares.size() - 1)];
    bits.of_level[level] = static_cast<unsigned>(share.bits_per_key);
  }
  bits.otherwise = bits.of_level.back();
  return bits;
}

level_policy new_level_policy(const level_policy_options& options, ::leveldb::Logger* inner) {
  auto log = std::make_unique<level_log>(inner);
  auto policy = std::make_unique<levels_policy>(options, log.get());
  return {.policy = std::move(policy), .log = std::move(log)};
}

}  // namespace bloomery::inline BLOOMERY_ABI::leveldb

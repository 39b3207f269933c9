#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <algorithm>
#include <bloomery/leveldb/counted.hpp>
#include <bloomery/leveldb/level_policy.hpp>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "bench/lsm/counting_env.hpp"
#include "bench/lsm/store.hpp"

namespace lsm {
namespace {

// How long filters take to make, in processor time of the thread that makes them.
class timing_policy final : public leveldb::FilterPolicy {
 public:
  explicit timing_policy(const leveldb::FilterPolicy* inner) : inner_(inner) {}
  const char* Name() const override { return inner_->Name(); }
  void CreateFilter(const leveldb::Slice* keys, int n, std::string* dst) const override {
    const std::uint64_t start = now_ns();
    inner_->CreateFilter(keys, n, dst);
    ns_.fetch_add(now_ns() - start, std::memory_order_relaxed);
    keys_.fetch_add(static_cast<std::uint64_t>(n), std::memory_order_relaxed);
  }
  bool KeyMayMatch(const leveldb::Slice& key, const leveldb::Slice& filter) const override {
    return inner_->KeyMayMatch(key, filter);
  }
  [[nodiscard]] fill_figures cost() const {
    return {.filter_cpu_s = static_cast<double>(ns_.load()) * 1e-9, .filter_keys = keys_.load()};
  }

 private:
  static std::uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  }
  const leveldb::FilterPolicy* inner_;
  mutable std::atomic<std::uint64_t> ns_{0};
  mutable std::atomic<std::uint64_t> keys_{0};
};

// Bytes of the filter block of a table, from its metaindex: the offset and the size stand behind the policy's name.
std::uint64_t filter_bytes_of(const std::filesystem::path& path, const std::string& policy) {
  std::ifstream in(path, std::ios::binary);
  const auto size = static_cast<std::uint64_t>(std::filesystem::file_size(path));
  const std::uint64_t end_bytes = std::min<std::uint64_t>(size, 1 << 20);
  std::string end(end_bytes, 0);
  in.seekg(static_cast<std::streamoff>(size - end_bytes));
  in.read(end.data(), static_cast<std::streamsize>(end_bytes));
  std::size_t at = end.rfind("filter." + policy);
  if (at == std::string::npos) return 0;
  at += policy.size() + 7;
  std::uint64_t value = 0;
  for (int i = 0; i < 2; ++i) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(end.at(at++));
      value |= std::uint64_t{byte & 127U} << shift;
      if (byte < 128) break;
    }
  }
  return value;
}

class leveldb_store final : public store {
 public:
  leveldb_store(const settings& how, bool to_fill)
      : how_(how), env_(how.direct, !to_fill), cache_(leveldb::NewLRUCache(block_cache_bytes)) {
    make_policy();
    leveldb::Options options;
    options.create_if_missing = to_fill;
    options.compression = leveldb::kNoCompression;
    options.block_cache = cache_.get();
    if (!to_fill) options.env = &env_;
    if (policy_) {
      timing_ = std::make_unique<timing_policy>(policy_.get());
      counting_ = bloomery::leveldb::new_counting_policy(to_fill ? timing_.get() : policy_.get());
      options.filter_policy = counting_.get();
    }
    if (log_) options.info_log = log_.get();
    open(options);
  }

  void put(std::string_view key, std::string_view value) override {
    const auto status =
        db_->Put({}, leveldb::Slice(key.data(), key.size()), leveldb::Slice(value.data(), value.size()));
    if (!status.ok()) stop(status.ToString());
  }
  bool get(std::string_view key) override {
    const auto status = counted_->get({}, leveldb::Slice(key.data(), key.size()), &value_);
    if (!status.ok() && !status.IsNotFound()) stop(status.ToString());
    return status.ok();
  }
  std::uint64_t reads() override { return env_.reads(); }
  std::uint64_t useful() override { return counted_->counts().useful; }
  std::uint64_t false_matches() override { return counted_->counts().false_matches; }

  void settle() override {
    std::string last;
    for (int unchanged = 0; unchanged < 6;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
      const std::string now = files_of_levels();
      unchanged = now == last ? unchanged + 1 : 0;
      last = now;
    }
  }
  shape describe() override {
    shape out{.files_of_level = files_of_levels()};
    for (const auto& entry : std::filesystem::directory_iterator(how_.folder)) {
      if (entry.path().extension() != ".ldb") continue;
      out.table_bytes += entry.file_size();
      if (policy_) out.filter_bytes += filter_bytes_of(entry.path(), policy_->Name());
    }
    return out;
  }
  fill_figures filter_cost() override { return timing_ ? timing_->cost() : fill_figures{}; }

 private:
  void make_policy() {
    namespace ours = bloomery::leveldb;
    if (how_.filter == "builtin") {
      policy_.reset(leveldb::NewBloomFilterPolicy(static_cast<int>(bits_per_key)));
    } else if (how_.filter == "ours") {
      policy_ = ours::new_filter_policy({.bits_per_key = static_cast<unsigned>(bits_per_key)});
    } else if (how_.filter == "levels") {
      const auto bits =
          ours::plan_level_bits({.keys = how_.keys, .bits_per_key = bits_per_key, .levels = planned_levels});
      if (!bits) stop("no plan for so many keys");
      auto by_level = ours::new_level_policy({.bits = *bits}, nullptr);
      policy_ = std::move(by_level.policy);
      log_ = std::move(by_level.log);
    } else if (how_.filter != "none") {
      stop("there is no filter " + how_.filter);
    }
  }
  void open(const leveldb::Options& options) {
    leveldb::DB* opened = nullptr;
    const auto status = leveldb::DB::Open(options, how_.folder, &opened);
    if (!status.ok()) stop(status.ToString());
    db_.reset(opened);
    counted_ = std::make_unique<bloomery::leveldb::counted_db>(opened);
  }
  [[nodiscard]] std::string files_of_levels() const {
    std::string all, count;
    for (int level = 0; level < 7; ++level) {
      if (!db_->GetProperty("leveldb.num-files-at-level" + std::to_string(level), &count)) break;
      all += (level == 0 ? "" : " ") + count;
    }
    while (all.ends_with(" 0")) all.resize(all.size() - 2);
    return all;
  }

  settings how_;
  counting_env env_;
  std::unique_ptr<leveldb::Cache> cache_;
  bloomery::leveldb::policy_pointer policy_;
  std::unique_ptr<leveldb::Logger> log_;
  std::unique_ptr<timing_policy> timing_;
  bloomery::leveldb::policy_pointer counting_;
  std::unique_ptr<leveldb::DB> db_;
  std::unique_ptr<bloomery::leveldb::counted_db> counted_;
  std::string value_;
};

}  // namespace

std::unique_ptr<store> open_leveldb(const settings& how, bool to_fill) {
  return std::make_unique<leveldb_store>(how, to_fill);
}

}  // namespace lsm

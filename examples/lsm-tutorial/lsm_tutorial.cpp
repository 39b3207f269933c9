// lsm-tutorial [--keys N]: a log-structured store of 10,000 keys, and what filters save its reads. A real LevelDB, once without
// a filter, once with LevelDB's own and once with ours. Each has tables of its own: LevelDB compacts them as it likes, so that what
// a filter saves is counted in its own store.
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bloomery/leveldb/counted.hpp>
#include <filesystem>
#include <memory>
#include <vector>

#include "examples/common/example.hpp"

namespace {

using namespace examples;

// Counts looks at blocks: a file of a table is read once for each.
class counting_env final : public leveldb::EnvWrapper {
 public:
  counting_env() : EnvWrapper(leveldb::Env::Default()) {}
  leveldb::Status NewRandomAccessFile(const std::string& name, leveldb::RandomAccessFile** made) override {
    const auto status = target()->NewRandomAccessFile(name, made);
    if (status.ok()) *made = new counted_file(*made, reads_);
    return status;
  }
  std::uint64_t reads() const { return reads_.load(); }

 private:
  class counted_file final : public leveldb::RandomAccessFile {
   public:
    counted_file(leveldb::RandomAccessFile* inner, std::atomic<std::uint64_t>& reads) : inner_(inner), reads_(reads) {}
    leveldb::Status Read(std::uint64_t offset, std::size_t n, leveldb::Slice* result, char* scratch) const override {
      ++reads_;
      return inner_->Read(offset, n, result, scratch);
    }

   private:
    std::unique_ptr<leveldb::RandomAccessFile> inner_;
    std::atomic<std::uint64_t>& reads_;
  };
  std::atomic<std::uint64_t> reads_{0};
};

void must_be(const leveldb::Status& status) {
  if (!status.ok()) stop(status.ToString());
}

std::string key_of(std::uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "user:%010llu", static_cast<unsigned long long>(number));
  return text;
}

struct outcome {
  std::uint64_t tables = 0;
  std::uint64_t found = 0;         // of the keys that are there
  std::uint64_t wrongly = 0;       // of those that are not
  std::uint64_t absent_looks = 0;  // blocks looked at, for keys that are not there
  std::uint64_t present_looks = 0;
  double saved = 0;  // of the looks that would have been for nothing
};

// Present keys are the even numbers, absent ones the odd ones: every table's range has them.
outcome run(const std::string& folder, const leveldb::FilterPolicy* policy, std::uint64_t keys) {
  counting_env env;
  leveldb::Options options;
  options.create_if_missing = true;
  options.env = &env;
  const auto counting = policy != nullptr ? bloomery::leveldb::new_counting_policy(policy) : nullptr;
  options.filter_policy = counting.get();
  options.write_buffer_size = 64 << 10;  // small, so that few keys make many tables
  options.compression = leveldb::kNoCompression;
  leveldb::DB* opened = nullptr;
  must_be(leveldb::DB::Open(options, folder, &opened));
  const std::unique_ptr<leveldb::DB> db(opened);
  std::vector<std::uint64_t> order(keys);
  for (std::uint64_t i = 0; i < keys; ++i) order[i] = i;
  random_numbers random(1);
  for (std::uint64_t i = keys; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  for (const std::uint64_t i : order) must_be(db->Put({}, key_of(2 * i), std::string(100, 'v')));

  outcome out;
  std::string value;
  // Once for warmth: tables are opened, with their indexes and filters.
  for (std::uint64_t i = 0; i < keys; i += 10) must_be(db->Get({}, key_of(2 * i), &value));
  leveldb::ReadOptions once;
  once.fill_cache = false;
  bloomery::leveldb::counted_db counted(db.get());
  std::uint64_t before = env.reads();
  for (std::uint64_t i = 0; i < keys; ++i) out.wrongly += counted.get(once, key_of(2 * i + 1), &value).ok() ? 1 : 0;
  out.absent_looks = env.reads() - before;
  out.saved = counted.counts().share_saved();
  before = env.reads();
  for (std::uint64_t i = 0; i < keys; ++i) out.found += db->Get(once, key_of(2 * i), &value).ok() ? 1 : 0;
  out.present_looks = env.reads() - before;
  for (int level = 0; level < 7; ++level) {
    if (db->GetProperty("leveldb.num-files-at-level" + std::to_string(level), &value)) out.tables += std::stoull(value);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t keys = option(std::span(argv, static_cast<std::size_t>(argc)), "--keys", 10'000);
  const auto folder = std::filesystem::temp_directory_path() / ("lsm-tutorial-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::unique_ptr<const leveldb::FilterPolicy> builtin(leveldb::NewBloomFilterPolicy(10));
  const auto ours = bloomery::leveldb::new_filter_policy({.bits_per_key = 10});
  const struct {
    const char* name;
    const leveldb::FilterPolicy* policy;
  } stores[] = {{"no filter", nullptr}, {"LevelDB's filter", builtin.get()}, {"our filter", ours.get()}};
  std::printf("%s keys that are there and as many that are not, all of them asked for; 10 bits of filter per key\n",
              grouped(keys).c_str());
  int wrong = 0;
  for (const auto& store : stores) {
    const outcome got = run((folder / std::to_string(&store - stores)).string(), store.policy, keys);
    std::printf("%-18s found %s of the one, %s of the other; looks at blocks: %s for present keys, %s for absent ones",
                store.name, grouped(got.found).c_str(), grouped(got.wrongly).c_str(),
                grouped(got.present_looks).c_str(), grouped(got.absent_looks).c_str());
    if (store.policy != nullptr) std::printf(": %.2f %% saved", 100 * got.saved);
    std::printf("\n");
    wrong += got.found != keys || got.wrongly != 0 ? 1 : 0;
  }
  std::filesystem::remove_all(folder);
  return wrong == 0 ? 0 : 1;
}

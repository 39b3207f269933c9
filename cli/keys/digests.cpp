#include "cli/keys/digests.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace bloomery::cli {

// One lock for the source, taken for as long as reading lasts, and one for the queue of finished chunks, taken for
// moments. A thread that holds both took the source's first.
class digest_stream::pipeline {
 public:
  pipeline(key_reader reader, const hasher& hash, unsigned digest_bits, work extra)
      : reader_(std::move(reader)), hash_(hash), extra_(std::move(extra)), digest_bits_(digest_bits) {}
  pipeline(const pipeline&) = delete;
  pipeline& operator=(const pipeline&) = delete;
  ~pipeline();

  outcome<std::unique_ptr<key_chunk>> take();
  void give_back(std::unique_ptr<key_chunk> chunk);
  bool is_idle_for(std::chrono::milliseconds patience);
  [[nodiscard]] const key_reader& reader() const { return reader_; }

 private:
  // What a chunk becomes on the way: bytes, then keys and digests.
  bool read(key_chunk& chunk);
  void finish(key_chunk& chunk) const;
  std::unique_ptr<key_chunk> spare();
  void start();
  void run();
  bool run_one();
  // The next chunk in order, finished; nullptr at the end.
  std::unique_ptr<key_chunk> next_finished();

  key_reader reader_;
  hasher hash_;
  work extra_;
  unsigned digest_bits_;

  // The caller's.
  bool first_ = true;
  bool over_ = false;
  std::optional<problem> failure_;
  std::vector<std::thread> threads_;
  int wake_ = -1;

  // The source's, with all of reader_ that read() touches.
  std::mutex source_lock_;
  bool source_ended_ = false;
  std::uint64_t next_number_ = 0;

  // The queue. Chunk number i is in slot i % size.
  std::mutex lock_;
  std::condition_variable ready_;
  std::condition_variable has_space_;
  std::vector<std::unique_ptr<key_chunk>> queue_;
  std::vector<std::unique_ptr<key_chunk>> spare_;
  std::uint64_t delivered_ = 0;
  std::optional<std::uint64_t> count_;  // of all chunks, when it is known
  std::exception_ptr thrown_;
  bool stop_ = false;
};

digest_stream::pipeline::~pipeline() {
  {
    const std::lock_guard held(lock_);
    stop_ = true;
  }
  has_space_.notify_all();
  if (wake_ >= 0) {
    // A counter that is not at its end can be written.
    constexpr std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(wake_, &one, sizeof one);
  }
  for (std::thread& thread : threads_) thread.join();
  if (wake_ >= 0) close(wake_);
}

// False at the end of the input. A failure is a chunk too, so that it has its place in the order.
bool digest_stream::pipeline::read(key_chunk& chunk) {
  if (source_ended_) return false;
  const auto more = reader_.read(chunk);
  if (!more) chunk.fail(more.error());
  source_ended_ = !more || !*more;
  return !more || *more;
}

void digest_stream::pipeline::finish(key_chunk& chunk) const {
  if (chunk.failure) return;  // nothing was read
  reader_.parse(chunk);
  make_digests(chunk, hash_, digest_bits_);
  if (extra_ && chunk.size() != 0) extra_(chunk);
}

std::unique_ptr<key_chunk> digest_stream::pipeline::spare() {
  if (spare_.empty()) return std::make_unique<key_chunk>();
  auto chunk = std::move(spare_.back());
  spare_.pop_back();
  return chunk;
}

void digest_stream::pipeline::give_back(std::unique_ptr<key_chunk> chunk) {
  const std::lock_guard held(lock_);
  if (chunk != nullptr) spare_.push_back(std::move(chunk));
}

bool digest_stream::pipeline::run_one() {
  std::unique_ptr<key_chunk> chunk;
  std::uint64_t number = 0;
  {
    const std::lock_guard reading(source_lock_);
    {
      std::unique_lock held(lock_);
      has_space_.wait(held, [&] { return stop_ || next_number_ < delivered_ + queue_.size(); });
      if (stop_) return false;
      chunk = spare();
    }
    if (!read(*chunk)) {
      const std::lock_guard held(lock_);
      count_ = next_number_;
      ready_.notify_one();
      return false;
    }
    number = next_number_++;
  }
  finish(*chunk);
  const std::lock_guard held(lock_);
  queue_[number % queue_.size()] = std::move(chunk);
  if (number == delivered_) ready_.notify_one();
  return true;
}

void digest_stream::pipeline::run() {
  try {
    while (run_one()) {
    }
  } catch (...) {
    // Thrown again where it can be caught: in the caller's thread.
    const std::lock_guard held(lock_);
    thrown_ = std::current_exception();
    ready_.notify_one();
  }
}

void digest_stream::pipeline::start() {
  std::uint64_t threads = reader_.jobs();
  if (threads == 1 || source_ended_ || reader_.has_ended()) return;
  if (reader_.total_bytes() != 0) {
    const std::uint64_t left = reader_.total_bytes() - std::min(reader_.total_bytes(), reader_.bytes_taken());
    // Compressed input has more chunks than its size suggests; one thread too few does no harm there.
    threads = std::min<std::uint64_t>(threads, left / reader_.chunk_bytes() + 1);
  }
  wake_ = eventfd(0, EFD_CLOEXEC);
  if (wake_ < 0) return;
  reader_.set_wake(wake_);
  queue_.resize(2 * threads + 2);
  try {
    for (std::uint64_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    // No more threads available: the existing ones do the work, or the caller does.
  }
}

bool digest_stream::pipeline::is_idle_for(std::chrono::milliseconds patience) {
  if (threads_.empty()) return true;
  std::unique_lock held(lock_);
  const auto& slot = queue_[delivered_ % queue_.size()];
  return !ready_.wait_for(held, patience,
                          [&] { return slot != nullptr || thrown_ != nullptr || count_ == delivered_; });
}

std::unique_ptr<key_chunk> digest_stream::pipeline::next_finished() {
  if (threads_.empty()) {
    std::unique_ptr<key_chunk> chunk = spare();
    if (!read(*chunk)) return nullptr;
    finish(*chunk);
    return chunk;
  }
  std::unique_lock held(lock_);
  auto& slot = queue_[delivered_ % queue_.size()];
  ready_.wait(held, [&] { return slot != nullptr || thrown_ != nullptr || count_ == delivered_; });
  if (slot == nullptr && thrown_ != nullptr) std::rethrow_exception(thrown_);
  if (slot == nullptr) return nullptr;
  ++delivered_;
  has_space_.notify_one();
  return std::move(slot);
}

outcome<std::unique_ptr<key_chunk>> digest_stream::pipeline::take() {
  if (failure_) return failed(*failure_);
  while (!over_) {
    if (!first_ && threads_.empty() && wake_ < 0) start();
    first_ = false;
    std::unique_ptr<key_chunk> chunk = next_finished();
    if (chunk == nullptr) {
      over_ = true;
      break;
    }
    reader_.settle(*chunk);
    failure_ = chunk->failure;
    if (chunk->size() != 0) return chunk;
    if (failure_) return failed(*failure_);
    give_back(std::move(chunk));
  }
  return std::unique_ptr<key_chunk>{};
}

digest_stream::digest_stream(key_reader reader, const hasher& hash, unsigned digest_bits, work extra)
    : pipeline_(std::make_unique<pipeline>(std::move(reader), hash, digest_bits, std::move(extra))),
      digest_bits_(digest_bits) {}
digest_stream::digest_stream(digest_stream&& other) noexcept = default;
digest_stream& digest_stream::operator=(digest_stream&& other) noexcept = default;
digest_stream::~digest_stream() = default;

outcome<std::unique_ptr<key_chunk>> digest_stream::take() { return pipeline_->take(); }
void digest_stream::give_back(std::unique_ptr<key_chunk> chunk) { pipeline_->give_back(std::move(chunk)); }
bool digest_stream::is_idle_for(std::chrono::milliseconds patience) { return pipeline_->is_idle_for(patience); }
const key_reader& digest_stream::reader() const { return pipeline_->reader(); }

outcome<bool> digest_stream::next() {
  give_back(std::move(chunk_));
  auto taken = take();
  if (!taken) return failed(taken.error());
  chunk_ = std::move(*taken);
  return chunk_ != nullptr;
}

}  // namespace bloomery::cli

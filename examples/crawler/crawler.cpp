// A crawler that fetches no page twice and ends: four threads, a seen_set on disk that survives kill -9, and an exact run to compare
// with. See README.md.
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <bloomery/guards/seen_set.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "examples/common/example.hpp"
#include "examples/crawler/page.hpp"

using namespace examples;

namespace {

constexpr const char* start_url = "http://site.example/";
constexpr std::uint64_t variants_of_a_path = 20;  // queries that are followed; a calendar has no end

// Which URLs were seen. True for one caller, once.
class exact_set {
 public:
  bool is_new(const std::string& url) {
    const std::lock_guard alone(lock_);
    return urls_.insert(url).second;
  }
  bool has(const std::string& url) {
    const std::lock_guard alone(lock_);
    return urls_.contains(url);
  }
  std::unordered_set<std::string> urls_;

 private:
  std::mutex lock_;
};

// What was found and not yet fetched: in memory, and as a file of lines "+URL" (found) and "-URL" (fetched, and its links found).
// A line is in the file before the URL is in the seen_set: a URL that was seen is never forgotten. Lines survive kill -9.
class frontier {
 public:
  explicit frontier(const std::string& path) {
    std::ifstream before(path);
    std::vector<std::string> order;
    std::unordered_set<std::string> done;
    for (std::string line; std::getline(before, line) && !before.eof();) {
      if (line.starts_with('+')) order.push_back(line.substr(1));
      if (line.starts_with('-')) done.insert(line.substr(1));
    }
    for (const std::string& url : order) {
      if (done.insert(url).second) pending_.push_back(url);
    }
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file_ < 0) stop("cannot write " + path);
  }
  frontier() = default;  // in memory alone
  frontier(const frontier&) = delete;
  frontier& operator=(const frontier&) = delete;
  ~frontier() {
    if (file_ >= 0) ::close(file_);
  }

  [[nodiscard]] const std::deque<std::string>& pending() const { return pending_; }
  void note(char what, const std::string& url) const {
    if (file_ < 0) return;
    const std::string line = what + url + '\n';
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) stop("the disk is full");
  }
  void push(const std::string& url) {
    const std::lock_guard alone(lock_);
    pending_.push_back(url);
    changed_.notify_one();
  }
  // Nothing: all is done.
  bool pop(std::string& url) {
    std::unique_lock alone(lock_);
    changed_.wait(alone, [this] { return !pending_.empty() || busy_ == 0; });
    if (pending_.empty()) return false;
    ++busy_;
    url = std::move(pending_.front());
    pending_.pop_front();
    return true;
  }
  void finished() {
    const std::lock_guard alone(lock_);
    if (--busy_ == 0) changed_.notify_all();
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::string> pending_;
  std::uint64_t busy_ = 0;
  int file_ = -1;
};

struct crawl_result {
  std::atomic<std::uint64_t> fetched{0}, links{0}, trapped{0}, failed{0};
  double seconds = 0;
  std::mutex lock{};
  std::unordered_set<std::string> urls{};  // to compare the runs; a crawler has no such set
  std::uint64_t twice = 0;
};

// The queries of each path that were followed: a small exact table.
class trap_guard {
 public:
  bool lets_through(const std::string& url) {
    const std::size_t query = url.find('?');
    if (query == std::string::npos) return true;
    const std::lock_guard alone(lock_);
    return ++variants_[url.substr(0, query)] <= variants_of_a_path;
  }

 private:
  std::mutex lock_;
  std::unordered_map<std::string, std::uint64_t> variants_;
};

struct crawl_options {
  std::string socket;
  std::uint64_t kill_after = 0;
};

// is_new(url): whether it is this thread's to fetch. may_be_new(url): a hint, before it is noted.
void crawl(const crawl_options& options, frontier& work, crawl_result& out,
           const std::function<bool(const std::string&)>& is_new,
           const std::function<bool(const std::string&)>& may_be_new) {
  const auto started = std::chrono::steady_clock::now();
  trap_guard traps;
  const auto found = [&](const std::string& url) {
    ++out.links;
    if (!may_be_new(url)) return;
    if (!traps.lets_through(url)) {
      ++out.trapped;
      return;
    }
    work.note('+', url);
    if (is_new(url)) work.push(url);
  };
  if (work.pending().empty()) found(canonical(start_url, "").value());
  const auto worker = [&] {
    fetcher fetch(options.socket);
    for (std::string url; work.pop(url); work.finished()) {
      const std::optional<std::vector<std::string>> links = fetch(url);
      if (!links) {
        ++out.failed;
        continue;  // not noted as fetched: the next run tries again
      }
      const std::uint64_t count = ++out.fetched;
      {
        const std::lock_guard alone(out.lock);
        out.twice += out.urls.insert(url).second ? 0U : 1U;
      }
      for (const std::string& each : *links) {
        const std::optional<std::string> link = canonical(url, each);
        if (link && link->starts_with(start_url)) found(*link);
      }
      work.note('-', url);
      if (count == options.kill_after) ::kill(::getpid(), SIGKILL);  // as the power cut would, for this process
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(worker);
  for (std::thread& each : threads) each.join();
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
}

void print(const char* what, const crawl_result& run) {
  std::printf("%-12s %s URLs fetched, %s twice, %s failed; %s links, %s of them traps; %.1f s\n", what,
              grouped(run.fetched).c_str(), grouped(run.twice).c_str(), grouped(run.failed).c_str(),
              grouped(run.links).c_str(), grouped(run.trapped).c_str(), run.seconds);
}

std::uint64_t bytes_of(const std::unordered_set<std::string>& urls) {
  const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  const std::unordered_set<std::string> copy(urls);
  return mallinfo2().uordblks + mallinfo2().hblkhd - before;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
  const std::string folder = text_option(arguments, "--folder", ".");
  const crawl_options options{.socket = text_option(arguments, "--socket", ""),
                              .kill_after = option(arguments, "--kill-after", 0)};
  if (options.socket.empty()) stop("--socket names no server: start this program with examples/run crawler");
  curl_global_init(CURL_GLOBAL_ALL);

  exact_set exact;
  crawl_result truth;
  if (!flag(arguments, "--no-exact")) {
    frontier work;
    const auto is_new = [&](const std::string& url) { return exact.is_new(url); };
    crawl(options, work, truth, is_new, [&](const std::string& url) { return !exact.has(url); });
    print("exact", truth);
  }

  frontier work(folder + "/frontier");
  bloomery::seen_set seen =
      must(bloomery::seen_set::open((folder + "/seen.bloom").c_str(), "scalable",
                                    {.keys = option(arguments, "--expect", 6000), .fpr = 0.01}, bloomery::hasher{}));
  if (const std::size_t left = work.pending().size(); left != 0) {
    std::printf("resumed      %s URLs were found and not fetched\n", grouped(left).c_str());
    // One of them may have been noted and not yet inserted.
    for (const std::string& url : work.pending()) must(seen.insert_if_new(url));
  }
  std::fflush(stdout);
  crawl_result run;
  crawl(
      options, work, run, [&](const std::string& url) { return must(seen.insert_if_new(url)); },
      [&](const std::string& url) { return !seen.may_contain(url); });
  print("filter", run);
  if (truth.fetched != 0) {
    const std::uint64_t lost = truth.fetched - run.fetched;
    std::printf("  lost       %s URLs to false positives, %s (1 %% was asked for)\n", grouped(lost).c_str(),
                percent(lost, truth.fetched).c_str());
    const std::uint64_t filter_bytes =
        seen.with_filter([](const bloomery::any_filter& filter) { return filter.allocated_bytes(); });
    const std::uint64_t set_bytes = bytes_of(exact.urls_);
    std::printf("memory       filter %s KiB, hash set %s KiB\n", grouped(filter_bytes / 1024).c_str(),
                grouped(set_bytes / 1024).c_str());
    const double each = static_cast<double>(set_bytes) / static_cast<double>(exact.urls_.size());
    const bloomery::size_plan plan = must(bloomery::any_filter::plan("bloom", {.keys = 100'000'000, .fpr = 0.01}));
    std::printf("  100 M URLs %s planned for a filter at 1 %%; %s in a hash set at %.0f bytes each, as here\n",
                mebibytes(plan.memory_bytes).c_str(), mebibytes(static_cast<std::uint64_t>(each * 1e8)).c_str(), each);
  }
}

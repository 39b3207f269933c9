// Three processes share a stream of events that come more than once, at one node or at several. Each has a filter of its own events
// and the summaries of the others; what may have been processed is confirmed in Redis. See README.md.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bloomery/guards/seen_set.hpp>
#include <bloomery/guards/summary_exchange.hpp>
#include <filesystem>
#include <vector>

#include "examples/common/example.hpp"
#include "examples/common/redis.hpp"

using namespace examples;

namespace {

const std::vector<std::string> names{"a", "b", "c"};

std::string event(std::uint64_t number) { return "event-" + std::to_string(number); }
std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Each node has in Redis: queue:NAME, the events that are delivered to it; done:NAME, the exact set of those that it has
// processed; summary:NAME, the last filter that it published.
class node {
 public:
  node(const std::string& socket, const std::string& name, const std::string& folder, std::uint64_t expected)
      : redis_(socket),
        name_(name),
        own_(must(bloomery::seen_set::open((folder + "/" + name + ".seen").c_str(), "bloom",
                                           {.keys = expected, .fpr = 0.01}, bloomery::hasher{}))),
        peers_(must(bloomery::summary_exchange::make(name, bloomery::hasher{}))) {
    for (const std::string& each : names) {
      if (each != name) must(peers_.expect(each));
    }
  }

  // Until the queue is empty. An event leaves it when all of its group are processed: a node that ends in between is given the
  // group again. `kill_after`: ends as by kill -9 after so many events.
  void run(std::uint64_t sync_every, std::uint64_t kill_after) {
    constexpr std::uint64_t group = 25;
    const std::string queue = "queue:" + name_;
    synchronise();
    for (std::uint64_t handled = 0;;) {
      const std::vector<std::string> events = ask({"LRANGE", queue, "0", std::to_string(group - 1)}).list;
      if (events.empty()) break;
      for (const std::string& each : events) {
        handle(each);
        if (++handled == kill_after) ::kill(::getpid(), SIGKILL);
        if (handled % sync_every == 0) synchronise();
      }
      ask({"LTRIM", queue, std::to_string(events.size()), "-1"});
    }
    synchronise();
  }

 private:
  redis::reply ask(std::initializer_list<std::string_view> words) { return must(redis_(words)); }
  bloomery::result<bool> has(std::string_view peer, const std::string& event) {
    auto got = redis_({"SISMEMBER", "done:" + std::string(peer), event});
    if (!got) return bloomery::fail(got.error());
    return got->integer == 1;
  }

  // A filter's "maybe" is confirmed, so that no event is lost to a false positive; its "no" needs no look-up. What cannot be
  // confirmed ends the node with an error, and the event is still in the queue.
  void handle(const std::string& event) {
    if (own_.may_contain(event) && must(has(name_, event))) return;
    if (must(peers_.confirm(event, [this](std::string_view peer, const std::string& e) { return has(peer, e); })))
      return;
    ask({"INCR", "worked"});  // the work itself; then it is known to all, then to this node's filter
    ask({"SADD", "done:" + name_, event});
    must(own_.insert_if_new(event));
  }

  void synchronise() {
    bloomery::memory_sink summary;
    const std::uint64_t sent = must(own_.with_filter(
        [&](const bloomery::any_filter& filter) { return peers_.publish(filter, bloomery::byte_sink(summary)); }));
    ask({"SET", "summary:" + name_, {reinterpret_cast<const char*>(summary.bytes().data()), summary.bytes().size()}});
    for (const std::string& each : names) {
      if (each == name_) continue;
      const auto got = ask({"GET", "summary:" + each});
      if (got.text) must(peers_.receive(each, bytes_of(*got.text)));
    }
    const bloomery::peer_stats now = peers_.stats();
    count("saved", now.saved - counted_.saved);
    count("asked", now.confirmed + now.false_positives + now.unfiltered - counted_.confirmed -
                       counted_.false_positives - counted_.unfiltered);
    count("summaries", 1);
    count("sent", sent);
    count("in_memory", own_.with_filter([](const bloomery::any_filter& filter) { return filter.allocated_bytes(); }));
    counted_ = now;
  }
  void count(const char* what, std::uint64_t more) { ask({"INCRBY", what, std::to_string(more)}); }

  redis redis_;
  std::string name_;
  bloomery::seen_set own_;
  bloomery::summary_exchange peers_;
  bloomery::peer_stats counted_{};
};

// ---- the one that starts the nodes and counts ----

struct deliveries {
  std::uint64_t all = 0;
  std::uint64_t across = 0;  // repeats that come to another node
};

// Every event goes to one node; three of ten come again at another one, one of ten at the same, up to 2,000 events later.
deliveries deliver(redis& server, std::uint64_t events) {
  random_numbers random(1);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> queues[3];  // when, event
  deliveries out;
  for (std::uint64_t i = 0; i < events; ++i) {
    const std::uint64_t first = random.below(3);
    const std::uint64_t dice = random.below(10);
    queues[first].emplace_back(i, i);
    if (dice < 3) queues[(first + 1 + random.below(2)) % 3].emplace_back(i + random.below(2000), i);
    if (dice == 3) queues[first].emplace_back(i + random.below(2000), i);
    out.across += dice < 3 ? 1U : 0U;
  }
  for (std::size_t n = 0; n < 3; ++n) {
    std::sort(queues[n].begin(), queues[n].end());
    out.all += queues[n].size();
    for (const auto& [when, number] : queues[n]) must(server({"RPUSH", "queue:" + names[n], event(number)}));
  }
  return out;
}

pid_t start_node(std::span<char* const> arguments, const std::string& name, std::uint64_t kill_after) {
  std::vector<std::string> words(arguments.begin(), arguments.end());
  words.insert(words.end(), {"--node", name, "--kill-after", std::to_string(kill_after)});
  std::vector<char*> pointers;
  for (std::string& each : words) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execv("/proc/self/exe", pointers.data());
    ::_exit(127);
  }
  return child;
}

std::uint64_t number_in(redis& server, std::string_view key) {
  return std::stoull(must(server({"GET", key})).text.value_or("0"));
}

// What a node makes of bytes that are no good summary, and of a Redis that ends: an error, and "maybe" from then on.
void faults(redis& server, std::uint64_t events) {
  auto audit = must(bloomery::summary_exchange::make("audit", bloomery::hasher{}));
  must(audit.expect("a"));
  const std::string good = must(server({"GET", "summary:a"})).text.value_or("");
  const std::string unknown = event(events + 1);
  std::string damaged = good;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  const auto print = [&](const char* what, const bloomery::result<bloomery::summary_receipt>& got) {
    std::printf("  %-10s %s: an unknown event is %s there\n", what,
                got ? "taken" : bloomery::describe(got.error()).c_str(), audit.may_have(unknown) ? "maybe" : "absent");
  };
  std::printf("summary      of node a\n");
  print("damaged", audit.receive("a", bytes_of(damaged)));
  print("good", audit.receive("a", bytes_of(good)));
  const bloomery::hasher seeded = must(bloomery::hasher::make({.seed = 7}));
  auto other = must(bloomery::summary_exchange::make("a", seeded));
  auto filter = must(bloomery::any_filter::make("bloom", {.keys = 100, .fpr = 0.01}, seeded));
  bloomery::memory_sink bytes;
  must(other.publish(filter, bloomery::byte_sink(bytes)));
  print("other hash", audit.receive("a", bytes.bytes()));

  static_cast<void>(server({"SHUTDOWN", "NOSAVE"}));
  const auto answer =
      audit.confirm(event(1), [&](std::string_view peer, const std::string& e) -> bloomery::result<bool> {
        auto got = server({"SISMEMBER", "done:" + std::string(peer), e});
        if (!got) return bloomery::fail(got.error());
        return got->integer == 1;
      });
  std::printf("Redis ends   %s\n", answer ? "CONFIRMED" : bloomery::describe(answer.error()).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
  const std::uint64_t events = option(arguments, "--events", 6000);
  const std::uint64_t sync_every = option(arguments, "--sync", 200);
  const std::string folder = text_option(arguments, "--folder", ".");
  const std::string name = text_option(arguments, "--node", "");
  const char* socket = std::getenv("REDIS_SOCKET");
  if (socket == nullptr) stop("REDIS_SOCKET names no server: start this program with examples/run distributed-dedup");
  if (!name.empty()) {
    node(socket, name, folder, events).run(sync_every, option(arguments, "--kill-after", 0));
    return 0;
  }

  for (const std::string& each : names) {
    for (const char* end : {"", ".journal", ".journal.old", ".lock"})
      std::filesystem::remove(folder + "/" + each + ".seen" + end);
  }
  redis server{socket};
  must(server({"FLUSHALL"}));
  const deliveries sent = deliver(server, events);
  std::printf("events       %s at three processes, %s deliveries: %s are repeats at another node\n",
              grouped(events).c_str(), grouped(sent.all).c_str(), grouped(sent.across).c_str());
  std::fflush(stdout);

  std::vector<pid_t> nodes;
  for (const std::string& each : names) nodes.push_back(start_node(arguments, each, each == "b" ? sent.all / 6 : 0));
  bool killed = false;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    int status = 0;
    ::waitpid(nodes[i], &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !killed) {
      killed = true;
      nodes.push_back(start_node(arguments, names[i], 0));
    } else if (status != 0) {
      stop("a node has failed");
    }
  }
  const auto done =
      static_cast<std::uint64_t>(must(server({"SUNIONSTORE", "done", "done:a", "done:b", "done:c"})).integer);
  const std::uint64_t worked = number_in(server, "worked");
  std::printf("processed    %s lost, %s twice, before the others knew; node b was %s\n", grouped(events - done).c_str(),
              grouped(worked - done).c_str(), killed ? "killed and started again" : "NOT KILLED");
  const std::uint64_t asked = number_in(server, "asked");
  const std::uint64_t saved = number_in(server, "saved");
  std::printf("  look-ups   %s in the lists of others, %s saved (usual claim: 50 to 80 %%)\n", grouped(asked).c_str(),
              percent(saved, asked + saved).c_str());
  const std::uint64_t summaries = number_in(server, "summaries");
  std::printf("  summaries  %s published, %s bytes each; in memory %s\n", grouped(summaries).c_str(),
              grouped(number_in(server, "sent") / summaries).c_str(),
              grouped(number_in(server, "in_memory") / summaries).c_str());
  faults(server, events);
}

#include <csignal>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Build : public tool_box {};

TEST_F(Build, HoldsEveryKeyAndSaysWhatItDid) {
  write("keys", numbers(1, 1000));
  const ran result = run({"build", "-o", "f", "keys"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(lines_in(result.err), 2U);
  EXPECT_TRUE(contains(result.err, "sized for 1,000 keys, as many as were read\n"));
  EXPECT_TRUE(contains(result.err, "f: blocked, 1,000 keys read, "));
  EXPECT_TRUE(contains(result.err, "promised 1.00 % at 1,000 keys"));
  EXPECT_EQ(run({"query", "-c", "f", "keys"}).out, "1000\n");
}

TEST_F(Build, GivesTheSameBytesFromFileAndPipeAndForAnyNumberOfThreads) {
  write("keys", numbers(1, 50000));
  ASSERT_EQ(run({"build", "-q", "-o", "file", "keys"}).code, 0);
  ASSERT_EQ(sh("cat keys | $TOOL build -q -o pipe").code, 0);
  ASSERT_EQ(sh("$TOOL build -q -o told -n 50000 < keys").code, 0);
  ASSERT_EQ(sh("$TOOL build -q -o - keys > out").code, 0);
  EXPECT_EQ(read("file"), read("pipe"));
  EXPECT_EQ(read("file"), read("told"));
  EXPECT_EQ(read("file"), read("out"));
  for (const char* threads : {"1", "2", "7"}) {
    ASSERT_EQ(run({"build", "-q", "--force", "-j", threads, "-o", "threads", "keys"}).code, 0);
    EXPECT_EQ(read("file"), read("threads")) << threads;
  }
}

TEST_F(Build, SizesForWideDigestsFromAPipeAsFromAFile) {
  write("keys", numbers(1, 3000));
  ASSERT_EQ(run({"build", "-q", "--kind", "bloom", "-p", "1e-15", "-o", "file", "keys"}).code, 0);
  ASSERT_EQ(sh("cat keys | $TOOL build -q --kind bloom -p 1e-15 -o pipe").code, 0);
  EXPECT_EQ(json_of({"info", "--json", "file"})["digest_bits"], 128);
  EXPECT_EQ(read("file"), read("pipe"));
  EXPECT_EQ(run({"query", "-c", "file", "keys"}).out, "3000\n");
  EXPECT_EQ(run({"query", "file"}, numbers(3001, 9000)).out, "");
}

TEST_F(Build, TakesKindLayoutHashSeedAndBits) {
  build("f", "a\n",
        {"--kind", "bloom", "--hash", "murmur3-x64-128", "--seed", "0x10", "--bits-per-key", "20", "--hashes", "9",
         "-n", "1000"});
  const auto info = json_of({"info", "--json", "f"});
  EXPECT_EQ(info["kind"], "bloom");
  EXPECT_EQ(info["hash"], "murmur3-x64-128");
  EXPECT_EQ(info["seed"], 16);
  EXPECT_EQ(info["capacity_keys"], 1000);
  EXPECT_NEAR(info["memory_bytes"].get<double>(), 2500, 64);
  EXPECT_TRUE(contains(info["parameters"].dump(), ":9")) << info["parameters"];
  build("g", "a\n", {"--layout", "split32"});
  EXPECT_EQ(json_of({"info", "--json", "g"})["parameters"]["layout"], "split32");
  expect_error({"build", "-o", "h", "--layout", "round"},
               "bloomery: build: kind blocked has the layouts split64 and split32", "a\n");
  EXPECT_NE(run({"build", "-q", "-o", "h", "--seed", "5000000000", "--hash", "murmur3-x86-32"}, "a\n").code, 0);
}

TEST_F(Build, AnotherSeedIsAnotherFilter) {
  build("f", "a\nb\n");
  build("g", "a\nb\n", {"--seed", "1"});
  EXPECT_NE(read("f"), read("g"));
  EXPECT_EQ(run({"query", "-c", "g"}, "a\nb\n").out, "2\n");
}

TEST_F(Build, AnExistingFileNeedsForce) {
  write("keys", "a\n");
  write("f", "precious");
  expect_error({"build", "-o", "f", "keys"}, "bloomery: f: exists already: use --force to replace it, or another name");
  EXPECT_EQ(read("f"), "precious");
  EXPECT_EQ(run({"build", "-q", "--force", "-o", "f", "keys"}).code, 0);
  EXPECT_EQ(run({"query", "f", "keys"}).out, "a\n");
  expect_error({"build", "--force", "-o", "keys", "keys"},
               "bloomery: keys: is an input as well: give another name for the output");
}

TEST_F(Build, AFileThatAppearsMeanwhileIsNotReplaced) {
  // The early check passes, the file appears while keys are still coming, the final one refuses.
  const ran result = sh("{ echo a; sleep 0.3; echo precious > f; echo b; } | $TOOL build -o f");
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(contains(result.err, "bloomery: f: exists already"));
  EXPECT_EQ(read("f"), "precious\n");
  EXPECT_EQ(names(), std::vector<std::string>{"f"});
}

TEST_F(Build, RefusesPlacesThatCannotBeWritten) {
  write("keys", "a\n");
  expect_error({"build", "-o", ".", "keys"}, "bloomery: .: is a directory: give a file");
  expect_error({"build", "-o", "no/such/f", "keys"}, "bloomery: no/such/f: cannot create: No such file or directory");
  const ran full = run({"build", "-q", "-o", "/dev/full", "keys"});
  EXPECT_EQ(full.code, 2);
  EXPECT_TRUE(contains(full.err, "bloomery: /dev/full: ")) << full.err;
  EXPECT_TRUE(contains(full.err, "No space left on device")) << full.err;
  const ran out = sh("$TOOL build -q -o - keys > /dev/full");
  EXPECT_EQ(out.code, 2);
  EXPECT_EQ(out.err, "bloomery: standard output: cannot write: No space left on device\n");
}

TEST_F(Build, WritesNoBinaryToATerminal) {
  const ran result = run_tool_on_terminal({"build", "-o", "-", "/dev/null"}, {"TERM=xterm"});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(contains(result.out, "a terminal cannot show a binary filter"));
  EXPECT_TRUE(contains(run_tool_on_terminal({"build", "-o", "-", "--format", "text", "/dev/null"}, {"TERM=xterm"}).out,
                       "-----BEGIN BLOOMERY FILTER-----"));
}

TEST_F(Build, WritesTextAndPackedForms) {
  write("keys", numbers(1, 100));
  for (const std::vector<std::string>& form : std::vector<std::vector<std::string>>{
           {"--format", "text"}, {"--compress", "zstd"}, {"--compress", "gzip"}, {"--compress", "none"}}) {
    std::vector<std::string> words = {"build", "-q", "--force", "-n", "100000", "-o", "f", "keys"};
    words.insert(words.end(), form.begin(), form.end());
    ASSERT_EQ(run(words).code, 0) << form[1];
    EXPECT_EQ(run({"query", "-c", "f", "keys"}).out, "100\n") << form[1];
    const auto info = json_of({"info", "--json", "f"});
    EXPECT_EQ(info["format"], form[1] == "text" ? "text" : "native");
    EXPECT_EQ(info["compression"], form[0] == "--compress" ? form[1] : "none");
    EXPECT_EQ(info["file_bytes"], read("f").size());
  }
}

TEST_F(Build, WarnsOnceWhenItHoldsMoreThanItWasMadeFor) {
  const ran result = run({"build", "-o", "f", "-n", "1000"}, numbers(1, 5000));
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err.find("warning: 5,000 keys read into a filter made for 1,000: its false-positive rate is now "),
            std::string("bloomery: ").size());
  EXPECT_TRUE(contains(result.err, "build it again with -n 5000"));
  EXPECT_EQ(result.err.find("warning"), result.err.rfind("warning"));
  EXPECT_EQ(run({"query", "-c", "f"}, numbers(1, 5000)).out, "5000\n") << "no key is lost";
  EXPECT_FALSE(contains(run({"build", "-o", "g", "-n", "1000"}, numbers(1, 1000)).err, "warning"));
}

TEST_F(Build, IsSizedForTheDifferentKeys) {
  std::string keys;
  for (int i = 0; i < 10; ++i) keys.append(numbers(1, 1000));
  const ran result = run({"build", "-o", "f"}, keys);
  EXPECT_EQ(result.err.substr(0, result.err.find('\n')), "sized for 1,000 different keys among 10,000 read");
  build("told", keys, {"-n", "1000"});
  EXPECT_TRUE(read("f") == read("told"));
  const auto one = run({"build", "-o", "g"}, "a\na\n");
  EXPECT_TRUE(contains(one.err, "sized for 1 different key among 2 read\n")) << one.err;
  EXPECT_TRUE(contains(run({"build", "-o", "h"}, "a\n").err, "sized for 1 key, as many as were read\n"));
}

TEST_F(Build, ManyDifferentKeysAreEstimatedWithAMargin) {
  write("keys", numbers(1, 700000));
  const auto all = json_of({"build", "--json", "-q", "-o", "f", "keys"});
  EXPECT_EQ(all["keys_different"], 700000) << "never more than were read";
  EXPECT_EQ(all["capacity_keys"], 700000);
  const auto twice = json_of({"build", "--json", "-q", "-o", "g", "keys", "keys"});
  EXPECT_EQ(twice["keys_read"], 1400000);
  EXPECT_EQ(twice["keys_different_exact"], false);
  EXPECT_GE(twice["keys_different"], 700000);
  EXPECT_LE(twice["keys_different"], 714000);
  EXPECT_EQ(twice["capacity_keys"], twice["keys_different"]);
}

TEST_F(Build, WhatDoesNotFitIntoMemoryWhileItIsCountedIsReadTwice) {
  write("keys", numbers(1, 1200000));
  ASSERT_EQ(run({"build", "-q", "-p", "5%", "--mem", "2M", "-o", "f", "keys"}).code, 0);
  ASSERT_EQ(run({"build", "-q", "-p", "5%", "--mem", "2M", "-n", "1200000", "-o", "told", "keys"}).code, 0);
  EXPECT_TRUE(read("f") == read("told"));
}

TEST_F(Build, APipeThatDoesNotFitIntoMemoryIsFolded) {
  write("keys", numbers(1, 1200000));
  const ran result = sh("cat keys | $TOOL build -p 5% --mem 8M -o f");
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string first = result.err.substr(0, result.err.find('\n'));
  EXPECT_TRUE(contains(first, "more keys than could be buffered in memory: filled a filter made for ")) << first;
  EXPECT_TRUE(contains(first, ", folded to one for ")) << first;
  EXPECT_TRUE(contains(first, "; 1,200,000 keys, as many as were read")) << first;
  const auto info = json_of({"info", "--json", "f"});
  EXPECT_GE(info["capacity_keys"], 1200000);
  EXPECT_LE(info["capacity_keys"], 1500000);
  EXPECT_LE(info["fpr_now"], 0.05);
  EXPECT_EQ(run({"query", "-c", "f", "keys"}).out, "1200000\n");
  // What cannot keep the rate is refused as it is for a file.
  const ran small = sh("cat keys | $TOOL build -p 1% --mem 1M -o g");
  EXPECT_EQ(small.code, 2);
  EXPECT_EQ(lines_in(small.err), 1U) << small.err;
  EXPECT_TRUE(contains(small.err, "and --mem allows 1,000,000 bytes (977 KiB): with -p ")) << small.err;
  EXPECT_FALSE(exists("g"));
  EXPECT_EQ(run({"build", "-p", "1%", "--mem", "1M", "-o", "g", "keys"}).err, small.err);
}

TEST_F(Build, TheKindIsChosenByPlan) {
  const auto kind_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"build", "--json", "-q", "--force", "-o", "f"};
    words.insert(words.end(), more.begin(), more.end());
    return json_of(words, "a\n")["kind"].get<std::string>();
  };
  EXPECT_EQ(kind_of({"-n", "100000"}), "blocked");
  EXPECT_EQ(kind_of({"-n", "1"}), "blocked") << "a few bytes do not matter";
  EXPECT_EQ(kind_of({"-n", "100000", "-p", "1e-7"}), "bloom") << "much smaller at this rate";
  EXPECT_EQ(kind_of({"-n", "100000", "-p", "1e-7", "--kind", "blocked"}), "blocked");
  EXPECT_EQ(kind_of({"-n", "100000", "-p", "1e-7", "--layout", "split64"}), "blocked");
  EXPECT_EQ(kind_of({"-n", "100000", "--mem", "1M"}), "bloom") << "80 bits a key";
  EXPECT_EQ(kind_of({"-n", "100000", "--mem", "120000"}), "blocked");
  EXPECT_EQ(kind_of({"-n", "100000", "-p", "1%", "--mem", "122000"}), "bloom") << "blocked does not fit";
}

TEST_F(Build, HeadroomMakesRoom) {
  EXPECT_EQ(json_of({"build", "--json", "-o", "f", "--headroom", "20%"}, numbers(1, 1000))["capacity_keys"], 1200);
}

TEST_F(Build, MemoryIsACeiling) {
  write("keys", numbers(1, 10000));
  const auto best = json_of({"build", "--json", "-o", "f", "--mem", "20000", "keys"});
  EXPECT_LE(best["memory_bytes"], 20000);
  EXPECT_GT(best["memory_bytes"], 19000);
  EXPECT_LT(best["target_fpr"], 0.001);
  const ran refused = run({"build", "-o", "g", "-n", "10000", "-p", "0.1%", "--mem", "10000", "keys"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(lines_in(refused.err), 1U);
  EXPECT_TRUE(contains(refused.err, "and --mem allows 10,000 bytes (9.8 KiB): with -p ")) << refused.err;
  // The rate that it names does fit.
  const std::size_t at = refused.err.find("with -p ") + 8;
  const std::string p = refused.err.substr(at, refused.err.find(' ', at) - at);
  EXPECT_EQ(run({"build", "-q", "-o", "g", "-n", "10000", "-p", p, "--mem", "10000", "keys"}).code, 0) << p;
}

TEST_F(Build, MoreThanTheMachineHasIsRefusedWithItsBytes) {
  const ran result = run({"build", "-o", "f", "-n", "1e12"}, "a\n");
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(lines_in(result.err), 1U);
  EXPECT_TRUE(contains(result.err, " bytes (1.1 TiB) of memory and ")) << result.err;
  EXPECT_TRUE(contains(run({"build", "-o", "f", "-n", "1e19"}, "a\n").err, "number of keys 1e+19 is not usable"));
  EXPECT_FALSE(exists("f"));
}

TEST_F(Build, NoKeysGiveAnEmptyFilter) {
  build("f", "");
  EXPECT_EQ(run({"query", "f"}, "a\n\n").code, 1);
  EXPECT_EQ(json_of({"info", "--json", "f"})["keys"], 0);
}

TEST_F(Build, BitmapHoldsIntegersExactly) {
  build("f", numbers(1, 1000), {"--kind", "bitmap", "--u64"});
  EXPECT_EQ(json_of({"info", "--json", "f"})["hash"], "identity");
  EXPECT_EQ(run({"query", "--u64", "-c", "f"}, numbers(500, 200000)).out, "501\n");
  expect_error({"build", "-o", "g", "--kind", "bitmap"}, "bloomery: build: kind bitmap holds integers: give --u64",
               "1\n");
  expect_error({"query", "f"}, "bloomery: query: hash identity takes integers of 8 bytes: give --u64", "1\n");
  EXPECT_EQ(run({"build", "-q", "-o", "g", "--hash", "identity", "--u64"}, "1\n").code, 2);
}

TEST_F(Build, KeyedFiltersNeedTheirKey) {
  write("key", "0123456789abcdef");
  write("same.hex", "30313233343536373839616263646566\n");
  write("other", "0123456789abcdeX");
  write("short", "0123");
  build("f", "a\nb\n", {"--key-file", "key"});
  const auto info = json_of({"info", "--json", "f"});
  EXPECT_EQ(info["hash"], "siphash13");
  EXPECT_EQ(info["key_id"].get<std::string>().size(), 16U);
  EXPECT_FALSE(contains(read("f"), "0123456789abcdef")) << "the secret is not in the file";
  EXPECT_EQ(run({"query", "--key-file", "key", "f"}, "a\nx\n").out, "a\n");
  EXPECT_EQ(run({"query", "--key-file", "same.hex", "f"}, "a\nx\n").out, "a\n");
  expect_error({"query", "f"},
               "bloomery: f: was built with the keyed hash siphash13: give its secret key with --key-file", "a\n");
  const ran wrong = run({"query", "--key-file", "other", "f"}, "a\n");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(contains(wrong.err, "f: this filter was built with another secret key (key id "));
  expect_error(
      {"query", "--key-file", "short", "f"},
      "bloomery: short: is not a secret key for this hash: it has 4 bytes and should have 16, or 32 hexadecimal "
      "digits",
      "a\n");
  expect_error({"build", "-o", "g", "--hash", "siphash24"},
               "bloomery: build: hash siphash24 needs a secret key of 16 bytes: give it with --key-file", "a\n");
  expect_error({"build", "-o", "g", "--hash", "xxh3", "--key-file", "key"},
               "bloomery: build: hash xxh3 takes no secret key: use siphash13, siphash24 or highwayhash64", "a\n");
  build("plain", "a\n");
  expect_error({"query", "--key-file", "key", "plain"},
               "bloomery: plain: was built with xxh3, which takes no secret key: leave --key-file out", "a\n");
}

TEST_F(Build, JsonIsOneObjectWithStableNames) {
  const auto built = json_of({"build", "--json", "-q", "-o", "f", "-p", "0.5%"}, numbers(1, 1000));
  EXPECT_EQ(built["file"], "f");
  EXPECT_EQ(built["kind"], "blocked");
  EXPECT_EQ(built["keys_read"], 1000);
  EXPECT_GT(built["keys_inserted"], 980);
  EXPECT_EQ(built["file_bytes"], read("f").size());
  for (const char* name : {"memory_bytes", "bits_per_key", "target_fpr", "fpr_now", "fill"}) {
    EXPECT_TRUE(built[name].is_number()) << name;
  }
}

// Starts the tool with input that does not end, and gives its process. The signals do what they do by default, whatever
// our parent has chosen to ignore.
pid_t start_endless(std::vector<std::string> words, int input) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = -1;
  words.insert(words.begin(), BLOOMERY_TOOL);
  EXPECT_EQ(posix_spawn(&child, BLOOMERY_TOOL, &actions, &attributes, detail::pointers(words).data(), environ), 0);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

TEST_F(Build, SignalsLeaveTheOldFileAndNoTemporary) {
  build("f", "old\n");
  const std::string before = read("f");
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    std::array<int, 2> pipe_ends{};
    ASSERT_EQ(pipe2(pipe_ends.data(), O_CLOEXEC), 0);
    ASSERT_EQ(::write(pipe_ends[1], "new\n", 4), 4);
    const pid_t child = start_endless({"build", "-q", "--force", "-n", "10", "-o", path("f")}, pipe_ends[0]);
    usleep(200'000);
    kill(child, number);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << number;
    EXPECT_EQ(read("f"), before) << number;
    EXPECT_EQ(names(), std::vector<std::string>{"f"}) << number;
    close(pipe_ends[0]);
    close(pipe_ends[1]);
  }
}

// Stopped at any moment of a run that writes a large file: old or new, never half, and no temporary file.
TEST_F(Build, BeingStoppedWhileWritingLeavesTheOldFileOrTheNew) {
  write("keys", "a\n");
  ASSERT_EQ(run({"build", "-q", "-n", "50M", "-o", "new", "keys"}).code, 0);
  const std::string whole = read("new");
  for (const int milliseconds : {20, 40, 80, 120, 160, 240}) {
    write("f", "old");
    const std::string pause = std::to_string(milliseconds / 1000.0);
    const ran result =
        sh("exec 2>/dev/null; $TOOL build -q --force -n 50M -o f keys & sleep " + pause + "; kill -TERM $!; wait $!");
    const std::string after = read("f");
    EXPECT_TRUE(after == "old" || after == whole) << milliseconds << " ms, " << after.size() << " bytes";
    EXPECT_EQ(names(), (std::vector<std::string>{"f", "keys", "new"})) << milliseconds << " ms, exit " << result.code;
  }
}

}  // namespace

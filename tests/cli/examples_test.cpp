// The examples of every verb's help, run as they stand there.
#include <cctype>

#include "cli/tool_box.hpp"
#include "cli/verbs/verb.hpp"

namespace {

using namespace bloomery_test;
using bloomery::cli::verb;
using bloomery::cli::verbs;

class Examples : public tool_box, public ::testing::WithParamInterface<const verb*> {
 protected:
  // What the examples speak of. Programs that may not be installed, and the tool where an example would take long, are
  // stood in for.
  void SetUp() override {
    tool_box::SetUp();
    std::filesystem::create_directories(path("bin"));
    program("jq", "exec cat");
    program("man", "exec cat");
    program("bloomery",
            "case $1 in demo | hashes) set -- \"$@\" --quick ;; bench) set -- \"$@\" --quick -n 10k ;; esac\n"
            "exec \"$TOOL\" \"$@\"");
    for (const char* folder :
         {"logs", ".zfunc", ".config/fish/completions", ".local/share/bash-completion/completions"}) {
      std::filesystem::create_directories(path(folder));
    }
    for (const char* name : {"urls.txt", "users.txt", "huge.txt", "a.txt", "words.txt", "domains.txt"})
      write(name, numbers(1, 500));
    for (const char* name : {"today.txt", "new.txt", "ids.txt"}) write(name, numbers(400, 900));
    write("other.txt", numbers(5000, 9000));
    write("revoked.txt", numbers(1, 100));
    write("valid.txt", numbers(101, 2000));
    for (const char* name : {"gone.txt", "redeemed.txt"}) write(name, numbers(1, 3));
    write("people.csv", "name,email\nA,a@example.org\nB,b@example.org\n");
    write("secret.key", "0123456789abcdef");
    write("access.log", "10.0.0.1 GET /\n10.0.0.2 GET /\n10.0.0.1 GET /a\n");
    ASSERT_EQ(sh("printf 'a\\tb\\t10.0.0.1\\n' | gzip > logs/one.gz").code, 0);
    for (const char* name : {"seen", "users", "all", "new", "a", "b", "f", "ips", "mon", "tue", "wed"}) {
      build(std::string(name) + ".bloom", numbers(1, 1000), {"-n", "2000"});
    }
    build("ids.bloom", numbers(1, 1000), {"--kind", "bitmap", "--u64"});
    build("revoked.bloom", numbers(1, 100), {"--kind", "cascade", "--exclude", "valid.txt"});
    build("blocklist.bloom", numbers(1, 1000), {"--format", "dcso"});
    build("seen.scan", numbers(1, 1000), {"--format", "redisbloom", "-n", "2000"});
    build("0a1b2c", "user-4711\tinfo:name\n", {"--format", "hbase", "--bloom-type", "rowcol"});
    ASSERT_EQ(sh("\"$TOOL\" info --metrics users.bloom > metrics.txt").code, 0);
    ASSERT_EQ(sh("head -c 73 seen.scan > seen.head && tail -c +74 seen.scan > seen.chunk1").code, 0);
    for (const char* name : {"coupons.bloom", "words.bloom"}) build(name, numbers(1, 1000), {"--kind", "counting"});
  }

  void program(const std::string& name, const std::string& text) const {
    write("bin/" + name, "#!/bin/sh\n" + text + "\n");
    std::filesystem::permissions(path("bin/" + name), std::filesystem::perms::owner_all);
  }
  static std::string with(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
    return text;
  }
};

TEST_P(Examples, Run) {
  for (const auto& each : GetParam()->examples) {
    // Smaller, and with an end.
    std::string command = with(with(std::string(each.command), "100M", "100k"), "tail -f", "tail");
    const bool replaces = contains(command, "--force");
    if (const std::size_t at = command.find("-o "); at != std::string::npos && !replaces) {
      std::filesystem::remove(path(command.substr(at + 3, command.find(' ', at + 3) - at - 3)));
    }
    const ran result = sh("HOME=$PWD PATH=$PWD/bin:$PATH bash -o pipefail -c " + shell_quoted(command) + " < urls.txt");
    EXPECT_LT(result.code, 2) << command << "\n" << result.err;
    EXPECT_FALSE(contains(result.err, "bloomery: " + std::string(GetParam()->name) + ": ")) << result.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Verbs, Examples, ::testing::ValuesIn(verbs().begin(), verbs().end()),
                         [](const auto& each) { return std::string(each.param->name); });

}  // namespace

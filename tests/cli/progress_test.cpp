// The progress line: on a terminal, on request, and nowhere else.
#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Progress : public tool_box {
 protected:
  // Builds from input that comes in two halves, so that the run takes longer than the line needs to appear.
  [[nodiscard]] std::string slow_build(const std::string& options) const {
    return "{ echo a; sleep 0.7; echo b; } | " BLOOMERY_TOOL " build " + options + " --force -o " +
           shell_quoted(path("f"));
  }
  // The same with a terminal as standard error.
  [[nodiscard]] std::string on_terminal(const std::string& options, std::vector<std::string> settings) const {
    settings.emplace_back("TERM=xterm");
    return run_program_on_terminal({"/bin/sh", "-c", slow_build(options)}, settings).out;
  }
};

TEST_F(Progress, AppearsOnATerminalAndIsCleared) {
  const std::string seen = on_terminal("", {});
  const std::size_t drawn = seen.find("\rreading: 2 keys  ");
  ASSERT_NE(drawn, std::string::npos) << seen;
  EXPECT_NE(seen.find("\r\x1b[K", drawn), std::string::npos);
  EXPECT_TRUE(contains(seen, "sized for 2 keys"));
}

TEST_F(Progress, CanBeSilencedOnATerminal) {
  EXPECT_FALSE(contains(on_terminal("--no-progress", {}), "reading:"));
  EXPECT_EQ(on_terminal("-q", {}), "");
}

TEST_F(Progress, DoesNotAppearInAPipeUnlessRequested) {
  EXPECT_FALSE(contains(sh(slow_build("")).err, "reading:"));
  const std::string asked = sh(slow_build("--progress")).err;
  EXPECT_TRUE(contains(asked, "reading: 1 keys")) << asked;
  EXPECT_FALSE(contains(asked, "\r")) << "lines of their own";
}

TEST_F(Progress, ShowsShareSpeedAndTimeInTheCharactersOfTheLocale) {
  write("keys", numbers(1, 400000));
  const std::string plain = sh("$TOOL build --progress -o f keys").err;
  EXPECT_TRUE(contains(plain, "reading: ")) << plain;
  EXPECT_TRUE(contains(plain, " %  ")) << plain;
  EXPECT_TRUE(contains(plain, "/s")) << plain;
  EXPECT_TRUE(is_ascii(plain)) << plain;
  const std::string utf8 = sh("LC_ALL=C.UTF-8 $TOOL build --progress --force -o f keys").err;
  EXPECT_TRUE(contains(utf8, "░") || contains(utf8, "█")) << utf8;
}

}  // namespace

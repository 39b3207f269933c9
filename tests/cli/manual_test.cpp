// The manual pages: made by the tool, rendered by groff and mandoc.
#include <set>

#include "cli/tool_box.hpp"
#include "cli/verbs/verb.hpp"

namespace {

using namespace bloomery_test;
using bloomery::cli::flag_row;
using bloomery::cli::flag_table;
using bloomery::cli::verb;
using bloomery::cli::verbs;

class Manual : public tool_box {
 protected:
  // Writes the page of a verb, or of the tool for nullptr, to `page`.
  void make(const verb* of) const {
    const ran made = of == nullptr ? run({"help", "--man"}) : run({"help", "--man", std::string(of->name)});
    ASSERT_EQ(made.code, 0) << made.err;
    ASSERT_EQ(made.err, "");
    write("page", made.out);
  }
  // As a terminal would show it, without bold and underline.
  [[nodiscard]] std::string shown(const verb* of) const {
    make(of);
    const ran result = sh("mandoc -T ascii -O width=200 page");
    EXPECT_EQ(result.code, 0) << result.err;
    std::string out;
    for (const char c : result.out) {
      if (c == '\b') {
        out.pop_back();
      } else {
        out.push_back(c);
      }
    }
    return out;
  }
  static std::vector<const verb*> pages() {
    std::vector<const verb*> out = {nullptr};
    out.insert(out.end(), verbs().begin(), verbs().end());
    return out;
  }
};

TEST_F(Manual, EveryPageRendersWithoutAWarning) {
  for (const verb* of : pages()) {
    make(of);
    for (const char* command : {"groff -mandoc -Tutf8 -ww -z page", "mandoc -T lint -W warning page"}) {
      const ran result = sh(command);
      EXPECT_EQ(result.code, 0) << command;
      EXPECT_EQ(result.out + result.err, "") << command << (of == nullptr ? "" : of->name);
    }
  }
}

TEST_F(Manual, EveryPageHasTheUsualSections) {
  for (const verb* of : pages()) {
    const std::string page = shown(of);
    std::size_t at = 0;
    for (const char* section :
         {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "ENVIRONMENT", "EXIT STATUS", "EXAMPLES", "SEE ALSO"}) {
      const bool has = std::string_view(section) == "OPTIONS"       ? of != nullptr
                       : std::string_view(section) == "ENVIRONMENT" ? of == nullptr || of->name != "help"
                                                                    : true;
      if (!has) continue;
      const std::size_t found = page.find(std::string("\n") + section + "\n", at);
      ASSERT_NE(found, std::string::npos) << section << page;
      at = found;
    }
  }
}

TEST_F(Manual, APageHasExactlyTheOptionsThatItsVerbTakes) {
  for (const verb* of : verbs()) {
    std::set<std::string> expected;
    for (const flag_row& row : flag_table()) {
      if ((row.verbs & of->bit) == 0) continue;
      std::string names;
      for (const char c : row.short_names) names.append("-").append(1, c).append(", ");
      names.append("--").append(row.name);
      if (!row.value.empty()) names.append(" ").append(row.value);
      expected.insert(names);
    }
    const std::string page = shown(of);
    std::set<std::string> found;
    const std::size_t end = page.find("\nEXIT STATUS\n");
    for (std::size_t at = page.find("\nOPTIONS\n"); at < end; at = page.find('\n', at + 1)) {
      // The tag of an entry: five blanks, then the names; its text may follow on the line.
      if (page.compare(at, 7, "\n     -") != 0) continue;
      std::string line = page.substr(at + 6, page.find('\n', at + 1) - at - 6);
      found.insert(line.substr(0, line.find("  ")));
    }
    for (const std::string& names : expected) {
      const bool there = found.count(names) == 1 || found.lower_bound(names)->rfind(names + " ", 0) == 0;
      EXPECT_TRUE(there) << of->name << ": " << names << "\n" << page;
    }
    EXPECT_EQ(found.size(), expected.size()) << of->name << "\n" << page;
  }
}

TEST_F(Manual, ExamplesCanBeCopiedFromThePage) {
  for (const verb* of : verbs()) {
    const std::string page = shown(of);
    ASSERT_FALSE(of->examples.empty()) << of->name;
    for (const auto& each : of->examples) {
      EXPECT_TRUE(contains(page, "\n           " + std::string(each.command) + "\n")) << each.command << page;
    }
  }
}

TEST_F(Manual, ThePageOfTheToolNamesEveryVerbAndItsOtherName) {
  const std::string page = shown(nullptr);
  for (const verb* of : verbs()) {
    EXPECT_TRUE(contains(page, "bloomery-" + std::string(of->name) + "(1)")) << of->name;
    if (of->alias.empty()) continue;
    EXPECT_TRUE(contains(page, std::string(of->alias) + " is the same")) << of->name;
  }
}

TEST_F(Manual, ManShowsAPageFromAPipe) {
  const ran result = sh("\"$TOOL\" help --man plan | man -l - 2>&1");
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(contains(result.out, "BLOOMERY-PLAN(1)")) << result.out;
}

TEST_F(Manual, WriteMakesEveryPageAndCompletionInItsFolder) {
  const ran result = run({"help", "--write", "share"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out + result.err, "");
  EXPECT_EQ(read("share/man/man1/bloomery.1"), run({"help", "--man"}).out);
  for (const verb* of : verbs()) {
    const std::string name(of->name);
    EXPECT_EQ(read("share/man/man1/bloomery-" + name + ".1"), run({"help", "--man", name}).out) << name;
  }
  EXPECT_EQ(read("share/bash-completion/completions/bloomery"), run({"help", "--completions", "bash"}).out);
  EXPECT_EQ(read("share/zsh/site-functions/_bloomery"), run({"help", "--completions", "zsh"}).out);
  EXPECT_EQ(read("share/fish/vendor_completions.d/bloomery.fish"), run({"help", "--completions", "fish"}).out);
}

TEST_F(Manual, WhatCannotBePrintedOrWrittenIsAnError) {
  expect_error({"help", "--man", "quary"}, "bloomery: there is no verb 'quary'; did you mean 'query'?");
  expect_error({"help", "build", "query"}, "bloomery: help: takes one verb, and 'query' is one too many");
  expect_error({"help", "--completions", "bash", "build"},
               "bloomery: help: --completions are for all verbs: name none");
  expect_error({"help", "--completions", "csh"},
               "bloomery: help: --completions: there is no 'csh'; did you mean 'zsh'?");
  expect_error({"help", "--man", "--write", "d"},
               "bloomery: help: --man, --completions and --write contradict each other: give one");
  write("file", "");
  const ran result = run({"help", "--write", "file"});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.err, "bloomery: file/man/man1: cannot make this folder: Not a directory\n");
}

}  // namespace

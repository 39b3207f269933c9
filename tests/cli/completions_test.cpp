// Completions, asked of the shells themselves: what would they offer behind this line?
#include "cli/tool_box.hpp"
#include "cli/verbs/verb.hpp"

namespace {

using namespace bloomery_test;
using bloomery::cli::flag_row;
using bloomery::cli::flag_table;
using bloomery::cli::value_type;
using bloomery::cli::verb;
using bloomery::cli::verbs;
using word_list = std::vector<std::string>;

// Every driver reads lines from `lines` and writes what is offered behind each to `offers`, then a line "--end--".

// bash calls the function with the words of the line; = separates words, as it does when people type.
constexpr std::string_view bash_driver = R"(
source completions
while IFS= read -r line; do
  line=${line//=/ = }
  read -ra COMP_WORDS <<<"$line"
  [[ $line == *' ' ]] && COMP_WORDS+=('')
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _bloomery
  ((${#COMPREPLY[@]})) && printf '%s\n' "${COMPREPLY[@]}"
  echo '--end--'
done <lines >offers
)";

constexpr std::string_view fish_driver = R"(
source completions
while read -l line
    for offer in (complete -C "$line")
        string split -f 1 \t -- $offer
    end
    echo '--end--'
end <lines >offers
)";

// zsh completes only while a line is edited: this is its start-up file, which puts the lines where they would be typed;
// compadd tells what it is given.
constexpr std::string_view zsh_driver = R"(
fpath=($PWD/functions $fpath)
autoload -Uz compinit && compinit -u -d $PWD/dump
compadd() {
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
    local -a hits
    builtin compadd -A hits "$@"
    (( $#hits )) && print -rl -- $hits >>offers
  fi
  builtin compadd "$@"
}
capture() {
  _main_complete
  compstate[insert]=''
  compstate[list]=''
}
zle -C capture complete-word capture
ask() {
  local line
  while IFS= read -r line; do
    BUFFER=$line
    CURSOR=$#BUFFER
    zle capture
    print -r -- --end-- >>offers
  done <lines
  BUFFER=exit
  zle .accept-line
}
zle -N zle-line-init ask
: >offers
)";

class Completions : public tool_box {
 protected:
  void SetUp() override {
    tool_box::SetUp();
    write("seen.bloom", "");
    std::filesystem::create_directory(path("server"));
  }

  // What a shell offers behind each line, sorted.
  [[nodiscard]] std::vector<word_list> offers(const std::string& shell, const word_list& lines) const {
    const ran made = run({"help", "--completions", shell});
    EXPECT_EQ(made.code, 0) << made.err;
    std::string text;
    for (const std::string& line : lines) text.append(line).append("\n");
    write("lines", text);
    write("completions", made.out);
    std::filesystem::create_directory(path("functions"));
    write("functions/_bloomery", made.out);
    write("driver", shell == "bash" ? bash_driver : shell == "fish" ? fish_driver : zsh_driver);
    if (shell == "zsh") {
      const std::string command =
          "cd " + shell_quoted(path("")) + " && mv driver .zshrc && ZDOTDIR=$PWD exec zsh -d -i";
      const ran result = run_program_on_terminal({"/bin/sh", "-c", command}, {"TERM=dumb", "LC_ALL=C"});
      EXPECT_EQ(result.code, 0) << result.out;
    } else {
      const ran result = sh("HOME=$PWD XDG_CONFIG_HOME=$PWD " + shell + " driver");
      EXPECT_EQ(result.err, "") << shell;
    }
    std::vector<word_list> out(1);
    std::istringstream answers(read("offers"));
    for (std::string line; std::getline(answers, line);) {
      if (line == "--end--") {
        std::sort(out.back().begin(), out.back().end());
        out.back().erase(std::unique(out.back().begin(), out.back().end()), out.back().end());
        out.emplace_back();
      } else {
        out.back().push_back(line);
      }
    }
    out.pop_back();
    EXPECT_EQ(out.size(), lines.size()) << shell;
    out.resize(lines.size());
    return out;
  }
  void expect_offers(const std::vector<std::pair<std::string, word_list>>& expected) const {
    word_list lines;
    for (const auto& [line, offered] : expected) lines.push_back(line);
    for (const char* shell : {"bash", "zsh", "fish"}) {
      const auto found = offers(shell, lines);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        word_list wanted = expected[i].second;
        std::sort(wanted.begin(), wanted.end());
        word_list had = found[i];
        // A folder may be offered with a slash.
        for (std::string& word : had) {
          if (!word.empty() && word.back() == '/') word.pop_back();
        }
        EXPECT_EQ(had, wanted) << shell << ": " << lines[i];
      }
    }
  }
};

TEST_F(Completions, OfferEveryVerbUnderBothItsNames) {
  word_list all;
  for (const verb* each : verbs()) {
    all.emplace_back(each->name);
    if (!each->alias.empty()) all.emplace_back(each->alias);
  }
  expect_offers(
      {{"bloomery ", all}, {"bloomery help ", all}, {"bloomery bui", {"build"}}, {"bloomery cre", {"create"}}});
}

TEST_F(Completions, OfferExactlyTheOptionsOfTheVerb) {
  std::vector<std::pair<std::string, word_list>> expected = {{"bloomery --", {"--help", "--version"}}};
  for (const verb* each : verbs()) {
    word_list names;
    for (const flag_row& row : flag_table()) {
      if ((row.verbs & each->bit) != 0) names.push_back("--" + std::string(row.name));
    }
    expected.emplace_back("bloomery " + std::string(each->name) + " --", names);
    if (!each->alias.empty()) expected.emplace_back("bloomery " + std::string(each->alias) + " --", names);
  }
  expect_offers(expected);
}

TEST_F(Completions, OfferTheWordsThatAnOptionTakes) {
  std::vector<std::pair<std::string, word_list>> expected;
  for (const verb* each : verbs()) {
    for (const flag_row& row : flag_table()) {
      const auto known = bloomery::cli::words_of(row);
      if ((row.verbs & each->bit) == 0 || known.empty()) continue;
      const std::string start = "bloomery " + std::string(each->name) + " --" + std::string(row.name);
      expected.emplace_back(start + " ", word_list(known.begin(), known.end()));
    }
  }
  ASSERT_GT(expected.size(), 5U);
  expected.push_back({"bloomery build --kind bloo", {"bloom"}});
  expected.push_back({"bloomery create -o x --kind bloo", {"bloom"}});
  expect_offers(expected);
}

TEST_F(Completions, OfferFilesWhereAFileGoes) {
  expect_offers({{"bloomery query see", {"seen.bloom"}},
                 {"bloomery check -c see", {"seen.bloom"}},
                 {"bloomery build -o see", {"seen.bloom"}},
                 {"bloomery build --key-file see", {"seen.bloom"}},
                 {"bloomery verify seen.bloom --keys se", {"seen.bloom", "server"}},
                 {"bloomery build -o seen.bloom se", {"seen.bloom", "server"}},
                 {"bloomery help --write s", {"server"}}});
}

TEST_F(Completions, OfferNothingWhereNothingCanBeGuessed) {
  expect_offers({{"bloomery build -n ", {}},
                 {"bloomery build --fpr ", {}},
                 {"bloomery plan --keys ", {}},
                 {"bloomery plan see", {}},
                 {"bloomery kinds see", {}},
                 {"bloomery xyzzy see", {}}});
}

TEST_F(Completions, CompleteAValueAfterAnEqualsSign) {
  const word_list lines = {"bloomery build --kind=bloo", "bloomery build --kind="};
  const auto bash = offers("bash", lines);
  EXPECT_EQ(bash[0], word_list({"bloom"}));
  EXPECT_GT(bash[1].size(), 2U);
  EXPECT_EQ(offers("zsh", lines)[0], word_list({"bloom"}));
  EXPECT_EQ(offers("fish", lines)[0], word_list({"--kind=bloom"}));
}

}  // namespace

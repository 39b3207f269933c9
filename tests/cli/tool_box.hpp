// A folder of its own for every test, and the tool run inside it.
//
//     TEST_F(Build, ...) {
//       write("keys", "a\nb\n");
//       const ran result = run({"build", "-o", "f", "keys"});          // or run({...}, "standard input")
//       const ran piped = sh("cat keys | $TOOL query f | head -n 1");
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json_fwd.hpp>

#include "cli/run_tool.hpp"

namespace bloomery_test {

class tool_box : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "bloomery-cli-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream file(path(name), std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
  // Every name in the folder, hidden ones too.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) out.push_back(entry.path().filename());
    std::sort(out.begin(), out.end());
    return out;
  }

  // The tool, in the folder, with this text on its standard input.
  [[nodiscard]] ran run(const std::vector<std::string>& words, std::string_view input = {}) const {
    write(".input", input);
    std::string command = "exec \"$TOOL\"";
    for (const std::string& word : words) command.append(" ").append(shell_quoted(word));
    const ran result = sh(command + " < .input");
    std::filesystem::remove(path(".input"));
    return result;
  }
  // A line for the shell, in the folder; $TOOL is the tool.
  [[nodiscard]] ran sh(const std::string& command) const {
    return run_program({"/bin/sh", "-c", "cd " + shell_quoted(folder_.string()) + " && " + command},
                       {"TOOL=" BLOOMERY_TOOL, "LC_ALL=C"});
  }
  // What --json gave; for the tests that include <nlohmann/json.hpp>.
  [[nodiscard]] nlohmann::json json_of(const std::vector<std::string>& words, std::string_view input = {}) const;
  // One line on standard error, nothing on standard output, exit 2.
  void expect_error(const std::vector<std::string>& words, const std::string& line, std::string_view input = {}) const {
    const ran result = run(words, input);
    EXPECT_EQ(result.err, line + "\n");
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.code, 2);
  }
  // Builds `name` from keys written as the options say.
  void build(const std::string& name, std::string_view input, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"build", "-q", "-o", name};
    words.insert(words.end(), more.begin(), more.end());
    const ran result = run(words, input);
    ASSERT_EQ(result.code, 0) << result.err;
    ASSERT_EQ(result.err, "");
  }

  static std::string shell_quoted(const std::string& word) {
    std::string out = "'";
    for (const char c : word) out.append(c == '\'' ? "'\\''" : std::string(1, c));
    return out.append("'");
  }
  static std::string numbers(int first, int last) {
    std::string out;
    for (int i = first; i <= last; ++i) out.append(std::to_string(i)).append("\n");
    return out;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace bloomery_test

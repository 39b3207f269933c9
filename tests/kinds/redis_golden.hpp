// What RedisBloom wrote (tests/golden/redisbloom), for tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace redis_golden {

inline const std::string golden_dir = BLOOMERY_GOLDEN_DIR "/redisbloom/2.8.20/";

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline std::vector<std::vector<std::string>> read_table(const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(read_text(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> row;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, '\t');) row.push_back(cell);
    rows.push_back(row);
  }
  return rows;
}

inline std::string key_of_hex(const std::string& hex) {
  std::string key;
  for (std::size_t i = 0; hex != "-" && i + 1 < hex.size(); i += 2) {
    key.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return key;
}

// The replies of SCANDUMP behind the first one, joined.
inline std::string dumped_bits(const std::string& name, std::size_t links) {
  std::string bits;
  for (std::size_t link = 0; link < links; ++link) {
    const std::string prefix = name + ".chunk" + std::to_string(link + 1) + "_iter";
    for (const auto& entry : std::filesystem::directory_iterator(golden_dir)) {
      const std::string file = entry.path().filename().string();
      if (file.rfind(prefix, 0) == 0) bits += read_text(entry.path().string());
    }
  }
  return bits;
}

}  // namespace redis_golden

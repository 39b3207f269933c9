// What RedisBloom wrote (tests/golden/redisbloom), for tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/golden.hpp"

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
  return bloomery::test::rows_of(read_text(path));
}
inline std::string key_of_hex(const std::string& hex) { return bloomery::test::from_hex(hex); }

// The replies of SCANDUMP behind the first one, joined.
inline std::string dumped_bits(const std::string& name, std::size_t sub_filters) {
  std::string bits;
  for (std::size_t i = 0; i < sub_filters; ++i) {
    const std::string prefix = name + ".chunk" + std::to_string(i + 1) + "_iter";
    for (const auto& entry : std::filesystem::directory_iterator(golden_dir)) {
      const std::string file = entry.path().filename().string();
      if (file.rfind(prefix, 0) == 0) bits += read_text(entry.path().string());
    }
  }
  return bits;
}

}  // namespace redis_golden

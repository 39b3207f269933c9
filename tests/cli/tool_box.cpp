#include "cli/tool_box.hpp"

#include <nlohmann/json.hpp>

namespace bloomery_test {

nlohmann::json tool_box::json_of(const std::vector<std::string>& words, std::string_view input) const {
  const ran result = run(words, input);
  EXPECT_NE(result.code, 2) << result.err;
  return nlohmann::json::parse(result.out, nullptr, false);
}

}  // namespace bloomery_test

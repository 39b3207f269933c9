#include <bloomery/kinds.hpp>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

class Count : public tool_box {
 protected:
  void SetUp() override {
    tool_box::SetUp();
    build("set", numbers(1, 100), {"--kind", "bitmap", "--u64"});
  }
};

TEST_F(Count, KindsThatCannotAreRefusedWithTheNamesOfThoseThatCan) {
  std::string able;
  bloomery::for_each_type(bloomery::kind_list{}, [&](auto tag) {
    using kind = typename decltype(tag)::type;
    if (bloomery::countable<kind>) able.append(able.empty() ? "" : ", ").append(kind::info.name);
  });
  bloomery::for_each_type(bloomery::kind_list{}, [&](auto tag) {
    using kind = typename decltype(tag)::type;
    if (bloomery::countable<kind>) return;
    const std::string name(kind::info.name);
    std::vector<std::string> how = {"--kind", name, "-n", "100"};
    if (kind::info.excludes) {
      write("out", "b\n");
      how = {"--kind", name, "--exclude", "out"};
    }
    build(name, "a\n", how);
    expect_error({"count", name},
                 "bloomery: " + name + ": is of kind " + name + ", which cannot count keys; kinds that can: " + able,
                 "a\n");
  });
}

}  // namespace

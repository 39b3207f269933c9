// Verbs that only some kinds support. Which ones do is derived from concepts.
#include <bloomery/kinds.hpp>

#include "cli/tool_box.hpp"

namespace {

using namespace bloomery_test;

template <class Kind>
struct can_count : std::bool_constant<bloomery::countable<Kind>> {};
template <class Kind>
struct can_erase : std::bool_constant<bloomery::erasable<Kind>> {};

class Abilities : public tool_box {
 protected:
  // A verb refuses every kind without the ability, names those that have it, and leaves the file unchanged.
  template <template <class> class Ability>
  void expect_refused(const std::string& verb, const std::string& what) const {
    std::string able;
    bloomery::for_each_type(bloomery::kind_list{}, [&](auto tag) {
      using kind = typename decltype(tag)::type;
      if (Ability<kind>::value) able.append(able.empty() ? "" : ", ").append(kind::info.name);
    });
    bloomery::for_each_type(bloomery::kind_list{}, [&](auto tag) {
      using kind = typename decltype(tag)::type;
      if (Ability<kind>::value) return;
      const std::string name(kind::info.name);
      std::vector<std::string> how = {"--kind", name, "-n", "100"};
      if (bloomery::excluding_kind<kind>) {
        write("out", "b\n");
        how = {"--kind", name, "--exclude", "out"};
      }
      build(name, "a\n", how);
      const std::string before = read(name);
      expect_error(
          {verb, name},
          "bloomery: " + name + ": is of kind " + name + ", which cannot " + what + "; kinds that can: " + able, "a\n");
      EXPECT_TRUE(read(name) == before) << name;
    });
  }
};

TEST_F(Abilities, KindsThatCannotCountAreRefusedWithTheNamesOfThoseThatCan) {
  expect_refused<can_count>("count", "count keys");
}

TEST_F(Abilities, KindsThatCannotRemoveAreRefusedWithTheNamesOfThoseThatCan) {
  expect_refused<can_erase>("remove", "remove keys");
}

}  // namespace

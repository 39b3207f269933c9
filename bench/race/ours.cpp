// All kinds of the list that hash their keys, each with xxh3, and the other layout of `blocked`. Compiled twice: as
// shipped, where the instruction set is chosen at run time, and for this machine, where single look-ups are inlined.
#include <bloomery/version.hpp>

#include "bench/kind_case.hpp"
#include "bench/race/offer.hpp"

namespace {

using namespace bloomery;

template <filter_kind K>
void add_offer(std::vector<bench::offer>& out, std::string_view layout) {
  std::string name(K::info.name);
  if (!layout.empty()) name.append(" ").append(layout);
  out.push_back({.name = std::move(name),
                 .version = std::string(version),
                 .ours = true,
                 .build = BLOOMERY_RACE_BUILD,
                 .make = [layout](const bench::race_size& size) -> std::unique_ptr<bench::contender> {
                   auto made = bench::make_filter_contender<K>(
                       {.keys = size.keys, .bits_per_key = size.bits_per_key, .layout = layout}, *size.type);
                   return made ? std::move(*made) : nullptr;
                 }});
}

}  // namespace

void bloomery_race_offers(std::vector<bench::offer>& out) {
  for_each_type(kind_list{}, [&](auto tag) {
    using kind = typename decltype(tag)::type;
    if constexpr (!kind::info.integer_keys) add_offer<kind>(out, {});
  });
  add_offer<blocked>(out, "split32");
}

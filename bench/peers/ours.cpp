// All kinds of the list that hash their keys, each with the default hash, `blocked` with its default layout first; the other layout, and the one of `cuckoo` whose
// inserts are faster; for integers the layouts of `blocked`, `bloom` and `cuckoo` with the hashes aes2 or mum too, which are
// as light as what peers do to integers. Static kinds also at the FPR of an 8-bit fingerprint, which is what their peers
// have. Compiled twice: as shipped, where the instruction set is chosen at run time, and
// for this machine, where single look-ups are inlined.
#include <bloomery/version.hpp>
#include <cmath>
#include <optional>
#include <string>

#include "bench/kind_case.hpp"
#include "bench/peers/registration.hpp"

namespace {

using namespace bloomery;

template <filter_kind K, hash_function H = default_hash>
void register_kind(std::vector<bench::registration>& out, std::string_view layout, std::optional<double> fpr = {}) {
  constexpr bool numbers_only = !std::is_same_v<H, default_hash>;  // other keys are hashed by xxh3 anyway
  std::string name(K::info.name);
  if (!layout.empty()) name.append(" ").append(layout);
  if (fpr) name.append(" 1/").append(std::to_string(std::lround(1 / *fpr)));
  if (numbers_only) name.append(" ").append(H::info.name);
  out.push_back({.name = std::move(name),
                 .version = std::string(version),
                 .ours = true,
                 .build = BLOOMERY_CANDIDATE_BUILD,
                 .minor = numbers_only && layout.empty(),
                 .sized_by_bits = !fpr,
                 .make = [layout, fpr](const bench::candidate_size& size) -> std::unique_ptr<bench::candidate> {
                   if (numbers_only && !size.type->number) return nullptr;
                   filter_params params{.keys = size.keys, .fpr = fpr, .layout = layout};
                   if (!fpr) params.bits_per_key = size.bits_per_key;
                   auto made = bench::make_filter_candidate<K, H>(params, *size.type);
                   return made ? std::move(*made) : nullptr;
                 }});
}

}  // namespace

void bloomery_register_candidates(std::vector<bench::registration>& out) {
  register_kind<blocked>(out, {});
  for_each_type(kind_list{}, [&](auto tag) {
    using kind = typename decltype(tag)::type;
    if constexpr (!kind::info.integer_keys && !std::is_same_v<kind, blocked>) register_kind<kind>(out, {});
  });
  register_kind<blocked>(out, "split64");
  register_kind<cuckoo>(out, "slots4");
  register_kind<blocked, xxh3>(out, "split64");
  register_kind<blocked, aes2>(out, "split32");
  register_kind<bloom, aes2>(out, {});
  register_kind<cuckoo, aes2>(out, "slots4");
  constexpr double eight_bits = 1.0 / 256;
  register_kind<fuse>(out, "wise3:8", eight_bits);
  register_kind<fuse, aes2>(out, "wise3:8", eight_bits);
  register_kind<fuse, aes2>(out, "wise4:8", eight_bits);
  register_kind<ribbon>(out, {}, eight_bits);
  register_kind<ribbon, aes2>(out, {}, eight_bits);
}

// kinds.hpp: THE list of kinds. Everything that needs "all kinds" (the tool, files, suites, fuzzers, benchmarks) walks
// it.
//
// To add a kind: its header, its test, and its line here. See CONTRIBUTING.md.
#pragma once

#include <bloomery/core/type_list.hpp>
#include <bloomery/kinds/bitmap.hpp>
#include <bloomery/kinds/blocked.hpp>
#include <bloomery/kinds/bloom.hpp>
#include <bloomery/kinds/cascade.hpp>
#include <bloomery/kinds/counting.hpp>
#include <bloomery/kinds/cuckoo.hpp>
#include <bloomery/kinds/dleft.hpp>
#include <bloomery/kinds/dual.hpp>
#include <bloomery/kinds/fuse.hpp>
#include <bloomery/kinds/growing.hpp>
#include <bloomery/kinds/ribbon.hpp>
#include <bloomery/kinds/scalable.hpp>
#include <bloomery/kinds/window.hpp>

namespace bloomery::inline BLOOMERY_ABI {

using kind_list = type_list<  //
    bloom,                    //
    blocked,                  //
    bitmap,                   //
    counting,                 //
    scalable,                 //
    growing,                  //
    cuckoo,                   //
    window,                   //
    fuse,                     //
    ribbon,                   //
    dleft,                    //
    cascade,                  //
    dual                      //
    >;

namespace detail {
template <class... Ks>
constexpr bool construction_matches_concepts(type_list<Ks...> /*kinds*/) noexcept {
  return ((static_kind<Ks> == Ks::info.is_static && dynamic_kind<Ks> != static_kind<Ks>)&&...);
}
template <class... Ks>
constexpr bool exclusion_matches_concepts(type_list<Ks...> /*kinds*/) noexcept {
  return ((excluding_kind<Ks> == Ks::info.excludes) && ...);
}
// A file has the kind's number: two with one would read each other's.
template <class... Ks>
constexpr bool ids_are_unique(type_list<Ks...> /*kinds*/) noexcept {
  const auto with = [](std::uint32_t id) { return (std::size_t{0} + ... + (Ks::info.id == id ? 1U : 0U)); };
  return ((with(Ks::info.id) == 1) && ...);
}
template <class... Ks>
constexpr bool loss_matches_concepts(type_list<Ks...> /*kinds*/) noexcept {
  return ((losing<Ks> == Ks::info.may_lose) && ...);
}
}  // namespace detail
static_assert(detail::ids_are_unique(kind_list{}), "two kinds have the same id");
static_assert(detail::construction_matches_concepts(kind_list{}), "a kind takes keys as they come or is built at once");
static_assert(detail::exclusion_matches_concepts(kind_list{}), "kinds that take a second list say so");
static_assert(detail::loss_matches_concepts(kind_list{}), "a kind that may lose keys tells how many");

// The kind with this name or id, or nullptr.
BLOOMERY_API const kind_info* find_kind(std::string_view name) noexcept;
BLOOMERY_API const kind_info* find_kind(std::uint32_t id) noexcept;

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds.cpp>
#endif

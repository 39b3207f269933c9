// kinds.hpp: THE list of kinds. Everything that needs "all kinds" (the tool, files, suites, fuzzers, benchmarks) walks
// it, as types here or as the table of kinds/table.hpp.
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
#include <bloomery/kinds/table.hpp>
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
// A file has the kind's number: two with one would read each other's.
template <class... Ks>
constexpr bool ids_are_unique(type_list<Ks...> /*kinds*/) noexcept {
  const auto with = [](std::uint32_t id) { return (std::size_t{0} + ... + (Ks::info.id == id ? 1U : 0U)); };
  return ((with(Ks::info.id) == 1) && ...);
}
template <class... Ks>
constexpr bool all_are_explained(type_list<Ks...> /*kinds*/) noexcept {
  return (explained_kind<Ks> && ...);
}
}  // namespace detail
static_assert(detail::all_are_explained(kind_list{}), "a kind explains its look-ups");
static_assert(detail::ids_are_unique(kind_list{}), "two kinds have the same id");

}  // namespace bloomery::inline BLOOMERY_ABI

#ifdef BLOOMERY_HEADER_ONLY
#include <bloomery/src/kinds.cpp>
#endif

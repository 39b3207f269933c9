// core/type_list.hpp: a list of types, and walking it.
//
// Hashes and kinds are each named in one such list; everything that needs "all of them" is a walk over it.
//
//     for_each_type(hash_list{}, [&](auto tag) { print(decltype(tag)::type::info.name); });
//
// `any_type` stops at the first type for which the function returns true, which is how a stored id becomes a type.
#pragma once

#include <bloomery/core/config.hpp>
#include <cstddef>
#include <type_traits>

namespace bloomery::inline BLOOMERY_ABI {

template <class... Ts>
struct type_list {
  static constexpr std::size_t size = sizeof...(Ts);
};

// Calls f(std::type_identity<T>{}) for each T, in order.
template <class... Ts, class F>
constexpr void for_each_type(type_list<Ts...> /*list*/, F&& f) {
  (static_cast<void>(f(std::type_identity<Ts>{})), ...);
}

// True when f(std::type_identity<T>{}) returned true for some T; later ones are not tried.
template <class... Ts, class F>
constexpr bool any_type(type_list<Ts...> /*list*/, F&& f) {
  return (static_cast<bool>(f(std::type_identity<Ts>{})) || ...);
}

}  // namespace bloomery::inline BLOOMERY_ABI

// core/dispatch.hpp: the one way in which code is chosen by instruction set.
//
// A family of kernels is a struct of function pointers with a static function `for_isa(isa)`, which returns the table
// of that instruction set. `active_kernels<Table>()` is the table of active_isa(), chosen by the first caller; it may
// be called before main. Tests and benchmarks take for_isa(level) instead.
//
// For a single key even the question whether the choice was made costs something. `active_function<&Table::f>(...)`
// calls f of that table through a pointer which at first leads to a function that makes the choice.
#pragma once

#include <atomic>
#include <bloomery/core/cpu.hpp>
#include <bloomery/core/target.hpp>

namespace bloomery::inline BLOOMERY_ABI {

namespace detail {
template <class Table>
inline constinit std::atomic<const Table*> active_table{nullptr};
}  // namespace detail

template <class Table>
const Table& active_kernels() noexcept {
  const Table* table = detail::active_table<Table>.load(std::memory_order_relaxed);
  if (table == nullptr) [[unlikely]] {
    table = &Table::for_isa(active_isa());
    detail::active_table<Table>.store(table, std::memory_order_relaxed);
  }
  return *table;
}

namespace detail {

template <class Member>
struct table_entry;
template <class Table, class R, class... Args>
struct table_entry<R (*Table::*)(Args...) noexcept> {
  using function = R (*)(Args...) noexcept;

  template <function Table::*Entry>
  struct call {
    static R choose(Args... args) noexcept {
      const function chosen = active_kernels<Table>().*Entry;
      active.store(chosen, std::memory_order_relaxed);
      return chosen(args...);
    }
    static inline constinit std::atomic<function> active{choose};
  };
};

}  // namespace detail

template <auto Entry, class... Args>
BLOOMERY_ALWAYS_INLINE inline auto active_function(Args... args) noexcept {
  using call = typename detail::table_entry<decltype(Entry)>::template call<Entry>;
  return call::active.load(std::memory_order_relaxed)(args...);
}

}  // namespace bloomery::inline BLOOMERY_ABI

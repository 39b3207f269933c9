// core/dispatch.hpp: the one way in which code is chosen by instruction set.
//
// A family of kernels is a struct of function pointers with a static function `for_isa(isa)`, which returns the table
// of that instruction set. `active_kernels<Table>()` is the table of active_isa(), chosen by the first caller; it may
// be called before main. Tests and benchmarks take for_isa(level) instead.
#pragma once

#include <atomic>
#include <bloomery/core/cpu.hpp>

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

}  // namespace bloomery::inline BLOOMERY_ABI

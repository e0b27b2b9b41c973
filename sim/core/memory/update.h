/// What changes memory in one step: the instructions on atomics, and reductions by bulk copies.
#pragma once

#include <atomic>
#include <cstddef>

#include "core/base/types.h"

namespace sim {

/// Replaces what is in memory by combine(what is there, operands…), in one step. What was there before.
template <class T, auto combine, class... Operands>
T update(std::byte* at, Operands... operands) {
  std::atomic_ref<T> cell(*reinterpret_cast<T*>(at));
  T before = cell.load();
  while (!cell.compare_exchange_weak(before, combine(before, operands...))) {
  }
  return before;
}

/// `.inc` and `.dec`, which count from 0 to `last` and around.
constexpr u32 increased(u32 number, u32 last) { return number >= last ? 0 : number + 1; }
constexpr u32 decreased(u32 number, u32 last) { return number == 0 || number > last ? last : number - 1; }

}  // namespace sim

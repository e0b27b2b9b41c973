/// What changes memory in one step: the instructions on atomics, and reductions by bulk copies.
#pragma once

#include <cstddef>

#include "core/base/types.h"

namespace sim {

/// Replaces what is in memory by combine(what is there, operands…), in one step. What was there before.
template <class T, auto combine, class... Operands>
T update(std::byte* at, Operands... operands) {
  // As std::atomic_ref does it, which the standard libraries of some targets lack.
  T* const cell = reinterpret_cast<T*>(at);
  T before, after;
  __atomic_load(cell, &before, __ATOMIC_SEQ_CST);
  do after = combine(before, operands...);
  while (!__atomic_compare_exchange(cell, &before, &after, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return before;
}

/// `.inc` and `.dec`, which count from 0 to `last` and around.
constexpr u32 increased(u32 number, u32 last) { return number >= last ? 0 : number + 1; }
constexpr u32 decreased(u32 number, u32 last) { return number == 0 || number > last ? last : number - 1; }

}  // namespace sim

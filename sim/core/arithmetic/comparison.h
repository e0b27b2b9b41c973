/// setp and set. The comparison itself is compiled once per kind of values; what is made of its truth works on masks.
#pragma once

#include <string>

#include "core/warp/forms.h"

namespace sim {

/// Which of 32 values `compare` holds of. All are compared, whatever lanes execute: it costs less than to choose.
template <class T, auto compare>
[[gnu::noinline]] uint32_t where(const T* a, const T* b) {
  uint8_t truth[warp_size];
#pragma GCC ivdep
  for (uint32_t i = 0; i < warp_size; ++i) truth[i] = compare(a[i], b[i]);
  return pack(truth);
}

/// What setp makes of the comparison and of the predicate after the values.
enum class Combined { alone, conjunction, disjunction, exclusive };

template <class T, auto compare, Combined how>
void set_predicate(Warp& warp, const Operands& operands) {
  uint32_t truth = where<T, compare>(warp.lanes<const T>(operands.at[1]), warp.lanes<const T>(operands.at[2]));
  if constexpr (how == Combined::conjunction) truth &= warp.predicate(operands.at[3]);
  if constexpr (how == Combined::disjunction) truth |= warp.predicate(operands.at[3]);
  if constexpr (how == Combined::exclusive) truth ^= warp.predicate(operands.at[3]);
  uint32_t& to = warp.predicate(operands.at[0]);
  to = (to & ~warp.exec) | (truth & warp.exec);
}

/// set: the bits `truth` where the comparison holds, else 0; `packed` values to a register.
template <class T, auto compare, auto truth, uint32_t packed>
void set_number(Warp& warp, const Operands& operands) {
  using Result = decltype(truth);
  const T* const a = warp.lanes<const T>(operands.at[1]);
  const T* const b = warp.lanes<const T>(operands.at[2]);
  uint64_t holds = where<T, compare>(a, b);
  if constexpr (packed == 2) holds |= uint64_t{where<T, compare>(a + warp_size, b + warp_size)} << 32;
  Result* const to = warp.lanes<Result>(operands.at[0]);
  for_lanes(warp.exec, [to, holds](uint32_t lane) {
    for (uint32_t i = lane * packed; i < (lane + 1) * packed; ++i) to[i] = holds >> i & 1 ? truth : Result{0};
  });
}

/// setp with one comparison, alone and combined with a predicate; `tail` is ".s32" or ".ftz.f32".
template <class T, auto compare>
[[gnu::cold]] void add_setp(Table& table, const std::string& comparison, const std::string& tail) {
  constexpr char letter = operand_letter<T>();
  const std::string setp = "setp." + comparison, two = {'P', letter, letter}, three = two + 'p';
  table.add(setp + tail, {two, Class::predicate, handle<set_predicate<T, compare, Combined::alone>>});
  table.add(setp + ".and" + tail, {three, Class::predicate, handle<set_predicate<T, compare, Combined::conjunction>>});
  table.add(setp + ".or" + tail, {three, Class::predicate, handle<set_predicate<T, compare, Combined::disjunction>>});
  table.add(setp + ".xor" + tail, {three, Class::predicate, handle<set_predicate<T, compare, Combined::exclusive>>});
}

/// set with one comparison, whose result is the bits `truth` or 0.
template <class T, auto compare, auto truth>
[[gnu::cold]] void add_set(Table& table, const std::string& opcode) {
  constexpr char to = operand_letter<decltype(truth)>() - 'a' + 'A', letter = operand_letter<T>();
  table.add(opcode, {{to, letter, letter}, Class::predicate, handle<set_number<T, compare, truth, 1>>});
}

/// The same on two values of 16 bits in each register.
template <auto compare, u16 truth>
[[gnu::cold]] void add_set_of_pairs(Table& table, const std::string& opcode) {
  table.add(opcode, {"Www", Class::predicate, handle<set_number<u16, compare, truth, 2>>});
}

}  // namespace sim

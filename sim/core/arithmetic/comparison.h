/// setp and set. The comparison itself is compiled once per kind of values; what is made of its truth works on masks.
#pragma once

#include <array>
#include <string>
#include <string_view>

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

/// How a comparison is written: setp.NAME.ftz.TYPE.
struct Comparison {
  std::string_view name, ftz, type;  // "lt"; "" or ".ftz"; "f32"
};

// What does not depend on the comparison is compiled once, and not with each of the two hundred.
[[gnu::cold, gnu::noinline]] inline void add_setps(Table& table, const Comparison& written, char letter,
                                                   const std::array<Handler, 4>& handlers) {
  constexpr std::array combined = {"", ".and", ".or", ".xor"};
  for (size_t i = 0; i < handlers.size(); ++i) {
    const std::string setp = "setp." + std::string(written.name) + combined[i] + std::string(written.ftz);
    const std::string operands = {'P', letter, letter, 'p'};
    table.add(setp + "." + std::string(written.type),
              {operands.substr(0, i == 0 ? 3 : 4), Class::predicate, handlers[i]});
  }
}
[[gnu::cold, gnu::noinline]] inline void add_set_as(Table& table, const Comparison& written, std::string_view to,
                                                    const char* operands, Handler handler) {
  const std::string set = "set." + std::string(written.name) + std::string(written.ftz);
  table.add(set + "." + std::string(to) + "." + std::string(written.type), {operands, Class::predicate, handler});
}

/// setp with one comparison, alone and combined with a predicate.
template <class T, auto compare>
[[gnu::cold]] void add_setp(Table& table, const Comparison& written) {
  static constexpr std::array<Handler, 4> handlers = {
      handle<set_predicate<T, compare, Combined::alone>>, handle<set_predicate<T, compare, Combined::conjunction>>,
      handle<set_predicate<T, compare, Combined::disjunction>>, handle<set_predicate<T, compare, Combined::exclusive>>};
  add_setps(table, written, operand_letter<T>(), handlers);
}

/// set with one comparison, whose result is the bits `truth` or 0, of type `to`.
template <class T, auto compare, auto truth>
[[gnu::cold]] void add_set(Table& table, const Comparison& written, std::string_view to) {
  static constexpr char letter = operand_letter<T>();
  static constexpr char operands[] = {operand_letter<decltype(truth)>() - 'a' + 'A', letter, letter, 0};
  add_set_as(table, written, to, operands, handle<set_number<T, compare, truth, 1>>);
}

/// The same on two values of 16 bits in each register.
template <auto compare, u16 truth>
[[gnu::cold]] void add_set_of_pairs(Table& table, const Comparison& written, std::string_view to) {
  add_set_as(table, written, to, "Www", handle<set_number<u16, compare, truth, 2>>);
}

}  // namespace sim

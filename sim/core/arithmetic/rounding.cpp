/// Arithmetic that rounds otherwise than to nearest (PTX ISA 9.7.3): `.rz` towards zero, `.rm` down, `.rp` up. The host
/// computes it in that rounding mode.
#include "core/arithmetic/rounding.h"

#include <cmath>
#include <string>

#include "core/arithmetic/floating.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

template <class T>
T sum(T a, T b) {
  return a + b;
}
template <class T>
T difference(T a, T b) {
  return a - b;
}
template <class T>
T product(T a, T b) {
  return a * b;
}
template <class T>
T ratio(T a, T b) {
  return a / b;
}
template <class T>
T inverse(T a) {
  return T{1} / a;
}
template <class T>
T root(T a) {
  return std::sqrt(a);
}
template <class T>
T multiply_add(T a, T b, T c) {
  return std::fma(a, b, c);
}

template <int mode, auto function, class... Ts>
[[gnu::cold]] void add_forms(Table& table, const std::string& opcode, Class counted_as, f32 (*)(Ts...)) {
  table.lanewise<[](Ts... x) -> f32 { return canonical(rounded<mode, function>(x...)); }>(opcode + ".f32", counted_as);
  table.lanewise<[](Ts... x) -> f32 { return flushed(canonical(rounded<mode, function>(flushed(x)...))); }>(
      opcode + ".ftz.f32", counted_as);
}
template <int mode, auto function, class... Ts>
[[gnu::cold]] void add_forms(Table& table, const std::string& opcode, Class counted_as, f64 (*)(Ts...)) {
  table.lanewise<[](Ts... x) -> f64 { return canonical(rounded<mode, function>(x...)); }>(opcode + ".f64", counted_as);
}

template <int mode, class T>
[[gnu::cold]] void add_mode(Table& table, const std::string& suffix) {
  add_forms<mode, sum<T>>(table, "add" + suffix, Class::floating, +sum<T>);
  add_forms<mode, difference<T>>(table, "sub" + suffix, Class::floating, +difference<T>);
  add_forms<mode, product<T>>(table, "mul" + suffix, Class::floating, +product<T>);
  add_forms<mode, ratio<T>>(table, "div" + suffix, Class::floating, +ratio<T>);
  add_forms<mode, inverse<T>>(table, "rcp" + suffix, Class::floating, +inverse<T>);
  add_forms<mode, root<T>>(table, "sqrt" + suffix, Class::floating, +root<T>);
  add_forms<mode, multiply_add<T>>(table, "fma" + suffix, Class::fma, +multiply_add<T>);
}

}  // namespace

[[gnu::cold]] void add_rounding(Table& table) {
  add_mode<FE_TOWARDZERO, f32>(table, ".rz");
  add_mode<FE_DOWNWARD, f32>(table, ".rm");
  add_mode<FE_UPWARD, f32>(table, ".rp");
  add_mode<FE_TOWARDZERO, f64>(table, ".rz");
  add_mode<FE_DOWNWARD, f64>(table, ".rm");
  add_mode<FE_UPWARD, f64>(table, ".rp");
}

}  // namespace sim

/// Arithmetic that rounds otherwise than to nearest (PTX ISA 9.7.3): `.rz` towards zero, `.rm` down, `.rp` up.
#include "core/arithmetic/rounding.h"

#include <string>

#include "core/arithmetic/floating.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

template <Round mode, auto function, class... Ts>
[[gnu::cold]] void add_forms(Table& table, const std::string& opcode, Class counted_as, f32 (*)(Round, Ts...)) {
  table.lanewise<[](Ts... x) -> f32 { return canonical(function(mode, x...)); }>(opcode + ".f32", counted_as);
  table.lanewise<[](Ts... x) -> f32 { return flushed(canonical(function(mode, flushed(x)...))); }>(opcode + ".ftz.f32",
                                                                                                   counted_as);
}
template <Round mode, auto function, class... Ts>
[[gnu::cold]] void add_forms(Table& table, const std::string& opcode, Class counted_as, f64 (*)(Round, Ts...)) {
  table.lanewise<[](Ts... x) -> f64 { return canonical(function(mode, x...)); }>(opcode + ".f64", counted_as);
}

template <Round mode, class T>
[[gnu::cold]] void add_mode(Table& table, const std::string& suffix) {
  add_forms<mode, rounding::sum<T>>(table, "add" + suffix, Class::floating, +rounding::sum<T>);
  add_forms<mode, rounding::difference<T>>(table, "sub" + suffix, Class::floating, +rounding::difference<T>);
  add_forms<mode, rounding::product<T>>(table, "mul" + suffix, Class::floating, +rounding::product<T>);
  add_forms<mode, rounding::quotient<T>>(table, "div" + suffix, Class::floating, +rounding::quotient<T>);
  add_forms<mode, rounding::inverse<T>>(table, "rcp" + suffix, Class::floating, +rounding::inverse<T>);
  add_forms<mode, rounding::root<T>>(table, "sqrt" + suffix, Class::floating, +rounding::root<T>);
  add_forms<mode, rounding::multiply_add<T>>(table, "fma" + suffix, Class::fma, +rounding::multiply_add<T>);
}

}  // namespace

[[gnu::cold]] void add_rounding(Table& table) {
  add_mode<Round::zero, f32>(table, ".rz");
  add_mode<Round::down, f32>(table, ".rm");
  add_mode<Round::up, f32>(table, ".rp");
  add_mode<Round::zero, f64>(table, ".rz");
  add_mode<Round::down, f64>(table, ".rm");
  add_mode<Round::up, f64>(table, ".rp");
}

}  // namespace sim

/// The approximate instructions (PTX ISA 9.7.3, 9.7.4): division, reciprocal, roots, powers and logarithms of two,
/// sine, cosine and hyperbolic tangent. PTX gives bounds for their errors, not their bits. Here they are computed in
/// double precision and rounded once, which is within every bound; a GPU may differ in the last bits.
#include <cmath>
#include <string>

#include "core/arithmetic/floating.h"
#include "core/arithmetic/half_finish.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

f64 reciprocal(f64 x) { return 1 / x; }
f64 root(f64 x) { return std::sqrt(x); }
f64 reciprocal_root(f64 x) { return 1 / std::sqrt(x); }
f64 power_of_two(f64 x) { return std::exp2(x); }
f64 logarithm(f64 x) { return std::log2(x); }
f64 sine(f64 x) { return std::sin(x); }
f64 cosine(f64 x) { return std::cos(x); }
f64 hyperbolic_tangent(f64 x) { return std::tanh(x); }

template <auto function>
f32 single(f32 x) {
  return canonical(static_cast<f32>(function(f64{x})));
}
template <auto function>
f32 single_flushed(f32 x) {
  return flushed(single<function>(flushed(x)));
}

template <auto function>
[[gnu::cold]] void add_single(Table& table, const std::string& name) {
  table.lanewise<single<function>>(name + ".approx.f32", Class::floating);
  table.lanewise<single_flushed<function>>(name + ".approx.ftz.f32", Class::floating);
}

/// div.approx gives zero for divisors above 2^126, and NaN for an infinity over one; div.full scales its operands.
f32 quotient(f32 a, f32 b) { return canonical(static_cast<f32>(f64{a} / f64{b})); }
f32 quotient_in_range(f32 a, f32 b) {
  const f32 size = std::fabs(b);
  if (size > 0x1p126f && !std::isinf(size)) {
    const f32 zero = std::signbit(a) != std::signbit(b) ? -0.0f : 0.0f;
    return a - a == 0 ? zero : canonical(a - a);
  }
  return quotient(a, b);
}

/// The approximations that a division or a root in double precision starts from: the upper 32 bits of operand and
/// result, the lower ones zero, without subnormals.
f64 upper(f64 x) { return std::bit_cast<f64>(std::bit_cast<u64>(x) & ~u64{0xffffffff}); }
f64 flushed_upper(f64 x) { return std::fabs(x) < std::numeric_limits<f64>::min() ? std::copysign(0.0, x) : upper(x); }
template <auto function>
f64 gross(f64 x) {
  const f64 result = function(flushed_upper(x));
  return result == result ? flushed_upper(result) : std::bit_cast<f64>(0x7fffffff00000000ull);
}

template <class F, auto function>
u16 narrow(u16 x) {
  return F::rounded(function(f64{F::widened(x)}), Round::nearest);
}
template <auto function>
u32 both(u32 x) {
  return u32{function(static_cast<u16>(x >> 16))} << 16 | function(static_cast<u16>(x));
}

/// 16 bits, alone and two in a register.
template <class F, auto function>
[[gnu::cold]] void add_narrow(Table& table, const std::string& name, const std::string& type) {
  table.lanewise<narrow<F, function>>(name + "." + type, Class::floating);
  table.lanewise<both<narrow<F, function>>>(name + "." + type + "x2", Class::floating);
}

/// A subnormal operand or result of ex2.approx.ftz.bf16 becomes zero.
u16 flushed_power_of_two(u16 x) { return flushed<Bfloat>(narrow<Bfloat, power_of_two>(flushed<Bfloat>(x))); }

}  // namespace

[[gnu::cold]] void add_special_functions(Table& table) {
  add_single<reciprocal>(table, "rcp");
  add_single<root>(table, "sqrt");
  add_single<reciprocal_root>(table, "rsqrt");
  add_single<power_of_two>(table, "ex2");
  add_single<logarithm>(table, "lg2");
  add_single<sine>(table, "sin");
  add_single<cosine>(table, "cos");
  table.lanewise<single<hyperbolic_tangent>>("tanh.approx.f32", Class::floating);
  table.lanewise<[](f32 a, f32 b) { return quotient(a, b); }>("div.full.f32", Class::floating);
  table.lanewise<[](f32 a, f32 b) { return flushed(quotient(flushed(a), flushed(b))); }>("div.full.ftz.f32",
                                                                                         Class::floating);
  table.lanewise<[](f32 a, f32 b) { return quotient_in_range(a, b); }>("div.approx.f32", Class::floating);
  table.lanewise<[](f32 a, f32 b) { return flushed(quotient_in_range(flushed(a), flushed(b))); }>("div.approx.ftz.f32",
                                                                                                  Class::floating);
  table.lanewise<gross<reciprocal>>("rcp.approx.ftz.f64", Class::floating);
  table.lanewise<gross<reciprocal_root>>("rsqrt.approx.ftz.f64", Class::floating);
  table.lanewise<[](f64 x) { return canonical(reciprocal_root(x)); }>("rsqrt.approx.f64", Class::floating);
  add_narrow<Half, power_of_two>(table, "ex2.approx", "f16");
  add_narrow<Half, hyperbolic_tangent>(table, "tanh.approx", "f16");
  add_narrow<Bfloat, hyperbolic_tangent>(table, "tanh.approx", "bf16");
  table.lanewise<flushed_power_of_two>("ex2.approx.ftz.bf16", Class::floating);
  table.lanewise<both<flushed_power_of_two>>("ex2.approx.ftz.bf16x2", Class::floating);
}

}  // namespace sim

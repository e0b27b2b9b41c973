/// Floating-point arithmetic and comparisons in single and double precision (PTX ISA 9.7.3). Subnormals are kept unless
/// the instruction says `.ftz`. A NaN that an operation makes is the one the hardware makes: 0x7fffffff.
#include "core/arithmetic/floating.h"

#include <algorithm>
#include <string>

#include "core/arithmetic/comparison.h"
#include "core/base/host.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

/// min and max prefer the number to the NaN, and −0 to +0 as the smaller.
template <class T>
T smaller(T a, T b) {
  if (a != a) return canonical(b);
  if (b != b) return a;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <class T>
T larger(T a, T b) {
  if (a != a) return canonical(b);
  if (b != b) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

#if HOST_HAS_FMA
/// The loop that a GEMM spends its time in: with the host's own fused multiply-add where it has one.
WITH_THE_HOSTS_VECTORS
void fma_warp(f32* d, const f32* a, const f32* b, const f32* c) {
  const f32 nan = std::bit_cast<f32>(0x7fffffffu);
#pragma GCC ivdep
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    const f32 x = multiply_add(a[lane], b[lane], c[lane]);
    d[lane] = x == x ? x : nan;
  }
}
#else
/// The same in double precision: the product is exact, and the sum rounded again is right but where the first rounding
/// made a tie of the second or the result is subnormal. These lanes, which are few, are computed again.
void fma_warp(f32* d, const f32* a, const f32* b, const f32* c) {
  f32 result[warp_size];
  u64 again = 0;
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    const f64 sum = f64{a[lane]} * f64{b[lane]} + f64{c[lane]};
    const bool tie = (std::bit_cast<u64>(sum) & 0x1fffffff) == 0x10000000;
    const bool subnormal = (std::fabs(sum) < 0x1p-126) & (sum != 0);
    again |= static_cast<u64>(tie | subnormal);
    result[lane] = canonical(static_cast<f32>(sum));
  }
  if (again != 0) [[unlikely]] {
    for (uint32_t lane = 0; lane < warp_size; ++lane) result[lane] = canonical(multiply_add(a[lane], b[lane], c[lane]));
  }
  std::copy_n(result, warp_size, d);
}
#endif

void fma_single(Warp& warp, const Operands& operands) {
  f32* const d = warp.lanes<f32>(operands.at[0]);
  const f32* const a = warp.lanes<f32>(operands.at[1]);
  const f32* const b = warp.lanes<f32>(operands.at[2]);
  const f32* const c = warp.lanes<f32>(operands.at[3]);
  if (warp.exec == all_lanes) return fma_warp(d, a, b, c);
  for_lanes(warp.exec, [=](uint32_t lane) { d[lane] = canonical(multiply_add(a[lane], b[lane], c[lane])); });
}

/// What is written the same way for both precisions; `type` is "f32" or "f64".
template <class T>
[[gnu::cold]] void add_common(Table& table, const std::string& type) {
  table.lanewise<[](T a, T b) { return canonical(a + b); }>("add{,.rn}." + type, Class::floating);
  table.lanewise<[](T a, T b) { return canonical(a - b); }>("sub{,.rn}." + type, Class::floating);
  table.lanewise<[](T a, T b) { return canonical(a * b); }>("mul{,.rn}." + type, Class::floating);
  table.lanewise<[](T a, T b) { return canonical(a / b); }>("div.rn." + type, Class::floating);
  table.lanewise<[](T a) { return canonical(std::sqrt(a)); }>("sqrt.rn." + type, Class::floating);
  table.lanewise<[](T a) { return canonical(T{1} / a); }>("rcp.rn." + type, Class::floating);
  table.lanewise<[](T a, T b) { return smaller(a, b); }>("min." + type, Class::floating);
  table.lanewise<[](T a, T b) { return larger(a, b); }>("max." + type, Class::floating);
  table.lanewise<[](T a) { return std::fabs(a); }>("abs." + type, Class::floating);
  table.lanewise<[](T a) { return -a; }>("neg." + type, Class::floating);
  table.lanewise<[](T a, T b) { return std::copysign(b, a); }>("copysign." + type, Class::floating);
  table.lanewise<[](T a) { return a; }>("mov." + type, Class::move);
  table.lanewise<[](T a, T b, bool p) { return p ? a : b; }>("selp." + type, Class::predicate);
  table.lanewise<[](T a) -> bool { return std::isfinite(a); }>("testp.finite." + type, Class::predicate);
  table.lanewise<[](T a) -> bool { return std::isinf(a); }>("testp.infinite." + type, Class::predicate);
  table.lanewise<[](T a) -> bool { return a == a; }>("testp.number." + type, Class::predicate);
  table.lanewise<[](T a) -> bool { return a != a; }>("testp.notanumber." + type, Class::predicate);
}

/// Flushing, saturating and NaN-passing forms, which single precision alone has.
[[gnu::cold]] void add_single(Table& table) {
  table.add("fma.rn.f32", {"Wwww", Class::fma, handle<fma_single>});
  table.lanewise<[](f32 a, f32 b, f32 c) {
    return flushed(canonical(multiply_add(flushed(a), flushed(b), flushed(c))));
  }>("fma.rn.ftz.f32", Class::fma);
  table.lanewise<[](f32 a, f32 b, f32 c) { return saturated(multiply_add(a, b, c)); }>("fma.rn.sat.f32", Class::fma);
  table.lanewise<[](f32 a, f32 b) { return flushed(canonical(flushed(a) + flushed(b))); }>("add{,.rn}.ftz.f32",
                                                                                           Class::floating);
  table.lanewise<[](f32 a, f32 b) { return flushed(canonical(flushed(a) - flushed(b))); }>("sub{,.rn}.ftz.f32",
                                                                                           Class::floating);
  table.lanewise<[](f32 a, f32 b) { return flushed(canonical(flushed(a) * flushed(b))); }>("mul{,.rn}.ftz.f32",
                                                                                           Class::floating);
  table.lanewise<[](f32 a, f32 b) { return saturated(a + b); }>("add{,.rn}.sat.f32", Class::floating);
  table.lanewise<[](f32 a, f32 b) { return saturated(a - b); }>("sub{,.rn}.sat.f32", Class::floating);
  table.lanewise<[](f32 a, f32 b) { return saturated(a * b); }>("mul{,.rn}.sat.f32", Class::floating);
  table.lanewise<[](f32 a, f32 b) { return flushed(smaller(flushed(a), flushed(b))); }>("min.ftz.f32", Class::floating);
  table.lanewise<[](f32 a, f32 b) { return flushed(larger(flushed(a), flushed(b))); }>("max.ftz.f32", Class::floating);
  table.lanewise<[](f32 a, f32 b) { return a != a || b != b ? canonical(a + b) : smaller(a, b); }>("min.NaN.f32",
                                                                                                   Class::floating);
  table.lanewise<[](f32 a, f32 b) { return a != a || b != b ? canonical(a + b) : larger(a, b); }>("max.NaN.f32",
                                                                                                  Class::floating);
  table.lanewise<[](f32 a) { return flushed(std::fabs(a)); }>("abs.ftz.f32", Class::floating);
  table.lanewise<[](f32 a) { return flushed(-a); }>("neg.ftz.f32", Class::floating);
  table.lanewise<[](f32 a, f32 b) { return flushed(canonical(flushed(a) / flushed(b))); }>("div.rn.ftz.f32",
                                                                                           Class::floating);
  table.lanewise<[](f32 a) { return flushed(canonical(1.0f / flushed(a))); }>("rcp.rn.ftz.f32", Class::floating);
  table.lanewise<[](f32 a) { return flushed(canonical(std::sqrt(flushed(a)))); }>("sqrt.rn.ftz.f32", Class::floating);
  table.lanewise<[](f32 a, f32 b, f32 c) {
    return saturated(flushed(multiply_add(flushed(a), flushed(b), flushed(c))));
  }>("fma.rn.ftz.sat.f32", Class::fma);
  table.lanewise<[](f32 a, f32 b) { return saturated(flushed(flushed(a) + flushed(b))); }>("add{,.rn}.ftz.sat.f32",
                                                                                           Class::floating);
  table.lanewise<[](f32 a, f32 b) { return saturated(flushed(flushed(a) - flushed(b))); }>("sub{,.rn}.ftz.sat.f32",
                                                                                           Class::floating);
  table.lanewise<[](f32 a, f32 b) { return saturated(flushed(flushed(a) * flushed(b))); }>("mul{,.rn}.ftz.sat.f32",
                                                                                           Class::floating);
}

/// setp; and what single precision alone has: with `.ftz`, and set with a number for a result.
template <class T, auto compare>
[[gnu::cold]] void add_comparison(Table& table, std::string_view name, std::string_view type) {
  add_setp<T, compare>(table, {name, "", type});
  if constexpr (std::is_same_v<T, f32>) {
    constexpr auto flushing = [](f32 a, f32 b) { return compare(flushed(a), flushed(b)); };
    constexpr auto one = std::bit_cast<u32>(1.0f);
    add_setp<f32, flushing>(table, {name, ".ftz", type});
    add_set<f32, compare, one>(table, {name, "", type}, "f32");
    add_set<f32, flushing, one>(table, {name, ".ftz", type}, "f32");
    add_set<f32, compare, ~0u>(table, {name, "", type}, "{u32,s32}");
  }
}

/// The ordered comparisons are false with a NaN, those that end in u are true.
template <class T>
[[gnu::cold]] void add_comparisons(Table& table, std::string_view type) {
  add_comparison<T, [](T a, T b) { return a == b; }>(table, "eq", type);
  add_comparison<T, [](T a, T b) { return (a < b || a > b); }>(table, "ne", type);
  add_comparison<T, [](T a, T b) { return a < b; }>(table, "lt", type);
  add_comparison<T, [](T a, T b) { return a <= b; }>(table, "le", type);
  add_comparison<T, [](T a, T b) { return (a > b); }>(table, "gt", type);
  add_comparison<T, [](T a, T b) { return a >= b; }>(table, "ge", type);
  add_comparison<T, [](T a, T b) { return !((a < b) || (a > b)); }>(table, "equ", type);
  add_comparison<T, [](T a, T b) { return a != b; }>(table, "neu", type);
  add_comparison<T, [](T a, T b) { return !(a >= b); }>(table, "ltu", type);
  add_comparison<T, [](T a, T b) { return !(a > b); }>(table, "leu", type);
  add_comparison<T, [](T a, T b) { return !(a <= b); }>(table, "gtu", type);
  add_comparison<T, [](T a, T b) { return !(a < b); }>(table, "geu", type);
  add_comparison<T, [](T a, T b) { return a == a && b == b; }>(table, "num", type);
  add_comparison<T, [](T a, T b) { return a != a || b != b; }>(table, "nan", type);
}

}  // namespace

[[gnu::cold]] void add_floating(Table& table) {
  add_common<f32>(table, "f32");
  add_common<f64>(table, "f64");
  add_single(table);
  table.lanewise<[](f64 a, f64 b, f64 c) { return canonical(multiply_add(a, b, c)); }>("fma.rn.f64", Class::fma);
  add_comparisons<f32>(table, "f32");
  add_comparisons<f64>(table, "f64");
}

}  // namespace sim

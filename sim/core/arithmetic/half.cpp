/// 16-bit floating point: arithmetic of one and of two packed in a register (PTX ISA 9.7.4), and comparisons. A NaN
/// that an operation makes is 0x7fff. Subnormals are kept unless the instruction says `.ftz`.
///
/// bfloat16 has no `.ftz` and no `.sat`; its add, sub, mul and comparisons need sm_90.
#include "core/arithmetic/half.h"

#include <cstring>
#include <string>
#include <string_view>

#include "core/arithmetic/comparison.h"
#include "core/arithmetic/formats.h"
#include "core/arithmetic/half_finish.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

template <class F, Finish how>
u16 add(u16 a, u16 b) {
  return finished<F, how>(sum_of<F>(taken<F, how>(a), taken<F, how>(b)));
}
template <class F, Finish how>
u16 subtract(u16 a, u16 b) {
  return finished<F, how>(F::rounded(F::widened(taken<F, how>(a)) - F::widened(taken<F, how>(b))));
}
/// A product of binary16 is exact enough, too; one of bfloat16 may be subnormal as a single, and is rounded by fma.
template <class F, Finish how>
u16 multiply(u16 a, u16 b) {
  a = taken<F, how>(a), b = taken<F, how>(b);
  if constexpr (std::is_same_v<F, Bfloat>) return finished<F, how>(F::fma(a, b, 0x8000));  // −0 changes no product
  return finished<F, how>(F::rounded(F::widened(a) * F::widened(b)));
}
template <class F, Finish how>
u16 multiply_add(u16 a, u16 b, u16 c) {
  return finished<F, how>(F::fma(taken<F, how>(a), taken<F, how>(b), taken<F, how>(c)));
}

template <class F, Finish how>
u16 negated(u16 a) {
  return static_cast<u16>(taken<F, how>(a) ^ 0x8000);
}
template <class F, Finish how>
u16 magnitude(u16 a) {
  return taken<F, how>(a) & 0x7fff;
}

// A register of 32 bits holds two values, so a packed register of a warp is 64 values one after the other: one loop
// serves both forms of an instruction.

/// function(values of from...), value after value: vectors for whole warps, one by one for a lane alone.
template <auto function, class... From>
[[gnu::noinline]] void in_order(uint32_t count, u16* to, const From*... from) {
  const auto one = [=](uint32_t i) [[gnu::noinline]] { to[i] = function(from[i]...); };
  if (count < warp_size) {
    for (uint32_t i = 0; i < count; ++i) one(i);
    return;
  }
  for (uint32_t first = 0; first < count; first += warp_size) {
#pragma GCC ivdep
    for (uint32_t i = first; i < first + warp_size; ++i) to[i] = function(from[i]...);
  }
}

template <auto function>
void unary(u16* d, const u16* a, uint32_t count) {
  in_order<function>(count, d, a);
}
template <auto function>
void binary(u16* d, const u16* a, const u16* b, uint32_t count) {
  in_order<function>(count, d, a, b);
}
template <auto function>
void ternary(u16* d, const u16* a, const u16* b, const u16* c, uint32_t count) {
  in_order<function>(count, d, a, b, c);
}

// What a GEMM in 16 bits spends its time in, sixteen values at a time: the operations of Half::fma in their order. The
// compiler makes no vectors of that, and takes a vector's comparisons apart; so masks are made by shifts here.

using Reals = tensor::Vector<f32, 16>;
using tensor::Bits;

/// All ones where a < b; both are less than 2^31.
[[gnu::always_inline]] inline Bits less(Bits a, u32 b) { return (Bits)((tensor::Signed)(a - b) >> 31); }
[[gnu::always_inline]] inline Bits select(Bits mask, Bits yes, Bits no) { return no ^ ((yes ^ no) & mask); }

[[gnu::always_inline]] inline Reals widened(const u16* from) {
  tensor::Halves halves;
  std::memcpy(&halves, from, sizeof halves);
  const Bits bits = __builtin_convertvector(halves, Bits), size = bits & 0x7fff;
  const auto normal = (Bits)((Reals)((size << 13) + (0xe0u << 23)) * 0x1p-112f);
  const auto subnormal = (Bits)((Reals)(size | (126u << 23)) - 0.5f);
  return (Reals)(select(less(size, Half::least_normal), subnormal, normal) | (bits & 0x8000) << 16);
}

[[gnu::always_inline]] inline Bits sum_to_odd(Reals a, Reals b) {
  const Reals sum = a + b, b_kept = sum - a, error = (a - (sum - b_kept)) + (b - b_kept);
  const auto bits = (Bits)sum, error_size = (Bits)error << 1;
  const Bits step = 1 - ((bits ^ (Bits)error) >> 31 << 1);  // towards the exact sum
  const Bits inexact = (error_size | (0 - error_size)) >> 31, even = ~bits & 1;
  return bits + (step & (0 - (inexact & even)) & less(bits & 0x7fffffff, 0x7f800000));
}

[[gnu::always_inline]] inline void round_to_halves(Bits bits, u16* to) {
  const Bits size = bits & 0x7fffffff, rebiased = size - (112u << 23);
  const Bits normal = (rebiased + 0xfff + (rebiased >> 13 & 1)) >> 13;
  const Bits subnormal = (Bits)((Reals)size + 0.5f) - (126u << 23);
  const Bits finite = select(less(size, 0x38800000), subnormal, normal);
  const Bits number = select(less(size, 0x47800000), finite, Bits{} + 0x7c00) | (bits >> 16 & 0x8000);
  const auto halves =
      __builtin_convertvector(select(less(size, 0x7f800001), number, Bits{} + Half::nan), tensor::Halves);
  std::memcpy(to, &halves, sizeof halves);
}

WITH_THE_HOSTS_VECTORS void fma_halves(u16* d, const u16* a, const u16* b, const u16* c, uint32_t count) {
  uint32_t i = 0;
  for (; i + 16 <= count; i += 16) round_to_halves(sum_to_odd(widened(a + i) * widened(b + i), widened(c + i)), d + i);
  for (; i < count; ++i) d[i] = Half::fma(a[i], b[i], c[i]);
}

WITH_THE_HOSTS_VECTORS void fma_bfloats(u16* d, const u16* a, const u16* b, const u16* c, uint32_t count) {
#pragma GCC ivdep
  for (uint32_t i = 0; i < count; ++i) d[i] = Bfloat::fma(a[i], b[i], c[i]);
}

/// Runs a loop on the operands of a warp, with `packed` values to a register.
template <auto loop, uint32_t packed, class... From>
void on_registers(Warp& warp, u16* to, const From*... from) {
  if (warp.exec == all_lanes) return loop(to, from..., warp_size * packed);
  for_lanes(warp.exec, [=](uint32_t lane) { loop(to + lane * packed, (from + lane * packed)..., packed); });
}

template <auto loop, uint32_t packed, size_t operand_count>
void on_operands(Warp& warp, const Operands& operands) {
  [&]<size_t... i>(std::index_sequence<i...>) {
    on_registers<loop, packed>(warp, warp.lanes<u16>(operands.at[0]), warp.lanes<const u16>(operands.at[i + 1])...);
  }(std::make_index_sequence<operand_count>{});
}

/// How an instruction is written: OPCODE.finish.TAIL.type.
struct Name {
  std::string_view opcode, finish, type, tail = "";
};

/// An instruction by the names that it has for one value per register and for two.
[[gnu::cold]] void add_both(Table& table, const Name& name, size_t operand_count, Class counted_as, Handler one,
                            Handler two) {
  const std::string opcode = std::string(name.opcode) + std::string(name.finish) + std::string(name.tail) + ".";
  const std::string narrow(operand_count, 'h'), wide(operand_count, 'w'), type(name.type);
  table.add(opcode + type, {"H" + narrow, counted_as, one});
  table.add(opcode + type + "x2", {"W" + wide, counted_as, two});
}
template <auto loop, size_t operand_count>
[[gnu::cold]] void add_loop(Table& table, const Name& name, Class counted_as) {
  add_both(table, name, operand_count, counted_as, handle<on_operands<loop, 1, operand_count>>,
           handle<on_operands<loop, 2, operand_count>>);
}

template <auto function>
[[gnu::cold]] void add_unary(Table& table, const Name& name) {
  add_loop<unary<function>, 1>(table, name, Class::floating);
}
template <auto function>
[[gnu::cold]] void add_binary(Table& table, const Name& name) {
  add_loop<binary<function>, 2>(table, name, Class::floating);
}
template <auto function>
[[gnu::cold]] void add_ternary(Table& table, const Name& name) {
  add_loop<ternary<function>, 3>(table, name, Class::fma);
}

template <class F, Finish how>
[[gnu::cold]] void add_sums(Table& table, std::string_view finish, std::string_view type) {
  add_binary<add<F, how>>(table, {"add{,.rn}", finish, type});
  add_binary<subtract<F, how>>(table, {"sub{,.rn}", finish, type});
  add_binary<multiply<F, how>>(table, {"mul{,.rn}", finish, type});
}

template <class F, Finish how>
[[gnu::cold]] void add_selection(Table& table, std::string_view finish, std::string_view type) {
  add_binary<extreme<F, how, false, false>>(table, {"min", finish, type});
  add_binary<extreme<F, how, true, false>>(table, {"max", finish, type});
  add_binary<extreme<F, how, false, true>>(table, {"min", finish, type, ".NaN"});
  add_binary<extreme<F, how, true, true>>(table, {"max", finish, type, ".NaN"});
  add_unary<negated<F, how>>(table, {"neg", finish, type});
  add_unary<magnitude<F, how>>(table, {"abs", finish, type});
}

[[gnu::cold]] void add_arithmetic(Table& table) {
  add_loop<fma_halves, 3>(table, {"fma.rn", "", "f16"}, Class::fma);
  add_loop<fma_bfloats, 3>(table, {"fma.rn", "", "bf16"}, Class::fma);
  add_ternary<multiply_add<Half, Finish::flush>>(table, {"fma.rn", ".ftz", "f16"});
  add_ternary<multiply_add<Half, Finish::saturate>>(table, {"fma.rn", ".sat", "f16"});
  add_ternary<multiply_add<Half, Finish::flush_saturate>>(table, {"fma.rn", ".ftz.sat", "f16"});
  add_ternary<multiply_add<Half, Finish::relu>>(table, {"fma.rn", ".relu", "f16"});
  add_ternary<multiply_add<Half, Finish::flush_relu>>(table, {"fma.rn", ".ftz.relu", "f16"});
  add_ternary<multiply_add<Bfloat, Finish::relu>>(table, {"fma.rn", ".relu", "bf16"});
  add_sums<Half, Finish::none>(table, "", "f16");
  add_sums<Bfloat, Finish::none>(table, "", "bf16");
  add_sums<Half, Finish::flush>(table, ".ftz", "f16");
  add_sums<Half, Finish::saturate>(table, ".sat", "f16");
  add_sums<Half, Finish::flush_saturate>(table, ".ftz.sat", "f16");
  add_selection<Half, Finish::none>(table, "", "f16");
  add_selection<Half, Finish::flush>(table, ".ftz", "f16");
  add_selection<Bfloat, Finish::none>(table, "", "bf16");
}

// --- comparisons

template <class F, auto compare, bool flush>
bool is(u16 a, u16 b) {
  if constexpr (flush) return compare(F::widened(flushed<F>(a)), F::widened(flushed<F>(b)));
  return compare(F::widened(a), F::widened(b));
}
/// setp, and set with a result of 1 or of all ones; each half for itself where two are packed.
template <class F, auto compare, bool flush>
[[gnu::cold]] void add_comparison_of(Table& table, std::string_view name, std::string_view type,
                                     std::string_view packed) {
  constexpr auto holds = is<F, compare, flush>;
  const Comparison one{name, flush ? ".ftz" : "", type}, two{name, one.ftz, packed};
  add_setp<u16, holds>(table, one);
  add_set<u16, holds, F::one>(table, one, type);
  add_set<u16, holds, u16{0xffff}>(table, one, "{u16,s16}");
  add_set<u16, holds, ~0u>(table, one, "{u32,s32}");
  add_set_of_pairs<holds, F::one>(table, two, packed);
  add_set_of_pairs<holds, u16{0xffff}>(table, two, "{u32,s32}");
}

template <auto compare>
[[gnu::cold]] void add_comparison(Table& table, std::string_view name) {
  add_comparison_of<Half, compare, false>(table, name, "f16", "f16x2");
  add_comparison_of<Half, compare, true>(table, name, "f16", "f16x2");
  add_comparison_of<Bfloat, compare, false>(table, name, "bf16", "bf16x2");
}

[[gnu::cold]] void add_comparisons(Table& table) {
  add_comparison<[](f32 a, f32 b) { return a == b; }>(table, "eq");
  add_comparison<[](f32 a, f32 b) { return (a < b || a > b); }>(table, "ne");
  add_comparison<[](f32 a, f32 b) { return a < b; }>(table, "lt");
  add_comparison<[](f32 a, f32 b) { return a <= b; }>(table, "le");
  add_comparison<[](f32 a, f32 b) { return (a > b); }>(table, "gt");
  add_comparison<[](f32 a, f32 b) { return a >= b; }>(table, "ge");
  add_comparison<[](f32 a, f32 b) { return !(a < b || (a > b)); }>(table, "equ");
  add_comparison<[](f32 a, f32 b) { return a != b; }>(table, "neu");
  add_comparison<[](f32 a, f32 b) { return !(a >= b); }>(table, "ltu");
  add_comparison<[](f32 a, f32 b) { return !((a > b)); }>(table, "leu");
  add_comparison<[](f32 a, f32 b) { return !(a <= b); }>(table, "gtu");
  add_comparison<[](f32 a, f32 b) { return !(a < b); }>(table, "geu");
  add_comparison<[](f32 a, f32 b) { return a == a && b == b; }>(table, "num");
  add_comparison<[](f32 a, f32 b) { return a != a || b != b; }>(table, "nan");
}

}  // namespace

[[gnu::cold]] void add_half(Table& table) {
  add_arithmetic(table);
  add_comparisons(table);
}

}  // namespace sim

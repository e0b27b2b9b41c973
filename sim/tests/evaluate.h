// One instruction on 32 lanes' operands, by a kernel written around it.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "machine.h"

namespace sim::testing {

template <class T>
using Warpful = std::array<T, 32>;

// 113 bits, which hold products of doubles.
#ifdef __SIZEOF_FLOAT128__
using Exactly = __float128;
#else
using Exactly = long double;
static_assert(std::numeric_limits<Exactly>::digits == 113);
#endif

// The opcodes that were evaluated, so that a test can tell which of the table were not.
std::set<std::string>& evaluated();

// A lane's values of one operand, as bits, so that what runs an instruction is compiled once for all types.
struct Column {
  uint32_t bytes;  // of a value; 0: they are predicates
  std::vector<uint64_t> bits;
};

template <class T>
constexpr uint32_t bytes_of() {
  return std::is_same_v<T, bool> ? 0 : sizeof(T);
}

template <class T>
uint64_t to_bits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <class T>
T from_bits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class T>
Column column(const std::vector<T>& values) {
  Column made{bytes_of<T>(), {}};
  for (const T value : values) made.bits.push_back(to_bits<T>(value));
  return made;
}

// Runs `opcode` on operands of 2, 4 or 8 bytes or predicates, each with the same number of values, a multiple of 32.
std::vector<uint64_t> evaluate_bits(const std::string& opcode, uint32_t result_bytes,
                                    const std::vector<Column>& operands);

// The same with the types that the test thinks in.
template <class Result, class... Operands>
std::vector<Result> evaluate_all(const std::string& opcode, const std::vector<Operands>&... operands) {
  std::vector<Result> results;
  for (const uint64_t bits : evaluate_bits(opcode, bytes_of<Result>(), {column(operands)...}))
    results.push_back(from_bits<Result>(bits));
  return results;
}

// The same with one warp's operands.
template <class Result, class... Operands>
Warpful<Result> evaluate(const std::string& opcode, const Warpful<Operands>&... operands) {
  const auto all = evaluate_all<Result>(opcode, std::vector<Operands>(operands.begin(), operands.end())...);
  Warpful<Result> result;
  std::copy(all.begin(), all.end(), result.begin());
  return result;
}

// Values at which arithmetic goes wrong, then others that repeat from run to run. For bool, f32, f64 and the integers
// of 16, 32 and 64 bits.
template <class T>
std::vector<T> telling_values();

template <class T>
bool same(T a, T b) {
  return to_bits(a) == to_bits(b);
}

// A type by what a comparison of bits needs to know of it.
struct ValueType {
  uint32_t bytes;                       // 0: a predicate
  std::vector<uint64_t> (*telling)();   // its telling values
  std::string (*shown)(uint64_t bits);  // a value as a number
};

template <class T>
ValueType value_type() {
  return {bytes_of<T>(), [] { return column(telling_values<T>()).bits; },
          [](uint64_t bits) { return std::to_string(from_bits<T>(bits)); }};
}

// Compares `opcode` with what `expected` computes of one lane's operands.
void expect_bits(const std::string& opcode, const ValueType& result, const std::vector<ValueType>& operands,
                 const std::function<uint64_t(const uint64_t*)>& expected, int batches);

// Compares `opcode` with what `expected` computes on the host, bit for bit, on `batches` × 32 combinations of telling
// values. A NaN is expected to be the one that the hardware makes, unless the instruction moves bits only.
template <class Result, class... Operands, class Expected>
void expect_like(const std::string& opcode, Expected expected, int batches = 24) {
  const auto of_bits = [&expected](const uint64_t* bits) {
    return [&]<size_t... i>(std::index_sequence<i...>) {
      return to_bits(static_cast<Result>(expected(from_bits<Operands>(bits[i])...)));
    }(std::index_sequence_for<Operands...>{});
  };
  expect_bits(opcode, value_type<Result>(), {value_type<Operands>()...}, of_bits, batches);
}

// The only NaN that arithmetic makes.
inline f32 one_nan(f32 x) { return std::isnan(x) ? std::bit_cast<f32>(0x7fffffffu) : x; }
inline f64 one_nan(f64 x) { return std::isnan(x) ? std::bit_cast<f64>(0x7fffffffffffffffull) : x; }

// As `.ftz` takes it.
inline f32 flush(f32 x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

// For integers of 16, 32 and 64 bits: `check` gets a value of the type, and its name.
template <class Check>
void for_integers(Check check) {
  check(u16{}, "u16"), check(s16{}, "s16"), check(u32{}, "u32");
  check(s32{}, "s32"), check(u64{}, "u64"), check(s64{}, "s64");
}

// setp with another predicate: `relation` is the one that `suffix` compares by.
template <class T, class Relation>
void expect_combined(const std::string& name, const std::string& suffix, Relation relation) {
  expect_like<bool, T, T, bool>(
      "setp." + name + ".and" + suffix, [=](T a, T b, bool p) { return relation(a, b) && p; }, 3);
  expect_like<bool, T, T, bool>(
      "setp." + name + ".or" + suffix, [=](T a, T b, bool p) { return relation(a, b) || p; }, 3);
  expect_like<bool, T, T, bool>(
      "setp." + name + ".xor" + suffix, [=](T a, T b, bool p) { return relation(a, b) != p; }, 3);
}

}  // namespace sim::testing

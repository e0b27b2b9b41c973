#include "machine/reduction.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "machine/half.h"

namespace sim {
namespace {

template <class T, auto combine>
void reduce(std::byte* to, const std::byte* from, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += sizeof(T)) {
    T operand;
    std::memcpy(&operand, from + at, sizeof(T));
    std::atomic_ref<T> cell(*reinterpret_cast<T*>(to + at));
    T before = cell.load(std::memory_order_relaxed);
    while (!cell.compare_exchange_weak(before, combine(before, operand))) {
    }
  }
}

template <class Format>
u16 sum(u16 a, u16 b) {
  return Format::fma(Format::one, a, b);  // one rounding
}

/// The smaller or larger of two, a number rather than NaN, and -0 below +0.
template <class Format, bool larger>
u16 extreme(u16 a, u16 b) {
  const f32 x = Format::widened(a), y = Format::widened(b);
  if (std::isnan(x)) return std::isnan(y) ? Format::nan : b;
  if (std::isnan(y)) return a;
  const bool a_below = x < y || (x == y && std::signbit(x));
  return a_below == larger ? b : a;
}

/// Additions of whole numbers wrap around, and those of either sign are the same.
template <class T>
Combine whole_number(Reduce operation) {
  switch (operation) {
    case Reduce::add:
      if constexpr (std::is_same_v<T, s64>) return nullptr;
      return reduce<T, [](T a, T b) -> T { return static_cast<T>(static_cast<u64>(a) + static_cast<u64>(b)); }>;
    case Reduce::min: return reduce<T, [](T a, T b) { return std::min(a, b); }>;
    case Reduce::max: return reduce<T, [](T a, T b) { return std::max(a, b); }>;
    default: return nullptr;
  }
}

template <class T>
Combine bitwise(Reduce operation) {
  switch (operation) {
    case Reduce::bit_and: return reduce<T, [](T a, T b) -> T { return a & b; }>;
    case Reduce::bit_or: return reduce<T, [](T a, T b) -> T { return a | b; }>;
    case Reduce::bit_xor: return reduce<T, [](T a, T b) -> T { return a ^ b; }>;
    default: return nullptr;
  }
}

Combine counting(Reduce operation) {
  if (operation == Reduce::increase) return reduce<u32, [](u32 a, u32 b) { return a >= b ? 0 : a + 1; }>;
  if (operation == Reduce::decrease) return reduce<u32, [](u32 a, u32 b) { return a == 0 || (a > b) ? b : a - 1; }>;
  return nullptr;
}

template <class Format>
Combine short_float(Reduce operation) {
  switch (operation) {
    case Reduce::add: return reduce<u16, sum<Format>>;
    case Reduce::min: return reduce<u16, extreme<Format, false>>;
    case Reduce::max: return reduce<u16, extreme<Format, true>>;
    default: return nullptr;
  }
}

template <class T>
Combine floating(Reduce operation) {
  return operation == Reduce::add ? reduce<T, [](T a, T b) { return a + b; }> : nullptr;
}

Combine first_of(Combine one, Combine other) { return one ? one : other; }

}  // namespace

Combine reduction_of(Reduce operation, TensorType type) {
  switch (type) {
    case TensorType::u32:
      return first_of(whole_number<u32>(operation), first_of(bitwise<u32>(operation), counting(operation)));
    case TensorType::s32: return first_of(whole_number<s32>(operation), bitwise<u32>(operation));
    case TensorType::u64: return first_of(whole_number<u64>(operation), bitwise<u64>(operation));
    case TensorType::s64: return first_of(whole_number<s64>(operation), bitwise<u64>(operation));
    case TensorType::f16: return short_float<Half>(operation);
    case TensorType::bf16: return short_float<Bfloat>(operation);
    case TensorType::f32: return floating<f32>(operation);
    case TensorType::f64: return floating<f64>(operation);
    default: return nullptr;
  }
}

}  // namespace sim

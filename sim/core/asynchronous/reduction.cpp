#include "core/asynchronous/reduction.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/arithmetic/half_finish.h"
#include "core/memory/update.h"

namespace sim {
namespace {

template <class T, auto combine>
void reduce(std::byte* to, const std::byte* from, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += sizeof(T)) {
    T operand;
    std::memcpy(&operand, from + at, sizeof(T));
    update<T, combine>(to + at, operand);
  }
}

/// Additions of whole numbers wrap around, and those of either sign are the same.
template <class T>
Reduction whole_number(Reduce operation) {
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
Reduction bitwise(Reduce operation) {
  switch (operation) {
    case Reduce::bit_and: return reduce<T, [](T a, T b) -> T { return a & b; }>;
    case Reduce::bit_or: return reduce<T, [](T a, T b) -> T { return a | b; }>;
    case Reduce::bit_xor: return reduce<T, [](T a, T b) -> T { return a ^ b; }>;
    default: return nullptr;
  }
}

Reduction counting(Reduce operation) {
  if (operation == Reduce::increase) return reduce<u32, increased>;
  if (operation == Reduce::decrease) return reduce<u32, decreased>;
  return nullptr;
}

template <class Format>
Reduction short_float(Reduce operation) {
  switch (operation) {
    case Reduce::add: return reduce<u16, sum_of<Format>>;
    case Reduce::min: return reduce<u16, extreme<Format, Finish::none, false, false>>;
    case Reduce::max: return reduce<u16, extreme<Format, Finish::none, true, false>>;
    default: return nullptr;
  }
}

template <class T>
Reduction floating(Reduce operation) {
  return operation == Reduce::add ? reduce<T, [](T a, T b) { return a + b; }> : nullptr;
}

Reduction first_of(Reduction one, Reduction other) { return one ? one : other; }

}  // namespace

Reduction reduction_of(Reduce operation, TensorType type) {
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

// Element types, their names in records and their unit roundoffs.
#pragma once

#include <cstddef>
#include <cstdint>

// Named only: reading <cuda_bf16.h> is a sixth of the time that a kernel of floats takes to compile.
struct __half;
struct __nv_bfloat16;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;

/// Element types of matrices and accumulators. tf32 is stored as float and rounded by the kernel. s8, s32: signed
/// integers, whose sums are exact. f22 is what sums of FP8 products are on Hopper: floats of whose fraction the tensor
/// core keeps 13 bits.
enum class DType { f32, tf32, f16, bf16, s8, s32, e4m3, e5m2, f22 };

/// Storage tag for TF32 inputs: the bits of a float, of which the tensor core uses 19.
struct tf32_t {
  float value;
};

/// Tag for sums of FP8 products, which are floats for everyone but the tensor core.
struct f22_t;

template <typename T>
inline constexpr DType type_of = DType::f32;
template <>
inline constexpr DType type_of<tf32_t> = DType::tf32;
template <>
inline constexpr DType type_of<__half> = DType::f16;
template <>
inline constexpr DType type_of<__nv_bfloat16> = DType::bf16;
template <>
inline constexpr DType type_of<std::int8_t> = DType::s8;
template <>
inline constexpr DType type_of<std::int32_t> = DType::s32;
template <>
inline constexpr DType type_of<__nv_fp8_e4m3> = DType::e4m3;
template <>
inline constexpr DType type_of<__nv_fp8_e5m2> = DType::e5m2;
template <>
inline constexpr DType type_of<f22_t> = DType::f22;

/// The type's name in records and tables: "f32", "f16", …
constexpr const char* name_of(DType type) {
  switch (type) {
    case DType::f32: return "f32";
    case DType::tf32: return "tf32";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::e4m3: return "e4m3";
    case DType::e5m2: return "e5m2";
    case DType::f22: return "f22";
    case DType::s8: return "s8";
    case DType::s32: return "s32";
  }
  return "?";
}

constexpr bool is_fp8(DType type) { return type == DType::e4m3 || type == DType::e5m2; }
constexpr bool is_integer(DType type) { return type == DType::s8 || type == DType::s32; }

/// Bytes of one stored element.
constexpr std::size_t bytes_of(DType type) {
  if (is_fp8(type) || type == DType::s8) return 1;
  return type == DType::f16 || type == DType::bf16 ? 2 : 4;
}

/// Unit roundoff: half the distance between 1 and the next number (round to nearest). Of f22, which is cut and not
/// rounded, the whole distance. Integers have none.
constexpr double roundoff_of(DType type) {
  switch (type) {
    case DType::f32: return 0x1p-24;
    case DType::tf32: return 0x1p-11;
    case DType::f16: return 0x1p-11;
    case DType::bf16: return 0x1p-8;
    case DType::e4m3: return 0x1p-4;
    case DType::e5m2: return 0x1p-3;
    case DType::f22: return 0x1p-13;
    default: return 0;
  }
}

/// Half the distance between two neighbouring subnormal numbers: the most that rounding moves the smallest numbers; 0
/// of integers.
constexpr double least_rounding_of(DType type) {
  switch (type) {
    case DType::f32: return 0x1p-150;
    case DType::tf32: return 0x1p-137;
    case DType::f16: return 0x1p-25;
    case DType::bf16: return 0x1p-134;
    case DType::e4m3: return 0x1p-10;
    case DType::e5m2: return 0x1p-17;
    case DType::f22: return 0x1p-139;
    default: return 0.5;  // integers
  }
}

/// Largest finite number.
constexpr double largest_of(DType type) {
  switch (type) {
    case DType::f32:
    case DType::f22: return 0x1.fffffep127;
    case DType::tf32: return 0x1.ffcp127;
    case DType::f16: return 65504;
    case DType::bf16: return 0x1.fep127;
    case DType::e4m3: return 448;
    case DType::e5m2: return 57344;
    case DType::s8: return 127;
    case DType::s32: return 0x7fffffff;
  }
  return 0;
}

/// Largest integer up to which every integer is representable in the type.
constexpr double exact_integers_of(DType type) { return is_integer(type) ? largest_of(type) : 1.0 / roundoff_of(type); }

// The course's own functions for a page: the inputs that the harness draws, and numbers of its types.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "common/device/digit_arithmetic.h"
#include "common/device/waves.h"
#include "common/harness/inputs.h"
#include "core/arithmetic/floating.h"
#include "core/arithmetic/formats.h"
#include "core/arithmetic/half.h"
#include "core/asynchronous/tensor_box.h"
#include "core/tensor/tensor.h"

namespace {

using sim::tensor::Bits;

// The finite numbers of a format of 8 bits from 0 up: number i has the bits i.
template <class Format>
struct Sizes {
  float at[128];
  int count = 0;

  Sizes() {
    for (std::uint32_t bits = 0; bits < 128; ++bits) {
      const Bits wide = Format::widened(Bits{} + bits);
      const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(wide[0]));
      if (!std::isfinite(value)) break;
      at[count++] = value;
    }
  }
};

// To the nearest, ties to even, the largest number where it is beyond: as CUDA's conversion does it.
template <class Format>
std::uint8_t rounded(float value) {
  static const Sizes<Format> sizes;
  const float size = std::fabs(value);
  const float* const above = std::lower_bound(sizes.at, sizes.at + sizes.count, size);
  auto bits = static_cast<std::uint32_t>(std::min<std::ptrdiff_t>(above - sizes.at, sizes.count - 1));
  if (bits > 0 && sizes.at[bits] > size) {
    const float up = sizes.at[bits] - size, down = size - sizes.at[bits - 1];
    if (down < up || (down == up && bits % 2 != 0)) --bits;
  }
  return static_cast<std::uint8_t>(bits | (std::signbit(value) ? 0x80 : 0));
}

template <class T, class Rounded>
void fill(void* to, std::uint32_t count, const Recipe& recipe, Rounded round) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(round(element_of(recipe, i)));
    std::memcpy(static_cast<std::byte*>(to) + i * sizeof(T), &value, sizeof(T));
  }
}

// One number, rounded to the nearest of a type: its bits; no size for an unknown type.
struct Held {
  std::uint32_t bits = 0;
  int bytes = 0;
};
Held held(std::string_view name, double value) {
  const auto near = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(near);
  if (name == "f32") return {bits, 4};
  // As cvt.rna.tf32.f32 does it: ties away from zero.
  if (name == "tf32") return {std::isfinite(near) ? (bits + 0x1000) & ~std::uint32_t{0x1fff} : bits, 4};
  if (name == "f16") return {sim::Half::rounded(value, sim::Round::nearest), 2};
  if (name == "bf16") return {sim::Bfloat::rounded(value, sim::Round::nearest), 2};
  if (name == "e4m3") return {rounded<sim::tensor::E4m3>(near), 1};
  if (name == "e5m2") return {rounded<sim::tensor::E5m2>(near), 1};
  return {};
}

// A row of A and a column of B in the tensor core, which adds their products to c.
class DotProduct {
 public:
  DotProduct(std::string_view type, const double* a, const double* b, std::uint32_t count)
      : factor_(sim::factor_named(type)),
        adder_{.k = 32 / sim::bytes_of(factor_), .sum = sim::Sum::f32},
        count_(count) {
    write(type, a, a_bits_);
    write(type, b, b_bits_);
    widen(~std::uint64_t{0});
    for (std::uint32_t i = 0; i < count_; ++i)
      exponents_[i] = a_.exponent[0][i / 2][0][i % 2] + b_.exponent[i / 2][0][0][i % 2];
  }

  const sim::Adder& adder() const { return adder_; }
  int exponent(std::uint32_t product) const { return exponents_[product]; }

  // The sum of some of the products, and of c, before it is rounded.
  double sum(std::uint64_t products, float c) {
    widen(products);
    sim::TileC addend{};
    addend.at[0][0][0] = c;
    sums_ = sim::exact_sums(a_, b_, addend, adder_);
    return sums_.at[0][0][0];
  }

  // The last sum, rounded as the instruction gives it.
  float rounded_sum() const {
    sim::TileC result;
    sim::round_sums(sums_, adder_, result);
    return result.at[0][0][0];
  }

 private:
  // Half of the elements are in a line of the first matrix, the others in one of the second.
  void write(std::string_view type, const double* from, sim::Matrix (&to)[2]) const {
    const auto size = sim::bytes_of(factor_);
    for (std::uint32_t i = 0; i < count_; ++i) {
      const std::uint32_t bits = held(type, from[i]).bits;
      std::memcpy(reinterpret_cast<std::byte*>(to[i * size / 16].at[0]) + i * size % 16, &bits, size);
    }
  }

  void widen(std::uint64_t products) {
    const auto size = sim::bytes_of(factor_);
    const sim::Matrix none{};
    a_ = {}, b_ = {};
    for (std::uint32_t half = 0; half < 2; ++half) {
      sim::Matrix some = a_bits_[half];
      for (std::uint32_t i = 0; i < 16 / size; ++i) {
        if (!(products >> (half * 16 / size + i) & 1))
          std::memset(reinterpret_cast<std::byte*>(some.at[0]) + i * size, 0, size);
      }
      sim::widen(factor_, some, none, a_, half * 16 / size);
      sim::widen_columns(factor_, b_bits_[half], b_, half * 16 / size);
    }
  }

  sim::Factor factor_;
  sim::Adder adder_;
  std::uint32_t count_;
  sim::Matrix a_bits_[2] = {}, b_bits_[2] = {};
  sim::TileA a_;
  sim::TileB b_;
  sim::Sums sums_;
  int exponents_[32] = {};
};

}  // namespace

extern "C" {

// Fills so many elements of a type with the random numbers of --seed, times 3, plus 0 for A, 1 for B, 2 for C.
[[gnu::used]] int course_fill(void* to, std::uint32_t count, const char* type, std::uint32_t seed, double deviation) {
  Recipe recipe{InputKind::normal, seed, 1, 1.0};
  recipe.deviation = deviation;
  const std::string_view name = type;
  if (name == "f32") {
    fill<float>(to, count, recipe, [](float x) { return x; });
  } else if (name == "f16") {
    fill<std::uint16_t>(to, count, recipe, [](float x) { return sim::Half::rounded(x); });
  } else if (name == "bf16") {
    fill<std::uint16_t>(to, count, recipe, [](float x) { return sim::Bfloat::rounded(x); });
  } else if (name == "e4m3") {
    fill<std::uint8_t>(to, count, recipe, [](float x) { return rounded<sim::tensor::E4m3>(x); });
  } else if (name == "e5m2") {
    fill<std::uint8_t>(to, count, recipe, [](float x) { return rounded<sim::tensor::E5m2>(x); });
  } else if (name == "s8") {
    fill<std::int8_t>(to, count, recipe,
                      [](float x) { return static_cast<std::int8_t>(std::clamp(std::nearbyint(x), -128.0f, 127.0f)); });
  } else {
    return 0;
  }
  return 1;
}

// One number, rounded to the nearest of a type: its bits at `to`; how many bytes they are, 0 for an unknown type.
[[gnu::used]] int course_rounded(void* to, const char* type, double value) {
  const Held made = held(type, value);
  std::memcpy(to, &made.bits, static_cast<std::size_t>(made.bytes));
  return made.bytes;
}

// How many products of a type one instruction of the tensor core adds: mma, or for 8 bits wgmma.
[[gnu::used]] int course_depth(const char* type) {
  return static_cast<int>(32 / sim::bytes_of(sim::factor_named(type)));
}

// Adds so many products, at most those of one instruction, to c as the tensor core does it. At `to`: the result; the
// sum before it was rounded; the exponent to which the addends are aligned; how many fraction bits are kept of each;
// what is kept of c; and of each product.
[[gnu::used]] void course_dot(double* to, const char* type, const double* a, const double* b, std::uint32_t count,
                              double c) {
  DotProduct dot(type, a, b, count);
  const auto addend = static_cast<float>(c);
  int top = addend == 0 ? sim::no_exponent : std::max(std::ilogb(addend), -126);
  // What is kept of an addend shows beside the largest, which is kept whole: either c, or a product.
  std::uint64_t largest = 0;
  for (std::uint32_t i = 0; i < count; ++i)
    if (dot.exponent(i) > top) top = dot.exponent(i), largest = std::uint64_t{1} << i;
  const float beside = largest == 0 ? addend : 0;
  const double alone = dot.sum(largest, beside);
  const auto kept = [&](std::uint64_t product, float c_too) { return dot.sum(largest | product, c_too) - alone; };
  to[4] = largest == 0 ? addend : kept(0, addend);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t product = std::uint64_t{1} << i;
    to[5 + i] = product == largest ? alone : kept(product, beside);
  }
  to[1] = dot.sum(~std::uint64_t{0}, addend);
  to[0] = dot.rounded_sum();
  to[2] = top;
  to[3] = sim::kept_fraction(dot.adder().k);
}

// a·b + c of FP32, rounded once.
[[gnu::used]] double course_fma(double a, double b, double c) {
  return sim::multiply_add(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
}

// A row of A and a column of B as step 32 multiplies them. At `to`: the result, and the three sums of products of equal
// weight. At `in_a` and `in_b`: the shift to integers, and of each element its three digits, the one that weighs most
// first.
[[gnu::used]] void course_digits(double* to, double* in_a, double* in_b, const double* a, const double* b,
                                 std::uint32_t count) {
  const auto split = [&](const double* row, double* made) {
    std::uint32_t largest = 0;
    for (std::uint32_t i = 0; i < count; ++i) largest = std::max(largest, size_bits(static_cast<float>(row[i])));
    const int shift = digits_shift<3>(largest);
    made[0] = shift;
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t digits[3];
      digits_of(scaled_four(make_float4(static_cast<float>(row[i]), 0, 0, 0), shift), digits);
      for (int digit = 0; digit < 3; ++digit) made[1 + 3 * i + digit] = static_cast<std::int8_t>(digits[digit]);
    }
    return digits_scale(shift, largest);
  };
  const double scale = split(a, in_a) * split(b, in_b) * 65536;  // 256², the weight of the last sum
  double all = 0;
  for (int weight = 0; weight < 3; ++weight) {
    double& sum = to[1 + weight];
    sum = 0;
    for (std::uint32_t i = 0; i < count; ++i)
      for (int digit = 0; digit <= weight; ++digit) sum += in_a[1 + 3 * i + digit] * in_b[1 + 3 * i + weight - digit];
    all = all * 256 + sum;
  }
  to[0] = static_cast<float>(all * scale);
}

// The place in its row of a row's chunk of 16 bytes, where chunks are XORed with so many last bits of the row's number:
// as the simulator swizzles rows of 128 bytes, 8 chunks, of which a longer row has several side by side.
[[gnu::used]] int course_swizzled(int row, int chunk, int bits) {
  constexpr int CHUNK_BYTES = 16, CHUNKS = 8, ROWS = 8;  // of the pattern
  const int line = row % ROWS * CHUNKS, first = chunk / CHUNKS * CHUNKS;
  const auto address = static_cast<std::uint32_t>((line + chunk - first) * CHUNK_BYTES);
  const std::uint32_t span = bits == 0 ? 0 : CHUNK_BYTES << bits;
  return first + static_cast<int>(sim::swizzled(address, span)) / CHUNK_BYTES - line;
}

// How the tiles of bm × bn of C (m × n) fall on the multiprocessors, as step 21's launcher counts it: at `to` the
// number of tiles, of waves, and the share of the multiprocessors' time that computes C.
[[gnu::used]] void course_waves(double* to, int m, int n, int bm, int bn, int at_once) {
  to[0] = static_cast<double>(ceil_div(m, bm)) * ceil_div(n, bn);
  to[1] = waves_of(m, n, bm, bn, at_once);
  to[2] = wave_efficiency(m, n, bm, bn, at_once);
}

// The times that step 27's launcher estimates for its ways to cut C, in units of a slice of the first; which it takes.
// A way: bm, bn, and what a tile costs per slice and once.
[[gnu::used]] int course_times(double* times, const double* ways, int count, int m, int n, int k, int bk, int at_once) {
  struct Way {
    int bm, bn;
    double per_slice, per_tile;
  };
  const int slices = ceil_div(k, bk);
  std::vector<Way> all;
  for (int i = 0; i < count; ++i, ways += 4) {
    all.push_back({static_cast<int>(ways[0]), static_cast<int>(ways[1]), ways[2], ways[3]});
    times[i] = time_of(m, n, slices, all[i].bm, all[i].bn, ways[2], ways[3], at_once);
  }
  return static_cast<int>(cheapest_of(all.data(), count, m, n, slices, at_once) - all.data());
}

// The value of an element of so many bits, which lie in an integer.
[[gnu::used]] double course_value(const char* type, std::uint32_t bits) {
  const std::string_view name = type;
  const auto wide = [&]<class Format>(Format) {
    const Bits all = Format::widened(Bits{} + bits);
    return std::bit_cast<float>(static_cast<std::uint32_t>(all[0]));
  };
  if (name == "f16") return wide(sim::tensor::F16{});
  if (name == "bf16") return wide(sim::tensor::Bf16{});
  if (name == "e4m3") return wide(sim::tensor::E4m3{});
  if (name == "e5m2") return wide(sim::tensor::E5m2{});
  return std::bit_cast<float>(bits);
}
}

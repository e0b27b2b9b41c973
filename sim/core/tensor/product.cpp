/// The arithmetic of one m16n8 product, to the bit as the tensor cores of Hopper do it.
///
/// NVIDIA does not document it. The model here is the one that reproduces every dot product that was recorded on an
/// H200 (recordings/tensor_numerics_h200.csv.gz), and that others have found as well (MMA-Sim, arXiv 2511.10909):
///   - Each product is exact. Its exponent is the sum of its factors' exponents: it is not normalised, and so less than
///     four times that power of two.
///   - The products and c are aligned to the largest exponent among them. Of each, 25 fraction bits are kept; what lies
///     below is cut off its magnitude. (The FP8 products of wgmma keep 13 bits.)
///   - All k products and c are then added at once, exactly.
///   - The sum is rounded once: toward zero to f32, to nearest even to f16. A zero has no sign.
///
/// Two functions do the same work. The fast one aligns in single precision, where a product of two factors of at most
/// 12 digits is exact while its exponent is moderate, adds 32-bit integers, and rounds their sum to f32. The other
/// takes any numbers: it aligns in double precision, in which no product and no scale can overflow.
#include <bit>
#include <cstdint>
#include <cstring>

#include "core/arithmetic/formats.h"
#include "core/tensor/tensor.h"

namespace sim {
namespace {

// Vectors of the compiler's own: the loops below do not depend on its vectorising them. Sixteen elements are eight
// columns of two rows; in double precision that is two vectors.
template <class T>
using Sixteen [[gnu::vector_size(sizeof(T) * 16), gnu::may_alias]] = T;
template <class T>
using Eight [[gnu::vector_size(sizeof(T) * 8), gnu::may_alias]] = T;
using Exponents [[gnu::vector_size(64), gnu::may_alias]] = s16;

template <class T, class From>
[[gnu::always_inline]] inline T load(const From& from) {
  T vector;
  static_assert(sizeof vector == sizeof from);
  std::memcpy(&vector, &from, sizeof vector);
  return vector;
}

[[gnu::always_inline]] inline Sixteen<s32> larger(Sixteen<s32> a, Sixteen<s32> b) { return a > b ? a : b; }
[[gnu::always_inline]] inline Sixteen<s32> smaller(Sixteen<s32> a, Sixteen<s32> b) { return a < b ? a : b; }

// Masks come from signs, since other comparisons of sixteen are taken apart where the host's vectors are shorter.
[[gnu::always_inline]] inline Sixteen<s32> where_negative(Sixteen<s32> of) { return of >> 31; }
[[gnu::always_inline]] inline Sixteen<s32> choose(Sixteen<s32> mask, Sixteen<s32> a, Sixteen<s32> b) {
  return (a & mask) | (b & ~mask);
}

constexpr s32 all_zero = no_exponent / 2;  // sums of exponents below this have a zero in them
constexpr s32 exponent_bias = 127, wide_bias = 1023;
constexpr s32 cut_of_fp8 = (1 << 10) - 1;  // bits of f32 that the FP8 products of wgmma do not keep

[[gnu::always_inline]] inline bool any_negative(Sixteen<s32> all) {
  u64 parts[8], any = 0;
  std::memcpy(parts, &all, sizeof parts);
  for (const u64 part : parts) any |= part;
  return (any & 0x8000000080000000u) != 0;
}

/// Two rows' factors of one column of A, in turns.
[[gnu::always_inline]] inline Sixteen<f32> spread(const f32 (&rows)[2]) {
  u64 both;
  std::memcpy(&both, rows, sizeof both);
  return (Sixteen<f32>)(Eight<u64>{} + both);
}

/// Exponents of C's elements, `least` being the least that its format has.
[[gnu::always_inline]] inline Sixteen<s32> exponents_of(Sixteen<f32> c, s32 least) {
  const auto bits = (Sixteen<s32>)c & 0x7fffffff;
  const auto exponent = larger(bits >> 23, Sixteen<s32>{} + (least + exponent_bias)) - exponent_bias;
  return choose(where_negative(bits - 1), Sixteen<s32>{} + no_exponent, exponent);
}

/// The largest exponent of the products: of two columns of A at a time, in the halves of an integer.
template <uint32_t k>
[[gnu::always_inline]] inline Sixteen<s32> largest_exponent(const TileA& a, const TileB& b, uint32_t row) {
  Exponents top = Exponents{} + no_exponent;
#pragma GCC unroll 16
  for (uint32_t i = 0; i < k / 2; ++i) {
    u64 both;
    std::memcpy(&both, a.exponent[row][i], sizeof both);
    const Exponents sum = (Exponents)(Eight<u64>{} + both) + load<Exponents>(b.exponent[i]);
    top = top > sum ? top : sum;
  }
  return larger((Sixteen<s32>)top >> 16, (Sixteen<s32>)top << 16 >> 16);
}

/// Eight of sixteen: 0 the first, 1 the others.
[[gnu::always_inline]] inline Eight<s32> part(Sixteen<s32> all, int which) {
  return which == 0 ? __builtin_shufflevector(all, all, 0, 1, 2, 3, 4, 5, 6, 7)
                    : __builtin_shufflevector(all, all, 8, 9, 10, 11, 12, 13, 14, 15);
}
[[gnu::always_inline]] inline Eight<f32> part(Sixteen<f32> all, int which) {
  return (Eight<f32>)part((Sixteen<s32>)all, which);
}

/// 2^exponent.
[[gnu::always_inline]] inline Eight<f64> power(Eight<s32> exponent) {
  return (Eight<f64>)(__builtin_convertvector(exponent + wide_bias, Eight<s64>) << 52);
}

[[gnu::always_inline]] inline Eight<f64> wide(Eight<s32> from) { return __builtin_convertvector(from, Eight<f64>); }
[[gnu::always_inline]] inline Eight<f64> wide(Eight<f32> from) { return __builtin_convertvector(from, Eight<f64>); }
[[gnu::always_inline]] inline Eight<s64> mask(Eight<s32> from) { return __builtin_convertvector(from, Eight<s64>); }

/// The rows of a tile from the first one to before the last one: each of them is two of the product.
struct Rows {
  uint32_t first, last;
};

/// Integers in units of 2^lowest, toward zero to f32, or of FP8 to 13 fraction bits of it: none is subnormal then.
template <uint32_t k>
[[gnu::always_inline]] inline Sixteen<f32> toward_zero(Sixteen<s32> sum, Sixteen<s32> lowest) {
  constexpr auto most = std::bit_cast<s32>(f32{0x7fffff80});  // f32 has no larger one below 2^31
  const auto negative = where_negative(sum);
  const auto size = (Sixteen<s32>)((Sixteen<u32>)(sum ^ negative) - (Sixteen<u32>)negative);  // -2^31 stays as it is
  Sixteen<s32> bits = smaller((Sixteen<s32>)__builtin_convertvector(size, Sixteen<f32>), Sixteen<s32>{} + most);
  bits += where_negative(size - __builtin_convertvector((Sixteen<f32>)bits, Sixteen<s32>));  // too large by one unit
  if (k == 32) bits &= ~cut_of_fp8;
  bits |= sum & INT32_MIN;
  return (Sixteen<f32>)bits * (Sixteen<f32>)((lowest + exponent_bias) << 23);
}

/// Of factors that are not wild. Rounded to f32 where `rounded` is given: false where c is not finite, or the sum of
/// integers is too large for 32 bits. Else exact, and c has to be finite.
template <uint32_t k>
[[gnu::always_inline]] inline bool multiply_tame(const TileA& a, const TileB& b, const TileC& c, s32 least, Rows rows,
                                                 Sums& exact, TileC* rounded) {
  constexpr s32 fraction = kept_fraction(k);
  Sixteen<s32> fails = {};
  for (uint32_t row = rows.first; row < rows.last; ++row) {
    const auto addend = load<Sixteen<f32>>(c.at[row]);
    const Sixteen<s32> of_products = largest_exponent<k>(a, b, row);
    const Sixteen<s32> top = larger(of_products, exponents_of(addend, least));
    // Where all products are zero the scale may be too large for f32, and is not used.
    const auto scale = (Sixteen<f32>)((exponent_bias + fraction - top) << 23);
    // Each product is less than 2^(2 + fraction), so that sixteen of 25 bits fit into an integer.
    Sixteen<s32> even = {}, odd = {};
#pragma GCC unroll 16
    for (uint32_t i = 0; i < k; i += 2) {
      const auto first = spread(a.value[row][i]) * load<Sixteen<f32>>(b.value[i]);
      const auto second = spread(a.value[row][i + 1]) * load<Sixteen<f32>>(b.value[i + 1]);
      even += __builtin_convertvector(first * scale, Sixteen<s32>);
      odd += __builtin_convertvector(second * scale, Sixteen<s32>);
    }
    const Sixteen<s32> products = even + odd, rest = __builtin_convertvector(addend * scale, Sixteen<s32>);
    const Sixteen<s32> any = where_negative(all_zero - of_products), lowest = top - fraction;
    if (rounded) {
      const auto sum = (Sixteen<s32>)((Sixteen<u32>)products + (Sixteen<u32>)rest);  // may wrap around, which fails
      fails |= ((sum ^ products) & (sum ^ rest)) | (0x7f7fffff - ((Sixteen<s32>)addend & 0x7fffffff));
      auto alone = (Sixteen<s32>)addend;
      if (k == 32) alone &= ~cut_of_fp8;
      const auto result =
          choose(any, (Sixteen<s32>)toward_zero<k>(sum, lowest), (Sixteen<s32>)((Sixteen<f32>)alone + 0.0f));
      std::memcpy(rounded->at[row], &result, sizeof result);
      continue;
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const auto total = wide(part(products, i)) + wide(part(rest, i));
      const auto alone = wide(part(addend, i)) + 0.0;
      const auto sum = mask(part(any, i)) ? total * power(part(lowest, i)) : alone;
      std::memcpy(exact.at[row][4 * i], &sum, sizeof sum);
    }
  }
  return !any_negative(fails);
}

/// Of any factors. An infinite sum, and one that is not a number, is what the plain sum in double precision gives.
template <uint32_t k>
[[gnu::always_inline]] inline bool multiply_wild(const TileA& a, const TileB& b, const TileC& c, s32 least, Rows rows,
                                                 Sums& sums, TileC*) {
  constexpr s32 fraction = kept_fraction(k);
  for (uint32_t row = rows.first; row < rows.last; ++row) {
    const auto addends = load<Sixteen<f32>>(c.at[row]);
    const Sixteen<s32> of_products = largest_exponent<k>(a, b, row), any = of_products > all_zero;
    // Infinities have an exponent, too: the scales stay finite.
    const Sixteen<s32> top = larger(larger(of_products, exponents_of(addends, least)), Sixteen<s32>{} - 300);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const auto scale = power(fraction - part(top, half)), unit = power(part(top, half) - fraction);
      const auto addend = wide(part(addends, half));
      const auto cut = [&](Eight<f64> x) { return wide(__builtin_convertvector(x * scale, Eight<s32>)); };
      Eight<f64> plain = addend, total = cut(addend);
      for (uint32_t i = 0; i < k; ++i) {
        const auto product =
            wide(part(spread(a.value[row][i]), half)) * wide(part(load<Sixteen<f32>>(b.value[i]), half));
        plain += product;
        total += cut(product);
      }
      const auto finite = plain - plain == 0.0;
      const auto aligned = mask(part(any, half)) ? total * unit : addend + 0.0;
      const auto sum = finite ? aligned : plain;
      std::memcpy(sums.at[row][4 * half], &sum, sizeof sum);
    }
  }
  return true;
}

WITH_THE_HOSTS_VECTORS bool any_special(const TileC& c) {
  Sixteen<s32> special = {};
  for (const auto& rows : c.at) special |= (load<Sixteen<s32>>(rows) & 0x7f800000) == 0x7f800000;
  return any_negative(special);
}

using Multiply = bool (*)(const TileA&, const TileB&, const TileC&, s32, Rows, Sums&, TileC*);

#define ONE_MULTIPLY(name, what)                                                                                     \
  WITH_THE_HOSTS_VECTORS bool name(const TileA& a, const TileB& b, const TileC& c, s32 least, Rows rows, Sums& sums, \
                                   TileC* rounded) {                                                                 \
    return what(a, b, c, least, rows, sums, rounded);                                                                \
  }
ONE_MULTIPLY(tame_4, multiply_tame<4>)
ONE_MULTIPLY(tame_8, multiply_tame<8>)
ONE_MULTIPLY(tame_16, multiply_tame<16>)
ONE_MULTIPLY(tame_fp8, multiply_tame<32>)
ONE_MULTIPLY(wild_4, multiply_wild<4>)
ONE_MULTIPLY(wild_8, multiply_wild<8>)
ONE_MULTIPLY(wild_16, multiply_wild<16>)
ONE_MULTIPLY(wild_fp8, multiply_wild<32>)
#undef ONE_MULTIPLY

Multiply of_depth(uint32_t k, bool any_wild) {
  return k == 4     ? any_wild ? wild_4 : tame_4
         : k == 8   ? any_wild ? wild_8 : tame_8
         : k == 16  ? any_wild ? wild_16 : tame_16
         : any_wild ? wild_fp8
                    : tame_fp8;
}

s32 least_exponent(const Adder& adder) { return adder.sum == Sum::f16 ? -14 : -126; }

/// B as one row of A meets it, and the row eight below: each stored element of A its own row of B. The elements of the
/// two rows of A are in turns in a vector of B, too.
WITH_THE_HOSTS_VECTORS void gather(const TileB* b, const uint8_t (&met)[32][2], uint32_t k, TileB& to) {
  using Pairs = Sixteen<s32>;  // of 16-bit exponents: of two rows of B
  const Pairs odd_lanes = {0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1, 0, -1};
  for (uint32_t i = 0; i < k; i += 2) {
    Pairs exponents = {};
    for (uint32_t j = 0; j < 2; ++j) {
      Pairs values = {}, ones = {};
      for (uint32_t row = 0; row < 2; ++row) {
        const uint32_t from = met[i + j][row];
        const TileB& tile = b[from / 32];
        const Pairs lanes = row == 0 ? ~odd_lanes : odd_lanes;
        values |= (Pairs)load<Sixteen<f32>>(tile.value[from % 32]) & lanes;
        ones |= load<Pairs>(tile.exponent[from % 32 / 2]) >> (from % 2 * 16) & 0xffff & lanes;
      }
      std::memcpy(to.value[i + j], &values, sizeof values);
      exponents |= ones << (16 * j);
    }
    std::memcpy(to.exponent[i / 2], &exponents, sizeof exponents);
  }
}

WITH_THE_HOSTS_VECTORS void copy(const TileC& from, TileC& to) { std::memcpy(to.at, from.at, sizeof to.at); }

/// `run(multiply, exact, rounded)`: the product with this function, into the one or the other.
template <class Run>
void multiply_and_round(bool wild, const Adder& adder, TileC& c, Run run) {
  Sums exact;
  TileC rounded;
  if (!wild && adder.sum == Sum::f32 && run(of_depth(adder.k, false), exact, &rounded)) {
    copy(rounded, c);
    return;
  }
  run(of_depth(adder.k, wild || any_special(c)), exact, nullptr);
  round_sums(exact, adder, c);
}

}  // namespace

void multiply(const TileA& a, const TileB& b, const Adder& adder, TileC& c) {
  multiply_and_round(a.wild || b.wild, adder, c, [&](Multiply multiply, Sums& exact, TileC* rounded) {
    return multiply(a, b, c, least_exponent(adder), {0, 8}, exact, rounded);
  });
}

Sums exact_sums(const TileA& a, const TileB& b, const TileC& c, const Adder& adder) {
  Sums exact;
  of_depth(adder.k, true)(a, b, c, least_exponent(adder), {0, 8}, exact, nullptr);
  return exact;
}

void multiply_sparse(const TileA& a, const Met& met, std::span<const TileB> b, const Adder& adder, TileC& c) {
  bool wild = a.wild;
  for (const TileB& each : b) wild |= each.wild;
  multiply_and_round(wild, adder, c, [&](Multiply multiply, Sums& exact, TileC* rounded) {
    TileB gathered;
    bool well = true;
    for (uint32_t row = 0; row < 8; ++row) {
      gather(b.data(), met.row[row], adder.k, gathered);
      well &= multiply(a, gathered, c, least_exponent(adder), {row, row + 1}, exact, rounded);
    }
    return well;
  });
}

}  // namespace sim

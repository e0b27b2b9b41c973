// A guard for products of digits: while FP32 numbers are split into four digits of 8 bits, sums are taken along that
// bound the error of a product of three or four of them. From the bounds each region of C is told before the product
// what computes it: three digits, four, or FP32. The host is not asked. sm_90 and later.
//
// The bound. Row i of A is u (X + r): integers X of four digits x1 … x4, of which the first weighs 2^24, and what
// rounding to integers left, r. Column j of B is v (Y + t) likewise. A product of four digits leaves out r, t and the
// six products of digits that weigh 2^16 and less; one of three digits leaves out x4 and y4 as well. Each part is a sum
// over k of two factors, and so at most the product of their norms (Cauchy and Schwarz). Divided by the sums of
// absolute values |ai|, |bj|, the bound takes one number per row or column and part: see error_of_three.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "common/device/check.h"
#include "common/device/digits.h"
#include "common/device/launch_early.h"
#include "common/device/ptx/cluster.h"
#include "common/device/ptx/dependent_launch.h"
#include "common/device/tiles.h"
#include "common/device/turned_bytes.h"

inline constexpr int GUARD_DIGITS = 4;
/// What is kept of a row or column: the norms of its four digits, and the largest that r's can be.
inline constexpr int GUARD_TERMS = GUARD_DIGITS + 1;
/// The largest r of an element: see guarded_digits_of.
inline constexpr float GUARD_REST = 1.5f;

/// The workspace of a guarded product: four digits of A and B, their terms, and what computes each region of C.
struct Guard {
  static constexpr int ROWS = 128, COLUMNS = 384;  // of a region: whole tiles of 128×128 and of 128×96

  PackedDigits<GUARD_DIGITS> packed;
  int row_regions, col_regions;
  float *a_terms, *b_terms;  // [GUARD_TERMS][m] and [GUARD_TERMS][n]
  int* digits;               // [row_regions][col_regions]: 3, 4 or 0, which stands for FP32
  int* exponents;            // of powers of two along k, where the operands are balanced
  std::size_t bytes;

  Guard(void* workspace, int m, int n, int k)
      : packed(workspace, m, n, k),
        row_regions(ceil_div(m, ROWS)),
        col_regions(ceil_div(n, COLUMNS)),
        a_terms(reinterpret_cast<float*>(packed.b_scale + n)),
        b_terms(a_terms + static_cast<std::size_t>(GUARD_TERMS) * m),
        digits(reinterpret_cast<int*>(b_terms + static_cast<std::size_t>(GUARD_TERMS) * n)),
        exponents(digits + row_regions * col_regions),
        bytes(packed.bytes + sizeof(float) * GUARD_TERMS * (static_cast<std::size_t>(m) + n) +
              sizeof(int) * (static_cast<std::size_t>(row_regions) * col_regions + k)) {}

  /// What computes the region in which this row and column of C lie.
  __device__ __forceinline__ int digits_at(int row, int col) const {
    return __ldcg(digits + row / ROWS * col_regions + col / COLUMNS);
  }
};

/// A number that is at least 0. Sums and products are rounded up, so that what is computed is never below what is
/// meant.
struct AtLeast {
  float value;
  __device__ __forceinline__ AtLeast operator+(AtLeast other) const { return {__fadd_ru(value, other.value)}; }
  __device__ __forceinline__ AtLeast operator*(AtLeast other) const { return {__fmul_ru(value, other.value)}; }
};

/// The terms of a row or column, or maxima over several of them.
struct GuardTerms {
  float of[GUARD_TERMS];

  __device__ __forceinline__ AtLeast digit(int number) const { return {of[number - 1]}; }  // 1 weighs most
  __device__ __forceinline__ AtLeast rest() const { return {of[GUARD_DIGITS]}; }           // of r
  /// Of X without its fourth digit.
  __device__ __forceinline__ AtLeast integer() const {
    return AtLeast{0x1p24f} * digit(1) + AtLeast{0x1p16f} * digit(2) + AtLeast{0x1p8f} * digit(3);
  }
};

/// The largest error of a product of three digits of this row and column, divided by |ai| |bj|.
__device__ __forceinline__ float error_of_three(const GuardTerms& p, const GuardTerms& q) {
  const AtLeast p_lost = p.digit(4) + p.rest(), q_lost = q.digit(4) + q.rest();
  const AtLeast cut_off = p.integer() * q_lost + p_lost * (q.integer() + q_lost);
  const AtLeast left_out = AtLeast{0x1p24f} * (p.digit(2) * q.digit(3) + p.digit(3) * q.digit(2)) +
                           AtLeast{0x1p16f} * (p.digit(3) * q.digit(3));
  return (cut_off + left_out).value;
}

/// The same of a product of four digits.
__device__ __forceinline__ float error_of_four(const GuardTerms& p, const GuardTerms& q) {
  const AtLeast p_integer = p.integer() + p.digit(4), q_integer = q.integer() + q.digit(4);
  const AtLeast cut_off = p_integer * q.rest() + p.rest() * (q_integer + q.rest());
  const AtLeast left_out =
      AtLeast{0x1p16f} * (p.digit(2) * q.digit(4) + p.digit(3) * q.digit(3) + p.digit(4) * q.digit(2)) +
      AtLeast{0x1p8f} * (p.digit(3) * q.digit(4) + p.digit(4) * q.digit(3)) + p.digit(4) * q.digit(4);
  return (cut_off + left_out).value;
}

/// Rounds four scaled elements to integers of four digits, and puts digits of equal weight side by side. The first
/// three digits alone are the integer nearest to 1/256 of the element, ties to even, for which the fourth goes from 128
/// to 127: always rounded up, they would add up to an error on data of one sign. What is left of an element is
/// GUARD_REST at most.
__device__ __forceinline__ void guarded_digits_of(float4 x, uint32_t (&words)[GUARD_DIGITS]) {
  constexpr uint32_t EVERY_128 = 0x80808080;  // makes balanced digits the bytes of an unsigned integer
  const auto biased = [](float element) {
    const int integer = __float2int_rn(element);
    const bool down = (integer & 0x1ff) == 0x80;  // a tie, and the integer below is even
    return static_cast<uint32_t>(integer) - (down ? 1u : 0u) + EVERY_128;
  };
  const uint32_t of[] = {biased(x.x), biased(x.y), biased(x.z), biased(x.w)};
  uint32_t turned[GUARD_DIGITS];
  turn_bytes(of, turned);
#pragma unroll
  for (int digit = 0; digit < GUARD_DIGITS; ++digit) words[digit] = turned[GUARD_DIGITS - 1 - digit] ^ EVERY_128;
}

/// What a thread, a block or a cluster has summed of a row or column: the squares of each digit, exactly, and the sizes
/// of the scaled elements in units of 2^15, rounded down. Up to k = 65,536 all fit 32 bits.
struct GuardSums {
  static constexpr float SIZE_UNIT = 0x1p15f;
  uint32_t squares[GUARD_DIGITS] = {};
  float size = 0.0f;

  /// Takes four scaled elements along, of which `words` are the digits.
  __device__ __forceinline__ void add(float4 x, const uint32_t (&words)[GUARD_DIGITS]) {
#pragma unroll
    for (int digit = 0; digit < GUARD_DIGITS; ++digit) {
      const int four = static_cast<int>(words[digit]);
      squares[digit] = __dp4a(four, four, static_cast<int>(squares[digit]));
    }
    size = __fadd_rd(__fadd_rd(__fadd_rd(__fadd_rd(size, fabsf(x.x)), fabsf(x.y)), fabsf(x.z)), fabsf(x.w));
  }
  __device__ __forceinline__ uint32_t word(int number) const {
    return number < GUARD_DIGITS ? squares[number] : __float2uint_rd(__fmul_rd(size, 1 / SIZE_UNIT));
  }
};

/// Term `number` of a row or column of k elements, from the sums: a norm divided by the sum of sizes. Infinite where an
/// element is infinite or NaN, 0 where all are 0.
__device__ __forceinline__ float guard_term(int number, uint32_t squares, uint32_t sizes, uint32_t largest, int k) {
  constexpr uint32_t INFINITE = 0x7f800000;
  if (largest >= INFINITE) return __uint_as_float(INFINITE);
  if (largest == 0) return 0.0f;
  const float square =
      number < GUARD_DIGITS ? __uint2float_ru(squares) : __fmul_ru(GUARD_REST * GUARD_REST, __int2float_ru(k));
  return __fdiv_ru(__fsqrt_ru(square), __fmul_rd(__uint2float_rd(sizes), GuardSums::SIZE_UNIT));
}

/// What the elements along k are multiplied by: nothing, or powers of two that the other matrix is divided by.
enum class AlongK { PLAIN, TIMES, DIVIDED };

/// x * 2^exponent, or x / 2^exponent; infinite where that would be subnormal and no longer exact.
template <AlongK WAY>
__device__ __forceinline__ float balanced(float x, int exponent) {
  constexpr float LEAST = 0x1p-126f;
  const float y = ldexpf(x, WAY == AlongK::TIMES ? exponent : -exponent);
  return fabsf(y) < LEAST && x != 0.0f ? __int_as_float(0x7f800000) : y;
}
template <AlongK WAY>
__device__ __forceinline__ float4 balanced(float4 x, const int* exponents, int count) {
  if (WAY == AlongK::PLAIN) return x;
  const auto exponent = [&](int i) { return i < count ? exponents[i] : 0; };
  return make_float4(balanced<WAY>(x.x, exponent(0)), balanced<WAY>(x.y, exponent(1)), balanced<WAY>(x.z, exponent(2)),
                     balanced<WAY>(x.w, exponent(3)));
}

/// For every k the power of two that makes the largest elements of A's column and B's row alike. A block has 32 k; of A
/// a lane has a column, of B a warp a row.
template <int THREADS>
__global__ void __launch_bounds__(THREADS)
    balance_along_k(const float* a, int lda, const float* b, int ldb, int m, int n, int k, int* exponents) {
  constexpr int DEPTH = 32, WARPS = THREADS / 32;
  let_next_kernel_begin();  // it waits
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, first = blockIdx.x * DEPTH;
  __shared__ uint32_t of_a[DEPTH], of_b[DEPTH];
  if (warp == 0) of_a[lane] = 0;
  __syncthreads();  // before anyone compares with them

  uint32_t mine = 0;
#pragma unroll 8
  for (int row = warp; row < m; row += WARPS)
    if (first + lane < k) mine = max(mine, size_bits(a[row * static_cast<std::size_t>(lda) + first + lane]));
  atomicMax(&of_a[lane], mine);
  for (int row = warp; row < DEPTH; row += WARPS) {
    uint32_t largest = 0;
#pragma unroll 8
    for (int col = lane; col < n; col += 32)
      if (first + row < k) largest = max(largest, size_bits(b[(first + row) * static_cast<std::size_t>(ldb) + col]));
    largest = __reduce_max_sync(~0u, largest);
    if (lane == 0) of_b[row] = largest;
  }
  __syncthreads();  // every warp's largest are in

  constexpr uint32_t INFINITE = 0x7f800000;
  if (warp > 0 || first + lane >= k) return;
  int a_exponent = 0, b_exponent = 0;
  frexpf(__uint_as_float(of_a[lane]), &a_exponent);
  frexpf(__uint_as_float(of_b[lane]), &b_exponent);
  const bool both = of_a[lane] > 0 && of_b[lane] > 0 && max(of_a[lane], of_b[lane]) < INFINITE;
  exponents[first + lane] = both ? (b_exponent - a_exponent) / 2 : 0;
}

/// split_rows into four digits, with the terms of each row.
template <int WIDTH, AlongK WAY>
__global__ void __launch_bounds__(1024) guarded_rows(const float* a, int lda, int k, int8_t* digits, int pitch,
                                                     double* scale, float* terms, const int* exponents) {
  let_next_kernel_begin();                             // it splits the other matrix, or waits
  if (WAY != AlongK::PLAIN) wait_for_kernel_before();  // the exponents
  const float* const row = a + blockIdx.x * static_cast<std::size_t>(lda);
  const int first = threadIdx.x * 4, step = blockDim.x * 4;
  const auto four = [&](int at) { return balanced<WAY>(load_quad<WIDTH>(row + at, k - at), exponents + at, k - at); };
  __shared__ uint32_t largest, sums[GUARD_TERMS];
  if (threadIdx.x == 0) largest = 0;
  if (threadIdx.x < GUARD_TERMS) sums[threadIdx.x] = 0;
  __syncthreads();  // before anyone compares with it, or adds to them

  uint32_t mine = 0;
#pragma unroll 4
  for (int at = first; at < k; at += step) mine = largest_of(mine, four(at));
  mine = __reduce_max_sync(~0u, mine);
  if (threadIdx.x % 32 == 0) atomicMax(&largest, mine);
  __syncthreads();  // every warp's largest is in

  const int shift = digits_shift<GUARD_DIGITS>(largest);
  GuardSums own;
#pragma unroll 4
  for (int at = first; at < k; at += step) {
    const float4 x = scaled_four(four(at), shift);
    uint32_t words[GUARD_DIGITS];
    guarded_digits_of(x, words);
    own.add(x, words);
#pragma unroll
    for (int digit = 0; digit < GUARD_DIGITS; ++digit) {
      const std::size_t place = static_cast<std::size_t>(digit) * gridDim.x + blockIdx.x;
      *reinterpret_cast<uint32_t*>(digits + place * pitch + at) = words[digit];
    }
  }
#pragma unroll
  for (int number = 0; number < GUARD_TERMS; ++number) {
    const uint32_t sum = __reduce_add_sync(~0u, own.word(number));
    if (threadIdx.x % 32 == 0) atomicAdd(&sums[number], sum);
  }
  __syncthreads();  // every warp's sums are in
  const int number = threadIdx.x;
  if (number == 0) scale[blockIdx.x] = digits_scale(shift, largest);
  if (number < GUARD_TERMS)
    terms[static_cast<std::size_t>(number) * gridDim.x + blockIdx.x] =
        guard_term(number, sums[number], sums[GUARD_DIGITS], largest, k);
  if (blockIdx.x == 0) wait_for_kernel_before();  // what waits for this kernel, waits for that one
}

/// split_columns into four digits, with the terms of each column.
template <int CLUSTER, int THREADS, AlongK WAY>
__global__ void __launch_bounds__(THREADS, 1024 / THREADS)
    guarded_columns(const float* b, int ldb, int k, int n, int8_t* digits, int pitch, double* scale, float* terms,
                    const int* exponents) {
  constexpr int COLUMNS = 32, CHUNK = 128, WARPS = THREADS / 32, OWN = CHUNK / WARPS, WORDS = OWN / 4;  // OWN: a warp's
  static_assert(GUARD_TERMS <= WARPS, "each term of 32 columns has its warp");
  let_next_kernel_begin();                             // it waits
  if (WAY != AlongK::PLAIN) wait_for_kernel_before();  // the exponents
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int first_col = blockIdx.x / CLUSTER * COLUMNS, col = first_col + lane, rank = cluster_rank();
  const int rows = ceil_div(k, CLUSTER * CHUNK) * CHUNK;  // of B, per block
  const int first = rank * rows, end = min(k, first + rows);
  const auto four = [&](int row) {  // of the column; zeros outside of B
    const float* const at = b + row * static_cast<std::size_t>(ldb) + col;
    const auto element = [&](int i) { return row + i < k && col < n ? at[i * static_cast<std::size_t>(ldb)] : 0.0f; };
    return balanced<WAY>(make_float4(element(0), element(1), element(2), element(3)), exponents + row, k - row);
  };
  __shared__ uint32_t largest[COLUMNS], sums[GUARD_TERMS][COLUMNS];
  __shared__ uint32_t
      turned[GUARD_DIGITS][COLUMNS][CHUNK / 4 + 1];  // one more word: lanes write down a column of words
  if (warp == 0) largest[lane] = 0;
  if (warp < GUARD_TERMS) sums[warp][lane] = 0;
  __syncthreads();  // before anyone compares with it, or adds to them

  uint32_t mine = 0;
#pragma unroll 2
  for (int row = first + warp * OWN; row < end; row += CHUNK) {
#pragma unroll
    for (int word = 0; word < WORDS; ++word) mine = largest_of(mine, four(row + word * 4));
  }
  atomicMax(&largest[lane], mine);
  float4 next[WORDS];  // of this thread, loaded while the chunk before is written
  const auto load = [&](int chunk) {
#pragma unroll
    for (int word = 0; word < WORDS; ++word) next[word] = four(chunk + warp * OWN + word * 4);
  };
  load(first);
  cluster_sync();  // the largest of every block are in
  for (int other = 0; other < CLUSTER; ++other) mine = max(mine, load_word_of(&largest[lane], other));

  const int shift = digits_shift<GUARD_DIGITS>(mine);
  if (rank == 0 && warp == 0 && col < n) scale[col] = digits_scale(shift, mine);
  GuardSums own;
  for (int chunk = first; chunk < end; chunk += CHUNK) {
    uint32_t words[WORDS][GUARD_DIGITS];
#pragma unroll
    for (int word = 0; word < WORDS; ++word) {
      const float4 x = scaled_four(next[word], shift);
      guarded_digits_of(x, words[word]);
      own.add(x, words[word]);
    }
    load(chunk + CHUNK);  // behind the last chunk zeros, or what another block splits: unused
    __syncthreads();      // the chunk before has been written
#pragma unroll
    for (int word = 0; word < WORDS; ++word)
#pragma unroll
      for (int digit = 0; digit < GUARD_DIGITS; ++digit) turned[digit][lane][warp * WORDS + word] = words[word][digit];
    __syncthreads();  // the chunk is complete
#pragma unroll
    for (int line = warp; line < GUARD_DIGITS * COLUMNS; line += WARPS) {
      const int digit = line / COLUMNS, column = line % COLUMNS;
      const std::size_t place = static_cast<std::size_t>(digit) * n + first_col + column;
      if (first_col + column < n)
        *reinterpret_cast<uint32_t*>(digits + place * pitch + chunk + lane * 4) = turned[digit][column][lane];
    }
  }
#pragma unroll
  for (int number = 0; number < GUARD_TERMS; ++number) atomicAdd(&sums[number][lane], own.word(number));
  cluster_sync();  // the sums of every block are in
  if (rank == 0 && warp < GUARD_TERMS) {
    uint32_t squares = 0, sizes = 0;
    for (int other = 0; other < CLUSTER; ++other) {
      squares += load_word_of(&sums[warp][lane], other);
      sizes += load_word_of(&sums[GUARD_DIGITS][lane], other);
    }
    if (col < n) terms[static_cast<std::size_t>(warp) * n + col] = guard_term(warp, squares, sizes, mine, k);
  }
  cluster_sync();                                 // the first block has read what the others summed: they may end
  if (blockIdx.x == 0) wait_for_kernel_before();  // what waits for this kernel, waits for that one
}

/// Tells each region what computes it: three digits or four where their error is at most `tau` |ai| |bj| / k for every
/// row and column of it, else FP32. A block has the regions of ROWS rows; each of its warps maxima over the columns of
/// a region at a time. Terms are at least 0, so that their bits are ordered as they are.
template <int MOST_K_OF_FOUR>
__global__ void __launch_bounds__(Guard::COLUMNS) choose_digits(Guard guard, int m, int n, int k, float tau) {
  constexpr int WARPS = Guard::COLUMNS / 32;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.x * Guard::ROWS + threadIdx.x;
  __shared__ uint32_t of_rows[GUARD_TERMS];
  let_next_kernel_begin();  // it waits
  if (threadIdx.x < GUARD_TERMS) of_rows[threadIdx.x] = 0;
  __syncthreads();           // before anyone compares with them
  wait_for_kernel_before();  // the terms are complete
  if (threadIdx.x < Guard::ROWS)
#pragma unroll
    for (int number = 0; number < GUARD_TERMS; ++number) {
      const float term = row < m ? guard.a_terms[static_cast<std::size_t>(number) * m + row] : 0.0f;
      const uint32_t most = __reduce_max_sync(~0u, __float_as_uint(term));
      if (lane == 0) atomicMax(&of_rows[number], most);
    }
  __syncthreads();  // the rows' maxima are complete

  for (int region = warp; region < guard.col_regions; region += WARPS) {
    GuardTerms p, q;
#pragma unroll
    for (int number = 0; number < GUARD_TERMS; ++number) {
      uint32_t most = 0;
#pragma unroll
      for (int i = 0; i < Guard::COLUMNS; i += 32) {
        const int col = region * Guard::COLUMNS + i + lane;
        if (col < n) most = max(most, __float_as_uint(guard.b_terms[static_cast<std::size_t>(number) * n + col]));
      }
      q.of[number] = __uint_as_float(__reduce_max_sync(~0u, most));
      p.of[number] = __uint_as_float(of_rows[number]);
    }
    // Infinities, and NaN of them, are not small enough for either.
    const bool three = __fmul_ru(error_of_three(p, q), k) <= tau;
    const bool four = k <= MOST_K_OF_FOUR && __fmul_ru(error_of_four(p, q), k) <= tau;
    if (lane == 0) guard.digits[blockIdx.x * guard.col_regions + region] = three ? 3 : four ? 4 : 0;
  }
}

/// Splits A (m × k) and B on the stream: two launches, of which the second overlaps the first. B is k × n, or n × k
/// where `B_TRANSPOSED`. BALANCED: powers of two along k are found first, for B that is k × n.
template <bool B_TRANSPOSED, bool BALANCED>
void split_guarded(const Guard& to, const float* a, int lda, const float* b, int ldb, int m, int n, int k,
                   cudaStream_t stream) {
  static_assert(!(B_TRANSPOSED && BALANCED));
  constexpr int COLUMN_THREADS = 512, CLUSTER = 8, LONG_ROW = 8192;
  constexpr AlongK A_WAY = BALANCED ? AlongK::TIMES : AlongK::PLAIN, B_WAY = BALANCED ? AlongK::DIVIDED : AlongK::PLAIN;
  const int row_threads = k > LONG_ROW ? 1024 : 256;  // of long rows fewer at a time, so that L2 holds them all
  const auto split_rows_of = [&](bool early, const float* matrix, int ld, int rows, int8_t* digits, double* scale,
                                 float* terms) {
    const bool quads = (k | ld) % 4 == 0 && reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0;
    launch_early(early, quads ? guarded_rows<4, A_WAY> : guarded_rows<1, A_WAY>, 1, rows, row_threads, 0, stream,
                 matrix, ld, k, digits, to.packed.pitch, scale, terms, to.exponents);
  };
  if constexpr (BALANCED)
    launch_early(false, balance_along_k<1024>, 1, ceil_div(k, 32), 1024, 0, stream, a, lda, b, ldb, m, n, k,
                 to.exponents);
  split_rows_of(BALANCED, a, lda, m, to.packed.a, to.packed.a_scale, to.a_terms);
  if constexpr (B_TRANSPOSED)
    split_rows_of(true, b, ldb, n, to.packed.b, to.packed.b_scale, to.b_terms);
  else
    launch_early(true, guarded_columns<CLUSTER, COLUMN_THREADS, B_WAY>, CLUSTER, ceil_div(n, 32) * CLUSTER,
                 COLUMN_THREADS, 0, stream, b, ldb, k, n, to.packed.b, to.packed.pitch, to.packed.b_scale, to.b_terms,
                 to.exponents);
}

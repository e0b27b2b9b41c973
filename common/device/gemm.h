// The problem that every step solves, and how a step describes itself to the harness.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <limits>
#include <string_view>
#include <vector>

#include "common/device/types.h"

/// C = alpha * A * B + beta * C on row-major matrices in device memory.
///
/// A is m x k, C is m x n; B is k x n ("NN") or, for a variant that says `.tn()`, stored as n x k ("TN").
/// Leading dimensions count elements between the starts of two neighbouring stored rows.
/// With beta = 0, C is written and never read.
///
/// AB: element type of A and B. Acc: type the products are summed in; it is in no member, but tells the table of
/// variants what the kernel does. Out: element type of C. The order of the members shows in what the compiler makes of
/// a kernel: with the sizes together and the pointers behind them, one took 255 registers instead of 229.
template <typename AB, typename Acc = AB, typename Out = AB>
struct Gemm {
  int m, n, k;
  const AB* a;
  int lda;
  const AB* b;
  int ldb;
  Out* c;
  int ldc;
  float alpha, beta;
};

/// What the elements of A and B are multiplied by, for a variant that says `.block_scaled()`: A's by one factor per row
/// and 128 of k, stored as [k / 128][ld_of_a(m)]; B's by one per 128 columns and 128 of k, stored as [k / 128][n /
/// 128], quotients rounded up. Null otherwise.
struct BlockScales {
  static constexpr int BLOCK = 128;
  static constexpr int ld_of_a(int m) { return (m + 3) / 4 * 4; }  // 16 bytes, as TMA wants it
  const float* of_a = nullptr;
  const float* of_b = nullptr;
};

/// The problem without its element types: what the harness passes to a variant.
struct Problem : Gemm<void> {
  BlockScales scales{};
};

/// What a launch may be told beside the problem. 0 = the step's own default.
struct LaunchOptions {
  int swizzle_stride = 0;     // rows of C that neighbouring blocks stay within, for the L2 cache
  bool alone = false;         // begin only when the kernel in front has ended, also where the step can begin before
  void* workspace = nullptr;  // device memory of as many bytes as the variant asks for; whose it is, allocates it
  BlockScales scales{};       // the problem's
};

/// Calls a launcher, whatever types its problem has. Not a std::function, whose header took a tenth of the time in
/// which a small kernel compiles.
struct AnyLauncher {
  void (*launcher)();
  void (*call)(const AnyLauncher& self, const Problem& problem, const LaunchOptions& options, cudaStream_t stream);
  const void* state = nullptr;  // of a launcher that has one
  bool alone = false;           // each launch as if told so

  /// With the problem's scales among the options.
  void operator()(const Problem& problem, LaunchOptions options, cudaStream_t stream) const;
};

/// One instantiation of a step's kernel: a name, types, the sizes it accepts, and how it is launched.
///
/// Built from the step's launcher; the setters return the variant, so that a table reads as one expression:
///   Variant("t8x8", launch<8>).tile(128, 128, 8).covers("LeetCUDA sgemm_t_8x8_sliced_k_f32x4")
///
/// Every source of every step reads this header, so what is the same for all stands in common/harness/variant.cpp.
class Variant {
 public:
  template <typename AB, typename Acc, typename Out>
  using Launcher = void (*)(const Gemm<AB, Acc, Out>&, const LaunchOptions&, cudaStream_t);

  template <typename AB, typename Acc, typename Out>
  Variant(const char* variant_name, Launcher<AB, Acc, Out> launcher)
      : Variant(variant_name, type_of<AB>, type_of<Acc>, type_of<Out>) {
    launch.launcher = reinterpret_cast<void (*)()>(launcher);
    launch.call = [](const AnyLauncher& self, const Problem& p, const LaunchOptions& options, cudaStream_t stream) {
      const auto typed = reinterpret_cast<Launcher<AB, Acc, Out>>(self.launcher);
      typed({p.m, p.n, p.k, static_cast<const AB*>(p.a), p.lda, static_cast<const AB*>(p.b), p.ldb,
             static_cast<Out*>(p.c), p.ldc, p.alpha, p.beta},
            options, stream);
    };
  }
  Variant();  // of nothing: std::vector, which is compiled once and whole, wants one
  Variant(const Variant&);
  Variant(Variant&&) noexcept;
  Variant& operator=(const Variant&);
  Variant& operator=(Variant&&) noexcept;
  ~Variant();

  /// The block tile of a kernel without edge handling: m, n, k must be multiples of it.
  Variant& tile(int bm, int bn, int bk) {
    multiple_m = bm, multiple_n = bn, multiple_k = bk;
    return any_size(bm, bn, bk);
  }
  /// The block tile of a kernel that takes every m, n, k >= 1.
  Variant& any_size(int bm, int bn, int bk) {
    block_m = bm, block_n = bn, block_k = bk;
    return *this;
  }
  /// C's columns must be a multiple of so many: what a store moves at once.
  Variant& columns_in(int count) {
    multiple_n = count;
    return *this;
  }
  /// Blocks are numbered along the grid's first axis alone, so that there may be 2^31 - 1 of them. Without this and
  /// `columns_on_y`, rows of blocks are on the second axis, which ends at 65535.
  Variant& flat_grid() {
    most_block_rows = most_block_cols = MOST_ON_X;
    return *this;
  }
  /// Columns of blocks are on the grid's second axis, rows on the first.
  Variant& columns_on_y() {
    most_block_rows = MOST_ON_X, most_block_cols = MOST_ON_Y;
    return *this;
  }
  /// Its blocks walk C in bands of rows: it takes --swizzle-stride.
  Variant& in_bands() {
    takes_stride = true;
    return *this;
  }
  /// Leading dimensions of A, B and C must be multiples of these many elements (vector accesses).
  Variant& aligned_ld(int a_elements, int b_elements, int c_elements) {
    multiple_lda = a_elements, multiple_ldb = b_elements, multiple_ldc = c_elements;
    return *this;
  }
  /// Dynamic shared memory of a block, in bytes, of a variant that may need more than 99 KB: not every GPU has as much.
  /// Where it chooses among tiles, what the smallest one takes. 0: less than 99 KB, which all from 8.0 on have.
  Variant& shared_memory(int bytes) {
    shared_bytes = bytes;
    return *this;
  }
  /// B is stored n x k.
  Variant& tn() {
    b_transposed = true;
    return *this;
  }
  /// B's elements are of another type than A's, of the same size; the launcher gets them as A's and knows better.
  Variant& b_of(DType type) {
    b = type;
    return *this;
  }
  /// Begins only when the kernel in front of it has ended: a call by itself, of a step that can begin before.
  Variant& alone() {
    launch.alone = true;
    return *this;
  }
  /// Multiplies A and B by the factors of BlockScales.
  Variant& block_scaled() {
    scaled = true;
    return *this;
  }
  /// Runs on tensor cores: settles at the power limit, so it is timed for longer.
  Variant& on_tensor_cores() {
    tensor_cores = true;
    return *this;
  }
  /// It needs so much device memory beside A, B and C: bytes(m, n, k), passed to launch as LaunchOptions::workspace, a
  /// multiple of 256 bytes. It holds nothing from one launch to the next.
  Variant& workspace(std::size_t (*bytes)(int m, int n, int k)) {
    workspace_bytes = bytes;
    return *this;
  }
  /// k is at most this: what the kernel's sums hold.
  Variant& k_up_to(int most) {
    most_k = most;
    return *this;
  }
  /// Elements of A and B reach the tensor cores cut to their type, not rounded: each is wrong by twice as much.
  Variant& cuts_operands() {
    cuts = true;
    return *this;
  }
  /// Each element of A and B is split into so many digits of 8 bits, whose products are summed exactly: the result is
  /// as precise as its largest elements' digits allow, not as FP32.
  Variant& in_digits(int count) {
    digits = count;
    return *this;
  }
  /// Scales the operands by powers of two along k, taken from their sizes. With one row or column these would move
  /// digits of exact inputs to where products are left out, so its exact inputs are all of one size.
  Variant& balances_along_k() {
    powers_along_k = true;
    return note("powers of two along k");
  }
  /// A published kernel that this variant covers, by the name in its source. May be called several times.
  Variant& covers(const char* published);
  /// Leaves this part of the work out on purpose ("the copy of A"): timed and never verified, never
  /// recorded among the others, not one of `--variant all`.
  Variant& leaves_out(const char* part);
  /// What differs from the default variant, in a few words, for --list.
  Variant& note(const char* words);

  static constexpr int MOST_ON_X = std::numeric_limits<int>::max(), MOST_ON_Y = 65535;  // blocks along an axis

  // Of texts that live as long as the program. Not std::string, whose header takes long to compile.
  std::string_view name, remark, left_out;
  DType ab, b, acc, out;  // of A, and of B but for `b_of`; of B; of the sums; of C
  bool b_transposed = false, tensor_cores = false, takes_stride = false, scaled = false;
  int block_m = 1, block_n = 1, block_k = 1;
  int most_block_rows = MOST_ON_Y, most_block_cols = MOST_ON_X;
  int multiple_m = 1, multiple_n = 1, multiple_k = 1;
  int multiple_lda = 1, multiple_ldb = 1, multiple_ldc = 1;
  int most_k = std::numeric_limits<int>::max();
  int digits = 0;  // 0: the elements are multiplied as they are
  bool powers_along_k = false;
  bool cuts = false;
  std::size_t (*workspace_bytes)(int m, int n, int k) = [](int, int, int) { return std::size_t{0}; };
  int shared_bytes = 0;
  std::vector<std::string_view> published_names;
  AnyLauncher launch{};

 private:
  Variant(const char* variant_name, DType ab, DType acc, DType out);
};

extern template class std::vector<Variant>;

/// The table of variants that a step's kernel.cu defines. The first is the default: the step's idea at its best.
std::vector<Variant> variants();

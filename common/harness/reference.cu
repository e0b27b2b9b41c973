#include <algorithm>
#include <array>
#include <utility>

#include "common/harness/dispatch.h"
#include "common/harness/for_each.h"
#include "common/harness/reference.h"

namespace {

// What both implementations read: raw pointers, so that the kernel takes it by value.
template <typename T, typename Out>
struct View {
  const T* a;
  const T* b;
  const Out* c;
  std::size_t lda, ldb_k, ldb_n, ldc;  // B's strides along k and along n
  int k;
  double alpha, beta;
  const int* rows;
  const int* cols;
  int row_count, col_count;
  double* value;
  double* magnitude;

  // Adds what is not a product and stores element (i, j) of the selection.
  __host__ __device__ void finish(std::size_t i, std::size_t j, double sum, double size) const {
    const double old = beta == 0.0 ? 0.0 : beta * to_double(c[rows[i] * ldc + cols[j]]);
    value[i * col_count + j] = alpha * sum + old;
    magnitude[i * col_count + j] = fabs(alpha) * size + fabs(old);
  }
};

constexpr int TILE = 64, DEPTH = 16, THREADS = 16, EACH = TILE / THREADS, MOST_GRID_ROWS = 65535;

// 64x64 elements a block, 4x4 a thread (16 apart, so that neighbours read neighbouring banks), slices of 16 along K. A
// grid has at most 65535 rows of blocks, so that a block may have to take more than one tile.
template <typename T, typename Out>
__global__ void __launch_bounds__(THREADS* THREADS) reference_kernel(View<T, Out> v) {
  __shared__ double As[DEPTH][TILE + 1];
  __shared__ double Bs[DEPTH][TILE + 1];
  const int thread = threadIdx.y * THREADS + threadIdx.x;
  const int first_col = blockIdx.x * TILE;

  for (long long first_row = blockIdx.y * TILE; first_row < v.row_count; first_row += gridDim.y * TILE) {
    double sum[EACH][EACH] = {}, size[EACH][EACH] = {};
    for (long long first_k = 0; first_k < v.k; first_k += DEPTH) {
      for (int e = thread; e < TILE * DEPTH; e += THREADS * THREADS) {
        const int i = e / DEPTH, k = e % DEPTH;
        const bool inside = first_row + i < v.row_count && first_k + k < v.k;
        As[k][i] = inside ? to_double(v.a[v.rows[first_row + i] * v.lda + first_k + k]) : 0.0;
      }
      for (int e = thread; e < TILE * DEPTH; e += THREADS * THREADS) {
        const int j = e % TILE, k = e / TILE;
        const bool inside = first_col + j < v.col_count && first_k + k < v.k;
        Bs[k][j] = inside ? to_double(v.b[(first_k + k) * v.ldb_k + v.cols[first_col + j] * v.ldb_n]) : 0.0;
      }
      __syncthreads();  // the slice is complete before anyone reads it
      for (int k = 0; k < DEPTH; ++k)
        for (int i = 0; i < EACH; ++i)
          for (int j = 0; j < EACH; ++j) {
            const double a = As[k][threadIdx.y + i * THREADS], b = Bs[k][threadIdx.x + j * THREADS];
            sum[i][j] += a * b;
            size[i][j] += fabs(a) * fabs(b);
          }
      __syncthreads();  // everyone has read the slice before it is overwritten
    }

    for (int i = 0; i < EACH; ++i)
      for (int j = 0; j < EACH; ++j) {
        const long long row = first_row + threadIdx.y + i * THREADS;
        const int col = first_col + threadIdx.x + j * THREADS;
        if (row < v.row_count && col < v.col_count) v.finish(row, col, sum[i][j], size[i][j]);
      }
  }
}

constexpr int SLICE = 64, UNROLL = 4;                 // depth of what is converted at once, and of one pass over a row
constexpr std::size_t PRODUCTS_PER_THREAD = 1 << 18;  // a thread takes about as long to start as these take

// Adds a[0 … 3] times four rows of b, of `cols` each, to a row of sums and of sizes.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)  // the thread sanitizer begins after the choice is made
[[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
#endif
void add_products(double* __restrict__ sum, double* __restrict__ size, const double* a, const double* __restrict__ b,
                  std::size_t cols) {
  const double a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
  for (std::size_t j = 0; j < cols; ++j) {
    const double p0 = a0 * b[j], p1 = a1 * b[cols + j], p2 = a2 * b[2 * cols + j], p3 = a3 * b[3 * cols + j];
    sum[j] += (p0 + p1) + (p2 + p3);
    size[j] += (fabs(p0) + fabs(p1)) + (fabs(p2) + fabs(p3));
  }
}

// Row by row, on slices of B that have become doubles; a slice that ends early is filled up with zeros.
template <typename T, typename Out>
void on_host(const View<T, Out>& v) {
  const std::size_t rows = v.row_count, cols = v.col_count;
  std::fill_n(v.value, rows * cols, 0.0);
  std::fill_n(v.magnitude, rows * cols, 0.0);
  std::vector<double> b(SLICE * cols);
  for (long long first_k = 0; first_k < v.k; first_k += SLICE) {
    const int depth = static_cast<int>(std::min<long long>(SLICE, v.k - first_k));
    std::fill(b.begin(), b.end(), 0.0);
    for (int k = 0; k < depth; ++k)
      for (std::size_t j = 0; j < cols; ++j)
        b[k * cols + j] = to_double(v.b[(first_k + k) * v.ldb_k + v.cols[j] * v.ldb_n]);
    in_host_threads(rows, PRODUCTS_PER_THREAD / (depth * cols) + 1,
                    [&](std::size_t, std::size_t first, std::size_t last) {
                      for (std::size_t i = first; i < last; ++i) {
                        std::array<double, SLICE> a{};
                        for (int k = 0; k < depth; ++k) a[k] = to_double(v.a[v.rows[i] * v.lda + first_k + k]);
                        for (int k = 0; k < depth; k += UNROLL)
                          add_products(v.value + i * cols, v.magnitude + i * cols, &a[k], &b[k * cols], cols);
                      }
                    });
  }
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < cols; ++j) v.finish(i, j, v.value[i * cols + j], v.magnitude[i * cols + j]);
}

// Whether there is code for elements of this type; others become floats first, which hold them all.
bool is_wide(DType type) { return !is_fp8(type) && !is_integer(type); }

DeviceBuffer uploaded(const std::vector<int>& host) {
  DeviceBuffer device(host.size() * sizeof(int));
  device.upload(host.data());
  return device;
}

}  // namespace

Reference::Reference(const Operands& in, std::vector<int> rows, std::vector<int> cols)
    : rows_(std::move(rows)),
      cols_(std::move(cols)),
      device_rows_(uploaded(rows_)),
      device_cols_(uploaded(cols_)),
      value_(count() * sizeof(double)),
      magnitude_(count() * sizeof(double)) {
  if (!is_wide(in.a.type())) {
    const Matrix a = in.a.widened(in.scales.of_a, BlockScales::ld_of_a(in.a.rows()), 1);
    const Matrix b = in.b.widened(in.scales.of_b, (in.b.rows() - 1) / BlockScales::BLOCK + 1, BlockScales::BLOCK);
    compute({a, b, in.c, in.b_transposed, in.alpha, in.beta, in.k});
    CUDA_CHECK(cudaDeviceSynchronize());  // the floats are read before they are freed
  } else {
    compute(in);
  }
}

void Reference::compute(const Operands& in) {
  if (!is_wide(in.c.type())) {
    const Matrix c = in.c.widened(nullptr, 0, 1);
    compute({in.a, in.b, c, in.b_transposed, in.alpha, in.beta, in.k});
    CUDA_CHECK(cudaDeviceSynchronize());
    return;
  }
  dispatch_wide(in.a.type(), [&](auto ab) {
    dispatch_wide(in.c.type(), [&](auto out) {
      using T = typename decltype(ab)::type;
      using Out = typename decltype(out)::type;
      const std::size_t ldb = in.b.ld();
      const View<T, Out> view{static_cast<const T*>(in.a.data()),
                              static_cast<const T*>(in.b.data()),
                              static_cast<const Out*>(in.c.data()),
                              static_cast<std::size_t>(in.a.ld()),
                              in.b_transposed ? 1 : ldb,
                              in.b_transposed ? ldb : 1,
                              static_cast<std::size_t>(in.c.ld()),
                              in.k,
                              in.alpha,
                              in.beta,
                              device_rows(),
                              device_cols(),
                              static_cast<int>(rows_.size()),
                              static_cast<int>(cols_.size()),
                              value_.as<double>(),
                              magnitude_.as<double>()};
      if (simulated::active()) return on_host(view);
      const dim3 grid((view.col_count - 1) / TILE + 1, std::min((view.row_count - 1) / TILE + 1, MOST_GRID_ROWS));
      reference_kernel<<<grid, dim3(THREADS, THREADS)>>>(view);
      CUDA_CHECK(cudaGetLastError());
    });
  });
}

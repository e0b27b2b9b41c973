/// The calls of cuBLAS that teaching code makes, on the host: matrix products by a BLAS of the system where there is
/// one, else by loops, and a few operations on vectors. Formats of 16 bits are widened, 8-bit integers are multiplied
/// as integers; results are those of a BLAS, not of NVIDIA's kernels, bit for bit. What is not here is refused by name.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/arithmetic/half.h"
#include "cuda/blas_product.h"
#include "cuda/errors.h"
#include "session/simulator.h"

namespace sim::blas {

size_t bytes_of(int type) {
  switch (type) {
    case f64: return 8;
    case f32:
    case s32: return 4;
    case f16:
    case bf16: return 2;
    case s8:
    case e4m3:
    case e5m2: return 1;
    default: return 0;
  }
}

namespace {

/// With the exponent of binary16 and a shorter mantissa, E4M3 also with another bias.
double of_eight_bits(uint8_t bits, int type) {
  const uint16_t sign = static_cast<uint16_t>((bits & 0x80) << 8), size = bits & 0x7f;
  if (type == e5m2) return static_cast<double>(Half::widened(static_cast<uint16_t>(bits << 8)));
  if (size == 0x7f) return NAN;
  return 256 * static_cast<double>(Half::widened(static_cast<uint16_t>(sign | size << 7)));
}

/// To nearest; what is too large becomes the largest number.
uint8_t to_eight_bits(double value, int type) {
  const uint16_t bits = type == e5m2 ? narrowed<3, -14>(value, Round::nearest) : narrowed<4, -6>(value, Round::nearest);
  const int size = value != value ? 0x7f : std::min(bits & 0x7fff, type == e5m2 ? 0x7b : 0x7e);
  return static_cast<uint8_t>(bits >> 8 & 0x80) | static_cast<uint8_t>(size);
}

}  // namespace

double number(const void* from, int type, size_t at) {
  const auto* const bytes = static_cast<const std::byte*>(from) + at * bytes_of(type);
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, bytes, sizeof value);
    return value;
  };
  switch (type) {
    case f64: return read(double{});
    case f32: return static_cast<double>(read(float{}));
    case s32: return read(int32_t{});
    case f16: return static_cast<double>(Half::widened(read(uint16_t{})));
    case bf16: return static_cast<double>(Bfloat::widened(read(uint16_t{})));
    case e4m3:
    case e5m2: return of_eight_bits(read(uint8_t{}), type);
    default: return read(int8_t{});
  }
}

namespace {

void put(void* to, int type, size_t at, double value) {
  auto* const bytes = static_cast<std::byte*>(to) + at * bytes_of(type);
  const auto write = [&](auto rounded) { std::memcpy(bytes, &rounded, sizeof rounded); };
  switch (type) {
    case f64: return write(value);
    case f32: return write(static_cast<float>(value));
    case s32: return write(static_cast<int32_t>(static_cast<int64_t>(value)));
    case f16: return write(Half::rounded(static_cast<float>(value)));
    case bf16: return write(Bfloat::rounded(static_cast<float>(value)));
    case e4m3:
    case e5m2: return write(to_eight_bits(value, type));
    default: return write(static_cast<int8_t>(std::clamp(std::nearbyint(value), -128.0, 127.0)));
  }
}

/// Whether the device has all of a matrix; says so where it has not.
bool is_there(const Product& product, const char* name, const void* data, int type, int leading, int rows,
              int columns) {
  if (rows == 0 || columns == 0) return true;
  const uint64_t bytes = (uint64_t(leading) * uint64_t(columns - 1) + uint64_t(rows)) * bytes_of(type);
  const auto address = reinterpret_cast<uint64_t>(data);
  const auto range = Simulator::instance().allocations.holding(address);
  if (range && range->holds(address, address + bytes)) return true;
  const std::string why = std::string(name) + " takes " + std::to_string(bytes) + " bytes, " +
                          Simulator::instance().allocations.describe(range ? range->end : address);
  Simulator::instance().reports.add(Finding::out_of_bounds, product.function, why, "", [&] { return why; });
  return false;
}

using Sgemm = void (*)(const char*, const char*, const int*, const int*, const int*, const float*, const float*,
                       const int*, const float*, const int*, const float*, float*, const int*, size_t, size_t);
using Dgemm = void (*)(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                       const int*, const double*, const int*, const double*, double*, const int*, size_t, size_t);

/// Of the first BLAS that the system has.
void* of_blas(const char* name) {
  static void* const library = [] {
    for (const char* const each : {"libopenblas.so.0", "libblas.so.3", "libmkl_rt.so.2", "libblis.so.4"}) {
      if (void* const opened = dlopen(each, RTLD_NOW | RTLD_LOCAL)) return opened;
    }
    return static_cast<void*>(nullptr);
  }();
  return library ? dlsym(library, name) : nullptr;
}

template <class T>
std::vector<T> widened(const Matrix& matrix, const void* data, int rows, int columns) {
  std::vector<T> made(size_t(rows) * size_t(columns));
  for (int column = 0; column < columns; ++column) {
    for (int row = 0; row < rows; ++row)
      made[size_t(column) * size_t(rows) + size_t(row)] =
          static_cast<T>(number(data, matrix.type, size_t(column) * size_t(matrix.leading) + size_t(row)));
  }
  return made;
}

/// The product alone, m × n without gaps.
template <class T, class Gemm>
std::vector<T> multiplied(const Product& product, const void* a, const void* b, const char* blas) {
  const int rows_a = product.op_a == plain ? product.m : product.k,
            columns_a = product.op_a == plain ? product.k : product.m;
  const int rows_b = product.op_b == plain ? product.k : product.n,
            columns_b = product.op_b == plain ? product.n : product.k;
  const std::vector<T> wide_a = widened<T>(product.a, a, rows_a, columns_a),
                       wide_b = widened<T>(product.b, b, rows_b, columns_b);
  std::vector<T> sums(size_t(product.m) * size_t(product.n));
  if (void* const found = blas ? of_blas(blas) : nullptr) {
    if constexpr (!std::is_same_v<Gemm, void>) {
      const char op_a = product.op_a == plain ? 'N' : 'T', op_b = product.op_b == plain ? 'N' : 'T';
      const T one = 1, zero = 0;
      const int least_a = std::max(1, rows_a), least_b = std::max(1, rows_b), least_c = std::max(1, product.m);
      reinterpret_cast<Gemm>(found)(&op_a, &op_b, &product.m, &product.n, &product.k, &one, wide_a.data(), &least_a,
                                    wide_b.data(), &least_b, &zero, sums.data(), &least_c, 1, 1);
      return sums;
    }
  }
  for (int column = 0; column < product.n; ++column) {
    for (int inner = 0; inner < product.k; ++inner) {
      const T factor = product.op_b == plain ? wide_b[size_t(column) * size_t(rows_b) + size_t(inner)]
                                             : wide_b[size_t(inner) * size_t(rows_b) + size_t(column)];
      for (int row = 0; row < product.m; ++row) {
        const T value = product.op_a == plain ? wide_a[size_t(inner) * size_t(rows_a) + size_t(row)]
                                              : wide_a[size_t(row) * size_t(rows_a) + size_t(inner)];
        sums[size_t(column) * size_t(product.m) + size_t(row)] += value * factor;
      }
    }
  }
  return sums;
}

template <class T>
void store(const Product& product, const void* c, void* d, const std::vector<T>& sums) {
  for (int column = 0; column < product.n; ++column) {
    for (int row = 0; row < product.m; ++row) {
      const auto at = [&](const Matrix& matrix) { return size_t(column) * size_t(matrix.leading) + size_t(row); };
      const double sum = product.alpha * static_cast<double>(sums[size_t(column) * size_t(product.m) + size_t(row)]);
      const double added = product.beta == 0 ? 0 : product.beta * number(c, product.c.type, at(product.c));
      put(d, product.d.type, at(product.d), product.beta == 0 ? sum : sum + added);
    }
  }
}

}  // namespace

Status multiply(const Product& product, int batches) {
  if (device_state() != cudaSuccess) return execution_failed;
  for (const int type : {product.a.type, product.b.type, product.c.type, product.d.type}) {
    const bool small = type == e4m3 || type == e5m2;  // on a GPU, too, cublasLtMatmul alone takes these
    if (bytes_of(type) == 0 || (small && std::string(product.function) != "cublasLtMatmul")) {
      say_once(std::string(product.function) + " with this type of matrices is not supported");
      return not_supported;
    }
  }
  const bool a_plain = product.op_a == plain, b_plain = product.op_b == plain;
  const int rows_a = a_plain ? product.m : product.k, columns_a = a_plain ? product.k : product.m;
  const int rows_b = b_plain ? product.k : product.n, columns_b = b_plain ? product.n : product.k;
  if (product.m < 0 || product.n < 0 || product.k < 0 || product.a.leading < std::max(1, rows_a) ||
      product.b.leading < std::max(1, rows_b) || product.d.leading < std::max(1, product.m) ||
      (product.beta != 0 && product.c.leading < std::max(1, product.m)))
    return invalid_value;
  for (int batch = 0; batch < batches; ++batch) {
    const auto part = [&](const Matrix& matrix) {
      return static_cast<const std::byte*>(matrix.data) +
             int64_t(batch) * matrix.stride * int64_t(bytes_of(matrix.type));
    };
    const void *const a = part(product.a), *const b = part(product.b), *const c = part(product.c);
    void* const d = const_cast<std::byte*>(part(product.d));
    if (!is_there(product, "A", a, product.a.type, product.a.leading, rows_a, columns_a) ||
        !is_there(product, "B", b, product.b.type, product.b.leading, rows_b, columns_b) ||
        (product.beta != 0 && !is_there(product, "C", c, product.c.type, product.c.leading, product.m, product.n)) ||
        !is_there(product, product.c.data == product.d.data ? "C" : "D", d, product.d.type, product.d.leading,
                  product.m, product.n))
      return execution_failed;
    if (product.compute == compute_s32 || product.compute == compute_s32_pedantic)
      store(product, c, d, multiplied<int32_t, void>(product, a, b, nullptr));
    else if (product.a.type == f64)
      store(product, c, d, multiplied<double, Dgemm>(product, a, b, "dgemm_"));
    else
      store(product, c, d, multiplied<float, Sgemm>(product, a, b, "sgemm_"));
  }
  return success;
}

int scalar_type(int compute) {
  const bool doubled = compute == compute_f64 || compute == compute_f64_pedantic;
  const bool integer = compute == compute_s32 || compute == compute_s32_pedantic;
  const bool half = compute == compute_f16 || compute == compute_f16_pedantic;
  return doubled ? f64 : integer ? s32 : half ? f16 : f32;
}

Status by_name(const char* name) {
  say_once(std::string(name) + " is not supported");
  return not_supported;
}

}  // namespace sim::blas

namespace {

using namespace sim::blas;

struct Handle {
  void* stream = nullptr;
  int math_mode = 0, pointer_mode = 0, atomics_mode = 0;
};

double scalar(const void* from, int compute) { return number(from, scalar_type(compute), 0); }

template <class T>
Status plain_gemm(const char* name, int type, int op_a, int op_b, int m, int n, int k, const T* alpha, const T* a,
                  int lda, int64_t stride_a, const T* b, int ldb, int64_t stride_b, const T* beta, T* c, int ldc,
                  int64_t stride_c, int batches) {
  return multiply({name,
                   op_a,
                   op_b,
                   m,
                   n,
                   k,
                   number(alpha, type, 0),
                   number(beta, type, 0),
                   {a, type, lda, stride_a},
                   {b, type, ldb, stride_b},
                   {c, type, ldc, stride_c},
                   {c, type, ldc, stride_c},
                   0},
                  batches);
}

/// Elements of a vector, by its step.
template <class T>
T& element(T* x, int i, int step) {
  return x[int64_t(i) * step];
}

}  // namespace

extern "C" {

// The header is not there in every installation of CUDA: handles are pointers, and enumerations have an int's width.

Status cublasCreate_v2(Handle** handle) {
  if (!handle) return invalid_value;
  *handle = new Handle;
  return success;
}
Status cublasDestroy_v2(Handle* handle) {
  delete handle;
  return handle ? success : not_initialised;
}
Status cublasSetStream_v2(Handle* handle, void* stream) { return handle->stream = stream, success; }
Status cublasGetStream_v2(Handle* handle, void** stream) { return *stream = handle->stream, success; }
Status cublasSetMathMode(Handle* handle, int mode) { return handle->math_mode = mode, success; }
Status cublasGetMathMode(Handle* handle, int* mode) { return *mode = handle->math_mode, success; }
Status cublasSetPointerMode_v2(Handle* handle, int mode) { return handle->pointer_mode = mode, success; }
Status cublasGetPointerMode_v2(Handle* handle, int* mode) { return *mode = handle->pointer_mode, success; }
Status cublasSetAtomicsMode(Handle* handle, int mode) { return handle->atomics_mode = mode, success; }
Status cublasSetWorkspace_v2(Handle*, void*, size_t) { return success; }
Status cublasSetSmCountTarget(Handle*, int) { return success; }
Status cublasGetVersion_v2(Handle*, int* version) { return *version = 130000, success; }
const char* cublasGetStatusName(Status status) {
  switch (status) {
    case success: return "CUBLAS_STATUS_SUCCESS";
    case not_initialised: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case invalid_value: return "CUBLAS_STATUS_INVALID_VALUE";
    case execution_failed: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case not_supported: return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "CUBLAS_STATUS_INTERNAL_ERROR";
}
const char* cublasGetStatusString(Status status) { return cublasGetStatusName(status); }

#define SIM_GEMM(letter, T, type)                                                                                    \
  Status cublas##letter##gemm_v2(Handle*, int op_a, int op_b, int m, int n, int k, const T* alpha, const T* a,       \
                                 int lda, const T* b, int ldb, const T* beta, T* c, int ldc) {                       \
    return plain_gemm("cublas" #letter "gemm", type, op_a, op_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, \
                      0, 1);                                                                                         \
  }                                                                                                                  \
  Status cublas##letter##gemmStridedBatched(                                                                         \
      Handle*, int op_a, int op_b, int m, int n, int k, const T* alpha, const T* a, int lda, long long stride_a,     \
      const T* b, int ldb, long long stride_b, const T* beta, T* c, int ldc, long long stride_c, int batches) {      \
    return plain_gemm("cublas" #letter "gemmStridedBatched", type, op_a, op_b, m, n, k, alpha, a, lda, stride_a, b,  \
                      ldb, stride_b, beta, c, ldc, stride_c, batches);                                               \
  }                                                                                                                  \
  Status cublas##letter##gemmBatched(Handle*, int op_a, int op_b, int m, int n, int k, const T* alpha,               \
                                     const T* const a[], int lda, const T* const b[], int ldb, const T* beta,        \
                                     T* const c[], int ldc, int batches) {                                           \
    Status status = success;                                                                                         \
    for (int i = 0; i < batches && status == success; ++i)                                                           \
      status = plain_gemm("cublas" #letter "gemmBatched", type, op_a, op_b, m, n, k, alpha, a[i], lda, 0, b[i], ldb, \
                          0, beta, c[i], ldc, 0, 1);                                                                 \
    return status;                                                                                                   \
  }
SIM_GEMM(S, float, f32)
SIM_GEMM(D, double, f64)
SIM_GEMM(H, uint16_t, f16)

Status cublasHgemm(Handle* handle, int op_a, int op_b, int m, int n, int k, const uint16_t* alpha, const uint16_t* a,
                   int lda, const uint16_t* b, int ldb, const uint16_t* beta, uint16_t* c, int ldc) {
  return cublasHgemm_v2(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

Status cublasGemmStridedBatchedEx(Handle*, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a,
                                  int type_a, int lda, long long stride_a, const void* b, int type_b, int ldb,
                                  long long stride_b, const void* beta, void* c, int type_c, int ldc,
                                  long long stride_c, int batches, int compute, int) {
  return multiply({"cublasGemmStridedBatchedEx",
                   op_a,
                   op_b,
                   m,
                   n,
                   k,
                   scalar(alpha, compute),
                   scalar(beta, compute),
                   {a, type_a, lda, stride_a},
                   {b, type_b, ldb, stride_b},
                   {c, type_c, ldc, stride_c},
                   {c, type_c, ldc, stride_c},
                   compute},
                  batches);
}
Status cublasGemmEx(Handle*, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a, int type_a,
                    int lda, const void* b, int type_b, int ldb, const void* beta, void* c, int type_c, int ldc,
                    int compute, int) {
  return multiply({"cublasGemmEx",
                   op_a,
                   op_b,
                   m,
                   n,
                   k,
                   scalar(alpha, compute),
                   scalar(beta, compute),
                   {a, type_a, lda, 0},
                   {b, type_b, ldb, 0},
                   {c, type_c, ldc, 0},
                   {c, type_c, ldc, 0},
                   compute});
}
Status cublasSgemmEx(Handle*, int op_a, int op_b, int m, int n, int k, const float* alpha, const void* a, int type_a,
                     int lda, const void* b, int type_b, int ldb, const float* beta, void* c, int type_c, int ldc) {
  return multiply({"cublasSgemmEx",
                   op_a,
                   op_b,
                   m,
                   n,
                   k,
                   static_cast<double>(*alpha),
                   static_cast<double>(*beta),
                   {a, type_a, lda, 0},
                   {b, type_b, ldb, 0},
                   {c, type_c, ldc, 0},
                   {c, type_c, ldc, 0},
                   0});
}

#define SIM_VECTORS(letter, lower, T, type)                                                                      \
  Status cublas##letter##axpy_v2(Handle*, int n, const T* alpha, const T* x, int step_x, T* y, int step_y) {     \
    for (int i = 0; i < n; ++i) element(y, i, step_y) += *alpha * element(x, i, step_x);                         \
    return success;                                                                                              \
  }                                                                                                              \
  Status cublas##letter##scal_v2(Handle*, int n, const T* alpha, T* x, int step) {                               \
    for (int i = 0; i < n; ++i) element(x, i, step) *= *alpha;                                                   \
    return success;                                                                                              \
  }                                                                                                              \
  Status cublas##letter##dot_v2(Handle*, int n, const T* x, int step_x, const T* y, int step_y, T* result) {     \
    double sum = 0;                                                                                              \
    for (int i = 0; i < n; ++i) sum += double(element(x, i, step_x)) * double(element(y, i, step_y));            \
    *result = static_cast<T>(sum);                                                                               \
    return success;                                                                                              \
  }                                                                                                              \
  Status cublas##letter##nrm2_v2(Handle*, int n, const T* x, int step, T* result) {                              \
    double sum = 0;                                                                                              \
    for (int i = 0; i < n; ++i) sum += double(element(x, i, step)) * double(element(x, i, step));                \
    *result = static_cast<T>(std::sqrt(sum));                                                                    \
    return success;                                                                                              \
  }                                                                                                              \
  Status cublas##letter##gemv_v2(Handle*, int op, int m, int n, const T* alpha, const T* a, int lda, const T* x, \
                                 int step_x, const T* beta, T* y, int step_y) {                                  \
    const int rows = op == plain ? m : n, inner = op == plain ? n : m;                                           \
    for (int row = 0; row < rows; ++row) {                                                                       \
      double sum = 0;                                                                                            \
      for (int i = 0; i < inner; ++i)                                                                            \
        sum += double(op == plain ? a[int64_t(i) * lda + row] : a[int64_t(row) * lda + i]) *                     \
               double(element(x, i, step_x));                                                                    \
      T& to = element(y, row, step_y);                                                                           \
      to = static_cast<T>(double(*alpha) * sum + (*beta == 0 ? 0.0 : double(*beta) * double(to)));               \
    }                                                                                                            \
    return success;                                                                                              \
  }
SIM_VECTORS(S, s, float, f32)
SIM_VECTORS(D, d, double, f64)

Status cublasSetMatrix(int rows, int columns, int bytes, const void* from, int lda, void* to, int ldb) {
  const auto pitch = [&](int leading) { return size_t(leading) * size_t(bytes); };
  return cudaMemcpy2D(to, pitch(ldb), from, pitch(lda), pitch(rows), size_t(columns), cudaMemcpyDefault) == cudaSuccess
             ? success
             : invalid_value;
}
Status cublasGetMatrix(int rows, int columns, int bytes, const void* from, int lda, void* to, int ldb) {
  return cublasSetMatrix(rows, columns, bytes, from, lda, to, ldb);
}
Status cublasSetVector(int n, int bytes, const void* from, int step_from, void* to, int step_to) {
  return cublasSetMatrix(1, n, bytes, from, step_from, to, step_to);
}
Status cublasGetVector(int n, int bytes, const void* from, int step_from, void* to, int step_to) {
  return cublasSetMatrix(1, n, bytes, from, step_from, to, step_to);
}
Status cublasSetMatrixAsync(int rows, int columns, int bytes, const void* from, int lda, void* to, int ldb, void*) {
  return cublasSetMatrix(rows, columns, bytes, from, lda, to, ldb);
}
Status cublasGetMatrixAsync(int rows, int columns, int bytes, const void* from, int lda, void* to, int ldb, void*) {
  return cublasSetMatrix(rows, columns, bytes, from, lda, to, ldb);
}
Status cublasSetVectorAsync(int n, int bytes, const void* from, int step_from, void* to, int step_to, void*) {
  return cublasSetMatrix(1, n, bytes, from, step_from, to, step_to);
}
Status cublasGetVectorAsync(int n, int bytes, const void* from, int step_from, void* to, int step_to, void*) {
  return cublasSetMatrix(1, n, bytes, from, step_from, to, step_to);
}
}

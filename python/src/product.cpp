#include "python/src/product.h"

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <array>
#include <cmath>
#include <map>

#include "common/device/check.h"
#include "common/harness/errors.h"
#include "common/harness/memory.h"
#include "python/src/choice.h"

namespace {

using std::to_string;

// What decides which variants a GPU runs.
struct Limits {
  int capability;    // 90 for 9.0
  int shared_bytes;  // that a block may have
};

// Asked once per GPU.
Limits limits_of(int gpu) {
  static std::map<int, Limits> known;
  const auto found = known.find(gpu);
  if (found != known.end()) return found->second;
  int major = 0, minor = 0, shared_bytes = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu));
  CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, gpu));
  CUDA_CHECK(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu));
  return known[gpu] = {major * 10 + minor, shared_bytes};
}

// Makes a GPU the current one, and what was current before afterwards.
class Current {
 public:
  explicit Current(int gpu) {
    CUDA_CHECK(cudaGetDevice(&before_));
    if (gpu != before_) CUDA_CHECK(cudaSetDevice(gpu));
    changed_ = gpu != before_;
  }
  ~Current() {
    if (changed_) cudaSetDevice(before_);
  }
  Current(const Current&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

void require_same(const Array& a, const Array& other) {
  if (other.place != a.place)
    throw BadInput(std::string(a.name) + " is " + a.place.spoken() + " and " + other.name + " " + other.place.spoken() +
                   "; move them to one device");
  if (other.type != a.type)
    throw nb::type_error((std::string(a.name) + " holds " + name_of(a.type) + " and " + other.name + " " +
                          name_of(other.type) + "; convert one of them")
                             .c_str());
}

void require_size(const Array& a, const Array& b, const Array& c) {
  if (c.rows != a.rows || c.cols != b.cols)
    throw BadInput("out is " + to_string(c.rows) + " x " + to_string(c.cols) + "; the product is " + to_string(a.rows) +
                   " x " + to_string(b.cols));
}

void require_row_major(const Array& array) {
  if (!array.ld())
    throw BadInput(array.spoken() + "; the elements of a row have to be neighbours, and rows may not overlap: pass " +
                   array.name + ".contiguous(), or a copy in C order");
}

void require_finite(const char* name, float value) {
  if (!std::isfinite(value)) throw BadInput(std::string(name) + " is " + to_string(value) + "; it has to be finite");
}

void require_apart(const Array& c, const Extent& c_extent, const Array& other, const Extent& extent) {
  if (overlap(c_extent, extent))
    throw BadInput(std::string(c.name) + " overlaps " + other.name +
                   ", which blocks still read when others have written theirs; pass an out of its own");
}

// What a variant asks for beside the arrays: taken and given back in the order of the stream, which does not wait.
class Workspace {
 public:
  Workspace(const Product& product, cudaStream_t stream) : stream_(stream) {
    const std::size_t bytes = product.variant->workspace_bytes(product.shape.m, product.shape.n, product.shape.k);
    if (bytes > 0) CUDA_CHECK(cudaMallocAsync(&data_, bytes, stream));
  }
  ~Workspace() {
    if (data_ != nullptr) cudaFreeAsync(data_, stream_);
  }
  Workspace(const Workspace&) = delete;

  LaunchOptions options() const {
    LaunchOptions options;
    options.workspace = data_;
    return options;
  }

 private:
  void* data_ = nullptr;
  cudaStream_t stream_;
};

Extent extent(const void* data, int rows, int cols, int ld, DType type) {
  const std::size_t bytes = bytes_of(type);
  return {data, static_cast<std::size_t>(rows), cols * bytes, ld * bytes};
}

}  // namespace

Extent Product::a_extent() const { return extent(a, shape.m, shape.k, shape.lda, type); }
Extent Product::b_extent() const {
  const bool tn = variant->b_transposed;
  return extent(b, tn ? shape.n : shape.k, tn ? shape.k : shape.n, shape.ldb, type);
}
Extent Product::c_extent() const { return extent(c, shape.m, shape.n, shape.ldc, type); }

bool simulated() {
  static const bool found = dlsym(RTLD_DEFAULT, "gemmSimVersion") != nullptr;
  return found;
}

void require_factors(const Array& a, const Array& b) {
  require_same(a, b);
  if (a.cols != b.rows)
    throw BadInput("a has " + to_string(a.cols) + " columns and b " + to_string(b.rows) +
                   " rows; a (m x k) times b (k x n) needs as many of one as of the other");
}

Product decided(const Steps& steps, const Asked& asked, const Array& a, const Array& b, const Array& c) {
  require_factors(a, b);
  require_same(a, c);
  require_size(a, b, c);
  require_row_major(a);
  require_row_major(c);
  if (!b.ld() && !b.ld_transposed())
    throw BadInput(b.spoken() +
                   "; the elements of a row, or of a column, have to be neighbours: pass b.contiguous(), " +
                   "or a copy in C order");
  require_finite("alpha", asked.alpha);
  require_finite("beta", asked.beta);

  const auto address = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data); };
  const Limits limits = limits_of(a.place.gpu);
  Candidate given{a.type,
                  {a.rows, b.cols, a.cols},
                  a.ld(),
                  b.ld(),
                  b.ld_transposed(),
                  c.ld(),
                  address(a.data),
                  address(b.data),
                  address(c.data),
                  limits.capability,
                  limits.shared_bytes};
  const Choice choice = chosen(steps, asked, given);
  Product product{choice.step, choice.variant, choice.shape, a.place, a.data, b.data, c.data, a.type};
  product.shape.alpha = asked.alpha;
  product.shape.beta = asked.beta;
  require_apart(c, product.c_extent(), a, product.a_extent());
  require_apart(c, product.c_extent(), b, product.b_extent());
  return product;
}

void launch(const Product& product, cudaStream_t stream) {
  const Current gpu(product.place.gpu);
  const Workspace workspace(product, stream);
  product.variant->launch(product.problem(product.a, product.b, product.c), workspace.options(), stream);
}

void finish(const Product& product, cudaStream_t stream) {
  const Current gpu(product.place.gpu);  // the default stream is another one on each GPU
  CUDA_CHECK(cudaStreamSynchronize(stream));
}

void multiply_on_host(const Product& product) {
  DeviceBuffer a(product.a_extent().bytes()), b(product.b_extent().bytes()), c(product.c_extent().bytes());
  a.upload(product.a);
  b.upload(product.b);
  const bool has_gaps = product.shape.ldc != product.shape.n;  // what lies between C's rows comes back as it was
  if (product.shape.beta != 0 || has_gaps) c.upload(product.c);
  const Workspace workspace(product, nullptr);
  product.variant->launch(product.problem(a.get(), b.get(), c.get()), workspace.options(), nullptr);
  c.download(product.c);
}

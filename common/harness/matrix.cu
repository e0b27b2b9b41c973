#include <algorithm>

#include "common/harness/dispatch.h"
#include "common/harness/matrix.h"
#include "common/harness/simulated.h"

namespace {

constexpr int THREADS = 256, MOST_BLOCKS = 2048;

template <typename T>
__host__ __device__ T drawn(const Recipe& recipe, int rows, int cols, int ld, std::size_t at) {
  const std::size_t row = at / ld, col = at % ld;
  if (row >= static_cast<std::size_t>(rows) || col >= static_cast<std::size_t>(cols))
    return from_double<T>(__builtin_nan(""));
  return from_double<T>(element_of(recipe, row * cols + col));
}

template <typename T>
__global__ void fill_kernel(T* data, std::size_t count, Recipe recipe, int rows, int cols, int ld) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t at = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; at < count; at += step)
    data[at] = drawn<T>(recipe, rows, cols, ld, at);
}

}  // namespace

Matrix::Matrix(DType type, int rows, int cols, int ld)
    : type_(type), rows_(rows), cols_(cols), ld_(ld), buffer_(bytes_of(type) * static_cast<std::size_t>(rows) * ld) {}

void Matrix::fill(const Recipe& recipe) {
  dispatch(type_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::size_t count = bytes() / sizeof(T);
    if (simulated::active()) {
      std::vector<T> host(count);
      for (std::size_t at = 0; at < count; ++at) host[at] = drawn<T>(recipe, rows_, cols_, ld_, at);
      buffer_.upload(host.data());
    } else {
      const auto blocks = static_cast<unsigned>(std::min<std::size_t>(MOST_BLOCKS, (count + THREADS - 1) / THREADS));
      fill_kernel<<<blocks, THREADS>>>(buffer_.as<T>(), count, recipe, rows_, cols_, ld_);
      CUDA_CHECK(cudaGetLastError());
    }
  });
}

void Matrix::poison() { CUDA_CHECK(cudaMemset(buffer_.get(), 0xff, bytes())); }

void Matrix::copy_from(const Matrix& other) {
  CUDA_CHECK(cudaMemcpy(data(), other.data(), bytes(), cudaMemcpyDeviceToDevice));
}

std::vector<double> Matrix::to_host() const {
  return dispatch(type_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<T> stored(bytes() / sizeof(T));
    buffer_.download(stored.data());
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(rows_) * cols_);
    for (int row = 0; row < rows_; ++row)
      for (int col = 0; col < cols_; ++col)
        values.push_back(to_double(stored[static_cast<std::size_t>(row) * ld_ + col]));
    return values;
  });
}

double Matrix::at(int row, int col) const {
  return dispatch(type_, [&](auto tag) {
    typename decltype(tag)::type value;
    const auto* from = buffer_.as<typename decltype(tag)::type>() + static_cast<std::size_t>(row) * ld_ + col;
    CUDA_CHECK(cudaMemcpy(&value, from, sizeof value, cudaMemcpyDeviceToHost));
    return to_double(value);
  });
}

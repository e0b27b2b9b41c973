#include <algorithm>
#include <cmath>

#include "common/harness/dispatch.h"
#include "common/harness/for_each.h"
#include "common/harness/matrix.h"

namespace {

template <typename T>
struct Fill {
  T* data;
  Recipe recipe;
  int cols, ld;

  __host__ __device__ void operator()(std::size_t at) const {
    const std::size_t row = at / ld, col = at % ld;
    const bool padding = col >= static_cast<std::size_t>(cols);
    data[at] = from_double<T>(padding ? NAN : element_of(recipe, row * cols + col));
  }
};

template <typename T>
struct BitsOf {
  using type = std::uint32_t;
};
template <>
struct BitsOf<__half> {
  using type = std::uint16_t;
};
template <>
struct BitsOf<__nv_bfloat16> {
  using type = std::uint16_t;
};

template <>
struct BitsOf<__nv_fp8_e4m3> {
  using type = std::uint8_t;
};
template <>
struct BitsOf<__nv_fp8_e5m2> {
  using type = std::uint8_t;
};
template <>
struct BitsOf<std::int8_t> {
  using type = std::uint8_t;
};

template <typename T>
struct Widen {
  const T* from;
  float* to;
  const float* factors;
  int cols, ld, factors_ld, rows_per_factor;

  __host__ __device__ void operator()(std::size_t at) const {
    const std::size_t row = at / cols, col = at % cols;
    const float factor =
        factors == nullptr ? 1.0f : factors[col / BlockScales::BLOCK * factors_ld + row / rows_per_factor];
    to[at] = static_cast<float>(to_double(from[row * ld + col])) * factor;
  }
};

struct FillFactors {
  float* data;
  Recipe recipe;

  __host__ __device__ void operator()(std::size_t at) const { data[at] = factor_of(recipe, at); }
};

// Shares of the elements are added, so that the order in which they come does not matter.
struct Hash {
  std::uint64_t sum;
  __host__ __device__ void add(const Hash& other) { sum += other.sum; }
};

template <typename Bits>
struct HashOf {
  const Bits* data;
  int cols, ld;
  Part part;

  __host__ __device__ void operator()(std::size_t at, Hash& hash) const {
    if (part == Part::all || at % ld >= static_cast<std::size_t>(cols)) hash.sum += mix_bits(mix_bits(at) ^ data[at]);
  }
};

int blocks_of(int count) { return (count + BlockScales::BLOCK - 1) / BlockScales::BLOCK; }

}  // namespace

Matrix::Matrix(DType type, int rows, int cols, int ld)
    : type_(type), rows_(rows), cols_(cols), ld_(ld), buffer_(bytes_of(type) * static_cast<std::size_t>(rows) * ld) {}

void Matrix::fill(const Recipe& recipe) {
  dispatch(type_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each(bytes() / sizeof(T), Fill<T>{buffer_.as<T>(), recipe, cols_, ld_});
  });
}

Matrix Matrix::widened(const float* factors, int factors_ld, int rows_per_factor) const {
  Matrix wide(DType::f32, rows_, cols_, cols_);
  dispatch(type_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each(wide.bytes() / sizeof(float),
             Widen<T>{buffer_.as<T>(), wide.buffer_.as<float>(), factors, cols_, ld_, factors_ld, rows_per_factor});
  });
  return wide;
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

std::uint64_t fingerprint(const Matrix& matrix, Part part) {
  if (part == Part::padding && matrix.ld() == matrix.cols()) return 0;
  return dispatch(matrix.type(), [&](auto tag) {
    using Bits = typename BitsOf<typename decltype(tag)::type>::type;
    const HashOf<Bits> hash{static_cast<const Bits*>(matrix.data()), matrix.cols(), matrix.ld(), part};
    return total_over<Hash>(matrix.bytes() / sizeof(Bits), hash).sum;
  });
}

Matrices::Matrices(const Variant& variant, const Shape& shape)
    : a(variant.ab, shape.m, shape.k, shape.lda),
      b(variant.b, variant.b_transposed ? shape.n : shape.k, variant.b_transposed ? shape.k : shape.n, shape.ldb),
      c(variant.out, shape.m, shape.n, shape.ldc) {
  if (!variant.scaled) return;
  const std::size_t slices = blocks_of(shape.k);
  a_factors = DeviceBuffer(slices * BlockScales::ld_of_a(shape.m) * sizeof(float));
  b_factors = DeviceBuffer(slices * blocks_of(shape.n) * sizeof(float));
}

Recipe Matrices::recipe(const Variant& variant, const Shape& shape, InputKind kind, std::uint64_t seed, int matrix) {
  Recipe recipe = recipe_for(kind, seed * 3 + matrix, sums_of(variant), variant.out, shape.k);
  recipe.digits = variant.digits;
  recipe.one_size = variant.powers_along_k;
  recipe.matrix = matrix;
  recipe.transposed = matrix == 1 && variant.b_transposed;
  recipe.columns = matrix == 0 || recipe.transposed ? shape.k : shape.n;
  if (variant.ab == DType::s8) recipe.deviation = 32;
  return recipe;
}

void Matrices::draw(const Variant& variant, const Shape& shape, InputKind kind, std::uint64_t seed) {
  a.fill(recipe(variant, shape, kind, seed, 0));
  b.fill(recipe(variant, shape, kind, seed, 1));
  const auto fill_factors = [&](const DeviceBuffer& factors, int matrix) {
    for_each(factors.bytes() / sizeof(float),
             FillFactors{factors.as<float>(), recipe(variant, shape, kind, seed, matrix)});
  };
  if (!variant.scaled) return;
  fill_factors(a_factors, 0);
  fill_factors(b_factors, 1);
}

RotatingInputs::RotatingInputs(const Matrices& first, const Variant& variant, const Shape& shape, std::size_t l2_bytes,
                               std::uint64_t seed) {
  problems_.push_back(first.problem(shape));
  std::size_t free_bytes = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total));
  const std::size_t wanted = 2 * l2_bytes / first.bytes() + 1;
  const std::size_t affordable = free_bytes / 2 / first.bytes();
  const std::size_t more = std::min({wanted, affordable, MOST - 1});
  for (std::size_t i = 1; i <= more; ++i) {
    sets_.push_back(std::make_unique<Matrices>(variant, shape));
    Matrices& set = *sets_.back();
    set.draw(variant, shape, InputKind::normal, seed + i);
    set.c.fill(Matrices::recipe(variant, shape, InputKind::normal, seed + i, 2));
    problems_.push_back(set.problem(shape));
  }
}

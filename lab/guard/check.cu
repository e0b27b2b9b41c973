#include <cmath>
#include <limits>
#include <numeric>

#include "common/device/guard.h"
#include "common/harness/for_each.h"
#include "common/harness/inputs.h"
#include "common/harness/reference.h"
#include "lab/errors/measure.h"
#include "lab/guard/check.h"

namespace {

// Element `at` of a matrix with `columns` columns; rows of A and columns of B are its lines.
struct Fill {
  float* data;
  Kind kind;
  std::uint64_t seed;
  int columns, depth;
  bool is_a;

  __host__ __device__ void operator()(std::size_t at) const {
    const int row = static_cast<int>(at / columns), column = static_cast<int>(at % columns);
    const int line = is_a ? row : column, k = is_a ? column : row;
    const std::uint64_t bits = mix_bits(mix_bits(seed) ^ at);
    const float normal = element_of({InputKind::normal, seed + 17, 0, 0}, at);
    switch (kind) {
      case Kind::relu: data[at] = fmaxf(normal, 0.0f); break;
      case Kind::sparse: data[at] = bits % 64 == 0 ? normal : 0.0f; break;
      case Kind::outliers: data[at] = is_a && k % 64 == 7 ? ldexpf(normal, 12) : normal; break;
      case Kind::halves: data[at] = ldexpf(normal, (k >= depth / 2) == is_a ? -20 : 0); break;
      // The digits are 65, 127, -128, -128, from the first to the fourth: a float of 23 bits.
      case Kind::worst: data[at] = 65 * 0x1p24f + 127 * 0x1p16f - 128 * 0x1p8f - 128; break;
      // 1.1 in the place of a normal number: the power may make it subnormal, and never infinite.
      case Kind::extreme:
        data[at] = line % 16 == 5 ? 0.0f : ldexpf(bits % 2 ? 1.1f : -0.3f, line * 7 % 276 - 149);
        break;
      default: data[at] = normal;
    }
  }
};

// Norms of a row or column, in units of its last digit, by the theorem's names.
struct Line {
  double size;              // |ai|, in the same units
  double scale;             // of them
  double x2, x3, x4, rest;  // rest: of r, exactly
  double integer3, rest3;   // of X without its fourth digit, and of what is missing then
  double integer4, whole;   // of X, and of X + r
  bool finite;
};

// From the definition: exponents and roundings are done anew.
Line line_of(const float* first, std::size_t stride, int k) {
  double largest = 0;
  bool finite = true;
  for (int i = 0; i < k; ++i) {
    finite = finite && std::isfinite(first[i * stride]);
    largest = std::fmax(largest, std::fabs(first[i * stride]));
  }
  Line line{};
  line.finite = finite;
  if (!finite || largest == 0) return line;
  int exponent;
  const double fraction = std::frexp(largest, &exponent);
  const int shift = 31 - exponent - (fraction > (127 * 256 + 127) / 32768.0);
  line.scale = std::ldexp(1.0, -shift);
  double squares[8] = {};
  for (int i = 0; i < k; ++i) {
    const double scaled = std::ldexp(static_cast<double>(first[i * stride]), shift);
    double integer = std::nearbyint(scaled);
    if (integer - 512 * std::floor(integer / 512) == 128) integer -= 1;  // a tie of three digits, which goes to even
    double left = integer, digit[5] = {};
    for (int number = 4; number >= 1; --number) {
      const double higher = std::floor((left + 128) / 256);
      digit[number] = left - 256 * higher;
      left = higher;
    }
    const double of[] = {
        digit[2], digit[3], digit[4], scaled - integer, integer - digit[4], scaled - (integer - digit[4]),
        integer,  scaled};
    for (int term = 0; term < 8; ++term) squares[term] += of[term] * of[term];
    line.size += std::fabs(scaled);
  }
  double* const norms[] = {&line.x2,       &line.x3,    &line.x4,       &line.rest,
                           &line.integer3, &line.rest3, &line.integer4, &line.whole};
  for (int term = 0; term < 8; ++term) *norms[term] = std::sqrt(squares[term]);
  return line;
}

struct Totals {
  double count, three, four;
  double largest, of_theorem, of_promise, bound_three, bound_four;
  unsigned long long broken;

  __host__ __device__ void add(const Totals& other) {
    count += other.count, three += other.three, four += other.four;
    largest = fmax(largest, other.largest), of_theorem = fmax(of_theorem, other.of_theorem);
    of_promise = fmax(of_promise, other.of_promise);
    bound_three = fmax(bound_three, other.bound_three), bound_four = fmax(bound_four, other.bound_four);
    broken += other.broken;
  }
};

struct Judge {
  const float* c;
  const double* exact;
  const Line *rows, *cols;
  const int* digits;
  int n, k, col_regions;
  double tau;

  __host__ __device__ void operator()(std::size_t at, Totals& totals) const {
    const int row = static_cast<int>(at / n), col = static_cast<int>(at % n);
    const Line &p = rows[row], &q = cols[col];
    const int chosen = digits[row / Guard::ROWS * col_regions + col / Guard::COLUMNS];
    const double unit = p.scale * q.scale, size = p.size * q.size;
    const double three =
        p.integer3 * q.rest3 + p.rest3 * q.whole + 0x1p16 * (0x1p8 * (p.x2 * q.x3 + p.x3 * q.x2) + p.x3 * q.x3);
    const double four = p.integer4 * q.rest + p.rest * q.whole + 0x1p16 * (p.x2 * q.x4 + p.x3 * q.x3 + p.x4 * q.x2) +
                        0x1p8 * (p.x3 * q.x4 + p.x4 * q.x3) + p.x4 * q.x4;
    const double bound = chosen == 3 ? three : four;
    const double error = fabs(c[at] - exact[at]);
    const bool beyond_float = fabs(exact[at]) > 0x1.fffffep127;  // an infinity is right, or the largest number
    const double allowed = bound * unit + 0x1p-24 * fabs(c[at]) + 0x1p-150;
    Totals mine{};
    mine.count = 1;
    if (size > 0 && p.finite && q.finite) {
      mine.largest = beyond_float ? 0 : error / (size * unit / k);
      mine.bound_three = three * k / size, mine.bound_four = four * k / size;
    }
    if (chosen != 0) {
      (chosen == 3 ? mine.three : mine.four) = 1;
      if (size > 0) mine.of_promise = bound * k / size / tau;
      mine.of_theorem = beyond_float ? 0 : error / allowed;
      // NaN is beyond everything.
      mine.broken = !(p.finite && q.finite && mine.of_promise <= 1 && mine.of_theorem <= 1);
    }
    totals.add(mine);
  }
};

std::vector<int> all_of(int count) {
  std::vector<int> indices(count);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

// The lines of a matrix of rows × cols, on the device.
DeviceBuffer lines_of(const Matrix& matrix, bool rows_are_lines) {
  std::vector<float> elements(matrix.bytes() / sizeof(float));
  CUDA_CHECK(cudaMemcpy(elements.data(), matrix.data(), matrix.bytes(), cudaMemcpyDeviceToHost));
  const int count = rows_are_lines ? matrix.rows() : matrix.cols(),
            depth = rows_are_lines ? matrix.cols() : matrix.rows();
  std::vector<Line> lines(count);
  in_host_threads(count, 16, [&](std::size_t, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      lines[i] = rows_are_lines ? line_of(&elements[i * matrix.cols()], 1, depth)
                                : line_of(&elements[i], matrix.cols(), depth);
  });
  DeviceBuffer buffer(lines.size() * sizeof(Line));
  buffer.upload(lines.data());
  return buffer;
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr const char* NAMES[] = {"normal", "uniform",  "spread", "wide",  "scaled", "relu",
                                   "sparse", "outliers", "halves", "worst", "extreme"};
  return NAMES[static_cast<int>(kind)];
}

void fill(const Matrices& matrices, Kind kind, std::uint64_t seed) {
  if (kind <= Kind::scaled) {
    fill(matrices, static_cast<Data>(kind), seed);
    return;
  }
  for (const Matrix* matrix : {&matrices.a, &matrices.b}) {
    const bool is_a = matrix == &matrices.a;
    for_each(matrix->bytes() / sizeof(float),
             Fill{static_cast<float*>(matrix->data()), kind, seed * 2 + is_a, matrix->cols(), matrices.a.cols(), is_a});
  }
}

Findings check(const Matrices& matrices, const Shape& shape, void* workspace, double tau) {
  const Reference reference({matrices.a, matrices.b, matrices.c, false, 1.0f, 0.0f, shape.k}, all_of(shape.m),
                            all_of(shape.n));
  const DeviceBuffer rows = lines_of(matrices.a, true), cols = lines_of(matrices.b, false);
  const Guard guard(workspace, shape.m, shape.n, shape.k);
  const Totals totals = total_over<Totals>(
      reference.count(), Judge{static_cast<const float*>(matrices.c.data()), reference.value(), rows.as<Line>(),
                               cols.as<Line>(), guard.digits, shape.n, shape.k, guard.col_regions, tau});
  return {totals.three / totals.count, totals.four / totals.count, totals.largest,    totals.of_theorem,
          totals.of_promise,           totals.bound_three,         totals.bound_four, totals.broken};
}

#include "common/report.h"

#include <algorithm>
#include <cstdio>
#include <ostream>

namespace {

constexpr int CORNER = 8;

template <typename... Args>
std::string text(const char* format, Args... args) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, format, args...);
  return buffer;
}

std::string accepted(const Variant& v) {
  std::string sizes = v.multiple_m * v.multiple_n * v.multiple_k == 1
                          ? "any m, n, k"
                          : text("m, n, k multiples of %d, %d, %d", v.multiple_m, v.multiple_n, v.multiple_k);
  if (v.min_k > 1) sizes += text(", k >= %d", v.min_k);
  if (v.multiple_lda * v.multiple_ldb * v.multiple_ldc > 1)
    sizes += text("; lda, ldb, ldc multiples of %d, %d, %d", v.multiple_lda, v.multiple_ldb, v.multiple_ldc);
  return sizes;
}

void print_corner(std::ostream& out, const char* name, const Matrix& matrix) {
  out << text("%s, %d x %d\n", name, matrix.rows(), matrix.cols());
  for (int row = 0; row < std::min(CORNER, matrix.rows()); ++row) {
    for (int col = 0; col < std::min(CORNER, matrix.cols()); ++col) out << text("%10.4g", matrix.at(row, col));
    out << (matrix.cols() > CORNER ? "  …\n" : "\n");
  }
}

}  // namespace

void ResultTable::add(const Variant& variant, const Shape& shape, const Timing& timing, const std::string& baseline,
                      const Comparison& verified) {
  if (best_.empty()) {
    out_ << step_ << " on " << gpu_.name << "\n";
    out_ << text("%-22s %6s %6s %6s %10s %8s %7s %9s %19s %7s %9s\n", "variant", "m", "n", "k", "ms", "TFLOPS",
                 "% peak", baseline == "none" ? "baseline" : baseline.c_str(), "x baseline (p20-p80)", "gain", "error");
  }
  const double speed = tflops(shape, timing.ms.median);
  const double peak = gpu_.peak_tflops(variant.ab);
  auto best = std::find_if(best_.begin(), best_.end(), [&](const Best& b) {
    return b.type == variant.ab && b.m == shape.m && b.n == shape.n && b.k == shape.k;
  });
  std::string gain = "-";
  if (best == best_.end()) {
    best_.push_back({variant.ab, shape.m, shape.n, shape.k, speed});
  } else {
    gain = text("%.2fx", speed / best->tflops);
    best->tflops = std::max(best->tflops, speed);
  }
  const bool compared = timing.ratio.median > 0;
  out_ << text("%-22s %6d %6d %6d %10.4f %8.2f %7s %9s %19s %7s %9.2g\n", variant.name.c_str(), shape.m, shape.n,
               shape.k, timing.ms.median, speed, peak > 0 ? text("%.1f", 100 * speed / peak).c_str() : "-",
               compared ? text("%.2f", tflops(shape, timing.other_ms.median)).c_str() : "-",
               compared ? text("%.3f (%.3f-%.3f)", timing.ratio.median, timing.ratio.p20, timing.ratio.p80).c_str()
                        : "-",
               gain.c_str(), verified.error)
       << std::flush;
}

void print_variants(std::ostream& out, const std::string& step, const std::vector<Variant>& variants) {
  const auto print = [&](const Variant& v) {
    out << text("  %-20s%s %s x %s -> %s, %s accumulator, %s; ", v.name.c_str(), &v == &variants.front() ? "*" : " ",
                name_of(v.ab), name_of(v.ab), name_of(v.out), name_of(v.acc), v.b_transposed ? "TN" : "NN")
        << accepted(v) << "\n";
    if (!v.remark.empty()) out << "                        " << v.remark << "\n";
    for (const std::string& name : v.published_names) out << "                        covers " << name << "\n";
  };
  out << step << "\n";
  for (const Variant& v : variants)
    if (v.left_out.empty()) print(v);
  out << "  * the default\n";

  const char* heading = "bottlenecks: these leave out work on purpose; timed, never verified\n";
  for (const Variant& v : variants) {
    if (v.left_out.empty()) continue;
    out << heading;
    heading = "";
    print(v);
    out << "                        leaves out " << v.left_out << "\n";
  }
}

bool report_verdict(std::ostream& out, const Work& work, const Comparison& found, const char* when) {
  if (!found.passed)
    out << "WRONG RESULT " << when << ": variant " << work.variant->name << ", m " << work.shape.m << " n "
        << work.shape.n << " k " << work.shape.k << ": " << found.message() << "\n";
  return found.passed;
}

void print_corners(std::ostream& out, const Matrices& matrices) {
  print_corner(out, "A", matrices.a);
  print_corner(out, "B", matrices.b);
  print_corner(out, "C", matrices.c);
}

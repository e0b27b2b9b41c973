#include "common/harness/report.h"

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
  if (v.multiple_lda * v.multiple_ldb * v.multiple_ldc > 1)
    sizes += text("; lda, ldb, ldc multiples of %d, %d, %d", v.multiple_lda, v.multiple_ldb, v.multiple_ldc);
  return sizes + (v.takes_stride ? "; takes --swizzle-stride" : "");
}

void print_corner(std::ostream& out, const char* name, const Matrix& matrix) {
  out << text("%s, %d x %d\n", name, matrix.rows(), matrix.cols());
  for (int row = 0; row < std::min(CORNER, matrix.rows()); ++row) {
    for (int col = 0; col < std::min(CORNER, matrix.cols()); ++col) out << text("%10.4g", matrix.at(row, col));
    out << (matrix.cols() > CORNER ? "  …\n" : "\n");
  }
}

}  // namespace

std::string ResultTable::gain(const Work& work, double speed) {
  const auto& [variant, shape, launch, instead_of] = work;
  const auto best = std::find_if(best_.begin(), best_.end(), [&](const Best& b) {
    return b.type == variant->ab && b.m == shape.m && b.n == shape.n && b.k == shape.k;
  });
  if (best == best_.end()) {
    best_.push_back({variant->ab, shape.m, shape.n, shape.k, speed});
    return "-";
  }
  const std::string gain = text("%.2fx", speed / best->tflops);
  best->tflops = std::max(best->tflops, speed);
  return gain;
}

void ResultTable::add(const Work& work, const Timing& timing, const Comparison& verified) {
  const auto& [variant, shape, launch, instead_of] = work;
  const double speed = tflops(shape, timing.ms.median), peak = gpu_.peak_tflops(*variant);
  std::string heading = text("%-22s %6s %6s %6s", "variant", "m", "n", "k");
  std::string line = text("%-22s %6d %6d %6d", std::string(variant->name).c_str(), shape.m, shape.n, shape.k);
  if (launch.swizzle_stride != 0) {
    heading += text(" %6s", "stride");
    line += text(" %6d", launch.swizzle_stride);
  }
  heading += text(" %10s %8s %7s", "ms", "TFLOPS", "% peak");
  line += text(" %10.4f %8.2f %7s", timing.ms.median, speed, peak > 0 ? text("%.1f", 100 * speed / peak).c_str() : "-");
  for (const Against& against : timing.against) {
    const std::string ratio = "x " + against.name + " (p20-p80)";
    const int width = std::max<int>(9, against.name.size()), ratio_width = std::max<int>(22, ratio.size());
    heading += text(" %*s %*s", width, against.name.c_str(), ratio_width, ratio.c_str());
    line += text(" %*.2f %*s", width, tflops(shape, against.ms.median), ratio_width,
                 text("%.3f (%.3f-%.3f)", against.ratio.median, against.ratio.p20, against.ratio.p80).c_str());
  }
  if (timing.best) {
    const Against& best = timing.against[*timing.best];
    heading += text(" %23s", "x best library");
    line += text(" %23s", text("%.3f (%s)", best.ratio.median, best.name.c_str()).c_str());
  }
  heading += text(" %7s %9s\n", "gain", "error");
  line += text(" %7s", gain(work, speed).c_str());
  line += variant->left_out.empty() ? text(" %9.2g\n", verified.error) : text(" %9s\n", "-");
  if (heading_.empty()) out_ << step_ << " on " << gpu_.name << "\n";
  if (heading_ != heading) out_ << heading;
  heading_ = heading;
  out_ << line << std::flush;
}

void print_variants(std::ostream& out, const Session& session) {
  const auto print = [&](const Variant& v) {
    out << text("  %-20s%s %s x %s -> %s, %s accumulator, %s; ", std::string(v.name).c_str(),
                session.is_default(v) ? "*" : " ", name_of(v.ab), name_of(v.b), name_of(v.out), name_of(v.acc),
                v.b_transposed ? "TN" : "NN")
        << accepted(v) << "\n";
    if (!session.gpu.holds(v))
      out << text("                        does not fit here: %d bytes of shared memory per block, of %d\n",
                  v.shared_bytes, session.gpu.shared_bytes);
    if (!v.remark.empty()) out << "                        " << v.remark << "\n";
    for (const std::string_view name : v.published_names) out << "                        covers " << name << "\n";
  };
  out << session.step << "\n";
  for (const Variant& v : session.variants)
    if (v.left_out.empty()) print(v);
  out << "  * the default\n";

  const char* heading = "bottlenecks: these leave out work on purpose; timed, never verified\n";
  for (const Variant& v : session.variants) {
    if (v.left_out.empty()) continue;
    out << heading;
    heading = "";
    print(v);
    out << "                        leaves out " << v.left_out << "\n";
  }
}

bool report_verdict(std::ostream& out, const Work& work, const Comparison& found, const char* when) {
  const int stride = work.launch.swizzle_stride;
  if (!found.passed)
    out << "WRONG RESULT " << when << ": variant " << work.variant->name << ", m " << work.shape.m << " n "
        << work.shape.n << " k " << work.shape.k << (stride == 0 ? "" : " swizzle stride " + std::to_string(stride))
        << ": " << found.message() << "\n";
  return found.passed;
}

void print_fingerprint(std::ostream& out, const std::string& step, const Work& work, const Matrices& matrices) {
  const auto& [variant, shape, launch, instead_of] = work;
  out << step << " " << variant->name << ", m " << shape.m << " n " << shape.n << " k " << shape.k << ": C "
      << text("%016llx", static_cast<unsigned long long>(fingerprint(matrices.c, Part::all))) << "\n";
}

void print_corners(std::ostream& out, const Matrices& matrices) {
  print_corner(out, "A", matrices.a);
  print_corner(out, "B", matrices.b);
  print_corner(out, "C", matrices.c);
}

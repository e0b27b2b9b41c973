// What a person reads.

#include <gtest/gtest.h>

#include <sstream>

#include "common/harness/report.h"
#include "tests/cpp/host_gemm.h"

namespace {

Gpu h200() {
  Gpu gpu{};
  gpu.name = "NVIDIA H200";
  gpu.multiprocessors = 132;
  return gpu;
}

Timing timing(double ms, double other_ms) {
  Timing made;
  made.ms = {ms, ms, ms};
  if (other_ms > 0) made.against = {{"cublas", {other_ms, other_ms, other_ms}, {other_ms / ms, 0.9, 1.1}}};
  return made;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(ResultTable, ShowsSpeedShareOfPeakRatioAndGain) {
  const Gpu gpu = h200();
  std::ostringstream out;
  ResultTable table(out, "07_step", gpu);
  Variant variant = right_variant();
  table.add({&variant, narrow(1000, 1000, 1000)}, timing(0.1, 0.05), {});
  variant.name = "faster";
  table.add({&variant, narrow(1000, 1000, 1000)}, timing(0.05, 0.05), {});
  table.add({&variant, narrow(1000, 1000, 2000)}, timing(0.1, 0.1), {});
  const std::vector<std::string> lines = lines_of(out.str());
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0], "07_step on NVIDIA H200");
  EXPECT_NE(lines[1].find("cublas"), std::string::npos);
  for (const char* figure : {"right", "0.1000", "20.00", "29.9", "40.00", "0.500 (0.900-1.100)"})
    EXPECT_NE(lines[2].find(figure), std::string::npos) << figure << " in: " << lines[2];
  EXPECT_NE(lines[3].find("2.00x"), std::string::npos) << "gain over the best so far: " << lines[3];
  EXPECT_EQ(lines[4].find('x'), std::string::npos) << "another size has no best yet: " << lines[4];
}

TEST(ResultTable, ShowsEveryBaselineAndTheStrideWhereThereIsOne) {
  const Gpu gpu = h200();
  std::ostringstream out;
  ResultTable table(out, "18_step", gpu);
  const Variant variant = right_variant<__half>();
  Timing both = timing(0.1, 0.05);
  both.against.push_back({"cublaslt", {0.04, 0.04, 0.04}, {0.4, 0.39, 0.41}});
  both.against.push_back({"cublas_f32_sums", {0.08, 0.08, 0.08}, {0.8, 0.79, 0.81}});
  both.best = 2;
  table.add({&variant, narrow(1000, 1000, 1000), {2048}}, both, {});
  table.add({&variant, narrow(1000, 1000, 1000), {512}}, both, {});
  table.add({&variant, narrow(1000, 1000, 1000)}, timing(0.1, 0), {});
  const std::vector<std::string> lines = lines_of(out.str());
  ASSERT_EQ(lines.size(), 6u) << "a heading, two lines; another heading, a line";
  for (const char* column : {"stride", "cublas ", "x cublas (p20-p80)", "x cublaslt (p20-p80)",
                             "x cublas_f32_sums (p20-p80)", "x best library"})
    EXPECT_NE(lines[1].find(column), std::string::npos) << column << " in: " << lines[1];
  for (const char* figure : {" 2048 ", "0.500 (0.900-1.100)", " 50.00 ", "0.400 (0.390-0.410)", "0.800 (0.790-0.810)",
                             "0.800 (cublas_f32_sums)"})
    EXPECT_NE(lines[2].find(figure), std::string::npos) << figure << " in: " << lines[2];
  EXPECT_EQ(lines[1].size(), lines[2].size()) << "columns stand below their headings";
  EXPECT_EQ(lines[4].find("stride"), std::string::npos) << lines[4];
  EXPECT_EQ(lines[4].find("cublas"), std::string::npos) << lines[4];
}

TEST(ListOfVariants, SaysWhatDoesNotFitAndWhichIsTheDefaultThen) {
  Variant first = right_variant().shared_memory(196608), second = right_variant().shared_memory(98304);
  first.name = "large", second.name = "small";
  Session session{"20_step", {}, {first, second}};
  const auto listed = [&] {
    std::ostringstream out;
    print_variants(out, session);
    return out.str();
  };
  EXPECT_NE(listed().find("  large               * "), std::string::npos) << listed();
  EXPECT_EQ(listed().find("does not fit"), std::string::npos);
  session.gpu.shared_bytes = 101376;
  EXPECT_NE(listed().find("does not fit here: 196608 bytes of shared memory per block, of 101376\n  small"),
            std::string::npos)
      << listed();
  EXPECT_NE(listed().find("  small               * "), std::string::npos) << listed();
}

TEST(Verdict, NamesVariantSizeAndPlace) {
  const Variant variant = right_variant();
  const Work work{&variant, narrow(3, 4, 5)};
  std::ostringstream out;
  EXPECT_TRUE(report_verdict(out, work, {}, "before timing"));
  EXPECT_EQ(out.str(), "");
  Comparison wrong;
  wrong.passed = false;
  wrong.wrong = 2;
  wrong.row = 1, wrong.col = 2, wrong.got = 7, wrong.want = 8;
  EXPECT_FALSE(report_verdict(out, work, wrong, "before timing"));
  EXPECT_EQ(
      out.str(),
      "WRONG RESULT before timing: variant right, m 3 n 4 k 5: 2 wrong elements, the first at row 1, column 2: got "
      "7, want 8\n");
  out.str("");
  EXPECT_FALSE(report_verdict(out, {&variant, narrow(3, 4, 5), {64}}, wrong, "after timing"));
  EXPECT_NE(out.str().find("k 5 swizzle stride 64: 2 wrong"), std::string::npos) << out.str();
}

}  // namespace

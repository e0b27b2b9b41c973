// What one measurement leaves behind.

#include <gtest/gtest.h>

#include <cstdlib>

#include "common/harness/record.h"
#include "common/harness/schema_json.h"
#include "tests/cpp/host_gemm.h"

namespace {

using nlohmann::ordered_json;

Gpu some_gpu() {
  Gpu gpu{};
  gpu.name = "NVIDIA H200";
  gpu.driver = "580.159";
  gpu.cuda = "13.0";
  return gpu;
}

Timing some_timing(bool compared) {
  Timing timing;
  timing.ms = {2.0, 1.9, 2.1};
  if (compared) timing.against = {{"cublas", {1.0, 1.0, 1.0}, {0.5, 0.49, 0.51}}};
  timing.state = Telemetry{1980, 612345, 55};
  return timing;
}

ordered_json some_record(bool compared, const Shape& shape = narrow(1024, 2048, 512)) {
  Comparison verified;
  verified.error = 1.23456789e-7;
  verified.worst_of_bound = 0.25;
  const auto records =
      timing_records("07_step", right_variant(), true, shape, {}, some_timing(compared), verified, some_gpu());
  EXPECT_EQ(records.size(), 1u);
  return records.front();
}

/// The fields that records/schema.json asks of a kind of record and this one lacks.
std::vector<std::string> lacking(const ordered_json& record, const std::string& kind) {
  std::vector<std::string> found;
  const ordered_json schema = ordered_json::parse(SCHEMA_JSON);
  for (const auto& [key, type] : schema.at("kinds").at(kind).items())
    if (!record.contains(key) || (type == "positive" && !record[key].is_number())) found.push_back(key);
  return found;
}

TEST(Record, HasWhatTheSchemaAsksFor) { EXPECT_EQ(lacking(some_record(true), "timing"), std::vector<std::string>()); }

TEST(Record, OfAVariantThatLeavesOutWorkSaysWhatAndHasNoError) {
  const Variant variant = right_variant().leaves_out("the copy of B");
  const ordered_json record =
      timing_records("16_step", variant, false, narrow(1024, 2048, 512), {}, some_timing(true), {}, some_gpu())[0];
  EXPECT_EQ(record["leaves_out"], "the copy of B");
  EXPECT_FALSE(record.contains("error"));
  EXPECT_FALSE(record.contains("worst_of_bound"));
  EXPECT_EQ(variant_record("16_step", variant, false)["leaves_out"], "the copy of B");
  EXPECT_FALSE(variant_record("16_step", right_variant(), false).contains("leaves_out"));
}

TEST(Record, HoldsTheFigures) {
  setenv("GEMM_COMMIT", "abc1234", 1);
  const ordered_json record = some_record(true);
  EXPECT_EQ(record["step"], "07_step");
  EXPECT_EQ(record["variant"], "right");
  EXPECT_EQ(record["default"], true);
  EXPECT_EQ(record["n"], 2048);
  EXPECT_EQ(record["a"], "f32");
  EXPECT_EQ(record["layout"], "NN");
  EXPECT_EQ(record["ms"], 2.0);
  EXPECT_EQ(record["ms_p20"], 1.9);
  EXPECT_EQ(record["tflops"], 1.07374);  // 2 * 1024 * 2048 * 512 / 2 ms
  EXPECT_EQ(record["baseline_tflops"], 2.14748);
  EXPECT_EQ(record["ratio"], 0.5);
  EXPECT_EQ(record["error"], 1.23457e-7);
  EXPECT_EQ(record["options"], ordered_json::object());
  EXPECT_EQ(record["power_w"], 612.345);
  EXPECT_EQ(record["sm_mhz"], 1980);
  EXPECT_EQ(record["commit"], "abc1234");
  EXPECT_EQ(record["date"].get<std::string>().size(), 10u);
}

TEST(Record, IsOneForEachBaselineWithTheSameFiguresOfTheKernel) {
  Timing timing = some_timing(true);
  timing.against.push_back({"cublaslt", {0.8, 0.8, 0.8}, {0.4, 0.4, 0.4}});
  const auto records = timing_records("18_step", right_variant(), true, narrow(8, 8, 8), {}, timing, {}, some_gpu());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0]["baseline"], "cublas");
  EXPECT_EQ(records[0]["ratio"], 0.5);
  EXPECT_EQ(records[1]["baseline"], "cublaslt");
  EXPECT_EQ(records[1]["baseline_ms"], 0.8);
  EXPECT_EQ(records[1]["ratio"], 0.4);
  EXPECT_EQ(records[0]["ms"], records[1]["ms"]);
}

TEST(Record, HasTheBestLibraryCallAsABaselineOfItsOwn) {
  Timing timing = some_timing(true);
  timing.against.push_back({"cublaslt", {0.8, 0.8, 0.8}, {0.4, 0.39, 0.41}});
  timing.best = 1;
  const auto records = timing_records("23_step", right_variant(), true, narrow(8, 8, 8), {}, timing, {}, some_gpu());
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[2]["baseline"], "best_library");
  EXPECT_EQ(records[2]["library"], "cublaslt");
  for (const char* key : {"baseline_ms", "baseline_tflops", "ratio", "ratio_p20", "ratio_p80", "ms"})
    EXPECT_EQ(records[2][key], records[1][key]) << key;
  EXPECT_FALSE(records[1].contains("library"));
}

TEST(Record, HasNoFiguresOfABaselineThatWasNotRun) {
  const ordered_json record = some_record(false);
  EXPECT_EQ(record["baseline"], "none");
  for (const char* key : {"baseline_ms", "baseline_tflops", "ratio", "ratio_p20", "ratio_p80"})
    EXPECT_FALSE(record.contains(key)) << key;
}

TEST(Record, NamesLeadingDimensionsOnlyWhereTheyAreWide) {
  EXPECT_FALSE(some_record(false).contains("lda"));
  const ordered_json wide = some_record(false, {4, 5, 6, 7, 5, 8, 1.0f, 0.0f});
  EXPECT_EQ(wide["lda"], 7);
  EXPECT_FALSE(wide.contains("ldb"));
  EXPECT_EQ(wide["ldc"], 8);
}

}  // namespace

// Many cases in one process: what is said of right and wrong results, of refusals, and of files that are none.

#include <gtest/gtest.h>

#include "common/harness/errors.h"
#include "common/harness/report.h"
#include "tests/cpp/host_gemm.h"
#include "tests/cpp/refusal.h"
#include "tests/cpp/scratch_folder.h"

namespace {

// What --check prints of these lines, without the times, and whether it is content.
std::pair<bool, std::string> checked(const std::string& lines) {
  const ScratchFolder folder;
  write_text(folder / "cases.jsonl", lines);
  Variant right = right_variant().any_size(4, 4, 1);
  Variant tiled = right_variant().tile(4, 4, 2);
  tiled.name = "tiled";
  Session session{"07_step", {}, {right, tiled, wrong_variant(right, [](const Problem& p) { c_of(p, 1, 2) = 7; })}};
  session.options.check = (folder / "cases.jsonl").string();
  testing::internal::CaptureStdout();
  bool fine = false;
  try {
    fine = check_cases(session);
  } catch (const BadInput&) {
    testing::internal::GetCapturedStdout();
    throw;
  }
  std::string said = testing::internal::GetCapturedStdout();
  for (std::size_t end; (end = said.find(" s\n")) != std::string::npos;) {
    const std::size_t time = said.rfind(", ", end);
    said.replace(time, end + 2 - time, "");
  }
  return {fine, said};
}

TEST(Checks, NamesEachCaseThatFailsAsItCanBeRunByHand) {
  const auto [fine, said] = checked(R"({"arguments": ["--variant", "wrong", "--size", "4"]})"
                                    "\n"
                                    R"({"arguments": ["--variant", "tiled", "--size", "5"]})"
                                    "\n"
                                    R"({"arguments": ["--variant", "tiled", "--size", "8"], "refused": "too large"})"
                                    "\n"
                                    R"({"arguments": ["--variant", "tiled", "--size", "9"], "refused": "too large"})"
                                    "\n");
  EXPECT_FALSE(fine);
  EXPECT_NE(said.find("FAILED 07_step --variant wrong --size 4\n    exact inputs: 1 wrong element, the first at row 1, "
                      "column 2: got 7, want "),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("FAILED 07_step --variant tiled --size 5\n    it was refused: variant tiled needs m to be a "),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("FAILED 07_step --variant tiled --size 8\n    it was not refused; it had to say 'too large'\n"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("--size 9\n    it had to say 'too large': variant tiled needs m"), std::string::npos) << said;
  EXPECT_NE(said.find("07_step: 0 right, 0 refused, 4 failures\n"), std::string::npos) << said;
}

TEST(Checks, StopsWhereNothingCanBeLaunchedAnyMore) {
  const ScratchFolder folder;
  write_text(folder / "cases.jsonl", R"({"arguments": ["--size", "4"]})"
                                     "\n"
                                     R"({"arguments": ["--size", "8"]})"
                                     "\n");
  Variant broken = right_variant();
  broken.launch =
      launching([](const Problem&, const LaunchOptions&, cudaStream_t) { CUDA_CHECK(cudaErrorLaunchFailure); });
  Session session{"07_step", {}, {broken}};
  session.options.check = (folder / "cases.jsonl").string();
  testing::internal::CaptureStdout();
  EXPECT_FALSE(check_cases(session));
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_EQ(said.find("FAILED 07_step --size 4\n    "), 0u) << said;
  EXPECT_NE(said.find("cudaErrorLaunchFailure"), std::string::npos) << said;
  EXPECT_NE(said.find("1 cases were not run"), std::string::npos) << said;
}

}  // namespace

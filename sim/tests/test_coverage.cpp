// The lanewise instructions of the table that no test has evaluated: there must be none.
#include "evaluate.h"

namespace sim::testing {

// Linked last, and so run last.
TEST(Coverage, EveryLanewiseInstructionWasEvaluated) {
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  if (all.test_to_run_count() < all.total_test_count()) GTEST_SKIP() << "only some tests were asked for";
  const std::set<std::string> elsewhere = {"trap", "ret", "exit", "ret.uni", "bar.warp.sync", "activemask.b32"};
  for (const std::string& opcode : Table::instance().opcodes()) {
    const Form& form = *Table::instance().find(opcode).front();
    const bool lanewise = !form.build && !form.operands.empty();
    const bool address = opcode.starts_with("cvta") || opcode.starts_with("isspacep");  // see test_memory.cpp
    // See test_control.cpp and test_calls.cpp.
    const bool between_lanes = opcode.starts_with("redux") || opcode.starts_with("match");
    if (!lanewise || address || between_lanes || elsewhere.contains(opcode)) continue;
    EXPECT_TRUE(evaluated().contains(opcode)) << opcode;
  }
}

}  // namespace sim::testing

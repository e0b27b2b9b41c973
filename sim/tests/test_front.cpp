// What a page asks of the simulator (web/front.h), as it asks: in JSON.
#include <gtest/gtest.h>

#include "web/front.h"

namespace sim::web {
namespace {

std::string for_target(const std::string& target) {
  return "// .target sm_10\n.version 8.8\n" + target + "\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
}

TEST(Front, RefusesPtxForAnotherGpuByName) {
  Front front;
  const auto answered = [&](const char* device, const std::string& ptx) {
    front.answer({{"do", "start"}, {"device", device}});
    const Json answer = front.answer({{"do", "module"}, {"ptx", ptx}});
    return answer.contains("error") ? answer.at("error").get<std::string>() : "";
  };
  EXPECT_EQ(answered("h200", for_target(".target sm_90a")), "");
  EXPECT_EQ(answered("h200", for_target(".target sm_80, debug")), "");
  const std::string newer = answered("h200", for_target(".target sm_100a"));
  EXPECT_TRUE(newer.starts_with("this PTX is for sm_100a, which the simulated GPU, compute_90, does not run")) << newer;
  EXPECT_TRUE(answered("a100", for_target(".target sm_90")).starts_with("this PTX is for sm_90, ")) << "as natively";
  EXPECT_EQ(answered("h200", for_target("")), "there is no .target such as sm_90 in this PTX");
}

}  // namespace
}  // namespace sim::web

// The step's table: kernel.cu's variants, then those of the sources beside it.

#include <gtest/gtest.h>

#include "common/device/also.h"
#include "tests/cpp/host_gemm.h"

std::vector<Variant> variants() {
  Variant first = right_variant(), second = right_variant();
  first.name = "default";
  second.name = "other";
  return {first, second};
}

namespace {

// What sources in also/ hold. Their objects are made in another order than that of their names, as a linker may have
// it.
namespace last_file {
std::vector<Variant> variants() { return {right_variant().covers("someone's"), right_variant()}; }
const Also added(variants, Also::Place::BEHIND, "steps/07/also/packs_wide.cu");
}  // namespace last_file
namespace first_file {
std::vector<Variant> variants() { return {right_tn_variant()}; }
const Also added(variants, Also::Place::BEHIND, "steps/07/also/packs.cu");
}  // namespace first_file

TEST(Also, ComesBehindTheKernelsOwnVariantsInTheOrderOfTheFilesNames) {
  std::vector<std::string> names;
  for (const Variant& variant : all_variants()) names.push_back(variant.name);
  EXPECT_EQ(names, (std::vector<std::string>{"default", "other", "right_tn", "right", "right"}));
  EXPECT_EQ(all_variants()[3].published_names, std::vector<std::string>{"someone's"});
}

TEST(Also, ATableInFrontHasTheDefault) {
  const Also here(first_file::variants, Also::Place::IN_FRONT);
  EXPECT_EQ(all_variants().front().name, "right_tn");
  EXPECT_EQ(all_variants()[1].name, "default");
  Also::tables().erase(__FILE__);
}

}  // namespace

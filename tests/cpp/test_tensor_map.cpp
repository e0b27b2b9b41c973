// What TMA cannot take is refused before the driver is asked, in one line that names it.

#include <gtest/gtest.h>

#include <stdexcept>

#include "common/device/tensor_map.h"
#include "common/harness/errors.h"
#include "tests/cpp/refusal.h"

namespace {

const half* const BASE = reinterpret_cast<const half*>(0x700000001000);

// The words of std::invalid_argument, which says that a kernel asked for an impossible box.
std::string box_refusal(int box_rows, int box_columns, CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B) {
  try {
    make_tensor_map(BASE, 512, 512, 512, box_rows, box_columns, swizzle);
  } catch (const std::invalid_argument& error) {
    return error.what();
  } catch (const CudaError&) {  // the box was fine, and there is no driver here
  }
  return "";
}

TEST(TensorMap, RefusesAMatrixThatStartsBetweenTwoChunks) {
  EXPECT_EQ(refusal([] { make_tensor_map(BASE + 4, 64, 64, 64, 64, 64); }),
            "TMA needs a matrix that starts at a multiple of 16 bytes, not at 0x700000001008");
}

TEST(TensorMap, RefusesRowsThatAreNoMultipleOfAChunk) {
  EXPECT_EQ(refusal([] { make_tensor_map(BASE, 64, 60, 60, 64, 64); }),
            "TMA needs a leading dimension that is a multiple of 8 elements (16 bytes), not 60");
  EXPECT_EQ(refusal([] { make_tensor_map(BASE, 64, 64, 56, 64, 64); }),
            "a leading dimension of 56 is narrower than the matrix of 64 x 64");
}

TEST(TensorMap, RefusesABoxThatIsWiderThanTheSwizzle) {
  EXPECT_EQ(box_refusal(64, 72),
            "the swizzle's pattern is 128 bytes wide, less than a row of a box of 64 x 72 elements");
  EXPECT_EQ(box_refusal(64, 64, CU_TENSOR_MAP_SWIZZLE_64B),
            "the swizzle's pattern is 64 bytes wide, less than a row of a box of 64 x 64 elements");
  EXPECT_EQ(box_refusal(64, 256, CU_TENSOR_MAP_SWIZZLE_NONE), "");
  EXPECT_EQ(box_refusal(64, 60), "TMA needs rows that are multiples of 16 bytes, not a box of 64 x 60 elements");
}

}  // namespace

// The tiles of CUTLASS's mma.sync kernels, the same for every type.
#pragma once

#include "common/cutlass/multistage.h"

/// Adds the kernels for products P.
template <typename P>
void add_mma(std::vector<CutlassKernel>& kernels) {
  using namespace multistage;
  constexpr int K = 64 / sizeof(typename P::AB);  // 64 bytes per row of a slice: 32 elements, of TF32 16
  using Instruction = Tile<16, 8, 32 / sizeof(typename P::AB)>;
  constexpr const char* WIDE = K == 32 ? "256x128x32, 3 stages" : "256x128x16, 3 stages";
  constexpr const char* SQUARE = K == 32 ? "128x128x32, 4 stages" : "128x128x16, 4 stages";
  kernels.push_back(entry<P, Mma<P, Instruction, Tile<256, 128, K>, Tile<64, 64, K>, 3>>(WIDE, CutlassUnit::mma));
  kernels.push_back(entry<P, Mma<P, Instruction, Tile<128, 128, K>, Tile<64, 64, K>, 4>>(SQUARE, CutlassUnit::mma));
}

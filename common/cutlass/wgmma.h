// CUTLASS 3's kernels for Hopper: TMA, wgmma, warps of two kinds; each as entries of the module's table.
#pragma once

#include <cutlass/gemm/device/gemm_universal_adapter.h>

#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

#include "common/cutlass/kernels.h"
#include "common/cutlass/types.h"

namespace wgmma {

// Two consumer warpgroups share a tile, or each has its own and one stores while the other multiplies.
struct Cooperative {
  using Mainloop = cutlass::gemm::KernelTmaWarpSpecializedCooperative;
  using Epilogue = cutlass::epilogue::TmaWarpSpecializedCooperative;
};
struct PingPong {
  using Mainloop = cutlass::gemm::KernelTmaWarpSpecializedPingpong;
  using Epilogue = cutlass::epilogue::TmaWarpSpecialized;
};

/// Sums in FP32, C in the type of A and B, pairs of blocks that share B's tiles; as many stages as fit.
template <typename AB, bool B_TRANSPOSED, typename Schedule, int M, int N>
struct Kernel {
  static constexpr int ALIGNMENT = 16 / sizeof(AB);  // elements; TMA moves 16 bytes at least
  using RowMajor = cutlass::layout::RowMajor;
  using LayoutB = std::conditional_t<B_TRANSPOSED, cutlass::layout::ColumnMajor, RowMajor>;
  using Tile = cute::Shape<cute::Int<M>, cute::Int<N>, cute::_64>;
  using Cluster = cute::Shape<cute::_2, cute::_1, cute::_1>;
  using Element = Stored<AB>;
  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, Element, RowMajor, ALIGNMENT, Element, RowMajor,
      ALIGNMENT, typename Schedule::Epilogue>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, RowMajor, ALIGNMENT, Element, LayoutB, ALIGNMENT,
      float, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
      typename Schedule::Mainloop>::CollectiveOp;
  using Gemm = cutlass::gemm::device::GemmUniversalAdapter<
      cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue>>;
};

inline int multiprocessors() {
  static const int count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count();
  return count;
}

/// A stride of CUTLASS's for rows or columns that are `ld` elements apart.
template <typename Stride>
Stride stride(int ld) {
  Stride made{};
  if constexpr (cute::is_constant_v<1, decltype(cute::get<0>(made))>)
    cute::get<1>(made) = ld;
  else
    cute::get<0>(made) = ld;
  return made;
}

template <typename Gemm>
const char* launch(const Problem& p, int swizzle, cudaStream_t stream) {
  using GemmKernel = typename Gemm::GemmKernel;
  using AB = typename Gemm::ElementA;
  using Out = typename Gemm::ElementC;
  const auto c = stride<typename GemmKernel::StrideC>(p.ldc);
  typename Gemm::Arguments arguments{cutlass::gemm::GemmUniversalMode::kGemm,
                                     {p.m, p.n, p.k, 1},
                                     {static_cast<const AB*>(p.a), stride<typename GemmKernel::StrideA>(p.lda),
                                      static_cast<const AB*>(p.b), stride<typename GemmKernel::StrideB>(p.ldb)},
                                     {{p.alpha, p.beta}, static_cast<const Out*>(p.c), c, static_cast<Out*>(p.c), c}};
  arguments.hw_info.sm_count = multiprocessors();
  arguments.scheduler.max_swizzle_size = swizzle;
  cutlass::Status status = Gemm::can_implement(arguments);
  if (status == cutlass::Status::kSuccess) status = Gemm().run(arguments, nullptr, stream);
  return status == cutlass::Status::kSuccess ? nullptr : cutlassGetStatusString(status);
}

/// Adds one kernel, once for each of the orders of its tiles that CUTLASS's own profiler tries.
template <typename AB, bool B_TRANSPOSED, typename Schedule, int M, int N>
void add_orders(std::vector<CutlassKernel>& kernels, const char* name) {
  for (const int swizzle : {1, 2, 4, 8})
    kernels.push_back({name, CutlassUnit::wgmma, type_of<AB>, DType::f32, type_of<AB>, B_TRANSPOSED, swizzle,
                       launch<typename Kernel<AB, B_TRANSPOSED, Schedule, M, N>::Gemm>});
}

/// Adds the kernels for one type and layout.
template <typename AB, bool B_TRANSPOSED>
void add(std::vector<CutlassKernel>& kernels) {
  add_orders<AB, B_TRANSPOSED, Cooperative, 128, 256>(kernels, "128x256x64 cooperative, cluster 2x1");
  add_orders<AB, B_TRANSPOSED, Cooperative, 256, 128>(kernels, "256x128x64 cooperative, cluster 2x1");
  add_orders<AB, B_TRANSPOSED, PingPong, 128, 128>(kernels, "128x128x64 ping-pong, cluster 2x1");
  add_orders<AB, B_TRANSPOSED, PingPong, 64, 128>(kernels, "64x128x64 ping-pong, cluster 2x1");
}

}  // namespace wgmma

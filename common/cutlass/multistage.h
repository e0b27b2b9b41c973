// CUTLASS 2's kernels (CUDA cores, mma.sync), each as an entry of the module's table.
#pragma once

#include <cutlass/epilogue/thread/linear_combination.h>
#include <cutlass/gemm/device/gemm.h>

#include "common/cutlass/kernels.h"
#include "common/cutlass/types.h"

namespace multistage {

template <int M, int N, int K>
using Tile = cutlass::gemm::GemmShape<M, N, K>;

// Columns of block tiles that neighbouring blocks stay within, for the L2 cache.
using InColumns = cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>;

/// Types of a product as this course names them; B is k x n, or n x k where it is transposed.
template <typename AB_, typename Acc_, typename Out_, bool TRANSPOSED>
struct Product {
  using AB = AB_;
  using Acc = Acc_;
  using Out = Out_;
  static constexpr bool B_TRANSPOSED = TRANSPOSED;
  using RowMajor = cutlass::layout::RowMajor;
  using LayoutB = std::conditional_t<TRANSPOSED, cutlass::layout::ColumnMajor, RowMajor>;
};

/// On CUDA cores: scalar loads and stores, products and sums in one type.
template <typename P, typename Arch, typename Block, typename Warp, int STAGES>
using Simt = cutlass::gemm::device::Gemm<
    Stored<typename P::AB>, typename P::RowMajor, Stored<typename P::AB>, typename P::LayoutB, Stored<typename P::Out>,
    typename P::RowMajor, Stored<typename P::Acc>, cutlass::arch::OpClassSimt, Arch, Block, Warp, Tile<1, 1, 1>,
    cutlass::epilogue::thread::LinearCombination<Stored<typename P::Out>, 1, Stored<typename P::Acc>,
                                                 Stored<typename P::Acc>>,
    InColumns, STAGES, 1, 1>;

/// On tensor cores: loads and stores of 16 bytes.
template <typename P, typename Instruction, typename Block, typename Warp, int STAGES>
using Mma = cutlass::gemm::device::Gemm<
    Stored<typename P::AB>, typename P::RowMajor, Stored<typename P::AB>, typename P::LayoutB, Stored<typename P::Out>,
    typename P::RowMajor, Stored<typename P::Acc>, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80, Block, Warp,
    Instruction,
    cutlass::epilogue::thread::LinearCombination<Stored<typename P::Out>, 16 / sizeof(typename P::Out),
                                                 Stored<typename P::Acc>, Stored<typename P::Acc>>,
    InColumns, STAGES, 16 / sizeof(typename P::AB), 16 / sizeof(typename P::AB)>;

template <typename Gemm>
const char* launch(const Problem& p, int /*swizzle*/, cudaStream_t stream) {
  using AB = typename Gemm::ElementA;
  using Out = typename Gemm::ElementC;
  using Factor = typename Gemm::EpilogueOutputOp::ElementCompute;
  const typename Gemm::Arguments arguments({p.m, p.n, p.k}, {static_cast<const AB*>(p.a), p.lda},
                                           {static_cast<const AB*>(p.b), p.ldb}, {static_cast<Out*>(p.c), p.ldc},
                                           {static_cast<Out*>(p.c), p.ldc}, {Factor(p.alpha), Factor(p.beta)});
  cutlass::Status status = Gemm::can_implement(arguments);
  if (status == cutlass::Status::kSuccess) status = Gemm()(arguments, nullptr, stream);
  return status == cutlass::Status::kSuccess ? nullptr : cutlassGetStatusString(status);
}

/// The entry of a kernel for products P.
template <typename P, typename Gemm>
CutlassKernel entry(const char* name, CutlassUnit unit) {
  return {
      name, unit,        type_of<typename P::AB>, type_of<typename P::Acc>, type_of<typename P::Out>, P::B_TRANSPOSED,
      0,    launch<Gemm>};
}

}  // namespace multistage

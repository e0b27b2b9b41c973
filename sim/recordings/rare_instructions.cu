// The list of instructions that few kernels use, for tensor_products: products of single bits, of f64 with a rounding
// other than to nearest, and the old m8n8k4 of f16.
#include "recordings/rare_instruction_kernels.h"
#include "recordings/tensor_instructions.h"

namespace {

using List = std::vector<TensorInstruction>;

template <auto kernel, int threads = 32>
void launch(unsigned blocks, const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d) {
  kernel<<<blocks, threads>>>(a, b, c, d);
}

// Of one type for A and B and one for C and D.
template <class Shape, class Factor, class Sum, auto kernel, int threads = 32>
TensorInstruction instruction(const std::string& opcode) {
  return {opcode,      Shape::m,       Shape::n,
          Shape::k,    Factor::number, Factor::number,
          Sum::number, Sum::number,    launch<kernel, threads>};
}

template <class Shape>
void add_mma_bits(List& list) {
  const std::string opcode = std::string("mma.sync.aligned.") + Shape::name + ".row.col.s32.b1.b1.s32";
  list.push_back(instruction<Shape, B1, S32, mma_bits_kernel<Shape, Xor>>(opcode + Xor::name));
  list.push_back(instruction<Shape, B1, S32, mma_bits_kernel<Shape, And>>(opcode + And::name));
}

template <class Shape, class Rounding>
TensorInstruction rounded() {
  return instruction<Shape, F64, F64, mma_kernel<Shape, F64, F64, F64, Rounding>>(
      std::string("mma.sync.aligned.") + Shape::name + ".row.col" + Rounding::name + ".f64.f64.f64.f64");
}

template <class Rounding>
void add_rounded(List& list) {
  list.push_back(rounded<M8N8K4, Rounding>());
  list.push_back(rounded<M16N8K4, Rounding>());
  list.push_back(rounded<M16N8K8, Rounding>());
  list.push_back(rounded<M16N8K16, Rounding>());
  list.push_back(instruction<M8N8K4, F64, F64, wmma_rounded_kernel<Rounding>>(
      std::string("wmma.mma.sync.aligned.row.col.m8n8k4") + Rounding::name + ".f64.f64.f64.f64"));
}

// Four products of 8×8×4 have as many elements as one of 16×16×8.
template <class D, class C, class LayoutA, class LayoutB>
TensorInstruction of_four() {
  return {std::string("mma.sync.aligned.m8n8k4.") + LayoutA::name + "." + LayoutB::name + "." + D::name + ".f16.f16." +
              C::name,
          16,
          16,
          8,
          F16::number,
          F16::number,
          C::number,
          D::number,
          launch<mma_of_four_kernel<D, C, LayoutA, LayoutB>>};
}

template <class D, class C>
void add_of_four(List& list) {
  list.push_back(of_four<D, C, ByRows, ByColumns>());
  list.push_back(of_four<D, C, ByRows, ByRows>());
  list.push_back(of_four<D, C, ByColumns, ByColumns>());
  list.push_back(of_four<D, C, ByColumns, ByRows>());
}

}  // namespace

List tensor_instructions() {
  List list;
  add_mma_bits<M8N8K128>(list);
  add_mma_bits<M16N8K128>(list);
  add_mma_bits<M16N8K256>(list);
  const std::string wmma = ".popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32";
  list.push_back(instruction<M8N8K128, B1, S32, wmma_bits_kernel<false>>("wmma.mma.xor" + wmma));
  list.push_back(instruction<M8N8K128, B1, S32, wmma_bits_kernel<true>>("wmma.mma.and" + wmma));
  add_rounded<TowardZero>(list);
  add_rounded<Down>(list);
  add_rounded<Up>(list);
  add_of_four<F16, F16>(list);
  add_of_four<F32, F16>(list);
  add_of_four<F32, F32>(list);
  // The second name says where A is.
  const std::string wgmma = "wgmma.mma_async.sync.aligned.", types = "k256.s32.b1.b1.and.popc";
  list.push_back(instruction<M64N8K256, B1, S32, wgmma_kernel<M64N8K256, S32, B1, B1, And>, WGMMA_THREADS>(
      wgmma + "m64n8" + types + " registers"));
  list.push_back(instruction<M64N32K256, B1, S32, wgmma_bits_kernel<true>, WGMMA_THREADS>(wgmma + "m64n32" + types +
                                                                                          " registers"));
  list.push_back(
      instruction<M64N32K256, B1, S32, wgmma_bits_kernel<false>, WGMMA_THREADS>(wgmma + "m64n32" + types + " shared"));
  return list;
}

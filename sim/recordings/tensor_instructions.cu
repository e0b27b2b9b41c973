// The list of instructions: every dense combination of types and shapes that PTX has for compute capability 9.0, but
// for those in rare_instructions.cu.
#include "recordings/check.h"
#include "recordings/tensor_instruction_kernels.h"
#include "recordings/tensor_instructions.h"

namespace {

constexpr unsigned WARP = 32;

template <class Shape, class A, class B, class C, class D>
TensorInstruction instruction(const std::string& opcode, TensorInstruction::Run run) {
  return {opcode, Shape::m, Shape::n, Shape::k, A::number, B::number, C::number, D::number, run};
}

template <class Shape, class Sum, class A, class B = A, class Saturation = Wraps>
TensorInstruction by_mma() {
  const std::string types = std::string(".") + Sum::name + "." + A::name + "." + B::name + "." + Sum::name;
  return instruction<Shape, A, B, Sum, Sum>(
      std::string("mma.sync.aligned.") + Shape::name + ".row.col" + Saturation::name + types,
      [](unsigned blocks, const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d) {
        mma_kernel<Shape, Sum, A, B, Saturation><<<blocks, WARP>>>(a, b, c, d);
      });
}

template <class Shape, class Sum, class A, class B = A, class Saturation = Wraps>
TensorInstruction by_wgmma() {
  const std::string types = std::string(".") + Sum::name + "." + A::name + "." + B::name + Saturation::name;
  return instruction<Shape, A, B, Sum, Sum>(
      std::string("wgmma.mma_async.sync.aligned.") + Shape::name + types,
      [](unsigned blocks, const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d) {
        wgmma_kernel<Shape, Sum, A, B, Saturation><<<blocks, WGMMA_THREADS>>>(a, b, c, d);
      });
}

template <class Shape, class D, class Factor, class C, class LayoutA = ByRows, class LayoutB = ByColumns,
          class Saturation = Wraps>
TensorInstruction by_wmma() {
  // PTX names the factors' type only where it is not f16.
  const std::string factors = std::is_same_v<Factor, F16> ? "" : std::string(".") + Factor::name + "." + Factor::name;
  return instruction<Shape, Factor, Factor, C, D>(
      std::string("wmma.mma.sync.aligned.") + LayoutA::name + "." + LayoutB::name + "." + Shape::name + "." + D::name +
          factors + "." + C::name + Saturation::name,
      [](unsigned blocks, const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d) {
        wmma_kernel<Shape, D, Factor, C, LayoutA, LayoutB, std::is_same_v<Saturation, Saturates>>
            <<<blocks, WARP>>>(a, b, c, d);
      });
}

using List = std::vector<TensorInstruction>;

template <class Shape>
void add_mma_f16(List& list) {
  list.push_back(by_mma<Shape, F16, F16>());
  list.push_back(by_mma<Shape, F32, F16>());
  list.push_back(by_mma<Shape, F32, BF16>());
}

template <class Shape, class Sum>
void add_mma_fp8(List& list) {
  list.push_back(by_mma<Shape, Sum, E4M3, E4M3>());
  list.push_back(by_mma<Shape, Sum, E4M3, E5M2>());
  list.push_back(by_mma<Shape, Sum, E5M2, E4M3>());
  list.push_back(by_mma<Shape, Sum, E5M2, E5M2>());
}

template <class Shape, class Signed, class Unsigned, class Saturation>
void add_mma_integers(List& list) {
  list.push_back(by_mma<Shape, S32, Signed, Signed, Saturation>());
  list.push_back(by_mma<Shape, S32, Signed, Unsigned, Saturation>());
  list.push_back(by_mma<Shape, S32, Unsigned, Signed, Saturation>());
  list.push_back(by_mma<Shape, S32, Unsigned, Unsigned, Saturation>());
}

template <class Saturation>
void add_mma_integers(List& list) {
  add_mma_integers<M8N8K16, S8, U8, Saturation>(list);
  add_mma_integers<M16N8K16, S8, U8, Saturation>(list);
  add_mma_integers<M16N8K32, S8, U8, Saturation>(list);
  add_mma_integers<M8N8K32, S4, U4, Saturation>(list);
  add_mma_integers<M16N8K32, S4, U4, Saturation>(list);
  add_mma_integers<M16N8K64, S4, U4, Saturation>(list);
}

template <class Sum>
void add_wgmma_fp8(List& list) {
  list.push_back(by_wgmma<M64N8K32, Sum, E4M3, E4M3>());
  list.push_back(by_wgmma<M64N8K32, Sum, E4M3, E5M2>());
  list.push_back(by_wgmma<M64N8K32, Sum, E5M2, E4M3>());
  list.push_back(by_wgmma<M64N8K32, Sum, E5M2, E5M2>());
}

template <class Saturation>
void add_wgmma_integers(List& list) {
  list.push_back(by_wgmma<M64N8K32, S32, S8, S8, Saturation>());
  list.push_back(by_wgmma<M64N8K32, S32, S8, U8, Saturation>());
  list.push_back(by_wgmma<M64N8K32, S32, U8, S8, Saturation>());
  list.push_back(by_wgmma<M64N8K32, S32, U8, U8, Saturation>());
}

template <class Shape>
void add_wmma_floating(List& list) {
  list.push_back(by_wmma<Shape, F16, F16, F16>());
  list.push_back(by_wmma<Shape, F32, F16, F32, ByRows, ByRows>());
  list.push_back(by_wmma<Shape, F16, F16, F32, ByColumns, ByColumns>());
  list.push_back(by_wmma<Shape, F32, F16, F16, ByColumns, ByRows>());
  list.push_back(by_wmma<Shape, F32, BF16, F32>());
}

template <class Shape, class LayoutA, class LayoutB>
void add_wmma_integers(List& list) {
  list.push_back(by_wmma<Shape, S32, S8, S32, LayoutA, LayoutB>());
  list.push_back(by_wmma<Shape, S32, U8, S32, LayoutA, LayoutB>());
  list.push_back(by_wmma<Shape, S32, S8, S32, LayoutA, LayoutB, Saturates>());
  list.push_back(by_wmma<Shape, S32, U8, S32, LayoutA, LayoutB, Saturates>());
}

}  // namespace

List tensor_instructions() {
  List list;
  add_mma_f16<M16N8K8>(list);
  add_mma_f16<M16N8K16>(list);
  list.push_back(by_mma<M16N8K4, F32, TF32>());
  list.push_back(by_mma<M16N8K8, F32, TF32>());
  add_mma_fp8<M16N8K16, F16>(list);
  add_mma_fp8<M16N8K16, F32>(list);
  add_mma_fp8<M16N8K32, F16>(list);
  add_mma_fp8<M16N8K32, F32>(list);
  list.push_back(by_mma<M8N8K4, F64, F64>());
  list.push_back(by_mma<M16N8K4, F64, F64>());
  list.push_back(by_mma<M16N8K8, F64, F64>());
  list.push_back(by_mma<M16N8K16, F64, F64>());
  add_mma_integers<Wraps>(list);
  add_mma_integers<Saturates>(list);

  add_wmma_floating<M16N16K16>(list);
  add_wmma_floating<M32N8K16>(list);
  add_wmma_floating<M8N32K16>(list);
  // A line of memory has to be a multiple of 16 bytes.
  add_wmma_integers<M16N16K16, ByRows, ByRows>(list);
  add_wmma_integers<M16N16K16, ByColumns, ByColumns>(list);
  add_wmma_integers<M32N8K16, ByColumns, ByColumns>(list);
  add_wmma_integers<M8N32K16, ByRows, ByRows>(list);
  list.push_back(by_wmma<M16N16K8, F32, TF32, F32>());
  list.push_back(by_wmma<M16N16K8, F32, TF32, F32, ByColumns, ByRows>());
  list.push_back(by_wmma<M8N8K4, F64, F64, F64>());
  list.push_back(by_wmma<M8N8K4, F64, F64, F64, ByColumns, ByRows>());
  list.push_back(by_wmma<M8N8K32, S32, S4, S32>());
  list.push_back(by_wmma<M8N8K32, S32, U4, S32>());
  list.push_back(by_wmma<M8N8K32, S32, S4, S32, ByRows, ByColumns, Saturates>());
  list.push_back(by_wmma<M8N8K32, S32, U4, S32, ByRows, ByColumns, Saturates>());

  list.push_back(by_wgmma<M64N8K16, F16, F16>());
  list.push_back(by_wgmma<M64N8K16, F32, F16>());
  list.push_back(by_wgmma<M64N8K16, F32, BF16>());
  list.push_back(by_wgmma<M64N8K8, F32, TF32>());
  add_wgmma_fp8<F16>(list);
  add_wgmma_fp8<F32>(list);
  add_wgmma_integers<Wraps>(list);
  add_wgmma_integers<Saturates>(list);
  return list;
}

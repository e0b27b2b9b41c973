// The list of instructions: every combination of types and shapes with a sparse A that PTX has for compute capability
// 9.0, with each selector of the threads that hold the metadata.
#include <utility>

#include "recordings/sparse_instruction_kernels.h"

namespace {

constexpr unsigned WARP = 32;
using List = std::vector<SparseInstruction>;

// How many selectors there are: of four neighbouring threads 1, 2 or all hold the metadata of their two rows.
template <class Shape, class A>
constexpr int selectors = 16 * group_of(A::bits) / Shape::k;

template <class Variant, class Shape, class Sum, class A, class B, class Saturation, int selector>
void add_mma(List& list) {
  const std::string types = std::string(".") + Sum::name + "." + A::name + "." + B::name + "." + Sum::name;
  list.push_back(
      {std::string("mma.sp") + Variant::name + ".sync.aligned." + Shape::name + ".row.col" + Saturation::name + types,
       Shape::m, Shape::n, Shape::k, A::number, B::number, Sum::number, Sum::number, selector, false,
       [](unsigned blocks, const uint32_t* a, const uint32_t* b, const uint32_t* c, const uint32_t* metadata,
          uint32_t* d) {
         mma_sparse_kernel<Variant, Shape, Sum, A, B, Saturation, selector><<<blocks, WARP>>>(a, b, c, metadata, d);
       }});
}

template <class Shape, class Sum, class A, class B, int... selector>
void add_plain(List& list, std::integer_sequence<int, selector...>) {
  (add_mma<Plain, Shape, Sum, A, B, Wraps, selector>(list), ...);
}

// Every selector, and ordered metadata, for which the machine code is the same.
template <class Shape, class Sum, class A, class B = A>
void add_mma(List& list) {
  constexpr int count = selectors<Shape, A>;
  add_plain<Shape, Sum, A, B>(list, std::make_integer_sequence<int, count>());
  add_mma<Ordered, Shape, Sum, A, B, Wraps, count - 1>(list);
}

template <class Shape, class Sum, class A, class B, class Saturation, int selector, bool shared_a>
void add_wgmma(List& list) {
  const std::string types = std::string(".") + Sum::name + "." + A::name + "." + B::name + Saturation::name;
  list.push_back({std::string("wgmma.mma_async.sp.sync.aligned.") + Shape::name + types, Shape::m, Shape::n, Shape::k,
                  A::number, B::number, Sum::number, Sum::number, selector, shared_a,
                  [](unsigned blocks, const uint32_t* a, const uint32_t* b, const uint32_t* c, const uint32_t* metadata,
                     uint32_t* d) {
                    wgmma_sparse_kernel<Shape, Sum, A, B, Saturation, selector, shared_a>
                        <<<blocks, WGMMA_THREADS>>>(a, b, c, metadata, d);
                  }});
}

template <class Shape, class Sum, class A, class B, int... selector>
void add_from_registers(List& list, std::integer_sequence<int, selector...>) {
  (add_wgmma<Shape, Sum, A, B, Wraps, selector, false>(list), ...);
}

// Every selector with A from registers, and one with A from shared memory.
template <class Shape, class Sum, class A, class B = A>
void add_wgmma(List& list) {
  constexpr int count = selectors<Shape, A>;
  add_from_registers<Shape, Sum, A, B>(list, std::make_integer_sequence<int, count>());
  add_wgmma<Shape, Sum, A, B, Wraps, count - 1, true>(list);
}

template <class Shape>
void add_mma_halves(List& list) {
  add_mma<Shape, F16, F16>(list);
  add_mma<Shape, F32, F16>(list);
  add_mma<Shape, F32, BF16>(list);
}

// Of integers one combination of types stands for all where selectors, order and A in shared memory are concerned.
template <class Shape, class Signed, class Unsigned>
void add_mma_integers(List& list) {
  add_mma<Shape, S32, Signed>(list);
  add_mma<Plain, Shape, S32, Signed, Unsigned, Wraps, 0>(list);
  add_mma<Plain, Shape, S32, Unsigned, Signed, Wraps, 0>(list);
  add_mma<Plain, Shape, S32, Unsigned, Unsigned, Wraps, 0>(list);
  add_mma<Plain, Shape, S32, Signed, Signed, Saturates, 0>(list);
  add_mma<Plain, Shape, S32, Signed, Unsigned, Saturates, 0>(list);
  add_mma<Plain, Shape, S32, Unsigned, Signed, Saturates, 0>(list);
  add_mma<Plain, Shape, S32, Unsigned, Unsigned, Saturates, 0>(list);
}

void add_wgmma_integers(List& list) {
  add_wgmma<M64N8K64, S32, S8>(list);
  add_wgmma<M64N8K64, S32, S8, U8, Wraps, 0, false>(list);
  add_wgmma<M64N8K64, S32, U8, S8, Wraps, 0, false>(list);
  add_wgmma<M64N8K64, S32, U8, U8, Wraps, 0, false>(list);
  add_wgmma<M64N8K64, S32, S8, S8, Saturates, 0, false>(list);
  add_wgmma<M64N8K64, S32, S8, U8, Saturates, 0, false>(list);
  add_wgmma<M64N8K64, S32, U8, S8, Saturates, 0, false>(list);
  add_wgmma<M64N8K64, S32, U8, U8, Saturates, 0, false>(list);
}

template <class Sum>
void add_wgmma_fp8(List& list) {
  add_wgmma<M64N8K64, Sum, E4M3, E4M3>(list);
  add_wgmma<M64N8K64, Sum, E4M3, E5M2>(list);
  add_wgmma<M64N8K64, Sum, E5M2, E4M3>(list);
  add_wgmma<M64N8K64, Sum, E5M2, E5M2>(list);
}

}  // namespace

List sparse_instructions() {
  List list;
  add_mma_halves<M16N8K16>(list);
  add_mma_halves<M16N8K32>(list);
  add_mma<M16N8K8, F32, TF32>(list);
  add_mma<M16N8K16, F32, TF32>(list);
  add_mma<M16N8K64, F32, E4M3, E4M3>(list);
  add_mma<M16N8K64, F32, E4M3, E5M2>(list);
  add_mma<M16N8K64, F32, E5M2, E4M3>(list);
  add_mma<M16N8K64, F32, E5M2, E5M2>(list);
  add_wgmma<M64N8K32, F16, F16>(list);
  add_wgmma<M64N8K32, F32, F16>(list);
  add_wgmma<M64N8K32, F32, BF16>(list);
  add_wgmma<M64N8K16, F32, TF32>(list);
  add_wgmma_fp8<F16>(list);
  add_wgmma_fp8<F32>(list);
  add_mma_integers<M16N8K32, S8, U8>(list);
  add_mma_integers<M16N8K64, S8, U8>(list);
  add_mma_integers<M16N8K64, S4, U4>(list);
  add_mma_integers<M16N8K128, S4, U4>(list);
  add_wgmma_integers(list);
  return list;
}

/// What a trace says of the tensor cores' instructions: the layouts that they are executed with.
#include <string>

#include "core/checks/trace.h"
#include "core/tensor/tensor.h"

namespace sim {

std::string name(MmaShape shape) {
  return std::string("m") + std::to_string(shape.m) + "n" + std::to_string(shape.n) + "k" + std::to_string(shape.k);
}

namespace {

/// `cell_of(lane, element)` for every element of every lane.
template <class CellOf>
TracedFragment traced(const std::string& name, uint32_t rows, uint32_t cols, uint32_t element_bits, uint32_t elements,
                      CellOf cell_of) {
  TracedFragment made{.name = name, .rows = rows, .cols = cols, .element_bits = element_bits, .elements = {}};
  for (uint32_t lane = 0; lane < warp_size; ++lane) {
    for (uint32_t element = 0; element < elements; ++element) {
      const Cell cell = cell_of(lane, element);
      made.elements[lane].emplace_back(cell.row, cell.col);
    }
  }
  return made;
}

}  // namespace

void trace_fragment(Warp& warp, const char* family, MmaShape shape, Role role, uint32_t element_bits) {
  const std::string operand(1, "abc"[static_cast<int>(role)]);
  const std::string layout =
      std::string(family) + "." + name(shape) + "." + operand + "." + std::to_string(element_bits);
  warp.trace->holds(warp.here(), operand, layout, [&] {
    const HeldElements held(shape, role, element_bits);
    return traced(layout, held.rows(), held.cols(), element_bits, held.count(),
                  [&](uint32_t lane, uint32_t element) { return held.cell(lane, element); });
  });
}

void trace_matrix(Warp& warp, bool transposed) {
  const std::string name = transposed ? "ldmatrix.trans" : "ldmatrix";
  warp.trace->holds(warp.here(), "matrix", name, [&] {
    return traced(name, 8, 8, 16, 2,
                  [&](uint32_t lane, uint32_t element) { return matrix_cell(lane, element, transposed); });
  });
}

}  // namespace sim

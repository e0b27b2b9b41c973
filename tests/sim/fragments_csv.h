// The layouts of machine/fragments.h as a table: one row for each element that a lane holds. Drawings are made from it.
#pragma once

#include <string>

#include "machine/fragments.h"

namespace sim::testing {

// instruction,operand,bits,lane,register,half,row,col. Of two 16-bit elements in a register half 0 is the lower one;
// copies, which wmma's f16 fragments hold, are left out.
inline std::string fragments_csv() {
  std::string text = "instruction,operand,bits,lane,register,half,row,col\n";
  const auto add = [&](const std::string& name, uint32_t bits, uint32_t lane, uint32_t element, Cell cell) {
    const uint32_t in_register = 32 / bits;
    for (const uint32_t number : {bits, lane, element / in_register, element % in_register, uint32_t{cell.row}}) {
      if (text.back() == '\n') text += name;
      text += "," + std::to_string(number);
    }
    text += "," + std::to_string(cell.col) + "\n";
  };
  const auto add_fragment = [&](const std::string& instruction, MmaShape shape, Role role, uint8_t element_bytes) {
    const Fragment held = fragment(shape, role, element_bytes);
    const std::string name = instruction + "," + "abc"[static_cast<int>(role)];
    for (uint32_t lane = 0; lane < 32; ++lane) {
      for (uint32_t element = 0; element < held.elements(); ++element)
        add(name, 8 * element_bytes, lane, element, held.cell(lane, element));
    }
  };
  const auto add_shape = [&](const std::string& instruction, MmaShape shape) {
    const auto dimensions =
        std::string("m") + std::to_string(shape.m) + "n" + std::to_string(shape.n) + "k" + std::to_string(shape.k);
    add_fragment(instruction + "." + dimensions, shape, Role::a, 2);
    add_fragment(instruction + "." + dimensions, shape, Role::b, 2);
    add_fragment(instruction + "." + dimensions, shape, Role::c, 2);
    add_fragment(instruction + "." + dimensions, shape, Role::c, 4);
  };
  const auto add_tf32 = [&](const std::string& instruction, MmaShape shape) {
    for (const Role role : {Role::a, Role::b, Role::c}) add_fragment(instruction + ".tf32", shape, role, 4);
  };
  add_shape("mma", {16, 8, 16});
  add_shape("mma", {16, 8, 8});
  add_tf32("mma.m16n8k8", {16, 8, 8});
  add_shape("wmma", {16, 16, 16});
  add_shape("wmma", {32, 8, 16});
  add_shape("wmma", {8, 32, 16});
  add_tf32("wmma.m16n16k8", {16, 16, 8});
  for (const bool transposed : {false, true}) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      for (uint32_t element = 0; element < 2; ++element)
        add(transposed ? "ldmatrix.trans,matrix" : "ldmatrix,matrix", 16, lane, element,
            matrix_cell(lane, element, transposed));
    }
  }
  return text;
}

}  // namespace sim::testing

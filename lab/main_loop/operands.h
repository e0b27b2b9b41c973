// What the loops multiply: random normal numbers, a share of them replaced by zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "common/device/types.h"
#include "common/harness/inputs.h"

/// Element number `index`: normal with mean 0 and deviation 1, or 0 for this share of the elements.
inline float operand(std::uint64_t index, double zeros) {
  constexpr Recipe NORMAL{InputKind::normal, 1, 1, 1.0};
  constexpr std::uint64_t DRAW = 0x5eed0000000000;  // another sequence than the elements'
  const double drawn = static_cast<double>(mix_bits(DRAW + index) >> 11) * 0x1p-53;
  return drawn < zeros ? 0.0f : element_of(NORMAL, index);
}

/// A number as an element. TF32: the bits that wgmma ignores are zeros.
template <class Element>
Element element(float value) {
  if constexpr (std::is_same_v<Element, tf32_t>) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits &= ~std::uint32_t{0x1fff};
    std::memcpy(&value, &bits, sizeof bits);
    return {value};
  } else {
    return Element(value);
  }
}

/// What a ring of stages holds at first, A and then B in each. The second half of the stages has the first half's A,
/// and its B with the sign turned: every round through the ring ends with sums of about zero, so that nothing
/// overflows however long it runs.
template <class Element>
std::vector<Element> ring_of_operands(int stages, std::size_t a_elements, std::size_t b_elements, double zeros) {
  const std::size_t stage_elements = a_elements + b_elements, half = stages / 2 * stage_elements;
  std::vector<Element> ring(2 * half);
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const float value = operand(i % half, zeros);
    const bool turned = i >= half && i % stage_elements >= a_elements && value != 0;  // no zero becomes -0
    ring[i] = element<Element>(turned ? -value : value);
  }
  return ring;
}

inline float value_of(tf32_t element) { return element.value; }
template <class Element>
float value_of(Element element) {
  return static_cast<float>(element);
}

/// The total of all elements of A×B, where a stage holds `a_rows` rows of A and then `b_rows` columns of B, 128 bytes
/// of k each, whose chunks of 16 bytes are swizzled: the sum over k of A's column sum times B's row sum.
template <class Element>
double total_of_products(const Element* stage, int a_rows, int b_rows) {
  constexpr int CHUNK = 16 / sizeof(Element), ROW = 8 * CHUNK;
  std::vector<double> a(ROW), b(ROW);
  for (int row = 0; row < a_rows + b_rows; ++row)
    for (int k = 0; k < ROW; ++k) {
      const int at = (k / CHUNK ^ row % 8) * CHUNK + k % CHUNK;  // both operands start at multiples of eight rows
      (row < a_rows ? a : b)[k] += value_of(stage[row * ROW + at]);
    }
  double total = 0;
  for (int k = 0; k < ROW; ++k) total += a[k] * b[k];
  return total;
}

/// As many elements.
template <class Element>
std::vector<Element> operands(std::size_t count) {
  std::vector<Element> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = element<Element>(operand(i, 0));
  return made;
}

// The dot products that an H200's tensor cores were seen to compute (tensor_numerics_h200.csv.gz).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/fragments.h"
#include "machine.h"

namespace sim::testing {

// What was recorded: c plus the sum of a[i]·b[i], all as bits.
struct DotProduct {
  std::string factors, sum, what;  // types of a and b, and of c and d; which property it probes
  uint32_t c;
  std::vector<uint32_t> a, b;
  std::string mma, wgmma;  // d in hexadecimal digits, empty where the instruction was not recorded
};

const std::vector<DotProduct>& recorded_dot_products();

// Types of a and b, and of c and d.
struct Types {
  std::string factors, sum;
  auto operator<=>(const Types&) const = default;
};

// Bytes of an element of a type by its PTX name.
uint32_t element_bytes(const std::string& type);

// Puts elements into a warp's registers, register after register with 32 lanes each.
class Registers {
 public:
  explicit Registers(const Fragment& fragment) : fragment_(fragment), words(32 * fragment.registers()) {}
  void set(uint32_t row, uint32_t col, uint32_t bits);
  uint32_t get(uint32_t row, uint32_t col) const { return get(words.data(), row, col); }
  uint32_t get(const uint32_t* words, uint32_t row, uint32_t col) const;

 private:
  // Word and bit at which the element is.
  std::pair<uint32_t, uint32_t> place(uint32_t row, uint32_t col) const;
  Fragment fragment_;

 public:
  std::vector<uint32_t> words;
};

}  // namespace sim::testing

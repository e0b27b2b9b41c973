// The tensor cores' instructions, each as a function that runs it: dense products of every combination of types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// The format of an element. A whole number has no exponent.
struct Number {
  const char* name;
  int bits;  // in a register; of tf32, the upper 19 count
  int exponent_bits, mantissa_bits;
  bool is_signed = true;
  bool is_whole() const { return exponent_bits == 0; }
};

// One instruction. Its operands are in memory as `Run` finds them:
//   mma    a, b, c, d: register after register, each with 32 lanes
//   wgmma  a, c, d: register after register, each with 128 threads; b: K-major core matrices, no swizzle
//   wmma   matrices, row after row or column after column as the opcode says; c and d row after row
struct TensorInstruction {
  // Executes it once for each of so many blocks, whose operands lie one after the other.
  using Run = void (*)(unsigned blocks, const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* d);

  std::string opcode;
  int m, n, k;
  Number a, b, c, d;
  Run run;

  // 32-bit words of a block's operands.
  size_t words_a() const { return words(m * k, a); }
  size_t words_b() const { return words(k * n, b); }
  size_t words_c() const { return words(m * n, c); }
  size_t words_d() const { return words(m * n, d); }

 private:
  static size_t words(int elements, const Number& of) { return static_cast<size_t>(elements * of.bits / 32); }
};

// All of them, in a fixed order.
std::vector<TensorInstruction> tensor_instructions();

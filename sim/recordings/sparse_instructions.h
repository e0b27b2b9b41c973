// The tensor cores' instructions for a sparse matrix A, each as a function that runs it: every combination of types.
#pragma once

#include "recordings/tensor_instructions.h"

// Neighbours along k of which only half are stored: 2 of 4 elements, of 4 bits 4 of 8 (in pairs), of tf32 1 of 2.
constexpr int group_of(int bits) { return bits == 32 ? 2 : bits == 4 ? 8 : 4; }

// Its operands are in memory as those of a dense one (see TensorInstruction), where A has the half of k that is stored.
// `metadata`: a word for each thread. B of wgmma: core matrices of 128 bytes, one behind the other along k.
struct SparseInstruction {
  using Run = void (*)(unsigned blocks, const uint32_t* a, const uint32_t* b, const uint32_t* c,
                       const uint32_t* metadata, uint32_t* d);

  std::string opcode;
  int m, n, k;
  Number a, b, c, d;
  int selector;
  bool shared_a;  // of wgmma: A is in shared memory, not in registers
  Run run;

  int threads() const { return m == 64 ? 128 : 32; }
  bool is_ordered() const { return opcode.find("ordered") != std::string::npos; }
  int group() const { return group_of(a.bits); }

  // 32-bit words of a block's operands.
  size_t words_a() const { return words(m * k / 2, a); }
  size_t words_b() const { return words(k * n, b); }
  size_t words_c() const { return words(m * n, c); }
  size_t words_d() const { return words(m * n, d); }

 private:
  static size_t words(int elements, const Number& of) { return static_cast<size_t>(elements * of.bits / 32); }
};

// All of them, in a fixed order, with every selector.
std::vector<SparseInstruction> sparse_instructions();

// What tensor cores make of random numbers: every instruction of the list, once for each kind of numbers.
//
//     tensor_products RECORDING [OUT]   see recorder.h; the inputs do not depend on the recording, which may be empty
//
// A line is `opcode,kind,d`: d's 32-bit words in hexadecimal digits, as tensor_instructions.h orders them. The inputs
// are drawn from a generator whose seed is made of the opcode and the kind.
#include "recordings/random_numbers.h"
#include "recordings/recorder.h"
#include "recordings/tensor_instructions.h"

namespace {

using recorder::Kind;

std::string line(const TensorInstruction& instruction, const Kind& kind) {
  sim::Random random(recorder::seed_of(instruction.opcode + "," + kind.name));
  const recorder::DeviceArray<uint32_t> a(recorder::numbers(instruction.a, kind, instruction.words_a(), false, random)),
      b(recorder::numbers(instruction.b, kind, instruction.words_b(), false, random)),
      c(recorder::numbers(instruction.c, kind, instruction.words_c(), true, random)), d(instruction.words_d());
  instruction.run(1, a.data(), b.data(), c.data(), d.data());
  std::string text = instruction.opcode + "," + kind.name + ",";
  for (const uint32_t word : d.read()) text += recorder::hex(word, 8);
  return text;
}

recorder::Lines again(const recorder::Lines&) {
  recorder::Lines lines = {"opcode,kind,d"};
  for (const TensorInstruction& instruction : tensor_instructions()) {
    if (instruction.a.is_whole())
      for (const Kind& kind : recorder::OF_WHOLE) lines.push_back(line(instruction, kind));
    else
      for (const Kind& kind : recorder::OF_FLOATING) lines.push_back(line(instruction, kind));
    if (instruction.a.bits == 64) lines.push_back(line(instruction, recorder::OF_DOUBLES));
  }
  return lines;
}

}  // namespace

int main(int count, char** arguments) { return recorder::run(count, arguments, again); }

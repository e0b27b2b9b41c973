// What tensor cores make of a sparse A and random numbers: every instruction of the list, once for each kind of
// numbers. Ordered metadata, selectors above 0 and A in shared memory are tried with the first kind only.
//
//     sparse_products RECORDING [OUT]   see recorder.h; the inputs do not depend on the recording, which may be empty
//
// A line is `opcode,selector,a,kind,d`: the selector of the metadata, where A is (in registers or in shared memory),
// and d's 32-bit words in hexadecimal digits, as tensor_instructions.h orders them. The inputs are drawn from a
// generator whose seed is made of the other cells.
#include "recordings/random_numbers.h"
#include "recordings/recorder.h"
#include "recordings/sparse_instructions.h"

namespace {

// Metadata that is legal in every lane, also in those that are not asked for it: of each four bits two different
// indices, in order where the instruction wants that; of tf32 one of two values.
std::vector<uint32_t> metadata(const SparseInstruction& instruction, sim::Random& random) {
  std::vector<uint32_t> words(static_cast<size_t>(instruction.threads()));
  for (uint32_t& word : words) {
    for (int shift = 0; shift < 32; shift += 4) {
      const uint32_t first = static_cast<uint32_t>(random.below(4)), second = (first + 1 + random.below(3)) % 4;
      const uint32_t pair = instruction.is_ordered() && first > second ? second | first << 2 : first | second << 2;
      word |= (instruction.group() == 2 ? (random.below(2) ? 0xe : 0x4) : pair) << shift;
    }
  }
  return words;
}

std::string line(const SparseInstruction& instruction, const recorder::Kind& kind) {
  const std::string cells = instruction.opcode + "," + std::to_string(instruction.selector) + "," +
                            (instruction.shared_a ? "shared" : "registers") + "," + kind.name + ",";
  sim::Random random(recorder::seed_of(cells));
  using Words = recorder::DeviceArray<uint32_t>;
  const Words a(recorder::numbers(instruction.a, kind, instruction.words_a(), false, random)),
      b(recorder::numbers(instruction.b, kind, instruction.words_b(), false, random)),
      c(recorder::numbers(instruction.c, kind, instruction.words_c(), true, random)), e(metadata(instruction, random)),
      d(instruction.words_d());
  instruction.run(1, a.data(), b.data(), c.data(), e.data(), d.data());
  std::string text = cells;
  for (const uint32_t word : d.read()) text += recorder::hex(word, 8);
  return text;
}

recorder::Lines again(const recorder::Lines&) {
  recorder::Lines lines = {"opcode,selector,a,kind,d"};
  for (const SparseInstruction& instruction : sparse_instructions()) {
    const bool first_kind_only = instruction.is_ordered() || instruction.shared_a || instruction.selector > 0;
    const auto add = [&](const auto& kinds) {
      for (const recorder::Kind& kind : kinds) {
        lines.push_back(line(instruction, kind));
        if (first_kind_only) break;
      }
    };
    if (instruction.a.is_whole())
      add(recorder::OF_WHOLE);
    else
      add(recorder::OF_FLOATING);
  }
  return lines;
}

}  // namespace

int main(int count, char** arguments) { return recorder::run(count, arguments, again); }

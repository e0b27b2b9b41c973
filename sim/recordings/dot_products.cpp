// Does every dot product of a recording again, by mma.sync and by wgmma.
//
//     dot_products RECORDING [OUT]   see recorder.h
//
// A line is `factors,sum,case,c,pairs,mma,wgmma`, numbers as hexadecimal digits: c + a0·b0 + a1·b1 + …, where `pairs`
// is a0 b0 a1 b1 … without separators, and what each instruction made of it. `=` in the last column: what mma did. An
// empty column: the instruction is not asked. To record another product, write such a line with 0 for its results.
#include <map>

#include "recordings/recorder.h"
#include "recordings/tensor_instructions.h"

namespace {

constexpr size_t PER_BLOCK = 8;  // dot products in one instruction, each in a row and a column of its own

struct DotProduct {
  std::vector<std::string> cells;
  uint32_t c;
  std::vector<uint32_t> a, b;
};

// Where an element of a warp's fragment is: the first, in which register of which thread. Register j of A holds row
// g + 8·(j % 2), of B column g, of C row g + 8·j or, where it holds one element only, g + 8·(j / 2).
struct Place {
  size_t word;
  int shift;
};

class Operands {
 public:
  Operands(const TensorInstruction& instruction, size_t products)
      : is_wgmma_(instruction.m == 64),
        instruction_(instruction),
        blocks_((products + PER_BLOCK - 1) / PER_BLOCK),
        a(blocks_ * instruction.words_a()),
        b(blocks_ * instruction.words_b()),
        c(blocks_ * instruction.words_c()) {}

  void put(size_t product, const DotProduct& from) {
    const int row = row_of(product), column = column_of(product);
    const size_t block = product / PER_BLOCK;
    for (int k = 0; k < instruction_.k; ++k) {
      set(a, block * instruction_.words_a(), of_a(row, k), from.a[static_cast<size_t>(k)]);
      set(b, block * instruction_.words_b(), of_b(k, column), from.b[static_cast<size_t>(k)]);
    }
    set(c, block * instruction_.words_c(), of_c(row, column), from.c);
  }

  std::vector<uint32_t> results() const {
    const recorder::DeviceArray<uint32_t> to(c.size());
    instruction_.run(static_cast<unsigned>(blocks_), recorder::DeviceArray<uint32_t>(a).data(),
                     recorder::DeviceArray<uint32_t>(b).data(), recorder::DeviceArray<uint32_t>(c).data(), to.data());
    return to.read();
  }

  uint32_t result(const std::vector<uint32_t>& d, size_t product) const {
    const Place at = of_c(row_of(product), column_of(product));
    const uint32_t bits = d[product / PER_BLOCK * instruction_.words_c() + at.word] >> at.shift;
    return instruction_.d.bits == 32 ? bits : bits & ((1u << instruction_.d.bits) - 1);
  }

 private:
  // Another row and column from block to block, so that every lane has its turn.
  int row_of(size_t product) const {
    return static_cast<int>((product % PER_BLOCK * (is_wgmma_ ? 9 : 2) + product / PER_BLOCK) %
                            static_cast<size_t>(instruction_.m));
  }
  int column_of(size_t product) const { return static_cast<int>((product % PER_BLOCK + product / PER_BLOCK) % 8); }

  size_t threads() const { return is_wgmma_ ? 128 : 32; }
  Place place(int elements, int row, int element, int registr) const {  // `element` of a line that four lanes share
    const size_t thread = static_cast<size_t>(row / 16 * 32 + row % 8 * 4 + element / elements % 4);
    return {static_cast<size_t>(registr) * threads() + thread, element % elements * (32 / elements)};
  }
  Place of_a(int row, int k) const {
    const int elements = 32 / instruction_.a.bits;
    return place(elements, row, k, row / 8 % 2 + 2 * (k / (4 * elements)));
  }
  Place of_b(int k, int column) const {
    const int elements = 32 / instruction_.b.bits;
    if (!is_wgmma_) return place(elements, column, k, k / (4 * elements));
    // In shared memory: lines of 16 bytes of k, the eight columns one after the other.
    return {static_cast<size_t>(k / (4 * elements) * 32 + column * 4 + k / elements % 4),
            k % elements * instruction_.b.bits};
  }
  Place of_c(int row, int column) const {
    if (instruction_.c.bits == 16) return place(2, row, column, row / 8 % 2);
    const Place pair = place(2, row, column, 0);
    return {pair.word + static_cast<size_t>(row / 8 % 2 * 2 + column % 2) * threads(), 0};
  }
  static void set(std::vector<uint32_t>& words, size_t first, Place at, uint32_t bits) {
    words[first + at.word] |= bits << at.shift;
  }

  bool is_wgmma_;
  const TensorInstruction& instruction_;
  size_t blocks_;
  std::vector<uint32_t> a, b, c;
};

// The results of one instruction, by hexadecimal digits.
std::vector<std::string> results(const TensorInstruction& instruction, const std::vector<DotProduct*>& products) {
  Operands operands(instruction, products.size());
  for (size_t i = 0; i < products.size(); ++i) {
    if (products[i]->a.size() != static_cast<size_t>(instruction.k))
      throw BadInput(instruction.opcode + " does not add " + std::to_string(products[i]->a.size()) + " products");
    operands.put(i, *products[i]);
  }
  const std::vector<uint32_t> d = operands.results();
  std::vector<std::string> digits;
  for (size_t i = 0; i < products.size(); ++i)
    digits.push_back(recorder::hex(operands.result(d, i), instruction.d.bits / 4));
  return digits;
}

// The instruction for these types, 32 bytes deep.
const TensorInstruction& instruction_for(const std::string& family, const std::string& factors,
                                         const std::string& sum) {
  static const std::vector<TensorInstruction> all = tensor_instructions();
  for (const TensorInstruction& each : all)
    if (each.opcode.rfind(family, 0) == 0 && factors == each.a.name && factors == each.b.name && sum == each.d.name &&
        each.k * each.a.bits == 256)
      return each;
  throw BadInput("no " + family + " multiplies " + factors + " with sums of " + sum);
}

DotProduct parsed(const std::string& line) {
  DotProduct product{recorder::split(line, ','), 0, {}, {}};
  product.cells.resize(7);
  const std::string& pairs = product.cells[4];
  const size_t digits = static_cast<size_t>(instruction_for("wgmma", product.cells[0], product.cells[1]).a.bits) / 4;
  const auto number = [](const std::string& text) { return static_cast<uint32_t>(std::stoul(text, nullptr, 16)); };
  product.c = number(product.cells[3]);
  for (size_t at = 0; at < pairs.size(); at += 2 * digits) {
    product.a.push_back(number(pairs.substr(at, digits)));
    product.b.push_back(number(pairs.substr(at + digits, digits)));
  }
  return product;
}

recorder::Lines again(const recorder::Lines& recorded) {
  constexpr size_t MMA = 5, WGMMA = 6;  // columns
  std::vector<DotProduct> products;
  for (size_t i = 1; i < recorded.size(); ++i) products.push_back(parsed(recorded[i]));
  for (const size_t column : {MMA, WGMMA}) {
    std::map<std::pair<std::string, std::string>, std::vector<DotProduct*>> by_types;
    for (DotProduct& each : products)
      if (!each.cells[column].empty()) by_types[{each.cells[0], each.cells[1]}].push_back(&each);
    for (const auto& [types, of_types] : by_types) {
      const auto digits =
          results(instruction_for(column == MMA ? "mma" : "wgmma", types.first, types.second), of_types);
      for (size_t i = 0; i < of_types.size(); ++i) of_types[i]->cells[column] = digits[i];
    }
  }
  recorder::Lines lines = {recorded.at(0)};
  for (DotProduct& each : products) {
    if (each.cells[WGMMA] == each.cells[MMA]) each.cells[WGMMA] = "=";
    lines.push_back(recorder::joined(each.cells, ','));
  }
  return lines;
}

}  // namespace

int main(int count, char** arguments) { return recorder::run(count, arguments, again); }

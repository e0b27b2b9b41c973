// Which byte of shared memory wgmma reads for each element of an operand.
//
//     wgmma_layouts RECORDING [OUT]   see recorder.h
//
//     cfg,id,operand,major,swizzle,type,rows,start,leading,stride,base_offset,k_steps,advance
//     row,id,k_step,row,byte offsets for k = 0, 1, …: "first+step*count", or single ones
//
// The operand is A or B, or one of a product with a sparse A: `sparse A`, half of whose k is stored, or `sparse B`.
// Lengths are in bytes, `start` counts from a 1024-byte boundary, and step s starts at start + s·advance. Of B a row is
// a column. Of a recording only the cfg lines are needed: to record another descriptor, write such a line. Shared
// memory holds, in four passes, the four hexadecimal digits of each element's number, and the other operand is the
// identity: D shows which elements were read.
#include "recordings/recorder.h"
#include "recordings/wgmma_layout_kernel.h"

namespace {

constexpr int PASSES = 4;

struct Layout {
  std::string line, id, type;
  bool of_b, sparse, mn_major;
  int rows, steps;
  Descriptor descriptor;
  uint32_t advance;
};

Layout parsed(const std::string& line) {
  const std::vector<std::string> cells = recorder::split(line, ',');
  const auto number = [&](size_t i) { return static_cast<uint32_t>(std::stoul(cells.at(i))); };
  return {line,
          cells.at(1),
          cells.at(5),
          cells.at(2).back() == 'B',
          cells.at(2).rfind("sparse", 0) == 0,
          cells.at(3) == "MN",
          static_cast<int>(number(6)),
          static_cast<int>(number(11)),
          {number(7), number(8), number(9), number(10), number(4)},
          number(12)};
}

// Offsets as runs of equal steps; two in a row are none.
std::string runs(const std::vector<uint32_t>& offsets) {
  std::string text;
  for (size_t first = 0, last; first < offsets.size(); first = last) {
    last = std::min(first + 2, offsets.size());
    const uint32_t step = offsets[last - 1] - offsets[first];
    while (last < offsets.size() && offsets[last] - offsets[last - 1] == step) ++last;
    if (last == first + 2 && last < offsets.size()) last = first + 1;
    text += (text.empty() ? "" : " ") + std::to_string(offsets[first]);
    if (last > first + 1) text += "+" + std::to_string(static_cast<int32_t>(step)) + "*" + std::to_string(last - first);
  }
  return text;
}

// The bits of 0 to 15 in a format.
Digits digits_of(int exponent_bits, int mantissa_bits, int unused_bits) {
  Digits digits{};
  for (uint32_t value = 1; value < 16; ++value) {
    uint32_t exponent = 0;
    while (value >> exponent > 1) ++exponent;
    const uint32_t field = exponent + (1u << (exponent_bits - 1)) - 1;
    const uint32_t mantissa = (value << 3 >> exponent & 7) << (mantissa_bits - 3);
    digits.of[value] = (field << mantissa_bits | mantissa) << unused_bits;
  }
  return digits;
}

// One instruction after another reads the operand: D for each pass.
template <class Type, bool of_b, bool mn_major, bool sparse>
std::vector<float> multiplied(const Layout& layout, int step, int pass, uint32_t metadata) {
  const auto kernel = read_operand<Type, of_b, mn_major, sparse>;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
  Descriptor descriptor = layout.descriptor;
  descriptor.start += static_cast<uint32_t>(step) * layout.advance;
  const recorder::DeviceArray<float> d(ROWS * COLUMNS);
  const Digits digits = digits_of(Type::exponent_bits, Type::mantissa_bits, Type::unused_bits);
  kernel<<<1, THREADS, SHARED_BYTES>>>(descriptor, pass, digits, metadata, d.data());
  return d.read();
}

// Which k of B a row of D shows, if B is read by the identity as A. A sparse A meets half of the k, which half depends
// on its metadata.
template <class Type, bool sparse>
int met_k(int row, uint32_t metadata) {
  constexpr int HALF_GROUP = Type::bytes == 4 ? 1 : 2;
  if (!sparse) return row;
  return row / HALF_GROUP * (2 * HALF_GROUP) + row % HALF_GROUP + (metadata == SECOND_HALF ? HALF_GROUP : 0);
}

template <class Type, bool of_b, bool mn_major, bool sparse>
void add_rows(const Layout& layout, recorder::Lines& lines) {
  const int stored = 32 / Type::bytes, depth = sparse && of_b ? 2 * stored : stored;
  const std::vector<uint32_t> halves =
      sparse && of_b ? std::vector<uint32_t>{FIRST_HALF, SECOND_HALF} : std::vector<uint32_t>{FIRST_HALF};
  for (int step = 0; step < layout.steps; ++step) {
    std::vector<std::vector<uint32_t>> elements(layout.rows, std::vector<uint32_t>(depth));
    for (int pass = 0; pass < PASSES; ++pass) {
      for (const uint32_t metadata : halves) {
        const std::vector<float> d = multiplied<Type, of_b, mn_major, sparse>(layout, step, pass, metadata);
        for (int row = 0; row < layout.rows; ++row) {
          for (int k = 0; k < stored; ++k) {
            const float digit = of_b ? d[k * COLUMNS + row] : d[row * COLUMNS + k];
            if (!(digit >= 0 && digit < 16)) throw BadInput("configuration " + layout.id + " read no digit");
            const int at = of_b ? met_k<Type, sparse>(k, metadata) : k;
            elements[row][at] |= static_cast<uint32_t>(digit) << 4 * pass;
          }
        }
      }
    }
    for (int row = 0; row < layout.rows; ++row) {
      for (uint32_t& each : elements[row]) each *= Type::bytes;
      lines.push_back("row," + layout.id + "," + std::to_string(step) + "," + std::to_string(row) + "," +
                      runs(elements[row]));
    }
  }
}

template <class Type, bool mn_major>
void add_rows(const Layout& layout, recorder::Lines& lines) {
  const auto add = layout.of_b
                       ? layout.sparse ? add_rows<Type, true, mn_major, true> : add_rows<Type, true, mn_major, false>
                   : layout.sparse ? add_rows<Type, false, mn_major, true>
                                   : add_rows<Type, false, mn_major, false>;
  add(layout, lines);
}

recorder::Lines again(const recorder::Lines& recorded) {
  recorder::Lines lines = {recorded.at(0)};
  for (size_t i = 1; i < recorded.size(); ++i) {
    if (recorded[i].rfind("cfg,", 0) != 0) continue;
    const Layout layout = parsed(recorded[i]);
    lines.push_back(layout.line);
    if (layout.type == "f16" && layout.mn_major)
      add_rows<Half, true>(layout, lines);
    else if (layout.type == "f16")
      add_rows<Half, false>(layout, lines);
    else if (layout.type == "tf32" && !layout.mn_major)
      add_rows<Tf32, false>(layout, lines);
    else if (layout.type == "e4m3" && !layout.mn_major)
      add_rows<E4m3, false>(layout, lines);
    else
      throw BadInput("configuration " + layout.id + ": no such operand of wgmma");
  }
  return lines;
}

}  // namespace

int main(int count, char** arguments) { return recorder::run(count, arguments, again); }

// Which byte of shared memory wgmma reads for each element of an operand.
//
//     wgmma_layouts RECORDING [OUT]   see recorder.h
//
//     cfg,id,operand,major,swizzle,type,rows,start,leading,stride,base_offset,k_steps,advance
//     row,id,k_step,row,byte offsets for k = 0, 1, …: "first+step*count", or single ones
//
// Lengths are in bytes, `start` counts from a 1024-byte boundary, and step s starts at start + s·advance. Of B a row is
// a column. Of a recording only the cfg lines are needed: to record another descriptor, write such a line. Shared
// memory holds, in four passes, the four hexadecimal digits of each element's number, and the other operand is the
// identity: D shows which elements were read.
#include "lab/recordings/recorder.h"
#include "lab/recordings/wgmma_layout_kernel.h"

namespace {

constexpr int PASSES = 4;

struct Layout {
  std::string line, id, type;
  bool of_b, mn_major;
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
          cells.at(2) == "B",
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
template <class Type, bool of_b, bool mn_major>
std::vector<float> multiplied(const Layout& layout, int step, int pass) {
  const auto kernel = read_operand<Type, of_b, mn_major>;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
  Descriptor descriptor = layout.descriptor;
  descriptor.start += static_cast<uint32_t>(step) * layout.advance;
  const recorder::DeviceArray<float> d(ROWS * COLUMNS);
  const Digits digits = digits_of(Type::exponent_bits, Type::mantissa_bits, Type::unused_bits);
  kernel<<<1, THREADS, SHARED_BYTES>>>(descriptor, pass, digits, d.data());
  return d.read();
}

template <class Type, bool of_b, bool mn_major>
void add_rows(const Layout& layout, recorder::Lines& lines) {
  const int depth = 32 / Type::bytes;
  for (int step = 0; step < layout.steps; ++step) {
    std::vector<std::vector<uint32_t>> elements(layout.rows, std::vector<uint32_t>(depth));
    for (int pass = 0; pass < PASSES; ++pass) {
      const std::vector<float> d = multiplied<Type, of_b, mn_major>(layout, step, pass);
      for (int row = 0; row < layout.rows; ++row) {
        for (int k = 0; k < depth; ++k) {
          const float digit = of_b ? d[k * COLUMNS + row] : d[row * COLUMNS + k];
          if (!(digit >= 0 && digit < 16)) throw BadInput("configuration " + layout.id + " read no digit");
          elements[row][k] |= static_cast<uint32_t>(digit) << 4 * pass;
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

recorder::Lines again(const recorder::Lines& recorded) {
  recorder::Lines lines = {recorded.at(0)};
  for (size_t i = 1; i < recorded.size(); ++i) {
    if (recorded[i].rfind("cfg,", 0) != 0) continue;
    const Layout layout = parsed(recorded[i]);
    lines.push_back(layout.line);
    const auto add = [&](auto add_k_major, auto add_k_major_of_b) {
      layout.of_b ? add_k_major_of_b(layout, lines) : add_k_major(layout, lines);
    };
    if (layout.type == "f16" && layout.mn_major)
      add(add_rows<Half, false, true>, add_rows<Half, true, true>);
    else if (layout.type == "f16")
      add(add_rows<Half, false, false>, add_rows<Half, true, false>);
    else if (layout.type == "tf32" && !layout.mn_major)
      add(add_rows<Tf32, false, false>, add_rows<Tf32, true, false>);
    else if (layout.type == "e4m3" && !layout.mn_major)
      add(add_rows<E4m3, false, false>, add_rows<E4m3, true, false>);
    else
      throw BadInput("configuration " + layout.id + ": no such operand of wgmma");
  }
  return lines;
}

}  // namespace

int main(int count, char** arguments) { return recorder::run(count, arguments, again); }

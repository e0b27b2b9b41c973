// Copies by TMA as they were recorded on a GPU: which element went where. Written by tensor_copies, read by the
// simulator's tests.
//
//     cfg,id,operation,type,sizes,box,element strides,swizzle,fill,start,status,box bytes,bits of a filled element
//     smem,id,byte offset,elements     shared memory after a load, 128 bytes per line: elements of the tensor
//     gmem,id,first element,elements   global memory after a store or reduction, a row per line: elements of the tile
//
// Dimension 0 comes first. Elements are counted as they lie in dense memory; "12+1*8" are 12 to 19, "f" one that the
// copy filled, "u" one that it left alone. A status other than ok: `refused` by cuTensorMapEncodeTiled, or `trap`.
#pragma once

#include <cstdint>
#include <istream>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

struct RecordedCopy {
  static constexpr std::int64_t FILLED = -1, UNTOUCHED = -2;

  std::string id, operation, type;
  std::vector<int> sizes, box, element_strides, start;  // by dimension
  int swizzle = 0;                                      // bytes of its pattern's rows; 0: none
  std::string fill;                                     // zero or nan
  std::string status;
  std::uint32_t box_bytes = 0;
  std::string fill_bits;             // hexadecimal; empty where nothing was filled
  std::vector<std::int64_t> memory;  // of shared memory after a load, of global memory else
};

namespace copies {

inline std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(part);
  return parts;
}

inline std::vector<int> numbers(const std::string& text) {
  std::vector<int> values;
  for (const std::string& part : split(text, 'x')) values.push_back(std::stoi(part));
  return values;
}

inline std::string joined(const std::vector<int>& values) {
  std::string text;
  for (const int value : values) text += (text.empty() ? "" : "x") + std::to_string(value);
  return text;
}

inline void append(const std::string& runs, std::vector<std::int64_t>& elements) {
  for (const std::string& run : split(runs, ' ')) {
    const std::int64_t count = std::stoll(run.substr(run.find('*') + 1));
    for (std::int64_t i = 0; i < count; ++i)
      elements.push_back(run[0] == 'f'   ? RecordedCopy::FILLED
                         : run[0] == 'u' ? RecordedCopy::UNTOUCHED
                                         : std::stoll(run) + i);
  }
}

inline std::string runs(const std::int64_t* elements, std::size_t count) {
  std::string text;
  for (std::size_t first = 0, last; first < count; first = last) {
    const bool counts = elements[first] >= 0;
    last = first + 1;
    while (last < count && elements[last] == elements[last - 1] + (counts ? 1 : 0)) ++last;
    text += text.empty() ? "" : " ";
    text += counts ? std::to_string(elements[first]) + "+1" : elements[first] == RecordedCopy::FILLED ? "f" : "u";
    text += "*" + std::to_string(last - first);
  }
  return text;
}

inline std::vector<RecordedCopy> read(std::istream& in) {
  std::vector<RecordedCopy> all;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> cells = split(line, ',');
    if (cells.empty() || cells[0][0] == '#') continue;
    if (cells[0] != "cfg") {
      append(cells.at(3), all.back().memory);
      continue;
    }
    cells.resize(13);
    RecordedCopy copy;
    copy.id = cells[1], copy.operation = cells[2], copy.type = cells[3];
    copy.sizes = numbers(cells[4]), copy.box = numbers(cells[5]), copy.element_strides = numbers(cells[6]);
    copy.swizzle = std::stoi(cells[7]), copy.fill = cells[8], copy.start = numbers(cells[9]);
    copy.status = cells[10], copy.fill_bits = cells[12];
    if (!cells[11].empty()) copy.box_bytes = static_cast<std::uint32_t>(std::stoul(cells[11]));
    all.push_back(copy);
  }
  return all;
}

inline void write(std::ostream& out, const RecordedCopy& copy, int element_bytes) {
  out << "cfg," << copy.id << ',' << copy.operation << ',' << copy.type << ',' << joined(copy.sizes) << ','
      << joined(copy.box) << ',' << joined(copy.element_strides) << ',' << copy.swizzle << ',' << copy.fill << ','
      << joined(copy.start) << ',' << copy.status << ',' << (copy.status == "ok" ? std::to_string(copy.box_bytes) : "")
      << ',' << copy.fill_bits << '\n';
  const bool loads = copy.operation == "load";
  const std::size_t line = static_cast<std::size_t>(loads ? 128 / element_bytes : copy.sizes[0]);
  for (std::size_t at = 0; at < copy.memory.size(); at += line)
    out << (loads ? "smem," : "gmem,") << copy.id << ',' << (loads ? at * static_cast<std::size_t>(element_bytes) : at)
        << ',' << runs(copy.memory.data() + at, line) << '\n';
}

}  // namespace copies

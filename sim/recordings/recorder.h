// What the recorders have in common: their command line, and the comparison with what was recorded.
//
//     RECORDER RECORDING       prints the lines that differ; exit code 1 where there are any
//     RECORDER RECORDING OUT   writes the lines as they are here to OUT
//
// Exit code 77 without a GPU of compute capability 9; all run in the simulator as well.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "recordings/check.h"

namespace recorder {

using Lines = std::vector<std::string>;
constexpr int EXIT_DIFFERENT = 1, EXIT_BAD_INPUT = 2, EXIT_SKIPPED = 77;

inline std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::stringstream stream(text + by);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(part);
  return parts;
}

inline std::string joined(const std::vector<std::string>& parts, char by) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : std::string(1, by)) + parts[i];
  return text;
}

// A number as `digits` hexadecimal ones.
inline std::string hex(uint64_t number, int digits) {
  std::string text(static_cast<size_t>(digits), '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, number >>= 4)
    *digit = "0123456789abcdef"[number & 15];
  return text;
}

// Device memory for so many elements, zeros at first; freed with the process.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) {
    CUDA_CHECK(cudaMalloc(&data_, bytes()));
    CUDA_CHECK(cudaMemset(data_, 0, bytes()));
  }
  explicit DeviceArray(const std::vector<T>& from) : DeviceArray(from.size()) {
    CUDA_CHECK(cudaMemcpy(data_, from.data(), bytes(), cudaMemcpyHostToDevice));
  }
  T* data() const { return data_; }
  // What it holds when all launches are over.
  std::vector<T> read() const {
    std::vector<T> to(count_);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(to.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    return to;
  }

 private:
  size_t bytes() const { return count_ * sizeof(T); }
  size_t count_;
  T* data_ = nullptr;
};

// Prints the first lines that differ, and how many do.
inline int compare(const Lines& recorded, const Lines& here,
                   const std::function<std::string(const std::string&)>& comparable) {
  constexpr size_t SHOWN = 10;
  size_t different = 0;
  for (size_t i = 0; i < std::max(recorded.size(), here.size()); ++i) {
    const std::string was = i < recorded.size() ? recorded[i] : "(nothing)",
                      is = i < here.size() ? here[i] : "(nothing)";
    if (comparable(was) == comparable(is)) continue;
    if (++different <= SHOWN) std::cout << "line " << i + 1 << "\n  recorded " << was << "\n  here     " << is << "\n";
  }
  std::cout << here.size() << " lines, " << different << " not as recorded\n";
  return different == 0 ? 0 : EXIT_DIFFERENT;
}

// `again` is given the recording's lines and returns them as they are here. `comparable`: of a line, what does not
// depend on chance or on the machine.
inline int run(
    int count, char** arguments, const std::function<Lines(const Lines&)>& again,
    const std::function<std::string(const std::string&)>& comparable = [](const auto& line) { return line; }) {
  try {
    if (count < 2 || count > 3) throw BadInput(std::string("usage: ") + arguments[0] + " RECORDING [OUT]");
    std::ifstream in(arguments[1]);
    if (!in) throw BadInput(std::string(arguments[1]) + " cannot be read");
    Lines recorded;
    for (std::string line; std::getline(in, line);) recorded.push_back(line);
    int major = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) != cudaSuccess || major != 9) {
      std::cout << "skipped: no GPU of compute capability 9 was found\n";
      return EXIT_SKIPPED;
    }
    const Lines here = again(recorded);
    if (count == 2) return compare(recorded, here, comparable);
    std::ofstream out(arguments[2]);
    for (const std::string& line : here) out << line << '\n';
    if (!out.flush()) throw BadInput(std::string(arguments[2]) + " cannot be written");
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return EXIT_BAD_INPUT;
  }
}

}  // namespace recorder

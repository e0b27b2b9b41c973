// Does every copy of a recording again, by TMA, and says which element went where.
//
//     tensor_copies RECORDING       prints the copies that differ; exit code 1 where there are any
//     tensor_copies RECORDING OUT   writes what was seen to OUT, in the same form
//
// Of a recording only the `cfg` lines up to the start are needed: to record another copy, write such a line. Every
// element of the source has a value of its own, and the destination is filled with a pattern before. Each copy runs in
// a process of its own, because one that the hardware refuses leaves the process without a GPU. Exit code 77 without a
// GPU of compute capability 9; runs in the simulator as well.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "recordings/check.h"
#include "recordings/copies.h"
#include "recordings/tensor_copy_kernels.h"
#include "recordings/tensor_maps.h"

namespace {

constexpr int EXIT_DIFFERENT = 1, EXIT_BAD_INPUT = 2, EXIT_SKIPPED = 77, EXIT_REFUSED = 3, EXIT_TRAPPED = 4;
constexpr int THREADS = 128;

using recorder::encoded;
using recorder::Type;
using recorder::type_of;

// --- values ---

using Bytes = std::vector<unsigned char>;

// The bits of a whole number in the type. One byte does not suffice for every element: `pass` says which of two.
uint32_t bits_of(const Type& type, int64_t number, int pass) {
  const float value = static_cast<float>(number);
  uint32_t bits = static_cast<uint32_t>(number) >> 8 * pass;
  if (type.bytes == 1) return bits & 0xff;
  if (!type.floating) return bits;
  if (type.bytes == 4) {
    std::memcpy(&bits, &value, 4);
    return bits;
  }
  return std::string(type.name) == "f16" ? __half_as_ushort(__float2half(value))
                                         : __bfloat16_as_ushort(__float2bfloat16(value));
}

void put(Bytes& bytes, size_t element, const Type& type, uint32_t bits) {
  std::memcpy(&bytes[element * type.bytes], &bits, type.bytes);
}
uint32_t get(const Bytes& bytes, size_t element, const Type& type) {
  uint32_t bits = 0;
  std::memcpy(&bits, &bytes[element * type.bytes], type.bytes);
  return bits;
}

// Number of the value i + 1 that these bits of each pass are; filled or untouched where they are none.
int64_t element_of(const Type& type, const std::vector<uint32_t>& bits, size_t elements) {
  const uint32_t mask = type.bytes == 4 ? ~0u : (1u << 8 * type.bytes) - 1, untouched = 0xeeeeeeeeu & mask;
  if (std::all_of(bits.begin(), bits.end(), [=](uint32_t each) { return each == untouched; }))
    return RecordedCopy::UNTOUCHED;
  for (size_t i = 0; i < elements; ++i) {
    bool same = true;
    for (size_t pass = 0; pass < bits.size(); ++pass)
      same &= bits[pass] == bits_of(type, static_cast<int64_t>(i) + 1, static_cast<int>(pass));
    if (same) return static_cast<int64_t>(i);
  }
  return RecordedCopy::FILLED;
}

// --- one copy ---

int product(const std::vector<int>& values) {
  int result = 1;
  for (const int value : values) result *= value;
  return result;
}

// How many elements of the box are moved along each dimension: all of the first, and every so many of the others.
std::vector<int> counts(const RecordedCopy& copy) {
  std::vector<int> result = copy.box;
  for (size_t i = 1; i < result.size(); ++i)
    result[i] = (copy.box[i] + copy.element_strides[i] - 1) / copy.element_strides[i];
  return result;
}

struct DeviceBytes {
  unsigned char* data = nullptr;
  explicit DeviceBytes(const Bytes& from) {
    CUDA_CHECK(cudaMalloc(&data, from.size()));
    CUDA_CHECK(cudaMemcpy(data, from.data(), from.size(), cudaMemcpyHostToDevice));
  }
  Bytes read(size_t bytes) const {
    Bytes to(bytes);
    CUDA_CHECK(cudaMemcpy(to.data(), data, bytes, cudaMemcpyDeviceToHost));
    return to;
  }
};

int coordinate(const RecordedCopy& copy, size_t dimension) {
  return dimension < copy.start.size() ? copy.start[dimension] : 0;
}

int round_up(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

// Bytes of shared memory that the tile spans: with a swizzle each row takes the whole pattern.
int tile_bytes(const RecordedCopy& copy) {
  const std::vector<int> moved = counts(copy);
  const int row = moved[0] * type_of(copy).bytes;
  return product(moved) / moved[0] * std::max(row, copy.swizzle);
}

void do_load(RecordedCopy& copy) {
  const Type& type = type_of(copy);
  const int elements = product(copy.sizes), kept = round_up(static_cast<int>(copy.box_bytes), 128) + 128;
  const int tile = std::max(round_up(tile_bytes(copy), 128), kept);
  std::vector<Bytes> seen;
  for (int pass = 0; pass < (type.bytes == 1 ? 2 : 1); ++pass) {
    Bytes source(static_cast<size_t>(elements) * type.bytes);
    for (int i = 0; i < elements; ++i) put(source, i, type, bits_of(type, i + 1, pass));
    const DeviceBytes tensor(source), out(Bytes(kept, 0));
    CUtensorMap map;
    if (!encoded(copy, tensor.data, map)) _exit(EXIT_REFUSED);
    CUDA_CHECK(cudaFuncSetAttribute(load_box, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024));
    load_box<<<1, THREADS, tile + ALIGNMENT>>>(map, static_cast<int>(copy.sizes.size()), coordinate(copy, 0),
                                               coordinate(copy, 1), coordinate(copy, 2), copy.box_bytes, tile, kept,
                                               out.data);
    if (cudaDeviceSynchronize() != cudaSuccess) _exit(EXIT_TRAPPED);
    seen.push_back(out.read(static_cast<size_t>(kept)));
  }
  for (size_t i = 0; i < static_cast<size_t>(kept / type.bytes); ++i) {
    std::vector<uint32_t> bits;
    for (const Bytes& pass : seen) bits.push_back(get(pass, i, type));
    copy.memory.push_back(element_of(type, bits, static_cast<size_t>(elements)));
    if (copy.memory.back() != RecordedCopy::FILLED || !copy.fill_bits.empty()) continue;
    char digits[16];
    std::snprintf(digits, sizeof digits, "%0*x", 2 * type.bytes, bits[0]);
    copy.fill_bits = digits;
  }
}

// The tensor starts with the pattern; for a reduction with ones, so that element q of the tile makes q + 2.
void do_store(RecordedCopy& copy, bool adds) {
  const Type& type = type_of(copy);
  const int elements = product(copy.sizes), moved = product(counts(copy));
  Bytes before(static_cast<size_t>(elements) * type.bytes, PATTERN), tile(static_cast<size_t>(tile_bytes(copy)));
  for (int i = 0; adds && i < elements; ++i) put(before, i, type, bits_of(type, 1, 0));
  for (int i = 0; i < moved; ++i) put(tile, i, type, bits_of(type, i + 1, 0));
  const DeviceBytes tensor(before), source(tile);
  CUtensorMap map;
  if (!encoded(copy, tensor.data, map)) _exit(EXIT_REFUSED);
  CUDA_CHECK(cudaFuncSetAttribute(store_box, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024));
  store_box<<<1, THREADS, static_cast<int>(tile.size()) + ALIGNMENT>>>(
      map, static_cast<int>(copy.sizes.size()), adds, coordinate(copy, 0), coordinate(copy, 1), coordinate(copy, 2),
      source.data, static_cast<int>(tile.size()));
  if (cudaDeviceSynchronize() != cudaSuccess) _exit(EXIT_TRAPPED);
  const Bytes after = tensor.read(before.size());
  for (int i = 0; i < elements; ++i) {
    int64_t from = RecordedCopy::UNTOUCHED;
    for (int q = 0; q < moved && from < 0 && get(after, i, type) != get(before, i, type); ++q)
      if (get(after, i, type) == bits_of(type, q + (adds ? 2 : 1), 0)) from = q;
    copy.memory.push_back(from);
  }
}

// The same copy as it went here. In a process of its own, which writes it to a pipe.
RecordedCopy done_again(const RecordedCopy& recorded) {
  RecordedCopy copy = recorded;
  copy.memory.clear();
  copy.fill_bits.clear();
  copy.box_bytes = static_cast<std::uint32_t>(product(counts(copy)) * type_of(copy).bytes);
  copy.status = "ok";
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe can be opened");
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    try {
      copy.operation == "load" ? do_load(copy) : do_store(copy, copy.operation == "reduce_add");
    } catch (const std::exception& error) {
      std::cerr << copy.id << ": " << error.what() << "\n";
      _exit(EXIT_BAD_INPUT);
    }
    std::ostringstream text;
    copies::write(text, copy, type_of(copy).bytes);
    for (size_t at = 0; at < text.str().size();) {
      const ssize_t written = ::write(ends[1], text.str().data() + at, text.str().size() - at);
      if (written <= 0) _exit(EXIT_BAD_INPUT);
      at += static_cast<size_t>(written);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t bytes; (bytes = ::read(ends[0], part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(bytes));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BAD_INPUT;
  if (code == EXIT_REFUSED) copy.status = "refused";
  if (code == EXIT_TRAPPED) copy.status = "trap";
  if (code == EXIT_BAD_INPUT) throw BadInput("copy " + copy.id + " could not be done");
  if (code != 0) return copy;
  std::istringstream in(text);
  return copies::read(in).at(0);
}

// Asked in a process of its own: what has started CUDA cannot fork.
bool hopper_present() {
  const pid_t child = fork();
  if (child == 0) {
    int major = 0;
    _exit(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess && major == 9 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0;
}

int run(int count, char** arguments) {
  if (count < 2 || count > 3) throw BadInput("usage: tensor_copies RECORDING [OUT]");
  std::ifstream in(arguments[1]);
  if (!in) throw BadInput(std::string(arguments[1]) + " cannot be read");
  const std::vector<RecordedCopy> recorded = copies::read(in);
  if (!hopper_present()) {
    std::cout << "skipped: no GPU of compute capability 9 was found\n";
    return EXIT_SKIPPED;
  }
  std::ofstream out;
  if (count == 3) out.open(arguments[2]);
  size_t different = 0;
  for (const RecordedCopy& copy : recorded) {
    const RecordedCopy again = done_again(copy);
    const bool same = again.status == copy.status && again.memory == copy.memory && again.fill_bits == copy.fill_bits;
    if (out.is_open()) copies::write(out, again, type_of(again).bytes);
    if (same) continue;
    ++different;
    std::cout << "copy " << copy.id << ": another than recorded (" << copy.status << "), here " << again.status << "\n";
  }
  std::cout << recorded.size() << " copies, " << different << " not as recorded\n";
  return different != 0 && !out.is_open() ? EXIT_DIFFERENT : 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count, arguments);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return EXIT_BAD_INPUT;
  }
}

// Which block of a cluster gets which bytes of a multicast, where, and what its mbarrier counts.
//
//     multicast_copies RECORDING [OUT]   see recorder.h
//
//     cfg,id,operation,grid,cluster,type,sizes,box,swizzle,fill,copies
//     block,id,block of the grid,bytes that its mbarrier expects,whether that phase ends,whether the next one does
//     smem,id,block of the grid,byte offset,elements: 128 bytes per line, as copies.h writes them
//
// `operation`: `tensor` copies a box, `bulk` as many bytes as `box` elements have. Each of the copies, between blanks,
// is issuer:mask:start:offset, or issuer:mask:start:offset@block where the instruction is given the addresses of
// another block than the issuer's. Blocks of a cluster go by their rank, masks are hexadecimal, offsets are bytes of
// shared memory. Of a recording only the cfg lines are needed: to record other copies, write such a line. Each element
// of the source has a number of its own, and shared memory is filled with a pattern before.
#include <cstring>
#include <numeric>

#include "recordings/multicast_kernel.h"
#include "recordings/recorder.h"
#include "recordings/tensor_maps.h"

namespace {

using recorder::encoded;
using recorder::type_of;

struct Configuration {
  std::string line, id;
  std::vector<int> grid, cluster;
  RecordedCopy tensor;  // what its map says
  Multicasts what;

  int blocks() const { return grid[0] * grid[1]; }
  int blocks_of_cluster() const { return cluster[0] * cluster[1]; }
};

int product(const std::vector<int>& values) {
  return std::accumulate(values.begin(), values.end(), 1, std::multiplies());
}

Multicast parsed_copy(const std::string& text, int element_bytes) {
  const std::vector<std::string> parts = recorder::split(text, ':');
  const std::vector<int> start = copies::numbers(parts.at(2));
  const std::vector<std::string> place = recorder::split(parts.at(3), '@');
  const int issuer = std::stoi(parts[0]);
  return {issuer,
          place.size() > 1 ? std::stoi(place[1]) : issuer,
          start.size() > 1 ? start[0] : start[0] * element_bytes,
          start.size() > 1 ? start[1] : 0,
          static_cast<uint32_t>(std::stoul(parts[1], nullptr, 16)),
          static_cast<uint32_t>(std::stoul(place[0]))};
}

Configuration parsed(const std::string& line) {
  const std::vector<std::string> cells = recorder::split(line, ',');
  Configuration made{line, cells.at(1), copies::numbers(cells.at(3)), copies::numbers(cells.at(4)), {}, {}};
  RecordedCopy& tensor = made.tensor;
  tensor.type = cells.at(5), tensor.sizes = copies::numbers(cells.at(6)), tensor.box = copies::numbers(cells.at(7));
  tensor.swizzle = std::stoi(cells.at(8)), tensor.fill = cells.at(9);
  tensor.element_strides.assign(tensor.sizes.size(), 1);

  Multicasts& what = made.what;
  const int element_bytes = type_of(tensor).bytes;
  what.of_tensor = cells.at(2) == "tensor";
  what.bytes = static_cast<uint32_t>(product(tensor.box) * element_bytes);
  const std::vector<std::string> all = recorder::split(cells.at(10), ' ');
  if (all.size() > MOST_COPIES || made.blocks_of_cluster() > MOST_BLOCKS)
    throw BadInput("configuration " + made.id + " has too many copies or blocks");
  // With a swizzle each row takes the whole pattern.
  const int row = tensor.box[0] * element_bytes,
            spanned = static_cast<int>(what.bytes) / row * std::max(row, tensor.swizzle);
  uint32_t end = 0;
  for (const std::string& each : all) {
    const Multicast copy = what.copies[what.count++] = parsed_copy(each, element_bytes);
    end = std::max(end, copy.offset + static_cast<uint32_t>(spanned));
    for (int rank = 0; rank < made.blocks_of_cluster(); ++rank)
      if (copy.mask >> rank & 1) what.expected[rank] += what.bytes;
  }
  what.region = (end + 127) / 128 * 128 + 128;
  return made;
}

// The number of the element that these bits are.
int64_t element_of(const RecordedCopy& tensor, uint32_t bits) {
  const int width = 8 * type_of(tensor).bytes;
  if (bits == (width == 32 ? PATTERN : PATTERN >> (32 - width))) return RecordedCopy::UNTOUCHED;
  const uint32_t fill = tensor.fill == "nan" ? 0x7ff7 : 0;  // of 16 bits
  if (bits == fill || (width == 32 && bits == (fill << 16 | fill))) return RecordedCopy::FILLED;
  const int64_t element = int64_t{bits} - 1;
  if (element < 0 || element >= product(tensor.sizes)) throw BadInput("there is no element " + std::to_string(element));
  return element;
}

// A launch of the configuration's grid in clusters; which block has which rank is left to CUDA.
void launch(const Configuration& from, const CUtensorMap& map, const unsigned char* source, unsigned char* out,
            Phases* phases) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = static_cast<unsigned>(from.cluster[0]);
  attribute.val.clusterDim.y = static_cast<unsigned>(from.cluster[1]);
  attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(from.grid[0]), static_cast<unsigned>(from.grid[1]));
  config.blockDim = dim3(THREADS);
  config.dynamicSmemBytes = from.what.region + ALIGNMENT;
  config.attrs = &attribute, config.numAttrs = 1;
  CUDA_CHECK(cudaLaunchKernelEx(&config, send_copies, map, from.what, source, out, phases));
}

// Rank of a block of the grid.
int rank_of(const Configuration& from, int block) {
  const int x = block % from.grid[0] % from.cluster[0], y = block / from.grid[0] % from.cluster[1];
  return y * from.cluster[0] + x;
}

void add_lines(const Configuration& from, recorder::Lines& lines) {
  const int element_bytes = type_of(from.tensor).bytes;
  std::vector<unsigned char> elements(static_cast<size_t>(product(from.tensor.sizes) * element_bytes));
  for (uint32_t i = 0; i * element_bytes < elements.size(); ++i) {
    const uint32_t bits = i + 1;
    std::memcpy(&elements[i * element_bytes], &bits, static_cast<size_t>(element_bytes));
  }
  const recorder::DeviceArray<unsigned char> source(elements),
      out(static_cast<size_t>(from.blocks()) * from.what.region);
  const recorder::DeviceArray<Phases> phases(static_cast<size_t>(from.blocks()));
  CUtensorMap map{};
  if (from.what.of_tensor && !encoded(from.tensor, source.data(), map))
    throw BadInput("configuration " + from.id + ": the driver refuses the tensor map");
  launch(from, map, source.data(), out.data(), phases.data());
  const std::vector<unsigned char> bytes = out.read();
  const std::vector<Phases> over = phases.read();

  lines.push_back(from.line);
  for (int block = 0; block < from.blocks(); ++block) {
    const std::string start = from.id + "," + std::to_string(block) + ",";
    lines.push_back("block," + start + std::to_string(from.what.expected[rank_of(from, block)]) + "," +
                    std::to_string(over[block].first_over) + "," + std::to_string(over[block].second_over));
    for (uint32_t line = 0; line < from.what.region; line += 128) {
      std::vector<int64_t> seen;
      for (uint32_t at = line; at < line + 128; at += static_cast<uint32_t>(element_bytes)) {
        uint32_t bits = 0;
        std::memcpy(&bits, &bytes[static_cast<size_t>(block) * from.what.region + at],
                    static_cast<size_t>(element_bytes));
        seen.push_back(element_of(from.tensor, bits));
      }
      lines.push_back("smem," + start + std::to_string(line) + "," + copies::runs(seen.data(), seen.size()));
    }
  }
}

recorder::Lines again(const recorder::Lines& recorded) {
  recorder::Lines lines;
  for (const std::string& line : recorded)
    if (line.rfind("cfg,", 0) == 0) add_lines(parsed(line), lines);
  return lines;
}

}  // namespace

int main(int count, char** arguments) { return recorder::run(count, arguments, again); }

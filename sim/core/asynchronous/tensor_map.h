/// The tensor map: what cuTensorMapEncodeTiled makes on the host and what the TMA instructions are given. It says how a
/// tensor lies in global memory and which box of it one instruction moves. Its 128 bytes are the simulator's own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/base/types.h"

namespace sim {

inline constexpr uint32_t max_rank = 5;

/// What a tensor's elements are. The numbers here and below are those of cuda.h.
enum class TensorType : u32 {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f32_flushed,
  tf32,
  tf32_flushed,
  packed_4_align_8,
  packed_4_align_16,
  packed_6_align_16,
};
enum class Interleave : u32 { none, by_16, by_32 };
/// How the 16-byte pieces of a row change places in shared memory.
enum class Swizzle : u32 { none, by_32, by_64, by_128, by_128_atom_32, by_128_atom_32_flip, by_128_atom_64 };
/// How much the L2 fetches at once. Nothing here depends on it.
enum class Promotion : u32 { none, by_64, by_128, by_256 };
/// What elements outside of the tensor are loaded as.
enum class Fill : u32 { zeros, nan };

uint32_t bytes_of(TensorType type);
const char* name(TensorType type);
/// Loads round singles to TF32 on the way; stores leave them as they are. Flushing does nothing that an H200 showed:
/// subnormals stay under each of the three types that are named after it or after TF32.
constexpr bool rounds_to_tf32(TensorType type) { return type == TensorType::tf32 || type == TensorType::tf32_flushed; }
/// Bytes that a row of the box spans in shared memory before the pattern begins anew; 0 without a swizzle.
uint32_t span_of(Swizzle swizzle);

/// What cuTensorMapEncodeTiled is asked for. Dimension 0 is the innermost, whose elements are adjacent.
struct TiledTensor {
  TensorType type = TensorType::u8;
  uint32_t rank = 0;
  uint64_t address = 0;
  std::array<uint64_t, max_rank> size{};            ///< elements
  std::array<uint64_t, max_rank - 1> stride{};      ///< bytes from one element of dimension 1, 2, … to the next
  std::array<uint32_t, max_rank> box{};             ///< elements that the box extends over
  std::array<uint32_t, max_rank> element_stride{};  ///< every how many of them one is moved; dimension 0: ignored
  Interleave interleave = Interleave::none;
  Swizzle swizzle = Swizzle::none;
  Promotion promotion = Promotion::none;
  Fill fill = Fill::zeros;
};

/// A map as it lies in memory.
struct TensorMap {
  uint64_t mark;   ///< what tells a map from other bytes
  uint64_t check;  ///< of all that follows
  uint64_t address;
  std::array<uint64_t, max_rank - 1> stride;
  std::array<uint32_t, max_rank> last;  ///< index of each dimension's last element
  TensorType type;
  Swizzle swizzle;
  Fill fill;
  std::array<uint16_t, max_rank> box;
  std::array<uint8_t, max_rank> element_stride;
  uint8_t rank;
  std::array<uint8_t, 24> unused;

  /// How many elements the box has along a dimension.
  uint32_t count(uint32_t dimension) const {
    if (dimension == 0) return box[0];
    return (uint32_t{box[dimension]} + element_stride[dimension] - 1) / element_stride[dimension];
  }
};
static_assert(sizeof(TensorMap) == 128);

/// Why no map was made.
struct MapRefusal {
  bool invalid;  ///< the driver would refuse it, too (CUDA_ERROR_INVALID_VALUE); else the simulator does not model it
  std::string why;  ///< one line, in the names of cuTensorMapEncodeTiled's parameters
};

/// Checks what is asked for as the driver does, and makes the map.
std::optional<MapRefusal> encode(const TiledTensor& tensor, TensorMap& map);

/// The same map of a tensor that lies elsewhere.
TensorMap moved(TensorMap map, uint64_t address);

/// The map that lies here; none where no call of encode made these bytes.
std::optional<TensorMap> read_map(const std::byte* bytes);

}  // namespace sim

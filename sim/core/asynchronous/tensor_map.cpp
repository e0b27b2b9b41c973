#include "core/asynchronous/tensor_map.h"

#include <cstring>

namespace sim {
namespace {

constexpr uint64_t map_mark = 0x70616d726f736e74u;

struct TypeFacts {
  const char* name;
  uint8_t bytes;
  bool floating, modelled;
};
/// By TensorType. The packed types belong to later GPUs.
constexpr TypeFacts type_facts[] = {
    {"UINT8", 1, false, true},          {"UINT16", 2, false, true},        {"UINT32", 4, false, true},
    {"INT32", 4, false, true},          {"UINT64", 8, false, true},        {"INT64", 8, false, true},
    {"FLOAT16", 2, true, true},         {"FLOAT32", 4, true, true},        {"FLOAT64", 8, true, true},
    {"BFLOAT16", 2, true, true},        {"FLOAT32_FTZ", 4, true, true},    {"TFLOAT32", 4, true, true},
    {"TFLOAT32_FTZ", 4, true, true},    {"16U4_ALIGN8B", 1, false, false}, {"16U4_ALIGN16B", 1, false, false},
    {"16U6_ALIGN16B", 1, false, false},
};
const TypeFacts& facts(TensorType type) { return type_facts[static_cast<size_t>(type)]; }

uint64_t check_of(const TensorMap& map) {
  const auto* const from = reinterpret_cast<const unsigned char*>(&map) + offsetof(TensorMap, address);
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (size_t i = 0; i < sizeof map - offsetof(TensorMap, address); ++i) hash = (hash ^ from[i]) * 0x100000001b3u;
  return hash;
}

std::string element(const char* array, uint32_t index, uint64_t value) {
  return std::string(array) + "[" + std::to_string(index) + "] is " + std::to_string(value);
}

/// What the driver refuses; empty where there is nothing.
std::string why_invalid(const TiledTensor& t) {
  if (static_cast<u32>(t.type) >= std::size(type_facts)) return "tensorDataType is no CUtensorMapDataType";
  if (t.interleave > Interleave::by_32) return "interleave is no CUtensorMapInterleave";
  if (t.swizzle > Swizzle::by_128_atom_64) return "swizzle is no CUtensorMapSwizzle";
  if (t.promotion > Promotion::by_256) return "l2Promotion is no CUtensorMapL2promotion";
  if (t.fill > Fill::nan) return "oobFill is no CUtensorMapFloatOOBfill";
  if (t.rank < 1 || t.rank > max_rank)
    return "tensorRank is " + std::to_string(t.rank) + "; tensors have 1 to 5 dimensions";
  if (t.interleave != Interleave::none && t.rank < 3) return "an interleaved tensor needs a tensorRank of 3 to 5";
  if (t.address % 16 != 0) return "globalAddress is no multiple of 16";
  for (uint32_t i = 0; i < t.rank; ++i) {
    if (t.size[i] < 1 || t.size[i] > uint64_t{1} << 32)
      return element("globalDim", i, t.size[i]) + "; 1 to 2^32 elements are needed";
    if (t.box[i] < 1 || t.box[i] > 256) return element("boxDim", i, t.box[i]) + "; a box has 1 to 256 elements";
    if (t.element_stride[i] < 1 || t.element_stride[i] > 8)
      return element("elementStrides", i, t.element_stride[i]) + "; 1 to 8 is needed";
  }
  for (uint32_t i = 0; i + 1 < t.rank; ++i) {
    if (t.stride[i] % 16 != 0 || t.stride[i] >= uint64_t{1} << 40)
      return element("globalStrides", i, t.stride[i]) + " bytes; a multiple of 16 below 2^40 is needed";
  }
  if (t.fill == Fill::nan && !facts(t.type).floating)
    return std::string("oobFill asks for NaN, which the type ") + name(t.type) + " does not have";
  const uint64_t inner = uint64_t{t.box[0]} * bytes_of(t.type);
  const std::string row = "boxDim[0] makes rows of " + std::to_string(inner) + " bytes; ";
  if (t.interleave == Interleave::none && inner % 16 != 0) return row + "a multiple of 16 is needed";
  if (t.interleave == Interleave::none && t.swizzle != Swizzle::none && inner > span_of(t.swizzle))
    return row + "with this swizzle at most " + std::to_string(span_of(t.swizzle)) + " are allowed";
  return "";
}

std::string why_not_modelled(const TiledTensor& t) {
  if (!facts(t.type).modelled) return std::string("the type ") + name(t.type);
  if (t.interleave != Interleave::none) return "interleaved tensors";
  const bool plain = t.type != TensorType::f64 && t.type != TensorType::f32_flushed && !rounds_to_tf32(t.type);
  if (t.fill == Fill::nan && !plain) return std::string("what ") + name(t.type) + " is filled with as NaN";
  if (t.swizzle > Swizzle::by_128) return "swizzles of 128 bytes by larger atoms";
  return "";
}

}  // namespace

uint32_t bytes_of(TensorType type) { return facts(type).bytes; }
const char* name(TensorType type) { return facts(type).name; }

uint32_t span_of(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none: return 0;
    case Swizzle::by_32: return 32;
    case Swizzle::by_64: return 64;
    default: return 128;
  }
}

std::optional<MapRefusal> encode(const TiledTensor& tensor, TensorMap& map) {
  if (const std::string why = why_invalid(tensor); !why.empty()) return MapRefusal{true, why};
  if (const std::string why = why_not_modelled(tensor); !why.empty())
    return MapRefusal{false, "the simulator does not model " + why};
  std::memset(&map, 0, sizeof map);
  map.mark = map_mark;
  map.address = tensor.address;
  map.stride = tensor.stride;
  map.type = tensor.type;
  map.swizzle = tensor.swizzle;
  map.fill = tensor.fill;
  map.rank = static_cast<uint8_t>(tensor.rank);
  for (uint32_t i = 0; i < max_rank; ++i) {
    const bool used = i < tensor.rank;  // dimensions that are not there have one element
    map.last[i] = used ? static_cast<uint32_t>(tensor.size[i] - 1) : 0;
    map.box[i] = used ? static_cast<uint16_t>(tensor.box[i]) : 1;
    map.element_stride[i] = used ? static_cast<uint8_t>(tensor.element_stride[i]) : 1;
  }
  map.check = check_of(map);
  return std::nullopt;
}

TensorMap moved(TensorMap map, uint64_t address) {
  map.address = address;
  map.check = check_of(map);
  return map;
}

std::optional<TensorMap> read_map(const std::byte* bytes) {
  TensorMap map;
  std::memcpy(&map, bytes, sizeof map);
  if (map.mark != map_mark || map.check != check_of(map)) return std::nullopt;
  return map;
}

}  // namespace sim

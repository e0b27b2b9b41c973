#include "core/asynchronous/box_transfer.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace sim {
namespace {

/// The bytes of shared memory that the box has when its first is at `spot`.
std::vector<AsyncTransfer::Part> parts_of(const TensorBox& box, const Spot& spot) {
  if (box.bytes() == box.shared_bytes()) return {{spot.block, {spot.offset, box.bytes()}}};
  std::vector<AsyncTransfer::Part> parts;
  // The tensor's edge may lie within a place that the shadow tells from no other: both sides of it are one part.
  box.for_runs(spot.offset, [&](const BoxRun& run) {
    if (!parts.empty() && parts.back().span.end() == run.shared)
      parts.back().span.bytes += run.bytes;
    else
      parts.push_back({spot.block, {run.shared, run.bytes}});
  });
  return parts;
}

void fill(std::byte* to, uint32_t bytes, uint16_t bits) {
  for (uint32_t at = 0; at < bytes; at += sizeof bits)
    std::memcpy(to + at, &bits, std::min<uint32_t>(sizeof bits, bytes - at));
}

/// The bits of a single with ten bits of fraction: to nearest, ties to even. Every NaN becomes the same one.
u32 rounded_to_tf32(u32 bits) {
  constexpr u32 infinity = 0x7f800000, nan = 0x7fffe000, cut = 13;
  if ((bits & 0x7fffffffu) > infinity) return nan;
  return (bits + (1u << (cut - 1)) - 1 + (bits >> cut & 1)) & ~((1u << cut) - 1);
}

void round_to_tf32(std::byte* singles, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += sizeof(u32)) {
    u32 bits;
    std::memcpy(&bits, singles + at, sizeof bits);
    bits = rounded_to_tf32(bits);
    std::memcpy(singles + at, &bits, sizeof bits);
  }
}

void load_box(const TensorBox& box, const Spot& to) {
  box.for_runs(to.offset, [&](const BoxRun& run) {
    std::byte* const shared = to.block->shared.data() + run.shared;
    if (!run.inside) {
      fill(shared, run.bytes, box.fill_bits());
      return;
    }
    const auto* const global = reinterpret_cast<const std::byte*>(run.global);
    if (constexpr uint32_t piece = 16; run.bytes == piece)  // of a swizzled row: mostly
      std::memcpy(shared, global, piece);
    else
      std::memcpy(shared, global, run.bytes);
    if (box.rounds()) round_to_tf32(shared, run.bytes);
  });
}

void store_box(const TensorBox& box, const Spot& from, Reduction reduction) {
  box.for_runs(from.offset, [&](const BoxRun& run) {
    if (!run.inside) return;
    combine(reinterpret_cast<std::byte*>(run.global), from.block->shared.data() + run.shared, run.bytes, reduction);
  });
}

}  // namespace

AsyncTransfer load_of_box(const TensorBox& box, const Spot& to) {
  AsyncTransfer transfer;
  transfer.writes = parts_of(box, to);
  transfer.swizzle = static_cast<uint8_t>(box.swizzle_bytes());
  transfer.move = [box, to] { load_box(box, to); };
  return transfer;
}

AsyncTransfer store_of_box(const TensorBox& box, const Spot& from, Reduction reduction) {
  AsyncTransfer transfer;
  transfer.reads = parts_of(box, from);
  transfer.move = [box, from, reduction] { store_box(box, from, reduction); };
  return transfer;
}

}  // namespace sim

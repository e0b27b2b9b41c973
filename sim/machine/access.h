/// What every access to memory goes through: the addresses of a warp's lanes, checked and counted.
#pragma once

#include <cstdint>

#include "machine/block.h"
#include "watch/pattern.h"

namespace sim {

/// What Instruction::option says of a memory instruction.
enum class Place : uint8_t { global, constant, shared, local, parameter, generic };
constexpr uint16_t wide_address = 0x100;  ///< the base register has 64 bits

/// The lanes' addresses: base register plus offset.
void read_addresses(Warp& warp, uint32_t mask, uint32_t base, bool wide, int64_t offset, Lanes& lanes);

/// Checks the lanes' global or shared addresses and counts the access in `memo`'s pattern. Lanes that may not go on are
/// taken out of the mask.
void watch_global(Warp& warp, uint32_t memo, Lanes& lanes, bool store);
void watch_shared(Warp& warp, uint32_t memo, Lanes& lanes, Touch touch);

/// The same without counting and without the shadow.
Pattern& check_global(Warp& warp, uint32_t memo, Lanes& lanes, bool store);
const Pattern& check_shared(Warp& warp, uint32_t memo, Lanes& lanes, bool store);

/// Turns the shadow's objections into reports.
void object(Warp& warp, const Objection& objection);

}  // namespace sim

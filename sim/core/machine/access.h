/// What every access to memory goes through: the addresses of a warp's lanes, checked and counted.
#pragma once

#include <cstdint>

#include "core/checks/pattern.h"
#include "core/machine/cluster.h"

namespace sim {

/// An address as an instruction gives it: base register plus offset, in a place.
struct AddressOperand {
  uint32_t base = 0;
  bool wide = true;  ///< the base register has 64 bits
  Place place = Place::generic;
  int64_t offset = 0;
};

/// The addresses of the lanes of `mask`. Of shared memory, offsets in the block's own.
void read_addresses(Warp& warp, uint32_t mask, const AddressOperand& from, Lanes& lanes);

/// Addresses outside the mask repeat an active lane's: after the mask has shrunk they must again.
void fill_inactive(Lanes& lanes);

/// Checks the lanes' global or shared addresses and counts the access in `memo`'s pattern. Lanes that may not go on are
/// taken out of the mask.
void watch_global(Warp& warp, uint32_t memo, Lanes& lanes, Touch touch, Scope scope = Scope::none);
void watch_shared(Warp& warp, uint32_t memo, Lanes& lanes, Touch touch);
/// An access to the shared memory of another block of the cluster. It is checked, but counted nowhere: the counters
/// that the counts are compared with leave it out.
void watch_remote(Warp& warp, Block& owner, uint32_t memo, Lanes& lanes, Touch touch);

/// The same without counting and without the shadow.
Pattern& check_global(Warp& warp, uint32_t memo, Lanes& lanes, bool store);
const Pattern& check_shared(Warp& warp, uint32_t memo, Lanes& lanes, bool store);

/// Turns an objection of the shadow of `owner`'s memory into a report.
void report_objection(Warp& warp, const Block& owner, const Objection& objection);

}  // namespace sim

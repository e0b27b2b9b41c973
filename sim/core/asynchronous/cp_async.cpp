/// cp.async: copies from global to shared memory that go on while the warp does (PTX ISA 9.7.9.25.3).
///
/// A copy does nothing to shared memory before its thread waits for it. Until then the shadow holds its destination to
/// be under way, and whoever touches that is reported.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/machine/access.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

/// cp.async.
struct CopyAsync {
  enum class Limit : uint8_t { none, bytes, predicate };

  AddressOperand to, from;
  uint32_t limit_register;  ///< the bytes to read, or the predicate that says to read none
  uint32_t memo;            ///< of the destination's addresses; then the source's, of whole copies and of single bytes
  uint8_t bytes;            ///< written for each lane
  Limit limit;
  bool bypasses_l1;
};

/// Sectors of a copy that bypasses the L1, as its counters have them: what arrives of each 128-byte line is written to
/// shared memory by 32-byte sectors of the destination. A row of 128 bytes that begins in the middle of one takes five.
uint32_t bypassing_sectors(uint32_t mask, const Lanes& from, const Lanes& to) {
  std::array<std::pair<uint64_t, uint64_t>, warp_size> known;
  uint32_t count = 0;
  for_lanes(mask, [&](uint32_t lane) {
    const std::pair<uint64_t, uint64_t> sector(from.address[lane] / 128, to.address[lane] / 32);
    if (std::find(known.begin(), known.begin() + count, sector) == known.begin() + count) known[count++] = sector;
  });
  return count;
}

/// The bytes that each lane of the transfer reads.
void read_limits(Warp& warp, const CopyAsync& copy, Transfer& transfer) {
  transfer.read.fill(copy.bytes);
  if (copy.limit == CopyAsync::Limit::bytes) {
    const u32* const bytes = warp.lanes<u32>(copy.limit_register);
    for_lanes(transfer.lanes, [&](uint32_t lane) { transfer.read[lane] = std::min<u32>(bytes[lane], copy.bytes); });
  } else if (copy.limit == CopyAsync::Limit::predicate) {
    const u32 ignored = warp.predicate(copy.limit_register);
    for_lanes(transfer.lanes & ignored, [&](uint32_t lane) { transfer.read[lane] = 0; });
  }
}

/// Checks and counts what the lanes of `reading` ask of global memory. Lanes that may not read it get zeros.
void watch_source(Warp& warp, const CopyAsync& copy, uint32_t reading, const Lanes& to, const Lanes& from,
                  Transfer& transfer) {
  Tally& tally = warp.block.tallies.of[warp.here()];
  const uint64_t sectors_before = tally.global_sectors;
  uint32_t partly = 0;
  for_lanes(reading, [&](uint32_t lane) { partly |= u32{transfer.read[lane] != copy.bytes} << lane; });
  // A copy of fewer bytes than its width may end where the allocation does: its bytes are asked one by one.
  for_lanes(partly, [&](uint32_t lane) {
    Lanes bytes{.mask = 1u << lane, .bytes = 1, .address = {}};
    for (uint32_t byte = 0; byte < transfer.read[lane] && bytes.mask != 0; ++byte) {
      bytes.address.fill(from.address[lane] + byte);
      check_global(warp, copy.memo + 2, bytes, false);
    }
    if (bytes.mask == 0) transfer.read[lane] = 0;
  });
  Lanes whole = from;
  whole.mask = reading & ~partly;
  if (whole.mask != 0) {
    const uint32_t asked = whole.mask;
    fill_inactive(whole);
    watch_global(warp, copy.memo + 1, whole, false);
    for_lanes(asked & ~whole.mask, [&](uint32_t lane) { transfer.read[lane] = 0; });
  }
  tally.global_sectors += static_cast<uint32_t>(std::popcount(partly));
  if (whole.mask == 0) ++tally.global_requests;
  tally.copied_sectors +=
      copy.bypasses_l1 ? bypassing_sectors(reading, from, to) : tally.global_sectors - sectors_before;
}

void copy_async(Warp& warp, const CopyAsync& copy) {
  if (warp.exec == 0) return;
  Block& block = warp.block;
  const bool watch = block.launch.options.watch;
  Lanes to, from;
  to.bytes = from.bytes = copy.bytes;
  read_addresses(warp, warp.exec, copy.to, to);
  if (watch) {
    const Pattern& pattern = check_shared(warp, copy.memo, to, true);
    if (to.mask == 0) return;
    Tally& tally = block.tallies.of[warp.here()];
    tally.shared_wavefronts += pattern.wavefronts().count;
    tally.shared_conflicts += pattern.wavefronts().conflicts;
    if (warp.trace != nullptr) [[unlikely]]
      warp.trace->shared(warp.here(), warp.executions(), to, true);
    block.shadow.begin_copy(warp.agent, warp.here(), to, pattern,
                            [&](const Objection& objection) { report_objection(warp, block, objection); });
  }
  Transfer transfer{.lanes = to.mask, .bytes = copy.bytes};
  for_lanes(to.mask, [&](uint32_t lane) { transfer.destination[lane] = static_cast<u32>(to.address[lane]); });
  read_limits(warp, copy, transfer);
  uint32_t reading = 0;
  for_lanes(to.mask, [&](uint32_t lane) { reading |= u32{transfer.read[lane] != 0} << lane; });
  if (reading != 0) {  // else only zeros are written: nothing is asked of global memory
    read_addresses(warp, reading, copy.from, from);
    if (watch) watch_source(warp, copy, reading, to, from, transfer);
    transfer.source = from.address;
  }
  block.transfers.issue(warp.index, transfer);
}

void commit_group(Warp& warp, const Instruction&) { warp.block.transfers.commit_group(warp.index, warp.exec); }

/// cp.async.wait_group n: all but the last n groups that this lane committed have arrived.
struct WaitGroup {
  uint64_t left;
};

void wait_group(Warp& warp, const WaitGroup& wait) {
  warp.block.transfers.complete_groups(warp.index, warp.exec, wait.left);
}

/// cp.async.wait_all: whatever this lane started, committed or not.
void wait_all(Warp& warp, const Instruction&) { warp.block.transfers.wait_all(warp.index, warp.exec); }

void build_copy(Builder& builder) {
  const auto& operands = builder.operands();
  if (operands.size() != 3 && operands.size() != 4) builder.refuse("three or four operands are needed");
  const auto to = builder.address(operands[0]);
  const auto from = builder.address(operands[1]);
  const uint64_t bytes = builder.immediate(operands[2]);
  if (builder.has("cg") ? bytes != 16 : bytes != 4 && bytes != 8 && bytes != 16)
    builder.refuse("a copy of " + std::to_string(bytes) + " bytes");
  auto& made = builder.made<CopyAsync>();
  made.to = {to.base, to.wide, Place::shared, to.offset};
  made.from = {from.base, from.wide, Place::global, from.offset};
  made.bytes = static_cast<uint8_t>(bytes);
  made.bypasses_l1 = builder.has("cg");
  if (operands.size() == 4) {
    const auto& last = operands[3];
    const bool predicate = last.kind == ptx::Operand::Kind::reg && builder.width_of(last) == ptx::Width::predicate;
    made.limit_register = builder.source(last, predicate ? ptx::Width::predicate : ptx::Width::b32);
    made.limit = predicate ? CopyAsync::Limit::predicate : CopyAsync::Limit::bytes;
  }
  made.memo = builder.memos(3);
}

void build_wait_group(Builder& builder) {
  if (builder.operands().size() != 1) builder.refuse("one operand is needed");
  builder.made<WaitGroup>().left = builder.immediate(builder.operands()[0]);
}

}  // namespace

[[gnu::cold]] void add_asynchronous(Table& table) {
  table.add("cp.async.{ca,cg}.shared{,::cta}.global{,.L2::64B,.L2::128B,.L2::256B}",
            {"", Class::cp_async, handle<copy_async>, build_copy});
  table.add("cp.async.commit_group", {"", Class::cp_async, commit_group});
  table.add("cp.async.wait_group", {"", Class::cp_async, handle<wait_group>, build_wait_group});
  table.add("cp.async.wait_all", {"", Class::cp_async, wait_all});
}

}  // namespace sim

/// cp.async: copies from global to shared memory that go on while the warp does (PTX ISA 9.7.9.25.3).
///
/// A copy does nothing to shared memory before its thread waits for it. Until then the shadow holds its destination to
/// be under way, and whoever touches that is reported.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "front/decode.h"
#include "machine/access.h"
#include "machine/forms.h"

namespace sim {
namespace {

constexpr uint16_t wide_source = 0x200, source_is_size = 0x400, source_is_predicate = 0x800, bypasses_l1 = 0x1000;

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

/// Operands: 0 and 1 the bases of destination and source, 2 the source's offset, 3 the bytes to read or the predicate
/// that says to read none, 4 the memo of the source's addresses.
void copy_async(Warp& warp, const Instruction& instruction) {
  if (warp.exec == 0) return;
  Block& block = warp.block;
  const bool watch = block.launch.options.watch;
  Lanes to, from;
  to.bytes = from.bytes = instruction.bytes;
  read_addresses(warp, warp.exec, instruction.operand[0], instruction.option & wide_address, instruction.immediate, to);
  if (watch) {
    const Pattern& pattern = check_shared(warp, instruction.target, to, true);
    if (to.mask == 0) return;
    Tally& tally = block.tallies.of[warp.here()];
    tally.shared_wavefronts += pattern.wavefronts().count;
    tally.shared_conflicts += pattern.wavefronts().conflicts;
    block.shadow.begin_copy(warp.index, warp.here(), to, pattern,
                            [&warp](const Objection& objection) { object(warp, objection); });
  }

  Copy copy{.mask = to.mask,
            .site = warp.here(),
            .bytes = instruction.bytes,
            .to = {},
            .from = {},
            .copied = {},
            .group = block.committed[warp.index]};
  copy.copied.fill(instruction.bytes);
  const uint64_t sectors_before = watch ? block.tallies.of[warp.here()].global_sectors : 0;
  if (instruction.option & source_is_size) {
    const u32* const bytes = warp.lanes<u32>(instruction.operand[3]);
    for_lanes(copy.mask, [&](uint32_t lane) { copy.copied[lane] = std::min<u32>(bytes[lane], instruction.bytes); });
  } else if (instruction.option & source_is_predicate) {
    const u32 ignored = warp.predicate(instruction.operand[3]);
    for_lanes(copy.mask & ignored, [&](uint32_t lane) { copy.copied[lane] = 0; });
  }
  uint32_t reading = 0, partly = 0;
  for_lanes(copy.mask, [&](uint32_t lane) {
    reading |= u32{copy.copied[lane] != 0} << lane;
    partly |= u32{copy.copied[lane] != 0 && copy.copied[lane] != instruction.bytes} << lane;
  });
  if (reading != 0) {
    read_addresses(warp, reading, instruction.operand[1], instruction.option & wide_source,
                   static_cast<s32>(instruction.operand[2]), from);
    if (watch) {
      // A copy of fewer bytes than its width may end where the allocation does: its bytes are asked one by one.
      for_lanes(partly, [&](uint32_t lane) {
        Lanes bytes{.mask = 1u << lane, .bytes = 1, .address = {}};
        for (uint32_t byte = 0; byte < copy.copied[lane] && bytes.mask != 0; ++byte) {
          bytes.address.fill(from.address[lane] + byte);
          check_global(warp, instruction.operand[4] + 1, bytes, false);
        }
        if (bytes.mask == 0) copy.copied[lane] = 0;
      });
      Lanes whole = from;
      whole.mask = reading & ~partly;
      if (whole.mask != 0) {
        read_addresses(warp, whole.mask, instruction.operand[1], instruction.option & wide_source,
                       static_cast<s32>(instruction.operand[2]), whole);
        const uint32_t asked = whole.mask;
        watch_global(warp, instruction.operand[4], whole, false);
        for_lanes(asked & ~whole.mask, [&](uint32_t lane) { copy.copied[lane] = 0; });
      }
      if (partly != 0) block.tallies.of[warp.here()].global_sectors += static_cast<uint32_t>(std::popcount(partly));
      Tally& tally = block.tallies.of[warp.here()];
      if (whole.mask == 0) ++tally.global_requests;
      tally.copied_sectors += instruction.option & bypasses_l1 ? bypassing_sectors(reading, from, to)
                                                               : tally.global_sectors - sectors_before;
    }
    copy.from = from.address;
  }  // else only zeros are written: nothing is asked of global memory
  for_lanes(copy.mask, [&](uint32_t lane) { copy.to[lane] = static_cast<u32>(to.address[lane]); });
  block.copies[warp.index].push_back(copy);
}

/// Lands the copies of those lanes for which `is_done(copy, lane)`.
template <class IsDone>
void land(Warp& warp, IsDone is_done) {
  Block& block = warp.block;
  auto& copies = block.copies[warp.index];
  for (Copy& copy : copies) {
    uint32_t landed = 0;
    for_lanes(copy.mask & warp.exec, [&](uint32_t lane) {
      if (!is_done(copy, lane)) return;
      std::byte* const to = block.shared.data() + copy.to[lane];
      const auto* const from = reinterpret_cast<const std::byte*>(copy.from[lane]);
      if (copy.copied[lane] != 0) std::memcpy(to, from, copy.copied[lane]);
      std::memset(to + copy.copied[lane], 0, copy.bytes - copy.copied[lane]);
      if (block.launch.options.watch) block.shadow.end_copy(warp.index, lane, copy.to[lane], copy.bytes);
      landed |= 1u << lane;
    });
    copy.mask &= ~landed;
  }
  std::erase_if(copies, [](const Copy& copy) { return copy.mask == 0; });
}

void commit_group(Warp& warp, const Instruction&) {
  auto& committed = warp.block.committed[warp.index];
  for_lanes(warp.exec, [&](uint32_t lane) { ++committed[lane]; });
}

/// cp.async.wait_group n: all but the last n groups that this lane committed have landed.
void wait_group(Warp& warp, const Instruction& instruction) {
  const auto& committed = warp.block.committed[warp.index];
  const auto left = static_cast<uint64_t>(instruction.immediate);
  land(warp, [&](const Copy& copy, uint32_t lane) { return copy.group[lane] + left < committed[lane]; });
}

/// cp.async.wait_all: whatever this lane started, committed or not.
void wait_all(Warp& warp, const Instruction&) {
  land(warp, [](const Copy&, uint32_t) { return true; });
}

void build_copy(Builder& builder) {
  const auto& operands = builder.operands();
  if (operands.size() != 3 && operands.size() != 4) builder.refuse("three or four operands are needed");
  Instruction& made = builder.made();
  const auto to = builder.address(operands[0]);
  const auto from = builder.address(operands[1]);
  const uint64_t bytes = builder.immediate(operands[2]);
  if (builder.has("cg") ? bytes != 16 : bytes != 4 && bytes != 8 && bytes != 16)
    builder.refuse("a copy of " + std::to_string(bytes) + " bytes");
  if (from.offset != static_cast<s32>(from.offset)) builder.refuse("an offset of more than 31 bits");
  made.bytes = static_cast<uint8_t>(bytes);
  made.operand[0] = to.base;
  made.immediate = to.offset;
  made.operand[1] = from.base;
  made.operand[2] = static_cast<uint32_t>(from.offset);
  made.option = static_cast<uint16_t>((to.wide ? wide_address : 0) | (from.wide ? wide_source : 0) |
                                      (builder.has("cg") ? bypasses_l1 : 0));
  if (operands.size() == 4) {
    const auto& last = operands[3];
    const bool predicate = last.kind == ptx::Operand::Kind::reg && builder.width_of(last) == ptx::Width::predicate;
    made.operand[3] = builder.source(last, predicate ? ptx::Width::predicate : ptx::Width::b32);
    made.option |= predicate ? source_is_predicate : source_is_size;
  }
  made.target = builder.memo();
  made.operand[4] = builder.memo();
  builder.memo();  // of single bytes, after the one of whole copies
}

void build_wait_group(Builder& builder) {
  if (builder.operands().size() != 1) builder.refuse("one operand is needed");
  builder.made().immediate = static_cast<int64_t>(builder.immediate(builder.operands()[0]));
}

}  // namespace

void add_asynchronous(Table& table) {
  table.add("cp.async.{ca,cg}.shared{,::cta}.global{,.L2::64B,.L2::128B,.L2::256B}",
            {"", Class::cp_async, copy_async, build_copy});
  table.add("cp.async.commit_group", {"", Class::cp_async, commit_group});
  table.add("cp.async.wait_group", {"", Class::cp_async, wait_group, build_wait_group});
  table.add("cp.async.wait_all", {"", Class::cp_async, wait_all});
}

}  // namespace sim

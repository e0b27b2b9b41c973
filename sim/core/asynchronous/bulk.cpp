#include "core/asynchronous/bulk.h"

#include <bit>
#include <utility>

#include "core/base/readable.h"

namespace sim {

void refuse_bulk(Warp& warp, uint32_t lane, Finding kind, const std::string& why) {
  Block& block = warp.block;
  block.give_up(warp, kind, [&] { return block.what_it_does(warp, lane) + ": " + why; });
}

// --- decoding ---

Pointer pointer(Builder& builder, const ptx::Operand& written) {
  const auto address = builder.address(written);
  if (address.variable && address.variable->space == ptx::Space::param)  // by its generic address
    return {builder.constant(ptx::Width::b64, param_window + static_cast<uint64_t>(address.offset))};
  if (address.offset != static_cast<int32_t>(address.offset)) {
    if (!address.variable) builder.refuse("an offset of more than 32 bits");
    return {builder.constant(ptx::Width::b64, static_cast<uint64_t>(address.offset))};
  }
  return {address.base, static_cast<int32_t>(address.offset), address.wide};
}

uint32_t multicast_mask(Builder& builder, size_t next) {
  const auto& operands = builder.operands();
  const bool multicast = builder.has("multicast::cluster"), policy = builder.has("L2::cache_hint");
  if (operands.size() != next + multicast + policy)
    builder.refuse(std::to_string(next + multicast + policy) + " operands are needed");
  const uint32_t mask = multicast ? builder.source(operands[next], ptx::Width::b16) : 0;
  if (policy) builder.source(operands[next + multicast], ptx::Width::b64);
  return mask;
}

Reduce reduce_named(const Builder& builder) {
  if (builder.has("add")) return Reduce::add;
  if (builder.has("min")) return Reduce::min;
  if (builder.has("max")) return Reduce::max;
  if (builder.has("inc")) return Reduce::increase;
  if (builder.has("dec")) return Reduce::decrease;
  if (builder.has("and")) return Reduce::bit_and;
  return builder.has("or") ? Reduce::bit_or : Reduce::bit_xor;
}

// --- addresses ---

uint64_t address_of(Warp& warp, uint32_t lane, const Pointer& pointer) {
  const uint64_t base = pointer.wide ? warp.lanes<u64>(pointer.base)[lane] : warp.lanes<u32>(pointer.base)[lane];
  return base + static_cast<uint64_t>(int64_t{pointer.offset});
}

std::optional<Spot> shared_spot(Warp& warp, uint32_t lane, const Pointer& pointer, uint32_t bytes, uint32_t alignment,
                                const char* what) {
  const uint64_t address = address_of(warp, lane, pointer);
  const Reached reached = reach(warp.block, address < shared_window ? address + shared_window : address);
  const std::string place = std::string(what) + " at shared address " + hexadecimal(address);
  if (reached.place != Place::shared || !reached.block || reached.offset > reached.block->shared.size() ||
      !reached.block->holds({static_cast<uint32_t>(reached.offset), bytes})) {
    refuse_bulk(warp, lane, Finding::out_of_bounds,
                place + " has " + std::to_string(bytes) + " bytes, which no block of the cluster has there");
    return std::nullopt;
  }
  if (reached.offset % alignment != 0) {
    refuse_bulk(warp, lane, Finding::misaligned, place + " is no multiple of " + std::to_string(alignment));
    return std::nullopt;
  }
  return Spot{reached.block, static_cast<uint32_t>(reached.offset)};
}

std::optional<AsyncTransfer::Signal> signal_of(Warp& warp, uint32_t lane, const Pointer& pointer, const Spot& data,
                                               uint32_t bytes) {
  const auto spot = shared_spot(warp, lane, pointer, 8, 8, "the mbarrier");
  if (!spot) return std::nullopt;
  if (spot->block != data.block) {
    refuse_bulk(warp, lane, Finding::mbarrier,
                "the mbarrier is in block " + spot->block->name() + ", the data go to block " + data.block->name());
    return std::nullopt;
  }
  return AsyncTransfer::Signal{spot->block, spot->offset, bytes};
}

namespace {

/// The same offset in another block of the cluster.
std::optional<Spot> in_block(Warp& warp, uint32_t lane, uint32_t rank, const Spot& spot) {
  const auto& blocks = warp.block.cluster.blocks();
  if (rank >= blocks.size()) {
    refuse_bulk(warp, lane, Finding::out_of_bounds,
                "the mask names block " + std::to_string(rank) + " of a cluster of " + std::to_string(blocks.size()));
    return std::nullopt;
  }
  return Spot{blocks[rank].get(), spot.offset};
}

}  // namespace

uint32_t receiver_mask(Warp& warp, uint32_t lane, bool multicast, uint32_t mask, const Spot& to) {
  return multicast ? warp.lanes<const u16>(mask)[lane] : 1u << to.block->rank;
}

void issue_to_receivers(Warp& warp, uint32_t lane, uint32_t mask, const Spot& to, const AsyncTransfer::Signal& signal,
                        uint64_t read, const std::function<AsyncTransfer(const Spot&)>& copy_to) {
  uint64_t receivers = 0;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const auto spot = in_block(warp, lane, static_cast<uint32_t>(std::countr_zero(left)), to);
    const Mbarrier* const told = spot ? spot->block->mbarriers.used(warp, lane, signal.mbarrier, false) : nullptr;
    if (!told) return;
    if (warp.block.launch.options.watch) spot->block->mbarriers.check_init_fence(warp, lane, *told);
    AsyncTransfer transfer = copy_to(*spot);
    transfer.signal = {spot->block, signal.mbarrier, signal.bytes};
    warp.block.cluster.async.issue(warp, lane, std::move(transfer));
    ++receivers;
  }
  if (!warp.block.launch.options.watch) return;
  Tally& tally = warp.block.tallies.of[warp.here()];
  tally.bulk_delivered += receivers * signal.bytes;
  if (receivers > 1) tally.bulk_saved += (receivers - 1) * read;
}

void count_bulk(Warp& warp, uint64_t bytes, const SectorCount& sectors) {
  if (!warp.block.launch.options.watch) return;
  Tally& tally = warp.block.tallies.of[warp.here()];
  ++tally.bulk_requests;
  tally.bulk_bytes += bytes;
  tally.bulk_sectors += sectors.count();
}

bool check_bulk_global(Warp& warp, uint32_t lane, uint64_t address, uint64_t bytes, bool store,
                       const std::string& of_what) {
  const Allocations& allocations = warp.block.launch.allocations;
  const auto range = allocations.holding(address);
  if (range && range->holds(address, address + bytes) && !(store && range->read_only)) return true;
  // The first byte that is wrong.
  const uint64_t wrong = range && range->end < address + bytes ? range->end : address;
  const std::string where = range && store && range->read_only ? "in constant memory" : allocations.describe(wrong);
  refuse_bulk(warp, lane, Finding::out_of_bounds,
              std::string(store ? "writes " : "reads ") + std::to_string(bytes) + " bytes at global address " +
                  hexadecimal(address) + ", " + where + of_what);
  return false;
}

}  // namespace sim

/// What loads, stores and atomics share: which lanes go where, checked, counted and ordered.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <string>

#include "core/machine/access.h"
#include "core/warp/decode.h"

namespace sim {

/// A load, a store or an atomic.
struct Access {
  AddressOperand address;
  std::array<uint32_t, 4> registers;  ///< the vector's; of an atomic: the old value, the operand, that of cas
  uint32_t memo;                      ///< number of its address pattern
  uint8_t count, bytes;               ///< elements of the vector, bytes of one
  Order order;
  Scope scope;
  bool swaps;  ///< an atomic that compares
};

/// Where the host finds the lanes' bytes: address + origin + lane × stride.
struct Bytes {
  uintptr_t origin = 0;
  uintptr_t stride = 0;
  Pattern::Spread spread = Pattern::Spread::any;
  bool of_one_core = false;  ///< no other one gets at them: the host runs a cluster on one
  std::byte* at(const Lanes& lanes, uint32_t lane) const {
    return reinterpret_cast<std::byte*>(origin + lane * stride + lanes.address[lane]);
  }
};

/// Local memory and parameters: a lane's own bytes, of which no counter speaks.
inline void check_private(Warp& warp, Lanes& lanes, uint64_t size, const char* name) {
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const uint64_t address = lanes.address[lane];
    const bool inside = address <= size && lanes.bytes <= size - address;
    if (inside && address % lanes.bytes == 0) return;
    Block& block = warp.block;
    block.report(inside ? Finding::misaligned : Finding::out_of_bounds, warp.here(), nowhere, [&] {
      return block.what_it_does(warp, lane) + ": " + std::to_string(lanes.bytes) + " bytes at " + name + " address " +
             std::to_string(address) + " of " + std::to_string(size);
    });
    lanes.mask &= ~(1u << lane);
  });
}

/// An address with the rank of a block that the cluster does not have.
inline void refuse_outside_cluster(Warp& warp, uint64_t address, uint32_t lane) {
  Block& block = warp.block;
  block.report(Finding::out_of_bounds, warp.here(), nowhere, [&] {
    return block.what_it_does(warp, lane) + ": the address has rank " +
           std::to_string(rank_of(within_window(address))) + "; the cluster has " +
           std::to_string(block.launch.cluster.count()) + " blocks";
  });
}

/// What strong accesses to flags order: the half of stores, before the access, or that of loads, after it.
inline void synchronise(Warp& warp, Place place, const Block& owner, const Lanes& lanes, Touch touch, Order order,
                        Scope scope, bool loads) {
  if (touch == (loads ? Touch::strong_write : Touch::strong_read)) return;
  if (place != Place::global && place != Place::shared) return;
  Clocks& clocks = warp.block.shadow.clocks;
  if (place == Place::shared) scope = std::min(scope, Scope::cluster);  // nobody else gets there
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const uint64_t address = lanes.address[lane] + (place == Place::shared ? shared_window + owner.shared_base() : 0);
    if (loads) {
      clocks.strong_load(warp.agent, address, order, scope);
    } else {
      const uint32_t who = warp.acting() == all_lanes ? all_lanes : 1u << lane;
      clocks.strong_store(warp.agent, address, order, touch == Touch::update, who, scope);
    }
  });
}

/// Checks and counts the access of `lanes`, all in one place, and says where its bytes are. `owner`: of the shared
/// memory, where it is that.
[[gnu::always_inline]] inline Bytes check_and_count(Warp& warp, uint32_t memo, Place place, Block& owner, Lanes& lanes,
                                                    Touch touch, Scope scope) {
  Block& block = warp.block;
  const bool watch = block.launch.options.watch;
  const bool store = writes(touch);
  const auto spread = [&] { return watch ? block.memos[memo].spread() : Pattern::Spread::any; };  // once it is checked
  switch (place) {
    case Place::global:
      if (watch) watch_global(warp, memo, lanes, touch, scope);
      return {0, 0, spread()};
    case Place::constant:
      if (watch) check_global(warp, memo, lanes, store);
      return {0, 0, spread()};
    case Place::shared:
      if (watch) {
        if (&owner == &block)
          watch_shared(warp, memo, lanes, touch);
        else
          watch_remote(warp, owner, memo, lanes, touch);
      }
      return {reinterpret_cast<uintptr_t>(owner.shared.data()), 0, spread(), true};
    case Place::parameter:
      check_private(warp, lanes, block.launch.parameters.size(), "parameter");
      return {reinterpret_cast<uintptr_t>(block.launch.parameters.data()), 0};
    default:
      check_private(warp, lanes, block.program.local_bytes, "local");
      return {reinterpret_cast<uintptr_t>(block.local(warp)), block.program.local_bytes};
  }
}

/// Where other cores run blocks of the launch, strong writes are noted in the order in which they are done.
inline std::mutex order_of_strong_writes;

/// Calls body(lanes, bytes) for the lanes' access, one place at a time where the address is generic.
template <Touch touch, class Body>
void access(Warp& warp, const Access& instruction, Body body) {
  if (warp.exec == 0) return;
  constexpr bool is_weak = touch == Touch::read || touch == Touch::write;
  const Order order = is_weak ? Order::weak : instruction.order;
  if (!is_weak && touch != Touch::strong_write && order != Order::weak) warp.poll();
  const auto in = [&](Place place, Block& owner, Lanes& lanes) {
    std::unique_lock<std::mutex> lock;
    if (order != Order::weak && place == Place::global && touch != Touch::strong_read) {
      if (const Options& options = warp.block.launch.options; options.watch && options.threads > 1)
        lock = std::unique_lock(order_of_strong_writes);
    }
    const Bytes bytes = check_and_count(warp, instruction.memo, place, owner, lanes, touch, instruction.scope);
    const bool orders = order != Order::weak && warp.block.launch.options.watch &&
                        !(order == Order::relaxed && warp.block.shadow.clocks.is_idle(warp.agent));
    if (orders) synchronise(warp, place, owner, lanes, touch, order, instruction.scope, false);
    if (lanes.mask != 0) body(lanes, bytes);
    if (orders) synchronise(warp, place, owner, lanes, touch, order, instruction.scope, true);
    if (!writes(touch) || place != Place::global) return;
    DoubtfulRaces& doubtful = warp.block.cluster.doubtful;
    if (doubtful.any_overwritten()) [[unlikely]]
      doubtful.settle();
    if (touch == Touch::update && instruction.swaps && doubtful.any_unverified()) doubtful.verify(warp.agent, lanes);
  };
  Lanes lanes;
  lanes.bytes = uint32_t{instruction.bytes} * instruction.count;
  read_addresses(warp, warp.exec, instruction.address, lanes);
  const Place written = instruction.address.place;
  if (written != Place::generic && written != Place::cluster) return in(written, warp.block, lanes);
  const uint64_t window = written == Place::cluster ? shared_window : 0;
  for (uint32_t left = lanes.mask; left != 0;) {
    const Reached first = reach(warp.block, lanes.address[first_lane(left)] + window);
    Lanes alike{.mask = 0, .bytes = lanes.bytes, .address = {}};
    for_lanes(left, [&](uint32_t lane) {
      const Reached reached = reach(warp.block, lanes.address[lane] + window);
      alike.mask |= u32{reached.place == first.place && reached.block == first.block} << lane;
      alike.address[lane] = reached.offset;
    });
    left &= ~alike.mask;
    fill_inactive(alike);
    if (!first.block) {
      refuse_outside_cluster(warp, lanes.address[first_lane(alike.mask)], first_lane(alike.mask));
      continue;
    }
    in(first.place, *first.block, alike);
  }
}

/// What add_memory adds of atom and red.
void add_atomics(Table& table);

// --- decoding ---

struct MemoryType {
  uint8_t bytes;
  bool is_signed;
};

/// The type, last of the modifiers: f32, bf16, f16x2.
inline MemoryType memory_type(const std::string& opcode) {
  const std::string type = opcode.substr(opcode.rfind('.') + 1);
  const int bits = std::atoi(type.c_str() + type.find_first_of("0123456789")) * (type.ends_with("x2") ? 2 : 1);
  return {static_cast<uint8_t>(bits / 8), type[0] == 's'};
}

inline Place place_of(Builder& builder, const Builder::Address& address) {
  if (builder.has("shared::cluster")) return Place::cluster;
  if (builder.has("global")) return Place::global;
  if (builder.has("const")) return Place::constant;
  if (builder.has("shared") || builder.has("shared::cta")) return Place::shared;
  if (builder.has("local")) return Place::local;
  if (!builder.has("param")) return Place::generic;
  const bool of_a_call = address.variable && address.variable_index >= builder.parameter_count();
  return of_a_call ? Place::local : Place::parameter;
}

/// The order that the opcode gives an access of a space that threads share.
inline Order order_of(Builder& builder, Place place) {
  if (place == Place::local || place == Place::parameter || place == Place::constant) return Order::weak;
  if (builder.has("acq_rel")) return Order::acquire_release;
  if (builder.has("acquire")) return Order::acquire;
  if (builder.has("release")) return Order::release;
  return builder.has("relaxed") || builder.has("volatile") ? Order::relaxed : Order::weak;
}

/// Whom the opcode lets a strong access reach: all where it does not say.
inline Scope scope_of(Builder& builder, Order order) {
  if (order == Order::weak) return Scope::none;
  const Scope scope = builder.has("cta") ? Scope::cta : builder.has("cluster") ? Scope::cluster : Scope::gpu;
  if (order != Order::relaxed && scope == Scope::gpu) builder.program().syncs_grid = true;
  return scope;
}

/// The race detector tells apart what the smallest access of shared memory does; of global memory, up to four bytes.
inline void note_granule(Builder& builder, Place place, uint32_t bytes) {
  if (place == Place::global || place == Place::generic)
    builder.program().global_granule_bytes = std::min(builder.program().global_granule_bytes, bytes);
  if (place == Place::shared || place == Place::generic || place == Place::cluster)
    builder.program().granule_bytes = std::min(builder.program().granule_bytes, bytes);
}

inline AddressOperand address_operand(Builder& builder, const ptx::Operand& written) {
  const auto address = builder.address(written);
  return {address.base, address.wide, place_of(builder, address), address.offset};
}

}  // namespace sim

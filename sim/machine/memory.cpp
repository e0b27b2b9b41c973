/// Loads, stores, atomics and address conversions (PTX ISA 9.7.9.8 to 9.7.9.13, 9.7.13).
#include <algorithm>
#include <atomic>
#include <cstring>

#include "machine/access.h"
#include "machine/decode.h"
#include "machine/forms.h"

namespace sim {
namespace {

/// A load, a store or an atomic.
struct Access {
  AddressOperand address;
  std::array<uint32_t, 4> registers;  ///< the vector's; of an atomic: the old value, the operand, that of cas
  uint32_t memo;                      ///< number of its address pattern
  uint8_t count, bytes;               ///< elements of the vector, bytes of one
  Order order;
};

/// Where the host finds the lanes' bytes: address + origin + lane × stride.
struct Bytes {
  uintptr_t origin = 0;
  uintptr_t stride = 0;
  std::byte* at(const Lanes& lanes, uint32_t lane) const {
    return reinterpret_cast<std::byte*>(origin + lane * stride + lanes.address[lane]);
  }
};

/// Local memory and parameters: a lane's own bytes, of which no counter speaks.
void check_private(Warp& warp, Lanes& lanes, uint64_t size, const char* name) {
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const uint64_t address = lanes.address[lane];
    const bool inside = address <= size && lanes.bytes <= size - address;
    if (inside && address % lanes.bytes == 0) return;
    Block& block = warp.block;
    block.report(inside ? Finding::misaligned : Finding::out_of_bounds, warp.here(), nowhere, [&] {
      return block.program.sites[warp.here()].text + " at " + block.where(warp.here()) + " by " +
             block.thread(warp, lane) + ": " + std::to_string(lanes.bytes) + " bytes at " + name + " address " +
             std::to_string(address) + " of " + std::to_string(size);
    });
    lanes.mask &= ~(1u << lane);
  });
}

/// An address with the rank of a block that the cluster does not have.
void refuse_outside_cluster(Warp& warp, uint64_t address, uint32_t lane) {
  Block& block = warp.block;
  block.report(Finding::out_of_bounds, warp.here(), nowhere, [&] {
    return block.what_it_does(warp, lane) + ": the address has rank " +
           std::to_string(rank_of(within_window(address))) + "; the cluster has " +
           std::to_string(block.launch.cluster.count()) + " blocks";
  });
}

/// What strong accesses to flags order.
void synchronise(Warp& warp, Place place, const Block& owner, const Lanes& lanes, Touch touch, Order order) {
  if (place != Place::global && place != Place::shared) return;
  Clocks& clocks = warp.block.shadow.clocks;
  for_lanes(lanes.mask, [&](uint32_t lane) {
    const uint64_t address = lanes.address[lane] + (place == Place::shared ? shared_window + owner.shared_base() : 0);
    if (touch != Touch::strong_write) clocks.strong_load(warp.agent, address, order);
    if (touch != Touch::strong_read) {
      const uint32_t who = warp.acting() == all_lanes ? all_lanes : 1u << lane;
      clocks.strong_store(warp.agent, address, order, touch == Touch::update, who);
    }
  });
}

/// Checks and counts the access of `lanes`, all in one place, and says where its bytes are. `owner`: of the shared
/// memory, where it is that.
Bytes check_and_count(Warp& warp, uint32_t memo, Place place, Block& owner, Lanes& lanes, Touch touch) {
  Block& block = warp.block;
  const bool watch = block.launch.options.watch;
  const bool store = touch != Touch::read && touch != Touch::strong_read;
  switch (place) {
    case Place::global:
      if (watch) watch_global(warp, memo, lanes, store);
      return {};
    case Place::constant:
      if (watch) check_global(warp, memo, lanes, store);
      return {};
    case Place::shared:
      if (watch) {
        if (&owner == &block)
          watch_shared(warp, memo, lanes, touch);
        else
          watch_remote(warp, owner, memo, lanes, touch);
      }
      return {reinterpret_cast<uintptr_t>(owner.shared.data()), 0};
    case Place::parameter:
      check_private(warp, lanes, block.launch.parameters.size(), "parameter");
      return {reinterpret_cast<uintptr_t>(block.launch.parameters.data()), 0};
    default:
      check_private(warp, lanes, block.program.local_bytes, "local");
      return {reinterpret_cast<uintptr_t>(block.local(warp)), block.program.local_bytes};
  }
}

/// Calls body(lanes, bytes) for the lanes' access, one place at a time where the address is generic.
template <class Body>
void access(Warp& warp, const Access& instruction, Touch touch, Body body) {
  if (warp.exec == 0) return;
  const Order order = instruction.order;
  if (order != Order::weak) {
    if (touch == Touch::read) touch = Touch::strong_read;
    if (touch == Touch::write) touch = Touch::strong_write;
    if (touch != Touch::strong_write) warp.poll();
  }
  const auto in = [&](Place place, Block& owner, Lanes& lanes) {
    const Bytes bytes = check_and_count(warp, instruction.memo, place, owner, lanes, touch);
    if (order != Order::weak && warp.block.launch.options.watch) synchronise(warp, place, owner, lanes, touch, order);
    if (lanes.mask != 0) body(lanes, bytes);
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

/// A value of type M in memory, widened by its sign to a register of type R.
template <class M, class R>
void load(Warp& warp, const Access& instruction) {
  access(warp, instruction, Touch::read, [&](const Lanes& lanes, const Bytes& bytes) {
    for (uint32_t element = 0; element < instruction.count; ++element) {
      R* const to = warp.lanes<R>(instruction.registers[element]);
      for_lanes(lanes.mask, [&lanes, bytes, to, element](uint32_t lane) {
        M value;
        std::memcpy(&value, bytes.at(lanes, lane) + element * sizeof(M), sizeof(M));
        to[lane] = static_cast<R>(value);
      });
    }
  });
}

template <class M, class R>
void store(Warp& warp, const Access& instruction) {
  access(warp, instruction, Touch::write, [&](const Lanes& lanes, const Bytes& bytes) {
    for (uint32_t element = 0; element < instruction.count; ++element) {
      const R* const from = warp.lanes<const R>(instruction.registers[element]);
      for_lanes(lanes.mask, [&lanes, bytes, from, element](uint32_t lane) {
        const M value = static_cast<M>(from[lane]);
        std::memcpy(bytes.at(lanes, lane) + element * sizeof(M), &value, sizeof(M));
      });
    }
  });
}

/// Parameters are the same for every lane: the usual load of one needs no addresses.
template <class R>
void load_parameter(Warp& warp, const Access& instruction) {
  for (uint32_t element = 0; element < instruction.count; ++element) {
    R value;
    std::memcpy(&value, warp.block.launch.parameters.data() + instruction.address.offset + element * sizeof(R),
                sizeof(R));
    R* const to = warp.lanes<R>(instruction.registers[element]);
    for_lanes(warp.exec, [=](uint32_t lane) { to[lane] = value; });
  }
}

// --- decoding ---

struct MemoryType {
  uint8_t bytes;
  bool is_signed;
};

/// The type, last of the modifiers.
MemoryType memory_type(const std::string& opcode) {
  const std::string type = opcode.substr(opcode.rfind('.') + 1);
  const int bits = std::atoi(type.c_str() + 1);
  return {static_cast<uint8_t>(bits / 8), type[0] == 's'};
}

Place place_of(Builder& builder, const Builder::Address& address) {
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
Order order_of(Builder& builder, Place place) {
  if (place == Place::local || place == Place::parameter || place == Place::constant) return Order::weak;
  if (builder.has("acq_rel")) return Order::acquire_release;
  if (builder.has("acquire")) return Order::acquire;
  if (builder.has("release")) return Order::release;
  return builder.has("relaxed") || builder.has("volatile") ? Order::relaxed : Order::weak;
}

AddressOperand address_operand(Builder& builder, const ptx::Operand& written) {
  const auto address = builder.address(written);
  return {address.base, address.wide, place_of(builder, address), address.offset};
}

/// Address, type and vector of a load or store; the register operands are `data`.
void build_access(Builder& builder, const ptx::Operand& where, const ptx::Operand& data, bool is_store) {
  auto& made = builder.made<Access>();
  made.address = address_operand(builder, where);
  const Place place = made.address.place;
  const bool names_variable = builder.address(where).variable;
  int64_t& offset = made.address.offset;
  if (place == Place::parameter && !names_variable) offset -= static_cast<int64_t>(param_window);
  made.order = order_of(builder, place);
  made.memo = builder.memo();

  const MemoryType type = memory_type(builder.written().opcode);
  made.bytes = type.bytes;
  made.count = builder.has("v2") ? 2 : builder.has("v4") ? 4 : 1;
  if (made.bytes * made.count > 16) builder.refuse("more than 128 bits a lane");
  const std::vector<ptx::Operand> single{data};
  const auto& elements = data.kind == ptx::Operand::Kind::vector ? data.parts : single;
  if (elements.size() != made.count) builder.refuse("a list of " + std::to_string(made.count) + " registers is needed");
  if (place == Place::shared || place == Place::generic || place == Place::cluster)
    builder.program().granule_bytes = std::min<uint32_t>(builder.program().granule_bytes, type.bytes);

  // The register may be wider than the memory: its width picks the handler. A constant is as wide as the memory.
  auto width = static_cast<ptx::Width>(std::max<uint8_t>(type.bytes, 2));
  for (const ptx::Operand& element : elements) {
    if (element.kind == ptx::Operand::Kind::reg) width = builder.width_of(element);
  }
  if (static_cast<uint8_t>(width) < type.bytes) builder.refuse("a register too narrow");
  for (size_t i = 0; i < elements.size(); ++i) {
    made.registers[i] = is_store ? builder.source(elements[i], width) : builder.destination(elements[i], width);
  }

  const auto pick = [&](auto memory) -> Handler {
    using M = decltype(memory);
    switch (width) {
      case ptx::Width::b16:
        if constexpr (sizeof(M) <= 2) return is_store ? handle<store<M, u16>> : handle<load<M, u16>>;
        break;
      case ptx::Width::b32:
        if constexpr (sizeof(M) <= 4) return is_store ? handle<store<M, u32>> : handle<load<M, u32>>;
        break;
      case ptx::Width::b64: return is_store ? handle<store<M, u64>> : handle<load<M, u64>>;
      default: break;
    }
    builder.refuse("a register of the wrong width");
  };
  switch (type.bytes) {
    case 1: builder.run_by(type.is_signed ? pick(s8{}) : pick(u8{})); break;
    case 2: builder.run_by(type.is_signed ? pick(s16{}) : pick(u16{})); break;
    case 4: builder.run_by(type.is_signed ? pick(s32{}) : pick(u32{})); break;
    case 8: builder.run_by(type.is_signed ? pick(s64{}) : pick(u64{})); break;
    default: builder.refuse("a type that memory does not hold");
  }
  const bool usual_parameter =
      place == Place::parameter && names_variable && !is_store && static_cast<uint8_t>(width) == type.bytes;
  if (usual_parameter && offset >= 0 && offset + made.bytes * made.count <= builder.program().parameter_bytes) {
    if (offset % (made.bytes * made.count) != 0) builder.refuse("a misaligned parameter");
    builder.run_by(type.bytes == 2   ? handle<load_parameter<u16>>
                   : type.bytes == 4 ? handle<load_parameter<u32>>
                                     : handle<load_parameter<u64>>);
  }
}

void build_load(Builder& builder) {
  if (builder.operands().size() != 2) builder.refuse("a destination and an address are needed");
  build_access(builder, builder.operands()[1], builder.operands()[0], false);
}

void build_store(Builder& builder) {
  if (builder.operands().size() != 2) builder.refuse("an address and a source are needed");
  build_access(builder, builder.operands()[0], builder.operands()[1], true);
}

// --- atomics ---

/// atom and red: operand 0 the old value (none for red), 1 the operand, 2 that of cas. One lane after the other.
template <class T, auto combine>
void atomic(Warp& warp, const Access& instruction) {
  access(warp, instruction, Touch::update, [&](const Lanes& lanes, const Bytes& bytes) {
    T* const old = warp.lanes<T>(instruction.registers[0]);
    const T* const b = warp.lanes<T>(instruction.registers[1]);
    const T* const c = warp.lanes<T>(instruction.registers[2]);
    for_lanes(lanes.mask, [&](uint32_t lane) {
      std::atomic_ref<T> cell(*reinterpret_cast<T*>(bytes.at(lanes, lane)));
      const T operand = b[lane], other = c[lane];
      T before = cell.load();
      while (!cell.compare_exchange_weak(before, combine(before, operand, other))) {
      }
      old[lane] = before;
    });
  });
}

void build_atomic(Builder& builder) {
  const bool reduces = builder.written().opcode.starts_with("red");
  const size_t first = reduces ? 0 : 1;
  const auto& operands = builder.operands();
  const bool swaps = builder.has("cas");
  if (operands.size() != first + (swaps ? 3 : 2)) builder.refuse("a wrong number of operands");
  auto& made = builder.made<Access>();
  made.address = address_operand(builder, operands[first]);
  made.order = std::max(order_of(builder, made.address.place), Order::relaxed);  // as it is where none is given
  made.memo = builder.memo();
  made.count = 1;
  made.bytes = memory_type(builder.written().opcode).bytes;
  const auto width = static_cast<ptx::Width>(made.bytes);
  made.registers[0] =
      builder.destination(reduces ? ptx::Operand{.kind = ptx::Operand::Kind::sink} : operands[0], width);
  made.registers[1] = builder.source(operands[first + 1], width);
  made.registers[2] = swaps ? builder.source(operands[first + 2], width) : made.registers[1];
}

template <class T, auto combine>
void add_atomic(Table& table, const std::string& operation_and_type) {
  const std::string rest =
      "{,.cta,.cluster,.gpu,.sys}{,.global,.shared,.shared::cta,.shared::cluster}." + operation_and_type;
  const Form form{"", Class::atomic, handle<atomic<T, combine>>, build_atomic};
  table.add("atom{,.relaxed,.acquire,.release,.acq_rel}" + rest, form);
  table.add("red{,.relaxed,.release}" + rest, form);
}

void add_atomics(Table& table) {
  add_atomic<u32, [](u32 a, u32 b, u32) { return a + b; }>(table, "add.{u32,s32}");
  add_atomic<u64, [](u64 a, u64 b, u64) { return a + b; }>(table, "add.{u64,s64}");
  add_atomic<f32, [](f32 a, f32 b, f32) { return a + b; }>(table, "add.f32");
  add_atomic<f64, [](f64 a, f64 b, f64) { return a + b; }>(table, "add.f64");
  add_atomic<u32, [](u32 a, u32 b, u32) { return std::min(a, b); }>(table, "min.u32");
  add_atomic<u32, [](u32 a, u32 b, u32) { return std::max(a, b); }>(table, "max.u32");
  add_atomic<s32, [](s32 a, s32 b, s32) { return std::min(a, b); }>(table, "min.s32");
  add_atomic<s32, [](s32 a, s32 b, s32) { return std::max(a, b); }>(table, "max.s32");
  add_atomic<u64, [](u64 a, u64 b, u64) { return std::min(a, b); }>(table, "min.u64");
  add_atomic<u64, [](u64 a, u64 b, u64) { return std::max(a, b); }>(table, "max.u64");
  add_atomic<s64, [](s64 a, s64 b, s64) { return std::min(a, b); }>(table, "min.s64");
  add_atomic<s64, [](s64 a, s64 b, s64) { return std::max(a, b); }>(table, "max.s64");
  add_atomic<u32, [](u32 a, u32 b, u32) { return a & b; }>(table, "and.b32");
  add_atomic<u32, [](u32 a, u32 b, u32) { return a | b; }>(table, "or.b32");
  add_atomic<u32, [](u32 a, u32 b, u32) { return a ^ b; }>(table, "xor.b32");
  add_atomic<u32, [](u32, u32 b, u32) { return b; }>(table, "exch.b32");
  add_atomic<u64, [](u64, u64 b, u64) { return b; }>(table, "exch.b64");
  add_atomic<u32, [](u32 a, u32 b, u32 c) { return a == b ? c : a; }>(table, "cas.b32");
  add_atomic<u64, [](u64 a, u64 b, u64 c) { return a == b ? c : a; }>(table, "cas.b64");
  add_atomic<u32, [](u32 a, u32 b, u32) { return a >= b ? 0 : a + 1; }>(table, "inc.u32");
  add_atomic<u32, [](u32 a, u32 b, u32) { return a == 0 || (a > b) ? b : a - 1; }>(table, "dec.u32");
}

// --- addresses ---

/// cvta: shared, local and parameter addresses have windows of their own among the generic ones; global ones are what
/// they are.
void add_conversions(Table& table) {
  table.lanewise<[](u64 a) { return a; }>("cvta{,.to}.{global,const}.u64", Class::move);
  table.lanewise<[](u64 a) { return a + shared_window; }>("cvta.shared{,::cta,::cluster}.u64", Class::move);
  table.lanewise<[](u64 a) { return a - shared_window; }>("cvta.to.shared{,::cta,::cluster}.u64", Class::move);
  table.lanewise<[](u64 a) { return a + local_window; }>("cvta.local.u64", Class::move);
  table.lanewise<[](u64 a) { return a - local_window; }>("cvta.to.local.u64", Class::move);
  table.lanewise<[](u64 a) { return a; }>("cvta{,.to}.param.u64",
                                          Class::move);  // a parameter's address is a generic one already
  table.lanewise<[](u64 a) -> bool { return (a >> 56) == (shared_window >> 56); }>("isspacep.shared::cluster",
                                                                                   Class::predicate);
  table.lanewise<[](u64 a) -> bool { return (a >> 56) == (local_window >> 56); }>("isspacep.local", Class::predicate);
  table.lanewise<[](u64 a) -> bool { return (a >> 56) == (0); }>("isspacep.global", Class::predicate);
}

}  // namespace

void add_memory(Table& table) {
  const std::string types = "{b8,u8,s8,b16,u16,s16,b32,u32,s32,f32,b64,u64,s64,f64}";
  const std::string vector = "{,.v2,.v4}.";
  // Cache operators change when others see the data, never what this thread gets.
  const std::string levels = "{,.L2::64B,.L2::128B,.L2::256B}";
  table.add("ld{,.ca,.cg,.cs,.lu,.cv,.nc,.ca.nc,.cg.nc,.cs.nc,.volatile,.weak}.global" + levels + vector + types,
            {"", Class::load_global, nullptr, build_load});
  table.add(
      "ld.global{.ca,.cg,.cs,.lu,.cv,.nc,.ca.nc,.cg.nc,.cs.nc,.L1::no_allocate,.nc.L1::no_allocate,.L1::evict_last,.nc."
      "L1::evict_last,.nc.L1::evict_first}" +
          levels + vector + types,
      {"", Class::load_global, nullptr, build_load});
  table.add(
      "ld.global{.nc,}"
      "{.L2::64B,.L2::128B,.L2::256B}" +
          vector + types,
      {"", Class::load_global, nullptr, build_load});
  table.add("ld{,.volatile}.shared{,::cta,::cluster}" + vector + types, {"", Class::load_shared, nullptr, build_load});
  table.add("ld{,.volatile}" + vector + types,
            {"", Class::load_global, nullptr, build_load});  // generic: counted where it goes
  table.add("ld{,.volatile}.local" + vector + types, {"", Class::other, nullptr, build_load});
  table.add("ld.const" + vector + types, {"", Class::other, nullptr, build_load});
  table.add("ld.param" + vector + types, {"", Class::other, nullptr, build_load});
  table.add("ldu.global" + vector + types, {"", Class::load_global, nullptr, build_load});

  table.add("st{,.wb,.cg,.cs,.wt,.volatile,.weak}.global" + vector + types,
            {"", Class::store_global, nullptr, build_store});
  table.add("st.global{.wb,.cg,.cs,.wt,.L1::no_allocate}" + vector + types,
            {"", Class::store_global, nullptr, build_store});
  table.add("st{,.volatile}.shared{,::cta,::cluster}" + vector + types,
            {"", Class::store_shared, nullptr, build_store});
  table.add("st{,.volatile}" + vector + types, {"", Class::store_global, nullptr, build_store});
  table.add("st{,.volatile}.local" + vector + types, {"", Class::other, nullptr, build_store});
  table.add("st.param" + vector + types, {"", Class::other, nullptr, build_store});

  const std::string scope = ".{cta,cluster,gpu,sys}";
  table.add("ld{.relaxed,.acquire}" + scope + "{,.global}" + vector + types,
            {"", Class::load_global, nullptr, build_load});
  table.add("ld{.relaxed,.acquire}" + scope + ".shared{,::cta,::cluster}" + vector + types,
            {"", Class::load_shared, nullptr, build_load});
  table.add("st{.relaxed,.release}" + scope + "{,.global}" + vector + types,
            {"", Class::store_global, nullptr, build_store});
  table.add("st{.relaxed,.release}" + scope + ".shared{,::cta,::cluster}" + vector + types,
            {"", Class::store_shared, nullptr, build_store});
  add_atomics(table);
  add_conversions(table);
}

}  // namespace sim

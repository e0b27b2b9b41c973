/// Loads, stores and address conversions (PTX ISA 9.7.9.8 to 9.7.9.13).
#include <algorithm>
#include <cstring>

#include "core/memory/lanes.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

using Four [[gnu::vector_size(16)]] = u32;

/// Rows to columns.
void turn(Four (&square)[4]) {
  const Four low = __builtin_shufflevector(square[0], square[1], 0, 4, 1, 5);
  const Four high = __builtin_shufflevector(square[0], square[1], 2, 6, 3, 7);
  const Four other_low = __builtin_shufflevector(square[2], square[3], 0, 4, 1, 5);
  const Four other_high = __builtin_shufflevector(square[2], square[3], 2, 6, 3, 7);
  square[0] = __builtin_shufflevector(low, other_low, 0, 1, 4, 5);
  square[1] = __builtin_shufflevector(low, other_low, 2, 3, 6, 7);
  square[2] = __builtin_shufflevector(high, other_high, 0, 1, 4, 5);
  square[3] = __builtin_shufflevector(high, other_high, 2, 3, 6, 7);
}

/// Whether all lanes take four registers of 32 bits each: what takes most of a fast kernel's loads.
template <class M, class R>
bool are_squares(const Access& instruction, const Lanes& lanes) {
  return sizeof(M) == sizeof(u32) && sizeof(R) == sizeof(u32) && instruction.count == 4 && lanes.mask == all_lanes;
}

/// Four lanes at a time, of which the memory holds the rows and the registers the columns.
void copy_squares(Warp& warp, const Access& instruction, const Lanes& lanes, const Bytes& bytes) {
  for (uint32_t lane = 0; lane < warp_size; lane += 4) {
    Four square[4];
    for (uint32_t i = 0; i < 4; ++i) std::memcpy(&square[i], bytes.at(lanes, lane + i), sizeof square[i]);
    turn(square);
    for (uint32_t i = 0; i < 4; ++i)
      std::memcpy(warp.lanes<u32>(instruction.registers[i]) + lane, &square[i], sizeof square[i]);
  }
}

/// Values of type M in memory, widened by their sign to registers of type R.
template <class M, class R>
void copy_to_registers(Warp& warp, const Access& instruction, const Lanes& lanes, const Bytes& bytes) {
  if (bytes.spread != Pattern::Spread::same && are_squares<M, R>(instruction, lanes))
    return copy_squares(warp, instruction, lanes, bytes);
  for (uint32_t element = 0; element < instruction.count; ++element) {
    R* const to = warp.lanes<R>(instruction.registers[element]);
    const std::byte* const first = bytes.at(lanes, 0) + element * sizeof(M);
    if (bytes.spread == Pattern::Spread::same) {
      M value;
      std::memcpy(&value, first, sizeof(M));
      std::fill_n(to, warp_size, static_cast<R>(value));
      continue;
    }
    if (bytes.spread == Pattern::Spread::side_by_side && instruction.count == 1) {
      M values[warp_size];
      std::memcpy(sizeof(M) == sizeof(R) ? static_cast<void*>(to) : values, first, sizeof values);
      if (sizeof(M) != sizeof(R)) std::copy_n(values, warp_size, to);
      continue;
    }
    for_lanes(lanes.mask, [&lanes, bytes, to, element](uint32_t lane) {
      M value;
      std::memcpy(&value, bytes.at(lanes, lane) + element * sizeof(M), sizeof(M));
      to[lane] = static_cast<R>(value);
    });
  }
}

template <class M, class R>
void copy_to_memory(Warp& warp, const Access& instruction, const Lanes& lanes, const Bytes& bytes) {
  for (uint32_t element = 0; element < instruction.count; ++element) {
    const R* const from = warp.lanes<const R>(instruction.registers[element]);
    if (bytes.spread == Pattern::Spread::side_by_side && instruction.count == 1) {
      M values[warp_size];
      std::copy_n(from, warp_size, values);
      std::memcpy(bytes.at(lanes, 0), values, sizeof values);
      continue;
    }
    for_lanes(lanes.mask, [&lanes, bytes, from, element](uint32_t lane) {
      const M value = static_cast<M>(from[lane]);
      std::memcpy(bytes.at(lanes, lane) + element * sizeof(M), &value, sizeof(M));
    });
  }
}

template <class M, class R>
void load(Warp& warp, const Access& instruction) {
  access<Touch::read>(warp, instruction, [&](const Lanes& lanes, const Bytes& bytes) {
    copy_to_registers<M, R>(warp, instruction, lanes, bytes);
  });
}

template <class M, class R>
void store(Warp& warp, const Access& instruction) {
  access<Touch::write>(warp, instruction, [&](const Lanes& lanes, const Bytes& bytes) {
    copy_to_memory<M, R>(warp, instruction, lanes, bytes);
  });
}

/// Strong accesses of global memory are atomic on the host as well: another core may be running the block that writes
/// what this one waits for, and what it wrote before has to be seen. Loads acquire and stores release, as the strongest
/// of them do.
template <class M, class R>
void load_strong(Warp& warp, const Access& instruction) {
  access<Touch::strong_read>(warp, instruction, [&](const Lanes& lanes, const Bytes& bytes) {
    if (bytes.of_one_core) return copy_to_registers<M, R>(warp, instruction, lanes, bytes);
    for (uint32_t element = 0; element < instruction.count; ++element) {
      R* const to = warp.lanes<R>(instruction.registers[element]);
      for_lanes(lanes.mask, [&lanes, bytes, to, element](uint32_t lane) {
        M value;
        __atomic_load(reinterpret_cast<M*>(bytes.at(lanes, lane) + element * sizeof(M)), &value, __ATOMIC_ACQUIRE);
        to[lane] = static_cast<R>(value);
      });
    }
  });
}

template <class M, class R>
void store_strong(Warp& warp, const Access& instruction) {
  access<Touch::strong_write>(warp, instruction, [&](const Lanes& lanes, const Bytes& bytes) {
    if (bytes.of_one_core) return copy_to_memory<M, R>(warp, instruction, lanes, bytes);
    for (uint32_t element = 0; element < instruction.count; ++element) {
      const R* const from = warp.lanes<const R>(instruction.registers[element]);
      for_lanes(lanes.mask, [&lanes, bytes, from, element](uint32_t lane) {
        M value = static_cast<M>(from[lane]);
        __atomic_store(reinterpret_cast<M*>(bytes.at(lanes, lane) + element * sizeof(M)), &value, __ATOMIC_RELEASE);
      });
    }
  });
}

/// The handler of a load or store of elements M from or to registers R.
template <class M, class R>
Handler handler(bool is_store, bool strong) {
  if (strong) return is_store ? Handler{handle<store_strong<M, R>>} : Handler{handle<load_strong<M, R>>};
  return is_store ? Handler{handle<store<M, R>>} : Handler{handle<load<M, R>>};
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

/// Address, type and vector of a load or store; the register operands are `data`.
void build_access(Builder& builder, const ptx::Operand& where, const ptx::Operand& data, bool is_store) {
  auto& made = builder.made<Access>();
  made.address = address_operand(builder, where);
  const Place place = made.address.place;
  const bool names_variable = builder.address(where).variable;
  int64_t& offset = made.address.offset;
  if (place == Place::parameter && !names_variable) offset -= static_cast<int64_t>(param_window);
  made.order = order_of(builder, place);
  made.scope = scope_of(builder, made.order);
  made.memo = builder.memo();

  const MemoryType type = memory_type(builder.written().opcode);
  made.bytes = type.bytes;
  made.count = builder.has("v2") ? 2 : builder.has("v4") ? 4 : 1;
  if (made.bytes * made.count > 16) builder.refuse("more than 128 bits a lane");
  const std::vector<ptx::Operand> single{data};
  const auto& elements = data.kind == ptx::Operand::Kind::vector ? data.parts : single;
  if (elements.size() != made.count) builder.refuse("a list of " + std::to_string(made.count) + " registers is needed");
  note_granule(builder, place, type.bytes);

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
    const bool strong = made.order != Order::weak;
    switch (width) {
      case ptx::Width::b16:
        if constexpr (sizeof(M) <= 2) return handler<M, u16>(is_store, strong);
        break;
      case ptx::Width::b32:
        if constexpr (sizeof(M) <= 4) return handler<M, u32>(is_store, strong);
        break;
      case ptx::Width::b64: return handler<M, u64>(is_store, strong);
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

/// There is no cache to fetch into.
void prefetch(Warp&, const Instruction&) {}

void build_prefetch(Builder& builder) {
  if (builder.operands().size() != 1) builder.refuse("an address is needed");
  builder.address(builder.operands()[0]);
}

// --- addresses ---

/// cvta: shared, local and parameter addresses have windows of their own among the generic ones; global ones are what
/// they are.
[[gnu::cold]] void add_conversions(Table& table) {
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

[[gnu::cold]] void add_memory(Table& table) {
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
  table.add("ld{,.ca,.cg,.cs,.lu,.cv,.volatile,.weak}" + vector + types,
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
  table.add("st{,.wb,.cg,.cs,.wt,.volatile,.weak}" + vector + types, {"", Class::store_global, nullptr, build_store});
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
  table.add("prefetch{,.global}.{L1,L2}", {"", Class::other, prefetch, build_prefetch});
  table.add("prefetchu.L1", {"", Class::other, prefetch, build_prefetch});
  add_atomics(table);
  add_conversions(table);
}

}  // namespace sim

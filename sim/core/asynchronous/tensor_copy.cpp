/// TMA: copies between a box of a tensor and shared memory (cp.async.bulk.tensor, cp.reduce.async.bulk.tensor; PTX ISA
/// 9.7.9.27), in tile mode.
#include "core/asynchronous/box_transfer.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

struct TensorCopy {
  enum class What : uint8_t { load, store, prefetch };

  Pointer map, shared, mbarrier;
  uint32_t coordinates;  ///< their registers: first of those in Program::operand_lists
  uint32_t mask;         ///< register
  uint8_t rank;
  bool multicast;
  What what;
  Reduce reduce;
};
static_assert(sizeof(TensorCopy) <= Instruction::payload_bytes);

std::string describe(const Coordinates& at, uint32_t rank) {
  std::string text = "the box at {";
  for (uint32_t i = 0; i < rank; ++i) text += (i == 0 ? "" : ", ") + std::to_string(at[i]);
  return text + "}";
}

/// The map that a lane's pointer names.
std::optional<TensorMap> map_of(Warp& warp, uint32_t lane, const Pointer& pointer) {
  const uint64_t address = address_of(warp, lane, pointer);
  const std::byte* const bytes = warp.block.resolve(warp, lane, address, sizeof(TensorMap));
  const auto none = [&](Finding kind, const std::string& why) {
    refuse_bulk(warp, lane, kind, "the tensor map " + why);
    return std::nullopt;
  };
  const Place place = reach(warp.block, address).place;
  if (!bytes) return none(Finding::tensor_map, "lies where a kernel has no memory");
  if (place == Place::shared || place == Place::local)
    return none(Finding::tensor_map,
                "is a copy in " + std::string(place == Place::shared ? "shared" : "local") +
                    " memory; it has to be a __grid_constant__ parameter, or in constant or global memory");
  if (address % 64 != 0) return none(Finding::misaligned, "is at no multiple of 64 bytes");
  const auto map = read_map(bytes);
  if (!map) return none(Finding::tensor_map, "was not made by cuTensorMapEncodeTiled, or has been changed since");
  return map;
}

/// The box that a lane asks for, once nothing speaks against it.
std::optional<TensorBox> box_of(Warp& warp, uint32_t lane, const TensorCopy& copy, const TensorMap& map,
                                Coordinates& at) {
  const auto none = [&](Finding kind, const std::string& why) {
    refuse_bulk(warp, lane, kind, why);
    return std::nullopt;
  };
  if (map.rank != copy.rank)
    return none(Finding::tensor_map, "its tensor map has " + std::to_string(map.rank) + " dimensions");
  const uint32_t* const registers = warp.block.program.operand_lists.data() + copy.coordinates;
  for (uint32_t i = 0; i < copy.rank; ++i) at[i] = warp.lanes<const s32>(registers[i])[lane];
  const TensorBox box(map, at, copy.what == TensorCopy::What::store ? RowEnd::chunk : RowEnd::element);
  if (box.starts_misaligned())
    return none(Finding::misaligned, describe(at, copy.rank) + " starts " +
                                         std::to_string(int64_t{at[0]} * bytes_of(map.type)) +
                                         " bytes into a row, which is no multiple of 16");
  if (copy.what == TensorCopy::What::store && box.starts_before())
    return none(Finding::out_of_bounds,
                describe(at, copy.rank) + " starts before the tensor, where nothing may be stored");
  if (copy.reduce != Reduce::none && !reduction_of(copy.reduce, map.type))
    return none(Finding::tensor_map, std::string("elements of type ") + name(map.type) + " have no such reduction");
  return box;
}

/// What the box has in global memory.
std::vector<GlobalSpan> spans_of(const TensorBox& box) {
  std::vector<GlobalSpan> spans;
  box.for_rows_inside([&](uint64_t address, uint32_t bytes) {
    if (!spans.empty() && spans.back().begin + spans.back().bytes == address)
      spans.back().bytes += bytes;
    else
      spans.push_back({address, bytes});
  });
  return spans;
}

/// Checks and counts what the box has in global memory. The bytes of it.
std::optional<uint64_t> global_bytes(Warp& warp, uint32_t lane, const TensorCopy& copy, const TensorBox& box,
                                     const Coordinates& at) {
  uint64_t low = ~uint64_t{0}, high = 0, bytes = 0;
  SectorCount sectors;
  box.for_rows_inside([&](uint64_t address, uint32_t of_row) {
    low = std::min(low, address), high = std::max(high, address + of_row), bytes += of_row;
    sectors.add(address, of_row);
  });
  const bool store = copy.what == TensorCopy::What::store;
  const auto range = bytes == 0 ? std::nullopt : warp.block.launch.allocations.holding(low);
  if (bytes != 0 && !(range && range->holds(low, high) && !(store && range->read_only))) {
    bool well = true;
    box.for_runs(0, [&](const BoxRun& run) {
      if (well && run.inside)
        well = check_bulk_global(warp, lane, run.global, run.bytes, store, ", in " + describe(at, copy.rank));
    });
    if (!well) return std::nullopt;
  }
  count_bulk(warp, bytes, sectors);
  return bytes;
}

/// A tile that is at least as long as the swizzle's pattern, and begins in the middle of it, is seldom what whoever
/// reads it by rows expects. The hardware takes it: the pattern depends on addresses alone.
void warn_within_pattern(Warp& warp, uint32_t lane, const TensorBox& box, const Spot& spot) {
  const uint32_t pattern = box.pattern_bytes();
  if (spot.offset % pattern == 0 || box.shared_bytes() < pattern) return;
  warp.block.cluster.warn(Finding::swizzle, warp.here(), nowhere, [&] {
    return warp.block.what_it_does(warp, lane) + ": the tile starts " + std::to_string(spot.offset % pattern) +
           " bytes into the swizzle's pattern, which begins at multiples of " + std::to_string(pattern) +
           " bytes of shared memory: whoever reads it has to reckon with that (a descriptor by its base offset)";
  });
}

/// `tensor`: an address in what the map describes.
void issue_load(Warp& warp, uint32_t lane, const TensorCopy& copy, const TensorBox& box, const Spot& to, uint64_t bytes,
                uint64_t tensor) {
  const auto signal = signal_of(warp, lane, copy.mbarrier, to, box.bytes());
  if (!signal) return;
  const uint32_t mask = receiver_mask(warp, lane, copy.multicast, copy.mask, to);
  const bool watched = bytes != 0 && warp.block.launch.options.watch && !need_not_know(warp, tensor);
  issue_to_receivers(warp, lane, mask, to, *signal, bytes, [&](const Spot& spot) {
    AsyncTransfer transfer = load_of_box(box, spot);
    if (watched) transfer.reads_global = spans_of(box);
    return transfer;
  });
}

void trace_copy(Warp& warp, uint32_t lane, const TensorCopy& copy, const TensorMap& map, const TensorBox& box,
                const Coordinates& at, const std::optional<Spot>& spot, uint64_t bytes) {
  TracedCopy::Box traced{.type = name(map.type), .start = {}, .size = {}, .swizzle = box.swizzle_bytes()};
  for (uint32_t i = 0; i < map.rank; ++i) {
    traced.start.push_back(at[i]);
    traced.size.push_back(map.count(i));
  }
  TracedCopy made;
  made.lane = lane;
  made.stores = copy.what == TensorCopy::What::store;
  made.box = std::move(traced);
  made.global = box.first();
  made.within = map.address;
  made.global_bytes = bytes;
  if (spot) {
    made.shared = spot->offset;
    made.shared_bytes = box.shared_bytes();
    const uint32_t mask = receiver_mask(warp, lane, copy.multicast, copy.mask, *spot);
    for_lanes(mask, [&](uint32_t block) { made.blocks.push_back(block); });
  }
  warp.trace->copies(warp.here(), warp.executions(), std::move(made));
}

void copy_by_lane(Warp& warp, uint32_t lane, const TensorCopy& copy) {
  const auto map = map_of(warp, lane, copy.map);
  if (!map) return;
  Coordinates at{};
  const auto box = box_of(warp, lane, copy, *map, at);
  if (!box) return;
  std::optional<Spot> spot;
  if (copy.what != TensorCopy::What::prefetch) {
    spot = shared_spot(warp, lane, copy.shared, box->shared_bytes(), 128, "the tile");
    if (!spot) return;
    if (warp.block.launch.options.watch) warn_within_pattern(warp, lane, *box, *spot);
  }
  const auto bytes = global_bytes(warp, lane, copy, *box, at);
  if (!bytes) return;
  if (warp.trace != nullptr) [[unlikely]]
    trace_copy(warp, lane, copy, *map, *box, at, spot, *bytes);
  if (copy.what == TensorCopy::What::load) issue_load(warp, lane, copy, *box, *spot, *bytes, map->address);
  if (copy.what != TensorCopy::What::store) return;
  AsyncTransfer transfer = store_of_box(*box, *spot, reduction_of(copy.reduce, map->type));
  transfer.writes_global = spans_of(*box);
  transfer.scope = copy.reduce == Reduce::none ? Scope::none : Scope::gpu;  // its atomics are .relaxed.gpu
  warp.block.cluster.async.issue(warp, lane, std::move(transfer));
}

/// Each lane asks for a copy of its own.
void copy_tensor(Warp& warp, const TensorCopy& copy) {
  for_lanes(warp.exec, [&](uint32_t lane) {
    if (!warp.block.launch.given_up) copy_by_lane(warp, lane, copy);
  });
}

/// The map and the coordinates: `[map, {x, y}]`.
void build_box(Builder& builder, const ptx::Operand& written, TensorCopy& made) {
  const std::string& opcode = builder.written().opcode;
  made.rank = static_cast<uint8_t>(opcode[opcode.find(".tensor.") + 8] - '0');
  if (written.kind != ptx::Operand::Kind::address || written.parts.size() != 2 ||
      written.parts[1].parts.size() != made.rank)
    builder.refuse("a tensor map with " + std::to_string(made.rank) + " coordinates is needed");
  ptx::Operand map = written;
  map.parts.pop_back();
  made.map = pointer(builder, map);
  made.coordinates = builder.registers(written.parts[1], made.rank, false);
}

/// [tile], [map, {…}], [mbarrier]{, mask}{, policy}
void build_load(Builder& builder) {
  auto& made = builder.made<TensorCopy>();
  made.what = TensorCopy::What::load;
  made.mask = multicast_mask(builder, 3);
  made.multicast = builder.has("multicast::cluster");
  made.shared = pointer(builder, builder.operands()[0]);
  build_box(builder, builder.operands()[1], made);
  made.mbarrier = pointer(builder, builder.operands()[2]);
}

/// [map, {…}], [tile]{, policy}
template <bool reduces>
void build_store(Builder& builder) {
  auto& made = builder.made<TensorCopy>();
  made.what = TensorCopy::What::store;
  made.reduce = reduces ? reduce_named(builder) : Reduce::none;
  multicast_mask(builder, 2);
  build_box(builder, builder.operands()[0], made);
  made.shared = pointer(builder, builder.operands()[1]);
}

/// [map, {…}]{, policy}
void build_prefetch(Builder& builder) {
  auto& made = builder.made<TensorCopy>();
  made.what = TensorCopy::What::prefetch;
  multicast_mask(builder, 1);
  build_box(builder, builder.operands()[0], made);
}

/// prefetch.tensormap: nothing but a hint, of which the pointer is looked at.
struct PrefetchMap {
  Pointer map;
};

void prefetch_map(Warp& warp, const PrefetchMap& prefetch) {
  for_lanes(warp.exec, [&](uint32_t lane) {
    if (!warp.block.launch.given_up) map_of(warp, lane, prefetch.map);
  });
}

void build_prefetch_map(Builder& builder) {
  if (builder.operands().size() != 1) builder.refuse("one operand is needed");
  builder.made<PrefetchMap>().map = pointer(builder, builder.operands()[0]);
}

/// fence.proxy.tensormap: maps in memory are always read as they are.
void fence_map(Warp&, const Instruction&) {}

void build_acquire_map(Builder& builder) {
  if (builder.operands().size() != 2 || builder.immediate(builder.operands()[1]) != sizeof(TensorMap))
    builder.refuse("an address and the 128 bytes of a map are needed");
  pointer(builder, builder.operands()[0]);
}

}  // namespace

[[gnu::cold]] void add_tensor_copies(Table& table) {
  const std::string rank = "{1d,2d,3d,4d,5d}", tile = "{,.tile}", hint = "{,.L2::cache_hint}";
  const auto form = [](Build build) { return Form{"", Class::tma, handle<copy_tensor>, build}; };
  table.add("cp.async.bulk.tensor." + rank + ".shared::cluster.global" + tile +
                ".mbarrier::complete_tx::bytes{,.multicast::cluster}" + hint,
            form(build_load));
  table.add("cp.async.bulk.tensor." + rank + ".shared::cta.global" + tile + ".mbarrier::complete_tx::bytes" + hint,
            form(build_load));
  table.add("cp.async.bulk.tensor." + rank + ".global.shared::cta" + tile + ".bulk_group" + hint,
            form(build_store<false>));
  table.add("cp.reduce.async.bulk.tensor." + rank + ".global.shared::cta.{add,min,max,inc,dec,and,or,xor}" + tile +
                ".bulk_group" + hint,
            form(build_store<true>));
  table.add("cp.async.bulk.prefetch.tensor." + rank + ".L2.global" + tile + hint, form(build_prefetch));
  table.add("prefetch{,.param,.const}.tensormap", {"", Class::tma, handle<prefetch_map>, build_prefetch_map});
  const std::string scope = ".{cta,cluster,gpu,sys}";
  table.add("fence.proxy.tensormap::generic.release" + scope, {"", Class::other, fence_map});
  table.add("fence.proxy.tensormap::generic.acquire" + scope, {"", Class::other, fence_map, build_acquire_map});
}

}  // namespace sim

/// Bulk copies of one dimension: cp.async.bulk, cp.reduce.async.bulk (PTX ISA 9.7.9.25.4), and the groups in which a
/// thread waits for its bulk copies from shared memory.
#include "core/asynchronous/bulk.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

struct BulkCopy {
  enum class What : uint8_t { load, store, between_blocks, prefetch };

  Pointer to, from, mbarrier;
  uint32_t bytes, mask;  ///< registers
  What what : 2;
  bool multicast : 1;
  Reduce reduce;
  TensorType type : 8;
};
static_assert(sizeof(BulkCopy) <= Instruction::payload_bytes);

constexpr uint32_t unit = 16;  ///< addresses and sizes are multiples of

/// The bytes at a global address, checked and counted.
std::byte* global_part(Warp& warp, uint32_t lane, const Pointer& pointer, uint32_t bytes, bool store) {
  const uint64_t address = address_of(warp, lane, pointer);
  if (address % unit != 0) {
    refuse_bulk(warp, lane, Finding::misaligned, "the global address is no multiple of 16");
    return nullptr;
  }
  if (!check_bulk_global(warp, lane, address, bytes, store, "")) return nullptr;
  SectorCount sectors;
  sectors.add(address, bytes);
  count_bulk(warp, bytes, sectors);
  return reinterpret_cast<std::byte*>(address);
}

/// Writes the copy to a trace, if there is one: `shared` is where it goes to, or comes from if it ends in global
/// memory.
void trace_copy(Warp& warp, uint32_t lane, const BulkCopy& copy, uint32_t bytes, const std::byte* global,
                const Spot* shared, uint32_t mask) {
  if (warp.trace == nullptr) [[likely]]
    return;
  TracedCopy made;
  made.lane = lane;
  made.stores = copy.what == BulkCopy::What::store;
  if (global) {
    made.global = made.within = reinterpret_cast<uint64_t>(global);
    made.global_bytes = bytes;
  }
  if (shared) {
    made.shared = shared->offset;
    made.shared_bytes = bytes;
    for_lanes(mask, [&](uint32_t block) { made.blocks.push_back(block); });
  }
  warp.trace->copies(warp.here(), warp.executions(), std::move(made));
}

/// Into shared memory, of one block or of those that the mask names, from global memory or the own block's.
void issue_to_shared(Warp& warp, uint32_t lane, const BulkCopy& copy, uint32_t bytes) {
  const auto to = shared_spot(warp, lane, copy.to, bytes, unit, "the destination");
  if (!to) return;
  const auto signal = signal_of(warp, lane, copy.mbarrier, *to, bytes);
  if (!signal) return;
  std::optional<Spot> own;
  const std::byte* from = nullptr;
  if (copy.what == BulkCopy::What::between_blocks) {
    own = shared_spot(warp, lane, copy.from, bytes, unit, "the source");
    if (!own) return;
    from = own->block->shared.data() + own->offset;
  } else {
    from = global_part(warp, lane, copy.from, bytes, false);
    if (!from) return;
  }
  const uint32_t mask = receiver_mask(warp, lane, copy.multicast, copy.mask, *to);
  const Reduction reduction = reduction_of(copy.reduce, copy.type);
  trace_copy(warp, lane, copy, bytes, own ? nullptr : from, &*to, mask);
  issue_to_receivers(warp, lane, mask, *to, *signal, bytes, [&](const Spot& spot) {
    AsyncTransfer transfer;
    if (own) transfer.reads.push_back({own->block, {own->offset, bytes}});
    if (!own) transfer.reads_global.push_back({reinterpret_cast<uint64_t>(from), bytes});
    transfer.writes.push_back({spot.block, {spot.offset, bytes}});
    transfer.move = [=] { combine(spot.block->shared.data() + spot.offset, from, bytes, reduction); };
    return transfer;
  });
}

void issue_to_global(Warp& warp, uint32_t lane, const BulkCopy& copy, uint32_t bytes) {
  const auto from = shared_spot(warp, lane, copy.from, bytes, unit, "the source");
  if (!from) return;
  std::byte* const to = global_part(warp, lane, copy.to, bytes, true);
  if (!to) return;
  trace_copy(warp, lane, copy, bytes, to, &*from, 1u << from->block->rank);
  AsyncTransfer transfer;
  transfer.reads.push_back({from->block, {from->offset, bytes}});
  transfer.writes_global.push_back({reinterpret_cast<uint64_t>(to), bytes});
  transfer.scope = copy.reduce == Reduce::none ? Scope::none : Scope::gpu;  // its atomics are .relaxed.gpu
  transfer.move = [=, spot = *from, reduction = reduction_of(copy.reduce, copy.type)] {
    combine(to, spot.block->shared.data() + spot.offset, bytes, reduction);
  };
  warp.block.cluster.async.issue(warp, lane, std::move(transfer));
}

void copy_by_lane(Warp& warp, uint32_t lane, const BulkCopy& copy) {
  const u32 bytes = warp.lanes<const u32>(copy.bytes)[lane];
  if (bytes % unit != 0 || bytes == 0)
    return refuse_bulk(warp, lane, Finding::misaligned,
                       std::to_string(bytes) + " bytes: a multiple of 16, and not 0, is needed");
  switch (copy.what) {
    case BulkCopy::What::load:
    case BulkCopy::What::between_blocks: return issue_to_shared(warp, lane, copy, bytes);
    case BulkCopy::What::store: return issue_to_global(warp, lane, copy, bytes);
    case BulkCopy::What::prefetch:
      if (const std::byte* const from = global_part(warp, lane, copy.from, bytes, false))
        trace_copy(warp, lane, copy, bytes, from, nullptr, 0);
      return;
  }
}

/// Each lane asks for a copy of its own.
void copy_bulk(Warp& warp, const BulkCopy& copy) {
  for_lanes(warp.exec, [&](uint32_t lane) {
    if (!warp.block.launch.given_up) copy_by_lane(warp, lane, copy);
  });
}

/// The type that ends the opcode of a reduction. Bits count as unsigned.
TensorType type_named(const Builder& builder) {
  static const std::unordered_map<std::string, TensorType> types = {
      {"u32", TensorType::u32}, {"s32", TensorType::s32}, {"u64", TensorType::u64}, {"s64", TensorType::s64},
      {"b32", TensorType::u32}, {"b64", TensorType::u64}, {"f16", TensorType::f16}, {"bf16", TensorType::bf16},
      {"f32", TensorType::f32}, {"f64", TensorType::f64}};
  const std::string& opcode = builder.written().opcode;
  return types.at(opcode.substr(opcode.rfind('.') + 1));
}

template <BulkCopy::What what, bool reduces>
void build_copy(Builder& builder) {
  const auto& operands = builder.operands();
  auto& made = builder.made<BulkCopy>();
  made.what = what;
  made.reduce = reduces ? reduce_named(builder) : Reduce::none;
  made.type = reduces ? type_named(builder) : TensorType::u8;
  constexpr bool signals = what == BulkCopy::What::load || what == BulkCopy::What::between_blocks;
  constexpr bool prefetches = what == BulkCopy::What::prefetch;
  made.mask = multicast_mask(builder, prefetches ? 2 : signals ? 4 : 3);
  made.multicast = builder.has("multicast::cluster");
  if (!prefetches) made.to = pointer(builder, operands[0]);
  made.from = pointer(builder, operands[prefetches ? 0 : 1]);
  made.bytes = builder.source(operands[prefetches ? 1 : 2], ptx::Width::b32);
  if (signals) made.mbarrier = pointer(builder, operands[3]);
}

// --- groups ---

void commit_bulk_group(Warp& warp, const Instruction&) {
  for_lanes(warp.exec, [&](uint32_t lane) { warp.block.cluster.async.commit(warp, lane, AsyncKind::bulk); });
}

/// cp.async.bulk.wait_group n: all but this thread's last n groups are complete. `.read` waits for the reads of shared
/// memory only; here the writes are complete as well, since nothing tells when others would see them.
struct BulkWait {
  uint64_t left;
};

void wait_bulk_group(Warp& warp, const BulkWait& wait) {
  for_lanes(warp.exec, [&](uint32_t lane) { warp.block.cluster.async.wait(warp, lane, AsyncKind::bulk, wait.left); });
}

void build_bulk_wait(Builder& builder) {
  if (builder.operands().size() != 1) builder.refuse("one operand is needed");
  builder.made<BulkWait>().left = builder.immediate(builder.operands()[0]);
}

/// createpolicy: caches are not modelled, so that any bits will do.
struct Policy {
  uint32_t to;  ///< register
};

void create_policy(Warp& warp, const Policy& policy) {
  u64* const to = warp.lanes<u64>(policy.to);
  for_lanes(warp.exec, [to](uint32_t lane) { to[lane] = 0; });
}

void build_policy(Builder& builder) {
  const auto& operands = builder.operands();
  if (operands.empty() || operands.size() > 2) builder.refuse("a destination and, if need be, a fraction are needed");
  if (operands.size() == 2) builder.source(operands[1], ptx::Width::b32);
  builder.made<Policy>().to = builder.destination(operands[0], ptx::Width::b64);
}

}  // namespace

[[gnu::cold]] void add_bulk_copies(Table& table) {
  using What = BulkCopy::What;
  const std::string hint = "{,.L2::cache_hint}", signal = ".mbarrier::complete_tx::bytes";
  const auto form = [](Build build) { return Form{"", Class::tma, handle<copy_bulk>, build}; };
  table.add("cp.async.bulk.shared::cluster.global" + signal + "{,.multicast::cluster}" + hint,
            form(build_copy<What::load, false>));
  table.add("cp.async.bulk.shared::cta.global" + signal + hint, form(build_copy<What::load, false>));
  table.add("cp.async.bulk.shared::cluster.shared::cta" + signal, form(build_copy<What::between_blocks, false>));
  table.add("cp.async.bulk.global.shared::cta.bulk_group" + hint, form(build_copy<What::store, false>));
  table.add("cp.async.bulk.prefetch.L2.global" + hint, form(build_copy<What::prefetch, false>));
  for (const char* operation : {".add.{u32,s32,u64,f32,f64,noftz.f16,noftz.bf16}",
                                ".{min,max}.{u32,s32,u64,s64,f16,bf16}", ".{inc,dec}.u32", ".{and,or,xor}.{b32,b64}"})
    table.add("cp.reduce.async.bulk.global.shared::cta.bulk_group" + hint + operation,
              form(build_copy<What::store, true>));
  for (const char* operation : {".add.{u32,s32,u64}", ".{min,max}.{u32,s32}", ".{inc,dec}.u32", ".{and,or,xor}.b32"})
    table.add("cp.reduce.async.bulk.shared::cluster.shared::cta" + signal + operation,
              form(build_copy<What::between_blocks, true>));
  table.add(
      "createpolicy.fractional.L2::{evict_last,evict_normal,evict_first,evict_unchanged}"
      "{,.L2::evict_first,.L2::evict_unchanged}.b64",
      {"", Class::other, handle<create_policy>, build_policy});
  table.add("cp.async.bulk.commit_group", {"", Class::tma, commit_bulk_group});
  table.add("cp.async.bulk.wait_group{,.read}", {"", Class::tma, handle<wait_bulk_group>, build_bulk_wait});
}

}  // namespace sim

#include "core/wgmma/wgmma.h"

#include <algorithm>

#include "core/machine/access.h"

namespace sim {
namespace {

constexpr u32 poison = ~0u;  ///< not a number, as f32 and as two f16

/// Of a row of A, of 16 bytes of k, and of one pass through the banks.
constexpr uint32_t bytes_of_a = 32, bytes_of_chunk = 16, bytes_per_wavefront = 128;

}  // namespace

void Products::start() {
  of_warp_.resize(block_.launch.warps());
  groups_.assign((block_.launch.warps() + warps_of_group - 1) / warps_of_group, {});
  for (OfWarp& each : of_warp_) {
    each.under_way.clear();
    each.sums.clear();
    each.issued = each.committed = each.instructions = 0;
    each.registers.start(block_.program.register_bytes);
  }
}

const uint32_t* Products::list(uint32_t first) const { return block_.program.operand_lists.data() + first; }

// --- sums ---

std::list<Products::Sums>::iterator Products::take_sums(Warp& warp, const Wgmma& wgmma) {
  OfWarp& own = of(warp);
  const uint32_t count = wgmma.sum_registers();
  const uint32_t* const d = list(wgmma.d);
  const auto same = [&](const Sums& each) {
    return each.type == wgmma.sum && each.count == count && std::equal(d, d + count, list(each.d));
  };
  const auto known = std::find_if(own.sums.begin(), own.sums.end(), same);
  if (known != own.sums.end()) return known;
  if (std::any_of(d, d + count, [&](uint32_t each) { return own.registers.use(each) != RegisterWatch::Use::none; })) {
    block_.report(Finding::unwaited_product, warp.here(), nowhere, [&] {
      return block_.what_it_does(warp, 0) +
             ": its sums are registers that a wgmma under way uses in another way (only one of the "
             "same shape with all the same registers may follow without a wait)";
    });
  }
  const auto made = own.sums.insert(own.sums.end(), Sums{.d = wgmma.d, .count = count, .type = wgmma.sum, .tiles = {}});
  made->tiles.resize(wgmma.columns / 8);
  const uint32_t step = count / (wgmma.columns / 8);
  for (uint32_t tile = 0; tile < made->tiles.size(); ++tile) {
    const Matrix* registers[4];
    for (uint32_t i = 0; i < step; ++i) registers[i] = warp.lanes<const Matrix>(d[tile * step + i]);
    read_sums(wgmma.sum, registers, made->tiles[tile]);
  }
  for (uint32_t i = 0; i < count; ++i) {
    std::fill_n(warp.lanes<u32>(d[i]), warp_size, poison);
    own.registers.set(d[i], RegisterWatch::Use::sum);
  }
  return made;
}

/// The warp has its registers back.
void Products::release(Warp& warp, Sums& sums) {
  const uint32_t* const d = list(sums.d);
  const uint32_t step = sums.count / static_cast<uint32_t>(sums.tiles.size());
  for (uint32_t tile = 0; tile < sums.tiles.size(); ++tile) {
    Matrix* registers[4];
    for (uint32_t i = 0; i < step; ++i) registers[i] = warp.lanes<Matrix>(d[tile * step + i]);
    write_sums(sums.type, sums.tiles[tile], registers);
  }
  for (uint32_t i = 0; i < sums.count; ++i) of(warp).registers.set(d[i], RegisterWatch::Use::none);
}

// --- products ---

void Products::issue(Warp& warp, const Wgmma& wgmma) {
  if (!whole_warp(warp)) return;
  const u64* const a_bits = warp.lanes<const u64>(wgmma.a_descriptor);
  const u64* const b_bits = warp.lanes<const u64>(wgmma.b_descriptor);
  const u32 scale_d = warp.predicate(wgmma.scale_d);
  bool alike = scale_d == 0 || scale_d == all_lanes;
  for (uint32_t lane = 1; lane < warp_size; ++lane)
    alike &= b_bits[lane] == b_bits[0] && (wgmma.a_in_registers || a_bits[lane] == a_bits[0]);
  if (!alike) {
    return block_.give_up(warp, Finding::divergent_barrier, [&] {
      return block_.what_it_does(warp, 0) + ": the lanes of the warp give different descriptors or scale-d";
    });
  }
  const u64 a_descriptor = wgmma.a_in_registers ? 0 : a_bits[0];
  if (!agrees(warp, {warp.here(), a_descriptor, b_bits[0], scale_d != 0})) return;

  OfWarp& own = of(warp);
  Product product{.wgmma = wgmma,
                  .number = own.issued,
                  .group = own.committed,
                  .a = nullptr,
                  .b = nullptr,
                  .metadata = {},
                  .adds = scale_d != 0,
                  .site = warp.here(),
                  .sums = {}};
  AsyncTransfer transfer{
      .reads = {}, .writes = {}, .signal = {}, .kind = AsyncKind::wgmma, .checked = true, .move = {}};
  if (wgmma.sparse) {
    product.metadata = metadata_of(warp, wgmma.metadata);
    if (block_.launch.options.watch) check_metadata(warp, wgmma.sparsity, product.metadata);
  }
  const uint32_t group_row = warp.index % warps_of_group * 16;
  const MatrixDescriptor at_a(a_descriptor), at_b(b_bits[0]);
  const Operand a = wgmma.a_transposed ? Operand{'A', at_a, false, 0, wgmma.stored_k(), group_row / 8, 2}
                                       : Operand{'A', at_a, true, group_row, 16, 0, 2};
  spans_.clear();
  if (!wgmma.a_in_registers) {
    product.a = read_operand(warp, a, spans_);
    if (!product.a) return;
  }
  const Operand b = wgmma.b_transposed ? Operand{'B', at_b, false, 0, wgmma.k(), 0, wgmma.columns / 8u}
                                       : Operand{'B', at_b, true, 0, wgmma.columns, 0, wgmma.chunks_of_b()};
  product.b = read_operand(warp, b, spans_);
  if (!product.b) return;
  if (warp.trace != nullptr) [[unlikely]]
    trace(warp, wgmma, a_descriptor, a, b_bits[0], b);
  // Each warp reads its own rows of A; B is read once for the four.
  const uint32_t columns = warp.index % warps_of_group == 0 ? wgmma.columns : 0u;
  block_.tallies.of[warp.here()].shared_wavefronts +=
      ((wgmma.a_in_registers ? 0 : 16 * bytes_of_a) + columns * wgmma.chunks_of_b() * bytes_of_chunk) /
      bytes_per_wavefront;
  if (block_.launch.options.watch) check_registers(warp, wgmma);
  product.sums = take_sums(warp, wgmma);
  ++product.sums->products;
  if (wgmma.a_in_registers) {
    for (uint32_t i = 0; i < 4; ++i) own.registers.set(list(wgmma.a)[i], RegisterWatch::Use::factor);
  }
  transfer.reads.reserve(spans_.size());
  for (const Span& span : spans_) transfer.reads.push_back({&block_, span});
  transfer.move = [this, index = warp.index, number = product.number] { run_up_to(index, number); };
  ++own.issued;
  own.under_way.push_back(product);
  block_.cluster.async.issue(warp, 0, std::move(transfer));
}

void Products::fence(Warp& warp) {
  if (!whole_warp(warp) || !agrees(warp, {warp.here(), 0, 0, false})) return;
  of(warp).registers.fence();
  if (block_.cluster.events) [[unlikely]]
    block_.cluster.note(warp, {.kind = Event::Kind::fence, .owner = block_.rank});
}

void Products::commit(Warp& warp) {
  if (!whole_warp(warp) || !agrees(warp, {warp.here(), 0, 0, false})) return;
  ++of(warp).committed;
  block_.cluster.async.commit(warp, 0, AsyncKind::wgmma);
  block_.cluster.wake(Warp::Wait::Kind::warpgroup, &block_, warp.index / warps_of_group);
}

void Products::end_warp() {
  for (uint32_t number = 0; number < groups_.size(); ++number)
    block_.cluster.wake(Warp::Wait::Kind::warpgroup, &block_, number);
}

/// Warps that have ended are not waited for: see Products::end.
bool Products::all_have_committed(Warp& warp, uint64_t groups) {
  const uint32_t number = warp.index / warps_of_group, first = number * warps_of_group;
  for (uint32_t i = first; i < std::min<size_t>(of_warp_.size(), first + warps_of_group); ++i) {
    if (of_warp_[i].committed >= groups || block_.warps()[i].live == 0) continue;
    warp.wait_again({.kind = Warp::Wait::Kind::warpgroup, .block = &block_, .number = number});
    return false;
  }
  return true;
}

/// The warpgroup's groups before this one are complete, and the warp knows of it.
void Products::complete(Warp& warp, uint64_t groups) {
  const uint32_t first = warp.index / warps_of_group * warps_of_group;
  Group& group = groups_[warp.index / warps_of_group];
  Clocks& clocks = block_.shadow.clocks;
  if (group.complete < groups) {
    group.complete = groups;
    if (group.agent == ~0u) group.agent = clocks.add_agent();
    for (uint32_t i = first; i < first + warps_of_group; ++i)
      block_.cluster.async.complete(block_.warps()[i], 0, AsyncKind::wgmma, groups, group.agent);
    clocks.act(group.agent, group.done);
  }
  if (block_.launch.options.watch) clocks.acquire(warp.agent, group.done);
}

void Products::wait(Warp& warp, uint64_t left) {
  if (!whole_warp(warp)) return;
  OfWarp& own = of(warp);
  const uint64_t groups = own.committed > left ? own.committed - left : 0;
  if (!all_have_committed(warp, groups) || !agrees(warp, {warp.here(), 0, 0, false})) return;
  complete(warp, groups);
  if (block_.cluster.events) [[unlikely]]
    block_.cluster.note(warp, {.kind = Event::Kind::wgmma_wait, .owner = block_.rank, .group = groups});
  while (!own.under_way.empty() && own.under_way.front().group < groups) {
    const Product& product = own.under_way.front();
    run_up_to(warp.index, product.number);
    if (product.wgmma.a_in_registers) {
      for (uint32_t i = 0; i < 4; ++i) own.registers.set(list(product.wgmma.a)[i], RegisterWatch::Use::none);
    }
    if (--product.sums->products == 0) {
      release(warp, *product.sums);
      own.sums.erase(product.sums);
    }
    own.under_way.pop_front();
  }
  // Registers of A that later products use, too.
  for (const Product& each : own.under_way) {
    for (uint32_t i = 0; each.wgmma.a_in_registers && i < 4; ++i)
      own.registers.set(list(each.wgmma.a)[i], RegisterWatch::Use::factor);
  }
}

/// A warp's products are done in their order, whichever is asked for first.
void Products::run_up_to(uint32_t warp, uint64_t number) {
  for (Product& each : of_warp_[warp].under_way) {
    if (each.number > number) return;
    if (!each.done) run(warp, each);
    each.done = true;
  }
}

void Products::run(uint32_t warp, Product& product) {
  const Wgmma& wgmma = product.wgmma;
  if (wgmma.sum == Sum::s32) return run_integers(warp, product);
  Matrix parts[2][2];
  read_a(warp, product, parts);
  TileA a;
  for (uint32_t half = 0; half < 2; ++half)
    widen(wgmma.a_type, parts[half][0], parts[half][1], a, half * 16 / bytes_of(wgmma.a_type));
  if (wgmma.negates) {
    for (auto& row : a.value) {
      for (uint32_t i = 0; i < wgmma.stored_k(); ++i) row[i][0] = -row[i][0], row[i][1] = -row[i][1];
    }
  }
  const std::vector<TileB>& b = load_b(product);
  const Adder adder{.k = wgmma.stored_k(), .sum = wgmma.sum};
  const uint32_t along_k = wgmma.tiles_of_b();
  Met met;
  if (wgmma.sparse) met = met_rows(places(wgmma.sparsity, product.metadata), wgmma.stored_k());
  for (uint32_t tile = 0; tile < wgmma.columns / 8u; ++tile) {
    TileC& sum = product.sums->tiles[tile];
    if (!product.adds) sum = {};
    if (wgmma.sparse)
      multiply_sparse(a, met, {&b[tile * along_k], along_k}, adder, sum);
    else
      multiply(a, b[tile], adder, sum);
  }
}

Products::State Products::state_of(uint32_t warp) const {
  if (warp >= of_warp_.size()) return {};
  const OfWarp& of = of_warp_[warp];
  return {of.issued, of.committed, of.under_way.size()};
}

}  // namespace sim

/// ldmatrix and stmatrix: 8×8 matrices of 16-bit elements between fragments and the rows that lanes name (PTX ISA
/// 9.7.14.5.15, 9.7.14.5.16).
#include <cstring>

#include "core/machine/access.h"
#include "core/tensor/tensor.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {

void load_rows(Warp& warp, uint32_t memo, Lanes& lanes, uint32_t count, const uint32_t* registers, bool transposed) {
  Block& block = warp.block;
  lanes.bytes = 16;
  lanes.rows = true;
  if (block.launch.options.watch) watch_shared(warp, memo, lanes, Touch::read);
  for (uint32_t i = 0; i < count; ++i) {
    Matrix& to = *warp.lanes<Matrix>(registers[i]);
    for (uint32_t row = 0; row < 8; ++row) {
      const uint32_t lane = 8 * i + row;
      if (lanes.mask >> lane & 1) std::memcpy(to.at[row], block.shared.data() + lanes.address[lane], 16);
    }
    if (transposed) transpose(to, to);
  }
}

namespace {

struct MatrixRows {
  AddressOperand address;
  std::array<uint32_t, 4> registers;
  uint32_t memo;
  uint8_t count;  ///< matrices
  bool transposed;
};

/// The addresses of the lanes that name a row, 8 for each matrix.
Lanes naming_lanes(Warp& warp, const MatrixRows& rows) {
  Lanes lanes;
  read_addresses(warp, rows.count == 4 ? all_lanes : (1u << 8 * rows.count) - 1, rows.address, lanes);
  if (rows.address.place == Place::generic) {
    const uint64_t own = shared_window + warp.block.shared_base();
    for (uint64_t& address : lanes.address) address -= own;  // what is not there is out of bounds
  }
  return lanes;
}

void load_matrix(Warp& warp, const MatrixRows& load) {
  if (!whole_warp(warp)) return;
  if (warp.trace != nullptr) [[unlikely]]
    trace_matrix(warp, load.transposed);
  Lanes lanes = naming_lanes(warp, load);
  load_rows(warp, load.memo, lanes, load.count, load.registers.data(), load.transposed);
}

void store_matrix(Warp& warp, const MatrixRows& store) {
  if (!whole_warp(warp)) return;
  Block& block = warp.block;
  Lanes lanes = naming_lanes(warp, store);
  lanes.bytes = 16;
  lanes.rows = true;
  if (block.launch.options.watch) watch_shared(warp, store.memo, lanes, Touch::write);
  for (uint32_t i = 0; i < store.count; ++i) {
    Matrix from = *warp.lanes<const Matrix>(store.registers[i]);
    if (store.transposed) transpose(from, from);
    for (uint32_t row = 0; row < 8; ++row) {
      const uint32_t lane = 8 * i + row;
      if (lanes.mask >> lane & 1) std::memcpy(block.shared.data() + lanes.address[lane], from.at[row], 16);
    }
  }
}

template <bool stores>
void build(Builder& builder) {
  const auto& operands = builder.operands();
  if (operands.size() != 2) builder.refuse("an address and a list of registers are needed");
  const ptx::Operand& list = operands[stores ? 1 : 0];
  auto& made = builder.made<MatrixRows>();
  made.count = builder.has("x4") ? 4 : builder.has("x2") ? 2 : 1;
  const bool listed = list.kind == ptx::Operand::Kind::vector;
  if (listed ? list.parts.size() != made.count : made.count != 1)
    builder.refuse("a list of " + std::to_string(made.count) + " registers is needed");
  for (size_t i = 0; i < made.count; ++i) {
    const ptx::Operand& each = listed ? list.parts[i] : list;
    made.registers[i] = stores ? builder.source(each, ptx::Width::b32) : builder.destination(each, ptx::Width::b32);
  }
  const auto address = builder.address(operands[stores ? 0 : 1]);
  const bool shared = builder.has("shared") || builder.has("shared::cta") || address.variable;
  made.address = {address.base, address.wide, shared ? Place::shared : Place::generic, address.offset};
  made.transposed = builder.has("trans");
  made.memo = builder.memo();
}

}  // namespace

[[gnu::cold]] void add_matrix_rows(Table& table) {
  const std::string rest = ".sync.aligned.m8n8{.x1,.x2,.x4}{,.trans}{,.shared,.shared::cta}.b16";
  table.add("ldmatrix" + rest,
            {"", Class::load_shared, handle_together<every_lane<MatrixRows>, load_matrix>, build<false>});
  table.add("stmatrix" + rest,
            {"", Class::store_shared, handle_together<every_lane<MatrixRows>, store_matrix>, build<true>});
}

}  // namespace sim

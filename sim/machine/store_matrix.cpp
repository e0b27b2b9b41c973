/// stmatrix: 8×8 matrices of 16-bit elements from fragments to the rows that lanes name (PTX ISA 9.7.14.5.16), ldmatrix
/// the other way round.
#include <cstring>

#include "machine/access.h"
#include "machine/decode.h"
#include "machine/forms.h"
#include "machine/tensor.h"

namespace sim {
namespace {

struct StoreMatrix {
  AddressOperand address;
  std::array<uint32_t, 4> registers;
  uint32_t memo;
  uint8_t count;  ///< matrices
  bool transposed;
};

void store_matrix(Warp& warp, const StoreMatrix& store) {
  if (!whole_warp(warp)) return;
  Block& block = warp.block;
  // Only the lanes that name a row: row i of matrix j is where lane 8·j + i says.
  const uint32_t naming = store.count == 4 ? all_lanes : (1u << 8 * store.count) - 1;
  Lanes lanes;
  read_addresses(warp, naming, store.address, lanes);
  if (store.address.place == Place::generic) {
    const uint64_t own = shared_window + block.shared_base();
    for (uint64_t& address : lanes.address) address -= own;  // what is not there is out of bounds
  }
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

void build_store_matrix(Builder& builder) {
  const auto& operands = builder.operands();
  auto& made = builder.made<StoreMatrix>();
  made.count = builder.has("x4") ? 4 : builder.has("x2") ? 2 : 1;
  if (operands.size() != 2) builder.refuse("an address and a list of registers are needed");
  const bool listed = operands[1].kind == ptx::Operand::Kind::vector;
  if (listed ? operands[1].parts.size() != made.count : made.count != 1)
    builder.refuse("a list of " + std::to_string(made.count) + " registers is needed");
  for (size_t i = 0; i < made.count; ++i)
    made.registers[i] = builder.source(listed ? operands[1].parts[i] : operands[1], ptx::Width::b32);
  const auto address = builder.address(operands[0]);
  const bool shared = builder.has("shared") || builder.has("shared::cta") || address.variable;
  made.address = {address.base, address.wide, shared ? Place::shared : Place::generic, address.offset};
  made.transposed = builder.has("trans");
  made.memo = builder.memo();
}

}  // namespace

void add_store_matrix(Table& table) {
  table.add("stmatrix.sync.aligned.m8n8{.x1,.x2,.x4}{,.trans}{,.shared,.shared::cta}.b16",
            {"", Class::store_shared, handle_together<every_lane<StoreMatrix>, store_matrix>, build_store_matrix});
}

}  // namespace sim

/// brx.idx: a branch whose target a register picks from a list, as `switch` becomes (PTX ISA 9.7.13.4).
#include "core/machine/block.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

struct Targets {
  uint32_t index;         ///< register
  uint32_t first, count;  ///< of the program's lists
};

void branch_by_index(Warp& warp, const Targets& targets) {
  const uint32_t* const list = warp.block.program.operand_lists.data() + targets.first;
  const u32* const index = warp.lanes<u32>(targets.index);
  for (uint32_t left = warp.exec; left != 0;) {
    const u32 chosen = index[first_lane(left)];
    warp.exec = 0;
    for_lanes(left, [&](uint32_t lane) { warp.exec |= u32{index[lane] == chosen} << lane; });
    left &= ~warp.exec;
    if (chosen < targets.count) {
      warp.branch(list[chosen]);
      continue;
    }
    Block& block = warp.block;
    return block.give_up(warp, Finding::trap, [&] {
      return block.what_it_does(warp, first_lane(warp.exec)) + ": index " + std::to_string(chosen) + " of " +
             std::to_string(targets.count) + " targets";
    });
  }
}

void build_branch_by_index(Builder& builder) {
  const auto& operands = builder.operands();
  auto& made = builder.made<Targets>();
  made.index = builder.source(operands[0], ptx::Width::b32);
  std::vector<uint32_t>& lists = builder.program().operand_lists;
  made.first = static_cast<uint32_t>(lists.size());
  made.count = static_cast<uint32_t>(operands.size() - 1);
  for (size_t i = 1; i < operands.size(); ++i) lists.push_back(operands[i].index);
}

}  // namespace

[[gnu::cold]] void add_branch_table(Table& table) {
  table.add("{brx.idx,brx.idx.uni}", {"", Class::branch, handle<branch_by_index>, build_branch_by_index});
}

}  // namespace sim

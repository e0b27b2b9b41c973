/// setmaxnreg: warps of a block hand registers to each other (PTX ISA 9.7.20.5).
#include "core/machine/register_pool.h"

#include "core/machine/cluster.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

struct SetRegisters {
  uint32_t count;  ///< of a thread
  bool raises;
};

void set_registers(Warp& warp, const SetRegisters& wanted) {
  Block& block = warp.block;
  RegisterPool& pool = block.registers;
  const auto refuse = [&](const std::string& why) {
    block.give_up(warp, Finding::registers,
                  [&] { return block.what_it_does(warp, first_lane(warp.exec)) + ": " + why; });
  };
  if (pool.per_thread() == 0) {
    return block.cluster.warn(Finding::registers, warp.here(), nowhere, [&] {
      return block.what_it_does(warp, first_lane(warp.exec)) +
             ": the kernel has no launch bounds, so that ptxas ignores it: __launch_bounds__ with the block's threads";
    });
  }
  const uint32_t has = pool.of_warp(warp.index);
  if (wanted.raises ? wanted.count < has : wanted.count > has) {
    return refuse(std::to_string(wanted.count) + " registers per thread are " + (wanted.raises ? "less" : "more") +
                  " than the " + std::to_string(has) + " that the warp has");
  }
  if (!pool.set(warp.index, wanted.count))
    return warp.wait_again({.kind = Warp::Wait::Kind::registers, .block = &block, .number = wanted.count});
  if (block.cluster.events) [[unlikely]]
    block.cluster.note(warp, {.kind = Event::Kind::registers, .owner = block.rank, .bytes = wanted.count});
  if (!wanted.raises) block.cluster.wake(Warp::Wait::Kind::registers, &block, 0);
}

void build_set_registers(Builder& builder) {
  if (builder.operands().size() != 1) builder.refuse("one operand is needed");
  const uint64_t count = builder.immediate(builder.operands()[0]);
  if (count < RegisterPool::least || count > RegisterPool::most || count % RegisterPool::step != 0)
    builder.refuse("a multiple of 8 from 24 to 256 is needed, not " + std::to_string(count));
  builder.made<SetRegisters>() = {static_cast<uint32_t>(count), builder.has("inc")};
}

}  // namespace

[[gnu::cold]] void add_registers(Table& table) {
  table.add("setmaxnreg.{inc,dec}.sync.aligned.u32",
            {"", Class::other, handle_together<every_lane<SetRegisters>, set_registers>, build_set_registers});
}

}  // namespace sim

/// wgmma.mma_async, .fence, .commit_group and .wait_group (PTX ISA 9.7.15).
#include "core/machine/cluster.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

void multiply_async(Warp& warp, const Wgmma& wgmma) { warp.block.products.issue(warp, wgmma); }

/// The operand of wait_group; of the others none.
struct Groups {
  uint64_t left;
};
void fence(Warp& warp, const Groups&) { warp.block.products.fence(warp); }
void commit(Warp& warp, const Groups&) { warp.block.products.commit(warp); }
void wait(Warp& warp, const Groups& groups) { warp.block.products.wait(warp, groups.left); }

void build_plain(Builder& builder) {
  if (!builder.operands().empty()) builder.refuse("it has no operands");
  builder.made<Groups>();
}

void build_wait(Builder& builder) {
  if (builder.operands().size() != 1) builder.refuse("one operand is needed");
  builder.made<Groups>().left = builder.immediate(builder.operands()[0]);
}

/// wgmma.mma_async[.sp].sync.aligned.SHAPE.D.A.B, with or without .satfinite behind the shape or at the end.
///
/// D, A, descriptor of B; of a sparse A the metadata and their selector; scale-d; except of integers, the signs of A
/// and B; and of 16-bit types whether A (if it is in shared memory) and B are transposed, that is MN-major.
void build_multiply(Builder& builder) {
  const auto& operands = builder.operands();
  auto parts = builder.parts();
  auto& made = builder.made<Wgmma>();
  made.sparse = std::erase(parts, "sp") != 0;
  made.saturates = std::erase(parts, "satfinite") != 0;
  made.columns = static_cast<uint16_t>(std::stoul(std::string(parts[4].substr(parts[4].find('n') + 1))));
  made.sum = parts[5] == "f32" ? Sum::f32 : parts[5] == "f16" ? Sum::f16 : Sum::s32;
  made.a_type = factor_named(parts[6]);
  made.b_type = factor_named(parts[7]);
  const bool turns = bytes_of(made.a_type) == 2, integers = made.sum == Sum::s32;
  made.a_in_registers = operands.size() > 1 && operands[1].kind == ptx::Operand::Kind::vector;
  const size_t scale_d = made.sparse ? 5 : 3;
  const size_t wanted = scale_d + (integers ? 1 : 3) + (turns ? made.a_in_registers ? 1 : 2 : 0);
  if (operands.size() != wanted) builder.refuse(std::to_string(wanted) + " operands are needed");
  const auto number = [&](size_t i, int64_t low, int64_t high) {
    const auto value = static_cast<int64_t>(builder.immediate(operands[i]));
    if (value != low && value != high) {
      builder.refuse("operand " + std::to_string(i + 1) + " has to be " + std::to_string(low) + " or " +
                     std::to_string(high));
    }
    return value;
  };
  made.d = builder.registers(operands[0], made.sum_registers(), true);
  if (made.a_in_registers)
    made.a = builder.registers(operands[1], 4, false);
  else
    made.a_descriptor = builder.source(operands[1], ptx::Width::b64);
  made.b_descriptor = builder.source(operands[2], ptx::Width::b64);
  made.scale_d = builder.source(operands[scale_d], ptx::Width::predicate);
  made.negates = !integers && number(scale_d + 1, -1, 1) != number(scale_d + 2, -1, 1);
  if (turns) {
    made.a_transposed = !made.a_in_registers && number(scale_d + 3, 0, 1) == 1;
    made.b_transposed = number(operands.size() - 1, 0, 1) == 1;
  }
  builder.watches_its_own_registers();
  if (!made.sparse) return;
  made.sparsity = {.depth = static_cast<uint8_t>(made.k()),
                   .element_bits = static_cast<uint8_t>(8 * bytes_of(made.a_type))};
  made.sparsity.selector = selector_operand(builder, 4, made.sparsity);
  made.metadata = builder.source(operands[3], ptx::Width::b32);  // read at once, as any register is
}

}  // namespace

[[gnu::cold]] void add_wgmma(Table& table) {
  const Form multiply{"", Class::tensor, handle_together<every_lane<Wgmma>, multiply_async>, build_multiply};
  const auto add_products = [&](const std::string& family, uint32_t bytes_of_k) {
    const std::string of_2 = "k" + std::to_string(bytes_of_k / 2), of_4 = "k" + std::to_string(bytes_of_k / 4),
                      of_1 = "k" + std::to_string(bytes_of_k);
    for (uint32_t n = 8; n <= 256; n += 8) {
      const std::string shape = family + ".sync.aligned.m64n" + std::to_string(n);
      table.add(shape + of_2 + ".{f16,f32}.f16.f16", multiply);
      table.add(shape + of_2 + ".f32.bf16.bf16", multiply);
      table.add(shape + of_4 + ".f32.tf32.tf32", multiply);
      table.add(shape + of_1 + ".{f16,f32}.{e4m3,e5m2}.{e4m3,e5m2}", multiply);
      if (n != 24 && n != 8 && n % 16 != 0) continue;
      table.add(shape + of_1 + ".s32.{s8,u8}.{s8,u8}{,.satfinite}", multiply);
      table.add(shape + of_1 + ".satfinite.s32.{s8,u8}.{s8,u8}", multiply);
      if (bytes_of_k == 32) table.add(shape + "k256.s32.b1.b1.and.popc", multiply);
    }
  };
  add_products("wgmma.mma_async", 32);
  add_products("wgmma.mma_async.sp", 64);
  const auto add = [&]<auto function>(const std::string& name, Build build) {
    table.add(name, {"", Class::barrier, handle_together<every_lane<Groups>, function>, build});
  };
  add.operator()<fence>("wgmma.fence.sync.aligned", build_plain);
  add.operator()<commit>("wgmma.commit_group.sync.aligned", build_plain);
  add.operator()<wait>("wgmma.wait_group.sync.aligned", build_wait);
}

}  // namespace sim

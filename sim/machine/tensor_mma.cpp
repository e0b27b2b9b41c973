/// mma, wmma.mma and movmatrix: what tensor cores compute, and the one instruction that turns a fragment over (PTX ISA
/// 9.7.14). All of it is made of m16n8 products; a wmma is two of them, as in the machine code.
#include "machine/block.h"
#include "machine/decode.h"
#include "machine/forms.h"
#include "machine/tensor.h"

namespace sim {

bool whole_warp(Warp& warp) {
  if (warp.exec == all_lanes) return true;
  Block& block = warp.block;
  const uint32_t absent = first_lane(~warp.exec);
  const char* const why = !(warp.started >> absent & 1) ? " does not exist"
                          : warp.live >> absent & 1     ? " waits elsewhere"
                                                        : " has ended";
  block.give_up(warp, Finding::divergent_barrier, [&] {
    return block.program.sites[warp.here()].text + " at " + block.where(warp.here()) +
           " is executed by part of a warp only: " + block.thread(warp, absent) + why;
  });
  return false;
}

namespace {

enum class Input { f16, bf16, tf32 };
enum class Sum { f16, f32 };

/// The registers of an instruction's fragments, in the order in which they are written: D, A, B, C.
struct Registers {
  uint32_t d, a, b, c;  ///< how many
  uint32_t all() const { return d + a + b + c; }
};

/// What is made of `parts` m16n8 products.
struct Multiplication {
  MmaShape shape;
  Input input;
  Sum sum;
  bool wmma;

  constexpr uint32_t element_bytes() const { return input == Input::tf32 ? 4 : 2; }
  constexpr uint32_t parts() const { return shape.m * shape.n / 128; }
  constexpr bool turned() const { return shape.m == 8; }  ///< Cᵀ = Bᵀ·Aᵀ: A and B change places
  constexpr Fragment of(Role role) const {
    return fragment(shape, role, role == Role::c ? (sum == Sum::f32 ? 4 : 2) : static_cast<uint8_t>(element_bytes()));
  }
  /// As PTX counts them: wmma's f16 fragments of A and B have 8, copies included.
  constexpr Registers registers() const {
    const bool copies = wmma && input == Input::f16;
    return {of(Role::c).registers(), copies ? 8 : of(Role::a).registers(), copies ? 8 : of(Role::b).registers(),
            of(Role::c).registers()};
  }
};

/// Registers of D, A, B and C, in Program::operand_lists.
struct Lists {
  uint32_t first;
};

template <Multiplication what>
void trace(Warp& warp) {
  for (const Role role : {Role::a, Role::b, Role::c})
    trace_fragment(warp, what.wmma ? "wmma" : "mma", what.shape, role, what.of(role).element_bytes);
}

template <Multiplication what>
void execute(Warp& warp, const Lists& lists) {
  if (!whole_warp(warp)) return;
  if (warp.trace != nullptr) [[unlikely]]
    trace<what>(warp);
  constexpr Registers registers = what.registers();
  constexpr uint32_t matrix_depth = 16 / what.element_bytes();  // elements of k in one register
  constexpr uint32_t depths = what.shape.k / matrix_depth;
  constexpr uint32_t parts = what.parts(), sum_registers = registers.d / parts;
  constexpr bool tall = what.shape.m == 32 || what.turned();  // the parts lie one below the other, not side by side

  const uint32_t* const d = warp.block.program.operand_lists.data() + lists.first;
  const uint32_t* const c = d + registers.d + registers.a + registers.b;
  const uint32_t* a = d + registers.d;
  const uint32_t* b = a + registers.a;
  if constexpr (what.turned()) std::swap(a, b);

  constexpr uint32_t tiles_a = tall ? parts : 1, tiles_b = tall ? 1 : parts;
  std::array<TileA, tiles_a> tile_a;
  std::array<TileB, tiles_b> tile_b;
  std::array<TileC, parts> tile_c;
  for (uint32_t i = 0; i < tiles_a * 2 * depths; ++i) {
    double* const to = &tile_a[i / (2 * depths)].at[i % 2 * 8][i % (2 * depths) / 2 * matrix_depth];
    if constexpr (what.input == Input::f16)
      widen_f16(*warp.lanes<const Matrix>(a[i]), to, TileA::pitch);
    else if constexpr (what.input == Input::bf16)
      widen_bf16(*warp.lanes<const Matrix>(a[i]), to, TileA::pitch);
    else
      widen_tf32(warp.lanes<const u32>(a[i]), to, TileA::pitch);
  }
  for (uint32_t i = 0; i < tiles_b * depths; ++i) {
    double* const to = tile_b[i / depths].at[i % depths * matrix_depth];
    if constexpr (what.input == Input::tf32) {
      widen_tf32_turned(warp.lanes<const u32>(b[i]), to, TileB::pitch);
    } else {
      Matrix turned;
      transpose(*warp.lanes<const Matrix>(b[i]), turned);
      what.input == Input::f16 ? widen_f16(turned, to, TileB::pitch) : widen_bf16(turned, to, TileB::pitch);
    }
  }
  for (uint32_t part = 0; part < parts; ++part) {
    const uint32_t* const own = c + part * sum_registers;
    TileC& tile = tile_c[part];
    for (uint32_t half = 0; half < 2; ++half) {
      if constexpr (what.sum == Sum::f16)
        widen_f16(*warp.lanes<const Matrix>(own[half]), tile.at[8 * half], 8);
      else
        read_f32(warp.lanes<const u32>(own[2 * half]), warp.lanes<const u32>(own[2 * half + 1]), &tile.at[8 * half]);
    }
    multiply(tile_a[tall ? part : 0], tile_b[tall ? 0 : part], tile, what.shape.k);
  }
  for (uint32_t part = 0; part < parts; ++part) {
    const uint32_t* const own = d + part * sum_registers;
    const TileC& tile = tile_c[part];
    for (uint32_t half = 0; half < 2; ++half) {
      if constexpr (what.sum == Sum::f16)
        write_f16(&tile.at[8 * half], *warp.lanes<Matrix>(own[half]));
      else
        write_f32(&tile.at[8 * half], warp.lanes<u32>(own[2 * half]), warp.lanes<u32>(own[2 * half + 1]));
    }
  }
}

template <Multiplication what>
void build(Builder& builder) {
  constexpr Registers registers = what.registers();
  constexpr uint32_t counts[] = {registers.d, registers.a, registers.b, registers.c};
  const auto& operands = builder.operands();
  if (operands.size() != 4) builder.refuse("four lists of registers are needed");
  auto& lists = builder.program().operand_lists;
  builder.made<Lists>().first = static_cast<uint32_t>(lists.size());
  for (size_t i = 0; i < 4; ++i) {
    if (operands[i].kind != ptx::Operand::Kind::vector || operands[i].parts.size() != counts[i])
      builder.refuse("list " + std::to_string(i + 1) + " has to be of " + std::to_string(counts[i]) + " registers");
    for (const ptx::Operand& part : operands[i].parts)
      lists.push_back(i == 0 ? builder.destination(part, ptx::Width::b32) : builder.source(part, ptx::Width::b32));
  }
}

template <Multiplication what>
void add_multiplication(Table& table, const std::string& opcode) {
  table.add(opcode, {"", Class::tensor, handle_together<every_lane<Lists>, execute<what>>, build<what>});
}

constexpr MmaShape m16n8k8{16, 8, 8}, m16n8k16{16, 8, 16};
constexpr MmaShape m16n16k16{16, 16, 16}, m32n8k16{32, 8, 16}, m8n32k16{8, 32, 16}, m16n16k8{16, 16, 8};

template <MmaShape shape>
void add_wmma(Table& table, const std::string& name) {
  const std::string opcode = "wmma.mma.sync.aligned.{row,col}.{row,col}." + name;
  add_multiplication<Multiplication{shape, Input::f16, Sum::f16, true}>(table, opcode + ".f16.f16");
  add_multiplication<Multiplication{shape, Input::f16, Sum::f32, true}>(table, opcode + ".f32.f32");
  add_multiplication<Multiplication{shape, Input::bf16, Sum::f32, true}>(table, opcode + ".f32.bf16.bf16.f32");
}

/// movmatrix: operand 0 the destination, 1 the source.
void move_matrix(Warp& warp, const Operands& operands) {
  if (!whole_warp(warp)) return;
  transpose(*warp.lanes<const Matrix>(operands.at[1]), *warp.lanes<Matrix>(operands.at[0]));
}

void build_move_matrix(Builder& builder) {
  if (builder.operands().size() != 2) builder.refuse("two registers are needed");
  Operands& made = builder.made<Operands>();
  made.at[0] = builder.destination(builder.operands()[0], ptx::Width::b32);
  made.at[1] = builder.source(builder.operands()[1], ptx::Width::b32);
}

}  // namespace

void add_tensor(Table& table) {
  const std::string mma = "mma.sync.aligned.";
  add_multiplication<Multiplication{m16n8k16, Input::f16, Sum::f16, false}>(table,
                                                                            mma + "m16n8k16.row.col.f16.f16.f16.f16");
  add_multiplication<Multiplication{m16n8k16, Input::f16, Sum::f32, false}>(table,
                                                                            mma + "m16n8k16.row.col.f32.f16.f16.f32");
  add_multiplication<Multiplication{m16n8k16, Input::bf16, Sum::f32, false}>(
      table, mma + "m16n8k16.row.col.f32.bf16.bf16.f32");
  add_multiplication<Multiplication{m16n8k8, Input::f16, Sum::f16, false}>(table,
                                                                           mma + "m16n8k8.row.col.f16.f16.f16.f16");
  add_multiplication<Multiplication{m16n8k8, Input::f16, Sum::f32, false}>(table,
                                                                           mma + "m16n8k8.row.col.f32.f16.f16.f32");
  add_multiplication<Multiplication{m16n8k8, Input::bf16, Sum::f32, false}>(table,
                                                                            mma + "m16n8k8.row.col.f32.bf16.bf16.f32");
  add_multiplication<Multiplication{m16n8k8, Input::tf32, Sum::f32, false}>(table,
                                                                            mma + "m16n8k8.row.col.f32.tf32.tf32.f32");
  add_wmma<m16n16k16>(table, "m16n16k16");
  add_wmma<m32n8k16>(table, "m32n8k16");
  add_wmma<m8n32k16>(table, "m8n32k16");
  add_multiplication<Multiplication{m16n16k8, Input::tf32, Sum::f32, true}>(
      table, "wmma.mma.sync.aligned.{row,col}.{row,col}.m16n16k8.f32.tf32.tf32.f32");
  table.add("movmatrix.sync.aligned.m8n8.trans.b16",
            {"", Class::shuffle, handle_together<every_lane<Operands>, move_matrix>, build_move_matrix});
}

}  // namespace sim

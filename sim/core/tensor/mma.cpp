/// mma, wmma.mma and movmatrix: what tensor cores compute, and the one instruction that turns a fragment over (PTX ISA
/// 9.7.14). All of it is made of m16n8 products, in the order in which the machine code of sm_90 has them:
///   - An mma of f16, bf16 or tf32 is one instruction, whatever its depth.
///   - A wmma is two of them side by side, or one below the other. With tf32 each is again two, of four columns of A:
///     the sum of the first is rounded before the second adds to it. Where C and D have different types the products
///     are those of f32, and D is rounded once more.
///   - sm_90 has no instruction for an mma of FP8. ptxas converts its factors to f16 and makes two products of half the
///     depth: of the k for which k % 4 < 2, from zero, and then of the others on top. C is added last, as by an `add`.
#include <algorithm>
#include <array>
#include <cstring>

#include "core/machine/block.h"
#include "core/tensor/tensor.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

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

/// The registers of an instruction's fragments, in the order in which they are written: D, A, B, C.
struct Registers {
  uint32_t d, a, b, c;  ///< how many
};

/// What is made of `parts` m16n8 products.
struct Multiplication {
  MmaShape shape;
  Factor a, b;
  Sum c, d;
  bool wmma = false;

  constexpr Sum sum() const { return c == Sum::f16 && d == Sum::f16 ? Sum::f16 : Sum::f32; }  ///< of the products
  constexpr bool fp8() const { return bytes_of(a) == 1; }
  constexpr uint32_t parts() const { return shape.m * shape.n / 128; }
  constexpr bool turned() const { return shape.m == 8; }  ///< Cᵀ = Bᵀ·Aᵀ: A and B change places
  /// Instructions of the machine code for each part, one after the other along k.
  constexpr uint32_t passes() const { return fp8() || (wmma && a == Factor::tf32) ? 2 : 1; }
  constexpr Fragment of(Role role, uint32_t element_bytes) const {
    return fragment(shape, role, static_cast<uint8_t>(element_bytes));
  }
  /// As PTX counts them: wmma's f16 fragments of A and B have 8, copies included.
  constexpr Registers registers() const {
    const bool copies = wmma && a == Factor::f16;
    const auto sums = [&](Sum type) { return of(Role::c, type == Sum::f32 ? 4 : 2).registers(); };
    return {sums(d), copies ? 8 : of(Role::a, bytes_of(a)).registers(),
            copies ? 8 : of(Role::b, bytes_of(b)).registers(), sums(c)};
  }
};

/// Registers of D, A, B and C, in Program::operand_lists.
struct Lists {
  uint32_t first;
};

/// What one pass takes from a register of A or B. FP8 is converted to f16 first: the low two bytes of each lane in one
/// pass, the high two in the other.
template <Factor factor>
const Matrix& taken(const Matrix& from, uint32_t pass, Matrix& space) {
  if constexpr (bytes_of(factor) == 1) {
    fp8_to_f16(factor, from, pass, space);
    return space;
  } else {
    return from;
  }
}

/// Registers of an m16n8 product's sums.
constexpr uint32_t registers_of(Sum type) { return type == Sum::f16 ? 2 : 4; }

/// Several registers of a warp, by their offsets.
template <uint32_t count>
std::array<Matrix*, count> several(Warp& warp, const uint32_t* offsets) {
  std::array<Matrix*, count> registers;
  for (uint32_t i = 0; i < count; ++i) registers[i] = warp.lanes<Matrix>(offsets[i]);
  return registers;
}

/// Tiles that were widened before, and from which registers' contents. Kernels multiply one fragment of A with several
/// of B, or one of B with several of A: widening it once is enough.
template <class Tile, uint32_t tiles, uint32_t sources>
struct Recent {
  std::array<Tile, tiles> tile;
  std::array<Matrix, sources> from;
  bool known = false;

  /// Whether the tiles are already those of these registers. If not they will be: they are emptied.
  bool holds(Warp& warp, const uint32_t* registers) {
    bool same = known;
    for (uint32_t i = 0; i < sources && same; ++i)
      same = std::memcmp(&from[i], warp.lanes<const Matrix>(registers[i]), sizeof(Matrix)) == 0;
    if (same) return true;
    for (uint32_t i = 0; i < sources; ++i) from[i] = *warp.lanes<const Matrix>(registers[i]);
    for (Tile& each : tile) each.wild = false;
    known = true;
    return false;
  }
};

template <Multiplication what>
void trace(Warp& warp) {
  for (const Role role : {Role::a, Role::b, Role::c}) {
    const uint32_t bytes = role == Role::a      ? bytes_of(what.a)
                           : role == Role::b    ? bytes_of(what.b)
                           : what.c == Sum::f32 ? 4
                                                : 2;
    trace_fragment(warp, what.wmma ? "wmma" : "mma", what.shape, role, 8 * bytes);
  }
}

template <Multiplication what>
void execute(Warp& warp, const Lists& lists) {
  if (!whole_warp(warp)) return;
  if (warp.trace != nullptr) [[unlikely]]
    trace<what>(warp);
  constexpr Registers registers = what.registers();
  constexpr uint32_t passes = what.passes(), parts = what.parts();
  // FP8: a register has 16 columns, of which a pass takes 8.
  constexpr uint32_t matrix_depth = what.fp8() ? 8 : 16 / bytes_of(what.a), depth = what.shape.k / passes;
  constexpr uint32_t matrices = depth / matrix_depth;         // along k, of one pass
  constexpr uint32_t first_step = what.fp8() ? 0 : matrices;  // from the first pass to the second
  constexpr uint32_t along_k = matrices + (passes - 1) * first_step;
  constexpr bool tall = what.shape.m == 32 || what.turned();    // the parts lie one below the other, not side by side
  constexpr Factor type_a = what.fp8() ? Factor::f16 : what.a;  // of what is multiplied
  constexpr Adder adder{.k = depth, .sum = what.sum()};

  const uint32_t* const d = warp.block.program.operand_lists.data() + lists.first;
  const uint32_t* const c = d + registers.d + registers.a + registers.b;
  const uint32_t* a = d + registers.d;
  const uint32_t* b = a + registers.a;
  if constexpr (what.turned()) std::swap(a, b);

  constexpr uint32_t tiles_a = tall ? parts : 1, tiles_b = tall ? 1 : parts;
  constexpr uint32_t of_c = registers_of(what.c), of_d = registers_of(what.d);
  std::array<TileC, parts> addend, sum;
  for (uint32_t part = 0; part < parts; ++part)
    read_sums(what.c, several<of_c>(warp, c + part * of_c).data(), addend[part]);
  if constexpr (what.fp8())
    sum = {};
  else
    sum = addend;
  static thread_local Recent<TileA, tiles_a, tiles_a * 2 * along_k> recent_a;
  static thread_local Recent<TileB, tiles_b, tiles_b * along_k> recent_b;
  auto& tile_a = recent_a.tile;
  auto& tile_b = recent_b.tile;
  for (uint32_t pass = 0; pass < passes; ++pass) {
    if (passes > 1) recent_a.known = recent_b.known = false;  // each pass has other columns
    const bool has_a = recent_a.holds(warp, a), has_b = recent_b.holds(warp, b);
    for (uint32_t i = 0; !has_a && i < tiles_a * matrices; ++i) {
      const uint32_t number = i / matrices * along_k + pass * first_step + i % matrices;
      Matrix space[2];
      const auto [upper, lower] = several<2>(warp, a + 2 * number);
      widen(type_a, taken<what.a>(*upper, pass, space[0]), taken<what.a>(*lower, pass, space[1]), tile_a[i / matrices],
            i % matrices * matrix_depth);
    }
    for (uint32_t i = 0; !has_b && i < tiles_b * matrices; ++i) {
      const uint32_t number = i / matrices * along_k + pass * first_step + i % matrices;
      Matrix space;
      const Matrix& from = taken<what.b>(*warp.lanes<const Matrix>(b[number]), pass, space);
      widen_columns(type_a, from, tile_b[i / matrices], i % matrices * matrix_depth);
    }
    for (uint32_t part = 0; part < parts; ++part) {
      multiply(tile_a[tall ? part : 0], tile_b[tall ? 0 : part], adder, sum[part]);
    }
  }
  for (uint32_t part = 0; part < parts; ++part) {
    if constexpr (what.fp8()) add_rounded(addend[part], what.sum(), sum[part]);
    if constexpr (what.d == Sum::f16 && what.sum() == Sum::f32) round_to_f16(sum[part]);
    write_sums(what.d, sum[part], several<of_d>(warp, d + part * of_d).data());
  }
}

template <Multiplication what>
void build(Builder& builder) {
  constexpr Registers registers = what.registers();
  constexpr uint32_t counts[] = {registers.d, registers.a, registers.b, registers.c};
  const auto& operands = builder.operands();
  if (operands.size() != 4) builder.refuse("four lists of registers are needed");
  builder.made<Lists>().first = static_cast<uint32_t>(builder.program().operand_lists.size());
  for (size_t i = 0; i < 4; ++i) builder.registers(operands[i], counts[i], i == 0);
}

template <Multiplication what>
[[gnu::cold]] void add_multiplication(Table& table, const std::string& opcode) {
  table.add(opcode, {"", Class::tensor, handle_together<every_lane<Lists>, execute<what>>, build<what>});
}

constexpr MmaShape m16n8k4{16, 8, 4}, m16n8k8{16, 8, 8}, m16n8k16{16, 8, 16}, m16n8k32{16, 8, 32};
constexpr MmaShape m16n16k16{16, 16, 16}, m32n8k16{32, 8, 16}, m8n32k16{8, 32, 16}, m16n16k8{16, 16, 8};

template <MmaShape shape>
[[gnu::cold]] void add_wmma(Table& table, const std::string& name) {
  const std::string opcode = "wmma.mma.sync.aligned.{row,col}.{row,col}." + name;
  constexpr Factor f16 = Factor::f16, bf16 = Factor::bf16;
  add_multiplication<Multiplication{shape, f16, f16, Sum::f16, Sum::f16, true}>(table, opcode + ".f16.f16");
  add_multiplication<Multiplication{shape, f16, f16, Sum::f32, Sum::f32, true}>(table, opcode + ".f32.f32");
  add_multiplication<Multiplication{shape, f16, f16, Sum::f16, Sum::f32, true}>(table, opcode + ".f32.f16");
  add_multiplication<Multiplication{shape, f16, f16, Sum::f32, Sum::f16, true}>(table, opcode + ".f16.f32");
  add_multiplication<Multiplication{shape, bf16, bf16, Sum::f32, Sum::f32, true}>(table, opcode + ".f32.bf16.bf16.f32");
}

template <MmaShape shape, Factor a, Factor b, Sum sum>
[[gnu::cold]] void add_mma(Table& table, const std::string& shape_name, const std::string& types) {
  add_multiplication<Multiplication{shape, a, b, sum, sum}>(table,
                                                            "mma.sync.aligned." + shape_name + ".row.col." + types);
}

template <MmaShape shape>
[[gnu::cold]] void add_mma_f16(Table& table, const std::string& name) {
  add_mma<shape, Factor::f16, Factor::f16, Sum::f16>(table, name, "f16.f16.f16.f16");
  add_mma<shape, Factor::f16, Factor::f16, Sum::f32>(table, name, "f32.f16.f16.f32");
  add_mma<shape, Factor::bf16, Factor::bf16, Sum::f32>(table, name, "f32.bf16.bf16.f32");
}

template <MmaShape shape, Sum sum>
[[gnu::cold]] void add_mma_fp8(Table& table, const std::string& name, const std::string& sum_name) {
  const auto types = [&](const char* a, const char* b) { return sum_name + "." + a + "." + b + "." + sum_name; };
  add_mma<shape, Factor::e4m3, Factor::e4m3, sum>(table, name, types("e4m3", "e4m3"));
  add_mma<shape, Factor::e4m3, Factor::e5m2, sum>(table, name, types("e4m3", "e5m2"));
  add_mma<shape, Factor::e5m2, Factor::e4m3, sum>(table, name, types("e5m2", "e4m3"));
  add_mma<shape, Factor::e5m2, Factor::e5m2, sum>(table, name, types("e5m2", "e5m2"));
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

[[gnu::cold]] void add_tensor(Table& table) {
  add_mma_f16<m16n8k8>(table, "m16n8k8");
  add_mma_f16<m16n8k16>(table, "m16n8k16");
  add_mma<m16n8k4, Factor::tf32, Factor::tf32, Sum::f32>(table, "m16n8k4", "f32.tf32.tf32.f32");
  add_mma<m16n8k8, Factor::tf32, Factor::tf32, Sum::f32>(table, "m16n8k8", "f32.tf32.tf32.f32");
  add_mma_fp8<m16n8k16, Sum::f32>(table, "m16n8k16", "f32");
  add_mma_fp8<m16n8k16, Sum::f16>(table, "m16n8k16", "f16");
  add_mma_fp8<m16n8k32, Sum::f32>(table, "m16n8k32", "f32");
  add_mma_fp8<m16n8k32, Sum::f16>(table, "m16n8k32", "f16");
  add_wmma<m16n16k16>(table, "m16n16k16");
  add_wmma<m32n8k16>(table, "m32n8k16");
  add_wmma<m8n32k16>(table, "m8n32k16");
  add_multiplication<Multiplication{m16n16k8, Factor::tf32, Factor::tf32, Sum::f32, Sum::f32, true}>(
      table, "wmma.mma.sync.aligned.{row,col}.{row,col}.m16n16k8.f32.tf32.tf32.f32");
  table.add("movmatrix.sync.aligned.m8n8.trans.b16",
            {"", Class::shuffle, handle_together<every_lane<Operands>, move_matrix>, build_move_matrix});
}

}  // namespace sim

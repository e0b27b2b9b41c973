// Tensor-core instructions against models written from the PTX ISA's own formulas: who holds which element, what wmma
// loads and stores, how often memory is asked. What mma makes of numbers: test_tensor_numerics.cpp and
// recordings/tensor_products.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "core/tensor/fragments.h"
#include "recorded_loads.h"

namespace sim::testing::test_tensor {
namespace {

using Words = std::vector<uint32_t>;
using CellOf = std::function<Cell(uint32_t lane, uint32_t element)>;

Cell cell(uint32_t row, uint32_t col) { return {static_cast<uint8_t>(row), static_cast<uint8_t>(col)}; }

// --- layouts ---

// PTX ISA, "Matrix fragments for mma.m16n8k16" and its neighbours: groupID = lane >> 2, threadID_in_group = lane % 4.
struct IsaLayout {
  MmaShape shape;
  Role role;
  uint8_t element_bytes;
  uint32_t elements;
  Cell (*cell_of)(uint32_t group, uint32_t in_group, uint32_t i);
};

constexpr MmaShape k16{16, 8, 16}, k8{16, 8, 8};
Cell of_c(uint32_t group, uint32_t t, uint32_t i) { return cell(i < 2 ? group : group + 8, t * 2 + (i & 1)); }
const IsaLayout isa_layouts[] = {
    {k16, Role::a, 2, 8,
     [](auto group, auto t, auto i) {
       return cell(i < 2 || (i >= 4 && i < 6) ? group : group + 8, t * 2 + (i & 1) + (i >= 4 ? 8 : 0));
     }},
    {k16, Role::b, 2, 4, [](auto group, auto t, auto i) { return cell(t * 2 + (i & 1) + (i >= 2 ? 8 : 0), group); }},
    {k16, Role::c, 2, 4, of_c},
    {k16, Role::c, 4, 4, of_c},
    {k8, Role::a, 2, 4, of_c},
    {k8, Role::b, 2, 2, [](auto group, auto t, auto i) { return cell(t * 2 + i, group); }},
    {k8, Role::c, 2, 4, of_c},
    {k8, Role::c, 4, 4, of_c},
    {k8, Role::a, 4, 4,
     [](auto group, auto t, auto i) { return cell(i % 2 == 0 ? group : group + 8, t + (i >= 2 ? 4 : 0)); }},
    {k8, Role::b, 4, 2, [](auto group, auto t, auto i) { return cell(t + (i == 1 ? 4 : 0), group); }}};

TEST(Fragments, AreWhereTheIsaSays) {
  for (const IsaLayout& layout : isa_layouts) {
    const Fragment held = fragment(layout.shape, layout.role, layout.element_bytes);
    ASSERT_EQ(held.elements(), layout.elements);
    for (uint32_t lane = 0; lane < 32; ++lane) {
      for (uint32_t i = 0; i < layout.elements; ++i)
        EXPECT_EQ(held.cell(lane, i), layout.cell_of(lane >> 2, lane % 4, i));
    }
  }
}

TEST(Fragments, HoldEveryElementOnce) {
  for (const MmaShape shape : {MmaShape{16, 8, 16}, {16, 8, 8}, {16, 16, 16}, {32, 8, 16}, {8, 32, 16}, {16, 16, 8}}) {
    for (const Role role : {Role::a, Role::b, Role::c}) {
      for (const uint8_t bytes : {uint8_t{2}, uint8_t{4}}) {
        if (role != Role::c && shape.k == 16 && bytes == 4) continue;
        const Fragment held = fragment(shape, role, bytes);
        std::vector<int> times(size_t{held.rows} * held.cols);
        for (uint32_t lane = 0; lane < 32; ++lane) {
          for (uint32_t i = 0; i < held.elements(); ++i) {
            const Cell at = held.cell(lane, i);
            ASSERT_LT(at.row, held.rows);
            ASSERT_LT(at.col, held.cols);
            ++times[size_t{at.row} * held.cols + at.col];
          }
        }
        for (const int each : times) EXPECT_EQ(each, 1);
      }
    }
  }
}

// --- running one instruction ---

std::string list(const std::string& name, uint32_t first, uint32_t count) {
  std::string text = "{";
  for (uint32_t i = 0; i < count; ++i) text += (i ? ", " : "") + name + std::to_string(first + i);
  return text + "}";
}

// Loads registers %q0… from p0 (register by register, 32 lanes each), runs the lines, stores %q0… of `out` to p1.
Ran run_on_registers(const std::string& lines, Words& in, uint32_t out_first, Words& out) {
  std::string body =
      "{\n.reg .b32 %q<80>;\nld.param.u64 %d1, [p0];\nld.param.u64 %d2, [p1];\nmov.u32 %r1, %tid.x;\n"
      "mad.wide.u32 %d1, %r1, 4, %d1;\nmad.wide.u32 %d2, %r1, 4, %d2;\n";
  for (size_t i = 0; i < in.size() / 32; ++i)
    body += "ld.global.b32 %q" + std::to_string(i) + ", [%d1+" + std::to_string(128 * i) + "];\n";
  body += lines;
  for (size_t i = 0; i < out.size() / 32; ++i)
    body += "st.global.b32 [%d2+" + std::to_string(128 * i) + "], %q" + std::to_string(out_first + i) + ";\n";
  return run(kernel(body + "}\n", 2), {}, in, out);
}

// --- numbers ---

enum class Type { f16, bf16, tf32, f32 };

uint32_t bits_of(Type type) { return type == Type::f16 || type == Type::bf16 ? 16 : 32; }

// Of a whole number that the type holds.
uint32_t encoded(Type type, double x) {
  switch (type) {
    case Type::f16: {
      const auto bits = std::bit_cast<uint32_t>(static_cast<float>(x));
      return x == 0 ? 0 : (bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff);
    }
    case Type::bf16: return std::bit_cast<uint32_t>(static_cast<float>(x)) >> 16;
    default: return std::bit_cast<uint32_t>(static_cast<float>(x));
  }
}

struct Numbers {
  uint32_t rows, cols;
  std::vector<double> at;
  double& operator()(uint32_t row, uint32_t col) { return at[size_t{row} * cols + col]; }
  double operator()(uint32_t row, uint32_t col) const { return at[size_t{row} * cols + col]; }
};

// Multiples of 2^-scale, as large as `most` of them.
Numbers random_numbers(uint32_t rows, uint32_t cols, int most, int scale, std::mt19937& random) {
  Numbers numbers{rows, cols, std::vector<double>(size_t{rows} * cols)};
  std::uniform_int_distribution<int> any(-most, most);
  for (double& each : numbers.at) each = std::ldexp(any(random), -scale);
  return numbers;
}

// Exact while the products' last bits are not below 2^-53 of the sum.
Numbers product(const Numbers& a, const Numbers& b, const Numbers& c) {
  Numbers d = c;
  for (uint32_t row = 0; row < d.rows; ++row) {
    for (uint32_t col = 0; col < d.cols; ++col) {
      for (uint32_t k = 0; k < a.cols; ++k) d(row, col) += a(row, k) * b(k, col);
    }
  }
  return d;
}

Words in_registers(const Numbers& numbers, Type type, uint32_t elements, const CellOf& cell_of) {
  Words words(elements * bits_of(type));  // 32 lanes × elements × bits / 32
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t i = 0; i < elements; ++i) {
      const Cell at = cell_of(lane, i);
      const uint32_t per_register = 32 / bits_of(type);
      words[i / per_register * 32 + lane] |= encoded(type, numbers(at.row, at.col)) << i % per_register * 16;
    }
  }
  return words;
}

// --- wmma ---

struct Wmma {
  MmaShape shape;
  Type in, sum;
  std::string name() const {
    return "m" + std::to_string(shape.m) + "n" + std::to_string(shape.n) + "k" + std::to_string(shape.k);
  }
};

const std::vector<Wmma> wmmas = {
    {{16, 16, 16}, Type::f16, Type::f16}, {{16, 16, 16}, Type::f16, Type::f32}, {{16, 16, 16}, Type::bf16, Type::f32},
    {{32, 8, 16}, Type::f16, Type::f16},  {{32, 8, 16}, Type::f16, Type::f32},  {{32, 8, 16}, Type::bf16, Type::f32},
    {{8, 32, 16}, Type::f16, Type::f16},  {{8, 32, 16}, Type::f16, Type::f32},  {{8, 32, 16}, Type::bf16, Type::f32},
    {{16, 16, 8}, Type::tf32, Type::f32},
};

std::string type_name(Type type) {
  return type == Type::f16 ? "f16" : type == Type::bf16 ? "bf16" : type == Type::tf32 ? "tf32" : "f32";
}

uint32_t register_count(const Wmma& wmma, Role role) {  // PTX ISA, "Matrix fragments for WMMA"
  if (role == Role::c) return wmma.sum == Type::f16 ? 4 : 8;
  if (wmma.in == Type::f16) return 8;
  if (wmma.in == Type::tf32 || wmma.shape.m == 16) return 4;
  return (wmma.shape.m == 32) == (role == Role::a) ? 8 : 2;
}

// The bytes of a matrix that lies in memory by rows or by columns, `stride` elements from line to line.
std::vector<uint8_t> in_memory(const Numbers& numbers, Type type, bool rows, uint32_t stride, uint32_t filler) {
  const uint32_t bytes = bits_of(type) / 8, lines = rows ? numbers.rows : numbers.cols;
  std::vector<uint8_t> memory(size_t{lines} * stride * bytes, static_cast<uint8_t>(filler));
  for (uint32_t row = 0; row < numbers.rows; ++row) {
    for (uint32_t col = 0; col < numbers.cols; ++col) {
      const uint32_t value = encoded(type, numbers(row, col));
      std::memcpy(&memory[(size_t{rows ? row : col} * stride + (rows ? col : row)) * bytes], &value, bytes);
    }
  }
  return memory;
}

// An array on a boundary of 32 bytes, as wmma's pointers have to be.
struct Aligned {
  explicit Aligned(std::vector<uint8_t> bytes) : words(bytes.size() / 32 + 1), bytes(bytes.size()) {
    std::memcpy(words.data(), bytes.data(), bytes.size());
  }
  struct alignas(32) Word {
    std::array<uint8_t, 32> at;
  };
  Word* data() { return words.data(); }
  size_t size() const { return words.size(); }
  Word& operator[](size_t i) { return words[i]; }
  std::vector<uint8_t> result() const {
    std::vector<uint8_t> copy(bytes);
    std::memcpy(copy.data(), words.data(), bytes);
    return copy;
  }
  std::vector<Word> words;
  size_t bytes;
};

// Copies `words` words of 4 bytes from the array at `global` to shared memory at `shared`, or back.
std::string copying(const std::string& global, uint32_t shared, uint32_t words, bool back) {
  std::string text;
  for (uint32_t i = 0; i < words; i += 32) {
    text += "mad.wide.u32 %d8, %r1, 4, " + global + ";\nshl.b32 %r8, %r1, 2;\nadd.u32 %r10, %r1, " + std::to_string(i) +
            ";\nsetp.lt.u32 %p1, %r10, " + std::to_string(words) + ";\n";
    const std::string at_global = "[%d8+" + std::to_string(4 * i) + "]",
                      at_shared = "[%r8+" + std::to_string(shared + 4 * i) + "]";
    text += back ? "@%p1 ld.shared.b32 %r9, " + at_shared + ";\n@%p1 st.global.b32 " + at_global + ", %r9;\n"
                 : "@%p1 ld.global.b32 %r9, " + at_global + ";\n@%p1 st.shared.b32 " + at_shared + ", %r9;\n";
  }
  return text + "bar.sync 0;\n";
}

enum class Where { global, shared, generic_global, generic_shared };

// D = A·B + C through wmma's own loads and stores, every layout, in memory of every kind.
TEST(Wmma, MultipliesMatricesInMemory) {
  std::mt19937 random(3);
  int layouts = 0;
  for (const Wmma& wmma : wmmas) {
    for (const Where where : {Where::global, Where::shared, Where::generic_global, Where::generic_shared}) {
      const bool shared = where == Where::shared || where == Where::generic_shared;
      const bool named = where == Where::global || where == Where::shared;
      const std::string space = !named ? "" : shared ? ".shared" : ".global";
      const int layout = layouts++ % 16;
      for (int layout_of = 0; layout_of < 4; ++layout_of) {
        const bool rows_a = layout_of & 1, rows_b = layout_of & 2, rows_c = (layout + layout_of) % 2 == 0,
                   rows_d = (layout + layout_of) / 2 % 2 == 0;
        const auto [m, n, k] = wmma.shape;
        const Numbers a = random_numbers(m, k, 8, 0, random), b = random_numbers(k, n, 8, 0, random),
                      c = random_numbers(m, n, 100, 0, random), d = product(a, b, c);
        // Strides that leave a gap, in which nothing may be read or written.
        const uint32_t gap = 8, lda = (rows_a ? k : m) + gap, ldb = (rows_b ? n : k) + gap,
                       ldc = (rows_c ? n : m) + gap, ldd = (rows_d ? n : m) + 2 * gap;
        Aligned memory_a(in_memory(a, wmma.in, rows_a, lda, 0x7f)), memory_b(in_memory(b, wmma.in, rows_b, ldb, 0x7f)),
            memory_c(in_memory(c, wmma.sum, rows_c, ldc, 0x7f)),
            memory_d(in_memory({m, n, std::vector<double>(size_t{m} * n)}, wmma.sum, rows_d, ldd, 0x55));
        const uint32_t at_b = 4096, at_c = 8192, at_d = 12288;

        std::string body = "{\n.reg .b32 %q<80>;\nmov.u32 %r1, %tid.x;\n";
        const uint32_t places[] = {0, at_b, at_c, at_d};
        const Aligned* const memories[] = {&memory_a, &memory_b, &memory_c, &memory_d};
        std::string pointer[4];
        for (int i = 0; i < 4; ++i) {
          const std::string global = "%d" + std::to_string(1 + i), other = "%d" + std::to_string(10 + i);
          body += "ld.param.u64 " + global + ", [p" + std::to_string(i) + "];\n";
          if (shared) body += copying(global, places[i], static_cast<uint32_t>(memories[i]->bytes / 4), false);
          body += "mov.u64 " + other + ", " + std::to_string(places[i]) + ";\n";
          if (!named) body += "cvta.shared.u64 " + other + ", " + other + ";\n";
          pointer[i] = "[" + (shared ? other : global) + "]";
        }
        const auto order = [](bool rows) { return rows ? std::string("row") : std::string("col"); };
        const std::string shape = wmma.name(), in = type_name(wmma.in), sum = type_name(wmma.sum);
        const uint32_t of_a = register_count(wmma, Role::a), of_b = register_count(wmma, Role::b),
                       of_c = register_count(wmma, Role::c);
        const auto load = [&](const char* role, bool rows, const std::string& type, uint32_t first, uint32_t count,
                              const std::string& from, const std::string& stride) {
          body += std::string("wmma.load.") + role + ".sync.aligned." + order(rows) + "." + shape + space + "." + type +
                  " " + list("%q", first, count) + ", " + from + ", " + stride + ";\n";
        };
        load("a", rows_a, in, 0, of_a, pointer[0], std::to_string(lda));
        body += "mov.u32 %r5, " + std::to_string(ldb) + ";\n";
        load("b", rows_b, in, 20, of_b, pointer[1], "%r5");
        load("c", rows_c, sum, 40, of_c, pointer[2], std::to_string(ldc));
        const std::string types = wmma.in == Type::f16 ? sum + "." + sum : "f32." + in + "." + in + ".f32";
        body += "wmma.mma.sync.aligned." + order(rows_a) + "." + order(rows_b) + "." + shape + "." + types + " " +
                list("%q", 60, of_c) + ", " + list("%q", 0, of_a) + ", " + list("%q", 20, of_b) + ", " +
                list("%q", 40, of_c) + ";\n";
        body += "wmma.store.d.sync.aligned." + order(rows_d) + "." + shape + space + "." + sum + " " + pointer[3] +
                ", " + list("%q", 60, of_c) + ", " + std::to_string(ldd) + ";\n";
        if (shared) body += "bar.sync 0;\n" + copying("%d4", at_d, static_cast<uint32_t>(memory_d.bytes / 4), true);
        body += "}\n";
        clean(run(kernel(body, 4), {.dynamic_shared_bytes = 16384}, memory_a, memory_b, memory_c, memory_d));
        EXPECT_EQ(memory_d.result(), in_memory(d, wmma.sum, rows_d, ldd, 0x55))
            << shape << " " << in << " " << sum << space << " " << layout_of;
      }
    }
  }
}

// What a lane's registers hold after a load, copies included, is what machine/fragments.h says.
TEST(Wmma, FragmentsHoldTheirElementsAndCopies) {
  std::mt19937 random(4);
  for (const Wmma& wmma : wmmas) {
    for (const Role role : {Role::a, Role::b, Role::c}) {
      for (const bool rows : {true, false}) {
        const Type type = role == Role::c ? wmma.sum : wmma.in;
        const Fragment held = fragment(wmma.shape, role, static_cast<uint8_t>(bits_of(type) / 8));
        const Numbers numbers = random_numbers(held.rows, held.cols, 100, 0, random);
        const uint32_t stride = 40, count = register_count(wmma, role);
        Aligned memory(in_memory(numbers, type, rows, stride, 0));
        Words out(32 * count);
        const std::string line = std::string("wmma.load.") + "abc"[static_cast<int>(role)] + ".sync.aligned." +
                                 (rows ? "row." : "col.") + wmma.name() + "." + type_name(type) + " " +
                                 list("%q", 0, count) + ", [%d1], " + std::to_string(stride) + ";\n";
        std::string body =
            "{\n.reg .b32 %q<80>;\nld.param.u64 %d1, [p0];\nld.param.u64 %d2, [p1];\nmov.u32 %r1, "
            "%tid.x;\nmad.wide.u32 %d2, %r1, 4, %d2;\n" +
            line;
        for (uint32_t i = 0; i < count; ++i)
          body += "st.global.b32 [%d2+" + std::to_string(128 * i) + "], %q" + std::to_string(i) + ";\n";
        clean(run(kernel(body + "}\n", 2), {}, memory, out));
        const CellOf cell_of = [&](uint32_t lane, uint32_t i) { return held.cell(lane, i % held.elements()); };
        ASSERT_EQ(out, in_registers(numbers, type, count * 32 / bits_of(type), cell_of)) << line;
      }
    }
  }
}

// --- ldmatrix and movmatrix ---

// Fills shared memory with its own 16-bit indices, and loads matrices from where the lanes say.
Ran load_matrices(const std::string& opcode, uint32_t count, const AddressOf& address, Words& out,
                  uint32_t shared_bytes = 8192) {
  Words addresses(32), fill(shared_bytes / 4);
  for (uint32_t lane = 0; lane < 32; ++lane) addresses[lane] = address(lane);
  for (uint32_t i = 0; i < fill.size(); ++i) fill[i] = 2 * i | (2 * i + 1) << 16;
  std::string body =
      "ld.param.u64 %d1, [p0];\nld.param.u64 %d2, [p1];\nld.param.u64 %d3, [p2];\nmov.u32 %r1, %tid.x;\n" +
      copying("%d2", 0, static_cast<uint32_t>(fill.size()), false) +
      "mad.wide.u32 %d1, %r1, 4, %d1;\nmad.wide.u32 %d3, %r1, 4, %d3;\nld.global.b32 %r2, [%d1];\n";
  const bool generic = opcode.find("shared") == std::string::npos;
  if (generic) body += "cvt.u64.u32 %d4, %r2;\ncvta.shared.u64 %d4, %d4;\n";
  body += opcode + " " + list("%r", 20, count) + ", [" + (generic ? "%d4" : "%r2") + "];\n";
  for (uint32_t i = 0; i < count; ++i)
    body += "st.global.b32 [%d3+" + std::to_string(128 * i) + "], %r" + std::to_string(20 + i) + ";\n";
  out.assign(32 * count, 0);
  return run(kernel(body, 3), {.dynamic_shared_bytes = shared_bytes}, addresses, fill, out);
}

const Tally& tally_of(const Ran& ran, const std::string& opcode) {
  for (size_t i = 0; i < ran.program.sites.size(); ++i) {
    if (ran.program.sites[i].text == opcode) return ran.tallies.of[i];
  }
  throw std::out_of_range(opcode);
}

TEST(LoadMatrix, GivesEachLaneItsElements) {
  const AddressOf somewhere = [](uint32_t lane) { return 16 * (lane * 37 % 512); };
  for (const uint32_t count : {1u, 2u, 4u}) {
    for (const bool transposed : {false, true}) {
      for (const char* space : {".shared", ".shared::cta", ""}) {
        const std::string opcode =
            "ldmatrix.sync.aligned.m8n8.x" + std::to_string(count) + (transposed ? ".trans" : "") + space + ".b16";
        Words out;
        const Ran ran = clean(load_matrices(opcode, count, somewhere, out));
        for (uint32_t lane = 0; lane < 32; ++lane) {
          for (uint32_t i = 0; i < count; ++i) {
            // PTX ISA: the lane's two elements are row lane / 4, columns 2·(lane % 4) and the next; the row's address
            // is that of lane 8·i + row.
            for (uint32_t half = 0; half < 2; ++half) {
              const uint32_t first = lane / 4, second = 2 * (lane % 4) + half;
              const uint32_t row = transposed ? second : first, col = transposed ? first : second;
              const uint32_t index = somewhere(8 * i + row) / 2 + col;
              EXPECT_EQ(out[32 * i + lane] >> 16 * half & 0xffff, index) << opcode << " lane " << lane;
            }
          }
        }
        EXPECT_EQ(tally_of(ran, opcode).shared_requests, 1u);
      }
    }
  }
}

TEST(LoadMatrix, EveryLoadMeasuredOnTheH200) {
  int rows = 0;
  for (const RecordedLoad& load : recorded_loads("ldmatrix.x4")) {
    Words out;
    const std::string opcode = "ldmatrix.sync.aligned.m8n8.x4.shared.b16";
    const Ran ran = clean(load_matrices(opcode, 4, address_of(load.address), out));
    EXPECT_EQ(tally_of(ran, opcode).shared_wavefronts, load.wavefronts) << load.address;
    EXPECT_EQ(tally_of(ran, opcode).shared_conflicts, load.conflicts) << load.address;
    ++rows;
  }
  EXPECT_EQ(rows, 7);
}

TEST(MoveMatrix, TurnsAMatrixOver) {
  Words in(32), out(32);
  for (uint32_t lane = 0; lane < 32; ++lane) in[lane] = 2 * lane | (2 * lane + 1) << 16;
  clean(run_on_registers("movmatrix.sync.aligned.m8n8.trans.b16 %q1, %q0;\n", in, 1, out));
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t half = 0; half < 2; ++half)
      EXPECT_EQ(out[lane] >> 16 * half & 0xffff, (2 * (lane % 4) + half) * 8 + lane / 4);
  }
}

// --- what wmma asks of memory ---

// One wmma.load or wmma.store of 2 KiB of shared memory filled before, at `offset` bytes with a stride in elements.
Ran access_fragment(const std::string& opcode, uint32_t registers, uint32_t offset, uint32_t stride,
                    uint32_t shared_bytes = 16384, uint32_t filled = 16384) {
  Words fill(4096);
  std::string body = "{\n.reg .b32 %q<8>;\nld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\n" +
                     copying("%d1", 0, filled / 4, false) + "mov.u32 %r2, " + std::to_string(offset) + ";\n";
  const std::string fragment = list("%q", 0, registers),
                    place = opcode.find("shared") != std::string::npos ? "[%r2]" : "[%d1]";
  body += opcode + " " + (opcode.starts_with("wmma.store") ? place + ", " + fragment : fragment + ", " + place) + ", " +
          std::to_string(stride) + ";\n}\n";
  return run(kernel(body), {.dynamic_shared_bytes = shared_bytes}, fill);
}

// The machine code's own requests: ldmatrix for 16-bit operands, 4 or 8 bytes per lane for accumulators.
TEST(Wmma, AsksForWhatTheMachineCodeAsks) {
  const struct {
    std::string opcode;
    uint32_t registers, stride, requests, wavefronts, conflicts;
  } cases[] = {
      {"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16", 8, 40, 1, 4, 0},    // padded: 80 bytes
      {"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16", 8, 32, 1, 16, 12},  // 64 bytes
      {"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16", 8, 64, 1, 32, 28},  // 128 bytes
      {"wmma.load.b.sync.aligned.row.m16n16k16.shared.f16", 8, 128, 1, 32, 28},
      {"wmma.load.b.sync.aligned.row.m16n16k16.shared.f16", 8, 136, 1, 4, 0},
      {"wmma.load.a.sync.aligned.row.m32n8k16.shared.f16", 8, 40, 2, 8, 0},
      {"wmma.load.b.sync.aligned.col.m32n8k16.shared.f16", 8, 40, 1, 2, 0},
      {"wmma.load.a.sync.aligned.row.m8n32k16.shared.f16", 8, 32, 1, 8, 6},
      {"wmma.load.b.sync.aligned.row.m8n32k16.shared.f16", 8, 40, 2, 8, 0},
      {"wmma.load.c.sync.aligned.row.m16n16k16.shared.f16", 4, 40, 4, 4, 0},
      {"wmma.load.c.sync.aligned.row.m16n16k16.shared.f32", 8, 40, 4, 8, 0},
      {"wmma.load.c.sync.aligned.col.m16n16k16.shared.f32", 8, 20, 8, 8, 0},
      {"wmma.store.d.sync.aligned.row.m16n16k16.shared.f16", 4, 64, 4, 32, 28},
      {"wmma.store.d.sync.aligned.row.m16n16k16.shared.f32", 8, 16, 4, 16, 8},
      {"wmma.load.a.sync.aligned.row.m16n16k8.shared.tf32", 4, 12, 4, 4, 0},
  };
  for (const auto& [opcode, registers, stride, requests, wavefronts, conflicts] : cases) {
    const Ran ran = access_fragment(opcode, registers, 0, stride);
    EXPECT_TRUE(ran.reports.empty()) << opcode << ran.text();
    const Tally& tally = tally_of(ran, opcode);
    EXPECT_EQ(tally.shared_requests, requests) << opcode;
    EXPECT_EQ(tally.shared_wavefronts, wavefronts) << opcode << " " << stride;
    EXPECT_EQ(tally.shared_conflicts, conflicts) << opcode << " " << stride;
  }
  const std::string global = "wmma.load.a.sync.aligned.row.m16n16k16.global.f16";
  EXPECT_EQ(tally_of(access_fragment(global, 8, 0, 64), global).global_requests, 4u);
}

// --- checks ---

TEST(TensorChecks, LoadMatrixOutsideMisalignedAndUnwritten) {
  const std::string opcode = "ldmatrix.sync.aligned.m8n8.x4.shared.b16";
  Words out;
  const auto reports = [&](const AddressOf& address, Finding kind) {
    const Ran ran = load_matrices(opcode, 4, address, out, 512);
    EXPECT_EQ(ran.reports.size(), static_cast<size_t>(ran.count(kind))) << ran.text();
    return ran.count(kind);
  };
  EXPECT_EQ(reports([](uint32_t i) { return 16 * i; }, Finding::out_of_bounds), 0);
  EXPECT_EQ(reports([](uint32_t i) { return 16 * i + (i == 31 ? 16 : 0); }, Finding::out_of_bounds), 1);
  EXPECT_EQ(reports([](uint32_t i) { return 16 * i + (i == 5 ? 8 : 0); }, Finding::misaligned), 1);

  const Ran unwritten = run(kernel("mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 4;\nsetp.ne.u32 %p1, %r1, 9;\n"
                                   "@%p1 st.shared.v4.b32 [%r2], {%r1, %r1, %r1, %r1};\nbar.sync 0;\n" +
                                   opcode + " {%r3, %r4, %r5, %r6}, [%r2];\n"),
                            {.dynamic_shared_bytes = 512}, out);
  EXPECT_EQ(unwritten.count(Finding::uninitialised), 1) << unwritten.text();
  EXPECT_NE(unwritten.text().find("kernel.cu:6"), std::string::npos) << unwritten.text();
  EXPECT_NE(unwritten.text().find("0x90"), std::string::npos) << unwritten.text();
}

// Rows that another warp wrote, or another lane of the same warp, or a copy that nobody waited for.
TEST(TensorChecks, RacesAndUnwaitedCopies) {
  alignas(16) std::array<uint32_t, 256> global{};
  const std::string opcode = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r4];\n";
  const std::string write =
      "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 4;\nst.shared.v4.b32 [%r2], {%r1, %r1, %r1, %r1};\n";
  const std::string other_warps = "xor.b32 %r4, %r2, 512;\n", other_lanes = "xor.b32 %r4, %r2, 16;\n";
  const LaunchShape two{.block = {64, 1, 1}, .dynamic_shared_bytes = 1024};
  const auto races = [&](const std::string& body) { return run(kernel(body), two, global).count(Finding::race); };
  EXPECT_EQ(races(write + other_warps + opcode), 1);
  EXPECT_EQ(races(write + other_warps + "bar.sync 0;\n" + opcode), 0);
  EXPECT_EQ(races(write + other_lanes + opcode), 1);
  EXPECT_EQ(races(write + other_lanes + "bar.warp.sync -1;\n" + opcode), 0);
  // The other way round: a write after ldmatrix has read.
  const std::string again = "st.shared.v4.b32 [%r2], {%r1, %r1, %r1, %r1};\n";
  EXPECT_EQ(races(write + other_warps + "bar.sync 0;\n" + opcode + again), 1);
  EXPECT_EQ(races(write + other_warps + "bar.sync 0;\n" + opcode + "bar.sync 0;\n" + again), 0);

  const std::string copy =
      "ld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nshl.b32 %r4, %r1, 4;\ncvt.u64.u32 %d2, "
      "%r4;\nadd.u64 %d1, %d1, %d2;\ncp.async.cg.shared.global [%r4], [%d1], 16;\n";
  EXPECT_EQ(run(kernel(copy + opcode), two, global).count(Finding::unwaited), 1);
  EXPECT_EQ(run(kernel(copy + "cp.async.wait_all;\nbar.sync 0;\n" + opcode), two, global).reports.size(), 0u);
}

TEST(TensorChecks, EveryByteOfAWmmaAccess) {
  const std::string load = "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16",
                    store = "wmma.store.d.sync.aligned.row.m16n16k16.shared.f16",
                    sums = "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32";
  // 16 lines of 32 bytes, the last at 15 · 80: 1232 bytes.
  EXPECT_TRUE(access_fragment(load, 8, 0, 40, 1232, 1232).reports.empty());
  EXPECT_EQ(access_fragment(load, 8, 0, 40, 1216, 1216).count(Finding::out_of_bounds), 1);
  EXPECT_EQ(access_fragment(load, 8, 0, 40, 2048, 1216).count(Finding::uninitialised), 1);
  EXPECT_EQ(access_fragment(store, 4, 0, 40, 1232, 1232).reports.size(), 0u);
  EXPECT_GE(access_fragment(store, 4, 0, 40, 1228, 1228).count(Finding::out_of_bounds), 1);
  EXPECT_GE(access_fragment(sums, 8, 0, 20, 1260, 1260).count(Finding::out_of_bounds), 1);
  // Where a line may begin.
  EXPECT_EQ(access_fragment(load, 8, 8, 40).count(Finding::misaligned), 1);
  EXPECT_EQ(access_fragment(load, 8, 0, 36).count(Finding::misaligned), 1);
  EXPECT_EQ(access_fragment(load, 8, 16, 40).reports.size(), 0u);
  // Lines that overlap, written by different lanes.
  EXPECT_GE(access_fragment(store, 4, 0, 8).count(Finding::race), 1);
  // Global memory: 16 lines of 32 bytes with a stride of 1024 end at 30752 bytes, the array at 16384.
  EXPECT_GE(
      access_fragment("wmma.load.a.sync.aligned.row.m16n16k16.global.f16", 8, 0, 1024).count(Finding::out_of_bounds),
      1);
  EXPECT_GE(
      access_fragment("wmma.store.d.sync.aligned.col.m16n16k16.global.f32", 8, 0, 512).count(Finding::out_of_bounds),
      1);
}

TEST(TensorChecks, TheWholeWarpHasToTakePart) {
  const std::string multiply =
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r2, %r3}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%r10, %r11};\n";
  const std::string set = "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 7;\n";
  std::vector<uint32_t> nothing(1);
  const auto divergent = [&](const std::string& body, uint32_t threads) {
    return run(kernel(set + body), {.block = {threads, 1, 1}}, nothing).count(Finding::divergent_barrier);
  };
  EXPECT_EQ(divergent(multiply, 64), 0);
  EXPECT_EQ(divergent(multiply, 40), 1);  // 8 threads in the second warp
  EXPECT_EQ(divergent("@%p1 " + multiply, 32), 1);
  EXPECT_EQ(divergent("@%p1 ret;\n" + multiply, 32), 1);
  EXPECT_EQ(divergent("@%p1 bra ODD;\nmov.u32 %r4, 1;\nODD:\n" + multiply, 32), 0);  // apart, and together again
  EXPECT_EQ(divergent("setp.eq.u32 %p1, %r1, 99;\n@%p1 " + multiply, 32), 0);        // nobody executes it
  EXPECT_EQ(divergent("@%p1 movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r3;\n", 32), 1);
  EXPECT_EQ(divergent("@%p1 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r3];\n", 32), 1);
}

TEST(TensorChecks, LanesThatDisagreeOnAnAddressOrStride) {
  Words fill(4096);
  const std::string start = "{\n.reg .b32 %q<8>;\nld.param.u64 %d1, [p0];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 64;\n";
  const std::string load =
      "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 " + list("%q", 0, 8) + ", [%d1], %r2;\n}\n";
  EXPECT_EQ(run(kernel(start + load), {}, fill).reports.size(), 0u);
  EXPECT_EQ(run(kernel(start + "mad.wide.u32 %d1, %r1, 16, %d1;\n" + load), {}, fill).count(Finding::unsupported), 1);
  EXPECT_EQ(run(kernel(start + "shl.b32 %r2, %r1, 3;\n" + load), {}, fill).count(Finding::unsupported), 1);
}

TEST(TensorChecks, WhatIsNotModelledIsRefusedByName) {
  const char* lines[] = {
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r2, %r3}, {%r4, %r5}, {%r6, %r7}, {%r8, %r9};",
      "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d2, %d3}, {%d4}, {%r6}, {%d8, %d9};",
      "mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r2, %r3}, {%r4}, {%r6}, {%r8, %r9}, %r10, 0;",
      "wmma.mma.sync.aligned.row.row.m8n8k32.s32.s4.s4.s32 {%r2, %r3}, {%r4}, {%r6}, {%r8, %r9};",
      "mma.sync.aligned.m16n8k16.row.row.f16.f16.f16.f16 {%r2, %r3}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%r8, %r9};",
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r2, %r3}, {%r4, %r5, %r6}, {%r8, %r9}, {%r8, %r9};",
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r2, %r3}, {%r4, %r5, %r6, %d7}, {%r8, %r9}, {%r8, %r9};",
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 %r2, %r3, %r4, %r5;",
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r2, %r3};",
      "wmma.mma.sync.aligned.row.row.m16n16k16.f16.f32 {%r2}, {%r3}, {%r4}, {%r5};",
      "wmma.load.a.sync.aligned.row.m16n16k16.shared.u8 {%r2, %r3, %r5}, [%r4], 16;",
      "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r2, %r3}, [%r4], 16;",
      "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 %r2, [%r4], 16;",
      "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 [%r4];",
      "wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%r4], {%r2};",
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3}, [%r4];",
      "ldmatrix.sync.aligned.m8n8.x4.b8 {%r2, %r3, %r4, %r5}, [%r4];",
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, %r4, %r5}, %r4;",
      "movmatrix.sync.aligned.m8n8.trans.b16 %d1, %d2;",
      "movmatrix.sync.aligned.m8n8.trans.b16 %r1;"};
  for (const std::string line : lines) {
    const std::string why = refusal(kernel("mov.u32 %r1, 0;\n" + line + "\n"));
    EXPECT_NE(why.find(line.substr(0, line.find(' '))), std::string::npos) << line << ": " << why;
    EXPECT_NE(why.find("kernel.cu:2"), std::string::npos) << line << ": " << why;
  }
}

}  // namespace
}  // namespace sim::testing::test_tensor

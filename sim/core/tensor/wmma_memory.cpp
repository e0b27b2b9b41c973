/// wmma.load and wmma.store: fragments from and to memory (PTX ISA 9.7.14.4).
///
/// What wmma asks of memory PTX does not say. It is modelled as the machine code that ptxas makes for sm_80 to sm_90:
/// A and B from `.shared` by ldmatrix, up to four matrices of f16 and bf16 at a time, up to two of 8-bit integers;
/// everything else by loads and stores of 4 bytes per lane (f64: of 8), or of twice as many where the two elements of
/// an accumulator of 32 or 64 bits lie side by side. Matrices of 16-bit elements whose lines lie across memory's are
/// turned over between registers; 8-bit integers are then loaded one by one. 4-bit integers and single
/// bits have no such layout: they are loaded as bytes that hold two each, or eight.
#include <algorithm>
#include <cstring>

#include "core/machine/access.h"
#include "core/tensor/tensor.h"
#include "core/warp/decode.h"
#include "core/warp/forms.h"

namespace sim {
namespace {

/// One access to memory by all lanes.
struct Request {
  uint8_t bytes;             ///< a lane
  uint8_t first, count;      ///< registers
  uint8_t width = 4;         ///< bytes of a register
  uint8_t byte = 0;          ///< of the register, where a lane has only one
  bool by_ldmatrix = false;  ///< the lanes name rows of 16 bytes
  bool has_lines = false;    ///< four lanes after the other access 16 bytes side by side
  uint32_t mask = all_lanes;
  std::array<uint8_t, warp_size> line = {}, along = {};  ///< the lane's element: line of memory, and place in it
};

/// How a fragment goes to and from memory.
struct Plan {
  uint8_t line_elements = 0;  ///< of a line of memory: the stride where none is given
  uint8_t registers = 0;      ///< that differ
  bool turned = false;        ///< 16-bit matrices whose lines lie across memory's
  std::vector<Request> requests;
};

/// `rows`: memory holds the matrix row by row. `by_rows_of_16`: ldmatrix. `in_place`: how many elements of the matrix
/// one of the fragment holds.
Plan plan(const Fragment& fragment, uint8_t in_place, bool rows, bool by_rows_of_16) {
  Plan result;
  const uint8_t width = std::max<uint8_t>(fragment.element_bytes, 4);
  result.line_elements = static_cast<uint8_t>(in_place * (rows ? fragment.cols : fragment.rows));
  result.registers = static_cast<uint8_t>(fragment.elements() * fragment.element_bytes / width);
  const bool along_lines = fragment.lines_are_rows == rows;
  result.turned = fragment.element_bytes == 2 && !along_lines;

  const auto place = [&](Request& request, uint32_t lane, Cell cell) {
    request.line[lane] = rows ? cell.row : cell.col;
    request.along[lane] = rows ? cell.col : cell.row;
  };
  // The element at the start of line `line`, place `along` of a matrix as memory has it.
  const auto in_memory = [&](uint32_t matrix, uint32_t line, uint32_t along) {
    const Cell origin = fragment.origin[matrix];
    return Cell{static_cast<uint8_t>(origin.row + (rows ? line : along)),
                static_cast<uint8_t>(origin.col + (rows ? along : line))};
  };
  if (by_rows_of_16) {
    const uint32_t most = fragment.element_bytes == 1 ? 2 : 4;
    for (uint32_t first = 0; first < fragment.matrices; first += most) {
      Request request{.bytes = 16, .first = static_cast<uint8_t>(first), .count = 0, .by_ldmatrix = true};
      request.count = static_cast<uint8_t>(std::min(most, fragment.matrices - first));
      if (request.count < 4) request.mask = (1u << 8 * request.count) - 1;
      for (uint32_t lane = 0; lane < 8u * request.count; ++lane)
        place(request, lane, in_memory(first + lane / 8, lane % 8, 0));
      result.requests.push_back(request);
    }
    return result;
  }
  for (uint32_t matrix = 0; matrix < fragment.matrices; ++matrix) {
    const auto add = [&](uint8_t bytes, uint32_t first, auto cell_of, uint32_t byte = 0) {
      Request request{.bytes = bytes,
                      .first = static_cast<uint8_t>(first),
                      .count = static_cast<uint8_t>((bytes + width - 1) / width),
                      .width = width,
                      .byte = static_cast<uint8_t>(byte)};
      for (uint32_t lane = 0; lane < warp_size; ++lane) place(request, lane, cell_of(lane));
      request.has_lines = bytes == 4;
      for (uint32_t lane = 0; lane < warp_size; ++lane) {
        const uint32_t of_line = lane / 4 * 4;
        request.has_lines &=
            request.line[lane] == request.line[of_line] &&
            request.along[lane] - request.along[of_line] == static_cast<int>(lane % 4 * 4 / fragment.element_bytes);
      }
      result.requests.push_back(request);
    };
    if (fragment.element_bytes == 1 && along_lines) {
      add(4, matrix, [&](uint32_t lane) { return in_memory(matrix, lane / 4, lane % 4 * 4); });
    } else if (fragment.element_bytes == 1) {
      for (uint32_t i = 0; i < 4; ++i)
        add(1, matrix, [&](uint32_t lane) { return fragment.cell(lane, 4 * matrix + i); }, i);
    } else if (fragment.element_bytes == 2) {
      add(4, matrix, [&](uint32_t lane) { return in_memory(matrix, lane / 4, lane % 4 * 2); });
    } else if (fragment.per_matrix == 2 && along_lines) {
      add(2 * width, 2 * matrix, [&](uint32_t lane) { return fragment.cell(lane, 2 * matrix); });
    } else {
      for (uint32_t i = 0; i < fragment.per_matrix; ++i) {
        const uint32_t element = matrix * fragment.per_matrix + i;
        add(width, element, [&](uint32_t lane) { return fragment.cell(lane, element); });
      }
    }
  }
  return result;
}

/// Whether a fragment can be loaded by ldmatrix: A or B, of 16-bit elements, or of less along the lines of memory.
bool has_rows_of_16(Role role, uint32_t element_bits, bool rows) {
  return role != Role::c && (element_bits == 16 || (element_bits < 16 && rows == (role == Role::a)));
}

/// A plan, and the instructions that it is for.
struct PlanFor {
  MmaShape shape;
  Role role;
  uint8_t element_bits;
  bool rows, by_rows_of_16;
  Plan plan;
};

/// The shapes, and the sizes of elements that each has: of A and B, of C.
struct Shapes {
  MmaShape shape;
  std::vector<uint8_t> factor_bits, sum_bits;
};
const std::vector<Shapes> every_shape = {{{16, 16, 16}, {8, 16}, {16, 32}}, {{32, 8, 16}, {8, 16}, {16, 32}},
                                         {{8, 32, 16}, {8, 16}, {16, 32}},  {{16, 16, 8}, {32}, {32}},
                                         {{8, 8, 4}, {64}, {64}},           {{8, 8, 32}, {4}, {32}},
                                         {{8, 8, 128}, {1}, {32}}};

/// Every plan; an instruction names its own by its number.
const std::vector<PlanFor>& plans() {
  static const std::vector<PlanFor> all = [] {
    std::vector<PlanFor> made;
    for (const Shapes& each : every_shape) {
      for (const Role role : {Role::a, Role::b, Role::c}) {
        for (const uint8_t bits : role == Role::c ? each.sum_bits : each.factor_bits) {
          const uint8_t in_place = bits < 8 ? 8 / bits : 1;
          MmaShape held = each.shape;
          held.k = static_cast<uint16_t>(held.k / in_place);
          const Fragment fragment = sim::fragment(held, role, static_cast<uint8_t>(in_place * bits / 8));
          for (const bool rows : {true, false}) {
            made.push_back({each.shape, role, bits, rows, false, plan(fragment, in_place, rows, false)});
            if (has_rows_of_16(role, bits, rows))
              made.push_back({each.shape, role, bits, rows, true, plan(fragment, in_place, rows, true)});
          }
        }
      }
    }
    return made;
  }();
  return all;
}

/// Where the lanes' elements lie behind the first one, in bytes: for each request of a plan.
struct Offsets {
  uint64_t stride_bytes = ~uint64_t{0};
  std::vector<std::array<uint64_t, warp_size>> of_request;
};

/// A kernel loads its tiles with the same stride again and again: the last one's offsets are kept, for each plan.
const Offsets& offsets_of(uint32_t number, uint64_t stride_bytes) {
  static thread_local std::vector<Offsets> last(plans().size());
  Offsets& offsets = last[number];
  if (offsets.stride_bytes == stride_bytes) return offsets;
  const PlanFor& planned = plans()[number];
  const uint64_t place_bytes = std::max(planned.element_bits / 8, 1);
  offsets.stride_bytes = stride_bytes;
  offsets.of_request.resize(planned.plan.requests.size());
  for (size_t i = 0; i < offsets.of_request.size(); ++i) {
    const Request& request = planned.plan.requests[i];
    for (uint32_t lane = 0; lane < warp_size; ++lane)
      offsets.of_request[i][lane] = request.line[lane] * stride_bytes + request.along[lane] * place_bytes;
  }
  return offsets;
}

void refuse(Warp& warp, Finding kind, const std::string& why) {
  Block& block = warp.block;
  block.report(kind, warp.here(), nowhere, [&] { return block.what_it_does(warp, 0) + ": " + why; });
}

constexpr uint32_t max_requests = 16;

/// wmma.load and wmma.store.
struct AccessMatrix {
  AddressOperand address;
  uint32_t first_register;  ///< in Program::operand_lists
  uint32_t register_count;  ///< as PTX names them
  uint32_t stride;          ///< register: of lines, in elements
  uint32_t memo;            ///< one for each request, then one for each in shared memory
  uint8_t plan;             ///< its number
};

template <bool store>
void access_matrix(Warp& warp, const AccessMatrix& access) {
  if (!whole_warp(warp)) return;
  Block& block = warp.block;
  const PlanFor& planned = plans()[access.plan];
  const Plan& plan = planned.plan;
  if (warp.trace != nullptr) [[unlikely]]
    trace_fragment(warp, "wmma", planned.shape, planned.role, planned.element_bits);
  const uint32_t* const registers = block.program.operand_lists.data() + access.first_register;

  Lanes base;
  read_addresses(warp, all_lanes, access.address, base);
  const u32* const strides = warp.lanes<const u32>(access.stride);
  const bool alike = std::equal(base.address.begin() + 1, base.address.end(), base.address.begin()) &&
                     std::equal(strides + 1, strides + warp_size, strides);
  if (!alike) return refuse(warp, Finding::unsupported, "its lanes give different addresses or strides");
  uint64_t address = base.address[0];
  Place place = access.address.place;
  if (place == Place::generic) {
    const Reached reached = reach(block, address);
    place = reached.place, address = reached.offset;
    if (place == Place::shared && reached.block != &block)
      return refuse(warp, Finding::out_of_bounds, "it reaches the block's own shared memory only");
  }
  const uint64_t stride_bytes = uint64_t{strides[0]} * planned.element_bits / 8;
  if (address % 16 != 0 || stride_bytes % 16 != 0) {
    return refuse(warp, Finding::misaligned,
                  "its lines have to begin at multiples of 16 bytes; the address is a multiple of " +
                      std::to_string(address & -address) + ", the stride " + std::to_string(stride_bytes) + " bytes");
  }

  const bool shared = place == Place::shared;
  const Offsets& offsets = offsets_of(access.plan, stride_bytes);
  std::byte* const origin = shared ? block.shared.data() : nullptr;
  for (uint32_t number = 0; number < plan.requests.size(); ++number) {
    const Request& request = plan.requests[number];
    Lanes lanes;
    lanes.mask = request.mask, lanes.bytes = request.bytes;
    for (uint32_t lane = 0; lane < warp_size; ++lane) lanes.address[lane] = address + offsets.of_request[number][lane];
    if (request.mask != all_lanes) fill_inactive(lanes);
    const uint32_t memo = access.memo + number + (shared ? max_requests : 0);
    const uint32_t* const of_request = registers + request.first;
    if (request.by_ldmatrix) {
      load_rows(warp, memo, lanes, request.count, of_request, plan.turned);
      continue;
    }
    if (block.launch.options.watch) {
      if (shared)
        watch_shared(warp, memo, lanes, store ? Touch::write : Touch::read);
      else
        watch_global(warp, memo, lanes, store ? Touch::write : Touch::read);
    }
    const auto at = [&](uint32_t lane) {
      return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(origin) + lanes.address[lane]);
    };
    if constexpr (store) {
      Matrix turned;
      for (uint32_t i = 0; i < request.count; ++i) {
        const auto* from = warp.lanes<const std::byte>(of_request[i]);
        if (plan.turned) {
          transpose(*warp.lanes<const Matrix>(of_request[i]), turned);
          from = reinterpret_cast<const std::byte*>(&turned);
        }
        if (request.width == 8)
          for_lanes(lanes.mask, [&](uint32_t lane) { std::memcpy(at(lane) + 8 * i, from + 8 * lane, 8); });
        else
          for_lanes(lanes.mask, [&](uint32_t lane) { std::memcpy(at(lane) + 4 * i, from + 4 * lane, 4); });
      }
    } else {
      for (uint32_t i = 0; i < request.count; ++i) {
        auto* const to = warp.lanes<std::byte>(of_request[i]);
        if (request.has_lines)
          for (uint32_t lane = 0; lane < warp_size; lane += 4) {
            // Lanes that may not go on, beyond an array's end, are no longer in the mask.
            if ((lanes.mask >> lane & 15) == 15)
              std::memcpy(to + 4 * lane, at(lane), 16);
            else
              for_lanes(lanes.mask & 15u << lane, [&](uint32_t one) { std::memcpy(to + 4 * one, at(one), 4); });
          }
        else if (request.bytes == 1)
          for_lanes(lanes.mask, [&](uint32_t lane) { to[4 * lane + request.byte] = *at(lane); });
        else if (request.width == 8)
          for_lanes(lanes.mask, [&](uint32_t lane) { std::memcpy(to + 8 * lane, at(lane) + 8 * i, 8); });
        else
          for_lanes(lanes.mask, [&](uint32_t lane) { std::memcpy(to + 4 * lane, at(lane) + 4 * i, 4); });
        if (plan.turned) transpose(*warp.lanes<Matrix>(of_request[i]), *warp.lanes<Matrix>(of_request[i]));
      }
    }
  }
  if constexpr (!store) {  // copies
    for (uint32_t i = plan.registers; i < access.register_count; ++i)
      std::memcpy(warp.registers + registers[i], warp.registers + registers[i % plan.registers], 4 * warp_size);
  }
}

template <bool store>
void build_access_matrix(Builder& builder) {
  const Role role = builder.has("a") ? Role::a : builder.has("b") ? Role::b : Role::c;
  const auto has_any = [&](std::initializer_list<const char*> types) {
    return std::any_of(types.begin(), types.end(), [&](const char* type) { return builder.has(type); });
  };
  const uint8_t bits = has_any({"f64"})                  ? 64
                       : has_any({"f32", "tf32", "s32"}) ? 32
                       : has_any({"f16", "bf16"})        ? 16
                       : has_any({"s8", "u8"})           ? 8
                       : has_any({"s4", "u4"})           ? 4
                                                         : 1;
  const bool rows = builder.has("row"), shared = has_any({"shared", "shared::cta"});
  const bool by_rows_of_16 = shared && has_rows_of_16(role, bits, rows);
  size_t number = 0;
  const auto is_it = [&](const PlanFor& each) {
    return builder.has(name(each.shape)) && each.role == role && each.element_bits == bits && each.rows == rows &&
           each.by_rows_of_16 == by_rows_of_16;
  };
  while (!is_it(plans()[number])) ++number;
  const Plan& plan = plans()[number].plan;

  const bool copies = role != Role::c && builder.has("f16");
  const uint32_t registers = copies ? 8 : plan.registers;
  const auto& operands = builder.operands();
  if (operands.size() < 2 || operands.size() > 3) builder.refuse("registers, an address and a stride are needed");
  auto& made = builder.made<AccessMatrix>();
  made.first_register =
      builder.registers(operands[store ? 1 : 0], registers, !store, bits == 64 ? ptx::Width::b64 : ptx::Width::b32);
  made.register_count = registers;

  const auto address = builder.address(operands[store ? 0 : 1]);
  const bool in_shared = shared || (address.variable && address.variable->space == ptx::Space::shared);
  const Place place = in_shared ? Place::shared : builder.has("global") ? Place::global : Place::generic;
  made.address = {address.base, address.wide, place, address.offset};
  made.plan = static_cast<uint8_t>(number);
  made.stride = operands.size() == 3 ? builder.source(operands[2], ptx::Width::b32)
                                     : builder.constant(ptx::Width::b32, plan.line_elements);
  made.memo = builder.memos(2 * max_requests);
}

}  // namespace

[[gnu::cold]] void add_tensor_memory(Table& table) {
  const std::string layout = ".sync.aligned.{row,col}.", shapes = "{m16n16k16,m32n8k16,m8n32k16}";
  const auto add = [&](const std::string& operation, const std::string& shape_and_space, const std::string& types,
                       const Form& form) { table.add(operation + layout + shape_and_space + types, form); };
  const auto add_in = [&](const std::string& space, Class load, Class store) {
    const Form loads{"", load, handle_together<every_lane<AccessMatrix>, access_matrix<false>>,
                     build_access_matrix<false>};
    const Form stores{"", store, handle_together<every_lane<AccessMatrix>, access_matrix<true>>,
                      build_access_matrix<true>};
    add("wmma.load.{a,b}", shapes + space, ".{f16,bf16,s8,u8}", loads);
    add("wmma.load.{a,b}", "m16n16k8" + space, ".tf32", loads);
    add("wmma.load.c", shapes + space, ".{f16,f32,s32}", loads);
    add("wmma.load.c", "m16n16k8" + space, ".f32", loads);
    add("wmma.load.{a,b,c}", "m8n8k4" + space, ".f64", loads);
    table.add("wmma.load.a.sync.aligned.row.m8n8k32" + space + ".{s4,u4}", loads);
    table.add("wmma.load.b.sync.aligned.col.m8n8k32" + space + ".{s4,u4}", loads);
    table.add("wmma.load.a.sync.aligned.row.m8n8k128" + space + ".b1", loads);
    table.add("wmma.load.b.sync.aligned.col.m8n8k128" + space + ".b1", loads);
    add("wmma.load.c", "{m8n8k32,m8n8k128}" + space, ".s32", loads);
    add("wmma.store.d", shapes + space, ".{f16,f32,s32}", stores);
    add("wmma.store.d", "m16n16k8" + space, ".f32", stores);
    add("wmma.store.d", "m8n8k4" + space, ".f64", stores);
    add("wmma.store.d", "{m8n8k32,m8n8k128}" + space, ".s32", stores);
  };
  add_in("{.shared,.shared::cta}", Class::load_shared, Class::store_shared);
  add_in("{,.global}", Class::load_global, Class::store_global);  // generic: counted where it goes
}

}  // namespace sim

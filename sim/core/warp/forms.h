/// The table of the instructions that the machine knows: an opcode with its exact modifiers, its operands, how it is
/// run. What is not in the table is refused.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/types.h"
#include "core/warp/warp.h"

namespace sim {

class Builder;
using Build = void (*)(Builder&);

/// One way to write an instruction. `operands` has one letter per operand, capital for a destination: p predicate, h
/// 16, w 32, d 64 bits. Where that says too little (memory, calls) `build` reads the operands itself.
struct Form {
  std::string operands;
  Class counted_as;
  Handler run = nullptr;
  Build build = nullptr;
};

template <class Function>
struct PayloadOf;
template <class Payload>
struct PayloadOf<void (*)(Warp&, const Payload&)> {
  using type = Payload;
};

/// The handler that calls function(warp, payload).
template <auto function>
void handle(Warp& warp, const Instruction& instruction) {
  function(warp, instruction.as<typename PayloadOf<decltype(function)>::type>());
}

/// The handler of an instruction that lanes execute together: those that members(warp, payload) names. The function is
/// called once, when all of them are here or can never be. Lanes that come first park, and the handler is executed
/// again with the others; so nothing may be done before, and nothing is, since the function has not been called.
template <auto members, auto function>
void handle_together(Warp& warp, const Instruction& instruction) {
  if (warp.exec == 0) return;
  const auto& payload = instruction.as<typename PayloadOf<decltype(function)>::type>();
  if (warp.exec != all_lanes && !warp.gather(members(warp, payload))) return;
  warp.order_reads();
  function(warp, payload);
  warp.order_reads();  // which lane of a collective load reads what is not told
}

/// The members of an instruction that the whole warp executes.
template <class Payload>
uint32_t every_lane(Warp&, const Payload&) {
  return all_lanes;
}

/// Operand letters and handler of a function on one lane's values, from its type: `bool` is a predicate.
template <class T>
constexpr char operand_letter() {
  if constexpr (std::is_same_v<T, bool>)
    return 'p';
  else if constexpr (sizeof(T) == 2)
    return 'h';
  else if constexpr (sizeof(T) == 4)
    return 'w';
  else
    return 'd';
}

/// Reads a lane's value: a number from its slot, a predicate from its bit.
template <class T>
struct Source {
  Source(Warp& warp, uint32_t offset) : slot(warp.lanes<const T>(offset)) {}
  T operator[](uint32_t lane) const { return slot[lane]; }
  const T* slot;
};
template <>
struct Source<bool> {
  Source(Warp& warp, uint32_t offset) : bits(warp.predicate(offset)) {}
  bool operator[](uint32_t lane) const { return bits >> lane & 1; }
  uint32_t bits;
};

/// Packs 32 truth values of 0 or 1 into a mask.
inline uint32_t pack(const uint8_t (&truth)[warp_size]) {
  uint32_t mask = 0;
  for (uint32_t byte = 0; byte < 4; ++byte) {
    uint64_t eight;
    __builtin_memcpy(&eight, truth + 8 * byte, 8);
    mask |= static_cast<uint32_t>(eight * 0x0102040810204080u >> 56) << 8 * byte;
  }
  return mask;
}

template <auto function, class Result, class... Types>
struct Lanewise {
  static std::string letters() {
    return {static_cast<char>(operand_letter<Result>() - 'a' + 'A'), operand_letter<Types>()...};
  }

  static void run(Warp& warp, const Instruction& instruction) {
    const Operands& operands = instruction.as<Operands>();
    [&]<size_t... i>(std::index_sequence<i...>) {
      const std::tuple<Source<Types>...> from{Source<Types>(warp, operands.at[i + 1])...};
      if constexpr (std::is_same_v<Result, bool>) {
        uint8_t truth[warp_size] = {};
        for_lanes(warp.exec, [from, &truth](uint32_t lane) { truth[lane] = function(std::get<i>(from)[lane]...); });
        uint32_t& to = warp.predicate(operands.at[0]);
        to = (to & ~warp.exec) | pack(truth);
      } else {
        Result* const to = warp.lanes<Result>(operands.at[0]);
        for_lanes(warp.exec, [from, to](uint32_t lane) { to[lane] = function(std::get<i>(from)[lane]...); });
      }
    }(std::index_sequence_for<Types...>{});
  }
};

class Table {
 public:
  /// Every instruction known, filled at its first use.
  static const Table& instance();

  /// `pattern` is an opcode in which `{a,b}` stands for either.
  void add(const std::string& pattern, const Form& form);

  /// An instruction that computes each lane's result from that lane's operands, as `function` says.
  template <auto function>
  void lanewise(const std::string& pattern, Class counted_as) {
    add_lanewise<function>(pattern, counted_as, +function);
  }

  /// The forms of an opcode; none for one that is unknown.
  std::vector<const Form*> find(const std::string& opcode) const;
  /// The opcode with its modifiers in the order in which it is known: ptxas takes those of some instructions in any.
  /// Empty where there is none.
  std::string reordered(const std::string& opcode) const;

  /// Every opcode known, with its modifiers.
  std::set<std::string> opcodes() const;

 private:
  template <auto function, class Result, class... Types>
  void add_lanewise(const std::string& pattern, Class counted_as, Result (*)(Types...)) {
    using Run = Lanewise<function, Result, Types...>;
    add(pattern, {Run::letters(), counted_as, &Run::run});
  }

  struct Line {
    std::string pattern;
    Form form;
  };
  /// By what comes before the first dot of an opcode. The patterns stay as they are: there are tens of thousands of
  /// opcodes, and a kernel has some fifty.
  std::unordered_map<std::string, std::vector<Line>> by_name_;
};

// Each file of the machine adds what it executes. Functions that add are cold, here and in the files: they run once,
// and compiling their strings for speed took longer than compiling the instructions.
[[gnu::cold]] void add_integer(Table& table);
[[gnu::cold]] void add_floating(Table& table);
[[gnu::cold]] void add_convert(Table& table);
[[gnu::cold]] void add_rounding(Table& table);
[[gnu::cold]] void add_special_functions(Table& table);
[[gnu::cold]] void add_carry(Table& table);
[[gnu::cold]] void add_intrinsics(Table& table);
[[gnu::cold]] void add_half(Table& table);
[[gnu::cold]] void add_half_convert(Table& table);
[[gnu::cold]] void add_match(Table& table);
[[gnu::cold]] void add_control(Table& table);
[[gnu::cold]] void add_branch_table(Table& table);
[[gnu::cold]] void add_barrier_reductions(Table& table);
[[gnu::cold]] void add_memory(Table& table);
[[gnu::cold]] void add_asynchronous(Table& table);
[[gnu::cold]] void add_tensor(Table& table);
[[gnu::cold]] void add_exact_products(Table& table);
[[gnu::cold]] void add_sparse_products(Table& table);
[[gnu::cold]] void add_quad_pair_products(Table& table);
[[gnu::cold]] void add_tensor_memory(Table& table);
[[gnu::cold]] void add_matrix_rows(Table& table);
[[gnu::cold]] void add_bulk_copies(Table& table);
[[gnu::cold]] void add_tensor_copies(Table& table);
[[gnu::cold]] void add_cluster(Table& table);
[[gnu::cold]] void add_mbarrier(Table& table);
[[gnu::cold]] void add_registers(Table& table);
[[gnu::cold]] void add_wgmma(Table& table);
[[gnu::cold]] void add_calls(Table& table);
[[gnu::cold]] void add_small_conversions(Table& table);

}  // namespace sim

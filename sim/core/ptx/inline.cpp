#include "core/ptx/inline.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace sim::ptx {
namespace {

constexpr size_t max_instructions = size_t{1} << 20;

/// The lists of `call (results), name, (parameters)`, the first and the last of which may be missing.
struct Call {
  std::vector<Operand> results, parameters;
  std::string name;
};

bool is_call(const Instruction& instruction) {
  return instruction.opcode == "call" || instruction.opcode == "call.uni";
}

Call parts_of(const Instruction& instruction) {
  Call call;
  for (const Operand& operand : instruction.operands) {
    if (operand.kind == Operand::Kind::vector)
      (call.name.empty() ? call.results : call.parameters) = operand.parts;
    else if (operand.kind == Operand::Kind::name && call.name.empty())
      call.name = operand.text;
  }
  return call;
}

class Expander {
 public:
  Expander(const Module& module, const Function& kernel) : module_(module), made_(kernel) {
    made_.instructions.clear();
    std::vector<uint32_t> variables(kernel.variables.size());
    for (size_t i = 0; i < variables.size(); ++i) variables[i] = static_cast<uint32_t>(i);
    copy(kernel, 0, variables, {});
  }

  bool too_long() const { return too_long_; }
  Function made() { return std::move(made_); }

 private:
  /// Where a function's registers and variables are among the kernel's.
  struct Home {
    uint32_t first_register;
    std::vector<uint32_t> variables;
  };

  const Home& home_of(const Function& function) {
    const auto [entry, is_new] = homes_.try_emplace(function.name);
    Home& home = entry->second;
    if (!is_new) return home;
    home.first_register = static_cast<uint32_t>(made_.registers.size());
    made_.registers.insert(made_.registers.end(), function.registers.begin(), function.registers.end());
    for (const Variable& variable : function.variables) home.variables.push_back(index_of(variable));
    return home;
  }

  /// Local memory is each function's own; what lies elsewhere goes by its name.
  uint32_t index_of(const Variable& variable) {
    const bool own = variable.space == Space::local || variable.space == Space::param;
    const auto known = std::find_if(made_.variables.begin(), made_.variables.end(), [&](const Variable& each) {
      return !own && each.space == variable.space && each.name == variable.name;
    });
    if (known != made_.variables.end()) return static_cast<uint32_t>(known - made_.variables.begin());
    made_.variables.push_back(variable);
    return static_cast<uint32_t>(made_.variables.size() - 1);
  }

  /// Appends a function's body. `called_from` is the place of the call, none for the kernel itself.
  void copy(const Function& function, uint32_t first_register, const std::vector<uint32_t>& variables,
            const Location& called_from) {
    std::vector<uint32_t> moved;                 // where each of the function's instructions is now
    std::vector<std::pair<size_t, bool>> jumps;  // of this copy; true for a return
    stack_.push_back(&function);
    for (const Instruction& written : function.instructions) {
      moved.push_back(static_cast<uint32_t>(made_.instructions.size()));
      Instruction instruction = written;
      if (instruction.guard) place(*instruction.guard, first_register, variables);
      for (Operand& operand : instruction.operands) place(operand, first_register, variables);
      if (stack_.size() > 1 && instruction.location.caller_line == 0) {
        instruction.location.caller_file = called_from.file;
        instruction.location.caller_line = called_from.line;
      }
      if (is_call(instruction) && expand(instruction, jumps, moved)) continue;
      const bool returns = stack_.size() > 1 && (instruction.opcode == "ret" || instruction.opcode == "ret.uni");
      if (returns) {
        instruction.opcode = "bra";
        instruction.operands = {{.kind = Operand::Kind::label}};
      }
      if (returns || std::any_of(instruction.operands.begin(), instruction.operands.end(),
                                 [](const Operand& operand) { return operand.kind == Operand::Kind::label; })) {
        jumps.emplace_back(made_.instructions.size(), returns);
      }
      made_.instructions.push_back(std::move(instruction));
      too_long_ |= made_.instructions.size() > max_instructions;
      if (too_long_) break;
    }
    stack_.pop_back();
    if (too_long_) return;
    const auto end = static_cast<uint32_t>(made_.instructions.size());
    moved.push_back(end);
    for (const auto& [at, returns] : jumps) {
      for (Operand& operand : made_.instructions[at].operands) {
        if (operand.kind == Operand::Kind::label) operand.index = returns ? end : moved[operand.index];
      }
    }
  }

  void place(Operand& operand, uint32_t first_register, const std::vector<uint32_t>& variables) const {
    if (operand.kind == Operand::Kind::reg) operand.index += first_register;
    if (operand.kind == Operand::Kind::variable) operand.index = variables[operand.index];
    for (Operand& part : operand.parts) place(part, first_register, variables);
  }

  /// Puts the called function's body in the place of a call, or returns false. A guarded call is jumped over.
  bool expand(const Instruction& call, std::vector<std::pair<size_t, bool>>& jumps,
              const std::vector<uint32_t>& moved) {
    const Call parts = parts_of(call);
    const Function* const callee = find_function(module_, parts.name);
    if (!callee || std::find(stack_.begin(), stack_.end(), callee) != stack_.end()) return false;
    if (parts.results.size() != callee->result_count || parts.parameters.size() != callee->parameter_count)
      return false;
    std::vector<Operand> given = parts.results;
    given.insert(given.end(), parts.parameters.begin(), parts.parameters.end());
    const Home& home = home_of(*callee);
    std::vector<uint32_t> variables = home.variables;
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i].kind != Operand::Kind::variable) return false;
      variables[i] = given[i].index;
    }
    if (call.guard) {
      Instruction skip{.opcode = "bra", .guard = call.guard, .operands = {{.kind = Operand::Kind::label}}};
      skip.guard->negated = !call.guard->negated;
      skip.operands[0].index = static_cast<uint32_t>(moved.size());
      skip.location = call.location;
      skip.text_line = call.text_line;
      skip.text_column = call.text_column;
      jumps.emplace_back(made_.instructions.size(), false);
      made_.instructions.push_back(std::move(skip));
    }
    copy(*callee, home.first_register, variables, call.location);
    return true;
  }

  const Module& module_;
  Function made_;
  std::unordered_map<std::string, Home> homes_;
  std::vector<const Function*> stack_;
  bool too_long_ = false;
};

}  // namespace

const Function* find_function(const Module& module, const std::string& name) {
  const auto found = std::find_if(module.functions.begin(), module.functions.end(),
                                  [&](const Function& function) { return function.name == name; });
  return found == module.functions.end() ? nullptr : &*found;
}

Function expand_calls(const Module& module, const Function& kernel) {
  if (module.functions.empty() || std::none_of(kernel.instructions.begin(), kernel.instructions.end(), is_call))
    return kernel;
  Expander expander(module, kernel);
  return expander.too_long() ? kernel : expander.made();
}

}  // namespace sim::ptx

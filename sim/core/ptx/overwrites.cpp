#include "core/ptx/overwrites.h"

#include <string_view>
#include <vector>

namespace sim::ptx {
namespace {

bool has(std::string_view opcode, std::string_view modifier) { return opcode.find(modifier) != std::string_view::npos; }

/// Shared memory, or a generic address.
bool may_be_shared(std::string_view opcode) {
  for (const char* const other : {".global", ".local", ".param", ".const"}) {
    if (has(opcode, other) && !has(opcode, ".shared")) return false;
  }
  return true;
}

bool reads(std::string_view opcode) {
  return opcode.starts_with("ld.") && may_be_shared(opcode) && !has(opcode, ".volatile");
}

bool writes(std::string_view opcode) {
  for (const char* const start : {"st.", "atom.", "red.", "cp.", "mbarrier.init"}) {
    if (opcode.starts_with(start) && may_be_shared(opcode)) return true;
  }
  return false;
}

bool brings_together(const Instruction& instruction) { return !instruction.guard && has(instruction.opcode, ".sync"); }

}  // namespace

bool may_overwrite_reads(const Function& function) {
  const auto& code = function.instructions;
  std::vector<bool> seen(code.size());  // with a read before it
  std::vector<size_t> open;
  for (size_t i = 0; i < code.size(); ++i) {
    if (reads(code[i].opcode)) open.push_back(i + 1);
  }
  while (!open.empty()) {
    const size_t at = open.back();
    open.pop_back();
    if (at >= code.size() || seen[at]) continue;
    seen[at] = true;
    const Instruction& instruction = code[at];
    const std::string_view opcode = instruction.opcode;
    if (writes(opcode) || opcode.starts_with("brx") || opcode.starts_with("call")) return true;
    if (brings_together(instruction)) continue;
    if (opcode.starts_with("bra")) {
      for (const Operand& operand : instruction.operands) open.push_back(operand.index);
      if (!instruction.guard) continue;
    }
    if ((opcode.starts_with("ret") || opcode.starts_with("exit")) && !instruction.guard) continue;
    open.push_back(at + 1);
  }
  return false;
}

}  // namespace sim::ptx

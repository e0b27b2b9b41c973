#include "core/ptx/link.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

namespace sim::ptx {
namespace {

using Names = std::unordered_map<std::string, std::string>;

void rename(std::string& name, const Names& names) {
  if (const auto found = names.find(name); found != names.end()) name = found->second;
}

void rename(Operand& operand, const Names& names) {
  if (operand.kind == Operand::Kind::name) rename(operand.text, names);
  for (Operand& part : operand.parts) rename(part, names);
}

bool in_memory(const Variable& variable) {
  return variable.space == Space::global || variable.space == Space::constant || variable.space == Space::shared;
}

void move(Location& location, uint32_t first_file) {
  if (location.line != 0) location.file += first_file;
  if (location.caller_line != 0) location.caller_file += first_file;
}

void move(Function& function, const Names& names, uint32_t first_file) {
  rename(function.name, names);
  move(function.location, first_file);
  for (Variable& variable : function.variables) {
    if (in_memory(variable)) rename(variable.name, names);
  }
  for (Instruction& instruction : function.instructions) {
    move(instruction.location, first_file);
    for (Operand& operand : instruction.operands) rename(operand, names);
  }
}

}  // namespace

Module link(std::vector<Module> modules) {
  Module linked;
  std::set<std::string> exported, kept, defined;
  for (const Module& module : modules) {
    for (const Variable& variable : module.variables) {
      if (variable.exported) exported.insert(variable.name);
    }
    for (const Function& function : module.functions) {
      if (function.exported) exported.insert(function.name);
    }
  }
  for (size_t number = 0; number < modules.size(); ++number) {
    Module& module = modules[number];
    linked.version = std::max(linked.version, module.version);
    if (linked.target.empty()) linked.target = module.target;

    // A name that a text keeps to itself changes where somebody else has it, too.
    Names names;
    const auto keep_apart = [&](const std::string& name) {
      if (exported.contains(name) || !kept.insert(name).second) names[name] = name + "$" + std::to_string(number);
    };
    for (const Variable& variable : module.variables) {
      if (!variable.exported && !variable.external) keep_apart(variable.name);
    }
    for (const Function& function : module.functions) {
      if (!function.exported) keep_apart(function.name);
    }
    const auto first_file = static_cast<uint32_t>(linked.files.size());
    linked.files.insert(linked.files.end(), module.files.begin(), module.files.end());

    linked.kernel_names.insert(linked.kernel_names.end(), module.kernel_names.begin(), module.kernel_names.end());
    for (Variable& variable : module.variables) {
      rename(variable.name, names);
      for (Variable::Pointer& pointer : variable.pointers) rename(pointer.to, names);
      if (variable.external && variable.space != Space::shared) continue;  // where it is defined
      if (defined.insert(variable.name).second) linked.variables.push_back(std::move(variable));
    }
    for (Function& function : module.functions) {
      move(function, names, first_file);
      if (defined.insert(function.name).second) linked.functions.push_back(std::move(function));
    }
    for (Function& kernel : module.kernels) {
      move(kernel, names, first_file);
      linked.kernels.push_back(std::move(kernel));
    }
  }
  return linked;
}

}  // namespace sim::ptx

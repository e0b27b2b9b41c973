/// From the syntax tree to a program: strictly, by the table of forms.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>

#include "core/ptx/error.h"
#include "core/ptx/syntax.h"
#include "core/warp/forms.h"
#include "core/warp/program.h"

namespace sim {

/// Address of a module's `.global` or `.const` variable.
using AddressOf = std::function<uint64_t(const std::string& name)>;

/// Decodes a kernel. Throws Refused, with the instruction, the kernel and the source line, for what the table does not
/// hold.
Program decode(const ptx::Module& module, const ptx::Function& kernel, const AddressOf& address_of);

/// What a form's `build` may use: the instruction as written, and the registers of the program.
class Builder {
 public:
  using Operand = ptx::Operand;

  const ptx::Instruction& written() const { return *written_; }
  const std::vector<Operand>& operands() const { return written_->operands; }
  /// The payload of the instruction that is made: the struct that its handler takes.
  template <class Payload>
  Payload& made() {
    return made_.make<Payload>();
  }
  /// Picks the handler, where the form does not.
  void run_by(Handler handler) { made_.run = handler; }
  Program& program() { return program_; }
  const ptx::Module& module() const { return module_; }

  /// What stands between the dots of the opcode.
  std::vector<std::string_view> parts() const;
  /// Whether the opcode has this modifier (without its dot).
  bool has(std::string_view modifier) const;

  /// The register of a destination or source; a source may be an immediate, a variable's address or a special register.
  uint32_t destination(const Operand& operand, ptx::Width width);
  uint32_t source(const Operand& operand, ptx::Width width);
  ptx::Width width_of(const Operand& operand) const;
  /// A list of so many registers: its first in Program::operand_lists.
  uint32_t registers(const Operand& list, uint32_t count, bool are_destinations, ptx::Width width = ptx::Width::b32);

  /// The instruction checks the registers that it was asked for itself (see Products::watch).
  void watches_its_own_registers();
  /// The predicate that stands for the carry flag.
  uint32_t carry();

  /// A register that holds the same value in every lane.
  uint32_t constant(ptx::Width width, uint64_t value);
  /// A register that holds the address of this offset in the block's shared memory.
  uint32_t shared_constant(ptx::Width width, uint64_t offset);
  /// The value of an operand that must be an immediate.
  uint64_t immediate(const Operand& operand) const;

  struct Address {
    uint32_t base;  ///< register
    bool wide;      ///< of 64 bits
    int64_t offset;
    const ptx::Variable* variable;  ///< when it names one
    uint32_t variable_index;
  };
  Address address(const Operand& operand);
  /// Offset of a shared, local or parameter variable in its space; address of a global one.
  uint64_t variable_address(uint32_t index) const { return places_.at(index); }

  size_t parameter_count() const { return kernel_.parameter_count; }

  /// A number for the instruction's memo of address patterns.
  uint32_t memo() { return memos(1); }
  /// The first of several in a row.
  uint32_t memos(uint32_t count) { return (program_.memos += count) - count; }

  [[noreturn]] void refuse(const std::string& why) const;

 private:
  friend Program decode(const ptx::Module&, const ptx::Function&, const AddressOf&);

  Builder(const ptx::Module& module, const ptx::Function& kernel, const AddressOf& address_of);
  void place_variables(const AddressOf& address_of);
  void place_registers();
  void decode_one(const ptx::Instruction& instruction);
  bool fits(const Form& form) const;
  uint32_t allot(uint32_t bytes);
  uint32_t used(const Operand& operand, bool writes);
  uint32_t special(const std::string& name, ptx::Width width);
  const ptx::Register& reg(const Operand& operand) const { return kernel_.registers[operand.index]; }

  const ptx::Module& module_;
  const ptx::Function& kernel_;
  Program program_;
  std::vector<uint32_t> slots_;                          ///< by PTX register
  std::vector<uint64_t> places_;                         ///< by variable
  std::unordered_map<uint64_t, uint32_t> constants_[9];  ///< by width, then value
  std::unordered_map<uint64_t, uint32_t> shared_constants_[9];
  std::unordered_map<std::string, uint32_t> specials_;
  std::optional<uint32_t> carry_;
  const ptx::Instruction* written_ = nullptr;
  Instruction made_;
};

}  // namespace sim
